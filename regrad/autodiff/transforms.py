"""Ready-made changes of a gradient. Each has three doors:

    y = tf.reverse_gradient(x, 0.3)                              a block in the graph
    tf.gradients(y, x, overrides={"Relu": rules.reverse(0.3)})   an override of operations that exist
    rules.default >> rules.clip_norm(1.0) >> rules.scale(0.5)    a part of a composed rule

Blocks are identities forward. Strengths may be numbers, scalar tensors (fed, or computed), or schedules: functions of the
global step tensor.
"""

import numbers

import numpy as np

from regrad.autodiff import rules
from regrad.autodiff.rules import Transform, ready_made, strength_of, strength_text
from regrad.core import gradient_registry
from regrad.core.convert import convert_to_tensor
from regrad.core.errors import ShapeError
from regrad.core.graph import get_default_graph
from regrad.core.indexed_slices import IndexedSlices
from regrad.core.opdef import define_op, spec_text
from regrad.core.opdef import same as same_spec
from regrad.core.shapes import compatible
from regrad.ops import array, compare, math, reduce

block_op = define_op("GradientBlock", "input", infer=same_spec, lower=lambda b, x: x)
gradient_registry.RegisterGradient("GradientBlock")(lambda op, dy: dy)


def block(x, transform, name):
    """Returns a tensor equal to `x` whose gradient passes through `transform`."""
    out = block_op(x, name=name)
    out.op.attached_rules = [transform]
    return out


# -- transforms -----------------------------------------------------------------------------------


@ready_made
def scale(factor):
    """Multiplies the gradient by `factor` (a number, scalar tensor or schedule)."""
    return Transform(lambda g, op: _scaled(g, factor), f"scale({strength_text(factor)})")


def _scaled(g, factor):
    if isinstance(g, IndexedSlices):
        return IndexedSlices(_scaled(g.values, factor), g.indices, g.dense_shape)
    return g * strength_of(factor, g)


@ready_made
def reverse(strength=1.0):
    """Reverses the gradient: g -> -strength * g. Ganin & Lempitsky 2015, arXiv 1409.7495."""
    return Transform(lambda g, op: -_scaled(g, strength), f"reverse({strength_text(strength)})")


@ready_made
def clip(low, high=None):
    """Clips each element to [low, high]; `clip(c)` to [-c, c]."""

    if isinstance(low, numbers.Real) and isinstance(high, numbers.Real) and low > high:
        raise ValueError(f"clip: low is {low} and high is {high}; low must be at most high.")
    if isinstance(low, numbers.Real) and high is None and low < 0:
        raise ValueError(f"clip: the gradient is clipped to [-c, c], and c is {low}; it must not be negative.")

    def clipped(g, op):
        g = rules.dense(g)
        bound = strength_of(low if high is None else high, g)
        return math.minimum(math.maximum(g, -bound if high is None else strength_of(low, g)), bound)

    return Transform(clipped, f"clip({strength_text(low)}{'' if high is None else ', ' + strength_text(high)})")


@ready_made
def clip_norm(limit, axis=None):
    """Scales the gradient down so that its Euclidean norm (over `axis`; all by default) is at most `limit`."""

    def clipped(g, op):
        g = rules.dense(g)
        bound = strength_of(limit, g)
        squares = reduce.reduce_sum(math.square(g), axis=axis, keepdims=axis is not None)
        # At a norm of 0 nothing is scaled; the root is taken of something positive so that second order is finite.
        positive = squares > array.zeros_like(squares)
        norm = math.sqrt(compare.select(positive, squares, array.ones_like(squares)))
        norm = compare.select(positive, norm, array.zeros_like(norm))
        return g * (bound / math.maximum(norm, array.ones_like(norm) * bound))

    return Transform(clipped, f"clip_norm({strength_text(limit)})")


@ready_made
def clip_percentile(q):
    """Clips each element's size to the `q`-th percentile (0 to 100) of the sizes in this gradient.

    The percentile counts as a constant in second derivatives.
    """
    text = strength_text(q)
    if isinstance(q, numbers.Real) and not 0 <= q <= 100:
        raise ValueError(f"clip_percentile: q is between 0 and 100, got {q}.")

    def clipped(g, op):
        from regrad.ops.sort import sort

        g = rules.dense(g)
        sizes = sort(array.reshape(math.abs(g), [-1]))
        n = array.size(sizes)
        position = math.cast(math.round(math.cast(n - 1, g.dtype) * (strength_of(q, g) / 100.0)), n.dtype)
        bound = array.stop_gradient(sizes[position])
        return math.minimum(math.maximum(g, -bound), bound)

    return Transform(clipped, f"clip_percentile({text})")


@ready_made
def zero():
    """Makes the gradient zero. Unlike `stop_gradient`, the path is still there: the result is zeros, not None."""
    return Transform(lambda g, op: array.zeros_like(rules.dense(g)), "zero")


@ready_made
def stop():
    """Lets nothing through: what lies behind gets None, as behind `stop_gradient`, if no other path leads there."""
    return _Stop(lambda g, op: None, "stop()")


class _Stop(Transform):
    """A transform to nothing: as a rule it asks for no default, and what follows it has nothing to change."""

    def __call__(self, op, *grads, default):
        return [None] * len(op.inputs)

    def __rshift__(self, other):
        if not isinstance(other, Transform):
            rules.as_rule(other)
        return self


@ready_made
def mask(keep):
    """Keeps the gradient where `keep` (a bool or 0/1 tensor that broadcasts) is true; zero elsewhere."""

    def masked(g, op):
        g = rules.dense(g)
        return g * math.cast(convert_to_tensor(keep), g.dtype)

    return Transform(masked, "mask")


@ready_made
def normalize(axis=None, epsilon=1e-12):
    """Scales the gradient to Euclidean norm 1 (over `axis`; all by default); a zero gradient stays zero."""

    def normalized(g, op):
        g = rules.dense(g)
        squares = reduce.reduce_sum(math.square(g), axis=axis, keepdims=axis is not None)
        return g * math.rsqrt(math.maximum(squares, array.ones_like(squares) * np.asarray(epsilon, g.dtype.as_numpy_dtype)))

    return Transform(normalized, "normalize")


@ready_made
def noise(stddev, seed=None):
    """Adds Gaussian noise of standard deviation `stddev`. Neelakantan et al. 2015, arXiv 1511.06807."""

    def noisy(g, op):
        from regrad.ops.random import random_normal

        g = rules.dense(g)
        return g + random_normal(array.shape(g), dtype=g.dtype, seed=seed) * strength_of(stddev, g)

    return Transform(noisy, f"noise({strength_text(stddev)})")


@ready_made
def dropout(rate, seed=None):
    """Zeroes each element with probability `rate` and scales the others by 1 / (1 - rate)."""
    if isinstance(rate, (int, float)) and not 0.0 <= rate < 1.0:
        raise ValueError(f"dropout: rate is a probability below 1, got {rate!r}.")

    def dropped(g, op):
        from regrad.ops.random import random_uniform

        g = rules.dense(g)
        kept = random_uniform(array.shape(g), dtype=g.dtype, seed=seed) >= strength_of(rate, g)
        return g * math.cast(kept, g.dtype) / (1.0 - strength_of(rate, g))

    return Transform(dropped, f"dropout({strength_text(rate)})")


@ready_made
def quantize_gradient(bits, seed=None):
    """Quantises the gradient to `bits` bits with stochastic rounding. Zhou et al. 2016 (DoReFa), arXiv 1606.06160, eq. 12."""
    if not isinstance(bits, int) or bits < 1:
        raise ValueError(f"quantize_gradient: bits is a whole number from 1 on, got {bits!r}.")

    def quantized(g, op):
        from regrad.ops.random import random_uniform

        g = rules.dense(g)
        levels = float(2**bits - 1)
        largest = reduce.reduce_max(math.abs(g), axis=list(range(1, g.rank)) if g.rank else None, keepdims=bool(g.rank))
        largest = math.maximum(largest, array.ones_like(largest) * g.dtype.as_numpy_dtype(1e-30))
        unit = g / (2.0 * largest) + 0.5
        jitter = (random_uniform(array.shape(g), dtype=g.dtype, seed=seed) - 0.5) / levels
        return 2.0 * largest * (math.round((unit + jitter) * levels) / levels - 0.5)

    return Transform(quantized, f"quantize_gradient({bits})")


def watch(function):
    """Calls `function(gradient, op)` while the graph is built, and passes the gradient on: a tap for inner gradients."""

    def watched(g, op):
        function(g, op)
        return g

    return Transform(watched, f"watch({getattr(function, '__name__', function)})")


# -- blocks ----------------------------------------------------------------------------------------


def reverse_gradient(x, strength=1.0, name=None):
    """Returns `x`; its gradient is multiplied by -strength. Ganin & Lempitsky 2015, arXiv 1409.7495.

    Args:
      strength: a number, a scalar tensor, or a schedule: a function of the global step.

    Example:
      x = tf.constant([1.0, 2.0])
      y = tf.reverse_gradient(x, strength=0.5)
      print(*tf.Session().run([y, tf.gradients(y, x)[0]]))
      #> [1. 2.] [-0.5 -0.5]
    """
    return block(x, reverse(strength), name or "reverse_gradient")


def scale_gradient(x, factor, name=None):
    """Returns `x`; its gradient is multiplied by `factor`.

    Example:
      x = tf.constant([1.0, 2.0])
      print(tf.Session().run(tf.gradients(tf.scale_gradient(x, 10.0), x)[0]))
      #> [10. 10.]
    """
    return block(x, scale(factor), name or "scale_gradient")


def clip_gradient(x, low=None, high=None, norm=None, percentile=None, axis=None, name=None):
    """Returns `x`; its gradient is clipped: by value (`low` and `high`, or one number c for [-c, c]), by `norm`, or to a
    `percentile` of its sizes.

    Raises:
      ValueError: not exactly one of the three ways is asked for.

    Example:
      x = tf.constant([1.0, 2.0])
      y = tf.clip_gradient(x, -1.0, 1.0) * [0.5, 7.0]
      print(tf.Session().run(tf.gradients(y, x)[0]))
      #> [0.5 1. ]
    """
    ways = [w for w in (low, norm, percentile) if w is not None]
    if len(ways) != 1:
        raise ValueError("clip_gradient: give one of low (with high), norm, and percentile.")
    how = clip(low, high) if low is not None else clip_norm(norm, axis) if norm is not None else clip_percentile(percentile)
    return block(x, how, name or "clip_gradient")


def zero_gradient(x, name=None):
    """Returns `x`; its gradient is zeros, where `stop_gradient` makes it None.

    Example:
      x = tf.constant([1.0, 2.0])
      print(tf.Session().run(tf.gradients(tf.zero_gradient(x), x)[0]))
      #> [0. 0.]
    """
    return block(x, zero(), name or "zero_gradient")


def mask_gradient(x, keep, name=None):
    """Returns `x`; its gradient is kept only where `keep` is true.

    Example:
      x = tf.constant([1.0, 2.0])
      print(tf.Session().run(tf.gradients(tf.mask_gradient(x, [True, False]), x)[0]))
      #> [1. 0.]
    """
    return block(x, mask(keep), name or "mask_gradient")


def normalize_gradient(x, axis=None, name=None):
    """Returns `x`; its gradient is scaled to norm 1.

    Example:
      x = tf.constant([1.0, 2.0])
      y = tf.normalize_gradient(x) * [0.0, 7.0]
      print(tf.Session().run(tf.gradients(y, x)[0]))
      #> [0. 1.]
    """
    return block(x, normalize(axis), name or "normalize_gradient")


def noise_gradient(x, stddev, seed=None, name=None):
    """Returns `x`; Gaussian noise is added to its gradient."""
    return block(x, noise(stddev, seed), name or "noise_gradient")


def substitute(forward, backward_of, name=None):
    """Returns a function that computes `forward(*xs)` and has the gradient of `backward_of(*xs)`.

        rounded = tf.substitute(forward=tf.round, backward_of=tf.identity)

    Both functions return a tensor of one shape. It is backward(x) + stop_gradient(forward(x) - backward(x)) without the
    rounding error of the sum: the forward value is exact.

    Example:
      x = tf.constant([-2.0, 0.5])
      y = tf.substitute(forward=tf.sign, backward_of=tf.square)(x)
      print(*tf.Session().run([y, tf.gradients(y, x)[0]]))
      #> [-1.  1.] [-4.  1.]
    """

    for role, function in (("forward", forward), ("backward_of", backward_of)):
        if not callable(function):
            raise TypeError(f"substitute: {role} must be a function of tensors, got {function!r}.")

    def substituted(*xs):
        graph = get_default_graph()
        with graph.name_scope(name or "substitute"):
            value = convert_to_tensor(forward(*xs))
            soft = convert_to_tensor(backward_of(*xs))
            return _forward_of(value, soft)

    return substituted


def _forward_of_infer(value, soft):
    if not compatible(value.dims, soft.dims):
        raise ShapeError(f"forward gives {spec_text(value)} and backward_of {spec_text(soft)}; both must have one shape")
    return same_spec(value)


forward_of_op = define_op("ForwardOf", "value: T, soft: T", infer=_forward_of_infer, shape_only=(1,),
                          lower=lambda b, value, soft: value)
forward_of_op.declare(led_through=(1,))  # its value does not matter, but gradients flow there, those of gradients too


@gradient_registry.RegisterGradient("ForwardOf")
def _forward_of_grad(op, dy):
    return None, dy


_forward_of_grad.passes_by = (0,)


def _forward_of(value, soft):
    if value.dtype is not soft.dtype:
        value = math.cast(value, soft.dtype)
    return forward_of_op(value, soft)


# -- how gradients add -------------------------------------------------------------------------------
# Rules for `gradients(..., accumulate={tensor or variable: rule})`: terms -> total.


def accumulate_sum(terms, tensor):
    """The sum: what happens anyway."""
    return math.add_n(terms)


def accumulate_mean(terms, tensor):
    """The mean of the terms."""
    return math.add_n(terms) / float(len(terms))


def accumulate_max(terms, tensor):
    """Element by element, the term of the greatest size."""
    best = terms[0]
    for t in terms[1:]:
        best = compare.select(math.abs(t) > math.abs(best), t, best)
    return best


def accumulate_clipped(limit):
    """Returns the rule that clips each term to Euclidean norm `limit` and adds."""
    return lambda terms, tensor: math.add_n(clip_norm(limit).over(terms, tensor.op))


def accumulate_pcgrad(terms, tensor):
    """Projects each term off those it conflicts with, and adds: `tf.pcgrad` for one tensor by itself.

    The others are taken in the order in which they arrive, so the result is the same on every run. Yu et al. 2020 (PCGrad),
    arXiv 2001.06782, project the gradients by all shared variables as one vector: that is `tf.pcgrad(losses, variables)`.
    """
    projected = []
    for i, g in enumerate(terms):
        for j, other in enumerate(terms):
            if i == j:
                continue
            dot = reduce.reduce_sum(g * other)
            size = reduce.reduce_sum(math.square(other))
            g = g - math.minimum(dot, array.zeros_like(dot)) / math.maximum(size, array.ones_like(size) * 1e-30) * other
        projected.append(g)
    return math.add_n(projected)


