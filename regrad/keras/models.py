"""`tf.keras.models`: containers of layers, which are called, trained and saved as one."""

import json

from regrad.core import nest
from regrad.core.reading import reading
from regrad.keras import weights as files
from regrad.keras.base import Input, InputLayer, Layer
from regrad.keras.compiling import takes_training
from regrad.keras.training import Trained
from regrad.keras.utils import custom_object_scope
from regrad.layers import base


def _of_model(kept, listed):
    """Returns the property `input` or `output`: what the model was made of, whatever it was called with since."""
    def get(self):
        tensors = self.__dict__.get(listed)
        if kept in self.__dict__ or tensors is None:
            return self.__dict__.get(kept, self.__dict__.get(f"_called{kept}"))
        return tensors[0] if len(tensors) == 1 else tensors

    return property(get, lambda self, value: self.__dict__.update({f"_called{kept}": value}))


class Model(Trained, Layer):
    """Layers that are called together.

        inputs = tf.keras.Input([8])
        model = tf.keras.Model(inputs, tf.keras.layers.Dense(2)(inputs))
        y = model(x)

    Or a class of its own, whose layers are attributes and whose `call` uses them. `compile` and `fit` train it; or, as any
    layer, it is called in a graph of which an optimizer of tf.train minimizes a loss.

    Args:
      inputs, outputs: tensors, or structures of them, between which there are only Keras's layers.

    Raises:
      ValueError: `outputs` depend on something else than `inputs`, or on operations that are in no layer.
    """

    input, output = _of_model("_in", "inputs"), _of_model("_out", "outputs")

    def __init__(self, inputs=None, outputs=None, name=None, **kwargs):
        super().__init__(name=name, **kwargs)
        self.inputs = self.outputs = self._chain = None  # the latter the layers of a model that is not a class of its own
        if inputs is not None:
            self._between(inputs, outputs)

    def _between(self, inputs, outputs):
        self._in, self._out = inputs, outputs
        self.inputs, self.outputs = nest.flatten(inputs), nest.flatten(outputs)
        self._steps, self._chain = _network(self.inputs, self.outputs)
        self.built = True

    @property
    def layers(self):
        """The layers, in the order in which they are called or were made."""
        return self._layers_within() if self._chain is None else self._chain

    def _said(self):
        return {"layers": self.layers, "inputs": self.inputs, "outputs": self.outputs}

    def _repr_html_(self):
        """The layers as a table, in notebooks."""
        from html import escape

        def shape(layer):
            return "" if layer.output is None else escape(str(nest.map_structure(lambda t: t.shape, layer.output)))

        rows = "".join(f"<tr><td>{escape(layer.name)}</td><td>{type(layer).__name__}</td><td>{shape(layer)}</td>"
                       f"<td>{sum(w.shape.num_elements() or 0 for w in layer.weights):,}</td></tr>" for layer in self.layers)
        return (f"<table><caption>{type(self).__name__} {escape(self.name)!r}</caption><tr><th>layer</th><th>type</th>"
                f"<th>output</th><th>parameters</th></tr>{rows}</table>")

    def get_layer(self, name=None, index=None):
        """Returns the layer of that name, or at that place; ValueError where there is none."""
        if index is not None:
            return self.layers[index]
        found = next((layer for layer in self.layers if layer.name == name), None)
        if found is None:
            raise ValueError(f"No such layer: {name}. There are {', '.join(layer.name for layer in self.layers)}.")
        return found

    def get_config(self):
        """Returns a dict from which `from_config` makes such a model; NotImplementedError for a class of the program's own."""
        from regrad.keras import configs

        return configs.of_model(self)

    @classmethod
    def from_config(cls, config, custom_objects=None):
        """Returns a model by what `get_config` gave; `custom_objects` are classes and functions of the program's own."""
        from regrad.keras import configs

        with custom_object_scope(custom_objects or {}):
            return configs.model_of(cls, config)

    def to_json(self, **kwargs):
        """Returns the model as JSON, for `model_from_json`; `kwargs` go to `json.dumps`."""
        from regrad.keras import configs

        return configs.to_json(self, **kwargs)

    def save(self, filepath, overwrite=True, include_optimizer=True, save_format=None):
        """Writes a model of layers into a file of HDF5 (h5py must be installed), for `load_model`, here and in TensorFlow.

        Args:
          overwrite: False refuses where there is such a file.
          include_optimizer: write how the model is trained, too.

        Raises:
          ImportError: there is no h5py; `to_json` and `save_weights` need none.
          NotImplementedError: the model is of a class of the program's own, or `save_format` is "tf".
        """
        from regrad.keras import saving

        saving.save_model(self, filepath, overwrite, include_optimizer, save_format)

    def save_weights(self, filepath, overwrite=True, save_format=None):
        """Writes the values of all variables, in the session of Keras; not those of the optimizer.

        Args:
          filepath: where ".h5" at its end asks for HDF5 (h5py must be installed); else a checkpoint as TensorFlow writes it.
          overwrite: False refuses where there is such a file.
          save_format: "tf" or "h5", in place of the ending.
        """
        files.save(self, filepath, overwrite, save_format)

    def load_weights(self, filepath, by_name=False, skip_mismatch=False):
        """Gives all variables the values in a file that `save_weights` wrote, here or in TensorFlow.

        A model that has no variables yet takes them when it is called.

        Args:
          by_name: of HDF5: find layers by their names, and leave others as they are; `skip_mismatch` leaves out those that do
            not fit, too.

        Raises:
          ValueError: the values do not fit.
          NotFoundError: there is no such file.
        """
        if not self.weights and self.inputs is None and not by_name:
            self._to_load = filepath
            return None
        return files.load(self, filepath, by_name, skip_mismatch)

    _to_load = None

    def __call__(self, inputs, *args, **kwargs):
        outputs = super().__call__(inputs, *args, **kwargs)
        if self._to_load is not None:
            path, self._to_load = self._to_load, None
            files.load(self, path)
        return outputs

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
        layers, gave = self.layers, {step[0]: step[4] for step in reversed(getattr(self, "_steps", ()))}
        for i, layer in enumerate(layers):
            given = [t for t in nest.flatten(gave.get(layer, layer.output)) if t is not None and t.shape.ndims is not None]
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
            if training is not None and takes_training(layer):
                kwargs = {**kwargs, "training": training}
            found = layer(nest.map_structure(lambda t: value.get(t, t), taken), *args, **kwargs)
            value.update(zip(nest.flatten(gave), nest.flatten(found)))
        return nest.map_structure(value.__getitem__, self._out)

    def _mask_outputs(self, inputs, outputs, mask):
        pass  # its layers do


def _network(inputs, outputs):
    """Returns (steps, layers) between tensors: the calls of layers in order, and the layers in Keras's order.

    A step is (layer, what it took, further arguments of the call, what it gave). Keras orders layers by how many calls lie
    between them and the outputs, most first, and those of one depth as they are found on the way from the outputs.
    """
    given, calls, found = set(inputs), {}, {}  # the latter {layer: None}, in order
    for t in outputs:
        _walk(t, given, calls, found)
    depths, of_layers = {}, dict.fromkeys(found, 0)
    for history in reversed(calls.values()):
        depth = of_layers[history[0]] = max(depths.get(id(history), 0), of_layers[history[0]])
        for t in _taken(history, given):
            before = id(t._keras_history) if hasattr(t, "_keras_history") else None
            depths[before] = max(depths.get(before, 0), depth + 1)
    unused = {t._keras_history[0]: 0 for t in inputs if hasattr(t, "_keras_history") and t._keras_history[0] not in of_layers}
    layers = [layer for layer, depth in sorted((unused | of_layers).items(), key=lambda item: -item[1])]
    steps = [h for h in calls.values() if not isinstance(h[0], InputLayer) and not given.intersection(nest.flatten(h[4]))]
    return sorted(steps, key=lambda h: nest.flatten(h[4])[0].op.id), layers


def _taken(history, given):
    return [] if given.intersection(nest.flatten(history[4])) else nest.flatten(history[1])


def _walk(t, given, calls, found):
    """Adds the calls that lead to a tensor, each after those before it, and their layers, each before those before it."""
    stack = [iter([t])]
    open_calls: list = [None]
    while stack:
        t = next(stack[-1], None)
        if t is None:
            stack.pop()
            done = open_calls.pop()
            if done is not None:
                calls[id(done)] = done
            continue
        history = getattr(t, "_keras_history", None)
        if t not in given and (history is None or isinstance(history[0], InputLayer)):
            what = "is no input of it" if history else "no layer made: put the operation into a tf.keras.layers.Lambda"
            raise ValueError(f"Graph disconnected: the outputs of a Model depend on {t}, which {what}.")
        if history is None or id(history) in calls:
            continue
        found.setdefault(history[0])
        stack.append(iter(_taken(history, given)))
        open_calls.append(history)


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
            more = {"training": training} if training is not None and takes_training(layer) else {}
            inputs = layer(inputs, **more)
        return inputs


def clone_model(model, input_tensors=None, clone_function=None):
    """Returns a model of new layers like those of another, with variables of their own.

    Args:
      input_tensors: what the new model begins with, in place of new placeholders.
      clone_function: from a layer to the new one.

    Raises:
      ValueError: the model is of a class of the program's own.
    """
    from regrad.keras import configs

    return configs.clone(model, input_tensors, clone_function)


def model_from_config(config, custom_objects=None):
    """Returns the model that {"class_name": ..., "config": ...} describes."""
    from regrad.keras import configs

    return configs.deserialize(config, custom_objects)


def model_from_json(json_string, custom_objects=None):
    """Returns the model that `Model.to_json` described, without its variables' values.

    Raises:
      DataLossError: (a ValueError too, and what was raised) it describes none.
    """
    with reading("The description of a model", remedy="Model.to_json gives one."):
        return model_from_config(json.loads(json_string), custom_objects)


def save_model(model, filepath, overwrite=True, include_optimizer=True, save_format=None):
    """`Model.save`."""
    model.save(filepath, overwrite, include_optimizer, save_format)


def load_model(filepath, custom_objects=None, compile=True):
    """Returns the model that `Model.save` wrote, here or in TensorFlow, compiled if it was; see `regrad.keras.saving`."""
    from regrad.keras import saving

    return saving.load_model(filepath, custom_objects, compile)


__all__ = ["Input", "Model", "Sequential", "clone_model", "load_model", "model_from_config", "model_from_json", "save_model"]
