"""Adversarial cross-modal retrieval (Wang et al. 2017): triplets and a reversed modality classifier."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(1)
DTYPE = tf.float64
num_flips = 0


def flip_gradient(x, l=1.0):
    global num_flips
    grad_name = "AcmrFlipGradient%d" % num_flips
    num_flips += 1

    @tf.RegisterGradient(grad_name)
    def _flip_gradients(op, grad):
        return [tf.negative(grad) * l]

    with tf.get_default_graph().gradient_override_map({"Identity": grad_name}):
        return tf.identity(x)


def fully_connected(x, n_out, scope, reuse=False):
    with tf.variable_scope(scope, reuse=reuse):
        n_in = x.get_shape().as_list()[1]
        draw = tf.constant_initializer(rng.randn(n_in, n_out) / np.sqrt(n_in))
        w = tf.get_variable("w", [n_in, n_out], DTYPE, initializer=draw)
        b = tf.get_variable("b", [n_out], DTYPE, initializer=tf.constant_initializer(0.0))
        return tf.matmul(x, w) + b


def visual_net(x, reuse=False):
    with tf.variable_scope("visual", reuse=reuse):
        return fully_connected(tf.nn.tanh(fully_connected(x, 8, "v1", reuse)), 5, "v2", reuse)


def text_net(x, reuse=False):
    with tf.variable_scope("text", reuse=reuse):
        return fully_connected(tf.nn.tanh(fully_connected(x, 8, "t1", reuse)), 5, "t2", reuse)


def modality_net(x, l, reuse=False):
    with tf.variable_scope("modality", reuse=reuse):
        return fully_connected(fully_connected(flip_gradient(x, l), 4, "d1", reuse), 2, "d2", reuse)


def label_net(x, reuse=False):
    with tf.variable_scope("labels", reuse=reuse):
        return fully_connected(x, 3, "l1", reuse)


B = 12
images = tf.placeholder(DTYPE, [None, 6])
sentences = tf.placeholder(DTYPE, [None, 7])
negative_images = tf.placeholder(DTYPE, [None, 6])
negative_sentences = tf.placeholder(DTYPE, [None, 7])
y = tf.placeholder(tf.int32, [None])
l = tf.placeholder(DTYPE, [])

v, t = visual_net(images), text_net(sentences)
v_neg, t_neg = visual_net(negative_images, reuse=True), text_net(negative_sentences, reuse=True)


def distance(a, b):
    return tf.reduce_sum(tf.square(tf.subtract(a, b)), 1)


margin = 0.1
triplet = tf.reduce_sum(tf.maximum(margin + 0.02 * (distance(v, t) - distance(v, t_neg)), 0.0)) + \
    tf.reduce_sum(tf.maximum(margin + 0.02 * (distance(t, v) - distance(t, v_neg)), 0.0))
one_hot = tf.one_hot(y, 3, dtype=DTYPE)
label_loss = tf.reduce_mean(
    tf.nn.softmax_cross_entropy_with_logits_v2(labels=one_hot, logits=label_net(v)) +
    tf.nn.softmax_cross_entropy_with_logits_v2(labels=one_hot, logits=label_net(t, reuse=True)))
is_image = tf.one_hot(tf.zeros_like(y), 2, dtype=DTYPE)
is_text = tf.one_hot(tf.ones_like(y), 2, dtype=DTYPE)
modality_loss = tf.reduce_mean(
    tf.nn.softmax_cross_entropy_with_logits_v2(labels=is_image, logits=modality_net(v, l)) +
    tf.nn.softmax_cross_entropy_with_logits_v2(labels=is_text, logits=modality_net(t, l, reuse=True)))
embedding_loss = triplet + label_loss
total_loss = embedding_loss + modality_loss

t_vars = tf.trainable_variables()
embedding_vars = [
    var for var in t_vars if "visual/" in var.name or "text/" in var.name or "labels/" in var.name
]
modality_vars = [var for var in t_vars if "modality/" in var.name]
embedding_op = tf.train.AdamOptimizer(0.01, beta1=0.5).minimize(total_loss, var_list=embedding_vars)
modality_op = tf.train.AdamOptimizer(0.02, beta1=0.5).minimize(modality_loss, var_list=modality_vars)
probe = tf.gradients(modality_loss, [embedding_vars[0], modality_vars[0]])

classes = rng.randint(0, 3, B)
pictures = rng.randn(3, 6)[classes] + 0.3 * rng.randn(B, 6)
words = rng.randn(3, 7)[classes] + 0.3 * rng.randn(B, 7)
other = np.array([rng.choice(np.flatnonzero(classes != c)) for c in classes])
feed = {
    images: pictures,
    sentences: words,
    negative_images: pictures[other],
    negative_sentences: words[other],
    y: classes,
}
history = []
with tf.Session() as sess:
    tf.global_variables_initializer().run()
    reversed_grad, plain_grad = sess.run(probe, {**feed, l: 0.5})
    for step in range(6):
        feed[l] = 2.0 / (1.0 + np.exp(-10.0 * step / 6.0)) - 1.0
        sess.run(embedding_op, feed)
        sess.run(modality_op, feed)
        history.append(sess.run([triplet, label_loss, modality_loss, total_loss], feed))
    distances = sess.run(distance(v, t), feed)

RESULTS = {"names": np.array(len(embedding_vars)), "reversed_grad": reversed_grad, "plain_grad": plain_grad,
           "losses": history, "distances": distances}
