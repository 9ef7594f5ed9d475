"""What it costs that compiled programs tell of values that are refused: ratios within Regrad, to `tf.config.checks = "given"`.

An MLP with sparse labels and an embedding, both with labels and ids that are fed and with such as the program computes; and a
program of integers, which divides and gathers all the time.
"""

import warnings

import numpy as np

from shared import tf1_session, tf1_variables, weights
from workloads import overriding

ROWS = {"checked values": {"units": 1024, "rows": 100_000}}
QUICK = {"checked values": {"units": 128, "rows": 10_000}}
METRICS = ("steady",)
PEERS = ()
REPEATS = 1
BATCH, IDS, WIDTH, NUMBERS = 128, 4096, 64, 20_000
summary = overriding.summary


def data(units, rows):
    rng = np.random.default_rng(1)
    return {
        "weights": weights((784, units), (units, units), (units, 10)),
        "x": rng.random((BATCH, 784), np.float32),
        "labels": rng.integers(0, 10, BATCH).astype(np.int32),
        "table": rng.standard_normal((rows, WIDTH), np.float32),
        "ids": rng.integers(0, rows, IDS).astype(np.int32),
        "places": rng.integers(0, NUMBERS, NUMBERS).astype(np.int32),
    }


def tf1_program(tf, data, units, rows):
    if not hasattr(tf, "View"):
        return {}
    found = {}
    before = tf.config.checks
    for name, program in PROGRAMS.items():
        runs = []
        for checks in ("all", "given"):
            with warnings.catch_warnings(), tf.Graph().as_default():
                warnings.simplefilter("ignore")
                tf.config.checks = checks
                runs.append(program(tf, data))
                for _ in range(8):
                    runs[-1]()
        checked, unchecked = overriding.alternating(200, *runs)
        found[name] = checked / unchecked
    tf.config.checks = before
    return found


def _mlp(tf, data, computed):
    x = tf.placeholder(tf.float32, [BATCH, 784])
    fed, labels = _integers(tf, BATCH, computed)
    (first, second, last), start = tf1_variables(tf, data["weights"])
    logits = tf.matmul(tf.nn.relu(tf.matmul(tf.nn.relu(tf.matmul(x, first)), second)), last)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    train = tf.train.AdamOptimizer(1e-4).minimize(loss)
    session = tf1_session(tf, start)
    return lambda: session.run([loss, train], {x: data["x"], fed: data["labels"]})


def _embedding(tf, data, computed):
    fed, ids = _integers(tf, IDS, computed)
    (table,), start = tf1_variables(tf, [data["table"]])
    loss = tf.reduce_sum(tf.square(tf.nn.embedding_lookup(table, ids)))
    train = tf.train.AdagradOptimizer(0.1).minimize(loss)
    session = tf1_session(tf, start)
    return lambda: session.run([loss, train], {fed: data["ids"]})


def _integers(tf, n, computed):
    """Returns what is fed, and labels or ids that are that, or that nobody knows before the program has computed them."""
    fed = tf.placeholder(tf.int32, [n])
    return fed, tf.bitwise.bitwise_xor(fed, 0) if computed else fed


def _of_integers(tf, data):
    fed, y = _integers(tf, NUMBERS, True)
    for _ in range(10):
        y = tf.gather(fed, y // (1 + fed % 7) % NUMBERS) // tf.bitwise.bitwise_or(fed, 1)
    total = tf.reduce_sum(y)
    session = tf.Session()
    return lambda: session.run(total, {fed: data["places"]})


PROGRAMS = {
    "MLP, fed labels": lambda tf, data: _mlp(tf, data, False),
    "MLP, computed labels": lambda tf, data: _mlp(tf, data, True),
    "embedding, fed ids": lambda tf, data: _embedding(tf, data, False),
    "embedding, computed ids": lambda tf, data: _embedding(tf, data, True),
    "integers": _of_integers,
}
