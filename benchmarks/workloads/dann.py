"""One momentum step of a domain-adversarial LeNet: 32 source and 32 target digits of 28 x 28."""

import numpy as np

from shared import tf1_session, tf1_variables, torch_leaves, weights

ROWS = {"LeNet-DANN": {"batch": 64}}
RATE, MOMENTUM = 1e-3, 0.9
FLAT = 7 * 7 * 48
SHAPES = [(5, 5, 1, 32), (32,), (5, 5, 32, 48), (48,),                         # features
          (FLAT, 100), (100,), (100, 100), (100,), (100, 10), (10,),           # digit
          (FLAT, 100), (100,), (100, 2), (2,)]                                 # domain


def data(batch):
    rng = np.random.default_rng(1)
    images = rng.random((batch, 28, 28, 1), np.float32)
    images[batch // 2:] = 1 - images[batch // 2:] ** 2  # the target domain looks different
    return {
        "weights": weights(*SHAPES),
        "images": images,
        "digits": rng.integers(0, 10, batch // 2).astype(np.int32),
        "domains": np.repeat(np.int32([0, 1]), batch // 2),
    }


def tf1_program(tf, data, batch):
    @tf.RegisterGradient("ReverseGradient")
    def _reverse(op, dy):
        return [tf.negative(dy)]

    images = tf.placeholder(tf.float32, [batch, 28, 28, 1])
    digits = tf.placeholder(tf.int32, [batch // 2])
    domains = tf.placeholder(tf.int32, [batch])
    v, start = tf1_variables(tf, data["weights"])

    def conv_pool(x, w, b):
        x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w, strides=[1, 1, 1, 1], padding="SAME"), b))
        return tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], padding="SAME")

    def dense(x, w, b):
        return tf.nn.bias_add(tf.matmul(x, w), b)

    def cross_entropy(labels, logits):
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))

    features = tf.reshape(conv_pool(conv_pool(images, v[0], v[1]), v[2], v[3]), [-1, FLAT])
    h = tf.nn.relu(dense(features[:batch // 2], v[4], v[5]))
    h = tf.nn.relu(dense(h, v[6], v[7]))
    digit_loss = cross_entropy(digits, dense(h, v[8], v[9]))
    with tf.get_default_graph().gradient_override_map({"Identity": "ReverseGradient"}):
        reversed_features = tf.identity(features)
    h = tf.nn.relu(dense(reversed_features, v[10], v[11]))
    domain_loss = cross_entropy(domains, dense(h, v[12], v[13]))
    train = tf.train.MomentumOptimizer(RATE, MOMENTUM).minimize(digit_loss + domain_loss)
    session = tf1_session(tf, start)
    feed = {images: data["images"], digits: data["digits"], domains: data["domains"]}
    return lambda: session.run([digit_loss, domain_loss, train], feed)[:2]


def torch_program(torch, data, batch):
    F = torch.nn.functional

    class Reverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, dy):
            return -dy

    # PyTorch's own layouts: channels first, and the dense rows in the order in which it flattens.
    arrays = [np.ascontiguousarray(w.transpose(3, 2, 0, 1)) if w.ndim == 4 else w for w in data["weights"]]
    for i in (4, 10):
        arrays[i] = arrays[i].reshape(7, 7, 48, -1).transpose(2, 0, 1, 3).reshape(FLAT, -1)
    v = torch_leaves(torch, arrays)
    optimizer = torch.optim.SGD(v, lr=RATE, momentum=MOMENTUM)

    def step():
        x = torch.from_numpy(data["images"]).permute(0, 3, 1, 2)
        for w, b in ((v[0], v[1]), (v[2], v[3])):
            x = F.max_pool2d(torch.relu(F.conv2d(x, w, b, padding=2)), 2)
        features = x.flatten(1)
        h = torch.relu(torch.addmm(v[5], features[:batch // 2], v[4]))
        h = torch.relu(torch.addmm(v[7], h, v[6]))
        digit_loss = F.cross_entropy(torch.addmm(v[9], h, v[8]), torch.from_numpy(data["digits"]).long())
        h = torch.relu(torch.addmm(v[11], Reverse.apply(features), v[10]))
        domain_loss = F.cross_entropy(torch.addmm(v[13], h, v[12]), torch.from_numpy(data["domains"]).long())
        optimizer.zero_grad()
        (digit_loss + domain_loss).backward()
        optimizer.step()
        return [digit_loss.item(), domain_loss.item()]

    return step


def jax_program(jax, data, batch):
    jnp, lax = jax.numpy, jax.lax

    @jax.custom_vjp
    def reverse(x):
        return x

    reverse.defvjp(lambda x: (x, None), lambda _, dy: (-dy,))

    def conv_pool(x, w, b):
        x = lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return lax.reduce_window(jax.nn.relu(x + b), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME")

    def cross_entropy(labels, logits):
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1).mean()

    def losses(v, images, digits, domains):
        features = conv_pool(conv_pool(images, v[0], v[1]), v[2], v[3]).reshape(-1, FLAT)
        h = jax.nn.relu(features[:batch // 2] @ v[4] + v[5])
        h = jax.nn.relu(h @ v[6] + v[7])
        digit_loss = cross_entropy(digits, h @ v[8] + v[9])
        h = jax.nn.relu(reverse(features) @ v[10] + v[11])
        domain_loss = cross_entropy(domains, h @ v[12] + v[13])
        return digit_loss + domain_loss, (digit_loss, domain_loss)

    def momentum(params, speeds, *batch):
        gradients, parts = jax.grad(losses, has_aux=True)(params, *batch)
        speeds = [MOMENTUM * s + g for s, g in zip(speeds, gradients, strict=True)]
        params = [p - RATE * s for p, s in zip(params, speeds, strict=True)]
        return params, speeds, parts

    run = jax.jit(momentum, donate_argnums=(0, 1))
    params = [jnp.array(w) for w in data["weights"]]
    state = [params, [jnp.zeros_like(p) for p in params]]

    def step():
        *state[:], parts = run(*state, data["images"], data["digits"], data["domains"])
        return [float(part) for part in parts]

    return step
