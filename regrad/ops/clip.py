"""Clipping of values and norms, built from other ops as in TensorFlow: overriding one of those reaches inside.

`ClipByValue` exists as an op type of its own for graphs that name it. Gradient: `clip_grad.py`.
"""

from regrad.core.convert import constant, convert_to_tensor
from regrad.core.dtypes import REAL
from regrad.core.graph import get_default_graph
from regrad.core.indexed_slices import IndexedSlices
from regrad.core.opdef import Spec, define_op
from regrad.core.shapes import broadcast
from regrad.ops import array, compare, math, reduce

clipbyvalue_op = define_op("ClipByValue", "t, clip_value_min, clip_value_max", types={"T": REAL},
                           infer=lambda t, low, high: Spec(broadcast(t.dims, broadcast(low.dims, high.dims)), t.dtype),
                           lower=lambda b, t, low, high: b.np.maximum(b.np.minimum(t, high), low))


def clip_by_value(t, clip_value_min, clip_value_max, name=None):
    """Returns `t` with each element brought into [clip_value_min, clip_value_max].

    Args:
      t: tensor or IndexedSlices.
      clip_value_min, clip_value_max: scalars, or tensors that broadcast to the shape of `t`.

    Raises:
      ValueError: broadcasting the bounds would make the result larger than `t`.

    Example:
      print(tf.Session().run(tf.clip_by_value([-3.0, 0.5, 3.0], -1.0, 1.0)))
      #> [-1.   0.5  1. ]
    """
    with get_default_graph().name_scope(name or "clip_by_value") as scope:
        values = convert_to_tensor(t.values if isinstance(t, IndexedSlices) else t, name="t")
        below = math.minimum(values, clip_value_max)
        result = math.maximum(below, clip_value_min, name=scope)
        if values.dims is not None and result.dims is not None and len(result.dims) != len(values.dims):
            raise ValueError(f"clip_by_value: the bounds broadcast {values.shape} to {result.shape}.")
        result.set_shape(values.dims)
        return IndexedSlices(result, t.indices, t.dense_shape) if isinstance(t, IndexedSlices) else result


def clip_by_norm(t, clip_norm, axes=None, name=None):
    """Returns `t` scaled down so that its Euclidean norm over `axes` (all by default) is at most `clip_norm`."""
    with get_default_graph().name_scope(name or "clip_by_norm") as scope:
        values = convert_to_tensor(t.values if isinstance(t, IndexedSlices) else t, name="t")
        squares = reduce.reduce_sum(values * values, axes, keepdims=True)
        positive = squares > array.zeros_like(squares)
        # The root of 0 has no derivative: where the norm is 0 another number takes its place.
        safe = compare.select(positive, squares, array.ones_like(squares))
        norm = compare.select(positive, math.sqrt(safe), squares)
        clipped = values * clip_norm / math.maximum(norm, clip_norm)
        clipped.set_shape(values.dims)
        clipped = array.identity(clipped, name=scope)
        return IndexedSlices(clipped, t.indices, t.dense_shape) if isinstance(t, IndexedSlices) else clipped


def clip_by_average_norm(t, clip_norm, name=None):
    """Returns `t` scaled down so that its Euclidean norm divided by its number of elements is at most `clip_norm`."""
    with get_default_graph().name_scope(name or "clip_by_average_norm") as scope:
        t = convert_to_tensor(t, name="t")
        n = math.cast(array.size(t), t.dtype)
        inverse = math.rsqrt(reduce.reduce_sum(t * t, keepdims=True))
        smallest = math.minimum(inverse * n, constant(1.0, t.dtype) / clip_norm)
        return array.identity(t * clip_norm * smallest, name=scope)


def global_norm(t_list, name=None):
    """Returns the Euclidean norm of all tensors of a list together, a scalar; None entries are left out.

    Raises:
      TypeError: `t_list` is no list.
    """
    if not isinstance(t_list, (list, tuple)):
        raise TypeError("t_list should be a sequence")
    with get_default_graph().name_scope(name or "global_norm") as scope:
        values = [convert_to_tensor(t.values if isinstance(t, IndexedSlices) else t, name=f"t_{i}")
                  for i, t in enumerate(t_list) if t is not None]
        halves = [0.5 * reduce.reduce_sum(math.square(v)) for v in values]
        return math.sqrt(2.0 * reduce.reduce_sum(array.stack(halves)), name=scope)


def clip_by_global_norm(t_list, clip_norm, use_norm=None, name=None):
    """Returns (tensors scaled so that their global norm is at most `clip_norm`, the global norm before).

    With a norm that is not finite the results are NaN, as in TensorFlow. Pascanu et al. 2012, arXiv 1211.5063.

    Args:
      t_list: list of tensors, IndexedSlices and None.
      use_norm: the global norm, if it is known already.

    Example:
      clipped, length = tf.clip_by_global_norm([[3.0], [4.0]], 2.5)
      print(*tf.Session().run(clipped + [length]))
      #> [1.5] [2.] 5.0
    """
    if not isinstance(t_list, (list, tuple)):
        raise TypeError("t_list should be a sequence")
    t_list = list(t_list)
    with get_default_graph().name_scope(name or "clip_by_global_norm"):
        norm = global_norm(t_list) if use_norm is None else convert_to_tensor(use_norm)
        one = constant(1.0, norm.dtype)
        scale = clip_norm * math.minimum(one / norm, one / clip_norm)
        # infinity - infinity: a norm that is not finite must not pass for a small one
        scale = scale + (norm - norm)
        out = []
        for t in t_list:
            if t is None:
                out.append(None)
            elif isinstance(t, IndexedSlices):
                out.append(IndexedSlices(t.values * math.cast(scale, t.dtype), t.indices, t.dense_shape))
            else:
                t = convert_to_tensor(t)
                out.append(array.identity(t * math.cast(scale, t.dtype)))
        return out, norm
