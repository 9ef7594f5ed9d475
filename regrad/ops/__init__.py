"""The op library: one pair of files per family, `<family>.py` and `<family>_grad.py`.

`FAMILIES` is the one list of them. They are loaded when a name of theirs is first used, all at once when a complete list
of op types or gradient rules is asked for, so that `import regrad` stays fast.
"""

import importlib

from regrad.core import opdef as opdefs

FAMILIES = (
    "accumulators", "array", "array_grad", "augment", "barrier", "barrier_grad", "bitwise", "block_lstm",
    "block_lstm_grad", "boxes", "candidates", "check", "checkpoints", "clip", "clip_grad", "codecs", "compare",
    "compare_grad", "complex", "complex_grad", "control", "conv", "conv_grad", "counting", "ctc",
    "cumulative", "cumulative_grad", "diag", "diag_grad", "distort", "einsum", "einsum_grad", "fft",
    "fft_grad", "files", "flow", "flow_grad", "fractional", "fractional_grad", "functional", "generate",
    "generate_grad", "handles", "hashing", "image", "image_grad", "indexing", "indexing_grad",
    "inplace", "inplace_grad", "layout", "layout_grad", "linalg", "linalg_grad", "lookup", "math", "math_grad",
    "matmul", "matmul_grad", "nn", "nn_grad", "norm", "norm_grad", "operators", "partition",
    "partition_grad", "pool", "pool_grad", "quantise", "quantise_grad", "quantised", "queues", "ragged",
    "ragged_grad", "random", "random_grad", "readers", "reduce", "reduce_grad", "script", "segment",
    "segment_grad", "sets", "sort", "sort_grad", "sparse", "sparse_cross", "sparse_grad", "sparse_shape", "sparse_text",
    "special", "special_grad", "spectral", "state", "state_grad", "strings", "summary", "tensor_array",
    "tensor_array_grad", "train", "train_grad", "vjp", "warp", "warp_grad",
)


def load(op_type=None):
    """Imports every family, so that all op types and gradient rules are registered; or the rules of one op type's family."""
    families = FAMILIES
    if op_type is not None:
        opdef = opdefs.defined(op_type)
        family = opdef.module.removeprefix("regrad.ops.") + "_grad" if opdef is not None else None
        families = (family,) if family in FAMILIES else ()
    for family in families:
        importlib.import_module(f"regrad.ops.{family}")
