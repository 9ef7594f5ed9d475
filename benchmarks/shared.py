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
