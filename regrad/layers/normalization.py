"""Batch normalisation as a layer."""

from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import bfloat16, float16, float32
from regrad.core.graph import get_default_graph
from regrad.core.shapes import TensorShape
from regrad.layers.base import InputSpec, Layer, call_once
from regrad.layers.core import smart_cond, smart_constant_value
from regrad.ops import array, math, norm, state
from regrad.ops.reduce import reduce_mean
from regrad.variables.initializers import Ones, Zeros


class BatchNormalization(Layer):
    """Normalises each channel over the batch, then scales and shifts it: Ioffe & Szegedy 2015.

    While training, the moments of the batch are used, and operations in the collection UPDATE_OPS move the running ones
    towards them; these must be run by the program:

        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            train_op = optimizer.minimize(loss)

    Without training, the running moments are used.

    Args:
      axis: axis of the channels (or a list of axes).
      momentum: what stays of a running moment in one step.
      epsilon: added to the variance.
      center, scale: whether there are the variables "beta" and "gamma".
      beta_initializer ... gamma_constraint: as for `Dense`.
      renorm: Batch Renormalisation, Ioffe 2017: training too uses running moments, through corrections that are clipped
        by `renorm_clipping` ({"rmax", "rmin", "dmax"}) and followed with `renorm_momentum`.
      fused: use the fused op, which takes images; None does so when it can.
      virtual_batch_size: while training, take moments over parts of the batch: of n / virtual_batch_size parts every one
        holds each so-manieth example. The batch size must be a multiple of it.
      adjustment: function of the shape of the inputs that returns (scale, bias), applied to the normalised values while
        training.
      trainable, name: as for `Dense`.

    Example:
      y = tf.layers.BatchNormalization(epsilon=0.0)(tf.constant([[1.0], [3.0]]), training=True)
      with tf.Session() as sess:
          sess.run(tf.global_variables_initializer())
          print(sess.run(y).ravel())
      #> [-1.  1.]
    """

    def __init__(self, axis=-1, momentum=0.99, epsilon=1e-3, center=True, scale=True, beta_initializer=Zeros(),  # noqa: B008
                 gamma_initializer=Ones(), moving_mean_initializer=Zeros(),  # noqa: B008
                 moving_variance_initializer=Ones(), beta_regularizer=None, gamma_regularizer=None,  # noqa: B008
                 beta_constraint=None, gamma_constraint=None, renorm=False, renorm_clipping=None, renorm_momentum=0.99,
                 fused=None, trainable=True, virtual_batch_size=None, adjustment=None, name=None, **kwargs):
        super().__init__(trainable=trainable, name=name, **kwargs)
        if renorm and fused:
            raise ValueError("Passing both `fused=True` and `renorm=True` is not supported")
        unknown = set(renorm_clipping or ()) - {"rmax", "rmin", "dmax"}
        if unknown:
            raise ValueError(f"renorm_clipping {renorm_clipping} contains keys not in ['rmax', 'rmin', 'dmax']")
        self.axis = list(axis) if isinstance(axis, (list, tuple)) else [axis]
        self.momentum, self.epsilon = momentum, epsilon
        self.center, self.scale = center, scale
        self.beta_initializer, self.gamma_initializer = beta_initializer, gamma_initializer
        self.moving_mean_initializer = moving_mean_initializer
        self.moving_variance_initializer = moving_variance_initializer
        self.beta_regularizer, self.gamma_regularizer = beta_regularizer, gamma_regularizer
        self.beta_constraint, self.gamma_constraint = beta_constraint, gamma_constraint
        self.renorm, self.renorm_clipping, self.renorm_momentum = renorm, renorm_clipping or {}, renorm_momentum
        self.fused = fused
        self.virtual_batch_size, self.adjustment = virtual_batch_size, adjustment

    def build(self, input_shape):
        shape = TensorShape(input_shape)
        if shape.ndims is None:
            raise ValueError("Input has undefined rank:", shape)
        sizes, rank = shape.as_list(), shape.ndims
        self.axis = [a + rank if a < 0 else a for a in self.axis]
        if any(not 0 <= a < rank for a in self.axis):
            raise ValueError(f"Invalid axis: {self.axis} for inputs of shape {shape}")
        if len(set(self.axis)) != len(self.axis):
            raise ValueError(f"Duplicate axis: {self.axis}")
        channels = {a: sizes[a] for a in self.axis}
        for a, size in channels.items():
            if size is None:
                raise ValueError(f"Input has undefined `axis` dimension. Input shape: {shape}, axis {a}")
        self.input_spec = InputSpec(ndim=rank, axes=channels)
        plain = self.virtual_batch_size is None and self.adjustment is None
        can_fuse = rank == 4 and self.axis in ([1], [3]) and not self.renorm and plain
        self.fused = can_fuse and self.fused is not False
        self._format = "NCHW" if self.axis == [1] else "NHWC"
        # Several axes: the variables have all axes, of size 1 where they are shared.
        of = [sizes[self.axis[0]]] if len(self.axis) == 1 and self.virtual_batch_size is None else [
            channels.get(i, 1) for i in range(rank)]
        if self.virtual_batch_size is not None:
            self._check_parts()
            of.insert(1, 1)  # the axis of the parts
            self.axis = [a + 1 for a in self.axis]
        dtype = float32 if self._dtype in (None, float16, bfloat16) else self._dtype
        self.gamma = self.add_weight("gamma", of, dtype, self.gamma_initializer, self.gamma_regularizer,
                                     constraint=self.gamma_constraint) if self.scale else None
        self.beta = self.add_weight("beta", of, dtype, self.beta_initializer, self.beta_regularizer,
                                    constraint=self.beta_constraint) if self.center else None
        self._fixed = of, dtype
        self._set_scope()
        partitioner = self._scope.partitioner
        self._scope.set_partitioner(None)  # what is assigned as a whole has no parts
        try:
            self._add_moments(of, dtype)
        finally:
            self._scope.set_partitioner(partitioner)

    def _add_moments(self, of, dtype):
        """Adds the variables that keep the moments."""
        self.moving_mean = self.add_weight("moving_mean", of, dtype, self.moving_mean_initializer, trainable=False)
        self.moving_variance = self.add_weight("moving_variance", of, dtype, self.moving_variance_initializer,
                                               trainable=False)
        if self.renorm:
            def root(shape, dtype=None, partition_info=None):
                return math.sqrt(self.moving_variance_initializer(shape, dtype=dtype))

            # As in the paper, the running standard deviation is followed, and the running variance is its square.
            self.moving_stddev = self.add_weight("moving_stddev", of, dtype, root, trainable=False)
            self.renorm_mean = self.add_weight("renorm_mean", of, dtype, self.moving_mean_initializer, trainable=False)
            self.renorm_stddev = self.add_weight("renorm_stddev", of, dtype, root, trainable=False)
        self.built = True

    def _check_parts(self):
        if self.virtual_batch_size <= 0:
            raise ValueError("virtual_batch_size must be a positive integer that divides the true batch size of the input "
                             "Tensor")
        if 0 in self.axis:
            raise ValueError("When using virtual_batch_size, the batch dimension must be 0 and thus axis cannot be 0. Received "
                             f"axis={self.axis}")
        if self.adjustment is not None:
            raise ValueError("When using virtual_batch_size, adjustment cannot be specified")

    def call(self, inputs, training=False):
        if self.fused:
            return self._fused_call(inputs, training)
        if self.virtual_batch_size is None:
            return self._call_in_parts(inputs, training)
        sizes = array.shape(inputs)
        parts = array.reshape(inputs, array.concat([[self.virtual_batch_size, -1], sizes[1:]], 0))
        parts.set_shape([self.virtual_batch_size, None, *inputs.dims[1:]])
        outputs = array.reshape(self._call_in_parts(parts, training), sizes)
        outputs.set_shape(inputs.shape)
        return outputs

    def compute_output_shape(self, input_shape):
        return TensorShape(input_shape)

    # -- the fused op ---------------------------------------------------------------------------------

    def _fused_call(self, inputs, training):
        of, dtype = self._fixed
        gamma = self.gamma if self.scale else array.ones(of, dtype, name="Const")
        beta = self.beta if self.center else array.zeros(of, dtype, name="Const")

        def normalised(is_training):
            # While training the op computes the moments itself and looks at none.
            moments = {} if is_training else {"mean": self.moving_mean, "variance": self.moving_variance}
            return lambda: norm.fused_batch_norm(inputs, gamma, beta, epsilon=self.epsilon, data_format=self._format,
                                                 is_training=is_training, **moments)

        outputs, mean, variance = smart_cond(training, normalised(True), normalised(False))
        self._follow(training, mean, variance)
        return outputs

    # -- in parts ---------------------------------------------------------------------------------------

    def _call_in_parts(self, inputs, training):
        rank = len(inputs.dims)
        in_parts = self.virtual_batch_size is not None
        axes = [i for i in range(rank) if i not in self.axis and not (in_parts and i == 1)]
        several = len(self.axis) > 1 or in_parts
        shape = [d if i in self.axis else 1 for i, d in enumerate(inputs.dims)]

        def spread(v):
            # The last axis, or all axes: broadcasting does it.
            v = None if v is None else convert_to_tensor(v)
            return v if v is None or several or self.axis == [rank - 1] else array.reshape(v, shape)

        scale, offset = spread(self.gamma), spread(self.beta)
        if self.adjustment is not None and smart_constant_value(training) is not False:
            more, bias = self.adjustment(array.shape(inputs))
            more = smart_cond(training, lambda: more, lambda: array.ones_like(more))
            bias = smart_cond(training, lambda: bias, lambda: array.zeros_like(bias))
            offset = bias if offset is None else offset + (bias if scale is None else bias * scale)
            scale = more if scale is None else more * scale
        if smart_constant_value(training) is False:
            mean, variance = self.moving_mean.value(), self.moving_variance.value()
        else:
            x = math.cast(inputs, float32) if inputs.dtype in (float16, bfloat16) else inputs
            batch_mean, batch_variance = norm.moments(x, axes, keep_dims=several)
            mean = smart_cond(training, lambda: batch_mean, lambda: self.moving_mean.value())
            variance = smart_cond(training, lambda: batch_variance, lambda: self.moving_variance.value())
            if self.renorm:
                r, d, batch_mean, batch_variance = self._corrections(batch_mean, batch_variance, training)
                r, d = array.stop_gradient(spread(r)), array.stop_gradient(spread(d))
                offset = (d if scale is None else d * scale) if offset is None else (
                    d if scale is None else d * scale) + offset
                scale = r if scale is None else r * scale
            if in_parts:
                batch_mean, batch_variance = (reduce_mean(v, 1, keepdims=True) for v in (batch_mean, batch_variance))
            self._follow(training, batch_mean, batch_variance)
        outputs = norm.batch_normalization(inputs, spread(mean), spread(variance), offset, scale, self.epsilon)
        outputs.set_shape(inputs.shape)
        return outputs

    def _corrections(self, mean, variance, training):
        """Returns (r, d): how the batch's moments differ from the running ones, clipped; (1, 0) when not training."""
        stddev = math.sqrt(variance + self.epsilon)
        running = math.maximum(self.renorm_stddev, float(self.epsilon) ** 0.5)
        r, d = stddev / running, (mean - self.renorm_mean) / running
        rmin, rmax, dmax = (self.renorm_clipping.get(k) for k in ("rmin", "rmax", "dmax"))
        r = r if rmin is None else math.maximum(r, rmin)
        r = r if rmax is None else math.minimum(r, rmax)
        d = d if dmax is None else math.minimum(math.maximum(d, -dmax), dmax)
        momentum = self._while_training(training, self.renorm_momentum)
        updates = [self._moved(self.renorm_mean, mean, momentum), self._moved(self.renorm_stddev, stddev, momentum)]
        # Whoever runs the updates of the moving moments runs these too.
        with get_default_graph().control_dependencies(updates):
            mean, variance = array.identity(mean), array.identity(variance)
        return (smart_cond(training, lambda: r, lambda: array.ones_like(r)),
                smart_cond(training, lambda: d, lambda: array.zeros_like(d)), mean, variance)

    # -- running moments ---------------------------------------------------------------------------------

    def _while_training(self, training, momentum):
        """Returns the momentum, as a tensor that is 1, and so changes nothing, when not training, if a run decides."""
        if smart_constant_value(training) is not None:
            return momentum
        return smart_cond(training, lambda: convert_to_tensor(momentum, dtype=self._fixed[1]),
                          lambda: convert_to_tensor(1.0, dtype=self._fixed[1]))

    def _follow(self, training, mean, variance):
        """Adds the updates of the moving moments, unless the layer is known not to be training."""
        if smart_constant_value(training) is False:
            return
        momentum = self._while_training(training, self.momentum)
        self.add_update(self._moved(self.moving_mean, mean, momentum))
        if not self.renorm:
            self.add_update(self._moved(self.moving_variance, variance, momentum))
            return
        stddev = self._moved(self.moving_stddev, math.sqrt(variance + self.epsilon), momentum)
        squared = math.maximum(stddev * stddev - self.epsilon, 0.0)  # rounding must not make it negative
        self.add_update(self.moving_variance.assign(squared, name="AssignNewValue"))

    def _moved(self, variable, value, momentum):
        """Returns `variable` moved towards `value`, and assigns it."""
        with get_default_graph().name_scope("AssignMovingAvg") as scope:
            decay = convert_to_tensor(1.0 - momentum, dtype=variable.dtype, name="decay")
            delta = (variable.value() - math.cast(value, variable.dtype)) * decay
            return state.assignsub_op(variable._variable, delta, name=scope)


BatchNorm = BatchNormalization


def batch_normalization(inputs, axis=-1, momentum=0.99, epsilon=1e-3, center=True, scale=True, beta_initializer=Zeros(),  # noqa: B008
                        gamma_initializer=Ones(), moving_mean_initializer=Zeros(),  # noqa: B008
                        moving_variance_initializer=Ones(), beta_regularizer=None, gamma_regularizer=None,  # noqa: B008
                        beta_constraint=None, gamma_constraint=None, training=False, trainable=True, name=None,
                        reuse=None, renorm=False, renorm_clipping=None, renorm_momentum=0.99, fused=None,
                        virtual_batch_size=None, adjustment=None):
    """Makes a `BatchNormalization` layer and returns its output.

    Args:
      training: Python bool or bool scalar tensor: use the moments of the batch, and let the updates move the running ones.
      reuse: share the variables of an earlier layer called `name`.
      the rest: as for `BatchNormalization`.
    """
    arguments = {k: v for k, v in locals().items() if k not in ("inputs", "training", "reuse")}
    return call_once(BatchNormalization, inputs, reuse, arguments, training=training)
