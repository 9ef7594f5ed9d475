"""A rasteriser in the manner of DIRT (Henderson & Ferrari 2018): py_func forward and backward."""
import numpy as np
import tensorflow as tf

SIZE = 12
rng = np.random.RandomState(15)


def coverage(vertices):
    """Triangles (float64 [n, 3, 2], pixels) to barycentric coordinates of each pixel, front first."""
    ys, xs = np.mgrid[0:SIZE, 0:SIZE] + 0.5
    owner, where = -np.ones((SIZE, SIZE), np.int32), np.zeros((SIZE, SIZE, 3))
    for index, ((ax, ay), (bx, by), (cx, cy)) in enumerate(vertices):
        area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        w1 = ((xs - ax) * (cy - ay) - (ys - ay) * (cx - ax)) / area
        w2 = ((bx - ax) * (ys - ay) - (by - ay) * (xs - ax)) / area
        inside = (w1 >= 0) & (w2 >= 0) & (w1 + w2 <= 1) & (owner < 0)
        owner[inside] = index
        where[inside] = np.stack([1 - w1 - w2, w1, w2], -1)[inside]
    return owner, where


def rasterise_forward(background, vertices, colours):
    owner, where = coverage(vertices)
    picture = background.copy()
    hit = owner >= 0
    picture[hit] = np.einsum("pk,pkc->pc", where[hit], colours[owner[hit]])
    return picture


def rasterise_backward(background, vertices, colours, picture, d_picture):
    owner, where = coverage(vertices)
    hit = owner >= 0
    d_background = np.where(hit[..., None], 0.0, d_picture)
    d_colours = np.zeros_like(colours)
    np.add.at(d_colours, owner[hit], where[hit][:, :, None] * d_picture[hit][:, None, :])
    # The picture's slope in x and y (central differences) times the loss's wish, given to the pixel's owner.
    padded = np.pad(picture, ((1, 1), (1, 1), (0, 0)), "edge")
    slope = np.stack([padded[1:-1, 2:] - padded[1:-1, :-2], padded[2:, 1:-1] - padded[:-2, 1:-1]], -1) / 2
    wish = -np.einsum("yxc,yxcd->yxd", d_picture, slope)
    d_vertices = np.zeros_like(vertices)
    np.add.at(d_vertices, owner[hit], where[hit][:, :, None] * wish[hit][:, None, :])
    return d_background, d_vertices, d_colours


@tf.RegisterGradient("DirtRasterise")
def _rasterise_grad(op, d_picture):
    background, vertices, colours = op.inputs
    grads = tf.py_func(rasterise_backward, [background, vertices, colours, op.outputs[0], d_picture],
                       [tf.float64] * 3, stateful=False, name="rasterise_backward")
    for grad, value in zip(grads, op.inputs):
        grad.set_shape(value.get_shape())
    return grads


def rasterise(background, vertices, colours, name=None):
    with tf.name_scope(name, "Rasterise", [background, vertices, colours]):
        with tf.get_default_graph().gradient_override_map({"PyFunc": "DirtRasterise"}):
            picture, = tf.py_func(rasterise_forward, [background, vertices, colours], [tf.float64])
        picture.set_shape(background.get_shape())
        return picture


background = tf.Variable(np.zeros((SIZE, SIZE, 3)) + 0.1, name="background")
vertices = tf.Variable([[[1.2, 1.3], [8.4, 2.1], [3.3, 9.7]], [[10.1, 4.2], [11.3, 10.9], [4.4, 10.2]]],
                       dtype=tf.float64, name="vertices")
colours = tf.Variable(rng.rand(2, 3, 3), name="colours")
shift = tf.Variable([0.0, 0.0], dtype=tf.float64, name="shift")
picture = rasterise(background, vertices + shift, tf.sigmoid(colours))
goal = rasterise_forward(
    np.zeros((SIZE, SIZE, 3)) + 0.3,
    np.array([[[2.2, 2.3], [9.4, 3.1], [4.3, 10.7]], [[9.1, 3.2], [11.3, 10.9], [4.4, 10.2]]]),
    rng.rand(2, 3, 3),
)
loss = tf.reduce_sum(tf.square(picture - goal))
variables = [background, vertices, colours, shift]
grads = tf.gradients(loss, variables, gate_gradients=True)
train_op = tf.train.AdamOptimizer(0.05).apply_gradients(zip(grads, variables))

history = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    image, first = sess.run([picture, grads])
    for _ in range(5):
        history.append(sess.run([loss, train_op])[0])

RESULTS = {
    "image": image,
    "losses": history,
    "d_vertices": first[1],
    "d_colours": first[2],
    "d_shift": first[3],
}
