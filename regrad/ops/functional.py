"""Functions applied to the rows of tensors: `map_fn`, `scan`, `foldl`, `foldr`.

Each is a `while_loop` that reads rows from TensorArrays (and writes rows to others), so derivatives of any order, and
gradient overrides within the function, are those of loops.
"""

import functools

from regrad.core import nest, source
from regrad.core.convert import constant, convert_to_tensor
from regrad.core.dtypes import as_dtype, int32
from regrad.core.graph import get_default_graph
from regrad.core.indexed_slices import IndexedSlices
from regrad.core.opdef import Spec
from regrad.ops.array import shape
from regrad.ops.flow import trace, while_loop
from regrad.ops.tensor_array import TensorArray


class _Rows:
    """The rows of a structure of tensors with a common first axis.

    Attributes:
      n: how many there are: an int where known, else an int32 scalar tensor.
    """

    def __init__(self, what, elems):
        tensors = []
        for x in nest.flatten(elems):
            if isinstance(x, IndexedSlices) or hasattr(x, "dense_shape"):
                raise TypeError(f"{what}: elems must be dense tensors, got {x!r}; convert it to a dense tensor first.")
            tensors.append(convert_to_tensor(x, name="elem"))
        if not tensors:
            raise ValueError(f"{what}: elems must hold at least one tensor, got {elems!r}.")
        for t in tensors:
            if t.dims == ():
                raise ValueError(f"{what}: elements in elems must be at least 1D, not "
                                 f"{'scalars' if len(tensors) > 1 else 'a scalar'}: {t!r}.")
        sizes = {t.dims[0] for t in tensors if t.dims is not None} - {None}
        if len(sizes) > 1:
            raise ValueError(f"{what}: the tensors of elems must have the same first size, got {sorted(sizes)}.")
        self.structure = elems
        self.n = sizes.pop() if sizes else shape(tensors[0])[0]
        self.arrays = [TensorArray(t.dtype, size=self.n, infer_shape=True).unstack(t) for t in tensors]

    def __getitem__(self, i):
        """Returns the structure of rows `i`."""
        return nest.pack_sequence_as(self.structure, [a.read(i) for a in self.arrays])


def _as_leaves(what, returned, like, dtypes):
    """Returns what a function gave as a flat list of tensors of `dtypes`; it must have the structure `like`."""
    try:
        nest.assert_same_structure(like, returned)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{what}: fn returned another structure than expected (for map_fn that of dtype, or else of elems; "
                          f"otherwise that of the initializer, or else of elems): {error}") from None
    if any(x is None for x in nest.flatten(returned)):
        raise ValueError(f"{what}: fn returned {returned!r}; None values not supported, it must return tensors.")
    leaves = [convert_to_tensor(x, preferred_dtype=t) for x, t in zip(nest.flatten(returned), dtypes)]
    for i, (x, t) in enumerate(zip(leaves, dtypes)):
        if x.dtype is not t:
            raise TypeError(f"{what}: output {i} of fn has dtype {x.dtype.name}, and not {t.name}"
                            + ("; say dtype= if fn changes it." if what == "map_fn" else "."))
    return leaves


def _function(what, fn):
    """Returns `fn`, which says what called it when it takes other arguments."""
    if not callable(fn):
        raise TypeError(f"{what}: fn must be callable, got {fn!r}.")
    return functools.partial(source.call, fn, role=f"fn of {what}")


def _stacked(arrays, n, rows):
    """Returns the contents of `arrays`; `rows` are the shapes of their rows, which a loop does not tell outside."""
    out = [a.stack() for a in arrays]
    for t, dims in zip(out, rows):
        t.set_shape(None if dims is None else (n if isinstance(n, int) else None, *dims))
    return out


def map_fn(fn, elems, dtype=None, parallel_iterations=None, back_prop=True, swap_memory=False, infer_shape=True, name=None):
    """Returns the results of `fn(row)` for each row of `elems`, stacked.

    Args:
      fn: function of one argument with the structure of `elems`, holding row i of each.
      elems: tensor of at least one axis, or a structure of tensors with a common first size.
      dtype: dtype of what `fn` returns, or the structure of dtypes when it returns a structure; as `elems` by default.
      parallel_iterations, swap_memory: accepted; see `while_loop`.
      back_prop: False stops gradients at the loop.
      infer_shape: False leaves the outputs' static shape unknown.

    Returns:
      The structure of `dtype` (or `elems`) with tensors of shape [number of rows, ...].

    Raises:
      TypeError: `fn` is not callable, or returns another dtype than promised, or a tuple for a list.
      ValueError: first sizes that differ, scalars, or another structure returned than promised.

    Example:
      print(tf.Session().run(tf.map_fn(lambda row: row * row, tf.constant([1, 2, 3]))))
      #> [1 4 9]
    """
    fn = _function("map_fn", fn)
    with get_default_graph().name_scope(name or "map"):
        rows = _Rows("map_fn", elems)
        like = elems if dtype is None else dtype
        dtypes = [a.dtype for a in rows.arrays] if dtype is None else [as_dtype(t) for t in nest.flatten(dtype)]
        outputs = [TensorArray(t, size=rows.n, infer_shape=infer_shape) for t in dtypes]
        shapes = []

        def turn(i, outputs):
            values = _as_leaves("map_fn", fn(rows[i]), like, dtypes)
            shapes.extend(v.dims if infer_shape else None for v in values)
            return i + 1, [a.write(i, v) for a, v in zip(outputs, values)]

        _, outputs = while_loop(lambda i, _: i < rows.n, turn, (constant(0), outputs), back_prop=back_prop,
                                parallel_iterations=parallel_iterations or 10, swap_memory=swap_memory)
        return nest.pack_sequence_as(like, _stacked(outputs, rows.n, shapes))


def vectorized_map(fn, elems, fallback_to_while_loop=True, warn=True):
    """Returns the results of `fn(row)` for each row of `elems`, stacked: `map_fn` that finds out the dtypes itself.

    It is a loop, not one operation on all rows; gradients of every order go through it.

    Args:
      fn: function of one argument with the structure of `elems`, holding row i of each; it is called twice while building.
      elems: tensor of at least one axis, or a structure of tensors with a common first size.
      fallback_to_while_loop, warn: accepted.

    Returns:
      The structure that `fn` returns, with tensors of shape [number of rows, ...].
    """
    fn = _function("vectorized_map", fn)
    with get_default_graph().name_scope("vectorized_map"):
        elems = nest.map_structure(convert_to_tensor, elems)
        specs = [Spec(None if t.dims is None else t.dims[1:], t.dtype) for t in nest.flatten(elems)]
        _, returned = trace("vectorized_map", lambda *rows: nest.map_structure(
            convert_to_tensor, fn(nest.pack_sequence_as(elems, list(rows)))), specs)
        return map_fn(fn, elems, nest.map_structure(lambda t: t.dtype, returned))


def scan(fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, infer_shape=True,
         reverse=False, name=None):
    """Returns every state of `state = fn(state, row)`, stacked, over the rows of `elems`.

    Args:
      fn: function of the state and a row; returns the next state, of the same structure, dtypes and shapes.
      elems: tensor of at least one axis, or a structure of tensors with a common first size.
      initializer: the state before the first row; by default the first row, which then stands first in the result.
      parallel_iterations, swap_memory: accepted; see `while_loop`.
      back_prop: False stops gradients at the loop.
      infer_shape: accepted; the state's shape does not change.
      reverse: take the rows from the last to the first; state i still stands where row i stood.

    Returns:
      The structure of the state with tensors of shape [number of rows, ...].

    Example:
      print(tf.Session().run(tf.scan(lambda total, x: total + x, tf.constant([1, 2, 3]))))
      #> [1 3 6]
    """
    fn = _function("scan", fn)
    with get_default_graph().name_scope(name or "scan"):
        rows = _Rows("scan", elems)
        state, like, start = _first_state(rows, initializer, reverse)
        dtypes = [t.dtype for t in state]
        outputs = [TensorArray(t.dtype, size=rows.n, element_shape=t.dims) for t in state]
        if initializer is None:
            outputs = [a.write(rows.n - 1 if reverse else 0, t) for a, t in zip(outputs, state)]

        def turn(i, state, outputs):
            at = rows.n - 1 - i if reverse else i
            values = _as_leaves("scan", fn(nest.pack_sequence_as(like, state), rows[at]), like, dtypes)
            return i + 1, values, [a.write(at, v) for a, v in zip(outputs, values)]

        _, _, outputs = while_loop(lambda i, *_: i < rows.n, turn, (constant(start), state, outputs), back_prop=back_prop,
                                   parallel_iterations=parallel_iterations, swap_memory=swap_memory)
        return nest.pack_sequence_as(like, _stacked(outputs, rows.n, [t.dims for t in state]))


def _first_state(rows, initializer, from_end):
    """Returns (tensors of the first state, its structure, how many rows it has used up)."""
    if initializer is None:
        state = nest.flatten(rows[rows.n - 1 if from_end else 0])
        return state, rows.structure, 1
    return [convert_to_tensor(t, name="initializer") for t in nest.flatten(initializer)], initializer, 0


def foldl(fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, name=None):
    """Returns the last state of `state = fn(state, row)` over the rows of `elems`, from the first to the last.

    Args:
      fn: function of the state and a row; returns the next state, of the same structure, dtypes and shapes.
      elems: tensor of at least one axis, or a structure of tensors with a common first size.
      initializer: the state before the first row; by default the first row itself.
      parallel_iterations, swap_memory: accepted; see `while_loop`.
      back_prop: False stops gradients at the loop.
    """
    return _fold("foldl", fn, elems, initializer, parallel_iterations, back_prop, swap_memory, False, name)


def foldr(fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, name=None):
    """Returns the last state of `state = fn(state, row)` over the rows of `elems`, from the last to the first.

    Arguments as in `foldl`; the default `initializer` is the last row.
    """
    return _fold("foldr", fn, elems, initializer, parallel_iterations, back_prop, swap_memory, True, name)


def _fold(what, fn, elems, initializer, parallel_iterations, back_prop, swap_memory, from_end, name):
    fn = _function(what, fn)
    with get_default_graph().name_scope(name or what):
        rows = _Rows(what, elems)
        state, like, start = _first_state(rows, initializer, from_end)
        dtypes = [t.dtype for t in state]

        def turn(i, state):
            row = rows[rows.n - 1 - i if from_end else i]
            return i + 1, _as_leaves(what, fn(nest.pack_sequence_as(like, state), row), like, dtypes)

        _, state = while_loop(lambda i, _: i < rows.n, turn, (constant(start, int32), state), back_prop=back_prop,
                              parallel_iterations=parallel_iterations, swap_memory=swap_memory)
        return nest.pack_sequence_as(like, state)
