"""Relevance instead of gradients: LRP, excitation backprop, DeepLIFT.

A relevance rule takes the relevance of an operation's output and divides it among the inputs; so `gradients`, called with
the output itself as `grad_ys` and with such rules as overrides, returns relevance:

    logit = tf.reduce_max(logits, axis=1)
    relevance, = tf.gradients(logit, image, grad_ys=[logit], overrides=rules.lrp_epsilon_plus())

Relevance is divided among those inputs that lie on the path; what does not (a bias, a constant) absorbs its share. The
rules know the linear operations: matrix products, convolutions, sums, products, average pooling; a bias behind one belongs to
it (relevance_layers.py). Max pooling gives all to the winner, which is its gradient already; shapes, slices and joins need no
rule either.

Bach et al. 2015, "On pixel-wise explanations ...", PLoS ONE 10(7); Montavon et al. 2019, "Layer-wise relevance propagation:
an overview"; the presets are those of Zennit (Anders et al. 2021, arXiv 2106.13200).
"""

from regrad.autodiff import selectors as sel
from regrad.autodiff.overrides import Override
from regrad.autodiff.partials import element
from regrad.autodiff.relevance_layers import (
    BATCH_NORM,
    CONVOLUTION,
    DENSE,
    NORM,
    POOL,
    SUM,
    Layer,
    RelevanceRule,
    affine,
    again,
    is_bilinear,
    on_path,
    vjp,
)
from regrad.autodiff.rules import Rule, apply_rule, as_grads, ready_made, rule_name
from regrad.core.convert import convert_to_tensor
from regrad.core.copying import copy_op
from regrad.ops import array, compare, math
from regrad.ops.reduce import reduce_sum

ACTIVATION = ("Relu", "Relu6", "Elu", "Selu", "LeakyRelu", "Softplus", "Softsign", "Tanh", "Sigmoid", "Neg")
SIGNED = frozenset((*DENSE, *CONVOLUTION, *POOL, *BATCH_NORM, "Mul", "BiasAdd", "Add", "AddN"))  # contributions have signs


# -- contributions ------------------------------------------------------------------------------------


class _Part:
    """Part of a layer's output: a sum of its operation applied to other inputs, each with a coefficient, and of the bias.

    A coefficient is a number, or a tensor of the output's shape: what a normalisation multiplies the output with.
    """

    def __init__(self, op, terms, bias, n_inputs):
        self.op, self.n_inputs = op, n_inputs
        self.terms = [(c, op if inputs == list(op.inputs) else again(op, inputs)) for c, inputs in terms]
        values = [_times(c, t.outputs[0]) for c, t in self.terms] + ([] if bias is None else [bias])
        self.value = values[0] if len(values) == 1 else math.add_n(values)

    def divide(self, s):
        """Returns, per input on the path, its contribution to the outputs, weighed by `s` and summed."""
        receivers = on_path(self.op)
        share = 1.0 / len(receivers) if is_bilinear(self.op) else 1.0
        out = [None] * self.n_inputs
        for c, term in self.terms:
            grads = vjp(term, _times(c, s))
            for i in receivers:
                if grads[i] is not None:
                    r = term.inputs[i] * convert_to_tensor(grads[i])
                    r = r if share == 1.0 else share * r
                    out[i] = r if out[i] is None else out[i] + r
        return out


def _times(c, t):
    return t if isinstance(c, int) and c == 1 else c * t


def _positive(t):
    return math.maximum(t, array.zeros_like(t))


def _negative(t):
    return math.minimum(t, array.zeros_like(t))


def _same(t):
    return t


class _Linear:
    """A layer's operation, ready to be divided: a normalisation is the product that it comes to.

    Attributes:
      op: the operation; scale, bias: of the layer's output, or None.
    """

    def __init__(self, op, biased):
        self.scale, self.bias = Layer(op).terms(biased)
        self.op, self.n_inputs = op, len(op.inputs)
        if op.type in BATCH_NORM:
            factor, shift = affine(op, 0)
            self.op = math.multiply(op.inputs[0], factor).op
            shift = shift if biased else None
            shift = shift if shift is None or self.scale is None else shift * self.scale
            self.bias = shift if self.bias is None else self.bias if shift is None else self.bias + shift

    def inputs(self, data, weight):
        """Returns the operation's inputs with the data, and everything else, replaced; integer inputs stay."""
        receivers = on_path(self.op)
        inputs = list(self.op.inputs)
        for i, t in enumerate(inputs):
            if t.dtype._kind == "f":
                inputs[i] = (data if i == receivers[0] or not is_bilinear(self.op) else weight)(t)
        return inputs

    def terms(self, pairs, flipped=None):
        """Returns the terms of a _Part made of (change of the data, change of the weights) `pairs`.

        Where the layer has a scale, its negative elements take the `flipped` pairs: (a w)+ = a+ w+ + a- w-.
        """
        if not is_bilinear(self.op) and flipped is not None:  # a sum or mean has weights that are positive
            pairs, flipped = pairs[:1], flipped[:1]
        if self.scale is None:
            return [(1, self.inputs(*p)) for p in pairs]
        if flipped is None:
            return [(self.scale, self.inputs(*p)) for p in pairs]
        return [(change(self.scale), self.inputs(*p)) for change, some in ((_positive, pairs), (_negative, flipped))
                for p in some]

    def part(self, terms, bias=None):
        return _Part(self.op, terms, bias, self.n_inputs)

    def all(self):
        return self.part(self.terms([(_same, _same)]), self.bias)

    def positive(self):
        return self.part(self.terms(_PLUS, _MINUS), None if self.bias is None else _positive(self.bias))

    def negative(self):
        return self.part(self.terms(_MINUS, _PLUS), None if self.bias is None else _negative(self.bias))


_PLUS = [(_positive, _positive), (_negative, _negative)]
_MINUS = [(_negative, _positive), (_positive, _negative)]  # of a sum the first counts


def _signed(op, biased):
    if op.type not in SIGNED:
        raise TypeError(f"This relevance rule needs a linear operation, one of {', '.join(sorted(SIGNED))}; {op.describe()} is "
                        "none: give it rules.lrp_epsilon() or rules.lrp_pass.")
    return _Linear(op, biased)


def _stable(z, epsilon):
    one = array.ones_like(z)
    return z + epsilon * compare.select(z < array.zeros_like(z), -one, one)


# -- LRP --------------------------------------------------------------------------------------------------


@ready_made
def lrp_epsilon(epsilon=1e-6, bias=True):
    """LRP-epsilon: each input gets relevance in proportion to its contribution; `epsilon` absorbs where they cancel.

    R_i = sum_j x_i w_ij / (z_j + epsilon sign z_j) R_j, with z_j = sum_i x_i w_ij + b_j, also where the bias is an operation of
    its own. Bach et al. 2015, eq. 58. For every linear operation; `bias` False leaves b out, so that it absorbs nothing.
    """

    def rule(op, relevance, *_, default):
        part = _Linear(op, bias).all()
        return part.divide(relevance / _stable(part.value, epsilon))

    return RelevanceRule(rule, f"lrp_epsilon({epsilon})", bias)


@ready_made
def lrp_gamma(gamma=0.25, epsilon=1e-9, bias=True):
    """LRP-gamma: contributions of the output's own sign count 1 + gamma times.

    For inputs and outputs that are not negative it is R_i = sum_j x_i (w_ij + gamma w_ij^+) / z_j' R_j, Montavon et al. 2019,
    section 10.2.3; for others the generalised rule of Andeol et al. 2021, arXiv 2102.10996. A bias counts as one more input;
    `bias` False leaves it out.
    """

    def rule(op, relevance, *_, default):
        layer = _signed(op, bias)
        whole, plus, minus = layer.all(), layer.positive(), layer.negative()
        up = math.cast(whole.value >= array.zeros_like(whole.value), relevance.dtype)
        favoured = up * plus.value + (1.0 - up) * minus.value
        s = relevance / _stable(whole.value + gamma * favoured, epsilon)
        return _added(whole.divide(s), plus.divide(gamma * up * s), minus.divide(gamma * (1.0 - up) * s))

    return RelevanceRule(rule, f"lrp_gamma({gamma})", bias)


@ready_made
def lrp_alpha_beta(alpha=2.0, beta=1.0, bias=True):
    """LRP-alpha-beta: `alpha` of the relevance by positive contributions, minus `beta` by negative ones.

    Bach et al. 2015, eq. 60. An output whose contributions all have one sign gives that sign's share alone. A bias counts as
    one more input; `bias` False leaves it out.

    Raises:
      ValueError: alpha - beta is not 1, so that relevance would not be conserved.
    """
    if abs(alpha - beta - 1.0) > 1e-9 or beta < 0:
        raise ValueError(f"lrp_alpha_beta: alpha - beta must be 1 and beta not negative, got {alpha} and {beta}.")

    def rule(op, relevance, *_, default):
        layer = _signed(op, bias)
        plus = layer.positive()
        out = plus.divide(alpha * math.div_no_nan(relevance, plus.value))
        if not beta:
            return out
        minus = layer.negative()
        return _added(out, minus.divide(-beta * math.div_no_nan(relevance, minus.value)))

    return RelevanceRule(rule, f"lrp_alpha_beta({alpha}, {beta})", bias)


@ready_made
def lrp_z_plus(bias=True):
    """LRP-z+: positive contributions only; alpha-beta with alpha 1. Montavon et al. 2017, arXiv 1512.02479."""
    rule = lrp_alpha_beta(1.0, 0.0, bias)
    rule.__name__ = "lrp_z_plus()"
    return rule


@ready_made
def lrp_flat():
    """LRP-flat: relevance spread evenly over the inputs an output sees, as if inputs and weights were 1. Lapuschkin 2019."""

    def part(op):
        layer = _signed(op, False)
        return layer.part([(1, layer.inputs(array.ones_like, array.ones_like))])

    return RelevanceRule(lambda op, r, *_, default: _even(part(op), r), "lrp_flat()", bias=False)


@ready_made
def lrp_w_square(bias=True):
    """LRP-w^2: in proportion to the squares of the weights. Montavon et al. 2017, arXiv 1512.02479, section 4.1.

    A bias is one more weight, as in Zennit; `bias` False leaves it out.
    """

    def part(op):
        layer = _signed(op, bias)
        scale = 1 if layer.scale is None else math.square(layer.scale)
        return layer.part([(scale, layer.inputs(array.ones_like, math.square))],
                          None if layer.bias is None else math.square(layer.bias))

    return RelevanceRule(lambda op, r, *_, default: _even(part(op), r), "lrp_w_square()", bias)


def _even(part, relevance):
    return part.divide(math.div_no_nan(relevance, part.value))


@ready_made
def lrp_z_box(low, high, epsilon=1e-9):
    """LRP-z^B for the first layer: inputs lie between `low` and `high` (numbers, or tensors that broadcast).

    R_i = sum_j (x_i w_ij - low w_ij^+ - high w_ij^-) / z_j R_j. Montavon et al. 2017, arXiv 1512.02479, section 4.2. A bias
    absorbs nothing.
    """

    def rule(op, relevance, *_, default):
        if not is_bilinear(op):
            raise TypeError(f"lrp_z_box is for products with weights and convolutions, not for {op.describe()}.")
        layer = _Linear(op, False)

        def bound(value):
            return lambda t: array.zeros_like(t) + convert_to_tensor(value, dtype=t.dtype)

        def less(pair, flipped):
            return [(_times(-1.0, c), inputs) for c, inputs in layer.terms([pair], [flipped])]

        at_low, at_high = bound(low), bound(high)
        part = layer.part([*layer.terms([(_same, _same)]), *less((at_low, _positive), (at_low, _negative)),
                           *less((at_high, _negative), (at_high, _positive))])
        return part.divide(relevance / _stable(part.value, epsilon))

    return RelevanceRule(rule, f"lrp_z_box({low}, {high})", bias=False)


def _leaves_bias_out(rule):
    """Decorator: at a sum that belongs to a layer, the rule leaves the layer without that bias."""
    rule.leaves_bias_out = True
    return rule


@_leaves_bias_out
def lrp_pass(op, relevance, *_):
    """Relevance passes unchanged to the first input on the path: activations; a sum whose bias shall absorb nothing."""
    out = [None] * len(op.inputs)
    out[on_path(op)[0]] = relevance
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

    Zhang et al. 2016, arXiv 1608.00507, eq. 2. A bias absorbs nothing.
    """

    def part(op):
        layer = _signed(op, False)
        flipped = [(_same, _negative)] if is_bilinear(layer.op) else []
        return layer.part(layer.terms([(_same, _positive)], flipped))

    return RelevanceRule(lambda op, r, *_, default: _even(part(op), r), "excitation()", bias=False)


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
    spread = lrp_epsilon(epsilon, bias=absorb_bias)
    linear = sel.type(*DENSE, *CONVOLUTION)
    layers = [] if first is None else [(sel.first(linear), first)]
    layers += [] if last is None else [(sel.last(linear), last)]
    layers += [(sel.type(*CONVOLUTION), convolution), (sel.type(*DENSE), dense), (sel.type(*SUM, *POOL, *NORM), spread),
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
      x, reference = tf.constant([-1.0, 3.0]), tf.constant([1.0, 1.0])
      slopes = tf.gradients(tf.nn.relu(x), x, overrides={"Relu": tf.rules.deeplift_rescale({x: reference})})[0]
      print(tf.Session().run((x - reference) * slopes))
      #> [-1.  2.]
    """
    values = _values(references)

    def rule(op, dy, *_, default):
        x, y = op.inputs[0], op.outputs[0]
        if not any(t.graph is op.graph for t in values):
            raise ValueError(f"deeplift_rescale: {op.describe()} is not in the graph of the references; what is inside a "
                             "loop or branch has no reference run.")
        used = set()
        dx = x - _replay(x, values, used)
        rise = y - _replay(y, values, used)
        if not used:
            raise ValueError(f"deeplift_rescale: {op.describe()} depends on none of the references "
                             f"({', '.join(t.name for t in values)}): it would keep its usual gradient.")
        flat = math.abs(dx) < array.ones_like(dx) * epsilon
        slope = rise / compare.select(flat, array.ones_like(dx), dx)
        return [compare.select(flat, convert_to_tensor(default()[0]), dy * slope)] + [None] * (len(op.inputs) - 1)

    return Rule(rule, "deeplift_rescale")


def replay(tensor, values):
    """Returns what a tensor is when some tensors or variables have other values.

    Operations that do not depend on the keys of `values` are shared, not built again; those that do keep their overrides. So a
    finished model is run at other inputs or at other weights, with gradients by those:

        moved = {w: tf.stop_gradient(w + 0.05 * g / tf.norm(g)) for w, g in zip(weights, tf.gradients(loss, weights))}
        sharpness_aware = tf.gradients(rules.replay(loss, moved), list(moved.values()))

    Args:
      tensor: a tensor.
      values: {tensor or variable: value}; a variable stands for all reads of it.

    Returns:
      A tensor of the dtype of `tensor`.

    Raises:
      ValueError: `tensor` does not depend on a key of `values`, or depends on it only through another key.
    """
    given = _values(values)
    used, made = set(), dict(given)
    again_at = _replay(tensor, made, used)
    unused = [t.name for t in given if t not in used]
    if unused:
        raise ValueError(f"replay: {tensor.name} does not depend on {', '.join(unused)}, or only through another key of "
                         "values; give the tensors and variables that it is made of, and leave out the others.")
    rules = tensor.graph.gradient_rules
    for override in list(rules):
        group = override.selector
        if override.layer == "grouped" and any(t in made and t not in given for t in group.outputs):
            outputs = [_replay(t, made, used) for t in group.outputs]
            ops = [made[op.outputs[0]].op for op in group.ops if op.outputs and op.outputs[0] in made]
            again_group = sel.Group([made.get(t, t) for t in group.inputs], outputs, group.name, ops)
            rules.append(Override(again_group, override.rule, override.order, "grouped"))
    return again_at


def _values(given):
    """Returns {tensor: value as a tensor}; a variable is its storage, which all reads of it start from."""
    return {element(t, "values"): convert_to_tensor(v, dtype=t.dtype) for t, v in given.items()}


def _replay(tensor, values, used):
    """Returns `tensor` under other `values`, to which what is built is added; `used` grows by those that it depends on."""
    if tensor in values:
        used.add(tensor)
        return values[tensor]
    ops, stack = {tensor.op}, [tensor.op]
    while stack:
        for t in stack.pop().inputs:
            if t in values:
                used.add(t)
            elif t.op not in ops:
                ops.add(t.op)
                stack.append(t.op)
    for op in sorted(ops, key=lambda op: op.id):
        if any(t in values for t in op.inputs) and not all(t in values for t in op.outputs):
            made = copy_op(op, op.graph, [values.get(t, t) for t in op.inputs], f"replay/{op.name}")
            made.forward_op = op.forward_op  # what is a gradient stays one: of its order, and for through_gradients
            if op.attached_rules:
                made.attached_rules = [r if isinstance(r, Override) else _replayed(r, op, values) for r in op.attached_rules]
            values.update((t, new) for t, new in zip(op.outputs, made.outputs) if t not in values)
    return values.get(tensor, tensor)


def _replayed(rule, op, values):
    """Returns the rule given with `op`, for its copy: what such a function has kept has its other value, too."""
    def replayed(copy, *grads, default):
        given = as_grads(apply_rule(rule, op, grads, default))
        return [None if g is None else _replay(convert_to_tensor(g), values, set()) for g in given]

    return Rule(replayed, rule_name(rule))
