"""Style transfer (Gatys et al. 2016): an image as the variable; content, Gram and total-variation losses."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(37)
DTYPE = tf.float64
kernels = [rng.randn(3, 3, 3, 5) / 4, rng.randn(3, 3, 5, 6) / 5]


def features(image):
    layers, h = [], image - tf.constant([0.48, 0.45, 0.41], DTYPE)
    for k in kernels:
        h = tf.nn.conv2d(tf.pad(h, [[0, 0], [1, 1], [1, 1], [0, 0]], "REFLECT"), k, [1, 1, 1, 1], "VALID")
        h = tf.nn.relu(h)
        layers.append(h)
        h = tf.nn.avg_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], padding="SAME")
    return layers


def gram(layer):
    _, height, width, n = layer.shape.as_list()
    flat = tf.reshape(layer, [-1, n])
    return tf.matmul(flat, flat, transpose_a=True) / (height * width * n)


content, style = rng.rand(1, 10, 10, 3), rng.rand(1, 10, 10, 3) ** 2
image = tf.Variable(0.5 + 0.05 * rng.randn(1, 10, 10, 3), name="image")
ours, theirs, styled = features(image), features(tf.constant(content)), features(tf.constant(style))
content_loss = tf.nn.l2_loss(ours[1] - theirs[1])
style_loss = tf.add_n([tf.nn.l2_loss(gram(a) - gram(b)) for a, b in zip(ours, styled)])
tv_loss = tf.reduce_sum(tf.abs(image[:, 1:] - image[:, :-1])) + tf.reduce_sum(
    tf.abs(image[:, :, 1:] - image[:, :, :-1])
)
loss = 0.05 * content_loss + 20.0 * style_loss + 0.01 * tv_loss
grads = [tf.gradients(part, image)[0] for part in (content_loss, style_loss, tv_loss)]
step = tf.train.AdamOptimizer(0.02).minimize(loss)
with tf.control_dependencies([step]):
    clip = tf.assign(image, tf.clip_by_value(image, 0.0, 1.0))

history = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    first = sess.run(grads)
    for _ in range(6):
        history.append(sess.run([content_loss, style_loss, tv_loss]))
        sess.run(clip.op)

RESULTS = {"d_content": first[0], "d_style": first[1], "d_tv": first[2], "losses": history}
