"""Descriptions of Keras's layers and models, and what is made of them again."""
import inspect
import json

import numpy as np
import pytest

import regrad as tf

K, L = tf.keras, tf.keras.layers
# What classes take beside their defaults.
ARGUMENTS = {
    "Activation": ["relu"], "ActivityRegularization": [0.1, 0.2], "AlphaDropout": [0.2], "Bidirectional": [lambda: L.GRU(2)],
    "Conv1D": [2, 3], "Conv2D": [2, 3], "Conv3D": [2, 3], "Conv2DTranspose": [2, 3], "Conv3DTranspose": [2, 3],
    "ConvLSTM2D": [2, 3], "Dense": [3, "hard_sigmoid"], "DepthwiseConv2D": [3], "Dot": [1], "Dropout": [0.3],
    "Embedding": [5, 2], "GRU": [2], "GRUCell": [2], "GaussianDropout": [0.2], "GaussianNoise": [0.2], "LSTM": [2],
    "LSTMCell": [2], "Lambda": [tf.tanh], "Permute": [(2, 1)], "RNN": [lambda: L.LSTMCell(3)], "RepeatVector": [4],
    "Reshape": [(2, -1)], "SeparableConv1D": [2, 3], "SeparableConv2D": [2, 3], "SimpleRNN": [3], "SimpleRNNCell": [3],
    "SpatialDropout1D": [0.2], "SpatialDropout2D": [0.2], "SpatialDropout3D": [0.2],
    "StackedRNNCells": [lambda: [L.LSTMCell(2), L.GRUCell(2)]], "TimeDistributed": [lambda: L.Dense(2)], "InputLayer": [(3,)],
}
CLASSES = sorted({c.__name__: c for c in map(L.__dict__.get, L.__all__) if inspect.isclass(c)}.keys() - {
    "Layer", "Wrapper", "InputSpec"})


@pytest.mark.parametrize("name", CLASSES)
def test_layers(name):
    layer = getattr(L, name)(*[a() if getattr(a, "__name__", "") == "<lambda>" else a for a in ARGUMENTS.get(name, [])])
    config = layer.get_config()
    again = type(layer).from_config(config)
    assert again.get_config() == config and again.name == layer.name
    if name != "Lambda":
        assert L.deserialize(json.loads(json.dumps(L.serialize(layer)))).name == layer.name


def _functional():
    a, b, shared = K.Input([5, 3]), K.Input([2]), L.Dense(1)
    inner = K.Sequential([L.Dense(3, input_shape=(8,), kernel_regularizer="l2", kernel_constraint="max_norm"), L.PReLU()])
    joined = L.Concatenate(axis=1)([L.Bidirectional(L.LSTM(3))(a), L.Dense(2)(b)])
    steps = L.TimeDistributed(L.Dense(2))(L.GRU(2, return_sequences=True)(a))
    return K.Model([a, b], [shared(inner(joined)), shared(inner(joined)), L.RNN([L.LSTMCell(2), L.GRUCell(2)])(steps)])


def _sequential():
    return K.Sequential([L.Conv2D(2, 3, activation="relu", input_shape=(6, 6, 1)), L.MaxPooling2D(), L.ZeroPadding2D((1, 2)),
                         L.BatchNormalization(), L.Flatten(), L.Dense(2, "softmax", kernel_initializer="he_normal")])


@pytest.mark.parametrize("build", [_functional, _sequential])
@pytest.mark.parametrize("way", [lambda m: K.models.model_from_json(m.to_json()), K.models.clone_model,
                                 lambda m: type(m).from_config(m.get_config())], ids=["json", "clone", "config"])
def test_models(build, way):
    model = build()
    again = way(model)
    again.set_weights(model.get_weights())
    x = [np.random.RandomState(0).randn(2, *t.shape.as_list()[1:]) for t in model.inputs]
    for one, other in zip(model.predict(x), again.predict(x), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    assert not set(model.weights) & set(again.weights)
    assert [type(layer) for layer in again.layers] == [type(layer) for layer in model.layers]


class Scaled(L.Layer):
    def __init__(self, factor=1.0, **kwargs):
        super().__init__(**kwargs)
        self.factor = factor

    def call(self, inputs):
        return self.factor * inputs


class Described(Scaled):
    def get_config(self):
        return {**super().get_config(), "factor": self.factor}


def twice(x):
    return 2.0 * x


def test_classes_and_functions_of_the_program():
    a = K.Input([2])
    with K.utils.custom_object_scope({"twice_more": twice, "Described": Described, "twice": twice}):
        model = K.Model(a, L.Activation("twice_more")(L.Lambda(twice)(Described(3.0)(a))))
        again = K.models.model_from_json(model.to_json())
    assert again.predict(np.ones((1, 2))).tolist() == [[12.0, 12.0]]
    assert K.utils.get_custom_objects() == {}
    found = K.models.model_from_json(model.to_json(), {"twice": twice, "Described": Described})
    assert found.predict(np.ones((1, 2))).tolist() == [[12.0, 12.0]]
    with pytest.raises(ValueError, match="Unknown layer: Described"):
        K.models.model_from_json(model.to_json())
    with pytest.raises(NotImplementedError, match="takes factor: layers with arguments"):
        Scaled(2.0).get_config()
    with pytest.raises(TypeError, match="cannot stand in JSON"):
        K.Model(a, L.Lambda(lambda t: t)(a)).to_json()
    with pytest.raises(NotImplementedError, match="only models of layers"):
        type("Own", (K.Model,), {})().get_config()


def test_a_clone_of_given_tensors():
    model = K.Sequential([L.Dense(2, input_shape=(3,))])
    x = tf.ones([4, 3])
    copy = K.models.clone_model(model, input_tensors=x, clone_function=lambda layer: L.Dense(5))
    assert copy.outputs[0].shape.as_list() == [4, 5] and copy.inputs == [x]
