"""Variables of Keras's models in files: those that TensorFlow wrote are read, and what is written here, read again."""
import pathlib
import sys

import numpy as np
import pytest

import regrad as tf
from tests.saved.keras_models import build, numbers

RECORDED = dict(np.load(pathlib.Path(__file__).with_name("keras.npz")))


@pytest.fixture
def folder(tmp_path):
    for name, data in RECORDED.items():
        (tmp_path / name).write_bytes(data.tobytes())
    return tmp_path


def _same(model):
    for got, want in zip(model.get_weights(), numbers(model), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", ["sequential", "functional", "own"])
def test_checkpoints(folder, name):
    model = build(tf)[name]
    model.load_weights(str(folder / name)).assert_consumed()
    _same(model)
    model.save_weights(folder / "again")
    model.set_weights([0 * w for w in model.get_weights()])
    with pytest.raises(FileExistsError, match="overwrite"):
        model.save_weights(str(folder / "again"), overwrite=False)
    model.load_weights(tf.train.latest_checkpoint(str(folder))).assert_consumed()
    _same(model)


@pytest.mark.parametrize("name", ["sequential", "functional", "own"])
def test_hdf5(folder, name):
    pytest.importorskip("h5py")
    model = build(tf)[name]
    model.load_weights(str(folder / f"{name}.h5"))
    _same(model)
    model.save_weights(str(folder / "again.hdf5"))
    model.set_weights([0 * w for w in model.get_weights()])
    model.load_weights(str(folder / "again.hdf5"), by_name=True)
    _same(model)


def apart(y_true, y_pred):
    return tf.reduce_mean(tf.abs(y_true - y_pred), axis=-1)


@pytest.mark.parametrize("loss", ["mse", apart, tf.keras.losses.Huber(0.5)])
def test_whole_models(tmp_path, loss):
    pytest.importorskip("h5py")
    layers, x, path = tf.keras.layers, np.random.RandomState(0).randn(8, 3), str(tmp_path / "model.h5")
    model = tf.keras.Sequential([layers.Dense(4, "tanh", input_shape=(3,)), layers.BatchNormalization(), layers.Dense(1)])
    model.compile(tf.keras.optimizers.Adam(0.1, decay=0.1), loss, metrics=["mae"])
    model.fit(x, x[:, :1], verbose=0)
    model.save(path)
    with pytest.raises(FileExistsError, match="overwrite"):
        model.save(path, overwrite=False)
    again = tf.keras.models.load_model(path, {"apart": apart})
    histories = [m.fit(x, x[:, :1], epochs=2, verbose=0, shuffle=False).history for m in (model, again)]
    for name, values in histories[0].items():
        np.testing.assert_allclose(values, histories[1][name], rtol=1e-5, err_msg=name)
    with pytest.raises(RuntimeError, match="compile"):
        tf.keras.models.load_model(path, {"apart": apart}, compile=False).evaluate(x, x[:, :1])
    model.save_weights(path)
    with pytest.raises(ValueError, match="values of variables only"):
        tf.keras.models.load_model(path)


def test_without_h5py(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    model = tf.keras.Sequential([tf.keras.layers.Dense(5, input_shape=(3,))])
    path = str(folder / "own.h5")
    for call in (lambda: model.save(path), lambda: model.save_weights(path), lambda: model.load_weights(path),
                 lambda: tf.keras.models.load_model(path)):
        with pytest.raises(ImportError, match="pip install h5py"):
            call()
    with pytest.raises(NotImplementedError, match="simple_save"):
        model.save("m", save_format="tf")
    with pytest.raises(NotImplementedError, match="loader.load"):
        tf.keras.models.load_model(str(folder))


def test_variables_that_come_later(folder):
    model = type(build(tf)["own"])()
    model.load_weights(str(folder / "own"))
    model.predict(np.ones((1, 3)))
    _same(model)


def test_checkpoints_by_names(tmp_path):
    model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
    with tf.Session() as session:
        model.set_weights(numbers(model))
        path = tf.train.Saver().save(session, str(tmp_path / "by_names"))
        model.set_weights([0 * w for w in model.get_weights()])
        model.load_weights(path).assert_consumed()
        _same(model)


def test_refusals(folder):
    model = tf.keras.Sequential([tf.keras.layers.Dense(5, input_shape=(3,))])
    with pytest.raises(tf.errors.NotFoundError, match="neither a checkpoint"):
        model.load_weights(str(folder / "none"))
    with pytest.raises(ValueError, match=r"of shape \(4,\), into dense/bias:0, of shape \(5,\)"):
        model.load_weights(str(folder / "sequential"))
    with pytest.raises(NotImplementedError, match="topology"):
        model.load_weights(str(folder / "sequential"), by_name=True)
    with pytest.raises(ValueError, match="no variables yet"):
        tf.keras.Sequential([tf.keras.layers.Dense(5)]).save_weights(str(folder / "none"))
    wider = tf.keras.Sequential([tf.keras.layers.Dense(4, input_shape=(3,)), tf.keras.layers.PReLU()])
    status = wider.load_weights(str(folder / "sequential"))
    with pytest.raises(AssertionError, match="no values for .'p_re_lu"):
        status.assert_existing_objects_matched()
