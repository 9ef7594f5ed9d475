"""Winograd's convolution of 3x3 filters, F(m x m, 3 x 3): fewer multiplications than the definition has.

An image is cut into overlapping tiles of (m + 2)^2, tiles and filter are transformed, multiplied (one matrix product
per place of a tile, over all tiles), and transformed back to m^2 outputs each: m = 4 does with a quarter of the
multiplications, m = 2 with four ninths. The points are 0, infinity and +-1, or +-sqrt(1/2) and +-sqrt(2): these keep
the rounding errors as small as those of oneDNN's direct convolution (Lavin and Gray 2015 give the transforms).

Arrays are float32, channels last; stride and dilation are 1.
"""

import functools

import numpy as np

from regrad.ops.window import pad

LEAST_CHANNELS = 32


@functools.cache
def matrices(m):
    """Returns (B, G, A) with A' [(G g G') * (B d B')] A = the m x m outputs of tile d and filter g."""
    points = [0.0, 1.0, -1.0] if m == 2 else [0.0, 0.5**0.5, -(0.5**0.5), 2**0.5, -(2**0.5)]

    def powers(k):
        return np.array([[p**j for j in range(k)] for p in points] + [[0.0] * (k - 1) + [1.0]])

    a, g, b = powers(m).T, powers(3), np.linalg.inv(powers(m + 2)).T
    # Powers of two move between B and G without rounding; both stay small.
    scale = 2.0 ** np.round(np.log2(np.sqrt(np.abs(g).sum(1) / np.abs(b).sum(1))))[:, None]
    b = b * scale
    b[np.abs(b) < 1e-12] = 0
    return b, g / scale, a


@functools.cache
def reversed_matrices(m):
    """Returns (B, G, A) for the filter turned by 180 degrees, with the G of the filter as it is.

    Turning g makes of its value at p that at 1 / p times p^2; the points are closed under inversion.
    """
    b, g, a = matrices(m)
    turned_b, turned_a = np.zeros_like(b), np.zeros_like(a)
    for k, row in enumerate(g[:, ::-1]):
        for j, other in enumerate(g):
            i = int(np.argmax(np.abs(other)))
            if np.allclose(other * (row[i] / other[i]), row):
                turned_b[j], turned_a[:, j] = row[i] / other[i] * b[k], a[:, k]
                break
    return turned_b, g, turned_a


def size(n, h, w, channels, out, by_onednn, filter_gradient=False):
    """Returns m, or 0 where the definition is as fast: the least of a model of arithmetic and of memory traffic.

    by_onednn: oneDNN computes the definition, which takes it 0.7 of XLA's time, and 0.6 for the filter's gradient.
    """
    if min(channels, out) < LEAST_CHANNELS:
        return 0
    flops, traffic = 260e9, 15e9  # of one core, measured; only their ratio matters
    effort = (0.8 if filter_gradient else 0.7) if by_onednn else (1.35 if filter_gradient else 1.0)
    best = 2 * n * h * w * 9 * channels * out / flops * effort, 0
    for m in (2, 4):
        places, tiles = (m + 2) ** 2, n * -(-h // m) * -(-w // m)
        products = 2 * places * tiles * channels * out / flops * 1.4
        moved = 8 * places * (tiles * (channels + out) + channels * out) / traffic
        best = min(best, (products + moved, m))
    return best[1]


# -- transforms ----------------------------------------------------------------------------------------
def _square(b, matrix, x):
    """Returns the product of the Kronecker square of `matrix` with `x`, whose first axis is a tile's places.

    Sums written out place by place run a tenth faster in large layers, and take half as long again to compile.
    """
    return b.np.asarray(np.kron(matrix, matrix), dtype=np.float32) @ x


def _image_tiles(b, x, matrix, m, windows, out):
    """Returns B d B' of every tile of `x`, [(m + 2)^2, tiles, channels]; `windows`: (before, after) per axis."""
    a, (h, w, c) = m + 2, x.shape[1:]
    rows, columns = -(-out[0] // m), -(-out[1] // m)
    (top, _), (left, _) = windows
    x = pad(b, x, [(0, 0), (top, rows * m + 2 - h - top), (left, columns * m + 2 - w - left), (0, 0)])
    n, last = x.shape[0], ((rows - 1) * m + 1, (columns - 1) * m + 1)
    places = [b.lax.slice(x, (0, i, j, 0), (n, i + last[0], j + last[1], c), (1, m, m, 1)).reshape(-1)
              for i in range(a) for j in range(a)]
    return _square(b, matrix, b.np.stack(places)).reshape(a * a, -1, c)


def _image(b, tiles, matrix, m, n, out):
    """Returns A' t A of every tile, side by side as images of size `out`."""
    a, c = m + 2, tiles.shape[2]
    rows, columns = -(-out[0] // m), -(-out[1] // m)
    y = _square(b, matrix, tiles.reshape(a * a, -1)).reshape(m, m, n, rows, columns, c)
    return b.np.transpose(y, (2, 3, 0, 4, 1, 5)).reshape(n, rows * m, columns * m, c)[:, :out[0], :out[1]]


def _gradient_tiles(b, dy, matrix, m):
    """Returns A g A' of every m x m tile: the transpose of `_image`."""
    a, (n, h, w, c) = m + 2, dy.shape
    rows, columns = -(-h // m), -(-w // m)
    dy = pad(b, dy, [(0, 0), (0, rows * m - h), (0, columns * m - w), (0, 0)]).reshape(n, rows, m, columns, m, c)
    places = b.np.transpose(dy, (2, 4, 0, 1, 3, 5)).reshape(m * m, -1)
    return _square(b, matrix.T, places).reshape(a * a, -1, c)


def _filter_tiles(b, w, m):
    return _square(b, matrices(m)[1], w.reshape(9, -1)).reshape((m + 2) ** 2, *w.shape[2:])


def _product(b, x, y, transpose_x=False, transpose_y=False):
    contracted = (1 if transpose_x else 2,), (2 if transpose_y else 1,)
    return b.lax.dot_general(x, y, (contracted, ((0,), (0,))))


# -- the three products -----------------------------------------------------------------------------------
def forward(b, x, w, m, windows):
    """Returns the cross-correlation of `x` with the 3x3 filter `w`, padded by (before, after) per axis."""
    into, _, back = matrices(m)
    out = [d + sum(p) - 2 for d, p in zip(x.shape[1:3], windows)]
    tiles = _product(b, _image_tiles(b, x, into, m, windows, out), _filter_tiles(b, w, m))
    return _image(b, tiles, back, m, x.shape[0], out)


def by_input(b, w, dy, m, windows, out):
    """Returns the transpose of `forward` in `x`, of spatial size `out`; the filter's transform is the same."""
    into, _, back = reversed_matrices(m)
    turned = [(2 - p[0], 2 - p[1]) for p in windows]
    tiles = _product(b, _image_tiles(b, dy, into, m, turned, out), _filter_tiles(b, w, m), transpose_y=True)
    return _image(b, tiles, back, m, dy.shape[0], out)


def by_filter(b, x, dy, m, windows):
    """Returns the transpose of `forward` in `w`."""
    into, g, back = matrices(m)
    tiles = _product(b, _image_tiles(b, x, into, m, windows, dy.shape[1:3]), _gradient_tiles(b, dy, back, m),
                     transpose_x=True)
    return _square(b, g.T, tiles.reshape((m + 2) ** 2, -1)).reshape(3, 3, x.shape[3], dy.shape[3])
