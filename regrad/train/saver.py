"""Saver: writes the variables of a session to checkpoints and reads them back."""

import contextlib
import os
import time

from regrad.core import bundle
from regrad.core.convert import convert_to_tensor
from regrad.core.errors import InvalidArgumentError, NotFoundError, nearest
from regrad.core.files import below, ready
from regrad.core.graph import get_default_graph
from regrad.core.graph_keys import GraphKeys
from regrad.core.graph_proto import SaverDef
from regrad.core.loading import refuse_writing
from regrad.core.shapes import as_int
from regrad.core.shown import Shown
from regrad.ops.array import identity, placeholder_with_default, reshape
from regrad.ops.checkpoints import restore_v2, savev2_op
from regrad.ops.control import group
from regrad.ops.state import assign_op
from regrad.train import checkpoint
from regrad.train.steps import global_step as step_value
from regrad.variables.listing import global_variables
from regrad.variables.partition import PartitionedVariable
from regrad.variables.variable import Variable


class _Entry:
    """One key of a checkpoint: the variables that hold its value (the parts, in order, of a partitioned one)."""

    def __init__(self, name, variables):
        self.name = name
        self.variables = variables

    def specs(self):
        """Returns for each variable which slice of the stored value it is, "" for the whole."""
        if len(self.variables) == 1 and self.variables[0]._save_slice_info is None:
            return [""]
        return [v._save_slice_info.spec for v in self.variables]


class Saver(Shown):
    """Saves and restores variables.

        saver = tf.train.Saver(max_to_keep=3)
        path = saver.save(sess, "run/model.ckpt", global_step=100)    # "run/model.ckpt-100"
        saver.restore(sess, tf.train.latest_checkpoint("run"))

    Its files are TensorFlow's (`regrad/core/bundle.py`), and so are its operations, which `saver_def` names.

    Example:
      v = tf.Variable(1.0)
      saver = tf.train.Saver()
      with tf.Session() as sess:
          sess.run(v.initializer)
          path = saver.save(sess, "./model")
          sess.run(v.assign(5.0))
          saver.restore(sess, path)
          print(path, sess.run(v))
      #> ./model 1.0
    """

    def __init__(self, var_list=None, reshape=False, sharded=False, max_to_keep=5, keep_checkpoint_every_n_hours=10000.0,
                 name=None, restore_sequentially=False, saver_def=None, builder=None, defer_build=False, allow_empty=False,
                 write_version=None, pad_step_number=False, save_relative_paths=False, filename=None):
        """Args:
          var_list: variables, or {name in the checkpoint: variable}; by default all global variables.
          reshape: restore a variable from a stored value of another shape but as many elements.
          max_to_keep: how many checkpoints stay; older ones are deleted. None or 0 keeps all.
          keep_checkpoint_every_n_hours: besides, one per so many hours stays for good.
          defer_build: leave collecting the variables to `build()`, which must be called before anything is saved or restored.
          allow_empty: having no variables is no error.
          pad_step_number: write steps with 8 digits.
          save_relative_paths: write relative paths into the file "checkpoint".
          name: scope of its operations, "save" by default.
          saver_def: a SaverDef of `to_proto`: the operations that it names, in the scope `name`, save and restore; nothing else
            is used then but `pad_step_number` and `save_relative_paths`.
          filename: the prefix where operations of its SaverDef are run without one.
          sharded, restore_sequentially, builder, write_version: accepted for TF's sake.

        Raises:
          ValueError: no variables, or two under one name.
          TypeError: something in `var_list` that is no variable.
        """
        self._saver_def = None
        if saver_def is not None:
            self._saver_def = SaverDef()
            self._saver_def.CopyFrom(saver_def)
            for field in _NAMES_OF_OPERATIONS:
                setattr(self._saver_def, field, f"{name.rstrip('/')}/" * bool(name) + getattr(saver_def, field))
            max_to_keep, keep_checkpoint_every_n_hours = saver_def.max_to_keep, saver_def.keep_checkpoint_every_n_hours
        self._var_list = var_list
        self._reshape = reshape
        self._max_to_keep = max_to_keep
        self._keep_every = keep_checkpoint_every_n_hours * 3600
        self._next_kept = time.time() + self._keep_every
        self._allow_empty = allow_empty
        self._pad_step_number = pad_step_number
        self._save_relative_paths = save_relative_paths
        self._name = name
        self._filename = filename
        self._kept = []  # (prefix, time), oldest first
        self._written = None  # (what state of a graph, its bytes)
        self._entries = None if saver_def is None else []
        if not defer_build:
            self.build()

    def build(self):
        """Collects the variables and makes the operations that save and restore them."""
        if self._entries is not None:
            return
        given = self._var_list
        if given is None:
            graph = get_default_graph()
            given = global_variables() + graph.get_collection(GraphKeys.SAVEABLE_OBJECTS)
        self._entries = _entries(given)
        if not self._entries:
            if not self._allow_empty:
                raise ValueError("No variables to save: a Saver is made after the variables, in their graph; allow_empty=True "
                                 "lets there be none.")
            return
        graph = self._entries[0].variables[0].graph
        with graph.as_default(), graph.name_scope(self._name or "save"), graph.control_dependencies(None):
            self._build()

    def _build(self):
        variables = [v for e in self._entries for v in e.variables]
        names = [e.name for e in self._entries for _ in e.variables]
        slices = [spec for e in self._entries for spec in e.specs()]
        filename = placeholder_with_default(self._filename or "model", [], name="filename")
        prefix = placeholder_with_default(filename, [], name="Const")
        save = savev2_op(prefix, names, slices, [v._variable for v in variables], name="SaveV2")
        with get_default_graph().control_dependencies([save]):
            saved = identity(prefix, name="control_dependency")
        self._names = convert_to_tensor(names, name="RestoreV2/tensor_names")
        restored = restore_v2(prefix, self._names, slices, [v.dtype for v in variables], name="RestoreV2")
        assigned = []
        for v, value in zip(variables, restored):
            if self._reshape:
                value = reshape(value, v.shape.as_list())
            assigned.append(assign_op(v._variable, value, validate_shape=v.dims is not None).op)
        restore = group(*assigned, name="restore_all")
        self._saver_def = SaverDef(
            filename_tensor_name=prefix.name, save_tensor_name=saved.name, restore_op_name=restore.name,
            max_to_keep=self._max_to_keep or 0, keep_checkpoint_every_n_hours=self._keep_every / 3600, version=SaverDef.V2)

    def _check_built(self):
        if self._entries is None:
            raise RuntimeError("`build()` should be called before save and restore if defer_build==True.")

    # -- saving ------------------------------------------------------------------------------------

    def _said(self):
        return {"saver_def": None, "variables": None if self._entries is None else len(self._entries)}

    def save(self, sess, save_path, global_step=None, latest_filename=None, meta_graph_suffix="meta",
             write_meta_graph=True, write_state=True, strip_default_attrs=False, save_debug_info=False):
        """Writes the variables of `sess` and returns the checkpoint's prefix.

        Args:
          save_path: prefix of the files; "-<global_step>" is added.
          global_step: number, variable or tensor.
          latest_filename: name of the file that says which is the latest, "checkpoint" by default.
          write_state: whether to write that file.
          write_meta_graph, meta_graph_suffix: whether to write the graph beside it, for `tf.train.import_meta_graph`, and the
            ending of that file.
          strip_default_attrs, save_debug_info: accepted.

        Raises:
          ValueError: the directory does not exist, or `latest_filename` holds a path.
          FailedPreconditionError: a variable has no value.
          ResourceExhaustedError: the disk is full; what was there before still is.
          TypeError: `sess` is no session.
        """
        if not hasattr(sess, "run"):
            raise TypeError(f"'sess' must be a Session; got {sess!r}")
        self._check_built()
        if latest_filename is not None and os.path.split(latest_filename)[0]:
            raise ValueError("'latest_filename' must not contain path components")
        save_path = os.fspath(save_path)
        if not os.path.basename(save_path):
            raise ValueError(f"save_path is the prefix of the files, such as 'run/model.ckpt', got {save_path!r}.")
        prefix = save_path
        if global_step is not None:
            if not isinstance(global_step, int):
                step = global_step if hasattr(global_step, "_as_graph_element") else None
                global_step = as_int(global_step, "save: global_step") if step is None else step_value(sess, step)
            prefix += f"-{global_step:08d}" if self._pad_step_number else f"-{global_step}"
        directory = os.path.dirname(prefix) or "."
        if not os.path.isdir(directory):
            raise ValueError(f"Parent directory of {prefix} doesn't exist, can't save. os.makedirs makes it.")
        bundle.remove_left_overs(save_path)
        kept, too_old, next_kept = self._rotated(prefix)
        with contextlib.ExitStack() as parts:
            besides = []  # what is written beside the values: once these are there, nothing but names is missing
            if write_meta_graph:
                besides.append(parts.enter_context(ready(f"{prefix}.{meta_graph_suffix}", self._meta_graph(sess.graph))))
            if write_state:
                besides.append(parts.enter_context(checkpoint.state_ready(
                    directory, prefix, [p for p, _ in kept], latest_filename, save_relative_paths=self._save_relative_paths)))
            if self._saver_def is None:
                bundle.write(prefix, {})
            else:
                sess.run(self._saver_def.save_tensor_name, {self._saver_def.filename_tensor_name: prefix})
            for part in besides:
                part.take_place()
        self._kept, self._next_kept = kept, next_kept
        for old in too_old:  # last: what the file "checkpoint" names is there
            checkpoint.remove_checkpoint(old)
        return prefix

    def _meta_graph(self, graph):
        """Returns the bytes of the graph, remembered until it grows."""
        state = graph, len(graph._ops), graph._revision, sum(map(len, graph._collections.values()))
        if self._written is None or self._written[0] != state:
            self._written = state, self.export_meta_graph(graph=graph).SerializeToString()
        return self._written[1]

    def _rotated(self, prefix):
        """Returns (which checkpoints are kept with a new one, those that are too old, `_next_kept` then)."""
        if not self._max_to_keep:
            return self._kept, [], self._next_kept
        kept, too_old, next_kept = [(p, t) for p, t in self._kept if p != prefix] + [(prefix, time.time())], [], self._next_kept
        while len(kept) > self._max_to_keep:
            old, written = kept.pop(0)
            if written > next_kept:
                next_kept += self._keep_every
            else:
                too_old.append(old)
        return kept, too_old, next_kept

    @property
    def last_checkpoints(self):
        """Prefixes of the checkpoints that are kept, oldest first."""
        return [p for p, _ in self._kept]

    def set_last_checkpoints(self, last_checkpoints):
        """Sets the list of checkpoints that later saves may delete."""
        self._kept = [(p, float("inf")) for p in last_checkpoints]

    def set_last_checkpoints_with_time(self, last_checkpoints_with_time):
        """Sets the list of (prefix, time) that later saves may delete."""
        self._kept = list(last_checkpoints_with_time)

    def recover_last_checkpoints(self, checkpoint_paths):
        """Takes up the list of checkpoints after a restart; those that are gone are left out."""
        self._kept = [(p, checkpoint.get_checkpoint_mtimes([p])[0]) for p in checkpoint_paths
                      if checkpoint.checkpoint_exists(p)]

    # -- restoring ----------------------------------------------------------------------------------

    def restore(self, sess, save_path):
        """Gives the variables in `sess` the values of a checkpoint; they need not be initialised.

        Raises:
          ValueError: `save_path` is None or no checkpoint.
          NotFoundError: the checkpoint lacks a variable.
          InvalidArgumentError: a stored value has another shape or dtype.
        """
        self._check_built()
        if not hasattr(sess, "run"):
            raise TypeError(f"restore(sess, save_path): sess must be a Session; got {sess!r}")
        if save_path is None:
            raise ValueError("Can't load save_path when it is None. tf.train.latest_checkpoint(folder) gives None where the "
                             "folder has no file 'checkpoint', or what that names is gone.")
        save_path = os.fspath(save_path)
        if not checkpoint.checkpoint_exists(save_path):
            raise ValueError(f"The passed save_path is not a valid checkpoint: {save_path}{_what_is_there(save_path)}")
        if self._saver_def is None:
            return
        if not self._entries:  # made of a SaverDef: the operation is a file's
            refuse_writing(sess.graph.as_graph_element(self._saver_def.restore_op_name), "What restores variables")
        feeds = {self._saver_def.filename_tensor_name: save_path}
        if self._entries:
            reader = checkpoint.CheckpointReader(save_path)
            keys = self._keys(reader)
            self._check_stored(reader, keys, save_path)
            if any(key != name for name, key in keys.items()):
                feeds[self._names.name] = [keys[e.name] for e in self._entries for _ in e.variables]
        sess.run(self._saver_def.restore_op_name, feeds)

    def _keys(self, reader):
        """Returns {name: the key of a checkpoint}: in one that was saved by objects the key is a path to the variable."""
        stored = reader.get_variable_to_shape_map()
        by_name = checkpoint.keys_of_objects(reader) if any(e.name not in stored for e in self._entries) else {}
        return {e.name: e.name if e.name in stored else by_name.get(e.name, e.name) for e in self._entries}

    def _check_stored(self, reader, keys, save_path):
        """Raises unless every variable is in the checkpoint, with its dtype and shape; nothing is restored then."""
        stored, shapes = reader.get_variable_to_dtype_map(), reader.get_variable_to_shape_map()
        missing = [e for e in self._entries if keys[e.name] not in stored]
        if missing:
            first = missing[0]
            raise NotFoundError(None, None, (
                f"Restoring from checkpoint failed: Key {first.name} not found in checkpoint {save_path}"
                f"{nearest(first.name, stored) or '.'} {len(missing)} of {len(self._entries)} variables are missing; that one "
                f"was made at {first.variables[0].op.location}. Saver({{'name in the checkpoint': variable}}) maps names, and "
                "Saver([variables]) restores some."))
        for e in self._entries:
            dtype = e.variables[0].dtype
            if stored[keys[e.name]] is not dtype:
                raise InvalidArgumentError(None, None, (
                    f"Restoring from checkpoint failed: tensor_name = {e.name}; expected dtype {dtype.name} does not equal "
                    f"original dtype {stored[keys[e.name]].name} in {save_path}; the variable was made at "
                    f"{e.variables[0].op.location}."))
            if len(e.variables) == 1 and e.specs() == [""] and not self._reshape:
                checkpoint.check_shape(e.name, shapes[keys[e.name]], e.variables[0].dims, e.variables[0].op.location)

    def export_meta_graph(self, filename=None, collection_list=None, as_text=False, export_scope=None, clear_devices=False,
                          clear_extraneous_savers=False, strip_default_attrs=False, save_debug_info=False, graph=None):
        """Returns the MetaGraphDef of the default graph, and writes it into a file; see `tf.train.export_meta_graph`."""
        from regrad.train.graph_files import export_meta_graph

        saver_def = None if self._saver_def is None else self.to_proto()  # without variables it has no operations to name
        return export_meta_graph(filename, saver_def=saver_def, collection_list=collection_list, as_text=as_text,
                                 export_scope=export_scope, clear_devices=clear_devices, graph=graph)

    def to_proto(self, export_scope=None):
        """Returns its SaverDef: the names of its operations, without `export_scope`, and how many checkpoints it keeps."""
        made = SaverDef(max_to_keep=self._max_to_keep or 0, keep_checkpoint_every_n_hours=self._keep_every / 3600,
                        version=SaverDef.V2)
        if self._saver_def is not None:
            made.CopyFrom(self._saver_def)
        for field in _NAMES_OF_OPERATIONS if export_scope else ():
            setattr(made, field, getattr(made, field).removeprefix(export_scope.rstrip("/") + "/"))
        return made

    @staticmethod
    def from_proto(saver_def, import_scope=None):
        """Returns the Saver whose operations a SaverDef names, in the scope `import_scope`."""
        return Saver(saver_def=saver_def, name=import_scope)

    def as_saver_def(self):
        return self.to_proto()

    saver_def = property(to_proto)


_NAMES_OF_OPERATIONS = ("filename_tensor_name", "save_tensor_name", "restore_op_name")


def _what_is_there(save_path):
    """Says which checkpoints lie where one was not found."""
    folder = save_path if os.path.isdir(save_path) else os.path.dirname(save_path) or "."
    if not os.path.isdir(folder):
        return f"; there is no folder {folder}"
    found = sorted(name.removesuffix(".index") for name in os.listdir(folder) if name.endswith(".index"))
    if not found:
        return f"; the folder {folder} has none"
    return (f"; the folder {folder} has {', '.join(found[:5])}{' ...' if len(found) > 5 else ''}. It is the prefix that save() "
            "returned, without a file's ending")


def _entries(given):
    """Returns an _Entry per name, sorted, for a list or dictionary of variables."""
    named = given.items() if isinstance(given, dict) else [(None, v) for v in _flat(given)]
    entries = {}
    for name, v in named:
        if not (name is None or isinstance(name, str)):
            raise TypeError(f"The names under which variables are saved are strings, got {name!r} for {v!r}.")
        if isinstance(v, (list, tuple)) and all(isinstance(p, Variable) for p in v):
            _check_parts(name, v)
            _add(entries, name, list(v))
        elif isinstance(v, PartitionedVariable):
            _add(entries, name or v.name, list(v))
        elif isinstance(v, Variable):
            info = v._save_slice_info
            if info is not None and name is None:
                entry = entries.setdefault(info.full_name, _Entry(info.full_name, []))
                if any(p._save_slice_info is None for p in entry.variables):
                    raise ValueError(f"At least two variables have the same name: {info.full_name}")
                entry.variables.append(v)
            else:
                _add(entries, name or v.op.name, [v])
        else:
            raise TypeError(f"Can't save a {type(v).__name__}: {v!r}; Saver takes variables.")
    owner = {}
    for name, entry in entries.items():
        for v in entry.variables:
            if owner.setdefault(v.op, name) != name:
                raise ValueError(f"The same saveable will be restored with two names: {v.name} is given as {owner[v.op]!r} and "
                                 f"as {name!r}. A Saver for each name restores a variable from either.")
    return [entries[n] for n in sorted(entries)]


def _check_parts(name, variables):
    """Refuses a list that is not made of the parts of one variable."""
    wholes = [v._save_slice_info and v._save_slice_info.full_name for v in variables]
    if not all(wholes):
        raise ValueError(f"Slices must all be slices: {name!r} is given {[v.name for v in variables]}.")
    if len(set(wholes)) > 1:
        raise ValueError(f"Slices must all be from the same tensor: {name!r} is given parts of {sorted(set(wholes))}.")


def _add(entries, name, variables):
    if name in entries:
        raise ValueError(f"At least two variables have the same name: {name}")
    entries[name] = _Entry(name, variables)


def _flat(given):
    return [v for item in given for v in (item if isinstance(item, (list, tuple)) else [item])]


def init_from_checkpoint(ckpt_dir_or_file, assignment_map):
    """Makes variables start from values of a checkpoint instead of their initializers.

    Args:
      ckpt_dir_or_file: checkpoint prefix, or directory of which the latest is taken.
      assignment_map: {name in the checkpoint: variable, or name of a variable, or list of parts}; names that end in "/"
        are scopes, all of whose variables are taken ("/" is the root).

    Raises:
      ValueError: the checkpoint or the graph lacks a name, or shapes differ.
      InvalidArgumentError: dtypes differ.
    """
    reader = checkpoint.load_checkpoint(ckpt_dir_or_file)
    variables: dict = {}
    for v in global_variables():  # the parts of a partitioned variable under its name, and each under its own
        if v._save_slice_info is not None:
            variables.setdefault(v._save_slice_info.full_name, []).append(v)
        variables.setdefault(v.op.name, [v])
    for stored, target in assignment_map.items():
        if isinstance(target, str) and stored.endswith("/"):
            source_scope, scope = stored.lstrip("/"), target.lstrip("/")
            inside = {name: parts for name, parts in variables.items() if name.startswith(scope) and not (
                parts[0]._save_slice_info is not None and name == parts[0].op.name)}
            if not inside:
                raise ValueError(f"Scope {target!r} of the assignment map has no variables.")
            for name, parts in inside.items():
                source = source_scope + name[len(scope):]
                if not reader.has_tensor(source):
                    raise ValueError(f"Tensor {source} (for {name}) is not found in {ckpt_dir_or_file} checkpoint")
                _start_from(reader, source, parts)
            continue
        found = target if not isinstance(target, str) else variables.get(target)
        if found is None:
            raise ValueError(f"Assignment map names variable {target!r}, which the graph does not have.")
        if not reader.has_tensor(stored):
            raise ValueError(f"Tensor {stored} is not found in {ckpt_dir_or_file} checkpoint "
                             f"{reader.get_variable_to_shape_map()}")
        _start_from(reader, stored, list(found) if isinstance(found, (list, tuple, PartitionedVariable)) else [found])


def _start_from(reader, stored, variables):
    dtype = reader.get_variable_to_dtype_map()[stored]
    if dtype is not variables[0].dtype:
        raise InvalidArgumentError(None, None, f"tensor_name = {stored}; expected dtype {variables[0].dtype.name} does not "
                                   f"equal original dtype {dtype.name}: {variables[0].name} cannot start from it.")
    shape = reader.get_variable_to_shape_map()[stored]
    for v in variables:
        info = v._save_slice_info
        if (v.shape.as_list() if info is None else list(info.full_shape)) != shape:
            raise ValueError(f"Shape of variable {v.name} ({v.shape}) doesn't match with shape of tensor {stored} "
                             f"({shape}) from checkpoint reader.")
        with v.graph.as_default(), v.graph.control_dependencies(None), v.graph.name_scope("init_from_checkpoint"):
            v._begin_with(stored_value(reader.prefix, stored, v))


def restore(saver, session, path, directory=None):
    """Restores a session; of a folder whose latest checkpoint that is, the saver may delete the older ones from now on."""
    saver.restore(session, path)
    if directory:
        paths = checkpoint.get_checkpoint_state(directory).all_model_checkpoint_paths
        saver.recover_last_checkpoints([path for path in paths if below(directory, path)])  # what it may delete


def stored_value(prefix, name, variable, whole=False):
    """Returns a tensor of what a checkpoint has for a variable, or for the part that it is. The file is read when it runs, so
    that a graph does not hold the values, which may be large."""
    part = None if whole else variable._save_slice_info
    (value,) = restore_v2(prefix, [name], [part.spec if part is not None else ""], [variable.dtype])
    if not whole:
        value.set_shape(variable.shape)
    return value
