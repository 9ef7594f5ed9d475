"""Dense, Dropout, Flatten."""

import numpy as np

from regrad.core import constants
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import float32
from regrad.core.graph import get_default_graph
from regrad.core.operation import Tensor
from regrad.core.shapes import TensorShape, as_int
from regrad.layers.base import InputSpec, Layer, activation_of, call_once, functional
from regrad.nn import functions
from regrad.ops import array
from regrad.ops.flow import case, cond
from regrad.ops.matmul import matmul
from regrad.ops.nn import bias_add
from regrad.variables.initializers import Zeros
from regrad.variables.variable import Variable


def smart_cond(pred, true_fn, false_fn, name=None):
    """Returns what one of two functions gives: chosen now if `pred` is known, else by the graph.

    Raises:
      TypeError: `pred` is no tensor, bool, 1 or 0; the others are no functions.
    """
    for argument, function in (("true_fn", true_fn), ("false_fn", false_fn)):
        if not callable(function):
            raise TypeError(f"`{argument}` must be callable, got {function!r}.")
    pred = convert_to_tensor(pred) if isinstance(pred, Variable) else pred
    value = smart_constant_value(pred)
    if value is None:
        return cond(pred, true_fn, false_fn, name=name)
    return true_fn() if value else false_fn()


def smart_constant_value(pred):
    """Returns `pred`, a tensor, bool, 1 or 0, as a bool if it is known while the graph is built, else None.

    Raises:
      TypeError: it is something else.
    """
    if isinstance(pred, Tensor) or hasattr(pred, "_as_graph_element"):
        value = constants.known_value(pred) if isinstance(pred, Tensor) else None
        return None if value is None else bool(value)
    if isinstance(pred, (bool, np.bool_)) or pred in (0, 1):
        return bool(pred)
    raise TypeError(f"`pred` must be a Tensor, or a Python bool, or 1 or 0. Found instead: {pred!r}")


def smart_case(pred_fn_pairs, default=None, exclusive=False, name="smart_case"):
    """Returns what the function of the first true condition gives: chosen now where conditions are known.

    Args:
      pred_fn_pairs: (condition, function) pairs, a list or dict.
      default, exclusive: as for `tf.case`.
    """
    pairs = list(pred_fn_pairs.items()) if isinstance(pred_fn_pairs, dict) else list(pred_fn_pairs)
    left = []
    for pred, fn in pairs:
        value = smart_constant_value(pred)
        if value is None:
            left.append((pred, fn))
        elif value and not left:
            return fn()
        elif value:
            return case(left, default=fn, exclusive=exclusive, name=name)
    if not left:
        return default()
    return case(left, default=default, exclusive=exclusive, name=name)


class Dense(Layer):
    """A fully connected layer: activation(inputs @ kernel + bias).

    The inputs, of rank 2 or more, are multiplied along their last axis, whose size must be known.

    Args:
      units: size of the last axis of the output.
      activation: function of the output, its name ("relu"), or None.
      use_bias: whether there is a bias.
      kernel_initializer, bias_initializer: initializers; None is the variable scope's, else glorot_uniform.
      kernel_regularizer, bias_regularizer, activity_regularizer: functions that give losses.
      kernel_constraint, bias_constraint: functions that optimizers apply to new values.
      trainable: whether the variables "kernel" ([inputs, units]) and "bias" ([units]) are.
      name: the layer's name.

    Example:
      layer = tf.layers.Dense(2, kernel_initializer=tf.ones_initializer())
      y = layer(tf.constant([[1.0, 2.0, 3.0]]))
      with tf.Session() as sess:
          sess.run(tf.global_variables_initializer())
          print(sess.run(y))
      #> [[6. 6.]]
    """

    def __init__(self, units, activation=None, use_bias=True, kernel_initializer=None, bias_initializer=Zeros(),  # noqa: B008
                 kernel_regularizer=None, bias_regularizer=None, activity_regularizer=None, kernel_constraint=None,
                 bias_constraint=None, trainable=True, name=None, **kwargs):
        super().__init__(trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs)
        self.units = as_int(units, "units")
        self.activation = activation_of(activation)
        self.use_bias = use_bias
        self.kernel_initializer, self.bias_initializer = kernel_initializer, bias_initializer
        self.kernel_regularizer, self.bias_regularizer = kernel_regularizer, bias_regularizer
        self.kernel_constraint, self.bias_constraint = kernel_constraint, bias_constraint
        self.input_spec = InputSpec(min_ndim=2)

    def build(self, input_shape):
        dtype = self.dtype or float32
        if not (dtype.is_floating or dtype.is_complex):
            raise TypeError(f"Unable to build `Dense` layer with non-floating point dtype {dtype}")
        size = TensorShape(input_shape).as_list()[-1]
        if size is None:
            raise ValueError("The last dimension of the inputs to `Dense` should be defined. Found `None`.")
        self.input_spec = InputSpec(min_ndim=2, axes={-1: size})
        self.kernel = self.add_weight("kernel", [size, self.units], initializer=self.kernel_initializer,
                                      regularizer=self.kernel_regularizer, constraint=self.kernel_constraint)
        self.bias = self.add_weight("bias", [self.units], initializer=self.bias_initializer,
                                    regularizer=self.bias_regularizer,
                                    constraint=self.bias_constraint) if self.use_bias else None
        self.built = True

    def call(self, inputs):
        if len(inputs.dims) > 2:
            with get_default_graph().name_scope("Tensordot") as scope:
                rows = array.reshape(inputs, [-1, inputs.dims[-1]])
                sizes = [array.shape(inputs)[i] if d is None else d for i, d in enumerate(inputs.dims[:-1])]
                outputs = array.reshape(matmul(rows, self.kernel), [*sizes, self.units], name=scope)
                outputs.set_shape(self.compute_output_shape(inputs.shape))
        else:
            outputs = matmul(inputs, self.kernel)
        if self.bias is not None:
            outputs = bias_add(outputs, self.bias)
        return outputs if self.activation is None else self.activation(outputs)

    def compute_output_shape(self, input_shape):
        shape = TensorShape(input_shape).with_rank_at_least(2)
        if shape.ndims is None or shape.dims_[-1] is None:
            raise ValueError(f"The innermost dimension of input_shape must be defined, but saw: {shape}")
        return shape[:-1].concatenate(self.units)


class Dropout(Layer):
    """Sets a random part of the elements to 0 while training, and scales the others up so that the expectation stays.

    Args:
      rate: the part that is dropped, in [0, 1).
      noise_shape: shape of the random choice, broadcast to the inputs.
      seed: op seed.
      name: the layer's name.
    """

    def __init__(self, rate=0.5, noise_shape=None, seed=None, name=None, **kwargs):
        super().__init__(name=name, **kwargs)
        self.rate = rate
        self.noise_shape = noise_shape
        self.seed = seed

    def call(self, inputs, training=False):
        return smart_cond(training, lambda: functions.dropout(inputs, rate=self.rate, noise_shape=self.noise_shape,
                                                              seed=self.seed),
                          lambda: array.identity(inputs))

    def compute_output_shape(self, input_shape):
        return TensorShape(input_shape)


class Flatten(Layer):
    """Joins all axes but the first.

    Args:
      data_format: "channels_last", or "channels_first" to put the channels last before joining.
      name: the layer's name.
    """

    def __init__(self, data_format="channels_last", name=None, **kwargs):
        super().__init__(name=name, **kwargs)
        self.data_format = data_format
        self.input_spec = InputSpec(min_ndim=1)

    def call(self, inputs):
        rank = len(inputs.dims)
        if self.data_format == "channels_first" and rank > 2:
            inputs = array.transpose(inputs, [0, *range(2, rank), 1])
        first = inputs.dims[0]
        shape = self.compute_output_shape(inputs.shape)
        outputs = array.reshape(inputs, [array.shape(inputs)[0] if first is None else first, -1 if rank > 1 else 1])
        outputs.set_shape(shape)
        return outputs

    def compute_output_shape(self, input_shape):
        sizes = TensorShape(input_shape).as_list()
        total = 1
        for d in sizes[1:]:
            total = None if d is None or total is None else total * d
        return TensorShape([sizes[0], total])


dense = functional(Dense, "dense")


def dropout(inputs, rate=0.5, noise_shape=None, seed=None, training=False, name=None):
    """Makes a `Dropout` layer and returns its output.

    Args:
      training: Python bool or bool scalar tensor; without it nothing is dropped.
      rate, noise_shape, seed, name: as for `Dropout`.
    """
    arguments = {"rate": rate, "noise_shape": noise_shape, "seed": seed, "name": name}
    return call_once(Dropout, inputs, None, arguments, training=training)


def flatten(inputs, name=None, data_format="channels_last"):
    """Makes a `Flatten` layer and returns its output: the inputs with all axes but the first joined."""
    return call_once(Flatten, inputs, None, {"name": name, "data_format": data_format})
