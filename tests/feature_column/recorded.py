"""Feature columns: programs for both systems (see `tests/recorded.py`)."""
import tempfile

import numpy as np

from tests.recorded import refusal

WORDS = np.array([["a", "b"], ["c", ""], ["d", "a"]])


def ramp(tf):
    """Returns an initializer that gives each element its own number, whatever the shape."""
    def initializer(shape, dtype=None, partition_info=None, **_):
        return tf.reshape(tf.range(0.0, 1.0 * int(np.prod(shape))) / 10 - 0.3, shape)

    return initializer


def features(tf):
    return {
        "x": tf.constant([[1.0, 5.0], [-2.0, 0.5], [3.0, 10.0]]), "n": tf.constant([7, 1, 0]), "words": tf.constant(WORDS),
        "ids": tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [3, 1, 0], [3, 2]), "far": tf.constant([[3], [9], [-1]]),
        "weights": tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [0.5, 2.0, 1.0], [3, 2]),
        "dense_weights": tf.constant([[0.5, 2.0], [3.0, 0.0], [-1.0, 4.0]]),
        "image": tf.reshape(tf.range(12.0), [3, 2, 2]), "one": tf.constant(["a", "q", ""]),
    }


def columns(tf):
    """Returns {name: column}, dense and of categories."""
    fc = tf.feature_column
    with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) as file:
        file.write("c\na\nb\n")
    x = fc.numeric_column("x", 2)
    bucketized = fc.bucketized_column(x, [0.0, 1.0, 5.0])
    listed = fc.categorical_column_with_vocabulary_list("words", ["b", "a", "c"])
    others = fc.categorical_column_with_vocabulary_list("words", ["b", "a"], num_oov_buckets=3)
    number = fc.categorical_column_with_vocabulary_list("n", [0, 7])
    filed = fc.categorical_column_with_vocabulary_file("words", file.name, default_value=2)
    hashed = fc.categorical_column_with_hash_bucket("words", 10)
    counted = fc.categorical_column_with_hash_bucket("n", 10, tf.int64)
    ids, far = fc.categorical_column_with_identity("ids", 4), fc.categorical_column_with_identity("far", 5, default_value=2)
    one = fc.categorical_column_with_vocabulary_list("one", ["a", "b", "c"], default_value=1)
    crossed = fc.crossed_column(["words", listed, far], 20)
    nested = fc.crossed_column([bucketized, fc.crossed_column(["words", "one"], 5)], 30, hash_key=7)
    weighted = fc.weighted_categorical_column(ids, "weights")
    listed_weighted = fc.weighted_categorical_column(fc.categorical_column_with_vocabulary_list("words", ["b", "a", "c", "d"]),
                                                     "dense_weights")
    return {
        "numeric": x, "integers": fc.numeric_column("n", dtype=tf.int64), "image": fc.numeric_column("image", [2, 2]),
        "normalised": fc.numeric_column("x", [2], normalizer_fn=lambda t: t * 2.0 - 1.0), "bucketized": bucketized,
        "listed": listed, "others": others, "number": number, "filed": filed, "hashed": hashed, "counted": counted, "ids": ids,
        "far": far, "crossed": crossed, "nested": nested, "weighted": weighted, "listed_weighted": listed_weighted,
        **{f"{name}_indicator": fc.indicator_column(c) for name, c in {
            "listed": listed, "others": others, "number": number, "filed": filed, "hashed": hashed, "counted": counted,
            "ids": ids, "far": far, "one": one, "weighted": weighted, "bucketized": bucketized}.items()},
        **{f"{combiner}_embedding": fc.embedding_column(column, 3, combiner, ramp(tf)) for combiner, column in {
            "mean": listed, "sum": weighted, "sqrtn": hashed}.items()},
        "clipped_embedding": fc.embedding_column(filed, 2, initializer=ramp(tf), max_norm=0.2),
        "fixed_embedding": fc.embedding_column(far, 2, initializer=ramp(tf), trainable=False),
    }


DENSE = [*("numeric integers image normalised bucketized".split()), *(f"{name}_indicator" for name in (
    "listed others number filed hashed counted ids far one weighted bucketized".split())),
    *(f"{name}_embedding" for name in "mean sum sqrtn clipped fixed".split())]
CATEGORICAL = "listed others number filed hashed counted ids far crossed nested weighted listed_weighted".split()


def run(tf, tensors):
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer(), tf.tables_initializer()])
        return sess.run(tensors)


def described(variables):
    return [f"{v.op.name} {v.shape.as_list()} {v.trainable}" for v in variables]


def layer(tf, name):
    """Returns {what is known of the input layer of one column}."""
    with tf.Graph().as_default():
        made = tf.feature_column.input_layer(features(tf), columns(tf)[name])
        return {f"layer_{name}": run(tf, made), f"layer_{name}_variables": [
            *described(tf.global_variables()), f"model variables: {len(tf.model_variables())}", str(made.shape.as_list()[1])]}


def linear(tf, name, combiner="sum"):
    """Returns {what is known of a linear model of one column, whose weights are not zeros}."""
    with tf.Graph().as_default():
        found: dict = {}
        made = tf.feature_column.linear_model(features(tf), [columns(tf)[name]], units=2, sparse_combiner=combiner,
                                              cols_to_vars=found)
        variables = tf.trainable_variables()
        set_ = [tf.assign(v, ramp(tf)(v.shape.as_list())) for v in variables]
        names = [n for vs in found.values() for n in described(vs)]
        with tf.Session() as sess:
            sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
            before = sess.run(made)
            sess.run(set_)
            return {f"linear_{name}_{combiner}": sess.run(made), f"linear_{name}_{combiner}_variables": [
                *names, str(float(np.abs(before).sum()))]}


def together(tf):
    """Many columns in one model, sharing tables; what `make_parse_example_spec` says."""
    fc = tf.feature_column
    with tf.Graph().as_default():
        chosen = columns(tf)
        ids = fc.categorical_column_with_identity("ids", 4)
        more = fc.categorical_column_with_identity("n", 8), fc.categorical_column_with_identity("far", 8, 0)
        shared = fc.shared_embedding_columns(more, 2, initializer=ramp(tf))
        named = fc.shared_embedding_columns([ids], 2, "sum", ramp(tf), "mine")
        to_vars, to_tensors = {}, {}
        given = [chosen["normalised"], *shared, *named, chosen["mean_embedding"], chosen["listed_indicator"]]
        made = fc.input_layer(features(tf), given, ["extra"], cols_to_vars=to_vars, cols_to_output_tensors=to_tensors)
        second = fc.input_layer(features(tf), shared[:1], trainable=False)
        wide = fc.linear_model(features(tf), [chosen["crossed"], chosen["hashed"], chosen["numeric"]])
        loss = tf.reduce_sum(made ** 2) + tf.reduce_sum((wide - 1.0) ** 2)
        step = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
        with tf.Session() as sess:
            sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
            first = sess.run([made, second, wide])
            for _ in range(3):
                sess.run(step)
            values = sess.run(tf.trainable_variables())
        names = [*described(tf.global_variables()), f"extra: {[v.op.name for v in tf.get_collection('extra')]}",
                 *(f"{c.name}: {[v.op.name for v in to_vars[c]]} {to_tensors[c].shape.as_list()[1]}" for c in given)]
        spec = fc.make_parse_example_spec([chosen[k] for k in (
            "normalised", "bucketized", "listed_indicator", "weighted", "crossed", "counted", "image", "mean_embedding")])
        names += [f"{key}: {type(s).__name__} {s.dtype.name} {tuple(getattr(s, 'shape', ()))} "
                  f"{getattr(s, 'default_value', None)}" for key, s in sorted(spec.items())]
        default = fc.numeric_column("x", 2, 3)
        names += [f"{c.name}" for c in [*chosen.values(), *shared, *named]]
        names += [str(default == fc.numeric_column("x", 2, [3, 3])), str({default: 1}[fc.numeric_column("x", 2, 3)])]
    return {"together_layer": first[0], "together_second": first[1], "together_wide": first[2], "together_names": names,
            "together_trained": np.concatenate([np.ravel(v) for v in values])}


def refusals(tf):
    fc = tf.feature_column
    x, listed = fc.numeric_column("x"), fc.categorical_column_with_vocabulary_list("w", ["a", "b"])

    def layer(column, **given):
        return lambda: run(tf, fc.input_layer({k: tf.constant(v) for k, v in given.items()}, column))

    cases = {
        "key": lambda: fc.numeric_column(1), "shape": lambda: fc.numeric_column("x", 0),
        "float shape": lambda: fc.numeric_column("x", [1.5]), "dtype": lambda: fc.numeric_column("x", dtype=tf.string),
        "default": lambda: fc.numeric_column("x", 2, [1.0]), "default kind": lambda: fc.numeric_column("x", default_value="a"),
        "fraction": lambda: fc.numeric_column("x", default_value=1.5, dtype=tf.int32),
        "normalizer": lambda: fc.numeric_column("x", normalizer_fn=1), "source": lambda: fc.bucketized_column(listed, [1]),
        "boundaries": lambda: fc.bucketized_column(x, [2, 1]), "none": lambda: fc.bucketized_column(x, []),
        "matrix": lambda: fc.bucketized_column(fc.numeric_column("x", [1, 2]), [1]),
        "hash": lambda: fc.categorical_column_with_hash_bucket("x", 0),
        "hash dtype": lambda: fc.categorical_column_with_hash_bucket("x", 3, tf.float32),
        "identity": lambda: fc.categorical_column_with_identity("x", 0),
        "identity default": lambda: fc.categorical_column_with_identity("x", 3, 3),
        "empty": lambda: fc.categorical_column_with_vocabulary_list("x", []),
        "twice": lambda: fc.categorical_column_with_vocabulary_list("x", ["a", "a"]),
        "both": lambda: fc.categorical_column_with_vocabulary_list("x", ["a"], default_value=0, num_oov_buckets=1),
        "oov": lambda: fc.categorical_column_with_vocabulary_list("x", ["a"], num_oov_buckets=-1),
        "kind": lambda: fc.categorical_column_with_vocabulary_list("x", ["a"], tf.int32),
        "floats": lambda: fc.categorical_column_with_vocabulary_list("x", [1.5]),
        "file": lambda: fc.categorical_column_with_vocabulary_file("x", ""),
        "weights": lambda: fc.weighted_categorical_column(listed, "w", tf.string),
        "cross": lambda: fc.crossed_column(["a"], 3), "cross size": lambda: fc.crossed_column(["a", "b"], 0),
        "cross hash": lambda: fc.crossed_column(["a", fc.categorical_column_with_hash_bucket("b", 3)], 3),
        "cross numeric": lambda: fc.crossed_column(["a", x], 3),
        "dimension": lambda: fc.embedding_column(listed, 0),
        "initializer": lambda: fc.embedding_column(listed, 2, initializer=1),
        "checkpoint": lambda: fc.embedding_column(listed, 2, ckpt_to_load_from="a"),
        "shared": lambda: fc.shared_embedding_columns([listed, fc.categorical_column_with_identity("i", 2)], 2),
        "shared sizes": lambda: fc.shared_embedding_columns([fc.categorical_column_with_identity(k, i) for i, k in (
            (2, "i"), (3, "j"))], 2),
        "layer": layer([listed], w=["a"]), "no columns": layer([], x=[1.0]), "dict": layer({"a": x}, x=[1.0]),
        "same": layer([x, fc.numeric_column("x", 2)], x=[1.0]), "missing": layer([x], y=[1.0]),
        "scalar": layer([x], x=1.0), "batches": layer([x, fc.numeric_column("y")], x=[1.0], y=[1.0, 2.0]),
        "text": layer([fc.indicator_column(listed)], w=[1]),
        "float categories": layer([fc.indicator_column(listed)], w=[1.0]),
        "specs": lambda: fc.make_parse_example_spec([x, fc.numeric_column("x", 2)]),
        "no column": lambda: fc.make_parse_example_spec([1]),
    }
    lines = []
    for name, case in cases.items():
        with tf.Graph().as_default():
            lines.append(f"{name}: {refusal(case)[0].partition(':')[0]}")
    return lines


def results(tf):
    found = {**together(tf), "refusals": refusals(tf)}
    for name in DENSE:
        found |= layer(tf, name)
    for name in CATEGORICAL:
        found |= linear(tf, name)
    for name, combiner in (("weighted", "mean"), ("hashed", "sqrtn"), ("bucketized", "sum"), ("image", "sum")):
        found |= linear(tf, name, combiner)
    return found
