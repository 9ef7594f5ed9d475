"""`tf.contrib.distributions.bijectors`: functions with an inverse and the logarithm of their Jacobian's determinant.

    flow = bijectors.Chain([bijectors.Exp(), bijectors.AffineScalar(shift, scale)])  # the last is applied first
    log_normal = tf.contrib.distributions.TransformedDistribution(tf.distributions.Normal(0.0, 1.0), flow)
"""

import contextlib
import math as numbers

import numpy as np

from regrad import layers
from regrad.autodiff.surrogates import straight_through
from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.graph import get_default_graph
from regrad.core.shapes import TensorShape, dimension_value
from regrad.distributions.util import fill_triangular, fill_triangular_inverse, softplus_inverse
from regrad.linear_operators.base import LinearOperator
from regrad.linear_operators.blocks import LinearOperatorLowRankUpdate
from regrad.linear_operators.diagonal import LinearOperatorDiag, LinearOperatorIdentity, LinearOperatorScaledIdentity
from regrad.linear_operators.matrices import LinearOperatorLowerTriangular
from regrad.ops import array, linalg, math, nn
from regrad.ops.clip import clip_by_value
from regrad.ops.cumulative import cumsum
from regrad.ops.diag import matrix_band_part, matrix_diag_part, matrix_set_diag
from regrad.ops.generate import eye
from regrad.ops.generate import range as sequence
from regrad.ops.indexing import gather
from regrad.ops.matmul import matmul
from regrad.ops.reduce import reduce_logsumexp, reduce_prod, reduce_sum
from regrad.variables.initializers import glorot_normal_initializer
from regrad.variables.template import make_template


class Bijector:
    """Base class. A subclass gives some of `_forward(x)`, `_inverse(y)`, `_forward_log_det_jacobian(x)`,
    `_inverse_log_det_jacobian(y)`, and, where shapes of events change, `_forward_event_shape(shape)`,
    `_inverse_event_shape(shape)` and `..._event_shape_tensor(shape)`.

    Args:
      graph_parents: accepted.
      is_constant_jacobian: the Jacobian is the same at every point.
      validate_args: add checks of values.
      dtype: of what it is applied to; None: any.
      forward_min_event_ndims, inverse_min_event_ndims: the least number of axes of what it is applied to, and of what its
        inverse is; one stands for both.
      name: name scope; the class's name by default.

    Raises:
      ValueError: neither number of axes is given.
    """

    def __init__(self, graph_parents=None, is_constant_jacobian=False, validate_args=False, dtype=None,
                 forward_min_event_ndims=None, inverse_min_event_ndims=None, name=None):
        if forward_min_event_ndims is None and inverse_min_event_ndims is None:
            raise ValueError("Must specify at least one of `forward_min_event_ndims` and `inverse_min_event_ndims`.")
        self._graph_parents = list(graph_parents or ())
        self._is_constant_jacobian, self._validate_args, self._dtype = is_constant_jacobian, validate_args, dtype
        self._forward_min_event_ndims = inverse_min_event_ndims if forward_min_event_ndims is None else forward_min_event_ndims
        self._inverse_min_event_ndims = forward_min_event_ndims if inverse_min_event_ndims is None else inverse_min_event_ndims
        self._name = name or type(self).__name__
        # y of x and x of y: a value is not computed back from what it was made into, which would lose digits.
        self._images, self._sources = {}, {}

    name = property(lambda self: self._name)
    dtype = property(lambda self: self._dtype)
    graph_parents = property(lambda self: list(self._graph_parents))
    is_constant_jacobian = property(lambda self: self._is_constant_jacobian)
    validate_args = property(lambda self: self._validate_args)
    forward_min_event_ndims = property(lambda self: self._forward_min_event_ndims)
    inverse_min_event_ndims = property(lambda self: self._inverse_min_event_ndims)

    # -- shapes -----------------------------------------------------------------------------------------
    def forward_event_shape(self, input_shape):
        """Returns the TensorShape of an event that `forward` makes."""
        return TensorShape(self._forward_event_shape(TensorShape(input_shape)))

    def inverse_event_shape(self, output_shape):
        """Returns the TensorShape of an event that `inverse` makes."""
        return TensorShape(self._inverse_event_shape(TensorShape(output_shape)))

    def forward_event_shape_tensor(self, input_shape, name="forward_event_shape_tensor"):
        """Returns the shape of an event that `forward` makes, an int32 vector."""
        with self._scope(name):
            return array.identity(self._forward_event_shape_tensor(convert_to_tensor(input_shape, dtype=dtypes.int32)))

    def inverse_event_shape_tensor(self, output_shape, name="inverse_event_shape_tensor"):
        """Returns the shape of an event that `inverse` makes, an int32 vector."""
        with self._scope(name):
            return array.identity(self._inverse_event_shape_tensor(convert_to_tensor(output_shape, dtype=dtypes.int32)))

    # -- values -----------------------------------------------------------------------------------------
    def forward(self, x, name="forward", **condition_kwargs):
        """Returns the value at `x`."""
        with self._scope(name):
            return self._mapped(self._argument(x), self._forward, self._images, self._sources, condition_kwargs)

    def inverse(self, y, name="inverse", **condition_kwargs):
        """Returns the x whose value is `y`."""
        with self._scope(name):
            return self._mapped(self._argument(y), self._inverse, self._sources, self._images, condition_kwargs)

    def forward_log_det_jacobian(self, x, event_ndims, name="forward_log_det_jacobian", **condition_kwargs):
        """Returns log |det J| of the function at `x`, summed over the axes of an event.

        Args:
          event_ndims: how many of the last axes of `x` are one event.

        Raises:
          ValueError: `event_ndims` is unknown, or less than `forward_min_event_ndims`.
        """
        with self._scope(name):
            return self._log_det(self._argument(x), event_ndims, True, condition_kwargs)

    def inverse_log_det_jacobian(self, y, event_ndims, name="inverse_log_det_jacobian", **condition_kwargs):
        """Returns log |det J| of the inverse at `y`; as `forward_log_det_jacobian`."""
        with self._scope(name):
            return self._log_det(self._argument(y), event_ndims, False, condition_kwargs)

    # -- for subclasses ---------------------------------------------------------------------------------
    def _forward_event_shape(self, input_shape):
        return input_shape

    def _inverse_event_shape(self, output_shape):
        return output_shape

    def _forward_event_shape_tensor(self, input_shape):
        return input_shape

    def _inverse_event_shape_tensor(self, output_shape):
        return output_shape

    def _forward(self, x):
        raise NotImplementedError(f"forward not implemented: {self.name}")

    def _inverse(self, y):
        raise NotImplementedError(f"inverse not implemented: {self.name}")

    def _forward_log_det_jacobian(self, x):
        raise NotImplementedError(f"forward_log_det_jacobian not implemented: {self.name}")

    def _inverse_log_det_jacobian(self, y):
        raise NotImplementedError(f"inverse_log_det_jacobian not implemented: {self.name}")

    @contextlib.contextmanager
    def _scope(self, name):
        graph = get_default_graph()
        with graph.name_scope(self.name), graph.name_scope(name):
            yield

    def _argument(self, x):
        x = convert_to_tensor(x, name="x", preferred_dtype=self.dtype)
        if self.dtype is not None and x.dtype is not self.dtype:
            raise TypeError(f"{self.name}: Input had dtype {x.dtype!r} but expected {self.dtype!r}.")
        return x

    @staticmethod
    def _mapped(x, function, known, back, kwargs):
        if kwargs:
            return function(x, **kwargs)
        if x not in known:
            y = function(x)
            known[x], back[y] = y, x
        return known[x]

    def _log_det(self, x, event_ndims, forward, kwargs):
        least = self._forward_min_event_ndims if forward else self._inverse_min_event_ndims
        ndims = _known_int(event_ndims, "event_ndims")
        if ndims < least:
            way = "forward" if forward else "inverse"
            raise ValueError(f"{self.name}: event_ndims ({ndims}) must be larger than {way}_min_event_ndims ({least}).")
        own, other = self._forward_log_det_jacobian, self._inverse_log_det_jacobian
        own, other = (own, other) if forward else (other, own)
        try:
            value = own(x, **kwargs)
        except NotImplementedError:
            back = self.forward(x, **kwargs) if forward else self.inverse(x, **kwargs)
            value = -other(back, **kwargs)
        return self._over_event(x, value, least, ndims)

    def _over_event(self, x, value, least, ndims):
        """Returns the sum of `value`, which has no `least` last axes of `x`, over the rest of an event's axes."""
        if ndims == least:
            return value
        if self.is_constant_jacobian:
            shape = array.shape(x)
            count = array.rank(x)
            value = value * array.ones(shape[count - ndims:count - least], value.dtype)
        return reduce_sum(value, list(range(least - ndims, 0)))


#: A bijector whose methods take further arguments by name: every one does.
ConditionalBijector = Bijector


def _known_int(value, what):
    known = value if isinstance(value, (int, np.integer)) else convert_to_tensor(value, name=what).value()
    if known is None or np.ndim(known):
        raise ValueError(f"{what} must be a known integer: {value}")
    return int(known)


class Identity(Bijector):
    """y = x."""

    def __init__(self, validate_args=False, name="identity"):
        super().__init__(forward_min_event_ndims=0, is_constant_jacobian=True, validate_args=validate_args, name=name)

    def _forward(self, x):
        return x

    _inverse = _forward

    def _mapped(self, x, function, known, back, kwargs):
        return x

    def _forward_log_det_jacobian(self, x):
        return convert_to_tensor(0.0, dtype=x.dtype)


class Inline(Bijector):
    """A bijector of given functions.

    Args:
      forward_fn, inverse_fn: functions of a tensor.
      inverse_log_det_jacobian_fn, forward_log_det_jacobian_fn: functions of a tensor; one is enough.
      forward_event_shape_fn, forward_event_shape_tensor_fn, inverse_event_shape_fn, inverse_event_shape_tensor_fn: functions of
        shapes; without them events keep their shapes.
    """

    def __init__(self, forward_fn=None, inverse_fn=None, inverse_log_det_jacobian_fn=None, forward_log_det_jacobian_fn=None,
                 forward_event_shape_fn=None, forward_event_shape_tensor_fn=None, inverse_event_shape_fn=None,
                 inverse_event_shape_tensor_fn=None, is_constant_jacobian=False, validate_args=False,
                 forward_min_event_ndims=None, inverse_min_event_ndims=None, name="inline"):
        super().__init__(forward_min_event_ndims=forward_min_event_ndims, inverse_min_event_ndims=inverse_min_event_ndims,
                         is_constant_jacobian=is_constant_jacobian, validate_args=validate_args, name=name)
        for method, function in (("_forward", forward_fn), ("_inverse", inverse_fn),
                                 ("_inverse_log_det_jacobian", inverse_log_det_jacobian_fn),
                                 ("_forward_log_det_jacobian", forward_log_det_jacobian_fn),
                                 ("_forward_event_shape", forward_event_shape_fn),
                                 ("_forward_event_shape_tensor", forward_event_shape_tensor_fn),
                                 ("_inverse_event_shape", inverse_event_shape_fn),
                                 ("_inverse_event_shape_tensor", inverse_event_shape_tensor_fn)):
            if function is not None:
                setattr(self, method, function)


class Invert(Bijector):
    """The inverse of a bijector."""

    def __init__(self, bijector, validate_args=False, name=None):
        self._bijector = bijector
        super().__init__(bijector.graph_parents, bijector.is_constant_jacobian, validate_args, bijector.dtype,
                         bijector.inverse_min_event_ndims, bijector.forward_min_event_ndims, name or f"invert_{bijector.name}")

    bijector = property(lambda self: self._bijector, doc="The bijector it is the inverse of.")

    def forward(self, x, name="forward", **condition_kwargs):
        return self._bijector.inverse(x, **condition_kwargs)

    def inverse(self, y, name="inverse", **condition_kwargs):
        return self._bijector.forward(y, **condition_kwargs)

    def forward_log_det_jacobian(self, x, event_ndims, name="forward_log_det_jacobian", **condition_kwargs):
        return self._bijector.inverse_log_det_jacobian(x, event_ndims, **condition_kwargs)

    def inverse_log_det_jacobian(self, y, event_ndims, name="inverse_log_det_jacobian", **condition_kwargs):
        return self._bijector.forward_log_det_jacobian(y, event_ndims, **condition_kwargs)

    def _forward_event_shape(self, input_shape):
        return self._bijector.inverse_event_shape(input_shape)

    def _inverse_event_shape(self, output_shape):
        return self._bijector.forward_event_shape(output_shape)

    def _forward_event_shape_tensor(self, input_shape):
        return self._bijector.inverse_event_shape_tensor(input_shape)

    def _inverse_event_shape_tensor(self, output_shape):
        return self._bijector.forward_event_shape_tensor(output_shape)


class Chain(Bijector):
    """One bijector after another, the last of the list first.

    Keyword arguments of its methods are {name of a bijector: its keyword arguments}.

    Raises:
      ValueError: dtypes differ.
    """

    def __init__(self, bijectors=None, validate_args=False, name=None):
        self._bijectors = list(bijectors or ())
        types = {b.dtype for b in self._bijectors if b.dtype is not None}
        if len(types) > 1:
            raise ValueError(f"Chain: bijectors of different dtypes: {sorted(t.name for t in types)}")
        applied = self._bijectors[::-1]
        super().__init__([p for b in self._bijectors for p in b.graph_parents],
                         all(b.is_constant_jacobian for b in self._bijectors), validate_args, next(iter(types), None),
                         _least_ndims((b.forward_min_event_ndims, b.inverse_min_event_ndims) for b in applied),
                         _least_ndims((b.inverse_min_event_ndims, b.forward_min_event_ndims) for b in self._bijectors),
                         name or ("_of_".join(["chain", *(b.name for b in applied[::-1])]) if applied else "identity"))

    bijectors = property(lambda self: list(self._bijectors), doc="The bijectors; the last is applied first.")

    def _through(self, x, order, method, **kwargs):
        for bijector in order:
            x = getattr(bijector, method)(x, **kwargs.get(bijector.name, {}))
        return x

    def _forward(self, x, **kwargs):
        return self._through(x, self._bijectors[::-1], "forward", **kwargs)

    def _inverse(self, y, **kwargs):
        return self._through(y, self._bijectors, "inverse", **kwargs)

    def _log_det(self, x, event_ndims, forward, kwargs):
        ndims = _known_int(event_ndims, "event_ndims")
        total = convert_to_tensor(0.0, dtype=x.dtype)
        for b in self._bijectors[::-1] if forward else self._bijectors:
            own = kwargs.get(b.name, {})
            ends = b.forward_min_event_ndims, b.inverse_min_event_ndims
            if forward:
                total = total + b.forward_log_det_jacobian(x, ndims, **own)
                x, ndims = b.forward(x, **own), ndims + ends[1] - ends[0]
            else:
                total = total + b.inverse_log_det_jacobian(x, ndims, **own)
                x, ndims = b.inverse(x, **own), ndims + ends[0] - ends[1]
        return total

    def _forward_event_shape(self, input_shape):
        return self._through(input_shape, self._bijectors[::-1], "forward_event_shape")

    def _inverse_event_shape(self, output_shape):
        return self._through(output_shape, self._bijectors, "inverse_event_shape")

    def _forward_event_shape_tensor(self, input_shape):
        return self._through(input_shape, self._bijectors[::-1], "forward_event_shape_tensor")

    def _inverse_event_shape_tensor(self, output_shape):
        return self._through(output_shape, self._bijectors, "inverse_event_shape_tensor")


def _least_ndims(ends):
    """Returns the number of axes a value must have for each of several steps, (axes it needs, axes it then has)."""
    least = shift = 0
    for needs, has in ends:
        least = max(least, needs - shift)
        shift += has - needs
    return least


# -- of numbers -------------------------------------------------------------------------------------------
class _OfNumbers(Bijector):
    """What bijectors of single numbers share."""

    def __init__(self, validate_args, name, dtype=None, is_constant_jacobian=False):
        super().__init__(None, is_constant_jacobian, validate_args, dtype, 0, 0, name)

    def _parameters(self, **values):
        """Keeps parameters as tensors of one dtype."""
        with get_default_graph().name_scope(self.name):
            tensors = of_one_dtype(**values)
        for name, value in tensors.items():
            setattr(self, f"_{name}", value)
        self._dtype = next((t.dtype for t in tensors.values() if t is not None), None)


def of_one_dtype(**values):
    """Returns values as tensors by name, None as None; those that are Python numbers take the dtype of the others.

    Raises:
      TypeError: dtypes differ.
    """
    dtype = next((convert_to_tensor(v).dtype for v in values.values() if hasattr(v, "dtype")), None)
    tensors = {name: None if v is None else convert_to_tensor(v, dtype=None if hasattr(v, "dtype") else dtype, name=name)
               for name, v in values.items()}
    if len({t.dtype for t in tensors.values() if t is not None}) > 1:
        given = ", ".join(f"{name} {t.dtype.name}" for name, t in tensors.items() if t is not None)
        raise TypeError(f"parameters must have one dtype, but are {given}.")
    return tensors


class AffineScalar(_OfNumbers):
    """y = scale x + shift; both may be left out. Python numbers go with every dtype."""

    def __init__(self, shift=None, scale=None, validate_args=False, name="affine_scalar"):
        super().__init__(validate_args, name, is_constant_jacobian=True)
        if all(t is None or type(t) in (int, float) for t in (shift, scale)):
            self._shift, self._scale = shift, scale
        else:
            self._parameters(shift=shift, scale=scale)

    shift = property(lambda self: self._shift, doc="What is added.")
    scale = property(lambda self: self._scale, doc="What is multiplied with.")

    def _forward(self, x):
        y = x if self._scale is None else x * self._scale
        return array.identity(y) if self._shift is None else y + self._shift

    def _inverse(self, y):
        x = y if self._shift is None else y - self._shift
        return array.identity(x) if self._scale is None else x / self._scale

    def _forward_log_det_jacobian(self, x):
        scale = convert_to_tensor(1.0 if self._scale is None else self._scale, dtype=x.dtype)
        return math.log(math.abs(scale))


class PowerTransform(_OfNumbers):
    """y = (1 + x power)^(1 / power), and exp(x) for the power 0."""

    def __init__(self, power=0.0, validate_args=False, name="power_transform"):
        if power < 0:
            raise ValueError("`power` must be a non-negative float.")
        super().__init__(validate_args, name)
        self._power = power

    power = property(lambda self: self._power, doc="The power.")

    def _forward(self, x):
        return math.exp(x) if self._power == 0 else math.exp(math.log1p(x * self._power) / self._power)

    def _inverse(self, y):
        return math.log(y) if self._power == 0 else math.expm1(math.log(y) * self._power) / self._power

    def _inverse_log_det_jacobian(self, y):
        return (self._power - 1.0) * math.log(y)

    def _forward_log_det_jacobian(self, x):
        return array.identity(x) if self._power == 0 else (1.0 / self._power - 1.0) * math.log1p(x * self._power)


class Exp(PowerTransform):
    """y = exp(x)."""

    def __init__(self, validate_args=False, name="exp"):
        super().__init__(0.0, validate_args, name)


class Sigmoid(_OfNumbers):
    """y = 1 / (1 + exp(-x))."""

    def __init__(self, validate_args=False, name="sigmoid"):
        super().__init__(validate_args, name)

    def _forward(self, x):
        return math.sigmoid(x)

    def _inverse(self, y):
        return math.log(y) - math.log1p(-y)

    def _inverse_log_det_jacobian(self, y):
        return -math.log(y) - math.log1p(-y)

    def _forward_log_det_jacobian(self, x):
        return -nn.softplus(-x) - nn.softplus(x)


class Softplus(_OfNumbers):
    """y = c log(1 + exp(x / c)) with c = `hinge_softness`, 1 by default."""

    def __init__(self, hinge_softness=None, validate_args=False, name="softplus"):
        super().__init__(validate_args, name)
        self._parameters(hinge_softness=hinge_softness)

    hinge_softness = property(lambda self: self._hinge_softness, doc="How wide the bend is.")

    def _soft(self, x):
        return x if self._hinge_softness is None else x / self._hinge_softness

    def _wide(self, x):
        return x if self._hinge_softness is None else x * self._hinge_softness

    def _forward(self, x):
        return self._wide(nn.softplus(self._soft(x)))

    def _inverse(self, y):
        return self._wide(softplus_inverse(self._soft(y)))

    def _inverse_log_det_jacobian(self, y):
        return -math.log(-math.expm1(-self._soft(y)))

    def _forward_log_det_jacobian(self, x):
        return -nn.softplus(-self._soft(x))


class Softsign(_OfNumbers):
    """y = x / (1 + |x|)."""

    def __init__(self, validate_args=False, name="softsign"):
        super().__init__(validate_args, name)

    def _forward(self, x):
        return x / (1.0 + math.abs(x))

    def _inverse(self, y):
        return y / (1.0 - math.abs(y))

    def _forward_log_det_jacobian(self, x):
        return -2.0 * math.log1p(math.abs(x))

    def _inverse_log_det_jacobian(self, y):
        return -2.0 * math.log1p(-math.abs(y))


class Square(_OfNumbers):
    """y = x^2, of numbers that are not negative."""

    def __init__(self, validate_args=False, name="square"):
        super().__init__(validate_args, name)

    def _forward(self, x):
        return math.square(x)

    def _inverse(self, y):
        return math.sqrt(y)

    def _forward_log_det_jacobian(self, x):
        return numbers.log(2.0) + math.log(x)


class SinhArcsinh(_OfNumbers):
    """y = sinh((arcsinh(x) + skewness) tailweight): Jones & Pewsey 2009."""

    def __init__(self, skewness=None, tailweight=None, validate_args=False, name="SinhArcsinh"):
        super().__init__(validate_args, name)
        self._parameters(skewness=0.0 if skewness is None else skewness, tailweight=1.0 if tailweight is None else tailweight)

    skewness = property(lambda self: self._skewness, doc="0 keeps the symmetry.")
    tailweight = property(lambda self: self._tailweight, doc="Above 1, tails are heavier.")

    def _forward(self, x):
        return math.sinh((math.asinh(x) + self._skewness) * self._tailweight)

    def _inverse(self, y):
        return math.sinh(math.asinh(y) / self._tailweight - self._skewness)

    def _forward_log_det_jacobian(self, x):
        turned = (math.asinh(x) + self._skewness) * self._tailweight
        return math.log(math.cosh(turned)) + math.log(self._tailweight) - 0.5 * math.log1p(math.square(x))


class Gumbel(_OfNumbers):
    """The distribution function of Gumbel's distribution: y = exp(-exp(-(x - loc) / scale))."""

    def __init__(self, loc=0.0, scale=1.0, validate_args=False, name="gumbel"):
        super().__init__(validate_args, name)
        self._parameters(loc=loc, scale=scale)

    loc = property(lambda self: self._loc, doc="The place of the middle.")
    scale = property(lambda self: self._scale, doc="How wide it is.")

    def _forward(self, x):
        return math.exp(-math.exp(-(x - self._loc) / self._scale))

    def _inverse(self, y):
        return self._loc - self._scale * math.log(-math.log(y))

    def _inverse_log_det_jacobian(self, y):
        return math.log(self._scale / (-math.log(y) * y))

    def _forward_log_det_jacobian(self, x):
        z = (x - self._loc) / self._scale
        return -z - math.exp(-z) - math.log(self._scale)


class Weibull(_OfNumbers):
    """The distribution function of Weibull's distribution: y = 1 - exp(-(x / scale)^concentration)."""

    def __init__(self, scale=1.0, concentration=1.0, validate_args=False, name="weibull"):
        super().__init__(validate_args, name)
        self._parameters(scale=scale, concentration=concentration)

    scale = property(lambda self: self._scale, doc="How wide it is.")
    concentration = property(lambda self: self._concentration, doc="The power.")

    def _forward(self, x):
        return -math.expm1(-(x / self._scale) ** self._concentration)

    def _inverse(self, y):
        return self._scale * (-math.log1p(-y)) ** (1.0 / self._concentration)

    def _inverse_log_det_jacobian(self, y):
        return (-math.log1p(-y) + (1.0 / self._concentration - 1.0) * math.log(-math.log1p(-y))
                + math.log(self._scale / self._concentration))

    def _forward_log_det_jacobian(self, x):
        c = self._concentration
        return -(x / self._scale) ** c + (c - 1.0) * math.log(x) + math.log(c) - c * math.log(self._scale)


class Kumaraswamy(_OfNumbers):
    """y = (1 - (1 - x)^(1 / b))^(1 / a), a = concentration1, b = concentration0: of uniform x, Kumaraswamy's distribution."""

    def __init__(self, concentration1=None, concentration0=None, validate_args=False, name="kumaraswamy"):
        super().__init__(validate_args, name)
        self._parameters(concentration1=1.0 if concentration1 is None else concentration1,
                         concentration0=1.0 if concentration0 is None else concentration0)

    concentration1 = property(lambda self: self._concentration1, doc="The inner power.")
    concentration0 = property(lambda self: self._concentration0, doc="The outer power.")

    def _forward(self, x):
        return math.exp(math.log1p(-math.exp(math.log1p(-x) / self._concentration0)) / self._concentration1)

    def _inverse(self, y):
        return -math.expm1(self._concentration0 * math.log1p(-(y ** self._concentration1)))

    def _inverse_log_det_jacobian(self, y):
        a, b = self._concentration1, self._concentration0
        return math.log(a) + math.log(b) + (a - 1.0) * math.log(y) + (b - 1.0) * math.log1p(-(y ** a))


# -- of vectors and matrices ------------------------------------------------------------------------------
class AffineLinearOperator(Bijector):
    """y = scale x + shift for vectors x and a linear operator `scale`; both may be left out.

    Args:
      shift: tensor [..., n].
      scale: a `tf.linalg.LinearOperator`.
      adjoint: use the operator's conjugate transpose.
    """

    def __init__(self, shift=None, scale=None, adjoint=False, validate_args=False, name="affine_linear_operator"):
        if scale is not None and not isinstance(scale, LinearOperator):
            raise TypeError(f"scale is not an instance of tf.LinearOperator: {scale!r}")
        if scale is not None and scale.is_non_singular is False:
            raise ValueError("Scale matrix must be non-singular.")
        dtype = None if scale is None else scale.dtype
        self._shift = None if shift is None else convert_to_tensor(shift, dtype=None if hasattr(shift, "dtype") else dtype,
                                                                   name="shift")
        if self._shift is not None and dtype is not None and self._shift.dtype is not dtype:
            raise TypeError(f"shift.dtype({self._shift.dtype.name}) is incompatible with scale.dtype({dtype.name}).")
        self._scale, self._adjoint = scale, adjoint
        super().__init__(None if scale is None else scale.graph_parents, True, validate_args,
                         dtype or (None if self._shift is None else self._shift.dtype), 1, 1, name)

    shift = property(lambda self: self._shift, doc="What is added.")
    scale = property(lambda self: self._scale, doc="The operator.")
    adjoint = property(lambda self: self._adjoint, doc="Whether its conjugate transpose is used.")

    def _forward(self, x):
        y = array.identity(x) if self._scale is None else self._scale.matvec(x, adjoint=self._adjoint)
        return y if self._shift is None else y + self._shift

    def _inverse(self, y):
        x = array.identity(y) if self._shift is None else y - self._shift
        return x if self._scale is None else self._scale.solvevec(x, adjoint=self._adjoint)

    def _forward_log_det_jacobian(self, x):
        return convert_to_tensor(0.0, dtype=x.dtype) if self._scale is None else self._scale.log_abs_determinant()


class Affine(AffineLinearOperator):
    """y = scale x + shift for vectors x, scale being the sum of what is given.

    Args:
      shift: tensor [..., n].
      scale_identity_multiplier: times the identity, [...].
      scale_diag: a diagonal, [..., n].
      scale_tril: a lower triangular matrix, [..., n, n].
      scale_perturb_factor, scale_perturb_diag: V [..., n, r] and D [..., r] of a term V D V^T.

    Raises:
      ValueError: a perturbation of nothing.
    """

    def __init__(self, shift=None, scale_identity_multiplier=None, scale_diag=None, scale_tril=None, scale_perturb_factor=None,
                 scale_perturb_diag=None, validate_args=False, name="affine"):
        if scale_perturb_diag is not None and scale_perturb_factor is None:
            raise ValueError("When scale_perturb_diag is specified, scale_perturb_factor must be specified.")
        scale = scale_operator(scale_identity_multiplier, scale_diag, scale_tril, shift, scale_perturb_factor,
                               scale_perturb_diag)
        super().__init__(shift, scale, validate_args=validate_args, name=name)


def scale_operator(multiplier=None, diag=None, tril=None, like=None, perturb_factor=None, perturb_diag=None):
    """Returns the operator of a sum of scales: multiplier I + diag + tril + V D V^T; None where nothing is given.

    `like`: a tensor whose last size is the number of rows, where only the multiplier is given.
    """
    multiplier, diag, tril, factor, perturb = of_one_dtype(
        multiplier=multiplier, diag=diag, tril=tril, factor=perturb_factor, perturb=perturb_diag).values()
    if tril is not None:
        extra = 0.0 if diag is None else diag
        extra = extra if multiplier is None else extra + multiplier[..., None]
        whole = tril if diag is None and multiplier is None else matrix_set_diag(
            tril + 0.0 * extra[..., None], matrix_diag_part(tril) + extra)
        base = LinearOperatorLowerTriangular(whole, is_non_singular=True)
    elif diag is not None:
        base = LinearOperatorDiag(diag if multiplier is None else diag + multiplier[..., None], is_non_singular=True)
    elif multiplier is not None or factor is not None:
        wide = factor if factor is not None else None if like is None else convert_to_tensor(like)
        if wide is None:
            raise ValueError("A multiplier of the identity says not how many rows there are: give shift or scale_diag too.")
        axis = -2 if factor is not None else -1
        known = dimension_value(wide.shape[axis]) if wide.shape.ndims is not None else None
        rows = array.shape(wide)[axis] if known is None else known
        base = (LinearOperatorScaledIdentity(rows, multiplier, is_non_singular=True) if multiplier is not None else
                LinearOperatorIdentity(rows, dtype=wide.dtype))
    else:
        return None
    return base if factor is None else LinearOperatorLowRankUpdate(base, factor, perturb, is_non_singular=True)


class Permute(Bijector):
    """y[..., i] = x[..., permutation[i]], along one axis.

    Args:
      permutation: int vector.
      axis: counted from the end, -1 by default.
    """

    def __init__(self, permutation, axis=-1, validate_args=False, name=None):
        axis = _known_int(axis, "axis")
        if axis >= 0:
            raise ValueError(f"Permute: axis must be negative, counted from the end: {axis}")
        self._permutation, self._axis = convert_to_tensor(permutation, name="permutation"), axis
        if not self._permutation.dtype.is_integer:
            raise TypeError(f"Permute: permutation must be of integers: {self._permutation.dtype.name}")
        super().__init__(None, True, validate_args, None, -axis, -axis, name or "permute")

    permutation = property(lambda self: self._permutation, doc="Where each element comes from.")
    axis = property(lambda self: self._axis, doc="The axis.")

    def _forward(self, x):
        return gather(x, self._permutation, axis=self._axis)

    def _inverse(self, y):
        return gather(y, array.invert_permutation(self._permutation), axis=self._axis)

    def _forward_log_det_jacobian(self, x):
        return convert_to_tensor(0.0, dtype=x.dtype)


class Reshape(Bijector):
    """Events of the shape `event_shape_in`, a vector by default, become events of the shape `event_shape_out`.

    One size of either may be -1.
    """

    def __init__(self, event_shape_out, event_shape_in=(-1,), validate_args=False, name=None):
        self._out = convert_to_tensor(event_shape_out, dtype=dtypes.int32, name="event_shape_out")
        self._in = convert_to_tensor(event_shape_in, dtype=dtypes.int32, name="event_shape_in")
        counts = [_known_int(array.size(s), "number of axes") for s in (self._in, self._out)]
        super().__init__(None, True, validate_args, None, *counts, name or "reshape")

    def _reshaped(self, x, given, wanted, count):
        x_shape = array.shape(x)
        lead = array.rank(x) - count
        y = array.reshape(x, array.concat([x_shape[:lead], wanted], 0))
        if x.shape.ndims is not None:
            y.set_shape(x.shape[:x.shape.ndims - count].concatenate(self._static(x.shape[x.shape.ndims - count:], wanted)))
        return y

    @staticmethod
    def _static(shape, wanted):
        known = wanted.value()
        if known is None:
            return TensorShape([None] * dimension_value(wanted.shape[0]))
        known = [int(n) for n in known]
        if -1 in known:
            total = shape.num_elements()
            rest = -int(np.prod(known))
            known[known.index(-1)] = None if total is None or not rest else total // rest
        return TensorShape(known)

    def _forward(self, x):
        return self._reshaped(x, self._in, self._out, self.forward_min_event_ndims)

    def _inverse(self, y):
        return self._reshaped(y, self._out, self._in, self.inverse_min_event_ndims)

    def _forward_log_det_jacobian(self, x):
        return convert_to_tensor(0.0, dtype=x.dtype)

    def _over(self, shape, wanted, count):
        if shape.ndims is None:
            return TensorShape(None)
        if shape.ndims < count:
            raise ValueError(f"{self.name}: events of at least {count} axes are expected: {shape}")
        return shape[:shape.ndims - count].concatenate(self._static(shape[shape.ndims - count:], wanted))

    def _forward_event_shape(self, input_shape):
        return self._over(input_shape, self._out, self.forward_min_event_ndims)

    def _inverse_event_shape(self, output_shape):
        return self._over(output_shape, self._in, self.inverse_min_event_ndims)

    def _tensor(self, shape, wanted, count):
        lead = array.size(shape) - count
        rest = -reduce_prod(wanted)
        total = reduce_prod(shape[lead:])
        filled = math.maximum(wanted, 0) + math.cast(wanted < 0, dtypes.int32) * (total // math.maximum(rest, 1))
        return array.concat([shape[:lead], filled], 0)

    def _forward_event_shape_tensor(self, input_shape):
        return self._tensor(input_shape, self._out, self.forward_min_event_ndims)

    def _inverse_event_shape_tensor(self, output_shape):
        return self._tensor(output_shape, self._in, self.inverse_min_event_ndims)


class _ChangesLastSize(Bijector):
    """What bijectors share that change the last size of an event; `_size(n)` and `_size_back(n)` give it."""

    def _sized(self, shape, size):
        if shape.ndims is None:
            return shape
        return shape[:-1].concatenate([None if shape[-1].value is None else size(shape[-1].value)])


class SoftmaxCentered(_ChangesLastSize):
    """y = softmax([x, 0]): n numbers become n + 1 probabilities."""

    def __init__(self, validate_args=False, name="softmax_centered"):
        super().__init__(None, False, validate_args, None, 1, 1, name)

    def _forward_event_shape(self, input_shape):
        return self._sized(input_shape, lambda n: n + 1)

    def _inverse_event_shape(self, output_shape):
        return self._sized(output_shape, lambda n: n - 1)

    def _forward_event_shape_tensor(self, input_shape):
        return array.concat([input_shape[:-1], input_shape[-1:] + 1], 0)

    def _inverse_event_shape_tensor(self, output_shape):
        return array.concat([output_shape[:-1], output_shape[-1:] - 1], 0)

    @staticmethod
    def _with_zero(x):
        return array.concat([x, array.zeros_like(x[..., :1])], -1)

    def _forward(self, x):
        return nn.softmax(self._with_zero(x))

    def _inverse(self, y):
        y = math.log(y)
        return y[..., :-1] - y[..., -1:]

    def _inverse_log_det_jacobian(self, y):
        return -reduce_sum(math.log(y), -1)

    def _forward_log_det_jacobian(self, x):
        n = math.cast(array.shape(x)[-1], x.dtype)
        return reduce_sum(x, -1) - (n + 1.0) * reduce_logsumexp(self._with_zero(x), -1)


class Ordered(Bijector):
    """Increasing numbers become any: y[0] = x[0], y[i] = log(x[i] - x[i - 1])."""

    def __init__(self, validate_args=False, name="ordered"):
        super().__init__(None, False, validate_args, None, 1, 1, name)

    def _forward(self, x):
        return array.concat([x[..., :1], math.log(x[..., 1:] - x[..., :-1])], -1)

    def _inverse(self, y):
        return cumsum(array.concat([y[..., :1], math.exp(y[..., 1:])], -1), -1)

    def _inverse_log_det_jacobian(self, y):
        return reduce_sum(y[..., 1:], -1)

    def _forward_log_det_jacobian(self, x):
        return -reduce_sum(math.log(x[..., 1:] - x[..., :-1]), -1)


class CholeskyOuterProduct(Bijector):
    """Y = X X^T for lower triangular X with a positive diagonal."""

    def __init__(self, validate_args=False, name="cholesky_outer_product"):
        super().__init__(None, False, validate_args, None, 2, 2, name)

    def _forward(self, x):
        x = matrix_band_part(x, -1, 0)
        return matmul(x, x, adjoint_b=True)

    def _inverse(self, y):
        return linalg.cholesky(y)

    def _forward_log_det_jacobian(self, x):
        diagonal = matrix_diag_part(x)
        n = array.shape(diagonal)[-1]
        powers = math.cast(n - sequence(n), x.dtype)
        return math.cast(n, x.dtype) * numbers.log(2.0) + reduce_sum(powers * math.log(diagonal), -1)


class MatrixInverseTriL(Bijector):
    """Y = X^-1 for lower triangular X."""

    def __init__(self, validate_args=False, name="matrix_inverse_tril"):
        super().__init__(None, False, validate_args, None, 2, 2, name)

    def _forward(self, x):
        n = array.shape(x)
        return linalg.matrix_triangular_solve(x, eye(n[-1], batch_shape=n[:-2], dtype=x.dtype))

    _inverse = _forward

    def _forward_log_det_jacobian(self, x):
        n = math.cast(array.shape(x)[-1], x.dtype)
        return -(n + 1.0) * reduce_sum(math.log(math.abs(matrix_diag_part(x))), -1)


class FillTriangular(_ChangesLastSize):
    """Vectors of n (n + 1) / 2 numbers become triangular matrices: see `fill_triangular`."""

    def __init__(self, upper=False, validate_args=False, name="fill_triangular"):
        self._upper = upper
        super().__init__(None, True, validate_args, None, 1, 2, name)

    def _forward(self, x):
        return fill_triangular(x, self._upper)

    def _inverse(self, y):
        return fill_triangular_inverse(y, self._upper)

    def _forward_log_det_jacobian(self, x):
        return convert_to_tensor(0.0, dtype=x.dtype)

    def _forward_event_shape(self, input_shape):
        if input_shape.ndims is None:
            return input_shape
        m = input_shape[-1].value
        n = None if m is None else int(round((numbers.sqrt(8 * m + 1) - 1) / 2))
        return input_shape[:-1].concatenate([n, n])

    def _inverse_event_shape(self, output_shape):
        if output_shape.ndims is None:
            return output_shape
        n = output_shape[-1].value
        return output_shape[:-2].concatenate([None if n is None else n * (n + 1) // 2])

    def _forward_event_shape_tensor(self, input_shape):
        m = math.cast(input_shape[-1], dtypes.float64)
        n = math.cast(math.round((math.sqrt(8.0 * m + 1.0) - 1.0) / 2.0), dtypes.int32)
        return array.concat([input_shape[:-1], array.stack([n, n])], 0)

    def _inverse_event_shape_tensor(self, output_shape):
        n = output_shape[-1:]
        return array.concat([output_shape[:-2], n * (n + 1) // 2], 0)


class TransformDiagonal(Bijector):
    """Applies a bijector to the diagonal of matrices."""

    def __init__(self, diag_bijector, validate_args=False, name="transform_diagonal"):
        self._diag_bijector = diag_bijector
        super().__init__(None, diag_bijector.is_constant_jacobian, validate_args, diag_bijector.dtype, 2, 2, name)

    def _forward(self, x):
        return matrix_set_diag(x, self._diag_bijector.forward(matrix_diag_part(x)))

    def _inverse(self, y):
        return matrix_set_diag(y, self._diag_bijector.inverse(matrix_diag_part(y)))

    def _forward_log_det_jacobian(self, x):
        return self._diag_bijector.forward_log_det_jacobian(matrix_diag_part(x), event_ndims=1)

    def _inverse_log_det_jacobian(self, y):
        return self._diag_bijector.inverse_log_det_jacobian(matrix_diag_part(y), event_ndims=1)


class ScaleTriL(Chain):
    """Vectors become lower triangular matrices with a positive diagonal: softplus of it, plus `diag_shift`, by default."""

    def __init__(self, diag_bijector=None, diag_shift=1e-5, validate_args=False, name="scale_tril"):
        diagonal = Softplus() if diag_bijector is None else diag_bijector
        if diag_shift is not None:
            diagonal = Chain([AffineScalar(shift=diag_shift), diagonal])
        super().__init__([TransformDiagonal(diagonal), FillTriangular()], validate_args, name)


# -- flows ------------------------------------------------------------------------------------------------
class RealNVP(Bijector):
    """The first `num_masked` numbers of a vector stay, and scale and shift the others by functions of them: Dinh et al. 2016.

    Args:
      num_masked: how many stay.
      shift_and_log_scale_fn: function (x [..., num_masked], number of the others) -> (shift, log_scale or None).
      is_constant_jacobian: log_scale is None, or does not depend on x.
    """

    def __init__(self, num_masked, shift_and_log_scale_fn, is_constant_jacobian=False, validate_args=False, name=None):
        if num_masked <= 0:
            raise ValueError("num_masked must be a positive integer.")
        self._num_masked, self._input_depth, self._fn = num_masked, None, shift_and_log_scale_fn
        super().__init__(None, is_constant_jacobian, validate_args, None, 1, 1, name or "real_nvp")

    def _halves(self, x):
        depth = dimension_value(x.shape[-1])
        if depth is None:
            raise NotImplementedError("Rightmost dimension must be known prior to graph execution.")
        if self._num_masked >= depth:
            raise ValueError("Number of masked units must be smaller than the event size.")
        self._input_depth = depth
        return x[..., :self._num_masked], x[..., self._num_masked:]

    def _numbers(self, first, **kwargs):
        return self._fn(first, self._input_depth - self._num_masked, **kwargs)

    def _forward(self, x, **kwargs):
        first, rest = self._halves(x)
        shift, log_scale = self._numbers(first, **kwargs)
        rest = rest if log_scale is None else rest * math.exp(log_scale)
        return array.concat([first, rest if shift is None else rest + shift], -1)

    def _inverse(self, y, **kwargs):
        first, rest = self._halves(y)
        shift, log_scale = self._numbers(first, **kwargs)
        rest = rest if shift is None else rest - shift
        return array.concat([first, rest if log_scale is None else rest * math.exp(-log_scale)], -1)

    def _forward_log_det_jacobian(self, x, **kwargs):
        first, _ = self._halves(x)
        _, log_scale = self._numbers(first, **kwargs)
        return convert_to_tensor(0.0, dtype=x.dtype) if log_scale is None else reduce_sum(log_scale, -1)

    def _inverse_log_det_jacobian(self, y, **kwargs):
        return -self._forward_log_det_jacobian(y, **kwargs)  # what it depends on stays


def real_nvp_default_template(hidden_layers, shift_only=False, activation=nn.relu, name=None, *args, **kwargs):
    """Returns a function for `RealNVP` with variables of its own: dense layers of these sizes.

    Args:
      hidden_layers: sizes.
      shift_only: no scales.
      activation: of the hidden layers; None for none.
      *args, **kwargs: for `tf.layers.dense`.
    """
    def network(x, output_units):
        flat = x.shape.ndims == 1
        x = x[None] if flat else x
        for units in hidden_layers:
            x = layers.dense(x, units, activation, *args, **kwargs)
        x = layers.dense(x, (1 if shift_only else 2) * output_units, None, *args, **kwargs)
        x = x[0] if flat else x
        return (x, None) if shift_only else tuple(array.split(x, 2, axis=-1))

    return make_template(name or "real_nvp_default_template", network)


class MaskedAutoregressiveFlow(Bijector):
    """Each number of a vector is scaled and shifted by functions of those before it: Papamakarios et al. 2017.

    The inverse takes one step, `forward` as many as there are numbers.

    Args:
      shift_and_log_scale_fn: function y -> (shift, log_scale or None), of which the i-th depend on y[..., :i] only.
      is_constant_jacobian: log_scale is None, or does not depend on y.
      unroll_loop: accepted: the steps are always written out.
    """

    def __init__(self, shift_and_log_scale_fn, is_constant_jacobian=False, validate_args=False, unroll_loop=False, name=None):
        self._fn = shift_and_log_scale_fn
        super().__init__(None, is_constant_jacobian, validate_args, None, 1, 1, name or "masked_autoregressive_flow")

    def _forward(self, x, **kwargs):
        count = dimension_value(x.shape[-1])
        if count is None:
            raise ValueError("MaskedAutoregressiveFlow.forward: the number of elements must be known.")
        y = array.zeros_like(x)
        for _ in range(count):
            shift, log_scale = self._fn(y, **kwargs)
            y = x if log_scale is None else x * math.exp(log_scale)
            y = y if shift is None else y + shift
        return y

    def _inverse(self, y, **kwargs):
        shift, log_scale = self._fn(y, **kwargs)
        x = y if shift is None else y - shift
        return x if log_scale is None else x * math.exp(-log_scale)

    def _inverse_log_det_jacobian(self, y, **kwargs):
        _, log_scale = self._fn(y, **kwargs)
        return convert_to_tensor(0.0, dtype=y.dtype) if log_scale is None else -reduce_sum(log_scale, -1)


def _mask(num_blocks, n_in, n_out, exclusive):
    """Returns which of n_in inputs, in blocks, each of n_out outputs may see: those of earlier blocks, and of its own unless
    `exclusive`.
    """
    mask = np.zeros([n_out, n_in], np.float32)
    d_in, d_out = n_in // num_blocks, n_out // num_blocks
    row = d_out if exclusive else 0
    for block in range(num_blocks):
        mask[row:, block * d_in:(block + 1) * d_in] = 1.0
        row += d_out
    return mask.T


def masked_dense(inputs, units, num_blocks=None, exclusive=False, kernel_initializer=None, reuse=None, name=None, *args,
                 **kwargs):
    """Returns a dense layer whose outputs see only blocks of inputs before their own, or up to it: Germain et al. 2015.

    Args:
      inputs: [..., n], n known.
      units: number of outputs.
      num_blocks: how many blocks inputs and outputs are divided in.
      exclusive: outputs do not see their own block.
      kernel_initializer, reuse, name, *args, **kwargs: as of `tf.layers.Dense`.
    """
    inputs = convert_to_tensor(inputs)
    n = dimension_value(inputs.shape[-1])
    if n is None:
        raise NotImplementedError("Rightmost dimension must be known prior to graph execution.")
    mask = _mask(num_blocks, n, units, exclusive)
    initializer = kernel_initializer or glorot_normal_initializer()

    def masked_initializer(shape, dtype=None, partition_info=None):
        return mask * initializer(shape, dtype, partition_info)

    layer = layers.Dense(units, *args, kernel_initializer=masked_initializer, kernel_constraint=lambda kernel: mask * kernel,
                         name=name, _reuse=reuse, _scope=name, **kwargs)
    return layer.apply(inputs)


def masked_autoregressive_default_template(hidden_layers, shift_only=False, activation=nn.relu, log_scale_min_clip=-5.0,
                                           log_scale_max_clip=3.0, log_scale_clip_gradient=False, name=None, *args,
                                           kernel_initializer=None, reuse=None, **kwargs):
    """Returns a function for `MaskedAutoregressiveFlow` with variables of its own: masked dense layers of these sizes.

    Args:
      hidden_layers: sizes.
      shift_only: no scales.
      activation: of the hidden layers; None for none.
      log_scale_min_clip, log_scale_max_clip: where the logarithms of scales end.
      log_scale_clip_gradient: whether gradients end there too.
      *args, kernel_initializer, reuse, **kwargs: for the layers, as of `tf.layers.Dense` after its activation.
    """
    def network(x):
        n = dimension_value(x.shape[-1])
        if n is None:
            raise NotImplementedError("Rightmost dimension must be known prior to graph execution.")
        given = x.shape.as_list()
        x = array.reshape(x, [1, n]) if len(given) == 1 else x
        for i, units in enumerate(hidden_layers):
            x = masked_dense(x, units, n, i == 0, kernel_initializer, reuse, None, activation, *args, **kwargs)
        x = masked_dense(x, (1 if shift_only else 2) * n, n, not hidden_layers, kernel_initializer, reuse, None, None, *args,
                         **kwargs)
        if shift_only:
            return array.reshape(x, [n]) if len(given) == 1 else x, None
        x = array.reshape(x, array.concat([array.shape(x)[:-1], [n, 2]], 0))
        x.set_shape([*given[:-1], n, 2] if len(given) > 1 else [1, n, 2])
        x = x[0] if len(given) == 1 else x
        shift, log_scale = x[..., 0], x[..., 1]

        def clipped(x):
            return clip_by_value(x, log_scale_min_clip, log_scale_max_clip)

        return shift, (clipped if log_scale_clip_gradient else straight_through(clipped))(log_scale)

    return make_template(name or "masked_autoregressive_default_template", network)
