"""Rearrangements: tile, pad, roll, reverse, blocks to and from batch and depth, patches.

Gradients: `layout_grad.py`.
"""

import numpy as np

from regrad.core import dtypes
from regrad.core.constants import partial_value
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import INDEX
from regrad.core.errors import ShapeError, Unsupported
from regrad.core.graph import get_default_graph
from regrad.core.opdef import Bounds, Spec, define_op, rank_at_least, rank_is, spec_text
from regrad.core.shapes import as_int, merge
from regrad.ops.array import axis_in, broadcast_to, one_of, reshape, shape, size, stack, variant


# -- Tile ------------------------------------------------------------------------------------
def _tile_infer(x, multiples):
    rank_is(multiples, 1, "multiples")
    times = multiples.partial()
    if times is None:
        return Spec(None if x.dims is None else (None,) * len(x.dims), x.dtype)
    rank_is(x, len(times), f"input ({len(times)} multiples)")
    if any(m is not None and m < 0 for m in times):
        raise ShapeError(f"Expected multiples >= 0, but got {list(times)}")
    dims = x.dims or (None,) * len(times)
    out = (0 if m == 0 else None if None in (m, d) else m * d for m, d in zip(times, dims))
    return Spec(tuple(out), x.dtype)


def _ints(vector):
    return tuple(int(i) for i in vector)


tile_op = define_op("Tile", "input: T, multiples: Tmultiples", types={"Tmultiples": INDEX}, static=(1,),
                    infer=_tile_infer,
                    partial=True, lower=lambda b, x, multiples: b.np.tile(x, _ints(multiples)))


def _tile_grad_infer(dy, multiples, like):
    return Spec((None,) * dy.rank if like.dims is None and dy.dims is not None else like.dims, dy.dtype)


def _tile_grad_lower(b, dy, multiples, like):
    parts = [n for m, d in zip(_ints(multiples), like.shape) for n in (m, d)]
    return b.np.sum(b.np.reshape(dy, parts), axis=tuple(range(0, len(parts), 2)), dtype=dy.dtype)


tilegrad_op = define_op("TileGrad", "dy: T, multiples: Tmultiples, like: L", types={"Tmultiples": INDEX},
                        static=(1,), shape_only=(2,), infer=_tile_grad_infer, lower=_tile_grad_lower)


def tile(input, multiples, name=None):
    """Returns `input` repeated multiples[i] times along axis i.

    Args:
      input: tensor.
      multiples: int32 or int64 vector with one entry per axis.

    Example:
      print(tf.Session().run(tf.tile([[1, 2]], [2, 2])))
      #> [[1 2 1 2]
      #>  [1 2 1 2]]
    """
    return tile_op(input, multiples, name=name)


def repeat(input, repeats, axis=None, name=None):
    """Returns `input` with its elements (rows along `axis`) repeated, each `repeats` times or by its own
    number.

    Args:
      input: tensor; flattened when `axis` is None.
      repeats: int scalar, or vector as long as the axis.
      axis: the axis, or None.
    """
    from regrad.ops import indexing
    from regrad.ops.generate import range as range_
    from regrad.ops.math import cast

    with get_default_graph().name_scope(name or "Repeat") as scope:
        x = convert_to_tensor(input, name="data")
        if axis is None:
            x, axis = reshape(x, [-1]), 0
        repeats = convert_to_tensor(repeats, name="repeats", preferred_dtype=dtypes.int32)
        if x.dims is not None:
            axis = axis_in(axis, len(x.dims))
        if repeats.rank == 0:
            repeats = cast(repeats, dtypes.int64)  # the product may be more than int32 holds
            indices = range_(shape(x, out_type=dtypes.int64)[axis] * repeats) // repeats
        else:
            indices = indexing.where_op(indexing.sequence_mask(repeats))[:, 0]
        return indexing.gather(x, indices, axis=axis, name=scope)


# -- Pad -------------------------------------------------------------------------------------
def _pairs(paddings):
    return [(int(low), int(high)) for low, high in paddings]


def _check_paddings(x, paddings):
    """Returns the (before, after) pairs if they are known; refuses what does not fit the tensor."""
    rank_is(paddings, 2, "paddings, a matrix with 2 columns")
    if paddings.dims is not None and paddings.dims[1] not in (None, 2):
        raise ShapeError(f"Dimension must be 2 but is {paddings.dims[1]}: paddings has 2 columns, got {spec_text(paddings)}")
    n = None if paddings.dims is None else paddings.dims[0]
    if n is not None:
        rank_is(x, n, f"input: paddings {spec_text(paddings)} has one row per axis of")
    value = paddings.value()
    if value is None:
        return None
    if value.size and value.min() < 0:
        raise ShapeError(f"Paddings must be non-negative, got {value.tolist()}")
    return _pairs(value)


def _pad_infer(x, paddings, constant=None):
    pairs = _check_paddings(x, paddings)
    rank = x.rank if x.dims is not None else None if paddings.dims is None else paddings.dims[0]
    if pairs is None or rank is None:
        return Spec(None if rank is None else (None,) * rank, x.dtype)
    dims = x.dims or (None,) * rank
    return Spec(tuple(None if d is None else low + d + high for d, (low, high) in zip(dims, pairs)), x.dtype)


def pad_with(b, x, pairs, constant=None):
    """Returns `x` with `constant` (zero by default) around it."""
    if constant is None:
        constant = b"" if x.dtype == np.object_ else b.np.zeros((), x.dtype)
    if x.dtype == np.object_:
        out = np.empty([low + d + high for d, (low, high) in zip(x.shape, pairs)], object)
        out[...] = constant
        out[tuple(slice(low, low + d) for d, (low, _) in zip(x.shape, pairs))] = x
        return out
    if b.is_host:
        return np.pad(x, pairs, constant_values=constant) if x.ndim else np.array(x)
    return b.lax.pad(x, constant, [(low, high, 0) for low, high in pairs])


pad_op = define_op("Pad", "input: T, paddings: Tpaddings", types={"Tpaddings": INDEX}, static=(1,),
                   infer=_pad_infer, lower=lambda b, x, paddings: pad_with(b, x, _pairs(paddings)))
padv2_op = define_op("PadV2", "input: T, paddings: Tpaddings, constant_values: T", types={"Tpaddings": INDEX},
                     static=(1,), infer=_pad_infer, lower=lambda b, x, paddings, constant:
                     pad_with(b, x, _pairs(paddings), b.np.reshape(constant, ())))


def _mirror_infer(x, paddings, *, mode):
    if mode not in ("REFLECT", "SYMMETRIC"):
        raise ValueError(f"mode must be 'REFLECT' or 'SYMMETRIC', got {mode!r}")
    edge = mode == "REFLECT"  # the outermost element is not repeated
    for i, (d, pair) in enumerate(zip(x.dims or (), _check_paddings(x, paddings) or ())):
        if d is not None and max(pair) > d - edge:
            most = "less" if edge else "no greater"
            raise ShapeError(f"paddings must be {most} than the dimension size in mode {mode}: {list(pair)} for the size {d} "
                             f"of axis {i}")
    return _pad_infer(x, paddings)


mirrorpad_op = define_op("MirrorPad", "input: T, paddings: Tpaddings", attrs={"mode": "REFLECT"}, static=(1,),
                         types={"Tpaddings": INDEX}, infer=_mirror_infer,
                         lower=lambda b, x, paddings, *, mode:
                         b.np.pad(x, _pairs(paddings), mode=mode.lower()) if x.ndim else x)


def _mirror_grad_infer(dy, paddings, *, mode):
    pairs = _check_paddings(dy, paddings)
    if dy.dims is None or pairs is None:
        return Spec(None if dy.dims is None else (None,) * len(dy.dims), dy.dtype)
    return Spec(tuple(None if d is None else d - low - high for d, (low, high) in zip(dy.dims, pairs)),
                dy.dtype)


def _mirror_grad_lower(b, dy, paddings, *, mode):
    # Along each axis the margins are folded back onto what they mirrored.
    edge = int(mode == "REFLECT")
    for axis, (low, high) in enumerate(_pairs(paddings)):
        n = dy.shape[axis] - low - high

        def part(start, stop, axis=axis, dy=dy):
            return dy[(slice(None),) * axis + (slice(start, stop),)]

        def placed(x, before, axis=axis, n=n):
            pairs = [(0, 0)] * x.ndim
            pairs[axis] = (before, n - before - x.shape[axis])
            return pad_with(b, b.np.flip(x, axis), pairs)

        folded = part(low, low + n)
        if low:
            folded = folded + placed(part(0, low), edge)
        if high:
            folded = folded + placed(part(low + n, None), n - edge - high)
        dy = folded
    return dy


mirrorpadgrad_op = define_op("MirrorPadGrad", "input: T, paddings: Tpaddings", attrs={"mode": "REFLECT"},
                             static=(1,),
                             types={"Tpaddings": INDEX}, infer=_mirror_grad_infer, lower=_mirror_grad_lower)


def _is_zero(constant):
    return not isinstance(constant, (str, bytes)) and bool(np.all(np.equal(constant, 0)))


def pad(tensor, paddings, mode="CONSTANT", name=None, constant_values=0):
    """Returns `tensor` with paddings[i][0] elements before and paddings[i][1] after it along axis i.

    Args:
      tensor: any tensor.
      paddings: int32 or int64 matrix [rank, 2].
      mode: "CONSTANT", "REFLECT" (mirrored without repeating the edge) or "SYMMETRIC" (mirrored with it), in
        any case.
      constant_values: scalar, what "CONSTANT" pads with.

    Raises:
      ValueError: another mode, a negative padding, or a mirrored one that is larger than the tensor.

    Example:
      print(tf.Session().run(tf.pad([1, 2], [[1, 2]])))
      #> [0 1 2 0 0]
    """
    mode = mode.upper()
    if mode == "CONSTANT":
        if not hasattr(constant_values, "_as_graph_element") and _is_zero(constant_values):
            padded = pad_op(tensor, paddings, name=name)
        else:
            padded = padv2_op(tensor, paddings, constant_values, name=name)
    elif mode in ("REFLECT", "SYMMETRIC"):
        padded = mirrorpad_op(tensor, paddings, mode=mode, name=name)
    else:
        raise ValueError(f"Unknown padding mode: {mode}")
    x, pairs = padded.op.inputs[:2]
    if x.dims is not None and pairs.op.type == "Pack" and None in padded.dims:  # a list in which some are known
        known = [partial_value(row) or (None,) for row in pairs.op.inputs]
        padded.set_shape([None if None in (d, *pair) else d + sum(pair) for d, pair in zip(x.dims, known)])
    return padded


# -- Roll ------------------------------------------------------------------------------------
def _roll_infer(x, shift, axis):
    for v, what in ((shift, "shift"), (axis, "axis")):
        if v.rank is not None and v.rank > 1:
            raise ShapeError(f"{what} must be a scalar or a vector, got {spec_text(v)}")
    rank_at_least(x, 1, "input (input must be 1-D or higher)")
    merge(shift.dims, axis.dims, "shift and axis must have one shape;")
    at = axis.partial()
    if at is not None and x.dims is not None:
        for a in at if isinstance(at, tuple) else (at,):
            if a is not None:
                axis_in(a, len(x.dims), outside=" is out of range")
    return Spec(x.dims, x.dtype)


def _roll_lower(b, x, shift, axis):
    axes = _ints(np.ravel(axis))
    shifts = _ints(np.ravel(shift)) if isinstance(shift, np.ndarray) else b.np.reshape(shift, (-1,))
    return b.np.roll(x, shifts, axes)


roll_op = define_op("Roll", "input: T, shift: Tshift, axis: Taxis", types={"Tshift": INDEX, "Taxis": INDEX},
                    static=(1, 2), infer=_roll_infer, lower=_roll_lower)
_roll_by_op = variant(roll_op, static=(2,))  # by how much, only a run knows: one compiled program serves all


def roll(input, shift, axis, name=None):
    """Returns `input` with its elements moved by `shift` along `axis`, those that leave coming back at the
    other end.

    Args:
      input: tensor of at least one axis.
      shift: int scalar or vector; positive moves to larger indices.
      axis: int scalar or vector of the same length; an axis named twice is moved by the sum.
    """
    shift = convert_to_tensor(shift, preferred_dtype=dtypes.int32)
    return (_roll_by_op if shift.value() is None else roll_op)(input, shift, axis, name=name)


# -- reversing -------------------------------------------------------------------------------
def _reverse_infer(x, axis):
    at = axis.partial()
    rank_is(axis, 1, "axis, a vector of axes")
    if at is not None and None not in at and x.dims is not None:
        axes = [axis_in(a, len(x.dims)) for a in at]
        if len(set(axes)) < len(axes):
            raise ShapeError(f"axis {axes[-1]} specified more than once in {list(at)}")
    return Spec(x.dims, x.dtype)


reverse_op = define_op("ReverseV2", "tensor: T, axis: Tidx", types={"Tidx": INDEX}, static=(1,),
                       infer=_reverse_infer, lower=lambda b, x, axis: b.np.flip(x, _ints(axis)))


def reverse(tensor, axis, name=None):
    """Returns `tensor` with the order of its elements reversed along the axes in the vector `axis`.

    Example:
      print(tf.Session().run(tf.reverse([1, 2, 3], axis=[0])))
      #> [3 2 1]
    """
    return reverse_op(tensor, axis, name=name)


reverse_v2 = reverse


def _reverse_sequence_infer(x, seq_lengths, *, seq_dim, batch_dim):
    rank_is(seq_lengths, 1, "seq_lengths, a vector")
    if x.dims is None:
        return Spec(None, x.dtype)
    seq, batch = seq_dim, batch_dim
    for what, axis in (("seq_dim", seq), ("batch_dim", batch)):
        if not 0 <= axis < len(x.dims):
            raise ShapeError(f"{what} must be < input rank, and at least 0: {axis} vs. {len(x.dims)}")
    if seq == batch:
        raise ShapeError(f"batch_dim == seq_dim == {seq}")
    (n,), d = seq_lengths.dims or (None,), x.dims[batch]
    if None not in (n, d) and n != d:
        raise ShapeError(f"Dimensions must be equal, but are {d} and {n}: len(seq_lens) != input.dims({batch})")
    n = d if n is None else n
    return Spec((*x.dims[:batch], n, *x.dims[batch + 1:]), x.dtype)


def _refuse_lengths(lengths, limit):
    from regrad.ops.indexing import OutOfRange

    raise OutOfRange(f"seq_lengths must be in [0, {limit - 1}], got {lengths.tolist()}")


def _reverse_sequence_lower(b, x, seq_lengths, *, seq_dim, batch_dim):
    seq, batch = seq_dim, batch_dim
    n = x.shape[seq]
    if b.is_host and seq_lengths.size and (seq_lengths.min() < 0 or seq_lengths.max() > n):
        _refuse_lengths(seq_lengths, n + 1)
    i = b.np.arange(n, dtype=seq_lengths.dtype)[None, :]
    lengths = seq_lengths[:, None]
    order = b.np.where(i < lengths, lengths - 1 - i, i)  # [batch, seq]
    order = order if batch < seq else b.np.transpose(order)
    spread = [1] * x.ndim
    spread[seq], spread[batch] = n, x.shape[batch]
    return b.np.take_along_axis(x, b.np.reshape(order, spread), seq)


reversesequence_op = define_op("ReverseSequence", "input: T, seq_lengths: Tlen", types={"Tlen": INDEX},
                               attrs={"seq_dim": None, "batch_dim": 0}, infer=_reverse_sequence_infer,
                               lower=_reverse_sequence_lower)
reversesequence_op.declare(refusal=Bounds(1, lambda x, lengths, *, seq_dim, batch_dim: x.dims[seq_dim] + 1, _refuse_lengths))


def reverse_sequence(input, seq_lengths, seq_axis=None, batch_axis=None, name=None, seq_dim=None,
                     batch_dim=None):
    """Returns `input` with the first seq_lengths[i] elements along `seq_axis` reversed, for each batch entry
    i.

    Args:
      input: tensor of at least 2 axes.
      seq_lengths: int vector, as long as the batch axis, values in [0, size of the sequence axis].
      seq_axis, batch_axis: the two axes; the batch axis is 0 by default.
    """
    seq_axis = one_of("seq_axis", seq_axis, "seq_dim", seq_dim)
    batch_axis = one_of("batch_axis", batch_axis, "batch_dim", batch_dim)
    if seq_axis is None:
        raise TypeError("reverse_sequence: seq_axis must be given.")
    return reversesequence_op(input, seq_lengths, seq_dim=int(seq_axis), batch_dim=int(batch_axis or 0),
                              name=name)


# -- blocks of space to batch, and back -----------------------------------------------------------
def _blocks(x, block_shape, margins, what):
    """Returns block sizes and (before, after) pairs as far as known, and the number of spatial axes."""
    rank_is(block_shape, 1, "block_shape, a vector")
    m = None if block_shape.dims is None else block_shape.dims[0]
    if margins.dims is not None and (len(margins.dims) != 2 or margins.dims[1] not in (None, 2)):
        raise ShapeError(f"{what} must be a matrix with 2 columns, got {spec_text(margins)}")
    if margins.dims is not None and None not in (m, margins.dims[0]) and m != margins.dims[0]:
        raise ShapeError(f"{what} must have one row per entry of block_shape, got {spec_text(margins)}")
    if m is not None:
        rank_at_least(x, m + 1, f"input ({m} block sizes)")
    sizes, pairs = block_shape.value(), margins.value()
    if sizes is not None and sizes.size and sizes.min() < 1:
        raise ShapeError(f"block_shape must be positive, got {sizes.tolist()}")
    if pairs is not None and pairs.size and pairs.min() < 0:
        raise ShapeError(f"{what} must be non-negative, got {pairs.tolist()}")
    return None if sizes is None else _ints(sizes), None if pairs is None else _pairs(pairs), m


def _space_to_batch_infer(x, block_shape, paddings):
    sizes, pairs, m = _blocks(x, block_shape, paddings, "paddings")
    if x.dims is None or m is None:
        return Spec(None if x.dims is None else (None,) * len(x.dims), x.dtype)
    if sizes is None:
        return Spec((None,) * (m + 1) + x.dims[m + 1:], x.dtype)
    spatial = []
    for d, size_, pair in zip(x.dims[1:], sizes, pairs or [(0, None)] * m):
        padded = None if d is None or None in pair else d + sum(pair)
        if padded is not None and padded % size_:
            raise ShapeError(f"padded_shape {padded} is not divisible by block_shape {size_}")
        spatial.append(None if padded is None else padded // size_)
    batch = None if x.dims[0] is None else x.dims[0] * int(np.prod(sizes))
    return Spec((batch, *spatial, *x.dims[m + 1:]), x.dtype)


def _space_to_batch_lower(b, x, block_shape, paddings):
    sizes, m = _ints(block_shape), len(block_shape)
    x = pad_with(b, x, [(0, 0), *_pairs(paddings), *[(0, 0)] * (x.ndim - 1 - m)])
    batch, spatial, rest = x.shape[0], x.shape[1:m + 1], x.shape[m + 1:]
    counts = [d // s for d, s in zip(spatial, sizes)]
    # [batch, n1, b1, n2, b2 ..., rest] -> [b1, b2 ..., batch, n1, n2 ..., rest]
    x = b.np.reshape(x, (batch, *(n for pair in zip(counts, sizes) for n in pair), *rest))
    inner, outer = list(range(2, 2 * m + 1, 2)), list(range(1, 2 * m, 2))
    x = b.np.transpose(x, [*inner, 0, *outer, *range(2 * m + 1, x.ndim)])
    return b.np.reshape(x, (batch * int(np.prod(sizes)), *counts, *rest))


spacetobatch_op = define_op("SpaceToBatchND", "input: T, block_shape: Tblock_shape, paddings: Tpaddings",
                            static=(1, 2),
                            types={"Tblock_shape": INDEX, "Tpaddings": INDEX}, infer=_space_to_batch_infer,
                            lower=_space_to_batch_lower)


def _batch_to_space_infer(x, block_shape, crops):
    sizes, pairs, m = _blocks(x, block_shape, crops, "crops")
    if x.dims is None or m is None:
        return Spec(None if x.dims is None else (None,) * len(x.dims), x.dtype)
    if sizes is None:
        return Spec((None,) * (m + 1) + x.dims[m + 1:], x.dtype)
    n = int(np.prod(sizes))
    if x.dims[0] is not None and x.dims[0] % n:
        raise ShapeError(f"the batch size {x.dims[0]} is not divisible by {n}, the product of block_shape "
                         f"{list(sizes)}")
    spatial = []
    for d, size_, pair in zip(x.dims[1:], sizes, pairs or [(0, None)] * m):
        left = None if d is None or None in pair else d * size_ - sum(pair)
        if left is not None and left < 0:
            raise ShapeError(f"crops {list(pair)} take more than the {d * size_} elements there are")
        spatial.append(left)
    return Spec((None if x.dims[0] is None else x.dims[0] // n, *spatial, *x.dims[m + 1:]), x.dtype)


def _batch_to_space_lower(b, x, block_shape, crops):
    sizes, m = _ints(block_shape), len(block_shape)
    batch, spatial, rest = x.shape[0] // int(np.prod(sizes)), x.shape[1:m + 1], x.shape[m + 1:]
    # [b1, b2 ..., batch, n1, n2 ..., rest] -> [batch, n1, b1, n2, b2 ..., rest]
    x = b.np.reshape(x, (*sizes, batch, *spatial, *rest))
    x = b.np.transpose(x, [m, *(a for i in range(m) for a in (m + 1 + i, i)), *range(2 * m + 1, x.ndim)])
    whole = [d * s for d, s in zip(spatial, sizes)]
    x = b.np.reshape(x, (batch, *whole, *rest))
    return x[(slice(None), *(slice(low, d - high) for d, (low, high) in zip(whole, _pairs(crops))))]


batchtospace_op = define_op("BatchToSpaceND", "input: T, block_shape: Tblock_shape, crops: Tcrops",
                            static=(1, 2),
                            types={"Tblock_shape": INDEX, "Tcrops": INDEX}, infer=_batch_to_space_infer,
                            lower=_batch_to_space_lower)


def space_to_batch_nd(input, block_shape, paddings, name=None):
    """Returns `input` [batch, spatial ..., rest] padded, cut into blocks, and each place in a block made a
    batch entry.

    Args:
      input: tensor of at least 1 + m axes.
      block_shape: vector of m block sizes.
      paddings: matrix [m, 2]: zeros before and after each spatial axis; padded sizes must be multiples of the
        blocks'.
    """
    return spacetobatch_op(input, block_shape, paddings, name=name)


def batch_to_space_nd(input, block_shape, crops, name=None):
    """Returns what `space_to_batch_nd` with this `block_shape` was made from, less `crops` at the edges."""
    return batchtospace_op(input, block_shape, crops, name=name)


def space_to_batch(input, paddings, block_size=None, name=None, block_shape=None):
    """`space_to_batch_nd` with one block size for both axes of images [batch, height, width, depth]."""
    sizes = _two_sizes(block_size, block_shape)
    return _image(space_to_batch_nd(_image(input), sizes, paddings, name=name))


def batch_to_space(input, crops, block_size, name=None, block_shape=None):
    """`batch_to_space_nd` with one block size for both axes of images [batch, height, width, depth]."""
    sizes = _two_sizes(block_size, block_shape)
    return _image(batch_to_space_nd(_image(input), sizes, crops, name=name))


def _two_sizes(block_size, block_shape):
    size = one_of("block_shape", block_shape, "block_size", block_size)
    return [size, size] if np.ndim(size) == 0 and not hasattr(size, "dims") else size


def _image(x):
    x = convert_to_tensor(x)
    x.set_shape([None] * 4)
    return x


def required_space_to_batch_paddings(input_shape, block_shape, base_paddings=None, name=None):
    """Returns the least paddings that make the padded sizes multiples of `block_shape`, and the crops that
    undo them.

    Args:
      input_shape: int32 vector of n spatial sizes.
      block_shape: int32 vector of n block sizes.
      base_paddings: int32 [n, 2], the least to pad with; zeros by default.

    Returns:
      (paddings, crops), int32 [n, 2] each; constants when everything is known.
    """
    with get_default_graph().name_scope(name or "required_space_to_batch_paddings"):
        sizes = convert_to_tensor(input_shape, dtype=dtypes.int32, name="input_shape")
        blocks = convert_to_tensor(block_shape, dtype=dtypes.int32, name="block_shape")
        n = blocks.shape.with_rank(1).as_list()[0]
        sizes.set_shape([n])
        base = convert_to_tensor(np.zeros((n, 2), np.int32) if base_paddings is None else base_paddings,
                                 dtype=dtypes.int32, name="base_paddings")
        base.set_shape([n, 2])
        if all(t.value() is not None for t in (sizes, blocks, base)):
            before = base.value()[:, 0]
            extra = -(sizes.value() + base.value().sum(1)) % blocks.value()
            paddings = np.stack([before, base.value()[:, 1] + extra], 1)
            crops = np.stack([np.zeros_like(extra), extra], 1)
            return (convert_to_tensor(paddings.astype(np.int32), name="paddings"),
                    convert_to_tensor(crops.astype(np.int32), name="crops"))
        before = base[:, 0]
        extra = (blocks - (sizes + before + base[:, 1]) % blocks) % blocks
        return (stack([before, base[:, 1] + extra], 1, name="paddings"),
                stack([extra - extra, extra], 1, name="crops"))


# -- blocks of space to depth, and back -----------------------------------------------------------
def _image_axes(x, data_format):
    """Returns dims as (batch, height, width, depth) and what puts such a tuple back in order."""
    if data_format not in ("NHWC", "NCHW"):
        raise ValueError(f"data_format must be 'NHWC' or 'NCHW', got {data_format!r}")
    rank_is(x, 4, "input")
    dims = x.dims or (None,) * 4
    if data_format == "NHWC":
        return dims, lambda n, h, w, c: (n, h, w, c)
    return (dims[0], dims[2], dims[3], dims[1]), lambda n, h, w, c: (n, c, h, w)


def _divided(d, by, what):
    if d is not None and d % by:
        raise ShapeError(f"the {what} {d} is not divisible by {by}")
    return None if d is None else d // by


def _times(d, by):
    return None if d is None else d * by


def _space_to_depth_infer(x, *, block_size, data_format):
    (n, h, w, c), order = _image_axes(x, data_format)
    h, w = _divided(h, block_size, "height"), _divided(w, block_size, "width")
    return Spec(order(n, h, w, _times(c, block_size * block_size)), x.dtype)


def _depth_to_space_infer(x, *, block_size, data_format):
    (n, h, w, c), order = _image_axes(x, data_format)
    c = _divided(c, block_size * block_size, "depth")
    return Spec(order(n, _times(h, block_size), _times(w, block_size), c), x.dtype)


def _permuted(b, x, parts, order, dims):
    return b.np.reshape(b.np.transpose(b.np.reshape(x, parts), order), dims)


def _space_to_depth_lower(b, x, *, block_size, data_format):
    s = block_size
    if data_format == "NHWC":
        n, h, w, c = x.shape
        return _permuted(b, x, (n, h // s, s, w // s, s, c), (0, 1, 3, 2, 4, 5),
                         (n, h // s, w // s, s * s * c))
    n, c, h, w = x.shape
    return _permuted(b, x, (n, c, h // s, s, w // s, s), (0, 3, 5, 1, 2, 4), (n, s * s * c, h // s, w // s))


def _depth_to_space_lower(b, x, *, block_size, data_format):
    s = block_size
    if data_format == "NHWC":
        n, h, w, c = x.shape
        return _permuted(b, x, (n, h, w, s, s, c // s // s), (0, 1, 3, 2, 4, 5),
                         (n, h * s, w * s, c // s // s))
    n, c, h, w = x.shape
    return _permuted(b, x, (n, s, s, c // s // s, h, w), (0, 3, 4, 1, 5, 2), (n, c // s // s, h * s, w * s))


_BLOCK = {"block_size": None, "data_format": "NHWC"}
spacetodepth_op = define_op("SpaceToDepth", "input", attrs=_BLOCK, infer=_space_to_depth_infer,
                            lower=_space_to_depth_lower)
depthtospace_op = define_op("DepthToSpace", "input", attrs=_BLOCK, infer=_depth_to_space_infer,
                            lower=_depth_to_space_lower)


def space_to_depth(input, block_size, name=None, data_format="NHWC"):
    """Returns images with each block of block_size^2 pixels laid out along the depth axis.

    Args:
      input: [batch, height, width, depth], or [batch, depth, height, width] with data_format "NCHW".
      block_size: int of at least 2 that divides height and width.
    """
    return spacetodepth_op(input, block_size=_block_size(block_size), data_format=data_format, name=name)


def depth_to_space(input, block_size, name=None, data_format="NHWC"):
    """Returns images whose depth is laid out as blocks of pixels: the inverse of `space_to_depth`."""
    return depthtospace_op(input, block_size=_block_size(block_size), data_format=data_format, name=name)


def _block_size(block_size):
    size = as_int(block_size, "block_size")
    if size < 2:
        raise ValueError(f"block_size must be at least 2, got {block_size}")
    return size


# -- patches ---------------------------------------------------------------------------------
def _patch_counts(dims, ksizes, strides, rates, padding):
    """Returns per spatial axis how many patches there are, and the zeros before and after."""
    counts, pairs = [], []
    for d, k, s, r in zip(dims, ksizes, strides, rates):
        span = (k - 1) * r + 1
        if d is None:
            counts.append(None)
            pairs.append((0, 0))
            continue
        count = -(-d // s) if padding == "SAME" else max(-(-(d - span + 1) // s), 0)
        total = max((count - 1) * s + span - d, 0) if padding == "SAME" else 0
        counts.append(count)
        pairs.append((total // 2, total - total // 2))
    return counts, pairs


def _patches(op_type, rank):
    """Defines the op that lays out each patch of `rank` spatial axes along the depth axis."""

    def infer(x, *, ksizes, strides, rates, padding):
        rank_is(x, rank + 2, "input")
        dims = x.dims or (None,) * (rank + 2)
        counts, _ = _patch_counts(dims[1:-1], ksizes[1:-1], strides[1:-1], rates[1:-1], padding)
        return Spec((dims[0], *counts, _times(dims[-1], int(np.prod(ksizes)))), x.dtype)

    def lower(b, x, *, ksizes, strides, rates, padding):
        counts, pairs = _patch_counts(x.shape[1:-1], ksizes[1:-1], strides[1:-1], rates[1:-1], padding)
        x = pad_with(b, x, [(0, 0), *pairs, (0, 0)])
        parts = []
        for place in np.ndindex(*ksizes[1:-1]):
            starts = [p * r for p, r in zip(place, rates[1:-1])]
            parts.append(x[(slice(None), *(slice(i, i + (n - 1) * s + 1 if n else i, s)
                                           for i, n, s in zip(starts, counts, strides[1:-1])))])
        return b.np.concatenate(parts, -1)

    attrs = {"ksizes": None, "strides": None, "rates": None, "padding": "VALID"}
    return define_op(op_type, "images", attrs=attrs, infer=infer, lower=lower)


extractimagepatches_op = _patches("ExtractImagePatches", 2)
extractvolumepatches_op = _patches("ExtractVolumePatches", 3)


def _patch_attrs(rank, padding, **lists):
    for name, v in lists.items():
        if v is None or len(v) != rank + 2 or min(v) < 1:
            raise ValueError(f"{name} must be a list of {rank + 2} positive ints, got {v!r}")
        if v[0] != 1 or v[-1] != 1:
            raise Unsupported(f"Only support {name} across space: the first and last must be 1, got {v!r}")
    if padding not in ("SAME", "VALID"):
        raise ValueError(f"padding must be 'SAME' or 'VALID', got {padding!r}")
    return {k: _ints(v) for k, v in lists.items()} | {"padding": padding}


def extract_image_patches(images, ksizes=None, strides=None, rates=None, padding=None, name=None, sizes=None):
    """Returns the patches of images, each laid out along the depth axis: [batch, rows, columns, kh kw depth].

    Args:
      images: [batch, height, width, depth].
      ksizes: [1, kh, kw, 1], the size of a patch.
      strides: [1, sh, sw, 1], how far apart the centres of patches are.
      rates: [1, rh, rw, 1], how far apart the pixels of a patch are.
      padding: "SAME" (zeros around the image) or "VALID".
      sizes: another name of `ksizes`.
    """
    ksizes = one_of("sizes", sizes, "ksizes", ksizes)
    attrs = _patch_attrs(2, padding, ksizes=ksizes, strides=strides, rates=rates)
    return extractimagepatches_op(images, **attrs, name=name)


def extract_volume_patches(input, ksizes, strides, padding, name=None):
    """Returns the patches of volumes [batch, planes, rows, columns, depth], laid out along the depth axis."""
    attrs = _patch_attrs(3, padding, ksizes=ksizes, strides=strides, rates=(1, 1, 1, 1, 1))
    return extractvolumepatches_op(input, **attrs, name=name)


# -- grids -----------------------------------------------------------------------------------
def meshgrid(*args, indexing="xy", name="meshgrid"):
    """Returns, for n vectors, n tensors of rank n that hold each vector's values along its own axis.

    Args:
      *args: vectors of one dtype.
      indexing: "xy" (the first two axes swapped, as for images) or "ij".

    Raises:
      ValueError: another `indexing`.
    """
    if indexing not in ("xy", "ij"):
        raise ValueError("indexing parameter must be either 'xy' or 'ij'")
    with get_default_graph().name_scope(name or "meshgrid"):
        n = len(args)
        axes = list(range(n))
        if indexing == "xy" and n > 1:
            axes[0], axes[1] = 1, 0
        vectors = [reshape(v, (-1,)) for v in args]
        sizes = [None] * n
        for axis, v in zip(axes, vectors):
            sizes[axis] = size(v) if v.dims is None or None in v.dims else v.dims[0]
        spread = [reshape(v, (1,) * a + (-1,) + (1,) * (n - 1 - a)) for a, v in zip(axes, vectors)]
        return [broadcast_to(v, sizes) for v in spread]
