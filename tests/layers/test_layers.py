"""Layers as objects: their variables, shapes, scopes, losses; what they refuse."""
import copy

import numpy as np
import pytest

import regrad as tf


def images(*dims):
    return tf.placeholder(tf.float32, dims)


@pytest.mark.parametrize("layer, shape, output", [
    (lambda: tf.layers.Dense(7), [None, 3, 4], [None, 3, 7]), (lambda: tf.layers.Flatten(), [None, 3, 4], [None, 12]),
    (lambda: tf.layers.Conv1D(5, 3, 2, "causal"), [None, 9, 4], [None, 5, 5]),
    (lambda: tf.layers.Conv2D(5, 3, dilation_rate=2), [2, 9, 8, 4], [2, 5, 4, 5]),
    (lambda: tf.layers.Conv2D(5, 3, 2, "same"), [None, None, 8, 4], [None, None, 4, 5]),
    (lambda: tf.layers.Conv3D(2, 2), [1, 4, 5, 6, 3], [1, 3, 4, 5, 2]),
    (lambda: tf.layers.Conv2DTranspose(5, 3, 2), [None, 4, None, 2], [None, 9, None, 5]),
    (lambda: tf.layers.Conv3DTranspose(5, 3, 2, "same"), [1, 2, 3, 4, 2], [1, 4, 6, 8, 5]),
    (lambda: tf.layers.SeparableConv2D(5, 3), [None, 5, 5, 2], [None, 3, 3, 5]),
    (lambda: tf.layers.SeparableConv1D(5, 3, padding="same"), [None, 5, 2], [None, 5, 5]),
    (lambda: tf.layers.MaxPooling2D(3, 2), [None, 7, 8, 2], [None, 3, 3, 2]),
    (lambda: tf.layers.AveragePooling1D(2, 2, "same"), [None, 7, 2], [None, 4, 2]),
    (lambda: tf.layers.MaxPooling3D(2, 2), [None, 4, 4, 5, 2], [None, 2, 2, 2, 2]),
    (lambda: tf.layers.BatchNormalization(), [None, 7, 8, 2], [None, 7, 8, 2]),
    (lambda: tf.layers.Dropout(), [None, 7], [None, 7])])
def test_promised_shapes_are_those_of_the_output(layer, shape, output):
    layer = layer()
    y = layer(images(*shape))

    assert layer.compute_output_shape(shape).as_list() == output == y.shape.as_list() == layer.output_shape.as_list()


@pytest.mark.parametrize("layer, shape", [
    (lambda f: tf.layers.Conv2D(4, 3, 2, "valid", f, name="l"), (2, 7, 8, 3)),
    (lambda f: tf.layers.Conv1D(4, 3, 1, "causal", f, dilation_rate=2, name="l"), (2, 7, 3)),
    (lambda f: tf.layers.SeparableConv2D(4, 3, 1, "same", f, name="l"), (2, 7, 8, 3)),
    (lambda f: tf.layers.Conv2DTranspose(4, 3, 2, "same", f, name="l"), (2, 3, 4, 3)),
    (lambda f: tf.layers.MaxPooling2D(2, 2, "same", f, name="l"), (2, 7, 8, 3)),
    (lambda f: tf.layers.AveragePooling1D(3, 2, "valid", f, name="l"), (2, 7, 3))])
def test_channels_first_is_the_same_with_axes_exchanged(layer, shape):
    x = np.random.RandomState(0).randn(*shape).astype(np.float32)
    with tf.variable_scope("", reuse=tf.AUTO_REUSE, initializer=tf.random_normal_initializer(seed=1)):
        last = layer("channels_last")(tf.constant(x))
        first = layer("channels_first")(tf.constant(np.moveaxis(x, -1, 1)))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        a, b = sess.run([last, first])

    np.testing.assert_allclose(np.moveaxis(b, 1, -1), a, rtol=1e-5, atol=1e-6)


def test_a_layer_knows_its_variables_and_losses():
    layer = tf.layers.Dense(2, kernel_regularizer=tf.reduce_sum, activity_regularizer=lambda y: tf.reduce_mean(y), name="fc")
    with pytest.raises(ValueError, match="has not been used yet"):
        _ = layer.scope_name
    with pytest.raises(ValueError, match="isn't built"):
        layer.count_params()
    with tf.variable_scope("outer"):
        layer(images(3, 4))
    layer(images(5, 4))

    assert [v.op.name for v in layer.variables] == ["outer/fc/kernel", "outer/fc/bias"]
    assert (layer.scope_name, layer.name, layer.built, layer.count_params()) == ("outer/fc", "fc", True, 10)
    assert [loss.op.name.removeprefix("outer/fc/") for loss in layer.losses] == [
        "kernel/Regularizer/Sum", "ActivityRegularizer/truediv", "ActivityRegularizer_1/truediv"]
    assert tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES) == layer.losses
    layer.trainable = False
    assert layer.trainable_weights == [] and len(layer.non_trainable_weights) == 2


def test_weights_of_a_layer_are_got_and_set():
    layer = tf.layers.Dense(2, kernel_initializer=tf.ones_initializer())
    y = layer(tf.ones([1, 3]))
    with tf.Session() as session:
        assert [w.tolist() for w in layer.get_weights()] == [[[1, 1]] * 3, [0, 0]]
        layer.set_weights([np.full((3, 2), 2.0), np.ones(2)])
        assert session.run(y).tolist() == [[7, 7]] and layer.get_weights()[1].tolist() == [1, 1]
        with pytest.raises(ValueError, match="length 1, but the layer was expecting 2 weights"):
            layer.set_weights([np.ones(2)])
        with pytest.raises(ValueError, match="shape"):
            layer.set_weights([np.ones([2, 3]), np.ones(2)])


def test_layers_that_are_not_trainable_make_no_trainable_variables():
    tf.layers.dense(images(3, 4), 2, trainable=False)
    tf.layers.batch_normalization(images(3, 4), trainable=False, training=True)

    assert tf.trainable_variables() == []
    assert len(tf.global_variables()) == 6
    assert len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)) == 0


def test_own_layers():
    class Scale(tf.layers.Layer):
        def build(self, input_shape):
            self.factor = self.add_weight("factor", input_shape[1:], initializer=tf.constant_initializer(2.0))

        def call(self, inputs, shift=0.0):
            return self.factor * inputs + shift

    layer = Scale()
    x = tf.placeholder(tf.float64, [None, 3])
    y = layer(layer(x), shift=1.0)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(sess.run(y, {x: np.ones([2, 3])}), np.full([2, 3], 5.0))
    assert [v.op.name for v in layer.weights] == ["scale/factor"]
    assert layer.factor.dtype == tf.float64
    assert layer.name == "scale_1" and Scale().name == "scale_2"


def test_a_layer_has_the_variables_of_its_parts():
    class Net(tf.layers.Layer):
        def __init__(self):
            super().__init__()
            self.first = tf.layers.Dense(2, kernel_regularizer=tf.nn.l2_loss)
            self.rest = [tf.layers.BatchNormalization(), self.first]

        def call(self, x):
            return self.rest[0](self.first(x), training=True)

    net, names = Net(), ["kernel", "bias", "gamma", "beta", "moving_mean", "moving_variance"]
    net(tf.ones([4, 3]))
    assert [v.op.name.rpartition("/")[2] for v in net.weights] == names
    assert net.trainable_weights == net.weights[:4] and net.non_trainable_variables == net.weights[4:]
    assert net.losses == net.first.losses and len(net.updates) == 2 and net.count_params() == 16
    net.trainable = False
    assert net.trainable_variables == [] and len(net.non_trainable_weights) == 6


@pytest.mark.parametrize("layer, shape", [(tf.layers.Dense(2), [None, 3]), (tf.layers.Conv2D(2, 3), (None, 8, 8, 3)),
                                          (tf.layers.SeparableConv2D(2, 3), (None, 8, 8, 3)),
                                          (tf.layers.BatchNormalization(), [None, 3])], ids=lambda x: type(x).__name__)
def test_a_layer_may_be_built_before_it_is_called(layer, shape):
    layer.build(shape)
    weights = layer.weights
    assert layer.built and layer.dtype == tf.float32 and weights
    layer(tf.ones([4, *shape[1:]]))
    assert layer.weights == weights and set(tf.global_variables()) == set(weights)


def test_a_wrapper_has_its_layers_variables():
    class Twice(tf.keras.layers.Wrapper):
        def call(self, x):
            return 2.0 * self.layer.call(x)

    layer = Twice(tf.layers.Dense(2))
    y = layer(tf.ones([4, 3]))
    assert y.shape == [4, 2] and [v.shape.as_list() for v in layer.trainable_weights] == [[3, 2], [2]]
    with pytest.raises(TypeError, match="wraps a layer"):
        Twice(3)


def test_running_moments_follow_only_while_training():
    training = tf.placeholder(tf.bool, [])
    x = tf.placeholder(tf.float32, [None, 4])
    tf.layers.batch_normalization(x, momentum=0.5, training=training, name="bn")
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    moving = tf.global_variables()[2:]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(updates, {x: [[1.0, 2, 3, 4], [3, 4, 5, 6]], training: False})
        assert [v.tolist() for v in sess.run(moving)] == [[0, 0, 0, 0], [1, 1, 1, 1]]
        sess.run(updates, {x: [[1.0, 2, 3, 4], [3, 4, 5, 6]], training: True})
        assert [v.tolist() for v in sess.run(moving)] == [[1, 1.5, 2, 2.5], [1, 1, 1, 1]]


@pytest.mark.parametrize("build, says", [
    (lambda: tf.layers.conv2d(images(2, 3, 4), 3, 3), r"expected ndim=4, found ndim=3. Full shape received: \[2, 3, 4\]"),
    (lambda: tf.layers.dense(images(4), 3), "expected min_ndim=2, found ndim=1"),
    (lambda: tf.layers.dense(images(4, None), 3), "last dimension of the inputs to `Dense` should be defined"),
    (lambda: tf.layers.conv1d(images(4, 4, None), 3, 3), "channel dimension of the inputs should be defined"),
    (lambda: tf.layers.conv2d(images(2, 3, 4, 1), 3, 3, padding="full"), '"valid", "same"'),
    (lambda: tf.layers.conv2d(images(2, 3, 4, 1), 3, 3, data_format="NHWC"), '"channels_first", "channels_last"'),
    (lambda: tf.layers.max_pooling2d(images(2, 3, 4, 1), (1, 2, 3), 1), "tuple of 2 integers"),
    (lambda: tf.layers.batch_normalization(images(2, 3), axis=2), "Invalid axis"),
    (lambda: tf.layers.BatchNormalization(renorm=True, fused=True), "`fused=True` and `renorm=True`"),
    (lambda: tf.layers.BatchNormalization(renorm_clipping={"max": 1}), "contains keys not in")])
def test_refused(build, says):
    with pytest.raises(ValueError, match=says):
        build()


def test_a_second_input_of_another_size_is_refused():
    layer = tf.layers.Dense(2)
    layer(images(3, 4))
    with pytest.raises(ValueError, match="expected axis -1 of input shape to have value 4"):
        layer(images(3, 5))


@pytest.mark.parametrize("name", ["dense", "conv2d", "batch_normalization", "max_pooling2d", "flatten", "dropout"])
def test_functions_take_tensorflows_arguments_in_order(name):
    import inspect

    order = {"dense": "inputs units activation use_bias kernel_initializer bias_initializer kernel_regularizer "
                      "bias_regularizer activity_regularizer kernel_constraint bias_constraint trainable name reuse",
             "conv2d": "inputs filters kernel_size strides padding data_format dilation_rate activation use_bias "
                       "kernel_initializer bias_initializer kernel_regularizer bias_regularizer activity_regularizer "
                       "kernel_constraint bias_constraint trainable name reuse",
             "batch_normalization": "inputs axis momentum epsilon center scale beta_initializer gamma_initializer "
                                    "moving_mean_initializer moving_variance_initializer beta_regularizer gamma_regularizer "
                                    "beta_constraint gamma_constraint training trainable name reuse renorm renorm_clipping "
                                    "renorm_momentum fused virtual_batch_size adjustment",
             "max_pooling2d": "inputs pool_size strides padding data_format name", "flatten": "inputs name data_format",
             "dropout": "inputs rate noise_shape seed training name"}
    assert list(inspect.signature(getattr(tf.layers, name)).parameters) == order[name].split()


def test_moments_of_a_partitioned_batch_normalization_stay_whole():
    with tf.variable_scope("s", partitioner=tf.fixed_size_partitioner(2)):
        tf.layers.batch_normalization(tf.ones([2, 3, 6]), fused=True)  # not 4-D: the plain form
    names = [v.op.name.split("/", 2)[2] for v in tf.global_variables()]
    assert names == ["gamma/part_0", "gamma/part_1", "beta/part_0", "beta/part_1", "moving_mean", "moving_variance"]


class _Doubled(tf.layers.Layer):
    def __init__(self, **asked):
        super().__init__(name="doubled")
        self.input_spec = tf.layers.InputSpec(**asked)

    def call(self, inputs):
        return 2 * inputs


@pytest.mark.parametrize("asked, given, says", [
    ({"dtype": "float32"}, tf.int32, "expected dtype=float32, found dtype=int32"),
    ({"shape": (None, 3)}, tf.float32, r"expected shape=\(\?, 3\), found shape=\(1, 2\)")])
def test_what_an_input_spec_asks(asked, given, says):
    with pytest.raises(ValueError, match=f"Input 0 of layer doubled is incompatible with the layer: {says}"):
        _Doubled(**asked)(tf.ones([1, 2], given))
    assert _Doubled(**asked)(tf.ones([2, 3])).dtype == tf.float32


def test_a_layer_stays_in_its_graph_and_may_be_copied():
    layer = tf.layers.Dense(2, activation=tf.nn.relu, name="d")
    layer(tf.ones([1, 3]))
    layer.seen = {"x": [tf.ones([2])], "n": [1]}
    copied = copy.deepcopy(layer)
    assert copied.kernel is layer.kernel and copied.seen["x"][0] is layer.seen["x"][0] and copied.graph is layer.graph
    assert copied.seen["n"] is not layer.seen["n"] and copied.weights == layer.weights and copied.weights is not layer.weights
    assert copied(tf.ones([1, 3])).shape == (1, 2) and len(tf.trainable_variables()) == 2
    with tf.Graph().as_default(), pytest.raises(ValueError, match="Input graph and Layer graph are not the same"):
        layer(tf.ones([1, 3]))


def test_a_getter_may_keep_variables_from_being_trained():
    def fixed(getter, *args, **kwargs):
        return getter(*args, **{**kwargs, "trainable": False})

    with tf.variable_scope("s", custom_getter=fixed):
        layer = tf.layers.Dense(2)
        layer(tf.ones([1, 3]))
    assert layer.trainable_weights == [] and layer.non_trainable_weights == [layer.kernel, layer.bias]
    still = tf.layers.Dense(2, trainable=False)
    still(tf.ones([1, 3]))
    assert still.trainable_weights == [] and still.non_trainable_weights == [still.kernel, still.bias]


def test_a_weight_of_each_replica_is_not_trained():
    layer, each = tf.layers.Layer(name="own"), tf.VariableSynchronization.ON_READ
    layer.add_weight("seen", [2], synchronization=each)
    assert layer.trainable_weights == tf.trainable_variables() == [] and len(layer.weights) == 1
    with pytest.raises(ValueError, match="ON_READ only for non-trainable variables"):
        layer.add_weight("x", [2], synchronization=each, trainable=True)
