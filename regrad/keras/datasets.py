"""`tf.keras.datasets`: data sets from the folder ~/.keras/datasets, where TensorFlow keeps those that it loaded.

Regrad downloads nothing: where a file is missing, `load_data` says which, and what to do.
"""

import gzip
import json
import os
import pickle
import types

import numpy as np

from regrad.core.arguments import unexpected
from regrad.keras import backend


def _path(of, given):
    """Returns the path of a file or folder of a data set: as it was given, or below ~/.keras/datasets.

    Raises:
      FileNotFoundError: it is in neither place.
    """
    for path in (given, os.path.join(os.path.expanduser("~"), ".keras", "datasets", given)):
        if os.path.exists(path):
            return path
    raise FileNotFoundError(f"tf.keras.datasets.{of}: {path} is not there, and Regrad downloads nothing. Copy it from where "
                            "TensorFlow has loaded it, or load data of your own with NumPy; "
                            "sklearn.datasets.load_digits() has digits.")


def _mnist(path="mnist.npz"):
    """Returns ((x_train, y_train), (x_test, y_test)): uint8 images [n, 28, 28] of digits, and their labels [n]."""
    with np.load(_path("mnist", path)) as file:
        return (file["x_train"], file["y_train"]), (file["x_test"], file["y_test"])


def _fashion_mnist():
    """Returns ((x_train, y_train), (x_test, y_test)): uint8 images [n, 28, 28] of clothes, and their labels [n]."""
    def read(name, offset):
        with gzip.open(_path("fashion_mnist", os.path.join("fashion-mnist", name)), "rb") as file:
            return np.frombuffer(file.read(), np.uint8, offset=offset)

    def part(name):
        labels = read(f"{name}-labels-idx1-ubyte.gz", 8)
        return read(f"{name}-images-idx3-ubyte.gz", 16).reshape(len(labels), 28, 28), labels

    return part("train"), part("t10k")


def _cifar(of, names, key, dtype=np.int64):
    images, labels = [], []
    for name in names:
        with open(_path(of, name), "rb") as file:
            found = pickle.load(file, encoding="bytes")
        images.append(np.asarray(found[b"data"], np.uint8).reshape(-1, 3, 32, 32))
        labels.append(np.reshape(found[key], [-1, 1]))
    x = np.concatenate(images)
    x = x if backend.image_data_format() == "channels_first" else x.transpose(0, 2, 3, 1)
    return x, np.concatenate(labels).astype(dtype)


def _cifar10():
    """Returns ((x_train, y_train), (x_test, y_test)): uint8 images [n, 32, 32, 3], and their labels [n, 1]."""
    folder = "cifar-10-batches-py"
    return (_cifar("cifar10", [f"{folder}/data_batch_{i}" for i in range(1, 6)], b"labels", np.uint8),
            _cifar("cifar10", [f"{folder}/test_batch"], b"labels"))


def _cifar100(label_mode="fine"):
    """Returns ((x_train, y_train), (x_test, y_test)): uint8 images [n, 32, 32, 3], and labels [n, 1], "fine" or "coarse"."""
    if label_mode not in ("fine", "coarse"):
        raise ValueError('`label_mode` must be one of `"fine"`, `"coarse"`.')
    key = f"{label_mode}_labels".encode()
    return tuple(_cifar("cifar100", [f"cifar-100-python/{part}"], key) for part in ("train", "test"))


def _boston_housing(path="boston_housing.npz", test_split=0.2, seed=113):
    """Returns ((x_train, y_train), (x_test, y_test)): 13 numbers of each of 506 suburbs, and prices, shuffled by `seed`."""
    with np.load(_path("boston_housing", path), allow_pickle=True) as file:
        x, y = file["x"], file["y"]
    order = np.arange(len(x))
    np.random.RandomState(seed).shuffle(order)
    at = int(len(x) * (1 - test_split))
    return (x[order[:at]], y[order[:at]]), (x[order[at:]], y[order[at:]])


def _words(parts, seed, num_words, skip_top, maxlen, start_char, oov_char, index_from):
    """Returns [(texts, labels)] of parts: shuffled, and with numbers of words as they are asked for."""
    draws, found = np.random.RandomState(seed), []
    for texts, labels in parts:
        order = np.arange(len(texts))
        draws.shuffle(order)
        first = [] if start_char is None else [start_char]
        rows = [(first + [w + (index_from or 0) for w in texts[i]], labels[i]) for i in order]
        rows = [row for row in rows if len(row[0]) < maxlen] if maxlen else rows
        if not rows:
            raise ValueError(f"No sequence is shorter than maxlen={maxlen}. Increase maxlen.")
        found.append(rows)
    top = num_words or max(max(text) for rows in found for text, _ in rows)

    def kept(text):
        if oov_char is None:
            return [w for w in text if skip_top <= w < top]
        return [w if skip_top <= w < top else oov_char for w in text]

    def array(texts):
        made = np.empty(len(texts), object)
        made[:] = texts
        return made

    return [(array([kept(text) for text, _ in rows]), np.array([label for _, label in rows])) for rows in found]


def _imdb(path="imdb.npz", num_words=None, skip_top=0, maxlen=None, seed=113, start_char=1, oov_char=2, index_from=3, **kwargs):
    """Returns ((x_train, y_train), (x_test, y_test)): reviews of films as lists of numbers of words, and whether they praise.

    Args:
      num_words, skip_top: words whose numbers are not in [skip_top, num_words) become `oov_char`, or are left out for None.
      maxlen: longer reviews are left out.
      start_char: the number that begins a review; None for no such.
      index_from: is added to all words' numbers.
    """
    num_words = kwargs.pop("nb_words", num_words)
    if kwargs:
        raise unexpected(_imdb, kwargs)
    with np.load(_path("imdb", path), allow_pickle=True) as file:
        parts = [(file[f"x_{part}"], file[f"y_{part}"]) for part in ("train", "test")]
    return tuple(_words(parts, seed, num_words, skip_top, maxlen, start_char, oov_char, index_from))


def _reuters(path="reuters.npz", num_words=None, skip_top=0, maxlen=None, test_split=0.2, seed=113, start_char=1, oov_char=2,
             index_from=3, **kwargs):
    """Returns ((x_train, y_train), (x_test, y_test)): news as lists of numbers of words, and their topics; else as of imdb."""
    num_words = kwargs.pop("nb_words", num_words)
    if kwargs:
        raise unexpected(_reuters, kwargs)
    with np.load(_path("reuters", path), allow_pickle=True) as file:
        parts = [(file["x"], file["y"])]
    ((x, y),) = _words(parts, seed, num_words, skip_top, maxlen, start_char, oov_char, index_from)
    at = int(len(x) * (1 - test_split))
    return (x[:at], y[:at]), (x[at:], y[at:])


def _index(of):
    def get_word_index(path=f"{of}_word_index.json"):
        """Returns {word: number}."""
        with open(_path(of, path), encoding="utf-8") as file:
            return json.load(file)

    return get_word_index


def _module(name, load_data, **more):
    made = types.ModuleType(f"{__name__}.{name}", load_data.__doc__)
    load_data.__name__ = load_data.__qualname__ = "load_data"
    made.__dict__.update(load_data=load_data, **more)
    return made


mnist, fashion_mnist = _module("mnist", _mnist), _module("fashion_mnist", _fashion_mnist)
cifar10, cifar100 = _module("cifar10", _cifar10), _module("cifar100", _cifar100)
boston_housing = _module("boston_housing", _boston_housing)
imdb = _module("imdb", _imdb, get_word_index=_index("imdb"))
reuters = _module("reuters", _reuters, get_word_index=_index("reuters"))
__all__ = ["boston_housing", "cifar10", "cifar100", "fashion_mnist", "imdb", "mnist", "reuters"]
