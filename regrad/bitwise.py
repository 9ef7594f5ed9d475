"""`tf.bitwise`: integers bit by bit."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.ops.bitwise": """
        bitwise_and bitwise_or bitwise_xor invert left_shift population_count right_shift""",
})
