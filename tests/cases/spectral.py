"""Rows for `regrad/ops/spectral.py`: values from SciPy and from their definitions."""

import numpy as np
import scipy.fft
import scipy.signal

from regrad.ops import array, spectral
from tests.cases import Bad, Case


def _frames(x, length, step, pad_end=False, value=0.0, axis=-1):
    x = np.moveaxis(x, axis, -1)
    n = x.shape[-1]
    count = -(-n // step) if pad_end else max(0, 1 + (n - length) // step)
    padded = np.pad(x, [[0, 0]] * (x.ndim - 1) + [[0, length]], constant_values=value)
    out = np.stack([padded[..., i * step:i * step + length] for i in range(count)], -2) if count else \
        np.zeros(x.shape[:-1] + (0, length))
    at = axis % x.ndim
    return np.moveaxis(out, (-2, -1), (at, at + 1))


def _added(x, step):
    frames, length = x.shape[-2:]
    out = np.zeros(x.shape[:-2] + ((frames - 1) * step + length,))
    for i in range(frames):
        out[..., i * step:i * step + length] += x[..., i, :]
    return out


def _stft(x, length, step, fft_length, pad_end=False):
    window = scipy.signal.get_window("hann", length) if length % 2 == 0 else scipy.signal.windows.hann(length)
    return np.fft.rfft(_frames(x, length, step, pad_end) * window, fft_length)


def _mdct(x, length):
    half = length // 2
    n, k = np.arange(length), np.arange(half)
    basis = np.cos(np.pi / half * (n[:, None] + 0.5 + half / 2) * (k + 0.5))
    window = np.sin(np.pi / 2 * np.sin(np.pi / length * (n + 0.5)) ** 2)
    return 2 * (_frames(x, length, half) * window) @ basis


def _round_trip(x):
    """inverse_stft of stft; the ends, which fewer frames cover, left out."""
    y = spectral.inverse_stft(spectral.stft(x, 8, 4), 8, 4, window_fn=spectral.inverse_stft_window_fn(4))
    return y[..., 4:-4]


def _window(f, length, **more):
    return lambda x: x * f(length, dtype=x.dtype, **more)


CASES = [
    *[Case("Cos", _window(getattr(spectral, f"{kind}_window"), n, periodic=p),
           lambda x, w=w: x * w, ((n,),), note=f"{kind}-{n}-{p}", dtypes=(), unknown="rank")
      for kind in ("hann", "hamming") for n, p in ((8, True), (8, False), (7, True), (1, True))
      for w in [scipy.signal.get_window(kind, n, fftbins=p and n % 2 == 0)]],
    Case("BesselI0", _window(spectral.kaiser_window, 7, beta=4.0), lambda x: x * scipy.signal.windows.kaiser(7, 4.0), ((7,),),
         dtypes=(), rtol=1e-9, unknown="rank"),
    Case("Cumsum", _window(spectral.kaiser_bessel_derived_window, 8, beta=4.0),
         lambda x: x * scipy.signal.windows.kaiser_bessel_derived(8, beta=4.0), ((8,),), dtypes=(), rtol=1e-6, unknown="rank"),
    Case("Sin", _window(spectral.vorbis_window, 6),
         lambda x: x * np.sin(np.pi / 2 * np.sin(np.pi / 6 * (np.arange(6) + 0.5)) ** 2), ((6,),), dtypes=(), unknown="rank"),
    *[Case("GatherV2", lambda x, length, step, pad_end, axis: spectral.frame(x, length, step, pad_end, 0.5, axis=axis),
           lambda x, length, step, pad_end, axis: _frames(x, length, step, pad_end, 0.5, axis), ((2, 7, 3),),
           {"length": a, "step": b, "pad_end": pad, "axis": axis}, note=f"frame-{a}-{b}-{pad}-{axis}", dtypes=(),
           unknown="rank")
      for a, b, axis in ((3, 2, 1), (2, 3, 1), (4, 4, -2), (2, 1, -1), (3, 1, 0)) for pad in (False, True)],
    *[Case("Sum", lambda x, step: spectral.overlap_and_add(x, step), lambda x, step: _added(x, step), ((2, 4, 5),),
           {"step": step}, note=f"overlap-{step}", dtypes=(), unknown=False) for step in (1, 2, 3, 5, 7)],
    *[Case("RFFT", lambda x, length, step, fft_length, pad_end=False: spectral.stft(x, length, step, fft_length, pad_end=pad_end),
           lambda x, length, step, fft_length, pad_end=False: _stft(x, length, step, fft_length or 8, pad_end), ((2, 20),),
           {"length": a, "step": b, "fft_length": n, "pad_end": pad}, note=f"stft-{a}-{b}-{n}-{pad}", dtypes=("float32",),
           unknown="rank")
      for a, b, n, pad in ((8, 4, None, False), (6, 3, None, True), (5, 2, 16, False))],
    Case("IRFFT", _round_trip, lambda x: x[..., 4:-4], ((2, 24),), note="inverse stft", unknown=False),
    Case("RFFT", lambda x: spectral.mdct(x, 8), lambda x: _mdct(x, 8), ((2, 24),), note="mdct", unknown="rank", dtypes=()),
    *[Case("RFFT", lambda x, norm: spectral.inverse_mdct(spectral.mdct(x, 8, norm=norm), norm=norm)[..., 4:-4],
           lambda x, norm: x[..., 4:-4], ((2, 24),), {"norm": norm}, note=f"inverse mdct-{norm}", unknown=False, dtypes=())
      for norm in (None, "ortho")],
    Case("RFFT", spectral.mfccs_from_log_mel_spectrograms, lambda x: scipy.fft.dct(x, 2) / np.sqrt(2 * x.shape[-1]), ((3, 8),),
         note="mfcc", unknown="rank"),
    Case("MatMul", lambda x: array.reshape(x, [1, 9]) @ spectral.linear_to_mel_weight_matrix(3, 9, 8000, dtype=x.dtype),
         None, ((9,),), note="mel", dtypes=()),
    Bad("Cos", lambda: spectral.hann_window(4, dtype="int32"), ValueError, "floating point"),
    Bad("Const", lambda: spectral.linear_to_mel_weight_matrix(0), ValueError, "num_mel_bins"),
    Bad("Const", lambda: spectral.linear_to_mel_weight_matrix(lower_edge_hertz=-1.0), ValueError, "non-negative"),
    Bad("Const", lambda: spectral.linear_to_mel_weight_matrix(lower_edge_hertz=4000.0), ValueError, ">= upper_edge_hertz"),
    Bad("Const", lambda: spectral.linear_to_mel_weight_matrix(upper_edge_hertz=5000.0), ValueError, "Nyquist"),
    Bad("RFFT", lambda: spectral.mdct(np.zeros(20), 6), ValueError, "multiple of 4"),
    Bad("Sum", lambda: spectral.overlap_and_add(array.placeholder("float32", [None]), 2), ValueError, "frames, frame_length"),
]
