"""`tf.contrib.legacy_seq2seq`: sequences as lists of tensors, one per time step.

Arguments that the losses have: `logits`, list of [batch, classes]; `targets`, list of int [batch]; `weights`, list of
floating [batch].
"""

from regrad.core.graph import get_default_graph
from regrad.nn.embedding import embedding_lookup
from regrad.nn.functions import xw_plus_b
from regrad.ops import array, math, nn
from regrad.ops.reduce import argmax, reduce_sum
from regrad.variables.scope import get_variable, get_variable_scope, variable_scope


def rnn_decoder(decoder_inputs, initial_state, cell, loop_function=None, scope=None):
    """Returns (list of outputs, last state) of a cell carried along a list of inputs.

    Args:
      loop_function: from (output, time step) to the next input, in place of the given one; None to use those given.
    """
    with variable_scope(scope or "rnn_decoder"):
        state, outputs = initial_state, []
        for i, x in enumerate(decoder_inputs):
            if loop_function is not None and outputs:
                with variable_scope("loop_function", reuse=True):
                    x = loop_function(outputs[-1], i)
            if i > 0:
                get_variable_scope().reuse_variables()
            output, state = cell(x, state)
            outputs.append(output)
        return outputs, state


def embedding_rnn_decoder(decoder_inputs, initial_state, cell, num_symbols, embedding_size, output_projection=None,
                          feed_previous=False, update_embedding_for_previous=True, scope=None):
    """As `rnn_decoder`, for int inputs [batch], which an embedding makes vectors of.

    Args:
      num_symbols, embedding_size: shape of the variable "embedding".
      output_projection: (weights, biases) from outputs to logits, used to choose what `feed_previous` feeds.
      feed_previous: the likeliest symbol of each step is the next input; only the first of the inputs is used.
      update_embedding_for_previous: gradients flow into the embedding of what is fed so.
    """
    with variable_scope(scope or "embedding_rnn_decoder"):
        embedding = get_variable("embedding", [num_symbols, embedding_size])

        def likeliest(output, _):
            if output_projection is not None:
                output = xw_plus_b(output, *output_projection)
            fed = embedding_lookup(embedding, argmax(output, 1))
            return fed if update_embedding_for_previous else array.stop_gradient(fed)

        inputs = [embedding_lookup(embedding, i) for i in decoder_inputs]
        return rnn_decoder(inputs, initial_state, cell, likeliest if feed_previous else None)


def sequence_loss_by_example(logits, targets, weights, average_across_timesteps=True, softmax_loss_function=None, name=None):
    """Returns the weighted cross entropy of each example, [batch], over its weights' sum (or not averaged).

    Raises:
      ValueError: lists of different lengths.
    """
    if not len(logits) == len(targets) == len(weights):
        raise ValueError(f"Lengths of logits, weights, and targets must be the same {len(logits)}, {len(weights)}, "
                         f"{len(targets)}.")
    with get_default_graph().name_scope(name or "sequence_loss_by_example"):
        function = softmax_loss_function or nn.sparse_softmax_cross_entropy_with_logits
        total = math.add_n([function(labels=array.reshape(t, [-1]), logits=x) * w for x, t, w in zip(logits, targets, weights)])
        return total / (math.add_n(list(weights)) + 1e-12) if average_across_timesteps else total


def sequence_loss(logits, targets, weights, average_across_timesteps=True, average_across_batch=True,
                  softmax_loss_function=None, name=None):
    """Returns the sum over the batch of `sequence_loss_by_example`, a scalar; by default divided by the batch's size."""
    with get_default_graph().name_scope(name or "sequence_loss"):
        total = reduce_sum(sequence_loss_by_example(logits, targets, weights, average_across_timesteps, softmax_loss_function))
        return total / math.cast(array.shape(targets[0])[0], total.dtype) if average_across_batch else total
