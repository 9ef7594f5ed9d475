"""Layers as relevance sees them: a linear operation, and what is added to or multiplied with its output before anything else.

`tf.matmul(x, w) + b` is two operations, and one layer: its pre-activation z = xw + b is what relevance rules divide by. So the
rule of the linear operation looks ahead, along a path that nothing else joins or leaves, and takes in

    biases         sums with what relevance does not go to (Add, AddN, BiasAdd, Sub), also past reshapes and transpositions;
    normalisation  batch normalisation and products with constants, whose own rule is one of relevance, too.

What is taken in passes relevance on as it is. Both sides ask the same question, `Layer` and `layer_of`, so that they agree.
"""

from regrad.autodiff.rules import Rule, takes_default
from regrad.autodiff.walking import current_walk
from regrad.core import gradient_registry
from regrad.core.operation import op_arguments
from regrad.core.shapes import compatible
from regrad.ops import array, math

DENSE = ("MatMul", "BatchMatMulV2", "Einsum")
CONVOLUTION = ("Conv2D", "Conv3D", "DepthwiseConv2dNative", "Conv2DBackpropInput", "Conv3DBackpropInputV2")
SUM = ("BiasAdd", "Add", "AddN", "Sub")
POOL = ("AvgPool", "AvgPool3D", "Mean", "Sum")
BATCH_NORM = ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
SCALING = ("Mul", "RealDiv", "Div")
NORM = (*BATCH_NORM, *SCALING)
# linear in each of their inputs: where several lie on the path, each gets an equal part
BILINEAR = frozenset((*DENSE, *CONVOLUTION, "Mul"))
_HEADS = frozenset((*DENSE, *CONVOLUTION, *POOL, *NORM))
_MOVES = frozenset(("Identity", "Reshape", "Squeeze", "ExpandDims", "Transpose", "BatchToSpace", "BatchToSpaceND",
                    "SpaceToDepth", "DepthToSpace"))
_PARAMETERS = frozenset(("Const", "VariableV2", "VarHandleOp"))


class RelevanceRule(Rule):
    """A rule that divides relevance. At an operation that a layer has taken in, it passes relevance on as it is.

    Attributes:
      bias: whether a bias takes its share of relevance.
    """

    def __init__(self, function, name, bias=True):
        super().__init__(function, name)
        self.bias = bias

    def __call__(self, op, *grads, default):
        relevance = grads[0]
        data = _data_input(op)
        if data is None or not (layer_of(op) is not None or not self.bias and op.type in SUM):
            arrived = -relevance if Layer(op).negated else relevance
            return self.function(op, arrived, default=default)
        shares = [None] * len(op.inputs) if len(on_path(op)) == 1 else list(self.function(op, relevance, default=default))
        shares[data] = relevance
        return shares


# -- operations ---------------------------------------------------------------------------------------


def on_path(op):
    """Returns the indices of the inputs that relevance goes to: those with real numbers on the path of this walk."""
    walk = current_walk()
    real = [i for i, t in enumerate(op.inputs) if t.dtype._kind == "f"]
    if walk is None:
        return real
    return [i for i in real if op.inputs[i] in walk.wanted] or real


def again(op, inputs):
    """Returns the operation built once more, of other inputs."""
    attrs = {k: v for k, v in op.attrs.items() if not k.startswith("_")}
    made = op.opdef(*op_arguments(op, inputs), **attrs)
    return (made[0] if isinstance(made, (list, tuple)) else made).op


def vjp(op, dy):
    """Returns the registered rule's gradients: those of the function itself, whatever overrides are in force."""
    rest = [array.zeros_like(t) for t in op.outputs[1:]]
    grads = gradient_registry.find(op.opdef.type).function(op, dy, *rest)
    return list(grads) if isinstance(grads, (list, tuple)) else [grads]


def is_bilinear(op):
    """True when `op` multiplies data with weights."""
    return op.type in BILINEAR and sum(t.dtype._kind == "f" for t in op.inputs) > 1


def _data_input(op):
    """Returns the index of the one input that relevance goes to, parameters apart, or None if there is no such one.

    The operation must keep that input's shape, unless all it does is to move elements.
    """
    indices = on_path(op)
    if len(indices) > 1:
        indices = [i for i in indices if not _is_parameter(op.inputs[i])]
    if len(indices) != 1:
        return None
    x, y = op.inputs[indices[0]], op.outputs[0]
    same = x.dims is None or y.dims is None or len(x.dims) == len(y.dims) and compatible(x.dims, y.dims)
    return indices[0] if same or op.type in _MOVES else None


def _is_parameter(t):
    """True for a variable, what is read of it, or a constant, reshaped or not."""
    while t.op.type in _MOVES:
        t = t.op.inputs[0]
    return t.op.type in _PARAMETERS or t.op.opdef.variable


def _rule_of(op):
    """Returns the rule that this walk has for `op`, or None for the registered one: a RelevanceRule also within compositions,
    and below rules that ask for their default."""
    for rule, *_ in current_walk().resolution.candidates(op):
        if isinstance(rule, str):
            found = gradient_registry.find(rule)
            rule = None if found is None else found.function
        within = _relevance_in(rule)
        if within is not None or rule is None or not takes_default(rule):
            return within or rule
    return None


def _relevance_in(rule):
    stack = [rule]
    while stack:
        rule = stack.pop()
        if isinstance(rule, RelevanceRule):
            return rule
        name, args, kwargs = getattr(rule, "recipe", None) or ("", (), {})
        stack += [*args, *kwargs.values()] if name in (">>", "mix") else []
    return None


# -- layers --------------------------------------------------------------------------------------------


class Layer:
    """A linear operation and what follows it: the layer's output is scale * (the operation's output) + bias.

    Attributes:
      op: the linear operation; members: the operations taken in.
      negated: True when what arrives at the operation is the negative of the layer's relevance: a difference has passed it on
        by its own rule.
    """

    def __init__(self, op):
        self.op, self.members, self.negated, self._moves = op, [], False, []
        self._steps = []  # (operation, position of the data among its inputs, moves before it, whether its bias counts)
        if current_walk() is None:
            return
        mine = _relevance_in_force(op)
        t = op.outputs[0]
        while True:
            following = _follower(t)
            if following is None:
                return
            data = _data_input(following)
            if data is None or following.inputs[data] is not t:
                return
            rule = _rule_of(following)
            relevance = isinstance(rule, RelevanceRule)
            if following.type in _MOVES and rule is None:
                self._moves.append(following)
            elif following.type in SUM and (rule is None or relevance and mine):
                self._take(following, data, rule is None or rule.bias)
                self.negated ^= rule is None and following.type == "Sub" and data == 1
            elif following.type in SUM and getattr(rule, "leaves_bias_out", False):
                self._take(following, data, False)
            elif following.type in NORM and relevance and mine and not (following.type in SCALING[1:] and data):
                self._take(following, data, rule.bias)
            else:
                return
            t = following.outputs[0]

    def _take(self, op, data, biased):
        self.members.append(op)
        self._steps.append((op, data, len(self._moves), biased))

    def terms(self, biased=True):
        """Returns (scale, bias) in the layout of the operation's output, each None where there is none."""
        scale, bias = None, None
        for op, data, moved, kept in self._steps:
            if op.type in SUM:
                if op.type == "Sub" and data:
                    scale = self._back(-array.ones_like(op.outputs[0]), moved) if scale is None else -scale
                    bias = None if bias is None else -bias
                if biased and kept:
                    b = self._back(_without(op, data), moved)
                    bias = b if bias is None else bias + b
                continue
            factor, shift = affine(op, data)
            factor = self._back(factor, moved)
            scale = factor if scale is None else scale * factor
            bias = None if bias is None else bias * factor
            if shift is not None and biased and kept:
                shift = self._back(shift, moved)
                bias = shift if bias is None else bias + shift
        return scale, bias

    def _back(self, t, moved):
        """Returns a tensor in the layout that is `moved` moves behind the operation, in that of its output.

        Moves put elements elsewhere, so that their gradient puts them back.
        """
        for op in reversed(self._moves[:moved]):
            t = vjp(op, t)[0]
        return t


def _without(op, data):
    """Returns what a sum adds to its data, in the shape of the sum."""
    return again(op, [array.zeros_like(t) if i == data else t for i, t in enumerate(op.inputs)]).outputs[0]


def affine(op, data):
    """Returns (factor, shift) for which the output of a normalisation or product is factor * data + shift.

    Mean and variance count as constants, those of the batch too.
    """
    x = op.inputs[data]
    if op.type in SCALING:
        return again(op, [array.ones_like(t) if i == data else t for i, t in enumerate(op.inputs)]).outputs[0], None
    by_channel = [-1 if c == "C" else 1 for c in op.attrs["data_format"]]
    a = op.inputs[1] * math.rsqrt(op.outputs[4] + op.attrs["epsilon"])
    shift = op.inputs[2] - op.outputs[3] * a
    a, shift = (math.cast(array.reshape(t, by_channel), x.dtype) + array.zeros_like(x) for t in (a, shift))
    return a, shift


def _follower(t):
    """Returns the one operation through which relevance arrives at `t`, or None: there are several, or other ways."""
    walk = current_walk()
    if t in walk.ys or t in walk.known:
        return None
    found = [op for op in dict.fromkeys(t.consumers())
             if op not in walk.stopped and any(o in walk.wanted and walk.flows(o) for o in op.outputs)
             and any(u is t and i not in op.opdef.shape_only for i, u in enumerate(op.inputs))]
    if len(found) != 1 or any((t.op in group.ops) != (found[0] in group.ops) for group, _ in walk.resolution.groups()):
        return None
    return found[0]


def _relevance_in_force(op):
    return isinstance(_rule_of(op), RelevanceRule)


def layer_of(op):
    """Returns the Layer that has taken in `op`, or None."""
    if current_walk() is None:
        return None
    below, at = [], op
    while at.type in _MOVES or at.type in SUM or at.type in NORM:
        data = _data_input(at)
        if data is None:
            break
        at = at.inputs[data].op
        below.append(at)
    for head in reversed(below):
        if head.type in _HEADS and _relevance_in_force(head) and op in (layer := Layer(head)).members:
            return layer
    return None
