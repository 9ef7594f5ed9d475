"""`tf.contrib.nn`: dropout for self-normalising networks, a softplus of any sharpness, and older orders of arguments."""

import regrad as tf
from regrad.ops.sort import nth_element

_LEAST = -1.0507009873554805 * 1.6732632423543772  # what selu gives far below 0


def alpha_dropout(x, keep_prob, noise_shape=None, seed=None, name=None):
    """Returns `x` with elements set to what selu gives at minus infinity, and mean and variance kept (Klambauer et al. 2017).

    Args:
      x: floating tensor.
      keep_prob: probability that an element stays; a number in (0, 1], or a scalar tensor.
      noise_shape: shape of what is drawn, broadcast to that of `x`.
      seed: op seed.

    Raises:
      ValueError: `keep_prob` is a number outside of (0, 1].
    """
    with tf.name_scope(name, "alpha_dropout", [x]):
        x = tf.convert_to_tensor(x, name="x")
        number = isinstance(keep_prob, (int, float))
        if number and not 0 < keep_prob <= 1:
            raise ValueError(f"keep_prob must be a scalar tensor or a float in the range (0, 1], got {keep_prob}")
        if number and keep_prob == 1:
            return x
        keep = tf.convert_to_tensor(keep_prob, x.dtype, name="keep_prob")
        drawn = tf.random_uniform(tf.shape(x) if noise_shape is None else noise_shape, seed=seed, dtype=x.dtype)
        kept = tf.cast(drawn >= 1 - keep, x.dtype)
        held = x * kept + _LEAST * (1 - kept)
        scale = tf.rsqrt(keep + keep * (1 - keep) * _LEAST**2)
        return scale * held - scale * _LEAST * (1 - keep)


def scaled_softplus(x, alpha, clip=None, name=None):
    """Returns alpha log(1 + exp(x / alpha)), at most `clip` if that is given.

    Args:
      x, alpha: floating tensors; alpha > 0 broadcasts to `x`.
      clip: tensor, or None.
    """
    with tf.name_scope(name, "scaled_softplus", [x, alpha]):
        x = tf.convert_to_tensor(x, name="x")
        alpha = tf.convert_to_tensor(alpha, x.dtype, name="alpha")
        y = alpha * tf.nn.softplus(x / alpha)
        return y if clip is None else tf.minimum(y, tf.convert_to_tensor(clip, x.dtype, name="clip"))


def deprecated_flipped_softmax_cross_entropy_with_logits(logits, labels, dim=-1, name=None):
    """Returns `tf.nn.softmax_cross_entropy_with_logits`, the logits first."""
    return tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits, dim=dim, name=name)


def deprecated_flipped_sparse_softmax_cross_entropy_with_logits(logits, labels, name=None):
    """Returns `tf.nn.sparse_softmax_cross_entropy_with_logits`, the logits first."""
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name=name)


def deprecated_flipped_sigmoid_cross_entropy_with_logits(logits, targets, name=None):
    """Returns `tf.nn.sigmoid_cross_entropy_with_logits`, the logits first."""
    return tf.nn.sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name=name)


__all__ = ["alpha_dropout", "deprecated_flipped_sigmoid_cross_entropy_with_logits",
           "deprecated_flipped_softmax_cross_entropy_with_logits",
           "deprecated_flipped_sparse_softmax_cross_entropy_with_logits", "nth_element", "scaled_softplus"]
