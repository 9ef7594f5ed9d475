"""Checkpoints are TensorFlow's files: those it wrote are read, of both versions, and damaged ones refused."""
import pathlib

import numpy as np
import pytest

import regrad as tf
from regrad.core import bundle, records, tables

RECORDED = dict(np.load(pathlib.Path(__file__).with_name("checkpoints.npz")))
VALUES = {key.partition(":")[2]: value for key, value in RECORDED.items() if key.startswith("value:")}
VALUES["a/strings"] = np.array([[b"one", b""], [b"\xff\x00", b"x" * 300]], object)
VALUES["a/string"] = np.array(b"s", object)


@pytest.fixture
def folder(tmp_path):
    for key, data in RECORDED.items():
        kind, _, name = key.partition(":")
        if kind == "file":
            (tmp_path / name).write_bytes(data.tobytes())
    return tmp_path


@pytest.mark.parametrize("name", ["v2", "v1", "shards"])
def test_reads_what_tensorflow_wrote(folder, name):
    reader = tf.train.load_checkpoint(str(folder / name))

    assert reader.get_variable_to_shape_map() == {n: list(v.shape) for n, v in VALUES.items()}
    for variable, value in VALUES.items():
        got = reader.get_tensor(variable)
        np.testing.assert_array_equal(got, value, err_msg=variable)
        assert reader.get_variable_to_dtype_map()[variable] == (tf.string if value.dtype == object else value.dtype)
        assert value.dtype == object or got.dtype == value.dtype


def test_writes_the_bytes_that_tensorflow_writes(folder):
    reader = tf.train.load_checkpoint(str(folder / "v2"))
    whole = {n: (VALUES[n], t) for n, t in reader.get_variable_to_dtype_map().items() if n.startswith("a/")}
    bundle.write(str(folder / "again"), whole)

    theirs, ours = (dict(tables.read_table((folder / f"{n}.index").read_bytes())) for n in ("v2", "again"))
    first = {n: bundle.BundleEntryProto.FromString(theirs[n.encode()]) for n in whole}
    for n, entry in first.items():
        assert entry.crc32c == bundle.BundleEntryProto.FromString(ours[n.encode()]).crc32c, n
    data = (folder / "v2.data-00000-of-00001").read_bytes()
    assert (folder / "again.data-00000-of-00001").read_bytes() == data[:sum(e.size for e in first.values())]


def test_variables_restored_from_tensorflow(folder):
    w = tf.get_variable("a/float32", [2, 3])
    parts = tf.get_variable("parts", [100, 2], partitioner=tf.fixed_size_partitioner(2))
    with tf.Session() as sess:
        for name in ("v2", "v1"):
            tf.train.Saver().restore(sess, str(folder / name))
            np.testing.assert_array_equal(sess.run(w), VALUES["a/float32"])
            np.testing.assert_array_equal(sess.run(tf.convert_to_tensor(parts)), VALUES["parts"])


def test_damaged_files(folder):
    prefix = str(folder / "v2")
    index, data = (folder / "v2.index"), (folder / "v2.data-00000-of-00001")
    whole_index, whole_data = index.read_bytes(), data.read_bytes()

    def fails(error, says):
        with pytest.raises(error, match=says):
            tf.train.load_variable(prefix, "a/float32")

    index.write_bytes(whole_index[:-1])
    fails(tf.errors.DataLossError, "cut short")
    index.write_bytes(whole_index[:5] + b"X" + whole_index[6:])
    fails(tf.errors.DataLossError, "checksum of its block")
    index.write_bytes(whole_index)
    at = whole_data.index(VALUES["a/float32"].tobytes())
    data.write_bytes(whole_data[:at] + b"X" + whole_data[at + 1:])
    fails(tf.errors.DataLossError, "v2, the value of 'a/float32': its checksum is wrong. The file was damaged")
    data.write_bytes(whole_data[:at + 3])
    fails(tf.errors.DataLossError, "cut short")
    data.unlink()
    fails(tf.errors.NotFoundError, "data are missing: .*v2.data-00000-of-00001")
    (folder / "v1").write_bytes(b"no table")
    with pytest.raises(tf.errors.DataLossError, match="v1: the file is no table"):
        tf.train.load_checkpoint(str(folder / "v1"))


def test_tables_of_many_entries():
    items = [(f"{i:06d}".encode(), bytes([i % 256]) * (i % 300)) for i in range(3000)]

    data = tables.table_bytes(items)

    assert [(k, bytes(v)) for k, v in tables.read_table(data)] == items
    assert list(tables.read_table(tables.table_bytes([]))) == []


def test_compressed_blocks():
    # From the description of the format: a literal, and copies with one and two bytes of offset, one into itself.
    assert tables.unsnapped(b"\x0b" + b"\x08abc" + b"\x09\x03" + b"\x06\x06\x00") == b"abcabcabcab"
    assert tables.unsnapped(bytes([70, 60 << 2, 69]) + b"y" * 70) == b"y" * 70
    with pytest.raises(ValueError, match="a copy of what is 3 bytes before byte 0"):
        tables.unsnapped(b"\x05\x09\x03")


@pytest.mark.parametrize("n", [0, 9, 4095, 4096, 9 * 1024 + 3, 50_001])
def test_checksums(n):
    data = np.random.default_rng(n).integers(0, 256, n, dtype=np.uint8).tobytes()
    crc = 0xFFFFFFFF
    for byte in data:  # bit by bit, as the polynomial says
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    assert records.crc32c(data) == crc ^ 0xFFFFFFFF
    assert records.crc32c(b"123456789") == 0xE3069283


def test_the_index_is_read_once_for_all_that_start_from_it(folder, monkeypatch):
    read = []
    monkeypatch.setattr(bundle, "read_table", lambda data: read.append(1) or tables.read_table(data))
    prefix, names = str(folder / "v2"), [n for n, v in VALUES.items() if v.dtype == np.float32]
    found = [tf.raw_ops.RestoreV2(prefix=prefix, tensor_names=[n], shape_and_slices=[""], dtypes=[tf.float32])[0]
             for n in names]
    with tf.Session() as session:
        for _ in range(2):
            for n, value in zip(names, session.run(found)):
                np.testing.assert_array_equal(value, VALUES[n])
        assert len(names) > 1 and len(read) == 1
        (folder / "v2.data-00000-of-00001").unlink()
        with pytest.raises(tf.errors.NotFoundError, match="its data are missing"):
            session.run(found)


def test_the_small_file_may_have_any_bytes_escaped(tmp_path):
    (tmp_path / "checkpoint").write_bytes(rb'model_checkpoint_path: "/m\303\244\"\\"')
    assert tf.train.get_checkpoint_state(str(tmp_path)).model_checkpoint_path == '/mä"\\'
