"""`tf.saved_model.tag_constants`: tags that the graphs of a SavedModel have."""

SERVING = "serve"
TRAINING = "train"
EVAL = "eval"
GPU = "gpu"
TPU = "tpu"
