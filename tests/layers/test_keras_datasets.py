"""Data sets of Keras that lie where TensorFlow keeps them; missing ones are refused."""

import gzip
import hashlib
import json
import os
import pickle

import numpy as np
import pytest

import regrad as tf
from regrad.keras import datasets, pickled

D = tf.keras.datasets
TEXTS = [[1, 5, 2, 9], [3, 4], [7, 7, 7, 1, 2, 2], [8], [2, 6, 4]]
# What TensorFlow gives for these texts: [texts, labels] of training and test.
IMDB = [
    [[[1, 6, 7], [1, 4, 8, 5, 2], [1, 2], [1, 5, 9, 7]], [1, 0, 3, 4]],
    [[[1, 2], [1, 4, 8, 5, 2], [1, 6, 7], [1, 5, 9, 7]], [3, 0, 1, 4]]]
REUTERS = [
    [[[3, 4], [5, 2], [8], [7, 7, 7, 2, 2]], [1, 0, 3, 2]],
    [[[2, 6, 4]], [4]]]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Where TensorFlow keeps data sets; files made here have other hashes, unless a test says that they are those."""
    monkeypatch.setenv("HOME", str(tmp_path))
    made = tmp_path / ".keras" / "datasets"
    made.mkdir(parents=True)
    return made


@pytest.fixture
def published(folder, monkeypatch):
    """Function after which the files that lie in the folder are those that are published."""
    def publish():
        files = [path for path in folder.rglob("*") if path.is_file()]
        hashes = {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
        monkeypatch.setattr(datasets, "_HASHES", datasets._HASHES | hashes)
    return publish


def _texts():
    made = np.empty(len(TEXTS), object)
    made[:] = TEXTS
    return made


def test_images(folder, published):
    x = np.arange(3 * 784, dtype=np.uint8).reshape(3, 28, 28)
    np.savez(folder / "mnist.npz", x_train=x, y_train=[1, 2, 3], x_test=x[:1], y_test=[1])
    published()
    (x_train, y_train), (x_test, _) = D.mnist.load_data()
    assert (x_train == x).all() and y_train.tolist() == [1, 2, 3] and len(x_test) == 1
    (folder / "fashion-mnist").mkdir()
    for part in ("train", "t10k"):
        for name, data in ((f"{part}-labels-idx1-ubyte.gz", bytes(8) + bytes([4, 5, 6])),
                           (f"{part}-images-idx3-ubyte.gz", bytes(16) + x.tobytes())):
            (folder / "fashion-mnist" / name).write_bytes(gzip.compress(data))
    published()
    (x_train, y_train), _ = D.fashion_mnist.load_data()
    assert (x_train == x).all() and y_train.tolist() == [4, 5, 6]


def test_coloured_images(folder, published):
    rows = np.arange(2 * 3072, dtype=np.uint32).astype(np.uint8).reshape(2, 3072)
    for path in ["cifar-10-batches-py/test_batch", "cifar-100-python/train", "cifar-100-python/test",
                 *(f"cifar-10-batches-py/data_batch_{i}" for i in range(1, 6))]:
        (folder / path).parent.mkdir(exist_ok=True)
        found = {b"data": rows, b"labels": [3, 4], b"fine_labels": [1, 2], b"coarse_labels": [0, 5]}
        (folder / path).write_bytes(pickle.dumps(found))
    published()
    (x, y), (_, y_test) = D.cifar10.load_data()
    assert x.shape == (10, 32, 32, 3) and y[:3].tolist() == [[3], [4], [3]] and y_test.tolist() == [[3], [4]]
    assert x[1, 2, 3].tolist() == rows[1].reshape(3, 32, 32)[:, 2, 3].tolist()
    assert D.cifar100.load_data("coarse")[0][1].tolist() == [[0], [5]]
    with pytest.raises(ValueError, match="label_mode"):
        D.cifar100.load_data("none")


def test_numbers_and_words(folder, published):
    np.savez(folder / "boston_housing.npz", x=np.arange(10.0)[:, None], y=np.arange(10.0))
    published()
    (x, y), (x_test, _) = D.boston_housing.load_data()
    assert (x[:, 0] == y).all() and len(x_test) == 2 and y.tolist() != sorted(y)  # shuffled
    np.savez(folder / "imdb.npz", x_train=_texts(), y_train=np.arange(5), x_test=_texts(), y_test=np.arange(5))
    np.savez(folder / "reuters.npz", x=_texts(), y=np.arange(5))
    published()
    (x, y), (x_test, y_test) = D.imdb.load_data(num_words=10, maxlen=6)
    assert [x.tolist(), y.tolist()] == IMDB[0] and [x_test.tolist(), y_test.tolist()] == IMDB[1]
    (x, y), (x_test, y_test) = D.reuters.load_data(start_char=None, oov_char=None, index_from=0, skip_top=2)
    assert [x.tolist(), y.tolist()] == REUTERS[0] and [x_test.tolist(), y_test.tolist()] == REUTERS[1]
    with pytest.raises(ValueError, match="Increase maxlen"):
        D.imdb.load_data(maxlen=1)
    (folder / "imdb_word_index.json").write_text(json.dumps({"the": 1}))
    published()
    assert D.imdb.get_word_index() == {"the": 1}


def test_what_is_missing_is_refused():
    for name in D.__all__:
        with pytest.raises(FileNotFoundError, match=f"datasets.{name}: .*downloads nothing. Copy it"):
            getattr(D, name).load_data()


def test_other_data_are_read_where_their_path_says_so_and_refused_otherwise(folder, tmp_path):
    x, own = np.zeros((2, 28, 28), np.uint8), tmp_path / "own.npz"
    for path in (folder / "mnist.npz", own):
        np.savez(path, x_train=x, y_train=[1, 2], x_test=x, y_test=[1, 2])
    with pytest.raises(tf.errors.DataLossError, match=r"mnist.npz: its hash is .* 731c5ac.*mnist.load_data\(path=...\)"):
        D.mnist.load_data()
    assert D.mnist.load_data(path=own)[0][1].tolist() == [1, 2]
    for part in ("train", "test"):
        (tmp_path / part).write_bytes(pickle.dumps({b"data": np.zeros((1, 3072), np.uint8), b"fine_labels": [7]}))
    assert D.cifar100.load_data(path=tmp_path)[1][1].tolist() == [[7]]


RUN = []


class Call:
    def __reduce__(self):
        return RUN.append, (1,)


class Import:
    def __reduce__(self):
        return os.system, ("true",)


@pytest.mark.parametrize("protocol", range(2, 6))
@pytest.mark.parametrize("what", [Call(), Import(), {b"data": Call()}, [1, np.ma.masked_array([1])], slice(1)])
def test_nothing_in_a_pickled_file_is_called_or_imported(what, protocol, tmp_path):
    data = pickle.dumps(what, protocol)
    with pytest.raises(ValueError, match="which is no part of data"):
        pickled.loads(data)
    for part in ("train", "test"):
        (tmp_path / part).write_bytes(data)
    with pytest.raises(tf.errors.DataLossError, match="train: at byte .* which is no part of data"):
        D.cifar100.load_data(path=tmp_path)
    with pytest.raises(tf.errors.DataLossError, match="own.npz, the array 'x'.* which is no part of data"):
        np.savez(tmp_path / "own.npz", x=np.array([what, None], object), y=[1, 2])
        D.boston_housing.load_data(path=str(tmp_path / "own.npz"))
    assert not RUN


ARRAYS = [np.arange(6, dtype=np.uint8).reshape(2, 3), np.arange(3.0), np.array([True, False]), np.arange(4, dtype=">i4"),
          np.asfortranarray(np.arange(6).reshape(2, 3)), np.zeros((0, 2))]


@pytest.mark.parametrize("protocol", range(2, 6))
def test_plain_data_are_what_pickle_reads(protocol):
    plain = {b"a": [1, -1, 300, 2**40, -2**70, True, None, 1.5, "\u00e9", b"b" * 300, b"", (), (1,), (1, 2), (1, 2, 3)],
             "b": {1: [], b"c": {}}, 3: (1, 2, 3, 4), 4: list(range(3000))}
    assert pickled.loads(pickle.dumps(plain, protocol)) == plain
    for array in ARRAYS:
        found = pickled.loads(pickle.dumps(array, min(protocol, 4)))  # NumPy has other ways from 5 on, and files of 2 to 4
        assert found.dtype == array.dtype and (found == array).all() and found.shape == array.shape
    same = [1, 2]
    assert pickled.loads(pickle.dumps([same, same], protocol)) == [same, same]


def test_a_small_file_does_not_fill_memory():
    encoded = b"c_codecs\nencode\n%sX\6\0\0\0latin1\x86R"
    first = encoded % (b"X\xff\xff\0\0" + b"a" * 65535 + b"q\0")
    with pytest.raises(ValueError, match="makes much of little"):
        pickled.loads(b"\x80\x02(" + first + encoded % b"h\0" * 2000 + b"t.")
