"""From a smooth surrogate to the true gradient, while nothing is compiled again: the weight of a mixture of rules is fed."""

import numpy as np
from figure import plt, save

import regrad as tf
from regrad import rules

values = np.linspace(-3, 3, 301)
x, weight = tf.constant(values), tf.placeholder(tf.float64, [])
smooth = rules.surrogate(rules.sigmoid(2.0))
slope = tf.gradients(tf.nn.relu(x), x, overrides={"Relu": rules.mix(weight, smooth, rules.default)})[0]

figure, axes = plt.subplots(figsize=(6, 3.4))
with tf.Session() as session:
    for w in np.linspace(1, 0, 6):
        curve = session.run(slope, {weight: w})
        axes.plot(values, curve, color=plt.cm.viridis(1 - w), label=f"weight {w:.1f}")
        print(f"weight {w:.1f}: slope at 0.1 is {np.interp(0.1, values, curve):.3f}")
axes.legend(fontsize=8)
axes.set(xlabel="x", ylabel="gradient that passes")
save(figure)
