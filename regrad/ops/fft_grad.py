"""Gradient rules for `fft.py`."""

from regrad.core.gradient_registry import RegisterGradient
from regrad.ops import array, fft, math
from regrad.ops.vjp import vjp_of_lowering


def _size(x, axes):
    """Returns the number of elements of the last `axes` axes, in the dtype of `x`."""
    if x.dims is not None and None not in x.dims[-axes:]:
        n = 1
        for d in x.dims[-axes:]:
            n *= d
        return n
    from regrad.ops.reduce import reduce_prod

    return math.cast(reduce_prod(array.shape(x)[-axes:]), x.dtype)


def _transform(forward, backward, axes):
    # The transform is F, its inverse F^H / n: their adjoints are each other up to that n.
    @RegisterGradient(forward.type)
    def forward_grad(op, dy):
        return backward(dy) * _size(dy, axes)

    @RegisterGradient(backward.type)
    def backward_grad(op, dy):
        return forward(dy) / _size(dy, axes)


for _axes in (1, 2, 3):
    _transform(fft._fft_ops[_axes], fft._ifft_ops[_axes], _axes)
    # Of the half spectra, the terms that stand for two count twice, and lengths crop or pad: JAX knows.
    vjp_of_lowering(fft._rfft_ops[_axes].type, linear=True)
    vjp_of_lowering(fft._irfft_ops[_axes].type, linear=True)
