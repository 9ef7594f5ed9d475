"""DeepLIFT (Shrikumar et al. 2017, arXiv 1704.02685) where a gradient says nothing: a unit that is saturated.

y = 1 - relu(1 - x) stops growing at 1. Gradient times input drops to 0 there; the contribution with respect to a reference,
an override of Relu that compares two runs, stays what it is: all of y.
"""

import numpy as np
from figure import plt, save

import regrad as tf
from regrad import rules

values = np.linspace(0, 2.5, 101).astype(np.float32)[:, None]
x, reference = tf.constant(values), np.zeros((1, 1), np.float32)
y = 1.0 - tf.nn.relu(1.0 - x)
plain = x * tf.gradients(y, x)[0]
lifted = (x - reference) * tf.gradients(y, x, overrides={"Relu": rules.deeplift_rescale({x: reference})})[0]
path = tf.constant(np.linspace(0, 1, 51).astype(np.float32)[None] * values)
integrated = x[:, 0] * tf.reduce_mean(tf.gradients(1.0 - tf.nn.relu(1.0 - path), path)[0], axis=1)

with tf.Session() as session:
    found = session.run({"y": y, "gradient x input": plain, "DeepLIFT": lifted, "integrated gradients": integrated})
figure, axes = plt.subplots(figsize=(6, 3.4))
for (name, curve), style in zip(found.items(), ("k-", "r--", "b:", "g-.")):
    axes.plot(values, np.ravel(curve), style, lw=2, label=name)
axes.legend()
axes.set(xlabel="x", ylabel="contribution of x to y")
print({name: round(float(np.ravel(curve)[-1]), 3) for name, curve in found.items()})
save(figure)
