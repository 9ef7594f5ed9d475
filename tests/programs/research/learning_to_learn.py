"""Learning to learn by gradient descent (Andrychowicz et al. 2016): an LSTM optimizer inside while_loop, custom getters."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(2)
DIM, STEPS = 4, 5
W = tf.constant(rng.randn(3, DIM, DIM).astype("f"))
Y = tf.constant(rng.randn(3, DIM).astype("f"))


def problem():
    x = tf.get_variable("x", shape=[3, DIM], dtype=tf.float32, initializer=tf.constant_initializer(rng.randn(3, DIM)))
    product = tf.squeeze(tf.matmul(W, tf.expand_dims(x, -1)))
    return tf.reduce_mean(tf.reduce_sum((product - Y) ** 2, 1))


def make_with_custom_variables(func, variables):
    variables = iter(list(variables))

    def custom_getter(getter, name, **kwargs):
        if kwargs["trainable"]:
            return next(variables)
        else:
            kwargs["reuse"] = True
            return getter(name, **kwargs)

    with tf.variable_scope("", custom_getter=custom_getter):
        return func()


def get_variables(func):
    variables = []

    def custom_getter(getter, name, **kwargs):
        trainable = kwargs["trainable"]
        kwargs["trainable"] = False
        variable = getter(name, **kwargs)
        if trainable:
            variables.append(variable)
        return variable

    with tf.name_scope("unused_graph"):
        with tf.variable_scope("problem", custom_getter=custom_getter):
            func()
    return variables


xs = get_variables(problem)
cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.BasicLSTMCell(6)])


def preprocess(g, k=5.0):
    log = tf.log(tf.abs(g) + np.finfo("f").eps)
    return tf.concat([tf.clip_by_value(log / k, -1.0, 1.0), tf.clip_by_value(g * np.exp(k), -1.0, 1.0)], 1)


def update(fx, x, state):
    gradients = [tf.stop_gradient(g) for g in tf.gradients(fx, x)]
    deltas, states = [], []
    with tf.variable_scope("opt", reuse=tf.AUTO_REUSE, initializer=tf.constant_initializer(0.05)):
        for g, s in zip(gradients, state):
            out, new = cell(preprocess(tf.reshape(g, [-1, 1])), s)
            deltas.append(tf.reshape(tf.layers.dense(out, 1, name="out"), g.shape) * 0.1)
            states.append(new)
    return deltas, states


init_state = [cell.zero_state(3 * DIM, tf.float32)]


def time_step(t, fx_array, x, state):
    x_next = list(x)
    with tf.name_scope("fx"):
        fx = make_with_custom_variables(problem, x)
        fx_array = fx_array.write(t, fx)
    with tf.name_scope("dx"):
        deltas, state_next = update(fx, x, state)
        x_next = [a + d for a, d in zip(x, deltas)]
    return t + 1, fx_array, x_next, state_next


fx_array = tf.TensorArray(tf.float32, size=STEPS + 1, clear_after_read=False)
_, fx_array, x_final, s_final = tf.while_loop(
    cond=lambda t, *_: t < STEPS,
    body=time_step,
    loop_vars=(0, fx_array, [tf.identity(v) for v in xs], init_state),
    parallel_iterations=1,
    swap_memory=True,
    name="unroll",
)
with tf.name_scope("fx"):
    fx_final = make_with_custom_variables(problem, x_final)
    fx_array = fx_array.write(STEPS, fx_final)
loss = tf.reduce_sum(fx_array.stack(), name="loss")
with tf.name_scope("reset"):
    reset = [tf.variables_initializer(xs)]
with tf.name_scope("update"):
    upd = [tf.assign(v, n) for v, n in zip(xs, x_final)]
optimizer = tf.train.AdamOptimizer(0.01)
grads = optimizer.compute_gradients(loss)
step = optimizer.apply_gradients(grads)
fxs = fx_array.stack()
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    log, kept = [], []
    for _ in range(4):
        sess.run(reset)
        for _ in range(2):
            *values, _, _ = sess.run([loss, fxs, x_final[0]] + [g for g, v in grads] + [step, upd])
            log.append(values[0])
            kept.append(values[1:])
RESULTS = {"log": np.array(log), "fx": kept[-1][0], "x": kept[-1][1]}
for (g, v), val in zip(grads, kept[0][2:]):
    RESULTS[v.op.name] = val
TOLERANCE = 1e-3
