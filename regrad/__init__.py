"""Regrad: define-then-run computation graphs in which every gradient is yours to rewrite.

    import regrad as tf

gives TensorFlow 1's names and meanings. Where to begin, in `help`:

    tf.Session, tf.placeholder, tf.get_variable       graphs and their runs
    tf.gradients                                      derivatives, and `overrides=` of their rules
    tf.sel, tf.rules                                  which operations, and which rules
    tf.RegisterGradient, tf.custom_gradient, tf.overriding, tf.attach, tf.View      ways to change a gradient
    tf.explain_gradients, tf.why_none, tf.diagnose, tf.audit                        what a backward pass does
    tf.layers, tf.keras, tf.train, tf.data, tf.estimator                            models and their training
    tf.show_versions                                                                what is installed

`dir(tf)` lists all public names, `tf.<name>?` in a notebook shows one.
"""

# The table below is the one list of public names; each is loaded from its module when it is first used, so importing Regrad
# loads NumPy and little else.

import importlib
import sys as _sys

from regrad.core import gradient_registry as _registry
from regrad.core import tracebacks as _tracebacks
from regrad.core.lazy import Guesses as _Guesses
from regrad.core.lazy import names_of as _names_of

__version__ = "0.1.0"
newaxis = None  # tf.newaxis, in x[:, tf.newaxis]

_MODULES = """app autograph bitwise compat config=regrad.runtime.config contrib core data debugging distribute distributions
    dtypes errors=regrad.core.errors estimator feature_column flags gfile graph_util image initializers inspect io keras layers
    linalg logging lookup losses manip math metrics nest nn ops profiler python python_io quantization queue random raw_ops
    rules=regrad.autodiff.rules saved_model sel=regrad.autodiff.selectors sets signal sparse spectral strings summary test train
    variables version"""

__getattr__, __dir__, __all__ = _names_of(__name__, {
    "regrad.core.dtypes": """QUANTIZED_DTYPES
        as_dtype bfloat16 bool=bool_ complex128 complex64 double float16 float32 float64 half int16 int32 int64
        int8 qint16 qint32 qint8 quint16 quint8 resource string uint16 uint32 uint64 uint8 variant DType""",
    "regrad.core.constants": "get_static_value",
    "regrad.runtime.information": "show_versions",
    "regrad.logging": "get_logger",
    "regrad.core.shapes": "Dimension TensorShape dimension_at_index dimension_value",
    "regrad.core.graph": """Graph get_default_graph is_tensor reset_default_graph""",
    "regrad.core.operation": "Operation Tensor",
    "regrad.core.errors": "OpError RegradWarning",
    "regrad.core.context": "get_default_session",
    "regrad.core.device": "DeviceSpec",
    "regrad.core.opdef": "Spec define_op",
    "regrad.core.facts": "Facts Product",
    "regrad.core.convert": "constant convert_to_tensor register_tensor_conversion_function",
    "regrad.core.indexed_slices": "IndexedSlices",
    "regrad.core.tensor_spec": "TensorSpec",
    "regrad.core.gradient_registry": """NoGradient NotDifferentiable RegisterForwardGradient
        RegisterGradient no_gradient=NotDifferentiable""",
    "regrad.core.graph_keys": "GraphKeys",
    "regrad.core.graph_def": "AttrValue GraphDef NodeDef",
    "regrad.importer.graph_def": "import_graph_def",
    "regrad.core.graph_proto": "MetaGraphDef TensorInfo",
    "regrad.core.messages": "Event HistogramProto LogMessage SessionLog Summary SummaryMetadata make_ndarray make_tensor_proto",
    "regrad.framework": """add_to_collection add_to_collections colocate_with container control_dependencies
        convert_to_tensor_or_indexed_slices convert_to_tensor_or_sparse_tensor device
        get_collection get_collection_ref gradient_override_map name_scope op_scope""",
    "regrad.autodiff.resolution": "get_gradient_function",
    "regrad.autodiff.overrides": """Override OverrideError View attach bridge grouped
        overriding set_graph_rule""",
    "regrad.autodiff.saved": "overrides_from_json overrides_to_json",
    "regrad.autodiff.transforms": """clip_gradient mask_gradient noise_gradient normalize_gradient reverse_gradient
        scale_gradient substitute zero_gradient""",
    "regrad.autodiff.surrogates": "spike straight_through",
    "regrad.autodiff.custom": "custom_gradient grad_pass_through recompute_grad",
    "regrad.autodiff.derivatives": """batch_jacobian forward_gradients hessian_vector_product hessians
        jacobian jvp view_gradients""",
    "regrad.autodiff.combining": "combine_gradients pcgrad",
    "regrad.autodiff.gradients": "AggregationMethod UnconnectedGradients gradients",
    "regrad.inspect": "audit compare diagnose explain_gradients why_none",
    "regrad.runtime.trace": "ConfigProto GPUOptions GraphOptions OptimizerOptions RunMetadata RunOptions",
    "regrad.ops.ctc": "edit_distance",
    "regrad.ops.sparse": """SparseTensor SparseTensorValue sparse_add sparse_fill_empty_rows sparse_placeholder
        sparse_reduce_sum sparse_reorder sparse_slice sparse_softmax sparse_tensor_dense_matmul
        sparse_tensor_to_dense sparse_to_dense""",
    "regrad.runtime.session": "InteractiveSession Session",
    "regrad.nn.bucketing": "bucket",
    "regrad.ops.math": """abs acos acosh add add_n asin asinh atan atan2 atanh cast ceil cos cosh div div_no_nan divide exp
        expm1 floor floor_div floordiv floormod log log1p maximum minimum mod mul=multiply multiply neg=negative negative pow
        realdiv reciprocal rint round rsqrt saturate_cast sigmoid sign sin sinh sqrt square squared_difference sub=subtract
        subtract tan tanh truediv truncatediv truncatemod accumulate_n
        approximate_equal divide_no_nan is_finite is_inf is_nan mul_no_nan multiply_no_nan nextafter
        polyval reciprocal_no_nan scalar_mul to_bfloat16 to_complex128 to_complex64 to_double to_float to_int32 to_int64
        xdivy xlog1py xlogy""",
    "regrad.ops.complex": "angle complex complex_abs conj imag real",
    "regrad.ops.compare": """equal greater greater_equal less less_equal logical_and logical_not logical_or logical_xor
        not_equal select where where_v2""",
    "regrad.ops.array": """broadcast_to concat concat_v2=concat expand_dims fill identity identity_n invert_permutation ones
        ones_like pack=stack placeholder placeholder_with_default rank reshape shape shape_n size split squeeze stack
        stop_gradient transpose unpack=unstack unstack zeros zeros_like bitcast broadcast_dynamic_shape
        broadcast_static_shape check_numerics ensure_shape
        guarantee_const matrix_transpose parallel_stack""",
    "regrad.ops.cumulative": "cumprod cumsum",
    "regrad.ops.diag": """diag diag_part matrix_band_part matrix_diag matrix_diag_part matrix_set_diag tensor_diag
        tensor_diag_part""",
    "regrad.ops.indexing": """batch_gather boolean_mask gather gather_nd one_hot scatter_nd scatter_nd_add scatter_nd_sub
        scatter_nd_update sequence_mask slice=slice_ strided_slice tensor_scatter_add tensor_scatter_nd_add
        tensor_scatter_nd_max tensor_scatter_nd_min tensor_scatter_nd_sub tensor_scatter_nd_update tensor_scatter_sub
        tensor_scatter_update""",
    "regrad.ops.layout": """batch_to_space batch_to_space_nd depth_to_space extract_image_patches extract_volume_patches
        meshgrid pad repeat required_space_to_batch_paddings reverse reverse_sequence reverse_v2 roll space_to_batch
        space_to_batch_nd space_to_depth tile""",
    "regrad.ops.partition": """sparse_mask dynamic_partition dynamic_stitch listdiff parallel_dynamic_stitch setdiff1d unique
        unique_with_counts""",
    "regrad.ops.segment": """segment_max segment_mean segment_min segment_prod segment_sum sparse_segment_mean
        sparse_segment_sqrt_n sparse_segment_sum unsorted_segment_max unsorted_segment_mean unsorted_segment_min
        unsorted_segment_prod unsorted_segment_sqrt_n unsorted_segment_sum""",
    "regrad.ops.sort": "argsort searchsorted sort unravel_index",
    "regrad.ops.special": "log_sigmoid betainc digamma erf erfc igamma igammac lbeta lgamma polygamma zeta",
    "regrad.ops.random": """get_seed multinomial random_crop random_gamma random_normal random_poisson random_shuffle
        random_uniform set_random_seed truncated_normal""",
    "regrad.variables.assign": """assign assign_add assign_sub batch_scatter_update count_up_to scatter_add scatter_div
        scatter_max scatter_min
        scatter_mul scatter_sub scatter_update""",
    "regrad.variables.initializers": """constant_initializer glorot_normal_initializer glorot_uniform_initializer
        ones_initializer orthogonal_initializer random_normal_initializer random_uniform_initializer
        truncated_normal_initializer uniform_unit_scaling_initializer variance_scaling_initializer zeros_initializer""",
    "regrad.variables.lifting": "init_scope",
    "regrad.variables.listing": """all_variables assert_variables_initialized global_variables global_variables_initializer
        initialize_all_variables initialize_local_variables initialize_variables is_variable_initialized
        local_variables local_variables_initializer model_variables moving_average_variables
        report_uninitialized_variables tables_initializer
        initialize_all_tables trainable_variables variables_initializer""",
    "regrad.variables.partition": """fixed_size_partitioner min_max_variable_partitioner variable_axis_size_partitioner""",
    "regrad.variables.scope": """AUTO_REUSE VariableScope create_partitioned_variables
        get_local_variable get_variable get_variable_scope no_regularizer
        variable_op_scope variable_scope""",
    "regrad.variables.variable": "Variable VariableAggregation VariableSynchronization variable_creator_scope",
    "regrad.variables.template": "make_template",
    "regrad.ops.generate": "eye lin_space linspace range",
    "regrad.ops.matmul": "batch_matmul matmul",
    "regrad.ops.reduce": """arg_max arg_min
        argmax argmin count_nonzero reduce_all reduce_any reduce_euclidean_norm reduce_logsumexp reduce_max
        reduce_mean reduce_min reduce_prod reduce_std reduce_sum reduce_variance""",
    "regrad.ops.check": """Assert Print print=print_ add_check_numerics_ops assert_equal assert_greater assert_greater_equal
        assert_integer assert_less assert_less_equal assert_near assert_negative assert_non_negative assert_non_positive
        assert_none_equal assert_positive assert_proper_iterable assert_rank assert_rank_at_least assert_rank_in
        assert_same_float_dtype assert_scalar assert_type is_non_decreasing is_numeric_tensor is_strictly_increasing
        verify_tensor_all_finite""",
    "regrad.ops.quantise": """fake_quant_with_min_max_args fake_quant_with_min_max_args_gradient
        fake_quant_with_min_max_vars fake_quant_with_min_max_vars_gradient fake_quant_with_min_max_vars_per_channel
        fake_quant_with_min_max_vars_per_channel_gradient quantize_and_dequantize""",
    "regrad.ops.quantised": "dequantize quantize quantize_v2 quantized_concat",
    "regrad.ops.strings": """as_string decode_base64 decode_raw encode_base64 reduce_join regex_replace string_join
        string_split string_strip string_to_number substr""",
    "regrad.ops.summary": "histogram_summary image_summary merge_all_summaries merge_summary scalar_summary",
    "regrad.ops.files": """FixedLenFeature FixedLenSequenceFeature SparseFeature VarLenFeature decode_compressed decode_csv
        matching_files parse_example parse_single_example parse_single_sequence_example parse_tensor read_file
        serialize_tensor write_file""",
    "regrad.ops.readers": """FixedLengthRecordReader IdentityReader ReaderBase TFRecordReader TextLineReader
        WholeFileReader""",
    "regrad.ops.hashing": "string_to_hash_bucket string_to_hash_bucket_fast string_to_hash_bucket_strong",
    "regrad.ops.sparse_shape": """sparse_concat sparse_matmul sparse_maximum sparse_merge sparse_minimum sparse_reduce_max
        sparse_reset_shape sparse_reshape sparse_retain sparse_split sparse_to_indicator sparse_transpose""",
    "regrad.ops.sparse_text": "deserialize_many_sparse serialize_many_sparse serialize_sparse",
    "regrad.versions": """COMPILER_VERSION CXX11_ABI_FLAG CXX_VERSION GIT_VERSION GRAPH_DEF_VERSION
        GRAPH_DEF_VERSION_MIN_CONSUMER GRAPH_DEF_VERSION_MIN_PRODUCER MONOLITHIC_BUILD VERSION control_flow_v2_enabled
        disable_control_flow_v2 disable_eager_execution disable_resource_variables disable_tensor_equality
        disable_v2_behavior disable_v2_tensorshape enable_control_flow_v2 enable_eager_execution
        enable_resource_variables enable_tensor_equality enable_v2_behavior enable_v2_tensorshape executing_eagerly
        executing_eagerly_outside_functions is_symbolic_tensor resource_variables_enabled""",
    "regrad.ops.accumulators": "ConditionalAccumulator ConditionalAccumulatorBase SparseConditionalAccumulator",
    "regrad.ops.queues": "FIFOQueue PaddingFIFOQueue PriorityQueue QueueBase RandomShuffleQueue",
    "regrad.ops.counting": "bincount confusion_matrix histogram_fixed_width histogram_fixed_width_bins",
    "regrad.ops.einsum": "einsum tensordot",
    "regrad.ops.linalg": """cholesky cholesky_solve cross matrix_inverse matrix_determinant matrix_solve matrix_solve_ls
        matrix_square_root=sqrtm matrix_triangular_solve norm qr self_adjoint_eig self_adjoint_eigvals svd trace""",
    "regrad.ops.fft": "fft fft2d fft3d ifft ifft2d ifft3d",
    "regrad.ops.clip": "clip_by_average_norm clip_by_global_norm clip_by_norm clip_by_value global_norm",
    "regrad.ops.control": "group no_op tuple",
    "regrad.ops.tensor_array": "TensorArray",
    "regrad.ops.flow": "case cond switch_case while_loop",
    "regrad.ops.functional": "foldl foldr map_fn scan vectorized_map",
    "regrad.ops.script": "host_gradient numpy_function py_func py_function timestamp",
    "regrad.ops.vjp": "vjp_of_lowering",
    "regrad.ops.handles": "delete_session_tensor get_session_handle get_session_tensor",
}, modules=_MODULES)
# `from regrad import *` leaves the modules out: `math`, `random`, `io` are Python's, too.
__all__ = sorted({*__all__, "newaxis"} - {m.partition("=")[0] for m in _MODULES.split()})

_tracebacks.install()
if _Guesses not in _sys.meta_path:
    _sys.meta_path.append(_Guesses)
_registry.set_loader(lambda op_type=None: importlib.import_module("regrad.ops").load(op_type))
