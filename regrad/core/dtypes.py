"""Element types of tensors: one `DType` object per type, compared by identity inside Regrad.

Public names are TensorFlow's (`tf.float32`, `tf.as_dtype("float32")`). TF1's `*_ref` types, which marked the
output of a variable, do not exist: `as_dtype("float32_ref")` is `float32`.
"""

import numpy as np


class DType:
    """The type of a tensor's elements.

    Attributes:
      name: TF's name, such as "float32".
      as_datatype_enum: TF's enum number.
      as_numpy_dtype: the NumPy scalar type holding one element (`np.object_` for strings; the integer type for quantised
        types, whose values are arrays of it).
    """

    __slots__ = ("name", "as_datatype_enum", "_np", "_kind", "np_dtype", "real_dtype")

    def __new__(cls, name, *rest):
        return object.__new__(cls) if rest else as_dtype(name)  # tf.DType(1) is float32

    def __init__(self, name, enum=None, np_type=None, kind=None):
        if enum is None:
            return
        self.name = name
        self.as_datatype_enum = enum
        self._np = np_type
        self._kind = kind  # one of f, i, u, c, b, s (string), q (quantised), o (resource, variant)
        self.np_dtype = np.dtype(np_type) if np_type is not None else None
        self.real_dtype = self

    @property
    def as_numpy_dtype(self):
        if self._np is None:  # bfloat16: NumPy has none of its own, JAX's dependency ml_dtypes has
            import ml_dtypes

            self._np = ml_dtypes.bfloat16
            self.np_dtype = np.dtype(self._np)
        return self._np

    @property
    def is_floating(self):
        return self._kind == "f"

    @property
    def is_complex(self):
        return self._kind == "c"

    @property
    def is_integer(self):
        """True for the plain (not quantised) integer types."""
        return self._kind in "iu"

    @property
    def is_unsigned(self):
        return self._kind == "u"

    @property
    def is_bool(self):
        return self._kind == "b"

    @property
    def is_quantized(self):
        return self._kind == "q"

    @property
    def is_numpy_compatible(self):
        return self._kind != "o"

    @property
    def base_dtype(self):
        return self

    @property
    def _is_ref_dtype(self):
        return False

    @property
    def size(self):
        """Bytes per element; 1 for strings and handles, whose elements are Python objects."""
        if self._kind in "so":
            return 1
        return (np.dtype(self.as_numpy_dtype) if self.np_dtype is None else self.np_dtype).itemsize

    @property
    def min(self):
        """The least finite value of a numeric type."""
        return self._limit("min")

    @property
    def max(self):
        """The greatest finite value of a numeric type."""
        return self._limit("max")

    @property
    def limits(self):
        """(least, greatest) value of an image of this dtype: 0 and 1 for floating types, 0 and `max` for the others.

        Raises:
          ValueError: no such range is defined for this dtype.
        """
        if self.name in ("float32", "float64"):
            return 0, 1
        if self._kind in "iub":
            return (False, True) if self._kind == "b" else (0, self.max)
        raise ValueError(f"{self} does not have defined limits.")

    def _limit(self, which):
        if self._kind == "f":
            if self._np is None or self.name == "bfloat16":
                import ml_dtypes

                return getattr(ml_dtypes.finfo(self.as_numpy_dtype), which)
            return getattr(np.finfo(self._np), which)
        if self._kind in "iu":
            return getattr(np.iinfo(self._np), which)
        raise TypeError(f"Cannot find {which}imum value of {self.name}.")

    def is_compatible_with(self, other):
        return self is as_dtype(other)

    def __eq__(self, other):
        if self is other:
            return True
        if other is None or isinstance(other, DType):
            return False
        try:
            return self is as_dtype(other)
        except TypeError:
            return False

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return self.as_datatype_enum

    def __repr__(self):
        return f"tf.{self.name}"

    def __str__(self):
        return f"<dtype: '{self.name}'>"

    def __int__(self):
        return self.as_datatype_enum

    def __reduce__(self):
        return as_dtype, (self.name,)


float32 = DType("float32", 1, np.float32, "f")
float64 = DType("float64", 2, np.float64, "f")
int32 = DType("int32", 3, np.int32, "i")
uint8 = DType("uint8", 4, np.uint8, "u")
int16 = DType("int16", 5, np.int16, "i")
int8 = DType("int8", 6, np.int8, "i")
string = DType("string", 7, np.object_, "s")
complex64 = DType("complex64", 8, np.complex64, "c")
int64 = DType("int64", 9, np.int64, "i")
bool_ = DType("bool", 10, np.bool_, "b")
qint8 = DType("qint8", 11, np.int8, "q")
quint8 = DType("quint8", 12, np.uint8, "q")
qint32 = DType("qint32", 13, np.int32, "q")
bfloat16 = DType("bfloat16", 14, None, "f")
qint16 = DType("qint16", 15, np.int16, "q")
quint16 = DType("quint16", 16, np.uint16, "q")
uint16 = DType("uint16", 17, np.uint16, "u")
complex128 = DType("complex128", 18, np.complex128, "c")
float16 = half = DType("float16", 19, np.float16, "f")
resource = DType("resource", 20, np.object_, "o")
variant = DType("variant", 21, np.object_, "o")
uint32 = DType("uint32", 22, np.uint32, "u")
uint64 = DType("uint64", 23, np.uint64, "u")
double = float64
QUANTIZED_DTYPES = frozenset((qint8, quint8, qint16, quint16, qint32))
complex64.real_dtype, complex128.real_dtype = float32, float64

ALL = (float16, bfloat16, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64, bool_,
       complex64, complex128, string, qint8, quint8, qint16, quint16, qint32, resource, variant)

FLOATING = frozenset(t for t in ALL if t.is_floating)
COMPLEX = frozenset((complex64, complex128))
INTEGER = frozenset(t for t in ALL if t.is_integer)
NUMERIC = FLOATING | COMPLEX | INTEGER
REAL = FLOATING | INTEGER
INEXACT = FLOATING | COMPLEX
INDEX = frozenset((int32, int64))
UNSIGNED = frozenset((uint8, uint16, uint32, uint64))

_BY_NAME = {t.name: t for t in ALL} | {"half": half, "double": double, "float": float32}
_BY_ENUM = {t.as_datatype_enum: t for t in ALL}
_BY_NUMPY = {t._np: t for t in ALL if t._kind in "fiucb" and t._np is not None}
_BY_NUMPY |= {np.dtype(k): t for k, t in list(_BY_NUMPY.items())}
_BY_NUMPY |= {np.dtype([(t.name, t._np)]): t for t in QUANTIZED_DTYPES}  # as TF writes the elements of quantised arrays
_BY_NUMPY |= {float: float32, int: int32, bool: bool_, complex: complex64, str: string, bytes: string,
              object: string, np.object_: string, np.dtype(object): string}


def runtime_name(dtype):
    """Returns what TensorFlow's runtime calls a dtype in its messages."""
    name = as_dtype(dtype).name
    return {"float32": "float", "float64": "double", "float16": "half"}.get(name, name)


def enum_name(dtype):
    """Returns what TensorFlow's messages call a dtype, such as "DT_FLOAT"."""
    return f"DT_{runtime_name(dtype).upper()}"


def as_dtype(type_value):
    """Returns the DType for a DType, TF name, TF enum, NumPy type or dtype, or Python type.

    Raises:
      TypeError: `type_value` names no type.
    """
    value = type_value
    if isinstance(value, DType):
        return value
    try:
        found = _BY_NUMPY.get(value)
    except TypeError:
        found = None
    if found is not None:
        return found
    if isinstance(value, str) or value is None:
        name = str(value).removesuffix("_ref")
        if name in _BY_NAME:
            return _BY_NAME[name]
        raise _no_dtype(value)
    if isinstance(value, int) and value in _BY_ENUM:
        return _BY_ENUM[value]
    if hasattr(value, "dtype") and isinstance(value.dtype, DType):
        return value.dtype
    try:
        dt = np.dtype(value)
    except TypeError:
        raise _no_dtype(value) from None
    if dt.kind in "SU":
        return string
    if dt.name == "bfloat16":
        return bfloat16
    found = _BY_NUMPY.get(dt.newbyteorder("="))
    if found is None:
        raise _no_dtype(value)
    return found


def native(array):
    """Returns an array in this machine's order of bytes, as all that is computed with; files may hold the other."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _no_dtype(value):
    text = f"Cannot convert value {value!r} to a TensorFlow DType"
    if isinstance(value, str):
        from regrad.core.errors import nearest

        return TypeError(text + (nearest(value, _BY_NAME) or "."))
    if isinstance(value, (list, tuple)):
        return TypeError(f"{text}; it looks like a shape: tf.placeholder(dtype, shape) takes the dtype first.")
    return TypeError(f"{text}, such as tf.float32, np.float32 or 'float32'.")


def names(types):
    """Returns the names of `types`, sorted, for a message."""
    return ", ".join(sorted(t.name for t in types))
