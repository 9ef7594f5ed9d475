"""Files that say of themselves what is not so: each is one class of error, with its name, at once and in little memory."""

import contextlib
import gzip
import io
import os
import pathlib
import struct
import tracemalloc
import warnings
import zlib

import numpy as np
import pytest

import regrad as tf
from regrad.core import bundle, proto_text, records, tables
from regrad.core.graph_proto import AssetFileDef, MetaGraphDef, ProtoGraphDef
from regrad.core.messages import Example, TensorProto, TensorShapeProto, make_ndarray, stored_ndarray
from regrad.core.proto import sized, varint
from regrad.core.reading import each, reading
from regrad.importer import region
from regrad.saved_model import loader

DataLoss = tf.errors.DataLossError


@contextlib.contextmanager
def refused(says, error=DataLoss, memory=30e6):
    tracemalloc.start()
    try:
        with pytest.raises(error, match=says):
            yield
        assert tracemalloc.get_traced_memory()[1] < memory
    finally:
        tracemalloc.stop()


# -- checkpoints ---------------------------------------------------------------------------------------------
def _checkpoint(folder, change=None, header=None, extra=()):
    """Writes one whose entry of "w" and whose header are changed; returns its prefix."""
    prefix = str(folder / "model")
    bundle.write(prefix, {"s": (np.array([b"a", b"bc"], object), tf.string),
                          "w": (np.arange(6, dtype=np.float32).reshape(2, 3), tf.float32)})
    items = {key: bytes(value) for key, value in tables.read_table(pathlib.Path(prefix + ".index").read_bytes())}
    if header is not None:
        items[b""] = header.SerializeToString()
    for key in (b"w", b"s"):
        entry = bundle.BundleEntryProto.FromString(items[key])
        if change is not None:
            change(entry)
        items[key] = entry.SerializeToString()
    items.update(extra)
    pathlib.Path(prefix + ".index").write_bytes(tables.table_bytes(sorted(items.items())))
    return prefix


def _set(**values):
    def change(entry):
        for name, value in values.items():
            if name == "dims":
                entry.shape.dim[:] = [TensorShapeProto.Dim(size=n) for n in value]
            else:
                setattr(entry, name, value)
    return change


_FIRST = np.arange(3, dtype=np.float32).tobytes()  # of "w"


def _in_slices(*slices):
    def change(entry):
        for extents in slices:
            entry.slices.add(extent=[bundle.TensorSliceProto.Extent(start=o, length=n) for o, n in extents])
    return change


@pytest.mark.parametrize("change, says", [
    (_set(size=2**62), "model, the value of 'w': .*data-00000-of-00001: 4611686018427387904 bytes from byte .* go beyond its"),
    (_set(offset=-8), "from byte -8 on go beyond"),
    (_set(size=-8), "-8 bytes from"),
    (_set(offset=2**62), "go beyond its"),
    (_set(dims=[2**31, 2**31]), "bytes for 4611686018427387904 elements"),
    (_set(dims=[2**32, 2**32]), "bytes for 18446744073709551616 elements"),
    (_set(dims=[-6, -1]), r"index, the entry of '.': there is no array of shape \[-6, -1\]"),
    (_set(dims=[1] * 70), "there is no array of shape"),
    (_set(dtype=99), "index, the entry of '.'"),
    (_in_slices([(0, 2), (0, 3)]), "its slice .* is missing"),
    (_in_slices([(0, 3), (0, 3)]), "its slice .* is missing"),
])
def test_entries_of_checkpoints_are_held_against_the_files(change, says, tmp_path):
    with refused(says):
        tf.train.load_variable(_checkpoint(tmp_path, change), "w")


def test_strings_of_checkpoints_are_counted_first(tmp_path):
    with refused("bytes for 1000000000000 strings"):
        tf.train.load_variable(_checkpoint(tmp_path, _set(dims=[10**12])), "s")


def test_shards_that_nothing_is_in_are_not_looked_for(tmp_path):
    with refused("its data are missing: .*data-00000-of-2147483647", tf.errors.NotFoundError):
        tf.train.load_checkpoint(_checkpoint(tmp_path, header=bundle.BundleHeaderProto(num_shards=2**31 - 1)))


@pytest.mark.parametrize("shape, slices, says", [
    ([2, 3], [[(0, 1), (0, 3)], [(0, 1), (0, 3)]], "overlaps another"),
    ([10**6, 10**6], [[(0, 1), (0, 3)]], "has 1000000000000 elements, its slices, of .* bytes, 3"),
    ([2, 3], [[(0, 1), (2, 3)], [(0, 1), (0, 3)]], "goes beyond its shape"),
    ([2, 3], [[(0, 1)], [(0, 1), (0, 3)]], "goes beyond its shape"),
])
def test_slices_make_up_a_whole_once(shape, slices, says, tmp_path):
    part = _checkpoint(tmp_path, _set(dims=[1, 3], size=12, crc32c=records.masked_crc(_FIRST)))
    items = dict(tables.read_table(pathlib.Path(part + ".index").read_bytes()))
    extra = {bundle._slice_key("w", extents): bytes(items[b"w"]) for extents in slices}

    def change(entry):
        _set(dims=shape)(entry)
        _in_slices(*slices)(entry)

    with refused(says):
        tf.train.load_variable(_checkpoint(tmp_path, change, extra=extra), "w")


def _block(entries):
    block = b"".join(entries) + struct.pack("<II", 0, 1)
    return block + b"\0" + struct.pack("<I", records.masked_crc(block + b"\0")), len(block)


def _table(entries, index):
    data, size = _block(entries)
    found = b"".join(varint(0) + varint(1) + varint(len(p)) + b"z" + p for p in index(size))
    last, last_size = _block([found])
    return data + last + (varint(0) * 2 + varint(len(data)) + varint(last_size)).ljust(40, b"\0") + struct.pack(
        "<Q", tables._MAGIC)


@pytest.mark.parametrize("entries, index, says", [
    ([varint(0) + varint(2**62) + varint(0)], lambda n: [varint(0) + varint(n)], "an entry goes beyond its block"),
    ([varint(5) + varint(1) + varint(0) + b"a"], lambda n: [varint(0) + varint(n)], "an entry goes beyond its block"),
    ([varint(0) + varint(50000) + varint(0) + b"a" * 50000, *[varint(50000) + varint(1) + varint(0) + b"a"] * 20000],
     lambda n: [varint(0) + varint(n)], "an entry goes beyond its block"),  # keys of 50001 bytes, four bytes each
    ([varint(0) + varint(1) + varint(0) + b"a"], lambda n: [varint(0) + varint(n)] * 3, "begins in another"),
    ([], lambda n: [varint(2**63) + varint(2**63)], "goes beyond the .* of the file"),
    ([], lambda n: [b"\xff" * 12], "names no place"),
])
def test_tables_are_no_larger_than_they_are(entries, index, says):
    with refused(says, memory=60e6):
        list(tables.read_table(_table(entries, index)))


def test_only_checkpoints_of_its_folder_are_deleted_after_a_restart(tmp_path):
    letter, folder = tmp_path / "letter", tmp_path / "logs"
    letter.write_text("dear reader")
    tf.train.get_or_create_global_step()
    with tf.Session() as sess:
        saver = tf.train.Saver(max_to_keep=None)
        sess.run(tf.global_variables_initializer())
        other = saver.save(sess, str(tmp_path / "kept"), write_state=False)
        folder.mkdir()
        old, last = (saver.save(sess, str(folder / name), write_state=False) for name in ("old", "last"))
        tf.train.update_checkpoint_state(str(folder), last, [str(letter), other, old, last])
    saver = tf.train.Saver(max_to_keep=1)
    manager = tf.train.SessionManager()
    with manager.prepare_session("", saver=saver, checkpoint_dir=str(folder)) as sess:  # a hostile or a copied state file
        assert saver.last_checkpoints == [old, last]
        saver.recover_last_checkpoints([str(letter), *saver.last_checkpoints])
        saver.save(sess, str(folder / "new"))
    assert letter.read_text() == "dear reader" and tf.train.checkpoint_exists(other) and not tf.train.checkpoint_exists(old)


def test_a_state_file_that_says_something_else_starts_no_training_anew(tmp_path):
    for text, says in ((b"model_checkpoint_path", "line 1 has no field"), (b"\xff", "codec"),
                       (b'model_checkpoint_path: "a"\nlast_preserved_timestamp: "b"', "line 2: .* is no number"),
                       (b"model_checkpoint_path: 1", "is no path"), (b"last_preserved_timestamp: 1.2.3", "could not convert"),
                       (rb'model_checkpoint_path: "\000"', "is no path")):
        (tmp_path / "checkpoint").write_bytes(text)
        with refused(f"checkpoint: .*{says}.* To begin anew delete it"):
            tf.train.latest_checkpoint(str(tmp_path))
    (tmp_path / "checkpoint").write_bytes(b'# a comment\nmodel_checkpoint_path: "../a"\nof_later: 1\n')
    assert tf.train.get_checkpoint_state(str(tmp_path)).model_checkpoint_path == f"{tmp_path}/../a"  # TensorFlow writes such


# -- records -------------------------------------------------------------------------------------------------
def _record(length, data=b"abc"):
    head = struct.pack("<Q", length)
    return head + struct.pack("<I", records.masked_crc(head)) + data + struct.pack("<I", records.masked_crc(data))


@pytest.mark.parametrize("compression, pack", [("", bytes), ("GZIP", gzip.compress), ("ZLIB", zlib.compress)])
def test_lengths_of_records_are_held_against_the_file(compression, pack, tmp_path):
    path = str(tmp_path / "records")
    options = tf.python_io.TFRecordOptions(compression)
    for length in (4, 2**33, 2**62, 2**63, 2**64 - 4, 2**64 - 1):
        pathlib.Path(path).write_bytes(pack(_record(3) + _record(length)))
        found = []
        with refused(f"records: truncated record at 19: it says that it has {length} bytes, and .* follow"):
            found.extend(tf.python_io.tf_record_iterator(path, options))
        with refused("records: truncated record at 19"), tf.Session() as sess:
            after = tf.data.TFRecordDataset(path, compression).skip(1).make_one_shot_iterator().get_next()
            sess.run(after)
    if compression:
        pathlib.Path(path).write_bytes(pack(_record(3))[:-5])
        with refused("records: it ends too early|Compressed file ended"):
            list(tf.python_io.tf_record_iterator(path, options))
        pathlib.Path(path).write_bytes(b"no such file")
        with refused("records: "):
            list(tf.python_io.tf_record_iterator(path, options))


def test_long_records_of_zlib(tmp_path):
    path, data = str(tmp_path / "records"), [os.urandom(3), bytes(40_000_000), b""]
    with tf.python_io.TFRecordWriter(path, tf.python_io.TFRecordOptions("ZLIB")) as writer:
        for one in data:
            writer.write(one)
    assert list(tf.python_io.tf_record_iterator(path, tf.python_io.TFRecordOptions("ZLIB"))) == data


# -- messages ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("data, says", [
    (b"\x0a\x7f", "'Example': at byte 0, the data end in the middle of a field"),
    (b"\x08" + b"\xff" * 11, "an integer of more than ten bytes"),
    (sized(1, sized(1, b"\x08" + varint(10**18))), "at byte 2, field 'key' of type string has wire type 0"),
    (sized(1, sized(1, b"\x10\x01")), "the value of an entry of 'feature' has wire type 0"),
    (sized(1, b"\x08\x01"), "field 'feature' of type Feature has wire type 0"),
    (b"\x08\x01", "at byte 0, field 'features' of type Features has wire type 0"),
    (sized(1, sized(1, sized(1, b"\xff"))), "at byte 2, 'utf-8' codec"),
])
def test_a_message_that_is_none_says_where(data, says):
    with refused(says):
        Example.FromString(data)


def test_messages_in_one_another_are_counted():
    value = b""
    for _ in range(300):
        value = sized(10, sized(2, sized(1, b"k") + sized(2, value)))  # a function as an attribute of a function
    with refused("Error parsing message with type 'GraphDef': .*more than 100 messages in one another"):
        tf.GraphDef.FromString(sized(1, sized(5, sized(1, b"f") + sized(2, value))))
    text = "node { attr { key: 'f' value { " + "func { attr { key: 'k' value {" * 300
    with refused("line 1: more than 100 messages in one another"):
        proto_text.parse(ProtoGraphDef(), text)


@pytest.mark.parametrize("shape, fields, says", [
    ([10**5, 10**5, 4], {"float_val": [1.0]}, "holds 1 values for 160000000000 bytes; no message has room for more"),
    ([2**32, 2**32], {"float_val": [1.0]}, "no message has room"),
    ([2**40], {"tensor_content": b"abcd"}, "holds 4 bytes, which are not 1099511627776 values"),
    ([-1], {"float_val": [1.0]}, "there is no array of that shape"),
    ([0] * 70, {}, "there is no array of that shape"),
])
def test_values_are_no_larger_than_a_message_could_be(shape, fields, says):
    proto = TensorProto(dtype=1, tensor_shape={"dim": [TensorShapeProto.Dim(size=n) for n in shape]}, **fields)
    with refused(says, ValueError):
        make_ndarray(proto)


def test_one_value_for_many_takes_the_memory_of_one():
    proto = TensorProto(dtype=1, tensor_shape={"dim": [TensorShapeProto.Dim(size=400_000_000)]}, float_val=[2.5])
    tracemalloc.start()
    found = stored_ndarray(proto)
    assert tracemalloc.get_traced_memory()[1] < 1e6 and found.shape == (400_000_000,) and found[-1] == 2.5
    tracemalloc.stop()


# -- whatever reads files ------------------------------------------------------------------------------------
class Own(Exception):
    """An exception of a program's own."""


@pytest.mark.parametrize("error", [KeyError("k"), EOFError(), zlib.error("z"), struct.error("s"), OSError("o"), Own("own"),
                                   UnicodeDecodeError("utf-8", b"a", 0, 1, "u"), gzip.BadGzipFile("g"), RecursionError()])
def test_what_fails_while_a_file_is_read_is_data_loss_and_what_it_was(error):
    with pytest.raises(DataLoss, match="^model, record 3: .*. The file was damaged") as found, reading("model") as at:
        at.place = "record 3"
        raise error
    assert isinstance(found.value, type(error)) and isinstance(found.value, ValueError) and found.value.__cause__ is error


def test_what_is_said_already_and_what_is_the_systems_stays():
    for error in (tf.errors.NotFoundError("n"), KeyboardInterrupt(), ImportError("h5py")):
        with pytest.raises(type(error)) as found, reading("model"):
            raise error
        assert found.value is error
    with pytest.raises(tf.errors.PermissionDeniedError, match="model; No"), reading("model"):
        raise PermissionError(13, "No", "model")
    with pytest.raises(tf.errors.ResourceExhaustedError, match="model: what it says it holds does not fit"), reading("model"):
        raise MemoryError
    with pytest.raises(DataLoss, match="^inner: a. The file"), reading("outer"), reading("inner"):
        raise ValueError("a.")


def test_what_fails_in_whoever_takes_records_is_theirs():
    with pytest.raises(Own) as found:
        for _ in each("records", [1, 2]):
            raise Own
    assert type(found.value) is Own


# -- paths ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a/../../b", "", "a\\..\\..\\b", "a\0b"])
def test_files_of_a_saved_model_lie_within_it(name):
    meta = MetaGraphDef(asset_file_def=[AssetFileDef(tensor_info={"name": "x:0"}, filename=name)])
    with pytest.raises(tf.errors.InvalidArgumentError, match="exported: the SavedModel names .* as the file of 'x:0'. Such"):
        loader.get_asset_tensors("exported", meta)
    meta.asset_file_def[0].filename = "words/..rare.txt"
    assert loader.get_asset_tensors("exported", meta) == {"x:0": os.path.join("exported", "assets", "words/..rare.txt")}


# -- graphs --------------------------------------------------------------------------------------------------
def _functions(depth, body):
    """Returns a GraphDef in which f0 calls f1, which calls f2 ..., each `body` times."""
    graph = ProtoGraphDef()
    for i in range(depth):
        function = graph.library.function.add()
        function.signature.name = f"f{i}"
        function.signature.input_arg.add(name="x", type=1)
        function.signature.output_arg.add(name="y", type=1)
        for j in range(body):
            node = function.node_def.add(name=f"n{j}", op=f"f{i + 1}" if i + 1 < depth else "Neg",
                                         input=["x"] if not j else [f"n{j - 1}:y:0"])
            node.attr["T"].type = 1
        function.ret["y"] = f"n{body - 1}:y:0"
    graph.node.add(name="c", op="Const").attr["dtype"].type = 1
    graph.node[0].attr["value"].tensor.CopyFrom(tf.make_tensor_proto(1.0))
    graph.node.add(name="call", op="f0", input=["c"])
    return graph


def _imports(graph):
    with tf.Graph().as_default():
        tf.import_graph_def(graph)


@pytest.mark.parametrize("depth, body, says", [
    (40, 2, "come to over .* operations"),  # 2 ** 40 of them
    (500, 1, "nested too deeply"),
])
def test_functions_of_functions_are_counted(depth, body, says):
    _imports(_functions(5, 2))
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"Node '.*{says}"):
        _imports(_functions(depth, body))


def test_loops_in_loops_are_counted(monkeypatch):
    monkeypatch.setattr(region, "_MADE", 100)
    graph, depth = ProtoGraphDef(), 30
    for i in range(depth + 1):
        function = graph.library.function.add()
        function.signature.name = f"f{i}" if i else "less"
        function.signature.input_arg.add(name="x", type=1)
        function.signature.output_arg.add(name="y", type=1 if i else 10)
        if i in (0, depth):
            function.node_def.add(name="n", op="Neg" if i else "Less", input=["x"] if i else ["x", "x"]).attr["T"].type = 1
            function.ret["y"] = "n:y:0"
        else:
            _loop(function.node_def.add(name="n", input=["x"]), f"f{i + 1}")
            function.ret["y"] = "n:output:0"
    graph.node.add().CopyFrom(_functions(1, 1).node[0])
    _loop(graph.node.add(name="w", input=["c"]), "f1")
    with pytest.raises(tf.errors.InvalidArgumentError, match="Node '.*which stand in one another, come to over .* operations"):
        _imports(graph)


def _loop(node, body):
    node.op = "While"
    node.attr["cond"].func.name, node.attr["body"].func.name = "less", body
    node.attr["T"].list.type.append(1)


def test_a_node_that_fails_is_named_with_the_file(tmp_path):
    graph = ProtoGraphDef()
    graph.node.add(name="a", op="Neg", input=["b"])
    path = tmp_path / "g.meta"
    path.write_bytes(MetaGraphDef(graph_def=graph).SerializeToString())
    with refused("g.meta: Node 'a': Unknown input node 'b'", tf.errors.InvalidArgumentError):
        tf.train.import_meta_graph(str(path))
    graph.node[0].CopyFrom(_functions(1, 1).node[0])
    graph.node[0].attr["value"].tensor.tensor_shape.dim.add(size=10**11)
    path.write_bytes(MetaGraphDef(graph_def=graph).SerializeToString())
    with refused("g.meta: NodeDef 'c', attribute 'value': .* no message has room for more", DataLoss):
        tf.train.import_meta_graph(str(path))


def test_a_constant_of_one_value_takes_no_memory_before_it_runs():
    graph = _functions(1, 1)
    graph.node[0].attr["value"].tensor.tensor_shape.dim.add(size=100_000_000)
    tracemalloc.start()
    _imports(graph)
    assert tracemalloc.get_traced_memory()[1] < 30e6
    tracemalloc.stop()


# -- HDF5 ----------------------------------------------------------------------------------------------------
def test_files_of_hdf5_lead_to_no_other_file(tmp_path):
    h5py = pytest.importorskip("h5py")
    from regrad.keras import weights

    (tmp_path / "secret").write_bytes(bytes(80))
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["w"] = np.zeros(3)
    with h5py.File(tmp_path / "m.h5", "w") as file:
        file["w"] = np.zeros(3)
        file["outside"] = h5py.ExternalLink("other.h5", "w")
        file["by"] = h5py.SoftLink("/outside")
        file.create_dataset("raw", (10,), "f8", external=[(str(tmp_path / "secret"), 0, 80)])
        layout = h5py.VirtualLayout((3,), "f8")
        layout[:] = h5py.VirtualSource(str(tmp_path / "other.h5"), "w", (3,))
        file.create_virtual_dataset("virtual", layout)
        file.create_dataset("huge", (10**9,), "f8")
        file.create_dataset("text", data=[b"a"], dtype=h5py.string_dtype())
    with weights.opened(tmp_path / "m.h5") as file:
        assert weights.array(file, "w").tolist() == [0, 0, 0]
    for name, says in [("outside", "in another file"), ("by", "in another file"), ("raw", "in another file"),
                       ("virtual", "in another file"), ("huge", "there are 0 bytes of it"), ("text", "is no array of"),
                       ("none", "KeyError")]:
        with refused(f"m.h5: .*{says}"), weights.opened(tmp_path / "m.h5") as file:
            weights.array(file, name)


# -- pictures ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["PNG", "GIF", "BMP"])
def test_pictures_are_no_larger_than_their_bytes(kind):
    image = pytest.importorskip("PIL.Image")
    out = io.BytesIO()
    image.new("L", (8, 8)).save(out, kind)
    data = bytearray(out.getvalue())
    at, form = {"PNG": (16, ">II"), "GIF": (6, "<HH"), "BMP": (18, "<ii")}[kind]
    data[at:at + struct.calcsize(form)] = struct.pack(form, 11000, 11000)
    if kind == "PNG":
        data[29:33] = struct.pack(">I", zlib.crc32(bytes(data[12:29])))
    with tf.Session() as sess, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow's, of so many pixels
        with refused("121000000 pixels, for which there are too few bytes", tf.errors.InvalidArgumentError):
            sess.run(tf.image.decode_image(bytes(data)))
