"""Monitored sessions and their hooks."""
import logging

import numpy as np
import pytest

import regrad as tf


@pytest.fixture
def program():
    """A loss that each step halves, with a global step."""
    step = tf.train.get_or_create_global_step()
    w = tf.Variable(8.0, name="w")
    loss = tf.square(w, name="loss")
    return step, w, loss, tf.train.GradientDescentOptimizer(0.25).minimize(loss, global_step=step)


def count(sess, op):
    n = 0
    while not sess.should_stop():
        sess.run(op)
        n += 1
    return n


def test_a_hook_stops_the_loop(program):
    step, w, loss, op = program
    final = tf.train.FinalOpsHook([step, w])
    with tf.train.MonitoredSession(hooks=[tf.train.StopAtStepHook(last_step=3), final]) as sess:
        assert count(sess, op) == 3
    assert final.final_ops_values == [3, 1.0]
    with pytest.raises(RuntimeError, match="after should_stop"):
        sess.run(op)


def test_training_goes_on_where_it_stopped(program, tmp_path):
    step, w, loss, op = program

    def session(**kwargs):
        return tf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path), hooks=[tf.train.StopAtStepHook(num_steps=3)],
                                                 save_checkpoint_steps=2, **kwargs)

    with session() as sess:
        assert count(sess, op) == 3
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("model.ckpt-3")
    with session() as sess:
        assert sess.run([step, w]) == [3, 1.0]
        assert count(sess, op) == 3
    assert [p.name for p in sorted(tmp_path.glob("*.index"))] == [f"model.ckpt-{i}.index" for i in (0, 2, 3, 5, 6)]


def test_hooks_see_every_run(program):
    step, w, loss, op = program
    seen = []

    class Hook(tf.train.SessionRunHook):
        def begin(self):
            seen.append("begin")
            self.twice = loss * 2

        def after_create_session(self, session, coord):
            seen.append(("created", float(session.run(loss)), coord.should_stop()))

        def before_run(self, run_context):
            assert run_context.original_args.fetches is op
            return tf.train.SessionRunArgs({"twice": self.twice})

        def after_run(self, run_context, run_values):
            seen.append(float(run_values.results["twice"]))
            if len(seen) == 4:
                run_context.request_stop()

        def end(self, session):
            seen.append("end")

    with tf.train.SingularMonitoredSession(hooks=[Hook()]) as sess:
        count(sess, op)
    assert seen == ["begin", ("created", 64.0, False), 128.0, 32.0, "end"]


def test_feeds_of_hooks_and_callers_do_not_mix():
    x = tf.placeholder(tf.float32, [])
    with tf.train.MonitoredSession(hooks=[tf.train.FeedFnHook(lambda: {x: 3.0})]) as sess:
        assert sess.run(x) == 3.0
        with pytest.raises(RuntimeError, match="fed by two hooks"):
            sess.run(x, {x: 4.0})


@pytest.mark.parametrize("error", [tf.errors.OutOfRangeError(None, None, "the end"), StopIteration()])
def test_the_end_of_the_data_ends_quietly(program, error):
    final = tf.train.FinalOpsHook(program[0])
    with tf.train.MonitoredSession(hooks=[final]):
        raise error
    assert final.final_ops_values == 0


def test_other_errors_pass_without_ending_hooks(program):
    final = tf.train.FinalOpsHook(program[0])
    with pytest.raises(ZeroDivisionError), tf.train.MonitoredSession(hooks=[final]) as sess:
        sess.run(program[0])
        1 / 0  # noqa: B018
    assert final.final_ops_values is None


def test_nan_is_noticed():
    x = tf.placeholder(tf.float32, [2])
    stop, fail = tf.train.NanTensorHook(x, fail_on_nan_loss=False), tf.train.NanTensorHook(x)
    with tf.train.MonitoredSession(hooks=[stop]) as sess:
        sess.run(x, {x: [1.0, 2.0]})
        assert not sess.should_stop()
        sess.run(x, {x: [1.0, np.nan]})
        assert sess.should_stop()
    with pytest.raises(tf.train.NanLossDuringTrainingError), tf.train.MonitoredSession(hooks=[fail]) as sess:
        sess.run(x, {x: [1.0, np.nan]})


def test_logging(program, caplog):
    step, w, loss, op = program
    caplog.set_level(logging.INFO, "tensorflow")
    hooks = [tf.train.LoggingTensorHook({"l": "loss:0"}, every_n_iter=2), tf.train.StopAtStepHook(4),
             tf.train.LoggingTensorHook([w], at_end=True, formatter=lambda values: f"last {values['w:0']}"),
             tf.train.StepCounterHook(2)]
    with tf.train.MonitoredSession(hooks=hooks) as sess:
        count(sess, op)
    lines = [r.getMessage() for r in caplog.records]

    assert lines[0] == "l = 64.0"
    assert [line for line in lines if line.startswith("l = 4.0 (")]
    assert lines[-1] == "last 0.5"
    assert hooks[-1].steps_per_sec > 0


def test_logging_by_the_names_of_operations(program, caplog):
    caplog.set_level(logging.INFO, "tensorflow")
    tf.unstack([1.0, 2.0], name="several")
    with tf.train.MonitoredSession(hooks=[tf.train.LoggingTensorHook(["loss"], every_n_iter=1)]) as sess:
        sess.run(program[-1])
    assert caplog.records[0].getMessage() == "loss = 64.0"
    with pytest.raises(ValueError, match="Name several is ambiguous"):
        tf.train.MonitoredSession(hooks=[tf.train.LoggingTensorHook(["several"], every_n_iter=1)])
    with pytest.raises(KeyError):
        tf.train.MonitoredSession(hooks=[tf.train.LoggingTensorHook(["none"], every_n_iter=1)])


def test_listeners_of_saving(program, tmp_path):
    calls = []

    class Listener(tf.train.CheckpointSaverListener):
        def after_save(self, session, global_step_value):
            calls.append(global_step_value)
            return global_step_value >= 2

    saver = tf.train.CheckpointSaverHook(str(tmp_path), save_steps=1, listeners=[Listener()])
    with tf.train.MonitoredSession(hooks=[saver]) as sess:
        assert count(sess, program[3]) == 2
    assert calls == [0, 1, 2]


def test_what_does_not_become_ready_is_an_error():
    tf.Variable(1.0, name="w")
    with pytest.raises(RuntimeError, match="Variables not initialized: w"):
        tf.train.MonitoredSession(tf.train.ChiefSessionCreator(tf.train.Scaffold(init_op=tf.no_op())))


def test_a_scaffold_brings_its_own_pieces(program):
    step, w, loss, op = program
    scaffold = tf.train.Scaffold(init_fn=lambda scaffold, session: w.load(2.0, session))
    with tf.train.SingularMonitoredSession(scaffold=scaffold) as sess:
        assert sess.run_step_fn(lambda step_context: step_context.run_with_hooks(loss)) == 4.0
        assert sess.raw_session().run(w) == 2.0
        sess.run_step_fn(lambda step_context: step_context.request_stop())
        raise AssertionError("the block has ended")


@pytest.mark.parametrize("build, says", [
    (lambda: tf.train.StopAtStepHook(), "One of num_steps or last_step"),
    (lambda: tf.train.StopAtStepHook(1, 2), "Only one of"), (lambda: tf.train.SecondOrStepTimer(), "Exactly one of"),
    (lambda: tf.train.LoggingTensorHook([]), "exactly one of every_n_iter"),
    (lambda: tf.train.LoggingTensorHook([], every_n_iter=0), "invalid every_n_iter"),
    (lambda: tf.train.CheckpointSaverHook("x", save_steps=1, saver=1, scaffold=1), "both saver and scaffold")])
def test_refused(build, says):
    with pytest.raises(ValueError, match=says):
        build()


def test_hooks_that_count_need_a_global_step():
    with pytest.raises(RuntimeError, match="Global step should be created to use StopAtStepHook"):
        tf.train.MonitoredSession(hooks=[tf.train.StopAtStepHook(1)])
