"""Operators of periodic convolution, in one to three dimensions, that the Fourier transform makes diagonal."""

from regrad.core.dtypes import as_dtype, complex64
from regrad.linear_operators.base import LinearOperator, as_parameter
from regrad.ops import array, check, complex, fft, linalg, math
from regrad.ops.reduce import reduce_mean, reduce_prod, reduce_sum


class _Circulant(LinearOperator):
    """What they share."""

    _axes = 1

    def __init__(self, spectrum, input_output_dtype=complex64, is_non_singular=None, is_self_adjoint=None,
                 is_positive_definite=None, is_square=True, name=None):
        parameters = dict(locals())
        self._spectrum = as_parameter(spectrum, "spectrum", self._axes)
        if not is_square:
            raise ValueError("A (block) circulant operator is always square.")
        if not self._spectrum.dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError(f"A real spectrum always corresponds to a self-adjoint operator. Expected argument "
                                 f"is_self_adjoint to be True when spectrum.dtype.is_complex = "
                                 f"{self._spectrum.dtype.is_complex}, but got {is_self_adjoint}.")
            is_self_adjoint = True
        super().__init__(as_dtype(input_output_dtype), [self._spectrum], is_non_singular, is_self_adjoint,
                         is_positive_definite, True, name or type(self).__name__, parameters)

    spectrum = property(lambda self: self._spectrum, doc="The Fourier transform of the kernel.")
    block_depth = property(lambda self: self._axes, doc="In how many dimensions it convolves.")

    @property
    def block_shape(self):
        """TensorShape of the spectrum without the batch."""
        return self._spectrum.shape[-self._axes:]

    def _shape(self):
        shape = self._spectrum.shape
        if shape.ndims is None:
            return shape
        size = self.block_shape.num_elements()
        return shape[:-self._axes].concatenate([size, size])

    def _shape_tensor(self):
        shape = array.shape(self._spectrum)
        return array.concat([shape[:-self._axes], array.stack([reduce_prod(shape[-self._axes:])] * 2)], 0)

    def _complex(self):
        wanted = self.dtype if self.dtype.is_complex else as_dtype("complex128" if self.dtype.size == 8 else "complex64")
        return math.cast(self._spectrum, wanted)

    def _transform(self, x, inverse=False):
        pair = {1: (fft.fft, fft.ifft), 2: (fft.fft2d, fft.ifft2d), 3: (fft.fft3d, fft.ifft3d)}[self._axes]
        return pair[inverse](x)

    def _filtered(self, x, spectrum, adjoint_arg):
        """Returns what a convolution makes of the columns of `x`."""
        spectrum = spectrum[(..., None, *[slice(None)] * self._axes)]
        x = math.cast(complex.conj(x) if adjoint_arg else array.matrix_transpose(x), spectrum.dtype)  # columns to the front
        flat = array.shape(x)
        y = array.reshape(x, array.concat([flat[:-1], array.shape(self._spectrum)[-self._axes:]], 0))
        y = self._transform(self._transform(y) * spectrum, inverse=True)
        y = array.reshape(y, array.concat([array.shape(y)[:-self._axes], flat[-1:]], 0))
        return math.cast(array.matrix_transpose(y), self.dtype)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        spectrum = self._complex()
        return self._filtered(x, complex.conj(spectrum) if adjoint else spectrum, adjoint_arg)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        spectrum = self._complex()
        return self._filtered(rhs, 1.0 / (complex.conj(spectrum) if adjoint else spectrum), adjoint_arg)

    def convolution_kernel(self, name="convolution_kernel"):
        """Returns the kernel, in the operator's dtype."""
        with self._scope(name):
            return math.cast(self._transform(self._complex(), inverse=True), self.dtype)

    def _over_blocks(self):
        return list(range(-self._axes, 0))

    def _determinant(self):
        return math.cast(reduce_prod(self._complex(), self._over_blocks()), self.dtype)

    def _log_abs_determinant(self):
        return math.cast(reduce_sum(math.log(math.abs(self._spectrum)), self._over_blocks()), self.dtype)

    def _trace(self):
        return math.cast(reduce_sum(self._complex(), self._over_blocks()), self.dtype)

    def _diag_part(self):
        each = math.cast(reduce_mean(self._complex(), self._over_blocks()), self.dtype)
        return each[..., None] + array.zeros(self.shape_tensor()[-1:], self.dtype)

    def _same(self, spectrum, **hints):
        return type(self)(spectrum, self.dtype, **{**self._hints(), **hints})

    def _adjoint(self):
        return self._same(complex.conj(self._spectrum))

    def _inverse(self):
        return self._same(1.0 / self._spectrum, is_non_singular=True)

    def _simple_product(self, right):
        if type(right) is type(self):
            return type(self)(self._spectrum * right.spectrum, self.dtype)
        return super()._simple_product(right)

    def _assert_non_singular(self):
        return check.assert_none_equal(math.abs(self._spectrum), 0,
                                       message=f"Singular operator: the spectrum has zeros: {self.name}.")

    def _assert_positive_definite(self):
        return check.assert_positive(complex.real(self._spectrum),
                                     message=f"Not positive definite: the spectrum's real part is not positive: {self.name}.")

    def _assert_self_adjoint(self):
        return check.assert_equal(linalg.adjoint(self.to_dense()), self.to_dense(), message="Not self-adjoint: " + self.name)


class LinearOperatorCirculant(_Circulant):
    """The matrix [..., n, n] of convolution with a periodic kernel.

    Args:
      spectrum: the Fourier transform of the kernel, [..., n], real or complex.
      input_output_dtype: of what it is applied to; complex64 by default.

    Raises:
      ValueError: too few axes; or a real spectrum is said not to be self-adjoint, or it is said not to be square.
    """


class LinearOperatorCirculant2D(_Circulant):
    """The convolution of images with a periodic kernel, as `LinearOperatorCirculant`: `spectrum` is [..., n, m], and what it is
    applied to has n m rows.
    """

    _axes = 2


class LinearOperatorCirculant3D(_Circulant):
    """The convolution of volumes with a periodic kernel, as `LinearOperatorCirculant2D` with one axis more."""

    _axes = 3
