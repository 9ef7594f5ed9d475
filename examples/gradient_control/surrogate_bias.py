"""How far a straight-through gradient is from what the program does, measured on the user's data: the bias meter.

For steps much smaller than the levels of a quantiser nothing happens at all; for large ones the promise holds.
"""

import numpy as np
from figure import plt, save

import regrad as tf
from regrad import rules

draw = np.random.RandomState(0)
x = tf.placeholder(tf.float32, [64])
value = draw.randn(64).astype(np.float32)
w = tf.constant(draw.randn(64).astype(np.float32))
scales = np.geomspace(1e-3, 3, 10)
figure, axes = plt.subplots(figsize=(6, 3.3))
for bits in (1, 2, 4, 8):
    quantised = rules.quantize_unit(tf.sigmoid(x), bits)
    rows = tf.inspect.bias(tf.tanh(tf.reduce_sum(quantised * w) / 8.0), x, {x: value}, scales=scales, directions=8).rows
    axes.semilogx(scales, [r["gain"] for r in rows], "o-", label=f"{bits} bits")
    print(f"{bits} bits: delivered / promised {rows[0]['gain']:.2f} for small steps, {rows[-1]['gain']:.2f} for large ones")
axes.axhline(1, color="0.7", zorder=0)
axes.legend()
axes.set(xlabel="size of the step", ylabel="delivered / promised")
save(figure)
