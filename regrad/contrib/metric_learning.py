"""`tf.contrib.losses.metric_learning`: losses that draw examples of one class together and others apart.

Embeddings are floating [batch, size], labels integers [batch].
"""

import regrad as tf


def pairwise_distance(feature, squared=False):
    """Returns [batch, batch]: the Euclidean distances between rows of `feature`, or their squares; 0 on the diagonal.

    The gradient is 0 where two rows are the same.
    """
    feature = tf.convert_to_tensor(feature)
    lengths = tf.reduce_sum(tf.square(feature), 1, keepdims=True)
    squares = tf.maximum(lengths + tf.transpose(lengths) - 2 * tf.matmul(feature, feature, transpose_b=True), 0.0)
    if squared:
        distances = squares
    else:
        same = tf.cast(squares <= 0, squares.dtype)
        distances = tf.sqrt(squares + same * 1e-16) * (1 - same)
    return tf.matrix_set_diag(distances, tf.zeros_like(lengths[:, 0]))


def _alike(labels):
    """Returns bool [batch, batch]: which examples have one label."""
    labels = tf.convert_to_tensor(labels)
    if labels.shape.ndims is not None and labels.shape.ndims > 2:
        raise ValueError(f"labels must be a vector, got {labels.shape}")
    labels = tf.reshape(labels, [-1, 1])
    return tf.equal(labels, tf.transpose(labels))


def _others(alike, dtype):
    """Returns 1 for pairs of two examples of one label."""
    mask = tf.cast(alike, dtype)
    return tf.matrix_set_diag(mask, tf.zeros_like(mask[:, 0]))


def contrastive_loss(labels, embeddings_anchor, embeddings_positive, margin=1.0):
    """Returns the mean of d^2 where `labels` is 1 and max(margin - d, 0)^2 where it is 0; d is the distance of two embeddings.

    Args:
      labels: [batch], 1 for pairs that belong together, 0 for others.
      embeddings_anchor, embeddings_positive: [batch, size].
      margin: how far apart others should be.
    """
    distances = tf.sqrt(tf.reduce_sum(tf.squared_difference(embeddings_anchor, embeddings_positive), 1))
    labels = tf.cast(labels, distances.dtype)
    return tf.reduce_mean(labels * tf.square(distances) + (1 - labels) * tf.square(tf.maximum(margin - distances, 0.0)),
                          name="contrastive_loss")


def triplet_semihard_loss(labels, embeddings, margin=1.0):
    """Returns the mean over pairs of one label of max(D(a, p) - D(a, n) + margin, 0), D being squared distances.

    The negative n of each pair is the nearest one that lies farther than p, else the farthest (Schroff et al. 2015).
    """
    distances = pairwise_distance(embeddings, squared=True)
    alike = _alike(labels)
    apart = tf.logical_not(alike)
    # [anchor, positive, negative]
    to_negative = tf.expand_dims(distances, 1) + tf.zeros_like(tf.expand_dims(distances, 2))
    harder = tf.logical_and(tf.expand_dims(apart, 1), to_negative > tf.expand_dims(distances, 2))
    most = tf.reduce_max(distances, 1)[:, tf.newaxis, tf.newaxis] + tf.zeros_like(to_negative)
    outside = tf.reduce_min(tf.where(harder, to_negative, most), 2)
    least = tf.reduce_min(distances, 1, keepdims=True) + tf.zeros_like(distances)
    inside = tf.reduce_max(tf.where(apart, distances, least), 1, keepdims=True) + tf.zeros_like(distances)
    negatives = tf.where(tf.reduce_any(harder, 2), outside, inside)
    pairs = _others(alike, distances.dtype)
    losses = tf.maximum((margin + distances - negatives) * pairs, 0.0)
    return tf.truediv(tf.reduce_sum(losses), tf.reduce_sum(pairs), name="triplet_semihard_loss")


def lifted_struct_loss(labels, embeddings, margin=1.0):
    """Returns the lifted structured loss (Song et al. 2016): half the mean square of max(J, 0) over pairs of one label, with
    J = log of the sum of exp(margin - d) over all that is of other labels than the two, + d of the two."""
    distances = pairwise_distance(embeddings)
    alike = _alike(labels)
    apart = tf.cast(tf.logical_not(alike), distances.dtype)
    near = margin - distances
    least = tf.reduce_min(near, 1, keepdims=True)
    largest = tf.stop_gradient(tf.reduce_max((near - least) * apart, 1, keepdims=True) + least)
    largest = tf.maximum(largest, tf.transpose(largest))
    # Both rows of a pair are scaled by the larger of their largest terms.
    terms = tf.exp(tf.expand_dims(near, 1) - tf.expand_dims(largest, 2)) * tf.expand_dims(apart, 1)
    sums = tf.reduce_sum(terms, 2)
    both = sums + tf.transpose(sums)
    found = both > 0
    logs = largest + tf.log(tf.where(found, both, tf.ones_like(both)))
    pairs = _others(alike, distances.dtype)
    losses = tf.where(tf.logical_and(found, pairs > 0), tf.maximum(logs + distances, 0.0), tf.zeros_like(distances))
    return tf.truediv(0.25 * tf.reduce_sum(tf.square(losses)), tf.reduce_sum(pairs) / 2, name="liftedstruct_loss")


def _lengths(anchor, positive, reg_lambda):
    squares = [tf.reduce_mean(tf.reduce_sum(tf.square(t), 1)) for t in (anchor, positive)]
    return tf.multiply(0.25 * reg_lambda, squares[0] + squares[1], name="l2loss")


def npairs_loss(labels, embeddings_anchor, embeddings_positive, reg_lambda=0.002, print_losses=False):
    """Returns the N-pairs loss (Sohn 2016): cross entropy of inner products with labels that agree, and a cost of lengths.

    Args:
      labels: [batch], the classes of the pairs.
      embeddings_anchor, embeddings_positive: [batch, size].
      reg_lambda: weight of the mean squared lengths.
      print_losses: print both parts when running.
    """
    lengths = _lengths(embeddings_anchor, embeddings_positive, reg_lambda)
    products = tf.matmul(embeddings_anchor, embeddings_positive, transpose_b=True)
    targets = tf.cast(_alike(labels), products.dtype)
    targets /= tf.reduce_sum(targets, 1, keepdims=True)
    entropy = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=targets, logits=products), name="xentropy")
    if print_losses:
        entropy = tf.Print(entropy, ["cross entropy:", entropy, "l2loss:", lengths])
    return lengths + entropy


__all__ = ["contrastive_loss", "lifted_struct_loss", "npairs_loss", "pairwise_distance", "triplet_semihard_loss"]
