"""A metric without a derivative (edit distance, computed on the host) trained with a surrogate gradient."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(21)


def edit_distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        previous, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (x != y))
    return row[-1]


def collapse(path):
    """Repeats merged and blanks (0) dropped, as in CTC."""
    return [int(k) for i, k in enumerate(path) if k and (i == 0 or k != path[i - 1])]


def metric(logits, labels):
    best = logits.argmax(-1)
    return np.array(
        [edit_distance(collapse(p), [k for k in t if k]) for p, t in zip(best, labels)], np.float32
    )


def surrogate(logits, labels, upstream):
    """Pulls every frame towards the label that stands at its share of the sequence; scaled by the metric."""
    e = np.exp(logits - logits.max(-1, keepdims=True))
    grad = e / e.sum(-1, keepdims=True)
    frames = logits.shape[1]
    for row, target in zip(grad, labels):
        aligned = np.asarray(target)[np.arange(frames) * len(target) // frames]
        row[np.arange(frames), aligned] -= 1.0
    return (grad * upstream[:, None, None] / frames).astype(np.float32)


@tf.RegisterGradient("EditDistanceSurrogate")
def _grad(op, dy):
    logits, labels = op.inputs
    d_logits = tf.py_func(surrogate, [logits, labels, dy], tf.float32)
    d_logits.set_shape(logits.get_shape())
    return d_logits, None


inputs = tf.placeholder(tf.float32, [None, 6, 4])
labels = tf.placeholder(tf.int32, [None, 3])
w = tf.Variable((rng.randn(4, 5) * 0.5).astype(np.float32), name="w")
logits = tf.tensordot(inputs, w, 1)
logits.set_shape([None, 6, 5])
with tf.get_default_graph().gradient_override_map({"PyFunc": "EditDistanceSurrogate"}):
    distance = tf.py_func(metric, [logits, labels], tf.float32)
    distance.set_shape([None])
loss = tf.reduce_mean(distance) + 1e-3 * tf.nn.l2_loss(w)
opt = tf.train.AdagradOptimizer(0.5)
(grad, _), = gvs = opt.compute_gradients(loss)
train_op = opt.apply_gradients(gvs)

words = rng.randint(1, 5, (8, 3))
seen = np.eye(4)[np.repeat(words, 2, axis=1) - 1] + 0.4 * rng.randn(8, 6, 4)
feed = {inputs: seen.astype(np.float32), labels: words}
history = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    first = sess.run(grad, feed)
    for _ in range(6):
        history.append(sess.run([loss, train_op], feed)[0])
    per_example = sess.run(distance, feed)

RESULTS = {"grad": first, "losses": history, "distance": per_example}
