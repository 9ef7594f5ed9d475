"""Generalised divisive normalisation (Balle, Laparra and Simoncelli 2016, arXiv:1511.06281): y_i = x_i / sqrt(beta_i + sum_j
gamma_ij x_j^2).
"""

import numpy as np

from regrad.core.gradient_registry import RegisterGradient
from regrad.core.graph import get_default_graph
from regrad.core.shapes import TensorShape
from regrad.layers.base import InputSpec, Layer, functional
from regrad.ops import array, math
from regrad.ops.compare import greater_equal, less, logical_or
from regrad.ops.matmul import matmul
from regrad.ops.nn import bias_add


@RegisterGradient("GDNLowerBound")
def _lower_bound_grad(op, dy):
    # A value held at its bound still receives the gradients that would lift it off.
    x, bound = op.inputs
    passes = logical_or(greater_equal(x, bound), less(dy, 0.0))
    return math.cast(passes, dy.dtype) * dy, None


class GDN(Layer):
    """Generalised divisive normalisation across channels.

    Args:
      inverse: multiply by the root instead of dividing (an approximate inverse).
      beta_min: the least value of beta.
      gamma_init: gamma begins as this number times the identity.
      reparam_offset: keeps the gradients of the variables' squares, which beta and gamma are, away from 0.
      data_format: "channels_last" or "channels_first".

    Variables: `reparam_beta` [channels], `reparam_gamma` [channels, channels].
    """

    def __init__(self, inverse=False, beta_min=1e-6, gamma_init=.1, reparam_offset=2 ** -18, data_format="channels_last",
                 activity_regularizer=None, trainable=True, name=None, **kwargs):
        super().__init__(trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs)
        if data_format not in ("channels_first", "channels_last"):
            raise ValueError(f"Unknown data format: '{data_format}'.")
        self.inverse, self.data_format = inverse, data_format
        self._beta_min, self._gamma_init, self._offset = beta_min, gamma_init, reparam_offset
        self.input_spec = InputSpec(min_ndim=2)

    def _above(self, variable, least):
        bound = np.array((least + self._offset ** 2) ** 0.5, variable.dtype.as_numpy_dtype)
        with get_default_graph().gradient_override_map({"Maximum": "GDNLowerBound"}):
            kept = math.maximum(variable, bound)
        return math.square(kept) - self._offset ** 2

    def build(self, input_shape):
        axis = 1 if self.data_format == "channels_first" else -1
        channels = TensorShape(input_shape).as_list()[axis]
        if channels is None:
            raise ValueError("The channel dimension of the inputs to `GDN` must be defined.")
        self.input_spec = InputSpec(min_ndim=2, axes={axis: channels})
        pedestal = self._offset ** 2

        def rooted(value):
            return lambda shape, dtype=None, partition_info=None: np.sqrt(value + pedestal).astype(dtype.as_numpy_dtype)

        beta = self.add_weight("reparam_beta", [channels], initializer=rooted(np.ones(channels)))
        gamma = self.add_weight("reparam_gamma", [channels, channels], initializer=rooted(self._gamma_init * np.eye(channels)))
        self.beta, self.gamma = self._above(beta, self._beta_min), self._above(gamma, 0.0)
        self.built = True

    def call(self, inputs):
        rank = len(inputs.dims)
        to_last = [0, *range(2, rank), 1] if self.data_format == "channels_first" else list(range(rank))
        x = array.transpose(inputs, to_last) if self.data_format == "channels_first" else inputs
        channels = x.dims[-1]
        flat = array.reshape(x, [-1, channels])
        norm = math.sqrt(bias_add(matmul(math.square(flat), self.gamma), self.beta))
        flat = flat * norm if self.inverse else flat / norm
        y = array.reshape_like(flat, x)
        return array.transpose(y, np.argsort(to_last).astype(np.int32)) if self.data_format == "channels_first" else y


gdn = functional(GDN, "gdn")
