"""A binarised network (Courbariaux et al. 2016): Sign goes back as Identity through a hard tanh."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(2)
DTYPE = tf.float64
TOLERANCE = 1e-5     # tf.losses computes in float32


def binarize(x):
    g = tf.get_default_graph()
    with tf.name_scope("Binarized"):
        with g.gradient_override_map({"Sign": "Identity"}):
            return tf.sign(tf.clip_by_value(x, -1.0, 1.0))


def binarized_layer(x, n_out, scope):
    with tf.variable_scope(scope):
        n_in = int(x.get_shape()[1])
        weight = tf.get_variable("weight", initializer=tf.constant(rng.uniform(-0.6, 0.6, (n_in, n_out))))
        bias = tf.get_variable("bias", [n_out], DTYPE, tf.zeros_initializer())
        tf.add_to_collection("binary_weights", weight)
        # The second clip of the weights is the paper's: weights outside [-1, 1] would have no influence.
        return tf.nn.bias_add(tf.matmul(binarize(x), binarize(weight)), bias)


def batch_norm(x, scope):
    with tf.variable_scope(scope):
        n = int(x.get_shape()[1])
        beta = tf.get_variable("beta", [n], DTYPE, tf.zeros_initializer())
        gamma = tf.get_variable("gamma", [n], DTYPE, tf.ones_initializer())
        mean, variance = tf.nn.moments(x, [0])
        return tf.nn.batch_normalization(x, mean, variance, beta, gamma, 1e-4)


def htanh(x):
    return tf.clip_by_value(x, -1.0, 1.0)


x = tf.placeholder(DTYPE, [None, 6])
labels = tf.placeholder(DTYPE, [None, 3])
h = htanh(batch_norm(binarized_layer(x, 10, "layer1"), "bn1"))
h = htanh(batch_norm(binarized_layer(h, 8, "layer2"), "bn2"))
scores = batch_norm(binarized_layer(h, 3, "layer3"), "bn3")
loss = tf.reduce_mean(tf.square(tf.losses.hinge_loss(labels, scores, reduction=tf.losses.Reduction.NONE)))

optimizer = tf.train.GradientDescentOptimizer(0.2)
grads_and_vars = optimizer.compute_gradients(loss)
update = optimizer.apply_gradients(grads_and_vars)
with tf.control_dependencies([update]):
    clip_weights = [tf.assign(w, tf.clip_by_value(w, -1.0, 1.0)) for w in tf.get_collection("binary_weights")]
train_op = tf.group(*clip_weights)

data = rng.randn(20, 6)
one_hot = np.eye(3)[rng.randint(0, 3, 20)]
feed = {x: data, labels: one_hot}
history = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    grads = sess.run([g for g, v in grads_and_vars if "weight" in v.name], feed)
    for _ in range(6):
        _, value = sess.run([train_op, loss], feed)
        history.append(value)
    final = sess.run(tf.get_collection("binary_weights"))

RESULTS = {"losses": history, "grad1": grads[0], "grad2": grads[1], "grad3": grads[2],
           "weight1": final[0], "weight3": final[2]}
