"""Graphs with their collections in files, for other processes: what is kept, what is lost, and what Saver writes."""
import collections
import os

import numpy as np
import pytest

import regrad as tf
from regrad.core import graph_proto


class _Forgetful(dict):
    def __setitem__(self, key, value):
        pass


@pytest.fixture(autouse=True)
def another_process(monkeypatch):
    """What is read finds no operations of the graph that was written, as in a process of its own."""
    monkeypatch.setattr(graph_proto, "_operations", _Forgetful())


X = np.arange(6, dtype=np.float32).reshape(2, 3)


def named_function(x):
    return x * np.float32(2)


FUNCTIONS = {f"{__name__}:named_function": named_function}


def collected(row):
    """What a loop over a TensorArray does, and puts into a collection."""
    tf.losses.add_loss(tf.reduce_sum(row))
    return tf.tanh(row)


def model():
    """Builds loops, branches, lists, strings and gradients; returns the names to fetch."""
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    v = tf.get_variable("v", initializer=np.full([3, 2], 0.5, np.float32))
    h = tf.layers.batch_normalization(tf.nn.relu(tf.matmul(x, v)), epsilon=0.001, training=True, name="bn")
    s = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * tf.cond(i > 1, lambda: tf.reduce_sum(v), lambda: 0.3)),
                      [0, tf.reduce_sum(h * h) + tf.reduce_sum(x)])[1]
    tf.identity(s, name="y")
    z = tf.concat([h, h[:, ::-1]], 1, name="z")
    tf.identity(tf.split(z, [1, 3], 1)[1], name="part")
    tf.string_join([tf.constant(["a", "b"]), "c"], name="text")
    tf.identity(tf.py_func(named_function, [s], tf.float32), name="doubled")
    tf.map_fn(collected, x, name="mapped")
    for t, name in zip(tf.gradients(s, [x, v]), ("gx", "gv")):
        tf.identity(t, name=name)
    return ["y:0", "z:0", "part:0", "text:0", "doubled:0", "gx:0", "gv:0", "mapped/TensorArrayStack:0"]


def values(graph, fetches):
    with tf.Session(graph=graph) as sess:
        sess.run([op for op in graph.get_operations() if op.type == "Assign" and op.name.endswith("/Assign")])
        return sess.run(fetches, {"x:0": X})


def assert_same(got, want):
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)


def test_bytes_of_a_graph_make_it_again():
    with tf.Graph().as_default() as graph:
        fetches = model()
    definition = tf.GraphDef()
    definition.ParseFromString(graph.as_graph_def().SerializeToString())
    with tf.Graph().as_default() as again:
        tf.import_graph_def(definition, name="", functions=FUNCTIONS)
        slope = tf.gradients(again.get_tensor_by_name("y:0"), again.get_tensor_by_name("x:0"))[0]  # what loops save is added
    want = values(graph, fetches)
    assert_same(values(again, fetches), want)
    np.testing.assert_allclose(values(again, slope), want[5], rtol=1e-6)
    assert [op.name for op in again.get_operations()][:len(graph.get_operations())] == [
        op.name for op in graph.get_operations()]


def test_graph_and_variables_in_another_process(tmp_path):
    path = str(tmp_path / "m")
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        fetches = model()
        step = tf.train.get_or_create_global_step()
        tf.add_to_collection("ends", graph.get_tensor_by_name("y:0"))
        for key, items in {"words": ["a", "b"], "numbers": [1, 2], "rates": [0.5], "odd": [object()]}.items():
            for item in items:
                tf.add_to_collection(key, item)
        tf.get_variable("w", initializer=[1.0, 2.0], trainable=False)
        sess.run(tf.global_variables_initializer())
        sess.run(tf.trainable_variables()[0].assign_add(np.ones([3, 2])))
        path = tf.train.Saver(max_to_keep=3).save(sess, path, global_step=7)
        want = sess.run(fetches, {"x:0": X})
        trained = [v.name for v in tf.trainable_variables()]
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        saver = tf.train.import_meta_graph(path + ".meta", functions=FUNCTIONS)
        saver.restore(sess, path)
        assert_same(sess.run(fetches, {"x:0": X}), want)
        assert [v.name for v in tf.trainable_variables()] == trained and tf.train.get_global_step().name == step.name
        assert tf.get_collection("ends") == [graph.get_tensor_by_name("y:0")] and saver._max_to_keep == 3
        assert tf.get_collection("words") == [b"a", b"b"] and tf.get_collection("numbers") == [1, 2]
        assert tf.get_collection("rates") == [0.5] and not tf.get_collection("odd")
        again = tf.train.import_meta_graph(path + ".meta", import_scope="twin")
        again.restore(sess, path)
        np.testing.assert_array_equal(*sess.run([graph.get_tensor_by_name("v:0"), graph.get_tensor_by_name("twin/v:0")]))


def test_frozen_graph_in_a_file(tmp_path):
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        tf.nn.softmax(tf.layers.dense(x, 3, tf.nn.relu), name="y")
        sess.run(tf.global_variables_initializer())
        frozen = tf.graph_util.convert_variables_to_constants(sess, graph.as_graph_def(), ["y"])
        tf.train.write_graph(frozen, str(tmp_path), "frozen.pb", as_text=False)
        want = sess.run("y:0", {"x:0": [[1.0, 2.0]]})
    with tf.gfile.GFile(str(tmp_path / "frozen.pb"), "rb") as file:
        definition = tf.GraphDef.FromString(file.read())
    small = tf.graph_util.remove_training_nodes(definition)
    assert "Identity" not in [n.op for n in small.node] and len(small.node) < len(definition.node)
    for d in (definition, small):
        with tf.Graph().as_default(), tf.Session() as sess:
            (y,) = tf.import_graph_def(d, return_elements=["y:0"], name="net")
            np.testing.assert_array_equal(sess.run(y, {"net/x:0": [[1.0, 2.0]]}), want)


def test_what_is_lost_says_so():
    @tf.custom_gradient
    def twice(x):
        return x + 0.0, lambda dy: dy * 2.0

    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [], name="x")
        tf.identity(twice(x), name="y")
        tf.py_func(lambda a: a, [x], tf.float32, name="p")
        with graph.gradient_override_map({"Tanh": "Relu"}):
            tf.tanh(x, name="t")
        data = graph.as_graph_def().SerializeToString()
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        tf.import_graph_def(tf.GraphDef.FromString(data), name="")
        get = graph.get_tensor_by_name
        assert sess.run("y:0", {"x:0": 3.0}) == 3.0
        with pytest.raises(LookupError, match="rule attached to"):
            tf.gradients(get("y:0"), get("x:0"))
        assert sess.run(tf.gradients(get("t:0"), get("x:0")), {"x:0": 3.0}) == [1.0]  # Relu's rule: the override is kept
        with pytest.raises(tf.errors.UnimplementedError, match="belongs to the program"):
            sess.run("p:0", {"x:0": 3.0})


def test_parts_by_scope(tmp_path):
    with tf.Graph().as_default():
        with tf.variable_scope("a"):
            v = tf.get_variable("v", initializer=3.0)
            tf.multiply(v, 2.0, name="y")
        tf.identity(v, name="outside")
        meta = tf.train.export_meta_graph(str(tmp_path / "a.meta"), export_scope="a")
    assert isinstance(meta, tf.MetaGraphDef) and "y" in [n.name for n in meta.graph_def.node]
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.train.import_meta_graph(str(tmp_path / "a.meta"), import_scope="b")
        assert [u.name for u in tf.global_variables()] == ["b/v:0"]
        sess.run(tf.global_variables_initializer())
        assert sess.run("b/y:0") == 6.0
    with pytest.raises(OSError, match="does not exist"):
        tf.train.import_meta_graph(str(tmp_path / "none.meta"))
    with tf.Graph().as_default():
        tf.identity(tf.constant(1.0), name="scope/i")
        with pytest.raises(ValueError, match="outside the scope"):
            tf.train.export_meta_graph(export_scope="scope")
        assert tf.train.import_meta_graph(tf.train.export_meta_graph(), import_scope="c") is None


def test_meta_graphs_come_and_go_with_checkpoints(tmp_path):
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.get_variable("v", initializer=1.0)
        sess.run(tf.global_variables_initializer())
        saver = tf.train.Saver(max_to_keep=1)
        for step in range(2):
            saver.save(sess, str(tmp_path / "m"), global_step=step)
        saver.save(sess, str(tmp_path / "n"), write_meta_graph=False)
    endings = collections.Counter(name.rpartition(".")[2] for name in os.listdir(tmp_path))
    assert endings["meta"] == 0 and endings["index"] == 1
