"""Model-agnostic meta-learning (Finn et al. 2017), two inner steps; and its first-order form."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(18)
TASKS, SHOTS, INNER_STEPS, INNER_LR = 3, 5, 2, 0.1
weights = {"w1": tf.Variable(rng.randn(1, 8), name="w1"), "b1": tf.Variable(np.zeros(8), name="b1"),
           "w2": tf.Variable(rng.randn(8, 1) / 3, name="w2"), "b2": tf.Variable(np.zeros(1), name="b2")}


def forward(x, weights):
    return tf.matmul(tf.nn.tanh(tf.matmul(x, weights["w1"]) + weights["b1"]), weights["w2"]) + weights["b2"]


def mse(pred, label):
    return tf.reduce_mean(tf.square(tf.reshape(pred, [-1]) - tf.reshape(label, [-1])))


inputa, labela = tf.placeholder(tf.float64, [TASKS, SHOTS, 1]), tf.placeholder(tf.float64, [TASKS, SHOTS, 1])
inputb, labelb = tf.placeholder(tf.float64, [TASKS, SHOTS, 1]), tf.placeholder(tf.float64, [TASKS, SHOTS, 1])


def meta_loss(stop_grad):
    def task_metalearn(task):
        xa, xb, ya, yb = task
        fast = dict(weights)
        losses_b = []
        for _ in range(INNER_STEPS):
            loss = mse(forward(xa, fast), ya)
            grads = tf.gradients(loss, list(fast.values()))
            if stop_grad:
                grads = [tf.stop_gradient(grad) for grad in grads]
            gradients = dict(zip(fast.keys(), grads))
            fast = dict(zip(fast.keys(), [fast[key] - INNER_LR * gradients[key] for key in fast.keys()]))
            losses_b.append(mse(forward(xb, fast), yb))
        return losses_b

    per_task = [task_metalearn([t[i] for t in (inputa, inputb, labela, labelb)]) for i in range(TASKS)]
    return [tf.reduce_mean(tf.stack(column)) for column in zip(*per_task)]


losses = meta_loss(stop_grad=False)
optimizer = tf.train.AdamOptimizer(0.02)
gvs = optimizer.compute_gradients(losses[-1])
gvs = [(tf.clip_by_value(grad, -10, 10), var) for grad, var in gvs]
metatrain_op = optimizer.apply_gradients(gvs)
first_order = tf.gradients(meta_loss(stop_grad=True)[-1], list(weights.values()))


def tasks():
    amplitude, phase = rng.uniform(0.5, 3.0, (TASKS, 1, 1)), rng.uniform(0, np.pi, (TASKS, 1, 1))
    xa, xb = rng.uniform(-3, 3, (TASKS, SHOTS, 1)), rng.uniform(-3, 3, (TASKS, SHOTS, 1))
    return {
        inputa: xa,
        labela: amplitude * np.sin(xa + phase),
        inputb: xb,
        labelb: amplitude * np.sin(xb + phase),
    }


history = []
with tf.Session() as sess:
    tf.global_variables_initializer().run()
    feed = tasks()
    second = sess.run([g for g, v in gvs], feed)
    first = sess.run(first_order, feed)
    for _ in range(5):
        history.append(sess.run(losses + [metatrain_op], tasks())[:2])

RESULTS = {"losses": history}
for name, a, b in zip(weights, second, first):
    RESULTS["maml " + name], RESULTS["fomaml " + name] = a, b
