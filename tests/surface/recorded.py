"""Names of TensorFlow 1 beyond single ops: summaries, pictures, measures, queues ... (see `tests/recorded.py`).

A program is a function of `tf` that returns values: arrays, numbers, bytes, strings, or lists of them.
"""
import pathlib

import numpy as np

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def run(tf, fetches, feeds=None, setup=()):
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer(), *setup])
        return sess.run(fetches, feeds)


def flat(values):
    """Returns the leaves of nested lists as arrays; bytes as their numbers, strings as NumPy's fixed ones."""
    if isinstance(values, (list, tuple)):
        return [leaf for v in values for leaf in flat(v)]
    if isinstance(values, bytes):
        return [np.frombuffer(values, np.uint8)]
    array = np.asarray(values)
    return [np.array(array.tolist(), "S") if array.dtype.kind in "OU" else array]


def pictures():
    rng = np.random.RandomState(0)
    image = rng.rand(2, 3, 4, 3).astype(np.float32)
    broken = image.copy()
    broken[0, 0, 0, 0] = np.nan
    return image, broken


# -- summaries ----------------------------------------------------------------------------------------
@program
def summaries_of_numbers(tf):
    x = np.random.RandomState(0).randn(40).astype("f")
    with tf.name_scope("scope"):
        tf.summary.scalar("a b/loss", 3.5)
        tf.summary.scalar("twice", 2, family="fam")
        tf.summary.histogram("h", x, family="fam")
        tf.summary.histogram("h", np.array([0, 0, 1, 1e21, -1e-13]))
        tf.summary.histogram("empty", np.zeros([0], "f"))
        tf.summary.text("t", tf.constant(["a", "b"]))
        tf.summary.audio("sound", np.linspace(-1.2, 1.2, 24).reshape(2, 6, 2).astype("f"), 44100.0)
        tf.summary.audio("mono", np.zeros([1, 5], "f"), 8000, max_outputs=1)
        tf.summary.tensor_summary("tensor", x[:3], display_name="shown")
    merged = tf.summary.merge_all()
    return [run(tf, merged), merged.name, [s.name for s in tf.get_collection(tf.GraphKeys.SUMMARIES)],
            run(tf, tf.summary.merge([tf.summary.scalar("again", 1.0, collections=[])], name="one"))]


@program
def summaries_of_pictures(tf):
    image, broken = pictures()
    for x in image, image - 0.5, (image * 255).astype("u1"), broken, image[..., :1]:
        tf.summary.image("i", x, max_outputs=2)
    tf.summary.image("first", image, max_outputs=1)
    values = tf.Summary.FromString(run(tf, tf.summary.merge_all())).value
    return [[v.tag, v.image.height, v.image.width, v.image.colorspace,
             run(tf, tf.image.decode_png(v.image.encoded_image_string))] for v in values]


# -- picture files ------------------------------------------------------------------------------------
HERE = pathlib.Path(__file__).parent
with np.load(HERE / "pictures.npz") as _arrays:  # written by Pillow; the oracle has none
    FILES = {name: array.tobytes() for name, array in _arrays.items()}


@program
def decoded_pictures(tf):
    s = tf.Session()
    found = []
    for kind in "rgb", "gray", "la", "rgba", "palette", "deep":
        for channels in 0, 1, 3, 4:
            found += s.run([tf.image.decode_png(FILES[kind], channels), tf.image.decode_png(FILES[kind], channels, tf.uint16),
                            tf.image.decode_image(FILES[kind], channels)])
    found += s.run([tf.image.decode_bmp(FILES["bmp"]), tf.image.decode_gif(FILES["gif"]), tf.image.decode_image(FILES["gif"]),
                    tf.image.decode_image(FILES["gray"], dtype=tf.float32),
                    tf.image.extract_jpeg_shape(FILES["jpeg"]),
                    tf.image.is_jpeg(FILES["jpeg"]), tf.image.is_jpeg(FILES["bmp"])])
    static = [tf.image.decode_png(FILES["rgb"], 3), tf.image.decode_jpeg(FILES["jpeg"], 1), tf.image.decode_gif(FILES["gif"]),
              tf.image.decode_image(FILES["rgb"])]
    return [*found, [str(t.shape.as_list() if t.shape.ndims is not None else None) for t in static]]


@program
def decoded_jpegs(tf):
    s = tf.Session()
    jpeg = FILES["jpeg"]
    return s.run([tf.image.decode_jpeg(jpeg), tf.image.decode_jpeg(jpeg, 1), tf.image.decode_and_crop_jpeg(jpeg, [2, 3, 4, 5]),
                  tf.image.decode_image(jpeg), tf.image.decode_jpeg(tf.image.encode_jpeg(np.full([8, 8, 3], 77, "u1"))),
                  tf.image.adjust_jpeg_quality(tf.constant(np.full([8, 8, 3], 0.25, "f")), 50)])


# -- all of them ----------------------------------------------------------------------------------------
# How far apart the answers may be: JPEG decoders round in their own ways, and TensorFlow smooths colours only inside a crop.
TOLERANCE = {"decoded_jpegs": dict(rtol=0, atol=8)}


def results(tf):
    found = {}
    for name, function in PROGRAMS.items():
        with tf.Graph().as_default():
            for i, value in enumerate(flat(function(tf))):
                found[f"{name}/{i}"] = value
    return found
