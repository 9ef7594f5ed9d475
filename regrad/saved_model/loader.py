"""`tf.saved_model.loader`: SavedModels read."""

import contextlib
import os

from regrad.core import proto_text
from regrad.core.dtypes import string
from regrad.core.errors import BadValue, nearest
from regrad.core.files import within
from regrad.core.graph_proto import AssetFileDef, SavedModel
from regrad.core.loading import refuse_writing
from regrad.core.reading import reading, refusing
from regrad.saved_model import constants
from regrad.saved_model.utils import element
from regrad.train.graph_files import import_meta_graph
from regrad.train.saver import Saver

__all__ = ["load", "maybe_saved_model_directory"]


def maybe_saved_model_directory(export_dir):
    """Returns whether a folder has the file of a SavedModel, as bytes or text; what is in it is not looked at."""
    export_dir = os.fspath(export_dir)
    return any(os.path.isfile(os.path.join(export_dir, name))
               for name in (constants.SAVED_MODEL_FILENAME_PB, constants.SAVED_MODEL_FILENAME_PBTXT))


contains_saved_model = maybe_saved_model_directory


def parse_saved_model(export_dir):
    """Returns the SavedModel message of a folder.

    Raises:
      OSError: there is none, or its file is no SavedModel: that is a DataLossError, too.
    """
    export_dir = os.fspath(export_dir)
    binary, text = (os.path.join(export_dir, name)
                    for name in (constants.SAVED_MODEL_FILENAME_PB, constants.SAVED_MODEL_FILENAME_PBTXT))
    if not os.path.isfile(binary) and not os.path.isfile(text):
        raise OSError(f"SavedModel file does not exist at: {export_dir}{os.sep}{{{constants.SAVED_MODEL_FILENAME_PBTXT}|"
                      f"{constants.SAVED_MODEL_FILENAME_PB}}}{_what_is_there(export_dir)}")
    path = binary if os.path.isfile(binary) else text
    with reading(f"Cannot parse file {path}"), open(path, "rb") as file:
        data = file.read()
        try:
            made = SavedModel.FromString(data) if path == binary else proto_text.parse(SavedModel(), data)
        except ValueError as error:
            raise OSError(error) from None
        if not made.meta_graphs:
            raise OSError("it holds no graph")
    return made


def _what_is_there(folder):
    """Says what is in the place of a SavedModel; the folders of an Estimator's exports have times for names."""
    if not os.path.isdir(folder):
        return f"; there is no folder {folder}" if not os.path.exists(folder) else "; that is no folder"
    inside = [name for name in sorted(os.listdir(folder)) if maybe_saved_model_directory(os.path.join(folder, name))]
    if inside:
        return f"; there is one in each of its folders {', '.join(inside)}"
    found = sorted(os.listdir(folder))
    return f"; the folder has {', '.join(found[:5])}{' ...' if len(found) > 5 else ''}" if found else "; the folder is empty"


def tags_of(tags):
    """Returns a set of tags; one may be given as a string."""
    return {tags} if isinstance(tags, str) else {tag.decode() if isinstance(tag, bytes) else tag for tag in tags}


def get_asset_tensors(export_dir, meta_graph_def, import_scope=None):
    """Returns {name of a tensor: the path of the file in the SavedModel whose name it is to hold}.

    Raises:
      InvalidArgumentError: (a ValueError too) a name leads out of the folder.
    """
    found = list(meta_graph_def.asset_file_def)
    if not found and constants.ASSETS_KEY in meta_graph_def.collection_def:
        for packed in meta_graph_def.collection_def[constants.ASSETS_KEY].any_list.value:
            asset = AssetFileDef()
            packed.Unpack(asset)
            found.append(asset)
    folder = os.path.join(os.fspath(export_dir), constants.ASSETS_DIRECTORY)
    for asset in found:
        if not within(asset.filename):
            raise BadValue(f"{os.fspath(export_dir)}: the SavedModel names {asset.filename!r} as the file of "
                           f"{asset.tensor_info.name!r}. Such files lie in its folder {constants.ASSETS_DIRECTORY}, and their "
                           "names lead nowhere else.")
    scope = f"{import_scope.rstrip('/')}/" if import_scope else ""
    return {scope + asset.tensor_info.name: os.path.join(folder, asset.filename) for asset in found}


def get_init_op(meta_graph_def, import_scope=None):
    """Returns what is to run when a graph has been loaded, None where nothing is.

    Raises:
      RuntimeError: there are several.
    """
    from regrad.core.graph import get_default_graph

    graph = get_default_graph()
    for key in (constants.MAIN_OP_KEY, constants.LEGACY_INIT_OP_KEY):
        if key in meta_graph_def.collection_def:
            names = meta_graph_def.collection_def[key].node_list.value
            if len(names) != 1:
                raise RuntimeError(f"Expected exactly one SavedModel init op. Found {len(names)}: {list(names)}.")
            return element(graph, names[0], import_scope)
    signature = meta_graph_def.signature_def.get(constants.INIT_OP_SIGNATURE_KEY)
    name = signature.outputs[constants.INIT_OP_SIGNATURE_KEY].name if signature is not None else ""
    return element(graph, name, import_scope) if name else None


class SavedModelLoader:
    """Loads the graphs of a SavedModel, its variables and what it runs at the start, one after the other."""

    def __init__(self, export_dir):
        """Raises: OSError: there is no SavedModel."""
        self._export_dir = os.fspath(export_dir)
        self._saved_model = parse_saved_model(export_dir)

    export_dir = property(lambda self: self._export_dir)
    saved_model = property(lambda self: self._saved_model)

    @contextlib.contextmanager
    def _reading(self):
        """Context manager: what is wrong with the graph names the folder."""
        with reading(self._export_dir), refusing():
            yield

    @property
    def variables_path(self):
        """The prefix of the variables' checkpoint."""
        return os.path.join(self._export_dir, constants.VARIABLES_DIRECTORY, constants.VARIABLES_FILENAME)

    def get_meta_graph_def_from_tags(self, tags):
        """Returns the MetaGraphDef that has exactly these tags.

        Raises:
          RuntimeError: there is none, with those there are.
        """
        there = [set(meta.meta_info_def.tags) for meta in self._saved_model.meta_graphs]
        wanted = tags_of(tags)
        for found, meta in zip(there, self._saved_model.meta_graphs):
            if found == wanted:
                return meta
        shown = ", ".join("{" + ", ".join(repr(tag) for tag in sorted(found)) + "}" for found in there)
        close = "".join(nearest(tag, set().union(*there)) for tag in wanted - set().union(*there))
        raise RuntimeError(f"MetaGraphDef associated with tags {sorted(wanted)} could not be found in SavedModel "
                           f"{self._export_dir}, with available tags {shown}{close}; a graph is loaded by all of its tags.")

    def load_graph(self, graph, tags, import_scope=None, **saver_kwargs):
        """Adds the graph that has these tags to `graph`.

        Returns:
          (its Saver, None where it has no variables; None). Further arguments are those of `tf.train.import_meta_graph`, of
          which `return_elements` names what the second is a list of.
        """
        meta = self.get_meta_graph_def_from_tags(tags)
        elements = saver_kwargs.pop("return_elements", None)
        with self._reading(), graph.as_default():
            saver = import_meta_graph(meta, import_scope=import_scope, **saver_kwargs)
            return saver, elements and [element(graph, name, import_scope) for name in elements]

    def restore_variables(self, sess, saver, import_scope=None):
        """Gives the variables of the graph in `sess` their values."""
        with self._reading(), sess.graph.as_default():
            if isinstance(saver, Saver):
                saver.restore(sess, self.variables_path)
            elif saver is not None:
                raise ValueError(f"No tf.train.Saver object was passed to restore_variables: {saver!r}")

    def run_init_ops(self, sess, tags, import_scope=None):
        """Runs what the graph has for its start, with its files' paths fed."""
        meta = self.get_meta_graph_def_from_tags(tags)
        with self._reading(), sess.graph.as_default():
            assets = get_asset_tensors(self._export_dir, meta, import_scope)
            start = get_init_op(meta, import_scope)
            if start is not None:
                refuse_writing(start, "What the SavedModel runs at its start")
                sess.run([start], {name: path for name, path in assets.items() if _holds_text(sess.graph, name)})

    def load(self, sess, tags, import_scope=None, **saver_kwargs):
        """Loads the graph that has these tags into a session and its graph; returns its MetaGraphDef."""
        saver, _ = self.load_graph(sess.graph, tags, import_scope, **saver_kwargs)
        self.restore_variables(sess, saver, import_scope)
        self.run_init_ops(sess, tags, import_scope)
        return self.get_meta_graph_def_from_tags(tags)


def _holds_text(graph, name):
    return graph.as_graph_element(name).dtype is string


def load(sess, tags, export_dir, import_scope=None, **saver_kwargs):
    """Loads a graph of a SavedModel into a session: its operations, the values of its variables, and what it runs at the start.

        with tf.Session(graph=tf.Graph()) as sess:
            meta = tf.saved_model.loader.load(sess, ["serve"], "exported/1")
            y = sess.graph.get_tensor_by_name(meta.signature_def["serving_default"].outputs["y"].name)

    What is loaded is graph like any other: `tf.gradients`, overrides and selectors work on it.

    Args:
      sess: the session; operations go to its graph.
      tags: all the tags of the graph, `tag_constants.SERVING` ("serve") as a rule.
      export_dir: the folder.
      import_scope: the scope that the operations go to; signatures name them without it.
      saver_kwargs: further arguments of `tf.train.import_meta_graph`, such as `functions`: a SavedModel holds names of Python
        functions, never code, and calls those that are passed.

    Returns:
      Its MetaGraphDef: `signature_def` is {name: SignatureDef}.

    Raises:
      OSError: there is no SavedModel, or its file is damaged.
      RuntimeError: no graph has these tags; with those there are.
      ValueError: its variables' files are missing.
      InvalidArgumentError: (a ValueError too) the graph has an op type that Regrad has not, or is none; with the node.
      NotFoundError, DataLossError: its variables' files lack something, or are damaged.
      UnimplementedError: what it runs at the start calls a function that was not passed.
      PermissionDeniedError: what it runs at the start would write files.
    """
    return SavedModelLoader(export_dir).load(sess, tags, import_scope, **saver_kwargs)
