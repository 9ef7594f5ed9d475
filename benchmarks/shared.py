"""What several workloads need: initial values from a seed, and the variables that start from them."""

import numpy as np


def weights(*shapes, seed=0):
    """Returns float32 arrays of these shapes: normal with deviation sqrt(2 / fan in), vectors zero."""
    rng = np.random.default_rng(seed)
    arrays = []
    for shape in shapes:
        if len(shape) == 1:
            arrays.append(np.zeros(shape, np.float32))
        else:
            scale = np.sqrt(2.0 / np.prod(shape[:-1]))
            arrays.append(rng.standard_normal(shape, np.float32) * np.float32(scale))
    return arrays


def tf1_variables(tf, arrays):
    """Returns variables that will start as `arrays`, and the feed with which to initialise them.

    The values come through placeholders, TF1's documented way to keep large constants out of the graph.
    """
    starts = [tf.placeholder(array.dtype, array.shape) for array in arrays]
    variables = [tf.Variable(start, name=f"v{i}") for i, start in enumerate(starts)]
    return variables, dict(zip(starts, arrays, strict=True))


def tf1_session(tf, feed=None):
    """Returns a session whose variables are initialised."""
    session = tf.Session()
    session.run(tf.global_variables_initializer(), feed)
    return session


def torch_leaves(torch, arrays):
    """Returns tensors that own copies of `arrays` and ask for gradients."""
    return [torch.tensor(array, requires_grad=True) for array in arrays]


def torch_step(optimizer, loss_of):
    """Returns a training step: of what `loss_of()` gives, with its gradients in new memory each time."""
    def step():
        loss = loss_of()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def jax_momentum(jax, logits, data, rate, momentum):
    """Returns a training step of the classifier `logits(params, images)` on `data`: weights, images, labels."""
    jnp = jax.numpy

    def loss_of(params, images, labels):
        log_p = jax.nn.log_softmax(logits(params, images))
        return -jnp.take_along_axis(log_p, labels[:, None], axis=1).mean()

    def update(params, speeds, images, labels):
        loss, gradients = jax.value_and_grad(loss_of)(params, images, labels)
        speeds = [momentum * s + g for s, g in zip(speeds, gradients, strict=True)]
        return [p - rate * s for p, s in zip(params, speeds, strict=True)], speeds, loss

    run = jax.jit(update, donate_argnums=(0, 1))
    params = [jnp.array(w) for w in data["weights"]]
    state = [params, [jnp.zeros_like(p) for p in params]]

    def step():
        *state[:], loss = run(*state, data["images"], data["labels"])
        return float(loss)

    return step
