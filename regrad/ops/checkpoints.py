"""Operations that write and read checkpoints: what a Saver is made of. On the host; nothing here has a gradient."""

import contextlib
import functools
import glob
import os

import numpy as np

from regrad.core import bundle, dtypes
from regrad.core.dtypes import as_dtype
from regrad.core.errors import DataLossError, InvalidArgumentError, NotFoundError, OpError, ShapeError, nearest
from regrad.core.facts import Stored
from regrad.core.files import make_folders
from regrad.core.opdef import Spec, rank_is
from regrad.core.reading import reading
from regrad.ops.hosted import host_op


def _text(x):
    return x.item().decode() if isinstance(x, np.ndarray) else x.decode()


def _names(op_type, tensor_names, slices, count):
    """Returns (name, slice or "") of each tensor."""
    if not tensor_names.size == slices.size == count:
        raise InvalidArgumentError(f"{op_type}: {count} tensors, but {tensor_names.size} names and {slices.size} slices.")
    return [(n.decode(), s.decode()) for n, s in zip(tensor_names.flat, slices.flat)]


def _slice(op_type, name, text):
    try:
        return bundle.parsed_spec(text)
    except ValueError as error:
        raise InvalidArgumentError(f"{op_type}: {name}: {error}") from None


# -- writing -------------------------------------------------------------------------------------------------
def _dtype_of(array):
    return as_dtype("string" if array.dtype == object else array.dtype)


def _save(b, prefix, tensor_names, slices, tensors):
    values: dict = {}
    for (name, text), array in zip(_names("SaveV2", tensor_names, slices, len(tensors)), tensors):
        array = np.asarray(array)
        shape, extents = _slice("SaveV2", name, text) if text else (None, ())
        if all(extent == (0, -1) for extent in extents) and shape in (None, list(array.shape)):
            if name in values:
                raise InvalidArgumentError(f"SaveV2: two tensors are called {name!r}.")
            values[name] = array, _dtype_of(array)
            continue
        parts, _ = values.setdefault(name, (bundle.Parts(shape), _dtype_of(array)))
        sizes = [size if n < 0 else n for (_, n), size in zip(extents, shape)]
        if sizes != list(array.shape) or not isinstance(parts, bundle.Parts) or parts.shape != shape:
            raise InvalidArgumentError(f"SaveV2: {name}: a tensor of shape {list(array.shape)} is not the slice {text!r}.")
        parts.slices.append((extents, array))
    path = _text(prefix)
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise NotFoundError(None, None, f"{path}: there is no folder {folder}")
    bundle.write(path, values)
    return ()


savev2_op = host_op("SaveV2", "prefix: string, tensor_names: string, shape_and_slices: string, tensors: [T]",
                    lambda prefix, *_: rank_is(prefix, 0, "SaveV2") or [], _save, stateful=True)


def _merge(b, prefixes, destination, *, delete_old_dirs, allow_missing_files):
    """Makes one checkpoint of several."""
    values, paths = {}, [p.decode() for p in prefixes.flat]
    for path in paths:
        if allow_missing_files and not os.path.exists(path + bundle.INDEX):
            continue
        found = opened(path)
        for name, dtype in found.dtypes.items():
            if name in values:
                raise InvalidArgumentError(f"MergeV2Checkpoints: {name!r} is in several of {paths}.")
            values[name] = read(found, path, name), dtype
    target = _text(destination)
    make_folders(os.path.dirname(target) or ".")
    bundle.write(target, values)
    for path in paths:
        if path != target:
            bundle.remove(path)
            if delete_old_dirs:
                with contextlib.suppress(OSError):  # where something else is in it, it stays
                    os.rmdir(os.path.dirname(path) or ".")
    return ()


mergev2checkpoints_op = host_op("MergeV2Checkpoints", "checkpoint_prefixes: string, destination_prefix: string",
                                lambda *_, **__: [], _merge, {"delete_old_dirs": True, "allow_missing_files": False},
                                stateful=True)

for _op in (savev2_op, mergev2checkpoints_op):
    _op.declare(stored=Stored(writes_files=lambda op: True))

shardedfilename_op = host_op(
    "ShardedFilename", "basename: string, shard: int32, num_shards: int32", lambda *_: Spec((), dtypes.string),
    lambda b, name, shard, count: np.array(f"{_text(name)}-{int(shard):05d}-of-{int(count):05d}".encode(), object))
shardedfilespec_op = host_op(
    "ShardedFilespec", "basename: string, num_shards: int32", lambda *_: Spec((), dtypes.string),
    lambda b, name, count: np.array(f"{_text(name)}-?????-of-{int(count):05d}".encode(), object))


# -- reading -------------------------------------------------------------------------------------------------
def opened(prefix):
    """Returns the Bundle or Slices of a checkpoint.

    Raises:
      NotFoundError: there is none, or a file of it is missing.
      DataLossError: the files hold something else.
    """
    return _opened(prefix, _bundle if os.path.exists(prefix + bundle.INDEX) else None, bundle.files_of_slices(prefix))


@functools.lru_cache(maxsize=1)
def _indexed(prefix, stamp):
    """Returns a Bundle: its index is read once, not once for each variable that starts from it; `stamp` tells which it was."""
    found = bundle.Bundle(prefix)
    found.stamp = stamp
    return found


def _bundle(prefix):
    while True:
        stamp = _stamp(prefix)
        try:
            found = _indexed(prefix, stamp)
            found.check_data()
            return found
        except (OSError, OpError):
            if stamp == _stamp(prefix):
                raise


def _stamp(prefix):
    """Returns what tells one index from another that takes its place."""
    at = os.stat(prefix + bundle.INDEX)
    return at.st_dev, at.st_ino, at.st_size, at.st_mtime_ns


def all_of_one_save(prefix, function):
    """Returns `function(opened(prefix))`, begun anew when another save takes the checkpoint's place while it reads."""
    failed: tuple | None = ()
    while True:
        found = opened(prefix)
        try:
            return function(found)
        except (DataLossError, NotFoundError):
            if found.stamp == failed:
                raise
            failed = found.stamp
            _indexed.cache_clear()


def _opened(prefix, kind, slices):
    if kind is None and not slices:
        raise NotFoundError(None, None, "Unsuccessful TensorSliceReader constructor: Failed to find any matching files for "
                                        f"{prefix}")
    try:
        return kind(prefix) if kind is not None else bundle.Slices(slices)
    except OSError as error:
        raise NotFoundError(None, None, f"The checkpoint {prefix} cannot be read: {error}") from None


def read(found, prefix, name):
    """Returns the array of a name in what `opened` gave; NotFoundError without one, DataLossError for a damaged one."""
    if name not in found.shapes:
        raise NotFoundError(None, None, f"Key {name} not found in checkpoint {prefix}{nearest(name, found.shapes)}")
    with reading(prefix, f"the value of {name!r}"):
        return found.array(name)


def _restore(b, prefix, tensor_names, slices, *, dtypes):
    path = _text(prefix)
    names = _names("RestoreV2", tensor_names, slices, len(dtypes))
    return all_of_one_save(path, lambda found: _restored(found, path, names, dtypes))


def _restore_one(b, pattern, name, text=None, *, dt, preferred_shard):
    pattern = _text(pattern)
    found = _opened(pattern, None, sorted(glob.glob(pattern)))
    return _restored(found, pattern, [(_text(name), "" if text is None else _text(text))], [dt])[0]


def _restored(found, path, names, dtypes):
    whole, out = {}, []
    for (name, text), dtype in zip(names, dtypes):
        value = whole.get(name)
        if value is None:
            value = read(found, path, name)
        if found.dtypes[name] is not dtype:
            raise InvalidArgumentError(f"tensor_name = {name}; expected dtype {dtype.name} does not equal original dtype "
                                       f"{found.dtypes[name].name} in {path}")
        if text:
            whole[name] = value
            shape, extents = _slice("RestoreV2", name, text)
            if shape != list(value.shape):
                raise InvalidArgumentError(f"Shape in shape_and_slice spec {shape} does not match the shape stored in "
                                           f"checkpoint: {list(value.shape)} of {name} in {path}")
            value = value[bundle.place(extents)]
        out.append(value)
    return tuple(out)


def _restore_infer(prefix, tensor_names, slices, *, dtypes):
    rank_is(prefix, 0, "RestoreV2")
    texts = slices.value()
    texts = [b""] * len(dtypes) if texts is None else texts.tolist()
    if len(texts) != len(dtypes):
        raise ShapeError(f"RestoreV2 takes as many slices as it has dtypes, {len(dtypes)}, got {len(texts)}")
    return [Spec(_dims(text), as_dtype(t)) for text, t in zip(texts, dtypes)]


def _dims(text):
    if not text:
        return None
    shape, extents = _slice("RestoreV2", "its slice", text.decode())
    return tuple(size if n < 0 else n for (_, n), size in zip(extents, shape))


restorev2_op = host_op("RestoreV2", "prefix: string, tensor_names: string, shape_and_slices: string", _restore_infer, _restore,
                       {"dtypes": ()}, stateful=True, single=False)
restore_op = host_op("Restore", "file_pattern: string, tensor_name: string", lambda *_, dt, **__: Spec(None, dt), _restore_one,
                     {"dt": None, "preferred_shard": -1}, stateful=True)
restoreslice_op = host_op(
    "RestoreSlice", "file_pattern: string, tensor_name: string, shape_and_slice: string",
    lambda file, name, text, *, dt, **_: Spec(None if text.value() is None else _dims(text.value().item()), dt), _restore_one,
    {"dt": None, "preferred_shard": -1}, stateful=True)


def restore_v2(prefix, tensor_names, shape_and_slices, dtypes, name=None):
    """Returns a list of tensors, read from a checkpoint. Their static ranks are unknown.

    Args:
      prefix: string scalar, the path without endings.
      tensor_names: string vector, the name of each tensor.
      shape_and_slices: string vector, "" for a whole, or which slice of a whole each tensor is: "100 2 0,50:-".
      dtypes: list of their dtypes.

    Raises:
      NotFoundError: (when run) there is no such checkpoint, or it lacks a name.
      InvalidArgumentError: (when run) a dtype or the whole of a slice is another.
      DataLossError: (when run) the files are damaged.
    """
    return restorev2_op(prefix, tensor_names, shape_and_slices, dtypes=tuple(as_dtype(t) for t in dtypes), name=name)
