"""TRPO: Fisher-vector products, conjugate gradients on the host, line search with assigned flat parameters."""

import numpy as np
import tensorflow as tf

dtype = tf.float32


def var_shape(x):
    out = [k.value for k in x.get_shape()]
    assert all(isinstance(a, int) for a in out), "shape function assumes that shape is fully known"
    return out


def numel(x):
    return np.prod(var_shape(x))


def flatgrad(loss, var_list, clip_norm=None):
    grads = tf.gradients(loss, var_list)
    if clip_norm is not None:
        grads = [tf.clip_by_norm(grad, clip_norm=clip_norm) for grad in grads]
    return tf.concat(
        axis=0,
        values=[
            tf.reshape(grad if grad is not None else tf.zeros_like(v), [numel(v)]) for (v, grad) in zip(var_list, grads)
        ],
    )


class SetFromFlat(object):
    def __init__(self, var_list, dtype=tf.float32):
        assigns = []
        shapes = list(map(var_shape, var_list))
        total_size = np.sum([np.prod(shape) for shape in shapes])
        self.theta = theta = tf.placeholder(dtype, [total_size])
        start = 0
        for shape, v in zip(shapes, var_list):
            size = np.prod(shape)
            assigns.append(tf.assign(v, tf.reshape(theta[start : start + size], shape)))
            start += size
        self.op = tf.group(*assigns)

    def __call__(self, theta):
        tf.get_default_session().run(self.op, feed_dict={self.theta: theta})


class GetFlat(object):
    def __init__(self, var_list):
        self.op = tf.concat(axis=0, values=[tf.reshape(v, [numel(v)]) for v in var_list])

    def __call__(self):
        return tf.get_default_session().run(self.op)


def normc_initializer(std=1.0):
    def _initializer(shape, dtype=None, partition_info=None):
        out = np.random.RandomState(len(shape) + shape[0]).randn(*shape).astype(np.float32)
        out *= std / np.sqrt(np.square(out).sum(axis=0, keepdims=True))
        return tf.constant(out)

    return _initializer


class DiagGaussianPd(object):
    def __init__(self, flat):
        self.flat = flat
        mean, logstd = tf.split(axis=len(flat.shape) - 1, num_or_size_splits=2, value=flat)
        self.mean, self.logstd, self.std = mean, logstd, tf.exp(logstd)

    def neglogp(self, x):
        return (
            0.5 * tf.reduce_sum(tf.square((x - self.mean) / self.std), axis=-1)
            + 0.5 * np.log(2.0 * np.pi) * tf.to_float(tf.shape(x)[-1])
            + tf.reduce_sum(self.logstd, axis=-1)
        )

    def logp(self, x):
        return -self.neglogp(x)

    def kl(self, other):
        return tf.reduce_sum(
            other.logstd
            - self.logstd
            + (tf.square(self.std) + tf.square(self.mean - other.mean)) / (2.0 * tf.square(other.std))
            - 0.5,
            axis=-1,
        )

    def entropy(self):
        return tf.reduce_sum(self.logstd + 0.5 * np.log(2.0 * np.pi * np.e), axis=-1)


class MlpPolicy(object):
    def __init__(self, name, ob):
        with tf.variable_scope(name):
            self.scope = tf.get_variable_scope().name
            obz = tf.clip_by_value(ob, -5.0, 5.0)
            last = obz
            for i in range(2):
                last = tf.nn.tanh(
                    tf.layers.dense(last, 16, name="vffc%i" % (i + 1), kernel_initializer=normc_initializer(1.0))
                )
            self.vpred = tf.layers.dense(last, 1, name="vffinal", kernel_initializer=normc_initializer(1.0))[:, 0]
            last = obz
            for i in range(2):
                last = tf.nn.tanh(
                    tf.layers.dense(last, 16, name="polfc%i" % (i + 1), kernel_initializer=normc_initializer(1.0))
                )
            mean = tf.layers.dense(last, 3, name="polfinal", kernel_initializer=normc_initializer(0.01))
            logstd = tf.get_variable(name="logstd", shape=[1, 3], initializer=tf.zeros_initializer())
            self.pd = DiagGaussianPd(tf.concat([mean, mean * 0.0 + logstd], axis=1))

    def get_variables(self):
        return tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, self.scope)

    def get_trainable_variables(self):
        return tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, self.scope)


ob = tf.placeholder(tf.float32, [None, 5], name="ob")
pi, oldpi = MlpPolicy("pi", ob), MlpPolicy("oldpi", ob)
atarg = tf.placeholder(dtype=tf.float32, shape=[None])
ret = tf.placeholder(dtype=tf.float32, shape=[None])
ac = tf.placeholder(tf.float32, [None, 3])
kloldnew = oldpi.pd.kl(pi.pd)
meankl = tf.reduce_mean(kloldnew)
meanent = tf.reduce_mean(pi.pd.entropy())
entbonus = 0.01 * meanent
vferr = tf.reduce_mean(tf.square(pi.vpred - ret))
ratio = tf.exp(pi.pd.logp(ac) - oldpi.pd.logp(ac))
surrgain = tf.reduce_mean(ratio * atarg)
optimgain = surrgain + entbonus
losses = [optimgain, meankl, entbonus, surrgain, meanent]
all_var_list = pi.get_trainable_variables()
var_list = [v for v in all_var_list if v.name.split("/")[1].startswith("pol") or "logstd" in v.name]
vf_var_list = [v for v in all_var_list if v.name.split("/")[1].startswith("vf")]
get_flat, set_from_flat = GetFlat(var_list), SetFromFlat(var_list)
klgrads = tf.gradients(meankl, var_list)
flat_tangent = tf.placeholder(dtype=tf.float32, shape=[None], name="flat_tan")
shapes = [var.get_shape().as_list() for var in var_list]
start, tangents = 0, []
for shape in shapes:
    sz = int(np.prod(shape))
    tangents.append(tf.reshape(flat_tangent[start : start + sz], shape))
    start += sz
gvp = tf.add_n([tf.reduce_sum(g * tangent) for (g, tangent) in zip(klgrads, tangents)])
fvp = flatgrad(gvp, var_list)
lossandgrad_ops = losses + [flatgrad(optimgain, var_list)]
vflossandgrad = flatgrad(vferr, vf_var_list)
assign_old_eq_new = tf.group(
    *[tf.assign(oldv, newv) for (oldv, newv) in zip(oldpi.get_variables(), pi.get_variables())]
)


def cg(f_Ax, b, cg_iters=8, residual_tol=1e-10):
    p, r, x = b.copy(), b.copy(), np.zeros_like(b)
    rdotr = r.dot(r)
    for _ in range(cg_iters):
        z = f_Ax(p)
        v = rdotr / p.dot(z)
        x += v * p
        r -= v * z
        newrdotr = r.dot(r)
        p = r + (newrdotr / rdotr) * p
        rdotr = newrdotr
        if rdotr < residual_tol:
            break
    return x


rng = np.random.RandomState(0)
sess = tf.InteractiveSession()
sess.run(tf.global_variables_initializer())
log, thetas = [], []
for it in range(2):
    feed = {ob: rng.randn(40, 5), ac: rng.randn(40, 3), atarg: rng.randn(40), ret: rng.randn(40)}
    sess.run(assign_old_eq_new)
    lossbefore = sess.run(lossandgrad_ops, feed)
    g = lossbefore[-1]
    fisher = lambda p: sess.run(fvp, {flat_tangent: p, ob: feed[ob][::2]}) + 0.1 * p
    stepdir = cg(fisher, g)
    shs = 0.5 * stepdir.dot(fisher(stepdir))
    lm = np.sqrt(shs / 0.01)
    fullstep = stepdir / lm
    surrbefore, stepsize, thbefore = lossbefore[0], 1.0, get_flat()
    for _ in range(10):
        set_from_flat(thbefore + fullstep * stepsize)
        now = sess.run(losses, feed)
        if now[1] <= 0.015 and now[0] - surrbefore > 0:
            break
        stepsize *= 0.5
    else:
        set_from_flat(thbefore)
    log.append([float(x) for x in now] + [stepsize])
    thetas.append(get_flat())
    vfg = sess.run(vflossandgrad, feed)
RESULTS = {"log": np.array(log), "theta": np.array(thetas), "vf": vfg, "g": g, "step": stepdir}
sess.close()
TOLERANCE = 2e-3
