"""What building costs, family by family of ops: one call of each public function, in an open graph.

Building is one thread's work, so processor time is taken: it is what passes on a machine left alone.
"""

import statistics
import time

import numpy as np

ROWS = {"building": {"calls": 200}}
QUICK = {"building": {"calls": 60}}
METRICS = ("call",)
PEERS = ("tensorflow",)
BATCHES = 5


def data(calls):
    return {}


def families(tf):
    """Returns name -> function that makes one call, on tensors made beforehand."""
    f32 = tf.float32
    a, b = tf.placeholder(f32, [32, 64]), tf.placeholder(f32, [64, 16])
    row, batch = tf.placeholder(f32, [64]), tf.placeholder(f32, [None, 64])
    image, kernel = tf.placeholder(f32, [8, 28, 28, 3]), tf.placeholder(f32, [5, 5, 3, 16])
    labels, ids = tf.placeholder(tf.int32, [32]), tf.placeholder(tf.int32, [10])
    flag, one = tf.placeholder(tf.bool, []), tf.constant(1.0)
    variable = tf.Variable(one)
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits

    def named():
        with tf.name_scope("scope"):
            return tf.identity(a)

    return {
        "constant": lambda: tf.constant([[1.0, 2.0]]),
        "placeholder": lambda: tf.placeholder(f32, [None, 3]),
        "unary": lambda: tf.exp(a),
        "binary with broadcast": lambda: tf.add(a, row),
        "tensor times number": lambda: a * 2.0,
        "comparison": lambda: tf.greater(a, row),
        "matmul": lambda: tf.matmul(a, b),
        "reduction": lambda: tf.reduce_mean(a, axis=1),
        "reshape": lambda: tf.reshape(batch, [-1, 8, 8]),
        "transpose": lambda: tf.transpose(a, [1, 0]),
        "concat": lambda: tf.concat([a, a], axis=1),
        "split": lambda: tf.split(a, 4, axis=1),
        "indexing": lambda: a[1:, ::2],
        "gather": lambda: tf.gather(a, ids),
        "shape": lambda: tf.shape(batch),
        "relu": lambda: tf.nn.relu(a),
        "softmax cross entropy": lambda: loss(labels=labels, logits=a),
        "conv2d": lambda: tf.nn.conv2d(image, kernel, strides=[1, 1, 1, 1], padding="SAME"),
        "max_pool": lambda: tf.nn.max_pool(image, [1, 2, 2, 1], [1, 2, 2, 1], padding="SAME"),
        "random": lambda: tf.random_normal([3, 4]),
        "add_n": lambda: tf.add_n([a, a, a]),
        "variable": lambda: tf.Variable(one),
        "assign": lambda: tf.assign(variable, one),
        "in a name scope": named,
        "cond": lambda: tf.cond(flag, lambda: one + 1.0, lambda: one - 1.0),
        "while_loop": lambda: tf.while_loop(lambda x: x < 10.0, lambda x: x + 1.0, [one]),
        "py_func": lambda: tf.py_func(np.sin, [a], f32),
    }


def tf1_program(tf, data, calls):
    figures = {}
    for name, call in families(tf).items():
        call()  # the first one may load modules
        spent = []
        for _ in range(BATCHES):
            start = time.process_time()
            for _ in range(calls // BATCHES):
                call()
            spent.append((time.process_time() - start) / (calls // BATCHES))
        figures[f"call: {name}"] = statistics.median(spent)
    return figures
