"""Whole models in files of HDF5, as Keras writes them: description, variables, and how the model is trained (`Model.save`)."""

import json
import os

import numpy as np

from regrad.core.errors import BadValue
from regrad.keras import backend, configs, optimizers, weights
from regrad.keras.compiling import TRAIN, warn
from regrad.train.optimizer import Optimizer as TrainOptimizer

_TRAINING = {"loss": "loss", "metrics": "metrics_given", "weighted_metrics": "weighted_metrics", "sample_weight_mode": "modes",
             "loss_weights": "loss_weights"}


def save_model(model, filepath, overwrite=True, include_optimizer=True, save_format=None):
    """Writes a model of layers; see `Model.save`."""
    path = os.fspath(filepath)
    if save_format in ("tf", "tensorflow"):
        raise NotImplementedError("Model.save writes HDF5 only. For serving, tf.saved_model.simple_save(tf.keras.backend."
                                  "get_session(), path, inputs, outputs) writes a SavedModel of the model's tensors.")
    if not overwrite and os.path.exists(path):
        raise FileExistsError(f"{path} is there already, and overwrite=False keeps it: give another path.")
    described = configs.to_json(model).encode()
    with weights.hdf5_in_place_of(path) as file:
        file.attrs["keras_version"], file.attrs["backend"], file.attrs["model_config"] = b"2.2.4-tf", b"tensorflow", described
        weights.put_groups(file.create_group("model_weights"), model)
        if include_optimizer and model._asked is not None:
            _put_training(file, model)


def _put_training(file, model):
    optimizer = model.optimizer
    if isinstance(optimizer, TrainOptimizer):
        warn("An optimizer of tf.train is not saved with a model: give the model `compile` again when it is loaded.")
        return
    asked = {name: model._asked[kept] for name, kept in _TRAINING.items()}
    try:
        text = json.dumps({"optimizer_config": optimizers.serialize(optimizer), **asked}, default=configs.plain)
    except TypeError as error:
        warn(f"How the model is trained is not saved: {error}")
        return
    file.attrs["training_config"] = text.encode()
    if len(optimizer.weights) > 1:
        group = file.create_group("optimizer_weights")
        group.attrs["weight_names"] = [v.name.encode() for v in optimizer.weights]
        for v, value in zip(optimizer.weights, optimizer.get_weights()):
            group.create_dataset(v.name, data=np.asarray(value))


def load_model(filepath, custom_objects=None, compile=True):
    """Returns the model that `Model.save` wrote, here or in TensorFlow, compiled if it was.

    Args:
      filepath: a file of HDF5; h5py must be installed.
      custom_objects: {name: class or function} of the program's own.
      compile: False leaves `compile` to the program.

    Raises:
      ValueError: the file has no description of a model.
      DataLossError: (a ValueError too, and what was raised) the file is damaged, or describes what is no model.
      NotImplementedError: it is the folder of a SavedModel.
    """
    from regrad.keras.utils import custom_object_scope

    path = os.fspath(filepath)
    if os.path.isdir(path):
        raise NotImplementedError(f"{path} is a folder. tf.saved_model.loader.load(session, ['serve'], path) loads SavedModels "
                                  "into a graph that has gradients; tf.keras loads files of HDF5.")
    with weights.opened(path) as file, custom_object_scope(custom_objects or {}):
        if "model_config" not in file.attrs:
            raise BadValue(f"No model config found in the file {path}: it holds the values of variables only. Make the model "
                             "as it was made, and call its `load_weights`.")
        model = configs.deserialize(_json(file.attrs["model_config"]))
        weights.take_groups(weights.inside(file, "model_weights"), model)
        if compile and "training_config" in file.attrs:
            asked = _json(file.attrs["training_config"])
            model.compile(optimizers.deserialize(asked["optimizer_config"]), **{n: _listed(asked.get(n)) for n in _TRAINING})
            if "optimizer_weights" in file:
                _take_optimizer(weights.inside(file, "optimizer_weights"), model)
        elif compile:
            warn(f"{path} does not say how the model is trained: call its `compile` before `fit`.")
    return model


def _json(text):
    return json.loads(text.decode() if isinstance(text, bytes) else text)


def _listed(given):
    """Returns metrics of one output, which TensorFlow writes as a list in a list, as they were given."""
    return given[0] if isinstance(given, list) and len(given) == 1 and isinstance(given[0], list) else given


def _take_optimizer(group, model):
    model._compiled.function(TRAIN, False)  # which makes the optimizer's variables
    values = [weights.array(group, name) for name in weights.texts(group.attrs["weight_names"])]
    variables = model.optimizer.weights
    if [v.shape for v in values] != [tuple(v.shape.as_list()) for v in variables]:
        warn("The state of the optimizer does not fit the model, and begins anew.")
        return
    backend.batch_set_value(list(zip(variables, values)))


__all__ = ["load_model", "save_model"]
