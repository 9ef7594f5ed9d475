"""Layers and models as descriptions of plain values: `get_config`, `from_config`, `to_json`, `clone_model`.

A layer's description has what its class's constructor takes, by names that are the layer's attributes; objects in it -
activations, initializers, regularizers, constraints, other layers - stand as names, or as {"class_name": ..., "config": ...}.
"""

import inspect
import json

import numpy as np

from regrad.core import nest
from regrad.core.dtypes import DType
from regrad.core.operation import Tensor
from regrad.core.shapes import TensorShape
from regrad.keras import constraints, initializers, regularizers
from regrad.keras.base import InputLayer, Layer
from regrad.keras.utils import custom_object, custom_object_scope

_OF_ALL = {"self", "name", "trainable", "dtype", "input_shape", "input_dim", "batch_input_shape", "batch_size", "weights",
           "input_length", "output_shape", "mask"}  # what is said otherwise, or was never kept

_LATER = {"groups": 1}  # arguments of later versions, and the values that change nothing


# -- layers ------------------------------------------------------------------------------------------------------
def of_layer(layer):
    """Returns the description of a layer, of Regrad's part of its class: a class of the program's adds its own.

    Raises:
      NotImplementedError: the program's class takes arguments, and does not say what they were.
    """
    kind = type(layer)
    own = next(c for c in kind.__mro__ if c.__module__.partition(".")[0] == "regrad")
    more = set(_parameters(kind)) - set(_parameters(own)) - _OF_ALL
    if own is not kind and more and all("get_config" not in vars(c) for c in kind.__mro__[:kind.__mro__.index(own)]):
        raise NotImplementedError(f"Layer {layer.name} of {kind.__name__} takes {', '.join(sorted(more))}: layers with "
                                  "arguments in `__init__` must override `get_config`, and add them to `super().get_config()`.")
    config = {"name": layer.name, "trainable": layer.trainable, "dtype": None if layer.dtype is None else layer.dtype.name}
    if layer.batch_input_shape is not None:
        config["batch_input_shape"] = tuple(TensorShape(layer.batch_input_shape).as_list())
    within = getattr(layer, "cell", layer)
    for name in _parameters(own):
        if name not in _OF_ALL:
            config[name] = described(getattr(layer, name) if hasattr(layer, name) else getattr(within, name), name)
    return config


def _parameters(kind):
    """Returns the names of a class's constructor; where it passes on *args, those of the class before it too."""
    names = {}
    for c in kind.__mro__:
        if "__init__" in vars(c) and c is not object:
            parameters = inspect.signature(c.__init__).parameters
            names.update((n, None) for n, p in parameters.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY))
            if c is Layer or not any(p.kind is p.VAR_POSITIONAL for p in parameters.values()):
                break
    if "filters" in names:
        names.pop("units", None)
    return [n for n in names if n != "activity_regularizer" or c is not Layer]


def described(value, name=""):
    """Returns a value as descriptions have it; `name` is the argument's."""
    if name.endswith("activation"):
        return "linear" if value is None else getattr(value, "__name__", value)
    if name.endswith("initializer"):
        value = initializers.get("glorot_uniform" if value is None else value)
        return initializers.serialize(value) if hasattr(value, "get_config") else value
    if isinstance(value, str) and name.endswith(("regularizer", "constraint")):
        value = (regularizers if name.endswith("regularizer") else constraints).get(value)
    if isinstance(value, DType):
        return value.name
    if isinstance(value, (list, tuple)):
        return type(value)(described(v) for v in value) if type(value) in (list, tuple) else list(value)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, TensorShape):
        return value.as_list()
    if hasattr(value, "get_config"):
        return {"class_name": type(value).__name__, "config": value.get_config()}
    return value


def made(kind, config):
    """Returns a layer of a class by its description; what is empty in it and unknown to the class is left out."""
    config = {key: deserialize(value) if key in ("layer", "cell", "backward_layer") and isinstance(value, dict) else value
              for key, value in config.items()}
    if "cells" in config:
        config["cells"] = [deserialize(cell) if isinstance(cell, dict) else cell for cell in config["cells"]]
    known = {*_parameters(kind), *_OF_ALL, "activity_regularizer"}
    open_ended = any(p.kind is p.VAR_KEYWORD for p in inspect.signature(kind.__init__).parameters.values())
    return kind(**{key: value for key, value in config.items()
                   if key in known or value and open_ended and _LATER.get(key) != value})


def serialize(layer):
    """Returns {"class_name": ..., "config": ...} of a layer."""
    return {"class_name": type(layer).__name__, "config": layer.get_config()}


def deserialize(config, custom_objects=None):
    """Returns the layer or model that `serialize` described.

    Args:
      custom_objects: {name: class or function} of the program's own.

    Raises:
      ValueError: its class is unknown.
    """
    from regrad.keras import layers, models

    with custom_object_scope(custom_objects or {}):
        name = config["class_name"]
        known = {"Functional": models.Model, "Model": models.Model, "Sequential": models.Sequential}
        kind = custom_object(name) or known.get(name) or (getattr(layers, name) if name in layers.__all__ else None)
        if kind is None:
            raise ValueError(f"Unknown layer: {name}. Give classes of your own in `custom_objects`, {{{name!r}: the class}}.")
        return kind.from_config(config["config"])


# -- models ------------------------------------------------------------------------------------------------------
def of_model(model):
    """Returns the description of a model of layers.

    Raises:
      NotImplementedError: it is of the program's own class.
    """
    if model._chain is None:
        raise NotImplementedError(f"{type(model).__name__} computes what its `call` says, which no description holds: only "
                                  "models of layers have one.")
    if not hasattr(model, "_steps"):
        layers = [*(t._keras_history[0] for t in model.inputs or []), *model.layers]
        return {"name": model.name, "layers": [serialize(layer) for layer in layers]}
    at, nodes = {}, {layer: [] for layer in model.layers}
    for t in model.inputs:
        at[t] = [t._keras_history[0].name, 0, 0]
    for layer, taken, args, kwargs, gave in model._steps:
        if args:
            raise ValueError(f"Layer {layer.name} was called with arguments by position, {args}: give them by name.")
        more = {k: v for k, v in kwargs.items() if v is not None and k != "mask" and not isinstance(v, Tensor)}  # the phase
        nodes[layer].append([[*at[t], more] for t in nest.flatten(taken)])
        for i, t in enumerate(nest.flatten(gave)):
            at.setdefault(t, [layer.name, len(nodes[layer]) - 1 + _first_call(layer), i])
    return {"name": model.name,
            "layers": [{"name": layer.name, **serialize(layer), "inbound_nodes": nodes[layer]} for layer in model.layers],
            "input_layers": [at[t] for t in model.inputs], "output_layers": [at[t] for t in model.outputs]}


def _first_call(layer):
    """Returns the number of a layer's first call in a model: 1 for a model, whose call 0 is the one that made it, else 0."""
    return int(getattr(layer, "_chain", None) is not None)


def model_of(kind, config):
    """Returns a model of a class by its description."""
    if "input_layers" not in config:
        model = kind(name=config.get("name"))
        for one in config["layers"]:
            model.add(deserialize(one))
        return model
    layers = {one["name"]: deserialize(one) for one in config["layers"]}
    gave = {name: [nest.flatten(layer.output)] if isinstance(layer, InputLayer) else [None] * _first_call(layer)
            for name, layer in layers.items()}
    waiting = [(one["name"], i + _first_call(layers[one["name"]]), node) for one in config["layers"]
               for i, node in enumerate(one["inbound_nodes"])]
    while waiting:
        left = []
        for name, i, node in waiting:
            if i != len(gave[name]) or any(n >= len(gave[source]) for source, n, *_ in node):
                left.append((name, i, node))
                continue
            taken = [gave[source][n][k] for source, n, k, *_ in node]
            kwargs = node[0][3] if len(node[0]) > 3 else {}
            gave[name].append(nest.flatten(layers[name](taken[0] if len(taken) == 1 else taken, **kwargs)))
        if len(left) == len(waiting):
            raise ValueError(f"The description is not whole: the layers {[name for name, _, _ in left]} take what none gives.")
        waiting = left
    inputs, outputs = ([gave[name][n][k] for name, n, k in config[part]] for part in ("input_layers", "output_layers"))
    return kind(*(one[0] if len(one) == 1 else one for one in (inputs, outputs)), name=config.get("name"))


def plain(value):
    """Returns what stands in JSON for a function, or for an object with a description.

    Raises:
      TypeError: it has no name, as the function of a Lambda.
    """
    if hasattr(value, "get_config"):
        return {"class_name": type(value).__name__, "config": value.get_config()}
    if not hasattr(value, "__name__") or "<" in value.__name__:
        raise TypeError(f"{value!r} cannot stand in JSON: give the function a name, and to `custom_objects` when the model is "
                        "made again.")
    return value.__name__


def to_json(model, **kwargs):
    """Returns a model's description as JSON; `kwargs` go to `json.dumps`; TypeError for what `plain` refuses."""
    return json.dumps({**serialize(model), "keras_version": "2.2.4-tf", "backend": "tensorflow"}, default=plain, **kwargs)


def clone(model, input_tensors=None, clone_function=None):
    """Returns a model of new layers like those of another, with variables of their own."""
    copied = clone_function or (lambda layer: type(layer).from_config(layer.get_config()))
    if model._chain is None:
        raise ValueError("Expected `model` argument to be a functional `Model` instance, but got a subclass model instead.")
    given = None if input_tensors is None else nest.flatten(input_tensors)
    if not hasattr(model, "_steps"):
        first = [_input_like(t, given) for t in model.inputs or given or ()]
        return type(model)([*first, *(copied(layer) for layer in model.layers)], name=model.name)
    new = {layer: copied(layer) for layer in dict.fromkeys(step[0] for step in model._steps)}
    value = {t: _input_like(t, given and [given[i]]).output for i, t in enumerate(model.inputs)}
    for layer, taken, args, kwargs, gave in model._steps:
        found = new[layer](nest.map_structure(value.__getitem__, taken), *args, **kwargs)
        value.update(zip(nest.flatten(gave), nest.flatten(found)))
    inputs, outputs = (nest.map_structure(value.__getitem__, one) for one in (model._in, model._out))
    return type(model)(inputs, outputs, name=model.name)


def _input_like(t, given):
    """Returns an InputLayer for a given tensor, or one like that of `t`."""
    if given:
        return given[0]._keras_history[0] if hasattr(given[0], "_keras_history") else InputLayer(input_tensor=given[0])
    return InputLayer(batch_input_shape=tuple(t.shape.as_list()), dtype=t.dtype, name=t._keras_history[0].name)


__all__ = ["clone", "deserialize", "of_layer", "of_model", "plain", "serialize", "to_json"]
