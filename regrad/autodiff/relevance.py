"""Relevance instead of gradients: LRP, excitation backprop, DeepLIFT.

A relevance rule takes the relevance of an operation's output and divides it among the inputs; so `gradients`, called with
the output itself as `grad_ys` and with such rules as overrides, returns relevance:

    logit = tf.reduce_max(logits, axis=1)
    relevance, = tf.gradients(logit, image, grad_ys=[logit], overrides=rules.lrp_epsilon_plus())

Relevance is divided among those inputs that lie on the path; what does not (a bias, a constant) absorbs its share. The
rules know the linear operations: matrix products, convolutions, sums, products, average pooling. Max pooling gives all to
the winner, which is its gradient already; shapes, slices and joins need no rule either.

Bach et al. 2015, "On pixel-wise explanations ...", PLoS ONE 10(7); Montavon et al. 2019, "Layer-wise relevance propagation:
an overview"; the presets are those of Zennit (Anders et al. 2021, arXiv 2106.13200).
"""

from regrad.autodiff import selectors as sel
from regrad.autodiff.overrides import Override
from regrad.autodiff.rules import Rule, as_grads, ready_made
from regrad.autodiff.walking import current_walk
from regrad.core import gradient_registry
from regrad.core.convert import convert_to_tensor
from regrad.core.graph import op_arguments
from regrad.ops import array, compare, math
from regrad.ops.reduce import reduce_sum

DENSE = ("MatMul", "BatchMatMulV2")
CONVOLUTION = ("Conv2D", "Conv3D", "DepthwiseConv2dNative", "Conv2DBackpropInput", "Conv3DBackpropInputV2")
SUM = ("BiasAdd", "Add", "AddN", "Sub")
POOL = ("AvgPool", "AvgPool3D", "Mean", "Sum")
NORM = ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3", "Mul", "RealDiv", "Div")
ACTIVATION = ("Relu", "Relu6", "Elu", "Selu", "LeakyRelu", "Softplus", "Softsign", "Tanh", "Sigmoid")
# linear in each of two inputs: where both lie on the path, each gets half
BILINEAR = frozenset((*DENSE, *CONVOLUTION, "Mul"))
SIGNED = BILINEAR | {*POOL, "BiasAdd", "Add", "AddN"}  # whose contributions can be told by sign


# -- contributions ------------------------------------------------------------------------------------


def _on_path(op):
    """Returns the indices of the inputs that relevance goes to: those with real numbers on the path of this walk."""
    walk = current_walk()
    real = [i for i, t in enumerate(op.inputs) if t.dtype._kind == "f"]
    if walk is None:
        return real
    return [i for i in real if op.inputs[i] in walk.wanted] or real


def _again(op, inputs):
    """Returns the operation built once more, of other inputs."""
    attrs = {k: v for k, v in op.attrs.items() if not k.startswith("_")}
    made = op.opdef(*op_arguments(op, inputs), **attrs)
    return (made[0] if isinstance(made, (list, tuple)) else made).op


def _vjp(op, dy):
    """Returns the registered rule's gradients: those of the function itself, whatever overrides are in force."""
    rest = [array.zeros_like(t) for t in op.outputs[1:]]
    return as_grads(gradient_registry.find(op.opdef.type).function(op, dy, *rest))


class _Part:
    """Part of an operation's output: a sum of the operation applied to other inputs, each with a coefficient."""

    def __init__(self, op, terms):
        self.op = op
        self.terms = [(c, op if inputs == list(op.inputs) else _again(op, inputs)) for c, inputs in terms]
        values = [t.outputs[0] if c == 1 else -t.outputs[0] for c, t in self.terms]
        self.value = values[0] if len(values) == 1 else math.add_n(values)

    def divide(self, s):
        """Returns, per input on the path, its contribution to the outputs, weighed by `s` and summed."""
        receivers = _on_path(self.op)
        share = 0.5 if self.op.type in BILINEAR and len(receivers) > 1 else 1.0
        out = [None] * len(self.op.inputs)
        for c, term in self.terms:
            grads = _vjp(term, s)
            for i in receivers:
                if grads[i] is not None:
                    r = (c * share) * term.inputs[i] * convert_to_tensor(grads[i])
                    out[i] = r if out[i] is None else out[i] + r
        return out


def _positive(t):
    return math.maximum(t, array.zeros_like(t))


def _negative(t):
    return math.minimum(t, array.zeros_like(t))


def _replaced(op, **changes):
    """Returns the op's inputs with the data input, and the other one, replaced; integer inputs stay."""
    receivers = _on_path(op)
    inputs = list(op.inputs)
    real = [i for i, t in enumerate(inputs) if t.dtype._kind == "f"]
    for i in real:
        change = changes["data" if i == receivers[0] or op.type not in BILINEAR else "weight"]
        if change is not None:
            inputs[i] = change(inputs[i])
    return inputs


def _part(op, kind):
    """Returns the _Part of `op` that is meant by "all", "positive", "negative", "flat", "square" or "excitation"."""
    if kind == "all":
        return _Part(op, [(1, list(op.inputs))])
    if op.type not in SIGNED:
        raise TypeError(f"This relevance rule needs a linear operation, one of {', '.join(sorted(SIGNED))}; {op.describe()} is "
                        "none: give it rules.lrp_epsilon() or rules.lrp_pass.")
    pairs = {
        "positive": [(_positive, _positive), (_negative, _negative)],
        "negative": [(_positive, _negative), (_negative, _positive)],
        "flat": [(array.ones_like, array.ones_like)],
        "square": [(array.ones_like, math.square)],
        "excitation": [(None, _positive)],
    }[kind]
    if op.type not in BILINEAR:  # a sum or mean: weights are positive, so signs are those of the data
        pairs = pairs[:1] if kind != "negative" else [(_negative, None)]
    return _Part(op, [(1, _replaced(op, data=d, weight=w)) for d, w in pairs])


def _stable(z, epsilon):
    one = array.ones_like(z)
    return z + epsilon * compare.select(z < array.zeros_like(z), -one, one)


# -- LRP --------------------------------------------------------------------------------------------------


@ready_made
def lrp_epsilon(epsilon=1e-6):
    """LRP-epsilon: each input gets relevance in proportion to its contribution; `epsilon` absorbs where they cancel.

    R_i = sum_j x_i w_ij / (z_j + epsilon sign z_j) R_j. Bach et al. 2015, eq. 58. For every linear operation.
    """

    def rule(op, relevance, *_, default):
        part = _part(op, "all")
        return part.divide(relevance / _stable(part.value, epsilon))

    return Rule(rule, f"lrp_epsilon({epsilon})")


@ready_made
def lrp_gamma(gamma=0.25, epsilon=1e-9):
    """LRP-gamma: contributions of the output's own sign count 1 + gamma times.

    For inputs and outputs that are not negative it is R_i = sum_j x_i (w_ij + gamma w_ij^+) / z_j' R_j, Montavon et al. 2019,
    section 10.2.3; for others the generalised rule of Andeol et al. 2021, arXiv 2102.10996.
    """

    def rule(op, relevance, *_, default):
        whole, plus, minus = (_part(op, k) for k in ("all", "positive", "negative"))
        up = math.cast(whole.value >= array.zeros_like(whole.value), relevance.dtype)
        favoured = up * plus.value + (1.0 - up) * minus.value
        s = relevance / _stable(whole.value + gamma * favoured, epsilon)
        return _added(whole.divide(s), plus.divide(gamma * up * s), minus.divide(gamma * (1.0 - up) * s))

    return Rule(rule, f"lrp_gamma({gamma})")


@ready_made
def lrp_alpha_beta(alpha=2.0, beta=1.0):
    """LRP-alpha-beta: `alpha` of the relevance by positive contributions, minus `beta` by negative ones.

    Bach et al. 2015, eq. 60. An output whose contributions all have one sign gives that sign's share alone.

    Raises:
      ValueError: alpha - beta is not 1, so that relevance would not be conserved.
    """
    if abs(alpha - beta - 1.0) > 1e-9 or beta < 0:
        raise ValueError(f"lrp_alpha_beta: alpha - beta must be 1 and beta not negative, got {alpha} and {beta}.")

    def rule(op, relevance, *_, default):
        plus = _part(op, "positive")
        out = plus.divide(alpha * math.div_no_nan(relevance, plus.value))
        if not beta:
            return out
        minus = _part(op, "negative")
        return _added(out, minus.divide(-beta * math.div_no_nan(relevance, minus.value)))

    return Rule(rule, f"lrp_alpha_beta({alpha}, {beta})")


@ready_made
def lrp_z_plus():
    """LRP-z+: positive contributions only; alpha-beta with alpha 1. Montavon et al. 2017, arXiv 1512.02479."""
    rule = lrp_alpha_beta(1.0, 0.0)
    rule.__name__ = "lrp_z_plus()"
    return rule


@ready_made
def lrp_flat():
    """LRP-flat: relevance spread evenly over the inputs an output sees, as if inputs and weights were 1. Lapuschkin 2019."""
    return Rule(lambda op, r, *_, default: _even(op, "flat", r), "lrp_flat()")


@ready_made
def lrp_w_square():
    """LRP-w^2: in proportion to the squares of the weights. Montavon et al. 2017, arXiv 1512.02479, section 4.1."""
    return Rule(lambda op, r, *_, default: _even(op, "square", r), "lrp_w_square()")


def _even(op, kind, relevance):
    part = _part(op, kind)
    return part.divide(math.div_no_nan(relevance, part.value))


@ready_made
def lrp_z_box(low, high, epsilon=1e-9):
    """LRP-z^B for the first layer: inputs lie between `low` and `high` (numbers, or tensors that broadcast).

    R_i = sum_j (x_i w_ij - low w_ij^+ - high w_ij^-) / z_j R_j. Montavon et al. 2017, arXiv 1512.02479, section 4.2.
    """

    def rule(op, relevance, *_, default):
        if op.type not in BILINEAR:
            raise TypeError(f"lrp_z_box is for products with weights and convolutions, not for {op.describe()}.")

        def bound(value):
            return lambda t: array.zeros_like(t) + convert_to_tensor(value, dtype=t.dtype)

        part = _Part(op, [(1, list(op.inputs)),
                          (-1, _replaced(op, data=bound(low), weight=_positive)),
                          (-1, _replaced(op, data=bound(high), weight=_negative))])
        return part.divide(relevance / _stable(part.value, epsilon))

    return Rule(rule, f"lrp_z_box({low}, {high})")


def lrp_pass(op, relevance, *_):
    """Relevance passes unchanged to the first input on the path: activations; a sum whose bias shall absorb nothing."""
    out = [None] * len(op.inputs)
    out[_on_path(op)[0]] = relevance
    return out


def lrp_softmax(op, relevance):
    """R_i = x_i (R_i - s_i sum_j R_j), for softmax in attention. Achtibat et al. 2024 (AttnLRP), arXiv 2402.05602, eq. 13."""
    total = reduce_sum(relevance, axis=-1, keepdims=True)
    return op.inputs[0] * (relevance - op.outputs[0] * total)


def _added(*lists):
    out = []
    for terms in zip(*lists):
        terms = [t for t in terms if t is not None]
        out.append(None if not terms else terms[0] if len(terms) == 1 else math.add_n(terms))
    return out


# -- excitation backprop --------------------------------------------------------------------------------


@ready_made
def excitation():
    """Excitation backprop for one linear operation: in proportion to x_i w_ij^+, inputs being not negative.

    Zhang et al. 2016, arXiv 1608.00507, eq. 2.
    """
    return Rule(lambda op, r, *_, default: _even(op, "excitation", r), "excitation()")


# -- presets: which rule for which layer ------------------------------------------------------------------


def lrp_preset(dense, convolution, first=None, last=None, absorb_bias=True, epsilon=1e-6):
    """Returns overrides that cover a whole network: a list for `overrides=`, `tf.View` or `tf.overriding`.

    Args:
      dense: rule of matrix products.
      convolution: rule of convolutions.
      first, last: rule of the first and the last of all these on the path, instead.
      absorb_bias: a bias takes its share of relevance away (Bach et al.); False leaves all with the inputs, so that the
        sum of relevance is kept.
      epsilon: of sums, average pooling and normalisation.
    """
    spread = lrp_epsilon(epsilon)
    linear = sel.type(*DENSE, *CONVOLUTION)
    layers = [] if first is None else [(sel.first(linear), first)]
    layers += [] if last is None else [(sel.last(linear), last)]
    layers += [(sel.type(*CONVOLUTION), convolution), (sel.type(*DENSE), dense)]

    def add(op, relevance, *_, default):
        if len(_on_path(op)) == 1 and not absorb_bias:
            return lrp_pass(op, relevance)
        return spread(op, relevance, default=default)

    layers += [(sel.type(*SUM), Rule(add, "lrp_sum")), (sel.type(*POOL, *NORM), spread),
               (sel.type(*ACTIVATION), lrp_pass), (sel.type("Softmax"), lrp_softmax)]
    # A network need not have every kind of layer.
    return [Override(s, rule, layer="preset", optional=True) for s, rule in layers]


def lrp_epsilon_plus(epsilon=1e-6, first=None, **options):
    """Preset: epsilon for dense layers, z+ for convolutions; `first=rules.lrp_flat()` smooths over the input."""
    return lrp_preset(lrp_epsilon(epsilon), lrp_z_plus(), first, epsilon=epsilon, **options)


def lrp_epsilon_alpha2_beta1(epsilon=1e-6, first=None, **options):
    """Preset: epsilon for dense layers, alpha-beta (2, 1) for convolutions."""
    return lrp_preset(lrp_epsilon(epsilon), lrp_alpha_beta(2.0, 1.0), first, epsilon=epsilon, **options)


def lrp_epsilon_gamma_box(low, high, epsilon=1e-6, gamma=0.25, **options):
    """Preset: epsilon for dense layers, gamma for convolutions, z^B with the data's bounds for the first layer."""
    return lrp_preset(lrp_epsilon(epsilon), lrp_gamma(gamma), lrp_z_box(low, high), epsilon=epsilon, **options)


def excitation_backprop():
    """Preset: excitation backprop through the whole network. Zhang et al. 2016, arXiv 1608.00507."""
    return lrp_preset(excitation(), excitation(), absorb_bias=False)


# -- DeepLIFT -------------------------------------------------------------------------------------------------


def deeplift_rescale(references, epsilon=1e-6):
    """Returns DeepLIFT's Rescale rule for element-wise non-linear operations: slope (y - y0) / (x - x0), not dy/dx.

    Then (x - x0) * gradient are contributions that add up to the output's difference from the reference's. Shrikumar et al.
    2017, arXiv 1704.02685, section 3.5.1.

    Args:
      references: {input tensor: its reference value}: the forward operations are built once more on these.
      epsilon: where |x - x0| is smaller, the usual gradient is taken.

    Raises:
      ValueError: (when gradients are built) an operation inside a loop or branch, which is not built again.

    Example:
      slopes = tf.gradients(logit, x, overrides={"Relu": rules.deeplift_rescale({x: zeros})})[0]
      contributions = (x - zeros) * slopes
    """
    values = {t: convert_to_tensor(v, dtype=t.dtype) for t, v in references.items()}

    def rule(op, dy, *_, default):
        x, y = op.inputs[0], op.outputs[0]
        if not any(t.graph is op.graph for t in values):
            raise ValueError(f"deeplift_rescale: {op.describe()} is not in the graph of the references; what is inside a "
                             "loop or branch has no reference run.")
        dx = x - replay(x, values)
        rise = y - replay(y, values)
        flat = math.abs(dx) < array.ones_like(dx) * epsilon
        slope = rise / compare.select(flat, array.ones_like(dx), dx)
        return [compare.select(flat, convert_to_tensor(default()[0]), dy * slope)] + [None] * (len(op.inputs) - 1)

    return Rule(rule, "deeplift_rescale")


def replay(tensor, values):
    """Returns what `tensor` is when some tensors have other values; `values` {tensor: value} grows by what is built.

    Operations that do not depend on the tensors of `values` are shared, not built again.
    """
    ops, stack = {tensor.op}, [tensor.op]
    while stack:
        for t in stack.pop().inputs:
            if t.op not in ops and t not in values:
                ops.add(t.op)
                stack.append(t.op)
    for op in sorted(ops, key=lambda op: op.id):
        if any(t in values for t in op.inputs) and not all(t in values for t in op.outputs):
            made = _again(op, [values.get(t, t) for t in op.inputs])
            values.update((t, new) for t, new in zip(op.outputs, made.outputs) if t not in values)
    return values.get(tensor, tensor)
