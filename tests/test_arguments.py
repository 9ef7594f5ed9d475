"""Misspelt keywords: whatever takes **kwargs refuses those that nothing takes, and names the nearest that something does."""

import inspect
import re

import numpy as np
import pytest

import regrad as tf

K = tf.keras
NAMESPACES = ["keras", "keras.backend", "keras.callbacks", "keras.layers", "keras.losses", "keras.metrics", "keras.models",
              "keras.optimizers", "layers", "losses", "nn.rnn_cell", "train", "contrib.layers", "contrib.metrics",
              "contrib.rnn"]
OPEN = {  # whose keywords are whatever a program names
    "RegradWarning": "an exception",
    "NanLossDuringTrainingError": "an exception",
}
ARGUMENTS = {  # of those that cannot do without
    "GRUCell LSTMCell SimpleRNNCell GRU LSTM SimpleRNN MinimalRNNCell CFNCell": lambda x: {"units": 2},
    "ConvLSTM2D Conv1D Conv2D Conv3D Conv2DTranspose Conv3DTranspose SeparableConv1D SeparableConv2D Convolution1D "
    "Convolution2D "
    "Convolution3D Convolution2DTranspose Convolution3DTranspose SeparableConvolution1D SeparableConvolution2D Deconv2D "
    "Deconv3D Deconvolution2D Deconvolution3D":
        lambda x: {"filters": 2, "kernel_size": 2},
    "Conv1DLSTMCell": lambda x: {"input_shape": [2, 1], "output_channels": 1, "kernel_shape": [1]},
    "Conv2DLSTMCell": lambda x: {"input_shape": [2, 2, 1], "output_channels": 1, "kernel_shape": [1, 1]},
    "Conv3DLSTMCell": lambda x: {"input_shape": [2, 2, 2, 1], "output_channels": 1, "kernel_shape": [1, 1, 1]},
    "DepthwiseConv2D": lambda x: {"kernel_size": 2},
    "Dense": lambda x: {"units": 2},
    "Embedding": lambda x: {"input_dim": 2, "output_dim": 2},
    "Activation": lambda x: {"activation": "relu"},
    "AlphaDropout GaussianDropout SpatialDropout1D SpatialDropout2D SpatialDropout3D": lambda x: {"rate": 0.5},
    "GaussianNoise": lambda x: {"stddev": 1.0},
    "AveragePooling1D AveragePooling2D AveragePooling3D MaxPooling1D MaxPooling2D MaxPooling3D MaxPool1D MaxPool2D MaxPool3D "
    "AvgPool1D AvgPool2D AvgPool3D": lambda x: {"pool_size": 2, "strides": 2},
    "Bidirectional": lambda x: {"layer": K.layers.GRU(2)},
    "TimeDistributed Wrapper": lambda x: {"layer": K.layers.Dense(2)},
    "RNN": lambda x: {"cell": K.layers.GRUCell(2)},
    "StackedRNNCells": lambda x: {"cells": [K.layers.GRUCell(2)]},
    "Dot": lambda x: {"axes": 1},
    "Lambda": lambda x: {"function": tf.identity},
    "Input": lambda x: {"shape": [2]},
    "Permute": lambda x: {"dims": (1,)},
    "RepeatVector": lambda x: {"n": 2},
    "Reshape": lambda x: {"target_shape": (3,)},
    "add average concatenate maximum minimum multiply subtract": lambda x: {"inputs": [x, x]},
    "dot": lambda x: {"inputs": [x, x], "axes": 1},
    "Optimizer": lambda x: {"name": "mine"},
    "Variable": lambda x: {"initial_value": 1.0},
    "MeanMetricWrapper": lambda x: {"fn": K.losses.mse},
    "Function function": lambda x: {"inputs": [x], "outputs": [x]},
    "import_meta_graph": lambda x: {"meta_graph_or_file": tf.train.export_meta_graph()},
    "BasicLSTMCell BasicRNNCell LSTMCell GRUCell LSTMBlockCell NASCell SRUCell": lambda x: {"num_units": 2},
    "DeviceWrapper": lambda x: {"cell": tf.nn.rnn_cell.GRUCell(2), "device": "/cpu:0"},
    "DropoutWrapper ResidualWrapper": lambda x: {"cell": tf.nn.rnn_cell.GRUCell(2)},
    "elu linear relu6": lambda x: {"inputs": x, "num_outputs": 2},
    "repeat": lambda x: {"inputs": x, "repetitions": 1, "layer": tf.contrib.layers.fully_connected, "num_outputs": 2},
    "stack": lambda x: {"inputs": x, "layer": tf.contrib.layers.fully_connected, "stack_args": [2]},
    "streaming_mean_cosine_distance": lambda x: {"predictions": x, "labels": x, "dim": 1},
    "streaming_mean_iou": lambda x: {"predictions": x, "labels": x, "num_classes": 2},
    "streaming_mean_relative_error": lambda x: {"predictions": x, "labels": x, "normalizer": x},
    "streaming_precision_at_thresholds streaming_recall_at_thresholds": lambda x: {
        "predictions": x, "labels": x, "thresholds": [0.5]},
    "streaming_sensitivity_at_specificity": lambda x: {"predictions": x, "labels": x, "specificity": 0.5},
    "streaming_specificity_at_sensitivity": lambda x: {"predictions": x, "labels": x, "sensitivity": 0.5},
}


def _open_ended():
    """Returns [(namespace, name)] of all public callables there that take keywords they do not name."""
    found = []
    for namespace in NAMESPACES:
        module = tf
        for part in namespace.split("."):
            module = getattr(module, part)
        for name in dir(module):
            value = getattr(module, name)
            if name[0] == "_" or not callable(value) or name in OPEN:
                continue
            if any(p.kind is p.VAR_KEYWORD for p in inspect.signature(value).parameters.values()):
                found.append((module, name))
    return found


@pytest.mark.parametrize("module, name", [pytest.param(m, n, id=f"{m.__name__.removeprefix('regrad.')}.{n}")
                                          for m, n in _open_ended()])
def test_an_unknown_keyword_is_refused_and_named(module, name):
    function, x = getattr(module, name), tf.placeholder(tf.float32, [2, 3])
    required = [n for n, p in inspect.signature(function).parameters.items()
                if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    rows = [make(x) for names, make in ARGUMENTS.items() if name in names.split()]
    given = next((row for row in rows if set(required) <= set(row)),
                 {"predictions": x, "labels": x} if name.startswith("streaming_") else {})
    function(**given)  # so that nothing else is refused below
    with pytest.raises((TypeError, ValueError), match="no_such_word"):
        function(**given, no_such_word=1)


@pytest.mark.parametrize("call, says", [
    (lambda: K.optimizers.SGD(learning_rat=5.0), "SGD() got an unexpected keyword argument 'learning_rat'; did you mean "
     "'learning_rate'"),
    (lambda: K.optimizers.Adam(beta1=0.5), "'beta1'; did you mean 'beta_1'"),
    (lambda: K.optimizers.Adam(clip_norm=0.5), "'clip_norm'; did you mean 'clipnorm'"),
    (lambda: K.layers.Dense(3, activaton="relu"), "Dense() got an unexpected keyword argument 'activaton'; did you mean "
     "'activation'"),
    (lambda: K.layers.LSTM(3, return_sequence=True), "LSTM() got an unexpected keyword argument 'return_sequence'; did you "
     "mean 'return_sequences'"),
    (lambda: K.layers.Dense(3, input_shap=(2,)), "did you mean 'input_shape'"),
    (lambda: tf.layers.Dense(3, kernel_initialiser=None), "did you mean 'kernel_initializer'"),
    (lambda: tf.layers.dense(tf.zeros([1, 2]), 3, activaton=None), "dense() got an unexpected keyword argument 'activaton'; "
     "did you mean 'activation'"),
    (lambda: tf.layers.dense(tf.zeros([1, 2])), "dense() missing a required argument: 'units'"),
    (lambda: K.losses.Huber(deltas=1.0), "Huber() got an unexpected keyword argument 'deltas'; did you mean 'delta'"),
    (lambda: K.metrics.BinaryAccuracy(treshold=1.0), "did you mean 'threshold'"),
    (lambda: K.metrics.MeanMetricWrapper(K.losses.huber_loss, deltas=1.0), "huber_loss() got an unexpected keyword argument "
     "'deltas'; did you mean 'delta'"),
    (lambda: K.callbacks.LambdaCallback(on_epoch_ends=print), "did you mean 'on_epoch_end'"),
    (lambda: K.callbacks.ReduceLROnPlateau(patence=3), "did you mean 'patience'"),
    (lambda: K.Sequential().compile("sgd", "mse", metric=["acc"]), "compile() got an unexpected keyword argument 'metric'; "
     "did you mean 'metrics'"),
    (lambda: K.Sequential().fit(epoch=2), "fit() got an unexpected keyword argument 'epoch'; did you mean 'epochs'"),
    (lambda: tf.nn.rnn_cell.LSTMCell(2, forget_bais=1.0), "did you mean 'forget_bias'"),
    (lambda: tf.train.export_meta_graph(as_txt=True), "did you mean 'as_text'"),
])
def test_the_nearest_keyword_is_named(call, says):
    with pytest.raises(TypeError, match=re.escape(says)):
        call()


def test_keywords_of_the_base_that_are_handed_on_hold():
    assert K.optimizers.SGD(lr=0.5, decay=0.1, clipnorm=1.0).get_config()["learning_rate"] == 0.5
    calls = []
    K.callbacks.LambdaCallback(on_train_batch_begin=lambda batch, logs: calls.append(batch)).on_train_batch_begin(3, {})
    assert calls == [3]


def test_a_refused_compile_leaves_the_model_as_it_was(tmp_path):
    pytest.importorskip("h5py")
    x, y = np.ones([4, 3], np.float32), np.zeros([4, 2], np.float32)
    model = K.Sequential([K.layers.Dense(2, input_shape=(3,))])

    def refused():
        for bad in (lambda: model.compile("sgd", "no such loss"),
                    lambda: model.compile("sgd", "mse", metrics=["no such metric"]),
                    lambda: model.compile("no such optimizer", "mse"), lambda: model.compile("adam"),
                    lambda: model.compile("adam", ["mse", "mae"]), lambda: model.compile("adam", "mse", metric=["acc"]),
                    lambda: model.compile("adam", lambda a, b: tf.reduce_sum(a) + [1, 2, 3, "four"])):
            with pytest.raises((TypeError, ValueError)):
                bad()

    refused()
    with pytest.raises(RuntimeError, match="must compile"):
        model.fit(x, y)
    model.save(tmp_path / "plain.h5")
    assert K.models.load_model(tmp_path / "plain.h5", compile=False).predict(x).shape == (4, 2)
    model.compile(K.optimizers.SGD(0.5), "mse", metrics=["mae"])
    before = model.evaluate(x, y, verbose=0)
    refused()
    assert model.evaluate(x, y, verbose=0) == before and model.metrics_names == ["loss", "mean_absolute_error"]
    model.save(tmp_path / "trained.h5")
    again = K.models.load_model(tmp_path / "trained.h5")
    assert again.evaluate(x, y, verbose=0) == before and again.optimizer.get_config()["learning_rate"] == 0.5


def test_names_are_checked_before_a_model_has_inputs():
    model = K.Sequential([K.layers.Dense(2)])
    with pytest.raises(ValueError, match="no such loss"):
        model.compile("sgd", "no such loss")
    with pytest.raises(RuntimeError, match="must compile"):
        model.fit(np.ones([4, 3]), np.ones([4, 2]))
