"""Derivatives for functions that have none: straight-through estimators, spikes, guided and redirected ReLUs."""

import math as pymath

from regrad.autodiff import rules
from regrad.autodiff.transforms import substitute
from regrad.core.convert import convert_to_tensor
from regrad.ops import array, compare, math

# -- surrogate derivatives: functions of x --------------------------------------------------------------


def identity(x):
    """1: the straight-through estimator. Bengio et al. 2013, arXiv 1308.3432."""
    return array.ones_like(x)


@rules.ready_made
def clipped(width=1.0):
    """1 where |x| <= width, else 0 (hard tanh). Courbariaux et al. 2016, arXiv 1602.02830."""
    return lambda x: math.cast(math.abs(x) <= rules.strength_of(width, x), x.dtype)


@rules.ready_made
def tanh(temperature=1.0):
    """The derivative of tanh(x / temperature)."""

    def derivative(x):
        t = rules.strength_of(temperature, x)
        return (1.0 - math.square(math.tanh(x / t))) / t

    return derivative


@rules.ready_made
def sigmoid(slope=1.0):
    """The derivative of sigmoid(slope x)."""

    def derivative(x):
        k = rules.strength_of(slope, x)
        s = math.sigmoid(k * x)
        return k * s * (1.0 - s)

    return derivative


@rules.ready_made
def fast_sigmoid(slope=10.0):
    """1 / (1 + slope |x|)^2. Zenke & Ganguli 2018 (SuperSpike), arXiv 1705.11146."""
    return lambda x: math.reciprocal(math.square(1.0 + rules.strength_of(slope, x) * math.abs(x)))


@rules.ready_made
def arctan(alpha=2.0):
    """alpha / 2 / (1 + (pi / 2 alpha x)^2). Fang et al. 2021, arXiv 2007.05785."""
    return lambda x: 0.5 * rules.strength_of(alpha, x) / (1.0 + math.square(0.5 * pymath.pi * rules.strength_of(alpha, x) * x))


@rules.ready_made
def triangle(dampening=0.3, width=1.0):
    """dampening max(0, 1 - |x| / width). Bellec et al. 2018 (LSNN), arXiv 1803.09574."""
    of = rules.strength_of
    return lambda x: of(dampening, x) * math.maximum(1.0 - math.abs(x) / of(width, x), array.zeros_like(x))


@rules.ready_made
def gaussian(sigma=0.5):
    """The normal density of standard deviation `sigma`."""

    def derivative(x):
        s = rules.strength_of(sigma, x)
        return math.exp(-0.5 * math.square(x / s)) / (s * pymath.sqrt(2 * pymath.pi))

    return derivative


def approx_sign(x):
    """2 - 2|x| where |x| <= 1, else 0. Liu et al. 2018 (Bi-Real), arXiv 1808.00278."""
    return math.maximum(2.0 - 2.0 * math.abs(x), array.zeros_like(x))


@rules.ready_made
def swish_sign(beta=5.0):
    """The derivative of 2 sigmoid(beta x)(1 + beta x (1 - sigmoid(beta x))) - 1. Darabi et al. 2018, arXiv 1812.11800."""

    def derivative(x):
        bx = rules.strength_of(beta, x) * x
        s = math.sigmoid(bx)
        return 2.0 * rules.strength_of(beta, x) * s * (1.0 - s) * (2.0 + bx * (1.0 - 2.0 * s))

    return derivative


# -- as rules and as functions -----------------------------------------------------------------------------


@rules.ready_made
def surrogate(derivative=identity):
    """Returns a rule for element-wise ops of one input: dx = dy derivative(x).

    Example: `overrides={"Sign": rules.surrogate(rules.clipped())}`.
    """

    def rule(op, dy):
        return [dy * derivative(op.inputs[0])] + [None] * (len(op.inputs) - 1)

    rule.__name__ = f"surrogate({getattr(derivative, '__name__', derivative)})"
    return rule


def straight_through(f, derivative=None, name=None):
    """Returns `f` with the derivative of the identity, or `derivative(x)`, instead of its own.

    Args:
      f: function of one tensor that returns one of the same shape: `tf.round`, `tf.sign` ...
      derivative: function of the input; see `clipped`, `tanh`, `fast_sigmoid` ... in `regrad.rules`.

    Example:
      x = tf.constant([0.4, 1.6])
      y = tf.straight_through(tf.round)(x)
      print(*tf.Session().run([y, tf.gradients(y, x)[0]]))
      #> [0. 2.] [1. 1.]
    """
    if not callable(f) or derivative is not None and not callable(derivative):
        raise TypeError(f"straight_through: f and derivative are functions of a tensor, got {f!r} and {derivative!r}; "
                        "y = tf.straight_through(tf.round)(x).")
    if getattr(derivative, "makes_rules", False):
        raise TypeError(f"rules.{derivative.__name__} is no derivative, but makes one: rules.{derivative.__name__}(...).")

    def slope(op, dy):
        return None, dy * derivative(op.inputs[1])

    slope.__name__ = f"straight_through({getattr(derivative, '__name__', derivative)})"
    slope.passes_by = (0,)

    def through(*xs):
        if len(xs) != 1:
            raise TypeError(f"straight_through: a function of one tensor is wanted, this one was called with {len(xs)}. Of "
                            "several tensors: tf.substitute(forward=f, backward_of=g), where g says which gradient each gets.")
        x = convert_to_tensor(xs[0])
        if derivative is None:
            return substitute(f, array.identity, name or "straight_through")(x)
        y = substitute(f, array.identity, name or "straight_through")(x)
        y.op.attached_rules = [slope]
        return y

    return through


def spike(x, derivative=None, threshold=0.0, name=None):
    """Returns 1 where x > threshold, else 0, with a surrogate derivative (by default `fast_sigmoid()`).

    Neftci et al. 2019, "Surrogate gradient learning in spiking neural networks", arXiv 1901.09948.

    Example:
      x = tf.constant([-1.0, 0.0, 2.0])
      y = tf.spike(x, tf.rules.clipped())
      print(*tf.Session().run([y, tf.gradients(y, x)[0]]))
      #> [0. 0. 1.] [1. 1. 0.]
    """
    if derivative is not None and not callable(derivative):
        raise TypeError("spike: derivative is a function of x - threshold, such as rules.fast_sigmoid(10.0); got "
                        f"{derivative!r}.")
    x = convert_to_tensor(x)
    if not x.dtype.is_floating:
        raise TypeError(f"spike: x must be of a floating dtype, got {x.dtype.name} ({x.name}).")
    x = x - threshold
    return straight_through(lambda v: math.cast(v > array.zeros_like(v), v.dtype), derivative or fast_sigmoid(),
                            name or "spike")(x)


# -- ReLUs for looking into networks --------------------------------------------------------------------------


def guided_relu(op, dy):
    """Guided backpropagation: passes only positive gradients, and only where the unit was active.

    Springenberg et al. 2014, arXiv 1412.6806. For Relu, Relu6, Elu, Selu, LeakyRelu ...
    """
    zero = array.zeros_like(dy)
    active = op.outputs[0] > array.zeros_like(op.outputs[0])
    return compare.select(active, math.maximum(dy, zero), zero)


def deconvnet_relu(op, dy):
    """Deconvolution: passes positive gradients wherever the unit was active or not. Zeiler & Fergus 2013, arXiv 1311.2901."""
    return math.maximum(dy, array.zeros_like(dy))


def redirected_relu(op, dy, default):
    """Lets a gradient into dead units while it would bring them to life: feature visualisation.

    Where a whole example's gradient is blocked by inactive units, those units get the gradient that pushes them up. Olah et
    al. 2017, "Feature visualization", Distill.
    """
    from regrad.ops.reduce import reduce_sum

    x = op.inputs[0]
    zero = array.zeros_like(dy)
    usual = rules.dense(default()[0])
    upwards = compare.select(compare.logical_or(dy < zero, x > array.zeros_like(x)), dy, zero)
    axes = list(range(1, dy.rank)) if dy.rank and dy.rank > 1 else [0]
    blocked = reduce_sum(math.abs(usual), axis=axes, keepdims=True) <= 0.0
    return compare.selectv2_op(blocked, upwards, usual)
