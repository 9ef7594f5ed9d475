"""Helpers of those who write distributions, TensorFlow's `tensorflow.python.ops.distributions.util`: checks of parameters,
sizes as far as they are known, triangular matrices.
"""

import functools
import inspect

import numpy as np

from regrad.core import dtypes
from regrad.core.constants import get_static_value, known_value
from regrad.core.convert import convert_to_tensor
from regrad.core.graph import get_default_graph
from regrad.core.shapes import TensorShape, dimension_value
from regrad.distributions.base import new_seed as gen_new_seed  # noqa: F401
from regrad.distributions.discrete import logits_and_probs
from regrad.ops import array, math, special
from regrad.ops.check import Assert, assert_equal, assert_less_equal, assert_non_negative
from regrad.ops.compare import equal, less_equal, where_v2
from regrad.ops.control import no_op, with_dependencies
from regrad.ops.diag import matrix_band_part, matrix_diag, matrix_diag_part, matrix_set_diag
from regrad.ops.generate import range as sequence
from regrad.ops.indexing import gather
from regrad.ops.layout import reverse, roll
from regrad.ops.reduce import reduce_all, reduce_logsumexp, reduce_max, reduce_sum


# -- checks --------------------------------------------------------------------------------------------
def assert_close(x, y, data=None, summarize=None, message=None, name="assert_close"):
    """Returns an operation that raises unless `x` and `y` are equal, but for rounding where they are floating."""
    with get_default_graph().name_scope(name):
        x, y = convert_to_tensor(x, name="x"), convert_to_tensor(y, name="y")
        shown = data or [message or "", "Condition x ~= y did not hold element-wise: x = ", x.name, x, "y = ", y.name, y]
        if x.dtype.is_integer:
            return Assert(reduce_all(equal(x, y)), shown, summarize=summarize)
        close = less_equal(math.abs(x - y), np.finfo(x.dtype.as_numpy_dtype).eps)
        return Assert(reduce_all(close), shown, summarize=summarize)


_INTEGERS = {"float16": dtypes.int16, "float32": dtypes.int32, "float64": dtypes.int64}  # as wide


def assert_integer_form(x, data=None, summarize=None, message=None, int_dtype=None, name="assert_integer_form"):
    """Returns an operation that raises unless all elements of `x` are whole numbers."""
    with get_default_graph().name_scope(name):
        x = convert_to_tensor(x, name="x")
        if x.dtype.is_integer:
            return no_op()
        whole = int_dtype or _INTEGERS.get(x.dtype.name)
        if whole is None:
            raise TypeError(f"Unrecognized type {x.dtype.name}")
        return assert_equal(x, math.cast(math.cast(x, whole), x.dtype), data=data, summarize=summarize,
                            message=message or f"{x.name} has non-integer components")


def assert_symmetric(matrix):
    """Returns `matrix`, which waits for a check that it is symmetric."""
    return with_dependencies([assert_equal(matrix, array.matrix_transpose(matrix))], matrix)


def _largest_count(dtype):
    """Returns how many whole numbers from 0 a dtype tells apart."""
    if dtype.is_floating:
        return 2 ** (8 if dtype.name == "bfloat16" else np.finfo(dtype.as_numpy_dtype).nmant + 1)
    if dtype.is_integer and not dtype.is_quantized:
        return dtype.max
    raise TypeError(f"Unable to validate size of unrecognized dtype ({dtype.name}).")


def embed_check_categorical_event_shape(categorical_param, name="embed_check_categorical_event_shape"):
    """Returns the parameters of a categorical distribution; an error, now or when run, unless their dtype counts the classes.

    Raises:
      ValueError: there are fewer than 2 classes, or more than the dtype tells apart.
      TypeError: the dtype is neither floating nor an integer.
    """
    with get_default_graph().name_scope(name):
        x = convert_to_tensor(categorical_param, name="categorical_param")
        most = _largest_count(x.dtype)
        few = "A categorical-distribution parameter must have at least 2 events."
        many = f"Number of classes exceeds `dtype` precision, i.e., {x.dtype.name} implies shape cannot exceed {most}."
        size = x.shape[-1].value if x.shape.ndims else None
        if size is not None:
            if size < 2:
                raise ValueError(few)
            if size > most:
                raise ValueError(many)
            return x
        size = array.shape(x, out_type=dtypes.int64)[-1]
        return with_dependencies([assert_less_equal(np.int64(2), size, message=few),
                                  assert_less_equal(size, np.int64(min(most, 2 ** 62)), message=many)], x)


def embed_check_integer_casting_closed(x, target_dtype, assert_nonnegative=True, name="embed_check_casting_closed"):
    """Returns `x`, which waits for checks that casting it to `target_dtype` and back changes nothing."""
    with get_default_graph().name_scope(name):
        x, target = convert_to_tensor(x, name="x"), dtypes.as_dtype(target_dtype)
        if not (x.dtype.is_integer or x.dtype.is_floating):
            raise TypeError(f"{x.dtype.name} must be floating- or integer-type.")
        if not (target.is_integer or target.is_floating):
            raise TypeError(f"target_dtype must be floating- or integer-type, got {target.name}.")
        checks = [assert_non_negative(x, message="Elements must be non-negative.")] if assert_nonnegative else []
        if x.dtype.is_floating:
            checks.append(assert_integer_form(x, int_dtype=target if target.is_integer else None,
                                              message=f"Elements must be {target.name}-equivalent."))
        else:
            most = _largest_count(target)
            least = target.min if target.is_integer else -most
            limit = functools.partial(np.array, dtype=x.dtype.as_numpy_dtype)
            if x.dtype.max > most:
                checks.append(assert_less_equal(x, limit(most), message=f"Elements cannot exceed {most}."))
            if not assert_nonnegative and x.dtype.min < least:
                checks.append(assert_less_equal(limit(least), x, message=f"Elements cannot be smaller than {least}."))
        return with_dependencies(checks, x)


def get_logits_and_probs(logits=None, probs=None, multidimensional=False, validate_args=False, name="get_logits_and_probs",
                         dtype=None):
    """Returns (logits, probs) of one of them.

    Args:
      multidimensional: the last axis holds the classes of one distribution; else each element is the chance of a 1.
      validate_args: check that probabilities lie in [0, 1], and add up to 1 where there are several.
      dtype: the parameters', by default that of what is given.

    Raises:
      ValueError: both or neither are given.
    """
    with get_default_graph().name_scope(name):
        given = [None if v is None else convert_to_tensor(v, dtype=dtype) for v in (logits, probs)]
        if multidimensional and validate_args:
            given = [None if v is None else embed_check_categorical_event_shape(v) for v in given]
        return logits_and_probs(*given, multidimensional, validate_args)


# -- sizes and values, as far as they are known ---------------------------------------------------------
def same_dynamic_shape(a, b):
    """Returns a bool scalar: whether two tensors have one shape when run."""
    a, b = array.shape(a), array.shape(b)
    both = math.minimum(array.size(a), array.size(b))
    return equal(array.size(a), array.size(b)) & reduce_all(equal(a[:both], b[:both]))


def maybe_get_static_value(x, dtype=None):
    """Returns the value of `x` as a number or array, None where only a run tells."""
    value = None if x is None else get_static_value(x)
    return value if value is None or dtype is None else np.array(value, dtype)


def prefer_static_value(x):
    """Returns the value of `x` if it is known, else its tensor."""
    x = convert_to_tensor(x)
    value = known_value(x)
    return x if value is None else value


def prefer_static_shape(x):
    """Returns the shape of `x` as an int32 array if it is known, else a tensor."""
    return prefer_static_value(array.shape(x))


def prefer_static_rank(x):
    """Returns the number of axes of `x` as an array if it is known, else a tensor."""
    return prefer_static_value(array.rank(x))


def prefer_static_broadcast_shape(shape1, shape2, name="prefer_static_broadcast_shape"):
    """Returns the shape that two shapes broadcast to, as a TensorShape if it is known, else a tensor."""
    with get_default_graph().name_scope(name):
        sizes = [convert_to_tensor(s, dtype=dtypes.int32) for s in (shape1, shape2)]
        known = [s.value() for s in sizes]
        if any(k is None for k in known):
            return array.broadcast_dynamic_shape(*sizes)
        return array.broadcast_static_shape(*(TensorShape(k.tolist()) for k in known))


def dimension_size(x, axis):
    """Returns a size of `x`, an int if it is known."""
    size = None if x.shape.ndims is None else x.shape[axis].value
    return array.shape(x)[axis] if size is None else size


def pick_vector(cond, true_vector, false_vector, name="pick_vector"):
    """Returns one of two vectors by a bool scalar; their lengths may differ."""
    with get_default_graph().name_scope(name):
        cond = convert_to_tensor(cond, name="cond")
        if cond.dtype is not dtypes.bool_:
            raise TypeError(f"cond.dtype={cond.dtype} which is not {dtypes.bool_!r}")
        known = known_value(cond)
        if known is not None:
            return true_vector if known else false_vector
        x = convert_to_tensor(true_vector, name="true_vector")
        y = convert_to_tensor(false_vector, dtype=x.dtype, name="false_vector")
        n = array.size(x)
        return array.concat([x, y], 0)[where_v2(cond, 0, n):where_v2(cond, n, n + array.size(y))]


# -- numbers and matrices ---------------------------------------------------------------------------------
def log_combinations(n, counts, name="log_combinations"):
    """Returns the logarithm of n! / (counts[0]! counts[1]! ...), over the last axis of `counts`."""
    with get_default_graph().name_scope(name):
        n, counts = convert_to_tensor(n, name="n"), convert_to_tensor(counts, name="counts")
        return special.lgamma(n + 1) - reduce_sum(special.lgamma(counts + 1), [-1])


def matrix_diag_transform(matrix, transform=None, name=None):
    """Returns `matrix` with `transform` applied to its diagonal."""
    with get_default_graph().name_scope(name or "matrix_diag_transform"):
        matrix = convert_to_tensor(matrix, name="matrix")
        return matrix if transform is None else matrix_set_diag(matrix, transform(matrix_diag_part(matrix)))


def rotate_transpose(x, shift, name="rotate_transpose"):
    """Returns `x` with its axes moved on by `shift` places, the last to the front."""
    with get_default_graph().name_scope(name):
        x = convert_to_tensor(x, name="x")
        return array.transpose(x, roll(sequence(array.rank(x)), shift, 0))


def tridiag(below=None, diag=None, above=None, name=None):
    """Returns the sum of matrices with these vectors below, on and above the diagonal; None for no such vector."""
    with get_default_graph().name_scope(name or "tridiag"):
        parts = []
        for vector, by in ((below, -1), (diag, 0), (above, 1)):
            if vector is None:
                continue
            vector = convert_to_tensor(vector)
            if by:
                none = array.zeros(array.concat([array.shape(vector)[:-1], [1]], 0), vector.dtype)
                vector = array.concat([none, vector] if by < 0 else [vector, none], -1)
            parts.append(roll(matrix_diag(vector), by, -1) if by else matrix_diag(vector))
        if not parts:
            raise ValueError("Must specify at least one of diagonals.")
        return math.add_n(parts)


def reduce_weighted_logsumexp(logx, w=None, axis=None, keep_dims=False, return_sign=False, name=None):
    """Returns log(|sum(w exp(logx))|) over `axis`, and the sign of the sum if `return_sign`."""
    with get_default_graph().name_scope(name or "reduce_weighted_logsumexp"):
        logx = convert_to_tensor(logx, name="logx")
        if w is None:
            total = reduce_logsumexp(logx, axis=axis, keepdims=keep_dims)
            return (total, array.ones_like(total)) if return_sign else total
        w = convert_to_tensor(w, dtype=logx.dtype, name="w")
        scaled = logx + math.log(math.abs(w))
        largest = array.stop_gradient(reduce_max(scaled, axis=axis, keepdims=True))
        largest = where_v2(math.abs(largest) < np.inf, largest, array.zeros_like(largest))
        weighed = reduce_sum(math.sign(w) * math.exp(scaled - largest), axis=axis, keepdims=keep_dims)
        if not keep_dims:
            largest = array.squeeze(largest) if axis is None else array.squeeze(largest, axis)
        total = largest + math.log(math.abs(weighed))
        return (total, math.sign(weighed)) if return_sign else total


def softplus_inverse(x, name=None):
    """Returns the y with softplus(y) = x, for positive x."""
    with get_default_graph().name_scope(name or "softplus_inverse"):
        x = convert_to_tensor(x)
        # x + log(1 - exp(-x)): for small x, expm1 keeps the digits.
        return x + math.log(-math.expm1(-x))


def fill_triangular(x, upper=False, name=None):
    """Returns triangular matrices [..., n, n] of vectors [..., n (n + 1) / 2]: [1 ... 6] is [[4, 0, 0], [6, 5, 0], [3, 2, 1]].

    Raises:
      ValueError: the last size is unknown, or not n (n + 1) / 2.
    """
    with get_default_graph().name_scope(name or "fill_triangular"):
        x = convert_to_tensor(x, name="x")
        n = _triangle_rows(x)
        parts = [x, reverse(x[..., n:], [-1])] if upper else [x[..., n:], reverse(x, [-1])]
        square = array.reshape(array.concat(parts, -1), array.concat([array.shape(x)[:-1], [n, n]], 0))
        square.set_shape(x.shape[:-1].concatenate([n, n]))
        return matrix_band_part(square, 0, -1) if upper else matrix_band_part(square, -1, 0)


def fill_triangular_inverse(x, upper=False, name=None):
    """Returns the vectors of which `fill_triangular` makes the triangular matrices `x`."""
    with get_default_graph().name_scope(name or "fill_triangular_inverse"):
        x = convert_to_tensor(x, name="x")
        n = dimension_value(x.shape[-1])
        if n is None:
            raise ValueError("fill_triangular_inverse: the number of rows must be known.")
        m = n * (n + 1) // 2
        counted = np.arange(m)
        parts = [counted, counted[n:][::-1]] if upper else [counted[n:], counted[::-1]]
        square = np.concatenate(parts).reshape(n, n)
        where = {number: i for i, number in enumerate(square.ravel())
                 if (i % n >= i // n if upper else i % n <= i // n)}
        flat = array.reshape(x, array.concat([array.shape(x)[:-2], [n * n]], 0))
        y = gather(flat, np.array([where[number] for number in range(m)], np.int32), axis=-1)
        y.set_shape(x.shape[:-2].concatenate([m]))
        return y


def _triangle_rows(x):
    m = dimension_value(x.shape[-1]) if x.shape.ndims else None
    n = None if m is None else int(round((np.sqrt(8 * m + 1) - 1) / 2))
    if n is None or n * (n + 1) // 2 != m:
        raise ValueError(f"fill_triangular: the last size must be known, and n (n + 1) / 2 for a whole n: {x.shape}.")
    return n


# -- of Python ---------------------------------------------------------------------------------------------
def parent_frame_arguments():
    """Returns the arguments of the function that calls this, by name; those of **kwargs among them."""
    names, rest, keywords, values = inspect.getargvalues(inspect.currentframe().f_back)
    found = {name: values[name] for name in names}
    if keywords is not None:
        found.update(values[keywords])
    return {name: value for name, value in found.items() if name != "self"}


class AppendDocstring:
    """Decorates a function: a note, and what its keywords are, are added to its docstring."""

    def __init__(self, additional_note="", kwargs_dict=None):
        lines = [inspect.cleandoc(additional_note)] if additional_note else []
        if kwargs_dict:
            lines.append("##### `condition_kwargs`:")
            for key in sorted(kwargs_dict):
                if any(c.isspace() for c in key):
                    raise ValueError(f"Parameter name {key!r} contains whitespace.")
                if "\n" in kwargs_dict[key].strip():
                    raise ValueError(f"Parameter description for {key!r} contains newlines.")
                lines.append(f"*  `{key}`: {kwargs_dict[key].strip()}")
        self._added = "\n\n".join(lines)

    def __call__(self, function):
        @functools.wraps(function)
        def documented(*args, **kwargs):
            return function(*args, **kwargs)

        if self._added:
            documented.__doc__ = f"{inspect.cleandoc(function.__doc__ or '')}\n\n{self._added}".strip()
        return documented
