"""tf.contrib.graph_editor: walks, copies, other inputs; and what programs do with them."""
import numpy as np
import pytest

import regrad as tf
from regrad.contrib import graph_editor as ge


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def run(fetches, feeds=None):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return sess.run(fetches, feeds)


def chain():
    """Returns a, b, c, d: b = a * 2, c = b + a, d = exp(c)."""
    a = tf.constant(1.0, name="a")
    b = tf.multiply(a, 2.0, name="b")
    c = tf.add(b, a, name="c")
    return a, b, c, tf.exp(c, name="d")


def names(ops):
    return sorted(op.name for op in ops)


def test_walks():
    a, b, c, d = chain()
    assert names(ge.get_forward_walk_ops(b.op)) == ["b", "c", "d"]
    assert names(ge.get_forward_walk_ops(b.op, inclusive=False)) == ["c", "d"]
    assert names(ge.get_forward_walk_ops(b)) == ["c", "d"]  # a tensor stands for those who take it
    assert names(ge.get_forward_walk_ops(a.op, within_ops=[a.op, b.op])) == ["a", "b"]
    assert names(ge.get_forward_walk_ops(a.op, stop_at_ts=[c])) == ["a", "b", "c"]
    assert names(ge.get_backward_walk_ops(c)) == ["a", "b", "b/y", "c"]
    assert names(ge.get_backward_walk_ops([d.op], inclusive=False, stop_at_ts=[b])) == ["a", "c"]
    assert names(ge.get_walks_intersection_ops(b.op, c.op)) == ["b", "c"]
    assert names(ge.get_walks_union_ops(c.op, b.op)) == ["a", "b", "b/y", "c", "d"]
    assert names(ge.get_within_boundary_ops(tf.get_default_graph(), d.op, b.op)) == ["a", "b", "c", "d"]
    with tf.control_dependencies([d]):
        e = tf.no_op("e")
    assert names(ge.get_backward_walk_ops(e, control_inputs=True, stop_at_ts=[c])) == ["d", "e"]
    assert names(ge.get_forward_walk_ops(d.op, control_outputs=ge.ControlOutputs(e.graph))) == ["d", "e"]


def test_choosing():
    a, b, c, d = chain()
    with tf.name_scope("s"):
        inner = tf.identity(d, name="i")
    graph = tf.get_default_graph()
    assert ge.filter_ts([a.op, b.op], True) == [a, b]
    assert ge.filter_ts_from_regex(graph, "^[cd]:0") == [c, d]
    assert ge.filter_ops(graph, lambda op: op.type == "Exp") == [d.op]
    assert ge.get_name_scope_ops(graph, "s") == [inner.op]
    assert ge.select_ops("^s/", a.op, graph=graph) == [inner.op, a.op]
    assert ge.select_ops_and_ts("(?#ts)^b:", "^c$", graph=graph) == ([c.op], [b])
    assert ge.get_generating_ops([a, b]) == [a.op, b.op] and ge.get_consuming_ops(a) == [b.op, c.op]
    assert ge.get_unique_graph([a, b.op]) is graph and len(ge.get_tensors(graph)) == len(graph.get_operations())
    with pytest.raises(TypeError):
        ge.make_list_of_op([a])
    with pytest.raises(ValueError, match="graph"):
        ge.select_ops("^s/")


def test_views():
    a, b, c, d = chain()
    view = ge.sgv(b.op, c.op)
    assert view.inputs == [a, b.op.inputs[1]] and view.outputs == [c]
    assert view.remap_inputs([1]).inputs == [b.op.inputs[1]] and view.remap_outputs([c, 0]).outputs == [c, c]
    assert view.consumers() == [d.op] and view.find_op_by_name("c") is c.op and bool(view) and not ge.sgv()
    assert ge.compute_boundary_ts([b.op, c.op])[1] == [c]
    with pytest.raises(ValueError):
        view.remap_inputs([d])


def test_copies():
    a, b, c, d = chain()
    view, info = ge.copy_with_input_replacements(ge.sgv(b.op, c.op, d.op), {a: tf.constant(2.0)})
    np.testing.assert_allclose(run([d, info.transformed(d)]), np.exp([3.0, 6.0]), rtol=1e-6)
    assert info.original(info.transformed(c)) is c and info.transformed(a.op) is None
    assert list(info._transformed_ops) == [b.op, c.op, d.op] and view.outputs == [info.transformed(d)]
    _, info = ge.copy(ge.sgv(c.op), dst_scope="there")
    assert info.transformed(c).name == "there/c:0" and info.transformed(c).op.inputs[0] is b
    other = tf.Graph()
    view, info = ge.copy(ge.sgv_scope("", tf.get_default_graph()), other)
    assert {"a", "b", "c", "d"} <= set(names(view.ops)) and info.transformed(d).graph is other
    with tf.Session(graph=other) as sess:
        np.testing.assert_allclose(sess.run(info.transformed(d)), np.exp(3.0), rtol=1e-6)


def test_graph_replace():
    a, b, c, d = chain()
    v = tf.get_variable("v", initializer=2.0)
    y = v * d
    got = run([y, ge.graph_replace(y, {c: tf.constant(0.0)}), ge.graph_replace([y, a], {v.value(): v + 1.0, a: b})[0]])
    np.testing.assert_allclose(got, [2 * np.exp(3.0), 2.0, 3 * np.exp(6.0)], rtol=1e-6)
    assert ge.graph_replace({"b": b, "a": a}, {a: c})["a"] is c
    with pytest.raises(ValueError, match="not connected"):
        ge.graph_replace(b, {d: c})


def test_unrolled_optimisation():
    """Metz et al. 2017: the generator's loss after the discriminator has learnt a little more, differentiated through that."""
    d = tf.get_variable("d", initializer=1.0)
    g = tf.get_variable("g", initializer=2.0)
    loss = tf.square(d * g - 3.0)
    step = tf.gradients(loss, d)[0]
    later = ge.graph_replace(loss, {d.value(): d - 0.1 * step})
    value, slope = run([later, tf.gradients(later, g)[0]])

    def by_hand(g):
        new = 1.0 - 0.1 * 2 * (g - 3.0) * g
        return (new * g - 3.0) ** 2

    np.testing.assert_allclose(value, by_hand(2.0), rtol=1e-6)
    np.testing.assert_allclose(slope, (by_hand(2.0 + 1e-5) - by_hand(2.0 - 1e-5)) / 2e-5, rtol=1e-4)


@pytest.mark.parametrize("kind", ["loop", "branch"])
def test_copies_of_bodies(kind):
    x, w = tf.constant(2.0), tf.get_variable("w", initializer=3.0)

    def made(x):
        if kind == "loop":
            return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * w * tf.exp(x * 0.1)), [0, x])[1]
        return tf.cond(x > 1.0, lambda: x * x * w, lambda: tf.exp(x) * w)

    with tf.name_scope("part"):
        y = made(x)
    first = tf.gradients(y, [x, w])
    part = ge.get_name_scope_ops(tf.get_default_graph(), "part")
    for other in (1.5, 0.5):
        z = tf.constant(other)
        _, info = ge.copy_with_input_replacements(ge.sgv(part), {x: z})
        copied, expected = info.transformed(y), made(z)
        names = [op.name for op in x.graph.get_operations()]
        assert len(names) == len(set(names))
        got, want, _ = run([[copied, *tf.gradients(copied, [z, w])], [expected, *tf.gradients(expected, [z, w])], first])
        np.testing.assert_allclose(got, want, rtol=1e-6)
    second = tf.Graph()
    with second.as_default():
        (again,) = tf.import_graph_def(x.graph.as_graph_def(), return_elements=[y.name], name="")
        x2 = second.get_tensor_by_name(x.name)
        g2 = tf.gradients(again, x2)[0]
        with tf.Session() as sess:
            sess.run([op for op in second.get_operations() if op.type == "Assign"])
            value = sess.run(g2)
    np.testing.assert_allclose(value, run(first)[0], rtol=1e-6)


def test_other_edges():
    a, b, c, d = chain()
    other = tf.constant(5.0)
    assert ge.reroute_ts(other, a) == 2
    assert run(c) == np.float32(15.0)
    assert ge.reroute_ts([a], [other], can_modify=[b.op]) == 1
    assert run(c) == np.float32(7.0)
    assert ge.swap_ts(a, other, cannot_modify=[c.op]) == 1 and run(c) == np.float32(15.0)
    with pytest.raises(ValueError, match="compatible"):
        ge.reroute_ts(tf.constant(1), a)
    count = tf.get_variable("count", initializer=0.0)
    up = count.assign_add(1.0)
    ge.add_control_inputs(d.op, up.op)
    with tf.Session() as sess:
        sess.run(count.initializer)
        sess.run(d)
        assert sess.run(count) == 1.0
        ge.remove_control_inputs(d.op, up.op)
        sess.run(d)
        assert sess.run(count) == 1.0
    with pytest.raises(ValueError, match="not a control_input"):
        ge.remove_control_inputs(d.op, up.op)


def test_parts_taken_out():
    a, b, c, d = chain()
    e = tf.identity(d, name="e")
    view, (before,) = ge.bypass(ge.sgv(d.op))
    assert run(e) == np.float32(3.0) and view.inputs == [before] and before.op.type == "Placeholder"
    _, (p,), behind = ge.detach(ge.sgv(c.op).remap_inputs([b]))
    assert run(c, {p: 10.0}) == np.float32(11.0) and [t.op.name for t in behind] == ["geph__c_0_1"]
    double = tf.multiply(tf.placeholder(tf.float32, []), 2.0)
    ge.connect(ge.sgv(a.op), ge.sgv(double.op).remap_inputs([0]))
    assert run(double) == np.float32(2.0)


def test_gradients_that_save_memory():
    """Chen et al. 2016 by hand, as programs did: what lies between checkpoints is copied behind stop_gradients."""
    x = tf.constant(np.linspace(-1, 1, 5).astype(np.float32))
    ws, h, hs = [], x, []
    for i in range(6):
        ws.append(tf.get_variable(f"w{i}", initializer=np.float32(1.0 + 0.1 * i)))
        h = tf.tanh(h * ws[-1], name=f"h{i}")
        hs.append(h)
    loss = tf.reduce_sum(h * h)
    plain = tf.gradients(loss, ws)

    checkpoints = [hs[1], hs[3]]
    stopped = {c: tf.stop_gradient(c) for c in checkpoints}
    forward = [op for op in ge.get_forward_walk_ops([w.value().op for w in ws], within_ops=ge.get_backward_walk_ops(loss.op))
               if op.inputs and not op.name.endswith("/read")]
    reads = [w.value() for w in ws]
    totals, boundary_grad, ends = [None] * 6, None, [loss]
    for c in (hs[3], hs[1], None):
        part = ge.get_backward_walk_ops([t.op for t in ends], within_ops=forward, stop_at_ts=checkpoints)
        _, info = ge.copy_with_input_replacements(ge.sgv(part), {})
        ge.reroute_ts(list(stopped.values()), list(stopped), can_modify=list(info._transformed_ops.values()))
        ys = [info._transformed_ops[t.op]._outputs[0] for t in ends]
        xs = ([stopped[c]] if c is not None else []) + reads
        grads = tf.gradients(ys, xs, grad_ys=boundary_grad)
        if c is not None:
            boundary_grad, ends = [grads.pop(0)], [c]
        totals = [g if t is None else t if g is None else g + t for t, g in zip(totals, grads)]
    for got, want in zip(*run([totals, plain])):
        np.testing.assert_allclose(got, want, rtol=1e-5)
