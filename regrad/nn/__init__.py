"""`tf.nn`: TF1's names for the building blocks of neural networks, each loaded on first use."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.ops.nn": """bias_add crelu elu in_top_k l2_loss leaky_relu log_softmax relu relu6 selu softmax
        softmax_cross_entropy_with_logits softmax_cross_entropy_with_logits_v2 softplus softsign
        sparse_softmax_cross_entropy_with_logits swish""",
    "regrad.ops.conv": """atrous_conv2d atrous_conv2d_transpose conv1d conv1d_transpose conv2d
        conv2d_backprop_filter conv2d_backprop_input conv2d_transpose conv3d
        conv3d_backprop_filter=conv3d_backprop_filter_v2 conv3d_backprop_filter_v2 conv3d_transpose conv_transpose
        convolution depthwise_conv2d depthwise_conv2d_backprop_filter=depthwise_conv2d_native_backprop_filter
        depthwise_conv2d_backprop_input=depthwise_conv2d_native_backprop_input depthwise_conv2d_native
        depthwise_conv2d_native_backprop_filter depthwise_conv2d_native_backprop_input dilation2d erosion2d
        separable_conv2d""",
    "regrad.ops.pool": """avg_pool avg_pool1d avg_pool2d avg_pool3d avg_pool_v2 max_pool max_pool1d max_pool2d
        max_pool3d max_pool_v2 max_pool_with_argmax pool""",
    "regrad.ops.norm": """batch_norm_with_global_normalization batch_normalization fused_batch_norm
        l2_normalize local_response_normalization lrn moments normalize_moments
        sufficient_statistics weighted_moments""",
    "regrad.ops.math": "sigmoid tanh",
    "regrad.nn.functions": """dropout log_poisson_loss relu_layer sigmoid_cross_entropy_with_logits
        weighted_cross_entropy_with_logits xw_plus_b zero_fraction""",
    "regrad.nn.embedding": "embedding_lookup embedding_lookup_sparse safe_embedding_lookup_sparse",
    "regrad.ops.ctc": "ctc_beam_search_decoder ctc_beam_search_decoder_v2 ctc_greedy_decoder ctc_loss",
    "regrad.ops.dilated": "with_space_to_batch",
    "regrad.nn.sequences": "collapse_repeated ctc_loss_v2",
    "regrad.nn.sampled": "nce_loss sampled_softmax_loss",
    "regrad.ops.candidates": """all_candidate_sampler compute_accidental_hits fixed_unigram_candidate_sampler
        log_uniform_candidate_sampler uniform_candidate_sampler""",
    "regrad.ops.quantised": "quantized_avg_pool quantized_conv2d quantized_max_pool quantized_relu_x",
    "regrad.ops.fractional": "fractional_avg_pool fractional_max_pool",
    "regrad.ops.layout": "depth_to_space space_to_batch space_to_depth",
    "regrad.ops.sort": "top_k",
    "regrad.nn.rnn": """bidirectional_dynamic_rnn dynamic_rnn raw_rnn static_bidirectional_rnn static_rnn
        static_state_saving_rnn""",
}, modules="rnn_cell")
