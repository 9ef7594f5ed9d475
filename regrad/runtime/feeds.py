"""Values in and structures out: feed_dict to arrays, fetches to a flat list and back."""

import numpy as np

from regrad.core.errors import ResourceExhaustedError
from regrad.core.indexed_slices import IndexedSlices
from regrad.core.nest import flatten_dict_items
from regrad.core.opdef import spec_text
from regrad.core.operation import Operation, Tensor
from regrad.core.shapes import TensorShape, compatible

_expansions: list = []  # (type, parts to fetch, feeds of a value, what can be fed), the latest first


def register_session_run_conversion_functions(tensor_type, fetch_function, feed_function=None,
                                              feed_function_for_partial_run=None):
    """Makes objects of `tensor_type` usable as fetches and as keys of feeds.

    Args:
      tensor_type: the type.
      fetch_function: of an object; gives (what to fetch, function of the list of its values).
      feed_function: of an object and the value fed for it; gives pairs of tensor and value.
      feed_function_for_partial_run: of an object; gives the tensors that may be fed.

    Raises:
      ValueError: the type, or one it is a subclass of, has its functions already.
    """
    for known, *_ in _expansions:
        if issubclass(tensor_type, known):
            raise ValueError(f"{tensor_type} has already been registered so ignore it.")
    _expansions.insert(0, (tensor_type, fetch_function, feed_function, feed_function_for_partial_run))


def _expansion(x, which):
    return next((entry[which] for entry in _expansions if isinstance(x, entry[0])), None)


def feed_array(tensor, value):
    """Returns `value` as an array that can be fed for `tensor`.

    Raises:
      TypeError: a tensor is fed, or a value that does not convert.
      ValueError: None is fed, or the shape does not fit the tensor's static shape.
    """
    wanted = tensor.dtype.as_numpy_dtype
    if type(value) is not np.ndarray or value.dtype != wanted or wanted is np.object_:
        if value is None:
            raise ValueError(f"Cannot feed None for Tensor '{tensor.name}', which is {spec_text(tensor)}; made at "
                            f"{tensor.op.location}.")
        if isinstance(value, Tensor) or hasattr(value, "_as_graph_element"):
            raise TypeError("The value of a feed cannot be a tf.Tensor object. Acceptable feed values include Python scalars, "
                            "strings, lists, numpy ndarrays, or TensorHandles. For reference, the tensor object was "
                            f"{value!r} which was passed to the feed with key {tensor!r}. Run it first, and feed what "
                            "run gives back.")
        value = _converted(tensor, value, wanted)
    if value.shape != tensor.dims and not compatible(value.shape, tensor.dims):
        raise ValueError(f"Cannot feed value of shape {value.shape} for Tensor '{tensor.name}', which has shape "
                         f"'{TensorShape(tensor.dims)}'; made at {tensor.op.location}.")
    return value


def _converted(tensor, value, wanted):
    if wanted is np.object_:
        from regrad.core.convert import to_array

        return to_array(value, tensor.dtype)
    if isinstance(value, int) and not isinstance(value, bool) and tensor.dtype.is_integer:
        _check_range(tensor, value, value)
    try:
        array = np.asarray(value)
        converted = array.astype(wanted, copy=False)
    except (TypeError, ValueError) as error:
        raise type(error)(f"Cannot feed {value!r:.200} for Tensor '{tensor.name}' of type {tensor.dtype.name}: {error}; "
                          f"made at {tensor.op.location}.") from None
    if array is not value and array.dtype.kind == "i" and tensor.dtype.is_integer and array.size:  # of Python's numbers
        _check_range(tensor, array.min(), array.max())
    return converted


def _check_range(tensor, least, most):
    low, high = tensor.dtype.min, tensor.dtype.max
    for value in (least, most):
        if not low <= value <= high:
            raise TypeError(f"Type of feed value {value} with type int is not compatible with Tensor type "
                            f"{tensor.dtype.name} of {tensor.name!r}, made at {tensor.op.location}. Try explicitly setting the "
                            "type of the feed tensor to a larger type (e.g. int64).")


def announced(graph, feeds):
    """Returns the tensors that a partial run may be fed, for what was given to `partial_run_setup`."""
    tensors = []
    for f in feeds:
        expand = _expansion(f, 3)
        if hasattr(f, "_loop_parts"):
            tensors += f._loop_parts()[0]
        elif expand is not None:
            tensors += expand(f)
        else:
            tensors.append(graph.as_graph_element(f, allow_operation=False))
    return tensors


def checked_feeds(feed_dict):
    """Raises TypeError unless `feed_dict` is a mapping."""
    if not hasattr(feed_dict, "items"):
        raise TypeError(f"feed_dict must be a dictionary of tensors and their values, got {type(feed_dict).__name__}.")


def _key_hint(graph, key):
    if isinstance(key, Operation) and key.outputs:
        return f" Feed its output, {key.outputs[0].name}."
    if isinstance(key, str):
        fed = [op.outputs[0].name for op in graph._ops if op.type.startswith("Placeholder")]
        return f" The placeholders are {', '.join(fed[:10])}{' ...' if len(fed) > 10 else ''}." if fed else ""
    return "" if hasattr(key, "graph") else " A key is a tensor, or its name as a string."


def feed_tensors(graph, feed_dict):
    """Yields (tensor, value) for each entry of a feed_dict, slices taken apart."""
    checked_feeds(feed_dict)
    for key, value in feed_dict.items():
        if isinstance(key, IndexedSlices):
            parts = (key.values, key.indices, key.dense_shape)
            value = (value.values, value.indices, value.dense_shape) if hasattr(value, "indices") else tuple(value)
            for t, v in zip(parts, value):
                if t is not None:
                    yield t, v
            continue
        expand = getattr(key, "_feed_parts", None)
        if expand is not None:
            yield from expand(value)
            continue
        expand = _expansion(key, 2)
        if expand is not None:
            yield from expand(key, value)
            continue
        if isinstance(key, tuple):  # a structure, such as a cell's state, is fed with one of the same elements
            yield from feed_tensors(graph, flatten_dict_items({key: value}))
            continue
        try:
            tensor = graph.as_graph_element(key, allow_operation=False)
        except (TypeError, ValueError, KeyError) as error:
            raise TypeError(f"Cannot interpret feed_dict key as Tensor: {error.args[0]}{_key_hint(graph, key)}") from None
        if tensor in graph._buckets:
            yield from graph._buckets[tensor].feeds(value)
            continue
        if tensor in graph._feedable_off:
            raise ValueError(f"Tensor {tensor.name} may not be fed.")
        yield tensor, value


class Fetches:
    """A structure of things to fetch, flattened: `elements` (Tensors and Operations) and how to rebuild it."""

    def __init__(self, graph, structure):
        self.graph = graph
        self.elements = []
        self._index = {}
        self._build = self._flatten(structure)
        self._sole = isinstance(structure, Tensor)

    def rebuild(self, values):
        """Returns the structure with each fetched element replaced by its value."""
        return self._build(values)

    def owned(self, values):
        """Returns what `rebuild` does, of arrays that are the caller's own."""
        return own(values[0]) if self._sole else self._build([own(v) for v in values])

    def _flatten(self, x):
        if isinstance(x, (Tensor, Operation, str)):
            return self._element(x)
        if isinstance(x, IndexedSlices):
            parts = [self._element(x.values), self._element(x.indices)]
            parts.append(self._element(x.dense_shape) if x.dense_shape is not None else _none)
            return lambda values: IndexedSlicesValue(*(p(values) for p in parts))
        expand = getattr(x, "_fetch_parts", None)
        if expand is not None:
            parts, build = expand()
            parts = [self._flatten(p) for p in parts]
            return lambda values: build(*(p(values) for p in parts))
        expand = _expansion(x, 1)
        if expand is not None:
            parts, build = expand(x)
            parts = [self._flatten(p) for p in parts]
            return lambda values: build([p(values) for p in parts])
        if isinstance(x, dict):
            items = [(k, self._flatten(v)) for k, v in x.items()]
            kind = type(x)
            if kind is dict:
                return lambda values: {k: f(values) for k, f in items}
            return lambda values: _filled(kind(), [(k, f(values)) for k, f in items])
        if isinstance(x, (list, tuple)):
            items = [self._flatten(v) for v in x]
            if hasattr(x, "_fields"):
                kind = type(x)
                return lambda values: kind(*(f(values) for f in items))
            if isinstance(x, tuple):
                return lambda values: tuple([f(values) for f in items])
            return lambda values: [f(values) for f in items]
        fields = getattr(type(x), "__attrs_attrs__", None)
        if fields is not None:
            names = [f.name for f in fields]
            items = [self._flatten(getattr(x, n)) for n in names]
            kind = type(x)
            return lambda values: kind(*(f(values) for f in items))
        return self._element(x)

    def _element(self, x):
        try:
            element = self.graph.as_graph_element(x)
        except TypeError as error:
            raise TypeError(f"Fetch argument {x!r} has invalid type {type(x)}, must be a string or Tensor. "
                            f"({error}){_fetch_hint(x)}") from None
        except (ValueError, KeyError) as error:
            raise ValueError(f"Fetch argument {x!r} cannot be interpreted as a Tensor. ({error.args[0]})") from None
        if not self.graph.is_fetchable(element):
            raise ValueError(f"Operation {element.name!r} has been marked as not fetchable.")
        if isinstance(element, Operation) and element.opdef.variable:
            element = element.outputs[0]  # naming the storage of a variable asks for its value
            index = self._position(element)
            return lambda values: None if index is None else None
        index = self._position(element)
        return lambda values: values[index]

    def _position(self, element):
        index = self._index.get(element)
        if index is None:
            index = self._index[element] = len(self.elements)
            self.elements.append(element)
        return index


def own(value):
    """Returns a NumPy array (or scalar) that the caller may keep and change."""
    if type(value) is np.ndarray and value.ndim:
        try:
            return value.copy()
        except MemoryError:  # a constant that is one number, seen in a large shape
            raise ResourceExhaustedError(f"OOM when handing over a result of shape {value.shape} and type {value.dtype}: "
                                         f"{value.nbytes:,} bytes.") from None
    if value is None or isinstance(value, np.generic):
        return value
    array = np.array(value)
    return array if array.ndim else array[()]


def _fetch_hint(x):
    """Returns what to fetch instead of something that is often fetched by mistake."""
    if x is None:
        return (" None stands where something has nothing to give: tf.gradients where no path leads from ys to that x, "
                "tf.summary.merge_all without summaries, a function without return.")
    if hasattr(x, "get_next"):
        return " Fetch what its get_next() returns."
    if hasattr(x, "make_one_shot_iterator"):
        return " Fetch what make_one_shot_iterator().get_next() returns."
    if hasattr(x, "minimize"):
        return " Fetch what its minimize(loss) returns."
    if callable(x):
        return f" It is a function: fetch what {getattr(x, '__name__', 'it')}() returns."
    return ""


def _filled(mapping, items):
    mapping.update(items)
    return mapping


def _none(values):
    return None


class IndexedSlicesValue(tuple):
    """The fetched value of IndexedSlices: a tuple (values, indices, dense_shape) with those names."""

    __slots__ = ()
    _fields = ("values", "indices", "dense_shape")

    def __new__(cls, values, indices, dense_shape):
        return tuple.__new__(cls, (values, indices, dense_shape))

    values = property(lambda self: self[0])
    indices = property(lambda self: self[1])
    dense_shape = property(lambda self: self[2])

    def __repr__(self):
        return f"IndexedSlicesValue(values={self[0]!r}, indices={self[1]!r}, dense_shape={self[2]!r})"
