"""Rows for `regrad/ops/accumulators.py`: gradients that are added up and taken. That a run waits: `tests/train/test_queues.py`."""

import numpy as np

import regrad as tf
from regrad.core.errors import InvalidArgumentError
from tests.cases import Bad, Steps

G = np.array([[1.0, -2.0], [0.5, 4.0]], np.float32)


def dense(op_type, note="", dtype=np.float32, **options):
    """Gradients of some steps, their mean, stale ones, and the mean of the next step."""
    def build(g):
        a = tf.ConditionalAccumulator(g.dtype, **options)
        return [a.num_accumulated(), a.apply_grad(g), a.apply_grad(g * 3, local_step=1), a.num_accumulated(), a.take_grad(1),
                a.num_accumulated(), a.apply_grad(g), a.num_accumulated(), a.apply_grad(g, 1), a.set_global_step(5),
                a.apply_grad(g, 4), a.apply_grad(g * 2, 5), a.set_global_step(2), a.take_grad(2), a.apply_grad(g, 6), a.take_grad(1)]

    return Steps(op_type, build, inputs=(G.astype(dtype),), note=note)


def sparse(op_type, note="", shape=(4, 2), given=(4, 2), **options):
    def build(g):
        a = tf.SparseConditionalAccumulator(g.dtype, shape, **options)
        return [a.apply_grad([0, 2], g, given), a.apply_indexed_slices_grad(tf.IndexedSlices(
                    g * 3, tf.constant([1, 2], tf.int64), None if given is None else tf.constant(given, tf.int64)), 2),
                a.num_accumulated(), a.take_grad(2), a.num_accumulated(), a.apply_grad([3], g[:1], given), a.num_accumulated(),
                a.set_global_step(9), a.apply_grad([3], g[:1], given, 8), a.apply_grad([1, 3], g, given, 9), a.take_grad(1)]

    return Steps(op_type, build, inputs=(G,), note=note)



CASES = [
    dense("ResourceConditionalAccumulator"),
    dense("ResourceConditionalAccumulator", "sum", reduction_type="SUM"),
    dense("ResourceConditionalAccumulator", "shape", shape=[2, 2], shared_name="s"),
    dense("ResourceAccumulatorApplyGradient", dtype=np.float64),
    dense("ResourceAccumulatorTakeGradient", shape=[None, 2]),
    dense("ResourceAccumulatorNumAccumulated"),
    dense("ResourceAccumulatorSetGlobalStep"),
    sparse("SparseConditionalAccumulator"),
    sparse("SparseConditionalAccumulator", "sum", reduction_type="SUM"),
    sparse("SparseAccumulatorApplyGradient", "shape not given", given=None),
    sparse("SparseAccumulatorTakeGradient", "rows not known", shape=(None, 2)),
    sparse("AccumulatorNumAccumulated"),
    sparse("AccumulatorSetGlobalStep"),
    Bad("ResourceAccumulatorApplyGradient", lambda: tf.ConditionalAccumulator(tf.float32, [2]).apply_grad([1.0]), ValueError,
        "incompatible"),
    Bad("ResourceConditionalAccumulator", lambda: tf.ConditionalAccumulator(tf.float32, [2], reduction_type="MAX"), ValueError,
        "reduction_type"),
    Bad("ResourceAccumulatorTakeGradient", lambda: tf.ConditionalAccumulator(tf.float32).take_grad(0), InvalidArgumentError,
        "must be positive", run=True),
]
