"""Functions on the default graph: scopes, dependencies, collections, seeds."""

import contextlib

from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import as_dtype
from regrad.core.func_graph import FuncGraph
from regrad.core.graph import Graph, get_default_graph
from regrad.core.indexed_slices import IndexedSlices
from regrad.core.shown import Shown


class name_scope(Shown):
    """Context manager that prefixes the names of ops; yields the scope with its slash.

    Args:
      name: the scope's name, made unique; None for `default_name`.
      default_name: used when `name` is None.
      values: tensors whose graph becomes the default inside.

    Raises:
      TypeError: `name` or `default_name` is no string.
      ValueError: neither name is given though values are.

    Example:
      with tf.name_scope("layer"):
          print(tf.constant(1.0, name="c").name)
      #> layer/c:0
    """

    def __init__(self, name, default_name=None, values=None):
        if name is not None and not isinstance(name, str):
            raise TypeError(f"name for name_scope must be a string, got {name!r}.")
        if not (default_name is None or isinstance(default_name, str)):
            raise TypeError(f"`default_name` type ({type(default_name)}) is not a string type. You likely meant to pass this "
                            "into the `values` kwarg.")
        self._name = default_name if name is None else name
        self._values = values
        self._stack = None

    @property
    def name(self):
        return self._name

    def __enter__(self):
        if self._name is None and self._values is not None:
            raise ValueError(f"At least one of name ({self._name}) and default_name must be provided.")
        graph = _graph_of(self._values)
        with contextlib.ExitStack() as stack:
            stack.enter_context(graph.as_default())
            scope = stack.enter_context(graph.name_scope(self._name))
            self._stack = stack.pop_all()
        return scope

    def __exit__(self, *exc):
        return self._stack.__exit__(*exc)


def _graph_of(values):
    default = get_default_graph()
    found = None
    for v in values or ():
        graph = getattr(v, "graph", None)
        if isinstance(graph, Graph) and not (isinstance(default, FuncGraph) and default.encloses(graph)):
            if found is None:
                found = v
            elif graph is not found.graph and not isinstance(graph, FuncGraph) and not isinstance(found.graph, FuncGraph):
                raise ValueError(f"{v!r} must be from the same graph as {found!r}.")
    return default if found is None else found.graph


def op_scope(values, name, default_name=None):
    """Returns `name_scope(name, default_name, values)`: the older order of arguments."""
    return name_scope(name, default_name, values)


def control_dependencies(control_inputs):
    """Context manager: ops made inside run after `control_inputs`; None lifts the dependencies of outer blocks.

    Example:
      v = tf.Variable(1.0)
      with tf.control_dependencies([v.assign(5.0)]):
          after = v.read_value()
      print(tf.Session().run(after))
      #> 5.0
    """
    return get_default_graph().control_dependencies(control_inputs)


def device(device_name_or_function):
    """Context manager that records a device on ops; XLA places the computation.

    Example:
      with tf.device("/cpu:0"):
          print(tf.constant(1.0).op.device)
      #> /device:CPU:0
    """
    return get_default_graph().device(device_name_or_function)


def colocate_with(op, ignore_existing=False):
    """Context manager that records that ops belong with `op`."""
    return get_default_graph().colocate_with(op, ignore_existing)


def container(container_name):
    """Context manager that records a resource container's name."""
    return get_default_graph().container(container_name)


def gradient_override_map(op_type_map):
    """Returns `get_default_graph().gradient_override_map(op_type_map)`.

    Example:
      x = tf.constant([-1.0, 2.0])
      with tf.get_default_graph().gradient_override_map({"Relu": "Identity"}):
          y = tf.nn.relu(x)
      print(tf.Session().run(tf.gradients(y, x)[0]))
      #> [1. 1.]
    """
    return get_default_graph().gradient_override_map(op_type_map)


def add_to_collection(name, value):
    """Adds `value` to a collection of the default graph.

    Example:
      tf.add_to_collection("marked", tf.constant(1.0, name="c"))
      print([t.name for t in tf.get_collection("marked")])
      #> ['c:0']
    """
    get_default_graph().add_to_collection(name, value)


def add_to_collections(names, value):
    """Adds `value` to several collections of the default graph."""
    get_default_graph().add_to_collections(names, value)


def get_collection(key, scope=None):
    """Returns a list of what a collection of the default graph holds.

    Example:
      tf.add_to_collection("marked", tf.constant(1.0, name="c"))
      print([t.name for t in tf.get_collection("marked")])
      #> ['c:0']
    """
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key):
    """Returns a collection's own list."""
    return get_default_graph().get_collection_ref(key)


def convert_to_tensor_or_indexed_slices(value, dtype=None, name=None):
    """Returns `value` as a tensor; IndexedSlices stay as they are."""
    return value if isinstance(value, IndexedSlices) else convert_to_tensor(value, dtype, name)


def convert_to_tensor_or_sparse_tensor(value, dtype=None, name=None):
    """Returns `value` as a tensor; a SparseTensor or its value as a SparseTensor, which must have `dtype` if it is given."""
    from regrad.ops.sparse import SparseTensor, SparseTensorValue

    if isinstance(value, SparseTensorValue):
        value = SparseTensor.from_value(value)
    if not isinstance(value, SparseTensor):
        return convert_to_tensor(value, dtype, name)
    if dtype is not None and as_dtype(dtype) is not value.dtype:
        raise RuntimeError(f"Sparse dtype: requested = {as_dtype(dtype).name}, actual = {value.dtype.name}.")
    return value

