"""`tf.saved_model.utils`: tensors as signatures name them."""

from regrad.core.graph import get_default_graph
from regrad.core.graph_proto import TensorInfo
from regrad.core.operation import Operation, Tensor
from regrad.ops.sparse import SparseTensor
from regrad.variables.variable import Variable

__all__ = ["build_tensor_info", "get_tensor_from_tensor_info"]


def build_tensor_info(tensor):
    """Returns the TensorInfo of a tensor, variable or SparseTensor: its name or names, dtype and static shape.

    Raises:
      TypeError: `tensor` is something else.
    """
    if isinstance(tensor, Variable):
        tensor = tensor._as_graph_element()
    if not isinstance(tensor, (Tensor, SparseTensor)):
        raise TypeError(f"build_tensor_info takes a Tensor or SparseTensor, got {tensor!r}.")
    made = TensorInfo(dtype=tensor.dtype.as_datatype_enum, tensor_shape=tensor.get_shape().as_proto())
    made.tensor_shape.SetInParent()
    if isinstance(tensor, SparseTensor):
        made.coo_sparse.values_tensor_name = tensor.values.name
        made.coo_sparse.indices_tensor_name = tensor.indices.name
        made.coo_sparse.dense_shape_tensor_name = tensor.dense_shape.name
    else:
        made.name = tensor.name
    return made


def build_tensor_info_from_op(op):
    """Returns the TensorInfo that names an operation."""
    made = TensorInfo(name=op.name)
    made.tensor_shape.SetInParent()
    return made


def element(graph, name, import_scope=None):
    """Returns the tensor or operation of a name, below `import_scope`.

    Raises:
      KeyError: the graph has none of this name.
    """
    return graph.as_graph_element(f"{import_scope.rstrip('/')}/{name}" if import_scope else name)


def get_tensor_from_tensor_info(tensor_info, graph=None, import_scope=None):
    """Returns the Tensor or SparseTensor of a graph that a TensorInfo names.

    Args:
      graph: by default the default graph.
      import_scope: the scope that the graph was imported into.

    Raises:
      KeyError: the graph has no such tensor.
      ValueError: the TensorInfo names none, or an operation.
    """
    graph = graph or get_default_graph()

    def tensor(name):
        found = element(graph, name, import_scope)
        if isinstance(found, Operation):
            raise ValueError(f"{name!r} is an operation's name, not a tensor's.")
        return found

    encoding = tensor_info.WhichOneof("encoding")
    if encoding == "name":
        return tensor(tensor_info.name)
    if encoding == "coo_sparse":
        names = tensor_info.coo_sparse
        return SparseTensor(tensor(names.indices_tensor_name), tensor(names.values_tensor_name),
                            tensor(names.dense_shape_tensor_name))
    raise ValueError(f"Invalid TensorInfo.encoding: {encoding}; a name or coo_sparse is needed.")


def get_element_from_tensor_info(tensor_info, graph=None, import_scope=None):
    """Returns the tensor or operation that a TensorInfo names."""
    return element(graph or get_default_graph(), tensor_info.name, import_scope)
