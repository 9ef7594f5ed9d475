"""`tf.sets`: sets along the last axis."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.ops.sets": """
        difference=set_difference intersection=set_intersection set_difference set_intersection set_size set_union
        size=set_size union=set_union""",
})
