"""Queues among threads: who waits, who goes on, and what a waiting run sees. (What TensorFlow answers: tests/surface.)"""
import threading

import numpy as np
import pytest

import regrad as tf


def started(function, *args):
    """Runs a function in a thread; returns the thread and the list its result will be in."""
    results = []

    def work():
        try:
            results.append(function(*args))
        except Exception as error:
            results.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread, results


def until(session, condition):
    """Lets other threads run until a condition holds."""
    for _ in range(2000):
        if condition():
            return
        threading.Event().wait(0.005)
    raise AssertionError("it never happened")


def test_a_dequeue_waits_for_another_thread():
    q = tf.FIFOQueue(2, tf.float32, [[]])
    doubled, put = q.dequeue() * 2, q.enqueue([21.0])
    with tf.Session() as sess:
        thread, results = started(sess.run, doubled)
        until(sess, lambda: sess.suspended == 1)
        sess.run(put)
        thread.join(10)
        assert results == [42.0]


def test_a_waiting_run_sees_variables_as_they_are_when_it_goes_on():
    q = tf.FIFOQueue(2, tf.float32, [[]])
    w = tf.Variable(1.0)
    product, change = q.dequeue() * w, tf.assign(w, 10.0)
    with tf.Session() as sess:
        sess.run(w.initializer)
        thread, results = started(sess.run, product)
        until(sess, lambda: sess.suspended == 1)
        sess.run(change)
        sess.run(q.enqueue([3.0]))
        thread.join(10)
        assert results == [30.0]


def test_a_full_queue_makes_the_enqueue_wait_and_training_goes_on():
    q = tf.FIFOQueue(1, tf.float32, [[300]])
    w = tf.Variable(np.ones(300, np.float32))
    step = tf.assign_add(w, tf.ones([300]))
    put = q.enqueue([w * 2.0])
    with tf.Session() as sess:
        sess.run(w.initializer)
        sess.run(put)
        thread, results = started(sess.run, put)
        until(sess, lambda: sess.suspended == 1)
        for _ in range(5):
            sess.run(step.op)
        assert sess.run(q.dequeue()).tolist() == [2.0] * 300
        thread.join(10)
        assert results == [None]
        assert sess.run(q.dequeue()).tolist() == [2.0] * 300  # of the time when it came to the queue


def test_runs_that_count_while_a_queue_is_full_count_once_each():
    q = tf.FIFOQueue(1, tf.int32, [[]])
    put = q.enqueue(tf.count_up_to(tf.Variable(0), 100))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(put)
        threads = [started(sess.run, put)[0] for _ in range(3)]
        until(sess, lambda: sess.suspended == 3)
        assert [int(sess.run(q.dequeue())) for _ in range(4)] == [0, 1, 2, 3]
        for thread in threads:
            thread.join(10)


def test_runners_close_their_queues_one_after_the_other():
    first = tf.FIFOQueue(10, tf.int32, [[]])
    second = tf.FIFOQueue(10, tf.int32, [[]])
    runners = [tf.train.QueueRunner(first, [first.enqueue(tf.count_up_to(tf.Variable(0), 3))]),
               tf.train.QueueRunner(second, [second.enqueue(first.dequeue())])]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        threads = [t for r in runners for t in r.create_threads(sess, start=True, daemon=True)]
        assert [int(sess.run(second.dequeue())) for _ in range(3)] == [0, 1, 2]
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(second.dequeue())
        for thread in threads:
            thread.join(10)


def test_closing():
    q = tf.FIFOQueue(1, tf.int32, [[]])
    with tf.Session() as sess:
        sess.run(q.enqueue([1]))
        pending, refused = started(sess.run, q.enqueue([2]))
        until(sess, lambda: sess.suspended == 1)
        sess.run(q.close(cancel_pending_enqueues=True))
        pending.join(10)
        assert isinstance(refused[0], tf.errors.CancelledError)
        assert sess.run(q.dequeue()) == 1
        with pytest.raises(tf.errors.OutOfRangeError, match="is closed and has insufficient elements"):
            sess.run(q.dequeue())


def test_closing_the_session_ends_waiting_runs():
    q = tf.FIFOQueue(1, tf.int32, [[]])
    sess = tf.Session()
    thread, results = started(sess.run, q.dequeue())
    until(sess, lambda: sess.suspended == 1)
    sess.close()
    thread.join(10)
    assert isinstance(results[0], tf.errors.CancelledError)


def test_two_sessions_have_queues_of_their_own():
    q = tf.FIFOQueue(3, tf.int32, [[]])
    with tf.Session() as one, tf.Session() as other:
        one.run(q.enqueue([1]))
        assert [one.run(q.size()), other.run(q.size())] == [1, 0]


def test_put_and_take_in_one_run():
    q = tf.FIFOQueue(3, tf.int32, [[]])
    with tf.control_dependencies([q.enqueue([5])]):
        back = q.dequeue()
    with tf.Session() as sess:
        assert sess.run(back) == 5


def test_training_from_shuffled_batches():
    x = np.random.RandomState(0).randn(64, 3).astype(np.float32)
    y = x @ np.array([[1.0], [-2.0], [0.5]], np.float32)
    example, label = tf.train.slice_input_producer([x, y], seed=1)
    bx, by = tf.train.shuffle_batch([example, label], 16, capacity=60, min_after_dequeue=30, num_threads=2, seed=2)
    w = tf.get_variable("w", [3, 1])
    loss = tf.reduce_mean(tf.square(tf.matmul(bx, w) - by))
    train = tf.train.GradientDescentOptimizer(0.2).minimize(loss)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        for _ in range(60):
            sess.run(train)
        final = sess.run(loss)
        coord.request_stop()
        coord.join(threads)
    assert final < 1e-3
    assert bx.shape.as_list() == [16, 3] and by.shape.as_list() == [16, 1]


def test_shuffling_waits_for_enough_to_mix():
    q = tf.RandomShuffleQueue(20, 5, tf.int32, [[]], seed=1)
    with tf.Session() as sess:
        sess.run(q.enqueue_many([np.arange(5)]))
        thread, results = started(sess.run, q.dequeue())
        until(sess, lambda: sess.suspended == 1)
        sess.run(q.enqueue_many([np.arange(5, 10)]))
        thread.join(10)
        assert len(results) == 1
        sess.run(q.close())
        rest = sess.run(q.dequeue_up_to(20))
        assert sorted([*rest, results[0]]) == list(range(10)) and list(rest) != sorted(rest)


def test_an_error_of_a_runner_reaches_the_main_thread():
    value = tf.placeholder_with_default(0, [])
    with tf.control_dependencies([tf.Assert(value > 0, ["not positive"])]):
        checked = tf.identity(value)
    out = tf.train.batch([checked], 2)
    with tf.Session() as sess:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(out)
        with pytest.raises(tf.errors.InvalidArgumentError, match="not positive"):
            coord.join(threads)


@pytest.mark.parametrize("build, error, says", [
    (lambda: tf.FIFOQueue(3, [tf.int32], [[], []]), ValueError, "same length as dtypes"),
    (lambda: tf.FIFOQueue(3, tf.int32).dequeue_many(2), ValueError, "needs the shapes"),
    (lambda: tf.FIFOQueue(3, tf.int32, [[2]]).enqueue([[1, 2, 3]]), ValueError, "incompatible"),
    (lambda: tf.FIFOQueue(3, [tf.int32, tf.int32]).enqueue([1]), ValueError, "has 2 components"),
    (lambda: tf.FIFOQueue(3, tf.int32, names=["x"]).enqueue([1]), ValueError, "enqueue a dictionary"),
    (lambda: tf.train.batch([tf.placeholder(tf.int32, [None])], 2), ValueError, "fully defined"),
    (lambda: tf.FIFOQueue(2, [tf.int32], [[None]]), ValueError, "fully defined"),
    (lambda: tf.PaddingFIFOQueue(2, [tf.int32], [tf.TensorShape(None)]), ValueError, "defined rank"),
    (lambda: tf.train.slice_input_producer([]), ValueError, "at least one"),
    (lambda: tf.train.string_input_producer([]), ValueError, "non-null"),
    (lambda: tf.train.limit_epochs(tf.constant(1), 0), ValueError, "must be > 0"),
])
def test_refusals(build, error, says):
    with pytest.raises(error, match=says):
        build()


# -- gradients of several runs -------------------------------------------------------------------------------
def test_a_run_waits_for_enough_gradients_and_then_reads_variables():
    v = tf.get_variable("v", initializer=1.0)
    kept = tf.ConditionalAccumulator(tf.float32, [])
    give, up = kept.apply_grad(3.0), v.assign_add(1.0)
    mean = kept.take_grad(2)
    taken = []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        thread = threading.Thread(target=lambda: taken.append(sess.run([mean, v + mean])))
        thread.start()
        sess.run(give)
        sess.run(up)
        assert taken == [] and sess.run(kept.num_accumulated()) == 1
        sess.run(give)
        thread.join(60)
    assert taken == [[3.0, 5.0]]


def test_a_run_may_wait_for_the_answer_to_what_it_gives():
    asked, answers = tf.FIFOQueue(5, tf.int32, [[]]), tf.FIFOQueue(5, tf.int32, [[]])
    answer = answers.enqueue(asked.dequeue() * 10)
    with tf.control_dependencies([asked.enqueue(7)]):
        got = answers.dequeue()
    with tf.Session() as sess:
        thread = threading.Thread(target=lambda: sess.run(answer))
        thread.start()
        assert sess.run(got) == 70
        thread.join(60)


def test_replicas_make_steps_of_their_mean_gradient():
    w = tf.get_variable("w", [2], initializer=tf.zeros_initializer())
    rows = tf.get_variable("rows", [3, 2], initializer=tf.ones_initializer())
    x, row = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.int32, [1])
    step = tf.train.get_or_create_global_step()
    opt = tf.train.SyncReplicasOptimizer(tf.train.MomentumOptimizer(0.5, 0.0), replicas_to_aggregate=2, total_num_replicas=2)
    with pytest.raises(ValueError, match="after apply_gradients"):
        opt.get_chief_queue_runner()
    with pytest.raises(ValueError, match="Global step is required"):
        opt.minimize(tf.reduce_sum(w * x))
    train = opt.minimize(tf.reduce_sum(w * x) + tf.reduce_sum(tf.gather(rows, row)), global_step=step)
    assert opt.get_slot_names() == ["momentum"] and opt.get_slot(w, "momentum") is not None
    with pytest.raises(ValueError, match="Too few tokens"):
        tf.train.SyncReplicasOptimizer.get_init_tokens_op(opt, -2)
    ended = []
    with tf.train.MonitoredTrainingSession(hooks=[opt.make_session_run_hook(True)]) as sess:
        inner = sess.raw_session() if hasattr(sess, "raw_session") else sess._sess

        def replica(i):
            for _ in range(2):  # gives a gradient, and takes a token there is; then those of the first step
                inner.run(train, {x: [1.0, 4.0 * i], row: [i]})
            ended.append(i)

        threads = [threading.Thread(target=replica, args=(i,)) for i in range(2)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(20)
        weights, table, n = inner.run([w, rows, step])
    assert sorted(ended) == [0, 1] and n >= 1
    np.testing.assert_allclose(weights[0], -0.5 * n)
    assert (table[2] == 1).all() and table[:2].min() < 1
