"""Graphs in files, parts of graphs, and graphs with their variables made constants."""

import copy
import os

import numpy as np

from regrad.core import proto_text
from regrad.core.arguments import unexpected
from regrad.core.dtypes import int32, string
from regrad.core.files import in_place_of
from regrad.core.graph import Graph, get_default_graph
from regrad.core.graph_def import AttrValue, GraphDef, NodeDef, controls, source
from regrad.core.graph_keys import GraphKeys
from regrad.core.graph_proto import AnyProto, CollectionDef, MetaGraphDef, ProtoGraphDef, graph_proto
from regrad.core.messages import VariableDef
from regrad.core.opdef import find_op
from regrad.core.operation import Operation, Tensor
from regrad.core.reading import reading, refusing
from regrad.core.tf_nodes import native
from regrad.gfile import MakeDirs
from regrad.variables.variable import Variable
from regrad.versions import VERSION

# The collections whose variables come back as variables; in others stand names.
_OF_VARIABLES = (GraphKeys.GLOBAL_VARIABLES, GraphKeys.TRAINABLE_VARIABLES, GraphKeys.LOCAL_VARIABLES,
                 GraphKeys.MODEL_VARIABLES, GraphKeys.MOVING_AVERAGE_VARIABLES, GraphKeys.GLOBAL_STEP)


def write_graph(graph_or_graph_def, logdir, name, as_text=True):
    """Writes a graph into a file: as readable text, or as TensorFlow's GraphDef bytes. Returns the path."""
    graph_def = graph_or_graph_def.as_graph_def() if isinstance(graph_or_graph_def, Graph) else graph_or_graph_def
    path = os.path.join(logdir, name)
    data = str(_proto_of(graph_def)).encode() if as_text else graph_def.SerializeToString()
    MakeDirs(logdir)
    with in_place_of(path) as file:
        file.write(data)
    return path


def _proto_of(graph_def):
    return graph_def if isinstance(graph_def, ProtoGraphDef) else graph_proto(graph_def)


def export_meta_graph(filename=None, meta_info_def=None, graph_def=None, saver_def=None, collection_list=None, as_text=False,
                      graph=None, export_scope=None, clear_devices=False, clear_extraneous_savers=False,
                      strip_default_attrs=False, save_debug_info=False, **kwargs):
    """Returns a graph with its collections as a MetaGraphDef, and writes it into a file.

    Of Python functions the names are kept, of which `import_meta_graph` takes `functions`. An attached gradient rule is lost:
    asking for such a gradient of the graph that is read is an error. Overrides of the whole graph are not kept either:
    `tf.overrides_to_json` keeps those.

    Args:
      filename: where to; nowhere without it.
      graph_def: the GraphDef to keep, by default that of the graph.
      collection_list: names of collections, by default all whose items can be kept.
      as_text: write text.
      graph: by default the default graph.
      export_scope: keep what stands below this scope, which the names lose.
      clear_devices: without devices.

    Raises:
      ValueError: something below `export_scope` takes something outside it.
    """
    if kwargs:
        raise unexpected(export_meta_graph, kwargs)
    graph = get_default_graph() if graph is None else graph
    graph_def = graph.as_graph_def() if graph_def is None else graph_def
    proto = _proto_of(graph_def)
    if export_scope:
        proto = _below(proto, export_scope.rstrip("/") + "/")
    if clear_devices:
        for node in proto.node:
            node.device = ""
    meta = MetaGraphDef(meta_info_def={"tensorflow_version": VERSION}, saver_def=saver_def)
    meta.graph_def.CopyFrom(proto)
    for key in graph.get_all_collection_keys() if collection_list is None else collection_list:
        items = [i for i in graph.get_collection(key) if _in_scope(i, export_scope) and not _in_body(i, graph)]
        kept = _collection_proto(key, items, export_scope) if items else None
        if kept is not None:
            meta.collection_def[key].CopyFrom(kept)
    if filename:
        data = str(meta).encode() if as_text else meta.SerializeToString()
        MakeDirs(os.path.dirname(filename) or ".")
        with in_place_of(filename) as file:
            file.write(data)
    return meta


def _below(proto, scope):
    part = ProtoGraphDef(versions=proto.versions)
    for old in proto.node:
        if old.name.startswith(scope):
            node = part.node.add()
            node.CopyFrom(old)
            node.name = old.name[len(scope):]
            outside = [text for text in old.input if not text.lstrip("^").startswith(scope)]
            if outside:
                raise ValueError(f"export_scope={scope!r}: {old.name} takes {outside[0]!r}, which is outside the scope.")
            node.input[:] = [text.replace(scope, "", 1) for text in old.input]
    return part


def _in_body(item, graph):
    """True for what was collected inside a loop or branch: no name of the graph leads to it."""
    return isinstance(item, (Tensor, Operation)) and item.graph is not graph


def _in_scope(item, scope):
    return not scope or not hasattr(item, "name") or item.name.startswith(scope.rstrip("/") + "/")


_registered: dict = {}  # collection -> (message class, function to messages, function from messages)


def register_proto_function(collection_name, proto_type=None, to_proto=None, from_proto=None):
    """Says how a meta graph keeps the objects of a collection.

    Args:
      proto_type: class of messages, with `FromString`.
      to_proto: function of an object and `export_scope=` that returns a message, or None to leave the object out.
      from_proto: function of a message and `import_scope=` that returns an object.

    Raises:
      TypeError: one is no function.
      KeyError: the collection is registered already.
    """
    for name, function in (("to_proto", to_proto), ("from_proto", from_proto)):
        if function is not None and not callable(function):
            raise TypeError(f"{name} must be callable; it is {function!r}.")
    if collection_name in _registered:
        raise KeyError(f"Registering two proto functions for the collection {collection_name!r}.")
    _registered[collection_name] = proto_type, to_proto, from_proto


def _collection_proto(key, items, export_scope):
    """Returns the CollectionDef of a collection's items, None where a file cannot hold them."""
    kept = CollectionDef()
    _, to_proto, _ = _registered.get(key, (None, None, None))
    if to_proto is not None:
        messages = [to_proto(i, export_scope=export_scope) for i in items]
        kept.bytes_list.value.extend([m.SerializeToString() for m in messages if m is not None])
    elif all(isinstance(i, Variable) for i in items) and key in _OF_VARIABLES:
        kept.bytes_list.value.extend([i.to_proto(export_scope).SerializeToString() for i in items])
    elif all(isinstance(i, (str, bytes)) for i in items):
        kept.bytes_list.value.extend([i.encode() if isinstance(i, str) else i for i in items])
    elif all(isinstance(i, AnyProto) for i in items):
        kept.any_list.value.extend([AnyProto(type_url=i.type_url, value=i.value) for i in items])
    elif all(isinstance(i, int) and not isinstance(i, bool) for i in items):
        kept.int64_list.value.extend(items)
    elif all(isinstance(i, float) for i in items):
        kept.float_list.value.extend(items)
    elif all(isinstance(i, (Tensor, Operation, Variable)) for i in items):
        names = [i.name for i in items]
        kept.node_list.value.extend([n[len(export_scope.rstrip("/")) + 1:] for n in names] if export_scope else names)
    else:
        return None
    return kept


def import_meta_graph(meta_graph_or_file, clear_devices=False, import_scope=None, **kwargs):
    """Adds the graph of a file (or MetaGraphDef) to the default graph, with its collections.

    Args:
      meta_graph_or_file: a path, such as "model.ckpt-100.meta", or a MetaGraphDef.
      clear_devices: without devices.
      import_scope: the scope the graph goes to.
      kwargs: further arguments of `import_graph_def`: input_map, and `functions`, {name: function} that its nodes may call.

    Returns:
      A Saver of its variables, under the names they had; None where it has none.

    Raises:
      OSError: there is no such file.
      DataLossError: (a ValueError too) the file is none of `export_meta_graph`.
      InvalidArgumentError: (a ValueError too) an op type does not exist here, or the graph is none; with the node.
    """
    if isinstance(meta_graph_or_file, MetaGraphDef):
        return _imported(meta_graph_or_file, clear_devices, import_scope, **kwargs)
    meta = read_meta_graph(meta_graph_or_file)
    with reading(meta_graph_or_file):
        return _imported(meta, clear_devices, import_scope, **kwargs)


@refusing()
def _imported(meta, clear_devices, import_scope, **kwargs):
    from regrad.importer.graph_def import import_graph_def  # here: whoever saves loads this file, and imports nothing

    graph_def = GraphDef.FromString(meta.graph_def.SerializeToString())
    if clear_devices:
        for node in graph_def.node:
            node.device = ""
    graph = get_default_graph()
    # Relative to the scope in force, as the names of its collections and variables then are too.
    import_scope = "/".join(s.rstrip("/") for s in (graph.get_name_scope(), import_scope) if s)
    import_graph_def(graph_def, name=import_scope and import_scope + "/", **kwargs)
    scope = import_scope and import_scope + "/"
    variables: dict = {}
    for key in sorted(meta.collection_def):
        kept = meta.collection_def[key]
        kind = kept.WhichOneof("kind")
        values = getattr(kept, kind).value if kind else []
        if kind == "node_list":
            values = [graph.as_graph_element(scope + name) for name in values]
        elif kind == "bytes_list" and key in _OF_VARIABLES:
            values = [_variable(VariableDef.FromString(value), import_scope, variables) for value in values]
        elif kind == "bytes_list" and _registered.get(key, (None,))[0] is not None and _registered[key][2] is not None:
            proto_type, _, from_proto = _registered[key]
            values = [from_proto(proto_type.FromString(value), import_scope=import_scope) for value in values]
        for value in values:
            graph.add_to_collection(key, value)
    from regrad.train.saver import Saver

    if meta.HasField("saver_def") and meta.saver_def.restore_op_name:
        return Saver(saver_def=meta.saver_def, name=import_scope)
    if not variables:
        return None
    stored = [VariableDef.FromString(value) for value in meta.collection_def[GraphKeys.GLOBAL_VARIABLES].bytes_list.value]
    named = {d.variable_name.partition(":")[0]: variables[d.variable_name] for d in stored}
    if any(v._save_slice_info is not None for v in named.values()):
        return Saver(list(named.values()))
    return Saver(named, allow_empty=True)


def _variable(variable_def, import_scope, made):
    """Returns the Variable of a VariableDef, the same one for all collections it is in."""
    name = variable_def.variable_name
    if name not in made:
        made[name] = Variable.from_proto(variable_def, import_scope)
    return made[name]


def read_meta_graph(path):
    """Returns the MetaGraphDef of a file, bytes or text; OSError where there is none, DataLossError where it holds no such."""
    path = os.fspath(path)
    if not os.path.isfile(path):
        raise OSError(f"File {path} does not exist.")
    with reading(path):
        return proto_text.parsed(MetaGraphDef, _bytes_of(path))


def _bytes_of(path):
    with open(path, "rb") as file:
        return file.read()


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
            name = source(text)
            if name not in seen:
                seen.add(name)
                stack.append(name)
    return [n for n in graph_def.node if n.name in seen]


def extract_sub_graph(graph_def, dest_nodes):
    """Returns the GraphDef of all that the operations named `dest_nodes` need.

    Raises:
      TypeError: `graph_def` is no GraphDef, or `dest_nodes` no list.
      AssertionError: a name is not there.
    """
    if not isinstance(graph_def, GraphDef):
        raise TypeError(f"graph_def must be a graph_pb2.GraphDef proto, got {type(graph_def).__name__}.")
    if isinstance(dest_nodes, str):
        raise TypeError("dest_nodes must be a list.")
    return GraphDef(node=_needed(graph_def, list(dest_nodes)), library=graph_def.library)


def convert_variables_to_constants(sess, input_graph_def, output_node_names, variable_names_whitelist=None,
                                   variable_names_blacklist=None):
    """Returns the GraphDef of what some operations need, with variables replaced by constants of their present values.

    Args:
      sess: the session that has the values.
      input_graph_def: a GraphDef of the session's graph, or the one of TensorFlow's that was imported into it.
      output_node_names: names of operations to keep, with all they need.
      variable_names_whitelist, variable_names_blacklist: names of the variables to replace, or not to.
    """
    nodes = native(_needed(input_graph_def, list(output_node_names)))
    chosen = [n for n in nodes if (kind := find_op(n.op)) is not None and kind.variable
              and (variable_names_whitelist is None or n.name in variable_names_whitelist)
              and n.name not in (variable_names_blacklist or ())]
    storage = [sess.graph.get_operation_by_name(n.name).outputs[0] for n in chosen]
    values = {n.name: (np.asarray(v), t.dtype) for n, v, t in zip(chosen, sess.run(storage), storage)}
    frozen = GraphDef(library=input_graph_def.library)
    for node in nodes:
        if node.name in values:
            value, dtype = values[node.name]
            frozen.node.add(name=node.name, op="Const", device=node.device,
                            attr={"dtype": AttrValue(dtype), "value": AttrValue(value)})
        else:
            frozen.node.append(node)
    return frozen


# Where variables are kept on the CPU these are, too; TensorFlow's list.
_OF_VARIABLE_NODES = frozenset("""
    Assign AssignAdd AssignSub Queue ScatterAdd ScatterSub ScatterUpdate TruncatedNormal Variable VariableV2""".split())
# The nodes of which TensorFlow has no kernel for a GPU, by the dtype of an attribute.
_CPU_ONLY = {"Const": ("dtype", (string, int32)), "DynamicStitch": ("T", (int32,)), "ParallelDynamicStitch": ("T", (int32,)),
             "Cast": ("SrcT", (int32,))}


def must_run_on_cpu(node, pin_variables_on_cpu=False):
    """Returns whether TensorFlow has to run a node on the CPU, for functions given to `tf.device`.

    Args:
      node: an Operation or a NodeDef.
      pin_variables_on_cpu: whether variables, and what changes them, are to be there.

    Raises:
      AssertionError: `node` is neither.
    """
    if isinstance(node, Operation):
        node = node.node_def
    assert isinstance(node, NodeDef), f"must_run_on_cpu takes an Operation or a NodeDef, got {node!r}."
    if pin_variables_on_cpu and node.op in _OF_VARIABLE_NODES:
        return True
    attr, there = _CPU_ONLY.get(node.op, (None, ()))
    return attr is not None and node.attr[attr].type in there


def remove_training_nodes(input_graph, protected_nodes=None):
    """Returns a GraphDef without `Identity` and `CheckNumerics` nodes: whoever took one takes what it took.

    Nodes with control inputs, those that others wait for, and those of `protected_nodes` stay.
    """
    protected = set(protected_nodes or ())
    waited_for = {text[1:] for n in input_graph.node for text in controls(n)}
    instead = {n.name: n.input[0] for n in input_graph.node
               if n.op in ("Identity", "CheckNumerics") and len(n.input) == 1 and n.name not in protected | waited_for}
    # What nobody takes is an output: it stays, too.
    taken = {text.partition(":")[0] for n in input_graph.node for text in n.input}
    instead = {name: text for name, text in instead.items() if name in taken}

    def taken_instead(text):
        name, colon, index = text.partition(":")
        while name in instead and index in ("", "0"):
            name, colon, index = instead[name].partition(":")
        return f"{name}{colon}{index}"

    part = GraphDef(library=input_graph.library)
    for old in input_graph.node:
        if old.name not in instead:
            node = copy.copy(old)
            node.input = [text if text.startswith("^") else taken_instead(text) for text in old.input]
            part.node.append(node)
    return part


def tensor_shape_from_node_def_name(graph, input_name):
    """Returns the static shape of a tensor by its name, ":0" if it gives no number."""
    tensor = graph.get_tensor_by_name(input_name if ":" in input_name else input_name + ":0")
    assert isinstance(tensor, Tensor)
    return tensor.shape
