"""`tf.keras`: layers and models that are called in graphs, or trained by `fit`; and what they are made with."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.keras.base": "Input", "regrad.keras.models": "Model Sequential"}, modules="""
    activations backend callbacks constraints datasets initializers layers losses metrics models optimizers preprocessing
    regularizers utils""")
