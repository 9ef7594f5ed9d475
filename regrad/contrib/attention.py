"""Attention of a cell to a memory: Bahdanau et al. 2015 (arXiv:1409.0473) and Luong et al. 2015 (arXiv:1508.04025)."""

import collections
import math as numbers

import numpy as np

from regrad.core import nest
from regrad.core.convert import constant, convert_to_tensor
from regrad.core.dtypes import int32
from regrad.core.graph import get_default_graph
from regrad.core.shapes import TensorShape
from regrad.core.shown import Shown
from regrad.layers.core import Dense
from regrad.nn.rnn_cell import RNNCell
from regrad.ops import array, math, nn
from regrad.ops.compare import where_v2
from regrad.ops.indexing import one_hot, sequence_mask
from regrad.ops.matmul import matmul
from regrad.ops.reduce import argmax, reduce_sum
from regrad.ops.tensor_array import TensorArray
from regrad.variables.initializers import constant_initializer, zeros_initializer
from regrad.variables.scope import get_variable, variable_scope


def hardmax(logits, name=None):
    """Returns 1 at the largest element along the last axis, 0 elsewhere."""
    with get_default_graph().name_scope(name or "Hardmax"):
        logits = convert_to_tensor(logits, name="logits")
        return one_hot(argmax(logits, -1), array.shape(logits)[-1], dtype=logits.dtype)


class AttentionMechanism(Shown):
    """Base class: scores of a query against a memory. A subclass gives `_score(query)`, [batch, time of the memory].

    Attributes:
      values: the memory, 0 after the end of each sequence; `keys`: what queries are compared with.
    """

    def __init__(self, query_layer, memory_layer, memory, memory_sequence_length, probability_fn, score_mask_value, name):
        with get_default_graph().name_scope(name or "BaseAttentionMechanism"):
            memory = nest.map_structure(convert_to_tensor, memory)
            self._mask = None
            if memory_sequence_length is not None:
                self._mask = sequence_mask(memory_sequence_length, array.shape(memory)[1])
                mask = math.cast(self._mask, memory.dtype)
                for _ in range(len(memory.dims) - 2):
                    mask = array.expand_dims(mask, -1)
                memory *= mask
            self.values = memory
            self.query_layer, self.memory_layer = query_layer, memory_layer
            self.keys = memory if memory_layer is None else memory_layer(memory)
            self._probability_fn, self._score_mask_value = probability_fn or nn.softmax, score_mask_value

    batch_size = property(lambda self: self.keys.dims[0] or array.shape(self.keys)[0])
    alignments_size = property(lambda self: self.keys.dims[1] or array.shape(self.keys)[1])
    state_size = alignments_size

    def initial_alignments(self, batch_size, dtype):
        """Returns zeros [batch, time]."""
        zeros = array.zeros(array.stack([batch_size, self.alignments_size]), dtype)
        zeros.set_shape([None, self.keys.dims[1]])
        return zeros

    def initial_state(self, batch_size, dtype):
        """Returns the first state of the attention: its alignments."""
        return self.initial_alignments(batch_size, dtype)

    def _score(self, query):
        raise NotImplementedError(f"{type(self).__name__} must give _score.")

    def _biased(self, score):
        """Returns the scores with what a kind of attention adds, made in the variable scope of the score."""
        return score

    def __call__(self, query, state):
        """Returns (alignments [batch, time], next state)."""
        score = self._score(query)
        if self._mask is not None:
            masked = -np.inf if self._score_mask_value is None else self._score_mask_value
            score = where_v2(self._mask, score, convert_to_tensor(masked, dtype=score.dtype))
        alignments = self._probability_fn(score)
        return alignments, alignments


class BahdanauAttention(AttentionMechanism):
    """Additive attention: v . tanh(W query + U memory).

    Args:
      num_units: size of the queries and keys.
      memory: [batch, time, size], and memory_sequence_length, int [batch], its lengths.
      normalize: v is g v / |v|, and a bias is added (Salimans and Kingma 2016).
      probability_fn: from scores to alignments; softmax by default.
      score_mask_value: the score after a sequence's end; minus infinity by default.
      dtype: of the layers.
    """

    def __init__(self, num_units, memory, memory_sequence_length=None, normalize=False, probability_fn=None,
                 score_mask_value=None, dtype=None, name="BahdanauAttention"):
        super().__init__(Dense(num_units, name="query_layer", use_bias=False, dtype=dtype),
                         Dense(num_units, name="memory_layer", use_bias=False, dtype=dtype), memory, memory_sequence_length,
                         probability_fn, score_mask_value, name)
        self._num_units, self._normalize = num_units, normalize

    _scope = "bahdanau_attention"

    def _score(self, query):
        with variable_scope(None, self._scope, [query]):
            query = array.expand_dims(self.query_layer(query), 1)
            v = get_variable("attention_v", [self._num_units], dtype=query.dtype)
            if not self._normalize:
                return self._biased(reduce_sum(v * math.tanh(self.keys + query), [2]))
            g = get_variable("attention_g", shape=(), dtype=query.dtype,
                             initializer=constant_initializer(numbers.sqrt(1.0 / self._num_units)))
            b = get_variable("attention_b", [self._num_units], dtype=query.dtype, initializer=zeros_initializer())
            scaled = g * v * math.rsqrt(reduce_sum(math.square(v)))
            return self._biased(reduce_sum(scaled * math.tanh(self.keys + query + b), [2]))


class LuongAttention(AttentionMechanism):
    """Multiplicative attention: query . U memory.

    Args:
      num_units: size of the queries and keys.
      scale: multiply by a variable that starts at 1.
      The rest as for BahdanauAttention.
    """

    def __init__(self, num_units, memory, memory_sequence_length=None, scale=False, probability_fn=None,
                 score_mask_value=None, dtype=None, name="LuongAttention"):
        super().__init__(None, Dense(num_units, name="memory_layer", use_bias=False, dtype=dtype), memory,
                         memory_sequence_length, probability_fn, score_mask_value, name)
        self._num_units, self._scale = num_units, scale

    _scope = "luong_attention"

    def _score(self, query):
        if query.dims[-1] != self._num_units:
            raise ValueError(f"LuongAttention: the query {query.shape} must have as many units as the keys, {self._num_units}.")
        with variable_scope(None, self._scope, [query]):
            score = matmul(array.expand_dims(query, 1), self.keys, transpose_b=True)[:, 0]
            if self._scale:
                score *= get_variable("attention_g", shape=(), dtype=query.dtype, initializer=constant_initializer(1.0))
            return self._biased(score)


class AttentionWrapperState(collections.namedtuple("AttentionWrapperState", [
        "cell_state", "attention", "time", "alignments", "alignment_history", "attention_state"])):
    """The state of an AttentionWrapper; `alignment_history` is a TensorArray or ()."""

    __slots__ = ()

    def clone(self, **kwargs):
        """Returns a state some parts of which are others: `state.clone(cell_state=encoder_state)`."""
        if "cell_state" in kwargs:
            nest.assert_same_structure(self.cell_state, kwargs["cell_state"])
        return self._replace(**kwargs)


class AttentionWrapper(RNNCell):
    """A cell that attends to a memory: its output and the memory's weighted mean make the attention, also its next input.

    Args:
      cell: an RNNCell.
      attention_mechanism: an AttentionMechanism, or a list.
      attention_layer_size: size of a layer over [cell output, context] (a list where there are several mechanisms); without
        one the attention is the context.
      alignment_history: keep the alignments of all steps, in a TensorArray.
      cell_input_fn: from (inputs, attention) to the cell's inputs; by default both joined.
      output_attention: put out the attention, else the cell's output.
      initial_cell_state: the cell's state in `zero_state`.
      attention_layer: a layer, or a list, in place of `attention_layer_size`.
    """

    def __init__(self, cell, attention_mechanism, attention_layer_size=None, alignment_history=False, cell_input_fn=None,
                 output_attention=True, initial_cell_state=None, name=None, attention_layer=None):
        super().__init__(name=name)
        self._many = isinstance(attention_mechanism, (list, tuple))
        self._mechanisms = tuple(attention_mechanism) if self._many else (attention_mechanism,)
        for mechanism in self._mechanisms:
            if not isinstance(mechanism, AttentionMechanism):
                raise TypeError(f"attention_mechanism must contain only instances of AttentionMechanism, saw {mechanism!r}")
        if attention_layer_size is not None and attention_layer is not None:
            raise ValueError("Only one of attention_layer_size and attention_layer should be set")
        sizes = attention_layer if attention_layer_size is None else attention_layer_size
        if sizes is None:
            self._layers = (None,) * len(self._mechanisms)
        else:
            sizes = tuple(sizes) if isinstance(sizes, (list, tuple)) else (sizes,)
            self._layers = tuple(s if callable(s) else Dense(s, name="attention_layer", use_bias=False) for s in sizes)
        if len(self._layers) != len(self._mechanisms):
            raise ValueError(f"{len(self._layers)} attention layers do not fit {len(self._mechanisms)} attention mechanisms.")
        self._attention_size = sum(
            m.values.dims[-1] if layer is None
            else layer.compute_output_shape(TensorShape([None, cell.output_size + m.values.dims[-1]])).dims_[-1]
            for layer, m in zip(self._layers, self._mechanisms))
        self._cell, self._alignment_history = cell, alignment_history
        self._cell_input_fn = cell_input_fn or (lambda inputs, attention: array.concat([inputs, attention], -1))
        self._output_attention, self._initial_cell_state = output_attention, initial_cell_state

    def _one(self, parts):
        return tuple(parts) if self._many else parts[0]

    def _each(self, parts):
        return parts if self._many else (parts,)

    output_size = property(lambda self: self._attention_size if self._output_attention else self._cell.output_size)

    @property
    def state_size(self):
        sizes = self._one([m.alignments_size for m in self._mechanisms])
        return AttentionWrapperState(self._cell.state_size, self._attention_size, TensorShape([]), sizes,
                                     self._one([()] * len(self._mechanisms)), sizes)

    def zero_state(self, batch_size, dtype):
        """Returns the first state: nothing attended to, and the cell's zeros (or `initial_cell_state`)."""
        with get_default_graph().name_scope(type(self).__name__ + "ZeroState"):
            state = self._cell.zero_state(batch_size, dtype) if self._initial_cell_state is None else self._initial_cell_state
            attention = array.zeros(array.stack([batch_size, self._attention_size]), dtype)
            attention.set_shape([None, self._attention_size])
            history = [TensorArray(dtype, size=0, dynamic_size=True, element_shape=[None, m.keys.dims[1]])
                       if self._alignment_history else () for m in self._mechanisms]
            return AttentionWrapperState(
                state, attention, constant(0, int32),
                self._one([m.initial_alignments(batch_size, dtype) for m in self._mechanisms]), self._one(history),
                self._one([m.initial_state(batch_size, dtype) for m in self._mechanisms]))

    def call(self, inputs, state):
        if not isinstance(state, AttentionWrapperState):
            raise TypeError(f"Expected state to be instance of AttentionWrapperState. Received type {type(state)} instead.")
        output, cell_state = self._cell(self._cell_input_fn(inputs, state.attention), state.cell_state)
        attentions, alignments, states, histories = [], [], [], []
        for mechanism, layer, before, history in zip(self._mechanisms, self._layers, self._each(state.attention_state),
                                                     self._each(state.alignment_history)):
            weights, after = mechanism(output, state=before)
            context = matmul(array.expand_dims(weights, 1), mechanism.values)[:, 0]
            attentions.append(context if layer is None else layer(array.concat([output, context], 1)))
            alignments.append(weights)
            states.append(after)
            histories.append(history.write(state.time, weights) if self._alignment_history else ())
        attention = array.concat(attentions, 1)
        new = AttentionWrapperState(cell_state, attention, state.time + 1, self._one(alignments), self._one(histories),
                                    self._one(states))
        return (attention if self._output_attention else output), new
