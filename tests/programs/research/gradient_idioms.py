"""Custom-gradient idioms in text/RL code: nested overrides, py_func with RegisterGradient, Defun, straight-through in RNN loops, clipping by custom_gradient, gradient penalty inside map_fn, adaptive computation time."""

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import ops, function


rng = np.random.RandomState(0)
R = {}
# hierarchical multiscale RNN: hard sigmoid with slope annealing and a binary gate with straight-through
slope = tf.placeholder_with_default(1.0, [])


@ops.RegisterGradient("StraightThroughB")
def _st(op, grad):
    return grad, tf.zeros_like(op.inputs[1]) if len(op.inputs) > 1 else grad


def binary(x, slope=None):
    with ops.name_scope("BinarySigmoid"):
        p = tf.clip_by_value((slope * x + 1.0) / 2.0, 0.0, 1.0)
        with tf.get_default_graph().gradient_override_map({"Round": "STRound"}):
            return tf.round(p)


@tf.RegisterGradient("STRound")
def _r(op, g):
    return g


class HMCell(tf.nn.rnn_cell.RNNCell):
    def __init__(self, n):
        super(HMCell, self).__init__()
        self.n = n

    @property
    def state_size(self):
        return (self.n, self.n, 1)

    @property
    def output_size(self):
        return self.n

    def call(self, x, state):
        c, h, z = state
        W = tf.get_variable(
            "W",
            [x.shape[1].value + self.n, 4 * self.n + 1],
            initializer=tf.random_normal_initializer(stddev=0.4, seed=2),
        )
        pre = tf.matmul(tf.concat([x, h], 1), W)
        f, i, o, g = [fn(v) for fn, v in zip([tf.sigmoid] * 3 + [tf.tanh], tf.split(pre[:, : 4 * self.n], 4, 1))]
        c_new = tf.where(tf.equal(tf.squeeze(z, 1), 1.0), i * g, f * c + i * g)
        h_new = o * tf.tanh(c_new)
        z_new = binary(pre[:, -1:], slope)
        return h_new * z_new + (1 - z_new) * h, (c_new, h_new, z_new)


x = tf.placeholder(tf.float32, [None, 6, 3])
out, st = tf.nn.dynamic_rnn(HMCell(4), x, dtype=tf.float32)
loss = tf.reduce_mean(tf.square(out)) + tf.reduce_mean(st[2])
v = tf.trainable_variables()
R_f = {"hm": out, "hm_g": tf.gradients(loss, v)[0], "hm_gx": tf.gradients(loss, x)[0]}


# py_func with a registered gradient of unique name
def py_func(func, inp, Tout, stateful=True, name=None, grad=None):
    rnd_name = "PyFuncGrad" + str(rng.randint(0, 1 << 30))
    tf.RegisterGradient(rnd_name)(grad)
    g = tf.get_default_graph()
    with g.gradient_override_map({"PyFunc": rnd_name, "PyFuncStateless": rnd_name}):
        return tf.py_func(func, inp, Tout, stateful=stateful, name=name)


def d_spiky(x):
    r = x % 1
    return np.where(r <= 0.5, 1, 0).astype(np.float32)


def spikygrad(op, grad):
    xx = op.inputs[0]
    n_gr = tf.py_func(d_spiky, [xx], tf.float32)
    n_gr.set_shape(xx.shape)
    return grad * n_gr


xs = tf.constant([0.2, 0.7, 1.2, 1.7])
sp = py_func(lambda a: np.where(a % 1 <= 0.5, a % 1, 0).astype(np.float32), [xs], tf.float32, grad=spikygrad)
sp.set_shape([4])
R_f["spiky"] = tf.gradients(sp * xs, xs)[0]


# Defun with python_grad_func, and Defun differentiated by itself
@function.Defun(tf.float32, tf.float32, func_name="LeakyBwd")
def leaky_bwd(dy, x):
    return tf.where(x > 0, dy, 0.3 * dy)


@function.Defun(
    tf.float32, func_name="LeakyFwd", grad_func=None, python_grad_func=lambda op, dy: leaky_bwd(dy, op.inputs[0])
)
def leaky(x):
    return tf.nn.relu(x)


@function.Defun(tf.float32, tf.float32)
def poly(a, b):
    return a * a * b, tf.sin(a)


a, b = tf.constant([1.0, -2.0]), tf.constant([3.0, 0.5])
y1, y2 = poly(a, b)
lk = leaky(a)
lk.set_shape([2])
R_f["defun"] = tf.concat(tf.gradients([y1 * 2.0, y2], [a, b]) + tf.gradients(lk, a), 0)


# custom_gradient with variables: second order and kwargs
@tf.custom_gradient
def clip_grad_layer(t):
    def grad(dy):
        return tf.clip_by_value(dy, -0.1, 0.1)

    return tf.identity(t), grad


@tf.custom_gradient
def log1pexp(t):
    e = tf.exp(t)

    def grad(dy):
        return dy * (1 - 1 / (1 + e))

    return tf.log(1 + e), grad


q = tf.constant([0.5, 10.0, -3.0])
first = tf.gradients(log1pexp(q), q)[0]
R_f["log1pexp"] = tf.stack([first, tf.gradients(log1pexp(q) * q, q)[0], tf.gradients(clip_grad_layer(q) ** 2, q)[0]])
# adaptive computation time: while_loop with masks, ponder cost, straight gradient through the remainder
inp = tf.placeholder(tf.float32, [None, 5])
Wh = tf.get_variable("Wh", initializer=tf.constant(rng.randn(10, 5).astype("f") * 0.4))
wp = tf.get_variable("wp", initializer=tf.constant(rng.randn(5, 1).astype("f")))


def act_body(prob_acc, n_upd, s, out, rem):
    s = tf.tanh(tf.matmul(tf.concat([inp, s], 1), Wh))
    p = tf.squeeze(tf.sigmoid(tf.matmul(s, wp) + 0.3), 1)
    running = tf.cast(prob_acc < 0.99, tf.float32)
    ends = tf.cast(prob_acc + p >= 0.99, tf.float32) * running
    w = running * tf.where(ends > 0, 1.0 - prob_acc, p)
    return [prob_acc + w, n_upd + running, s, out + tf.expand_dims(w, 1) * s, rem + ends * (1.0 - prob_acc)]


z1 = tf.zeros_like(inp[:, 0])
acc, n, s, o, rem = tf.while_loop(
    lambda p, n, *_: tf.logical_and(tf.reduce_any(p < 0.99), tf.reduce_all(n < 8.0)),
    act_body,
    [z1, z1, tf.zeros_like(inp), tf.zeros_like(inp), z1],
)
act_loss = tf.reduce_mean(tf.square(o - 0.3)) + 0.01 * tf.reduce_mean(n + rem)
R_f["act"] = o
R_f["n"] = n
for k, g in zip(("Wh", "wp"), tf.gradients(act_loss, [Wh, wp])):
    R_f["act_" + k] = g
# per-example gradients, penalty of their norms, by map_fn of gradients and by unstack
Wc = tf.Variable(rng.randn(5, 3).astype("f") * 0.3)


def per_example(i):
    l = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[tf.constant(1)], logits=tf.matmul(i[None], Wc))
    return tf.gradients(l, Wc)[0]


pe = tf.map_fn(per_example, inp)
norms = tf.sqrt(tf.reduce_sum(tf.square(pe), [1, 2]) + 1e-12)
dp = tf.reduce_mean(pe / tf.maximum(1.0, norms / 0.2)[:, None, None], 0)
R_f["dp"] = dp
R_f["norm_g"] = tf.gradients(norms, Wc)[0]
# gradient of a gradient's inner product with a frozen copy; tf.gradients w.r.t. intermediate tensors; grad_ys lists; stop_gradients
h = tf.nn.elu(tf.matmul(inp, Wc))
k = h * 2.0 + tf.sin(h)
l = tf.reduce_sum(k * k)
R_f["mid"] = tf.concat(
    [
        tf.reshape(t, [-1])
        for t in tf.gradients([l, k], [h, Wc], grad_ys=[None, 0.1 * tf.ones_like(k)], stop_gradients=[h])
        if t is not None
    ],
    0,
)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    vals = sess.run(R_f, {x: rng.randn(2, 6, 3), inp: rng.randn(3, 5), slope: 1.5})
RESULTS = vals
TOLERANCE = 1e-4
