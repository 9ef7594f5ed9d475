"""SavedModels: those TensorFlow wrote are loaded and differentiated, those written here are loaded again.

With SAVED_MODELS in the environment the models stay in that folder, for `record.py --read` to load them by TensorFlow.
"""
import os
import pathlib

import numpy as np
import pytest

import regrad as tf
from regrad.saved_model.loader import SavedModelLoader
from tests.saved.models import MODELS, draw, gradients

with np.load(pathlib.Path(__file__).with_name("models.npz")) as _arrays:
    RECORDED = dict(_arrays)


def recorded(name, kind):
    start = f"{name}/{kind}/"
    return {key[len(start):]: value for key, value in RECORDED.items() if key.startswith(start)}


def run(sess, meta, inputs):
    """Returns the outputs of a loaded model, the gradients by its inputs and variables."""
    signature = meta.signature_def["serving_default"]
    assert tf.saved_model.is_valid_signature(signature)
    tensor = tf.saved_model.get_tensor_from_tensor_info
    given = {tensor(signature.inputs[key]): value for key, (_, value) in inputs.items()}
    outputs = {key: tensor(info) for key, info in signature.outputs.items()}
    slopes = gradients(tf, list(given), outputs.values())
    return sess.run([outputs, slopes], given)


def check(name, outputs, slopes):
    for got, want in ((outputs, recorded(name, "output")), (slopes, recorded(name, "gradient"))):
        assert got.keys() == want.keys()
        for key, value in want.items():
            if value.dtype.kind == "S":
                assert got[key].tolist() == value.tolist()
            else:
                assert got[key].dtype == value.dtype
                np.testing.assert_allclose(got[key], value, 1e-4, 1e-5, err_msg=f"{name} {key}")


def inputs_of(name):
    with tf.Graph().as_default():
        return MODELS[name](tf)[0]


@pytest.mark.parametrize("name", MODELS)
def test_tensorflows_model(name, tmp_path):
    for path, data in recorded(name, "file").items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        data.tofile(tmp_path / path)

    with tf.Session(graph=tf.Graph()) as sess:
        meta = tf.saved_model.loader.load(sess, [tf.saved_model.tag_constants.SERVING], str(tmp_path / "m"))
        with sess.graph.as_default():
            check(name, *run(sess, meta, inputs_of(name)))


def of_objects(folder):
    """Writes the model of TensorFlow's version 2 into a folder; returns what else was recorded."""
    with np.load(pathlib.Path(__file__).with_name("objects.npz")) as arrays:
        want = dict(arrays)
    for key in [key for key in want if key.startswith("file/")]:
        path = folder / key.removeprefix("file/")
        path.parent.mkdir(parents=True, exist_ok=True)
        want.pop(key).tofile(path)
    return want


def test_variables_saved_by_objects_are_restored_by_their_names(tmp_path):
    of_objects(tmp_path)
    prefix = str(tmp_path / "m" / "variables" / "variables")
    w, table = tf.get_variable("w", [3, 2]), tf.get_variable("table", [4, 2])
    with tf.Session() as sess:
        tf.train.Saver().restore(sess, prefix)
        np.testing.assert_array_equal(sess.run(w), draw(3, 2))
        np.testing.assert_array_equal(sess.run(table), draw(4, 2, seed=1))
        tf.get_variable("u", [2])
        with pytest.raises(tf.errors.NotFoundError, match="Key u not found"):
            tf.train.Saver().restore(sess, prefix)


def test_a_model_of_tensorflow_2(tmp_path):
    want = of_objects(tmp_path)
    with tf.Session(graph=tf.Graph()) as sess:
        signature = tf.saved_model.load(sess, ["serve"], str(tmp_path / "m")).signature_def["serving_default"]
        x, ids, y = (sess.graph.get_tensor_by_name(place[key].name) for place, key in (
            (signature.inputs, "x"), (signature.inputs, "ids"), (signature.outputs, "y")))
        with sess.graph.as_default():
            slopes = dict(zip(("x", "w", "table"), tf.gradients(y, [x, *(sess.graph.get_tensor_by_name(f"{n}:0")
                                                                         for n in ("w", "table"))])))
            got = sess.run({"y": y, **{f"gradient/{n}": tf.convert_to_tensor(s) for n, s in slopes.items()}},
                           {x: want.pop("x"), ids: want.pop("ids")})
    assert got.keys() == want.keys()
    for key, value in want.items():
        np.testing.assert_allclose(got[key], value, 1e-5, 1e-6, err_msg=key)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_our_own(name, tmp_path):
    folder = os.path.join(os.environ.get("SAVED_MODELS", str(tmp_path)), name)
    with tf.Graph().as_default(), tf.Session() as sess:
        inputs, outputs = MODELS[name](tf)
        sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
        tf.saved_model.simple_save(sess, folder, {key: tensor for key, (tensor, _) in inputs.items()}, outputs)

    with tf.Session(graph=tf.Graph()) as sess:
        meta = tf.saved_model.loader.load(sess, ["serve"], folder)
        with sess.graph.as_default():
            check(name, *run(sess, meta, inputs))


def test_averages_of_tensorflows_begin_with_their_variables(tmp_path):
    for path, data in recorded("averaged", "file").items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        data.tofile(tmp_path / path)

    with tf.Session(graph=tf.Graph()) as sess:
        SavedModelLoader(str(tmp_path / "m")).load_graph(sess.graph, ["serve"])
        with sess.graph.as_default():
            w, average = tf.global_variables()
            sess.run(tf.global_variables_initializer())
            np.testing.assert_array_equal(*sess.run([w, average]))
            sess.run(w.assign(2.0 * w))
            sess.run(average.initializer)
            np.testing.assert_array_equal(*sess.run([w, average]))
