"""What a rule gives, as a formula: `dy * (h > 0)`, read off the operations that it builds.

`dy` is what arrives, and forward tensors have the names of their operations. What has no short form of its own is written as a
function, `conv2d_backprop_input(w, dy)`, and what would be too long as three dots.
"""

import re

import numpy as np

from regrad.core.indexed_slices import IndexedSlices
from regrad.core.operation import variable_of

_LONGEST = 88
_DEEPEST = 9

# Of the usual functions, what is long when it is read off: {type: formulas of the inputs}; {0}, {1} are they, {y} the output.
_KNOWN = {
    "SoftmaxCrossEntropyWithLogits": ("dy * (softmax({0}) - {1})", "-dy * log_softmax({0})"),
    "SparseSoftmaxCrossEntropyWithLogits": ("dy * (softmax({0}) - one_hot({1}))",),
    "Softmax": ("(dy - sum(dy * {y})) * {y}",),
    "LogSoftmax": ("dy - softmax({0}) * sum(dy)",),
    "MaxPool": ("dy where {0} is greatest",),
    "AvgPool": ("dy / n, over each window",),
    "Max": ("dy where {0} is greatest",), "Min": ("dy where {0} is least",),
    "Conv2D": ("dy conv rotated({1})", "{0} conv dy"), "Conv3D": ("dy conv rotated({1})", "{0} conv dy"),
    "DepthwiseConv2dNative": ("dy conv rotated({1})", "{0} conv dy"),
}
_ATOM, _POWER, _PRODUCT, _SUM, _RELATION = range(5)  # how tightly a text holds together
_INFIX = {"Mul": (" * ", _PRODUCT), "MulNoNan": (" * ", _PRODUCT), "RealDiv": (" / ", _PRODUCT), "Div": (" / ", _PRODUCT),
          "MatMul": (" @ ", _PRODUCT), "BatchMatMulV2": (" @ ", _PRODUCT), "Add": (" + ", _SUM), "Sub": (" - ", _SUM),
          "Greater": (" > ", _RELATION), "GreaterEqual": (" >= ", _RELATION), "Less": (" < ", _RELATION),
          "LessEqual": (" <= ", _RELATION), "Equal": (" == ", _RELATION), "NotEqual": (" != ", _RELATION),
          "LogicalAnd": (" and ", _RELATION), "LogicalOr": (" or ", _RELATION)}
# The gradients that have operations of their own, as templates of their operands.
_TEMPLATES = {
    "ReluGrad": ("{0} * ({1} > 0)", _PRODUCT), "Relu6Grad": ("{0} * (0 < {1} < 6)", _PRODUCT),
    "SigmoidGrad": ("{1} * {0} * (1 - {0})", _PRODUCT), "TanhGrad": ("{1} * (1 - {0}²)", _PRODUCT),
    "SoftplusGrad": ("{0} * sigmoid({1})", _PRODUCT), "EluGrad": ("{0} * where({1} > 0, 1, {1} + 1)", _PRODUCT),
    "LeakyReluGrad": ("{0} * where({1} > 0, 1, alpha)", _PRODUCT), "RsqrtGrad": ("{1} * {0}³ * -0.5", _PRODUCT),
    "SqrtGrad": ("{1} * 0.5 / {0}", _PRODUCT), "ReciprocalGrad": ("-{1} * {0}²", _PRODUCT), "BiasAddGrad": ("sum({0})", _ATOM),
    "Square": ("{0}²", _POWER), "Neg": ("-{0}", _POWER), "ZerosLike": ("0", _ATOM), "OnesLike": ("1", _ATOM),
    "Reciprocal": ("1 / {0}", _PRODUCT), "ReshapeLike": ("reshape({0})", _ATOM), "Reshape": ("reshape({0})", _ATOM),
    "Transpose": ("transpose({0})", _ATOM), "StridedSliceGrad": ("{0} in its place, 0 elsewhere", _RELATION),
    "Select": ("where({0}, {1}, {2})", _ATOM), "SelectV2": ("where({0}, {1}, {2})", _ATOM), "Pow": ("{0}^{1}", _POWER),
    "Maximum": ("max({0}, {1})", _ATOM), "Minimum": ("min({0}, {1})", _ATOM), "LogicalNot": ("not {0}", _RELATION),
    "Conv2DBackpropInput": ("{2} conv rotated({1})", _PRODUCT), "Conv2DBackpropFilter": ("{0} conv {2}", _PRODUCT),
    "Sum": ("sum({0})", _ATOM), "Mean": ("mean({0})", _ATOM),
}
_SAME = {"Identity", "Cast", "BroadcastLike", "UnreduceLike", "SameShape", "PreventGradient", "BroadcastTo", "EnsureShape"}


def formula(op, i, gradient, arriving, own=True):
    """Returns the formula of what a rule gives for input `i` of `op`, or "" when there is no short one.

    Args:
      gradient: the tensor or slices that it gave; arriving: {tensor that arrived: its name}.
      own: whether the rule is the registered one.
    """
    known = _KNOWN.get(op.type, ()) if own else ()
    if i < len(known):
        return known[i].format(*map(name_of, op.inputs), y=name_of(op.outputs[0]))
    rows = isinstance(gradient, IndexedSlices)
    text, _ = _written(gradient.values if rows else gradient, arriving, _DEEPEST)
    text = f"rows {text}" if rows else text
    return text if len(text) <= _LONGEST and "…" not in text else ""


def name_of(t):
    """Returns a forward tensor's name as formulas have it: the last part of its operation's, a variable's own."""
    variable = variable_of(t.op.inputs[0]) if t.op.type == "Identity" else variable_of(t)
    op = variable or t.op
    leaf = op.name.removesuffix("/read").rpartition("/")[2]
    return leaf if t.value_index == 0 else f"{leaf}:{t.value_index}"


def _written(t, names, depth):
    """Returns (the text of a tensor, how tightly it holds together)."""
    if t in names:
        return names[t], _ATOM
    op = t.op
    if op.type == "Const":
        return _number(op.attrs["value"])
    scratch = next(iter(names)).graph
    outer = next((o for o, inner in getattr(t.graph, "captures", {}).items() if inner is t), None)
    if outer is not None and outer.op.type == "Const":
        return _number(outer.op.attrs["value"])
    if outer is not None or t.graph is not scratch or op.type == "FuncInput":
        return name_of(t if outer is None else outer), _ATOM
    if depth == 0:
        return "…", _ATOM

    def part(k, within):
        text, hold = _written(op.inputs[k], names, depth - 1)
        return f"({text})" if hold > within else text

    if op.type in _SAME:
        return _written(op.inputs[0], names, depth)
    if op.type == "SumToLike":
        text, hold = _written(op.inputs[0], names, depth)
        return (text, hold) if op.inputs[0].dims == op.inputs[1].dims else (f"sum({text})", _ATOM)
    if op.type == "AddN":
        return " + ".join(part(k, _SUM) for k in range(len(op.inputs))), _SUM
    if op.type in _INFIX:
        sign, hold = _INFIX[op.type]
        turned = [op.attrs.get(a) for a in (("transpose_a", "transpose_b") if op.type == "MatMul" else ("adj_x", "adj_y"))]
        left, right = part(0, hold), part(1, hold - (sign in (" - ", " / ") or hold == _RELATION))
        return sign.join(_turned(s) if flip else s for s, flip in zip((left, right), turned)), hold
    if op.type in _TEMPLATES:
        template, hold = _TEMPLATES[op.type]
        within = _RELATION if hold in (_ATOM, _RELATION) else _POWER  # what stands in brackets, or alone, needs none
        return template.format(*(part(k, within) for k in range(len(op.inputs)))), hold
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", re.sub(r"V\d$", "", op.type)).lower()
    given = [_written(s, names, depth - 1)[0] for s in op.inputs if s.dtype._kind in "fc"]
    return f"{snake}({', '.join(given)})", _ATOM


def _turned(text):
    return f"{text}ᵀ" if re.fullmatch(r"[\w:]+", text) else f"({text})ᵀ"


def _number(value):
    value = np.asarray(value)
    if value.size != 1:
        return ("constant", _ATOM) if value.size == 0 or np.any(value != value.flat[0]) else _number(value.flat[0])
    text = f"{value.item():.6g}" if value.dtype.kind in "fiu" else str(value.item())
    return text, _POWER if text[:1] == "-" else _ATOM
