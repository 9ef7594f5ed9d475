"""Sessions: fetches, feeds, order, failures, and what the counters say."""

import itertools
import os
import re
import subprocess
import sys
import threading

import numpy as np
import pytest

import regrad as tf
from regrad.runtime import buffers


@pytest.fixture
def graph():
    with tf.Graph().as_default() as g:
        yield g


@pytest.fixture
def session(graph):
    with tf.Session(graph=graph) as s:
        yield s


# -- structures --------------------------------------------------------------------------------


def test_fetches_keep_their_structure(session):
    from collections import namedtuple

    Pair = namedtuple("Pair", "a b")
    x = tf.constant(2.0, name="x")
    got = session.run({"one": x, "many": [x, (x, Pair(x, x.op))], "name": "x:0"})
    assert got == {"one": 2.0, "many": [2.0, (2.0, Pair(2.0, None))], "name": 2.0}


def test_results_belong_to_the_caller(session):
    x = tf.constant([1.0, 2.0])
    for fetch in (x, x * 2.0):
        first = session.run(fetch)
        want = first.copy()
        first[:] = 7
        assert (session.run(fetch) == want).all()


def test_scalars_are_numpy_scalars(session):
    assert isinstance(session.run(tf.constant(1.0)), np.float32)


FEEDS = {
    "a missing feed": (lambda s, x: s.run(x), tf.errors.InvalidArgumentError, "must feed a value for placeholder tensor 'x'"),
    "a wrong shape": (lambda s, x: s.run(x, {x: np.ones(3)}), ValueError, r"Cannot feed value of shape \(3,\).*\(\?, 2\)"),
    "a tensor fed": (lambda s, x: s.run(x, {x: x}), TypeError, "cannot be a tf.Tensor"),
    "text for a number": (lambda s, x: s.run(x, {x: "no"}), ValueError, "Cannot feed 'no'"),
    "an unknown name": (lambda s, x: s.run(x, {"y:0": 1}), TypeError, "Cannot interpret feed_dict key"),
    "None": (lambda s, x: s.run([None]), TypeError, "Fetch argument None"),
    "an unknown fetch": (lambda s, x: s.run("nowhere:0"), ValueError, "nowhere"),
    "a number": (lambda s, x: s.run(3), TypeError, "invalid type"),
}


@pytest.mark.parametrize("case", FEEDS)
def test_bad_feeds_and_fetches(session, case):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    act, error, words = FEEDS[case]
    with pytest.raises(error, match=words):
        act(session, x)


def test_another_graphs_tensor(session):
    with tf.Graph().as_default():
        other = tf.constant(1.0)
    with pytest.raises(RuntimeError, match="graph is empty"):
        session.run(other)
    tf.constant(0.0)
    with pytest.raises(ValueError, match="not an element of this graph"):
        session.run(other)


def test_a_closed_session(graph):
    s = tf.Session()
    x = tf.constant(1.0)
    s.close()
    with pytest.raises(RuntimeError, match="closed"):
        s.run(x)


def test_an_inner_tensor_can_be_fed(session):
    x = tf.constant(3.0)
    y = x * 2.0
    assert session.run(y + 1.0, {y: 10.0}) == 11.0


def test_partial_run(session):
    calls = []
    a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    first = tf.py_func(lambda v: calls.append(1) or v + 1, [a], tf.float32, shape=[])
    second = first * b
    handle = session.partial_run_setup([first, second], [a, b])
    assert session.partial_run(handle, first, {a: 2.0}) == 3.0
    assert session.partial_run(handle, second, {b: 5.0}) == 15.0
    assert calls == [1]


# -- order ----------------------------------------------------------------------------------------


def test_a_read_sees_the_value_before_the_run(session):
    v = tf.Variable(1.0)
    session.run(v.initializer)
    assert session.run([v.assign_add(1.0), v.read_value(), v]) == [2.0, 1.0, 1.0]


def test_control_dependencies_order_reads_and_writes(session):
    v = tf.Variable(1.0)
    session.run(v.initializer)
    with tf.control_dependencies([v.assign(5.0)]):
        after = v.read_value()
    assert session.run([v.read_value(), after]) == [1.0, 5.0]


def test_assignments_follow_each_other(session):
    v = tf.Variable(1.0)
    session.run(v.initializer)
    session.run([v.assign_add(1.0), v.assign(v.read_value() * 10.0)])
    assert session.run(v) == 10.0  # in creation order: 2, then ten times what the run began with


# -- failures --------------------------------------------------------------------------------------


def test_a_failed_run_changes_no_variable(session):
    v = tf.Variable(1.0)
    session.run(v.initializer)
    bump = v.assign_add(1.0)

    def fail(x):
        raise ZeroDivisionError("on purpose")

    with tf.control_dependencies([bump]):
        bad = tf.py_func(fail, [v.read_value()], tf.float32)
    with pytest.raises(ZeroDivisionError, match="on purpose") as caught:
        session.run([bump, bad])
    assert session.run(v) == 1.0
    assert any("PyFunc" in note and "test_session.py" in note for note in caught.value.__notes__)


def test_uninitialised(session):
    v = tf.Variable([1.0, 2.0], name="v")
    with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v"):
        session.run(v * 2.0)
    assert session.run(tf.gradients(tf.reduce_sum(3.0 * v), v))[0].tolist() == [3.0, 3.0]  # only its shape matters


def test_host_function_may_call_run(session):
    a = tf.constant(4.0)
    y = tf.py_func(lambda x: session.run(a) + x, [tf.constant(1.0)], tf.float32)
    assert session.run(y) == 5.0


@pytest.mark.parametrize("stateful", [True, False])
def test_an_exception_of_a_host_function_of_known_values_is_the_users(session, stateful):
    def refuse(x):
        raise ValueError("not this one")

    y = tf.py_func(refuse, [tf.constant(1.0)], tf.float32, stateful=stateful)
    with pytest.raises(ValueError, match="^not this one"):
        session.run(y)


def test_threads_give_some_serial_order(session):
    v = tf.Variable(0.0)
    session.run(v.initializer)
    bump = v.assign_add(1.0)
    threads = [threading.Thread(target=lambda: [session.run(bump) for _ in range(25)]) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert session.run(v) == 200.0


def test_two_sessions_are_apart(graph):
    v = tf.Variable(0.0)
    with tf.Session() as a, tf.Session() as b:
        a.run(v.initializer)
        a.run(v.assign(3.0))
        b.run(v.initializer)
        assert (a.run(v), b.run(v)) == (3.0, 0.0)


# -- compiling ---------------------------------------------------------------------------------------


@pytest.fixture
def compiled(monkeypatch):
    """Everything is compiled at once, nothing comes from disk."""
    for name, value in (("host_runs", 0), ("tiny_ops", 0), ("cache_dir", None)):
        monkeypatch.setattr(tf.config, name, value)


def test_a_loop_of_runs_compiles_once(session, compiled):
    x = tf.placeholder(tf.float32, [None])
    y = tf.tanh(x) * 1.375
    session.run(y, {x: [1.0]})
    before, plans = session.compiles, session.plans
    for _ in range(5):
        session.run(y, {x: [2.0]})
    assert (session.compiles, session.plans) == (before, plans)
    session.run(y, {x: [1.0, 2.0]})
    assert (session.compiles, session.plans) == (before + 1, plans + 1)


def test_what_only_values_refuse_stops_a_compiled_run(session, compiled):
    """A segment that may fail keeps the old values of variables: nothing it or the ones before it make overwrites them."""
    n, m = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.float64, [2, 2])
    w = tf.get_variable("w", initializer=np.ones(3, np.float32))
    session.run(w.initializer)
    for fetch, good, bad, says in ((7 // n, [2, 3], [2, 0], "division by zero"), (7 % n, [2, 3], [2, 0], "division by zero"),
                                   (tf.pow(n, n), [2, 3], [2, -1], "negative integer powers"),
                                   (tf.matrix_inverse(m), np.eye(2), np.ones((2, 2)), "not invertible"),
                                   (tf.cholesky(m), np.eye(2), -np.eye(2), "Cholesky")):
        feed = n if np.ndim(good) == 1 else m
        step = [fetch, w.assign_add([1.0, 1.0, 1.0])]
        session.run(step, {feed: good})
        before = session.run(w)
        with pytest.raises(tf.errors.InvalidArgumentError, match=says):
            session.run(step, {feed: bad})
        np.testing.assert_array_equal(session.run(w), before)


def test_equal_segments_compile_once(session, compiled, monkeypatch):
    monkeypatch.setattr(tf.config, "segment_ops", 16)
    monkeypatch.setattr(tf.config, "whole_ops", 32)
    monkeypatch.setattr(tf.config, "longest_ops", 0)
    x = tf.placeholder(tf.float32, [5])
    y = x
    for _ in range(200):
        y = tf.sin(y) * 1.0625
    dy = tf.gradients(y, x)
    before = session.compiles
    session.run(dy, {x: np.ones(5)})
    assert session.compiles - before <= 8


@pytest.mark.parametrize(("n", "whole"), [(3, 64), (700, 64), (700, 1 << 20)])
def test_cut_into_segments_or_calls_or_not_the_result_is_the_same(session, compiled, monkeypatch, n, whole):
    monkeypatch.setattr(tf.config, "segment_ops", 32)
    monkeypatch.setattr(tf.config, "whole_ops", whole)
    monkeypatch.setattr(tf.config, "longest_ops", 0)
    x = tf.placeholder(tf.float64, [4])
    y = x
    for i in range(n):
        y = tf.sin(y) + (0.25 if i % 3 else 0.5) * x
    value = np.linspace(0.1, 0.9, 4)
    got = session.run(tf.gradients(y, x), {x: value})[0]

    z, dz = value, np.ones(4)
    for i in range(n):
        dz = np.cos(z) * dz + (0.25 if i % 3 else 0.5)
        z = np.sin(z) + (0.25 if i % 3 else 0.5) * value
    np.testing.assert_allclose(got, dz, rtol=1e-10)


@pytest.mark.parametrize(("kinds", "longest", "segments"), [(1, 1000, "few"), (40, 1000, 1), (40, 50, "many")])
def test_what_does_not_repeat_is_compiled_as_one(session, compiled, monkeypatch, kinds, longest, segments):
    for name, value in (("whole_ops", 32), ("segment_ops", 16), ("longest_ops", longest)):
        monkeypatch.setattr(tf.config, name, value)
    rng, functions = np.random.default_rng(0), (tf.sin, tf.tanh, tf.square, tf.negative)
    y = x = tf.placeholder(tf.float64, [4])
    for _ in range(80):
        y = functions[rng.integers(4) if kinds > 1 else 0](y) * 1.5
    session.run(y, {x: np.ones(4)})
    (runner,) = {r for r in session._runners.values() if y in r.plan.asked}
    (program,) = runner.programs.values()
    count = len(program.root.segments)
    assert count == segments if segments == 1 else 1 < count <= 4 if segments == "few" else count > 4


def test_variables_are_overwritten_in_place(session, compiled):
    v = tf.Variable(np.ones(50_000, np.float32))
    session.run(v.initializer)
    bump = v.assign_add(np.ones(50_000, np.float32)).op
    session.run(bump)
    old = session.state[v.op]
    session.run(bump)
    assert old.is_deleted()
    assert session.run(v)[0] == 3.0


def test_variables_are_overwritten_in_place_behind_host_functions(session, compiled):
    """Reading a variable before a host function copies nothing, and the new value takes the old one's memory."""
    v = tf.Variable(np.ones(50_000, np.float32))
    session.run(v.initializer)
    fail = []

    def checked(a):
        if fail:
            raise ValueError("as asked")
        return a

    first = tf.py_func(checked, [v[0]], tf.float32)
    first.set_shape([])
    bump = v.assign_add(tf.stop_gradient(tf.identity(v)) * 0.0 + first).op
    assert not {n.op.type for n in session.plan(bump).nodes} & {"Identity", "StopGradient"}
    session.run(bump)
    old = session.state[v.op]
    session.run(bump)
    assert old.is_deleted()
    old = session.state[v.op]
    fail.append(True)
    with pytest.raises(ValueError, match="as asked"):
        session.run(bump)
    assert not old.is_deleted()
    np.testing.assert_array_equal(session.run(v), np.full(50_000, 4.0))


def test_a_run_inside_a_run_overwrites_nothing_that_the_outer_one_reads(session, compiled):
    v = tf.Variable(np.ones(50_000, np.float32))
    session.run(v.initializer)
    bump = v.assign_add(np.ones(50_000, np.float32)).op

    def nested(a):
        session.run(bump)
        return a

    two = tf.py_func(nested, [2.0], tf.float32)
    two.set_shape([])
    twice = tf.reduce_max(v * two)
    for n in range(1, 15):  # more often than until the inner run is one function
        assert session.run(twice) == 2.0 * n
    assert session.run(v)[0] == 15.0


def test_the_users_jax_configuration_is_untouched(session, compiled):
    import jax

    x = tf.constant([1.0], tf.float64) * tf.placeholder_with_default(np.float64(2.0), [])
    assert session.run(x).dtype == np.float64
    assert not jax.config.jax_enable_x64
    assert jax.config.read("jax_cpu_enable_async_dispatch")  # it holds for the client that was made, and was put back


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="counts threads as Linux lists them")
def test_threads_of_compiled_programs_may_be_limited():
    program = ("import os\nimport regrad as tf\ntf.config.threads = {threads}\ntf.config.host_runs = tf.config.tiny_ops = 0\n"
               "tf.config.cache_dir = None\nx = tf.placeholder(tf.float32, [3])\n"
               "tf.Session().run(tf.sin(x), {{x: [1, 2, 3]}})\n"
               "print(len(os.listdir('/proc/self/task')), 'PJRT_NPROC' in os.environ)")
    threads = {}
    for n in (1, 5):
        done = subprocess.run([sys.executable, "-c", program.format(threads=n)], capture_output=True, text=True, check=True)
        count, left = done.stdout.split()
        threads[n] = int(count)
        assert left == "False"
    assert threads[5] >= threads[1] + 4


def test_shapes_computed_from_data(session):
    x = tf.placeholder(tf.float32, [None, None])
    n = tf.placeholder(tf.int32, [])
    parts = [tf.reshape(x, [tf.shape(x)[0] * n, -1]), tf.fill([n, 2], 1.0), tf.boolean_mask(x, x > 0.0) * 2.0,
             tf.range(tf.size(tf.where(x > 0.0)))]
    for value, k in ((np.array([[1.0, -1.0], [2.0, 3.0]]), 2), (np.array([[1.0, 4.0, -5.0, 6.0]]), 4)):
        a, b, c, d = session.run(parts, {x: value, n: k})
        np.testing.assert_array_equal(a, value.reshape(len(value) * k, -1))
        assert b.shape == (k, 2)
        np.testing.assert_array_equal(c, 2 * value[value > 0])
        assert len(d) == 2 * (value > 0).sum()


def test_a_plan_prints_what_runs(session):
    y = tf.py_func(lambda v: v, [tf.constant(1.0) * 2.0], tf.float32, name="host")
    assert re.search(r"0 +host +PyFunc +'host' +tests/runtime/test_session.py:\d+", str(session.plan(y + 1.0)))


def test_an_override_message_names_the_users_line(graph):
    with pytest.warns(tf.RegradWarning, match=r"test_session\.py:\d+"), graph.gradient_override_map({"Relu": "X"}):
        tf.constant(1.0)


def test_a_traced_run_lists_its_steps(session):
    x = tf.placeholder(tf.float32, [])
    y = tf.py_func(lambda v: v, [tf.tanh(x)], tf.float32, name="host") * 2.0
    metadata = tf.RunMetadata()
    for _ in range(2):
        session.run(y, {x: 0.5}, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
        assert [s.kind for s in metadata.steps] == ["segment (NumPy)", "host", "segment (NumPy)"]
    assert metadata.steps[1].name == "host" and "host" in str(metadata) and '"ph": "X"' in metadata.to_chrome_trace()


def test_sparse_tensors_are_fed_and_fetched(session):
    sp = tf.sparse_placeholder(tf.float32, [2, 3])
    dense = tf.sparse_tensor_to_dense(sp)
    value = tf.SparseTensorValue([[0, 1], [1, 2]], np.array([5.0, 7.0], np.float32), [2, 3])
    product = tf.sparse_tensor_dense_matmul(sp, np.ones((3, 1), np.float32))
    got, want, times = session.run([sp, dense, product], {sp: value})
    assert got.values.tolist() == [5.0, 7.0]
    assert want.tolist() == [[0, 5, 0], [0, 0, 7]]
    assert times.tolist() == [[5], [7]]


def test_recompiling_for_ever_is_said_once(session):
    x = tf.placeholder(tf.float32, [None], name="x")
    y = tf.reduce_sum(x * 2.0)
    words = r"x:0 \(its size along axis 0\). Feed .*`mask = tf.bucket\(x, axis=0\)`"
    with pytest.warns(tf.RegradWarning, match=words) as heard:
        for n in range(1, 40):
            session.run(y, {x: np.ones(n)})
    assert len(heard) == 1 and heard[0].filename == __file__


def test_sizes_that_data_decide_for_ever_are_said_once(session):
    x = tf.placeholder(tf.float32, [40], name="x")
    y = tf.reduce_sum(tf.boolean_mask(x, x > 0.0) * 2.0)
    words = r"what varies: the shape of boolean_mask/Where:0 \(made at .*test_session.py"
    with pytest.warns(tf.RegradWarning, match=words) as heard:
        for n in range(40):
            assert session.run(y, {x: np.arange(40) < n}) == 2 * n
    assert len(heard) == 1 and heard[0].filename == __file__


def test_of_many_shapes_few_are_kept_and_the_later_ones_compiled_later(session, monkeypatch):
    monkeypatch.setattr(tf.config, "kept_ops", 0)
    monkeypatch.setattr(tf.config, "recompile_warning", 0)
    x = tf.placeholder(tf.float32, [None])
    y = tf.reduce_sum(x * 2.0)
    for n in (*range(1, 40), 1, 39):
        assert session.run(y, {x: np.ones(n)}) == 2 * n
    (runner,) = set(session._runners.values())
    segments = [p.root.segments[0] for p in runner.programs.values()]
    assert session.plans == 40 and list(runner.programs) == [((n,),) for n in (*range(9, 39), 1, 39)]
    assert [s.runs_on_host() for s in segments[:8]] == [3] * 8 and [s.runs_on_host() for s in segments[-2:]] == [9, 9]


def test_a_structure_of_tensors_is_fed_with_a_structure_of_values():
    state = tf.nn.rnn_cell.LSTMStateTuple(tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32, [2]))
    total = state.c - state.h
    with tf.Session() as sess:
        value = tf.nn.rnn_cell.LSTMStateTuple(np.ones(2), np.arange(2))
        assert sess.run(total, {state: value}).tolist() == [1, 0]
        with pytest.raises(ValueError, match="Key had 2 elements, but value had 3"):
            sess.run(total, {state: (1, 2, 3)})


def test_new_values_take_the_memory_of_the_old_ones_of_the_same_variable(monkeypatch):
    """Variables of one shape, read in another order than they are assigned: XLA would copy them back and forth."""
    monkeypatch.setattr(tf.config, "host_runs", 0)
    monkeypatch.setattr(tf.config, "tiny_ops", 0)
    monkeypatch.setattr(tf.config, "cache_dir", None)
    with tf.Graph().as_default(), tf.Session() as session:
        a, b, c = (tf.get_variable(n, [30, 40], initializer=tf.constant_initializer(k)) for k, n in enumerate("abc"))
        step = tf.group(c.assign(c * 2.0 + tf.reduce_sum(a)), b.assign(tf.tanh(b) + 1.0), a.assign(a + 3.0))
        session.run(tf.global_variables_initializer())
        session.run(step)
        np.testing.assert_allclose([v[0, 0] for v in session.run([a, b, c])], [3.0, np.tanh(1) + 1, 4.0], rtol=1e-6)
        (program,) = {p for r in session._runners.values() for p in r.programs.values() if p.donates}
    (segment,) = program.root.segments
    pairs = re.findall(r"\{(\d+)\}: \((\d+), \{\}, may-alias\)", segment.executable().as_text())
    taken = {segment.outs[int(out)]: segment.ins[int(of)] for out, of in pairs}
    assert taken == {new: program.plan.reads[variable] for variable, new in program.plan.commits.items()}


def test_what_has_no_inputs_is_not_computed_by_the_compiler():
    import jax.numpy as jnp

    from regrad.runtime.backend import compile_function

    x = np.random.RandomState(0).rand(8, 8)
    program = compile_function(lambda: (jnp.asarray(x) @ jnp.asarray(x),), [], ())
    assert "copy(" not in program.as_text()  # of a result it knows: the compiler's interpreter takes minutes for large products
    np.testing.assert_allclose(program()[0], x @ x)


def test_sizes_that_data_decide_are_those_of_this_run(session):
    x = tf.placeholder(tf.float32, [4])
    size = tf.Variable(0)
    kept = tf.size(tf.boolean_mask(x, x > 0.0))
    given = tf.shape(tf.py_func(lambda a: a[a > 0], [x], tf.float32))[0] + 1
    inside = tf.map_fn(lambda row: tf.size(tf.boolean_mask(x, row > 0.0)), tf.stack([x, -x]), dtype=tf.int32)
    session.run(size.initializer)
    for row, n in ([1, 2, 3, 4], 4), ([1, -1, -1, -1], 1), ([2, 2, 2, -2], 3), ([1, 2, 3, 4], 4):
        assert session.run([kept, given], {x: row}) == [n, n + 1]
        assert session.run(inside, {x: row}).tolist() == [n, 4 - n]
        assert session.run(size.assign(kept), {x: row}) == session.run(size) == n


def test_what_numpy_made_is_kept_without_a_copy_and_what_others_have_is_not(monkeypatch):
    copied, kept = [], buffers.kept
    monkeypatch.setattr(buffers, "kept", lambda array: copied.append(array) or kept(array))
    x = tf.placeholder(tf.float32, [300])
    start = tf.zeros([300])
    sums, same, fed, constant, part = (tf.Variable(start) for _ in range(5))
    total = x + 1
    numbers = tf.constant(np.arange(300.0), tf.float32)
    step = tf.group(sums.assign(total), same.assign(total), fed.assign(x), constant.assign(numbers),
                    part.assign(tf.reshape(tf.reshape(total, [3, 100]), [300])))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        copied.clear()
        given = np.ones(300, np.float32)
        session.run(step, {x: given})
        assert len(copied) == 4
        held = [session.state[v._gradient_handle().op] for v in (sums, same, fed, constant, part)]
        assert not any(np.shares_memory(a, b) for a, b in itertools.combinations([*held, given], 2))
        given[:] = 7
        assert [v.mean() for v in session.run([sums, same, fed, constant, part])] == [2, 2, 1, 149.5, 2]
        copied.clear()
        session.run([sums.assign(total).op, tf.py_func(np.sum, [total], tf.float32)], {x: given})
        assert len(copied) == 1  # the function might hold on to it


def test_a_plan_prints_every_operation_with_its_line(session):
    x = tf.placeholder(tf.float32, [2])
    y = tf.py_func(np.sin, [tf.tanh(x, name="t")], tf.float32, name="host") * tf.Variable([1.0, 2.0], name="w")
    plan = session.plan(y, {x: [0.1, 0.2]})
    for words in (r"device +Tanh +'t'", r"host +PyFunc +'host'", r"device +Mul +'mul'"):
        assert re.search(words + r" +tests/runtime/test_session.py:\d+\n?", str(plan))
    assert repr(plan) == str(plan) and "<td" in plan._repr_html_() and "1 variables read" in str(plan)


def test_a_recorded_run_says_what_it_waited_for_and_what_took_longest(session):
    x = tf.placeholder(tf.float32, [64, 64])
    y = tf.reduce_sum(tf.matmul(tf.sin(x), tf.cos(x)))
    assert "No run was recorded" in str(tf.RunMetadata())
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    value = np.ones((64, 64), np.float32)
    kinds = []
    for _ in range(8):
        session.run(y, {x: value}, options=options, run_metadata=metadata)
        kinds.append([s.kind for s in metadata.steps])
        shares = [float(row[3]) for row in metadata.tables()[1].rows]
        assert shares == sorted(shares, reverse=True) and len(shares) == len(metadata.steps) + 1
        assert sum(shares) == pytest.approx(1e3 * metadata.seconds, rel=1e-2, abs=1e-2)
    assert ["compiler", "segment (XLA)"] in kinds and kinds[-1] == ["segment (XLA)"]
    assert "By time" in str(metadata) and "segment (XLA)" in metadata._repr_html_() and repr(metadata) == str(metadata)
