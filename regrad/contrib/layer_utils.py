"""`slim.utils`, which is `tf.contrib.layers.utils`: outputs of layers by name, sizes that must be known."""

import collections as _collections

from regrad.core.graph import get_default_graph
from regrad.core.shapes import TensorShape
from regrad.layers.core import smart_cond  # noqa: F401 - part of this namespace


def append_tensor_alias(tensor, alias):
    """Adds a name to `tensor.aliases`; returns the tensor."""
    tensor.aliases = [*getattr(tensor, "aliases", ()), alias.rstrip("/")]
    return tensor


def get_tensor_aliases(tensor):
    """Returns the names a tensor was collected under, or else its operation's."""
    return getattr(tensor, "aliases", None) or [tensor.op.name if tensor.value_index == 0 else tensor.name]


def gather_tensors_aliases(tensors):
    """Returns the names of a list of tensors."""
    return [alias for t in tensors for alias in get_tensor_aliases(t)]


def collect_named_outputs(collections, alias, outputs):
    """Adds a tensor to a collection (or several) and `alias` to its names; returns the tensor."""
    if collections:
        append_tensor_alias(outputs, alias)
        for name in [collections] if isinstance(collections, str) else collections:
            get_default_graph().add_to_collection(name, outputs)
    return outputs


def convert_collection_to_dict(collection, clear_collection=False):
    """Returns {name: tensor} of what `collect_named_outputs` put into a collection, in that order."""
    graph = get_default_graph()
    found = _collections.OrderedDict((alias, t) for t in graph.get_collection(collection) for alias in get_tensor_aliases(t))
    if clear_collection:
        graph.clear_collection(collection)
    return found


def get_variable_collections(variables_collections, name):
    """Returns the collections for a variable, of a dictionary by name or the same for all."""
    return variables_collections.get(name) if isinstance(variables_collections, dict) else variables_collections


def _size(shape, axis, min_rank):
    shape = TensorShape(shape)
    if shape.ndims is None:
        raise ValueError("dims of shape must be known but is None")
    if shape.ndims < min_rank:
        raise ValueError(f"rank of shape must be at least {min_rank} not: {shape.ndims}")
    if shape[axis].value is None:
        raise ValueError(f"dimension {axis} shape must be known but is None: {shape}")
    return shape[axis].value


def last_dimension(shape, min_rank=1):
    """Returns the last size of a shape; ValueError where it is not known, or there are fewer axes than `min_rank`."""
    return _size(shape, -1, min_rank)


def channel_dimension(shape, data_format, min_rank=1):
    """Returns the size of the channels, the second of "NC..." and the last of other formats; else as `last_dimension`."""
    return _size(shape, 1 if data_format.startswith("NC") else -1, min_rank)


def n_positive_integers(n, value):
    """Returns a tuple of `n` positive ints: `value` itself, or one int repeated.

    Raises:
      ValueError: another number of them, or one below 1.
      TypeError: no ints.
    """
    values = tuple(value) if isinstance(value, (list, tuple, TensorShape)) else (value,) * n
    values = tuple(getattr(v, "value", v) for v in values)
    if not all(isinstance(v, int) for v in values):
        raise TypeError(f"{n} ints are expected, got {value!r}.")
    if len(values) != n or min(values) < 1:
        raise ValueError(f"{n} positive ints are expected, got {value!r}.")
    return values


def two_element_tuple(int_or_tuple):
    """Returns a pair of positive ints: `int_or_tuple` itself, or one int twice."""
    return n_positive_integers(2, int_or_tuple)
