"""Decoding step by step: what a decoder is, the loop over its steps, and where the next inputs come from."""

import collections

from regrad.core import dtypes, nest
from regrad.core.convert import constant, convert_to_tensor
from regrad.core.operation import Tensor
from regrad.core.shapes import TensorShape
from regrad.core.shown import Shown
from regrad.nn.embedding import embedding_lookup
from regrad.ops import array, math
from regrad.ops.compare import equal, greater_equal, logical_not, logical_or, where_v2
from regrad.ops.flow import cond, while_loop
from regrad.ops.random import multinomial, random_uniform
from regrad.ops.reduce import argmax, reduce_all
from regrad.ops.tensor_array import TensorArray
from regrad.variables.scope import variable_scope


class Decoder(Shown):
    """Base class: what `dynamic_decode` runs. A subclass gives all of these."""

    #: True: `step` says itself which sequences are finished; else whichever finished once stays so.
    tracks_own_finished = False

    @property
    def batch_size(self):
        """The number of sequences, an int32 scalar."""
        raise NotImplementedError(f"{type(self).__name__} must give batch_size.")

    @property
    def output_size(self):
        """Structure of the sizes of one step's outputs, without the batch."""
        raise NotImplementedError(f"{type(self).__name__} must give output_size.")

    @property
    def output_dtype(self):
        """Structure of their dtypes."""
        raise NotImplementedError(f"{type(self).__name__} must give output_dtype.")

    def initialize(self, name=None):
        """Returns (finished [batch], first inputs, first state)."""
        raise NotImplementedError(f"{type(self).__name__} must give initialize.")

    def step(self, time, inputs, state, name=None):
        """Returns (outputs, next state, next inputs, finished)."""
        raise NotImplementedError(f"{type(self).__name__} must give step.")

    def finalize(self, outputs, final_state, sequence_lengths):
        """Returns (final outputs, final state) made of all steps' outputs, time first."""
        return outputs, final_state


def _rows_where(condition, x, y):
    """Returns `x` in the rows where the vector `condition` holds, `y` elsewhere."""
    for _ in range(len(x.dims) - 1):
        condition = array.expand_dims(condition, -1)
    return where_v2(condition, x, y)


def _as_shape(size):
    return size if isinstance(size, TensorShape) else TensorShape(size if isinstance(size, (list, tuple)) else [size])


def dynamic_decode(decoder, output_time_major=False, impute_finished=False, maximum_iterations=None, parallel_iterations=32,
                   swap_memory=False, scope=None):
    """Runs a decoder until all its sequences are finished.

    Args:
      decoder: a Decoder.
      output_time_major: outputs have time first, in place of the batch.
      impute_finished: a finished sequence puts out zeros, and keeps its state.
      maximum_iterations: int32 scalar: stop after so many steps.
      parallel_iterations, swap_memory: accepted.
      scope: of variables; "decoder" by default.

    Returns:
      (outputs, last state, lengths of the sequences int32 [batch]).

    Raises:
      TypeError: `decoder` is none.
    """
    if not isinstance(decoder, Decoder):
        raise TypeError(f"Expected decoder to be type Decoder, but saw: {type(decoder)}")
    with variable_scope(scope or "decoder"):
        limit = None if maximum_iterations is None else convert_to_tensor(maximum_iterations, dtype=dtypes.int32)
        finished, inputs, state = decoder.initialize()
        sizes, types = nest.flatten(decoder.output_size), nest.flatten(decoder.output_dtype)
        targets = [TensorArray(t, size=0, dynamic_size=True) for t in types]
        lengths = array.zeros_like(finished, dtype=dtypes.int32)
        if limit is not None:
            finished = logical_or(finished, greater_equal(constant(0), limit))

        def turn(time, targets, state, inputs, finished, lengths):
            outputs, new, following, over = decoder.step(time, inputs, state)
            if not decoder.tracks_own_finished:
                over = logical_or(over, finished)
            lengths = where_v2(finished, lengths, time + 1 + array.zeros_like(lengths))
            if limit is not None:
                over = logical_or(over, greater_equal(time + 1, limit))
            nest.assert_same_structure(state, new)
            outputs = nest.flatten(outputs)
            if impute_finished:
                outputs = [_rows_where(finished, array.zeros_like(y), y) for y in outputs]
                new = nest.map_structure(lambda a, b: b if not isinstance(b, Tensor) or b.dims in (None, ())
                                         else _rows_where(finished, a, b), state, new)
            for a, b in zip(nest.flatten(state), nest.flatten(new)):
                if isinstance(b, Tensor):
                    b.set_shape(a.shape)
            targets = [a.write(time, y) for a, y in zip(targets, outputs)]
            return time + 1, targets, new, following, over, lengths

        _, targets, state, _, _, lengths = while_loop(
            lambda time, targets, state, inputs, finished, lengths: logical_not(reduce_all(finished)), turn,
            (constant(0, name="time"), targets, state, inputs, finished, lengths), parallel_iterations=parallel_iterations,
            swap_memory=swap_memory)
        stacked = []
        for a, size in zip(targets, sizes):
            y = a.stack()
            y.set_shape(TensorShape([None, finished.shape[0]]).concatenate(_as_shape(size)))
            stacked.append(y)
        outputs = nest.pack_sequence_as(decoder.output_dtype, stacked)
        try:
            outputs, state = decoder.finalize(outputs, state, lengths)
        except NotImplementedError:
            pass
        if not output_time_major:
            outputs = nest.map_structure(_batch_first, outputs)
        return outputs, state, lengths


def _batch_first(x):
    return array.transpose(x, [1, 0, *range(2, len(x.dims))])


class BasicDecoderOutput(collections.namedtuple("BasicDecoderOutput", ["rnn_output", "sample_id"])):
    """What a BasicDecoder puts out: `rnn_output` [batch, time, ...] and `sample_id` [batch, time]."""

    __slots__ = ()


class BasicDecoder(Decoder):
    """A cell whose next input a helper chooses.

    Args:
      cell: an RNNCell.
      helper: a Helper.
      initial_state: the cell's first state.
      output_layer: a layer (`tf.layers.Dense`) applied to the cell's outputs.
    """

    def __init__(self, cell, helper, initial_state, output_layer=None):
        self._cell, self._helper, self._initial_state, self._output_layer = cell, helper, initial_state, output_layer

    batch_size = property(lambda self: self._helper.batch_size)

    @property
    def output_size(self):
        size = self._cell.output_size
        if self._output_layer is not None:
            size = self._output_layer.compute_output_shape(TensorShape([None]).concatenate(_as_shape(size)))[1:]
        return BasicDecoderOutput(rnn_output=size, sample_id=self._helper.sample_ids_shape)

    @property
    def output_dtype(self):
        dtype = nest.flatten(self._initial_state)[0].dtype
        return BasicDecoderOutput(rnn_output=nest.map_structure(lambda _: dtype, _size_structure(self._cell.output_size)),
                                  sample_id=self._helper.sample_ids_dtype)

    def initialize(self, name=None):
        return (*self._helper.initialize(), self._initial_state)

    def step(self, time, inputs, state, name=None):
        outputs, state = self._cell(inputs, state)
        if self._output_layer is not None:
            outputs = self._output_layer(outputs)
        sample_ids = self._helper.sample(time=time, outputs=outputs, state=state)
        finished, following, state = self._helper.next_inputs(time=time, outputs=outputs, state=state, sample_ids=sample_ids)
        return BasicDecoderOutput(outputs, sample_ids), state, following, finished


def _size_structure(size):
    return 0 if isinstance(size, TensorShape) else size


# -- helpers ----------------------------------------------------------------------------------------------
class Helper(Shown):
    """Base class: where a decoder's inputs come from. A subclass gives all of these."""

    sample_ids_shape = TensorShape([])
    sample_ids_dtype = dtypes.int32

    @property
    def batch_size(self):
        """The number of sequences, an int32 scalar."""
        raise NotImplementedError("batch_size has not been implemented")

    def initialize(self, name=None):
        """Returns (finished [batch], first inputs)."""
        raise NotImplementedError("initialize has not been implemented")

    def sample(self, time, outputs, state, name=None):
        """Returns the sample of a step's outputs."""
        raise NotImplementedError("sample has not been implemented")

    def next_inputs(self, time, outputs, state, sample_ids, name=None):
        """Returns (finished [batch], next inputs, state)."""
        raise NotImplementedError("next_inputs has not been implemented")


class CustomHelper(Helper):
    """A helper of three functions: the methods of Helper.

    Args:
      initialize_fn, sample_fn, next_inputs_fn: () -> (finished, inputs); (time, outputs, state) -> ids;
        (time, outputs, state, sample_ids) -> (finished, inputs, state).
      sample_ids_shape, sample_ids_dtype: of the ids, without the batch; scalars of int32 by default.
    """

    def __init__(self, initialize_fn, sample_fn, next_inputs_fn, sample_ids_shape=None, sample_ids_dtype=None):
        self._initialize_fn, self._sample_fn, self._next_inputs_fn = initialize_fn, sample_fn, next_inputs_fn
        self.sample_ids_shape = TensorShape(sample_ids_shape or [])
        self.sample_ids_dtype = sample_ids_dtype or dtypes.int32
        self._batch_size = None

    @property
    def batch_size(self):
        if self._batch_size is None:
            raise ValueError("batch_size accessed before initialize was called")
        return self._batch_size

    def initialize(self, name=None):
        finished, inputs = self._initialize_fn()
        self._batch_size = array.size(finished)
        return finished, inputs

    def sample(self, time, outputs, state, name=None):
        return self._sample_fn(time=time, outputs=outputs, state=state)

    def next_inputs(self, time, outputs, state, sample_ids, name=None):
        return self._next_inputs_fn(time=time, outputs=outputs, state=state, sample_ids=sample_ids)


def _argmax(outputs):
    return math.cast(argmax(outputs, axis=-1), dtypes.int32)


class TrainingHelper(Helper):
    """The inputs are given.

    Args:
      inputs: [batch, time, ...] or a structure of such; time first if `time_major`.
      sequence_length: int32 [batch].
    """

    def __init__(self, inputs, sequence_length, time_major=False, name=None):
        inputs = nest.map_structure(convert_to_tensor, inputs)
        self._inputs = inputs if time_major else nest.map_structure(_batch_first, inputs)
        self._arrays = nest.map_structure(
            lambda x: TensorArray(x.dtype, size=array.shape(x)[0], element_shape=x.shape[1:]).unstack(x), self._inputs)
        self._lengths = convert_to_tensor(sequence_length, name="sequence_length")
        if self._lengths.rank != 1:
            raise ValueError(f"Expected sequence_length to be a vector, but received shape: {self._lengths.shape}")
        self._zeros = nest.map_structure(lambda x: array.zeros_like(x[0]), self._inputs)

    inputs = property(lambda self: self._inputs)
    sequence_length = property(lambda self: self._lengths)
    batch_size = property(lambda self: array.size(self._lengths))

    def _at(self, time, finished):
        """Returns the inputs of a time step; zeros when all sequences are over, where there are none."""
        arrays = nest.flatten(self._arrays)
        read = cond(reduce_all(finished), lambda: nest.flatten(self._zeros), lambda: [a.read(time) for a in arrays])
        read = read if isinstance(read, list) else [read]
        for x, zero in zip(read, nest.flatten(self._zeros)):
            x.set_shape(zero.shape)
        return nest.pack_sequence_as(self._zeros, read)

    def initialize(self, name=None):
        finished = equal(array.zeros_like(self._lengths), self._lengths)
        return finished, self._at(0, finished)

    def sample(self, time, outputs, state, name=None):
        return _argmax(outputs)

    def next_inputs(self, time, outputs, state, name=None, sample_ids=None):
        finished = greater_equal(math.cast(time + 1, self._lengths.dtype), self._lengths)
        return finished, self._at(time + 1, finished), state


class ScheduledEmbeddingTrainingHelper(TrainingHelper):
    """The inputs are given, but with some probability the embedding of what was sampled takes their place.

    Args:
      inputs, sequence_length, time_major: as for TrainingHelper.
      embedding: a matrix, or a function of ids.
      sampling_probability: float32 scalar.
      seed, scheduling_seed: op seeds of the samples and of the choice.
    """

    def __init__(self, inputs, sequence_length, embedding, sampling_probability, time_major=False, seed=None,
                 scheduling_seed=None, name=None):
        super().__init__(inputs, sequence_length, time_major)
        self._embed = embedding_function(embedding)
        self._probability = convert_to_tensor(sampling_probability, name="sampling_probability")
        self._seed, self._scheduling_seed = seed, scheduling_seed

    def initialize(self, name=None):
        return super().initialize()

    def sample(self, time, outputs, state, name=None):
        chosen = random_uniform(array.shape(outputs)[:1], seed=self._scheduling_seed) < self._probability
        drawn = array.reshape(multinomial(outputs, 1, seed=self._seed, output_dtype=dtypes.int32), [-1])
        return where_v2(chosen, drawn, array.zeros_like(drawn) - 1)

    def next_inputs(self, time, outputs, state, sample_ids, name=None):
        finished, given, state = super().next_inputs(time, outputs, state)
        sampled = sample_ids >= 0
        return finished, _rows_where(sampled, self._embed(math.maximum(sample_ids, 0)), given), state


def embedding_function(embedding):
    return embedding if callable(embedding) else lambda ids: embedding_lookup(embedding, ids)


def first_and_last(start_tokens, end_token):
    """Returns the tokens that begin and end sequences as tensors: a vector, one for each sequence, and a scalar."""
    start_tokens = convert_to_tensor(start_tokens, dtype=dtypes.int32, name="start_tokens")
    end_token = convert_to_tensor(end_token, dtype=dtypes.int32, name="end_token")
    if start_tokens.rank != 1:
        raise ValueError("start_tokens must be a vector")
    if end_token.rank != 0:
        raise ValueError("end_token must be a scalar")
    return start_tokens, end_token


class GreedyEmbeddingHelper(Helper):
    """The next input is the embedding of the likeliest id.

    Args:
      embedding: a matrix, or a function of ids.
      start_tokens: int32 [batch].
      end_token: int32 scalar, which ends a sequence.
    """

    def __init__(self, embedding, start_tokens, end_token):
        self._embed = embedding_function(embedding)
        self._start_tokens, self._end_token = first_and_last(start_tokens, end_token)

    batch_size = property(lambda self: array.size(self._start_tokens))

    def initialize(self, name=None):
        return equal(array.zeros_like(self._start_tokens), 1), self._embed(self._start_tokens)

    def sample(self, time, outputs, state, name=None):
        if not isinstance(outputs, Tensor):
            raise TypeError(f"Expected outputs to be a single Tensor, got: {type(outputs)}")
        return _argmax(outputs)

    def next_inputs(self, time, outputs, state, sample_ids, name=None):
        finished = equal(sample_ids, self._end_token)
        return finished, self._embed(sample_ids), state


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """The next input is the embedding of an id drawn from the outputs as logits.

    Args:
      embedding, start_tokens, end_token: as for GreedyEmbeddingHelper.
      softmax_temperature: the logits are divided by it; 1 by default.
      seed: op seed.
    """

    def __init__(self, embedding, start_tokens, end_token, softmax_temperature=None, seed=None):
        super().__init__(embedding, start_tokens, end_token)
        self._temperature, self._seed = softmax_temperature, seed

    def sample(self, time, outputs, state, name=None):
        logits = outputs if self._temperature is None else outputs / self._temperature
        return array.reshape(multinomial(logits, 1, seed=self._seed, output_dtype=dtypes.int32), [-1])


class InferenceHelper(Helper):
    """The next input is a function of the sample.

    Args:
      sample_fn: function of the outputs.
      sample_shape, sample_dtype: of what it returns, without the batch.
      start_inputs: the first inputs, [batch, ...].
      end_fn: function of the sample: which sequences are finished, bool [batch].
      next_inputs_fn: function of the sample; None where that is the input.
    """

    def __init__(self, sample_fn, sample_shape, sample_dtype, start_inputs, end_fn, next_inputs_fn=None):
        self._sample_fn, self._end_fn, self._next_inputs_fn = sample_fn, end_fn, next_inputs_fn
        self.sample_ids_shape, self.sample_ids_dtype = TensorShape(sample_shape), dtypes.as_dtype(sample_dtype)
        self._start_inputs = convert_to_tensor(start_inputs, name="start_inputs")

    batch_size = property(lambda self: array.shape(self._start_inputs)[0])

    def initialize(self, name=None):
        return array.zeros(array.shape(self._start_inputs)[:1], dtypes.bool_), self._start_inputs

    def sample(self, time, outputs, state, name=None):
        return self._sample_fn(outputs)

    def next_inputs(self, time, outputs, state, sample_ids, name=None):
        following = sample_ids if self._next_inputs_fn is None else self._next_inputs_fn(sample_ids)
        return self._end_fn(sample_ids), following, state
