"""Regrad: define-then-run computation graphs in which every gradient is yours to rewrite.

    import regrad as tf

gives TensorFlow 1's names and meanings. The table below is the one list of public names; each is loaded from its module
when it is first used, so importing Regrad loads NumPy and little else.
"""

import importlib

from regrad.core import gradient_registry as _registry

__version__ = "0.1.0"

_NAMES = {
    "regrad.core.dtypes": """as_dtype bfloat16 complex128 complex64 double float16 float32 float64 half int16 int32 int64
        int8 qint16 qint32 qint8 quint16 quint8 resource string uint16 uint32 uint64 uint8 variant DType""",
    "regrad.core.shapes": "Dimension TensorShape",
    "regrad.core.graph": """Graph Operation RegradWarning Tensor get_default_graph is_tensor reset_default_graph""",
    "regrad.core.context": "get_default_session",
    "regrad.core.convert": "constant convert_to_tensor register_tensor_conversion_function",
    "regrad.core.indexed_slices": "IndexedSlices",
    "regrad.core.gradient_registry": "NoGradient NotDifferentiable RegisterGradient",
    "regrad.core.graph_keys": "GraphKeys",
    "regrad.core.graph_def": "GraphDef NodeDef",
    "regrad.framework": """add_to_collection add_to_collections colocate_with container control_dependencies
        convert_to_tensor_or_indexed_slices convert_to_tensor_or_sparse_tensor device
        get_collection get_collection_ref get_seed gradient_override_map init_scope name_scope op_scope
        set_random_seed""",
    "regrad.autodiff.overrides": """Override OverrideError View attach bridge get_gradient_function overriding
        set_graph_rule""",
    "regrad.autodiff.gradients": "AggregationMethod UnconnectedGradients gradients",
    "regrad.runtime.session": "InteractiveSession Session",
    "regrad.ops.math": """abs acos acosh add add_n asin asinh atan atan2 atanh cast ceil cos cosh div div_no_nan divide exp
        expm1 floor floor_div floordiv floormod log log1p maximum minimum mod multiply negative pow realdiv reciprocal rint
        round rsqrt saturate_cast sigmoid sign sin sinh sqrt square squared_difference subtract tan tanh truediv truncatediv
        truncatemod""",
    "regrad.ops.complex": "angle complex complex_abs conj imag real",
    "regrad.ops.compare": """equal greater greater_equal less less_equal logical_and logical_not logical_or logical_xor
        not_equal where where_v2""",
    "regrad.ops.array": """broadcast_to concat expand_dims fill identity identity_n invert_permutation ones ones_like
        placeholder placeholder_with_default rank reshape shape shape_n size split squeeze stack stop_gradient transpose
        unstack zeros zeros_like""",
    "regrad.ops.generate": "lin_space linspace range",
    "regrad.ops.matmul": "batch_matmul matmul",
    "regrad.ops.reduce": "reduce_all reduce_any reduce_max reduce_mean reduce_min reduce_prod reduce_sum",
    "regrad.ops.control": "group no_op tuple",
    "regrad.ops.flow": "case cond switch_case while_loop",
    "regrad.ops.script": "numpy_function py_func",
}  # fmt: skip

_RENAMED = {  # public name -> (module, name there)
    "bool": ("regrad.core.dtypes", "bool_"),
    "neg": ("regrad.ops.math", "negative"),
    "sub": ("regrad.ops.math", "subtract"),
    "mul": ("regrad.ops.math", "multiply"),
    "pack": ("regrad.ops.array", "stack"),
    "unpack": ("regrad.ops.array", "unstack"),
    "select": ("regrad.ops.compare", "select"),
    "AUTO_REUSE": ("regrad.variables.scope", "AUTO_REUSE"),
}

_MODULES = """bitwise compat config contrib core errors initializers layers linalg logging losses math nn ops random train
    signal spectral strings summary image test variables python gfile app flags manip sets metrics keras io
    debugging dtypes quantization interop inspect rules sel""".split()

_WHERE = {name: (module, name) for module, names in _NAMES.items() for name in names.split()} | _RENAMED
_SUBMODULES = {"rules": "regrad.autodiff.rules", "sel": "regrad.autodiff.selectors", "errors": "regrad.core.errors", "config": "regrad.runtime.config", "dtypes": "regrad.core.dtypes"}

__all__ = sorted(_WHERE)

_registry.set_loader(lambda: importlib.import_module("regrad.ops").load())


def __getattr__(name):
    where = _WHERE.get(name)
    if where is not None:
        module = importlib.import_module(where[0])
        if where[0].startswith("regrad.ops") or where[0].startswith("regrad.autodiff"):
            importlib.import_module("regrad.ops.operators")
        value = globals()[name] = getattr(module, where[1])
        return value
    if name in _MODULES:
        try:
            value = globals()[name] = importlib.import_module(_SUBMODULES.get(name, f"regrad.{name}"))
        except ModuleNotFoundError as error:
            if error.name is not None and error.name.startswith("regrad"):
                raise AttributeError(f"module 'regrad' has no attribute {name!r}") from None
            raise
        return value
    if name.startswith("__"):
        raise AttributeError(f"module 'regrad' has no attribute {name!r}")
    from regrad.core.errors import nearest

    raise AttributeError(f"module 'regrad' has no attribute {name!r}{nearest(name, _WHERE)}")


def __dir__():
    return sorted({*globals(), *__all__, *_MODULES})
