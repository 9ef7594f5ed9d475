"""Checks made when the graph runs (or at once, where values are known), and printing."""

import sys

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.errors import InvalidArgumentError
from regrad.core.facts import Stored
from regrad.core.gradient_registry import NotDifferentiable, RegisterGradient
from regrad.core.graph import get_default_graph, is_tensor
from regrad.core.opdef import Spec, define_op, no_output
from regrad.core.shapes import as_dims
from regrad.ops.array import checknumerics_op
from regrad.ops.compare import equal, greater, greater_equal, less, less_equal, not_equal
from regrad.ops.control import group, no_op
from regrad.ops.math import abs as abs_
from regrad.ops.reduce import reduce_all
from regrad.ops.strings import flat_text, print_template


def _assert_lower(b, condition, data, *, summarize):
    if not bool(np.all(condition)):
        raise InvalidArgumentError("assertion failed: " + " ".join(f"[{flat_text(d, summarize)}]" if np.ndim(d) == 0
                                                                   else flat_text(d, summarize) for d in data))
    return ()


assert_op = define_op("Assert", "condition: bool, data: [T]", attrs={"summarize": 3}, infer=no_output, lower=_assert_lower,
                      host=True, stateful=True)


def _listed(data, op_type):
    if is_tensor(data) or isinstance(data, (str, bytes)) or not hasattr(data, "__iter__"):
        raise TypeError(f"Expected list for 'data' argument to '{op_type}' Op, not {data!r}.")
    return [convert_to_tensor(d) for d in data]


def Assert(condition, data, summarize=None, name=None):
    """Returns an operation that raises unless `condition` holds.

    Args:
      condition: bool tensor; all its elements must be true.
      data: list of tensors (or values) shown in the error.
      summarize: how many elements of each to show; 3 by default.

    Raises:
      InvalidArgumentError: (when run) the condition is false.
    """
    data = _listed(data, "Assert")
    if not data:
        raise ValueError("Assert: data is empty; it must have at least one tensor or value to show.")
    return assert_op(condition, data, summarize=3 if summarize is None else summarize, name=name)


def assert_true(condition, message, data=(), name=None):
    """Returns an operation that raises InvalidArgumentError with `message` when `condition` is false."""
    return Assert(condition, [message, *data], name=name or "Assert")


def _known(*tensors):
    values = [t.value() for t in tensors]
    return None if any(v is None for v in values) else values


def _checked(condition, tensors, lines, data, summarize):
    """Returns the Assert of `condition`, or raises at once if it is known to be false."""
    known = _known(condition)
    if known is not None:
        if np.all(known[0]):
            return no_op(name="static_checks_determined_all_ok")
        shown = [str(t.value()) if t.value() is not None else t.name for t in tensors]
        text = [part if isinstance(part, str) else shown[tensors.index(part)] for part in data]
        raise InvalidArgumentError("\n".join([w for w in lines if w] + text))
    return Assert(reduce_all(condition), [*lines, *data], summarize=summarize)


def _binary(name, op, sign):
    """Makes the check that `op(x, y)` holds for all elements."""

    def check(x, y, data=None, summarize=None, message=None, name=None):
        with get_default_graph().name_scope(name or f"assert_{kind}"):
            x = convert_to_tensor(x, name="x")
            y = convert_to_tensor(y, dtype=None if hasattr(y, "dtype") else x.dtype, name="y")
            shown = data if data is not None else [f"x ({x.name}) = ", x, f"y ({y.name}) = ", y]
            condition = op(x, y)
            values = _known(x, y)
            if values is not None:
                with np.errstate(all="ignore"):
                    condition = convert_to_tensor(_NUMPY[sign](*values))
            return _checked(condition, [x, y], [message or "", f"Condition x {sign} y did not hold element-wise:"], shown,
                            summarize)

    kind = name
    check.__name__ = f"assert_{name}"
    check.__doc__ = f"""Returns an operation that raises InvalidArgumentError unless `x {sign} y` for all elements.

    Args:
      x, y: numeric tensors that broadcast.
      data: what the error shows; the names and values of x and y by default.
      summarize: how many elements of each to show.
      message: first words of the error.

    Raises:
      InvalidArgumentError: when run, or at once if both values are known.
    """
    return check


_NUMPY = {"==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}

assert_equal = _binary("equal", equal, "==")
assert_none_equal = _binary("none_equal", not_equal, "!=")
assert_less = _binary("less", less, "<")
assert_less_equal = _binary("less_equal", less_equal, "<=")
assert_greater = _binary("greater", greater, ">")
assert_greater_equal = _binary("greater_equal", greater_equal, ">=")


def _with_zero(kind, op, sign):
    """Makes the check of all elements against 0."""

    def check(x, data=None, summarize=None, message=None, name=None):
        with get_default_graph().name_scope(name or f"assert_{kind}"):
            x = convert_to_tensor(x, name="x")
            shown = data if data is not None else [f"Condition x {sign} 0 did not hold element-wise:", f"x ({x.name}) = ", x]
            values = _known(x)
            zero = np.zeros((), x.dtype.as_numpy_dtype)
            condition = op(x, zero) if values is None else convert_to_tensor(_NUMPY[sign](values[0], zero))
            return _checked(condition, [x], [message or ""], shown, summarize)

    check.__name__ = f"assert_{kind}"
    check.__doc__ = f"""Returns an operation that raises InvalidArgumentError unless `x {sign} 0` for all elements.

    Arguments and errors as in `assert_equal`.
    """
    return check


assert_negative = _with_zero("negative", less, "<")
assert_positive = _with_zero("positive", greater, ">")
assert_non_negative = _with_zero("non_negative", greater_equal, ">=")
assert_non_positive = _with_zero("non_positive", less_equal, "<=")


def assert_near(x, y, rtol=None, atol=None, data=None, summarize=None, message=None, name=None):
    """Returns an operation that raises unless |x - y| <= atol + rtol |y| for all elements.

    Args:
      rtol, atol: by default 10 times the smallest step of the dtype at 1.
    """
    with get_default_graph().name_scope(name or "assert_near"):
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, dtype=None if hasattr(y, "dtype") else x.dtype, name="y")
        step = 10 * float(np.finfo(x.dtype.real_dtype.as_numpy_dtype).eps) if x.dtype.name != "bfloat16" else 0.078125
        rtol, atol = step if rtol is None else rtol, step if atol is None else atol
        near = less_equal(abs_(x - y), atol + rtol * abs_(y))
        shown = data if data is not None else [f"x ({x.name}) = ", x, f"y ({y.name}) = ", y]
        lines = [message or "", f"x and y not equal to tolerance rtol = {rtol}, atol = {atol}"]
        return Assert(reduce_all(near), [*lines, *shown], summarize=summarize)


def is_numeric_tensor(tensor):
    """True for a tensor of numbers."""
    return hasattr(tensor, "dtype") and hasattr(tensor, "op") and tensor.dtype._kind in "fiucq"


def _steps(x, op, name):
    from regrad.ops.array import reshape

    with get_default_graph().name_scope(name):
        x = convert_to_tensor(x, name="x")
        if not is_numeric_tensor(x):
            raise TypeError(f"Expected x to be numeric, instead found: {x}")
        flat = reshape(x, [-1])
        return reduce_all(op(flat[1:], flat[:-1]))


def is_non_decreasing(x, name=None):
    """Returns a bool scalar: no element is smaller than the one before, in row-major order."""
    return _steps(x, greater_equal, name or "is_non_decreasing")


def is_strictly_increasing(x, name=None):
    """Returns a bool scalar: every element is larger than the one before, in row-major order."""
    return _steps(x, greater, name or "is_strictly_increasing")


# -- static checks -----------------------------------------------------------------------------------
def _given_rank(rank, message):
    """Returns a rank to compare with: an int, or a tensor that a run gives."""
    rank = convert_to_tensor(rank, name="rank")
    if rank.dtype is not dtypes.int32:
        raise TypeError(f"{message or ''} rank must be of type <dtype: 'int32'>, not {rank.dtype}")
    if rank.dims:
        raise ValueError(f"{message or ''} Rank must be a scalar, got {rank}.")
    return rank if rank.value() is None else int(rank.value())


def _rank_check(what, fits, says):
    def check(x, rank, data=None, summarize=None, message=None, name=None):
        with get_default_graph().name_scope(name or what):
            x = convert_to_tensor(x, name="x")
            ranks = [_given_rank(r, message) for r in (rank if isinstance(rank, (list, tuple)) else [rank])]
            later = [r for r in ranks if not isinstance(r, int)]
            if x.dims is not None and not later:
                if not fits(len(x.dims), ranks):
                    wanted = f"in {tuple(ranks)}" if len(ranks) > 1 else ranks[0]
                    raise ValueError(f"{message or ''}{' ' if message else ''}Tensor {x.name} must have rank {says}{wanted}.  "
                                     f"Received rank {len(x.dims)}, shape {x.shape}")
                return no_op(name="static_checks_determined_all_ok")
            from regrad.ops.array import concat, reshape
            from regrad.ops.array import rank as rank_of
            from regrad.ops.reduce import reduce_any

            scalars = [Assert(equal(rank_of(r), 0), [message or "", "Rank must be a scalar, got ", r])
                       for r in later if r.dims is None]
            at_run, wanted = rank_of(x), concat([reshape(r, [-1]) for r in ranks], 0)
            condition = reduce_any((greater_equal if says else equal)(at_run, wanted))
            shown = data or [f"Tensor {x.name} must have rank {says}", wanted, ". Received rank: ", at_run]
            with get_default_graph().control_dependencies(scalars):
                return Assert(condition, [message or "", *shown], summarize=summarize)

    check.__name__ = what
    return check


assert_rank = _rank_check("assert_rank", lambda n, ranks: n in ranks, "")
assert_rank.__doc__ = "Returns an operation that raises unless `x` has `rank` axes; ValueError at once where it is known."
_assert_rank_in = _rank_check("assert_rank_in", lambda n, ranks: n in ranks, "")


def assert_rank_in(x, ranks, data=None, summarize=None, message=None, name=None):
    """As `assert_rank`, for a list of ranks, one of which `x` must have."""
    return _assert_rank_in(x, ranks, data, summarize, message, name)


assert_rank_at_least = _rank_check("assert_rank_at_least", lambda n, ranks: n >= ranks[0], "at least ")
assert_rank_at_least.__doc__ = "As `assert_rank`, for `x` of at least `rank` axes."


def verify_tensor_all_finite(t=None, msg=None, name=None, x=None, message=None):
    """Returns a tensor like `t` (or `x`); InvalidArgumentError with `msg` (or `message`) when it holds NaN or infinity."""
    from regrad.ops.array import check_numerics, one_of

    return check_numerics(one_of("x", x, "t", t), one_of("message", message, "msg", msg), name=name or "VerifyFinite")


def assert_integer(x, message=None, name=None):
    """Raises TypeError unless `x` has an integer dtype; returns an operation that does nothing."""
    x = convert_to_tensor(x, name="x")
    if not x.dtype.is_integer:
        raise TypeError(f'{message or ""}Expected "x" to be integer type.  Found: {x.name} of dtype {x.dtype!r}')
    return no_op(name=name or "assert_integer")


def assert_type(tensor, tf_type, message=None, name=None):
    """Raises TypeError unless `tensor` has dtype `tf_type`; returns an operation that does nothing."""
    tensor = convert_to_tensor(tensor, name="tensor")
    if tensor.dtype is not dtypes.as_dtype(tf_type):
        raise TypeError(f"{message or ''} {tensor.name} must be of type {dtypes.as_dtype(tf_type)}, not "
                        f"{tensor.dtype}")
    return no_op(name=name or "assert_type")


def assert_scalar(tensor, name=None, message=None):
    """Returns `tensor`; ValueError unless it is a scalar."""
    tensor = convert_to_tensor(tensor, name="tensor")
    if tensor.dims != ():
        raise ValueError(f"{message or ''}Expected scalar shape for {tensor.name}, saw shape: {tensor.shape}.")
    return tensor


def assert_same_float_dtype(tensors=None, dtype=None):
    """Returns the one floating dtype that all `tensors` (and `dtype`) have.

    Raises:
      ValueError: the dtypes differ, or are not floating.
    """
    found = {t.dtype for t in tensors or [] if t is not None} | ({dtypes.as_dtype(dtype)} if dtype is not None else set())
    if len(found) > 1:
        raise ValueError(f"Tensors must have the same type, got {sorted(t.name for t in found)}.")
    kind = found.pop() if found else dtypes.float32
    if not kind.is_floating:
        raise ValueError(f"Expected floating point type, got {kind.name}.")
    return kind


def assert_proper_iterable(values):
    """Raises TypeError unless `values` can be gone through: not for tensors, arrays and strings."""
    if hasattr(values, "dtype") or isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise TypeError('Expected argument "values" to be iterable, and "proper": no tensor, array or string; got '
                        f"{type(values)}")


def assert_shape_compatible(x, shape):
    """Raises ValueError unless the static shape of `x` fits `shape`."""
    x = convert_to_tensor(x)
    x.shape.assert_is_compatible_with(as_dims(shape))


def add_check_numerics_ops():
    """Returns an operation that checks every floating tensor of the default graph for NaN and infinity.

    Raises:
      InvalidArgumentError: (when run) one of them has such elements; the message names it.
    """
    checks = []
    graph = get_default_graph()
    for op in list(graph.get_operations()):
        for t in op.outputs:
            if t.dtype.is_floating and op.type not in ("CheckNumerics", "VariableV2"):
                message = f"{op.name}:{t.value_index}"
                with graph.control_dependencies(checks[-1:]):
                    checks.append(checknumerics_op(t, message=message).op)
    return group(*checks)


# -- printing ----------------------------------------------------------------------------------------
class _Times:
    """How often a Print op has printed."""

    def __init__(self):
        self.n = 0


def _print_lower(b, x, data, *, message, first_n, summarize, times):
    if first_n < 0 or times.n < first_n:
        times.n += 1
        print(message + "".join(t if t[:1] == "[" else f"[{t}]" for t in (flat_text(d, summarize) for d in data)),
              file=sys.stderr, flush=True)
    return x


print_op = define_op("Print", "input: T, data: [U]", host=True, stateful=True, lower=_print_lower,
                     infer=lambda x, data, **attrs: Spec(x.dims, x.dtype),
                     attrs={"message": "", "first_n": -1, "summarize": 3, "times": None})
print_op.declare(stored=Stored(complete=lambda attrs: attrs | {"times": _Times()}))


def Print(input_, data, message=None, first_n=None, summarize=None, name=None):
    """Returns `input_`, and prints `data` to standard error whenever it is computed.

    Args:
      data: list of tensors.
      message: words in front.
      first_n: print so many times only.
      summarize: how many elements of each tensor to show; 3 by default, -1 for all.
    """
    return print_op(input_, _listed(data, "Print"), message=message or "",
                    first_n=-1 if first_n is None else first_n, summarize=3 if summarize is None else summarize,
                    times=_Times(), name=name)


_STREAMS = {"stdout": lambda: sys.stdout, "stderr": lambda: sys.stderr}


def _print_v2_lower(b, text, *, output_stream, end):
    where = _STREAMS.get(output_stream)
    if where is not None:
        print(text[()].decode(errors="replace"), end=end, file=where(), flush=True)
    else:
        with open(output_stream, "a") as file:
            file.write(text[()].decode(errors="replace") + end)
    return ()


printv2_op = define_op("PrintV2", "input: string", host=True, stateful=True, infer=no_output, lower=_print_v2_lower,
                       attrs={"output_stream": "stderr", "end": "\n"})
printv2_op.declare(stored=Stored(writes_files=lambda op: op.attrs["output_stream"] not in _STREAMS))


def print_(*inputs, output_stream=None, summarize=3, sep=" ", end="\n", name=None):
    """Returns an operation that prints `inputs`: tensors, strings, numbers and structures of them.

    Args:
      output_stream: sys.stderr (also by default), sys.stdout, or "file://path" to append to.
      summarize: how many elements to show at both ends of every axis; -1 or None for all.
      sep, end: between the inputs, and after them.
    """
    if isinstance(output_stream, str) and output_stream.startswith("file://"):
        stream = output_stream[len("file://"):]
    elif output_stream in (sys.stderr, sys.__stderr__) or output_stream is None:
        stream = "stderr"
    elif output_stream in (sys.stdout, sys.__stdout__):
        stream = "stdout"
    else:
        raise ValueError(f"print: output_stream must be sys.stdout, sys.stderr or 'file://path', got {output_stream!r}.")
    with get_default_graph().name_scope(name or "print"):
        text = print_template(inputs, sep, -1 if summarize is None else summarize)
        return printv2_op(text, output_stream=stream, end=end, name="PrintV2")


NotDifferentiable("Assert")
NotDifferentiable("PrintV2")


@RegisterGradient("Print")
def _print_grad(op, dy):
    return [dy] + [None] * (len(op.inputs) - 1)
