"""`tf.contrib.quantize`: rewrites the graph of a network so that it trains, or predicts, as if it had few bits.

Weights and activations are rounded in the forward pass (`fake_quant_with_min_max_vars`), in ranges that are measured while
training and kept in variables; gradients pass as if nothing had been rounded. Batch normalisation is folded into the weights
before these are rounded, because that is what a quantised network will hold. The way is that of Jacob et al. 2018
(arXiv:1712.05877) and of Krishnamoorthi 2018 (arXiv:1806.08342), section 3.2.

A layer is a convolution, depthwise convolution or product of matrices with weights that come from a variable, then maybe
a batch normalisation or bias, then maybe a sum with another branch, then maybe an activation.
"""

import collections

import regrad as tf
from regrad.contrib.graph_editor import reroute_ts
from regrad.core.graph import get_default_graph

_LAYERS = ("Conv2D", "DepthwiseConv2dNative", "MatMul")
_ACTIVATIONS = ("Relu", "Relu6", "Identity")
_SUMS = ("Add", "AddV2", "BiasAdd")
_FUSED = ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
_FREEZE = 200000  # steps
_DECAY = 0.999


# -- what stands in the graph ------------------------------------------------------------------------------
def _through(t, *types):
    """Returns what `t` is made of, past operations of one input that leave values as they are."""
    while t.op.type in types:
        t = t.op.inputs[0]
    return t


def _variable_of(t):
    """Returns the operation of the variable that `t` reads, or None."""
    source = _through(t, "Identity").op
    return source if source.opdef.variable else None


def _weighs(t):
    """True when `t` is made of variables by operations on weights alone: reads, scaling, changes of shape."""
    stack, found = [t], False
    while stack:
        op = stack.pop().op
        if op.opdef.variable:
            found = True
        elif op.type in ("Identity", "Reshape"):
            stack.append(op.inputs[0])
        elif op.type in ("Mul", "Rsqrt", "Add", "AddV2"):
            stack += op.inputs
        elif op.type != "Const":
            return False
    return found


def _context(op):
    """Returns the name of the scope an operation is in, "" outside of all."""
    return op.name.rpartition("/")[0]


def _in_scope(scope, *ops):
    return not scope or all(op.name.startswith(scope.rstrip("/") + "/") for op in ops)


def _check_untrained(graph):
    found = sorted({op.type for op in graph.get_operations() if op.forward_op is not None or op.type.startswith((
        "Apply", "SparseApply", "ResourceApply"))})
    if found:
        raise ValueError(f"Training op found in graph: {', '.join(found)}. tf.contrib.quantize rewrites the forward pass: "
                         "call it before tf.gradients and optimizers, and build an evaluation graph of its own.")


def _with_new_inputs(op, *inputs, name):
    """Returns the output of an operation like `op`, of other inputs."""
    attrs = {k: v for k, v in op.attrs.items() if k in op.opdef.attrs}
    return op.opdef(*inputs, name=name, **attrs)


# -- batch normalisation ---------------------------------------------------------------------------------
_Norm = collections.namedtuple("_Norm", """layer out gamma beta mean variance epsilon training
    moving_mean moving_variance updates""")


def _factors(op, wanted):
    """Returns (the input that `wanted` holds for, the other) of a product, or None."""
    for one, other in (op.inputs, op.inputs[::-1]):
        if wanted(one):
            return one, other
    return None


def _is_layer(t):
    return t.op.type in _LAYERS and _variable_of(t.op.inputs[1]) is not None


def _fused_norms(graph):
    for op in graph.get_operations():
        if op.type not in _FUSED:
            continue
        x, gamma, beta, mean, variance = op.inputs
        normalised, out = x, op.outputs[0]
        if x.op.type == "Reshape" and x.op.inputs[0].op.type == "MatMul":  # rows normalised as images of one pixel
            back = [c.outputs[0] for c in out.consumers() if c.type == "Reshape"]
            if len(back) == len(out.consumers()) == 1:
                normalised, out = x.op.inputs[0], back[0]
        if not _is_layer(normalised):
            continue
        training = op.get_attr("is_training")
        if training:
            mean, variance = op.outputs[1], op.outputs[2]
            # What is handed out is the estimate for the whole population, with n - 1; what normalised had n.
            n = tf.cast(tf.size(x), variance.dtype) / tf.cast(tf.size(variance), variance.dtype)
            biased = variance * (n - 1) / n
        yield _norm(normalised.op, out, gamma, beta, mean, variance, op.get_attr("epsilon"), training,
                    biased if training else variance)


def _unfused_norms(graph):
    for op in graph.get_operations():
        norm = _unfused(op) if op.type in ("Add", "AddV2") else None
        if norm is not None:
            yield norm


def _unfused(op):
    """Returns the batch normalisation whose last operation is `op`: layer * factor + (beta - mean * factor), or None."""
    terms = _factors(op, lambda t: t.op.type == "Mul" and any(map(_is_layer, t.op.inputs)))
    if terms is None:
        return None
    product, shift = terms
    layer, factor = _factors(product.op, _is_layer)
    gamma, root = None, factor
    if factor.op.type == "Mul":
        found = _factors(factor.op, lambda t: t.op.type == "Rsqrt")
        if found is None:
            return None
        root, gamma = found
    if root.op.type != "Rsqrt" or root.op.inputs[0].op.type not in ("Add", "AddV2"):
        return None
    if shift.op.type not in ("Sub", "Mul", "Neg"):
        return None
    variance, epsilon = root.op.inputs[0].op.inputs
    beta, scaled = (shift.op.inputs if shift.op.type == "Sub" else (None, shift))
    while scaled.op.type == "Neg":
        scaled = scaled.op.inputs[0]
    found = _factors(scaled.op, lambda t: t is factor) if scaled.op.type == "Mul" else None
    if found is None:
        return None
    mean = found[1]
    while mean.op.type == "Neg":
        mean = mean.op.inputs[0]
    return _norm(layer.op, op.outputs[0], gamma, beta, mean, variance, epsilon, _variable_of(mean) is None)


def _norm(layer, out, gamma, beta, mean, variance, epsilon, training, biased=None):
    if not training:
        return _Norm(layer, out, gamma, beta, mean, variance, epsilon, False, mean, variance, ())
    (moving_mean, first), (moving_variance, second) = (_moving_average(_through(t, "Identity"), layer)
                                                             for t in (mean, variance))
    return _Norm(layer, out, gamma, beta, mean, variance if biased is None else biased, epsilon, True, moving_mean,
                 moving_variance, (first, second))


def _moving_average(t, layer):
    """Returns (value of the variable that follows `t`, the operation that moves it)."""
    for sub in t.consumers():
        if sub.type == "Sub" and _variable_of(sub.inputs[0]) is not None:
            for scaled in sub.outputs[0].consumers():
                for update in scaled.outputs[0].consumers() if scaled.outputs else ():
                    if update.type in ("AssignSub", "AssignSubVariableOp"):
                        return sub.inputs[0], update
    raise ValueError(f"Batch normalisation of {layer.describe()} has no moving average of {t.name}: folding it needs "
                     "moving averages that are updated by tf.contrib.layers.batch_norm or tf.layers.batch_normalization.")


def _fold(graph, freeze_delay):
    """Folds batch normalisations into the weights of the layers before them; returns the layers that only measure now."""
    left = set()
    for norm in [*_fused_norms(graph), *_unfused_norms(graph)]:
        takers = norm.out.consumers()
        context = _context(norm.layer)
        with graph.name_scope(f"{context}/" if context else ""), graph.control_dependencies(None):
            folded = _folded(norm, freeze_delay)
        reroute_ts(folded, norm.out, can_modify=takers)
        left.add(norm.layer)
    return left


def _folded(norm, freeze_delay):
    """Returns what the layer with its batch normalisation gives, computed with weights that hold the normalisation.

    Training, the weights are scaled by the moving averages, which change slowly; the output is scaled back so that it is
    what the statistics of the batch make of it, until `freeze_delay` steps have been made.
    """
    layer = norm.layer
    x, weights = layer.inputs
    with tf.name_scope("BatchNorm_Fold"):
        root, moving_root = tf.rsqrt(norm.variance + norm.epsilon), tf.rsqrt(norm.moving_variance + norm.epsilon)
        gamma = 1.0 if norm.gamma is None else norm.gamma
        factor = tf.multiply(moving_root, gamma, name="mul")
        beta = 0.0 if norm.beta is None else norm.beta
        bias = tf.subtract(beta, norm.mean * root * gamma, name="bias")
    if layer.type == "DepthwiseConv2dNative":
        factor = tf.reshape(factor, tf.shape(weights)[-2:], name="scale_reshape")
    scaled = tf.multiply(weights, factor, name="mul_fold")
    channels_first = layer.attrs.get("data_format", "NHWC").startswith("NC")
    data_format = "NCHW" if channels_first else "NHWC"
    out = _with_new_inputs(layer, x, scaled, name=f"{layer.name.rpartition('/')[2]}_Fold")
    if norm.training:
        with tf.name_scope("batch_norm_correction"):
            back = tf.divide(root, moving_root, name="correction_recip")
            if freeze_delay is not None:
                frozen = tf.greater_equal(tf.train.get_or_create_global_step(), freeze_delay, name="use_moving_average")
                steady = beta - norm.moving_mean * moving_root * gamma
                back = tf.where(tf.fill(tf.shape(back), frozen), tf.ones_like(back), back)
                bias = tf.where(tf.fill(tf.shape(bias), frozen), steady, bias, name="correction_offset")
                for update in norm.updates:
                    step = update.inputs[1]
                    still = tf.where(tf.fill(tf.shape(step), frozen), tf.zeros_like(step), step)
                    update._update_input(1, still)
        across = tf.reshape(back, [1, -1, 1, 1]) if channels_first else back
        out = tf.multiply(out, across, name="correction_mult")
    if layer.type == "MatMul":
        return tf.add(out, bias, name="add_fold")
    return tf.nn.bias_add(out, bias, data_format=data_format, name="add_fold")


# -- rounding --------------------------------------------------------------------------------------------
class _Quantiser:
    """How tensors are rounded: the settings of one rewriting."""

    def __init__(self, training, weight_bits, activation_bits, symmetric, delay, scope):
        self.training, self.symmetric, self.delay, self.scope = training, symmetric, delay, scope
        self.bits = {True: weight_bits, False: activation_bits}
        self.done = set()

    def insert(self, t, takers, name, weights=False, lowest=-6.0):
        """Rounds the tensor `t` for the operations `takers`, under the full name `name`."""
        if not takers or (t, weights) in self.done:
            return
        self.done.add((t, weights))
        graph = t.graph
        with graph.control_dependencies(None), tf.variable_scope(None, default_name=name, values=[t]):
            rounded = self._rounded(t, weights, lowest)
            if self.delay and self.delay > 0:
                due = tf.greater_equal(tf.train.get_or_create_global_step(), self.delay, name="activate_quant")
                rounded = tf.cond(due, lambda: rounded, lambda: t, name="delayed_quant")
        if t.dims is not None:
            rounded.set_shape(t.dims)
        reroute_ts(rounded, t, can_modify=takers)

    def _rounded(self, t, weights, lowest):
        kept = [tf.GraphKeys.GLOBAL_VARIABLES, tf.GraphKeys.MODEL_VARIABLES]
        low, high = (tf.get_variable(end, [], tf.float32, tf.constant_initializer(value), trainable=False, collections=kept)
                     for end, value in (("min", lowest), ("max", 6.0)))
        bits = {"num_bits": self.bits[weights], "narrow_range": weights}
        if self.training:
            low, high = self._measured(t, weights, low, high)
        return tf.fake_quant_with_min_max_vars(t, low, high, name="FakeQuantWithMinMaxVars", **bits)

    def _measured(self, t, weights, low, high):
        """Returns the ends of the range, once the variables hold those of `t`: of the last step, or their moving average."""
        least, most = tf.reduce_min(t, name="BatchMin"), tf.reduce_max(t, name="BatchMax")
        if self.symmetric:
            levels = 2 ** self.bits[weights]
            ratio = -1.0 if weights else -(levels - 2) / levels  # of the lowest to the highest value
            least, most = tf.minimum(least, most / ratio), tf.maximum(most, least * ratio)
        least, most = tf.minimum(least, 0.0), tf.maximum(most, 0.0)
        if weights:
            return tf.assign(low, least, name="AssignMinLast"), tf.assign(high, most, name="AssignMaxLast")
        return tuple(tf.train.moving_averages.assign_moving_average(v, tf.stop_gradient(end), _DECAY, name=name)
                     for v, end, name in ((low, least, "AssignMinEma"), (high, most, "AssignMaxEma")))


def _name(context, what):
    return f"{context}/{what}" if context else what


def _bias_of(t):
    """Returns the sum of the tensor `t` with a bias, past the scaling of a folded batch normalisation; `t` without one."""
    for op in t.consumers():
        if op.type == "Mul" and op.name.endswith("correction_mult"):
            return _bias_of(op.outputs[0])
        if op.type in _SUMS and op.inputs[0] is t and (op.name.endswith("add_fold") or _variable_of(op.inputs[1]) is not None):
            return op.outputs[0]
    return t


def _branch_sum(t):
    """Returns the sum of `t` with another branch of the network, or None."""
    for op in t.consumers():
        if op.type in ("Add", "AddV2"):
            other = op.inputs[1] if op.inputs[0] is t else op.inputs[0]
            if other.op.type != "Const" and _variable_of(other) is None:
                return op.outputs[0]
    return None


def _activation(t):
    return next((op.outputs[0] for op in t.consumers() if op.type in _ACTIVATIONS), None)


def _quantise(graph, quantiser, measuring):
    for layer in graph.get_operations():
        if layer.type not in _LAYERS or layer in measuring or not _weighs(layer.inputs[1]):
            continue
        context = _context(layer)
        if _in_scope(quantiser.scope, layer):
            quantiser.insert(layer.inputs[1], [layer], _name(context, "weights_quant"), weights=True)
        out = _bias_of(layer.outputs[0])
        active = _activation(out)
        joined = _branch_sum(out) if active is None else None
        if joined is not None:
            active = _activation(joined)
            if _in_scope(quantiser.scope, layer):
                quantiser.insert(out, [joined.op], _name(context, "conv_quant"))
            if active is None and _in_scope(quantiser.scope, layer):
                quantiser.insert(joined, joined.consumers(), _name(_context(joined.op), "add_quant"))
        if active is None and joined is None:
            active = out
        if active is None or not _in_scope(quantiser.scope, active.op):
            continue
        takers = active.consumers()
        later = _branch_sum(active) if active is not out else None
        where = context if joined is None else _context(joined.op)
        quantiser.insert(active, takers, _name(where, "act_quant"), lowest=0.0)
        if later is not None and _activation(later) is None:
            quantiser.insert(later, later.consumers(), _name(_context(later.op), "post_activation_bypass_quant"))


# -- public functions --------------------------------------------------------------------------------------
def _rewrite(graph, training, weight_bits, activation_bits, symmetric, quant_delay, freeze_bn_delay, scope):
    graph = get_default_graph() if graph is None else graph
    _check_untrained(graph)
    with graph.as_default():
        measuring = _fold(graph, freeze_bn_delay if training else None)
        _quantise(graph, _Quantiser(training, weight_bits, activation_bits, symmetric, quant_delay, scope), measuring)


def create_training_graph(input_graph=None, quant_delay=0):
    """Rewrites a graph in place so that training rounds weights and activations to 8 bits.

    Call it when the forward pass and the loss stand, before `tf.gradients` and optimizers. Weights take the range they have,
    activations a moving average of theirs (variables `<layer>/weights_quant/min` ... and `<layer>/act_quant/min` ...); batch
    normalisation is folded into the weights, and after 200,000 global steps works with its moving averages.

    Args:
      input_graph: the graph; the default one when None.
      quant_delay: global steps during which ranges are measured, but nothing is rounded yet.

    Raises:
      ValueError: the graph holds gradients or training steps already, or a batch normalisation without moving averages.
    """
    _rewrite(input_graph, True, 8, 8, False, quant_delay, _FREEZE, None)


def create_eval_graph(input_graph=None):
    """Rewrites a graph in place so that it rounds weights and activations to 8 bits, in the ranges that training measured.

    The graph is that of the network for prediction (`is_training=False`); restore what training saved after this call.

    Args:
      input_graph: the graph; the default one when None.

    Raises:
      ValueError: the graph holds gradients or training steps.
    """
    _rewrite(input_graph, False, 8, 8, False, None, None, None)


def experimental_create_training_graph(input_graph=None, weight_bits=8, activation_bits=8, symmetric=False, quant_delay=0,
                                       freeze_bn_delay=None, scope=None):
    """`create_training_graph` with settings.

    Args:
      input_graph, quant_delay: as there.
      weight_bits, activation_bits: how many bits weights and activations keep.
      symmetric: ranges reach as far below 0 as above.
      freeze_bn_delay: global steps after which batch normalisation works with its moving averages, which then stay; None:
        never.
      scope: round only what is in this name scope.

    Raises:
      ValueError: as there.
    """
    _rewrite(input_graph, True, weight_bits, activation_bits, symmetric, quant_delay, freeze_bn_delay, scope)


def experimental_create_eval_graph(input_graph=None, weight_bits=8, activation_bits=8, symmetric=False, quant_delay=None,
                                   scope=None):
    """`create_eval_graph` with the settings of `experimental_create_training_graph`."""
    _rewrite(input_graph, False, weight_bits, activation_bits, symmetric, quant_delay, None, scope)


__all__ = ["create_eval_graph", "create_training_graph", "experimental_create_eval_graph",
           "experimental_create_training_graph"]
