"""Estimators do what real TensorFlow recorded."""
import numpy as np
import pytest

import regrad as tf
from tests.estimator import recorded
from tests.recorded import compare, expected

EXPECTED = expected("estimator")
TOLERANCE = {"rtol": 1e-4, "atol": 1e-6}


@pytest.mark.parametrize("program", [recorded.training, recorded.together, recorded.warm, recorded.batches, recorded.exported,
                                     recorded.on_one_shard])
def test_program(program):
    compare(program(tf), EXPECTED, **TOLERANCE)


@pytest.mark.parametrize("name", recorded.CANNED)
def test_models_that_are_brought(name):
    compare(recorded.canned_answers(tf, name), EXPECTED, **TOLERANCE)


@pytest.mark.parametrize("name", ["order", "stopped", "refusals"])
def test_what_happens(name):
    assert getattr(recorded, name)(tf) == EXPECTED[name]


def test_evaluation_in_memory():
    seen = []

    class Hook(tf.train.SessionRunHook):
        def end(self, session):
            w, step = session.run([session.graph.get_tensor_by_name(name) for name in ("w:0", "global_step:0")])
            seen.append((int(step), float(w[0, 0])))

    made = recorded.estimator(tf)
    made.train(recorded.arrays(tf), [tf.estimator.experimental.InMemoryEvaluatorHook(
        made, recorded.dataset(tf), hooks=[Hook()], every_n_iter=2)], steps=3)

    assert [step for step, _ in seen] == [0, 2, 3]
    assert seen[0][1] == np.float32(0.1) and seen[-1][1] == made.get_variable_value("w")[0, 0] != seen[1][1]
    assert sorted(tf.estimator.experimental.read_eval_metrics(made.eval_dir())) == [0, 2, 3]


def test_optimizers_of_programs_for_tpus():
    x = tf.get_variable("x", initializer=[1.0, 2.0])
    optimizer = tf.contrib.tpu.CrossShardOptimizer(tf.train.MomentumOptimizer(0.5, 0.5))
    train = optimizer.minimize(tf.reduce_sum(x * x))
    with tf.contrib.tpu.bfloat16_scope():
        y = tf.get_variable("y", [2], tf.bfloat16, tf.ones_initializer())
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(train)
        assert sess.run([x, optimizer.get_slot(x, "momentum")])[1].tolist() == [2.0, 4.0]
        assert optimizer.get_slot_names() == ["momentum"] and optimizer.variables() == [optimizer.get_slot(x, "momentum")]
    assert (y.dtype, tf.global_variables()[-1].dtype) == (tf.bfloat16, tf.float32)


def test_a_tpu_that_is_not_there_is_mentioned(capsys, caplog):
    tf.logging.set_verbosity(tf.logging.WARN)  # programs of other tests set it
    made = tf.contrib.tpu.TPUEstimator(lambda features, params: None, recorded.folder(), tf.contrib.tpu.RunConfig(),
                                       train_batch_size=8)
    assert "there is no TPU here" in caplog.text + capsys.readouterr().err
    assert made.params == {} and tf.contrib.estimator.stop_if_lower_hook is tf.estimator.experimental.stop_if_lower_hook


def test_a_warm_start_of_parts(tmp_path):
    for name, words in ("old", "a b c"), ("new", "c x a b"):
        (tmp_path / name).write_text("\n".join(words.split()) + "\n")
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.get_variable("v", initializer=[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        sess.run(v.initializer)
        path = tf.train.Saver().save(sess, str(tmp_path / "c"))
    words = tf.train.VocabInfo(str(tmp_path / "new"), 4, 0, str(tmp_path / "old"), axis=1)
    tables = [tf.get_variable(f"w{i}", [2, 4], partitioner=tf.fixed_size_partitioner(2, i), initializer=tf.ones_initializer())
              for i in (0, 1)]
    tf.train.warm_start(path, None, {f"w{i}": words for i in (0, 1)}, {f"w{i}": "v" for i in (0, 1)})
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for table in tables:
            assert sess.run(tf.convert_to_tensor(table)).tolist() == [[3.0, 0.0, 1.0, 2.0], [6.0, 0.0, 4.0, 5.0]]


def test_a_graph_does_not_hold_what_it_begins_with(tmp_path):
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.get_variable("v", initializer=tf.range(10_000.0))
        sess.run(v.initializer)
        path = tf.train.Saver().save(sess, str(tmp_path / "c"))
    v = tf.get_variable("v", [10_000])
    tf.train.init_from_checkpoint(path, {"v": v})
    assert len(tf.get_default_graph().as_graph_def().SerializeToString()) < 10_000
    with tf.Session() as sess:
        sess.run(v.initializer)
        assert sess.run(v).tolist() == list(range(10_000))


def test_what_extends_estimators():
    made = recorded.estimator(tf)
    made.train(recorded.arrays(tf), steps=2)
    more = tf.contrib.estimator.add_metrics(made, lambda labels, features: {"most": tf.metrics.mean(
        tf.reduce_max(labels) + 0.0 * tf.reduce_sum(features["x"]))})
    plain, found = made.evaluate(recorded.dataset(tf)), more.evaluate(recorded.dataset(tf))
    assert set(found) - set(plain) == {"most"} and found["most"] > 0 and plain["loss"] == found["loss"]
    with pytest.raises(ValueError, match="not expected args"):
        tf.estimator.add_metrics(made, lambda x: {})
    predict = tf.contrib.predictor.from_estimator(made, lambda: recorded.alone(tf))
    np.testing.assert_allclose(predict({"x": recorded.X[:3]})["y"],
                               [p["y"] for p in made.predict(recorded.dataset(tf))][:3], rtol=1e-6)
    assert (tf.contrib.learn.ModeKeys.INFER, tf.contrib.learn.ModeKeys.TRAIN) == ("infer", tf.estimator.ModeKeys.TRAIN)


def test_an_optimizer_that_clips():
    x = tf.get_variable("x", initializer=[3.0, 4.0])
    train = tf.contrib.estimator.clip_gradients_by_norm(tf.train.GradientDescentOptimizer(1.0), 1.0).minimize(
        tf.reduce_sum(x * x), tf.train.get_or_create_global_step())
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(train)
        np.testing.assert_allclose(sess.run(x), [2.4, 3.2], rtol=1e-6)
        assert sess.run(tf.train.get_global_step()) == 1


class _Table:
    """What a pandas DataFrame is to an input function; of one column, a Series."""

    def __init__(self, **columns):
        self.columns, self._arrays = list(columns), {name: np.array(values) for name, values in columns.items()}
        self.index = np.arange(10, 10 + len(next(iter(self._arrays.values()))))

    def __contains__(self, name):
        return name in self._arrays

    def __getitem__(self, name):
        found = _Table(**{name: self._arrays[name]})
        del found.columns
        return found

    def to_numpy(self):
        (found,) = self._arrays.values()
        return found


def test_tables_as_inputs():
    table, make = _Table(a=[1, 2, 3], b=["x", "y", "z"]), tf.estimator.inputs.pandas_input_fn
    for labels, expected_labels in ((None, None), (table["a"], [3]), (_Table(p=[5, 6, 7]), {"p": [7]})):
        with tf.Graph().as_default():
            made = make(table, labels, 2, shuffle=False)()
            with tf.Session() as sess:
                sess.run(made)
                last = sess.run(made)
        features = last if labels is None else last[0]
        assert {name: values.tolist() for name, values in features.items()} == {"a": [3], "b": [b"z"]}
        if labels is not None:
            np.testing.assert_equal(last[1], expected_labels)
    with pytest.raises(ValueError, match="Index for x and y are mismatched"):
        make(table, _Table(p=[1]), shuffle=False)
    with pytest.raises(TypeError, match="must be a pandas DataFrame"):
        make([1], shuffle=False)


def test_shuffled_rows_follow_the_seed():
    orders = []
    for seed in (1, 1, 2):
        with tf.Graph().as_default():
            tf.set_random_seed(seed)
            rows = tf.estimator.inputs.numpy_input_fn(np.arange(20), None, 10, 2, True)()
            with tf.train.MonitoredSession() as sess:
                orders.append([x for _ in range(4) for x in sess.run(rows).tolist()])
    assert orders[0] == orders[1] != orders[2]
    assert all(sorted(order[:20]) == sorted(order[20:]) == list(range(20)) != order[:20] for order in orders)
