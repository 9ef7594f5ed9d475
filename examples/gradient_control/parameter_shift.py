"""A quantum circuit on the host, trained by the parameter-shift rule (Schuld et al. 2018, arXiv 1811.11184).

Two rotations and an entangling gate, simulated by NumPy; the derivative of each angle is two more runs of the circuit.
"""

import numpy as np
from figure import plt, save

import regrad as tf


def circuit(angles):
    """Returns the expectation of Z x Z after RY(a) x RY(b), a controlled not, and RY(c) on the first qubit."""
    def rotation(t):
        return np.array([[np.cos(t / 2), -np.sin(t / 2)], [np.sin(t / 2), np.cos(t / 2)]])

    a, b, c = angles
    not_ = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
    state = np.kron(rotation(c), np.eye(2)) @ not_ @ np.kron(rotation(a), rotation(b)) @ np.eye(4)[0]
    return np.sum(state**2 * [1, -1, -1, 1])


def shifted(angles, dy):
    shifts = np.pi / 2 * np.eye(3)
    return dy * np.array([circuit(angles + s) - circuit(angles - s) for s in shifts]) / 2


angles = tf.Variable(np.array([0.4, 0.9, 0.2]))
energy = tf.py_func(circuit, [angles], tf.float64, grad=tf.host_gradient(shifted), shape=[])
step = tf.train.GradientDescentOptimizer(0.3).minimize(energy)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    history = [session.run([energy, angles, step])[:2] for _ in range(60)]
energies, ways = map(np.array, zip(*history))
figure, axes = plt.subplots(1, 2, figsize=(8, 3))
axes[0].plot(energies)
axes[0].set(xlabel="step", ylabel="<ZZ>")
axes[1].plot(ways, label=["a", "b", "c"])
axes[1].set(xlabel="step", ylabel="angle")
axes[1].legend()
print(f"energy {energies[0]:.3f} -> {energies[-1]:.3f} (least possible: -1)")
save(figure)
