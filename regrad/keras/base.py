"""What layers of Keras have of their own, beside those of `tf.layers`: variables by name scope, and containers of layers.

A layer of `tf.layers` shares variables where its variable scope is entered again, and tells collections of its losses and
updates. One of Keras has its variables for itself, and keeps its losses and updates in `losses` and `updates`.
"""

import inspect

from regrad.core import nest
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import as_dtype, float32
from regrad.core.graph import Tensor, get_default_graph
from regrad.core.shapes import TensorShape
from regrad.keras import backend, constraints, initializers, regularizers
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

    def get_weights(self):
        """Returns the values of all variables in the default session, arrays."""
        return backend.batch_get_value(self.weights) if self.weights else []

    def set_weights(self, weights):
        """Gives all variables values in the default session.

        Raises:
          ValueError: another number of arrays, or one of another shape.
        """
        variables = self.weights
        if len(variables) != len(weights):
            raise ValueError(f'You called `set_weights(weights)` on layer "{self.name}" with a weight list of length '
                             f"{len(weights)}, but the layer was expecting {len(variables)} weights.")
        backend.batch_set_value(list(zip(variables, weights)))


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


# -- models ------------------------------------------------------------------------------------------------


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
        self.built = True
        input_tensor._keras_history = self, (), (), {}, input_tensor


class Model(Layer):
    """Layers that are called together.

        inputs = tf.keras.Input([8])
        model = tf.keras.Model(inputs, tf.keras.layers.Dense(2)(inputs))
        y = model(x)

    Or a class of its own, whose layers are attributes and whose `call` uses them. Training is TensorFlow 1's: an optimizer
    of tf.train on a loss of what the model gives; there is no `fit`.

    Args:
      inputs, outputs: tensors, or structures of them, between which there are only Keras's layers.

    Raises:
      ValueError: `outputs` depend on something else than `inputs`, or on operations that are in no layer.
    """

    def __init__(self, inputs=None, outputs=None, name=None, **kwargs):
        super().__init__(name=name, **kwargs)
        self.inputs = self.outputs = None
        if inputs is not None:
            self._between(inputs, outputs)

    def _between(self, inputs, outputs):
        self._in, self._out = inputs, outputs
        self.inputs, self.outputs = nest.flatten(inputs), nest.flatten(outputs)
        self._steps = _steps(self.inputs, self.outputs)
        made = [t._keras_history[0] for t in self.inputs if hasattr(t, "_keras_history")]
        self._chain = list(dict.fromkeys([*made, *(step[0] for step in self._steps)]))
        self.input, self.output, self.built = inputs, outputs, True

    @property
    def layers(self):
        """The layers, in the order in which they are called or were made."""
        return self._chain if self.inputs is not None else self._layers_within()

    def get_layer(self, name=None, index=None):
        """Returns the layer of that name, or at that place; ValueError where there is none."""
        if index is not None:
            return self.layers[index]
        found = next((layer for layer in self.layers if layer.name == name), None)
        if found is None:
            raise ValueError(f"No such layer: {name}. There are {', '.join(layer.name for layer in self.layers)}.")
        return found

    def summary(self, line_length=None, positions=None, print_fn=None):
        """Prints a table of the layers: names, shapes of what they gave last, and numbers of parameters.

        Args:
          line_length: width of the table, 65 by default.
          positions: accepted.
          print_fn: called with each line, `print` by default.

        Raises:
          ValueError: the model has no variables yet: it was never called.
        """
        if self.inputs is None and not self.built:
            raise ValueError("This model has not yet been built. Build the model first by calling it, or give its first layer "
                             "an input_shape.")
        width, write = line_length or 65, print_fn or print
        columns = int(width * 0.45), int(width * 0.4)

        def row(name, shape, params):
            first = f"{name[:columns[0] - 1]:<{columns[0]}}{str(shape)[:columns[1] - 1]:<{columns[1]}}"
            write(f"{first}{params}".ljust(width))

        write(f'Model: "{self.name}"')
        write("_" * width)
        row("Layer (type)", "Output Shape", "Param #")
        write("=" * width)
        layers = self.layers
        for i, layer in enumerate(layers):
            given = [t for t in nest.flatten(layer.output) if t is not None and t.shape.ndims is not None]
            shapes = [tuple(t.shape.as_list()) for t in given]
            shape = shapes[0] if len(shapes) == 1 else shapes or "?"
            row(f"{layer.name} ({type(layer).__name__})", shape, base.count_elements(layer.weights))
            write(("=" if i == len(layers) - 1 else "_") * width)
        trained = base.count_elements(self.trainable_weights)
        write(f"Total params: {base.count_elements(self.weights):,}")
        write(f"Trainable params: {trained:,}")
        write(f"Non-trainable params: {base.count_elements(self.weights) - trained:,}")
        write("_" * width)

    def call(self, inputs, training=None, mask=None):
        if self.inputs is None:
            raise NotImplementedError(f"{type(self).__name__} is a Model without inputs and outputs: define call().")
        given = nest.flatten(inputs)
        if len(given) != len(self.inputs):
            raise ValueError(f"Model {self.name} takes {len(self.inputs)} inputs, got {len(given)}.")
        value = dict(zip(self.inputs, given))
        for layer, taken, args, kwargs, gave in self._steps:
            if training is not None and layer._in_phases:
                kwargs = {**kwargs, "training": training}
            found = layer(nest.map_structure(lambda t: value.get(t, t), taken), *args, **kwargs)
            value.update(zip(nest.flatten(gave), nest.flatten(found)))
        return nest.map_structure(value.__getitem__, self._out)

    def _mask_outputs(self, inputs, outputs, mask):
        pass  # its layers do

    def __getattr__(self, name):
        if name in ("compile", "fit", "evaluate", "predict", "train_on_batch", "fit_generator", "save", "load_weights"):
            raise AttributeError(f"tf.keras.Model has no {name!r} in Regrad: call the model on a tensor, train with an "
                                 "optimizer of tf.train, and save with tf.train.Saver (docs/differences.md)", name=name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name)


def _steps(inputs, outputs):
    """Returns [(layer, what it took, further arguments of the call, what it gave)] from inputs to outputs, in order."""
    calls, seen, stack = {}, set(inputs), list(outputs)
    while stack:
        t = stack.pop()
        if t in seen:
            continue
        seen.add(t)
        history = getattr(t, "_keras_history", None)
        if history is None or isinstance(history[0], InputLayer):
            what = "is no input of it" if history else "no layer made: put the operation into a tf.keras.layers.Lambda"
            raise ValueError(f"Graph disconnected: the outputs of a Model depend on {t}, which {what}.")
        calls[id(history)] = t.op.id, history
        stack += nest.flatten(history[1])
    return [history for _, history in sorted(calls.values(), key=lambda call: call[0])]


class Sequential(Model):
    """Layers one after the other, each called with what the one before gave.

    Args:
      layers: to begin with; `add` and `pop` change them. Where the first says its `input_shape`, the model has inputs.
    """

    def __init__(self, layers=None, name=None):
        super().__init__(name=name)
        self._chain = []
        for layer in layers or ():
            self.add(layer)

    @property
    def layers(self):
        """The layers, in order."""
        return [layer for layer in self._chain if not isinstance(layer, InputLayer)]

    def add(self, layer):
        """Adds a layer behind the others; TypeError for anything else."""
        if not isinstance(layer, base.Layer):
            raise TypeError(f"The added layer must be an instance of class Layer. Found: {layer!r}")
        if not self._chain:
            shape = getattr(layer, "batch_input_shape", None)
            if isinstance(layer, InputLayer):
                self.inputs, self.outputs = [layer.output], [layer.output]
            elif shape is not None:
                made = InputLayer(batch_input_shape=shape, dtype=layer.dtype, name=f"{layer.name}_input")
                self.inputs, self.outputs = [made.output], [made.output]
        self._chain.append(layer)
        if self.outputs is not None and not isinstance(layer, InputLayer):
            self.outputs = [layer(self.outputs[0])]

    def pop(self):
        """Takes the last layer away; TypeError where there is none."""
        if not self.layers:
            raise TypeError("There are no layers in the model.")
        self._chain.pop()
        if self.outputs is not None:
            self.outputs = [self._chain[-1].output] if self.layers else list(self.inputs)

    def call(self, inputs, training=None, mask=None):
        for layer in self.layers:
            more = {"training": training} if training is not None and getattr(layer, "_in_phases", False) else {}
            inputs = layer(inputs, **more)
        return inputs
