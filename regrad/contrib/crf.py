"""`tf.contrib.crf`: linear-chain conditional random fields (Lafferty et al. 2001).

Arguments that all have: `inputs`, unary scores [batch, time, tags]; `tag_indices`, int [batch, time]; `sequence_lengths`,
int [batch]; `transition_params` [tags, tags], the score of each tag after each.
"""

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.ops import array, math
from regrad.ops.compare import less, where_v2
from regrad.ops.functional import scan
from regrad.ops.generate import range as range_
from regrad.ops.indexing import gather, one_hot, sequence_mask
from regrad.ops.layout import reverse_sequence
from regrad.ops.reduce import argmax, reduce_logsumexp, reduce_max, reduce_sum
from regrad.variables.scope import get_variable


def _int32(x):
    return math.cast(convert_to_tensor(x), dtypes.int32)


def _along(inputs, sequence_lengths, first, step):
    """Returns what `step(state, scores, extra)` makes of each time step, [time - 1, ...]; the state stays after the end."""
    inputs, lengths = convert_to_tensor(inputs), _int32(sequence_lengths)
    times = array.transpose(inputs, [1, 0, 2])[1:]

    def turn(state, row):
        scores, time = row
        new = step(state, scores)
        return where_v2(array.expand_dims(less(time, lengths), 1), new, state)

    return scan(turn, (times, range_(1, array.shape(inputs)[1])), initializer=first)


def _last(states, first):
    """Returns the last of the states, the first for sequences of one step."""
    return array.concat([array.expand_dims(first, 0), states], 0)[-1]


def crf_unary_score(tag_indices, sequence_lengths, inputs):
    """Returns the sum of the tags' unary scores, [batch]."""
    inputs = convert_to_tensor(inputs)
    mask = sequence_mask(sequence_lengths, array.shape(inputs)[1], inputs.dtype)
    chosen = reduce_sum(inputs * one_hot(_int32(tag_indices), array.shape(inputs)[2], dtype=inputs.dtype), 2)
    return reduce_sum(chosen * mask, 1)


def crf_binary_score(tag_indices, sequence_lengths, transition_params):
    """Returns the sum of the scores of the tags' transitions, [batch]."""
    transitions, tags = convert_to_tensor(transition_params), _int32(tag_indices)
    count = array.shape(transitions)[0]
    scores = gather(array.reshape(transitions, [-1]), tags[:, :-1] * count + tags[:, 1:])
    return reduce_sum(scores * sequence_mask(sequence_lengths, array.shape(tags)[1], scores.dtype)[:, 1:], 1)


def crf_sequence_score(inputs, tag_indices, sequence_lengths, transition_params):
    """Returns the unnormalised score of a sequence of tags, [batch]; 0 for an empty one."""
    return (crf_unary_score(tag_indices, sequence_lengths, inputs)
            + crf_binary_score(tag_indices, sequence_lengths, transition_params))


def crf_forward(inputs, state, transition_params, sequence_lengths):
    """Returns the log-sums over all tags before, [batch, time, tags], of `inputs` that follow the state [batch, tags]."""
    inputs = convert_to_tensor(inputs)
    first = convert_to_tensor(state)
    whole = array.concat([array.expand_dims(first, 1), inputs], 1)
    states = _along(whole, _int32(sequence_lengths) + 1, first, _summed(transition_params))
    return array.transpose(states, [1, 0, 2])


def _summed(transition_params):
    transitions = array.expand_dims(convert_to_tensor(transition_params), 0)
    return lambda state, scores: scores + reduce_logsumexp(array.expand_dims(state, 2) + transitions, [1])


def crf_log_norm(inputs, sequence_lengths, transition_params):
    """Returns the logarithm of the sum over all sequences of tags, [batch]; 0 for an empty sequence."""
    inputs = convert_to_tensor(inputs)
    first = inputs[:, 0]
    total = reduce_logsumexp(_last(_along(inputs, sequence_lengths, first, _summed(transition_params)), first), [1])
    return where_v2(less(_int32(sequence_lengths), 1), array.zeros_like(total), total)


def crf_log_likelihood(inputs, tag_indices, sequence_lengths, transition_params=None):
    """Returns (log-likelihood of the tags [batch], transition_params), with a variable "transitions" made if none is given."""
    inputs = convert_to_tensor(inputs)
    if transition_params is None:
        transition_params = get_variable("transitions", [inputs.dims[2], inputs.dims[2]], dtype=inputs.dtype)
    score = crf_sequence_score(inputs, tag_indices, sequence_lengths, transition_params)
    return score - crf_log_norm(inputs, sequence_lengths, transition_params), transition_params


def viterbi_decode(score, transition_params):
    """Returns (list of the best tags, their score) of one sequence of NumPy scores [time, tags] (Viterbi 1967)."""
    score, transitions = np.asarray(score), np.asarray(transition_params)
    best, before = np.array(score[0]), np.zeros(score.shape, np.int32)
    for time in range(1, len(score)):
        sums = best[:, None] + transitions
        before[time] = np.argmax(sums, 0)
        best = score[time] + np.max(sums, 0)
    tags = [np.argmax(best)]
    for row in before[:0:-1]:
        tags.append(row[tags[-1]])
    return tags[::-1], np.max(best)


def crf_decode(potentials, transition_params, sequence_length):
    """Returns (the best tags int32 [batch, time], their scores [batch]); 0 after a sequence's end."""
    potentials, lengths = convert_to_tensor(potentials), _int32(sequence_length)
    transitions = array.expand_dims(convert_to_tensor(transition_params), 0)
    first = potentials[:, 0]
    states = _along(potentials, lengths, first,
                    lambda state, scores: scores + reduce_max(array.expand_dims(state, 2) + transitions, [1]))
    best = array.concat([array.expand_dims(first, 0), states], 0)
    # Backwards from each sequence's own end: which tag came before the one chosen.
    before = _int32(argmax(array.expand_dims(best[:-1], 3) + array.expand_dims(transitions, 0), 2))
    before = reverse_sequence(before, math.maximum(lengths - 1, 0), seq_axis=0, batch_axis=1)
    count = array.shape(potentials)[2]
    end = _int32(argmax(best[-1], 1))

    def step(tag, row):
        return reduce_sum(row * one_hot(tag, count, dtype=dtypes.int32), 1)

    tags = array.concat([array.expand_dims(end, 0), scan(step, before, initializer=end)], 0)
    tags = reverse_sequence(tags, math.maximum(lengths, 1), seq_axis=0, batch_axis=1)
    mask = sequence_mask(math.maximum(lengths, 1), array.shape(potentials)[1], dtypes.int32)
    return array.transpose(tags) * mask, reduce_max(best[-1], 1)


__all__ = ["crf_binary_score", "crf_decode", "crf_forward", "crf_log_likelihood", "crf_log_norm", "crf_sequence_score",
           "crf_unary_score", "viterbi_decode"]
