"""`tf.signal`: Fourier and cosine transforms."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.ops.fft": """
        dct fft fft2d fft3d fftshift idct ifft ifft2d ifft3d ifftshift irfft irfft2d irfft3d rfft rfft2d
        rfft3d""",
})
