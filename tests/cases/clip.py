"""Clipping."""

import numpy as np

import regrad as tf
from regrad.ops.clip import clipbyvalue_op
from tests.cases import Bad, Case, Edge

CASES = [
    Case("Maximum", lambda t: tf.clip_by_value(t, -0.5, 0.75), lambda t: np.clip(t, -0.5, 0.75), ((3, 4),)),
    Case("ClipByValue", clipbyvalue_op, np.clip, ((3, 4), np.full((4,), -0.5), np.full((3, 1), 0.75))),
    # At a bound the gradient is still t's.
    Edge("ClipByValue", clipbyvalue_op, ([-0.5, 0.75, 0.0, 2.0, -2.0], [-0.5] * 5, [0.75] * 5),
         ([1, 1, 1, 0, 0], [0, 0, 0, 0, 1], [0, 0, 0, 1, 0]), note="at the bounds"),
    Case("Maximum", lambda t: tf.clip_by_norm(t, 1.5), lambda t: t * 1.5 / max(np.sqrt((t * t).sum()), 1.5), ((3, 4),), note="norm"),
    Case("Maximum", lambda t: tf.clip_by_norm(t, 1.5, axes=[1]),
         lambda t: t * 1.5 / np.maximum(np.sqrt((t * t).sum(1, keepdims=True)), 1.5), ((3, 4),), note="rows"),
    Case("Sqrt", lambda a, b: tf.global_norm([a, None, b]), lambda a, b: np.sqrt((a * a).sum() + (b * b).sum()), ((3,), (2, 2))),
    Case("Minimum", lambda a, b: tf.clip_by_global_norm([a, b], 1.0)[0],
         lambda a, b: tuple(x / max(1.0, np.sqrt((a * a).sum() + (b * b).sum())) for x in (a, b)), ((3,), (2, 2)), note="global"),
    Bad("Maximum", lambda: tf.clip_by_value(tf.zeros([2]), tf.zeros([3, 2]), 1.0), ValueError, "broadcast"),
    Bad("Sqrt", lambda: tf.global_norm(tf.zeros([2])), TypeError, "t_list should be a sequence"),
]
