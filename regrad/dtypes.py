"""`tf.dtypes`: element types and changes between them."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.core.dtypes": """
        DType QUANTIZED_DTYPES as_dtype bfloat16 bool=bool_ complex128 complex64 double float16 float32 float64 half int16 int32
        int64 int8 qint16 qint32 qint8 quint16 quint8 resource string uint16 uint32 uint64 uint8 variant""",
    "regrad.ops.complex": "complex",
    "regrad.ops.math": "cast saturate_cast",
    "regrad.ops.strings": "as_string",
})
