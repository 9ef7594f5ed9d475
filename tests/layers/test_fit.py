"""Models that are fitted: what rows of `tests/programs/behaviour/fit.py` cannot say."""
import glob

import numpy as np
import pytest

import regrad as tf
from regrad.runtime.session import Session

K, L, C = tf.keras, tf.keras.layers, tf.keras.callbacks
X, Y = np.random.RandomState(0).randn(12, 3), np.eye(2)[np.arange(12) % 2]


def _model(optimizer="sgd", loss="mse", **kwargs):
    model = K.Sequential([L.Dense(2, input_shape=(3,), kernel_initializer="ones")])
    model.compile(optimizer, loss, **kwargs)
    return model


def test_a_batch_is_one_run(monkeypatch):
    model = _model(metrics=["mae", K.metrics.AUC(), "acc"])
    model.fit(X, Y, verbose=0, batch_size=4)
    runs, run = [], Session.run
    monkeypatch.setattr(Session, "run", lambda self, *args, **kwargs: runs.append(args) or run(self, *args, **kwargs))
    model.train_on_batch(X, Y, reset_metrics=False)
    assert len(runs) == 1
    model.reset_metrics = lambda: None
    model.fit(X, Y, verbose=0, batch_size=3, shuffle=False)
    assert len(runs) == 1 + 4


def test_what_is_done_again_adds_nothing_to_the_graph():
    model = _model("adam", metrics=["mae", K.metrics.AUC()])
    for _ in range(2):
        model.fit(X, Y, verbose=0, validation_data=(X, Y), callbacks=[C.ReduceLROnPlateau("loss")])
        model.evaluate(X, Y, verbose=0)
        model.predict(X)
        model.set_weights(model.get_weights())
        tf.get_default_graph().finalize()


def test_what_a_shared_layer_measures_is_each_models_own():
    class Seen(L.Layer):
        def call(self, inputs):
            self.add_metric(tf.reduce_mean(inputs), aggregation="mean", name="seen")
            return inputs * 2.0

    seen, a, b = Seen(), K.Input([3]), K.Input([3])
    for model, value in ((K.Model(a, seen(a)), 1.0), (K.Model(b, seen(b)), 3.0)):
        model.compile("sgd", "mse")
        assert model.metrics_names == ["loss", "seen"]
        assert model.evaluate(np.full((2, 3), value), np.zeros((2, 3)), verbose=0) == [4.0 * value ** 2, value]


def test_masked_steps_count_nothing_and_all_steps_divide():
    steps = np.array([[[1.0], [2.0], [0.0]], [[3.0], [0.0], [0.0]]])
    model = K.Sequential([L.Masking(input_shape=(3, 1)), L.TimeDistributed(L.Dense(1, kernel_initializer="ones"))])
    model.compile("sgd", "mse", metrics=["mae"])
    loss, mae = model.evaluate(steps, np.zeros((2, 3, 1)), verbose=0)
    assert loss == pytest.approx((1 + 4 + 9) / 6) and mae == pytest.approx((1 + 2 + 3) / 3)  # as TensorFlow 1.15


def test_a_baseline_that_is_not_reached_stops():
    history = _model().fit(X, Y, epochs=5, verbose=0, callbacks=[C.EarlyStopping("loss", baseline=0.0)])
    assert history.epoch == [0]


def test_what_is_shown(capsys):
    model = _model(metrics=["mae"])
    model.fit(X, Y, epochs=2, verbose=2, batch_size=5, validation_split=0.25)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["Train on 9 samples, validate on 3 samples", "Epoch 1/2"]
    assert lines[2].startswith("9/9 - 0s - loss: ") and "- val_mean_absolute_error: " in lines[2] and len(lines) == 5
    model.evaluate(X, Y)
    model.predict(X, verbose=1)
    out = capsys.readouterr().out
    assert "12/12 [==============================]" in out and out.count("loss: ") == 1


def test_tensorboard_files(tmp_path):
    _model(metrics=["mae"]).fit(X, Y, epochs=2, verbose=0, validation_data=(X, Y), batch_size=6,
                                callbacks=[C.TensorBoard(str(tmp_path), histogram_freq=1, update_freq="batch")])
    found = {}
    for name in ("train", "validation"):
        (path,) = glob.glob(f"{tmp_path}/{name}/*")
        found[name] = [v.tag for event in tf.train.summary_iterator(path) for v in event.summary.value]
    assert found["validation"] == ["epoch_loss", "epoch_mean_absolute_error"] * 2
    assert found["train"].count("batch_loss") == 4 and found["train"].count("epoch_loss") == 2
    assert found["train"].count("dense/kernel_0") == 2


def test_checkpoints_of_the_best_epochs(tmp_path, capsys):
    model = _model(K.optimizers.SGD(0.05))
    keep = C.ModelCheckpoint(f"{tmp_path}/{{epoch}}-{{loss:.1f}}", "loss", save_best_only=True, save_weights_only=True,
                             verbose=1)
    model.fit(X, Y, epochs=2, verbose=0, callbacks=[keep, C.LearningRateScheduler(lambda epoch: [0.05, 50.0][epoch])])
    model.fit(X, Y, epochs=1, verbose=0, callbacks=[keep])
    kept = sorted(path.name for path in tmp_path.glob("*.index"))
    assert [name[:2] for name in kept] == ["1-", "2-"]
    assert "loss improved from inf to " in capsys.readouterr().out and keep.best < 10
    with pytest.raises(KeyError, match="there are epoch, loss"):
        model.fit(X, Y, verbose=0, callbacks=[C.ModelCheckpoint("{none}")])


def test_data_that_run_out_stop_training(caplog):
    dataset = tf.data.Dataset.from_tensor_slices((X, Y)).batch(4)
    history = _model().fit(dataset, steps_per_epoch=2, epochs=4, verbose=0)
    assert history.epoch == [0, 1] and "ran out after 1 of 2 batches" in caplog.text
    assert _model().evaluate(dataset, steps=4, verbose=0) == pytest.approx(_model().evaluate(X, Y, verbose=0))
    assert "ran out after 3 of 4 batches" in caplog.text


def test_a_changed_trainable_waits_for_compile(caplog):
    model = _model()
    model.layers[0].trainable = False
    before = model.get_weights()
    model.train_on_batch(X, Y)
    assert "Discrepancy" in caplog.text and (model.get_weights()[0] != before[0]).any()
    model.compile("sgd", "mse")
    before = model.get_weights()
    model.train_on_batch(X, Y)
    assert (model.get_weights()[0] == before[0]).all()


def test_overrides_of_gradients_hold_within_fit():
    changed, plain = _model(), _model()
    with tf.overriding({"MatMul": lambda op, dy, default: [g * 0.0 for g in default()]}):
        changed.train_on_batch(X, Y)
    plain.train_on_batch(X, Y)
    (w, b), (plain_w, plain_b) = changed.get_weights(), plain.get_weights()
    assert (w == 1.0).all() and (plain_w != 1.0).any() and (b == plain_b).all()


@pytest.mark.parametrize("call, says", [
    (lambda m: m.fit(X), "No data for the targets"),
    (lambda m: m.fit(X[:, :2], Y), r"expected dense_input to have shape \(3,\) but got array with shape \(2,\)"),
    (lambda m: m.fit(X, Y[:, :1]), r"checking target: expected dense to have shape \(2,\)"),
    (lambda m: m.fit(X, Y[:5]), "Found 12 input samples and 5 samples of target"),
    (lambda m: m.fit({"x": X}, Y), "No data provided for 'dense_input'"),
    (lambda m: m.fit(iter([]), verbose=0), "`steps_per_epoch` says how many batches"),
    (lambda m: m.fit(tf.constant(X), tf.constant(Y)), "`steps_per_epoch` says how many runs"),
    (lambda m: m.fit(X, Y, class_weight={0: 1.0}), r"The classes \{1\} are not in it"),
    (lambda m: m.fit(X, Y, validation_split=0.99), "not sufficient to split"),
    (lambda m: m.fit(iter([]), Y), "it gives tuples"),
    (lambda m: m.fit(X, Y, validation_data=3), "2 items"),
    (lambda m: m.compile("sgd"), "no loss to optimize"),
    (lambda m: m.compile("sgd", "mse", metrics="acc"), "Expected a list or dictionary"),
    (lambda m: m.compile("sgd", ["mse", "mae"]), "one entry per model output"),
    (lambda m: m.compile("sgd", "mse", distribute=1), "one process"),
    (lambda m: m.add_metric(tf.constant(1.0)), "a `name` and `aggregation='mean'`"),
    (lambda m: K.Sequential([L.Dense(1, batch_input_shape=(4, 3))]).predict(X, batch_size=3), "is incompatible"),
    (lambda m: C.EarlyStopping() and C.ReduceLROnPlateau(factor=1.0), "factor >= 1.0"),
    (lambda m: K.metrics.AUC(curve="none"), "Invalid curve"),
    (lambda m: K.metrics.Precision(thresholds=3.0), "Threshold values"),
])
def test_refusals(call, says):
    model = _model()
    with pytest.raises((ValueError, TypeError), match=says):
        call(model)
