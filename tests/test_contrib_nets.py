"""slim.nets: sizes, end points and names of the networks, as their checkpoints have them; slim.utils."""

import importlib

import numpy as np
import pytest

import regrad as tf

slim = tf.contrib.slim
nets = slim.nets


def built(network, arguments, size, **settings):
    with slim.arg_scope(arguments):
        return network(tf.placeholder(tf.float32, [2, size, size, 3]), **settings)


# Weights and biases of each, as published: 11, 16 and 19 layers of VGG, AlexNet, OverFeat.
@pytest.mark.parametrize(("module", "name", "size", "weights"), [
    ("vgg", "vgg_a", 224, 132_863_336), ("vgg", "vgg_16", 224, 138_357_544), ("vgg", "vgg_19", 224, 143_667_240),
    ("alexnet", "alexnet_v2", 224, 50_303_912), ("overfeat", "overfeat", 231, 145_704_424)])
def test_plain_networks(module, name, size, weights):
    module = getattr(nets, module)
    network = getattr(module, name)
    scope = next(getattr(module, n) for n in dir(module) if n.endswith("arg_scope") and n != "arg_scope")
    logits, ends = built(network, scope(), size, is_training=False)
    assert logits.op.name == f"{name}/fc8/squeezed" and ends[f"{name}/fc8"] is logits and network.default_image_size == size
    assert sum(int(np.prod(v.shape.as_list())) for v in tf.trainable_variables()) == weights
    assert f"{name}/pool5" in ends and len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)) == sum(
        v.op.name.endswith("weights") for v in tf.trainable_variables())
    maps, _ = built(network, scope(), size + 64, is_training=False, spatial_squeeze=False, scope="large")
    assert maps.shape.as_list() == [2, 3, 3, 1000]


@pytest.mark.parametrize(("version", "layers", "weights"), [("v1", 50, 25_557_032), ("v2", 101, 44_577_896)])
def test_residual_networks(version, layers, weights):
    module = getattr(nets, f"resnet_{version}")
    network = getattr(module, f"resnet_{version}_{layers}")
    logits, ends = built(network, module.resnet_arg_scope(), 224, num_classes=1000)
    assert logits.shape.as_list() == [2, 1, 1, 1000] and "predictions" in ends
    assert sum(int(np.prod(v.shape.as_list())) for v in tf.trainable_variables()) == weights
    block = f"resnet_{version}_{layers}/block4"
    assert ends[block].shape.as_list() == [2, 7, 7, 2048] and f"{block}/unit_1/bottleneck_{version}/conv2" in ends
    features, _ = built(network, module.resnet_arg_scope(), 65, global_pool=False, output_stride=8, scope="dense")
    assert features.shape.as_list() == [2, 9, 9, 2048]
    with pytest.raises(ValueError, match="multiple of 4"):
        built(network, module.resnet_arg_scope(), 65, output_stride=9, scope="odd")
    with pytest.raises(ValueError, match="cannot be reached"):
        built(network, module.resnet_arg_scope(), 65, output_stride=64, scope="far")


def test_distances_in_a_kernel_replace_strides():
    """A network with strides gives every other pixel of the network without."""
    module = nets.resnet_v1
    blocks = [module.resnet_v1_block("block1", 1, 2, 2), module.resnet_v1_block("block2", 1, 2, 2)]
    x = tf.constant(np.random.RandomState(0).randn(1, 17, 17, 3).astype(np.float32))

    def features(**settings):
        with slim.arg_scope(module.resnet_arg_scope()):
            return module.resnet_v1(x, blocks, is_training=False, global_pool=False, include_root_block=False, scope="net",
                                    **settings)[0]

    small, large = features(), features(output_stride=1, reuse=True)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        small, large = sess.run([small, large])
    assert large.shape == (1, 17, 17, 4)
    np.testing.assert_allclose(small, large[:, ::4, ::4], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("version", "size", "last", "weights"), [
    (1, 224, [2, 7, 7, 1024], 6_617_624), (2, 224, [2, 7, 7, 1024], 11_178_336), (3, 299, [2, 8, 8, 2048], 27_143_152)])
def test_inception_networks(version, size, last, weights):
    module = nets.inception
    network, scope = (getattr(module, f"inception_v{version}{end}") for end in ("", "_arg_scope"))
    logits, ends = built(network, scope(), size)
    assert logits.shape.as_list() == [2, 1000] and ends["Predictions"].shape == logits.shape
    names = list(ends)
    features = ends[names[names.index("AuxLogits" if version == 3 else "Logits") - 1]]
    assert features.shape.as_list() == last and logits.op.name == f"InceptionV{version}/Logits/SpatialSqueeze"
    assert sum(int(np.prod(v.shape.as_list())) for v in tf.trainable_variables()) == weights
    moments = tf.get_collection("moving_vars")
    assert len(moments) == 2 * sum(v.op.name.endswith("/beta") for v in tf.trainable_variables()) == len(
        tf.get_collection(tf.GraphKeys.UPDATE_OPS))
    base = getattr(module, f"inception_v{version}_base")
    third = "Conv2d_2b_1x1" if version < 3 else "Conv2d_2b_3x3"
    _, some = base(tf.placeholder(tf.float32, [1, 64, 64, 3]), third, scope="some")
    assert list(some) == names[:3]
    with pytest.raises(ValueError, match="Unknown final endpoint Mixed_9; there are Conv2d_1a"):
        base(tf.placeholder(tf.float32, [1, 64, 64, 3]), "Mixed_9")
    if version > 1:
        thin, _ = base(tf.placeholder(tf.float32, [1, 96, 96, 3]), depth_multiplier=0.1, scope="thin")
        assert thin.shape.as_list()[3] < 300
        with pytest.raises(ValueError, match="not greater than zero"):
            base(tf.placeholder(tf.float32, [1, 64, 64, 3]), depth_multiplier=0.0)


def test_modules_by_name():
    for name in nets.__all__:
        assert importlib.import_module(f"regrad.contrib.nets.{name}") is getattr(nets, name)
    with pytest.raises(AttributeError, match="it has alexnet"):
        _ = nets.squeezenet


def test_outputs_are_collected_by_name():
    utils = slim.utils
    with tf.variable_scope("net") as scope:
        with slim.arg_scope([slim.conv2d, slim.max_pool2d], outputs_collections="ends"):
            y = slim.max_pool2d(slim.conv2d(tf.zeros([1, 4, 4, 1]), 2, 1, scope="conv"), 2, scope="pool")
        z = utils.collect_named_outputs(["ends", "more"], scope.name + "/", y)
    assert list(utils.convert_collection_to_dict("ends").items())[1:] == [("net/pool", y), ("net", y)]
    assert utils.convert_collection_to_dict("more", clear_collection=True) == {"net/pool": z, "net": z}
    assert tf.get_collection("more") == []
    assert utils.gather_tensors_aliases([y, tf.zeros([], name="a")]) == ["net/pool", "net", "a"]
    assert utils.last_dimension(y.shape) == 2 and utils.two_element_tuple(3) == (3, 3) == utils.n_positive_integers(2, [3, 3])
    assert utils.channel_dimension([1, 2, 3], "NCW") == 2 and utils.get_variable_collections({"w": "c"}, "w") == "c"
    for bad in (lambda: utils.last_dimension([1, None]), lambda: utils.last_dimension([3], min_rank=2),
                lambda: utils.two_element_tuple([1, 0])):
        with pytest.raises(ValueError, match="must be|positive"):
            bad()
