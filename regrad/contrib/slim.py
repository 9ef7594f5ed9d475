"""`tf.contrib.slim`: the layers and scopes of `tf.contrib` under short names."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.contrib.framework": """
        add_arg_scope add_model_variable arg_scope arg_scoped_arguments assign_from_checkpoint assign_from_checkpoint_fn
        assign_from_values assign_from_values_fn create_global_step current_arg_scope filter_variables get_global_step
        get_local_variables get_model_variables get_or_create_global_step get_trainable_variables get_unique_variable
        get_variables get_variables_by_name get_variables_to_restore has_arg_scope local_variable model_variable
        variable""",
    "regrad.contrib.layers": """
        apply_regularization avg_pool2d batch_norm bias_add conv2d conv2d_transpose convolution2d dropout flatten
        fully_connected instance_norm l1_l2_regularizer l1_regularizer l2_regularizer layer_norm linear max_pool2d
        one_hot_encoding repeat separable_conv2d separable_convolution2d softmax stack sum_regularizer unit_norm
        variance_scaling_initializer
        xavier_initializer xavier_initializer_conv2d""",
}, modules="""
    evaluation=regrad.contrib.evaluation learning=regrad.contrib.learning losses=regrad.contrib.losses
    metrics=regrad.contrib.metrics model_analyzer=regrad.contrib.model_analyzer nets=regrad.contrib.nets
    utils=regrad.contrib.layer_utils""")
