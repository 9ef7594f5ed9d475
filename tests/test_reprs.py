"""Nothing prints as an address: public classes show what they are, and what they were made with."""

import inspect
import types

import numpy as np
import pytest

import regrad as tf

K = tf.keras
NO_INSTANCES = {"AggregationMethod", "UnconnectedGradients", "GraphKeys", "ModeKeys", "ReduceOp", "Reduction", "ResizeMethod",
                "TFRecordCompressionType",  # names of constants
                "DecoupledWeightDecayExtension", "Report"}  # parts of classes


def _public_classes():
    """Returns {class: its public name} of all classes that are reached from `tf` by public names."""
    modules, todo, found = set(), [tf], {}
    while todo:
        module = todo.pop()
        if module.__name__ in modules or not module.__name__.startswith("regrad"):
            continue
        modules.add(module.__name__)
        for name in dir(module):
            value = getattr(module, name)
            if isinstance(value, types.ModuleType):
                todo.append(value)
            elif isinstance(value, type) and value.__module__.startswith("regrad"):
                found.setdefault(value, f"{module.__name__}.{name}")
    return found


def test_every_public_class_has_a_repr():
    classes = _public_classes()
    assert len(classes) > 400
    assert [name for cls, name in classes.items() if cls.__repr__ is object.__repr__ and cls.__name__ not in NO_INSTANCES] == []


def test_all_that_can_be_made_without_arguments_prints_without_an_address():
    made = 0
    for cls, name in _public_classes().items():
        if cls.__name__ in NO_INSTANCES:
            continue
        with tf.Graph().as_default():
            try:
                inspect.signature(cls).bind()
                thing = cls()
            except Exception:  # it takes arguments
                continue
        made += 1
        assert " at 0x" not in repr(thing), name
        if isinstance(thing, tf.Session):
            thing.close()
    assert made > 150


def _model():
    return K.Sequential([K.layers.Dense(2, input_shape=(3,), name="first"), K.layers.ReLU(name="second")], name="net")


@pytest.mark.parametrize("make, shown", [
    (lambda: tf.Session(), "<Session graph=<Graph of 1 operations> variables=0>"),
    (lambda: tf.train.AdamOptimizer(0.1), "<AdamOptimizer 'Adam' learning_rate=0.1>"),
    (lambda: tf.train.MomentumOptimizer(tf.constant(0.1, name="rate"), 0.9), "<MomentumOptimizer 'Momentum' "
                                                                             "learning_rate='rate:0' momentum=0.9>"),
    (lambda: K.optimizers.SGD(0.5, momentum=0.9), "<SGD 'SGD' learning_rate=0.5 momentum=0.9 decay=0.0>"),
    (lambda: K.layers.Dense(3, activation="relu", name="d"), "<Dense 'd' units=3 activation=relu>"),
    (lambda: tf.layers.Conv2D(3, 5, name="c"), "<Conv2D 'c' filters=3 kernel_size=[5, 5]>"),
    (lambda: K.losses.Huber(delta=2.0), "<Huber 'huber_loss' delta=2.0>"),
    (lambda: tf.train.StopAtStepHook(num_steps=3), "<StopAtStepHook num_steps=3>"),
    (lambda: K.callbacks.EarlyStopping(patience=3), "<EarlyStopping patience=3>"),
    (lambda: tf.data.Dataset.range(3).make_one_shot_iterator(), "<Iterator shapes=TensorShape([]) types=tf.int64>"),
    (lambda: tf.glorot_uniform_initializer(seed=3), "<GlorotUniform seed=3>"),
    (lambda: tf.FIFOQueue(3, [tf.float32]), "<FIFOQueue 'fifo_queue' dtypes=[tf.float32] shapes=[TensorShape(None)]>"),
    (lambda: tf.estimator.RunConfig(model_dir="there"), "<RunConfig model_dir='there' save_checkpoints_secs=600>"),
    (lambda: tf.Session.__new__(tf.Session), "<Session>"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_what_is_shown(make, shown):
    tf.constant(1.0, name="there_is_one")
    found = repr(make())
    assert found == shown or shown.startswith("<Session g") and "operations> variables=0>" in found


def test_models_and_savers():
    model = _model()
    assert repr(model) == "<Sequential 'net' layers=[Dense, ReLU] inputs=['first_input:0'] outputs=['second/Relu:0']>"
    page = model._repr_html_()
    assert "<td>first</td><td>Dense</td>" in page and "<td>8</td>" in page
    assert repr(tf.train.Saver(max_to_keep=3)) == "<Saver max_to_keep=3 variables=2>"
    estimator = tf.estimator.Estimator(lambda features, labels, mode: None, "/tmp/nowhere")
    assert " at 0x" not in repr(estimator) and "model_dir='/tmp/nowhere'" in repr(estimator)


def test_classes_of_the_program_show_their_arguments():
    class Scaled(K.layers.Layer):
        def __init__(self, factor, table=None, **kwargs):
            super().__init__(**kwargs)
            self.factor, self.table = factor, table

    assert repr(Scaled(2.0, np.zeros((3, 4)), name="s")) == "<Scaled 's' factor=2.0 table=float64[3, 4]>"
    assert inspect.signature(Scaled).parameters["factor"].default is inspect.Parameter.empty
