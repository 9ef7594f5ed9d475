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


# -- images ---------------------------------------------------------------------------------------------
def shapeless(tf, x, rank=True):
    """Returns `x` as a tensor whose static sizes, or rank, are not known, and its feeds."""
    p = tf.placeholder(tf.as_dtype(x.dtype), [None] * x.ndim if rank else None)
    return p, {p: x}


@program
def images_of_unknown_size(tf):
    image, _ = pictures()
    x, feeds = shapeless(tf, image)
    one, more = shapeless(tf, image[0])
    n = tf.placeholder(tf.int32, [])
    feeds |= more | {n: 5}
    i = tf.image
    made = [i.pad_to_bounding_box(x, 1, 2, 6, 7), i.pad_to_bounding_box(one, 0, 0, n, 4), i.crop_to_bounding_box(x, 1, 1, 2, 3),
            i.crop_to_bounding_box(one, 0, 1, n - 3, 2), i.central_crop(x, 0.6), i.central_crop(one, 0.5),
            i.resize_image_with_crop_or_pad(x, 2, 6), i.resize_image_with_crop_or_pad(one, n, n - 2),
            i.resize_image_with_pad(x, 6, 6), i.resize_image_with_pad(one, n, 9), i.resize_image_with_pad(image, 5, 7),
            i.resize_image_with_pad(image[0], 2, 9, method=1), i.flip_left_right(one), i.per_image_standardization(one)]
    bad = [i.crop_to_bounding_box(x, 2, 0, 2, 2), i.pad_to_bounding_box(one, 0, 0, n - 3, 4)]
    failures = []
    for t in bad:
        try:
            run(tf, t, feeds)
        except tf.errors.InvalidArgumentError:
            failures.append("InvalidArgumentError")
    return [run(tf, made, feeds), failures, [str(t.shape) for t in made[:4]]]


@program
def colour_spaces(tf):
    image, _ = pictures()
    i = tf.image
    out = [f(tf.constant(image)) for f in (i.rgb_to_yiq, i.yiq_to_rgb, i.rgb_to_yuv, i.yuv_to_rgb)]
    return run(tf, [*out, tf.gradients(out[0] ** 2, tf.get_default_graph().get_tensor_by_name("Const:0"))])


@program
def images_at_random(tf):
    image, _ = pictures()
    tf.set_random_seed(3)
    i = tf.image
    return run(tf, [i.random_brightness(image, 0.3, seed=1), i.random_contrast(image, 0.5, 1.5, seed=2),
                    i.random_hue(image, 0.2, seed=3), i.random_saturation(image, 0.5, 1.5, seed=4),
                    i.random_flip_left_right(image[0], seed=5), i.random_flip_up_down(image[0], seed=6),
                    tf.random_crop(image, [1, 2, 2, 3], seed=7)])


@program
def similarity(tf):
    rng = np.random.RandomState(1)
    x = rng.rand(2, 37, 50, 2).astype("f")
    y = np.clip(x + 0.1 * rng.randn(*x.shape), 0, 1).astype("f")
    a = tf.constant(x)
    s = tf.image.ssim_multiscale(a, y, 1.0, power_factors=(0.4, 0.6), filter_size=7)
    return run(tf, [s, tf.gradients(s, a)[0], tf.image.ssim(a, y, 1.0), tf.image.psnr(x, y, 1.0),
                    tf.image.ssim_multiscale((x * 255).astype("u1"), (y * 255).astype("u1"), 255, (0.4, 0.6), filter_size=5)])


@program
def boxes(tf):
    rng = np.random.RandomState(4)
    corners = rng.rand(30, 4).astype("f")
    scores = np.round(rng.rand(30), 1).astype("f")
    i = tf.image
    b, s = tf.constant(corners), tf.constant(scores)
    upright = tf.constant(np.sort(corners.reshape(30, 2, 2), 1).reshape(30, 4))
    drawn = i.draw_bounding_boxes(np.zeros([2, 9, 11, 3], "f"), np.sort(rng.rand(2, 3, 2, 2), 2).reshape(2, 3, 4).astype("f"))
    coloured = i.draw_bounding_boxes(np.zeros([1, 9, 11, 4], "f"), [[[-0.2, 0.3, 0.6, 1.4]]], colors=[[0.1, 0.2, 0.3, 0.4]])
    combined = i.combined_non_max_suppression(corners.reshape(2, 15, 1, 4), rng.rand(2, 15, 3).astype("f"), 3, 6, 0.3, 0.2)
    several = i.combined_non_max_suppression(rng.rand(1, 6, 2, 4).astype("f") * 1.3, rng.rand(1, 6, 2).astype("f"), 2, 9, 0.3,
                                             pad_per_class=True)
    return run(tf, [
        i.non_max_suppression(b, s, 10), i.non_max_suppression(b, s, 30, 0.2, 0.3),
        i.non_max_suppression_with_scores(b, s, 10, 0.4, 0.1, 0.5), i.non_max_suppression_with_scores(b, s, 10),
        # TensorFlow's takes it that all corners are in order.
        i.non_max_suppression_padded(upright, s, 40, 0.3, pad_to_max_output_size=True),
        i.non_max_suppression_overlaps(np.abs(np.corrcoef(corners)).astype("f"), s, 20, 0.6, 0.2),
        list(combined), list(several), drawn, coloured])


@program
def glimpses(tf):
    x = tf.constant(np.arange(2 * 6 * 7 * 2).reshape(2, 6, 7, 2).astype("f"))
    g = tf.image.extract_glimpse
    inside = [[0.0, 0.1], [-0.2, 0.3]]
    made = [g(x, [3, 2], inside), g(x, [2, 3], [[3.0, 3.5], [2.0, 4.0]], centered=False, normalized=False),
            g(x, [2, 2], [[0.5, 0.4], [0.6, 0.3]], centered=False), g(x, [3, 3], [[1.0, -1.0], [0.0, 0.5]], normalized=False)]
    return [run(tf, made), [str(t.shape) for t in made]]


# -- measures -------------------------------------------------------------------------------------------
_POSITIVE = np.random.RandomState(5).rand(3, 20) > 0.4
_SCORES = np.random.RandomState(6).rand(3, 20).astype("f")
_CLASSES = np.random.RandomState(7).randint(0, 4, [3, 20])
_GUESSES = np.where(np.random.RandomState(8).rand(3, 20) > 0.4, _CLASSES, np.random.RandomState(9).randint(0, 4, [3, 20]))
_RANKS = np.random.RandomState(10).rand(3, 20, 6).astype("f")
_SEVERAL = np.random.RandomState(11).randint(-1, 7, [3, 20, 2])
MEASURES = {  # name -> (labels, predictions, further arguments)
    "accuracy": (_CLASSES, _GUESSES, {}),
    "mean_squared_error": (_POSITIVE.astype("f"), _SCORES, {}),
    "mean_relative_error": (_POSITIVE.astype("f"), _SCORES, {"normalizer": np.arange(20.0, dtype="f") % 3}),
    "mean_cosine_distance": (_RANKS, _RANKS[:, ::-1], {"dim": 0}),
    "mean_iou": (_CLASSES, _GUESSES, {"num_classes": 5}),
    "mean_per_class_accuracy": (_CLASSES, _GUESSES, {"num_classes": 5}),
    "auc": (_POSITIVE, _SCORES, {}),
    "auc PR careful": (_POSITIVE, _SCORES, {"curve": "PR", "summation_method": "careful_interpolation"}),
    "auc PR": (_POSITIVE, _SCORES, {"curve": "PR", "num_thresholds": 11}),
    "auc minoring": (_POSITIVE, _SCORES, {"summation_method": "minoring", "thresholds": [0.7, 0.2, 0.5]}),
    "auc majoring": (_POSITIVE, _SCORES, {"summation_method": "majoring", "num_thresholds": 7}),
    "precision_at_thresholds": (_POSITIVE, _SCORES, {"thresholds": [0.1, 0.5, 2.0]}),
    "recall_at_thresholds": (_POSITIVE, _SCORES, {"thresholds": [0.1, 0.5, 2.0]}),
    "true_positives_at_thresholds": (_POSITIVE, _SCORES, {"thresholds": [0.1, 0.5]}),
    "false_positives_at_thresholds": (_POSITIVE, _SCORES, {"thresholds": [0.1, 0.5]}),
    "true_negatives_at_thresholds": (_POSITIVE, _SCORES, {"thresholds": [0.1, 0.5]}),
    "false_negatives_at_thresholds": (_POSITIVE, _SCORES, {"thresholds": [0.1, 0.5]}),
    "sensitivity_at_specificity": (_POSITIVE, _SCORES, {"specificity": 0.6}),
    "specificity_at_sensitivity": (_POSITIVE, _SCORES, {"sensitivity": 0.6, "num_thresholds": 20}),
    "recall_at_k": (_CLASSES, _RANKS, {"k": 2}),
    "recall_at_k several": (_SEVERAL, _RANKS, {"k": 3}),
    "recall_at_k class": (_SEVERAL, _RANKS, {"k": 3, "class_id": 2}),
    "precision_at_k": (_SEVERAL, _RANKS, {"k": 2}),
    "precision_at_k class": (_SEVERAL, _RANKS, {"k": 2, "class_id": 1}),
    "average_precision_at_k": (np.abs(_SEVERAL), _RANKS, {"k": 3}),
}


def measure(name):
    labels, predictions, arguments = MEASURES[name]

    def program(tf):
        function = getattr(tf.metrics, name.partition(" ")[0])
        t, p = (tf.placeholder(tf.as_dtype(x.dtype), x.shape[1:]) for x in (labels, predictions))
        more = {k: tf.constant(v) if isinstance(v, np.ndarray) else v for k, v in arguments.items()}
        w = tf.constant(np.linspace(0.5, 1.5, 20).astype("f"))
        plain, weighted = (function(t, p, weights=weights, **more)
                           for weights in (None, w[None, :6] if name == "mean_cosine_distance" else w))
        with tf.Session() as sess:
            sess.run(tf.local_variables_initializer())
            found = [sess.run([plain[1], weighted[1]], {t: labels[i], p: predictions[i]}) for i in range(2)]
            return [found, sess.run([plain[0], weighted[0]])]

    return program


PROGRAMS |= {f"metric {name}": measure(name) for name in MEASURES}


@program
def more_metrics(tf):
    m = tf.metrics
    x = tf.constant([[1.0, 2.0], [3.0, 5.0]])
    sparse = tf.SparseTensor(np.array([[0, 0], [0, 1], [1, 0]], "i8"), np.array([1, 0, 2], "i8"), [2, 2])
    ranks = tf.constant([[0.1, 0.7, 0.2], [0.5, 0.2, 0.3]])
    few, two = tf.constant([[1], [2]], tf.int64), tf.constant([[0, 1], [0, 1]], tf.int64)
    made = [m.mean_tensor(x), m.mean_tensor(x, [[1.0], [0.0]]), m.percentage_below(x, 3.0),
            m.accuracy(tf.constant([[1], [2]]), tf.constant([1, 3])),
            m.mean_absolute_error(x[:, :1], x[:, 1]), m.recall_at_k(sparse, ranks, 2),
            m.precision_at_k(sparse, ranks, 1), m.average_precision_at_k(sparse, ranks, 2),
            m.recall_at_top_k(few, two), m.precision_at_top_k(few, two)]
    return run(tf, [u for _, u in made])


# -- records ------------------------------------------------------------------------------------------------
def examples(tf):
    """Returns three serialised Examples, the last with much left out."""
    t = tf.train

    def example(**features):
        return t.Example(features=t.Features(feature=features)).SerializeToString(deterministic=True)

    def ints(*v):
        return t.Feature(int64_list=t.Int64List(value=v))

    def floats(*v):
        return t.Feature(float_list=t.FloatList(value=v))

    def texts(*v):
        return t.Feature(bytes_list=t.BytesList(value=v))

    return [example(n=ints(1), x=floats(1.5, -2), s=texts(b"a", b"bc"), i=ints(3, 1), v=floats(0.5, 0.25)),
            example(n=ints(2), x=floats(0, 3), s=texts(b"d"), seq=floats(1, 2, 3, 4)), example(x=floats(7, 8))]


FEATURES = {
    "n": lambda tf: tf.FixedLenFeature([], tf.int64, default_value=-tf.ones([1], tf.int64)),
    "x": lambda tf: tf.FixedLenFeature([2], tf.float32),
    "s": lambda tf: tf.VarLenFeature(tf.string), "sp": lambda tf: tf.SparseFeature("i", "v", tf.float32, 5),
    "seq": lambda tf: tf.FixedLenSequenceFeature([2], tf.float32, allow_missing=True, default_value=-1.0),
}


def _parts(found):
    values = [found[k] for k in sorted(found)]
    return [p for v in values for p in ([v.indices, v.values, v.dense_shape] if hasattr(v, "dense_shape") else [v])]


@program
def parsed_examples(tf):
    features = {k: f(tf) for k, f in FEATURES.items()}
    rows = examples(tf)
    batch = _parts(tf.parse_example(tf.constant(rows), features))
    one = _parts(tf.parse_single_example(rows[1], features))
    more = tf.parse_single_example(rows[0], features)
    t = tf.train
    frames = [t.Feature(int64_list=t.Int64List(value=v)) for v in ([1, 2], [3, 4], [5, 6])]
    loose = [t.Feature(bytes_list=t.BytesList(value=v)) for v in ([b"a"], [], [b"b", b"c"])]
    lists = t.FeatureLists(feature_list={"f": t.FeatureList(feature=frames), "l": t.FeatureList(feature=loose)})
    sequence = t.SequenceExample(context=t.Example.FromString(rows[0]).features, feature_lists=lists).SerializeToString()
    context, steps = tf.parse_single_sequence_example(
        sequence, {"x": tf.FixedLenFeature([2], tf.float32)},
        {"f": tf.FixedLenSequenceFeature([2], tf.int64), "l": tf.VarLenFeature(tf.string)})
    return [run(tf, [batch, one, more["n"], context["x"], _parts(steps)]),
            [str(p.shape) for p in [*batch, *one, *_parts(steps)]], rows[0]]


@program
def records_that_do_not_fit(tf):
    row = examples(tf)[2]
    bad = {"missing": {"n": tf.FixedLenFeature([], tf.int64)}, "type": {"x": tf.FixedLenFeature([2], tf.int64)},
           "size": {"x": tf.FixedLenFeature([3], tf.float32)}}
    failures = []
    for features in bad.values():
        with tf.Session() as s:
            try:
                s.run(tf.parse_single_example(row, features))
            except Exception as error:
                failures.append(type(error).__name__)
    return failures


@program
def comma_separated(tf):
    columns = tf.decode_csv(["1,2.5,a b,7", "3,,\"x, \"\"y\"\"\",8"], [[0], [-1.5], [""], tf.constant([], tf.int64)])
    one = tf.decode_csv("1;NA;5", [[0], [9]], field_delim=";", na_value="NA", select_cols=[1, 2])
    return run(tf, [columns, one])


@program
def tensors_as_strings(tf):
    text = tf.serialize_tensor(tf.constant([[1.5, 2.0]]))
    return run(tf, [text, tf.parse_tensor(text, tf.float32), tf.decode_raw(tf.constant(["ab", "cd"]), tf.uint8)])


# -- queues -------------------------------------------------------------------------------------------------
@program
def queues(tf):
    fifo = tf.FIFOQueue(10, [tf.float32, tf.int32], [[2], []])
    named = tf.FIFOQueue(4, [tf.float32, tf.string], [[], []], names=["x", "s"], name="named")
    padding = tf.PaddingFIFOQueue(5, tf.int32, [[None]])
    shuffled = tf.RandomShuffleQueue(10, 2, tf.int64, [[]])
    first = tf.PriorityQueue(10, tf.string, [[]])
    n = tf.placeholder(tf.int32, [])
    found = []
    with tf.Session() as s:
        s.run([fifo.enqueue_many([np.arange(10.0).reshape(5, 2), np.arange(5)]), named.enqueue({"x": 1.5, "s": "a"}),
               shuffled.enqueue_many([np.arange(8)])])
        for k in 3, 1, 2:
            s.run(padding.enqueue([np.arange(k)]))
        for p, word in (3, "c"), (1, "a"), (3, "d"), (2, "b"):
            s.run(first.enqueue([np.int64(p), word]))
        found += s.run(fifo.dequeue())
        found += s.run(fifo.dequeue_many(n), {n: 2})
        found += [s.run(named.dequeue()[k]) if k == "x" else b"a" for k in ("x", "s")]
        found += [s.run(padding.dequeue_many(3)), s.run(shuffled.size()), s.run(fifo.size())]
        found += s.run(first.dequeue_many(4))
        found += [np.sort(s.run(shuffled.dequeue_many(6))).size]
        s.run([fifo.close(), shuffled.close(), named.close(cancel_pending_enqueues=True)])
        found += s.run(fifo.dequeue_up_to(9))
        found += [s.run(fifo.is_closed()), s.run(padding.is_closed()), s.run(shuffled.dequeue_many(2)).size]
        failures = []
        for t in fifo.dequeue(), fifo.enqueue([[1.0, 2.0], 3]), shuffled.dequeue_many(1):
            try:
                s.run(t)
            except tf.errors.OpError as error:
                failures.append(type(error).__name__)
    names = [fifo.name, fifo.queue_ref.op.type, named.enqueue({"x": 1.0, "s": "b"}).name, fifo.dequeue()[0].name,
             padding.dequeue_many(2).name, str(padding.dequeue_many(2).shape), str(fifo.dequeue_up_to(n)[0].shape),
             shuffled.size().name]
    return [found, failures, names]


@program
def input_pipeline(tf):
    x, y = np.arange(20.0, dtype="f").reshape(10, 2), np.arange(10)
    a, b = tf.train.slice_input_producer([x, y], num_epochs=2, shuffle=False)
    bx, by = tf.train.batch([a, b], 6, allow_smaller_final_batch=True)
    whole = tf.train.batch({"n": tf.train.range_input_producer(4, num_epochs=1, shuffle=False).dequeue()}, 2)
    names = sorted(v.name for v in tf.local_variables())
    found = []
    with tf.Session() as s:
        s.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(s, coord)
        try:
            while not coord.should_stop():
                found += s.run([bx, by])
        except tf.errors.OutOfRangeError:
            found.append(-1)
        found += [s.run(whole["n"]) for _ in range(2)]
        coord.request_stop()
        coord.join(threads)
    return [found, names, [bx.name, by.name, str(bx.shape), whole["n"].name, str(whole["n"].shape)]]


@program
def readers(tf):
    import os
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        def path(name):
            return os.path.join(folder, name)

        with open(path("a.txt"), "w") as file:
            file.write("head\none\ntwo\n")
        with open(path("b.txt"), "w") as file:
            file.write("head\nthree")
        with tf.python_io.TFRecordWriter(path("r")) as writer:
            writer.write(b"first")
            writer.write(b"second")
        zipped = tf.python_io.TFRecordOptions(tf.python_io.TFRecordCompressionType.GZIP)
        with tf.python_io.TFRecordWriter(path("z"), zipped) as w:
            w.write(b"packed")

        def queue(*names):
            q = tf.FIFOQueue(9, tf.string, [[]])
            return q, [q.enqueue_many([[path(n) for n in names]]), q.close()]

        found = []
        made = [(tf.TextLineReader(skip_header_lines=1), ("a.txt", "b.txt")), (tf.WholeFileReader(), ("b.txt",)),
                (tf.TFRecordReader(), ("r",)), (tf.FixedLengthRecordReader(3, header_bytes=1), ("b.txt",)),
                (tf.IdentityReader(), ("a.txt",))]
        with tf.Session() as s:
            for reader, names in made:
                q, fill = queue(*names)
                key, value = reader.read(q)
                for op in fill:
                    s.run(op)
                try:
                    while True:
                        k, v = s.run([key, value])
                        found.append([k.replace(folder.encode(), b""), v.replace(folder.encode(), b"")])
                except tf.errors.OutOfRangeError:
                    found.append(s.run([reader.num_records_produced(), reader.num_work_units_completed()]))
            q, fill = queue("a.txt", "b.txt")
            up_to = tf.TextLineReader().read_up_to(q, 2)
            for op in fill:
                s.run(op)
            found += [s.run(up_to[1]) for _ in range(3)]
            files = tf.train.match_filenames_once(path("*.txt"))
            s.run(files.initializer)
            found.append([name.replace(folder.encode(), b"") for name in s.run(files)])
            s.run(tf.write_file(path("new/x"), "hello"))
            found.append(s.run(tf.read_file(path("new/x"))))
        found += list(tf.python_io.tf_record_iterator(path("r")))
        found += list(tf.python_io.tf_record_iterator(path("z"), tf.python_io.TFRecordOptions(2)))
    return found


# -- sets, hashes, sparse tensors ----------------------------------------------------------------------------
@program
def sets(tf):
    a, b = tf.constant([[3, 1, 1], [4, 5, 6]]), tf.constant([[1, 9], [6, 4]])
    sparse = tf.SparseTensor([[0, 0], [1, 0], [1, 1]], [3, 4, 4], [2, 2])
    s = tf.sets
    made = [s.set_intersection(a, b), s.set_union(a, b), s.set_difference(a, b), s.set_difference(a, b, aminusb=False),
            s.set_intersection(a, sparse), s.set_difference(sparse, b), s.set_union(sparse, sparse)]
    return run(tf, [_parts({"x": x}) for x in made] + [s.set_size(made[1]), s.set_size(sparse)])


@program
def distances(tf):
    h = tf.SparseTensor([[0, 0], [0, 1], [1, 0], [2, 0]], ["a", "b", "c", "x"], [3, 2])
    t = tf.SparseTensor([[0, 0], [0, 1], [0, 2], [1, 0]], ["b", "b", "d", "c"], [4, 3])
    return run(tf, [tf.edit_distance(h, t), tf.edit_distance(h, t, normalize=False)])


@program
def hashes(tf):
    words = [("ab\0c" * 40)[:n] for n in (0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 50, 64, 65, 100, 128, 129)]
    big = 2**61 - 1
    s = tf.strings
    return run(tf, [tf.string_to_hash_bucket_fast(words, big), tf.string_to_hash_bucket(words, big),
                    tf.string_to_hash_bucket_strong(words, big, [123, 456]), s.to_hash_bucket_fast([["x"]], 10)])


@program
def sparse_tensors(tf):
    values = tf.constant([1.0, 2.0, 3.0, -4.0])
    x = tf.SparseTensor([[0, 1], [0, 3], [1, 0], [2, 2]], values, [3, 4])
    y = tf.SparseTensor([[0, 1], [1, 1]], [5.0, -1.0], [3, 4])
    s = tf.sparse
    made = [tf.sparse_reshape(x, [2, -1]), tf.sparse_transpose(x), tf.sparse_transpose(x, [0, 1]), tf.sparse_concat(0, [x, y]),
            tf.sparse_concat(1, [x, y]), *tf.sparse_split(sp_input=x, num_split=3, axis=1), tf.sparse_reset_shape(y),
            tf.sparse_reset_shape(y, [5, 5]), tf.sparse_retain(x, [True, False, False, True]), s.from_dense([[0, 2], [3, 0]]),
            s.eye(2, 3), s.expand_dims(y, 0), s.expand_dims(y), tf.sparse_maximum(x, y), tf.sparse_minimum(x, y),
            tf.sparse_merge(tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [3, 1, 2], [2, 2]),
                            tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [0.5, 1.5, 2.5], [2, 2]), 5)]
    ids = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], np.array([3, 1, 2]), [2, 2])
    slope = tf.gradients(tf.reduce_sum(tf.sparse_tensor_to_dense(tf.sparse_reshape(x, [4, 3])) ** 2), values)
    return run(tf, [[_parts({"x": m}) for m in made], tf.sparse_to_indicator(ids, 5), tf.sparse_reduce_max(x, 1),
                    tf.sparse_reduce_max(x), slope, tf.sparse_matmul([[1.0, 2.0]], [[3.0], [4.0]])])


# -- sequences, dilated windows, small things -------------------------------------------------------------------
@program
def label_sequences(tf):
    labels = tf.constant([[1, 1, 2, 2, 3], [4, 4, 4, 1, 4], [2, 2, 2, 2, 2]])
    collapsed = tf.nn.collapse_repeated(labels, [5, 4, 1])
    logits = tf.constant(np.random.RandomState(3).randn(6, 2, 4).astype("f"))
    dense = tf.constant([[1, 2, 2], [3, 0, 0]])
    losses = [tf.nn.ctc_loss_v2(dense, logits, [3, 1], [6, 5]),
              tf.nn.ctc_loss_v2(tf.constant([[0, 2, 2], [3, 0, 0]]), logits, [3, 1], [6, 5], blank_index=1),
              tf.nn.ctc_loss_v2(tf.constant([[0, 2], [1, 0]]), tf.transpose(logits, [1, 0, 2]), [2, 1], [6, 5], False,
                                blank_index=-1)]
    return run(tf, [collapsed, losses, tf.gradients(losses[0], logits)[0]])


@program
def dilated_windows(tf):
    x = tf.constant(np.random.RandomState(4).randn(1, 7, 9, 2).astype("f"))
    f = tf.constant(np.random.RandomState(5).randn(3, 2, 2, 3).astype("f"))

    def op(t, num_spatial_dims, padding):
        return tf.nn.conv2d(t, f, [1, 1, 1, 1], padding)

    loose, feeds = shapeless(tf, np.random.RandomState(4).randn(1, 7, 9, 2).astype("f"))
    made = [tf.nn.with_space_to_batch(x, [2, 3], p, op, filter_shape=[3, 2]) for p in ("SAME", "VALID")]
    made.append(tf.nn.with_space_to_batch(x, [1, 1], "SAME", op))
    made.append(tf.nn.with_space_to_batch(tf.reshape(loose, [-1, 7, 9, 2]), [3], "VALID", op, spatial_dims=[2]))
    return run(tf, made, feeds)


@program
def small_things(tf):
    x = tf.constant([1.5, -2.0])
    strings = tf.strings
    split = strings.split([" a  b c", "d, e f"], maxsplit=1)
    comma = strings.split(["a,,b", ""], sep=",")
    device = tf.DeviceSpec.from_string("/job:localhost/task:0/cpu:0")
    with tf.device(device):
        placed = tf.identity(x)
    made = [tf.verify_tensor_all_finite(x, "bad"), tf.arg_max([[1, 3], [4, 2]], 1), tf.arg_min([[1, 3], [4, 2]], 1, tf.int32),
            tf.matrix_square_root([[4.0, 0.0], [0.0, 9.0]]), strings.upper(["a\u00e9".encode()], "utf-8"),
            strings.lower(["AB"]), tf.py_function(lambda a: a.numpy() * 2, [x], tf.float32),
            tf.timestamp() > 1.5e9, _parts({"a": split}), _parts({"a": comma}), tf.nn.avg_pool2d(value=tf.ones([1, 2, 2, 1]),
            ksize=[1, 2, 2, 1], strides=[1, 1, 1, 1], padding="VALID"), tf.sigmoid(tf.constant(0.0))]
    static = [tf.get_static_value(tf.constant([1, 2])), tf.get_static_value(tf.placeholder(tf.int32)) is None]
    return [run(tf, made[:-1], setup=[tf.tables_initializer()]), placed.device, device.to_string(), device.task, static,
            tf.executing_eagerly(), tf.compat.dimension_value(tf.Dimension(3))]


@program
def distorted_boxes(tf):
    f = tf.image.sample_distorted_bounding_box
    box = np.array([[[0.1, 0.2, 0.7, 0.9], [0.5, 0.5, 0.55, 0.56]]], "f")
    made = [f([60, 80, 3], box, seed=s, seed2=3) for s in range(1, 8)]
    made += [f([33, 50, 1], np.zeros([1, 0, 4], "f"), seed=s, use_image_if_no_bounding_boxes=True, area_range=(0.3, 0.5),
               aspect_ratio_range=(0.5, 2.5), min_object_covered=0.4) for s in range(5)[1:]]
    made.append(f(tf.constant([20, 30, 3], tf.int64), box, seed=9, min_object_covered=1.0, max_attempts=2))
    with tf.Session() as s:
        found = s.run([list(m) for m in made])
        again = s.run([list(m) for m in made[:2]])
    return [found, again]


# -- all of them ----------------------------------------------------------------------------------------
# How far apart the answers may be: JPEG decoders round in their own ways, and TensorFlow smooths colours only inside a crop.
TOLERANCE = {"decoded_jpegs": dict(rtol=0, atol=8), "images_at_random": dict(rtol=1e-5, atol=1e-6)}


def results(tf):
    found = {}
    for name, function in PROGRAMS.items():
        with tf.Graph().as_default():
            try:
                values = flat(function(tf))
            except Exception as error:
                error.add_note(f"in the program {name!r}")
                raise
        found |= {f"{name}/{i}": value for i, value in enumerate(values)}
    return found
