"""`tf.debugging`: checks that raise with the values."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.ops.check": """
        Assert assert_equal assert_greater assert_greater_equal assert_integer assert_less
        assert_less_equal assert_near assert_negative assert_non_negative assert_non_positive
        assert_none_equal assert_positive assert_proper_iterable assert_rank assert_rank_at_least
        assert_rank_in assert_same_float_dtype assert_scalar assert_type is_non_decreasing
        is_numeric_tensor is_strictly_increasing assert_all_finite=verify_tensor_all_finite""",
    "regrad.ops.math": """
        is_finite is_inf is_nan""",
    "regrad.ops.array": """
        check_numerics""",
})
