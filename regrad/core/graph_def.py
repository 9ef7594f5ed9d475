"""A graph in readable form: TF's NodeDef text, so that `print(op)` shows an operation's type and inputs."""

import numpy as np

from regrad.core.dtypes import DType
from regrad.core.opdef import SHAPED
from regrad.core.shapes import TensorShape

_ENUM_NAMES = {
    "float32": "DT_FLOAT", "float64": "DT_DOUBLE", "float16": "DT_HALF", "bool": "DT_BOOL", "string": "DT_STRING",
}


class AttrValue:
    """One attribute: `value`, also under TF's field names `s` (bytes), `i`, `f`, `b`, `type`, `shape`, `tensor`, `list`."""

    def __init__(self, value=None, **field):
        self.value = value
        for name, given in field.items():  # AttrValue(s=b"text")
            setattr(self, name, given)

    @property
    def s(self):
        return self.value.encode() if isinstance(self.value, str) else self.value

    @s.setter
    def s(self, value):
        self.value = value

    i = f = b = type = tensor = list = property(lambda self: self.value, lambda self, value: setattr(self, "value", value))

    @property
    def shape(self):
        return self.value.as_proto() if isinstance(self.value, TensorShape) else self.value

    @shape.setter
    def shape(self, value):
        self.value = value

    def __eq__(self, other):
        return self.value == getattr(other, "value", other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self):
        return "\n".join(_value_lines(self.value, "")) + "\n"


class _Shapes(list):
    """The static shapes of an op's outputs; `shape` gives them as messages."""

    @property
    def shape(self):
        return [s.as_proto() for s in self]


class _Attributes(dict):
    """{name: AttrValue}; asking for a missing one makes it, as a protocol buffer's map does."""

    def __missing__(self, key):
        value = self[key] = AttrValue()
        return value


class NodeDef:
    """One operation: `name`, `op` (its type), `input` (names), `device`, `attr` ({name: AttrValue})."""

    def __init__(self, op):
        self.operation = op
        self.name = op.name
        self.op = op.type
        self.input = [t.op.name if t.value_index == 0 else t.name for t in op.inputs]
        self.input += ["^" + c.name for c in op.control_inputs]
        self.device = op.device
        self.attr = _Attributes({k: AttrValue(v) for k, v in _attributes(op).items()})

    def __str__(self):
        lines = [f'name: "{self.name}"', f'op: "{self.op}"']
        lines += [f'input: "{name}"' for name in self.input]
        if self.device:
            lines.append(f'device: "{self.device}"')
        for key in sorted(self.attr):
            lines += ["attr {", f'  key: "{key}"', "  value {", *_value_lines(self.attr[key].value), "  }", "}"]
        return "\n".join(lines) + "\n"

    __repr__ = __str__


class GraphVersions:
    """TensorFlow 1.15's numbers for its graph format: `producer`, `min_consumer`, `bad_consumers`."""

    producer, min_consumer, bad_consumers = 134, 0, ()


class GraphDef:
    """A list of NodeDefs, `node`; `gradient_rules` are the overrides of the whole graph it was made of."""

    versions = GraphVersions()

    def __init__(self, ops=(), gradient_rules=(), add_shapes=False):
        self.node = [NodeDef(op) for op in ops]
        self.gradient_rules = tuple(gradient_rules)
        if add_shapes:
            for node in self.node:
                if node.operation.outputs:
                    node.attr["_output_shapes"] = AttrValue(_Shapes(t.shape for t in node.operation.outputs))

    def __str__(self):
        blocks = ("\n".join("  " + line for line in str(n).splitlines()) for n in self.node)
        return "".join(f"node {{\n{block}\n}}\n" for block in blocks)

    __repr__ = __str__

    def SerializeToString(self):
        """Returns TensorFlow's GraphDef bytes, which TensorBoard draws; Python objects stand there as text."""
        from regrad.core.graph_proto import graph_proto

        return graph_proto(self).SerializeToString()

    def ParseFromString(self, serialized):
        """Not available: a Regrad graph is made by running the program that builds it."""
        raise NotImplementedError("GraphDef.ParseFromString: TensorFlow's graph files (frozen_graph.pb) are not read; run the "
                                  "program that builds the graph, then restore its variables with tf.train.Saver.")

    FromString = ParseFromString

    def ByteSize(self):
        return len(self.SerializeToString())


def import_graph_def(graph_def, input_map=None, return_elements=None, name=None, op_dict=None, producer_op_list=None):
    """Adds the operations of a GraphDef to the default graph.

    Gradient overrides recorded in it stay: those of blocks (`_gradient_op_type`), rules attached to operations, and rules of
    the graph it was made of, which hold for what is imported. Blocks in force here hold for what is imported too.

    Args:
      graph_def: what `graph.as_graph_def()` gave.
      input_map: {tensor name in `graph_def`: tensor of the default graph} to use instead.
      return_elements: names of operations ("y") and tensors ("y:0") to return.
      name: prefix of the names here; "import" by default, "" for none.

    Returns:
      A list of what `return_elements` names, or None.

    Raises:
      TypeError: `graph_def` is no GraphDef of Regrad.
      ValueError: a name in `input_map` or `return_elements` is not there.
    """
    from regrad.core.convert import convert_to_tensor
    from regrad.core.copying import copied_bodies
    from regrad.core.graph import get_default_graph

    if not isinstance(graph_def, GraphDef):
        raise TypeError(f"graph_def must be a GraphDef proto, one of Regrad's, got {type(graph_def).__name__}: what "
                        "graph.as_graph_def() gives. TensorFlow's graph files are not read.")
    if input_map is not None and not isinstance(input_map, dict):
        raise TypeError(f"input_map must be a dictionary mapping strings to Tensor objects, got {input_map!r}.")
    if return_elements is not None and not (isinstance(return_elements, (list, tuple))
                                            and all(isinstance(e, str) for e in return_elements)):
        raise TypeError(f"return_elements must be a list of strings, got {return_elements!r}.")
    graph = get_default_graph()
    given = {k if ":" in k else k + ":0": convert_to_tensor(v) for k, v in (input_map or {}).items()}
    ops, used = {}, set()
    types = {t.name: t.dtype for node in graph_def.node for t in node.operation.outputs} if given else {}

    def tensor(text):
        full = text if ":" in text else text + ":0"
        op, _, index = full.partition(":")
        if full in given:
            used.add(full)
            wanted = types.get(full)
            if wanted is not None and given[full].dtype is not wanted:
                raise ValueError(f"input_map: {full} is {wanted.name}, {given[full].name} is {given[full].dtype.name}.")
            return given[full]
        return ops[op].outputs[int(index)]

    with graph.name_scope(name if name is not None else "import"):
        for node in graph_def.node:
            old = node.operation
            inputs = tuple(tensor(text) for text in node.input if not text.startswith("^"))
            controls = [ops[text[1:]] for text in node.input if text.startswith("^")]
            attrs = {k: _plain(node.attr[k].value) if k in node.attr else v for k, v in old.attrs.items()}
            with graph.control_dependencies(controls):
                op = ops[node.name] = graph._add(old.opdef, inputs, copied_bodies(old, attrs, graph, inputs), node.name,
                                                 old.groups)
            rule = node.attr.get("_gradient_op_type")
            if rule is not None and op.override_scope is None:
                op._set_attr("_gradient_op_type", rule.value)
            op.attached_rules = old.attached_rules
    if graph_def.gradient_rules:
        made = {node.operation: ops[node.name] for node in graph_def.node}
        graph.gradient_rules += [o.moved(made) for o in graph_def.gradient_rules]
    missing = given.keys() - used
    if missing:
        raise ValueError(f"Attempted to map inputs that were not found in graph_def: [{', '.join(sorted(missing))}]")
    if return_elements is None:
        return None
    try:
        return [tensor(e) if ":" in e else ops[e] for e in return_elements]
    except (KeyError, IndexError) as error:
        raise ValueError(f"Requested return_element {return_elements} not found in graph_def: {error}.") from None


def node_def(op):
    """Returns the NodeDef of an Operation."""
    return NodeDef(op)


def _attributes(op):
    attrs = {}
    position = 0
    for i, arg in enumerate(op.opdef.args):
        count = op.groups[i] if op.groups is not None and arg.is_list else 1
        if arg.var is not None and (count or not arg.is_list):
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


def _plain(value):
    """Returns a node's attribute as an operation keeps it: sizes of a shape."""
    return value.dims_ if isinstance(value, TensorShape) else value


def _value_lines(value, indent="    "):
    """Returns the text-format lines of one attribute value."""
    if isinstance(value, DType):
        return [f"{indent}type: {_ENUM_NAMES.get(value.name, 'DT_' + value.name.upper())}"]
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
