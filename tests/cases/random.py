"""Rows for `regrad/ops/random.py`: TensorFlow's numbers, from the same seeds, run after run, on both backends."""

import numpy as np

import regrad as tf
from regrad.ops import random
from tests.cases import Bad, Case, Steps

FLOATING = (tf.bfloat16, tf.float16, tf.float32, tf.float64)
SEEDS = {"seed": 3, "seed2": 4}
INTS = np.arange(12, dtype=np.int32).reshape(4, 3)
LOGITS = np.log(np.array([[0.1, 0.2, 0.7], [0.3, 0.0, 0.7]]) + 1e-300).astype(np.float32)


def draws(op_type, build, note=""):
    """A row of an op whose operands are no tensors to differentiate; both backends must agree."""
    # Logarithms and sines of float32 differ in the last bits between NumPy and XLA.
    return Case(op_type, build, None, (), order=0, dtypes=(), note=note, rtol=1e-6)


def of_shape(op_type, op, *more, types=FLOATING):
    seeds = {} if op_type.startswith("Stateless") else SEEDS
    return [draws(op_type, lambda d=d: op([2, 5], *more, dtype=d, **seeds), note=d.name)
            for d in sorted(types, key=lambda d: d.name)] + [
        draws(op_type, lambda: op([0, 5], *more, dtype=tf.float32, **seeds), note="empty")]


CASES = [
    *of_shape("RandomUniform", random.randomuniform_op),
    *of_shape("RandomStandardNormal", random.randomstandardnormal_op),
    *of_shape("TruncatedNormal", random.truncatednormal_op),
    *of_shape("StatelessRandomUniform", random.statelessrandomuniform_op, [3, 4]),
    *of_shape("StatelessRandomNormal", random.statelessrandomnormal_op, [3, 4]),
    *of_shape("StatelessTruncatedNormal", random.statelesstruncatednormal_op, [3, 4]),
    draws("RandomUniformInt", lambda: random.randomuniformint_op([2, 5], np.int32(-3), np.int32(4), **SEEDS), "int32"),
    draws("RandomUniformInt", lambda: random.randomuniformint_op([7], tf.constant(-2**40), tf.constant(2**62), **SEEDS),
          "int64"),
    draws("StatelessRandomUniformInt", lambda: random.statelessrandomuniformint_op([5], [1, 2], np.int32(0), np.int32(9))),
    draws("Multinomial", lambda: random.multinomial_op(tf.constant(LOGITS), 5, **SEEDS)),
    draws("Multinomial", lambda: random.multinomial_op(tf.constant(LOGITS[:0]), 5, output_dtype=tf.int32), "empty"),
    draws("StatelessMultinomial", lambda: random.statelessmultinomial_op(tf.constant(LOGITS), 0, [1, 2])),
    draws("RandomPoissonV2", lambda: tf.raw_ops.RandomPoissonV2(
        shape=[3], rate=tf.constant([[0.0, 2.0], [9.9, 200.0]]), **SEEDS)),
    draws("RandomPoissonV2", lambda: tf.raw_ops.RandomPoissonV2(shape=[0], rate=tf.constant([1.0]), dtype=tf.float64), "empty"),
    draws("ParameterizedTruncatedNormal",
          lambda: random.parameterizedtruncatednormal_op([2, 7], tf.constant([0.0, 3.0]), 1.0, [-1.0, 5.0], np.inf, **SEEDS)),
    Case("RandomGamma", lambda a: random.randomgamma_op([2], a, **SEEDS), None, ((3,),), low=0.5, high=5.0, order=1, dtypes=(),
         derivatives=False, note="values"),
    Case("RandomShuffle", lambda x: tf.random_shuffle(x, seed=4), None, ((5, 2),)),
    Case("RandomShuffle", lambda x: tf.random_shuffle(x, seed=4), None, ((),), unknown=False, note="scalar"),
    Case("RandomShuffle", lambda x: tf.random_shuffle(x, seed=4), None, (INTS,), dtypes=(), derivatives=False,
         note="int"),
    Bad("RandomUniformInt", lambda: random.random_uniform([2], 3, 3, tf.int32), ValueError, "Need minval < maxval, got 3 >= 3"),
    Bad("RandomUniform", lambda: random.random_uniform([[2]]), ValueError, "shape"),
    Bad("RandomUniform", lambda: random.random_uniform([-1]), ValueError, ">= 0"),
    Bad("Multinomial", lambda: random.multinomial(tf.ones([3]), 2), ValueError, "rank 1 for logits"),
    Bad("Multinomial", lambda: random.multinomial(tf.ones([1, 3]), -2), ValueError, "num_samples should be nonnegative"),
    Bad("ParameterizedTruncatedNormal",
        lambda: random.parameterized_truncated_normal([3, 2], means=[1.0, 2.0]), ValueError, "2 values for a batch of 3"),
]


# -- streams: what follows in a session, and which seeds an op has -------------------------------------------
def stream(op_type, draw, note="", **more):
    """An op with seeds of its own in three runs, beside one with another seed, and the same under a graph seed."""
    def build(*tensors):
        own, other = draw(*tensors, seed=5), draw(*tensors, seed=6)
        tf.set_random_seed(7)
        of_graph, both = draw(*tensors), draw(*tensors, seed=5)
        return [own, [own, other], [of_graph, both, draw(*tensors)], [own, of_graph], other]

    return Steps(op_type, build, note=note, rtol=1e-5, **more)


CASES += [
    *(stream("RandomUniform", lambda d=d, **s: tf.random_uniform([2, 3], -1, 2, d, **s), note=d.name) for d in FLOATING),
    *(stream("RandomUniformInt", lambda d=d, **s: tf.random_uniform([2, 3], -7, 1000, d, **s), note=d.name)
      for d in (tf.int32, tf.int64)),
    *(stream("RandomStandardNormal", lambda d=d, **s: tf.random_normal([5], 1.0, 2.0, d, **s), note=d.name)
      for d in (tf.float32, tf.float64)),
    *(stream("TruncatedNormal", lambda d=d, **s: tf.truncated_normal([5], 1.0, 2.0, d, **s), note=d.name)
      for d in (tf.float32, tf.float64)),
    stream("RandomGamma", lambda **s: tf.random_gamma([2], [0.5, 3.0], **s)),
    stream("RandomPoissonV2", lambda **s: tf.random_poisson([0.5, 30.0], [2], **s)),
    stream("Multinomial", lambda **s: tf.multinomial([[0.0, 1.0, 2.0]], 5, **s)),
    stream("RandomShuffle", lambda x, **s: tf.random_shuffle(x, **s), inputs=(INTS,)),
    *(Steps(f"Stateless{name}", lambda f=f: [f([3], [1, 2])] * 2 + [f([3], [2, 1])], note="the same again") for name, f in (
        ("RandomUniform", tf.random.stateless_uniform), ("RandomNormal", tf.random.stateless_normal),
        ("TruncatedNormal", tf.random.stateless_truncated_normal))),
]
