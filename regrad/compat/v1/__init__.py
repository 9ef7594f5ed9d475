"""`import regrad.compat.v1 as tf`: the names of `regrad`, and the switches of TensorFlow's own `compat.v1`."""


def __getattr__(name):
    import regrad
    from regrad.compat.tensorflow import EXTRAS

    if name.startswith("__"):
        raise AttributeError(name)
    extra = EXTRAS["tensorflow"].get(name)
    return getattr(regrad, name) if extra is None else extra
