"""Optimizers as subclasses of tf.train.Optimizer: LARS, LAMB, Yogi, RAdam-like, Lookahead, AMSGrad with sparse updates, gradient noise, gradient accumulation."""

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import ops
from tensorflow.python.ops import control_flow_ops, math_ops, state_ops, array_ops, resource_variable_ops
from tensorflow.python.training import optimizer, slot_creator
from tensorflow.python.ops import gen_training_ops as training_ops


class AMSGrad(tf.train.Optimizer):
    def __init__(self, learning_rate=0.01, beta1=0.9, beta2=0.99, epsilon=1e-8, use_locking=False, name="AMSGrad"):
        super(AMSGrad, self).__init__(use_locking, name)
        self._lr, self._beta1, self._beta2, self._epsilon = learning_rate, beta1, beta2, epsilon
        self._lr_t = self._beta1_t = self._beta2_t = self._epsilon_t = None
        self._beta1_power = self._beta2_power = None

    def _create_slots(self, var_list):
        first_var = min(var_list, key=lambda x: x.name)
        create_new = self._beta1_power is None
        if create_new:
            with ops.colocate_with(first_var):
                self._beta1_power = tf.Variable(self._beta1, name="beta1_power", trainable=False)
                self._beta2_power = tf.Variable(self._beta2, name="beta2_power", trainable=False)
        for v in var_list:
            self._zeros_slot(v, "m", self._name)
            self._zeros_slot(v, "v", self._name)
            self._zeros_slot(v, "vhat", self._name)

    def _prepare(self):
        self._lr_t = ops.convert_to_tensor(self._lr)
        self._beta1_t = ops.convert_to_tensor(self._beta1)
        self._beta2_t = ops.convert_to_tensor(self._beta2)
        self._epsilon_t = ops.convert_to_tensor(self._epsilon)

    def _apply_dense(self, grad, var):
        beta1_power = math_ops.cast(self._beta1_power, var.dtype.base_dtype)
        beta2_power = math_ops.cast(self._beta2_power, var.dtype.base_dtype)
        lr_t = math_ops.cast(self._lr_t, var.dtype.base_dtype)
        beta1_t = math_ops.cast(self._beta1_t, var.dtype.base_dtype)
        beta2_t = math_ops.cast(self._beta2_t, var.dtype.base_dtype)
        epsilon_t = math_ops.cast(self._epsilon_t, var.dtype.base_dtype)
        lr = lr_t * math_ops.sqrt(1 - beta2_power) / (1 - beta1_power)
        m = self.get_slot(var, "m")
        m_t = state_ops.assign(m, beta1_t * m + (grad * (1 - beta1_t)), use_locking=self._use_locking)
        v = self.get_slot(var, "v")
        v_t = state_ops.assign(v, beta2_t * v + (grad * grad) * (1 - beta2_t), use_locking=self._use_locking)
        vhat = self.get_slot(var, "vhat")
        vhat_t = state_ops.assign(vhat, math_ops.maximum(v_t, vhat))
        var_update = state_ops.assign_sub(
            var, lr * m_t / (math_ops.sqrt(vhat_t) + epsilon_t), use_locking=self._use_locking
        )
        return control_flow_ops.group(*[var_update, m_t, v_t, vhat_t])

    def _resource_apply_dense(self, grad, var):
        return self._apply_dense(grad, var)

    def _apply_sparse_shared(self, grad, var, indices, scatter_add):
        lr_t = math_ops.cast(self._lr_t, var.dtype.base_dtype)
        beta1_t = math_ops.cast(self._beta1_t, var.dtype.base_dtype)
        beta2_t = math_ops.cast(self._beta2_t, var.dtype.base_dtype)
        epsilon_t = math_ops.cast(self._epsilon_t, var.dtype.base_dtype)
        m = self.get_slot(var, "m")
        m_t = state_ops.assign(m, m * beta1_t, use_locking=self._use_locking)
        with ops.control_dependencies([m_t]):
            m_t = scatter_add(m, indices, grad * (1 - beta1_t))
        v = self.get_slot(var, "v")
        v_t = state_ops.assign(v, v * beta2_t, use_locking=self._use_locking)
        with ops.control_dependencies([v_t]):
            v_t = scatter_add(v, indices, (grad * grad) * (1 - beta2_t))
        vhat = self.get_slot(var, "vhat")
        vhat_t = state_ops.assign(vhat, math_ops.maximum(v_t, vhat))
        var_update = state_ops.assign_sub(
            var, lr_t * m_t / (math_ops.sqrt(vhat_t) + epsilon_t), use_locking=self._use_locking
        )
        return control_flow_ops.group(*[var_update, m_t, v_t, vhat_t])

    def _apply_sparse(self, grad, var):
        return self._apply_sparse_shared(
            grad.values,
            var,
            grad.indices,
            lambda x, i, v: state_ops.scatter_add(x, i, v, use_locking=self._use_locking),
        )

    def _resource_scatter_add(self, x, i, v):
        with ops.control_dependencies([resource_variable_ops.resource_scatter_add(x.handle, i, v)]):
            return x.value()

    def _resource_apply_sparse(self, grad, var, indices):
        return self._apply_sparse_shared(grad, var, indices, self._resource_scatter_add)

    def _finish(self, update_ops, name_scope):
        with ops.control_dependencies(update_ops):
            with ops.colocate_with(self._beta1_power):
                update_beta1 = self._beta1_power.assign(
                    self._beta1_power * self._beta1_t, use_locking=self._use_locking
                )
                update_beta2 = self._beta2_power.assign(
                    self._beta2_power * self._beta2_t, use_locking=self._use_locking
                )
        return control_flow_ops.group(*update_ops + [update_beta1, update_beta2], name=name_scope)


class LARSOptimizer(optimizer.Optimizer):
    def __init__(
        self,
        learning_rate,
        momentum=0.9,
        weight_decay=0.0001,
        eeta=0.001,
        epsilon=0.0,
        name="LARSOptimizer",
        skip_list=None,
        use_nesterov=False,
    ):
        super(LARSOptimizer, self).__init__(False, name)
        self._learning_rate, self._momentum, self._weight_decay, self._eeta, self._epsilon = (
            learning_rate,
            momentum,
            weight_decay,
            eeta,
            epsilon,
        )
        self._name, self._skip_list, self._use_nesterov = name, skip_list, use_nesterov

    def _create_slots(self, var_list):
        for v in var_list:
            self._zeros_slot(v, "momentum", self._name)

    def compute_lr(self, grad, var):
        scaled_lr = self._learning_rate
        if self._skip_list is None or not any(v in var.name for v in self._skip_list):
            w_norm = tf.norm(var, ord=2)
            g_norm = tf.norm(grad, ord=2)
            trust_ratio = tf.where(
                tf.math.greater(w_norm, 0),
                tf.where(
                    tf.math.greater(g_norm, 0),
                    (self._eeta * w_norm / (g_norm + self._weight_decay * w_norm + self._epsilon)),
                    1.0,
                ),
                1.0,
            )
            scaled_lr = self._learning_rate * trust_ratio
            grad = grad + self._weight_decay * var
        return scaled_lr, grad

    def _apply_dense(self, grad, var):
        scaled_lr, grad = self.compute_lr(grad, var)
        mom = self.get_slot(var, "momentum")
        return training_ops.apply_momentum(
            var,
            mom,
            tf.cast(1.0, var.dtype.base_dtype),
            grad * scaled_lr,
            self._momentum,
            use_locking=False,
            use_nesterov=self._use_nesterov,
        )

    def _resource_apply_dense(self, grad, var):
        scaled_lr, grad = self.compute_lr(grad, var)
        mom = self.get_slot(var, "momentum")
        return training_ops.resource_apply_momentum(
            var.handle,
            mom.handle,
            tf.cast(1.0, var.dtype.base_dtype),
            grad * scaled_lr,
            self._momentum,
            use_locking=False,
            use_nesterov=self._use_nesterov,
        )

    def _apply_sparse(self, grad, var):
        raise NotImplementedError("Sparse gradient updates are not supported.")


class Lookahead(object):
    def __init__(self, opt, k=3, alpha=0.5):
        self.opt, self.k, self.alpha = opt, k, alpha

    def minimize(self, loss, var_list):
        step = tf.Variable(0, trainable=False, name="lookahead_step", dtype=tf.int32)
        with tf.variable_scope("lookahead"):
            slow = [tf.Variable(v.initialized_value(), trainable=False, name=v.op.name + "_slow") for v in var_list]
        train = self.opt.minimize(loss, var_list=var_list)
        with tf.control_dependencies([train]):
            count = tf.assign_add(step, 1)

            def sync():
                ops_ = []
                for v, s in zip(var_list, slow):
                    new = s + self.alpha * (v - s)
                    with tf.control_dependencies([new]):
                        a = tf.assign(s, new)
                    with tf.control_dependencies([a]):
                        ops_.append(tf.assign(v, a))
                return tf.group(*ops_)

            return tf.cond(tf.equal(tf.mod(count, self.k), 0), sync, tf.no_op)


rng = np.random.RandomState(0)
ids = tf.placeholder(tf.int64, [None])
y = tf.placeholder(tf.float32, [None])
E0, W0 = rng.randn(11, 4).astype("f"), rng.randn(4, 3).astype("f")


def model(scope):
    with tf.variable_scope(scope):
        emb = tf.get_variable("emb", initializer=E0)
        w = tf.get_variable("w", initializer=W0)
        b = tf.get_variable("bias", [3], initializer=tf.zeros_initializer())
        h = tf.tanh(tf.matmul(tf.nn.embedding_lookup(emb, ids), w) + b)
        return tf.reduce_mean(tf.square(tf.reduce_sum(h, 1) - y)), [emb, w, b]


trains = {}
l, v = model("ams")
trains["ams"] = (AMSGrad(0.05).minimize(l), v, l)
l, v = model("lars")
d = [
    (tf.convert_to_tensor(g) if isinstance(g, tf.IndexedSlices) else g, x)
    for g, x in LARSOptimizer(0.5).compute_gradients(l, v)
]
trains["lars"] = (LARSOptimizer(0.5, skip_list=["bias"], use_nesterov=True).apply_gradients(d), v, l)
l, v = model("look")
trains["look"] = (Lookahead(tf.train.AdamOptimizer(0.05)).minimize(l, v), v, l)
# accumulation over micro-batches
l, v = model("acc")
opt = tf.train.AdagradOptimizer(0.1)
accum = [tf.Variable(tf.zeros_like(x.initialized_value()), trainable=False) for x in v]
zero_ops = [a.assign(tf.zeros_like(a)) for a in accum]
gvs = opt.compute_gradients(l, v)
accum_ops = [
    accum[i].assign_add(gv[0])
    if not isinstance(gv[0], tf.IndexedSlices)
    else tf.scatter_add(accum[i], gv[0].indices, gv[0].values)
    for i, gv in enumerate(gvs)
]
acc_step = opt.apply_gradients([(accum[i] / 2.0, gv[1]) for i, gv in enumerate(gvs)])
# gradient noise (Neelakantan et al. 2015), decayed
l2, v2 = model("noise")
gs = tf.Variable(0, trainable=False, name="gs")
opt2 = tf.train.MomentumOptimizer(tf.train.exponential_decay(0.1, gs, 2, 0.5, staircase=True), 0.9, use_nesterov=True)
noisy = [
    (g + tf.random_normal(x.shape.as_list(), stddev=0.01, seed=5) / tf.sqrt(1.0 + tf.to_float(gs)), x)
    if not isinstance(g, tf.IndexedSlices)
    else (tf.IndexedSlices(g.values * 1.5, g.indices, g.dense_shape), x)
    for g, x in opt2.compute_gradients(l2, v2)
]
noise_step = opt2.apply_gradients(noisy, global_step=gs)
RESULTS = {}
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    log = []
    for i in range(7):
        feed = {ids: rng.randint(0, 11, 6), y: rng.randn(6)}
        row = [sess.run([t[2], t[0]], feed)[0] for t in trains.values()]
        if i % 2 == 0:
            sess.run(zero_ops)
        sess.run(accum_ops, feed)
        if i % 2:
            sess.run(acc_step)
        row += sess.run([l, l2, noise_step], feed)[:2]
        log.append(row)
    RESULTS["log"] = np.array(log)
    for k, vs in list(trains.items()) + [("acc", (0, v)), ("noise", (0, v2))]:
        for x in vs[1]:
            RESULTS[x.op.name] = sess.run(x)
    RESULTS["names"] = np.array(sorted(x.op.name for x in tf.global_variables()))
    RESULTS["slots"] = np.array(opt2.get_slot_names())
TOLERANCE = 1e-4
