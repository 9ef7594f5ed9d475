"""Signals cut into frames: windows, short-time Fourier transforms, mel scales. Made of other ops, and so differentiable."""

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import constant, convert_to_tensor
from regrad.core.dtypes import as_dtype
from regrad.core.errors import BadValue, ShapeError
from regrad.core.graph import get_default_graph
from regrad.core.shapes import as_int
from regrad.ops import array, compare, fft, generate, indexing, layout, math, reduce


def _int(value, what):
    """Returns an int or the value of a constant tensor as one."""
    if hasattr(value, "value") and not isinstance(value, (int, np.integer)):
        value = value.value()
    if value is None:
        raise ValueError(f"{what} must be known while the graph is built")
    return as_int(value, what)


# -- windows -----------------------------------------------------------------------------------------
def _counts(length, dtype, name):
    if not as_dtype(dtype).is_floating:
        raise ValueError(f"dtype must be a floating point type. Found {as_dtype(dtype)!r}")
    length = convert_to_tensor(length, name="window_length", dtype=None if hasattr(length, "dtype") else dtypes.int32)
    if length.dims not in ((), None):
        raise ValueError(f"window_length must be a scalar, got shape {length.shape}")
    return length, math.cast(generate.range(length), as_dtype(dtype))


def _raised_cosine(default, window_length, periodic, dtype, name, a, b):
    with get_default_graph().name_scope(name or default):
        length, count = _counts(window_length, dtype, name)
        # A periodic window is one step longer than it looks, for even lengths: TF's rule.
        even = 1 - math.floormod(length, 2)
        periodic = math.cast(convert_to_tensor(periodic, dtypes.bool_), length.dtype)
        last = math.cast(math.maximum(length + periodic * even - 1, 1), as_dtype(dtype))
        window = a - b * math.cos(2.0 * np.pi * count / last)
        return compare.selectv2_op(compare.equal(length, 1), array.ones_like(window), window)


def hann_window(window_length, periodic=True, dtype=dtypes.float32, name=None):
    """Returns the Hann window 0.5 - 0.5 cos(2 pi n / N), [window_length].

    Args:
      window_length: int or scalar tensor.
      periodic: for spectra: N is the length if that is even; otherwise N is the length less one.
      dtype: a floating dtype.
    """
    return _raised_cosine("hann_window", window_length, periodic, dtype, name, 0.5, 0.5)


def hamming_window(window_length, periodic=True, dtype=dtypes.float32, name=None):
    """Returns the Hamming window 0.54 - 0.46 cos(2 pi n / N), [window_length]; arguments as for `hann_window`."""
    return _raised_cosine("hamming_window", window_length, periodic, dtype, name, 0.54, 0.46)


def kaiser_window(window_length, beta=12.0, dtype=dtypes.float32, name=None):
    """Returns the Kaiser window of parameter `beta`, [window_length]."""
    from regrad.ops import special

    with get_default_graph().name_scope(name or "kaiser_window"):
        length, count = _counts(window_length, dtype, name)
        half = math.cast(math.maximum(length - 1, 1), as_dtype(dtype)) / 2.0
        position = math.cast(count, dtypes.float64) / math.cast(half, dtypes.float64) - 1.0
        beta = math.cast(convert_to_tensor(beta), dtypes.float64)
        inside = math.maximum(1.0 - math.square(position), array.zeros_like(position))
        window = special.bessel_i0(beta * math.sqrt(inside)) / special.bessel_i0(beta)
        one = compare.selectv2_op(compare.equal(length, 1), array.ones_like(window), window)
        return math.cast(one, as_dtype(dtype))


def kaiser_bessel_derived_window(window_length, beta=12.0, dtype=dtypes.float32, name=None):
    """Returns the window made of the running sums of a Kaiser window, [window_length], an even length."""
    from regrad.ops.cumulative import cumsum

    with get_default_graph().name_scope(name or "kaiser_bessel_derived_window"):
        length, _ = _counts(window_length, dtype, name)
        half = length // 2
        sums = cumsum(kaiser_window(half + 1, beta, dtype))
        rising = math.sqrt(sums[:-1] / sums[-1])
        return array.concat([rising, layout.reverse(rising, [0])], 0)


def vorbis_window(window_length, dtype=dtypes.float32, name=None):
    """Returns the Vorbis window sin(pi / 2 sin^2(pi (n + 1/2) / N)), [window_length]."""
    with get_default_graph().name_scope(name or "vorbis_window"):
        length, count = _counts(window_length, dtype, name)
        inner = math.sin(np.pi / math.cast(length, as_dtype(dtype)) * (count + 0.5))
        return math.sin(np.pi / 2.0 * math.square(inner))


# -- frames -------------------------------------------------------------------------------------------
def frame(signal, frame_length, frame_step, pad_end=False, pad_value=0, axis=-1, name=None):
    """Returns `signal` cut along `axis` into frames that start `frame_step` apart.

    Args:
      signal: [..., samples, ...], of known rank.
      frame_length, frame_step: ints.
      pad_end: frames start at every step of the signal, the last ones filled up with `pad_value`; otherwise only whole
        frames are taken.
      axis: which axis holds the samples.

    Returns:
      [..., frames, frame_length, ...].
    """
    with get_default_graph().name_scope(name or "frame"):
        signal = convert_to_tensor(signal, name="signal")
        length, step = _int(frame_length, "frame_length"), _int(frame_step, "frame_step")
        if step < 1:
            raise BadValue(f"frame: frame_step must be at least 1, got {step}")
        if signal.dims is None:
            return _frames_of_any_rank(signal, length, step, pad_end, pad_value, _int(axis, "axis"))
        axis = array.axis_in(_int(axis, "axis"), len(signal.dims))
        size = signal.dims[axis]
        samples = size if size is not None else array.shape(signal)[axis]
        if pad_end:
            frames = -(-samples // step)
            missing = _at_least_0(length + step * (frames - 1) - samples)
            before, after = [[0, 0]] * axis, [[0, 0]] * (len(signal.dims) - axis - 1)
            pads = [*before, [0, missing], *after]
            pads = pads if isinstance(missing, int) else array.stack([array.stack(p) for p in pads])
            signal = layout.pad(signal, pads, constant_values=pad_value)
        else:
            frames = _at_least_0(1 + (samples - length) // step)
        starts = generate.range(frames) * step if not isinstance(frames, int) else \
            constant(np.arange(frames, dtype=np.int32) * step)
        index = array.expand_dims(starts, 1) + np.arange(length, dtype=np.int32)[None, :]
        signal = signal[:] if axis == 0 else signal  # a slice's gradient is dense, that of gathered rows is not
        return indexing.gather(signal, index, axis=axis)


def _frames_of_any_rank(signal, length, step, pad_end, pad_value, axis):
    """`frame` where a run tells the rank: of [before, samples, after], each of what lies before and after one axis."""
    sizes, at = array.shape(signal), axis if axis >= 0 else array.rank(signal) + axis
    flat = array.reshape(signal, array.stack([reduce.reduce_prod(sizes[:at]), sizes[at], reduce.reduce_prod(sizes[at + 1:])]))
    flat.set_shape([None, None, None])
    framed = frame(flat, length, step, pad_end, pad_value, 1)
    return array.reshape(framed, array.concat([sizes[:at], array.shape(framed)[1:3], sizes[at + 1:]], 0))


def _at_least_0(n):
    return max(n, 0) if isinstance(n, int) else math.maximum(n, 0)


def overlap_and_add(signal, frame_step, name=None):
    """Returns the sum of frames laid `frame_step` apart: the transpose of `frame`.

    Args:
      signal: [..., frames, frame_length].
      frame_step: int.

    Returns:
      [..., (frames - 1) frame_step + frame_length].
    """
    with get_default_graph().name_scope(name or "overlap_and_add"):
        signal = convert_to_tensor(signal, name="signal")
        step = _int(frame_step, "frame_step")
        if step < 1:
            raise BadValue(f"overlap_and_add: frame_step must be at least 1, got {step}")
        if signal.dims is None:
            sizes = array.shape(signal)
            flat = array.reshape(signal, array.concat([[-1], sizes[-2:]], 0))
            flat.set_shape([None, None, None])
            return array.reshape(overlap_and_add(flat, step), array.concat([sizes[:-2], [-1]], 0))
        if len(signal.dims) < 2:
            raise ShapeError(f"overlap_and_add: signal must be [..., frames, frame_length], not {signal.shape}")
        shape = array.shape(signal)
        rank, length = len(signal.dims), signal.dims[-1] if signal.dims[-1] is not None else shape[-1]
        outer = [signal.dims[i] if signal.dims[i] is not None else shape[i] for i in range(rank - 2)]
        frames = signal.dims[-2] if signal.dims[-2] is not None else shape[-2]
        if length == 0 or frames == 0:
            return array.zeros([*outer, 0], signal.dtype)
        # A frame is so many segments of one step; segment j of frame i falls to step i + j of the result.
        parts = -(-length // step)
        signal = layout.pad(signal, [[0, 0]] * (rank - 1) + [[0, parts * step - length]])
        signal = array.reshape(signal, [*outer, frames, parts, step])
        signal = array.transpose(signal, [*range(rank - 2), rank - 1, rank - 2, rank])
        signal = layout.pad(signal, [[0, 0]] * (rank - 1) + [[0, parts], [0, 0]])
        # Rows of frames + parts steps, read as rows one shorter: each row moves on by one step.
        signal = array.reshape(signal, [*outer, parts * (frames + parts), step])[..., :parts * (frames + parts - 1), :]
        signal = array.reshape(signal, [*outer, parts, frames + parts - 1, step])
        total = array.reshape(reduce.reduce_sum(signal, axis=-3), [*outer, (frames + parts - 1) * step])
        return total[..., :(frames - 1) * step + length]


# -- short-time transforms -----------------------------------------------------------------------------
def _power_of_two(n):
    return 1 << max(n - 1, 0).bit_length()


def stft(signals, frame_length, frame_step, fft_length=None, window_fn=hann_window, pad_end=False, name=None):
    """Returns the short-time Fourier transform of real signals.

    Args:
      signals: [..., samples].
      frame_length, frame_step: ints.
      fft_length: int; the least power of two that holds a frame by default.
      window_fn: window_fn(length, dtype=...) -> window; None for none.
      pad_end: see `frame`.

    Returns:
      Complex [..., frames, fft_length // 2 + 1].
    """
    with get_default_graph().name_scope(name or "stft"):
        signals = convert_to_tensor(signals, name="signals")
        length = _int(frame_length, "frame_length")
        fft_length = _power_of_two(length) if fft_length is None else _int(fft_length, "fft_length")
        framed = frame(signals, length, frame_step, pad_end=pad_end)
        if window_fn is not None:
            framed = framed * window_fn(length, dtype=framed.dtype)
        return fft.rfft(framed, [fft_length])


def inverse_stft(stfts, frame_length, frame_step, fft_length=None, window_fn=hann_window, name=None):
    """Returns real signals from their short-time Fourier transform: windowed frames, overlapped and added.

    It is the inverse of `stft` when `window_fn` is `inverse_stft_window_fn` of the step and the window used there.

    Args:
      stfts: complex [..., frames, fft_length // 2 + 1].
      frame_length, frame_step, fft_length, window_fn: as for `stft`.

    Returns:
      [..., samples].
    """
    with get_default_graph().name_scope(name or "inverse_stft"):
        stfts = convert_to_tensor(stfts, name="stfts")
        length = _int(frame_length, "frame_length")
        fft_length = _power_of_two(length) if fft_length is None else _int(fft_length, "fft_length")
        frames = fft.irfft(stfts, [fft_length])[..., :length]
        if length > fft_length:
            frames = layout.pad(frames, [[0, 0]] * (frames.rank - 1) + [[0, length - fft_length]])
        if window_fn is not None:
            frames = frames * window_fn(length, dtype=frames.dtype)
        return overlap_and_add(frames, frame_step)


def inverse_stft_window_fn(frame_step, forward_window_fn=hann_window, name=None):
    """Returns the window function with which `inverse_stft` undoes an `stft` of the same step and forward window."""

    def window_fn(frame_length, dtype=dtypes.float32):
        with get_default_graph().name_scope(name or "inverse_stft_window_fn"):
            length, step = _int(frame_length, "frame_length"), _int(frame_step, "frame_step")
            window = forward_window_fn(length, dtype=dtype)
            overlaps = -(-length // step)
            squares = layout.pad(math.square(window), [[0, overlaps * step - length]])
            total = reduce.reduce_sum(array.reshape(squares, [overlaps, step]), 0, keepdims=True)
            total = array.reshape(layout.tile(total, [overlaps, 1]), [overlaps * step])
            return window / total[:length]

    return window_fn


def mdct(signals, frame_length, window_fn=vorbis_window, pad_end=False, norm=None, name=None):
    """Returns the modified discrete cosine transform: [..., frames, frame_length / 2] of [..., samples].

    Args:
      signals: [..., samples].
      frame_length: int, divisible by 4; frames start half of it apart.
      window_fn: window_fn(length, dtype=...) -> window; None for one that keeps energy.
      pad_end, norm: as for `frame` and `dct`.
    """
    with get_default_graph().name_scope(name or "mdct"):
        signals = convert_to_tensor(signals, name="signals")
        length = _int(frame_length, "frame_length")
        if length % 4:
            raise ValueError("The frame length must be a multiple of 4.")
        half = length // 2
        framed = frame(signals, length, half, pad_end=pad_end)
        framed = framed * (np.sqrt(0.5) if window_fn is None else window_fn(length, dtype=framed.dtype))
        # Quarters a b c d fold to (-c reversed - d, a - b reversed), whose transform of type 4 it is.
        a, b, c, d = array.split(framed, 4, axis=-1)
        folded = array.concat([-layout.reverse(c, [-1]) - d, a - layout.reverse(b, [-1])], -1)
        return fft.dct(folded, type=4, norm=norm)


def inverse_mdct(mdcts, window_fn=vorbis_window, norm=None, name=None):
    """Returns the signals [..., samples] of which `mdct` with the same window and norm gave `mdcts`."""
    with get_default_graph().name_scope(name or "inverse_mdct"):
        mdcts = convert_to_tensor(mdcts, name="mdcts")
        half = mdcts.dims[-1]
        spectrum = fft.idct(mdcts, type=4, norm=norm)
        if norm is None:
            spectrum = spectrum * (0.5 / half)
        first, second = array.split(spectrum, 2, axis=-1)
        frames = array.concat([second, -layout.reverse(second, [-1]), -layout.reverse(first, [-1]), -first], -1)
        frames = frames * (np.sqrt(0.5) if window_fn is None else window_fn(2 * half, dtype=frames.dtype))
        return overlap_and_add(frames, half)


# -- mel scale --------------------------------------------------------------------------------------------
def _mel(hertz):
    return 1127.0 * np.log(1.0 + np.asarray(hertz, np.float64) / 700.0)


def linear_to_mel_weight_matrix(num_mel_bins=20, num_spectrogram_bins=129, sample_rate=8000, lower_edge_hertz=125.0,
                                upper_edge_hertz=3800.0, dtype=dtypes.float32, name=None):
    """Returns the matrix [num_spectrogram_bins, num_mel_bins] of overlapping triangles, evenly spaced on the mel scale.

    Raises:
      ValueError: numbers that make no scale, or a `dtype` that is not floating.
    """
    if num_mel_bins <= 0:
        raise ValueError(f"num_mel_bins must be positive. Got: {num_mel_bins}")
    if lower_edge_hertz < 0.0:
        raise ValueError(f"lower_edge_hertz must be non-negative. Got: {lower_edge_hertz}")
    if lower_edge_hertz >= upper_edge_hertz:
        raise ValueError(f"lower_edge_hertz {lower_edge_hertz:.1f} >= upper_edge_hertz {upper_edge_hertz:.1f}")
    if sample_rate <= 0.0 or upper_edge_hertz > sample_rate / 2:
        raise ValueError(f"upper_edge_hertz must not be larger than the Nyquist frequency (sample_rate / 2). Got "
                         f"{upper_edge_hertz} for sample_rate: {sample_rate}")
    if not as_dtype(dtype).is_floating:
        raise ValueError(f"dtype must be a floating point type. Got: {dtype}")
    lines = _mel(np.linspace(0.0, sample_rate / 2.0, num_spectrogram_bins)[1:, None])
    edges = np.linspace(_mel(lower_edge_hertz), _mel(upper_edge_hertz), num_mel_bins + 2)
    lower, center, upper = edges[:-2], edges[1:-1], edges[2:]
    slopes = np.minimum((lines - lower) / (center - lower), (upper - lines) / (upper - center))
    matrix = np.pad(np.maximum(0.0, slopes), [[1, 0], [0, 0]])
    return constant(matrix.astype(as_dtype(dtype).as_numpy_dtype), name=name or "linear_to_mel_weight_matrix")


def mfccs_from_log_mel_spectrograms(log_mel_spectrograms, name=None):
    """Returns mel-frequency cepstral coefficients: the orthonormal-scaled cosine transform of log mel spectrograms."""
    with get_default_graph().name_scope(name or "mfccs_from_log_mel_spectrograms"):
        x = convert_to_tensor(log_mel_spectrograms)
        bins = x.dims[-1] if x.dims is not None and x.dims[-1] is not None else array.shape(x)[-1]
        if isinstance(bins, int) and bins == 0:
            raise ValueError("num_mel_bins must be positive. Got: 0")
        return fft.dct(x, type=2) * math.rsqrt(2.0 * math.cast(bins, x.dtype))
