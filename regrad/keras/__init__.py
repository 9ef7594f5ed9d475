"""`tf.keras`: of Keras, what builds graphs: layers and models to be called, losses, optimizers, and its settings."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {"regrad.keras.base": "Input Model Sequential"}, modules="""
    activations backend constraints initializers layers losses models optimizers preprocessing regularizers utils""")
