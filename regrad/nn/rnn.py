"""Recurrent networks: a cell carried along sequences, by a loop (`dynamic_rnn`) or unrolled (`static_rnn`).

Time steps past a sequence's length put out zeros and pass its state on unchanged.
"""

from regrad.core import nest
from regrad.core.convert import constant, convert_to_tensor
from regrad.core.dtypes import as_dtype, bool_, int32, int64
from regrad.core.graph import get_default_graph
from regrad.core.opdef import spec_text
from regrad.core.operation import Tensor
from regrad.core.shapes import TensorShape, as_dims, compatible
from regrad.ops import array
from regrad.ops.compare import greater_equal, logical_not, logical_or, select
from regrad.ops.flow import while_loop
from regrad.ops.layout import reverse, reverse_sequence
from regrad.ops.math import cast
from regrad.ops.reduce import reduce_all
from regrad.ops.tensor_array import TensorArray
from regrad.variables.scope import variable_scope


def _transposed(x):
    """Returns `x` with its first two axes, batch and time, exchanged."""
    if x.dims is None:
        raise ValueError(f"Expected inputs of known rank (at least 2, batch and time), but saw {x!r}.")
    if len(x.dims) < 2:
        raise ValueError(f"Expected input tensor {x.name} to have rank at least 2, but saw shape: {x.shape}")
    return array.transpose(x, [1, 0, *range(2, len(x.dims))])


def _axis_size(tensors, axis):
    """Returns the size of an axis, an int where any of the tensors knows it statically, else a scalar tensor."""
    known = {t.dims[axis] for t in tensors if t.dims is not None} - {None}
    if len(known) > 1:
        raise ValueError(f"{'Time steps' if axis == 0 else 'Batch size'} is not the same for all the elements in the input "
                         f"in a batch: {sorted(known)}")
    return known.pop() if known else array.shape(tensors[0])[axis]


def _check_cell(cell, name="cell"):
    if isinstance(cell, type):
        raise TypeError(f"The argument {name!r} is the class {cell.__name__}; make a cell of it: {cell.__name__}(units).")
    if not callable(cell) or not all(hasattr(cell, a) for a in ("output_size", "state_size")):
        raise TypeError(f"The argument {name!r} ({cell!r}) is not an RNNCell: it must be callable, with output_size and "
                        "state_size.")


def _lengths(sequence_length, batch):
    """Returns sequence lengths as an int32 vector, or None."""
    if sequence_length is None:
        return None
    lengths = convert_to_tensor(sequence_length, name="sequence_length")
    if lengths.dtype not in (int32, int64):
        raise TypeError(f"sequence_length must be an integer vector, got {lengths!r}.")
    if lengths.dims is not None and len(lengths.dims) != 1:
        raise ValueError("sequence_length must be a vector of length batch_size, but saw shape: " + str(lengths.shape))
    if lengths.dims is not None and isinstance(batch, int) and lengths.dims[0] not in (None, batch):
        raise ValueError(f"sequence_length must be a vector of length batch_size {batch}, got shape {lengths.shape}.")
    return array.identity(lengths if lengths.dtype is int32 else cast(lengths, int32), name="sequence_length")


def _check_state(cell, state):
    """Raises ValueError for a first state that is not of the cell's structure and sizes."""
    leaves, sizes = nest.flatten(state), nest.flatten(cell.state_size)
    if len(leaves) != len(sizes):
        raise ValueError(f"initial_state has {len(leaves)} tensors, and the state of {type(cell).__name__} consists of "
                         f"{len(sizes)}: {cell.state_size!r}. cell.zero_state(batch_size, dtype) makes a state.")
    for t, size in zip(leaves, sizes):
        dims = getattr(t, "dims", None)
        if isinstance(size, int) and dims and dims[-1] not in (None, size):
            raise ValueError(f"initial_state: {t.name} is {spec_text(t)}, and the state of {type(cell).__name__} there is "
                             f"[batch, {size}].")


def _start(cell, batch, initial_state, dtype):
    """Returns the first state as a structure of tensors."""
    if initial_state is not None:
        state = nest.map_structure(lambda s: s if hasattr(s, "_loop_parts") else convert_to_tensor(s), initial_state)
        _check_state(cell, state)
        return state
    if dtype is None:
        raise ValueError("If there is no initial_state, you must give a dtype.")
    make = getattr(cell, "get_initial_state", None)
    if make is not None:
        return make(inputs=None, batch_size=batch, dtype=as_dtype(dtype))
    return cell.zero_state(batch, as_dtype(dtype))


def _where_over(over, old, new):
    """Returns `old` in the rows where a sequence is over, `new` elsewhere; scalars and arrays are taken as they are."""
    if not isinstance(new, Tensor) or new.dims == ():
        return new
    old.set_shape(new.shape)
    out = select(over, old, new)
    out.set_shape(new.shape)
    return out


def _step(cell, time, x, state, lengths):
    """Returns (output, next state) of one time step."""
    returned = cell(x, state)
    if not isinstance(returned, (tuple, list)) or len(returned) != 2:
        raise TypeError(f"{type(cell).__name__} returned {returned!r}; a cell returns a pair, its output and the next state.")
    output, new = returned
    if any(y is None for y in nest.flatten(output)):
        raise ValueError(f"{type(cell).__name__} returned None for its output. None values not supported.")
    nest.assert_same_structure(state, new)
    if lengths is None:
        return output, new
    over = greater_equal(time, lengths)
    output = nest.map_structure(lambda y: _where_over(over, array.zeros_like(y), y), output)
    return output, nest.map_structure(lambda a, b: _where_over(over, a, b), state, new)


def _check_step(cell, state, output, new):
    """Raises for an output or next state of a cell that is not what the cell and its state promise."""
    who, declared = type(cell).__name__, cell.output_size
    for a, b in zip(nest.flatten(state), nest.flatten(new)):
        if not isinstance(a, Tensor) or not isinstance(b, Tensor):
            continue
        if a.dtype is not b.dtype:
            raise TypeError(f"{who} was given a state {a.name}, {spec_text(a)}, and returned {spec_text(b)} as the next one: "
                            f"tf.cast(x, tf.{a.dtype.name}) converts. It was made at {b.op.location}.")
        if not compatible(a.dims, b.dims):
            raise ValueError(f"{who} was given a state {a.name}, {spec_text(a)}, and returned {spec_text(b)} as the next one: "
                             f"its shape is not an invariant for the loop. It was made at {b.op.location}.")
    sizes = [declared] if isinstance(declared, TensorShape) else nest.flatten(declared)
    for y, size in zip(nest.flatten(output), sizes):
        if isinstance(y, Tensor) and y.dims is not None and not compatible(y.dims[1:], as_dims(TensorShape(size))):
            raise ValueError(f"{who} returned the output {spec_text(y)}, and its output_size is {size}. It was made at "
                             f"{y.op.location}.")


def _dtypes_of(cell, flat, state, dtype):
    """Returns the dtype of each output of the cell."""
    n = 1 if isinstance(cell.output_size, TensorShape) else len(nest.flatten(cell.output_size))
    if dtype is not None:
        return [as_dtype(dtype)] * n
    states = [s.dtype for s in nest.flatten(state)]
    if len(set(states)) > 1:
        raise ValueError(f"State has tensors of different inferred_dtypes ({[s.name for s in states]}): say dtype=, that of "
                         "the outputs.")
    return [states[0] if states else flat[0].dtype] * n


def dynamic_rnn(cell, inputs, sequence_length=None, initial_state=None, dtype=None, parallel_iterations=None,
                swap_memory=False, time_major=False, scope=None):
    """Carries a cell along sequences by a loop.

    Args:
      cell: an RNNCell.
      inputs: tensor [batch, time, ...] (or [time, batch, ...] if `time_major`), or a structure of them.
      sequence_length: int vector [batch]: past its length, a sequence's outputs are 0 and its state stays.
      initial_state: the first state, with the structure of `cell.state_size`; zeros of `dtype` by default.
      dtype: dtype of the state and the outputs; needed without `initial_state`.
      parallel_iterations, swap_memory: accepted; see `while_loop`.
      scope: name or VariableScope for the cell's variables; "rnn" by default.

    Returns:
      (outputs, last state): outputs [batch, time, output size] (or time first) in the structure of `cell.output_size`.

    Raises:
      TypeError: `cell` is no cell.
      ValueError: neither an initial state nor a dtype; inputs of unknown size; sizes that differ.
    """
    _check_cell(cell)
    with variable_scope(scope or "rnn"):
        flat = [convert_to_tensor(x) for x in nest.flatten(inputs)]
        if not time_major:
            flat = [_transposed(x) for x in flat]
        for x in flat:
            if x.dims is not None and len(x.dims) < 3:
                raise ValueError(f"dynamic_rnn: inputs must be [batch, time, depth], or [time, batch, depth] with "
                                 f"time_major=True; got {spec_text(x)}.")
            if x.dims is None or any(d is None for d in x.dims[2:]):
                raise ValueError("Input size (depth of inputs) must be accessible via shape inference, but saw value None.")
        batch, steps = _axis_size(flat, 1), _axis_size(flat, 0)
        lengths = _lengths(sequence_length, batch)
        state = _start(cell, batch, initial_state, dtype)
        types = _dtypes_of(cell, flat, state, dtype)
        sources = [TensorArray(x.dtype, size=steps, tensor_array_name="dynamic_rnn/input").unstack(x) for x in flat]
        targets = [TensorArray(t, size=steps, tensor_array_name="dynamic_rnn/output") for t in types]

        rows = []

        def turn(time, state, targets):
            x = nest.pack_sequence_as(inputs, [a.read(time) for a in sources])
            output, new = _step(cell, time, x, state, lengths)
            _check_step(cell, state, output, new)
            leaves = nest.flatten(output)
            rows.extend(y.dims for y in leaves)
            return time + 1, new, [a.write(time, y) for a, y in zip(targets, leaves)]

        _, last, targets = while_loop(lambda time, *_: time < steps, turn, (constant(0, name="time"), state, targets),
                                      parallel_iterations=parallel_iterations or 32, swap_memory=swap_memory,
                                      maximum_iterations=steps)
        outputs = []
        n, m = (d if isinstance(d, int) else None for d in (steps, batch))
        for a, row in zip(targets, rows):
            y = a.stack()
            y.set_shape((n, row[0] if m is None else m, *row[1:]))
            outputs.append(y if time_major else _transposed(y))
        structure = 0 if isinstance(cell.output_size, TensorShape) else cell.output_size
        return nest.pack_sequence_as(structure, outputs), last


def static_rnn(cell, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None):
    """Carries a cell along a sequence given as a list, one copy of its operations per time step.

    Args:
      cell: an RNNCell.
      inputs: list of tensors [batch, input size], one per time step (or structures of them).
      initial_state, dtype, sequence_length, scope: as for `dynamic_rnn`.

    Returns:
      (list of outputs, last state).

    Raises:
      TypeError: `cell` is no cell, or `inputs` no list.
      ValueError: no inputs; neither an initial state nor a dtype.
    """
    _check_cell(cell)
    if not isinstance(inputs, (list, tuple)):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")
    with variable_scope(scope or "rnn") as varscope:
        inputs = [nest.map_structure(convert_to_tensor, x) for x in inputs]
        flat = nest.flatten(inputs[0])
        batch = _axis_size(flat, 0)
        lengths = _lengths(sequence_length, batch)
        state = _start(cell, batch, initial_state, dtype)
        outputs = []
        for time, x in enumerate(inputs):
            if time > 0:
                varscope.reuse_variables()
            output, state = _step(cell, time, x, state, lengths)
            outputs.append(output)
        return outputs, state


def static_state_saving_rnn(cell, inputs, state_saver, state_name, sequence_length=None, scope=None):
    """As `static_rnn`, with the first state read from and the last one written to `state_saver`.

    Args:
      state_saver: object with methods `state(name)` and `save_state(name, value)`.
      state_name: the state's name there, or a structure of as many names as `cell.state_size` has parts.

    Raises:
      ValueError: one name for several parts, or another number of names.
    """
    if nest.is_sequence(state_name) != nest.is_sequence(cell.state_size):
        raise ValueError("state_name must be a structure of names exactly where cell.state_size is one of sizes, got "
                         f"state_name {state_name!r} for state_size {cell.state_size!r}.")
    names = nest.flatten(state_name)
    if len(names) != len(nest.flatten(cell.state_size)):
        raise ValueError(f"{len(names)} names, {names}, for a state of {len(nest.flatten(cell.state_size))} parts.")
    initial = nest.pack_sequence_as(cell.state_size, [state_saver.state(n) for n in names])
    outputs, state = static_rnn(cell, inputs, initial_state=initial, sequence_length=sequence_length, scope=scope)
    saves = [state_saver.save_state(n, s) for n, s in zip(names, nest.flatten(state))]
    with get_default_graph().control_dependencies(saves):
        outputs[-1] = nest.map_structure(array.identity, outputs[-1])
    return outputs, state


def bidirectional_dynamic_rnn(cell_fw, cell_bw, inputs, sequence_length=None, initial_state_fw=None, initial_state_bw=None,
                              dtype=None, parallel_iterations=None, swap_memory=False, time_major=False,
                              scope=None):
    """Carries one cell along sequences from the first step, and one from the last.

    Returns:
      ((forward outputs, backward outputs), (forward state, backward state)); outputs as for `dynamic_rnn`, both in the
      order of the inputs.
    """
    _check_cell(cell_fw, "cell_fw")
    _check_cell(cell_bw, "cell_bw")
    shared = {"sequence_length": sequence_length, "dtype": dtype, "parallel_iterations": parallel_iterations,
              "swap_memory": swap_memory, "time_major": time_major}
    time, batch = (0, 1) if time_major else (1, 0)

    def backwards(x):
        x = convert_to_tensor(x)
        if sequence_length is None:
            return reverse(x, [time])
        return reverse_sequence(x, sequence_length, seq_axis=time, batch_axis=batch)

    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as fw:
            out_fw, state_fw = dynamic_rnn(cell_fw, inputs, initial_state=initial_state_fw, scope=fw, **shared)
        with variable_scope("bw") as bw:
            out_bw, state_bw = dynamic_rnn(cell_bw, nest.map_structure(backwards, inputs), initial_state=initial_state_bw,
                                           scope=bw, **shared)
        return (out_fw, nest.map_structure(backwards, out_bw)), (state_fw, state_bw)


def static_bidirectional_rnn(cell_fw, cell_bw, inputs, initial_state_fw=None, initial_state_bw=None, dtype=None,
                             sequence_length=None, scope=None):
    """Carries one cell along a list of inputs from the first step, and one from the last.

    Returns:
      (outputs, forward state, backward state); each output is the forward and the backward one, joined along axis 1.
    """
    _check_cell(cell_fw, "cell_fw")
    _check_cell(cell_bw, "cell_bw")
    if not isinstance(inputs, (list, tuple)):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")

    def backwards(items):
        if sequence_length is None:
            return items[::-1]
        parts = [nest.flatten(x) for x in items]
        turned = [array.unstack(reverse_sequence(array.stack(rows), sequence_length, seq_axis=0, batch_axis=1), num=len(rows))
                  for rows in zip(*parts)]
        return [nest.pack_sequence_as(items[0], list(leaves)) for leaves in zip(*turned)]

    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as fw:
            out_fw, state_fw = static_rnn(cell_fw, inputs, initial_state_fw, dtype, sequence_length, scope=fw)
        with variable_scope("bw") as bw:
            out_bw, state_bw = static_rnn(cell_bw, backwards(list(inputs)), initial_state_bw, dtype, sequence_length,
                                          scope=bw)
        joined = [nest.map_structure(lambda a, b: array.concat([a, b], 1), f, b) for f, b in zip(out_fw, backwards(out_bw))]
        return joined, state_fw, state_bw


def raw_rnn(cell, loop_fn, parallel_iterations=None, swap_memory=False, scope=None):
    """Carries a cell along sequences that `loop_fn` supplies, until it says that all are finished.

    Args:
      cell: an RNNCell.
      loop_fn: function (time, cell_output, cell_state, loop_state) -> (elements_finished, next_input, next_cell_state,
        emit_output, next_loop_state). It is called first with time 0 and None for the others, and gives then the first
        state, and as emit_output the structure of what is put out (or None: that of `cell.output_size`). `elements_finished`
        is a bool vector [batch]; a finished sequence puts out zeros and keeps its state. `next_loop_state` may be None.

    Returns:
      (TensorArrays of what was put out, last state, last loop state).
    """
    _check_cell(cell)
    if not callable(loop_fn):
        raise TypeError("loop_fn must be callable")
    with variable_scope(scope or "rnn"):
        time = constant(0, int32, name="time")
        first = loop_fn(time, None, None, None)
        if not isinstance(first, (tuple, list)) or len(first) != 5:
            raise ValueError("raw_rnn: loop_fn returns five things, (elements_finished, next_input, next_cell_state, "
                             f"emit_output, next_loop_state); got {first!r}.")
        finished, x, state, emit, loop_state = first
        state = nest.map_structure(convert_to_tensor, state)
        x = nest.map_structure(convert_to_tensor, x)
        finished = array.identity(convert_to_tensor(finished, dtype=bool_), name="elements_finished")
        batch = _axis_size(nest.flatten(x), 0)
        like = cell.output_size if emit is None else emit
        if emit is None:
            blank = [(TensorShape(s), as_dims(TensorShape(s)), nest.flatten(state)[0].dtype) for s in nest.flatten(like)]
        else:
            blank = [(t.shape, t.dims if t.shape.is_fully_defined() else array.shape(t), t.dtype)
                     for t in map(convert_to_tensor, nest.flatten(emit))]
        zeros = [array.zeros(array.concat([[batch], row], 0), t) for _, row, t in blank]
        rows = TensorShape([batch if isinstance(batch, int) else None])
        targets = [TensorArray(t, size=0, dynamic_size=True, tensor_array_name="rnn_output", element_shape=rows.concatenate(of))
                   for of, _, t in blank]
        has_loop_state = loop_state is not None
        carried = loop_state if has_loop_state else constant(0)

        def turn(time, finished, x, targets, state, carried):
            output, new = cell(x, state)
            nest.assert_same_structure(state, new)
            over, x, new, emit, after = loop_fn(time + 1, output, new, carried if has_loop_state else None)
            if emit is None:
                emit = zeros if output is None else output
            emit = [_where_over(finished, z, convert_to_tensor(y)) for z, y in zip(zeros, nest.flatten(emit))]
            new = nest.map_structure(lambda a, b: _where_over(finished, a, b), state, new)
            targets = [a.write(time, y) for a, y in zip(targets, emit)]
            return time + 1, logical_or(finished, over), x, targets, new, carried if after is None else after

        _, _, _, targets, state, carried = while_loop(
            lambda time, finished, *_: logical_not(reduce_all(finished)), turn,
            (time, finished, x, targets, state, carried), parallel_iterations=parallel_iterations or 32,
            swap_memory=swap_memory)
        return nest.pack_sequence_as(like, targets), state, carried if has_loop_state else None
