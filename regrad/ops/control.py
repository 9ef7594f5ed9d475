"""Order without data: no_op, group, tuple, and tensors that wait for operations."""

from regrad.core.convert import convert_to_tensor
from regrad.core.graph import get_default_graph
from regrad.core.indexed_slices import IndexedSlices
from regrad.core.operation import Operation
from regrad.ops.array import identity
from regrad.ops.state import noop_op

_SEQUENCES = (list, tuple)  # the builtin: this module has a `tuple` of its own


def no_op(name=None):
    """Returns an operation that does nothing, for its control inputs.

    Example:
      v = tf.Variable(1.0)
      with tf.control_dependencies([v.initializer]):
          ready = tf.no_op()
      with tf.Session() as sess:
          print(sess.run(ready), sess.run(v))
      #> None 1.0
    """
    return noop_op(name=name)


def group(*inputs, name=None):
    """Returns an operation that is done when all of `inputs` (operations, tensors, nested lists) are.

    Where their devices differ, it waits for one operation on each device, which waits for those there.

    Example:
      v, w = tf.Variable(1.0), tf.Variable(2.0)
      with tf.Session() as sess:
          sess.run(tf.group(v.initializer, w.initializer))
          print(*sess.run([v, w]))
      #> 1.0 2.0
    """
    flat = _flatten(inputs)
    graph = get_default_graph() if not flat else flat[0].graph
    by_device: dict = {}
    for x in flat:
        by_device.setdefault(x.device, []).append(x)
    with graph.as_default():
        if len(by_device) < 2:
            with graph.device("".join(by_device)), graph.control_dependencies(flat):
                return noop_op(name=name or "group_deps")
        with graph.name_scope(name or "group_deps") as scope:
            gates = []
            for device in sorted(by_device):
                with graph.device(device or None), graph.control_dependencies(by_device[device]):
                    gates.append(noop_op())
            with graph.control_dependencies(gates):
                return noop_op(name=scope)


def _flatten(inputs):
    out = []
    for x in inputs:
        if isinstance(x, _SEQUENCES):
            out += _flatten(x)
        elif isinstance(x, dict):
            out += _flatten(x.values())
        elif not _in_graph(x):
            raise TypeError(f"Expected tf.group() expected Tensor objects not None with type '{type(x)}'" if x is not None
                            else "tf.group: one of the inputs is None; group takes operations and tensors.")
        else:
            out.append(x)
    return out


def _in_graph(x):
    return hasattr(x, "_as_graph_element") or hasattr(x, "graph")


def tuple(tensors, name=None, control_inputs=None):
    """Returns tensors like `tensors` (None stays None) of which each has its value only when all have."""
    graph = get_default_graph()
    with graph.name_scope(name or "tuple"):
        tensors = [t if t is None or _in_graph(t) else convert_to_tensor(t) for t in tensors]
        given = [t for t in tensors if t is not None]
        if not given:
            raise ValueError("Must have at least one Tensor")
        waits = [t if isinstance(t, Operation) else getattr(t, "values", t).op for t in given] + list(control_inputs or ())
        gate = group(*waits)
        return [None if t is None else t if isinstance(t, Operation) else with_dependencies([gate], t) for t in tensors]


def with_dependencies(dependencies, output_tensor, name=None):
    """Returns a tensor like `output_tensor` that has its value only after `dependencies` have run."""
    graph = get_default_graph()
    with graph.name_scope(name or "control_dependency") as scope, graph.control_dependencies(dependencies):
        if isinstance(output_tensor, IndexedSlices):
            values = identity(_storage(output_tensor.values), name=scope)
            return IndexedSlices(values, output_tensor.indices, output_tensor.dense_shape)
        value = _storage(output_tensor)
        with graph.colocate_with(value):
            return identity(value, name=scope)


def _storage(x):
    """Returns the storage of a variable, which is then read after the dependencies; any other value as a tensor."""
    return x._variable if hasattr(x, "_variable") else convert_to_tensor(x)
