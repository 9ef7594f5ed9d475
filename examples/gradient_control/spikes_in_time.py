"""A spiking neuron learns when to fire (Neftci et al. 2019, arXiv 1901.09948).

A leaky integrator fires at a threshold; the step has no derivative, a surrogate stands in, inside a loop over time.
"""

import numpy as np
from figure import plt, save

import regrad as tf
from regrad import rules

TURNS, INPUTS = 60, 30
draw = np.random.RandomState(0)
trains = tf.constant((draw.rand(TURNS, INPUTS) < 0.12).astype(np.float32))
target = np.zeros(TURNS, np.float32)
target[[12, 30, 31, 50]] = 1
w = tf.Variable(draw.randn(INPUTS).astype(np.float32) * 0.25)


def turn(state, spikes_in):
    potential, _ = state
    potential = 0.85 * potential + tf.reduce_sum(spikes_in * w)
    fired = tf.spike(potential, rules.fast_sigmoid(3.0), threshold=1.0)
    return potential * (1.0 - tf.stop_gradient(fired)), fired


potentials, fired = tf.scan(turn, trains, initializer=(tf.constant(0.0), tf.constant(0.0)))
smoothed = [tf.scan(lambda a, s: 0.8 * a + s, series) for series in (fired, tf.constant(target))]
loss = tf.reduce_mean(tf.square(smoothed[0] - smoothed[1]))
step = tf.train.AdamOptimizer(0.03).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    before = session.run([loss, fired, potentials])
    for _ in range(150):
        session.run(step)
    after = session.run([loss, fired, potentials])
figure, axes = plt.subplots(2, 1, figsize=(7, 3.6), sharex=True)
for place, (value, spikes, potential), name in zip(axes, (before, after), ("before", "after")):
    place.plot(potential, "0.6")
    times = [np.flatnonzero(spikes), np.flatnonzero(target)]
    place.eventplot(times, lineoffsets=[1.6, 2.4], linelengths=0.6, colors=["b", "g"])
    place.set_ylabel(f"{name}: {value:.3f}")
axes[0].set_title("spikes (blue), wanted (green), potential (grey)", fontsize=9)
print(f"loss {before[0]:.3f} -> {after[0]:.3f}; fires at {np.flatnonzero(after[1])}, wanted at {np.flatnonzero(target)}")
save(figure)
