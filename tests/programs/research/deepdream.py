"""DeepDream: a graph read from bytes and imported, gradients tile by tile at shifts drawn by NumPy, a Laplacian pyramid."""
from functools import partial
import numpy as np
import tensorflow as tf

graph = tf.get_default_graph()
sess = tf.Session(graph=graph)
rng = np.random.RandomState(1)


def build_def():
    with tf.Graph().as_default() as g:
        x = tf.placeholder(tf.float32, [1, None, None, 3], name="input")
        h = x
        for i, (k, c) in enumerate([(5, 6), (3, 8), (3, 8)]):
            w = tf.constant((rng.randn(k, k, h.shape[3].value, c) * .15).astype(np.float32), name="w%d" % i)
            h = tf.nn.conv2d(h, w, strides=[1, 1, 1, 1], padding="SAME", name="conv%d" % i)
            h = tf.nn.relu(h + 0.1, name="mixed%d" % i)
            if i < 2:
                h = tf.nn.max_pool(h, ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding="SAME")
        return g.as_graph_def()


graph_def = build_def()
gd_bytes = graph_def.SerializeToString()
graph_def = tf.GraphDef()
graph_def.ParseFromString(gd_bytes)
t_input = tf.placeholder(np.float32, name="input")
imagenet_mean = 117.0
t_preprocessed = tf.expand_dims(t_input - imagenet_mean, 0)
tf.import_graph_def(graph_def, {"input": t_preprocessed})
layers = [op.name for op in graph.get_operations() if op.type == "Conv2D" and "import/" in op.name]
feature_nums = [int(graph.get_tensor_by_name(name + ":0").get_shape()[-1]) for name in layers]


def strip_consts(graph_def, max_const_size=32):
    strip_def = tf.GraphDef()
    for n0 in graph_def.node:
        n = strip_def.node.add()
        n.MergeFrom(n0)
        if n.op == "Const":
            tensor = n.attr["value"].tensor
            size = len(tensor.tensor_content)
            if size > max_const_size:
                tensor.tensor_content = tf.compat.as_bytes("<stripped %d bytes>" % size)
    return strip_def


stripped = strip_consts(graph_def)


def T(layer):
    return graph.get_tensor_by_name("%s:0" % (layer if "import/" in layer else "import/" + layer))


def tffunc(*argtypes):
    placeholders = list(map(tf.placeholder, argtypes))

    def wrap(f):
        out = f(*placeholders)

        def wrapper(*args, **kw):
            return out.eval(dict(zip(placeholders, args)), session=kw.get("session", sess))
        return wrapper
    return wrap


def resize(img, size):
    img = tf.expand_dims(img, 0)
    return tf.image.resize_bilinear(img, size)[0, :, :, :]


resize = tffunc(np.float32, np.int32)(resize)


def calc_grad_tiled(img, t_grad, tile_size=16):
    sz = tile_size
    h, w = img.shape[:2]
    sx, sy = np.random.randint(sz, size=2)
    img_shift = np.roll(np.roll(img, sx, 1), sy, 0)
    grad = np.zeros_like(img)
    for y in range(0, max(h - sz // 2, sz), sz):
        for x in range(0, max(w - sz // 2, sz), sz):
            sub = img_shift[y:y + sz, x:x + sz]
            g = sess.run(t_grad, {t_input: sub})
            grad[y:y + sz, x:x + sz] = g
    return np.roll(np.roll(grad, -sx, 1), -sy, 0)


k = np.float32([1, 4, 6, 4, 1])
k = np.outer(k, k)
k5x5 = k[:, :, None, None] / k.sum() * np.eye(3, dtype=np.float32)


def lap_split(img):
    with tf.name_scope("split"):
        lo = tf.nn.conv2d(img, k5x5, [1, 2, 2, 1], "SAME")
        lo2 = tf.nn.conv2d_transpose(lo, k5x5 * 4, tf.shape(img), [1, 2, 2, 1])
        hi = img - lo2
    return lo, hi


def lap_split_n(img, n):
    levels = []
    for i in range(n):
        img, hi = lap_split(img)
        levels.append(hi)
    levels.append(img)
    return levels[::-1]


def lap_merge(levels):
    img = levels[0]
    for hi in levels[1:]:
        with tf.name_scope("merge"):
            img = tf.nn.conv2d_transpose(img, k5x5 * 4, tf.shape(hi), [1, 2, 2, 1]) + hi
    return img


def normalize_std(img, eps=1e-10):
    with tf.name_scope("normalize"):
        std = tf.sqrt(tf.reduce_mean(tf.square(img)))
        return img / tf.maximum(std, eps)


def lap_normalize(img, scale_n=4):
    img = tf.expand_dims(img, 0)
    tlevels = lap_split_n(img, scale_n)
    tlevels = list(map(normalize_std, tlevels))
    out = lap_merge(tlevels)
    return out[0, :, :, :]


lap_norm_func = tffunc(np.float32)(partial(lap_normalize, scale_n=3))


def render(t_obj, img0, iter_n=2, step=1.5, octave_n=1, octave_scale=1.4, norm=True):
    t_score = tf.reduce_mean(t_obj)
    t_grad = tf.gradients(t_score, t_input)[0]
    img = img0
    octaves = []
    for i in range(octave_n - 1):
        hw = img.shape[:2]
        lo = resize(img, np.int32(np.float32(hw) / octave_scale))
        hi = img - resize(lo, hw)
        img = lo
        octaves.append(hi)
    for octave in range(octave_n):
        if octave > 0:
            hi = octaves[-octave]
            img = resize(img, hi.shape[:2]) + hi
        for i in range(iter_n):
            g = calc_grad_tiled(img, t_grad)
            g = lap_norm_func(g) if norm else g
            img += g * (step / (np.abs(g).mean() + 1e-7))
    return img


np.random.seed(0)
img_noise = np.random.uniform(size=(32, 32, 3)).astype(np.float32) + 100.0
a = render(T(layers[-1])[:, :, :, 3], img_noise.copy())
RESULTS = {"a": a, "small": resize(a, np.int32([9, 13])), "nums": feature_nums,
           "stripped": [len(n.attr["value"].tensor.tensor_content) for n in stripped.node if n.op == "Const"]}
TOLERANCE = 1e-3
sess.close()
