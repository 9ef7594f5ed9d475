"""Fractional pooling (Graham 2014): regions of two sizes, drawn at random, so that the ratio need not be an
integer.

The regions come as cumulative sequences, s[i] <= row < s[i + 1] (and s[i + 1] too when they overlap). They
are drawn on the host; pooling with given sequences and its gradients compile. Gradients:
`fractional_grad.py`.
"""

import collections

import numpy as np

from regrad.core.dtypes import FLOATING, REAL, int64
from regrad.core.errors import ShapeError, Unsupported
from regrad.core.opdef import Spec, define_op, rank_is, spec_text
from regrad.core.shapes import compatible
from regrad.ops.indexing import add_at

FractionalMaxPool = collections.namedtuple(
    "FractionalMaxPool", ["output", "row_pooling_sequence", "col_pooling_sequence"])
FractionalAvgPool = collections.namedtuple(
    "FractionalAvgPool", ["output", "row_pooling_sequence", "col_pooling_sequence"])

_ATTRS = {"pooling_ratio": None, "pseudo_random": False, "overlapping": False, "deterministic": False,
          "seed": 0, "seed2": 0}


# -- regions --------------------------------------------------------------------------------------------
def _sequence(random, size, out, pseudo_random):
    """Returns out + 1 borders from 0 to `size`: gaps of k and k + 1 shuffled, or ceil(a (i + u))."""
    k, rest = divmod(size, out)
    if rest and pseudo_random:
        # u is bounded so that the first and the last gap are k or k + 1 like the others.
        ratio = size / out
        u = random.random() * min((k + 2) / ratio - 1, (size + 1 - k) / ratio - (out - 1))
        inner = np.ceil(ratio * (np.arange(1, out) + u)).astype(np.int64) - 1
        return np.concatenate([[0], inner, [size]]).astype(np.int64)
    gaps = np.full(out, k)
    gaps[:rest] += 1
    return np.concatenate([[0], np.cumsum(random.permutation(gaps) if rest else gaps)]).astype(np.int64)


class _Regions:
    """The regions of one axis, as indices [regions, longest] and which of them count."""

    def __init__(self, b, axis, size, sequence, overlapping):
        self.axis, self.size = axis, size
        out = sequence.shape[0] - 1
        longest = min(size // max(out, 1) + 1 + overlapping, size)
        last = b.np.minimum(sequence[1:] - (0 if overlapping else 1), size - 1)
        index = sequence[:-1, None] + np.arange(longest, dtype=np.int64)
        self.inside = index <= last[:, None]
        self.index = b.np.minimum(index, size - 1)
        self.count = b.np.sum(self.inside, axis=1)

    def take(self, b, x, fill):
        """Returns [..., regions, longest, ...]: the elements of each region, `fill` where it has no more."""
        parts = b.np.take(x, self.index, axis=self.axis)
        return b.np.where(self._broad(self.inside, parts), parts, fill)

    def put(self, b, parts):
        """Returns the transpose of `take`: the parts added up where they came from."""
        masked = b.np.where(self._broad(self.inside, parts), parts, parts.dtype.type(0))
        front = b.np.moveaxis(masked, (self.axis, self.axis + 1), (0, 1))
        return b.np.moveaxis(add_at(b, (self.size, *front.shape[2:]), (self.index,), front), 0, self.axis)

    def _broad(self, v, parts):
        return v.reshape((1,) * self.axis + v.shape + (1,) * (parts.ndim - self.axis - v.ndim))

    def divided(self, b, y):
        return y / self._broad(self.count, y).astype(y.dtype)


def _regions(b, shape, rows, columns, overlapping):
    return [_Regions(b, 1, shape[1], rows, overlapping), _Regions(b, 2, shape[2], columns, overlapping)]


def _lowest(dtype):
    return dtype.type(np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf)


def _first(b, x, r):
    """Returns the place of the first largest element in each region, keeping an axis of size 1."""
    parts = r.take(b, x, _lowest(x.dtype))
    return b.np.expand_dims(b.np.argmax(parts, axis=r.axis + 1), r.axis + 1)


def _max(b, x, regions):
    """Returns [x, maxima along columns, along both]."""
    rows, columns = regions
    across = b.np.max(columns.take(b, x, _lowest(x.dtype)), axis=3)
    return [x, across, b.np.max(rows.take(b, across, _lowest(x.dtype)), axis=1 + 1)]


def _max_back(b, x, dy, regions):
    rows, columns = regions
    stages = _max(b, x, regions)
    for r, before in ((rows, stages[1]), (columns, stages[0])):
        first = _first(b, before, r)
        places = np.arange(r.index.shape[1]).reshape((-1,) + (1,) * (dy.ndim - r.axis - 1))
        dy = r.put(b, b.np.where(first == places, b.np.expand_dims(dy, r.axis + 1), dy.dtype.type(0)))
    return dy


def _max_on(b, x, g, regions):
    rows, columns = regions
    stages = _max(b, x, regions)
    for r, before in ((columns, stages[0]), (rows, stages[1])):
        parts = r.take(b, g, g.dtype.type(0))
        g = b.np.squeeze(b.np.take_along_axis(parts, _first(b, before, r), axis=r.axis + 1), r.axis + 1)
    return g


def _avg(b, x, regions):
    for r in reversed(regions):
        x = r.divided(b, b.np.sum(r.take(b, x, x.dtype.type(0)), axis=r.axis + 1, dtype=x.dtype))
    return x


def _avg_back(b, dy, regions):
    for r in regions:
        y = b.np.expand_dims(r.divided(b, dy), r.axis + 1)
        dy = r.put(b, b.np.broadcast_to(y, y.shape[:r.axis + 1] + (r.index.shape[1],) + y.shape[r.axis + 2:]))
    return dy


# -- drawing and pooling -----------------------------------------------------------------------------------
def _drawn_infer(x, *, pooling_ratio, **attrs):
    rank_is(x, 4, "value")
    dims = x.dims or (None,) * 4
    out = tuple(None if d is None else int(d / r) for d, r in zip(dims, pooling_ratio))
    if 0 in (out[1], out[2]):
        raise ShapeError(f"{spec_text(x)} is smaller than the pooling ratio {list(pooling_ratio)}")
    borders = [Spec((None if n is None else n + 1,), int64) for n in out[1:3]]
    return [Spec((dims[0], *out[1:3], dims[3]), x.dtype), *borders]


def _drawn(pool):
    def lower(b, rng, x, *, pooling_ratio, pseudo_random, overlapping, deterministic, seed, seed2):
        key = [int(v) for v in np.asarray(rng)]
        random = np.random.Generator(np.random.Philox(key[:2] if deterministic else key))
        sequences = [_sequence(random, n, int(n / r), pseudo_random) for n,
                     r in zip(x.shape[1:3], pooling_ratio[1:3])]
        return pool(b, x, _regions(b, x.shape, *sequences, overlapping)), *sequences

    return lower


def _given_infer(x, *rest, overlapping):
    *others, rows, columns = rest
    for s in (rows, columns):
        rank_is(s, 1, "a pooling sequence, a vector")
    outs = [None if s.dims is None or s.dims[0] is None else s.dims[0] - 1 for s in (rows, columns)]
    dims = x.dims or (None,) * 4
    return (dims[0], *outs, dims[3])


def _back_infer(x, *rest, overlapping):
    out = _given_infer(x, *rest, overlapping=overlapping)
    if not compatible(rest[-3].dims, out):
        raise ShapeError(f"out_backprop is {spec_text(rest[-3])}, but the sequences make {out[1]} x "
                         f"{out[2]} regions")
    return Spec(x.dims, x.dtype)


_SEQUENCES = "row_pooling_sequence: int64, col_pooling_sequence: int64"
_GIVEN = {"overlapping": False}

fractionalmaxpool_op = define_op("FractionalMaxPool", "value", attrs=_ATTRS, types={"T": REAL},
                                 infer=_drawn_infer, random=True, stateful=True, host=True,
                                 lower=_drawn(lambda b, x, regions: _max(b, x, regions)[-1]))
fractionalavgpool_op = define_op("FractionalAvgPool", "value", attrs=_ATTRS, types={"T": FLOATING},
                                 infer=_drawn_infer, random=True, stateful=True, host=True,
                                 lower=_drawn(_avg))
fractionalmaxpoolgrad_op = define_op(
    "FractionalMaxPoolGrad", f"orig_input: T, orig_output: T, out_backprop: T, {_SEQUENCES}", attrs=_GIVEN,
    types={"T": REAL}, infer=_back_infer, lower=lambda b, x, y, dy, rows, columns, *, overlapping:
    _max_back(b, x, dy, _regions(b, x.shape, rows, columns, overlapping)))
fractionalmaxpoolgradgrad_op = define_op(
    "FractionalMaxPoolGradGrad", f"orig_input: T, grad: T, {_SEQUENCES}", attrs=_GIVEN, types={"T": REAL},
    infer=lambda x, *rest, overlapping: Spec(_given_infer(x, *rest, overlapping=overlapping), x.dtype),
    lower=lambda b, x, g, rows, columns, *, overlapping:
    _max_on(b, x, g, _regions(b, x.shape, rows, columns, overlapping)))


def _avg_grad_infer(shape, dy, rows, columns, *, overlapping):
    dims = shape.partial()
    if shape.rank not in (None, 1) or dims is not None and len(dims) != 4:
        raise ShapeError(f"orig_input_tensor_shape must be a vector of 4 sizes, got {spec_text(shape)}")
    return _back_infer(Spec(dims, dy.dtype), dy, rows, columns, overlapping=overlapping)


fractionalavgpoolgrad_op = define_op(
    "FractionalAvgPoolGrad", f"orig_input_tensor_shape: int64, out_backprop: T, {_SEQUENCES}", attrs=_GIVEN,
    types={"T": FLOATING}, static=(0,), infer=_avg_grad_infer, lower=lambda b, shape, dy, rows, columns, *,
    overlapping:
    _avg_back(b, dy, _regions(b, [int(d) for d in shape], rows, columns, overlapping)))
# Average pooling over given regions: the transpose of its gradient.
fractionalavgpoolgiven_op = define_op(
    "FractionalAvgPoolGiven", f"value: T, {_SEQUENCES}", attrs=_GIVEN, types={"T": FLOATING},
    infer=lambda x, *rest, overlapping: Spec(_given_infer(x, *rest, overlapping=overlapping), x.dtype),
    lower=lambda b, x, rows, columns, *, overlapping:
    _avg(b, x, _regions(b, x.shape, rows, columns, overlapping)))


def _attrs(pooling_ratio, pseudo_random, overlapping, deterministic, seed, seed2):
    ratio = tuple(float(r) for r in pooling_ratio)
    if len(ratio) == 4 and min(ratio) >= 1 and (ratio[0] != 1 or ratio[3] != 1):
        raise Unsupported(f"Fractional pooling is not yet supported on the batch nor channel dimension: {list(ratio)}")
    if len(ratio) != 4 or min(ratio) < 1:
        raise ValueError("pooling_ratio must be [1, rows, columns, 1] with ratios of at least 1, "
                         f"got {list(pooling_ratio)}.")
    if deterministic and not seed and not seed2:
        raise ValueError("Both seed and seed2 should be non-zero if deterministic is True.")
    return {"pooling_ratio": ratio, "pseudo_random": bool(pseudo_random), "overlapping": bool(overlapping),
            "deterministic": bool(deterministic), "seed": int(seed), "seed2": int(seed2)}


def fractional_max_pool(value, pooling_ratio, pseudo_random=False, overlapping=False, deterministic=False,
                        seed=0, seed2=0, name=None):
    """Returns the largest element of each of the regions into which rows and columns are cut at random.

    Args:
      value: [batch, height, width, channels], any real dtype.
      pooling_ratio: [1, rows, columns, 1]: floor(size / ratio) regions per axis.
      pseudo_random: draw one number for all borders of an axis instead of shuffling the regions' sizes.
      overlapping: a region includes the first row (column) of the next.
      deterministic: the same regions in every run; needs seeds.
      seed, seed2: the two seeds.

    Returns:
      (output, row_pooling_sequence, col_pooling_sequence), the sequences being the borders, int64.
    """
    attrs = _attrs(pooling_ratio, pseudo_random, overlapping, deterministic, seed, seed2)
    return FractionalMaxPool(*fractionalmaxpool_op(value, name=name, **attrs))


def fractional_avg_pool(value, pooling_ratio, pseudo_random=False, overlapping=False, deterministic=False,
                        seed=0, seed2=0, name=None):
    """Returns the mean of each region; arguments and result as in `fractional_max_pool`."""
    attrs = _attrs(pooling_ratio, pseudo_random, overlapping, deterministic, seed, seed2)
    return FractionalAvgPool(*fractionalavgpool_op(value, name=name, **attrs))


