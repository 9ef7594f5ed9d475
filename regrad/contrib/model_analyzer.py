"""`tf.contrib.slim.model_analyzer`: sizes of variables and of what operations give."""

import math

from regrad.core.dtypes import as_dtype


def tensor_description(var):
    """Returns "(float32 3x4) [12, bytes: 48]" of a variable or tensor."""
    sizes = var.shape.as_list()
    n = math.prod(sizes)
    return f"({as_dtype(var.dtype).name} {'x'.join(map(str, sizes))}) [{n}, bytes: {n * as_dtype(var.dtype).size}]"


def analyze_vars(variables, print_info=False):
    """Returns (number of elements, bytes) of variables, and prints a line for each if asked to."""
    total, size = 0, 0
    if print_info:
        print("---------\nVariables: name (type shape) [size]\n---------")
    for v in variables:
        n = math.prod(v.shape.as_list())
        total, size = total + n, size + n * as_dtype(v.dtype).size
        if print_info:
            print(v.name, tensor_description(v))
    if print_info:
        print(f"Total size of variables: {total}\nTotal bytes of variables: {size}")
    return total, size


def analyze_ops(graph, print_info=False):
    """Returns the number of elements that the operations of a graph give, where it is known, and prints a line for each."""
    total = 0
    if print_info:
        print("---------\nOperations: name -> (type shapes) [size]\n---------")
    for op in graph.get_operations():
        known = [t for t in op.outputs if t.shape.is_fully_defined()]
        n = sum(math.prod(t.shape.as_list()) for t in known)
        total += n
        if print_info:
            shapes = ", ".join(f"{as_dtype(t.dtype).name} {'x'.join(map(str, t.shape.as_list())) or 'scalar'}" for t in known)
            print(f"{op.name}\t->\t({shapes}) [{n}]")
    if print_info:
        print(f"Total number of elements: {total}")
    return total


__all__ = ["analyze_ops", "analyze_vars", "tensor_description"]
