"""Changes of edges of a graph that is built already, as TensorFlow's own tools make them."""

import heapq

from regrad.core.errors import InvalidArgumentError, OutOfRangeError, ShapeError
from regrad.core.operation import Operation, Tensor, op_arguments
from regrad.core.shapes import TensorShape

_BRACKETS = str.maketrans({"(": "[", ")": "]", " ": None})  # how TensorFlow's messages write shapes


def rewire(op, index, tensor):
    """Makes `tensor` the input `index` of `op`.

    Raises:
      ValueError: it belongs to another graph.
      OutOfRangeError: there is no such input.
      InvalidArgumentError: it has another dtype or does not fit the shape rule.
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"_update_input: a Tensor is expected, got {type(tensor).__name__}.")
    if tensor.graph is not op.graph:
        raise ValueError(f"{tensor!r} must be from the same graph as {op!r}.")
    if not 0 <= index < len(op.inputs):
        raise OutOfRangeError(None, op, f"Cannot update edge. Input index [{index}] is greater than the number of total "
                              f"inputs [{len(op.inputs)}].")
    old = op.inputs[index]
    if tensor.dtype is not old.dtype:
        raise InvalidArgumentError(None, op, f"Input {index} of node {op.name} was passed {tensor.dtype.name} from "
                                   f"{tensor.name} incompatible with expected {old.dtype.name}.")
    inputs = op.inputs
    op.inputs = (*inputs[:index], tensor, *inputs[index + 1:])
    try:
        op.opdef.infer(*op_arguments(op), **op.attrs)
    except (ShapeError, TypeError, ValueError) as error:
        op.inputs = inputs
        was, now = (str(TensorShape(t.dims)).translate(_BRACKETS) for t in (old, tensor))
        raise InvalidArgumentError(None, op, f"Cannot update edge, incompatible shapes: {now} and {was}, input {index} of "
                                   f"{op.describe()}: {error}") from None
    old._consumers.remove(op)
    tensor._consumers = sorted([*(tensor._consumers or ()), op], key=lambda op: op.id)
    _changed(op.graph, tensor.op.id > op.id)


def set_controls(op, controls):
    """Makes `controls` the operations that `op` waits for beside its inputs.

    Raises:
      TypeError: one of them is no operation.
      ValueError: one belongs to another graph.
    """
    for c in controls:
        if not isinstance(c, Operation):
            raise TypeError(f"op must be an Operation: {c!r}")
        if c.graph is not op.graph:
            raise ValueError(f"{c!r} must be from the same graph as {op!r}.")
    op._controls = tuple(dict.fromkeys(controls))
    _changed(op.graph, any(c.id > op.id for c in op._controls))


def _changed(graph, order_too):
    """Makes sessions plan anew, and numbers the operations in an order in which each follows what it needs.

    Everything that walks a graph relies on `id` being such an order, as it is when nothing but new operations come.
    """
    graph._revision += 1
    graph._cycle = 0
    for op in graph._ops:
        for t in op.outputs:
            if hasattr(t, "_partial"):  # what was known of its value
                del t._partial
    if not order_too:
        return
    waits, ready, order = {}, [], []
    needed_by = {}
    for op in graph._ops:
        needs = {*(t.op for t in op.inputs), *op._controls}
        waits[op] = len(needs)
        for other in needs:
            needed_by.setdefault(other, []).append(op)
        if not needs:
            ready.append((op.id, op))
    heapq.heapify(ready)
    while ready:
        op = heapq.heappop(ready)[1]
        order.append(op)
        for other in needed_by.get(op, ()):
            waits[other] -= 1
            if not waits[other]:
                heapq.heappush(ready, (other.id, other))
    graph._cycle = len(graph._ops) - len(order)
    if graph._cycle:
        return  # a run says so: edges that come may end it
    graph._ops[:] = order
    for i, op in enumerate(order):
        op.id = i
