"""Reading and writing parts of tensors: slices, gather, scatter. Gradients: `indexing_grad.py`."""

import copy

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import constant, convert_to_tensor
from regrad.core.dtypes import INDEX
from regrad.core.errors import ShapeError
from regrad.core.graph import get_default_graph
from regrad.core.indexed_slices import IndexedSlices
from regrad.core.opdef import Spec, define_op, spec_text
from regrad.core.shapes import Dimension, merge
from regrad.ops.array import axis_in, concat_op, pack_op

newaxis = None


# -- StridedSlice ----------------------------------------------------------------------------
# x[begin:end:stride, ...] as TF encodes it: three vectors with one entry per item between the brackets, and five bit
# masks that say which entries are "from the start", "to the end", "...", "newaxis" or a single index.
MASKS = {"begin_mask": 0, "end_mask": 0, "ellipsis_mask": 0, "new_axis_mask": 0, "shrink_axis_mask": 0}


class _Window:
    """What a strided slice takes of one axis: `count` elements from `low` in steps of `step`, `flip` says backwards.

    `count` is None when unknown; `entry` is set, and `low` None, for one element whose index only a run knows.
    """

    __slots__ = ("low", "count", "step", "flip", "shrink", "entry")

    def __init__(self, low, count, step=1, flip=False, shrink=False, entry=None):
        self.low = low
        self.count = count
        self.step = step
        self.flip = flip
        self.shrink = shrink
        self.entry = entry


def _window(size, i, begin, end, step, masks):
    shrink = bool(masks["shrink_axis_mask"] >> i & 1)
    if step == 0:
        raise ShapeError(f"strides[{i}] must be non-zero")
    if shrink:
        if step is not None and step < 0:
            raise ShapeError(f"only stride 1 allowed on non-range indexing, got {step} for item {i}")
        if begin is None or size is None:
            return _Window(None, 1, shrink=True, entry=i)
        if not -size <= begin < size:
            raise ShapeError(f"slice index {begin} of dimension {i} out of bounds: the size is {size}")
        return _Window(begin % size, 1, shrink=True)
    from_start, to_end = masks["begin_mask"] >> i & 1, masks["end_mask"] >> i & 1
    if size is None or step is None or not from_start and begin is None or not to_end and end is None:
        return _Window(None, None)
    start, stop, step = slice(None if from_start else begin, None if to_end else end, step).indices(size)
    count = len(range(start, stop, step))
    if step > 0 or count == 0:
        return _Window(min(start, size), count, abs(step))
    return _Window(start + (count - 1) * step, count, -step, flip=True)


def _windows(dims, begin, end, strides, masks):
    """Returns a _Window per axis of `dims`, and the list of output items: an axis's number, or None for a new axis."""
    n = len(strides)
    ellipsis = masks["ellipsis_mask"]
    if ellipsis & (ellipsis - 1):
        raise ShapeError("Multiple ellipses in slice spec not allowed")
    new = masks["new_axis_mask"]
    named = sum(1 for i in range(n) if not (ellipsis >> i & 1 or new >> i & 1))
    if named > len(dims):
        raise ShapeError(f"Index out of range using input dim {len(dims)}; input has only {len(dims)} dims, the slice names "
                         f"{named}")  # fmt: skip
    windows, items = [], []

    def whole(count):
        for _ in range(count):
            items.append(len(windows))
            windows.append(_Window(0, dims[len(windows)]))

    for i in range(n):
        if ellipsis >> i & 1:
            whole(len(dims) - named)
        elif new >> i & 1:
            items.append(None)
        else:
            window = _window(dims[len(windows)], i, begin[i], end[i], strides[i], masks)
            if not window.shrink:
                items.append(len(windows))
            windows.append(window)
    whole(len(dims) - len(windows))
    return windows, items


def _merged(vector, known, which):
    """Returns the entries of `vector` as far as they are known now or were when the op was built."""
    now = vector.partial()
    if known is None or now is None:
        return now
    return tuple(k if v is None else v for v, k in zip(now, known[which]))


def _strided_slice_infer(x, begin, end, strides, *, known, **masks):
    vectors = [_merged(v, known, i) for i, v in enumerate((begin, end, strides))]
    for v in (begin, end, strides):
        if v.dims is not None and len(v.dims) != 1:
            raise ShapeError(f"begin, end and strides must be vectors of one length, got {spec_text(v)}")
    lengths = {len(v) for v in vectors if v is not None}
    if len(lengths) > 1:
        raise ShapeError(f"begin, end and strides must be vectors of one length, got {spec_text(begin)}, {spec_text(end)} "
                         f"and {spec_text(strides)}")  # fmt: skip
    if x.dims is None or not lengths:
        return Spec(None, x.dtype)
    nothing = (None,) * lengths.pop()
    windows, items = _windows(x.dims, *(v if v is not None else nothing for v in vectors), masks)
    return Spec(tuple(1 if i is None else windows[i].count for i in items), x.dtype)


def _run_windows(shape, begin, end, strides, known, masks):
    """Returns windows, items and run-time indices: {axis: index} for entries that only the run knows."""
    if all(isinstance(v, np.ndarray) for v in (begin, end, strides)):
        # The vectors may hold unknown sizes when a shape is worked out: those entries must not be needed.
        vectors = [[int(e) for e in v] for v in (begin, end, strides)]
        return (*_windows(shape, *vectors, masks), {})
    windows, items = _windows(shape, *known, masks)
    return windows, items, {a: begin[w.entry] for a, w in enumerate(windows) if w.entry is not None}


def _at_index(b, i, size):
    return b.np.where(i < 0, i + size, i)


def _strided_slice_lower(b, x, begin, end, strides, *, known, **masks):
    windows, items, indices = _run_windows(x.shape, begin, end, strides, known, masks)
    whole = [w if a not in indices else _Window(0, x.shape[a]) for a, w in enumerate(windows)]
    low, high = [w.low for w in whole], [w.low + (w.count - 1) * w.step + 1 if w.count else w.low for w in whole]
    step = [w.step for w in whole]
    if b.is_host:
        y = x[tuple(slice(*s) for s in zip(low, high, step))]
    else:
        y = b.lax.slice(x, low, high, step)
    for axis, i in indices.items():
        y = b.lax.dynamic_slice_in_dim(y, _at_index(b, i, x.shape[axis]), 1, axis)
    flipped = tuple(a for a, w in enumerate(windows) if w.flip)
    if flipped:
        y = b.np.flip(y, flipped)
    return b.np.reshape(y, tuple(1 if i is None else windows[i].count for i in items))


stridedslice_op = define_op("StridedSlice", "input: T, begin: Index, end: Index, strides: Index", static=(1, 2, 3),
                            types={"Index": INDEX}, attrs={**MASKS, "known": None}, partial=True,
                            infer=_strided_slice_infer, lower=_strided_slice_lower)  # fmt: skip


# The same op type where single indices are known only while running (x[i]): `known` holds the rest, and one compiled
# program serves all values of i.
_stridedslice_at_op = copy.copy(stridedslice_op)
_stridedslice_at_op.static = (3,)


def _strided_slice_grad_infer(shape, begin, end, strides, dy, *, known, **masks):
    return Spec(shape.partial(), dy.dtype)


def _strided_slice_grad_lower(b, shape, begin, end, strides, dy, *, known, **masks):
    shape = tuple(int(d) for d in shape)
    windows, _, indices = _run_windows(shape, begin, end, strides, known, masks)
    dy = b.np.reshape(dy, tuple(w.count for w in windows))
    flipped = tuple(a for a, w in enumerate(windows) if w.flip)
    if flipped:
        dy = b.np.flip(dy, flipped)
    whole = [w if a not in indices else _Window(0, 1) for a, w in enumerate(windows)]
    sizes = [1 if a in indices else d for a, d in enumerate(shape)]
    if b.is_host:
        dx = np.zeros(shape, dy.dtype)
        dx[tuple(slice(w.low, w.low + w.count * w.step, w.step) for w in whole)] = dy
        return dx
    spans = [(w.count - 1) * w.step + 1 if w.count else 0 for w in whole]
    padding = [(w.low, d - w.low - span, w.step - 1) for w, d, span in zip(whole, sizes, spans)]
    dx = b.lax.pad(dy, b.np.zeros((), dy.dtype), padding)
    if indices:
        starts = [_at_index(b, indices[a], d) if a in indices else np.int64(0) for a, d in enumerate(shape)]
        starts = [b.np.asarray(s).astype("int32") for s in starts]
        dx = b.lax.dynamic_update_slice(b.np.zeros(shape, dy.dtype), dx, starts)
    return dx


stridedslicegrad_op = define_op("StridedSliceGrad", "shape: Index, begin: Index, end: Index, strides: Index, dy: T",
                                static=(0, 1, 2, 3), types={"Index": INDEX}, attrs={**MASKS, "known": None},
                                infer=_strided_slice_grad_infer, lower=_strided_slice_grad_lower)  # fmt: skip
_stridedslicegrad_at_op = copy.copy(stridedslicegrad_op)
_stridedslicegrad_at_op.static = (0, 3)


def strided_slice_grad(shape, begin, end, strides, dy, known, **masks):
    """Returns zeros of `shape` with `dy` where the slice was taken from."""
    op = stridedslicegrad_op if known is None else _stridedslicegrad_at_op
    return op(shape, begin, end, strides, dy, known=known, **masks)


def _known_apart_from_indices(begin, end, strides, masks):
    """Returns what is known of the vectors if only single indices are not, else None."""
    vectors = [v.partial() for v in (begin, end, strides)]
    if any(v is None for v in vectors) or None in vectors[2] or None not in vectors[0] + vectors[1]:
        return None
    single = masks["shrink_axis_mask"]
    if all(single >> i & 1 for v in vectors for i, e in enumerate(v) if e is None):
        return tuple(vectors)
    return None


def strided_slice(input_, begin, end, strides=None, begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0,
                  shrink_axis_mask=0, var=None, name=None):  # fmt: skip
    """Returns `input_[begin:end:strides]` along as many axes as the vectors are long.

    Args:
      input_: any tensor.
      begin, end, strides: int32 or int64 vectors of one length; strides default to ones.
      begin_mask, end_mask: bit i set: begin[i] (end[i]) is ignored, the slice starts (ends) at the edge.
      ellipsis_mask: bit i: entry i stands for as many whole axes as are needed.
      new_axis_mask: bit i: entry i adds an axis of size 1.
      shrink_axis_mask: bit i: entry i is the single index begin[i], and the axis goes away.
      var: the variable `input_` is the value of; the result then has `.assign(value)`.
    """
    x = convert_to_tensor(input_, name="input")
    begin, end = _index_vector(begin), _index_vector(end)
    strides = np.ones(begin.dims, np.int32) if strides is None else strides
    strides = _index_vector(strides, begin.dtype)
    masks = {"begin_mask": begin_mask, "end_mask": end_mask, "ellipsis_mask": ellipsis_mask,
             "new_axis_mask": new_axis_mask, "shrink_axis_mask": shrink_axis_mask}  # fmt: skip
    known = _known_apart_from_indices(begin, end, strides, masks)
    op = stridedslice_op if known is None else _stridedslice_at_op
    return op(x, begin, end, strides, known=known, **masks, name=name)


def _index_vector(v, dtype=None):
    return convert_to_tensor(v, dtype=None if hasattr(v, "_as_graph_element") else dtype, preferred_dtype=dtypes.int32)


def getitem(x, key):
    """Returns x[key] with NumPy's meaning for ints, slices, `...` and newaxis; a scalar tensor serves as an int.

    A bool tensor or array gives the elements (or rows) where it is True. A list is taken as a tuple, as in TF1.

    Raises:
      TypeError: an item is none of these; `tf.gather` takes a list of indices.
      ValueError: an index is out of range, or more axes are named than there are.
    """
    if isinstance(key, bool) or getattr(key, "dtype", None) in (np.bool_, dtypes.bool_) and not isinstance(key, slice):
        return boolean_mask(x, key)
    items = key if isinstance(key, (list, tuple)) else (key,)
    begin, end, strides = [], [], []
    masks = dict.fromkeys(MASKS, 0)
    with get_default_graph().name_scope("strided_slice") as scope:
        for i, item in enumerate(items):
            bit = 1 << i
            step = 1
            if isinstance(item, slice):
                start, stop = item.start, item.stop
                step = 1 if item.step is None else _index(item.step)
                if start is None:
                    masks["begin_mask"] |= bit
                if stop is None:
                    masks["end_mask"] |= bit
                start, stop = 0 if start is None else _index(start), 0 if stop is None else _index(stop)
            elif item is Ellipsis:
                masks["ellipsis_mask"] |= bit
                start = stop = 0
            elif item is None:
                masks["new_axis_mask"] |= bit
                start = stop = 0
            else:
                masks["shrink_axis_mask"] |= bit
                start = _index(item)
                stop = start + 1
            begin.append(start)
            end.append(stop)
            strides.append(step)
        return strided_slice(x, *_stacked(begin, end, strides), name=scope, **masks)


def _index(item):
    """Returns an int or a scalar integer tensor for one item of a slice."""
    if isinstance(item, Dimension):
        item = item.value
    elif hasattr(item, "_as_graph_element"):
        item = convert_to_tensor(item)
        if item.dtype.is_integer and item.rank in (None, 0):
            return item
    elif hasattr(item, "__index__") and np.ndim(item) == 0:
        return int(item)
    raise TypeError("Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.int64 tensors "
                    f"are valid indices, got {item!r}; tf.gather takes rows by a list of indices.")  # fmt: skip


def _stacked(*vectors):
    """Returns each list as one tensor, all of one index type: int64 if any tensor in them is."""
    tensors = [e for v in vectors for e in v if not isinstance(e, int)]
    dtype = dtypes.int64 if any(t.dtype is dtypes.int64 for t in tensors) else dtypes.int32
    out = []
    for v in vectors:
        if all(isinstance(e, int) for e in v):
            out.append(constant(np.array(v, dtype.as_numpy_dtype), name="stack"))
        else:
            from regrad.ops.math import cast

            out.append(pack_op([e if isinstance(e, int) else cast(e, dtype) for e in v], axis=0, name="stack"))
    return out


# -- Slice -----------------------------------------------------------------------------------
def _slice_infer(x, begin, size):
    starts, sizes = begin.partial(), size.partial()
    n = next((len(v) for v in (starts, sizes) if v is not None), None)
    dims = x.dims if x.dims is not None else None if n is None else (None,) * n
    if dims is None:
        return Spec(None, x.dtype)
    for v in (starts, sizes):
        if v is not None and len(v) != len(dims):
            raise ShapeError(f"begin and size must have one entry per axis of {spec_text(x)}, got {len(v)}")
    nothing = (None,) * len(dims)
    out = []
    for i, (d, b, s) in enumerate(zip(dims, starts or nothing, sizes or nothing)):
        if b is not None and (b < 0 or d is not None and b > d):
            raise ShapeError(f"Expected begin[{i}] in [0, {'?' if d is None else d}], but got {b}")
        if s == -1:
            s = None if d is None or b is None else d - b
        elif s is not None and (s < 0 or d is not None and s > d - (b or 0)):
            limit = "?" if d is None else d - (b or 0)
            raise ShapeError(f"Expected size[{i}] in [0, {limit}], but got {s}")
        out.append(s)
    return Spec(tuple(out), x.dtype)


def _slice_lower(b, x, begin, size):
    if isinstance(begin, np.ndarray):
        begin = [int(i) for i in begin]
        limit = [d if s == -1 else i + int(s) for i, s, d in zip(begin, size, x.shape)]
        return x[tuple(map(slice, begin, limit))] if b.is_host else b.lax.slice(x, begin, limit)
    return b.lax.dynamic_slice(x, list(begin), [int(s) for s in size])


slice_op = define_op("Slice", "input: T, begin: Index, size: Index", types={"Index": INDEX}, static=(1, 2), partial=True,
                     infer=_slice_infer, lower=_slice_lower)  # fmt: skip
_slice_at_op = copy.copy(slice_op)  # where a run decides where the slice begins, but not how large it is
_slice_at_op.static = (2,)


def slice_(input_, begin, size, name=None):
    """Returns the block of `size` that starts at `begin`; a size of -1 means all that is left of the axis.

    Args:
      input_: any tensor.
      begin, size: int32 or int64 vectors, one entry per axis.
    """
    begin, size = _index_vector(begin), _index_vector(size)
    size = size if size.dtype is begin.dtype else _cast(size, begin.dtype)
    sizes = size.partial()
    free = begin.value() is None and sizes is not None and None not in sizes and -1 not in sizes
    return (_slice_at_op if free else slice_op)(input_, begin, size, name=name)


def _cast(x, dtype):
    from regrad.ops.math import cast

    return cast(x, dtype)


def _slice_grad_lower(b, dy, like, begin):
    if b.is_host:
        dx = np.zeros(like.shape, dy.dtype)
        dx[tuple(slice(int(i), int(i) + n) for i, n in zip(begin, dy.shape))] = dy
        return dx
    if isinstance(begin, np.ndarray):
        padding = [(int(i), d - int(i) - n, 0) for i, d, n in zip(begin, like.shape, dy.shape)]
        return b.lax.pad(dy, b.np.zeros((), dy.dtype), padding)
    return b.lax.dynamic_update_slice(b.np.zeros(like.shape, dy.dtype), dy, list(begin))


slicegrad_op = define_op("SliceGrad", "dy: T, like: L, begin: Index", shape_only=(1,), static=(2,), types={"Index": INDEX},
                         infer=lambda dy, like, begin: Spec(like.dims, dy.dtype), lower=_slice_grad_lower)  # fmt: skip
_slicegrad_at_op = copy.copy(slicegrad_op)
_slicegrad_at_op.static = ()


def slice_grad(dy, like, begin):
    """Returns zeros of the shape of `like` with `dy` at `begin`."""
    return (slicegrad_op if begin.value() is not None else _slicegrad_at_op)(dy, like, begin)


# -- GatherV2 --------------------------------------------------------------------------------
def _gather_axes(params_rank, indices_rank, axis, batch_dims):
    axis = axis_in(axis, params_rank)
    batch_dims = batch_dims + indices_rank if batch_dims < 0 else batch_dims
    if not 0 <= batch_dims <= min(axis, indices_rank):
        raise ShapeError(f"batch_dims {batch_dims} must be in [0, min(axis, rank of indices)] = "
                         f"[0, {min(axis, indices_rank)}]")  # fmt: skip
    return axis, batch_dims


def _gather_infer(params, indices, axis, *, batch_dims):
    at = axis.partial()
    if params.dims is not None and not params.dims:
        raise ShapeError(f"params must have at least 1 axis, got {spec_text(params)}")
    if params.dims is None or indices.dims is None:
        return Spec(None, params.dtype)
    if at is None:
        return Spec((None,) * (len(params.dims) - 1 + len(indices.dims) - max(batch_dims, 0)), params.dtype)
    at, batch = _gather_axes(len(params.dims), len(indices.dims), at, batch_dims)
    head = merge(params.dims[:batch], indices.dims[:batch], "the batch axes of params and indices:")
    return Spec(head + params.dims[batch:at] + indices.dims[batch:] + params.dims[at + 1:], params.dtype)


def _batch_index(b, indices, batch):
    """Returns index arrays that select, for each batch, what `indices` says of the next axis."""
    rank = len(indices.shape)
    iotas = [b.np.arange(indices.shape[i]).reshape((1,) * i + (-1,) + (1,) * (rank - 1 - i)) for i in range(batch)]
    return (*iotas, indices)


def take(b, x, index):
    """Returns x[index] for a tuple of index arrays; an index out of range gives NaN when compiled, an error on the host."""
    if b.is_host:
        for i, axis in zip(index, range(len(index))):
            if np.size(i) and (np.min(i) < 0 or np.max(i) >= x.shape[axis]):
                bad = np.ravel(i)[np.flatnonzero((np.ravel(i) < 0) | (np.ravel(i) >= x.shape[axis]))[0]]
                raise ValueError(f"index {bad} is not in [0, {x.shape[axis]})")
        return x[index]
    return x.at[index].get(mode="fill", wrap_negative_indices=False)


def add_at(b, shape, index, updates):
    """Returns zeros of `shape` to which `updates` are added at `index`; positions out of range are left out."""
    if b.is_host:
        out = np.zeros(shape, updates.dtype)
        np.add.at(out, index, updates)
        return out
    return b.np.zeros(shape, updates.dtype).at[index].add(updates, mode="drop", wrap_negative_indices=False)


def _gather_lower(b, params, indices, axis, *, batch_dims):
    axis, batch = _gather_axes(len(params.shape), len(indices.shape), int(axis), batch_dims)
    moved = b.np.moveaxis(params, axis, batch) if axis != batch else params
    out = take(b, moved, _batch_index(b, indices, batch))
    if axis != batch:  # [batch, indices, between, after] -> [batch, between, indices, after]
        n = len(indices.shape)
        order = [*range(batch), *range(n, n + axis - batch), *range(batch, n), *range(n + axis - batch, len(out.shape))]
        out = b.np.transpose(out, order)
    return out


gather_op = define_op("GatherV2", "params: T, indices: Tindices, axis: Taxis", attrs={"batch_dims": 0}, static=(2,),
                      types={"Tindices": INDEX, "Taxis": INDEX}, infer=_gather_infer, lower=_gather_lower, partial=True)  # fmt: skip


def _gather_grad_lower(b, dy, indices, axis, like, *, batch_dims):
    axis, batch = _gather_axes(len(like.shape), len(indices.shape), int(axis), batch_dims)
    n = len(indices.shape)
    order = [*range(batch), *range(axis, axis + n - batch), *range(batch, axis), *range(axis + n - batch, len(dy.shape))]
    dy = b.np.transpose(dy, order)
    shape = list(like.shape)
    shape.insert(batch, shape.pop(axis))
    return b.np.moveaxis(add_at(b, tuple(shape), _batch_index(b, indices, batch), dy), batch, axis)


gathergrad_op = define_op("GatherV2Grad", "dy: T, indices: Tindices, axis: Taxis, like: L", attrs={"batch_dims": 0},
                          static=(2,), shape_only=(3,), types={"Tindices": INDEX, "Taxis": INDEX}, lower=_gather_grad_lower,
                          infer=lambda dy, indices, axis, like, *, batch_dims: Spec(like.dims, dy.dtype))  # fmt: skip


def gather(params, indices, validate_indices=None, name=None, axis=None, batch_dims=0):
    """Returns the slices of `params` along `axis` that `indices` names.

    Args:
      params: tensor of at least one axis.
      indices: int32 or int64 of any shape, values in [0, size of the axis).
      validate_indices: accepted.
      axis: int or scalar tensor; by default `batch_dims`, the first axis that is no batch axis.
      batch_dims: how many leading axes of params and indices correspond to each other.

    Returns:
      A tensor of shape params.shape[:axis] + indices.shape[batch_dims:] + params.shape[axis + 1:]. Its gradient with
      respect to `params` is an IndexedSlices when `axis` is 0.

    Raises:
      InvalidArgumentError: an index is out of range; where compiled code gathers, the result is NaN instead.
    """
    axis = batch_dims if axis is None else axis
    return gather_op(params, indices, axis, batch_dims=int(batch_dims), name=name)


def batch_gather(params, indices, name=None):
    """Returns `params` gathered along its last batch axis: `indices` has shape params.shape[:n] + [...]."""
    with get_default_graph().name_scope(name or "BatchGather") as scope:
        indices = convert_to_tensor(indices, name="indices", preferred_dtype=dtypes.int32)
        if indices.dims is None:
            raise ValueError("batch_gather does not allow indices with unknown shape.")
        n = len(indices.dims) - 1
        return gather_op(params, indices, n, batch_dims=n, name=scope)


# -- sparse gradients --------------------------------------------------------------------------
def join_slices(slices):
    """Returns one IndexedSlices that is the sum of a list of them: their rows and indices one after the other."""
    if len(slices) == 1:
        return slices[0]
    indices = [s.indices for s in slices]
    if len({i.dtype for i in indices}) > 1:
        indices = [_cast(i, dtypes.int64) for i in indices]
    dense_shape = next((s.dense_shape for s in slices if s.dense_shape is not None), None)
    return IndexedSlices(concat_op([s.values for s in slices], 0), concat_op(indices, 0), dense_shape)


def boolean_mask(tensor, mask, name="boolean_mask", axis=None):
    raise NotImplementedError
