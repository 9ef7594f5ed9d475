"""`tensorflow.python.tools`: graphs and checkpoints in files made one file, and checkpoints shown."""

import math
import os
import re

from regrad.core import proto_text
from regrad.core.graph import Graph
from regrad.core.graph_def import GraphDef
from regrad.core.graph_proto import ProtoGraphDef, SaverDef
from regrad.core.reading import reading
from regrad.importer.graph_def import import_graph_def
from regrad.ops.checkpoints import restore_v2
from regrad.ops.state import assign_op
from regrad.runtime.session import Session
from regrad.train import checkpoint
from regrad.train.graph_files import convert_variables_to_constants, import_meta_graph, write_graph
from regrad.train.saver import Saver

__all__ = ["freeze_graph", "print_tensors_in_checkpoint_file"]


def _read(message, path, binary):
    with reading(path), open(path, "rb") as file:
        data = file.read()
        return message.FromString(data) if binary else proto_text.parse(message(), data)


def _names(text):
    return [name.strip() for name in text.split(",") if name.strip()] if text else None


def _restore_by_name(sess, graph, prefix):
    """Gives the graph's variables the values that a checkpoint has under their names."""
    reader = checkpoint.CheckpointReader(prefix)
    storage = [op.outputs[0] for op in graph.get_operations() if op.opdef.variable and reader.has_tensor(op.name)]
    if not storage:
        return
    values = restore_v2(prefix, [t.op.name for t in storage], [""] * len(storage), [t.dtype for t in storage])
    sess.run([assign_op(t, value).op for t, value in zip(storage, values)])


def freeze_graph(input_graph, input_saver, input_binary, input_checkpoint, output_node_names, restore_op_name,
                 filename_tensor_name, output_graph, clear_devices, initializer_nodes, variable_names_whitelist="",
                 variable_names_blacklist="", input_meta_graph=None, input_saved_model_dir=None, saved_model_tags="serve",
                 checkpoint_version=SaverDef.V2, functions=None):
    """Writes a graph with its variables made constants of a checkpoint's values.

    Args:
      input_graph: file of a GraphDef, or None.
      input_saver: file of a SaverDef, or "".
      input_binary: whether these are bytes; otherwise they are text.
      input_checkpoint: prefix of the checkpoint.
      output_node_names: names of operations, separated by commas, that are kept with all they need.
      output_graph: file to write; none if it is empty.
      clear_devices: without devices.
      initializer_nodes: names of operations to run first, separated by commas, or "".
      variable_names_whitelist, variable_names_blacklist: names of variables to make constants, or not to.
      input_meta_graph: file of a MetaGraphDef, instead of a graph.
      input_saved_model_dir, saved_model_tags: a SavedModel, instead of graph and checkpoint; its tags, separated by commas.
      functions: {name: function} that nodes of the graph may call; see `tf.import_graph_def`.
      restore_op_name, filename_tensor_name, checkpoint_version: accepted; the graph's variables are restored by their names.

    Returns:
      The GraphDef.

    Raises:
      ValueError: no graph, no checkpoint, or no names are given.
    """
    if not _names(output_node_names):
        raise ValueError("freeze_graph: output_node_names names no operation to keep.")
    if not input_saved_model_dir and not (input_checkpoint and checkpoint.checkpoint_exists(input_checkpoint)):
        raise ValueError(f"freeze_graph: Input checkpoint {input_checkpoint!r} doesn't exist!")
    with Graph().as_default() as graph, Session() as sess:
        if input_saved_model_dir:
            from regrad.saved_model.loader import load

            load(sess, _names(saved_model_tags), input_saved_model_dir, functions=functions)
        elif input_meta_graph:
            import_meta_graph(input_meta_graph, clear_devices=True, functions=functions).restore(sess, input_checkpoint)
        elif input_graph:
            graph_def = GraphDef.FromString(_read(ProtoGraphDef, input_graph, input_binary).SerializeToString())
            import_graph_def(graph_def, name="", functions=functions)
            if input_saver:
                Saver(saver_def=_read(SaverDef, input_saver, input_binary)).restore(sess, input_checkpoint)
            else:
                _restore_by_name(sess, graph, input_checkpoint)
        else:
            raise ValueError("freeze_graph: one of input_graph, input_meta_graph and input_saved_model_dir is needed.")
        if initializer_nodes:
            sess.run([graph.get_operation_by_name(name) for name in _names(initializer_nodes)])
        graph_def = graph.as_graph_def()
        if clear_devices:
            for node in graph_def.node:
                node.device = ""
        frozen = convert_variables_to_constants(sess, graph_def, _names(output_node_names), _names(variable_names_whitelist),
                                                _names(variable_names_blacklist))
    if output_graph:
        write_graph(frozen, os.path.dirname(output_graph) or ".", os.path.basename(output_graph), as_text=False)
    return frozen


def print_tensors_in_checkpoint_file(file_name, tensor_name, all_tensors, all_tensor_names=False, count_exclude_pattern=""):
    """Prints what a checkpoint holds.

    Args:
      file_name: its prefix.
      tensor_name: the name of a tensor to print, or "".
      all_tensors: whether to print all of them, with their values.
      all_tensor_names: whether to print all their names, shapes and dtypes.
      count_exclude_pattern: regular expression; variables whose names it is in are not counted.
    """
    reader = checkpoint.load_checkpoint(file_name)
    shapes, dtypes = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
    if tensor_name:
        print("tensor_name: ", tensor_name)
        print(reader.get_tensor(tensor_name))
    elif all_tensors or all_tensor_names:
        for name in sorted(shapes):
            print(f"tensor: {name} ({dtypes[name].name}) {shapes[name]}")
            if all_tensors:
                print(reader.get_tensor(name))
    else:
        print(reader.debug_string().decode())
    counted = [n for n in shapes if not (count_exclude_pattern and re.search(count_exclude_pattern, n))]
    print(f"# Total number of params: {sum(math.prod(shapes[n]) for n in counted)}")
