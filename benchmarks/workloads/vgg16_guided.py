"""Guided backpropagation through VGG16: which pixels of one 224 x 224 image speak for a class.

The relu's gradient is replaced so that only positive gradients pass, the classic use of an override.
"""

import numpy as np

import vgg16
from shared import tf1_session, tf1_variables

ROWS = {"guided backprop, VGG16 224 x 224": {"image": 224}}
QUICK = {"guided backprop, VGG16 96 x 96": {"image": 96}}
REPEATS = 2
CLASS = 3


def data(image):
    rng = np.random.default_rng(1)
    # The classifier is one layer on purpose: VGG16's 124 million dense weights would measure memory alone.
    return {
        "weights": vgg16.arrays(image, (), 1000),
        "image": rng.standard_normal((1, image, image, 3), np.float32),
    }


def tf1_program(tf, data, image):
    @tf.RegisterGradient("GuidedRelu")
    def _guided_relu(op, dy):
        return tf.nn.relu(dy) * tf.cast(op.outputs[0] > 0.0, tf.float32)

    images = tf.placeholder(tf.float32, [1, image, image, 3])
    variables, start = tf1_variables(tf, data["weights"])
    with tf.get_default_graph().gradient_override_map({"Relu": "GuidedRelu"}):
        logits = vgg16.tf1_logits(tf, images, variables)
    (saliency,) = tf.gradients(logits[:, CLASS], images)
    session = tf1_session(tf, start)
    feed = {images: data["image"]}
    return lambda: session.run(saliency, feed)


def torch_program(torch, data, image):
    class GuidedRelu(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = torch.relu(x)
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, dy):
            return torch.relu(dy) * (ctx.saved_tensors[0] > 0)

    weights = [torch.tensor(w) for w in vgg16.torch_layout(data["weights"])]

    def step():
        images = torch.from_numpy(data["image"]).permute(0, 3, 1, 2).requires_grad_()
        logits = vgg16.torch_logits(torch, images, weights, relu=GuidedRelu.apply)
        (saliency,) = torch.autograd.grad(logits[:, CLASS].sum(), images)
        return saliency.numpy().transpose(0, 2, 3, 1)

    return step


def jax_program(jax, data, image):
    jnp = jax.numpy

    @jax.custom_vjp
    def guided_relu(x):
        return jax.nn.relu(x)

    guided_relu.defvjp(lambda x: (jax.nn.relu(x),) * 2, lambda y, dy: (jax.nn.relu(dy) * (y > 0),))

    def score(images, weights):
        return vgg16.jax_logits(jax, images, weights, relu=guided_relu)[:, CLASS].sum()

    run = jax.jit(jax.grad(score))
    weights = [jnp.array(w) for w in data["weights"]]
    return lambda: np.asarray(run(data["image"], weights))
