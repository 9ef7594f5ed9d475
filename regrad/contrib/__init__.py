"""`tf.contrib`: the parts that research programs of TensorFlow 1's time used most."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {}, modules="""
    compiler copy_graph crf cudnn_rnn data distributions estimator framework graph_editor image integrate layers learn
    legacy_seq2seq lookup losses metrics nn opt predictor quantize resampler rnn saved_model seq2seq slim sparsemax
    staging stateless tensorboard tfprof tpu training util
    """)
