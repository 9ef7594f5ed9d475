"""Variables of Keras's models in files: those that TensorFlow wrote are read, and what is written here, read again."""
import pathlib

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
