"""What Regrad leaves out of TensorFlow 1 as a whole, and what to do instead: the end of an AttributeError's message."""

ABSENT = {
    "contrib.learn": "train with tf.train.MonitoredTrainingSession, and feed arrays",
    "contrib.seq2seq": "tf.nn.raw_rnn decodes step by step",
    "estimator": "train with tf.train.MonitoredTrainingSession, and feed arrays",
    "feature_column": "feed the columns, and join them with tf.one_hot, tf.nn.embedding_lookup and tf.concat",
    "GradientTape": "tf.gradients differentiates graphs",
    "load_op_library": "tf.define_op makes op types, in Python or in C++",
    "lookup": "look words up in a Python dictionary, and feed the indices",
    "MetaGraphDef": "run the program that builds the graph, then restore with tf.train.Saver",
    "saved_model": "save with tf.train.Saver; run the program that builds the graph, then restore",
}


def hint(module, name):
    """Returns ": Regrad leaves ...", or "" for a name that is not left out on purpose; `module` as in "tensorflow.contrib"."""
    below = module.partition(".")[2].removeprefix("compat.v1").strip(".")
    full = f"{below}.{name}" if below else name
    instead = ABSENT.get(full)
    return f": Regrad leaves tf.{full} out; {instead} (docs/differences.md)" if instead else ""
