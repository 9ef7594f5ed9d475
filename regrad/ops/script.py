"""Host functions: Python and NumPy code as operations. Gradients: declared not differentiable, unless one is given."""

import inspect
import itertools
import numbers
import time

import numpy as np

from regrad.core import dtypes, source
from regrad.core.convert import convert_to_tensor, to_array
from regrad.core.dtypes import as_dtype
from regrad.core.errors import InvalidArgumentError, UnimplementedError, of_host_function
from regrad.core.facts import Stored
from regrad.core.gradient_registry import NotDifferentiable
from regrad.core.opdef import Spec, define_op
from regrad.core.shapes import as_dims, compatible, text

_VALUES = (np.ndarray, np.generic, numbers.Number, str, bytes, list, tuple)  # what a function may return
_tokens = itertools.count()


def _py_func_infer(inputs, *, token, func, Tout, shapes):
    return [Spec(dims, dtype) for dims, dtype in zip(shapes, Tout)]


def _called(func, inputs):
    failure = None
    try:
        return func(*map(_argument, inputs))
    except Exception as error:
        failure = of_host_function(error)
    raise failure


def _py_func_lower(b, inputs, *, token, func, Tout, shapes):
    return _results(_called(func, inputs), token, func, Tout, shapes)


def _by_numpy(op, known):
    """Returns what runs a function of one result in a small program: the usual result is looked at once."""
    if len(op.outputs) != 1:
        return None
    func, dims, wanted = op.attrs["func"], op.outputs[0].dims, op.outputs[0].dtype.np_dtype
    rest = [op.attrs[name] for name in ("token", "func", "Tout", "shapes")]
    copied = np.ndarray.copy if all(t.dims for t in op.inputs) else _argument  # of what is known to have axes

    def call(*inputs):
        try:
            returned = func(*map(copied, inputs))
        except Exception as error:
            failure = of_host_function(error)
        else:
            if type(returned) is np.ndarray and returned.dtype is wanted and wanted.kind != "O" and (
                    dims is None or returned.shape == dims):
                return returned
            from regrad.runtime.segment import results_of_host

            return results_of_host(op, _results(returned, *rest))[0]
        raise failure

    return call


def _results(returned, token, func, Tout, shapes):
    """Returns what a function has returned as arrays, checked against what was promised."""
    if type(returned) is np.ndarray and len(Tout) == 1 and shapes[0] is None and Tout[0] is not dtypes.string and (
            returned.dtype is Tout[0].np_dtype):
        return (returned,)  # the usual case, in half the time
    if returned is None:
        values = []
    elif isinstance(returned, tuple) and not (len(Tout) == 1 and shapes[0] is not None and len(shapes[0]) == 1):
        values = list(returned)
    elif isinstance(returned, list) and not (len(Tout) == 1 and _is_row(returned, shapes[0])):
        values = list(returned)
    else:
        values = [returned]
    if len(values) != len(Tout):
        raise InvalidArgumentError(f"{token} returns {len(values)} values, but expects to see {len(Tout)} values: "
                                   f"Tout promises {[t.name for t in Tout]}; {_whereabouts(func)}.")
    return [_result(token, func, i, v, t, s) for i, (v, t, s) in enumerate(zip(values, Tout, shapes))]


def _whereabouts(func):
    return f"the function is at {source.of_function(func)}"


def _is_row(returned, dims):
    """True when a list returned for a single output is that output's value, not a list of one output."""
    if len(returned) != 1:
        return not any(isinstance(v, np.ndarray) for v in returned)
    return dims is not None and len(dims) == 1 and np.ndim(returned[0]) == 0


def _argument(x):
    """What the function receives: an array of its own, which it may change; of rank 0 a NumPy scalar, or bytes."""
    if type(x) is np.ndarray and x.ndim:
        return x.copy()
    x = np.array(x)
    return x if x.ndim else x[()]


def _result(token, func, i, value, dtype, dims):
    structured = isinstance(value, np.ndarray) and value.dtype.names is not None
    if structured or not (isinstance(value, _VALUES) or hasattr(value, "__array__")):
        kind = f"numpy type {value.dtype}" if structured else f"object type {type(value).__name__}"
        raise UnimplementedError(f"Unsupported {kind}: {i}-th value returned by {token}; {_whereabouts(func)}.")
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind not in "SU" and dtype is not dtypes.string:
        array = dtypes.native(np.asarray(value))
        if array.dtype != dtype.as_numpy_dtype:
            other = f", or promise tf.{array.dtype.name}" if array.dtype.kind in "fiucb" else ""
            raise InvalidArgumentError(f"{i}-th value returned by {token} is {array.dtype.name}, but expects {dtype.name}: "
                                       f"Tout promises {dtype.name}; return value.astype(np.{dtype.name}){other}; "
                                       f"{_whereabouts(func)}.")
    else:
        try:  # a Python number or a list has no dtype of its own: it takes the promised one if of its kind
            array = to_array(value, dtype)
        except (TypeError, ValueError) as error:
            raise InvalidArgumentError(f"{i}-th value returned by {token} is no {dtype.name}: {error}; "
                                       f"{_whereabouts(func)}.") from None
    if dims is not None and not compatible(array.shape, dims):
        raise InvalidArgumentError(f"{i}-th value returned by {token} has shape {list(array.shape)}, but {text(dims)} was "
                                   f"promised; {_whereabouts(func)}.")
    return array


def _from_file(attrs):
    """Completes the attributes of a node that TensorFlow wrote, which says nothing of shapes."""
    return attrs if len(attrs["shapes"]) == len(attrs["Tout"]) else attrs | {"shapes": (None,) * len(attrs["Tout"])}


_ATTRS = {"token": None, "func": None, "Tout": (), "shapes": ()}
pyfunc_op = define_op("PyFunc", "input: [Tin]", attrs=_ATTRS, infer=_py_func_infer, lower=_py_func_lower, host=True,
                      stateful=True, single=False)
pyfuncstateless_op = define_op("PyFuncStateless", "input: [Tin]", attrs=_ATTRS, infer=_py_func_infer,
                               lower=_py_func_lower, host=True, single=False)
eagerpyfunc_op = define_op("EagerPyFunc", "input: [Tin]", attrs=_ATTRS, infer=_py_func_infer, lower=_py_func_lower,
                           host=True, stateful=True, single=False)

for _op in (pyfunc_op, pyfuncstateless_op, eagerpyfunc_op):
    _op.declare(user_code=True, numpy=_by_numpy, stored=Stored(functions=("func",), complete=_from_file))

for _op_type in ("PyFunc", "PyFuncStateless", "EagerPyFunc"):
    NotDifferentiable(_op_type)


def py_func(func, inp, Tout, stateful=True, name=None, grad=None, shape=None):
    """Returns the outputs of a Python function called on the values of `inp` when the graph runs.

    Args:
      func: function of NumPy arrays, one per input (each its own copy; NumPy scalars and bytes for rank 0); returns one
        array per dtype in `Tout`, or None where `Tout` is empty.
      inp: list of tensors.
      Tout: list of dtypes, or one dtype.
      stateful: True: runs exactly once in each run that needs it. False: the function gives the same for the same
        inputs, and may be folded or shared.
      name: the operation's name.
      grad: its gradient: a rule `grad(op, *output_gradients)` as for `RegisterGradient`, or `tf.host_gradient(f)` for one
        that is itself a NumPy function. Without one the op may be given one by overriding "PyFunc" (or "PyFuncStateless").
      shape: static shape of the output, or a list of them; by default unknown.

    Returns:
      A list of tensors, or a single tensor if `Tout` is a single dtype; for an empty `Tout` the operation, which is
      nothing to run ([]) if it is not stateful.

    Raises:
      UnimplementedError: (when run) the function returned something that is no value.
      InvalidArgumentError: (when run) the function returned another number of values, dtype or shape than promised.
      Whatever `func` raises reaches the caller of `run`, with the op's name and line added. It is of its own class and of
        that which TF translates it to: InvalidArgumentError for ValueError and TypeError, OutOfRangeError for StopIteration,
        ResourceExhaustedError for MemoryError, UnimplementedError for NotImplementedError, else UnknownError.

    Example:
      x = tf.constant([3.0, 1.0, 2.0])
      y = tf.py_func(np.sort, [x], tf.float32, shape=[3], grad=lambda op, dy: 2.0 * dy)
      print(*tf.Session().run([y, tf.gradients(y, x)[0]]))
      #> [1. 2. 3.] [2. 2. 2.]
    """
    if not callable(func):
        raise ValueError(f"py_func needs a callable, got {func!r}.")
    if grad is not None and not callable(grad):
        raise TypeError(f"py_func: grad must be a function grad(op, *output_gradients), got {grad!r}.")
    is_list = isinstance(Tout, (list, tuple))
    types = tuple(as_dtype(t) for t in (Tout if is_list else [Tout]))
    if shape is None:
        shapes = (None,) * len(types)
    elif is_list and len(types) and isinstance(shape, (list, tuple)) and len(shape) == len(types) and all(
            s is None or isinstance(s, (list, tuple)) or hasattr(s, "as_list") for s in shape):
        shapes = tuple(as_dims(s) for s in shape)
    else:
        shapes = (as_dims(shape),) * len(types)
    op = pyfunc_op if stateful else pyfuncstateless_op
    inputs = [convert_to_tensor(x) for x in (inp if isinstance(inp, (list, tuple)) else [inp])]
    result = op(inputs, token=f"pyfunc_{next(_tokens)}", func=func, Tout=types, shapes=shapes, name=name)
    operation = result[0].op if isinstance(result, list) else result
    if grad is not None:
        operation.attached_rules = [grad]
    if not types:
        return operation if stateful else []
    return result if is_list else result[0]


def host_gradient(func, grad=None, stateful=True):
    """Returns a gradient rule that calls a NumPy function when the graph runs.

        def mod_grad(x, y, dz):
            return dz, -dz * np.floor(x / y)

        z = tf.py_func(np.mod, [x, y], tf.float32, grad=tf.host_gradient(mod_grad))

    It is a rule like any other: for `py_func(grad=)`, `RegisterGradient` and overrides of any op type.

    Args:
      func: `func(*inputs, *output_gradients)` -> one array per input, of its dtype and shape; None for a zero gradient, and
        for inputs of types that have none. One with a parameter `outputs` gets the list of the operation's outputs too. An
        output of a type that has no gradient gets None.
      grad: the gradient of `func`, for second derivatives (and forward mode): again a rule or a `host_gradient`, of a function
        of (*inputs, *output_gradients, and *outputs if it takes them). Without one they are an error; `rules.stop()` says that
        what `func` gives counts as constant.
      stateful: as of `py_func`.

    Raises:
      TypeError: `func` is no function.
      InvalidArgumentError: (when run) another number of values, dtype or shape came back than the inputs have.
    """
    if not callable(func):
        raise TypeError(f"host_gradient: func is a function(*inputs, *output_gradients) of arrays, got {func!r}.")
    takes_outputs = "outputs" in _parameters(func)

    def rule(op, *dys):
        inputs, dys = list(op.inputs), [convert_to_tensor(dy) if dy is not None else None for dy in dys]
        real = [i for i, t in enumerate(inputs) if t.dtype._kind in "fc"]
        given = [dy for dy in dys if dy is not None]
        n = len(inputs)

        def run(*arrays):
            arriving = iter(arrays[n:])
            arguments = [*arrays[:n], *(None if dy is None else next(arriving) for dy in dys)]
            options = {"outputs": list(arriving)} if takes_outputs else {}
            returned = func(*arguments, **options)
            several = isinstance(returned, tuple) or isinstance(returned, list) and (n > 1 or len(returned) == 1)
            values = list(returned) if several else [returned]
            if len(values) != n:
                raise InvalidArgumentError(f"{rule.__name__} returns {len(values)} gradients, but its operation, "
                                           f"{op.describe()}, has {n} input{'s' * (n != 1)}; {_whereabouts(func)}.")
            for i in real:
                if isinstance(values[i], np.ndarray) and values[i].dtype.type is not arrays[i].dtype.type:
                    wanted = inputs[i].dtype.name
                    raise InvalidArgumentError(f"{rule.__name__} returns {values[i].dtype.name} as the gradient of input {i} "
                                               f"of {op.describe()}, which is {wanted}: return value.astype(np.{wanted}); "
                                               f"{_whereabouts(func)}.")
            return [np.zeros_like(arrays[i]) if values[i] is None else values[i] for i in real]

        run.__wrapped__ = func
        outputs = list(op.outputs) if takes_outputs else []
        made = py_func(run, [*inputs, *given, *outputs], [inputs[i].dtype for i in real], stateful, rule.__name__, grad,
                       [inputs[i].dims for i in real])
        out = [None] * n
        for i, g in zip(real, made):
            out[i] = g
        return out

    rule.__name__ = getattr(func, "__name__", "host_gradient").strip("<>_") or "host_gradient"
    rule.__wrapped__ = func
    return rule


def _parameters(func):
    try:
        return inspect.signature(func).parameters
    except (TypeError, ValueError):  # a NumPy function
        return ()


class _WithNumpy(np.ndarray):
    """An array that also answers `.numpy()`, as the tensors do that TensorFlow's py_function passes."""

    def numpy(self):
        """Returns the plain array."""
        return np.asarray(self)


def py_function(func=None, inp=None, Tout=None, name=None):
    """Returns the outputs of a Python function called when the graph runs: `py_func`, with arrays that have `.numpy()`.

    TensorFlow differentiates what such a function does with tensors; here it works on arrays, and has the gradient that
    an override gives it.
    """
    types = [as_dtype(t) for t in (Tout if isinstance(Tout, (list, tuple)) else [Tout])]

    def call(*arrays):
        given = [np.asarray(a).view(_WithNumpy) if not isinstance(a, bytes) else a for a in arrays]
        found = func(*given)
        return [np.asarray(v).astype(t.as_numpy_dtype, copy=False) if t is not dtypes.string else v
                for v, t in zip(found if isinstance(found, (list, tuple)) else [found], types)]

    inputs = [convert_to_tensor(x) for x in inp]
    result = eagerpyfunc_op(inputs, token=f"pyfunc_{next(_tokens)}", func=call, Tout=tuple(types), shapes=(None,) * len(types),
                            name=name)
    return result if isinstance(Tout, (list, tuple)) else result[0]


timestamp_op = define_op("Timestamp", "", infer=lambda: Spec((), dtypes.float64), lower=lambda b: np.float64(time.time()),
                         host=True, stateful=True)
NotDifferentiable("Timestamp")


def timestamp(name=None):
    """Returns the seconds since 1970, float64, when it runs."""
    return timestamp_op(name=name)


def numpy_function(func, inp, Tout, name=None, stateful=True, grad=None, shape=None):
    """Returns the outputs of a Python function of NumPy arrays: `py_func` under TensorFlow 2's name."""
    return py_func(func, inp, Tout, stateful, name, grad, shape)
