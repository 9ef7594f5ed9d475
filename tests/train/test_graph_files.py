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


@pytest.mark.parametrize("op_type", ["MatMul", "Relu"])
@pytest.mark.parametrize("read", [_read, tf.Graph.as_graph_def], ids=["bytes", "as it is"])
def test_the_rule_of_an_operations_own_is_imported_with_it(op_type, read):
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [2, 2])
        y = tf.matmul(x, x) if op_type == "MatMul" else tf.nn.relu(x)
        y.op._set_attr("_gradient_op_type", b"RuleOfItsOwn")
    (found,) = tf.import_graph_def(read(graph), return_elements=[y.op.name], name="")
    assert found.type == op_type and found.get_attr("_gradient_op_type") == b"RuleOfItsOwn"


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


M = np.float32([[1, 2], [3, 4]])
TWO = np.int32([1, 0])


@pytest.mark.parametrize("op_type, operands, attrs, want", [
    ("AddV2", [M, M], {}, M + M), ("Gather", [M, TWO], {}, M[::-1]), ("Inv", [M], {}, 1 / M), ("Mod", [M, -M], {}, M * 0),
    ("Concat", [np.int32(1), M, M], {"N": 2}, np.hstack([M, M])), ("TopK", [M], {"k": 1}, M[:, 1:]),
    ("BatchMatMul", [M, M], {"adj_x": True, "adj_y": False}, M.T @ M), ("MatrixDiagPart", [M], {}, np.diag(M)),
    ("MatrixDiag", [M[0]], {}, np.diag(M[0])), ("MatrixSetDiag", [M, M[0]], {}, M * [[0, 1], [1, 0]] + np.diag(M[0])),
    ("MatrixDiagPartV3", [M, np.int32([-1, 1]), np.float32(9)], {"align": b"RIGHT_LEFT"}, [[9, 2], [1, 4], [3, 9]]),
    ("StaticRegexReplace", [np.array([b"abc"], object)], {"pattern": b"b+", "rewrite": b"x"}, [b"axc"]),
    ("StaticRegexFullMatch", [np.array([b"abc"], object)], {"pattern": b"a.c"}, [True]),
    ("SpaceToBatch", [M[None, :, :, None], np.zeros([2, 2], np.int32)], {"block_size": 2}, [[[[i]]] for i in (1, 2, 3, 4)]),
    ("BatchMatrixInverse", [M], {"adjoint": False}, np.linalg.inv(M)),
])
def test_reads_op_types_of_other_versions(op_type, operands, attrs, want):
    graph_def = tf.GraphDef()
    for i, value in enumerate(operands):
        value = np.asarray(value)
        dtype = tf.string if value.dtype == object else tf.as_dtype(value.dtype)
        graph_def.node.add(name=f"x{i}", op="Const", attr={"dtype": tf.AttrValue(dtype), "value": tf.AttrValue(value)})
    dtype = tf.string if operands[0].dtype == object else tf.as_dtype(operands[-1].dtype)
    graph_def.node.add(name="y", op=op_type, input=[f"x{i}" for i in range(len(operands))],
                       attr={"T": tf.AttrValue(dtype), **{k: tf.AttrValue(v) for k, v in attrs.items()}})

    y, = tf.import_graph_def(graph_def, return_elements=["y:0"])

    assert graph_def.node[-1].op == op_type, "what was given stays as it was"
    with tf.Session() as sess:
        got = sess.run(y)
    if got.dtype == object:
        assert got.tolist() == want
    else:
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_reads_examples_parsed_by_tensorflow_1():
    graph_def = tf.GraphDef()

    def node(name, value):
        dtype = tf.string if value.dtype == object else tf.as_dtype(value.dtype)
        graph_def.node.add(name=name, op="Const", attr={"dtype": tf.AttrValue(dtype), "value": tf.AttrValue(value)})

    for name, value in {"names": np.zeros(0, object), "s": np.array(b"s", object), "x": np.array(b"x", object),
                        "n": np.array(b"n", object), "none": np.zeros(0, np.float32), "one": np.int64([1])}.items():
        node(name, value)
    graph_def.node.add(name="y", op="ParseExample", input=["serialized", "names", "s", "x", "n", "none", "one"], attr={
        key: tf.AttrValue(value) for key, value in {
            "Nsparse": 1, "Ndense": 2, "sparse_types": [tf.string], "Tdense": [tf.float32, tf.int64],
            "dense_shapes": [tf.TensorShape([2]), tf.TensorShape([])]}.items()})
    serialized = tf.placeholder(tf.string, [None])
    graph_def.node.add(name="serialized", op="Placeholder", attr={"dtype": tf.AttrValue(tf.string)})

    found = tf.import_graph_def(graph_def, {"serialized": serialized}, [f"y:{i}" for i in range(5)])

    assert [t.dtype.name for t in found] == ["int64", "string", "int64", "float32", "int64"] and found[3].dims == (None, 2)
    features = {"x": tf.train.Feature(float_list=tf.train.FloatList(value=[1.5, 2])),
                "s": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"a", b"b"]))}
    example = tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()
    with tf.Session() as sess:
        got = [v.tolist() for v in sess.run(found, {serialized: [example]})]
    assert got == [[[0, 0], [0, 1]], [b"a", b"b"], [1, 2], [[1.5, 2]], [1]]


def test_reads_variables_of_resources():
    graph_def = tf.GraphDef()

    def node(name, op, *inputs, **attrs):
        graph_def.node.add(name=name, op=op, input=inputs, attr={k: tf.AttrValue(v) for k, v in attrs.items()})

    node("one", "Const", dtype=tf.float32, value=M)
    node("rows", "Const", dtype=tf.int32, value=TWO)
    node("v", "VarHandleOp", dtype=tf.float32, shape=tf.TensorShape([2, 2]))
    node("v/Assign", "AssignVariableOp", "v", "one", dtype=tf.float32)
    node("more", "AssignAddVariableOp", "v", "one", dtype=tf.float32)
    node("is", "VarIsInitializedOp", "v")
    node("size", "VariableShape", "v", out_type=tf.int64)
    node("read", "ReadVariableOp", "v", "^more", dtype=tf.float32)
    node("taken", "ResourceGather", "v", "rows", dtype=tf.float32, batch_dims=1)
    node("step", "ResourceApplyGradientDescent", "v", "rate", "one")
    node("rate", "Const", dtype=tf.float32, value=np.float32(0.5))

    tf.import_graph_def(graph_def, name="")

    with tf.Session() as sess:
        assert not sess.run("is:0")
        sess.run("v/Assign")
        assert sess.run("is:0") and sess.run("size:0").tolist() == [2, 2] and sess.run("size:0").dtype == np.int64
        np.testing.assert_array_equal(sess.run("taken:0"), [2, 3])
        np.testing.assert_array_equal(sess.run("read:0"), 2 * M)
        sess.run("step")
        np.testing.assert_array_equal(sess.run("v:0"), 1.5 * M)
        read = tf.get_default_graph().get_tensor_by_name("read:0")
        slope = tf.gradients(read, tf.get_default_graph().get_tensor_by_name("v:0"))[0]
        assert sess.run(slope).tolist() == [[1, 1], [1, 1]]


@pytest.mark.parametrize("node, says", [
    (tf.NodeDef(name="n", op="Sqare", input=["c"]), "'Sqare' in Regrad, of node 'n'; did you mean .*'Square'"),
    (tf.NodeDef(name="n", op="Square", input=["m"]), "'n': Unknown input node 'm'"),
    (tf.NodeDef(name="c", op="NextIteration", input=["c"]), "'c' \\(NextIteration\\) needs itself"),
])
def test_refusals(node, says):
    constant = tf.NodeDef(name="c", op="Const", attr={"dtype": tf.AttrValue(type=1), "value": tf.AttrValue(
        tensor=tf.make_tensor_proto(np.float32(0)))})
    graph_def = tf.GraphDef(node=[constant, node] if node.name != "c" else [node])

    with pytest.raises(ValueError, match=says):
        tf.import_graph_def(graph_def)


def test_a_node_that_several_need_behind_them_all():
    nodes = [tf.NodeDef(name=name, op=op, input=inputs) for name, op, inputs in [
        ("d", "AddN", ["b", "c"]), ("c", "Add", ["b", "a"]), ("b", "Square", ["a"])]]
    a = tf.NodeDef(name="a", op="Const", attr={"dtype": tf.AttrValue(type=1), "value": tf.AttrValue(
        tensor=tf.make_tensor_proto(np.float32(3)))})

    d, = tf.import_graph_def(tf.GraphDef(node=[*nodes, a]), return_elements=["d:0"])
    with tf.Session() as sess:
        assert sess.run(d) == 21


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
