"""`tf.contrib`: the parts that research programs of TensorFlow 1's time used most; `_PARTS` names them.

The rest raises AttributeError with the nearest name.
"""

import importlib

from regrad.core.absent import hint

_PARTS = """
    compiler copy_graph crf cudnn_rnn data distributions estimator framework graph_editor image integrate layers learn
    legacy_seq2seq lookup losses metrics nn opt predictor quantize resampler rnn saved_model seq2seq slim sparsemax
    staging stateless tfprof tpu training util
    """.split()


def __getattr__(name):
    if name in _PARTS:
        return importlib.import_module(f"regrad.contrib.{name}")
    words = hint(__name__, name) or f": it has {', '.join(_PARTS)}."
    raise AttributeError(f"module 'regrad.contrib' has no attribute {name!r}{words}")


def __dir__():
    return sorted(_PARTS)
