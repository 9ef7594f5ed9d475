"""Beam search: the likeliest of several sequences that are decoded side by side."""

import collections

from regrad.contrib.decoding import Decoder, embedding_function, first_and_last
from regrad.core import dtypes, nest
from regrad.core.convert import convert_to_tensor
from regrad.core.operation import Tensor
from regrad.core.shapes import TensorShape
from regrad.ops import array, math, nn
from regrad.ops.compare import equal, less, logical_not, logical_or, where_v2
from regrad.ops.cumulative import cumsum
from regrad.ops.functional import scan
from regrad.ops.generate import range as range_
from regrad.ops.indexing import batch_gather, one_hot
from regrad.ops.layout import reverse, tile
from regrad.ops.reduce import reduce_max
from regrad.ops.sort import top_k

BeamSearchDecoderState = collections.namedtuple("BeamSearchDecoderState", ["cell_state", "log_probs", "finished", "lengths"])
BeamSearchDecoderOutput = collections.namedtuple("BeamSearchDecoderOutput", ["scores", "predicted_ids", "parent_ids"])
FinalBeamSearchDecoderOutput = collections.namedtuple("FinalBeamSearchDecoderOutput",
                                                      ["predicted_ids", "beam_search_decoder_output"])


def tile_batch(t, multiplier, name=None):
    """Returns each row of the tensors in `t` `multiplier` times, one after the other: [batch * multiplier, ...]."""

    def one(x):
        x = convert_to_tensor(x)
        if x.rank is None or x.rank < 1:
            raise ValueError("t must have statically known rank" if x.rank is None else "t must have a batch axis")
        wide = tile(array.expand_dims(x, 1), [1, multiplier, *[1] * (x.rank - 1)])
        out = array.reshape(wide, array.concat([[-1], array.shape(x)[1:]], 0))
        out.set_shape([None if x.dims[0] is None else x.dims[0] * multiplier, *x.dims[1:]])
        return out

    return nest.map_structure(one, t)


def gather_tree(step_ids, parent_ids, max_sequence_lengths, end_token):
    """Returns the sequences that end in each beam, int32 [time, batch, beams]: each id's parent says where it came from.

    Args:
      step_ids, parent_ids: int32 [time, batch, beams].
      max_sequence_lengths: int32 [batch]: what is after them, and after an end token, is `end_token`.
    """
    ids, parents = convert_to_tensor(step_ids), convert_to_tensor(parent_ids)
    lengths = array.expand_dims(convert_to_tensor(max_sequence_lengths), 1)
    shape = array.shape(ids)
    times = reverse(range_(shape[0]), [0])

    def back(state, row):
        beams, _ = state
        ids, parents, time = row
        inside = less(time, lengths)
        token = where_v2(inside, batch_gather(ids, beams), end_token + array.zeros_like(ids))
        return where_v2(inside, batch_gather(parents, beams), beams), token

    start = tile(array.expand_dims(range_(shape[2]), 0), array.stack([shape[1], 1]))
    _, tokens = scan(back, (reverse(ids, [0]), reverse(parents, [0]), times), initializer=(start, array.zeros_like(start)))
    tokens = reverse(tokens, [0])
    ended = cumsum(math.cast(equal(tokens, end_token), dtypes.int32), 0, exclusive=True) > 0
    out = where_v2(ended, end_token + array.zeros_like(tokens), tokens)
    out.set_shape(ids.shape)
    return out


class BeamSearchDecoder(Decoder):
    """Keeps the `beam_width` likeliest sequences at each step.

    Args:
      cell: an RNNCell, whose states have batch * beam_width rows (see `tile_batch`).
      embedding: a matrix, or a function of ids.
      start_tokens: int32 [batch]; `end_token`: int32 scalar.
      initial_state: the cell's, [batch * beam_width, ...].
      output_layer: a layer from the cell's outputs to logits.
      length_penalty_weight: scores are divided by ((5 + length) / 6)^weight (Wu et al. 2016).
      reorder_tensor_arrays: accepted; a TensorArray in the state keeps the order of its beams.
    """

    tracks_own_finished = True

    def __init__(self, cell, embedding, start_tokens, end_token, initial_state, beam_width, output_layer=None,
                 length_penalty_weight=0.0, coverage_penalty_weight=0.0, reorder_tensor_arrays=True):
        if coverage_penalty_weight:
            raise NotImplementedError("BeamSearchDecoder: coverage_penalty_weight is not offered.")
        self._cell, self._embed, self._output_layer = cell, embedding_function(embedding), output_layer
        self._start_tokens, self._end_token = first_and_last(start_tokens, end_token)
        self._beam_width, self._penalty = int(beam_width), length_penalty_weight
        self._batch = self._start_tokens.dims[0] or array.size(self._start_tokens)
        self._initial_state = nest.map_structure(self._split, initial_state)

    batch_size = property(lambda self: array.size(self._start_tokens))
    beam_width = property(lambda self: self._beam_width)

    @property
    def output_size(self):
        return BeamSearchDecoderOutput(*[TensorShape([self._beam_width])] * 3)

    @property
    def output_dtype(self):
        dtype = nest.flatten(self._initial_state)[0].dtype
        return BeamSearchDecoderOutput(scores=dtype, predicted_ids=dtypes.int32, parent_ids=dtypes.int32)

    def _split(self, x):
        """Returns rows [batch * beams, ...] as [batch, beams, ...]; scalars and arrays as they are."""
        if not isinstance(x, Tensor) or x.dims == ():
            return x
        out = array.reshape(x, array.concat([array.stack([self._batch, self._beam_width]), array.shape(x)[1:]], 0))
        out.set_shape([self._start_tokens.dims[0], self._beam_width, *x.dims[1:]])
        return out

    def _merge(self, x):
        if not isinstance(x, Tensor) or x.dims == ():
            return x
        out = array.reshape(x, array.concat([[-1], array.shape(x)[2:]], 0))
        out.set_shape([None if x.dims[0] is None else x.dims[0] * self._beam_width, *x.dims[2:]])
        return out

    def initialize(self, name=None):
        tokens = tile(array.expand_dims(self._start_tokens, 1), [1, self._beam_width])
        finished = array.zeros_like(tokens, dtype=dtypes.bool_)
        dtype = nest.flatten(self._initial_state)[0].dtype
        # All beams start alike: the first alone has a chance.
        log_probs = one_hot(array.zeros_like(self._start_tokens), self._beam_width, on_value=0.0, off_value=-float("inf"),
                            dtype=dtype)
        state = BeamSearchDecoderState(self._initial_state, log_probs, finished, array.zeros_like(tokens, dtype=dtypes.int64))
        return finished, self._embed(tokens), state

    def step(self, time, inputs, state, name=None):
        outputs, cell_state = self._cell(self._merge(inputs), nest.map_structure(self._merge, state.cell_state))
        if self._output_layer is not None:
            outputs = self._output_layer(outputs)
        logits, cell_state = self._split(outputs), nest.map_structure(self._split, cell_state)
        count = array.shape(logits)[2]
        # A finished beam goes on with nothing but end tokens, at no cost.
        nothing = one_hot(self._end_token, count, on_value=0.0, off_value=logits.dtype.min, dtype=logits.dtype)
        steps = where_v2(array.expand_dims(state.finished, 2), nothing, nn.log_softmax(logits))
        totals = array.expand_dims(state.log_probs, 2) + steps
        longer = 1 - one_hot(self._end_token, count, dtype=dtypes.int64)
        lengths = array.expand_dims(state.lengths, 2) + longer * array.expand_dims(
            math.cast(logical_not(state.finished), dtypes.int64), 2)
        scores = totals
        if self._penalty:
            scores = totals / ((5.0 + math.cast(lengths, totals.dtype)) / 6.0) ** self._penalty
        flat = array.stack([self._batch, self._beam_width * count])
        best, chosen = top_k(array.reshape(scores, flat), self._beam_width)
        words, beams = math.floormod(chosen, count), math.floordiv(chosen, count)
        finished = batch_gather(state.finished, beams)
        new = BeamSearchDecoderState(
            nest.map_structure(lambda x: batch_gather(x, beams) if isinstance(x, Tensor) and x.dims != () else x, cell_state),
            batch_gather(array.reshape(totals, flat), chosen), logical_or(finished, equal(words, self._end_token)),
            batch_gather(state.lengths, beams) + math.cast(logical_not(finished), dtypes.int64))
        return BeamSearchDecoderOutput(best, words, beams), new, self._embed(words), new.finished

    def finalize(self, outputs, final_state, sequence_lengths):
        longest = math.cast(reduce_max(final_state.lengths, 1), dtypes.int32)
        ids = gather_tree(outputs.predicted_ids, outputs.parent_ids, longest, self._end_token)
        return FinalBeamSearchDecoderOutput(ids, outputs), final_state
