"""What `recompute_grad` saves and costs, as ratios within Regrad: the memory of a compiled step's temporaries, and its time.

Sixteen layers of 512 units with three element-wise operations each, two to a block; a block keeps its inputs and computes the
rest again.
"""

import numpy as np

from shared import tf1_session, tf1_variables, weights
from workloads import overriding

ROWS = {"recomputed blocks": {"layers": 16}}
QUICK = {"recomputed blocks": {"layers": 4}}
METRICS = ("steady",)
PEERS = ()
REPEATS = 1
UNITS = 512
summary = overriding.summary


def data(layers):
    return {"weights": [0.1 * w for w in weights(*[(UNITS, UNITS)] * layers)], "x": np.ones((UNITS, UNITS), np.float32)}


def tf1_program(tf, data, layers):
    if not hasattr(tf, "View"):
        return {}
    runs, memory = [], []
    for wrap in (tf.recompute_grad, lambda block: block):
        with tf.Graph().as_default():
            run, temporaries = _step(tf, data, wrap)
            runs.append(run)
            memory.append(temporaries)
    recomputed, kept = overriding.alternating(20, *runs)
    return {"recomputed, temporaries": memory[0] / memory[1], "recomputed, time": recomputed / kept}


def _step(tf, data, wrap):
    """Returns a function that runs one pass and how many bytes its compiled form takes for temporaries."""
    from regrad.runtime import segment

    def block(h, *pair):
        for w in pair:
            h = tf.tanh(tf.matmul(h, w))
            h = tf.sigmoid(h) * h
            h = tf.exp(-h * h)
        return h

    x = tf.placeholder(tf.float32, [UNITS, UNITS])
    variables, start = tf1_variables(tf, data["weights"])
    h, wrapped = x, wrap(block)
    for first, second in zip(variables[::2], variables[1::2]):
        h = wrapped(h, first, second)
    slopes = tf.gradients(tf.reduce_sum(h), variables)
    session = tf1_session(tf, start)
    segment.clear_cache()
    for _ in range(4):
        session.run(slopes, {x: data["x"]})
    temporaries = sum(e.executable.memory_analysis().temp_size_in_bytes for e in segment._cache.values() if e.executable)
    return lambda: session.run(slopes, {x: data["x"]}), temporaries
