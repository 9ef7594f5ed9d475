"""A graph as TensorFlow's GraphDef bytes, written and read.

Attributes that are Python objects (the function of a `py_func`, the body of a loop) stand there as text, and an attribute of
ours says which operation of this process the node was made of, so that reading it here finds them again.
"""

import ast
import itertools
import weakref

import numpy as np

from regrad.core.dtypes import DType, as_dtype
from regrad.core.graph_def import AttrValue, GraphVersions, NodeDef, shape_of
from regrad.core.messages import TensorProto, make_ndarray, make_tensor_proto
from regrad.core.proto import Message, fields
from regrad.core.shapes import TensorShape


class ProtoAttrValue(Message):
    class ListValue(Message):
        FIELDS = fields("2 s bytes*; 3 i int64*; 4 f float*; 5 b bool*; 6 type enum*; 7 shape TensorShapeProto*")

    FIELDS = fields("""1 list ProtoAttrValue.ListValue value; 2 s bytes value; 3 i int64 value; 4 f float value; 5 b bool value;
        6 type enum value; 7 shape TensorShapeProto value; 8 tensor TensorProto value""")


class ProtoNodeDef(Message):
    FIELDS = fields("1 name string; 2 op string; 3 input string*; 4 device string; 5 attr map:ProtoAttrValue")


class ProtoVersions(Message):
    FIELDS = fields("1 producer int32; 2 min_consumer int32")


class ProtoGraphDef(Message):
    FIELDS = fields("1 node ProtoNodeDef*; 4 versions ProtoVersions")


_CASES = [(DType, "type", lambda v: v.as_datatype_enum), (bool, "b", bool), ((int, np.integer), "i", int),
          ((float, np.floating), "f", float), (bytes, "s", bytes), (str, "s", str.encode)]


_LIVE = "_regrad_operation"  # the attribute that numbers the operation of a node that holds Python objects
_operations: weakref.WeakValueDictionary = weakref.WeakValueDictionary()
_numbers: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
_count = itertools.count(1)
_LITERAL = b"python: "  # nested tuples, which no field holds


def _field_of(value):
    for kind, field, convert in _CASES:
        if isinstance(value, kind):
            return field, convert(value)
    return "s", str(value).encode()


def _is_plain(value):
    return value is None or isinstance(value, (DType, bool, int, np.integer, float, np.floating, bytes, str))


def _is_literal(value):
    return isinstance(value, (tuple, list)) and all(_is_plain(v) and not isinstance(v, (DType, np.generic)) or _is_literal(v)
                                                    for v in value)


def _fits(value):
    """Returns whether `attr_proto` keeps all of an attribute's value."""
    return (_is_plain(value) or isinstance(value, (TensorShape, np.ndarray, TensorProto)) or _is_literal(value)
            or isinstance(value, (list, tuple)) and all(isinstance(v, (TensorShape, DType)) for v in value))


def attr_proto(value):
    """Returns the ProtoAttrValue of an attribute's value."""
    proto = ProtoAttrValue()
    if isinstance(value, TensorShape):
        proto.shape.CopyFrom(value.as_proto())
    elif isinstance(value, (np.ndarray, TensorProto)):
        proto.tensor.CopyFrom(value if isinstance(value, TensorProto) else make_tensor_proto(value))
    elif _is_literal(value) and len({type(v) for v in value} | {tuple}) > 2 or _is_literal(value) and None in value:
        proto.s = _LITERAL + repr(value).encode()
    elif isinstance(value, (list, tuple)):
        proto.list.SetInParent()
        for item in value:
            if isinstance(item, TensorShape):
                proto.list.shape.append(item.as_proto())
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
        made = proto.node.add(name=node.name, op=node.op, input=node.input, device=node.device or "")
        for key, attr in node.attr.items():
            made.attr[key].CopyFrom(attr_proto(attr.value))
        op = node.operation
        if op is not None and not all(_fits(v) for v in op.attrs.values()):
            if op not in _numbers:
                _numbers[op] = next(_count)
                _operations[_numbers[op]] = op
            made.attr[_LIVE].i = _numbers[op]
    return proto


# -- reading --------------------------------------------------------------------------------------------
def _text(value):
    if value.startswith(_LITERAL):
        return ast.literal_eval(value[len(_LITERAL):].decode())
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


_READ = {"s": _text, "i": int, "b": bool, "type": as_dtype, "shape": shape_of,
         "f": lambda v: float(str(np.float32(v)))}  # the shortest number that is that float


def _value(proto):
    """The inverse of `attr_proto`."""
    field = proto.WhichOneof("value")
    if field is None:
        return None
    if field == "tensor":
        return make_ndarray(proto.tensor)
    if field == "list":
        return tuple(_READ[f.name](v) for f, values in proto.list.ListFields() for v in values)
    return _READ[field](getattr(proto, field))


def read_nodes(data):
    """Returns the NodeDefs that the bytes of a GraphDef hold."""
    nodes = []
    for proto in ProtoGraphDef.FromString(data).node:
        attrs = {key: AttrValue(_value(attr)) for key, attr in proto.attr.items()}
        live = attrs.pop(_LIVE, None)
        node = NodeDef(name=proto.name, op=proto.op, input=proto.input, device=proto.device, attr=attrs)
        if live is not None:
            node.operation = op = _operations.get(live.value)
            if op is None or op.type != node.op:
                raise ValueError(f"Node '{node.name}' ({node.op}) holds Python objects, a function or a body, that went with "
                                 "the graph it was written from: run the program that builds the graph.")
            for key, value in op.attrs.items():
                if key in attrs and not _fits(value):
                    attrs[key].value = value
            node.attr.update(attrs)
        nodes.append(node)
    return nodes
