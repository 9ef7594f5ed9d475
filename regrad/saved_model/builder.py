"""`tf.saved_model.builder`: SavedModels written."""

import filecmp
import os
import shutil
import weakref

from regrad.core.constants import known_value
from regrad.core.files import FolderPart, in_place_of, translated
from regrad.core.graph import get_default_graph
from regrad.core.graph_keys import GraphKeys
from regrad.core.graph_proto import AnyProto, AssetFileDef, SavedModel
from regrad.core.operation import Operation, Tensor
from regrad.core.shown import Shown
from regrad.gfile import MakeDirs
from regrad.saved_model import constants, signature_constants, tag_constants
from regrad.saved_model.expanding import expanded
from regrad.saved_model.signature_def_utils import predict_signature_def
from regrad.saved_model.utils import build_tensor_info
from regrad.train.graph_files import export_meta_graph
from regrad.train.saver import Saver
from regrad.variables.listing import global_variables

__all__ = ["SavedModelBuilder"]


class SavedModelBuilder(Shown):
    """Writes graphs that share their variables into a folder.

        builder = tf.saved_model.builder.SavedModelBuilder("exported/1")
        builder.add_meta_graph_and_variables(sess, ["serve"], {"serving_default": signature})
        builder.save()

    `save` puts the folder in place, whole; until then what has been written lies beside it, and goes with the builder.

    TensorFlow reads what consists of op types that it has, or of Regrad's own that `expanding.py` makes of those: predictions
    and gradients, but no loops, branches and Python functions.
    """

    def __init__(self, export_dir):
        """Args: export_dir: the folder to make.

        Raises:
          AssertionError: there is something in it.
          OpError: the system does not let it be made.
        """
        self._saved_model = SavedModel(saved_model_schema_version=constants.SAVED_MODEL_SCHEMA_VERSION)
        self._export_dir = os.fspath(export_dir)
        if os.path.isdir(self._export_dir) and os.listdir(self._export_dir):
            raise AssertionError(f"Export directory {self._export_dir} already exists, and isn't empty. Please choose a "
                                 "different export directory, or delete all the contents of the specified directory.")
        MakeDirs(self._export_dir)
        self._part = FolderPart(self._export_dir)
        self._remove = weakref.finalize(self, self._part.remove)
        self._folder = self._part.name
        MakeDirs(self._folder)
        self._has_saved_variables = False

    def add_meta_graph_and_variables(self, sess, tags, signature_def_map=None, assets_collection=None, legacy_init_op=None,
                                     clear_devices=False, main_op=None, strip_default_attrs=False, saver=None):
        """Adds the default graph, and writes the variables that `sess` has; for the first graph.

        Args:
          sess: the session.
          tags: strings that tell this graph from others.
          signature_def_map: {name: SignatureDef}.
          assets_collection: list of string tensors, constants or placeholders with defaults, that hold paths of files: these
            are copied, and the tensors hold their new paths when `main_op` runs.
          legacy_init_op, main_op: operation to run when the graph has been loaded; the second is the newer name.
          clear_devices: without devices.
          strip_default_attrs: accepted.
          saver: a Saver that writes the variables, by default one of all global variables.

        Raises:
          AssertionError: there is a first graph already, or a TensorInfo names nothing.
          KeyError: a signature has a name that is reserved.
          TypeError: `main_op` is no operation.
          ValueError: the graph has such an operation already, or an asset's path is not known or no file.
        """
        if self._has_saved_variables:
            raise AssertionError("Graph state including variables and assets has already been saved. Please invoke "
                                 "`add_meta_graph()` instead.")
        folder = os.path.join(self._folder, constants.VARIABLES_DIRECTORY)

        def save(saver):
            MakeDirs(folder)
            saver.save(sess, os.path.join(folder, constants.VARIABLES_FILENAME), write_meta_graph=False, write_state=False)

        self._add(tags, signature_def_map, assets_collection, legacy_init_op if main_op is None else main_op,
                  clear_devices, saver, save)
        self._has_saved_variables = True

    def add_meta_graph(self, tags, signature_def_map=None, assets_collection=None, legacy_init_op=None, clear_devices=False,
                       main_op=None, strip_default_attrs=False, saver=None):
        """Adds the default graph, whose variables are among those of the first; see `add_meta_graph_and_variables`."""
        if not self._has_saved_variables:
            raise AssertionError("Graph state including variables and assets has not been saved yet. Please invoke "
                                 "`add_meta_graph_and_variables()` first.")
        self._add(tags, signature_def_map, assets_collection, legacy_init_op if main_op is None else main_op,
                  clear_devices, saver, lambda saver: None)

    def _add(self, tags, signatures, assets, main_op, clear_devices, saver, save):
        signatures = signatures or {}
        _check_signatures(signatures)
        self._add_assets(assets or ())
        _add_main_op(main_op)
        saver = saver or Saver(global_variables() + get_default_graph().get_collection(GraphKeys.SAVEABLE_OBJECTS),
                               sharded=True, allow_empty=True)
        save(saver)
        meta = self._saved_model.meta_graphs.add()
        saver_def = saver.to_proto()
        meta.CopyFrom(export_meta_graph(graph_def=expanded(get_default_graph().as_graph_def()), clear_devices=clear_devices,
                                        saver_def=saver_def if saver_def.restore_op_name else None))
        meta.meta_info_def.tags.extend([tags] if isinstance(tags, str) else tags)
        for key, signature in signatures.items():
            meta.signature_def[key].CopyFrom(signature)

    def _add_assets(self, tensors):
        """Copies files, and notes in the graph which tensor holds the path of which."""
        folder = os.path.join(self._folder, constants.ASSETS_DIRECTORY)
        for tensor in tensors:
            path = _path_of(tensor)
            MakeDirs(folder)
            name = number = os.path.basename(path)
            count = 0
            while os.path.exists(os.path.join(folder, number)) and not filecmp.cmp(path, os.path.join(folder, number), False):
                count += 1
                number = f"{name}_{count}"
            with translated(os.path.join(folder, number)):
                shutil.copyfile(path, os.path.join(folder, number))
            packed = AnyProto()
            packed.Pack(AssetFileDef(tensor_info=build_tensor_info(tensor), filename=number))
            get_default_graph().add_to_collection(constants.ASSETS_KEY, packed)

    def save(self, as_text=False):
        """Writes the file of the graphs, as bytes or as text, and puts the folder in place; returns the file's path.

        Raises:
          OpError: the system does not let it, ResourceExhaustedError for a full disk.
        """
        name = constants.SAVED_MODEL_FILENAME_PBTXT if as_text else constants.SAVED_MODEL_FILENAME_PB
        with in_place_of(os.path.join(self._folder, name)) as file:
            file.write(str(self._saved_model).encode() if as_text else self._saved_model.SerializeToString())
        if self._folder != self._export_dir:
            self._take_place(name)
            self._folder = self._export_dir
            self._remove()
        return os.path.join(self._export_dir, name).encode()

    def _take_place(self, last):
        if not os.path.isdir(self._export_dir) or not os.listdir(self._export_dir):
            self._part.take_place()
            return
        with translated(self._export_dir):  # what the program has put there meanwhile stays
            for name in sorted(os.listdir(self._folder), key=lambda name: name == last):
                os.rename(os.path.join(self._folder, name), os.path.join(self._export_dir, name))


def _path_of(tensor):
    """Returns the path that an asset's tensor holds."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"Asset tensors must be Tensors, got {tensor!r}.")
    if tensor.dtype.name != "string" or tensor.shape.ndims != 0:
        raise TypeError(f"An asset is a string scalar that holds a path, got {tensor}.")
    value = known_value(tensor)
    if value is None and tensor.op.type == "PlaceholderWithDefault":
        value = known_value(tensor.op.inputs[0])
    if value is None:
        raise ValueError(f"The path that {tensor.name} holds is not known before it runs: an asset is a constant, made at "
                         f"{tensor.op.location}.")
    path = value.item().decode()
    if not os.path.isfile(path):
        raise ValueError(f"Asset filepath tensor {tensor.name} is invalid: there is no file {path!r}.")
    return path


def _add_main_op(main_op):
    if main_op is None:
        return
    if not isinstance(main_op, Operation):
        raise TypeError(f"Expected {main_op!r} to be an Operation but got type {type(main_op).__name__} instead.")
    graph = get_default_graph()
    for key in (constants.MAIN_OP_KEY, constants.LEGACY_INIT_OP_KEY):
        if graph.get_collection(key):
            raise ValueError(f"Graph already contains one or more main ops under the collection {key}.")
    graph.add_to_collection(constants.MAIN_OP_KEY, main_op)


def _check_signatures(signatures):
    for key, signature in signatures.items():
        if key in (constants.INIT_OP_SIGNATURE_KEY, constants.TRAIN_OP_SIGNATURE_KEY):
            raise KeyError(f"SignatureDef map key {key!r} is reserved. Please use a different key.")
        for infos in (signature.inputs, signature.outputs):
            for name, info in infos.items():
                if info.WhichOneof("encoding") is None or not info.dtype:
                    raise AssertionError(f"Signature {key!r}, {name!r}: all TensorInfo protos used in the SignatureDefs must "
                                         f"have the name (or coo_sparse) and dtype fields set:\n{info}")


def simple_save(session, export_dir, inputs, outputs, legacy_init_op=None):
    """Writes the default graph and its variables as a SavedModel with one signature, for predictions.

        tf.saved_model.simple_save(sess, "exported/1", inputs={"x": x}, outputs={"y": y})

    Args:
      export_dir: the folder to make.
      inputs, outputs: {name: tensor} of the signature "serving_default"; the graph's tag is "serve".
      legacy_init_op: operation to run when it has been loaded.
    """
    signature = predict_signature_def(inputs, outputs)
    builder = SavedModelBuilder(export_dir)
    builder.add_meta_graph_and_variables(
        session, [tag_constants.SERVING], {signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: signature},
        assets_collection=get_default_graph().get_collection(GraphKeys.ASSET_FILEPATHS), main_op=legacy_init_op,
        clear_devices=True)
    builder.save()
