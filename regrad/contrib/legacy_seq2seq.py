"""`tf.contrib.legacy_seq2seq`: sequences as lists of tensors, one per time step.

Arguments that the models have: `encoder_inputs`, `decoder_inputs`, lists of int [batch] (of [batch, size] where there is no
embedding); `cell`, an RNNCell, of which the encoder gets a copy unless they are tied; `num_..._symbols` and `embedding_size`,
shapes of embeddings; `output_projection`, (weights [cell's output, symbols], biases) that the program applies to outputs
itself, or None: outputs are logits; `feed_previous`, True: the likeliest symbol of each step is the next input, and only the
first of the inputs is used, False, or a bool tensor that says so when run; `dtype`, of the first state. All return (list of
outputs, last state).

Arguments that the losses have: `logits`, list of [batch, classes]; `targets`, list of int [batch]; `weights`, list of
floating [batch].
"""

import copy

from regrad.contrib.cells import EmbeddingWrapper, Linear, OutputProjectionWrapper
from regrad.core import nest
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import float32
from regrad.core.graph import get_default_graph
from regrad.nn.embedding import embedding_lookup
from regrad.nn.functions import xw_plus_b
from regrad.nn.rnn import static_rnn
from regrad.nn.rnn_cell import RNNCell
from regrad.ops import array, conv, math, nn
from regrad.ops.flow import cond
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


def _likeliest(embedding, output_projection, update_embedding):
    """Returns the function of `rnn_decoder` that feeds the embedding of the likeliest symbol."""

    def feed(output, _):
        if output_projection is not None:
            output = xw_plus_b(output, *output_projection)
        fed = embedding_lookup(embedding, argmax(output, 1))
        return fed if update_embedding else array.stop_gradient(fed)

    return feed


def _check_projection(output_projection, num_symbols):
    """Raises ValueError for weights or biases that do not give `num_symbols` numbers."""
    if output_projection is not None:
        weights, biases = (convert_to_tensor(t) for t in output_projection)
        weights.shape.assert_is_compatible_with([None, num_symbols])
        biases.shape.assert_is_compatible_with([num_symbols])


def _fed_or_not(feed_previous, decode, state):
    """Returns `decode(feed_previous)`: (outputs, last state like `state`); where it is a tensor, it chooses when run."""
    if isinstance(feed_previous, bool):
        return decode(feed_previous)

    def branch(fed):
        with variable_scope(get_variable_scope(), reuse=None if fed else True):
            outputs, last = decode(fed)
        return [*outputs, *nest.flatten(last)]

    found = cond(feed_previous, lambda: branch(True), lambda: branch(False))
    n = len(found) - len(nest.flatten(state))
    return found[:n], nest.pack_sequence_as(state, found[n:])


# -- without attention ---------------------------------------------------------------------------------------


def embedding_rnn_decoder(decoder_inputs, initial_state, cell, num_symbols, embedding_size, output_projection=None,
                          feed_previous=False, update_embedding_for_previous=True, scope=None):
    """As `rnn_decoder`, for int inputs, which an embedding makes vectors of; `feed_previous` is a bool.

    Args:
      num_symbols, embedding_size: shape of the variable "embedding".
      update_embedding_for_previous: gradients flow into the embedding of what is fed so.
    """
    with variable_scope(scope or "embedding_rnn_decoder"):
        _check_projection(output_projection, num_symbols)
        embedding = get_variable("embedding", [num_symbols, embedding_size])
        feed = _likeliest(embedding, output_projection, update_embedding_for_previous) if feed_previous else None
        return rnn_decoder([embedding_lookup(embedding, i) for i in decoder_inputs], initial_state, cell, feed)


def basic_rnn_seq2seq(encoder_inputs, decoder_inputs, cell, dtype=float32, scope=None):
    """An encoder, and a decoder that begins with its last state; both read vectors."""
    with variable_scope(scope or "basic_rnn_seq2seq"):
        _, state = static_rnn(copy.deepcopy(cell), encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, cell)


def tied_rnn_seq2seq(encoder_inputs, decoder_inputs, cell, loop_function=None, dtype=float32, scope=None):
    """As `basic_rnn_seq2seq`, with one cell, and `loop_function` as for `rnn_decoder`."""
    with variable_scope("combined_tied_rnn_seq2seq"):
        scope = scope or "tied_rnn_seq2seq"
        _, state = static_rnn(cell, encoder_inputs, dtype=dtype, scope=scope)
        get_variable_scope().reuse_variables()
        return rnn_decoder(decoder_inputs, state, cell, loop_function, scope)


def _encoded(inputs, cell, num_symbols, embedding_size, dtype):
    encoder = EmbeddingWrapper(cell, embedding_classes=num_symbols, embedding_size=embedding_size)
    return static_rnn(encoder, inputs, dtype=dtype)


def embedding_rnn_seq2seq(encoder_inputs, decoder_inputs, cell, num_encoder_symbols, num_decoder_symbols, embedding_size,
                          output_projection=None, feed_previous=False, dtype=None, scope=None):
    """As `basic_rnn_seq2seq`, for symbols: each side has an embedding."""
    with variable_scope(scope or "embedding_rnn_seq2seq") as scope:
        if dtype is not None:
            scope.set_dtype(dtype)
        _, state = _encoded(encoder_inputs, copy.deepcopy(cell), num_encoder_symbols, embedding_size, scope.dtype)
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)
        return _fed_or_not(feed_previous, lambda fed: embedding_rnn_decoder(
            decoder_inputs, state, cell, num_decoder_symbols, embedding_size, output_projection, fed,
            update_embedding_for_previous=isinstance(feed_previous, bool)), state)


def embedding_tied_rnn_seq2seq(encoder_inputs, decoder_inputs, cell, num_symbols, embedding_size, num_decoder_symbols=None,
                               output_projection=None, feed_previous=False, dtype=None, scope=None):
    """As `tied_rnn_seq2seq`, for symbols: both sides share one embedding.

    Args:
      num_decoder_symbols: logits are of so many symbols, the first ones; of all by default.
    """
    with variable_scope(scope or "embedding_tied_rnn_seq2seq", dtype=dtype) as scope:
        dtype = scope.dtype
        _check_projection(output_projection, num_symbols)
        embedding = get_variable("embedding", [num_symbols, embedding_size], dtype=dtype)
        inputs, further = ([embedding_lookup(embedding, i) for i in given] for given in (encoder_inputs, decoder_inputs))
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_symbols if num_decoder_symbols is None else num_decoder_symbols)

        def decode(fed):
            feed = _likeliest(embedding, output_projection, isinstance(feed_previous, bool)) if fed else None
            return tied_rnn_seq2seq(inputs, further, cell, feed, dtype)

        return _fed_or_not(feed_previous, decode, cell.state_size)


def one2many_rnn_seq2seq(encoder_inputs, decoder_inputs_dict, enc_cell, dec_cells_dict, num_encoder_symbols,
                         num_decoder_symbols_dict, embedding_size, feed_previous=False, dtype=None, scope=None):
    """One encoder and several decoders: returns ({name: list of outputs}, {name: last state}).

    Args:
      decoder_inputs_dict, dec_cells_dict, num_decoder_symbols_dict: by the names of the decoders.

    Raises:
      TypeError: a cell is no RNNCell.
      ValueError: cells and inputs have different names.
    """
    for cell in (enc_cell, *dec_cells_dict.values()):
        if not isinstance(cell, RNNCell):
            raise TypeError(f"one2many_rnn_seq2seq: enc_cell and the cells of dec_cells_dict must be RNNCells, got {cell!r}.")
    if set(dec_cells_dict) != set(decoder_inputs_dict):
        raise ValueError(f"keys of dec_cells_dict, {sorted(dec_cells_dict)}, != keys of decoder_inputs_dict, "
                         f"{sorted(decoder_inputs_dict)}")
    outputs, states = {}, {}
    with variable_scope(scope or "one2many_rnn_seq2seq", dtype=dtype) as scope:
        _, state = _encoded(encoder_inputs, enc_cell, num_encoder_symbols, embedding_size, scope.dtype)
        for name, inputs in decoder_inputs_dict.items():
            symbols = num_decoder_symbols_dict[name]
            with variable_scope(f"one2many_decoder_{name}"):
                cell = OutputProjectionWrapper(dec_cells_dict[name], symbols)
                outputs[name], states[name] = _fed_or_not(feed_previous, lambda fed: embedding_rnn_decoder(
                    inputs, state, cell, symbols, embedding_size, feed_previous=fed), state)  # noqa: B023 - called at once
    return outputs, states


# -- with attention --------------------------------------------------------------------------------------------


def attention_decoder(decoder_inputs, initial_state, attention_states, cell, output_size=None, num_heads=1, loop_function=None,
                      dtype=None, scope=None, initial_state_attention=False):
    """As `rnn_decoder`, looking at further states each step: Vinyals et al. 2015, "Grammar as a foreign language".

    Args:
      decoder_inputs: list of [batch, size].
      attention_states: [batch, states, size]: what is looked at, such as all outputs of an encoder.
      output_size: size of the outputs, the cell's by default.
      num_heads: how many looks each step takes, each with weights of its own.
      loop_function: as for `rnn_decoder`.
      initial_state_attention: look at the states before the first step; else the first step sees zeros.

    Raises:
      ValueError: no inputs, no heads, or sizes that are not known.
    """
    if not decoder_inputs:
        raise ValueError("Must provide at least 1 input to attention decoder.")
    if num_heads < 1:
        raise ValueError("With less than 1 heads, use a non-attention decoder.")
    size = attention_states.shape.as_list()[2]
    if size is None:
        raise ValueError(f"Shape[2] of attention_states must be known: {attention_states.shape}")
    with variable_scope(scope or "attention_decoder", dtype=dtype) as scope:
        dtype = scope.dtype
        length = attention_states.dims[1] if attention_states.dims[1] is not None else array.shape(attention_states)[1]
        hidden = array.reshape(attention_states, array.stack([-1, length, 1, size]))
        keys, scales = [], []
        for head in range(num_heads):
            weights = get_variable(f"AttnW_{head}", [1, 1, size, size], dtype=dtype)
            keys.append(conv.conv2d(hidden, weights, [1, 1, 1, 1], "SAME"))
            scales.append(get_variable(f"AttnV_{head}", [size], dtype=dtype))

        def look(state):
            """Returns what each head sees, [batch, size], with a state of the cell as the question."""
            query = array.concat(nest.flatten(state), 1) if nest.is_sequence(state) else state
            seen = []
            for head in range(num_heads):
                with variable_scope(f"Attention_{head}"):
                    y = math.cast(array.reshape(Linear(query, size, True)(query), [-1, 1, 1, size]), dtype)
                    scores = reduce_sum(scales[head] * math.tanh(keys[head] + y), [2, 3])
                    shares = math.cast(nn.softmax(math.cast(scores, float32)), dtype)
                    shares = array.reshape(shares, array.stack([-1, length, 1, 1]))
                    seen.append(array.reshape(reduce_sum(shares * hidden, [1, 2]), [-1, size]))
            return seen

        state, outputs = initial_state, []
        zeros = array.zeros(array.stack([array.shape(decoder_inputs[0])[0], size]), dtype)
        zeros.set_shape([None, size])
        seen = look(state) if initial_state_attention else [zeros] * num_heads
        for i, x in enumerate(decoder_inputs):
            if i > 0:
                get_variable_scope().reuse_variables()
                if loop_function is not None:
                    with variable_scope("loop_function", reuse=True):
                        x = loop_function(outputs[-1], i)
            width = x.shape.with_rank(2).as_list()[1]
            if width is None:
                raise ValueError(f"Could not infer input size from input: {x.name}")
            inputs = [math.cast(t, dtype) for t in (x, *seen)]
            output, state = cell(Linear(inputs, width, True)(inputs), state)
            with variable_scope(get_variable_scope(), reuse=True if i == 0 and initial_state_attention else None):
                seen = look(state)
            with variable_scope("AttnOutputProjection"):
                inputs = [math.cast(output, dtype), *seen]
                outputs.append(Linear(inputs, cell.output_size if output_size is None else output_size, True)(inputs))
        return outputs, state


def embedding_attention_decoder(decoder_inputs, initial_state, attention_states, cell, num_symbols, embedding_size, num_heads=1,
                                output_size=None, output_projection=None, feed_previous=False,
                                update_embedding_for_previous=True, dtype=None, scope=None, initial_state_attention=False):
    """As `attention_decoder`, for int inputs; further arguments as for `embedding_rnn_decoder`."""
    with variable_scope(scope or "embedding_attention_decoder", dtype=dtype):
        if output_projection is not None:
            convert_to_tensor(output_projection[1]).shape.assert_is_compatible_with([num_symbols])
        embedding = get_variable("embedding", [num_symbols, embedding_size])
        feed = _likeliest(embedding, output_projection, update_embedding_for_previous) if feed_previous else None
        inputs = [embedding_lookup(embedding, i) for i in decoder_inputs]
        return attention_decoder(inputs, initial_state, attention_states, cell, output_size, num_heads, feed,
                                 initial_state_attention=initial_state_attention)


def embedding_attention_seq2seq(encoder_inputs, decoder_inputs, cell, num_encoder_symbols, num_decoder_symbols, embedding_size,
                                num_heads=1, output_projection=None, feed_previous=False, dtype=None, scope=None,
                                initial_state_attention=False):
    """As `embedding_rnn_seq2seq`, with a decoder that looks at all outputs of the encoder; see `attention_decoder`."""
    with variable_scope(scope or "embedding_attention_seq2seq", dtype=dtype) as scope:
        outputs, state = _encoded(encoder_inputs, copy.deepcopy(cell), num_encoder_symbols, embedding_size, scope.dtype)
        looked_at = array.concat([array.reshape(y, [-1, 1, cell.output_size]) for y in outputs], 1)
        output_size = None
        if output_projection is None:
            cell, output_size = OutputProjectionWrapper(cell, num_decoder_symbols), num_decoder_symbols
        return _fed_or_not(feed_previous, lambda fed: embedding_attention_decoder(
            decoder_inputs, state, looked_at, cell, num_decoder_symbols, embedding_size, num_heads, output_size,
            output_projection, fed, update_embedding_for_previous=isinstance(feed_previous, bool),
            initial_state_attention=initial_state_attention), state)


# -- losses ------------------------------------------------------------------------------------------------------


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


def model_with_buckets(encoder_inputs, decoder_inputs, targets, weights, buckets, seq2seq, softmax_loss_function=None,
                       per_example_loss=False, name=None):
    """Returns (outputs, losses), a list of each, of one model for several pairs of lengths, which shares its variables.

    Args:
      encoder_inputs, decoder_inputs, targets, weights: lists as long as the largest bucket.
      buckets: list of (encoder's length, decoder's length).
      seq2seq: function of the two lists of inputs, cut to a bucket, to (outputs, state).
      per_example_loss: losses are of `sequence_loss_by_example`, else of `sequence_loss`.

    Raises:
      ValueError: a list is shorter than the last bucket.
    """
    for what, given, needed in (("encoder_inputs", encoder_inputs, buckets[-1][0]), ("targets", targets, buckets[-1][1]),
                                ("weights", weights, buckets[-1][1])):
        if len(given) < needed:
            raise ValueError(f"Length of {what} ({len(given)}) must be at least that of last bucket ({needed}).")
    outputs, losses = [], []
    with get_default_graph().name_scope(name or "model_with_buckets"):
        for i, (n, m) in enumerate(buckets):
            with variable_scope(get_variable_scope(), reuse=True if i else None):
                made, _ = seq2seq(encoder_inputs[:n], decoder_inputs[:m])
            loss = sequence_loss_by_example if per_example_loss else sequence_loss
            outputs.append(made)
            losses.append(loss(made, targets[:m], weights[:m], softmax_loss_function=softmax_loss_function))
    return outputs, losses


__all__ = ["attention_decoder", "basic_rnn_seq2seq", "embedding_attention_decoder", "embedding_attention_seq2seq",
           "embedding_rnn_decoder", "embedding_rnn_seq2seq", "embedding_tied_rnn_seq2seq", "model_with_buckets",
           "one2many_rnn_seq2seq", "rnn_decoder", "sequence_loss", "sequence_loss_by_example", "tied_rnn_seq2seq"]
