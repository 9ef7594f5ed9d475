"""A graph in readable form: TF's NodeDef text, so that `print(op)` shows an operation's type and inputs."""

import numpy as np

from regrad.core.dtypes import DType
from regrad.core.shapes import TensorShape

_ENUM_NAMES = {
    "float32": "DT_FLOAT", "float64": "DT_DOUBLE", "float16": "DT_HALF", "bool": "DT_BOOL", "string": "DT_STRING",
}  # fmt: skip


class NodeDef:
    """One operation: `name`, `op` (its type), `input` (names), `device`, `attr` (values)."""

    def __init__(self, op):
        self.name = op.name
        self.op = op.type
        self.input = [t.op.name if t.value_index == 0 else t.name for t in op.inputs]
        self.input += ["^" + c.name for c in op.control_inputs]
        self.device = op.device
        self.attr = _attributes(op)

    def __str__(self):
        lines = [f'name: "{self.name}"', f'op: "{self.op}"']
        lines += [f'input: "{name}"' for name in self.input]
        if self.device:
            lines.append(f'device: "{self.device}"')
        for key in sorted(self.attr):
            lines += ["attr {", f'  key: "{key}"', "  value {", *_value_lines(self.attr[key]), "  }", "}"]
        return "\n".join(lines) + "\n"

    __repr__ = __str__


class GraphDef:
    """A list of NodeDefs, `node`."""

    def __init__(self, ops):
        self.node = [NodeDef(op) for op in ops]

    def __str__(self):
        blocks = ("\n".join("  " + line for line in str(n).splitlines()) for n in self.node)
        return "".join(f"node {{\n{block}\n}}\n" for block in blocks)

    __repr__ = __str__

    def ByteSize(self):
        return len(str(self))


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
    attrs |= {k: v for k, v in op.attrs.items() if v is not None}
    if op.override_scope is not None and (rule := op.override_scope.named_rule(op.type)) is not None:
        attrs["_gradient_op_type"] = rule
    return attrs


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
                (f"{indent}  dim {{", f"{indent}    size: {-1 if d is None else d}", f"{indent}  }}")), f"{indent}}}"]  # fmt: skip
    if isinstance(value, np.ndarray):
        shape = ", ".join(str(d) for d in value.shape)
        shown = np.array2string(value, threshold=16, separator=", ").replace("\n", " ")
        return [f"{indent}tensor {{", f"{indent}  dtype: {value.dtype}", f"{indent}  tensor_shape: [{shape}]",
                f"{indent}  values: {shown}", f"{indent}}}"]  # fmt: skip
    if isinstance(value, (list, tuple)):
        inner = [line for v in value for line in _value_lines(v, indent + "  ")]
        return [f"{indent}list {{", *inner, f"{indent}}}"]
    return [f'{indent}s: "{value}"']
