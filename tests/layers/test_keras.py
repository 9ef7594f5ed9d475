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
    assert kinds == ["InputLayer", "Sequential", "InputLayer", "Add", "Halves", "Add"]
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


def test_inputs_and_outputs_of_a_model_stay(capsys):
    first = K.Sequential([L.Dense(3, input_shape=(2,))])
    a = K.Input([2])
    model = K.Model(a, [L.Dense(4)(a), first(a)])
    before = model.input, model.output, first.input, first.output
    model(tf.ones([5, 2]))
    assert all(x is y for x, y in zip(before, (model.input, model.output, first.input, first.output)))
    assert K.Model(first.input, L.Dense(1)(first.output)).output_shape.as_list() == [None, 1]
    assert model.output_shape[0].as_list() == [None, 4]
    model.summary()
    assert "(None, 4)" in capsys.readouterr().out


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


@pytest.mark.parametrize("layer", [
    lambda **rates: L.LSTM(3, return_sequences=True, **rates), lambda **rates: L.GRU(3, reset_after=True, **rates),
    lambda **rates: L.SimpleRNN(3, unroll=True, **rates), lambda **rates: L.RNN([L.LSTMCell(3), L.GRUCell(2, **rates)])])
def test_recurrent_dropout_is_for_training_and_draws_once_a_call(layer):
    tf.set_random_seed(4)
    steps = tf.tile(tf.random_normal([1, 1, 4]), [64, 5, 1])
    made = layer(dropout=0.5, recurrent_dropout=0.3)
    still, trained = made(steps), made(steps, training=True) if made._in_phases else made(steps)
    phase = {K.backend.learning_phase(): True}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        rows = session.run(still)
        assert np.abs(rows - rows[:1]).max() < 1e-6
        again = session.run(trained, phase)
        assert np.abs(again - again[:1]).max() > 1e-3


def test_one_mask_of_dropout_holds_for_all_steps():
    layer = L.SimpleRNN(2, dropout=0.5, use_bias=False, activation=None, kernel_initializer="ones",
                        recurrent_initializer="zeros", return_sequences=True)
    y = layer(tf.ones([50, 6, 1]), training=True)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        rows = session.run(y)
    assert set(rows.ravel().tolist()) == {0.0, 2.0}
    assert (rows == rows[:, :1]).all()


def test_bad_recurrent_layers_are_refused():
    with pytest.raises(ValueError, match="`call` method"):
        L.RNN(3)
    with pytest.raises(ValueError, match="state_size"):
        L.RNN(L.Dense(3))
    with pytest.raises(ValueError, match="merge mode"):
        L.Bidirectional(L.LSTM(2), merge_mode="max")
    with pytest.raises(ValueError, match="fixed one"):
        L.LSTM(2, stateful=True)(tf.placeholder(tf.float32, [None, 3, 2]))
    with pytest.raises(ValueError, match="known number of time steps"):
        L.LSTM(2, unroll=True)(tf.placeholder(tf.float32, [1, None, 2]))
    with pytest.raises(AttributeError, match="must be stateful"):
        L.LSTM(2).reset_states()
    with pytest.raises(ValueError, match="channels_last"):
        L.ConvLSTM2D(2, 3, data_format="channels_first")


def test_keras_makes_a_session_and_gives_new_variables_their_first_values():
    try:
        v = tf.Variable([1.0, 2.0])
        assert K.backend.get_value(v).tolist() == [1.0, 2.0]
        K.backend.set_value(v, [3.0, 4.0])
        w = tf.Variable(5.0)
        assert K.backend.batch_get_value([v, w])[0].tolist() == [3.0, 4.0]
        f = K.backend.function([], [v * w])
        assert f([])[0].tolist() == [15.0, 20.0]
        with pytest.raises(ValueError, match="takes 0 inputs, got 1"):
            f([1.0])
    finally:
        K.backend.set_session(None)


def test_settings_of_optimizers_are_checked():
    with pytest.raises(ValueError, match="momentum"):
        K.optimizers.SGD(momentum=2.0)
    with pytest.raises(ValueError, match="clipnorm >= 0"):
        K.optimizers.Adam(clipnorm=-1.0)
    with pytest.raises(ValueError, match="`None` for gradient"):
        K.optimizers.Adam().get_updates(tf.constant(1.0), [tf.Variable(1.0)])
    with pytest.raises(ValueError, match="there are adadelta"):
        K.optimizers.get("none")
    with pytest.raises(AttributeError, match="no attribute 'rho'"):
        print(K.optimizers.SGD().rho)
    assert isinstance(K.optimizers.get("Adam"), K.optimizers.Adam)


def test_a_bar_shows_steps_and_means(capsys, monkeypatch):
    monkeypatch.setattr("time.time", lambda: 1e9)
    bar = K.utils.Progbar(4, width=8, interval=0.0, stateful_metrics=["rate"])
    bar.add(1, [("loss", 2.0), ("rate", 0.5)])
    bar.update(4, [("loss", 1.0), ("rate", 0.1)])
    assert capsys.readouterr().out == ("\r1/4 [==......] - 0s - loss: 2.0000 - rate: 0.5000"
                                       "\r4/4 [========] - 0s - loss: 1.2500 - rate: 0.1000\n")


def test_a_summary_lists_layers_and_parameters(capsys):
    model = K.Sequential([L.Dense(3, input_shape=(4,), name="first"), L.BatchNormalization(name="norm")], name="net")
    model.summary()
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == 'Model: "net"' and lines[2].split() == ["Layer", "(type)", "Output", "Shape", "Param", "#"]
    assert lines[4].split() == ["first", "(Dense)", "(None,", "3)", "15"]
    assert lines[6].split() == ["norm", "(BatchNormalization)", "(None,", "3)", "12"]
    assert lines[8:11] == ["Total params: 27", "Trainable params: 21", "Non-trainable params: 6"]
    kept = []
    a = K.Input([4], name="a")
    K.Model(a, L.Add()([a, a])).summary(60, print_fn=kept.append)
    assert kept[4].startswith("a (InputLayer)") and {len(line) for line in kept[1:5]} == {60}
    with pytest.raises(ValueError, match="has not yet been built"):
        K.Sequential([L.Dense(2)]).summary()
