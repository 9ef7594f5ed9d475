"""A graph as TensorFlow's GraphDef bytes, written and read.

Files are data: nothing that is read here is imported, looked up in a module or called. Where attributes are Python objects (the
function of a `py_func`, the body of a loop), they stand there as JSON: bodies as graphs, functions by their names, under which
whoever reads the graph may pass them (`functions=` of `import_graph_def`); what was not passed says so where it is called.

Within one process the functions are found again without: an attribute of ours is a token of 128 random bits that stands for the
operation the node was made of. Nobody can guess one, and it means nothing in another process.
"""

import ast
import base64
import functools
import importlib
import json
import secrets
import weakref

import numpy as np

from regrad.core.dtypes import DType, as_dtype
from regrad.core.errors import Damaged, UnimplementedError, nearest
from regrad.core.func_graph import FuncGraph
from regrad.core.graph_def import AttrValue, GraphVersions, NodeDef, shape_of
from regrad.core.messages import TensorProto, make_ndarray, make_tensor_proto, stored_ndarray
from regrad.core.operation import Operation, variable_of
from regrad.core.proto import Message, fields, sized
from regrad.core.shapes import TensorShape
from regrad.core.tf_nodes import PRIVATE, written_name


class ProtoAttrValue(Message):
    class ListValue(Message):
        FIELDS = fields("""2 s bytes*; 3 i int64*; 4 f float*; 5 b bool*; 6 type enum*; 7 shape TensorShapeProto*;
            9 func NameAttrList*""")

    FIELDS = fields("""1 list ProtoAttrValue.ListValue value; 2 s bytes value; 3 i int64 value; 4 f float value; 5 b bool value;
        6 type enum value; 7 shape TensorShapeProto value; 8 tensor TensorProto value; 9 placeholder string value;
        10 func NameAttrList value""")


class NameAttrList(Message):
    """A function of the library, by its name, and what its attributes are."""

    FIELDS = fields("1 name string; 2 attr map:ProtoAttrValue")


class ProtoNodeDef(Message):
    FIELDS = fields("1 name string; 2 op string; 3 input string*; 4 device string; 5 attr map:ProtoAttrValue")


class ProtoVersions(Message):
    FIELDS = fields("1 producer int32; 2 min_consumer int32")


class OpDef(Message):
    """The signature of a function."""

    class ArgDef(Message):
        FIELDS = fields("""1 name string; 2 description string; 3 type enum; 4 type_attr string; 5 number_attr string;
            6 type_list_attr string; 16 is_ref bool""")

    class AttrDef(Message):
        FIELDS = fields("1 name string; 2 type string; 3 default_value ProtoAttrValue")

    FIELDS = fields("""1 name string; 2 input_arg OpDef.ArgDef*; 3 output_arg OpDef.ArgDef*; 4 attr OpDef.AttrDef*;
        17 is_stateful bool; 20 control_output string*""")


class FunctionDef(Message):
    """A function: nodes, and by name which of their outputs it returns."""

    FIELDS = fields("""1 signature OpDef; 3 node_def ProtoNodeDef*; 4 ret map:string; 5 attr map:ProtoAttrValue;
        6 control_ret map:string""")


class GradientDef(Message):
    FIELDS = fields("1 function_name string; 2 gradient_func string")


class FunctionDefLibrary(Message):
    """The functions of a graph, and which of them is whose gradient."""

    FIELDS = fields("1 function FunctionDef*; 2 gradient GradientDef*")


class ProtoGraphDef(Message):
    FIELDS = fields("1 node ProtoNodeDef*; 2 library FunctionDefLibrary; 4 versions ProtoVersions")


class SaverDef(Message):
    """What a file says of a Saver; LEGACY, V1, V2 are the versions of checkpoints, of which a Saver writes the last."""

    LEGACY, V1, V2 = range(3)
    FIELDS = fields("""1 filename_tensor_name string; 2 save_tensor_name string; 3 restore_op_name string; 4 max_to_keep int32;
        5 sharded bool; 6 keep_checkpoint_every_n_hours float; 7 version enum""")


class CollectionDef(Message):
    """A collection: names of tensors and operations, bytes (messages of variables among them), or numbers."""

    class NodeList(Message):
        FIELDS = fields("1 value string*")

    class BytesList(Message):
        FIELDS = fields("1 value bytes*")

    class Int64List(Message):
        FIELDS = fields("1 value int64*")

    class FloatList(Message):
        FIELDS = fields("1 value float*")

    class AnyList(Message):
        FIELDS = fields("1 value AnyProto*")

    FIELDS = fields("""1 node_list CollectionDef.NodeList kind; 2 bytes_list CollectionDef.BytesList kind;
        3 int64_list CollectionDef.Int64List kind; 4 float_list CollectionDef.FloatList kind;
        5 any_list CollectionDef.AnyList kind""")


class AnyProto(Message):
    """A message with the name of its class, as `google.protobuf.Any`."""

    FIELDS = fields("1 type_url string; 2 value bytes")

    def Pack(self, message):
        """Holds `message`, one of TensorFlow's."""
        self.type_url, self.value = f"type.googleapis.com/tensorflow.{type(message).__name__}", message.SerializeToString()

    def Unpack(self, message):
        """Reads what it holds into `message`; returns whether it is of that class."""
        fits = self.type_url.endswith(f".{type(message).__name__}")
        if fits:
            message.ParseFromString(self.value)
        return fits


class TensorInfo(Message):
    """How a signature names a tensor: by `name`, or the three of a sparse one by `coo_sparse`; with dtype and shape."""

    class CooSparse(Message):
        FIELDS = fields("1 values_tensor_name string; 2 indices_tensor_name string; 3 dense_shape_tensor_name string")

    class CompositeTensor(Message):
        FIELDS = fields("1 type_spec bytes; 2 components TensorInfo*")

    FIELDS = fields("""1 name string encoding; 4 coo_sparse TensorInfo.CooSparse encoding;
        5 composite_tensor TensorInfo.CompositeTensor encoding; 2 dtype enum; 3 tensor_shape TensorShapeProto""")


class SignatureDef(Message):
    """What a graph of a SavedModel computes: named inputs and outputs, and what a server does with them (`method_name`)."""

    FIELDS = fields("1 inputs map:TensorInfo; 2 outputs map:TensorInfo; 3 method_name string; 4 defaults map:TensorProto")


class AssetFileDef(Message):
    """A file of a SavedModel, and the tensor that holds its path."""

    FIELDS = fields("1 tensor_info TensorInfo; 2 filename string")


class MetaGraphDef(Message):
    """A graph with its collections, as `tf.train.export_meta_graph` writes it, and what a SavedModel says of it."""

    class MetaInfoDef(Message):
        FIELDS = fields("""1 meta_graph_version string; 4 tags string*; 5 tensorflow_version string;
            6 tensorflow_git_version string; 7 stripped_default_attrs bool""")

    FIELDS = fields("""1 meta_info_def MetaGraphDef.MetaInfoDef; 2 graph_def ProtoGraphDef; 3 saver_def SaverDef;
        4 collection_def map:CollectionDef; 5 signature_def map:SignatureDef; 6 asset_file_def AssetFileDef*""")


class SavedModel(Message):
    """The graphs of a SavedModel."""

    FIELDS = fields("1 saved_model_schema_version int64; 2 meta_graphs MetaGraphDef*")


_CASES = [(DType, "type", lambda v: v.as_datatype_enum), (bool, "b", bool), ((int, np.integer), "i", int),
          ((float, np.floating), "f", float), (bytes, "s", bytes), (str, "s", str.encode)]


_LIVE = "_regrad_operation"  # the attribute that is a token of the operation of a node that holds Python objects
_operations: weakref.WeakValueDictionary = weakref.WeakValueDictionary()
_tokens: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
_RULE = "_regrad_rule"  # the attribute that describes a gradient rule attached to the operation
_LITERAL = b"python: "  # nested tuples, which no field holds


def _field_of(value):
    field, plain = next(((field, convert(value)) for kind, field, convert in _CASES if isinstance(value, kind)),
                        ("s", str(value).encode()))
    if field == "s" and plain.startswith((_STORED, _LITERAL)):  # text that would be read as something else
        return "s", _python(value)
    return field, plain


# -- values that only Python has ----------------------------------------------------------------------
_STORED = b"regrad: "  # a value as JSON


class Lost:
    """Stands for an object of the program that made a graph, which its file could not hold."""

    def __init__(self, what):
        self.what = what

    def __call__(self, *args, **kwargs):
        raise UnimplementedError(f"{self.what} belongs to the program that made the graph; the file the graph was read from "
                                 "could not hold it. Build the graph by running that program.")

    def __repr__(self):
        return f"<lost: {self.what}>"


class NamedFunction(Lost):
    """Stands for a function of which a file has the name: calling it is an error that says how to pass the function.

    Attributes:
      name: "module:function", as the file has it; None where that says nothing.
      node: the name of the node that calls it.
      given: the names for which functions were passed.
    """

    def __init__(self, name, node="", given=()):
        super().__init__(f"the function {name}")
        self.name, self.node, self.given = name, node, tuple(given)

    def __call__(self, *args, **kwargs):
        named = f"calls the function {self.name!r}" if self.name else "calls a function"
        known = self.name if self.name and "<" not in self.name else self.node
        raise UnimplementedError(
            f"'{self.node}' {named}, which belongs to the program that made the graph. A file holds names, never code, and "
            "Regrad neither imports nor calls what a file names: pass the function to what reads the graph, "
            f"functions={{{known!r}: the function}}, by the name that the file has or by that of the node"
            f"{nearest(known, self.given)}.")


def checked_functions(functions):
    """Returns the mapping from names to functions that a caller passed to a reader, as a dict; TypeError for anything else."""
    functions = dict(functions or {})
    for key, function in functions.items():
        if not isinstance(key, str) or not callable(function):
            raise TypeError("functions is a mapping from names, as a file has them, to functions; it has "
                            f"{key!r}: {function!r}.")
    return functions


def supplied(functions, node, value):
    """Returns the function that is called where the attribute of a node from a file is `value`: that of the mapping
    `functions`, by the name in the file or by that of the node, or what says that there is none."""
    name = value.name if isinstance(value, NamedFunction) else None
    for key in (name, node):
        if key in functions:
            return functions[key]
    return NamedFunction(name, node, functions)


class StoredBody:
    """A body as a file holds it: what `make` turns into a FuncGraph once there is an operation to hold it."""

    def __init__(self, data):
        self.data = data

    def make(self, outer, inputs, first, functions):
        """Returns the body for an operation of `outer`; its inputs stand for `inputs`, captures begin at input `first`."""
        from regrad.core.graph_def import GraphDef
        from regrad.importer.graph_def import import_graph_def

        data = self.data
        body = FuncGraph(data["name"], outer)
        for name in ("n_carry", "n_explicit"):
            if name in data:
                setattr(body, name, data[name])
        with body.as_default(), body.control_dependencies(None):
            import_graph_def(GraphDef.FromString(base64.b64decode(data["graph"])), name="", functions=functions)
        body.inputs = [body.get_tensor_by_name(name) for name in data["inputs"]]
        body.outputs = [body.get_tensor_by_name(name) for name in data["outputs"]]
        given = dict(zip(body.inputs[first:first + data["captures"]], inputs[first:first + data["captures"]]))
        body.outer_inputs = list(given.values())
        body.captures = {outside: inside for inside, outside in given.items()}
        for inside, outside in given.items():
            if inside.op.attrs.get("variable") is not None:
                inside.op.attrs = {**inside.op.attrs, "variable": variable_of(outside)}
        body.built = True
        return body


def _json(value):
    """Returns a value as JSON can hold it; `_from_json` makes it again."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, np.integer, float, np.floating)):
        return value.item() if isinstance(value, np.generic) else value
    if isinstance(value, (list, tuple)):
        return [_json(v) for v in value]
    if isinstance(value, DType):
        return {"dtype": value.name}
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, TensorShape):
        return {"shape": None if value.dims_ is None else list(value.dims_)}
    if isinstance(value, dict):
        return {"items": [[_json(k), _json(v)] for k, v in value.items()]}
    if isinstance(value, slice):
        return {"slice": [value.start, value.stop, value.step]}
    if isinstance(value, np.ndarray):
        return {"tensor": base64.b64encode(make_tensor_proto(value).SerializeToString()).decode()}
    if isinstance(value, FuncGraph):
        return {"body": _body_json(value)}
    if isinstance(value, Operation):
        return {"operation": value.name}
    if isinstance(value, NamedFunction):
        return {"function": value.name}
    if callable(value) and name_in_files(value) is not None:
        return {"function": name_in_files(value)}
    return {"lost": f"{type(value).__name__} {getattr(value, '__name__', '') or repr(value)}"[:200]}


def name_in_files(function):
    """Returns "module:function", the name that files have for a function; None where it has none."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    return f"{module}:{name}" if isinstance(module, str) and isinstance(name, str) else None


def _from_json(value):
    """Returns what `_json` wrote: data, and for functions and objects of a program what stands for them."""
    if isinstance(value, list):
        return tuple(_from_json(v) for v in value)
    if not isinstance(value, dict):
        return value
    ((kind, of),) = value.items()
    return _OF_JSON[kind](of)


def _name(value):
    if not isinstance(value, str):
        raise TypeError(f"a name is expected, got {value!r:.100}")
    return value


_OF_JSON = {"dtype": as_dtype, "bytes": base64.b64decode, "shape": TensorShape, "slice": lambda p: slice(*p),
            "items": lambda p: {_from_json(k): _from_json(v) for k, v in p}, "body": StoredBody,
            "lost": lambda p: Lost(_name(p)), "operation": lambda p: Lost(_name(p)),
            "function": lambda p: NamedFunction(p and _name(p)),
            "tensor": lambda p: make_ndarray(TensorProto.FromString(base64.b64decode(p)))}


def _body_json(body):
    proto = ProtoGraphDef()
    for op in body._ops:
        _write_node(proto, NodeDef(op))
    data = {"name": body.name, "graph": base64.b64encode(proto.SerializeToString()).decode(),
            "captures": len(body.outer_inputs), "inputs": [t.name for t in body.inputs],
            "outputs": [t.name for t in body.outputs]}
    return data | {name: getattr(body, name) for name in ("n_carry", "n_explicit") if name in body.__dict__}


def _python(value):
    return _STORED + json.dumps(_json(value)).encode()


# -- writing --------------------------------------------------------------------------------------------
def _is_plain(value):
    return value is None or isinstance(value, (DType, bool, int, np.integer, float, np.floating, bytes, str))


def _is_literal(value):
    return isinstance(value, (tuple, list)) and all(_is_plain(v) and not isinstance(v, (DType, np.generic)) or _is_literal(v)
                                                    for v in value)


def _fits(value):
    """Returns whether `attr_proto` keeps all of an attribute's value."""
    return (_is_plain(value) or isinstance(value, (TensorShape, np.ndarray, TensorProto, NameAttrList)) or _is_literal(value)
            or isinstance(value, (list, tuple)) and all(isinstance(v, (TensorShape, DType, NameAttrList)) for v in value))


def attr_proto(value):
    """Returns the ProtoAttrValue of an attribute's value."""
    proto = ProtoAttrValue()
    if isinstance(value, TensorShape):
        proto.shape.CopyFrom(value.as_proto())
    elif isinstance(value, (np.ndarray, TensorProto)):
        proto.tensor.CopyFrom(value if isinstance(value, TensorProto) else make_tensor_proto(value))
    elif isinstance(value, NameAttrList):
        proto.func.CopyFrom(value)
    elif _is_literal(value) and len({type(v) for v in value} | {tuple}) > 2 or _is_literal(value) and None in value:
        proto.s = _LITERAL + repr(value).encode()
    elif isinstance(value, (list, tuple)):
        proto.list.SetInParent()
        for item in value:
            if isinstance(item, TensorShape):
                proto.list.shape.append(item.as_proto())
            elif isinstance(item, NameAttrList):
                proto.list.func.append(item)
            elif isinstance(item, (tuple, list)):
                return ProtoAttrValue(s=_LITERAL + repr(value).encode())
            else:
                field, plain = _field_of(item)
                getattr(proto.list, field).append(plain)
    else:
        field, plain = _field_of(value)
        setattr(proto, field, plain)
    return proto


def graph_proto(graph_def):
    """Returns the ProtoGraphDef of a GraphDef of Regrad."""
    proto = ProtoGraphDef(versions=ProtoVersions(producer=GraphVersions.producer))
    for node in graph_def.node:
        _write_node(proto, node)
    if graph_def.library.ListFields():
        proto.library.CopyFrom(graph_def.library)
    return proto


def graph_bytes(graph_def):
    """Returns `graph_proto(graph_def).SerializeToString()`, in a fifth of the time."""
    nodes = []
    for node in graph_def.node:
        head = ProtoNodeDef(name=node.name, op=node.op, input=node.input, device=node.device or "").SerializeToString()
        attrs = sorted(_attributes_of(node).items())
        nodes.append(sized(1, head + b"".join(sized(5, sized(1, k.encode()) + sized(2, _attr_bytes(v))) for k, v in attrs)))
    rest = ProtoGraphDef(versions=ProtoVersions(producer=GraphVersions.producer))
    if graph_def.library.ListFields():
        rest.library.CopyFrom(graph_def.library)
    return b"".join(nodes) + rest.SerializeToString()


def _attributes_of(node):
    """Returns {name: value} of a node's attributes, a ProtoAttrValue where `attr_proto` would not keep all of the value."""
    found = {key: attr.value if _fits(attr.value) else ProtoAttrValue(s=_python(attr.value)) for key, attr in node.attr.items()}
    op = node.operation
    if op is None:
        return _as_written(node.op, found)
    if op.opdef.facts.stored.module:
        found |= importlib.import_module(op.opdef.facts.stored.module).written(op)
        found = {key: value for key, value in found.items() if value is not None}
    for key, value in op.attrs.items():
        if value is None and op.opdef.attrs.get(key) is not None:  # None that is no default
            found[key] = ProtoAttrValue(s=_python(None))
    if op.attached_rules:
        found[_RULE] = ProtoAttrValue(s=f"rule attached to {op.name} ({op.location})".encode())
    if op.attached_rules or not all(_fits(v) for v in op.attrs.values()):
        if op not in _tokens:
            _tokens[op] = secrets.token_hex(16)
            _operations[_tokens[op]] = op
        found[_LIVE] = ProtoAttrValue(s=_tokens[op].encode())
    return _as_written(node.op, found)


def _as_written(op_type, attrs):
    named = {written_name(op_type, key): value for key, value in attrs.items()}
    named.pop("", None)
    return named


def _proto_of(value):
    return value if isinstance(value, ProtoAttrValue) else attr_proto(value)


@functools.lru_cache(maxsize=1000)
def _plain_bytes(kind, value):
    return attr_proto(value).SerializeToString()


def _attr_bytes(value):
    kind = type(value)
    if kind is tuple and value and all(type(v) is TensorShape for v in value):
        return _shapes_bytes(tuple(v.dims_ for v in value))
    return _plain_bytes(kind, value) if kind in (DType, bool, int, str) else _proto_of(value).SerializeToString()


@functools.lru_cache(maxsize=1000)
def _shapes_bytes(dims):
    return attr_proto([TensorShape(d) for d in dims]).SerializeToString()


def _write_node(proto, node):
    made = proto.node.add(name=node.name, op=node.op, input=node.input, device=node.device or "")
    for key, value in _attributes_of(node).items():
        made.attr.put(key, _proto_of(value))


# -- reading --------------------------------------------------------------------------------------------
def _text(value):
    if value.startswith(_STORED):
        return _from_json(json.loads(value[len(_STORED):]))
    try:
        if value.startswith(_LITERAL):
            return _literal(value[len(_LITERAL):].decode())
        return value.decode()
    except UnicodeDecodeError:
        return value


def _literal(text):
    found = ast.literal_eval(text)
    if not _is_literal(found):
        raise ValueError("a tuple is expected")
    return found


def _dtype(number):
    return as_dtype(number - 100 if number > 100 else number)  # there are no reference types


_READ = {"s": _text, "i": int, "b": bool, "type": _dtype, "shape": shape_of, "func": lambda v: v,
         "f": lambda v: float(str(np.float32(v)))}  # the shortest number that is that float


def _value(proto):
    """The inverse of `attr_proto`."""
    field = proto.WhichOneof("value")
    if field is None:
        return None
    if field == "tensor":
        return stored_ndarray(proto.tensor)
    if field == "list":
        return tuple(_READ[f.name](v) for f, values in proto.list.ListFields() for v in values)
    if field == "placeholder":
        return proto  # of a function's node: an attribute of the function
    return _READ[field](getattr(proto, field))


def read_node(proto):
    """Returns the NodeDef of a ProtoNodeDef."""
    attr = read_attributes(proto.attr, proto.name)
    return NodeDef(name=proto.name, op=proto.op, input=proto.input, device=proto.device, attr=attr)


def read_attributes(protos, node):
    """Returns {name: AttrValue} of {name: ProtoAttrValue}, those of the node of that name.

    Raises:
      DataLossError: (a ValueError too) one is damaged.
    """
    found = {}
    for key, proto in protos.items():
        try:
            found[key.removeprefix(PRIVATE)] = AttrValue(_value(proto))
        except (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, SyntaxError, TypeError,
                ValueError) as error:
            raise Damaged(f"NodeDef '{node}', attribute {key!r}: it is damaged, {type(error).__name__}: {error}") from None
    return found


def read_nodes(proto):
    """Returns the NodeDefs of a ProtoGraphDef."""
    nodes = []
    for node_proto in proto.node:
        node = read_node(node_proto)
        attrs = node.attr
        live, rule = attrs.pop(_LIVE, None), attrs.pop(_RULE, None)
        op = _operations.get(live.value) if live is not None and isinstance(live.value, str) else None
        if op is not None and op.type != node.op:
            op = None
        if op is None and rule is not None:
            # It must not fall back to the plain derivative: a rule of this name has to be registered.
            node.attr.setdefault("_gradient_op_type", rule)
        if op is not None:
            node.operation = op
            for key, value in op.attrs.items():
                if key in attrs and not _fits(value):
                    attrs[key].value = value
            node.attr.update(attrs)
        nodes.append(node)
    return nodes
