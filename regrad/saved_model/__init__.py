"""`tf.saved_model`: graphs with their variables, files and signatures in a folder, written and read.

The folder is TensorFlow's: what it wrote is loaded here, gradients included, and what is saved of ordinary operations is loaded
there.
"""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.saved_model.constants": """ASSETS_DIRECTORY ASSETS_KEY DEBUG_DIRECTORY DEBUG_INFO_FILENAME_PB LEGACY_INIT_OP_KEY
        MAIN_OP_KEY SAVED_MODEL_FILENAME_PB SAVED_MODEL_FILENAME_PBTXT SAVED_MODEL_SCHEMA_VERSION VARIABLES_DIRECTORY
        VARIABLES_FILENAME""",
    "regrad.saved_model.signature_constants": """CLASSIFY_INPUTS CLASSIFY_METHOD_NAME CLASSIFY_OUTPUT_CLASSES
        CLASSIFY_OUTPUT_SCORES DEFAULT_SERVING_SIGNATURE_DEF_KEY PREDICT_INPUTS PREDICT_METHOD_NAME PREDICT_OUTPUTS
        REGRESS_INPUTS REGRESS_METHOD_NAME REGRESS_OUTPUTS""",
    "regrad.saved_model.tag_constants": "GPU SERVING TPU TRAINING",
    "regrad.saved_model.builder": "Builder=SavedModelBuilder simple_save",
    "regrad.saved_model.loader": "contains_saved_model load maybe_saved_model_directory",
    "regrad.saved_model.main_op": "main_op_with_restore",
    "regrad.saved_model.signature_def_utils": """build_signature_def classification_signature_def is_valid_signature
        predict_signature_def regression_signature_def""",
    "regrad.saved_model.utils": "build_tensor_info get_tensor_from_tensor_info",
}, modules="builder constants loader main_op signature_constants signature_def_utils tag_constants utils")
