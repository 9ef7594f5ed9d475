"""What of TensorFlow 1's public names Regrad leaves out on purpose, and why; `docs/differences.md` tells users.

The tables are {reason: names of `tensorflow.txt`, or patterns with "*"}. A name that exists after all must leave its list.
"""


def _by_name(reasons):
    """Returns {name: reason}."""
    return {name: reason for reason, names in reasons.items() for name in names.split()}


LEFT_OUT = _by_name({
    "sound files": "audio",
    "there is one process, and no distributed runtime": """
        train.ClusterDef train.JobDef train.ServerDef
        logging.TaskLevelStatusMessage test.create_local_cluster""",
    "TensorFlow 1.15 has it not, or only as a name for version 2": """
        experimental *.experimental mixed_precision mlir types Module function wrap_function
        nondifferentiable_batch_function SparseTensorSpec IndexedSlicesSpec NoneTensorSpec OptionalSpec
        RaggedTensorSpec TensorArraySpec TypeSpec type_spec_from_value check_pinned conv
        conv2d_backprop_*_v2 *approx_*_k approx_top_k random_index_shuffle fftnd ifftnd rfftnd irfftnd signal.*fftnd
        random.Algorithm random.Generator random.create_rng_state random.fold_in random.get_global_generator
        random.set_global_generator random.split random.stateless_binomial random.stateless_gamma
        random.stateless_poisson random.stateless_parameterized_truncated_normal math.sobol_sample sparse.bincount
        nn.compute_average_loss nn.scale_regularization_loss nn.silu debugging.*able_*
        io.gfile.get_registered_schemes io.gfile.join
        debugging.is_traceback_filtering_enabled debugging.*log_device_placement summary.initialize
        summary.all_v2_summary_ops image.decode_jxl image.decode_webp io.decode_jxl io.decode_webp
        image.generate_bounding_box_proposals train.CheckpointOptions
        io.RaggedFeature quantization.quantize_and_dequantize_v2 layers.experimental test.disable_with_predicate
        test.is_cpu_target_available test.with_eager_op_as_function""",
    "features and ragged rows of another kind of program": """
        ragged* RaggedTensor sparse_reduce_*_sparse
        sparse.reduce_*_sparse strings.ngrams strings.unicode_* strings.bytes_split
        strings.unsorted_segment_join""",
    "a Saver saves by names, and restores what was saved by objects": "train.Checkpoint train.CheckpointManager",
    "another product": "lite",
    "paths in TensorFlow's own source tree": "resource_loader",
    "a file or message of TensorFlow's that a dense program does not need; graphs and checkpoints have Regrad's formats": """
        saved_model.Asset saved_model.SaveOptions saved_model.experimental saved_model.load_v2 saved_model.save
        saved_model.signature_def_utils.MethodNameUpdater NameAttrList train.generate_checkpoint_state_proto
        decode_json_example io.decode_json_example io.decode_proto
        io.encode_proto""",
    "how to compile against TensorFlow": "sysconfig",
    "XLA chooses devices": "tpu",
    "C++ ops": "user_ops load_*library",
    "everything is compiled by XLA": "xla",
    "differentiates what runs eagerly; tf.gradients differentiates graphs": "GradientTape",
    "runs of one session follow one another": "CriticalSection",
    "tf.strings.to_hash_bucket_fast": "fingerprint",
    "an aid to TensorFlow's own ctc_loss_v2": "nn.ctc_unique_labels",
    "assert_rank and set_shape": "debugging.assert_shapes",
    "TensorFlow's own tests": "compat.forward_compatibility_horizon",
    "TensorFlow 1.15 has it not; LinearOperatorBlockDiag is there": "linalg.LinearOperatorBlockLowerTriangular",
    "LMDB files": "LMDBReader",
    "parse_single_sequence_example, one at a time": "io.parse_sequence_example",
    "a pass over messages in C++; tf.contrib.quantize rewrites graphs": "train.do_quantize_training_on_graphdef",
    "an optimizer of linear models in C++": "train.sdca_*",
    "its numbers depend on all it ever saw": "*learned_unigram_candidate_sampler",
    "TensorFlow's C interface": "errors.raise_exception_on_not_ok_status",
    "the machinery behind the DEFINE_ functions, not called by programs": """
        flags.*Parser flags.*Serializer flags.*Flag flags.FlagHolder flags.*FlagFileError
        flags.FlagNameConflictsWithMethodError flags.DEFINE flags.DEFINE_flag flags.DEFINE_multi
        flags.adopt_module_key_flags flags.declare_key_flag flags.disclaim_key_flags flags.doc_to_help
        flags.flag_dict_to_args flags.get_help_width flags.override_value flags.text_wrap flags.tf_decorator""",
    "unittest.mock": "test.StubOutForTesting",
    "TensorFlow's own benchmarks": "test.benchmark_config",
    "compare str(graph_def)": "test.assert_equal_graph_def",
})

# Arguments that TensorFlow 1.15 has not: whoever passes one hears of it.
LATER_ARGUMENTS = set("""
    alg allow_fast_lookup allow_last_axis_squeeze bad_indices_policy canonicalized_coordinates comma_compat
    expand_composites fn_output_signature grad_a grad_b handle_data index_type layout module_name optional
    required return_index_map sorted_input sparse_gradient tile_size use_own_namescope_for_non_slot_vars
    """.split())

# Functions whose arguments differ.
DIFFERENT_ARGUMENTS = _by_name({
    "made by the library only": "DType dtypes.DType",
    "output_type came later": "matmul linalg.matmul",
    "made through its subclasses": "QueueBase ReaderBase",
    "as QueueBase": "io.QueueBase queue.QueueBase",
    "an enumeration": "UnconnectedGradients",
    "axis came later": "lin_space linspace",
    "1.15 has no stateful before name": "numpy_function",
    "blank_index came later": "nn.ctc_greedy_decoder",
    "1.15 begins with _sentinel": """
        nn.sigmoid_cross_entropy_with_logits nn.softmax_cross_entropy_with_logits
        nn.sparse_softmax_cross_entropy_with_logits""",
    "separator came later": "sparse.cross",
    "beta came later": "nn.swish train.FtrlOptimizer",
    "name came later": "layers.InputSpec",
    "dct_method came later": "image.adjust_jpeg_quality",
    "the second is called ksizes too": "image.extract_patches",
})
