"""Supervisor, session managers, clusters, graphs in files."""
import json
import threading

import numpy as np
import pytest

import regrad as tf


def program():
    step = tf.train.get_or_create_global_step()
    w = tf.Variable(8.0, name="w")
    tf.summary.scalar("w", w)
    return w, tf.train.GradientDescentOptimizer(0.25).minimize(tf.square(w), global_step=step)


def test_training_goes_on_where_it_stopped(tmp_path):
    w, train = program()
    for expected in (8.0, 1.0):
        sv = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=0, save_summaries_secs=0)
        with sv.managed_session() as sess:
            assert not sv.should_stop()
            assert sess.run(w) == expected
            for _ in range(3):
                sess.run(train)
            sv.saver.save(sess, sv.save_path, global_step=sv.global_step)
            sv.summary_computed(sess, sess.run(sv.summary_op))
        assert sv.should_stop()
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("model.ckpt-6")
    found = [e for path in sorted(tmp_path.glob("events*")) for e in tf.train.summary_iterator(str(path))]
    assert [(e.step, v.simple_value) for e in found for v in e.summary.value] == [(3, 1.0), (6, 0.125)]
    assert sum(e.HasField("graph_def") for e in found) == 2


def test_a_supervisor_takes_up_the_list_of_checkpoints(tmp_path):
    for _ in range(3):
        with tf.Graph().as_default():
            _, train = program()
            sv = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=0, saver=tf.train.Saver(max_to_keep=2))
            with sv.managed_session() as sess:
                sess.run(train)
                sv.saver.save(sess, sv.save_path, global_step=sv.global_step)
    assert sorted(p.name for p in tmp_path.glob("*.index")) == ["model.ckpt-2.index", "model.ckpt-3.index"]


def test_services_save_and_write_until_it_stops(tmp_path):
    w, train = program()
    sv = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=0.01, save_summaries_secs=0.01)
    saved = threading.Event()
    sv.loop(0.005, lambda: tf.train.latest_checkpoint(str(tmp_path)) and saved.set())
    with sv.managed_session() as sess:
        sess.run(train)
        sv.loop(0.005, lambda: tf.train.latest_checkpoint(str(tmp_path)) and saved.set())
        assert saved.wait(20)
        sess.run(train)
    statuses = [e.session_log.status for p in tmp_path.glob("events*") for e in tf.train.summary_iterator(str(p))
                if e.HasField("session_log")]
    assert statuses[0] == tf.SessionLog.START and statuses[-1] == tf.SessionLog.STOP and tf.SessionLog.CHECKPOINT in statuses


def test_what_the_block_raises_is_raised():
    program()
    sv = tf.train.Supervisor()
    with pytest.raises(ZeroDivisionError), sv.managed_session():
        raise ZeroDivisionError
    with tf.train.Supervisor(summary_op=None).managed_session():
        raise tf.errors.OutOfRangeError("the input has ended")  # ends it quietly


def test_a_loop_of_steps():
    w, train = program()
    sv, seen = tf.train.Supervisor(), []

    def step(session, limit):
        seen.append(session.run([train, w])[1])
        if len(seen) == limit:
            sv.request_stop()

    tf.train.basic_train_loop(sv, step, args=(3,))
    assert len(seen) == 3


def test_a_session_manager_needs_a_way_to_begin(tmp_path):
    w, train = program()
    init, ready = tf.global_variables_initializer(), tf.report_uninitialized_variables()
    manager = tf.train.SessionManager(ready_op=ready, recovery_wait_secs=0)
    with pytest.raises(RuntimeError, match="no init_op"):
        manager.prepare_session()
    with pytest.raises(RuntimeError, match="Variables not initialized: global_step"):
        manager.prepare_session(init_op=w.initializer)
    assert manager.prepare_session(init_op=init).run(w) == 8.0
    saver = tf.train.Saver()
    session, restored = manager.recover_session(saver=saver, checkpoint_dir=str(tmp_path))
    assert not restored
    session.run(init)
    saver.save(session, str(tmp_path / "m"))
    assert manager.recover_session(saver=saver, checkpoint_dir=str(tmp_path))[1]
    with pytest.raises(tf.errors.DeadlineExceededError):
        manager.wait_for_session(max_wait_secs=-1)


def test_clusters_are_of_one_task():
    spec = tf.train.ClusterSpec({"worker": ["a:1", "b:2"], "ps": {3: "c:3"}})
    assert spec.jobs == ["ps", "worker"] and spec.num_tasks("worker") == 2 and spec.task_address("ps", 3) == "c:3"
    assert spec.as_dict() == {"ps": {3: "c:3"}, "worker": ["a:1", "b:2"]} and spec.job_tasks("ps") == [None, None, None, "c:3"]
    assert tf.Session(tf.train.Server.create_local_server().target).run(tf.constant(1)) == 1
    with pytest.raises(NotImplementedError, match="one process"):
        tf.train.Server(spec, "worker", 0)
    assert tf.train.replica_device_setter() is None
    with tf.device(tf.train.replica_device_setter(cluster=spec)):
        tf.constant(1)


def test_profiles(tmp_path):
    w, train = program()
    hook = tf.train.ProfilerHook(save_steps=2, output_dir=str(tmp_path))
    with tf.train.MonitoredSession(hooks=[hook, tf.train.StopAtStepHook(6)]) as sess:
        while not sess.should_stop():
            sess.run(train)
    files = sorted(p.name for p in tmp_path.iterdir())
    assert files == ["timeline-3.json", "timeline-5.json"]
    assert json.loads((tmp_path / files[0]).read_text())["traceEvents"]


def test_graphs_in_files(tmp_path):
    from regrad.core.graph_proto import ProtoGraphDef

    x = tf.placeholder(tf.float32, [None, 2], name="x")
    w = tf.Variable([[1.0], [2.0]], name="w")
    tf.nn.relu(tf.matmul(x, w), name="y")
    tf.identity(x, name="other")
    graph_def = tf.get_default_graph().as_graph_def()
    tf.train.write_graph(graph_def, str(tmp_path), "g.pbtxt")
    assert "MatMul" in (tmp_path / "g.pbtxt").read_text()
    assert tf.io.write_graph(tf.get_default_graph(), str(tmp_path), "g.pb", as_text=False) == str(tmp_path / "g.pb")
    assert "y" in [n.name for n in ProtoGraphDef.FromString((tmp_path / "g.pb").read_bytes()).node]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(w.assign([[3.0], [4.0]]))
        frozen = tf.graph_util.convert_variables_to_constants(sess, graph_def, ["y"])
    assert "other" not in [n.name for n in frozen.node] and [n.op for n in frozen.node if n.name == "w"] == ["Const"]
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        tf.import_graph_def(frozen, name="")
        assert sess.run("y:0", {"x:0": [[1.0, 1.0]]}).tolist() == [[7.0]]
        assert tf.graph_util.tensor_shape_from_node_def_name(graph, "x").as_list() == [None, 2]
    part = tf.graph_util.extract_sub_graph(graph_def, ["MatMul"])
    assert [n.name for n in part.node] == [n.name for n in graph_def.node if n.name in ("x", "w", "w/read", "MatMul")]
    with pytest.raises(AssertionError, match="nothing is not in graph"):
        tf.graph_util.extract_sub_graph(graph_def, ["nothing"])
    np.testing.assert_equal(len(frozen.node), 5)
