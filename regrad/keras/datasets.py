"""`tf.keras.datasets`: data sets from the folder ~/.keras/datasets, where TensorFlow keeps those that it loaded.

Regrad downloads nothing: where a file is missing, `load_data` says which, and what to do. Files of that folder have the
hashes that are published; other data in the same form are read where they are passed as `path`. Nothing in a file is run.
"""

import gzip
import hashlib
import io
import json
import math
import os
import types
import zipfile

import numpy as np

from regrad.core.arguments import unexpected
from regrad.core.errors import DataLossError
from regrad.core.lazy import complete
from regrad.core.reading import reading
from regrad.keras import backend, pickled

# Keras's; of the files within its archives those that torchvision has, and Zalando's README of Fashion-MNIST.
_HASHES = {
    "mnist.npz": "731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1",
    "boston_housing.npz": "f553886a1f8d56431e820c5b82552d9d95cfcb96d1e678153f8839538947dff5",
    "imdb.npz": "69664113be75683a8fe16e3ed0ab59fda8886cb3cd7ada244f7d9544e4676b9f",
    "imdb_word_index.json": "bfafd718b763782e994055a2d397834f",
    "reuters.npz": "d6586e694ee56d7a4e65172e12b3e987c03096cb01eab99753921ef915959916",
    "reuters_word_index.json": "4d44cc38712099c9e383dc6e5f11a921",
    "fashion-mnist/train-images-idx3-ubyte.gz": "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
    "fashion-mnist/train-labels-idx1-ubyte.gz": "25c81989df183df01b3e8a0aad5dffbe",
    "fashion-mnist/t10k-images-idx3-ubyte.gz": "bef4ecab320f06d8554ea6380940ec79",
    "fashion-mnist/t10k-labels-idx1-ubyte.gz": "bb300cfdad3c16e7a12a480ee83cd310",
    "cifar-10-batches-py/data_batch_1": "c99cafc152244af753f735de768cd75f",
    "cifar-10-batches-py/data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
    "cifar-10-batches-py/data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
    "cifar-10-batches-py/data_batch_4": "634d18415352ddfa80567beed471001a",
    "cifar-10-batches-py/data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
    "cifar-10-batches-py/test_batch": "40351d587109b95175f43aff81a1287e",
    "cifar-100-python/train": "16019d7e3df5f24257cddd939b257f8d",
    "cifar-100-python/test": "f0ef6b0ae62326f3e7ffdfab6717acfc",
}
_DEFLATED = 1032  # bytes that one byte of zlib's stands for at most


def _bytes(of, name, given=None):
    """Returns (path, bytes) of a file of a data set: `name` below ~/.keras/datasets, with its hash, or another, `given`.

    Raises:
      FileNotFoundError: it is not there.
      DataLossError: it is another file than TensorFlow loads.
    """
    folder = os.path.join(os.path.expanduser("~"), ".keras", "datasets")
    own = given not in (None, name)
    path = os.fspath(given) if own and os.path.exists(given) else os.path.join(folder, os.fspath(given) if own else name)
    if not os.path.exists(path):
        raise FileNotFoundError(f"tf.keras.datasets.{of}: {path} is not there, and Regrad downloads nothing. Copy it from "
                                "where TensorFlow has loaded it, or load data of your own with NumPy; "
                                "sklearn.datasets.load_digits() has digits.")
    with reading(path), open(path, "rb") as file:
        data = file.read()
    wanted = None if own else _HASHES[name]
    found = wanted and hashlib.new("md5" if len(wanted) == 32 else "sha256", data, usedforsecurity=False).hexdigest()
    if found != wanted:
        function = "get_word_index" if name.endswith("json") else "load_data"
        raise DataLossError(None, None, f"{path}: its hash is {found}, and that of the file that is published {wanted}. It was "
                            "cut short, or is another: copy it again, or, for data of your own in that form, pass their path, "
                            f"tf.keras.datasets.{of}.{function}(path=...).")
    return path, data


def _below(folder, *names):
    """Returns (name, path below `folder` or None) for files of a data set that has several."""
    return [(name, None if folder is None else os.path.join(folder, os.path.basename(name))) for name in names]


def _arrays(of, name, given, *keys):
    """Returns the arrays of a file that `np.savez` wrote, inputs and labels in turn: of numbers, or of lists of them."""
    path, data = _bytes(of, name, given)
    with reading(path) as at, zipfile.ZipFile(io.BytesIO(data)) as file:
        found = []
        for key in keys:
            at.place = f"the array {key!r}"
            info = file.getinfo(f"{key}.npy")
            if info.file_size > _DEFLATED * (info.compress_size + 1):
                raise ValueError(f"{info.compress_size} bytes do not become {info.file_size}")
            found.append(_array(io.BytesIO(file.read(info))))
            if not found[-1].ndim or len(found) % 2 == 0 and len(found[-1]) != len(found[-2]):
                raise ValueError(f"it has the shape {found[-1].shape}, which are not as many labels as there are inputs")
        return found


def _are_numbers(text):
    return isinstance(text, list) and set(map(type, text)) <= {int} or isinstance(text, np.ndarray) and text.dtype.kind in "iu"


def _array(file):
    """Returns the array of a file that `np.save` wrote."""
    form = np.lib.format
    version = form.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"the version {version} of NumPy's files")
    shape, by_columns, dtype = (form.read_array_header_1_0 if version == (1, 0) else form.read_array_header_2_0)(file)
    rest = file.read()
    if dtype.hasobject:
        made = pickled.loads(rest)
        if not isinstance(made, np.ndarray) or made.shape != shape or not all(map(_are_numbers, made.flat)):
            raise ValueError(f"no array of shape {shape} of lists of integers")
        return made
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(rest):
        raise ValueError(f"{len(rest)} bytes for an array of shape {shape}")
    return np.frombuffer(rest, dtype).reshape(shape, order="F" if by_columns else "C").copy()


def _mnist(path="mnist.npz"):
    """Returns ((x_train, y_train), (x_test, y_test)): uint8 images [n, 28, 28] of digits, and their labels [n].

    Args:
      path: a file of your own in the form of Keras's, whose hash is then not asked for.
    """
    x, y, x_test, y_test = _arrays("mnist", "mnist.npz", path, "x_train", "y_train", "x_test", "y_test")
    return (x, y), (x_test, y_test)


def _fashion_mnist(path=None):
    """Returns ((x_train, y_train), (x_test, y_test)): uint8 images [n, 28, 28] of clothes, and their labels [n].

    Args:
      path: a folder with files of your own in the form of Keras's, whose hashes are then not asked for.
    """
    def read(name, given, offset):
        where, data = _bytes("fashion_mnist", name, given)
        with reading(where):
            return np.frombuffer(gzip.decompress(data), np.uint8, offset=offset), where

    def part(name):
        labels, images = _below(path, *(f"fashion-mnist/{name}-{what}-ubyte.gz" for what in ("labels-idx1", "images-idx3")))
        labels, _ = read(*labels, 8)
        images, where = read(*images, 16)
        with reading(where):
            return images.reshape(len(labels), 28, 28), labels

    return part("train"), part("t10k")


def _cifar(of, files, key, dtype=np.int64):
    images, labels = [], []
    for name, given in files:
        path, data = _bytes(of, name, given)
        with reading(path):
            found = pickled.loads(data)
            images.append(np.asarray(found[b"data"], np.uint8).reshape(-1, 3, 32, 32))
            labels.append(np.asarray(found[key], dtype).reshape(len(images[-1]), 1))
    x = np.concatenate(images)
    x = x if backend.image_data_format() == "channels_first" else x.transpose(0, 2, 3, 1)
    return x, np.concatenate(labels)


def _cifar10(path=None):
    """Returns ((x_train, y_train), (x_test, y_test)): uint8 images [n, 32, 32, 3], and their labels [n, 1].

    Args:
      path: a folder with files of your own in the form of Keras's, whose hashes are then not asked for.
    """
    *train, test = _below(path, *(f"cifar-10-batches-py/{name}" for name in (
        *(f"data_batch_{i}" for i in range(1, 6)), "test_batch")))
    return _cifar("cifar10", train, b"labels", np.uint8), _cifar("cifar10", [test], b"labels")


def _cifar100(label_mode="fine", path=None):
    """Returns ((x_train, y_train), (x_test, y_test)): uint8 images [n, 32, 32, 3], and labels [n, 1], "fine" or "coarse".

    Args:
      path: a folder with files of your own in the form of Keras's, whose hashes are then not asked for.
    """
    if label_mode not in ("fine", "coarse"):
        raise ValueError('`label_mode` must be one of `"fine"`, `"coarse"`.')
    key = f"{label_mode}_labels".encode()
    return tuple(_cifar("cifar100", [file], key) for file in _below(path, "cifar-100-python/train", "cifar-100-python/test"))


def _boston_housing(path="boston_housing.npz", test_split=0.2, seed=113):
    """Returns ((x_train, y_train), (x_test, y_test)): 13 numbers of each of 506 suburbs, and prices, shuffled by `seed`."""
    x, y = _arrays("boston_housing", "boston_housing.npz", path, "x", "y")
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
    x, y, x_test, y_test = _arrays("imdb", "imdb.npz", path, "x_train", "y_train", "x_test", "y_test")
    return tuple(_words([(x, y), (x_test, y_test)], seed, num_words, skip_top, maxlen, start_char, oov_char, index_from))


def _reuters(path="reuters.npz", num_words=None, skip_top=0, maxlen=None, test_split=0.2, seed=113, start_char=1, oov_char=2,
             index_from=3, **kwargs):
    """Returns ((x_train, y_train), (x_test, y_test)): news as lists of numbers of words, and their topics; else as of imdb."""
    num_words = kwargs.pop("nb_words", num_words)
    if kwargs:
        raise unexpected(_reuters, kwargs)
    parts = [_arrays("reuters", "reuters.npz", path, "x", "y")]
    ((x, y),) = _words(parts, seed, num_words, skip_top, maxlen, start_char, oov_char, index_from)
    at = int(len(x) * (1 - test_split))
    return (x[:at], y[:at]), (x[at:], y[at:])


def _index(of):
    def get_word_index(path=f"{of}_word_index.json"):
        """Returns {word: number}."""
        name = f"{of}_word_index.json"
        where, data = _bytes(of, name, path)
        with reading(where):
            return json.loads(data)

    return get_word_index


def _module(name, load_data, **more):
    made = types.ModuleType(f"{__name__}.{name}", load_data.__doc__)
    load_data.__name__ = load_data.__qualname__ = "load_data"
    made.__dict__.update(load_data=load_data, **more, __all__=["load_data", *more])
    complete(made)
    return made


mnist, fashion_mnist = _module("mnist", _mnist), _module("fashion_mnist", _fashion_mnist)
cifar10, cifar100 = _module("cifar10", _cifar10), _module("cifar100", _cifar100)
boston_housing = _module("boston_housing", _boston_housing)
imdb = _module("imdb", _imdb, get_word_index=_index("imdb"))
reuters = _module("reuters", _reuters, get_word_index=_index("reuters"))
__all__ = ["boston_housing", "cifar10", "cifar100", "fashion_mnist", "imdb", "mnist", "reuters"]
