"""Rows for `regrad/ops/layout.py`."""

import itertools

import numpy as np

import regrad as tf
from regrad.core.errors import InvalidArgumentError
from regrad.ops import layout
from tests.cases import Bad, Case

ALL = ("float16", "float32", "complex64", "int32")
PADS = [[1, 2], [0, 1]]
LENGTHS = np.array([2, 0, 4], np.int32)


def floats(*shape):
    return tf.placeholder("float32", shape)


def reversed_rows(x, lengths, seq, batch):
    y = np.moveaxis(x, (batch, seq), (0, 1)).copy()
    for row, n in zip(y, lengths):
        row[:n] = row[:n][::-1].copy()
    return np.moveaxis(y, (0, 1), (batch, seq))


def space_to_batch(x, block, pads):
    """Element by element, from the definition."""
    x = np.pad(x, [(0, 0), *pads, *[(0, 0)] * (x.ndim - 1 - len(block))])
    parts = [x[(slice(None), *(slice(p, None, b) for p, b in zip(place, block)))]
             for place in itertools.product(*map(range, block))]
    return np.concatenate(parts, 0)


def batch_to_space(x, block, crops):
    n = x.shape[0] // int(np.prod(block))
    spatial = [d * b for d, b in zip(x.shape[1:], block)]
    out = np.zeros((n, *spatial, *x.shape[1 + len(block):]), x.dtype)
    for i, place in enumerate(itertools.product(*map(range, block))):
        out[(slice(None), *(slice(p, None, b) for p, b in zip(place, block)))] = x[i * n:(i + 1) * n]
    return out[(slice(None), *(slice(lo, d - hi) for d, (lo, hi) in zip(spatial, crops)))]


def space_to_depth(x, s):
    parts = [x[:, i::s, j::s] for i in range(s) for j in range(s)]
    return np.concatenate(parts, -1)


def depth_to_space(x, s):
    n, h, w, c = x.shape
    c //= s * s
    out = np.zeros((n, h * s, w * s, c), x.dtype)
    for i in range(s):
        for j in range(s):
            out[:, i::s, j::s] = x[..., (i * s + j) * c:(i * s + j + 1) * c]
    return out


def channels_first(f):
    return lambda x: np.moveaxis(f(np.moveaxis(x, 1, -1), 2), -1, 1)


def patches(x, sizes, strides, rates, same):
    """Each patch by itself; ksizes and so on without the batch and depth entries."""
    spans = [(k - 1) * r + 1 for k, r in zip(sizes, rates)]
    dims = x.shape[1:-1]
    if same:
        counts = [-(-d // s) for d, s in zip(dims, strides)]
        totals = [max((n - 1) * s + k - d, 0) for n, s, k, d in zip(counts, strides, spans, dims)]
        x = np.pad(x, [(0, 0), *((t // 2, t - t // 2) for t in totals), (0, 0)])
    else:
        counts = [(d - k) // s + 1 for d, k, s in zip(dims, spans, strides)]
    out = np.zeros((x.shape[0], *counts, int(np.prod(sizes)) * x.shape[-1]), x.dtype)
    for at in np.ndindex(*counts):
        where = tuple(slice(i * s, i * s + k, r) for i, s, k, r in zip(at, strides, spans, rates))
        out[(slice(None), *at)] = x[(slice(None), *where)].reshape(x.shape[0], -1)
    return out


def image_patches(size, stride, rate, padding):
    def build(x):
        lists = [[1, *v, 1] for v in (size, stride, rate)]
        return layout.extract_image_patches(x, *lists, padding=padding)

    def reference(x):
        return patches(x, size, stride, rate, padding == "SAME")

    return build, reference


def pad_case(pads, mode, shape, note="", **more):
    return Case("MirrorPad", lambda x: layout.pad(x, pads, mode), lambda x: np.pad(x, pads, mode.lower()),
                (shape,), note=mode.lower() + note, **more)


CASES = [
    Case("Tile", lambda x: layout.tile(x, [2, 1, 3]), lambda x: np.tile(x, (2, 1, 3)), ((2, 3, 1),),
         dtypes=ALL),
    Case("Tile", lambda x: layout.tile(x, [0, 2]), lambda x: np.tile(x, (0, 2)), ((2, 3),), note="none"),
    Case("Tile", lambda x: layout.tile(x, np.zeros(0, np.int32)), lambda x: x, ((),), note="scalar"),
    Case("GatherV2", lambda x: layout.repeat(x, 2, axis=1), lambda x: np.repeat(x, 2, 1), ((2, 3),),
         note="repeat"),
    Case("GatherV2", lambda x: layout.repeat(x, 3), lambda x: np.repeat(x, 3), ((2, 3),), note="repeat flat"),
    Case("GatherV2", lambda x: layout.repeat(x, [2, 0, 1], axis=-1), lambda x: np.repeat(x, [2, 0, 1], 1),
         ((2, 3),), unknown=False, note="repeat each"),
    Case("GatherV2", lambda x: layout.repeat(x, 0, axis=0), lambda x: x[:0], ((2, 3),), note="repeat never"),
    # padding
    Case("Pad", lambda x: layout.pad(x, PADS), lambda x: np.pad(x, PADS), ((2, 3),), dtypes=ALL),
    Case("Pad", lambda x: layout.pad(x, PADS), lambda x: np.pad(x, PADS), (np.array([[True], [False]]),),
         note="bool"),
    Case("Pad", lambda x: layout.pad(x, np.array([[1, 1], [0, 0]], np.int64)),
         lambda x: np.pad(x, [(1, 1), (0, 0)]), ((0, 2),), note="empty"),
    Case("Pad", lambda x: layout.pad(x, np.zeros((0, 2), np.int32)), lambda x: x, ((),), note="scalar"),
    Case("PadV2", lambda x, c: layout.pad(x, PADS, constant_values=c),
         lambda x, c: np.pad(x, PADS, constant_values=c), ((2, 3), ()), dtypes=ALL),
    Case("PadV2", lambda x: layout.pad(x, PADS, constant_values=-1.5),
         lambda x: np.pad(x, PADS, constant_values=-1.5), ((2, 3),), note="constant"),
    pad_case([[2, 1], [0, 2]], "REFLECT", (3, 4), dtypes=ALL),
    pad_case([[3, 0], [1, 4]], "SYMMETRIC", (3, 4), dtypes=ALL),
    pad_case([[0, 0], [0, 0]], "REFLECT", (1, 2), " none"),
    pad_case([[1, 1]], "SYMMETRIC", (1,), " size 1"),
    Case("MirrorPad", lambda x: layout.pad(x, [[1, 0]], "reflect"), lambda x: np.pad(x, [(1, 0)], "reflect"),
         ((3,),), note="small letters"),
    # permutations
    Case("Roll", lambda x: layout.roll(x, 2, 1), lambda x: np.roll(x, 2, 1), ((2, 5),), dtypes=ALL),
    Case("Roll", lambda x: layout.roll(x, [-1, 7, 1], [0, -1, 0]), lambda x: np.roll(x, [0, 7], [0, 1]),
         ((2, 5),), note="several"),
    Case("Roll", lambda x, s: layout.roll(x, s, [0, 1]), lambda x, s: np.roll(x, s, [0, 1]),
         ((3, 4), np.array([-5, 2], np.int32)), note="shift at run time"),
    Case("Roll", lambda x: layout.roll(x, 1, 0), lambda x: x, ((0, 2),), note="empty"),
    Case("ReverseV2", lambda x: layout.reverse(x, [0, -1]), lambda x: x[::-1, :, ::-1], ((2, 3, 4),),
         dtypes=ALL),
    Case("ReverseV2", lambda x: layout.reverse(x, np.zeros(0, np.int32)), lambda x: x, ((2,),),
         note="no axis"),
    Case("ReverseSequence", lambda x, n: layout.reverse_sequence(x, n, 1, 0),
         lambda x, n: reversed_rows(x, n, 1, 0), ((3, 4, 2), LENGTHS), dtypes=ALL),
    Case("ReverseSequence", lambda x, n: layout.reverse_sequence(x, n, seq_dim=0, batch_dim=2),
         lambda x, n: reversed_rows(x, n, 0, 2), ((4, 2, 3), LENGTHS.astype(np.int64)), note="time first"),
    # blocks
    Case("SpaceToBatchND", lambda x: layout.space_to_batch_nd(x, [2, 3], [[1, 0], [0, 2]]),
         lambda x: space_to_batch(x, [2, 3], [[1, 0], [0, 2]]), ((2, 3, 4, 2),), dtypes=ALL),
    Case("SpaceToBatchND", lambda x: layout.space_to_batch_nd(x, [2], [[0, 0]]),
         lambda x: space_to_batch(x, [2], [[0, 0]]), ((1, 4),), note="no rest"),
    Case("SpaceToBatchND", lambda x: layout.space_to_batch(x, [[0, 0], [0, 0]], 2),
         lambda x: space_to_batch(x, [2, 2], [[0, 0], [0, 0]]), ((1, 2, 4, 1),), note="images"),
    Case("BatchToSpaceND", lambda x: layout.batch_to_space_nd(x, [2, 3], [[1, 0], [0, 2]]),
         lambda x: batch_to_space(x, [2, 3], [[1, 0], [0, 2]]), ((12, 2, 2, 2),), dtypes=ALL),
    Case("BatchToSpaceND", lambda x: layout.batch_to_space(x, [[0, 0], [0, 0]], 2),
         lambda x: batch_to_space(x, [2, 2], [[0, 0], [0, 0]]), ((4, 1, 2, 1),), note="images"),
    Case("SpaceToDepth", lambda x: layout.space_to_depth(x, 2), lambda x: space_to_depth(x, 2),
         ((2, 4, 6, 3),), dtypes=ALL),
    Case("SpaceToDepth", lambda x: layout.space_to_depth(x, 2, data_format="NCHW"),
         channels_first(space_to_depth), ((2, 3, 4, 6),), note="NCHW"),
    Case("DepthToSpace", lambda x: layout.depth_to_space(x, 2), lambda x: depth_to_space(x, 2),
         ((2, 2, 3, 12),), dtypes=ALL),
    Case("DepthToSpace", lambda x: layout.depth_to_space(x, 2, data_format="NCHW"),
         channels_first(depth_to_space), ((2, 12, 2, 3),), note="NCHW"),
    # patches
    *(Case("ExtractImagePatches", *image_patches(*args), ((2, 5, 6, 2),), unknown=unknown,
           note=f"{args}".replace(" ", ""))
      for args, unknown in ((([2, 3], [1, 2], [1, 1], "VALID"), True),
                            (([3, 2], [2, 1], [1, 2], "SAME"), True),
                            (([2, 2], [3, 2], [2, 2], "VALID"), False))),
    Case("ExtractVolumePatches",
         lambda x: layout.extract_volume_patches(x, [1, 2, 1, 2, 1], [1, 1, 2, 1, 1], "SAME"),
         lambda x: patches(x, [2, 1, 2], [1, 2, 1], [1, 1, 1], True), ((1, 2, 3, 3, 2),)),
    # grids
    Case("BroadcastTo", lambda x, y: layout.meshgrid(x, y), lambda x, y: tuple(np.meshgrid(x, y)),
         ((3,), (2,)), dtypes=("int32",), note="meshgrid"),
    Case("BroadcastTo", lambda x, y, z: layout.meshgrid(x, y, z, indexing="ij"),
         lambda *v: tuple(np.meshgrid(*v, indexing="ij")), ((2,), (1,), (3,)), note="meshgrid ij"),
    # refusals
    Bad("Tile", lambda: layout.tile(floats(2), [1, 2]), ValueError, "rank 2 but is rank 1"),
    Bad("Tile", lambda: layout.tile(floats(2), [-1]), ValueError, ">= 0"),
    Bad("Pad", lambda: layout.pad(floats(2), [[1, -1]]), ValueError, "non-negative"),
    Bad("Pad", lambda: layout.pad(floats(2), [[1, 1], [0, 0]]), ValueError, "one row per axis"),
    Bad("Pad", lambda: layout.pad(floats(2), [1, 1]), ValueError, "2 columns"),
    Bad("Pad", lambda: layout.pad(floats(2), [[1, 1]], "WRAP"), ValueError, "Unknown padding mode: WRAP"),
    Bad("MirrorPad", lambda: layout.pad(floats(2), [[2, 0]], "REFLECT"), ValueError,
        "less than the dimension size"),
    Bad("MirrorPad", lambda: layout.pad(floats(2), [[0, 3]], "SYMMETRIC"), ValueError,
        "no greater than the dimension size"),
    Bad("Roll", lambda: layout.roll(floats(2), 1, 1), ValueError, "axis 1 is out of range"),
    Bad("Roll", lambda: layout.roll(floats(2, 2), [1, 1], 1), ValueError, "one shape"),
    Bad("Roll", lambda: layout.roll(floats(), 1, 0), ValueError, "must be 1-D or higher"),
    Bad("ReverseV2", lambda: layout.reverse(floats(2, 2), [0, -2]), ValueError, "more than once"),
    Bad("ReverseV2", lambda: layout.reverse(floats(2, 2), 0), ValueError, "vector of axes"),
    Bad("ReverseSequence", lambda: layout.reverse_sequence(floats(2, 2), [1, 2, 1], 1, 0), ValueError,
        r"len\(seq_lens\) != input.dims\(0\)"),
    Bad("ReverseSequence", lambda: layout.reverse_sequence(floats(2, 2), [1, 2], 0, 0), ValueError,
        "batch_dim == seq_dim"),
    Bad("ReverseSequence", lambda: layout.reverse_sequence(floats(2, 2), [1, 2]), TypeError,
        "seq_axis must be given"),
    Bad("ReverseSequence", lambda: layout.reverse_sequence(tf.constant([[1.0, 2]]), [3], 1),
        InvalidArgumentError, r"in \[0, 2\]", run=True),
    Bad("SpaceToBatchND", lambda: layout.space_to_batch_nd(floats(1, 3), [2], [[0, 0]]), ValueError,
        "not divisible"),
    Bad("SpaceToBatchND", lambda: layout.space_to_batch_nd(floats(1, 3), [0], [[0, 0]]), ValueError,
        "positive"),
    Bad("SpaceToBatchND", lambda: layout.space_to_batch_nd(floats(1, 3), [3], [[-1, 1]]), ValueError,
        "non-negative"),
    Bad("SpaceToBatchND", lambda: layout.space_to_batch_nd(floats(3), [3], [[0, 0]]), ValueError,
        "at least rank 2"),
    Bad("BatchToSpaceND", lambda: layout.batch_to_space_nd(floats(3, 3), [2], [[0, 0]]), ValueError,
        "not divisible by 2"),
    Bad("BatchToSpaceND", lambda: layout.batch_to_space_nd(floats(2, 1), [2], [[2, 1]]), ValueError,
        "take more than"),
    Bad("SpaceToDepth", lambda: layout.space_to_depth(floats(1, 3, 4, 1), 2), ValueError,
        "height 3 is not divisible"),
    Bad("SpaceToDepth", lambda: layout.space_to_depth(floats(1, 2, 2, 1), 1), ValueError, "at least 2"),
    Bad("DepthToSpace", lambda: layout.depth_to_space(floats(1, 2, 2, 3), 2), ValueError,
        "depth 3 is not divisible by 4"),
    Bad("DepthToSpace", lambda: layout.depth_to_space(floats(1, 2, 4), 2), ValueError, "must be rank 4"),
    Bad("DepthToSpace", lambda: layout.depth_to_space(floats(1, 2, 2, 4), 2, data_format="HWCN"), ValueError,
        "HWCN"),
    Bad("ExtractImagePatches", lambda: layout.extract_image_patches(floats(1, 2, 2, 1), [1, 2, 2],
                                                                    [1, 1, 1, 1],
                                                                    [1, 1, 1, 1], "SAME"), ValueError,
        "list of 4"),
    Bad("ExtractImagePatches", lambda: layout.extract_image_patches(floats(1, 2, 2, 1), *[[1, 1, 1, 1]] * 3,
                                                                    "FULL"),
        ValueError, "'SAME' or 'VALID'"),
    Bad("BroadcastTo", lambda: layout.meshgrid([1], [2], indexing="yx"), ValueError, "either 'xy' or 'ij'"),
]


# -- what gradients of tiles and mirrors are made of -----------------------------------------------------------
def folded(shape, pads, mode):
    """The sum of what stands at an element and at its mirror images."""
    place = np.pad(np.arange(int(np.prod(shape))).reshape(shape), pads, mode.lower())
    return lambda dy: np.bincount(place.ravel(), dy.ravel(), int(np.prod(shape))).reshape(shape)


CASES += [
    Case("TileGrad", lambda dy, x: layout.tilegrad_op(dy, [2, 3], x), lambda dy, x: dy.reshape(2, 2, 3, 1).sum((0, 2)),
         ((4, 3), (2, 1)), wrt=(0,)),
    Case("TileGrad", lambda dy, x: layout.tilegrad_op(dy, [0, 1], x), lambda dy, x: np.zeros((2, 3)), ((0, 3), (2, 3)),
         wrt=(0,), note="none"),
    *(Case("MirrorPadGrad", lambda dy, m=m: layout.mirrorpadgrad_op(dy, [[1, 0], [2, 2]], mode=m),
           folded((2, 3), [(1, 0), (2, 2)], m), ((3, 7),), note=m) for m in ("REFLECT", "SYMMETRIC")),
]
