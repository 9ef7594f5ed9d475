"""Graphs as bytes: written and read again, TensorFlow's own too, changed in between, with Python objects in them."""
import pathlib

import numpy as np
import pytest

import regrad as tf
from regrad.core import graph_proto

# Written by TensorFlow 2.21: convolutions, normalisation, pooling, slices, and the gradient of all that; its variables are
# constants. Beside the bytes lie an input and what TensorFlow answered.
FROZEN = pathlib.Path(__file__).parent / "frozen_by_tensorflow.npz"


def _read(graph):
    graph_def = tf.GraphDef()
    graph_def.ParseFromString(graph.as_graph_def().SerializeToString())
    return graph_def


def test_reads_what_tensorflow_wrote():
    want = dict(np.load(FROZEN))
    graph_def = tf.GraphDef.FromString(want.pop("graph").tobytes())
    fed = want.pop("x")
    x = tf.placeholder(tf.float32, [None, 8, 8, 2])

    outs = tf.import_graph_def(graph_def, {"x": x}, [f"{n}:0" for n in want], name="net")
    dx = tf.gradients(outs[list(want).index("probs")][:, 0], x)[0]

    assert tf.get_default_graph().get_operation_by_name("net/conv").get_attr("strides") == [1, 2, 2, 1]
    with tf.Session() as sess:
        got = dict(zip(want, sess.run(outs, {x: fed})))
        np.testing.assert_allclose(sess.run(dx, {x: fed}), want["grad"], atol=1e-6)
    for name, value in want.items():
        np.testing.assert_allclose(got[name], value, atol=1e-6, err_msg=name)


def test_python_objects_come_back_while_their_graph_is_there():
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float64, [2], name="x")
        y = tf.py_func(lambda v: 3 * v, [x], tf.float64, grad=lambda op, dy: 3 * dy)
        y.set_shape([2])
        turns = tf.while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, v * y), [0, x])[1]
        tf.identity(turns, name="out")
    graph_def = _read(graph)

    out, x = tf.import_graph_def(graph_def, return_elements=["out:0", "x:0"])
    with tf.Session() as sess:
        got = sess.run([out, tf.gradients(out, x)[0]], {x: [1.0, 2.0]})
    np.testing.assert_allclose(got, [[9, 72], [27, 108]])  # x (3x)^2 and its derivative


def test_nodes_in_any_order_made_by_hand():
    constant = tf.NodeDef(name="c", op="Const")
    constant.attr["dtype"].CopyFrom(tf.AttrValue(type=tf.float32.as_datatype_enum))
    constant.attr["value"].CopyFrom(tf.AttrValue(tensor=tf.make_tensor_proto(np.float32([1, -2, 3]))))
    both = tf.NodeDef(name="both", op="ConcatV2", input=["c", "c", "axis"])
    axis = tf.NodeDef(name="axis", op="Const", attr={"dtype": tf.AttrValue(type=3), "value": tf.AttrValue(
        tensor=tf.make_tensor_proto(np.int32(0)))})
    graph_def = tf.GraphDef()
    graph_def.node.extend([both, constant, axis])
    graph_def.node[1].attr["value"].tensor.tensor_content = np.float32([4, 5, 6]).tobytes()

    out, = tf.import_graph_def(graph_def, return_elements=["both:0"])
    with tf.Session() as sess:
        assert sess.run(out).tolist() == [4, 5, 6, 4, 5, 6]
    assert tf.make_ndarray(constant.attr["value"].tensor).tolist() == [1, -2, 3], "the graph has a copy"


@pytest.mark.parametrize("node, says", [
    (tf.NodeDef(name="n", op="Sqare", input=["c"]), "'Sqare' in Regrad, of node 'n'; did you mean .*'Square'"),
    (tf.NodeDef(name="n", op="Square", input=["m"]), "'n': Unknown input node 'm'"),
    (tf.NodeDef(name="c", op="NextIteration", input=["c"]), "'c' needs itself"),
])
def test_refusals(node, says):
    constant = tf.NodeDef(name="c", op="Const", attr={"dtype": tf.AttrValue(type=1), "value": tf.AttrValue(
        tensor=tf.make_tensor_proto(np.float32(0)))})
    graph_def = tf.GraphDef(node=[constant, node] if node.name != "c" else [node])

    with pytest.raises(ValueError, match=says):
        tf.import_graph_def(graph_def)


def test_bytes_that_are_no_graph():
    with pytest.raises(ValueError, match="Error parsing message"):
        tf.GraphDef().ParseFromString(b"no graph")


def test_names_that_are_taken_are_made_unique():
    def build(x):
        return tf.multiply(x, 2.0, name="mul")

    with tf.Graph().as_default() as graph:
        build(tf.placeholder(tf.float32, name="x"))
    graph_def = _read(graph)
    build(tf.constant(1.0))

    out, = tf.import_graph_def(graph_def, name="", return_elements=["mul:0"])

    assert [op.name for op in tf.get_default_graph().get_operations()] == ["Const", "mul/y", "mul", "x", "mul/y_1", "mul_1"]
    assert out.name == "mul_1:0"


def test_bytes_of_a_graph_are_those_of_its_message():
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    w = tf.get_variable("w", [3, 2])
    with tf.device("/cpu:0"):
        y = tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.matmul(x, w), lambda: tf.py_func(lambda a: a[:, :2], [x], tf.float32))
    tf.attach(tf.split(y, 2, axis=1)[0], lambda op, dy: dy)
    tf.constant(["a", "b"]), tf.nn.max_pool(tf.ones([1, 4, 4, 1]), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    for shapes in (False, True):
        graph_def = tf.get_default_graph().as_graph_def(add_shapes=shapes)
        assert graph_def.SerializeToString() == graph_proto.graph_proto(graph_def).SerializeToString()
