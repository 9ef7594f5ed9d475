"""The values of a model's variables in files: `save_weights` and `load_weights`.

Without an ending it is a checkpoint of TensorFlow's that notes objects: a variable is found by the way that leads to it, such
as "layer_with_weights-0/kernel", whatever its name is. With ".h5" it is a file of HDF5, for which h5py must be installed;
there layers are found by their order, or by their names.
"""

import contextlib
import math
import mmap
import os
import struct

import numpy as np

from regrad.core.bundle import write
from regrad.core.dtypes import string
from regrad.core.errors import BadValue, NotFoundError
from regrad.core.files import in_place_of
from regrad.core.reading import reading
from regrad.gfile import MakeDirs
from regrad.keras import backend
from regrad.layers.base import Layer
from regrad.train.checkpoint import (
    OBJECTS,
    CheckpointReader,
    TrackableObjectGraph,
    checkpoint_exists,
    objects_of,
    update_checkpoint_state,
)
from regrad.variables.variable import Variable

_DEFLATED = 1032  # bytes that one byte of zlib's stands for at most
_ENDINGS = (".h5", ".hdf5", ".keras")
_KEY = "/.ATTRIBUTES/VARIABLE_VALUE"
_OF_LAYERS = ("_trainable_weights", "_non_trainable_weights", "_chain", "_compiled", "input", "output", "inputs", "outputs")


def _is_hdf5(path, save_format=None):
    return save_format in ("h5", "keras", "hdf5") or save_format is None and path.endswith(_ENDINGS)


def save(model, filepath, overwrite=True, save_format=None):
    """Writes the values of a model's variables; see `Model.save_weights`."""
    path = os.fspath(filepath)
    if save_format not in (None, "h5", "hdf5", "keras", "tf", "tensorflow"):
        raise ValueError(f'Unknown format "{save_format}". Was expected "tf" or "h5".')
    _check_made(model)
    if not overwrite and (os.path.exists(path) or checkpoint_exists(path)):
        raise FileExistsError(f"{path} is there already, and overwrite=False keeps it: give another path.")
    if _is_hdf5(path, save_format):
        with hdf5_in_place_of(path) as file:
            put_groups(file, model)
    else:
        _save_objects(model, path)


def load(model, filepath, by_name=False, skip_mismatch=False):
    """Gives a model's variables the values in a file; see `Model.load_weights`."""
    path = os.fspath(filepath)
    if skip_mismatch and not by_name:
        raise ValueError("When calling model.load_weights, skip_mismatch can only be set to True when by_name is True.")
    if _is_hdf5(path) or os.path.isfile(path):
        _check_made(model)
        with opened(path) as file:
            whole = "layer_names" not in file.attrs and "model_weights" in file
            take_groups(inside(file, "model_weights") if whole else file, model, by_name, skip_mismatch)
        return None
    if by_name:
        raise NotImplementedError("Weights may only be loaded based on topology into Models when loading TensorFlow-formatted "
                                  "weights (got by_name=True to load_weights).")
    if not checkpoint_exists(path):
        raise NotFoundError(None, None, f"{path!r} is neither a checkpoint (there is no {path}.index) nor a file of HDF5.")
    reader = CheckpointReader(path)
    found = _stored(model, reader)
    with reading(path):
        _set(model, [(v, reader.get_tensor(key), key) for v, key in found.items()])
    return Loaded(path, [v.name for v in model.weights if v not in found],
                  set(reader.get_variable_to_shape_map()) - set(found.values()) - {OBJECTS})


class Loaded:
    """What `load_weights` of a checkpoint returns; its methods ask what was found."""

    def __init__(self, path, empty, unused):
        self._path, self._empty, self._unused = path, empty, unused

    def assert_existing_objects_matched(self):
        """Raises AssertionError where a variable of the model was not in the checkpoint."""
        if self._empty:
            raise AssertionError(f"{self._path} has no values for {self._empty}.")
        return self

    def assert_consumed(self):
        """Raises AssertionError where the checkpoint and the model do not have the same variables."""
        if self._unused:
            raise AssertionError(f"Unresolved object in checkpoint {self._path}: {sorted(self._unused)}.")
        return self.assert_existing_objects_matched()

    assert_nontrivial_match = assert_existing_objects_matched

    def expect_partial(self):
        return self

    def initialize_or_restore(self, session=None):
        """Done already."""

    run_restore_ops = initialize_or_restore


def _check_made(model):
    if not model.weights and model.inputs is None:
        raise ValueError(f"The model {model.name} has no variables yet: call it, or fit it, or give its first layer an "
                         "`input_shape`.")


def _set(model, triples):
    for v, value, key in triples:
        if tuple(np.shape(value)) != tuple(v.shape.as_list()):
            raise BadValue(f"Cannot load {key!r}, of shape {np.shape(value)}, into {v.name}, of shape {v.shape}: the model "
                             f"{model.name} is another than the one that was saved.")
    backend.batch_set_value([(v, value) for v, value, _ in triples])


# -- checkpoints of objects ---------------------------------------------------------------------------------------
def _children(thing):
    """Returns [(name, part)]: of a layer its variables and layers, by attributes and as TensorFlow numbers them; of a list or
    dict its items."""
    if isinstance(thing, (list, tuple)):
        return [(str(i), part) for i, part in enumerate(thing) if _has_parts(part)]
    if isinstance(thing, dict):
        return [(str(key), part) for key, part in thing.items() if _has_parts(part)]
    found = []
    if getattr(thing, "_chain", None) is not None:
        weighted = [layer for layer in thing.layers if layer.weights]
        found += [(f"layer_with_weights-{i}", layer) for i, layer in enumerate(weighted)]
        found += [(f"layer-{i}", layer) for i, layer in enumerate(thing.layers)]
    found += [(name, part) for name, part in vars(thing).items() if name not in _OF_LAYERS and _has_parts(part)]
    return found + [(v.op.name.rpartition("/")[2], v) for v in (*thing._trainable_weights, *thing._non_trainable_weights)]


def _has_parts(value):
    if isinstance(value, (list, tuple, dict)):
        return any(_has_parts(part) for part in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, (Variable, Layer))


def _save_objects(model, path):
    things, ways, at, graph = [model], [""], {id(model): 0}, TrackableObjectGraph()
    keys = {}
    for i, thing in enumerate(things):  # which grows meanwhile
        node = graph.nodes.add()
        if isinstance(thing, Variable):
            keys[ways[i] + _KEY] = thing
            node.attributes.add(name="VARIABLE_VALUE", full_name=thing.op.name, checkpoint_key=ways[i] + _KEY)
            continue
        for name, part in _children(thing):
            if id(part) not in at:
                at[id(part)] = len(things)
                things.append(part)
                ways.append(f"{ways[i]}/{_escaped(name)}".lstrip("/"))
            node.children.add(node_id=at[id(part)], local_name=name)
    values = dict(zip(keys, backend.batch_get_value(list(keys.values())) if keys else []))
    stored = {key: (np.asarray(values[key]), v.dtype) for key, v in keys.items()}
    stored[OBJECTS] = np.array(graph.SerializeToString(), object), string
    MakeDirs(os.path.dirname(path) or ".")
    write(path, stored)
    update_checkpoint_state(os.path.dirname(path) or ".", path)


def _escaped(name):
    return name.replace(".", "..").replace("/", ".S")


def _stored(model, reader):
    """Returns {variable: key in the checkpoint}: by the ways that lead to them, or, of one without objects, by names."""
    if not reader.has_tensor(OBJECTS):
        return {v: v.op.name for v in model.weights if reader.has_tensor(v.op.name)}
    nodes = objects_of(reader).nodes
    found, stack, seen = {}, [(model, 0)], set()
    while stack:
        thing, i = stack.pop()
        if (id(thing), i) in seen:
            continue
        seen.add((id(thing), i))
        if isinstance(thing, Variable):
            found.update((thing, a.checkpoint_key) for a in nodes[i].attributes if a.name == "VARIABLE_VALUE")
            continue
        there = {child.local_name: child.node_id for child in nodes[i].children}
        stack += [(part, there[name]) for name, part in _children(thing) if name in there]
    return found


# -- HDF5 ------------------------------------------------------------------------------------------------------
def h5py_module():
    """Returns h5py; ImportError with the remedy where it is not installed."""
    try:
        import h5py
    except ImportError:
        raise ImportError("Files that end in .h5, .hdf5 or .keras need the package h5py, which is not installed (python -m pip "
                          "install h5py); without such an ending a checkpoint is written, which needs nothing.") from None
    return h5py


@contextlib.contextmanager
def hdf5_in_place_of(path):
    """Context manager: gives an empty file of HDF5, in memory, which takes the place of `path` when the block is left."""
    with h5py_module().File(path, "w", driver="core", backing_store=False) as file:
        yield file
        file.flush()
        image = file.id.get_file_image()
    with in_place_of(path) as target:
        target.write(image)


def inside(group, name):
    """Returns what a group of HDF5 has under a name, a group or dataset.

    Raises:
      ValueError: it lies in another file; a file of HDF5 may name any, which would be read with the rights of whoever loads it.
    """
    found = group[name]
    if found.file.filename != group.file.filename or getattr(found, "external", None) or getattr(found, "is_virtual", False):
        raise ValueError(f"{name!r} lies in another file, which is not read: have the model saved as one file.")
    return found


@contextlib.contextmanager
def opened(path):
    """Context manager: gives a file of HDF5; what is wrong with it is DataLossError, which is what was raised, too."""
    h5py = h5py_module()
    with reading(path):
        _check_heaps(path)
        try:
            file = h5py.File(path, "r")
        except FileNotFoundError:
            raise
        except OSError as error:  # the library's own, whatever number the system had last
            raise ValueError(str(error)) from None
        with file:
            yield file


_HEAP = b"GCOL\1\0\0\0"


def _check_heaps(path):
    """Raises ValueError for a file of HDF5 that its library would read for ever: one with a heap whose free space has no size.

    Source of the form: HDF5 File Format Specification, "Level 1E - Global Heap", with lengths of eight bytes.
    """
    with open(path, "rb") as file, contextlib.ExitStack() as stack:
        size = os.fstat(file.fileno()).st_size
        data = stack.enter_context(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)) if size else b""
        start = data.find(_HEAP)
        while start >= 0:
            at, end = start + 16, min(size, start + int.from_bytes(data[start + 8:start + 16], "little"))
            while at + 16 <= end:
                index, length = struct.unpack("<H6xQ", data[at:at + 16])
                if not index and length < 16:
                    raise ValueError(f"the free space of its heap at byte {start} has {length} bytes")
                at += 16 + (length + 7) // 8 * 8 if index else length
            start = data.find(_HEAP, start + 8)


def array(group, path):
    """Returns the array of numbers at a path below a group of HDF5; ValueError for one that its bytes cannot be."""
    found = inside(group, path)
    stored = found.id.get_storage_size()
    if found.dtype.hasobject or math.prod(found.shape) * found.dtype.itemsize > _DEFLATED * stored:
        raise ValueError(f"{path} is no array of {found.dtype}{list(found.shape)}: there are {stored} bytes of it")
    return found[()]


def texts(values):
    """Returns strings for what HDF5 gives for them."""
    return [v.decode() if isinstance(v, bytes) else v for v in values]


def put_groups(file, model):
    """Writes a group for each layer into a group of HDF5."""
    layers = model.layers
    file.attrs["layer_names"] = [layer.name.encode() for layer in layers]
    file.attrs["backend"], file.attrs["keras_version"] = b"tensorflow", b"2.2.4-tf"
    for layer in layers:
        group, variables = file.create_group(layer.name), layer.weights
        group.attrs["weight_names"] = [v.name.encode() for v in variables]
        for v, value in zip(variables, layer.get_weights()):
            group.create_dataset(v.name, data=np.asarray(value))


def take_groups(file, model, by_name=False, skip_mismatch=False):
    """Gives a model's variables the values in a group of HDF5 that has a group for each layer."""
    groups = [(name, texts(inside(file, name).attrs["weight_names"])) for name in texts(file.attrs["layer_names"])]
    if by_name:
        of_name = {}
        for layer in model.layers:
            of_name.setdefault(layer.name, []).append(layer)
        pairs = [(layer, name, names) for name, names in groups for layer in of_name.get(name, ())]
    else:
        groups, layers = [g for g in groups if g[1]], [layer for layer in model.layers if layer.weights]
        if len(groups) != len(layers):
            raise BadValue(f"You are trying to load a weight file containing {len(groups)} layers into a model with "
                             f"{len(layers)} layers.")
        pairs = [(layer, *group) for layer, group in zip(layers, groups)]
    triples = []
    for layer, name, names in pairs:
        values, variables = [array(inside(file, name), n) for n in names], layer.weights
        fits = len(values) == len(variables) and all(
            tuple(value.shape) == tuple(v.shape.as_list()) for v, value in zip(variables, values))
        if fits or not skip_mismatch:
            if len(values) != len(variables):
                raise BadValue(f"Layer {layer.name!r} expects {len(variables)} weight(s), but the saved weights have "
                                 f"{len(values)} element(s).")
            triples += [(v, value, f"{name}/{n}") for v, value, n in zip(variables, values, names)]
    _set(model, triples)


__all__ = ["Loaded", "array", "h5py_module", "hdf5_in_place_of", "inside", "load", "opened", "put_groups", "save",
           "take_groups", "texts"]
