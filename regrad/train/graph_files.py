"""Graphs in files, parts of graphs, and graphs with their variables made constants."""

import copy
import os

import numpy as np

from regrad.core.graph import Graph, Tensor
from regrad.core.graph_def import AttrValue, GraphDef
from regrad.core.opdef import find_op

_NO_META = ("a graph is made again by running the program that builds it; then tf.train.Saver().restore(sess, path) gives its "
            "variables their values.")


def write_graph(graph_or_graph_def, logdir, name, as_text=True):
    """Writes a graph into a file: as readable text, or as TensorFlow's GraphDef bytes. Returns the path."""
    graph_def = graph_or_graph_def.as_graph_def() if isinstance(graph_or_graph_def, Graph) else graph_or_graph_def
    os.makedirs(logdir, exist_ok=True)
    path = os.path.join(logdir, name)
    with open(path, "wb") as file:
        file.write(str(graph_def).encode() if as_text else graph_def.SerializeToString())
    return path


def export_meta_graph(filename=None, meta_info_def=None, graph_def=None, saver_def=None, collection_list=None, as_text=False,
                      graph=None, export_scope=None, clear_devices=False, clear_extraneous_savers=False,
                      strip_default_attrs=False, save_debug_info=False, **kwargs):
    """Not available: Python functions and bodies of loops are part of a graph, and no file holds them."""
    raise NotImplementedError("tf.train.export_meta_graph: " + _NO_META)


def import_meta_graph(meta_graph_or_file, clear_devices=False, import_scope=None, **kwargs):
    """Not available; see `export_meta_graph`."""
    raise NotImplementedError("tf.train.import_meta_graph: " + _NO_META)


# -- parts of a GraphDef ----------------------------------------------------------------------------------
def _needed(graph_def, names):
    """Returns the nodes that some need, in the order of the graph."""
    nodes = {n.name: n for n in graph_def.node}
    for name in names:
        if name not in nodes:
            raise AssertionError(f"{name} is not in graph")
    seen, stack = set(names), list(names)
    while stack:
        for text in nodes[stack.pop()].input:
            name = text.lstrip("^").partition(":")[0]
            if name not in seen:
                seen.add(name)
                stack.append(name)
    return [n for n in graph_def.node if n.name in seen]


def extract_sub_graph(graph_def, dest_nodes):
    """Returns the GraphDef of all that the operations named `dest_nodes` need.

    Raises:
      TypeError: `dest_nodes` is no list.
      AssertionError: a name is not there.
    """
    if isinstance(dest_nodes, str):
        raise TypeError("dest_nodes must be a list.")
    return GraphDef(node=_needed(graph_def, list(dest_nodes)))


def convert_variables_to_constants(sess, input_graph_def, output_node_names, variable_names_whitelist=None,
                                   variable_names_blacklist=None):
    """Returns the GraphDef of what some operations need, with variables replaced by constants of their present values.

    Args:
      sess: the session that has the values.
      input_graph_def: a GraphDef of the session's graph.
      output_node_names: names of operations to keep, with all they need.
      variable_names_whitelist, variable_names_blacklist: names of the variables to replace, or not to.
    """
    nodes = _needed(input_graph_def, list(output_node_names))
    chosen = [n for n in nodes if (kind := find_op(n.op)) is not None and kind.variable
              and (variable_names_whitelist is None or n.name in variable_names_whitelist)
              and n.name not in (variable_names_blacklist or ())]
    storage = [sess.graph.get_operation_by_name(n.name).outputs[0] for n in chosen]
    values = {n.name: (np.asarray(v), t.dtype) for n, v, t in zip(chosen, sess.run(storage), storage)}
    frozen = GraphDef()
    for node in nodes:
        if node.name in values:
            value, dtype = values[node.name]
            frozen.node.add(name=node.name, op="Const", device=node.device,
                            attr={"dtype": AttrValue(dtype), "value": AttrValue(value)})
        else:
            frozen.node.append(node)
    return frozen


def remove_training_nodes(input_graph, protected_nodes=None):
    """Returns a GraphDef without `Identity` and `CheckNumerics` nodes: whoever took one takes what it took.

    Nodes with control inputs, those that others wait for, and those of `protected_nodes` stay.
    """
    protected = set(protected_nodes or ())
    waited_for = {text[1:] for n in input_graph.node for text in n.input if text.startswith("^")}
    instead = {n.name: n.input[0] for n in input_graph.node
               if n.op in ("Identity", "CheckNumerics") and len(n.input) == 1 and n.name not in protected | waited_for}
    # What nobody takes is an output: it stays, too.
    taken = {text.partition(":")[0] for n in input_graph.node for text in n.input}
    instead = {name: text for name, text in instead.items() if name in taken}

    def source(text):
        name, colon, index = text.partition(":")
        while name in instead and index in ("", "0"):
            name, colon, index = instead[name].partition(":")
        return f"{name}{colon}{index}"

    part = GraphDef([])
    for old in input_graph.node:
        if old.name not in instead:
            node = copy.copy(old)
            node.input = [text if text.startswith("^") else source(text) for text in old.input]
            part.node.append(node)
    return part


def tensor_shape_from_node_def_name(graph, input_name):
    """Returns the static shape of a tensor by its name, ":0" if it gives no number."""
    tensor = graph.get_tensor_by_name(input_name if ":" in input_name else input_name + ":0")
    assert isinstance(tensor, Tensor)
    return tensor.shape
