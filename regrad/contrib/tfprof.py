"""`tf.contrib.tfprof`, whose `model_analyzer` is this module: counts of parameters and operations; see `tf.profiler`."""

import sys

from regrad.profiler import ProfileOptionBuilder, profile

TRAINABLE_VARS_PARAMS_STAT_OPTIONS = ProfileOptionBuilder.trainable_variables_parameter()
FLOAT_OPS_OPTIONS = ProfileOptionBuilder.float_operation()


def print_model_analysis(graph, run_meta=None, op_log=None, tfprof_cmd="scope",
                         tfprof_options=TRAINABLE_VARS_PARAMS_STAT_OPTIONS):
    """Counts, prints a table and returns its root, as `tf.profiler.profile`."""
    return profile(graph, run_meta, op_log, tfprof_cmd, {**ProfileOptionBuilder().build(), **tfprof_options})


model_analyzer = sys.modules[__name__]
__all__ = ["FLOAT_OPS_OPTIONS", "TRAINABLE_VARS_PARAMS_STAT_OPTIONS", "model_analyzer", "print_model_analysis"]
