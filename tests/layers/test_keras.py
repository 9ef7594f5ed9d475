"""Models of Keras's layers: what rows of `tests/programs/behaviour` cannot say."""

import numpy as np
import pytest

import regrad as tf

L, K = tf.keras.layers, tf.keras


def test_a_model_of_several_inputs_outputs_and_models_is_called_anew():
    class Halves(L.Layer):
        def call(self, x):
            return tf.split(x, 2, axis=1)

    a, b = K.Input([4]), K.Input([4])
    inner = K.Sequential([L.Dense(4, kernel_initializer="ones", input_shape=(4,)), L.Lambda(lambda t: t)])
    left, right = Halves()(L.Add()([inner(a), b]))
    model = K.Model([a, b], {"left": left, "sum": L.Add()([right, left])})
    kinds = [type(layer).__name__ for layer in model.layers]
    assert kinds == ["InputLayer", "InputLayer", "Sequential", "Add", "Halves", "Add"]
    x = np.arange(8.0).reshape(2, 4)
    y = model([tf.constant(x, tf.float32), tf.ones([2, 4])])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        got = session.run(y)
    want = np.repeat(x.sum(axis=1, keepdims=True) + 1, 2, axis=1)
    np.testing.assert_allclose(got["left"], want)
    np.testing.assert_allclose(got["sum"], 2 * want)
    assert [v.name for v in model.trainable_weights] == [v.name for v in inner.weights] and len(inner.weights) == 2
    assert model.get_layer(inner.name) is inner and model.get_layer(index=0).output is a


def test_what_is_in_no_layer_is_refused():
    a, b = K.Input([4]), K.Input([4])
    with pytest.raises(ValueError, match="no layer made: put the operation into a tf.keras.layers.Lambda"):
        K.Model(a, L.Dense(2)(a * 2.0))
    with pytest.raises(ValueError, match="is no input of it"):
        K.Model(a, L.Add()([a, b]))
    with pytest.raises(ValueError, match="takes 1 inputs, got 2"):
        K.Model(a, L.Dense(2)(a))([a, b])
    with pytest.raises(ValueError, match="No such layer: none"):
        K.Model(a, L.Dense(2)(a)).get_layer("none")
    with pytest.raises(NotImplementedError, match=r"define call\(\)"):
        K.Model()(a)
    with pytest.raises(TypeError, match="must be an instance of class Layer"):
        K.Sequential([tf.nn.relu])


def test_the_learning_phase_is_fed_or_set():
    layer, x = L.Dropout(0.5, seed=3), tf.ones([100])
    y = layer(x)
    with tf.Session() as session:
        assert session.run(y).tolist() == [1.0] * 100
        assert set(session.run(y, {K.backend.learning_phase(): True}).tolist()) == {0.0, 2.0}
        K.backend.set_learning_phase(1)
        assert set(session.run(layer(x)).tolist()) == {0.0, 2.0}
        assert session.run(layer(x, training=False)).tolist() == [1.0] * 100
    with pytest.raises(ValueError, match="0 or 1"):
        K.backend.set_learning_phase(2)


def test_a_sequential_grows_and_shrinks():
    model = K.Sequential(name="m")
    model.add(L.Dense(3, input_shape=(2,)))
    model.add(L.Dense(4))
    assert model.outputs[0].shape.as_list() == [None, 4] and len(model.weights) == 4
    model.pop()
    assert model.outputs[0].shape.as_list() == [None, 3] and len(model.weights) == 2
    model.pop()
    assert model.outputs == model.inputs
    with pytest.raises(TypeError, match="no layers"):
        model.pop()


@pytest.mark.parametrize("make, want", [
    (lambda c: c.MaxNorm(1.0), [[0.6, 0.5], [0.8, 0.0]]), (lambda c: c.NonNeg(), [[3.0, 0.5], [4.0, 0.0]]),
    (lambda c: c.UnitNorm(), [[0.6, 1.0], [0.8, 0.0]]), (lambda c: c.get("unit_norm"), [[0.6, 1.0], [0.8, 0.0]]),
    (lambda c: c.MinMaxNorm(1.0, 2.0, rate=0.5), [[2.1, 0.75], [2.8, 0.0]])])
def test_constraints(make, want):
    w = tf.constant([[3.0, 0.5], [4.0, 0.0]])
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(make(K.constraints)(w)), want, rtol=1e-5)
    with pytest.raises(ValueError, match="constraint"):
        K.constraints.get("none")


def test_activations_by_name():
    x = tf.constant([-3.0, 1.0])
    with tf.Session() as session:
        for name in K.activations.__all__:
            if name != "get":
                ours, by_name = session.run([getattr(K.activations, name)(x), K.activations.get(name)(x)])
                assert ours.tolist() == by_name.tolist()
    assert K.activations.get(None) is K.activations.linear
