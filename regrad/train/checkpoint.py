"""Checkpoints: the values of variables by name, and the small file that says which checkpoint is the latest.

The files are TensorFlow's (`regrad/core/bundle.py`), so what one of the two saves, the other restores. The file "checkpoint"
beside them has TensorFlow's own text form.
"""

import glob
import os
import re
import time

from regrad.core import bundle
from regrad.core.errors import InvalidArgumentError
from regrad.core.files import ready, remove_if_there
from regrad.core.proto import Message, fields
from regrad.core.proto_text import unescaped
from regrad.core.reading import reading
from regrad.core.shown import Shown
from regrad.ops.checkpoints import opened, read


class CheckpointReader(Shown):
    """Reads a checkpoint: `get_tensor(name)`, `has_tensor(name)`, maps of names to shapes and dtypes."""

    def __init__(self, filepattern):
        """Args: filepattern: the path that `Saver.save` returned.

        Raises:
          NotFoundError: there is no such checkpoint.
          DataLossError: the files hold something else.
        """
        self.prefix = os.fspath(filepattern)
        self._files = opened(self.prefix)

    def has_tensor(self, name):
        return name in self._files.shapes

    def get_tensor(self, name):
        """Returns the value of `name`, of rank 0 as a NumPy scalar or bytes; NotFoundError when the checkpoint has none."""
        value = self.array(name)
        return value if value.ndim else value[()]

    def array(self, name):
        """Returns the value of `name` as an array, whatever its rank."""
        return read(self._files, self.prefix, name)

    def get_variable_to_shape_map(self):
        return {name: list(shape) for name, shape in self._files.shapes.items()}

    def get_variable_to_dtype_map(self):
        return dict(self._files.dtypes)

    def debug_string(self):
        """Returns one line per variable: name, dtype, shape."""
        return "".join(f"{n} ({self._files.dtypes[n].name}) {s}\n" for n, s in sorted(self._files.shapes.items())).encode()


NewCheckpointReader = CheckpointReader


def load_checkpoint(ckpt_dir_or_file):
    """Returns a CheckpointReader for a checkpoint, or for the latest one of a directory.

    Raises:
      ValueError: the directory holds none.
    """
    path = os.fspath(ckpt_dir_or_file)
    if os.path.isdir(path):
        found = latest_checkpoint(path)
        if found is None:
            raise ValueError(f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}")
        path = found
    return CheckpointReader(path)


def load_variable(ckpt_dir_or_file, name):
    """Returns the value of one variable of a checkpoint; "w:0" means "w"."""
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))


def list_variables(ckpt_dir_or_file):
    """Returns [(name, shape), ...] of a checkpoint, sorted by name."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


def checkpoint_exists(checkpoint_prefix):
    """Returns whether a checkpoint with that prefix exists."""
    prefix = os.fspath(checkpoint_prefix)
    return os.path.exists(prefix + bundle.INDEX) or bool(bundle.files_of_slices(prefix))


def remove_checkpoint(checkpoint_prefix, checkpoint_format_version=None, meta_graph_suffix="meta"):
    """Deletes a checkpoint's files, those that exist."""
    prefix = os.fspath(checkpoint_prefix)
    bundle.remove(prefix)
    remove_if_there(f"{prefix}.{meta_graph_suffix}")


def get_checkpoint_mtimes(checkpoint_prefixes):
    """Returns when each checkpoint was written, in seconds since 1970."""
    files = [glob.glob(glob.escape(p) + bundle.INDEX) or bundle.files_of_slices(p) for p in map(os.fspath, checkpoint_prefixes)]
    return [os.path.getmtime(found[0]) for found in files if found]


# -- checkpoints of objects -------------------------------------------------------------------------------
class TrackableObjectGraph(Message):
    """What TensorFlow notes of the objects it saves: the names of each one's parts, and by which key a variable is stored."""

    class TrackableObject(Message):
        class ObjectReference(Message):
            FIELDS = fields("1 node_id int32; 2 local_name string")

        class SerializedTensor(Message):
            FIELDS = fields("1 name string; 2 full_name string; 3 checkpoint_key string")

        FIELDS = fields("1 children TrackableObjectGraph.TrackableObject.ObjectReference*; "
                        "2 attributes TrackableObjectGraph.TrackableObject.SerializedTensor*")

    FIELDS = fields("1 nodes TrackableObjectGraph.TrackableObject*")


OBJECTS = "_CHECKPOINTABLE_OBJECT_GRAPH"


def objects_of(reader):
    """Returns the TrackableObjectGraph of a checkpoint that was saved by objects."""
    with reading(reader.prefix, OBJECTS):
        made = TrackableObjectGraph.FromString(reader.array(OBJECTS).item())
        for i, node in enumerate(made.nodes):
            for child in node.children:
                if not 0 <= child.node_id < len(made.nodes):
                    raise ValueError(f"object {i} has object {child.node_id} as {child.local_name!r}, and there are "
                                     f"{len(made.nodes)}")
    return made


def keys_of_objects(reader):
    """Returns {name of a variable: its key} of a checkpoint that TensorFlow saved by objects; {} for any other."""
    if not reader.has_tensor(OBJECTS):
        return {}
    found = objects_of(reader)
    return {stored.full_name: stored.checkpoint_key for node in found.nodes for stored in node.attributes if stored.full_name}


# -- which one is the latest ------------------------------------------------------------------------------


class CheckpointState(Shown):
    """What the file "checkpoint" says.

    Attributes:
      model_checkpoint_path: prefix of the latest checkpoint.
      all_model_checkpoint_paths: prefixes of all that are kept, oldest first.
      all_model_checkpoint_timestamps: when each was written.
      last_preserved_timestamp: when the last one was written that is kept for good.
    """

    def __init__(self, model_checkpoint_path="", all_model_checkpoint_paths=(), all_model_checkpoint_timestamps=(),
                 last_preserved_timestamp=None):
        self.model_checkpoint_path = model_checkpoint_path
        self.all_model_checkpoint_paths = list(all_model_checkpoint_paths)
        self.all_model_checkpoint_timestamps = list(all_model_checkpoint_timestamps)
        self.last_preserved_timestamp = last_preserved_timestamp

    def __str__(self):
        lines = [f'model_checkpoint_path: "{_quoted(self.model_checkpoint_path)}"']
        lines += [f'all_model_checkpoint_paths: "{_quoted(p)}"' for p in self.all_model_checkpoint_paths]
        lines += [f"all_model_checkpoint_timestamps: {t}" for t in self.all_model_checkpoint_timestamps]
        if self.last_preserved_timestamp is not None:
            lines.append(f"last_preserved_timestamp: {self.last_preserved_timestamp}")
        return "\n".join(lines) + "\n"


def _quoted(text):
    return text.replace("\\", "\\\\").replace('"', '\\"')


_FIELDS = frozenset(vars(CheckpointState()))
_LINE = re.compile(r'^(\w+):\s*(?:"((?:[^"\\]|\\.)*)"|([-+.\deE]+))\s*$')


def _parsed(text):
    state = CheckpointState()
    for n, line in enumerate(text.split("\n"), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        match = _LINE.match(line)
        if match is None:
            raise ValueError(f"line {n} has no field and its value: {line!r:.80}")
        name, string, number = match.groups()
        value = os.fsdecode(unescaped(f'"{string}"')) if string is not None else float(number)
        if name not in _FIELDS:
            continue
        if isinstance(value, str) != ("path" in name) or string is not None and "\0" in value:
            raise ValueError(f"line {n}: {name} is no {'path' if 'path' in name else 'number'}: {line!r:.80}")
        if isinstance(getattr(state, name), list):
            getattr(state, name).append(value)
        else:
            setattr(state, name, value)
    return state


def _state_file(directory, latest_filename):
    return os.path.join(directory, latest_filename or "checkpoint")


def get_checkpoint_state(checkpoint_dir, latest_filename=None):
    """Returns the CheckpointState of a directory, with paths that can be opened; None when there is none.

    Its paths may lead anywhere, as those that TensorFlow writes do, which are absolute where the directory's was.

    Raises:
      DataLossError: (a ValueError too) the file says something else; no training begins anew because of that.
    """
    checkpoint_dir = os.fspath(checkpoint_dir)
    path = _state_file(checkpoint_dir, latest_filename)
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return None
    with reading(path, remedy="To begin anew delete it; to go on, tf.train.update_checkpoint_state writes it again."):
        state = _parsed(data.decode())
    if not state.model_checkpoint_path:
        return None
    state.model_checkpoint_path = _below(checkpoint_dir, state.model_checkpoint_path)
    state.all_model_checkpoint_paths = [_below(checkpoint_dir, p) for p in state.all_model_checkpoint_paths]
    return state


def _below(directory, path):
    return path if os.path.isabs(path) else os.path.join(directory, path)


def latest_checkpoint(checkpoint_dir, latest_filename=None):
    """Returns the prefix of the latest checkpoint of a directory, or None."""
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is not None and checkpoint_exists(state.model_checkpoint_path):
        return state.model_checkpoint_path
    return None


def update_checkpoint_state(save_dir, model_checkpoint_path, all_model_checkpoint_paths=None, latest_filename=None,
                            all_model_checkpoint_timestamps=None, last_preserved_timestamp=None,
                            save_relative_paths=False):
    """Writes the file "checkpoint" of a directory, whose paths are absolute or relative to it.

    Args:
      model_checkpoint_path, all_model_checkpoint_paths: the latest checkpoint and all; where `save_dir` is relative, relative
        ones are so to the same folder as that, else to `save_dir` itself.
      save_relative_paths: absolute ones are written relative to `save_dir`.
    """
    with state_ready(save_dir, model_checkpoint_path, all_model_checkpoint_paths, latest_filename,
                     all_model_checkpoint_timestamps, last_preserved_timestamp, save_relative_paths) as part:
        part.take_place()


def state_ready(save_dir, model_checkpoint_path, all_model_checkpoint_paths=None, latest_filename=None,
                all_model_checkpoint_timestamps=None, last_preserved_timestamp=None, save_relative_paths=False):
    """Returns a context manager: what `update_checkpoint_state` writes, as a Part that has but to take its place."""
    save_dir = os.fspath(save_dir)
    paths = list(all_model_checkpoint_paths or [])
    if not paths or paths[-1] != model_checkpoint_path:
        paths.append(model_checkpoint_path)

    def written(path):
        inside = save_relative_paths if os.path.isabs(path) else not os.path.isabs(save_dir)
        return os.path.relpath(path, save_dir) if inside else path

    state = CheckpointState(written(model_checkpoint_path), [written(p) for p in paths],
                            all_model_checkpoint_timestamps or (), last_preserved_timestamp)
    target = _state_file(save_dir, latest_filename)
    if target in (model_checkpoint_path + bundle.INDEX, model_checkpoint_path + bundle.DATA):
        raise RuntimeError(f"Save path '{model_checkpoint_path}' conflicts with path used for checkpoint state. Please use a "
                           "different save path.")
    return ready(target, str(state).encode())


def checkpoints_iterator(checkpoint_dir, min_interval_secs=0, timeout=None, timeout_fn=None):
    """Yields the prefixes of new checkpoints of a directory as they come.

    Args:
      min_interval_secs: least time between two.
      timeout: how long to wait for a new one; None waits for ever.
      timeout_fn: called on timeout; iteration ends when it is missing or returns True.
    """
    last = None
    while True:
        waited_from = time.monotonic()
        while True:
            found = latest_checkpoint(checkpoint_dir)
            if found is not None and found != last:
                break
            if timeout is not None and time.monotonic() - waited_from > timeout:
                found = None
                break
            time.sleep(0.05)
        if found is None:
            if timeout_fn is None or timeout_fn():
                return
            continue
        started, last = time.monotonic(), found
        yield found
        time.sleep(max(0.0, min_interval_secs - (time.monotonic() - started)))


def check_shape(name, stored, dims, place=""):
    """Raises InvalidArgumentError unless an array of shape `stored` fits a variable of static shape `dims`, made at `place`."""
    fits = dims is None or len(stored) == len(dims) and all(d is None or d == s for s, d in zip(stored, dims))
    if not fits:
        raise InvalidArgumentError(None, None, "Assign requires shapes of both tensors to match. lhs shape= "
                                               f"{list(dims)} rhs shape= {list(stored)}: {name} of the checkpoint does "
                                               f"not fit the variable{place and f' made at {place}'}. Saver([variables]) "
                                               "restores some.")
