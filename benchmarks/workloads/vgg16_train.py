"""One momentum step of VGG16 on 16 images of 64 x 64."""

import numpy as np

import vgg16
from shared import jax_momentum, tf1_session, tf1_variables, torch_leaves, torch_step

ROWS = {"VGG16 64 x 64, momentum": {"batch": 16, "image": 64}}
QUICK = {"VGG16 64 x 64, momentum, batch 4": {"batch": 4, "image": 64}}
REPEATS = 2
DENSE, CLASSES = (512,), 10
RATE, MOMENTUM = 3e-5, 0.9


def data(batch, image):
    rng = np.random.default_rng(1)
    return {
        "weights": vgg16.arrays(image, DENSE, CLASSES),
        "images": rng.standard_normal((batch, image, image, 3), np.float32),
        "labels": rng.integers(0, CLASSES, batch).astype(np.int32),
    }


def tf1_program(tf, data, batch, image):
    images = tf.placeholder(tf.float32, [batch, image, image, 3])
    labels = tf.placeholder(tf.int32, [batch])
    variables, start = tf1_variables(tf, data["weights"])
    logits = vgg16.tf1_logits(tf, images, variables)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    train = tf.train.MomentumOptimizer(RATE, MOMENTUM).minimize(loss)
    session = tf1_session(tf, start)
    feed = {images: data["images"], labels: data["labels"]}
    return lambda: session.run([loss, train], feed)[0]


def torch_program(torch, data, batch, image):
    leaves = torch_leaves(torch, vgg16.torch_layout(data["weights"]))
    optimizer = torch.optim.SGD(leaves, lr=RATE, momentum=MOMENTUM)

    def loss_of():
        images = torch.from_numpy(data["images"]).permute(0, 3, 1, 2)  # stays channels last: faster here
        logits = vgg16.torch_logits(torch, images, leaves)
        return torch.nn.functional.cross_entropy(logits, torch.from_numpy(data["labels"]).long())

    return torch_step(optimizer, loss_of)


def jax_program(jax, data, batch, image):
    return jax_momentum(jax, lambda params, images: vgg16.jax_logits(jax, images, params), data, RATE, MOMENTUM)
