"""Optimizers, learning rates and moving averages: programs for both systems (see `tests/recorded.py`)."""
import re

import numpy as np

from tests.recorded import graph_lines, refusal

OPTIMIZERS = {
    "gradient_descent": lambda tf: tf.train.GradientDescentOptimizer(0.1),
    "gradient_descent_tensor": lambda tf: tf.train.GradientDescentOptimizer(tf.constant(0.1)),
    "gradient_descent_function": lambda tf: tf.train.GradientDescentOptimizer(lambda: 0.1),
    "momentum": lambda tf: tf.train.MomentumOptimizer(0.1, 0.9),
    "nesterov": lambda tf: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adam": lambda tf: tf.train.AdamOptimizer(0.1),
    "adagrad": lambda tf: tf.train.AdagradOptimizer(0.1),
    "adagrad_da": lambda tf: tf.train.AdagradDAOptimizer(0.1, tf.train.get_or_create_global_step(),
                                                         l1_regularization_strength=0.01, l2_regularization_strength=0.02),
    "adadelta": lambda tf: tf.train.AdadeltaOptimizer(1.0),
    "rmsprop": lambda tf: tf.train.RMSPropOptimizer(0.1, momentum=0.5),
    "rmsprop_centered": lambda tf: tf.train.RMSPropOptimizer(0.1, momentum=0.5, centered=True),
    "ftrl": lambda tf: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01, l2_regularization_strength=0.02),
    "ftrl_power": lambda tf: tf.train.FtrlOptimizer(0.1, -0.7, l2_shrinkage_regularization_strength=0.03),
    "proximal_descent": lambda tf: tf.train.ProximalGradientDescentOptimizer(0.1, 0.02, 0.03),
    "proximal_adagrad": lambda tf: tf.train.ProximalAdagradOptimizer(0.1, 0.1, 0.02, 0.03),
}
# TensorFlow's own do not convert their numbers to float64.
ONLY_FLOAT32 = ("proximal_descent", "proximal_adagrad")
# Whose operations are named alike; the rest differ in how they make their first values.
SAME_NAMES = ("gradient_descent", "gradient_descent_tensor", "gradient_descent_function", "momentum", "nesterov", "adam",
              "adagrad", "adadelta", "rmsprop", "rmsprop_centered")


def train(tf, make, dtype, sparse, steps=3):
    """Trains w, b (dense) and e (sparse, with repeated rows); returns (graph lines, names, final values)."""
    rng = np.random.RandomState(0)
    start_w, start_b, start_e = rng.randn(3, 2), rng.randn(2), rng.randn(6, 2)
    xs, rows = rng.randn(steps, 5, 3), np.array([[0, 1, 1], [2, 0, 4], [5, 5, 5]])
    with tf.Graph().as_default() as graph:
        x, ids = tf.placeholder(dtype, [None, 3], name="x"), tf.placeholder(tf.int32, [3], name="ids")
        with tf.variable_scope("net"):
            w = tf.get_variable("w", initializer=tf.constant(start_w, dtype))
            b = tf.Variable(tf.constant(start_b, dtype), name="b")
            e = tf.get_variable("e", initializer=tf.constant(start_e, dtype))
        loss = tf.reduce_sum(tf.square(tf.matmul(x, w) + b))
        if sparse:
            loss += tf.reduce_sum(tf.gather(e, ids) ** 3)
        first = len(graph.get_operations())
        optimizer = make(tf)
        step = tf.Variable(0, trainable=False, name="step")
        op = optimizer.minimize(loss, global_step=step)
        # Which op gave a gradient is no part of this.
        lines = [re.sub(r" gradients/\S+", " gradient", line) for line in graph_lines(graph, first, ("gradients",))]
        slots = [getattr(optimizer.get_slot(v, s), "name", "") for s in optimizer.get_slot_names() for v in (w, b, e)]
        names = [*optimizer.get_slot_names(), *slots, *(v.name for v in optimizer.variables()),
                 *(v.name for v in tf.global_variables())]
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            for i in range(steps):
                sess.run(op, {x: xs[i], ids: rows[i]})
            values = sess.run(tf.global_variables())
    return lines, names, np.concatenate([np.ravel(v).astype(np.float64) for v in values])


RATES = {
    "exponential": lambda tf, s: tf.train.exponential_decay(0.1, s, 10, 0.9),
    "exponential_staircase": lambda tf, s: tf.train.exponential_decay(0.1, s, 10, 0.9, True),
    "natural_exp": lambda tf, s: tf.train.natural_exp_decay(0.1, s, 10, 0.9),
    "natural_exp_staircase": lambda tf, s: tf.train.natural_exp_decay(0.1, s, 10, 0.9, True),
    "inverse_time": lambda tf, s: tf.train.inverse_time_decay(0.1, s, 10, 0.9),
    "inverse_time_staircase": lambda tf, s: tf.train.inverse_time_decay(0.1, s, 10, 0.9, True),
    "polynomial": lambda tf, s: tf.train.polynomial_decay(0.1, s, 10, 0.01, 2.0),
    "polynomial_cycle": lambda tf, s: tf.train.polynomial_decay(0.1, s, 10, 0.01, 0.5, True),
    "piecewise": lambda tf, s: tf.train.piecewise_constant(s, [5, 12], [1.0, 0.5, 0.1]),
    "cosine": lambda tf, s: tf.train.cosine_decay(0.1, s, 10, 0.2),
    "cosine_restarts": lambda tf, s: tf.train.cosine_decay_restarts(0.1, s, 5, 2.0, 0.9, 0.1),
    "cosine_restarts_even": lambda tf, s: tf.train.cosine_decay_restarts(0.1, s, 5, 1.0, 0.9, 0.1),
    "linear_cosine": lambda tf, s: tf.train.linear_cosine_decay(0.1, s, 10),
}
STEPS = (0, 1, 4, 5, 6, 10, 12, 13, 15, 17, 25)


def rate(tf, build):
    """Returns a learning rate at some steps."""
    with tf.Graph().as_default():
        step = tf.placeholder(tf.int64, [])
        value = build(tf, step)
        with tf.Session() as sess:
            return np.array([sess.run(value, {step: s}) for s in STEPS])


AVERAGES = {"plain": {}, "by_updates": {"num_updates": True}, "debiased": {"zero_debias": True}}


def averages(tf, num_updates=False, zero_debias=False):
    """Follows a variable and a tensor; returns (names in a checkpoint and of variables, values after each of three steps)."""
    with tf.Graph().as_default():
        w = tf.Variable([1.0, 2.0], name="w")
        step = tf.train.get_or_create_global_step()
        x = tf.placeholder(tf.float32, [2], name="x")
        y = tf.identity(x * 2, name="y")
        ema = tf.train.ExponentialMovingAverage(0.9, step if num_updates else None, zero_debias)
        with tf.control_dependencies([w.assign_add(x), tf.assign_add(step, 1)]):
            op = ema.apply([w, y])
        names = [*sorted(ema.variables_to_restore()), *(v.name for v in tf.global_variables()), ema.average_name(w)]
        values = []
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            for _ in range(3):
                sess.run(op, {x: [1.0, -2.0]})
                values.append(sess.run([ema.average(w), ema.average(y)]))
    return names, np.array(values)


REFUSALS = {
    "no_variables": lambda tf: tf.train.GradientDescentOptimizer(0.1).minimize(tf.constant(1.0)),
    "no_gradient": lambda tf: tf.train.GradientDescentOptimizer(0.1).minimize(tf.constant(1.0), var_list=[tf.Variable(1.0)]),
    "gate": lambda tf: tf.train.GradientDescentOptimizer(0.1).compute_gradients(tf.Variable(1.0) * 2, gate_gradients=5),
    "no_pairs": lambda tf: tf.train.GradientDescentOptimizer(0.1).apply_gradients([]),
    "integer": lambda tf: tf.train.GradientDescentOptimizer(0.1).minimize(tf.constant(1), var_list=[tf.Variable(1)]),
    "accumulator": lambda tf: tf.train.AdagradOptimizer(0.1, initial_accumulator_value=0.0),
    "power": lambda tf: tf.train.FtrlOptimizer(0.1, learning_rate_power=0.1),
    "second_step": lambda tf: [tf.train.create_global_step(), tf.train.create_global_step()],
    "wrong_step": lambda tf: [tf.Variable(1.0, name="global_step"), tf.train.get_global_step()],
    "boundaries": lambda tf: tf.train.piecewise_constant(tf.constant(1), [1.0], [0.1, 0.2]),
    "nothing_to_save": lambda tf: tf.train.Saver(),
    "no_path": lambda tf: [tf.Variable(1.0), tf.train.Saver().restore(tf.Session(), None)],
    "no_checkpoint": lambda tf: [tf.Variable(1.0), tf.train.Saver().restore(tf.Session(), "/nowhere/at/all")],
}


def results(tf):
    found = {}
    for name, make in OPTIMIZERS.items():
        for dtype in ("float32",) if name in ONLY_FLOAT32 else ("float32", "float64"):
            lines, names, values = train(tf, make, dtype, sparse=True)
            found[f"values_{name}_{dtype}"] = values
        found[f"names_{name}"] = names
        found[f"graph_{name}"] = train(tf, make, "float32", sparse=False)[0]
    for name, build in RATES.items():
        found[f"rate_{name}"] = rate(tf, build)
    for name, kwargs in AVERAGES.items():
        found[f"average_names_{name}"], found[f"averages_{name}"] = averages(tf, **kwargs)
    for name, build in REFUSALS.items():
        with tf.Graph().as_default():
            found[f"refusal_{name}"] = refusal(lambda build=build: build(tf))
    return found
