"""Feature columns do what real TensorFlow recorded."""
import pytest

import regrad as tf
from tests.feature_column import recorded
from tests.recorded import compare, expected

EXPECTED = expected("feature_column")
TOLERANCE = {"rtol": 1e-5, "atol": 1e-6}


@pytest.mark.parametrize("name", recorded.DENSE)
def test_input_layer(name):
    compare(recorded.layer(tf, name), EXPECTED, **TOLERANCE)


@pytest.mark.parametrize("name, combiner", [
    *((name, "sum") for name in recorded.CATEGORICAL), ("weighted", "mean"), ("hashed", "sqrtn"), ("bucketized", "sum"),
    ("image", "sum")])
def test_linear_model(name, combiner):
    compare(recorded.linear(tf, name, combiner), EXPECTED, **TOLERANCE)


def test_together():
    compare(recorded.together(tf), EXPECTED, **TOLERANCE)


def test_refusals():
    assert recorded.refusals(tf) == EXPECTED["refusals"]


def test_a_category_outside():
    column = tf.feature_column.indicator_column(tf.feature_column.categorical_column_with_identity("i", 2))
    layer = tf.feature_column.input_layer({"i": tf.placeholder(tf.int64, [None, 1], name="i")}, column)
    with tf.Session() as sess:
        assert sess.run(layer, {"i:0": [[1], [-1]]}).tolist() == [[0, 1], [0, 0]]  # -1 says that there is none
        with pytest.raises(tf.errors.InvalidArgumentError):
            sess.run(layer, {"i:0": [[2]]})


def test_features_of_unknown_shape():
    x = tf.placeholder(tf.float32)
    layer = tf.feature_column.input_layer({"x": x}, tf.feature_column.numeric_column("x"))
    with tf.Session() as sess:
        assert sess.run(layer, {x: [1.0, 2.0]}).tolist() == sess.run(layer, {x: [[1.0], [2.0]]}).tolist() == [[1.0], [2.0]]


def test_a_table_from_a_checkpoint(tmp_path):
    ids = tf.feature_column.categorical_column_with_identity("i", 2)
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.get_variable("v", initializer=[[1.0], [2.0]])
        sess.run(v.initializer)
        path = tf.train.Saver().save(sess, str(tmp_path / "c"))
    layer = tf.feature_column.input_layer({"i": [[1], [0]]}, tf.feature_column.embedding_column(
        ids, 1, ckpt_to_load_from=path, tensor_name_in_ckpt="v"))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(layer).tolist() == [[2.0], [1.0]]
