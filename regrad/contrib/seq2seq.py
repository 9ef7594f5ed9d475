"""`tf.contrib.seq2seq`: decoders step by step, attention, beam search, and the loss of sequences.

    helper = tf.contrib.seq2seq.TrainingHelper(inputs, lengths)
    decoder = tf.contrib.seq2seq.BasicDecoder(cell, helper, cell.zero_state(batch, tf.float32), output_layer)
    outputs, state, lengths = tf.contrib.seq2seq.dynamic_decode(decoder)
"""

from regrad.contrib.attention import (
    AttentionMechanism,
    AttentionWrapper,
    AttentionWrapperState,
    BahdanauAttention,
    LuongAttention,
    hardmax,
)
from regrad.contrib.beam_search import (
    BeamSearchDecoder,
    BeamSearchDecoderOutput,
    BeamSearchDecoderState,
    FinalBeamSearchDecoderOutput,
    gather_tree,
    tile_batch,
)
from regrad.contrib.decoding import (
    BasicDecoder,
    BasicDecoderOutput,
    CustomHelper,
    Decoder,
    GreedyEmbeddingHelper,
    Helper,
    InferenceHelper,
    SampleEmbeddingHelper,
    ScheduledEmbeddingTrainingHelper,
    TrainingHelper,
    dynamic_decode,
)
from regrad.contrib.monotonic import (
    BahdanauMonotonicAttention,
    LuongMonotonicAttention,
    monotonic_attention,
    safe_cumprod,
)
from regrad.core.convert import convert_to_tensor
from regrad.core.graph import get_default_graph
from regrad.ops import array, nn
from regrad.ops.reduce import reduce_sum

__all__ = ["AttentionMechanism", "AttentionWrapper", "AttentionWrapperState", "BahdanauAttention", "BahdanauMonotonicAttention",
           "BasicDecoder", "BasicDecoderOutput", "BeamSearchDecoder", "BeamSearchDecoderOutput", "BeamSearchDecoderState",
           "CustomHelper", "Decoder", "FinalBeamSearchDecoderOutput", "GreedyEmbeddingHelper", "Helper", "InferenceHelper",
           "LuongAttention", "LuongMonotonicAttention", "SampleEmbeddingHelper", "ScheduledEmbeddingTrainingHelper",
           "TrainingHelper", "dynamic_decode", "gather_tree", "hardmax", "monotonic_attention", "safe_cumprod",
           "sequence_loss", "tile_batch"]


def sequence_loss(logits, targets, weights, average_across_timesteps=True, average_across_batch=True,
                  softmax_loss_function=None, name=None):
    """Returns the weighted cross entropy of sequences: a scalar, or not averaged across an axis that keeps its place.

    Args:
      logits: [batch, time, classes].
      targets: int [batch, time].
      weights: floating [batch, time]; an average is over their sum.
      softmax_loss_function: function (labels=, logits=) of rows, in place of the sparse softmax cross entropy.

    Raises:
      ValueError: arguments of another rank.
    """
    logits, targets, weights = (convert_to_tensor(x) for x in (logits, targets, weights))
    if logits.rank != 3 or targets.rank != 2 or weights.rank != 2:
        raise ValueError("sequence_loss: logits must be [batch, time, classes], targets and weights [batch, time]; got "
                         f"{logits.shape}, {targets.shape} and {weights.shape}.")
    with get_default_graph().name_scope(name or "sequence_loss"):
        flat = array.reshape(logits, array.stack([-1, array.shape(logits)[2]]))
        function = softmax_loss_function or nn.sparse_softmax_cross_entropy_with_logits
        losses = function(labels=array.reshape(targets, [-1]), logits=flat) * array.reshape(weights, [-1])
        tiny = 1e-12  # for weights that are all 0
        if average_across_timesteps and average_across_batch:
            return reduce_sum(losses) / (reduce_sum(weights) + tiny)
        losses = array.reshape(losses, array.shape(logits)[:2])
        losses.set_shape(logits.shape[:2])
        if not average_across_timesteps and not average_across_batch:
            return losses
        axis = 1 if average_across_timesteps else 0
        return reduce_sum(losses, axis) / (reduce_sum(weights, axis) + tiny)
