"""Data sets of Keras that lie where TensorFlow keeps them; missing ones are refused."""
import gzip
import json
import pickle

import numpy as np
import pytest

import regrad as tf

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
    monkeypatch.setenv("HOME", str(tmp_path))
    made = tmp_path / ".keras" / "datasets"
    made.mkdir(parents=True)
    return made


def _texts():
    made = np.empty(len(TEXTS), object)
    made[:] = TEXTS
    return made


def test_images(folder):
    x = np.arange(3 * 784, dtype=np.uint8).reshape(3, 28, 28)
    np.savez(folder / "mnist.npz", x_train=x, y_train=[1, 2, 3], x_test=x[:1], y_test=[1])
    (x_train, y_train), (x_test, _) = D.mnist.load_data()
    assert (x_train == x).all() and y_train.tolist() == [1, 2, 3] and len(x_test) == 1
    (folder / "fashion-mnist").mkdir()
    for part in ("train", "t10k"):
        for name, data in ((f"{part}-labels-idx1-ubyte.gz", bytes(8) + bytes([4, 5, 6])),
                           (f"{part}-images-idx3-ubyte.gz", bytes(16) + x.tobytes())):
            (folder / "fashion-mnist" / name).write_bytes(gzip.compress(data))
    (x_train, y_train), _ = D.fashion_mnist.load_data()
    assert (x_train == x).all() and y_train.tolist() == [4, 5, 6]


def test_coloured_images(folder):
    rows = np.arange(2 * 3072, dtype=np.uint32).astype(np.uint8).reshape(2, 3072)
    for path in ["cifar-10-batches-py/test_batch", "cifar-100-python/train", "cifar-100-python/test",
                 *(f"cifar-10-batches-py/data_batch_{i}" for i in range(1, 6))]:
        (folder / path).parent.mkdir(exist_ok=True)
        found = {b"data": rows, b"labels": [3, 4], b"fine_labels": [1, 2], b"coarse_labels": [0, 5]}
        (folder / path).write_bytes(pickle.dumps(found))
    (x, y), (_, y_test) = D.cifar10.load_data()
    assert x.shape == (10, 32, 32, 3) and y[:3].tolist() == [[3], [4], [3]] and y_test.tolist() == [[3], [4]]
    assert x[1, 2, 3].tolist() == rows[1].reshape(3, 32, 32)[:, 2, 3].tolist()
    assert D.cifar100.load_data("coarse")[0][1].tolist() == [[0], [5]]
    with pytest.raises(ValueError, match="label_mode"):
        D.cifar100.load_data("none")


def test_numbers_and_words(folder):
    np.savez(folder / "boston_housing.npz", x=np.arange(10.0)[:, None], y=np.arange(10.0))
    (x, y), (x_test, _) = D.boston_housing.load_data()
    assert (x[:, 0] == y).all() and len(x_test) == 2 and y.tolist() != sorted(y)  # shuffled
    np.savez(folder / "imdb.npz", x_train=_texts(), y_train=np.arange(5), x_test=_texts(), y_test=np.arange(5))
    np.savez(folder / "reuters.npz", x=_texts(), y=np.arange(5))
    (x, y), (x_test, y_test) = D.imdb.load_data(num_words=10, maxlen=6)
    assert [x.tolist(), y.tolist()] == IMDB[0] and [x_test.tolist(), y_test.tolist()] == IMDB[1]
    (x, y), (x_test, y_test) = D.reuters.load_data(start_char=None, oov_char=None, index_from=0, skip_top=2)
    assert [x.tolist(), y.tolist()] == REUTERS[0] and [x_test.tolist(), y_test.tolist()] == REUTERS[1]
    with pytest.raises(ValueError, match="Increase maxlen"):
        D.imdb.load_data(maxlen=1)
    (folder / "imdb_word_index.json").write_text(json.dumps({"the": 1}))
    assert D.imdb.get_word_index() == {"the": 1}


def test_what_is_missing_is_refused():
    for name in D.__all__:
        with pytest.raises(FileNotFoundError, match=f"datasets.{name}: .*downloads nothing. Copy it"):
            getattr(D, name).load_data()
