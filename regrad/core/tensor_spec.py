"""`tf.TensorSpec`: the shape and dtype of a tensor that is not there."""

from regrad.core import dtypes
from regrad.core.shapes import TensorShape

__all__ = ["TensorSpec"]


class TensorSpec:
    """A shape, a dtype and perhaps a name.

    Args:
      shape: a TensorShape or what makes one.
      dtype: float32 by default.
      name: of the tensor it describes.
    """

    __slots__ = ("_dtype", "_name", "_shape")

    def __init__(self, shape, dtype=dtypes.float32, name=None):
        self._shape, self._dtype, self._name = TensorShape(shape), dtypes.as_dtype(dtype), name

    shape = property(lambda self: self._shape)
    dtype = property(lambda self: self._dtype)
    name = property(lambda self: self._name)

    @classmethod
    def from_spec(cls, spec, name=None):
        """Returns the TensorSpec of what has a shape and a dtype."""
        return cls(spec.shape, spec.dtype, name or getattr(spec, "name", None))

    @classmethod
    def from_tensor(cls, tensor, name=None):
        """Returns the TensorSpec of a tensor, with the name of its operation."""
        return cls(tensor.shape, tensor.dtype, name or tensor.op.name)

    def is_compatible_with(self, spec_or_tensor):
        """Returns whether a tensor (or spec) has this dtype and a shape that may be this one."""
        dtype, shape = getattr(spec_or_tensor, "dtype", None), getattr(spec_or_tensor, "shape", None)
        return dtype is not None and self._dtype == dtype and self._shape.is_compatible_with(shape)

    def _key(self):
        return (None if self._shape.dims is None else tuple(self._shape.as_list())), self._dtype, self._name

    def __eq__(self, other):
        return isinstance(other, TensorSpec) and self._key() == other._key()

    def __hash__(self):
        return hash(self._key())

    def __repr__(self):
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"
