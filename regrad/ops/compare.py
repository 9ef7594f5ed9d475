"""Comparisons, logic and choice. Gradients: `compare_grad.py`."""

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import NUMERIC, REAL
from regrad.core.errors import ShapeError
from regrad.core.opdef import Spec, compared, define_op, spec_text
from regrad.core.shapes import broadcast, merge

_EQUALITY = NUMERIC | {dtypes.bool_, dtypes.string} | dtypes.QUANTIZED_DTYPES


def _comparison(op_type, function, types):
    return define_op(op_type, "x, y", infer=compared, types={"T": types},
                     lower=lambda b, x, y: getattr(b.np, function)(x, y))


equal_op = _comparison("Equal", "equal", _EQUALITY)
notequal_op = _comparison("NotEqual", "not_equal", _EQUALITY)
less_op = _comparison("Less", "less", REAL)
lessequal_op = _comparison("LessEqual", "less_equal", REAL)
greater_op = _comparison("Greater", "greater", REAL)
greaterequal_op = _comparison("GreaterEqual", "greater_equal", REAL)


def equal(x, y, name=None):
    """Returns x == y element-wise as bool, with broadcasting.

    Example:
      print(tf.Session().run(tf.equal([1, 2], [1, 3])))
      #> [ True False]
    """
    return equal_op(x, y, name=name)


def not_equal(x, y, name=None):
    """Returns x != y element-wise as bool, with broadcasting."""
    return notequal_op(x, y, name=name)


def less(x, y, name=None):
    """Returns x < y element-wise as bool, with broadcasting."""
    return less_op(x, y, name=name)


def less_equal(x, y, name=None):
    """Returns x <= y element-wise as bool, with broadcasting."""
    return lessequal_op(x, y, name=name)


def greater(x, y, name=None):
    """Returns x > y element-wise as bool, with broadcasting."""
    return greater_op(x, y, name=name)


def greater_equal(x, y, name=None):
    """Returns x >= y element-wise as bool, with broadcasting."""
    return greaterequal_op(x, y, name=name)


# -- logic ---------------------------------------------------------------------------
logicaland_op = define_op("LogicalAnd", "x: bool, y: bool", infer=compared,
                          lower=lambda b, x, y: b.np.logical_and(x, y))
logicalor_op = define_op("LogicalOr", "x: bool, y: bool", infer=compared,
                         lower=lambda b, x, y: b.np.logical_or(x, y))
logicalnot_op = define_op("LogicalNot", "x: bool", infer=lambda x: Spec(x.dims, dtypes.bool_),
                          lower=lambda b, x: b.np.logical_not(x))


def logical_and(x, y, name=None):
    """Returns x and y element-wise, with broadcasting."""
    return logicaland_op(x, y, name=name)


def logical_or(x, y, name=None):
    """Returns x or y element-wise, with broadcasting."""
    return logicalor_op(x, y, name=name)


def logical_not(x, name=None):
    """Returns not x element-wise."""
    return logicalnot_op(x, name=name)


def logical_xor(x, y, name="LogicalXor"):
    """Returns whether exactly one of x and y is True, element-wise."""
    return logical_and(logical_or(x, y), logical_not(logical_and(x, y)), name=name)


# -- Select: the condition is a scalar, a vector over rows, or of the tensors' shape -----------
def _select_infer(condition, t, e):
    dims = merge(t.dims, e.dims, "Select needs two tensors of one shape;")
    c = condition.dims
    if c is not None and dims is not None and len(c) not in (0, min(1, len(dims)), len(dims)):
        raise ShapeError(f"the condition {spec_text(condition)} must be a scalar, a vector as long as the first axis, or "
                         f"of the shape of {spec_text(t)}")
    if c is not None and dims is not None and len(c) == 1 < len(dims):
        merge(c, dims[:1], "Select's condition and the first axis of its tensors:")
    if c is not None and dims is not None and len(c) == len(dims):
        dims = merge(dims, c, "Select's condition and tensors:")
    return Spec(dims, t.dtype)


def _select_lower(b, c, t, e):
    if c.ndim == 1 and t.ndim > 1:
        c = c.reshape((-1,) + (1,) * (t.ndim - 1))
    return b.np.where(c, t, e)


select_op = define_op("Select", "condition: bool, t: T, e: T", infer=_select_infer, lower=_select_lower)
selectv2_op = define_op("SelectV2", "condition: bool, t: T, e: T", lower=lambda b, c, t, e: b.np.where(c, t, e),
                        infer=lambda c, t, e: Spec(broadcast(c.dims, broadcast(t.dims, e.dims)), t.dtype))


def select(condition, x, y, name=None):
    """Returns `x` where `condition` is True and `y` elsewhere.

    Args:
      condition: bool; a scalar, of the shape of `x` and `y`, or a vector choosing whole rows.
      x, y: tensors of one shape and dtype.
    """
    return select_op(condition, x, y, name=name)


def where_v2(condition, x=None, y=None, name=None):
    """Returns `x` where `condition` is True and `y` elsewhere, with broadcasting; without x and y, the indices."""
    if x is None and y is None:
        return where(condition, name=name)
    return selectv2_op(condition, x, y, name=name)


def where(condition, x=None, y=None, name=None):
    """Chooses between `x` and `y` as `select` does; given only `condition`, returns the indices of its True elements.

    Returns:
      With `x` and `y`, a tensor of their shape; without, int64 [n, rank of condition], row-major order.

    Raises:
      ValueError: only one of `x` and `y` is given.

    Example:
      print(*tf.Session().run([tf.where([True, False], [1, 2], [-1, -2]), tf.where([False, True])]))
      #> [ 1 -2] [[1]]
    """
    if (x is None) != (y is None):
        raise ValueError("x and y must both be non-None or both be None.")
    if x is None:
        from regrad.ops.indexing import where_op

        return where_op(convert_to_tensor(condition, name="condition"), name=name)
    return select_op(condition, x, y, name=name)
