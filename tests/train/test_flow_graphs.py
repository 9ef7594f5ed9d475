"""Loops, branches and functions of graphs that TensorFlow wrote: values and derivatives are TensorFlow's."""

import numpy as np
import pytest

import regrad as tf
from regrad.core.graph_proto import NameAttrList
from tests.train import flow_graphs

RECORDED = np.load(flow_graphs.FILE)
ROWS = sorted(key.removesuffix(".graph") for key in RECORDED.files if key.endswith(".graph"))


def _graph_def(key):
    return tf.GraphDef.FromString(RECORDED[key].tobytes())


def _imported(key):
    return tf.import_graph_def(_graph_def(f"{key}.graph"), return_elements=["y:0"])[0]


@pytest.mark.parametrize("key", ROWS)
def test_values_and_derivatives(key):
    name, version = key.split(".")
    _, shapes, ints, only, order = flow_graphs.PROGRAMS[name]
    y = _imported(key)
    feeds = [tf.get_default_graph().get_tensor_by_name(f"import/x{i}:0") for i in range(len(shapes) + len(ints))]
    xs = feeds[:len(shapes)]

    got = [y, *(tf.gradients(y, xs) if order else [])]
    if order > 1 and (version == "v1" or only):
        got += tf.gradients(tf.add_n([tf.reduce_sum(g * g) for g in got[1:]]), xs)

    with tf.Session() as session:
        got = session.run(got, dict(zip(feeds, flow_graphs._values(shapes, ints))))
    for i, value in enumerate(got):
        np.testing.assert_allclose(value, RECORDED[f"{name}.{i}"], rtol=1e-9, atol=1e-9, err_msg=f"{key} {i}")


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_results_by_name_and_other_inputs(version):
    given = tf.constant([3.0, 4.0, 5.0], tf.float64)
    name = "while/Exit_1:0" if version == "v1" else "while:3"

    last, = tf.import_graph_def(_graph_def(f"while_simple.{version}.graph"), {"x0": given}, [name])

    assert last.name == "import/" + name
    with tf.Session() as session:
        turns = {"import/x1:0": 1}
        np.testing.assert_allclose(session.run(last, turns), [9 + np.sin(3), 16 + np.sin(4), 25 + np.sin(5)])
        assert session.run(tf.square(last), {last: [1.0, 2.0, 3.0]}).tolist() == [1, 4, 9]


@pytest.mark.parametrize("key", ["while_simple.v1", "while_simple.v2", "cond_nested.v1", "cond_nested.v2"])
def test_overrides_hold_inside(key):
    y = _imported(key)
    x = tf.get_default_graph().get_tensor_by_name("import/x0:0")

    dx, = tf.gradients(y, x, overrides={"Sin": lambda op, dy: 100.0 * dy})

    count = {"import/x1:0": 2}
    with tf.Session() as session:
        got = session.run(dx, {x: [1.0, 1.0, 1.0], **count})
    if key.startswith("cond"):  # sin(x) x
        want = 100 + np.sin(1)
    else:  # v x + sin(v), twice
        v = 1 + np.sin(1)
        want = (1 + 100) * (1 + 1 + 100) + v
    np.testing.assert_allclose(got, [want] * 3)


def test_what_is_inside_a_branch_has_no_value_outside():
    with pytest.raises(ValueError, match=r"'cond/Square' \(Square\) is inside a branch or loop"):
        tf.import_graph_def(_graph_def("cond_simple.v1.graph"), return_elements=["cond/Square:0"])


def test_recorded_gradients_of_loops_say_why_they_do_not_run():
    last, step = tf.import_graph_def(_graph_def("trained"), return_elements=["while/Exit_1:0", "step"])
    w = tf.get_default_graph().get_tensor_by_name("import/w:0")

    again, = tf.gradients(last, w)

    with tf.Session() as session:
        session.run("import/w/Assign")
        got = session.run([last, again], {"import/x:0": [1.0, 1.0]})
        with pytest.raises(tf.errors.UnimplementedError, match="'step.*recorded.*tf.gradients"):
            session.run(step, {"import/x:0": [1.0, 1.0]})
    np.testing.assert_allclose(got, [[0.125, 8], [0.75, 12]])


def test_functions_taken_apart():
    x, y = tf.import_graph_def(_graph_def("lowered"), return_elements=["x:0", "Identity:0"])

    with tf.Session() as session:
        got = session.run([y, tf.gradients(y, x)[0]], {x: [[1.0, 2.0, 3.0]]})
        negative = session.run(y, {x: [[1.0, 2.0, -4.0]]})
    v, slope = np.array([1.0, 2, 3]), np.eye(3)
    for _ in range(3):
        v = np.tanh(v @ (np.eye(3) / 2 + 0.1))
        slope = slope @ (np.eye(3) / 2 + 0.1) * (1 - v * v)
    np.testing.assert_allclose(got[0], [v])
    np.testing.assert_allclose(got[1], [slope.sum(1)])
    assert negative.tolist() == [[-1, -2, 4]]


def _node(name, op, *inputs, **attrs):
    return tf.NodeDef(name=name, op=op, input=inputs, attr={k: tf.AttrValue(v) for k, v in attrs.items()})


@pytest.mark.parametrize("nodes, says", [
    ([_node("m", "Merge", "x", "p")], r"'m' \(Merge\) joins what does not come from the two branches"),
    ([_node("e", "Enter", "x", frame_name="f"), _node("s", "Exit", "e")], r"'s' \(Exit\) gives something else"),
    ([_node("e", "Enter", "x", frame_name="f"), _node("m", "Merge", "e", "n"), _node("n", "NextIteration", "m")],
     "no LoopCond"),
    ([_node("c", "PartitionedCall", "x", f=NameAttrList(name="g"))], r"'c' \(PartitionedCall\) calls 'g'.* lacks"),
    ([_node("c", "LoopCond", "p")], r"'c' \(LoopCond\): is in no loop"),
])
def test_refusals(nodes, says):
    given = [_node("x", "Placeholder", dtype=tf.float32), _node("p", "Placeholder", dtype=tf.bool)]

    with pytest.raises(ValueError, match=says):
        tf.import_graph_def(tf.GraphDef(node=[*given, *nodes]))


def test_a_function_that_calls_itself():
    graph_def = tf.GraphDef(node=[_node("c", "f", "x"), _node("x", "Placeholder", dtype=tf.float32)])
    function = graph_def.library.function.add(signature={"name": "f"}, node_def=[{"name": "y", "op": "f", "input": ["x"]}])
    for args, name in ((function.signature.input_arg, "x"), (function.signature.output_arg, "y")):
        args.add(name=name, type=1)
    function.ret.put("y", "y:y:0")

    with pytest.raises(ValueError, match=r"'y' \(f\): the function 'f' calls itself"):
        tf.import_graph_def(graph_def)
