"""Input pipelines answer what TensorFlow answered, and programs learn from them."""
import numpy as np
import pytest

import regrad as tf
from tests.data import recorded
from tests.recorded import expected

EXPECTED = expected("data")


@pytest.mark.parametrize("name", recorded.PROGRAMS)
def test_as_tensorflow(name):
    with tf.Graph().as_default():
        value = recorded.PROGRAMS[name](tf)
        ours = [str(v) for v in (value if isinstance(value, list) else recorded.drained(tf, value))]
    assert ours == EXPECTED[name]


def test_a_program_learns_from_an_iterator():
    rng = np.random.RandomState(0)
    x = rng.randn(60, 3).astype("f")
    y = x @ np.array([1.0, -2.0, 0.5], "f") + 3
    data, labels = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [None])
    dataset = tf.data.Dataset.from_tensor_slices((data, labels)).map(lambda x, y: (x, y - 1)).shuffle(60, seed=1).batch(16)
    iterator = dataset.make_initializable_iterator()
    inputs, wanted = iterator.get_next()
    w, b = tf.get_variable("w", [3]), tf.get_variable("b", [])
    loss = tf.reduce_mean(tf.square(tf.reduce_sum(inputs * w, 1) + b - wanted))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    assert inputs.shape.as_list() == [None, 3] and inputs.dtype == tf.float32

    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        steps = 0
        for _ in range(40):
            sess.run(iterator.initializer, {data: x, labels: y})
            with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
                while True:
                    sess.run(train)
                    steps += 1
        learnt = sess.run([w, b])
        plans = sess.plans

    assert steps == 40 * 4
    np.testing.assert_allclose(learnt[0], [1, -2, 0.5], atol=1e-3)
    np.testing.assert_allclose(learnt[1], 2, atol=1e-3)
    assert plans < 10  # batches of 16 and of 12 share what is prepared


def test_a_failing_run_leaves_variables_alone_and_the_iterator_usable():
    v = tf.get_variable("v", [], tf.float32, tf.zeros_initializer())

    def odd(i):
        if i % 2:
            raise KeyError("odd")
        return i

    following = tf.data.Dataset.range(4).map(lambda i: tf.py_func(odd, [i], tf.int64)).make_one_shot_iterator().get_next()
    add = v.assign_add(tf.cast(tf.reshape(following, []), tf.float32) + 1)
    with tf.Session() as sess:
        sess.run(v.initializer)
        assert sess.run(add) == 1
        with pytest.raises(KeyError, match="odd"):
            sess.run(add)
        assert sess.run(v) == 1
        assert sess.run(add) == 4
        with pytest.raises(KeyError):
            sess.run(add)
        for _ in range(2):
            with pytest.raises(tf.errors.OutOfRangeError):
                sess.run(add)
        assert sess.run(v) == 4


def test_variables_are_read_when_the_iterator_begins():
    v = tf.get_variable("v", [], tf.float32, tf.zeros_initializer())
    iterator = tf.data.Dataset.range(4).map(lambda i: tf.cast(i, tf.float32) + v).make_initializable_iterator()
    following, add = iterator.get_next(), v.assign_add(10)
    with tf.Session() as sess:
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
            sess.run(iterator.initializer)
        sess.run(v.initializer)
        sess.run(iterator.initializer)
        sess.run(add)
        assert [sess.run(following) for _ in range(2)] == [0, 1]
        sess.run(iterator.initializer)
        assert sess.run(following) == 10


@pytest.mark.parametrize("build, error, words", [
    (lambda d: d.map(lambda i: tf.assign_add(tf.get_variable("v", [], tf.int64), i)), ValueError, "assigns the variable v"),
    (lambda d: d.map(lambda i: d), TypeError, "use flat_map"),
    (lambda d: d.map(lambda i: None), TypeError, "returned None"),
    (lambda d: d.flat_map(lambda i: i), TypeError, "must return a `Dataset`"),
    (lambda d: d.map(lambda i: tf.SparseTensor([[0]], [i], [1])), TypeError, "dense"),
    (lambda d: d.shuffle(0), tf.errors.InvalidArgumentError, "buffer_size must be greater than zero"),
    (lambda d: d.batch(0), tf.errors.InvalidArgumentError, "Batch size must be greater than zero"),
    (lambda d: d.shard(2, 2), tf.errors.InvalidArgumentError, "Index must be between"),
], ids=["assigns", "dataset", "none", "no dataset", "sparse", "shuffle", "batch", "shard"])
def test_refusals_say_why(build, error, words):
    with pytest.raises(error, match=words):
        build(tf.data.Dataset.range(3))


def test_without_seeds_every_iterator_shuffles_anew():
    iterator = tf.data.Dataset.range(50).shuffle(50).batch(50).make_initializable_iterator()
    following = iterator.get_next()
    with tf.Session() as sess:
        orders = set()
        for _ in range(3):
            sess.run(iterator.initializer)
            orders.add(tuple(sess.run(following)))
    assert len(orders) == 3 and all(sorted(o) == list(range(50)) for o in orders)


def test_no_element_is_lost_when_a_plan_is_made_again():
    x = tf.data.Dataset.range(1, 6).batch(2).make_one_shot_iterator().get_next()
    large = tf.reduce_sum(x) > 3  # a branch that changes the shape turns out not to compile when the element is there
    y = tf.cond(large, lambda: tf.concat([x, x], 0), lambda: x) * tf.reduce_sum(x)
    with tf.Session() as sess:
        assert [sess.run(y).tolist() for _ in range(3)] == [[3, 6], [21, 28, 21, 28], [25, 25]]
