"""`tf.signal`: Fourier and cosine transforms, windows, frames."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.ops.fft": """
        dct fft fft2d fft3d fftshift idct ifft ifft2d ifft3d ifftshift irfft irfft2d irfft3d rfft rfft2d
        rfft3d""",
    "regrad.ops.spectral": """
        frame hamming_window hann_window inverse_mdct inverse_stft inverse_stft_window_fn
        kaiser_bessel_derived_window kaiser_window linear_to_mel_weight_matrix mdct
        mfccs_from_log_mel_spectrograms overlap_and_add stft vorbis_window""",
})
