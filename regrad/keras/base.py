"""What layers of Keras have of their own, beside those of `tf.layers`: variables by name scope, and inputs of models.

A layer of `tf.layers` shares variables where its variable scope is entered again, and tells collections of its losses and
updates. One of Keras has its variables for itself, and keeps its losses and updates in `losses` and `updates`.
"""

import inspect

from regrad.core import nest
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import as_dtype, float32
from regrad.core.graph import get_default_graph
from regrad.core.operation import Tensor
from regrad.core.shapes import TensorShape
from regrad.keras import constraints, initializers, regularizers
from regrad.layers import base
from regrad.ops import array
from regrad.variables.lifting import root_graph
from regrad.variables.scope import get_variable_scope, trainable_when
from regrad.variables.variable import Variable


def learning_phase():
    """Returns the bool tensor, or value, that layers take for `training`: a placeholder that is False where it is not fed."""
    graph = root_graph()
    found = graph.__dict__.get("_learning_phase")
    if found is None:
        with graph.as_default(), graph.name_scope(""):
            found = graph._learning_phase = array.placeholder_with_default(False, [], name="keras_learning_phase")
    return found


def set_learning_phase(value):
    """Makes `value`, 0 or 1, the learning phase of the default graph."""
    if value not in (0, 1):
        raise ValueError(f"Expected learning phase to be 0 or 1, got {value!r}.")
    root_graph()._learning_phase = int(value)


class Layer(base.Layer):
    """Base of Keras's layers, as `tf.layers.Layer`; see the top of this file for the differences.

    Args:
      input_shape, input_dim, batch_input_shape: of the input, for the first layer of a Sequential.
    """

    _in_phases = False  # whether `call` takes `training`, which is the learning phase by default
    supports_masking = False  # whether it passes on, or uses, masks: bool [batch, time], from Embedding or Masking

    def __init__(self, trainable=True, name=None, dtype=None, input_shape=None, input_dim=None, batch_input_shape=None,
                 batch_size=None, activity_regularizer=None, **kwargs):
        super().__init__(trainable=trainable, name=name, dtype=dtype,
                         activity_regularizer=regularizers.get(activity_regularizer), **kwargs)
        if input_dim is not None:
            input_shape = (input_dim,)
        if input_shape is not None:
            batch_input_shape = (batch_size, *input_shape)
        self.batch_input_shape = batch_input_shape
        self._name = name or _unique_name(self._base_name)

    @property
    def trainable(self):
        """Whether the variables are trained; given to a layer, it is given to the layers within."""
        return self._trainable

    @trainable.setter
    def trainable(self, value):
        self._trainable = value
        for part in self._layers_within():
            part.trainable = value

    @property
    def updates(self):
        """Operations that keep running statistics and states; none where the layer is not trainable, unless it is stateful."""
        return super().updates if self.trainable or getattr(self, "stateful", False) else []

    def _set_scope(self, scope=None):
        self._scope = get_variable_scope()

    def _dtype_for(self, tensors):
        return tensors[0].dtype if tensors and tensors[0].dtype.is_floating else None

    def __call__(self, inputs, *args, **kwargs):
        """Returns `call(inputs, ...)`, after making the variables if this is the first time."""
        if self._in_phases and not args and kwargs.get("training") is None:
            kwargs["training"] = learning_phase()
        inputs = nest.map_structure(lambda x: x if isinstance(x, Tensor) else convert_to_tensor(x), inputs)
        tensors = nest.flatten(inputs)
        masks = nest.map_structure(lambda t: getattr(t, "_keras_mask", None), inputs)
        history, takes = dict(kwargs), "mask" in inspect.signature(self.call).parameters
        if not takes:
            kwargs.pop("mask", None)
        elif kwargs.get("mask") is None and any(m is not None for m in nest.flatten(masks)):
            kwargs["mask"] = masks
        graph = get_default_graph()
        with graph.name_scope(self.name):
            if not self.built:
                self._graph = root_graph(graph)
            self._build_for(inputs, tensors)
            outputs = self.call(inputs, *args, **kwargs)
            if self._activity_regularizer is not None:
                self._add_activity_losses(inputs, outputs)
            outputs = nest.map_structure(lambda t: array.identity(t) if any(t is x for x in tensors) else t, outputs)
            self._mask_outputs(inputs, outputs, kwargs.get("mask", masks))
        self.input, self.output = inputs, outputs
        history = self, inputs, args, history, outputs
        for t in nest.flatten(outputs):
            t._keras_history = history
        return outputs

    def compute_mask(self, inputs, mask=None):
        """Returns the mask of the outputs, or None; `mask` has the structure of `inputs`.

        Raises:
          TypeError: there is a mask, and the layer does not support it.
        """
        if self.supports_masking:
            return mask
        if any(m is not None for m in nest.flatten(mask)):
            raise TypeError(f"Layer {self.name} does not support masking, but was passed an input_mask: {mask}. A layer that "
                            "does has `supports_masking = True`.")
        return None

    def _mask_outputs(self, inputs, outputs, mask):
        if not self.supports_masking and type(self).compute_mask is Layer.compute_mask:
            return
        found = nest.flatten(self.compute_mask(inputs, mask))
        for t, m in zip(nest.flatten(outputs), found):
            if m is not None:
                t._keras_mask = m

    def add_weight(self, name=None, shape=None, dtype=None, initializer=None, regularizer=None, trainable=None, constraint=None,
                   use_resource=None, synchronization=None, aggregation=None, partitioner=None, **kwargs):
        """Returns a new variable of this layer, "<the name scope of the call>/<name>".

        Args:
          shape: of the variable, a scalar by default.
          dtype: the layer's by default, else float32.
          initializer: one, or its name; glorot_uniform by default, zeros of integers.
          regularizer: function of the variable, or its name in Keras.
          constraint: function that optimizers apply to new values.
          trainable: whether it is; by default unless `synchronization` is ON_READ.
        """
        name, dims = name or "weight", TensorShape(() if shape is None else shape).as_list()
        dtype = as_dtype(dtype or self._dtype or float32)
        if initializer is None:
            initializer = "glorot_uniform" if dtype.is_floating or dtype.is_complex else "zeros"
        initializer, regularizer = initializers.get(initializer), regularizers.get(regularizer)
        trainable = trainable_when(synchronization, trainable, name)
        v = Variable(lambda: initializer(dims, dtype=dtype), name=name, dtype=dtype, trainable=trainable and self.trainable,
                     constraint=constraints.get(constraint))
        if regularizer is not None:
            with get_default_graph().name_scope(f"{name}/Regularizer"):
                self.add_loss(regularizer(v))
        (self._trainable_weights if trainable else self._non_trainable_weights).append(v)
        return v

    add_variable = add_weight

    def _add_to_collection(self, key, item):
        """Losses and updates are the program's to add and to run."""

    def add_metric(self, value, aggregation=None, name=None):
        """Measures a tensor: the model that contains the layer shows its mean over batches, or what a metric made of it.

        Args:
          value: a tensor; or the result of a metric that was called.
          aggregation: "mean", for a tensor.
          name: the key in logs; that of the metric by default.

        Raises:
          ValueError: another aggregation, or a tensor without a name.
        """
        from regrad.keras.metrics import Mean

        metric, source = getattr(value, "_metric_obj", None), value
        if aggregation not in (None, "mean") or metric is None and (aggregation is None or name is None):
            raise ValueError("add_metric takes a tensor with a `name` and `aggregation='mean'`, or the result of a "
                             f"tf.keras.metrics.Metric, got aggregation={aggregation!r}, name={name!r}.")
        values = self.__dict__.setdefault("_metric_values", [])
        if metric is None:
            metric = next((m for m, *_ in values if m.name == name), None) or Mean(name=name)
            value = metric(value)
        values.append((metric, value, source))

    def get_config(self):
        """Returns a dict from which `from_config` makes such a layer; a class with further arguments adds them."""
        from regrad.keras import configs

        return configs.of_layer(self)

    @classmethod
    def from_config(cls, config):
        """Returns a layer by what `get_config` gave."""
        from regrad.keras import configs

        return configs.made(cls, config)


class Wrapper(Layer):
    """Base of layers that call another, `layer`, in a way of their own.

    Attributes:
      layer: the other layer; its variables, losses and updates count as this one's.
    """

    def __init__(self, layer, name=None, **kwargs):
        if not hasattr(layer, "add_weight"):
            raise TypeError(f"{type(self).__name__} wraps a layer, got {layer!r}.")
        super().__init__(name=name, **kwargs)
        self.layer = layer

    def build(self, input_shape=None):
        if not self.layer.built:
            self.layer.build(input_shape)
            self.layer.built = True
        self.built = True


def _unique_name(name, first=0):
    counts = root_graph().__dict__.setdefault("_keras_names", {})
    n = counts[name] = counts.get(name, first - 1) + 1
    return f"{name}_{n}" if n else name


# -- inputs ------------------------------------------------------------------------------------------------


def Input(shape=None, batch_size=None, name=None, dtype=None, sparse=False, tensor=None, batch_shape=None, **kwargs):
    """Returns a placeholder for the input of a Model, float32 by default.

    Args:
      shape: of one example; `batch_size` may say how many there are, or `batch_shape` all of it.
      tensor: an input that is there already, instead.
    """
    if sparse or kwargs:
        raise ValueError(f"Input does not take {', '.join(kwargs) or 'sparse'}; tf.sparse_placeholder makes sparse inputs.")
    made = InputLayer(shape, batch_size, dtype, tensor, name, batch_shape)
    return made.output


class InputLayer(Layer):
    """What a Model begins with: `output` is its placeholder, or the tensor that was given."""

    def __init__(self, input_shape=None, batch_size=None, dtype=None, input_tensor=None, name=None, batch_input_shape=None):
        super().__init__(name=name or _unique_name("input", 1), dtype=dtype or float32)
        if batch_input_shape is None:
            if input_shape is None and input_tensor is None:
                raise ValueError("Please provide to Input either a `shape` or a `tensor` argument. Note that `shape` does not "
                                 "include the batch dimension.")
            batch_input_shape = None if input_shape is None else (batch_size, *TensorShape(input_shape).as_list())
        if input_tensor is None:
            with get_default_graph().name_scope(""):
                input_tensor = array.placeholder(self.dtype, batch_input_shape, name=self.name)
        self.input = self.output = input_tensor
        self.batch_input_shape = None if input_tensor.rank is None else tuple(input_tensor.shape.as_list())
        self.built = True
        input_tensor._keras_history = self, (), (), {}, input_tensor

    def get_config(self):
        """Returns the shape, dtype and name; a tensor that was given is not part of a description."""
        return {"batch_input_shape": self.batch_input_shape, "dtype": self.dtype.name, "sparse": False, "name": self.name}
