"""`tf.contrib.stateless`: random numbers that follow from their seed alone."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.random": """
        stateless_multinomial=stateless_categorical stateless_random_normal=stateless_normal
        stateless_random_uniform=stateless_uniform stateless_truncated_normal""",
})
