"""`tf.math`: mathematical functions under their later names."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.ops.math": """
        abs accumulate_n acos acosh add add_n asin asinh atan atan2 atanh ceil cos cosh divide
        divide_no_nan exp expm1 floor floordiv floormod is_finite is_inf is_nan log log1p maximum
        minimum mod=floormod multiply multiply_no_nan negative nextafter polyval pow reciprocal
        reciprocal_no_nan rint round rsqrt scalar_mul sigmoid sign sin sinh sqrt square
        squared_difference subtract tan tanh truediv truncatediv truncatemod xdivy xlog1py xlogy""",
    "regrad.ops.complex": """
        angle conj imag real""",
    "regrad.ops.compare": """
        equal greater greater_equal less less_equal logical_and logical_not logical_or logical_xor
        not_equal""",
    "regrad.ops.reduce": """
        argmax argmin count_nonzero reduce_all reduce_any reduce_euclidean_norm reduce_logsumexp
        reduce_max reduce_mean reduce_min reduce_prod reduce_std reduce_sum reduce_variance""",
    "regrad.ops.cumulative": """
        cumprod cumsum cumulative_logsumexp""",
    "regrad.ops.special": """
        bessel_i0 bessel_i0e bessel_i1 bessel_i1e betainc digamma erf erfc erfcinv erfinv igamma igammac
        lbeta lgamma log_sigmoid ndtri polygamma zeta""",
    "regrad.ops.counting": """
        bincount confusion_matrix""",
    "regrad.ops.check": """
        is_non_decreasing is_strictly_increasing""",
    "regrad.ops.segment": """
        segment_max segment_mean segment_min segment_prod segment_sum unsorted_segment_max
        unsorted_segment_mean unsorted_segment_min unsorted_segment_prod unsorted_segment_sqrt_n
        unsorted_segment_sum""",
    "regrad.ops.nn": """
        in_top_k log_softmax softmax softplus softsign""",
    "regrad.ops.array": """
        invert_permutation""",
    "regrad.ops.norm": """
        l2_normalize""",
    "regrad.ops.sort": """
        top_k""",
    "regrad.nn.functions": """
        zero_fraction""",
}, modules="special=regrad.ops.special")
