"""Losses over many classes computed on a few: noise-contrastive estimation and sampled softmax."""

from regrad.core import dtypes
from regrad.core.graph import get_default_graph
from regrad.nn.embedding import embedding_lookup
from regrad.nn.functions import sigmoid_cross_entropy_with_logits
from regrad.ops import array, math
from regrad.ops.candidates import log_uniform_candidate_sampler
from regrad.ops.compare import equal, select
from regrad.ops.matmul import matmul
from regrad.ops.nn import softmax_cross_entropy_with_logits_v2
from regrad.ops.reduce import reduce_any, reduce_sum


def _logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
            subtract_log_q, remove_accidental_hits, partition_strategy, seed):
    """Returns (logits, labels) [batch, num_true + num_sampled]: the true classes first."""
    weights = list(weights) if isinstance(weights, (list, tuple)) else weights
    labels = math.cast(labels, dtypes.int64)
    if sampled_values is None:
        sampled_values = log_uniform_candidate_sampler(labels, num_true, num_sampled, True, num_classes, seed)
    sampled, true_count, sampled_count = (array.stop_gradient(s) for s in sampled_values)
    sampled = math.cast(sampled, dtypes.int64)
    flat = array.reshape(labels, [-1])
    # One look-up for true and sampled classes together.
    ids = array.concat([flat, sampled], 0)
    n = array.size(flat)
    rows = embedding_lookup(weights, ids, partition_strategy)
    shifts = embedding_lookup(biases, ids, partition_strategy)
    true_rows, sampled_rows = rows[:n], rows[n:]
    width = array.shape(true_rows)[1]
    products = array.expand_dims(inputs, 1) * array.reshape(true_rows, array.stack([-1, num_true, width]))
    true_logits = reduce_sum(products, 2) + array.reshape(shifts[:n], [-1, num_true])
    sampled_logits = matmul(inputs, sampled_rows, transpose_b=True) + shifts[n:]
    if remove_accidental_hits:
        hit = reduce_any(equal(array.expand_dims(labels, 2), sampled), 1)
        # Not -inf: a product with a label of 0 would be NaN.
        sampled_logits = select(hit, array.zeros_like(sampled_logits) + sampled_logits.dtype.min,
                                sampled_logits)
    if subtract_log_q:
        true_logits -= math.log(true_count)
        sampled_logits -= math.log(sampled_count)
    logits = array.concat([true_logits, sampled_logits], 1)
    return logits, array.concat([array.ones_like(true_logits) / num_true, array.zeros_like(sampled_logits)],
                                1)


def nce_loss(weights, biases, labels, inputs, num_sampled, num_classes, num_true=1, sampled_values=None,
             remove_accidental_hits=False, partition_strategy="mod", name="nce_loss"):
    """Returns the noise-contrastive estimation loss of each example (Gutmann and Hyvarinen 2010), [batch].

    Args:
      weights: [num_classes, dim], or a list of its parts; `biases`: [num_classes].
      labels: int64 [batch, num_true], the true classes.
      inputs: [batch, dim].
      num_sampled: how many classes are drawn for the whole batch.
      sampled_values: what a candidate sampler returned; by default `log_uniform_candidate_sampler` draws.
      remove_accidental_hits: leave out samples that are true classes.
      partition_strategy: see `embedding_lookup`.
    """
    with get_default_graph().name_scope(name):
        logits, labels = _logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true,
                                 sampled_values, True, remove_accidental_hits, partition_strategy, None)
        losses = sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name="sampled_losses")
        return reduce_sum(losses, 1)


def sampled_softmax_loss(weights, biases, labels, inputs, num_sampled, num_classes, num_true=1,
                         sampled_values=None, remove_accidental_hits=True, partition_strategy="mod",
                         name="sampled_softmax_loss",
                         seed=None):
    """Returns the softmax cross entropy over the true and the sampled classes (Jean et al. 2014), [batch].

    Arguments as in `nce_loss`; for training only, since it underestimates the full loss.
    """
    with get_default_graph().name_scope(name):
        logits, labels = _logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true,
                                 sampled_values, True, remove_accidental_hits, partition_strategy, seed)
        labels = array.stop_gradient(labels, name="labels_stop_gradient")
        return softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits)
