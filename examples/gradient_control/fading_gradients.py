"""Where gradients fade in a recurrent loop, turn by turn, as `diagnose` sees it, and what clipping at every turn does.

Three recurrent networks over fifty turns: too contracting, too expanding, and the expanding one with an override that clips
inside the loop (Pascanu et al. 2012, arXiv 1211.5063), without touching the model.
"""

import numpy as np
from figure import plt, save

import regrad as tf
from regrad import rules

WAYS = {"contracting": (0.7, {}), "expanding": (1.35, {}),
        "expanding, clipped": (1.35, {"overrides": {"MatMul": rules.default >> rules.clip_norm(1.0)}})}
figure, axes = plt.subplots(figsize=(6, 3.2))
for name, (size, options) in WAYS.items():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [1, 8])
        w = tf.constant(size * np.linalg.qr(np.random.RandomState(0).randn(8, 8))[0], tf.float32)
        y = tf.while_loop(lambda i, h: i < 50, lambda i, h: (i + 1, tf.matmul(h, w)), (0, x))[1]  # noqa: B023
        found = tf.diagnose(tf.reduce_sum(y), x, {x: np.ones((1, 8))}, **options)
        turns = next(h.turns for h in found.ops if h.type == "MatMul" and h.turns)
        axes.semilogy(list(turns), [passed for _, passed in turns.values()], label=name)
        print(f"{name}: {found.problems[0] if found.problems else 'no problem'}")
axes.legend()
axes.set(xlabel="turn", ylabel="norm of the gradient passed on")
save(figure)
