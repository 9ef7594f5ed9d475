"""Names of the outputs of TensorFlow's op types that have several: inputs in functions name them, "node:indices:0".

From the registry of TensorFlow 2.21. `name*attribute` is a list, of as many tensors as the attribute says, or has elements.
"""

OUTPUTS = {row.split()[0]: row.split()[1:] for row in """
    AllCandidateSampler sampled_candidates true_expected_count sampled_expected_count
    BlockLSTM i cs f o ci co h
    BlockLSTMV2 i cs f o ci co h
    BroadcastGradientArgs r0 r1
    CTCBeamSearchDecoder decoded_indices*top_paths decoded_values*top_paths decoded_shape*top_paths log_probability
    CTCGreedyDecoder decoded_indices decoded_values decoded_shape log_probability
    CTCLoss loss gradient
    CombinedNonMaxSuppression nmsed_boxes nmsed_scores nmsed_classes valid_detections
    ComputeAccidentalHits indices ids weights
    DenseToDenseSetOperation result_indices result_values result_shape
    DenseToSparseSetOperation result_indices result_values result_shape
    DeserializeManySparse sparse_indices sparse_values sparse_shape
    DeserializeSparse sparse_indices sparse_values sparse_shape
    Eig e v
    FakeQuantWithMinMaxVarsGradient backprops_wrt_input backprop_wrt_min backprop_wrt_max
    FakeQuantWithMinMaxVarsPerChannelGradient backprops_wrt_input backprop_wrt_min backprop_wrt_max
    FixedUnigramCandidateSampler sampled_candidates true_expected_count sampled_expected_count
    FractionalAvgPool output row_pooling_sequence col_pooling_sequence
    FractionalMaxPool output row_pooling_sequence col_pooling_sequence
    FusedBatchNorm y batch_mean batch_variance reserve_space_1 reserve_space_2
    FusedBatchNormGrad x_backprop scale_backprop offset_backprop reserve_space_3 reserve_space_4
    FusedBatchNormGradV2 x_backprop scale_backprop offset_backprop reserve_space_3 reserve_space_4
    FusedBatchNormGradV3 x_backprop scale_backprop offset_backprop reserve_space_4 reserve_space_5
    FusedBatchNormV2 y batch_mean batch_variance reserve_space_1 reserve_space_2
    FusedBatchNormV3 y batch_mean batch_variance reserve_space_1 reserve_space_2 reserve_space_3
    LSTMBlockCell i cs f o ci co h
    ListDiff out idx
    LogMatrixDeterminant sign log_abs_determinant
    LogUniformCandidateSampler sampled_candidates true_expected_count sampled_expected_count
    LookupTableExportV2 keys values
    Lu lu p
    MaxPoolWithArgmax output argmax
    NonMaxSuppressionV4 selected_indices valid_outputs
    NonMaxSuppressionV5 selected_indices selected_scores valid_outputs
    ParseExample sparse_indices*Nsparse sparse_values*sparse_types sparse_shapes*Nsparse dense_values*Tdense
    ParseSingleExample sparse_indices*num_sparse sparse_values*sparse_types sparse_shapes*num_sparse dense_values*Tdense
    ParseSingleSequenceExample context_sparse_indices*Ncontext_sparse context_sparse_values*context_sparse_types \
        context_sparse_shapes*Ncontext_sparse context_dense_values*Tcontext_dense \
        feature_list_sparse_indices*Nfeature_list_sparse feature_list_sparse_values*feature_list_sparse_types \
        feature_list_sparse_shapes*Nfeature_list_sparse feature_list_dense_values*feature_list_dense_types
    Qr q r
    QuantizeDownAndShrinkRange output output_min output_max
    QuantizeV2 output output_min output_max
    QuantizedAdd z min_z max_z
    QuantizedAvgPool output min_output max_output
    QuantizedBiasAdd output min_out max_out
    QuantizedConcat output output_min output_max
    QuantizedConv2D output min_output max_output
    QuantizedMatMul out min_out max_out
    QuantizedMaxPool output min_output max_output
    QuantizedMul z min_z max_z
    QuantizedRelu activations min_activations max_activations
    QuantizedRelu6 activations min_activations max_activations
    QuantizedReluX activations min_activations max_activations
    QuantizedReshape output output_min output_max
    RaggedGather output_nested_splits*OUTPUT_RAGGED_RANK output_dense_values
    RaggedTensorToSparse sparse_indices sparse_values sparse_dense_shape
    ReaderReadUpToV2 keys values
    ReaderReadV2 key value
    RequantizationRange output_min output_max
    Requantize output output_min output_max
    SampleDistortedBoundingBoxV2 begin size bboxes
    SelfAdjointEigV2 e v
    SoftmaxCrossEntropyWithLogits loss backprop
    SparseAdd sum_indices sum_values sum_shape
    SparseFillEmptyRows output_indices output_values empty_row_indicator reverse_index_map
    SparseReorder output_indices output_values
    SparseReshape output_indices output_shape
    SparseSlice output_indices output_values output_shape
    SparseSoftmaxCrossEntropyWithLogits loss backprop
    SparseSparseMaximum output_indices output_values
    SparseSparseMinimum output_indices output_values
    SparseToSparseSetOperation result_indices result_values result_shape
    StringSplit indices values shape
    StringSplitV2 indices values shape
    Svd s u v
    TensorArrayConcat value lengths
    TensorArrayConcatV2 value lengths
    TensorArrayConcatV3 value lengths
    TensorArrayGradV3 grad_handle flow_out
    TensorArrayGradWithShape grad_handle flow_out
    TensorArrayV3 handle flow
    TensorListConcat tensor lengths
    TensorListConcatV2 tensor lengths
    TensorListPopBack output_handle tensor
    TopK values indices
    TopKV2 values indices
    UniformCandidateSampler sampled_candidates true_expected_count sampled_expected_count
    Unique y idx
    UniqueV2 y idx
    UniqueWithCounts y idx count
    UniqueWithCountsV2 y idx count
""".splitlines() if row.strip()}
