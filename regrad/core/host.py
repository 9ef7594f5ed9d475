"""The host backend: what a lowering receives as `b` when it computes on NumPy arrays.

It folds values known before anything is compiled (constants, shapes and arithmetic on them), runs host steps, and
executes small cold runs for which waiting for a compiler would not pay. `runtime.backend.XLA` is its twin.
"""

import numpy as np


def as_array(x):
    """Returns `x` as an array; a string as one of objects, as NumPy's own kind of strings loses zero bytes at the end."""
    return np.array(x, object) if isinstance(x, bytes) else np.asarray(x)


class HostBackend:
    """NumPy under the names that lowerings use.

    Attributes:
      np: NumPy.
      is_host: True.
    """

    np = np
    is_host = True
    name = "host"

    @staticmethod
    def cast(x, dtype):
        """Returns `x` with DType `dtype`; partially known shapes (object arrays of sizes) pass through."""
        if getattr(x, "dtype", None) == np.object_ and not dtype.name == "string":
            return x
        if np.iscomplexobj(x) and not dtype.is_complex:
            x = np.real(x)
        return np.asarray(x).astype(dtype.as_numpy_dtype)

    @staticmethod
    def to_write(x, index):
        """Returns an array like `x` whose elements at `index` the caller overwrites: a copy, or `x` if nobody else sees it."""
        return np.array(x)

    @staticmethod
    def constant(x):
        return as_array(x)

    @staticmethod
    def stop_gradient(x):
        return x

    @staticmethod
    def divide(x, y):
        return np.true_divide(x, y)

    @staticmethod
    def rounded(x):
        return x

    def __getattr__(self, name):
        raise NotImplementedError(f"the host backend has no {name!r}; mark the op type xla_only")


HOST = HostBackend()


class Unknown:
    """A size that is not known: arithmetic with it gives itself. Lives in object arrays of partially known shapes."""

    __slots__ = ()

    def _same(self, *_):
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __floordiv__ = __rfloordiv__ = _same
    __mod__ = __rmod__ = __neg__ = __truediv__ = __rtruediv__ = maximum = minimum = _same

    def __mul__(self, other):
        return self if other is self or other != 0 else 0

    __rmul__ = __mul__

    def _not_comparable(self, *_):
        raise UnknownSize

    __lt__ = __le__ = __gt__ = __ge__ = __index__ = __int__ = __float__ = __bool__ = _not_comparable

    def __repr__(self):
        return "?"


class UnknownSize(Exception):
    """The result would depend on an unknown size."""


UNKNOWN = Unknown()
