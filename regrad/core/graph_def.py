"""A graph as data: GraphDef and NodeDef with TensorFlow's fields, made of operations or read from bytes.

Their text is TensorFlow's, so that `print(op)` shows an operation's type and inputs. `core/graph_proto.py` writes and reads
their bytes, `regrad/importer` makes operations of them again.
"""

import copy
from types import SimpleNamespace

import numpy as np

from regrad.core.dtypes import DType, as_dtype, enum_name
from regrad.core.opdef import SHAPED
from regrad.core.proto import Message, Serialized
from regrad.core.shapes import TensorShape


def shape_of(proto):
    """Returns the TensorShape of a TensorShapeProto."""
    return TensorShape(None if proto.unknown_rank else [None if d.size < 0 else d.size for d in proto.dim])


class ListValue(list):
    """The values of an attribute that is a list, also under TF's field names `s` (bytes), `i`, `f`, `b`, `type`, `shape`.

    Each of these is the list itself, which may be changed in place.
    """

    def __init__(self, values=(), **field):
        super().__init__(*(field.values() or [values]))
        if "type" in field:
            self._become(as_dtype)

    def _become(self, form):
        self[:] = map(form, self)
        return self

    @property
    def s(self):
        return self._become(lambda v: v.encode() if isinstance(v, str) else v)

    @property
    def shape(self):
        return self._become(lambda v: v.as_proto() if isinstance(v, TensorShape) else v)

    i = f = b = type = property(lambda self: self)


class AttrValue:
    """One attribute: `value`, also under TF's field names `s` (bytes), `i`, `f`, `b`, `type`, `shape`, `tensor`, `list`.

    What `shape`, `tensor` and `list` give may be changed in place: that changes the attribute.
    """

    ListValue = ListValue

    def __init__(self, value=None, **field):
        self.value = value
        for name, given in field.items():  # AttrValue(s=b"text")
            setattr(self, name, given)

    @property
    def value(self):
        """A number, text, DType, TensorShape, array or TensorProto, function or structure of bodies; a tuple of a list's."""
        return _read(self._held)

    @value.setter
    def value(self, value):
        self._held = value

    def WhichOneof(self, oneof):
        """Returns the field name of what is held, None where nothing is."""
        from regrad.core.graph_proto import attr_proto

        return None if self.value is None else attr_proto(self.value).WhichOneof(oneof)

    def HasField(self, name):
        """Returns whether what is held is of the kind that the field `name` is for."""
        return self.WhichOneof("value") == name

    @property
    def s(self):
        return b"" if self.value is None else self.value.encode() if isinstance(self.value, str) else self.value

    @s.setter
    def s(self, value):
        self.value = value

    @property
    def tensor(self):
        """The TensorProto of a constant's value."""
        if isinstance(self._held, np.ndarray):
            from regrad.core.messages import make_tensor_proto

            self._held = make_tensor_proto(self._held)
        return self._held

    @tensor.setter
    def tensor(self, value):
        self.value = value

    @property
    def type(self):
        return self.value

    @type.setter
    def type(self, value):
        self.value = as_dtype(value)  # from TF's number of it too

    @property
    def shape(self):
        """The TensorShapeProto of a shape."""
        if isinstance(self._held, TensorShape):
            self._held = self._held.as_proto()
        return self._held

    @shape.setter
    def shape(self, value):
        self.value = shape_of(value) if isinstance(value, Message) else value

    @property
    def list(self):
        """The values of a list, under the field name of their kind: `list.i`."""
        if not isinstance(self._held, ListValue):
            self._held = ListValue(self._held or ())
        return self._held

    @list.setter
    def list(self, value):
        self.value = ListValue(value)

    # What was never set is 0 or False, as in a message.
    i = f = property(lambda self: 0 if self.value is None else self.value, lambda self, value: setattr(self, "value", value))
    b = property(lambda self: False if self.value is None else self.value, lambda self, value: setattr(self, "value", value))

    def CopyFrom(self, other):
        """Makes this attribute equal to `other`."""
        held = other._held
        self._held = copy.deepcopy(held) if isinstance(held, (Message, ListValue)) else held

    MergeFrom = CopyFrom

    def __eq__(self, other):
        return bool(np.array_equal(self.value, getattr(other, "value", other)))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self):
        return "\n".join(_value_lines(self.value, "")) + "\n"


def _read(held):
    """Returns what an AttrValue holds in the form that operations have it in: nothing of it is a message but a tensor."""
    if isinstance(held, ListValue):
        return tuple(_text(v) if isinstance(v, bytes) else _read(v) for v in held)
    return shape_of(held) if type(held).__name__ == "TensorShapeProto" else held


def _text(value):
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


class _Attributes(dict):
    """{name: AttrValue}; asking for a missing one makes it, as a protocol buffer's map does."""

    def __missing__(self, key):
        value = self[key] = AttrValue()
        return value


class NodeDef:
    """One operation: `name`, `op` (its type), `input` (names), `device`, `attr` ({name: AttrValue}).

    `operation` is the Operation it was made of, None for one read from bytes or made by hand.
    """

    def __init__(self, operation=None, name="", op="", input=(), device="", attr=()):
        self.operation = operation
        self.name, self.op, self.input, self.device = name, op, list(input), device
        self.attr = _Attributes(attr)
        if operation is not None:
            self.name, self.op, self.device = operation.name, operation.type, operation.device
            hidden = operation.opdef.facts.stored.hidden_inputs
            inputs = operation.inputs if hidden is None else [*operation.inputs, *hidden(operation)]
            self.input = [t.op.name if t.value_index == 0 else t.name for t in inputs]
            self.input += ["^" + c.name for c in operation.control_inputs]
            self.attr.update({k: AttrValue(v) for k, v in _attributes(operation).items()})

    def CopyFrom(self, other):
        """Makes this node equal to `other`."""
        self.operation, self.name, self.op, self.device = other.operation, other.name, other.op, other.device
        self.input, self.attr = list(other.input), _Attributes()
        for key, value in other.attr.items():
            self.attr[key].CopyFrom(value)

    MergeFrom = CopyFrom  # into a new node

    def __str__(self):
        lines = [f'name: "{self.name}"', f'op: "{self.op}"']
        lines += [f'input: "{name}"' for name in self.input]
        if self.device:
            lines.append(f'device: "{self.device}"')
        for key in sorted(self.attr):
            lines += ["attr {", f'  key: "{key}"', "  value {", *_value_lines(self.attr[key].value), "  }", "}"]
        return "\n".join(lines) + "\n"

    __repr__ = __str__


def source(text):
    """Returns the name of the node that an input, "name", "name:1" or "^name", comes from."""
    return text.lstrip("^").partition(":")[0]


def operands(node):
    """Returns the inputs of a node that are tensors."""
    return [text for text in node.input if not text.startswith("^")]


def controls(node):
    """Returns the inputs of a node that it only waits for, "^name"."""
    return [text for text in node.input if text.startswith("^")]


def attribute(node, key, default=None):
    """Returns the value of a node's attribute, or `default` where it has none."""
    attr = node.attr.get(key)
    return default if attr is None or attr.value is None else attr.value


def op_def(op):
    """Returns what TensorFlow calls the OpDef of an operation: `name`, `input_arg`, `output_arg`, `attr`, `is_stateful`."""
    def args(names):
        return [SimpleNamespace(name=name) for name in names]

    definition = op.opdef
    variables = dict.fromkeys(a.var for a in definition.args if a.var)
    outputs = ["output"] if len(op.outputs) == 1 else [f"output_{i}" for i in range(len(op.outputs))]
    return SimpleNamespace(name=op.type, input_arg=args(a.name for a in definition.args), output_arg=args(outputs),
                           attr=args([*variables, *definition.attrs]),
                           is_stateful=bool(definition.stateful or definition.random))


class GraphVersions:
    """TensorFlow 1.15's numbers for its graph format: `producer`, `min_consumer`, `bad_consumers`."""

    producer, min_consumer, bad_consumers = 134, 0, ()


class _Nodes(list):
    """The nodes of a GraphDef, with the methods that programs call on them; what is added is copied."""

    def add(self, **fields):
        """Adds a new node and returns it."""
        super().append(NodeDef(**fields))
        return self[-1]

    def append(self, node):
        self.add().CopyFrom(node)

    def extend(self, nodes):
        for node in nodes:
            self.append(node)

    MergeFrom = extend


class GraphDef(Serialized):
    """A list of NodeDefs, `node`; `gradient_rules` are the overrides of the whole graph it was made of."""

    versions = GraphVersions()

    def __init__(self, ops=(), gradient_rules=(), add_shapes=False, node=(), library=None):
        self.node = _Nodes(NodeDef(op) for op in ops)
        self.node.extend(node)
        self._library = library
        self.gradient_rules = tuple(gradient_rules)
        if add_shapes:
            for made in self.node:
                if made.operation.outputs:
                    made.attr["_output_shapes"] = AttrValue(ListValue(t.shape for t in made.operation.outputs))

    @property
    def library(self):
        """The functions of a graph that TensorFlow wrote; bodies of Regrad's operations stand in their attributes."""
        if self._library is None:
            from regrad.core.graph_proto import FunctionDefLibrary

            self._library = FunctionDefLibrary()
        return self._library

    def __str__(self):
        blocks = ("\n".join("  " + line for line in str(n).splitlines()) for n in self.node)
        return "".join(f"node {{\n{block}\n}}\n" for block in blocks)

    __repr__ = __str__

    def SerializeToString(self):
        """Returns TensorFlow's GraphDef bytes; Python objects stand there as text, which only this process understands."""
        from regrad.core.graph_proto import graph_bytes

        return graph_bytes(self)

    def MergeFromString(self, data):
        """Adds the nodes and functions that bytes, TensorFlow's too, hold; returns how many bytes those are.

        Raises:
          ValueError: `data` is no GraphDef.
        """
        from regrad.core.graph_proto import ProtoGraphDef, read_nodes

        proto = ProtoGraphDef.FromString(data)
        list.extend(self.node, read_nodes(proto))
        if proto.HasField("library"):
            self.library.MergeFrom(proto.library)
        return len(data)

    def Clear(self):
        """Takes out all nodes, functions and rules."""
        self.node, self.gradient_rules, self._library = _Nodes(), (), None

    def MergeFrom(self, other):
        """Adds the nodes and functions of `other`."""
        self.node.extend(other.node)
        if other._library is not None:
            self.library.MergeFrom(other._library)
        self.gradient_rules += other.gradient_rules


def _attributes(op):
    attrs = {}
    position = 0
    for i, arg in enumerate(op.opdef.args):
        count = op.groups[i] if op.groups is not None and arg.is_list else 1
        if arg.var is not None and (count or not arg.is_list or arg.mixed):
            types = [t.dtype for t in op.inputs[position:position + count]]
            attrs[arg.var] = types if arg.mixed else types[0]
        if arg.is_list:
            attrs["N"] = count
        position += count
    attrs |= {k: v for k, v in op.attrs.items() if v is not None and not k.startswith("_known")}
    if "shape" in op.attrs and op.type in SHAPED:
        attrs["shape"] = TensorShape._of(op.attrs["shape"])
    if op.override_scope is not None and (rule := op.override_scope.named_rule(op.type)) is not None:
        attrs["_gradient_op_type"] = rule
    return attrs


def plain(value):
    """Returns a node's attribute as an operation keeps it: sizes of a shape, a constant's array, text."""
    if isinstance(value, bytes):
        return _text(value)
    if type(value).__name__ == "TensorProto":
        from regrad.core.messages import make_ndarray

        return make_ndarray(value)
    return value.dims_ if isinstance(value, TensorShape) else value


def _value_lines(value, indent="    "):
    """Returns the text-format lines of one attribute value."""
    if isinstance(value, DType):
        return [f"{indent}type: {enum_name(value)}"]
    if isinstance(value, bool):
        return [f"{indent}b: {str(value).lower()}"]
    if isinstance(value, (int, np.integer)):
        return [f"{indent}i: {value}"]
    if isinstance(value, (float, np.floating)):
        return [f"{indent}f: {value}"]
    if isinstance(value, bytes):
        return [f'{indent}s: "{value.decode(errors="replace")}"']
    if isinstance(value, str):
        return [f'{indent}s: "{value}"']
    if isinstance(value, TensorShape):
        value = value.dims_
        if value is None:
            return [f"{indent}shape {{", f"{indent}  unknown_rank: true", f"{indent}}}"]
        return [f"{indent}shape {{", *(line for d in value for line in
                (f"{indent}  dim {{", f"{indent}    size: {-1 if d is None else d}", f"{indent}  }}")), f"{indent}}}"]
    if isinstance(value, np.ndarray):
        shape = ", ".join(str(d) for d in value.shape)
        shown = np.array2string(value, threshold=16, separator=", ").replace("\n", " ")
        return [f"{indent}tensor {{", f"{indent}  dtype: {value.dtype}", f"{indent}  tensor_shape: [{shape}]",
                f"{indent}  values: {shown}", f"{indent}}}"]
    if isinstance(value, (list, tuple)):
        inner = [line for v in value for line in _value_lines(v, indent + "  ")]
        return [f"{indent}list {{", *inner, f"{indent}}}"]
    return [f'{indent}s: "{value}"']
