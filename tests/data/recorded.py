"""Input pipelines, run under TensorFlow and under Regrad (see `tests/recorded.py`).

A program is a function of `tf` that returns a dataset, or values. Of a dataset are kept the types and static shapes of its
elements, and the elements of two runs of its initializer; an element that fails stands there as the class of its error.
"""
import collections
import pathlib
import tempfile

import numpy as np

PROGRAMS = {}
Pair = collections.namedtuple("Pair", "b a")


def pipeline(function):
    PROGRAMS[function.__name__] = function
    return function


def plain(value):
    """Returns a value as nested lists of Python's numbers and strings, with the kinds of structures."""
    if isinstance(value, dict):
        return {k: plain(value[k]) for k in sorted(value)}
    if isinstance(value, tuple):
        return [type(value).__name__, *map(plain, value)]
    value = np.asarray(value)
    return value.tolist() if value.dtype.kind != "f" else np.round(value.astype(np.float64), 4).tolist()


def elements(tf, session, following, most=40):
    """Returns what `following` gives until it ends, as texts."""
    found = []
    while len(found) < most:
        try:
            found.append(repr(plain(session.run(following))))
        except tf.errors.OutOfRangeError:
            return [*found, "end"]
        except tf.errors.OpError as error:
            found.append(type(error).__name__)
    return found


def drained(tf, dataset, feeds=None):
    iterator = tf.data.make_initializable_iterator(dataset)
    following = iterator.get_next()
    lines = [repr(tf.data.get_output_types(dataset)).replace("tf.", ""),
             str(tf.data.get_output_shapes(iterator)).replace("TensorShape", "").replace("Dimension", "")]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(2):
            session.run(iterator.initializer, feeds)
            lines += elements(tf, session, following)
    return lines


def drawn(tf, n, **kwargs):
    return tf.data.Dataset.range(n).shuffle(**kwargs)


# -- sources --------------------------------------------------------------------------------------------
@pipeline
def tensors(tf):
    return tf.data.Dataset.from_tensors((np.arange(6).reshape(2, 3), {"z": 1.5, "a": "text"}, Pair([1, 2], True)))


@pipeline
def slices(tf):
    return tf.data.Dataset.from_tensor_slices({"x": np.arange(6.0).reshape(3, 2), "y": ["p", "q", "r"]})


@pipeline
def slices_of_a_list(tf):
    return tf.data.Dataset.from_tensor_slices([[1, 2], [3, 4]])


@pipeline
def slices_that_are_fed(tf):
    x, y = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.int64, None)
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(2)
    return drained(tf, dataset, {x: np.arange(6).reshape(3, 2), y: [5, 6, 7]})


@pipeline
def ranges(tf):
    d = tf.data.Dataset
    return d.zip((d.range(7), (d.range(3, 30, 4), d.range(5, -9, -2))))


@pipeline
def generator(tf):
    def numbers(n, word):
        for i in range(n):
            yield i, [word.decode() * i] * i

    return tf.data.Dataset.from_generator(numbers, (tf.int32, tf.string), ([], [None]), args=(3, "ab")).repeat(2)


@pipeline
def generator_of_dicts(tf):
    return tf.data.Dataset.from_generator(lambda: ({"a": i, "b": (i / 2, [i])} for i in range(3)),
                                          {"a": tf.int64, "b": (tf.float32, tf.uint8)})


@pipeline
def generator_of_wrong_shapes(tf):
    return tf.data.Dataset.from_generator(lambda: iter([[1, 2], [3], [4, 5]]), tf.int32, [2])


@pipeline
def generator_of_wrong_values(tf):
    return tf.data.Dataset.from_generator(lambda: iter([1, "two", (3, 4), 5]), tf.int32, [])


@pipeline
def lines_of_text(tf):
    folder = pathlib.Path(tempfile.mkdtemp())
    (folder / "a").write_bytes(b"one\r\ntwo\n\nthree")
    (folder / "b").write_bytes(b"")
    (folder / "c").write_bytes(b"four\n")
    return drained(tf, tf.data.TextLineDataset([str(folder / n) for n in "abc"]).skip(1))


@pipeline
def records(tf):
    folder = pathlib.Path(tempfile.mkdtemp())
    names = []
    for kind in "", "GZIP", "ZLIB":
        names.append(str(folder / f"f{kind}"))
        options = tf.python_io.TFRecordOptions(getattr(tf.python_io.TFRecordCompressionType, kind or "NONE"))
        with tf.python_io.TFRecordWriter(names[-1], options) as writer:
            for i in range(3):
                example = tf.train.Example(features=tf.train.Features(feature={
                    "x": tf.train.Feature(float_list=tf.train.FloatList(value=[i, i / 2])),
                    "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[i * len(kind)]))}))
                writer.write(example.SerializeToString())

    def parsed(line):
        features = {"x": tf.FixedLenFeature([2], tf.float32), "label": tf.FixedLenFeature([], tf.int64)}
        found = tf.parse_single_example(line, features)
        return found["x"], found["label"]

    made = [tf.data.TFRecordDataset(n, k).map(parsed) for n, k in zip(names, ("", "GZIP", "ZLIB"))]
    return drained(tf, made[0].concatenate(made[1]).concatenate(made[2]).batch(2))


@pipeline
def fixed_records(tf):
    path = pathlib.Path(tempfile.mkdtemp()) / "f"
    path.write_bytes(b"HEAD" + bytes(range(12)) + b"end")
    dataset = tf.data.FixedLengthRecordDataset(str(path), 4, 4, 3)
    return drained(tf, dataset.map(lambda r: tf.decode_raw(r, tf.uint8)))


@pipeline
def files(tf):
    folder = pathlib.Path(tempfile.mkdtemp())
    for name in ["b.txt", "a.txt", "c.bin"]:
        (folder / name).write_text(name)
    dataset = tf.data.Dataset.list_files(str(folder / "*.txt"), shuffle=False)
    return drained(tf, dataset.map(tf.read_file))


# -- elements -------------------------------------------------------------------------------------------
@pipeline
def maps(tf):
    offset = tf.constant(10, tf.int64)
    d = tf.data.Dataset.range(4).map(lambda i: (i * i + offset, {"half": tf.cast(i, tf.float32) / 2}), num_parallel_calls=2)
    return d.map(lambda square, rest: Pair(rest["half"], [square, square + 1]))


@pipeline
def maps_one_namedtuple(tf):
    d = tf.data.Dataset.from_tensor_slices(Pair([1, 2], [3.0, 4.0]))
    return d.map(lambda pair: pair.a + tf.cast(pair.b, tf.float32))


@pipeline
def maps_with_a_host_function(tf):
    def named(i):
        return np.array([b"n%d" % i] * int(i), object)

    def typed(i):
        name = tf.py_func(named, [i], tf.string)
        name.set_shape([None])
        return i, name

    return tf.data.Dataset.range(3).map(typed)


@pipeline
def maps_with_loops_and_branches(tf):
    def collatz(i):
        def step(n, turns):
            return tf.cond(tf.equal(n % 2, 0), lambda: n // 2, lambda: 3 * n + 1), turns + 1

        return tf.while_loop(lambda n, turns: n > 1, step, (i, tf.constant(0)))[1]

    return tf.data.Dataset.range(1, 9).map(collatz)


@pipeline
def some_elements_fail(tf):
    def checked(i):
        with tf.control_dependencies([tf.Assert(tf.not_equal(i % 3, 1), [i])]):
            return tf.identity(i)

    return tf.data.Dataset.range(8).map(checked)


@pipeline
def errors_left_out(tf):
    d = tf.data.Dataset.from_tensor_slices([1.0, 0.0, 2.0]).map(lambda x: tf.check_numerics(1.0 / x, "no"))
    return d.apply(tf.data.experimental.ignore_errors())


@pipeline
def maps_at_random(tf):
    d = tf.data.Dataset
    first = d.range(3).map(lambda i: tf.random_uniform([2], seed=4) + tf.cast(i, tf.float32))
    second = d.range(3).flat_map(lambda i: d.range(2).map(lambda j: tf.random_normal([], seed=5)))
    return d.zip((first.repeat(2), second.repeat(2)))


@pipeline
def filtered(tf):
    return tf.data.Dataset.zip((tf.data.Dataset.range(9), tf.data.Dataset.range(9, 18))).filter(
        lambda a, b: tf.equal((a + b) % 4, 3)).enumerate(start=5)


@pipeline
def flattened(tf):
    return tf.data.Dataset.range(1, 4).flat_map(lambda n: tf.data.Dataset.from_tensors(n * 10).repeat(n).concatenate(
        tf.data.Dataset.range(n)))


@pipeline
def flattened_twice(tf):
    d = tf.data.Dataset
    return d.range(3).flat_map(lambda a: d.range(a + 1).flat_map(
        lambda b: d.from_tensors((a, b)).map(lambda x, y: x * 10 + y + a)))


@pipeline
def interleaved(tf):
    d = tf.data.Dataset
    return d.range(1, 6).interleave(lambda n: d.from_tensors(n).repeat(n + 1), cycle_length=2, block_length=2)


@pipeline
def interleaved_widely(tf):
    d = tf.data.Dataset
    return d.range(3).interleave(lambda n: d.range(n, n * 3), 5, 1)


@pipeline
def batches(tf):
    d = tf.data.Dataset
    return d.zip((d.range(5).batch(2, drop_remainder=True), d.range(7).map(tf.as_string).batch(3)))


@pipeline
def batches_of_different_shapes(tf):
    return tf.data.Dataset.range(1, 7).map(lambda n: tf.fill([n // 3], n)).batch(2)


@pipeline
def padded_batches(tf):
    d = tf.data.Dataset.range(1, 6).map(lambda n: (tf.fill([n], n), {"s": tf.fill([2, n % 2], tf.as_string(n))}))
    return d.padded_batch(2, ([None], {"s": [-1, 2]}), (tf.constant(-1, tf.int64), {"s": "pad"}))


@pipeline
def padded_batches_too_long(tf):
    return tf.data.Dataset.range(1, 6).map(lambda n: tf.fill([n], n)).padded_batch(2, [3], drop_remainder=True)


@pipeline
def mapped_and_batched(tf):
    d = tf.data.Dataset.range(5).apply(tf.data.experimental.map_and_batch(lambda i: (i, i * 2), 2, num_parallel_calls=2))
    return d.prefetch(tf.data.experimental.AUTOTUNE)


@pipeline
def grouped(tf):
    d = tf.data.Dataset.from_tensor_slices([[1, 2], [3, 0], [4, 0], [5, 6], [7, 0], [8, 9], [1, 1]])
    d = d.map(lambda x: (x, tf.count_nonzero(x)))
    return d.apply(tf.data.experimental.group_by_window(
        lambda x, n: n, lambda key, window: window.map(lambda x, n: (x[:n] * 10, key)).padded_batch(2, ([None], [])),
        window_size_func=lambda key: key + 1))


@pipeline
def unbatched(tf):
    d = tf.data.Dataset.from_tensors((np.arange(4), np.arange(8).reshape(4, 2)))
    return d.apply(tf.data.experimental.unbatch())


# -- order ----------------------------------------------------------------------------------------------
@pipeline
def shuffled(tf):
    return drawn(tf, 10, buffer_size=4, seed=3).repeat(2)


@pipeline
def shuffled_alike(tf):
    return drawn(tf, 10, buffer_size=4, seed=3, reshuffle_each_iteration=False).repeat(2)


@pipeline
def shuffled_by_the_graph(tf):
    tf.set_random_seed(7)
    d = tf.data.Dataset
    return d.zip((drawn(tf, 6, buffer_size=100), d.range(3).repeat(5).shuffle(4, seed=11).batch(2)))


@pipeline
def shuffled_and_repeated(tf):
    return tf.data.Dataset.range(7).apply(tf.data.experimental.shuffle_and_repeat(4, 3, seed=3))


@pipeline
def shuffled_inside(tf):
    d = tf.data.Dataset
    return d.range(3).flat_map(lambda n: d.range(5).shuffle(5, seed=2).map(lambda i: i + 10 * n)).repeat(2)


@pipeline
def repeated_and_taken(tf):
    return tf.data.Dataset.range(3).repeat().skip(2).take(8)


@pipeline
def counts_at_their_limits(tf):
    d = tf.data.Dataset.range(3)
    for other in d.skip(-1), d.repeat(0), d.take(0), d.skip(9), d.take(0).repeat(), d:
        d = d.concatenate(other)
    return d


@pipeline
def counts_that_are_fed(tf):
    n = tf.placeholder(tf.int64, [])
    return drained(tf, tf.data.Dataset.range(n).skip(n // 4).take(n - 3).repeat(n // 3).batch(n // 2), {n: 7})


@pipeline
def shards(tf):
    return tf.data.Dataset.range(10).shard(3, 1)


@pipeline
def cached(tf):
    calls = []

    def counted(i):
        calls.append(i)
        return i

    d = tf.data.Dataset.range(3).map(lambda i: tf.py_func(counted, [i], tf.int64)).cache().repeat(3)
    return [*drained(tf, d), len(calls)]


# -- iterators ------------------------------------------------------------------------------------------
@pipeline
def one_shot(tf):
    d = tf.data.Dataset.from_tensor_slices(np.arange(6) * tf.constant(2)).map(lambda x: x + 1)
    iterator = tf.data.make_one_shot_iterator(d)
    a, b = iterator.get_next(), iterator.get_next()
    found = []
    for _ in range(2):
        with tf.Session() as s:
            found += [s.run([a, a, a + 1]), sorted(s.run([a, b])), s.run(b)] + elements(tf, s, a)
    return [str(f) for f in found]


@pipeline
def reinitialized(tf):
    d = tf.data.Dataset
    small, large = d.range(2).map(lambda x: (x, x / 2)), d.range(10, 13).map(lambda x: (x, x / 4))
    iterator = tf.data.Iterator.from_structure(tf.data.get_output_types(small), tf.data.get_output_shapes(small))
    following = iterator.get_next()
    begins = [iterator.make_initializer(x) for x in (small, large)]
    with tf.Session() as s:
        found = []
        try:
            s.run(following)
        except tf.errors.FailedPreconditionError as error:
            found.append("has not been initialized" in error.message)
        for begin in [*begins, begins[0]]:
            s.run(begin)
            found += elements(tf, s, following)
    return found


@pipeline
def chosen_by_a_handle(tf):
    d = tf.data.Dataset
    first, second = (tf.data.make_one_shot_iterator(x) for x in (d.range(3), d.range(10, 20)))
    handle = tf.placeholder(tf.string, [])
    following = tf.data.Iterator.from_string_handle(handle, tf.int64, []).get_next()
    with tf.Session() as s:
        names = s.run([first.string_handle(), second.string_handle()])
        return [str(s.run(following, {handle: names[i]})) for i in (0, 1, 1, 0, 1)]


def refused(build):
    try:
        build()
    except Exception as error:
        return "ValueError" if isinstance(error, ValueError) else type(error).__name__
    return "nothing"


@pipeline
def refusals(tf):
    d, x = tf.data.Dataset, tf.placeholder(tf.int32, [3])
    v = tf.get_variable("v", [3])
    iterator = tf.data.Iterator.from_structure(tf.int64, [])
    return [refused(f) for f in (
        lambda: tf.data.make_one_shot_iterator(d.from_tensor_slices(x)),
        lambda: tf.data.make_one_shot_iterator(d.from_tensor_slices(v)),
        lambda: tf.data.make_one_shot_iterator(d.from_tensor_slices(tf.random_uniform([3]))),
        lambda: d.from_tensor_slices(3),
        lambda: d.from_tensor_slices(([1, 2], [3])),
        lambda: d.range(3).concatenate(d.from_tensors(1.0)),
        lambda: d.range(3).filter(lambda i: i),
        lambda: d.range(3).apply(lambda _: 3),
        lambda: d.zip([1, 2]),
        lambda: d.from_generator(3, tf.int32),
        lambda: iterator.make_initializer(d.from_tensors(1.0)),
        lambda: iterator.make_initializer(d.range(3).batch(2)),
        lambda: iterator.initializer,
        lambda: iter(d.range(3)),
        lambda: d.range(3).padded_batch(2, [2]),
    )]


# -- windows, and whole datasets -------------------------------------------------------------------------------
@pipeline
def windows(tf):
    d = tf.data.Dataset.range(10)
    return [drained(tf, d.window(*options).flat_map(lambda w: w.batch(4))) for options in (
        (3,), (3, 2), (3, 1, 2, True), (2, 5), (4, 3, 1, True), (20,))]


@pipeline
def windows_of_pairs(tf):
    d = tf.data.Dataset.range(7).map(lambda i: {"a": i, "b": (tf.cast(i, tf.float32), i * i)}).window(3, shift=2)
    return d.skip(1).flat_map(lambda w: tf.data.Dataset.zip((w["a"].batch(3), w["b"][1].map(lambda x: -x).batch(3))))


@pipeline
def windows_by_turns(tf):
    return tf.data.Dataset.range(6).window(2).interleave(lambda w: w.map(lambda x: x * 10), cycle_length=2)


@pipeline
def reductions(tf):
    n = tf.placeholder(tf.int64, [])
    total = tf.data.Dataset.range(n).reduce(np.int64(1), lambda s, e: s * n + e)
    d = tf.data.Dataset.range(5).map(lambda i: {"x": i, "y": tf.cast(i, tf.float32)})
    both = d.reduce((0.5, {"seen": tf.zeros([0], tf.int64)}),
                    lambda s, e: (s[0] + e["y"], {"seen": tf.concat([s[1]["seen"], [e["x"]]], 0)}))
    with tf.Session() as session:
        return [session.run(total, {n: 4}), session.run(total, {n: 2}), repr(plain(session.run(both))),
                repr(plain(session.run(both))), both[1]["seen"].shape, total.shape]


@pipeline
def a_single_element(tf):
    n = tf.placeholder(tf.int64, [])
    (x, y) = tf.data.experimental.get_single_element(tf.data.Dataset.range(n).map(lambda i: (i, [i, i])))
    with tf.Session() as session:
        found = [repr(plain(session.run((x, y), {n: 1}))), y.shape]
        for k in (0, 2):
            try:
                session.run(x, {n: k})
            except tf.errors.InvalidArgumentError as error:
                found.append(error.message.partition(" [")[0].strip().splitlines()[-1])
        return found


@pipeline
def experimental_datasets(tf):
    E, D = tf.data.experimental, tf.data.Dataset
    return [drained(tf, d) for d in (
        D.range(6).apply(E.scan(np.int64(1), lambda s, e: (s * 2, (s, s + e)))),
        D.range(6).apply(E.take_while(lambda i: i < 4)),
        D.from_tensor_slices([3, 1, 3, 2, 1]).apply(E.unique()),
        E.Counter(5, 3).take(4),
        E.choose_from_datasets([D.range(3), D.range(10, 12)], D.from_tensor_slices(np.array([0, 1, 1, 0, 1, 0, 0]))))]


@pipeline
def buckets(tf):
    E, D = tf.data.experimental, tf.data.Dataset
    rows = D.range(1, 9).map(lambda i: (tf.fill([(3 * i) % 7], i), i))
    length = lambda x, i: tf.size(x)  # noqa: E731
    return [drained(tf, rows.apply(E.bucket_by_sequence_length(length, [3, 5, *more], [2, 3, 1, *more], **options)))
            for options, more in (({}, []), ({"drop_remainder": True}, []), ({"pad_to_bucket_boundary": True}, [7]),
                                  ({"padding_values": (np.int64(-1), np.int64(0)), "padded_shapes": ([9], [])}, []))]


def results(tf):
    found = {}
    for name, function in PROGRAMS.items():
        with tf.Graph().as_default():
            value = function(tf)
            found[name] = [str(v) for v in (value if isinstance(value, list) else drained(tf, value))]
    return found
