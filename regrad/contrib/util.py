"""`tf.contrib.util`: values of tensors, and messages of them."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.core.constants": "constant_value",
    "regrad.core.messages": "make_ndarray make_tensor_proto",
})
