"""Names that are not there: what Regrad leaves out of TensorFlow 1, what people guess from other libraries, and what to write.

It is the end of the message of an AttributeError, or of a failed import.
"""

import functools
import re

ABSENT = {
    "autograph.to_graph": "tf.cond and tf.while_loop choose and repeat",
    "contrib.learn.datasets": "load the data with NumPy, and feed it; sklearn.datasets.load_digits() has digits",
    "contrib.learn.Estimator": "tf.estimator.Estimator takes model functions",
    "contrib.learn.Experiment": "tf.estimator.train_and_evaluate does both",
    "distribute.experimental": "one process computes",
    "examples": "load the data with NumPy, and feed it; sklearn.datasets.load_digits() has digits",
    "function": "the graph is built once, by calling the function once, and tf.Session().run runs it",
    "GradientTape": "tf.gradients differentiates graphs",
    "keras.applications": "it has no weights to download; a model's description and weights in HDF5 are loaded",
    "keras.utils.get_file": "it downloads nothing; urllib.request.urlretrieve does",
    "keras.utils.HDF5Matrix": "`fit` takes data sets of h5py, with shuffle='batch'",
    "keras.utils.multi_gpu_model": "one process computes, with the model as it is",
    "keras.utils.model_to_dot": "model.summary() prints the layers",
    "keras.utils.plot_model": "model.summary() prints the layers",
    "keras.wrappers": "call `fit`, `predict` and `evaluate`",
    "load_op_library": "tf.define_op makes op types, in Python or in C++",
    "optimizers": "tf.train has the optimizers",
    "ragged": "pad the rows to one length, and mask",
    "RaggedTensor": "pad the rows to one length, and mask",
}


# Names that are guessed, below `tf`, and the words that are said; a line that begins further in goes on.
_GUESSED = """
    grad grads grad_fn gradient backward autograd value_and_grad compute_gradients: tf.gradients(ys, xs) gives the
        gradients of ys with respect to xs, as tensors to be run
    hvp hessian_vector vhp hessp: tf.hessian_vector_product(y, xs, vs) multiplies the Hessian by vectors
    vjp pullback vector_jacobian_product: tf.gradients(ys, xs, grad_ys=v) multiplies v by the Jacobian
    pushforward jacobian_vector_product jvps: tf.forward_gradients(ys, xs, vs), also tf.jvp, multiplies the Jacobian
        by vectors
    jacrev jacfwd jacobians: tf.jacobian(y, x)
    hessian: tf.hessians(y, xs)
    grad_reverse GradReverse gradient_reversal GradientReversal reverse_grad revgrad flip_gradient grad_reversal
        ReverseLayerF rules.grad_reverse rules.gradient_reversal: tf.reverse_gradient(x, strength) passes x on and
        reverses its gradient
    no_grad detach stop_grad enable_grad inference_mode set_grad_enabled nn.stop_gradient lax: tf.stop_gradient(x)
        passes x on and its gradient not; gradients are made only where tf.gradients asks for them
    ste STE StraightThrough straight_through_estimator rules.ste nn.straight_through: tf.straight_through(f) computes
        f and passes the gradient on as it is, or by rules.surrogate
    checkpoint remat recompute gradient_checkpoint: tf.recompute_grad(f) computes f again on the way back
    custom_vjp custom_jvp custom_grad Function: tf.custom_gradient takes a function that returns its value and its
        gradient
    jit pjit compile xla: tf.Session().run compiles what it runs
    vmap pmap: tf.vectorized_map(f, xs) and tf.map_fn(f, xs) call f with each row
    clip_grad_norm clip_grad_norm_ nn.clip_grad_norm_: tf.clip_by_global_norm(gradients, norm)
    rules.pcgrad rules.PCGrad: tf.pcgrad(losses, variables), or accumulate={x: rules.accumulate_pcgrad}
    rules.lrp rules.LRP rules.relevance lrp LRP: rules.lrp_epsilon, lrp_gamma, lrp_alpha_beta, lrp_z_plus ... are
        rules, rules.lrp_preset(name) is one for a net
    rules.guided_backprop rules.guided rules.deconvnet: rules.guided_relu and rules.deconvnet_relu are rules of Relu
    rules.deeplift rules.DeepLift rules.rescale: rules.deeplift_rescale
    rules.clip_value rules.clip_by_value rules.clip_by_norm: rules.clip(low, high), rules.clip_norm(limit)
    rules.multiply rules.weight: rules.scale(factor)
    sel.regex sel.pattern sel.match sel.glob: sel.name(pattern) takes patterns with * and ?; sel.where(lambda
        op: re.search(r'...', op.name)) any condition
    sel.layer sel.op sel.optype sel.op_type sel.module sel.kind: sel.type('Relu') takes op types, sel.scope('net')
        name scopes, sel.name('net/*') names
    sel.all sel.any: sel.everything
    tensor array asarray as_tensor from_numpy FloatTensor: tf.constant(value) or tf.convert_to_tensor(value)
    Parameter nn.Parameter parameter: tf.get_variable(name, shape) or tf.Variable(value)
    arange: tf.range(limit)
    cat concatenate hstack vstack: tf.concat(values, axis)
    unsqueeze: tf.expand_dims(x, axis)
    permute swapaxes: tf.transpose(x, perm)
    randn normal: tf.random_normal(shape)
    rand uniform: tf.random_uniform(shape)
    manual_seed seed random.set_seed random.seed: tf.set_random_seed(seed) seeds the graph
    mm bmm dot: tf.matmul(a, b)
    sum: tf.reduce_sum(x, axis)
    mean: tf.reduce_mean(x, axis)
    max amax: tf.reduce_max(x, axis)
    min amin: tf.reduce_min(x, axis)
    prod: tf.reduce_prod(x, axis)
    std: tf.reduce_std(x, axis)
    var: tf.reduce_variance(x, axis)
    all: tf.reduce_all(x, axis)
    any: tf.reduce_any(x, axis)
    logsumexp: tf.reduce_logsumexp(x, axis)
    clip clamp: tf.clip_by_value(x, low, high)
    cum_sum: tf.cumsum(x)
    relu nn.ReLU: tf.nn.relu(x)
    softmax: tf.nn.softmax(x)
    softplus: tf.nn.softplus(x)
    mse: tf.squared_difference(x, y)
    gt: tf.greater(x, y)
    lt: tf.less(x, y)
    optim optimizer optax: tf.train has the optimizers, as tf.train.AdamOptimizer(rate).minimize(loss)
    save load load_state_dict: tf.train.Saver().save(session, path) and .restore(session, path)
    nn.functional nn.F: tf.nn has functions, tf.layers layers
    nn.Module Module: tf.keras.Model, or functions with tf.variable_scope
    nn.Sequential: tf.keras.Sequential
    nn.Linear nn.Dense: tf.layers.dense(x, units)
    nn.Conv2d nn.Conv nn.Conv2D: tf.layers.conv2d(x, filters, size)
    nn.BatchNorm2d nn.BatchNorm1d nn.BatchNorm: tf.layers.batch_normalization(x, training=...)
    nn.Dropout nn.Dropout2d: tf.layers.dropout(x, rate, training=...)
    nn.Flatten: tf.layers.flatten(x)
    nn.LayerNorm nn.layer_norm: tf.contrib.layers.layer_norm(x)
    nn.Embedding: tf.nn.embedding_lookup(table, ids)
    nn.LSTM: tf.nn.rnn_cell.LSTMCell with tf.nn.dynamic_rnn
    nn.GRU: tf.nn.rnn_cell.GRUCell with tf.nn.dynamic_rnn
    nn.gelu nn.GELU gelu: 0.5 * x * (1 + tf.erf(x / 2 ** 0.5))
    nn.silu nn.SiLU: tf.nn.swish(x)
    nn.CrossEntropyLoss nn.cross_entropy nn.NLLLoss losses.cross_entropy losses.crossentropy losses.CrossEntropyLoss
        losses.categorical_crossentropy losses.sparse_categorical_crossentropy losses.CategoricalCrossentropy
        losses.SparseCategoricalCrossentropy: tf.losses.softmax_cross_entropy(onehot_labels, logits), or
        sparse_softmax_cross_entropy for classes
    nn.BCELoss nn.BCEWithLogitsLoss losses.bce losses.binary_crossentropy losses.BinaryCrossentropy:
        tf.losses.sigmoid_cross_entropy(labels, logits)
    nn.MSELoss nn.mse_loss losses.mse losses.MSE losses.l2 losses.MeanSquaredError losses.mean_square_error:
        tf.losses.mean_squared_error(labels, predictions)
    nn.L1Loss losses.mae losses.MAE losses.l1 losses.mean_absolute_error: tf.losses.absolute_difference(labels,
        predictions)
    losses.huber losses.Huber losses.smooth_l1: tf.losses.huber_loss(labels, predictions)
    losses.hinge: tf.losses.hinge_loss(labels, logits)
    losses.regularization: tf.losses.get_regularization_losses()
    train.SGD train.SGDOptimizer train.GradientDescent: tf.train.GradientDescentOptimizer(rate)
    train.Adam: tf.train.AdamOptimizer(rate)
    train.Momentum: tf.train.MomentumOptimizer(rate, momentum)
    train.RMSprop train.RMSProp train.RMSpropOptimizer: tf.train.RMSPropOptimizer(rate)
    train.Adagrad: tf.train.AdagradOptimizer(rate)
    train.Adadelta: tf.train.AdadeltaOptimizer(rate)
    train.AdamW train.AdamWOptimizer keras.optimizers.AdamW: tf.contrib.opt.AdamWOptimizer(weight_decay, rate)
    train.Nadam train.NadamOptimizer keras.optimizers.Nadam: tf.contrib.opt.NadamOptimizer(rate)
    keras.optimizers.Ftrl train.Ftrl: tf.train.FtrlOptimizer(rate)
    keras.optimizers.LARS: tf.contrib.opt.LARSOptimizer(rate)
    keras.optimizers.schedules: tf.train.exponential_decay(rate, global_step, steps, factor) and its like are
        schedules
    keras.layers.Rescaling keras.layers.Normalization: tf.keras.layers.Lambda(lambda x: x * scale)
    keras.layers.Linear: tf.keras.layers.Dense(units)
    keras.layers.Conv2d: tf.keras.layers.Conv2D(filters, size)
    keras.losses.CrossEntropy keras.losses.CrossEntropyLoss:
        tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    keras.losses.l2: tf.keras.losses.mse
    keras.metrics.Acc keras.metrics.acc: tf.keras.metrics.CategoricalAccuracy()
    keras.ops: tf.keras.backend has Keras's functions of tensors
    keras.utils.set_random_seed: tf.set_random_seed(seed)
    parameters: tf.trainable_variables()
    numpy eval_: tf.Session().run(fetches, feed_dict) gives values
    estimator.numpy_input_fn: tf.estimator.inputs has numpy_input_fn
    contrib.gan: two losses and two optimizers, each with var_list=, train two nets
    contrib.keras: tf.keras
    contrib.summary contrib.deprecated: tf.summary
    contrib.signal: tf.signal
    contrib.feature_column: tf.feature_column
    contrib.recurrent contrib.grid_rnn: tf.nn.dynamic_rnn
    contrib.hooks: tf.train has hooks
    contrib.checkpoint: tf.train.Saver saves variables by names
    contrib.session_bundle: tf.saved_model
    contrib.distribute contrib.nccl contrib.mpi contrib.rpc contrib.verbs contrib.cluster_resolver contrib.all_reduce
        contrib.all: one process computes
    contrib.mixed_precision: tf.cast(x, tf.bfloat16)
    contrib.autograph: tf.where, tf.cond and tf.while_loop choose and repeat
    contrib.optimizer_v2: tf.train has the optimizers
    contrib.input_pipeline contrib.libsvm contrib.kafka: tf.data
    contrib.text: tf.strings
    contrib.specs: tf.contrib.layers
    contrib.tensor_forest contrib.boosted_trees contrib.factorization contrib.kernel_methods contrib.linear_optimizer
        contrib.timeseries contrib.decision_trees contrib.nearest_neighbor contrib.solvers: scikit-learn has such
        models
    contrib.model_pruning: tf.assign sets weights to zero, tf.mask_gradient keeps them there
"""


@functools.cache
def guessed():
    """Returns {name below `tf`: what to write}."""
    rows = re.sub(r"\n {8}", " ", _GUESSED).strip().split("\n")
    return {name: words for names, words in (row.strip().split(": ", 1) for row in rows) for name in names.split()}


def hint(module, name):
    """Returns the end of the message for a name that a module has not, ": Regrad leaves ..." or "; write ...", or "".

    Args:
      module: as in "tensorflow.contrib" or "regrad.autodiff.rules".
    """
    below = module.partition(".")[2].removeprefix("compat.v1").removeprefix("autodiff.").strip(".")
    below = {"selectors": "sel"}.get(below, below)
    full = f"{below}.{name}" if below else name
    if full in ABSENT:
        return f": Regrad leaves tf.{full} out; {ABSENT[full]}"
    words = guessed().get(full)
    return f"; here: {words}" if words else ""
