"""One step of a two-layer network with gradient reversal on 64 points in the plane: overhead, mostly."""

import numpy as np

from shared import tf1_session, tf1_variables, torch_leaves, weights

ROWS = {"two-layer reversal network": {"points": 64}}
UNITS, RATE = 16, 0.1


def data(points):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((points, 2), np.float32)
    return {
        "weights": weights((2, UNITS), (UNITS,), (UNITS, 2), (2,), (UNITS, 2), (2,)),
        "x": x,
        "labels": (x[:, 0] > x[:, 1]).astype(np.int32),
        "domains": np.repeat(np.int32([0, 1]), points // 2),
    }


def tf1_program(tf, data, points):
    @tf.RegisterGradient("ReverseGradient")
    def _reverse(op, dy):
        return [tf.negative(dy)]

    x = tf.placeholder(tf.float32, [None, 2])
    labels, domains = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None])
    (w, b, w1, b1, w2, b2), start = tf1_variables(tf, data["weights"])
    features = tf.nn.relu(tf.matmul(x, w) + b)
    with tf.get_default_graph().gradient_override_map({"Identity": "ReverseGradient"}):
        reversed_features = tf.identity(features)
    cross_entropy = tf.nn.sparse_softmax_cross_entropy_with_logits
    label_loss = tf.reduce_mean(cross_entropy(labels=labels, logits=tf.matmul(features, w1) + b1))
    domain_loss = tf.reduce_mean(cross_entropy(labels=domains, logits=tf.matmul(reversed_features, w2) + b2))
    train = tf.train.GradientDescentOptimizer(RATE).minimize(label_loss + domain_loss)
    session = tf1_session(tf, start)
    feed = {x: data["x"], labels: data["labels"], domains: data["domains"]}
    return lambda: session.run([label_loss, domain_loss, train], feed)[:2]


def torch_program(torch, data, points):
    class Reverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, dy):
            return -dy

    leaves = torch_leaves(torch, data["weights"])
    w, b, w1, b1, w2, b2 = leaves
    optimizer = torch.optim.SGD(leaves, lr=RATE)
    cross_entropy = torch.nn.functional.cross_entropy

    def step():
        features = torch.relu(torch.addmm(b, torch.from_numpy(data["x"]), w))
        labels, domains = (torch.from_numpy(data[name]).long() for name in ("labels", "domains"))
        label_loss = cross_entropy(torch.addmm(b1, features, w1), labels)
        domain_loss = cross_entropy(torch.addmm(b2, Reverse.apply(features), w2), domains)
        optimizer.zero_grad()
        (label_loss + domain_loss).backward()
        optimizer.step()
        return [label_loss.item(), domain_loss.item()]

    return step


def jax_program(jax, data, points):
    jnp = jax.numpy

    @jax.custom_vjp
    def reverse(x):
        return x

    reverse.defvjp(lambda x: (x, None), lambda _, dy: (-dy,))

    def cross_entropy(labels, logits):
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1).mean()

    def losses(params, x, labels, domains):
        w, b, w1, b1, w2, b2 = params
        features = jax.nn.relu(x @ w + b)
        parts = cross_entropy(labels, features @ w1 + b1), cross_entropy(domains, reverse(features) @ w2 + b2)
        return sum(parts), parts

    def descend(params, *batch):
        gradients, parts = jax.grad(losses, has_aux=True)(params, *batch)
        return [p - RATE * g for p, g in zip(params, gradients, strict=True)], parts

    run = jax.jit(descend, donate_argnums=0)
    state = [[jnp.array(w) for w in data["weights"]]]

    def step():
        state[0], parts = run(state[0], data["x"], data["labels"], data["domains"])
        return [float(part) for part in parts]

    return step
