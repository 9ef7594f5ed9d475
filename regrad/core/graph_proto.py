"""A graph as TensorFlow's GraphDef bytes, which TensorBoard draws.

Attributes that are Python objects (the function of a `py_func`, the body of a loop) stand there as text.
"""

import numpy as np

from regrad.core.dtypes import DType
from regrad.core.graph_def import GraphVersions
from regrad.core.messages import TensorProto, make_tensor_proto
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


def _field_of(value):
    for kind, field, convert in _CASES:
        if isinstance(value, kind):
            return field, convert(value)
    return "s", str(value).encode()


def attr_proto(value):
    """Returns the ProtoAttrValue of an attribute's value."""
    proto = ProtoAttrValue()
    if isinstance(value, TensorShape):
        proto.shape.CopyFrom(value.as_proto())
    elif isinstance(value, (np.ndarray, TensorProto)):
        proto.tensor.CopyFrom(value if isinstance(value, TensorProto) else make_tensor_proto(value))
    elif isinstance(value, (list, tuple)):
        proto.list.SetInParent()
        for item in value:
            if isinstance(item, TensorShape):
                proto.list.shape.append(item.as_proto())
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
            shaped = key == "shape" and (attr.value is None or isinstance(attr.value, tuple))
            made.attr[key].CopyFrom(attr_proto(TensorShape(attr.value) if shaped else attr.value))
    return proto
