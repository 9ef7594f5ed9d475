"""Spatial transformers: bilinear samplers by gather_nd and by a flat gather, affine grids, dropout on the way there."""
import numpy as np
import tensorflow as tf


def get_pixel_value(img, x, y):
    shape = tf.shape(x)
    batch_size = shape[0]
    height = shape[1]
    width = shape[2]
    batch_idx = tf.range(0, batch_size)
    batch_idx = tf.reshape(batch_idx, (batch_size, 1, 1))
    b = tf.tile(batch_idx, (1, height, width))
    indices = tf.stack([b, y, x], 3)
    return tf.gather_nd(img, indices)


def affine_grid_generator(height, width, theta):
    num_batch = tf.shape(theta)[0]
    x = tf.linspace(-1.0, 1.0, width)
    y = tf.linspace(-1.0, 1.0, height)
    x_t, y_t = tf.meshgrid(x, y)
    x_t_flat = tf.reshape(x_t, [-1])
    y_t_flat = tf.reshape(y_t, [-1])
    ones = tf.ones_like(x_t_flat)
    sampling_grid = tf.stack([x_t_flat, y_t_flat, ones])
    sampling_grid = tf.expand_dims(sampling_grid, axis=0)
    sampling_grid = tf.tile(sampling_grid, tf.stack([num_batch, 1, 1]))
    theta = tf.cast(theta, "float32")
    sampling_grid = tf.cast(sampling_grid, "float32")
    batch_grids = tf.matmul(theta, sampling_grid)
    return tf.reshape(batch_grids, [num_batch, 2, height, width])


def bilinear_sampler(img, x, y):
    H = tf.shape(img)[1]
    W = tf.shape(img)[2]
    max_y = tf.cast(H - 1, "int32")
    max_x = tf.cast(W - 1, "int32")
    zero = tf.zeros([], dtype="int32")
    x = tf.cast(x, "float32")
    y = tf.cast(y, "float32")
    x = 0.5 * ((x + 1.0) * tf.cast(max_x - 1, "float32"))
    y = 0.5 * ((y + 1.0) * tf.cast(max_y - 1, "float32"))
    x0 = tf.cast(tf.floor(x), "int32")
    x1 = x0 + 1
    y0 = tf.cast(tf.floor(y), "int32")
    y1 = y0 + 1
    x0 = tf.clip_by_value(x0, zero, max_x)
    x1 = tf.clip_by_value(x1, zero, max_x)
    y0 = tf.clip_by_value(y0, zero, max_y)
    y1 = tf.clip_by_value(y1, zero, max_y)
    Ia = get_pixel_value(img, x0, y0)
    Ib = get_pixel_value(img, x0, y1)
    Ic = get_pixel_value(img, x1, y0)
    Id = get_pixel_value(img, x1, y1)
    x0 = tf.cast(x0, "float32")
    x1 = tf.cast(x1, "float32")
    y0 = tf.cast(y0, "float32")
    y1 = tf.cast(y1, "float32")
    wa = tf.expand_dims((x1 - x) * (y1 - y), axis=3)
    wb = tf.expand_dims((x1 - x) * (y - y0), axis=3)
    wc = tf.expand_dims((x - x0) * (y1 - y), axis=3)
    wd = tf.expand_dims((x - x0) * (y - y0), axis=3)
    return tf.add_n([wa * Ia, wb * Ib, wc * Ic, wd * Id])


def spatial_transformer_network(input_fmap, theta, out_dims=None, **kwargs):
    B = tf.shape(input_fmap)[0]
    H = tf.shape(input_fmap)[1]
    W = tf.shape(input_fmap)[2]
    theta = tf.reshape(theta, [B, 2, 3])
    if out_dims:
        batch_grids = affine_grid_generator(out_dims[0], out_dims[1], theta)
    else:
        batch_grids = affine_grid_generator(H, W, theta)
    return bilinear_sampler(input_fmap, batch_grids[:, 0, :, :], batch_grids[:, 1, :, :])


def transformer(U, theta, out_size, name="SpatialTransformer", **kwargs):
    """daviddao's version"""
    def _repeat(x, n_repeats):
        with tf.variable_scope("_repeat"):
            rep = tf.transpose(tf.expand_dims(tf.ones(shape=tf.stack([n_repeats, ])), 1), [1, 0])
            rep = tf.cast(rep, "int32")
            x = tf.matmul(tf.reshape(x, (-1, 1)), rep)
            return tf.reshape(x, [-1])

    def _interpolate(im, x, y, out_size):
        with tf.variable_scope("_interpolate"):
            num_batch = tf.shape(im)[0]
            height = tf.shape(im)[1]
            width = tf.shape(im)[2]
            channels = tf.shape(im)[3]
            x = tf.cast(x, "float32")
            y = tf.cast(y, "float32")
            height_f = tf.cast(height, "float32")
            width_f = tf.cast(width, "float32")
            out_height = out_size[0]
            out_width = out_size[1]
            zero = tf.zeros([], dtype="int32")
            max_y = tf.cast(tf.shape(im)[1] - 1, "int32")
            max_x = tf.cast(tf.shape(im)[2] - 1, "int32")
            x = (x + 1.0) * (width_f) / 2.0
            y = (y + 1.0) * (height_f) / 2.0
            x0 = tf.cast(tf.floor(x), "int32")
            x1 = x0 + 1
            y0 = tf.cast(tf.floor(y), "int32")
            y1 = y0 + 1
            x0 = tf.clip_by_value(x0, zero, max_x)
            x1 = tf.clip_by_value(x1, zero, max_x)
            y0 = tf.clip_by_value(y0, zero, max_y)
            y1 = tf.clip_by_value(y1, zero, max_y)
            dim2 = width
            dim1 = width * height
            base = _repeat(tf.range(num_batch) * dim1, out_height * out_width)
            base_y0 = base + y0 * dim2
            base_y1 = base + y1 * dim2
            idx_a = base_y0 + x0
            idx_b = base_y1 + x0
            idx_c = base_y0 + x1
            idx_d = base_y1 + x1
            im_flat = tf.reshape(im, tf.stack([-1, channels]))
            im_flat = tf.cast(im_flat, "float32")
            Ia, Ib, Ic, Id = [tf.gather(im_flat, i) for i in (idx_a, idx_b, idx_c, idx_d)]
            x0_f, x1_f, y0_f, y1_f = [tf.cast(v, "float32") for v in (x0, x1, y0, y1)]
            wa = tf.expand_dims(((x1_f - x) * (y1_f - y)), 1)
            wb = tf.expand_dims(((x1_f - x) * (y - y0_f)), 1)
            wc = tf.expand_dims(((x - x0_f) * (y1_f - y)), 1)
            wd = tf.expand_dims(((x - x0_f) * (y - y0_f)), 1)
            return tf.add_n([wa * Ia, wb * Ib, wc * Ic, wd * Id])

    def _meshgrid(height, width):
        with tf.variable_scope("_meshgrid"):
            x_t = tf.matmul(tf.ones(shape=tf.stack([height, 1])), tf.transpose(tf.expand_dims(tf.linspace(-1.0, 1.0, width), 1), [1, 0]))
            y_t = tf.matmul(tf.expand_dims(tf.linspace(-1.0, 1.0, height), 1), tf.ones(shape=tf.stack([1, width])))
            return tf.concat(axis=0, values=[tf.reshape(x_t, (1, -1)), tf.reshape(y_t, (1, -1)), tf.ones_like(tf.reshape(y_t, (1, -1)))])

    with tf.variable_scope(name):
        num_batch = tf.shape(U)[0]
        num_channels = tf.shape(U)[3]
        theta = tf.reshape(theta, (-1, 2, 3))
        out_height, out_width = out_size
        grid = tf.reshape(tf.tile(tf.reshape(tf.expand_dims(_meshgrid(out_height, out_width), 0), [-1]), tf.stack([num_batch])), tf.stack([num_batch, 3, -1]))
        T_g = tf.matmul(theta, grid)
        x_s = tf.reshape(tf.slice(T_g, [0, 0, 0], [-1, 1, -1]), [-1])
        y_s = tf.reshape(tf.slice(T_g, [0, 1, 0], [-1, 1, -1]), [-1])
        out = _interpolate(U, x_s, y_s, out_size)
        return tf.reshape(out, tf.stack([num_batch, out_height, out_width, num_channels]))


def weight_variable(shape):
    return tf.Variable(tf.zeros(shape))


rs = np.random.RandomState(2)
x = tf.placeholder(tf.float32, [None, 144])
y = tf.placeholder(tf.float32, [None, 3])
x_tensor = tf.reshape(x, [-1, 12, 12, 1])
W_fc_loc1 = tf.Variable((rs.randn(144, 8) * .1).astype("f"))
W_fc_loc2 = weight_variable([8, 6])
initial = np.array([[1., 0.1, 0.05], [-.1, .9, 0]]).astype("float32").flatten()
b_fc_loc2 = tf.Variable(initial_value=initial, name="b_fc_loc2")
h_fc_loc1 = tf.nn.tanh(tf.matmul(x, W_fc_loc1))
keep_prob = tf.placeholder(tf.float32)
h_drop = tf.nn.dropout(h_fc_loc1, keep_prob, seed=2)
h_fc_loc2 = tf.nn.tanh(tf.matmul(h_drop, W_fc_loc2) + b_fc_loc2)
h_trans = transformer(x_tensor, h_fc_loc2, (6, 6))
h_trans.set_shape([None, 6, 6, 1])
h_trans2 = spatial_transformer_network(x_tensor, h_fc_loc2)
W = tf.Variable((rs.randn(36 + 144, 3) * .3).astype("f"))
y_logits = tf.matmul(tf.concat([tf.reshape(h_trans, [-1, 36]), tf.reshape(h_trans2, [-1, 144])], 1), W)
cross_entropy = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=y_logits, labels=y))
opt = tf.train.AdamOptimizer()
optimizer = opt.minimize(cross_entropy)
grads = opt.compute_gradients(cross_entropy, [b_fc_loc2])
correct = tf.equal(tf.argmax(y_logits, 1), tf.argmax(y, 1))
accuracy = tf.reduce_mean(tf.cast(correct, "float"))
sess = tf.Session()
sess.run(tf.global_variables_initializer())
X, Y = rs.rand(5, 144), np.eye(3)[rs.randint(3, size=5)]
out = []
for i in range(4):
    l, a, g = sess.run([cross_entropy, accuracy, grads[0][0]], {x: X, y: Y, keep_prob: 1.0})
    out.append(np.concatenate([[l, a], g]))
    sess.run(optimizer, feed_dict={x: X, y: Y, keep_prob: 0.8})
RESULTS = {"out": out, "warped": sess.run(h_trans2, {x: X, keep_prob: 1})}
TOLERANCE = 1e-4
