"""What Regrad leaves out of TensorFlow 1 as a whole, and what to do instead: the end of an AttributeError's message."""

ABSENT = {
    "autograph.to_graph": "tf.cond and tf.while_loop choose and repeat",
    "contrib.learn.datasets": "load the data with NumPy, and feed it; sklearn.datasets.load_digits() has digits",
    "contrib.learn.Estimator": "tf.estimator.Estimator takes model functions",
    "contrib.learn.Experiment": "tf.estimator.train_and_evaluate does both",
    "distribute.experimental": "one process computes",
    "examples": "load the data with NumPy, and feed it; sklearn.datasets.load_digits() has digits",
    "function": "the graph is built once, by calling the function once, and tf.Session().run runs it",
    "GradientTape": "tf.gradients differentiates graphs",
    "keras.applications": "it has no weights to download; a model's description and weights in HDF5 are loaded",
    "keras.utils.get_file": "it downloads nothing; urllib.request.urlretrieve does",
    "keras.utils.HDF5Matrix": "`fit` takes data sets of h5py, with shuffle='batch'",
    "keras.utils.multi_gpu_model": "one process computes, with the model as it is",
    "keras.utils.model_to_dot": "model.summary() prints the layers",
    "keras.utils.plot_model": "model.summary() prints the layers",
    "keras.wrappers": "call `fit`, `predict` and `evaluate`",
    "load_op_library": "tf.define_op makes op types, in Python or in C++",
    "optimizers": "tf.train has the optimizers",
    "ragged": "pad the rows to one length, and mask",
    "RaggedTensor": "pad the rows to one length, and mask",
}


def hint(module, name):
    """Returns ": Regrad leaves ...", or "" for a name that is not left out on purpose; `module` as in "tensorflow.contrib"."""
    below = module.partition(".")[2].removeprefix("compat.v1").strip(".")
    full = f"{below}.{name}" if below else name
    instead = ABSENT.get(full)
    return f": Regrad leaves tf.{full} out; {instead} (docs/differences.md)" if instead else ""
