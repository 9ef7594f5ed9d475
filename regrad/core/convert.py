"""From Python values to tensors, by TF1's rules.

A Python float becomes float32, an int int32 (int64 when it does not fit), a bool bool, a str or bytes string; NumPy
arrays and scalars keep their type. Nothing is cast silently between tensors. A wanted dtype is applied to Python
numbers when nothing is lost in kind: an int may become a float, a float never an int.
"""

import numpy as np

from regrad.core import dtypes
from regrad.core import opdef as opdefs
from regrad.core.dtypes import as_dtype
from regrad.core.facts import Stored
from regrad.core.func_graph import FuncGraph
from regrad.core.graph import Graph, checked_name, get_default_graph
from regrad.core.opdef import LIST, Known, Spec, define_op, find_op
from regrad.core.operation import Operation, Tensor
from regrad.core.shapes import Dimension, TensorShape, as_dims

const_op = define_op("Const", "", attrs={"value": None, "dtype": None},
                     infer=lambda *, value, dtype: Known(value, dtype),
                     lower=lambda b, *, value, dtype: value)


def _constant_of_file(attrs):
    value, dtype = attrs["value"], attrs["dtype"]
    if not isinstance(value, (np.ndarray, np.generic)) or dtype is not None and value.dtype != as_dtype(dtype).as_numpy_dtype:
        given = value.dtype if isinstance(value, (np.ndarray, np.generic)) else f"{value!r:.100}"
        raise ValueError(f"a constant's value is an array of its dtype, {getattr(dtype, 'name', dtype)!r:.100}; it is {given}.")
    return attrs


const_op.declare(stored=Stored(complete=_constant_of_file))

_conversions: list = []  # (priority, base types, function), least priority first


def register_tensor_conversion_function(base_type, conversion_func, priority=100):
    """Makes instances of `base_type` usable as tensors through `conversion_func(value, dtype, name, as_ref)`."""
    types = base_type if isinstance(base_type, tuple) else (base_type,)
    if not types or not all(isinstance(t, type) for t in types):
        raise TypeError(f"base_type must be a type or a tuple of types, got {base_type!r}.")
    if not callable(conversion_func):
        raise TypeError(f"conversion_func must be callable, got {conversion_func!r}.")
    _conversions.append((priority, base_type, conversion_func))
    _conversions.sort(key=lambda c: c[0])


def convert_to_tensor(value, dtype=None, name=None, preferred_dtype=None, dtype_hint=None):
    """Returns `value` as a Tensor of the default graph.

    Args:
      value: a Tensor, Variable, Python or NumPy value, list (possibly holding tensors), TensorShape, or a value of a
        type given to `register_tensor_conversion_function`.
      dtype: the DType it must have.
      name: name of the constant, if one is made.
      preferred_dtype: the DType it should have if `value` allows.

    Raises:
      TypeError: no conversion for that type, or a Python number of the wrong kind.
      ValueError: a tensor of another dtype.

    Example:
      x = tf.convert_to_tensor(np.array([1.0, 2.0]), dtype=tf.float32)
      print(x.dtype.name, x.shape)
      #> float32 (2,)
    """
    if dtype is not None:
        dtype = as_dtype(dtype)
    if isinstance(value, Tensor):
        if dtype is not None and dtype is not value.dtype:
            raise ValueError(f"Tensor conversion requested dtype {dtype.name} for Tensor with dtype {value.dtype.name}: "
                             f"{value!r}. Use tf.cast(x, tf.{dtype.name}).")
        return value
    return _convert(get_default_graph(), value, dtype, name or "Const",
                    as_dtype(preferred_dtype or dtype_hint) if preferred_dtype or dtype_hint else None)


def _convert(graph, value, dtype, name, preferred=None):
    kind = type(value)
    if kind in (int, float, bool, np.ndarray):
        return _constant(graph, value, dtype, name, preferred)
    for _, base, function in _conversions:
        if isinstance(value, base):
            result = NotImplemented
            if dtype is None and preferred is not None:
                try:
                    result = function(value, dtype=preferred, name=name, as_ref=False)
                except (TypeError, ValueError):
                    result = NotImplemented
            if result is NotImplemented:
                result = function(value, dtype=dtype, name=name, as_ref=False)
            if result is not NotImplemented:
                if not isinstance(result, Tensor):
                    raise RuntimeError(f"The conversion function {function} for {base} returned a value that is no tensor: "
                                       f"{result!r}.")
                if dtype is not None and result.dtype is not dtype:
                    raise ValueError(f"Tensor conversion requested dtype {dtype.name} for {value!r} with dtype "
                                     f"{result.dtype.name}.")
                return result
    if isinstance(value, (TensorShape, Dimension)):
        return _shape_constant(graph, value, dtype, name)
    if isinstance(value, (list, tuple)) and holds_tensor(value):
        return _pack(graph, value, dtype, name, preferred)
    if isinstance(value, Operation):
        raise TypeError(f"Can't convert Operation '{value.name}' to Tensor: it has {len(value.outputs)} outputs, and it "
                        "is their tensors that have values (op.outputs[i]).")
    return _constant(graph, value, dtype, name, preferred)


def _constant(graph, value, dtype, name, preferred):
    if dtype is None and preferred is not None:
        try:
            array = to_array(value, preferred)
            dtype = preferred
        except (TypeError, ValueError):
            array = to_array(value, None)
    else:
        array = to_array(value, dtype)
    dtype = dtype or as_dtype(array.dtype)
    return make_constant(graph, array, dtype, name)


def make_constant(graph, array, dtype, name):
    """Adds a Const of a NumPy array (which it does not copy) to `graph`."""
    if array.dtype.names is not None:  # elements of a quantised type, as TensorFlow 1 writes them
        array = array.view(dtype.as_numpy_dtype)
    spec = Spec(array.shape, dtype)
    return graph._add(const_op, (), {"value": array, "dtype": dtype}, name, specs=spec).outputs[0]


def _shape_constant(graph, value, dtype, name):
    if isinstance(value, Dimension):
        if value.value is None:
            raise ValueError("Cannot convert an unknown Dimension to a Tensor: ?. tf.shape(x)[i] is the size at run time; in "
                             "tf.reshape, -1 stands for what is left.")
        array = value.value
    else:
        if not value.is_fully_defined():
            raise ValueError(f"Cannot convert a partially known TensorShape to a Tensor: {value}; tf.shape(x) gives the "
                             "shape at run time.")
        array = value.as_list()
    if dtype not in (None, dtypes.int32, dtypes.int64):
        raise TypeError(f"Cannot convert a TensorShape to dtype: {dtype.name}")
    if np.max(array, initial=0) >= 2 ** 31:
        if dtype is dtypes.int32:
            raise ValueError(f"Cannot convert a TensorShape to dtype int32; a dimension is too large ({np.max(array)}).")
        dtype = dtypes.int64
    dtype = dtype or dtypes.int32
    return make_constant(graph, np.array(array, dtype.as_numpy_dtype), dtype, name)


def holds_tensor(value):
    stack = [value]
    while stack:
        for v in stack.pop():
            if isinstance(v, (Tensor, Dimension)) or hasattr(v, "_as_graph_element"):
                return True
            if isinstance(v, (list, tuple)):
                stack.append(v)
    return False


def _first_dtype(value):
    for v in value:
        if isinstance(v, Tensor) or hasattr(v, "_as_graph_element"):
            return v.dtype
        if isinstance(v, (list, tuple)):
            found = _first_dtype(v)
            if found is not None:
                return found
    return None


def _pack(graph, value, dtype, name, preferred):
    """A list that holds tensors becomes a Pack of its items, each level of lists one Pack."""
    wanted = dtype or _first_dtype(value) or preferred
    for v in value:
        if isinstance(v, Tensor) and wanted is not None and v.dtype is not wanted:
            raise TypeError(f"Cannot convert a list containing a tensor of dtype {v.dtype.name} to {wanted.name} "
                            f"(Tensor is: {v!r}). Use tf.cast(x, tf.{wanted.name}).")
    with graph.name_scope("packed" if name == "Const" else name) as scope:
        items = []
        for i, v in enumerate(value):  # TensorFlow names what it makes of an item by its place
            if isinstance(v, (list, tuple)) and holds_tensor(v):
                v = _pack(graph, v, wanted, str(i), preferred)
            elif not isinstance(v, Tensor):
                v = _convert(graph, v, wanted, str(i))
            items.append(v)
        return find_op("Pack")(items, axis=0, name=scope)


def to_array(value, dtype):
    """Returns `value` as a NumPy array of `dtype`, or of TF1's type for it when `dtype` is None.

    Raises:
      TypeError: a Python number of a kind that `dtype` cannot hold, or an object that is no value.
      ValueError: None, a list whose rows differ in length, an int out of range.
    """
    if isinstance(value, (np.ndarray, np.generic)):
        if value.dtype.kind in "SU":
            return _strings(value)
        if value.dtype == np.object_ and dtype in (None, dtypes.string):
            return _strings(value)
        if dtype is None:
            as_dtype(value.dtype)  # refuse what has no DType
            return dtypes.native(np.array(value))  # a copy: later changes of the user's array must not reach the graph
        if dtype.name == "string" and value.dtype != np.object_:
            raise TypeError(f"Expected string, got array of type {value.dtype}.")
        return np.array(value).astype(dtype.as_numpy_dtype)
    if value is None:
        raise ValueError("None values not supported: a tensor was expected. (tf.gradients gives None where no path "
                        "leads from ys to an x.)")
    if dtype is not None:
        _check_kinds(value, dtype)
        if dtype.name == "string":
            return _strings(value)
        try:
            return np.array(value, dtype=dtype.as_numpy_dtype)
        except OverflowError as error:
            raise ValueError(f"Tensor conversion of {value!r} to {dtype.name}: {error}.") from None
        except (TypeError, ValueError) as error:
            raise _not_a_tensor(value, error) from None
    try:
        array = dtypes.native(np.array(value))
    except ValueError as error:
        raise _not_a_tensor(value, error) from None
    if array.dtype.kind in "SU":
        return _strings(value)
    if array.dtype == np.object_:
        flat = list(array.flat)
        if flat and all(isinstance(v, (str, bytes)) for v in flat):
            return _strings(value)
        if flat and all(isinstance(v, Dimension) and v.value is not None for v in flat):
            return np.array([v.value for v in flat], np.int32).reshape(array.shape)
        raise _not_a_tensor(value, None)
    if array.dtype == np.float64:
        return array.astype(np.float32)
    if array.dtype == np.int64:
        narrow = array.astype(np.int32)
        return narrow if np.array_equal(narrow, array) else array
    if array.dtype == np.complex128:
        return array
    as_dtype(array.dtype)
    return array


def _not_a_tensor(value, error):
    if isinstance(value, (list, tuple)) and error is not None:
        return ValueError(f"Argument must be a dense tensor: {value!r:.200} has rows of different lengths "
                          f"({error}).")
    if isinstance(value, int):
        return TypeError(f"Failed to convert object of type int to Tensor: {value} is too large for int64 and uint64; "
                         "Consider casting elements to a supported type.")
    hint = ""
    if isinstance(value, (list, tuple)) and None in value:
        hint = " None is no size here: -1 in tf.reshape stands for what is left, and tf.shape(x)[i] is a size at run time."
    return TypeError(f"Failed to convert object of type {type(value).__name__} to Tensor. Contents: {value!r:.200}. "
                     f"Consider casting elements to a supported type.{hint}")


def _check_kinds(value, dtype):
    """TF's rule: a Python number must be of a kind that `dtype` holds without loss of kind."""
    stack = [value]
    while stack:
        v = stack.pop()
        if isinstance(v, (list, tuple)):
            stack.extend(v)
            continue
        if isinstance(v, (np.ndarray, np.generic)):
            kinds_ok = v.dtype.kind != "c" or dtype.is_complex
            if dtype.is_integer and v.dtype.kind == "f" and not isinstance(v, np.ndarray):
                kinds_ok = False
        elif isinstance(v, bool):
            kinds_ok = dtype._kind in "biufc"
        elif isinstance(v, int):
            kinds_ok = dtype._kind in "iufcq"
        elif isinstance(v, float):
            kinds_ok = dtype._kind in "fc"
        elif isinstance(v, complex):
            kinds_ok = dtype._kind == "c"
        elif isinstance(v, (str, bytes)):
            kinds_ok = dtype._kind == "s"
        elif isinstance(v, Dimension):
            kinds_ok = v.value is not None and dtype._kind in "iu"
        elif v is None:
            raise TypeError(f"Expected {dtype.name}, got None of type 'NoneType' instead.")
        else:
            kinds_ok = True  # NumPy decides
        if not kinds_ok:
            raise TypeError(f"Expected {dtype.name}, got {v!r} of type '{type(v).__name__}' instead.")


def _strings(value):
    array = np.array(value, dtype=object)
    out = np.empty(array.shape, object)
    for i, v in np.ndenumerate(array):
        if not isinstance(v, (str, bytes)):
            raise TypeError(f"Expected string, got {v!r} of type '{type(v).__name__}' instead.")
        out[i] = v.encode() if isinstance(v, str) else bytes(v)
    return out


# -- building an operation --------------------------------------------------------------


def build(opdef, inputs, name, attrs):
    """Converts the inputs, checks their dtypes and graphs, fills in attributes, and adds the operation."""
    if opdef.attrs:
        if attrs.keys() != opdef.attrs.keys():
            attrs = _all_attrs(opdef, attrs)
    elif attrs:
        attrs = _all_attrs(opdef, attrs)
    graph = get_default_graph()
    if len(inputs) == opdef._fast:
        # Nearly every op: a few inputs of one dtype T.
        dtype = None
        ready = True
        for x in inputs:
            if type(x) is not Tensor or x.op.graph is not graph:
                ready = False
                break
            if dtype is None:
                dtype = x.dtype
            elif x.dtype is not dtype:
                ready = False
                break
        if ready and (not opdef.types or dtype is None or dtype in opdef.types.get("T", (dtype,))):
            op = graph._add(opdef, inputs, attrs, name or opdef.type)
            outputs = op.outputs
            return outputs[0] if len(outputs) == 1 and opdef.single else _result(op)
    elif opdef._fast == LIST and len(inputs) == 1 and _alike(inputs[0], opdef, graph):
        op = graph._add(opdef, tuple(inputs[0]), attrs, name or opdef.type, (len(inputs[0]),))
        return op.outputs[0] if opdef.single and len(op.outputs) == 1 else _result(op)
    return _build_checked(opdef, graph, inputs, name, attrs)


def _alike(values, opdef, graph):
    """True for a list of tensors of `graph` and of one dtype, which the op type takes."""
    if type(values) is not list or not values or type(values[0]) is not Tensor:
        return False
    dtype = values[0].dtype
    for x in values:
        if type(x) is not Tensor or x.op.graph is not graph or x.dtype is not dtype:
            return False
    return not opdef.types or dtype in opdef.types.get("T", (dtype,))


opdefs.builder = build


def _result(op):
    """What a call gives back: the tensor of a single output, a list of several, the operation when there is none."""
    outputs = op.outputs
    if not outputs:
        return op
    if op.opdef.single and len(outputs) == 1:
        return outputs[0]
    return list(outputs)


def _all_attrs(opdef, attrs):
    unknown = attrs.keys() - opdef.attrs.keys()
    if unknown:
        raise TypeError(f"{opdef.type}: unknown attribute {sorted(unknown)[0]!r}; it has "
                        f"{', '.join(opdef.attrs) or 'none'}.")
    return {**opdef.attrs, **attrs}


def _build_checked(opdef, graph, inputs, name, attrs):
    args = opdef.args
    if len(inputs) != len(args):
        raise TypeError(f"{opdef.type} takes {len(args)} inputs ({', '.join(a.name for a in args)}), "
                        f"got {len(inputs)}.")
    graph = _graph_for(graph, inputs, opdef)
    name = checked_name(opdef, name or opdef.type)
    prefix = name if name[-1] == "/" else graph.unique_name(name, mark_as_used=False) + "/"
    made_before = len(graph._ops)
    try:
        flat, groups = _operands(opdef, graph, inputs, prefix)
        return _result(graph._add(opdef, flat, attrs, name, groups))
    except BaseException:
        graph._withdraw(made_before, prefix)
        raise


def _operands(opdef, graph, inputs, prefix):
    """Returns an operation's inputs as tensors, those made of Python values under `prefix`, and the sizes of its lists."""
    args = opdef.args
    types = {}
    # A tensor settles what T is; only then are Python values converted to it.
    for arg, value in zip(args, inputs):
        if arg.var is not None and not arg.mixed and arg.var not in types:
            for v in value if arg.is_list and isinstance(value, (list, tuple)) else (value,):
                if isinstance(v, Tensor) or hasattr(v, "_as_graph_element"):
                    types[arg.var] = v.dtype, arg.name
                    break
    flat, groups = [], [] if opdef.has_lists else None
    for position, (arg, value) in enumerate(zip(args, inputs)):
        if arg.is_list:
            if not isinstance(value, (list, tuple)):
                raise TypeError(f"Expected list for '{arg.name}' argument to '{opdef.type}' Op, not {value!r}.")
            if not value and arg.var is not None and not arg.mixed:
                raise ValueError(f"List argument '{arg.name}' to '{opdef.type}' Op with length 0 shorter than minimum "
                                 "length 1.")
            groups.append(len(value))
            for i, v in enumerate(value):
                flat.append(_input(opdef, graph, arg, v, types, f"{prefix}{arg.name}_{i}/"))
        else:
            if groups is not None:
                groups.append(None)
            flat.append(_input(opdef, graph, arg, value, types, f"{prefix}{arg.name}/", position in opdef.shape_only))
    return tuple(flat), tuple(groups) if groups is not None else None


def _input(opdef, graph, arg, value, types, name, shape_only=False):
    allowed = opdef.types.get(arg.var) if arg.var else None
    wanted = arg.fixed
    first = None
    if wanted is None and not arg.mixed:
        wanted, first = types.get(arg.var, (None, None))
    if isinstance(value, Tensor):
        tensor = value
    else:
        with graph.as_default():
            try:
                # With no tensor to say what T is, an index type prefers int32 (an empty list would be float32).
                preferred = dtypes.int32 if wanted is None and allowed == dtypes.INDEX else None
                tensor = _convert(graph, value, wanted, name, preferred)
            except (TypeError, ValueError) as error:
                if wanted is not None and isinstance(error, ValueError) and hasattr(value, "dtype"):
                    raise _mismatch(opdef, arg, as_dtype(value.dtype), wanted, first) from None
                raise type(error)(f"{opdef.type}, argument '{arg.name}': {error}") from None
    if wanted is not None and tensor.dtype is not wanted:
        raise _mismatch(opdef, arg, tensor.dtype, wanted, first)
    if allowed is not None and tensor.dtype not in allowed:
        raise TypeError(f"Value passed to parameter '{arg.name}' of {opdef.type} has DataType {tensor.dtype.name} not in "
                        f"list of allowed values: {dtypes.names(allowed)}.")
    if wanted is None and not arg.mixed:
        types[arg.var] = tensor.dtype, arg.name
    if tensor.op.graph is not graph:
        tensor = graph.capture_shape(tensor) if shape_only else graph.capture(tensor)
    return tensor


def _converts(name, got, wanted):
    """Says what converts the argument `name` from one dtype to another."""
    if wanted is dtypes.string:
        return f"tf.as_string({name})"
    if got is dtypes.string and wanted is dtypes.bool_:
        return f"tf.equal({name}, 'True')"
    return f"tf.string_to_number({name}, tf.{wanted.name})" if got is dtypes.string else f"tf.cast({name}, tf.{wanted.name})"


def _mismatch(opdef, arg, got, wanted, first):
    if first is None:
        return TypeError(f"Input '{arg.name}' of '{opdef.type}' Op has type {got.name} that does not match expected type "
                         f"of {wanted.name}; {_converts(arg.name, got, wanted)} converts.")
    if first == arg.name:
        return TypeError(f"Tensors in list passed to '{arg.name}' of '{opdef.type}' Op have types that don't all match: "
                         f"{got.name} and {wanted.name}; tf.cast converts.")
    # Of an integer and a real number it is rarely the real one that should change; but a variable stays what it is.
    written = first in [opdef.args[i].name for i in opdef.writes]
    order = ["b", "iu", "f", "c"]  # what holds the values of those before it
    rank = {kind: i for i, kinds in enumerate(order) for kind in kinds}
    swapped = not written and rank.get(got._kind, 0) > rank.get(wanted._kind, len(order))
    remedy = _converts(first, wanted, got) if swapped else _converts(arg.name, got, wanted)
    return TypeError(f"Input '{arg.name}' of '{opdef.type}' Op has type {got.name} that does not match type "
                     f"{wanted.name} of argument '{first}'; {remedy} converts.")


def use_elsewhere(tensor, use, graph):
    """Says that a tensor of a body that has been built cannot be used in `graph`, which is none of those in that body."""
    bodies, theirs = ("body", "cond"), tensor.graph
    if theirs.name not in bodies:
        place = f"it is in the branch or function {theirs.name}"
    elif isinstance(graph, FuncGraph) and graph.name in bodies:
        place = "they are in different while loops"
    else:
        place = "it is in a while loop"
    return (f"Cannot use {tensor.name!r} as {use} because {place}: it was made at {tensor.op.location}, and has a value only "
            "there. Return it from that function, and take what the call gives back.")


def _graph_for(default, inputs, opdef):
    """Returns the graph an op of these inputs belongs to: the default graph if it is, or encloses, theirs, else theirs."""
    graph, source = default, None
    for value in inputs:
        for v in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(v, Tensor):
                theirs = v.op.graph
            elif hasattr(v, "_as_graph_element") and isinstance(getattr(v, "graph", None), Graph):
                theirs = v.graph
            else:
                continue
            if theirs is graph or isinstance(graph, FuncGraph) and graph.encloses(theirs):
                source = v if source is None else source
            elif isinstance(theirs, FuncGraph) and theirs.built:
                raise ValueError(use_elsewhere(v, f"input to {opdef.type}", graph))
            elif source is None or isinstance(theirs, FuncGraph) and theirs.encloses(graph):
                graph, source = theirs, v
            else:
                raise ValueError(f"{opdef.type}: {_named(source)} and {_named(v)} must be from the same graph; build both "
                                 "inside one `with graph.as_default():`. A thread begins with the process's default graph.")
    return graph


def _named(x):
    return f"Tensor {x.name!r} (made at {x.op.location})" if isinstance(x, Tensor) else repr(x)


_FILLED = 1000  # elements


def constant(value, dtype=None, shape=None, name="Const", verify_shape=False):
    """Returns a constant tensor.

    Args:
      value: Python or NumPy value, or nested lists of them.
      dtype: its DType; by default TF1's for `value`.
      shape: if given, `value` is reshaped to it, and its last element repeated when there are too few.
      verify_shape: refuse a `value` whose shape is not `shape` already.

    Raises:
      TypeError: `verify_shape` fails, or `value` cannot have that dtype.
      ValueError: more elements than `shape` holds.

    Example:
      print(tf.Session().run(tf.constant(7.0, shape=[2, 2])))
      #> [[7. 7.]
      #>  [7. 7.]]
    """
    dtype = None if dtype is None else as_dtype(dtype)
    if isinstance(value, Tensor):
        raise TypeError(f"tf.constant takes Python and NumPy values, got the tensor {value.name}.")
    if isinstance(value, (TensorShape, Dimension)):
        if not value.is_fully_defined() if isinstance(value, TensorShape) else value.value is None:
            raise ValueError(f"Cannot convert a partially known {type(value).__name__} to a Tensor: {value}")
        value = value.as_list() if isinstance(value, TensorShape) else value.value
    try:
        array = to_array(value, dtype)
    except NotImplementedError:  # a list that holds tensors
        raise TypeError("tf.constant: List of Tensors when single Tensor expected; tf.stack joins tensors.") from None
    if shape is not None:
        dims = as_dims(shape)
        if verify_shape and array.shape != dims:
            raise TypeError(f"Expected Tensor's shape: {TensorShape(dims)}, got {TensorShape(array.shape)}.")
        n = int(np.prod(dims, dtype=np.int64))
        if array.size > n:
            raise ValueError(f"Too many elements provided. Needed at most {n}, but received {array.size}")
        if array.size == 1 and n > _FILLED:
            array = np.broadcast_to(array.reshape(()), dims)  # which takes no room
        elif array.size < n:
            if array.size == 0:
                raise ValueError(f"tf.constant: an empty value cannot fill shape {TensorShape(dims)}.")
            filler = np.empty(n, array.dtype)
            filler[:array.size] = array.reshape(-1)
            filler[array.size:] = array.reshape(-1)[-1]
            array = filler
        array = array.reshape(dims)
    return make_constant(get_default_graph(), array, dtype or as_dtype(array.dtype), name or "Const")
