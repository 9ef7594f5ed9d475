"""Event files: what FileWriter writes, read back; the records and messages they are made of."""
import pickle

import numpy as np
import pytest

import regrad as tf
from regrad.core.messages import Event
from regrad.core.proto import Message, fields
from regrad.core.records import crc32c, framed, read_records
from regrad.train import event_files


def events(folder):
    return [e for path in sorted(folder.iterdir()) for e in tf.train.summary_iterator(str(path))]


def test_a_training_run_is_read_back(tmp_path):
    x = tf.placeholder(tf.float32, [None], name="x")
    tf.summary.scalar("average", tf.reduce_mean(x))
    tf.summary.text("words", tf.constant(["a"]))
    merged = tf.summary.merge_all()
    with tf.Session() as sess, tf.summary.FileWriter(str(tmp_path), sess.graph, filename_suffix=".mine") as writer:
        for step in range(3):
            writer.add_summary(sess.run(merged, {x: [step, 2.0]}), step)
        writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="own", simple_value=0.5)]), np.int64(7))
        metadata = tf.RunMetadata()
        sess.run(merged, {x: [1.0]}, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
        writer.add_run_metadata(metadata, "step 7", 7)
        with pytest.raises(ValueError, match="already used"):
            writer.add_run_metadata(metadata, "step 7", 7)
        writer.add_session_log(tf.SessionLog(status=tf.SessionLog.STOP), 8)
        writer.flush()
        assert len(events(tmp_path)) == 8
        assert writer.get_logdir() == str(tmp_path)

    found = events(tmp_path)
    assert [e.WhichOneof("what") for e in found] == ["file_version", "graph_def", *["summary"] * 4, "tagged_run_metadata",
                                                     "session_log"]
    assert found[0].file_version == "brain.Event:2" and found[0].wall_time > 1e9
    assert [[v.simple_value for v in e.summary.value if v.tag == "average"] for e in found[2:5]] == [[1.0], [1.5], [2.0]]
    assert [e.step for e in found[2:]] == [0, 1, 2, 7, 7, 8]
    # A tag's metadata is written once.
    assert [e.summary.value[1].HasField("metadata") for e in found[2:5]] == [True, False, False]
    assert found[5].summary == tf.Summary(value=[tf.Summary.Value(tag="own", simple_value=0.5)])
    assert next(tmp_path.iterdir()).name.endswith(".mine")

    from regrad.core.graph_proto import ProtoGraphDef

    graph = ProtoGraphDef.FromString(found[1].graph_def)
    nodes = {n.name: n for n in graph.node}
    assert nodes["x"].op == "Placeholder" and nodes["x"].attr["dtype"].type == tf.float32.as_datatype_enum
    assert [d.size for d in nodes["x"].attr["shape"].shape.dim] == [-1]
    assert list(nodes["average"].input) == ["average/tags", "Mean"]
    np.testing.assert_array_equal(tf.make_ndarray(nodes["Const"].attr["value"].tensor), [0])


def test_closing_and_opening_again(tmp_path):
    writer = tf.summary.FileWriter(str(tmp_path))
    writer.close()
    writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="lost", simple_value=1)]))
    writer.reopen()
    writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="kept", simple_value=1)]), 5)
    writer.close()
    assert [v.tag for e in events(tmp_path) for v in e.summary.value] == ["kept"]
    assert tf.summary.FileWriterCache.get(str(tmp_path)) is tf.summary.FileWriterCache.get(str(tmp_path))
    tf.summary.FileWriterCache.clear()
    for bad, says in ((None, "must be given"), ("graph", "must be an instance of `Graph`")):
        with pytest.raises((ValueError, TypeError), match=says):
            writer.add_graph(bad)


def test_waiting_events_are_written_when_there_are_many(tmp_path):
    writer = tf.summary.FileWriter(str(tmp_path), max_queue=3)
    for i in range(3):
        writer.add_summary(tf.Summary(), i)
    writer.add_summary(tf.Summary(), 3)
    assert len(events(tmp_path)) > 3
    writer.close()


def test_hooks_write_summaries(tmp_path):
    step = tf.train.get_or_create_global_step()
    tf.summary.scalar("step", step)
    increment = tf.assign_add(step, 1)
    with tf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path / "model"), summary_dir=str(tmp_path / "log"),
                                           hooks=[tf.train.StopAtStepHook(5)], save_summaries_steps=2,
                                           log_step_count_steps=1) as sess:
        while not sess.should_stop():
            sess.run(increment)
    tf.summary.FileWriterCache.clear()
    found = events(tmp_path / "log")
    assert [e.step for e in found for v in e.summary.value if v.tag == "step"] == [1, 3, 5]
    assert len([v for e in found for v in e.summary.value if v.tag == "global_step/sec"]) >= 3
    assert [e.step for e in found if e.session_log.status == tf.SessionLog.START] == [1]


def test_the_summary_hook_wants_one_source():
    with pytest.raises(ValueError, match="Exactly one"):
        tf.train.SummarySaverHook(save_steps=1)


# -- records --------------------------------------------------------------------------------------------
def _by_bits(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0x82F63B78 * (crc & 1)
    return crc ^ 0xFFFFFFFF


@pytest.mark.parametrize("n", [0, 1, 4095, 4096, 4160, 9999])
def test_checksum(n):
    data = np.random.RandomState(n).bytes(n)
    assert crc32c(data) == _by_bits(data)


def test_checksum_of_the_known_text():
    assert crc32c(b"123456789") == 0xE3069283  # RFC 3720 and the catalogue of checksums


def test_damaged_records(tmp_path):
    whole = framed(b"first") + framed(b"second")
    path = tmp_path / "r"
    for damage, says in ((whole[:-3], "truncated"), (whole[:18] + b"X" + whole[19:], "corrupted"),
                         (b"X" + whole[1:], "its length"), (whole + b"12", "truncated")):
        path.write_bytes(damage)
        with pytest.raises(tf.errors.DataLossError, match=says):
            list(read_records(path))
    path.write_bytes(whole)
    assert list(read_records(path)) == [b"first", b"second"]
    with pytest.raises(tf.errors.NotFoundError):
        list(read_records(tmp_path / "none"))


# -- messages -------------------------------------------------------------------------------------------
class Everything(Message):
    FIELDS = fields("""1 n int32; 2 big uint64; 3 yes bool; 4 small float; 5 wide double; 6 text string; 7 raw bytes;
        8 many int64*; 9 texts string*; 10 inner Everything; 11 inners Everything*; 12 named map:Everything;
        13 counts map:int32; 14 left int32 choice; 15 right Everything choice; 16 floats float*""")


def test_messages_come_back_from_bytes():
    m = Everything(n=-5, big=2**64 - 1, yes=True, small=0.1, wide=0.1, text="\u00e9\n", raw=b"\0\xff", many=[-1, 300],
                   texts=["a", ""], inner=Everything(n=1), inners=[Everything(), {"n": 2}], left=0, floats=[0.5, -1])
    m.named["k"].n = 3
    m.counts["c"] = -4
    again = Everything.FromString(m.SerializeToString())
    assert again == m and str(again) == str(m) and pickle.loads(pickle.dumps(m)) == m
    assert (again.n, again.big, again.small, again.wide) == (-5, 2**64 - 1, float(np.float32(0.1)), 0.1)
    assert (again.text, again.raw, again.many, again.texts) == ("\u00e9\n", b"\0\xff", [-1, 300], ["a", ""])
    assert (again.named["k"].n, again.counts["c"], again.inners[1].n, again.floats) == (3, -4, 2, [0.5, -1.0])
    assert again.WhichOneof("choice") == "left" and m.ByteSize() == len(m.SerializeToString())
    again.right.n = 2
    assert again.WhichOneof("choice") == "right" and again.HasField("choice") and not again.HasField("left")
    assert Everything().SerializeToString() == b"" and not Everything().HasField("inner")


def test_what_messages_refuse():
    m = Everything()
    for wrong, error, says in ((lambda: setattr(m, "n", "1"), TypeError, "expects int32"),
                               (lambda: setattr(m, "n", 2**31), ValueError, "out of range"),
                               (lambda: setattr(m, "inner", m), AttributeError, "not allowed"),
                               (lambda: setattr(m, "none", 1), AttributeError, 'no "none" field'),
                               (lambda: m.none, AttributeError, "no field 'none'"),
                               (lambda: Everything(none=1), ValueError, 'no "none" field'),
                               (lambda: m.many.append("a"), TypeError, "expects int64"),
                               (lambda: m.inners.append(1), TypeError, "holds Everything"),
                               (lambda: m.HasField("many"), ValueError, "no singular"),
                               (lambda: m.named.__setitem__("k", m), ValueError, "CopyFrom"),
                               (lambda: Everything.FromString(b"\x0a"), ValueError, "parsing"),
                               (lambda: Everything.FromString(b"\x32\x05a"), ValueError, "parsing")):
        with pytest.raises(error, match=says):
            wrong()


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "int64", "bool", "complex64", "uint64"])
def test_tensors_as_messages(dtype):
    for value in (np.array([[0, 1, 3]], dtype), np.array(1, dtype), np.zeros([0, 2], dtype)):
        again = tf.make_ndarray(tf.make_tensor_proto(value))
        assert again.dtype == value.dtype
        np.testing.assert_array_equal(again, value)
    assert tf.make_ndarray(tf.make_tensor_proto([b"a", "b"])).tolist() == [b"a", b"b"]
    assert tf.make_ndarray(tf.make_tensor_proto(2, shape=[2, 2], dtype=tf.float32)).tolist() == [[2, 2], [2, 2]]


def test_an_events_writer_of_a_prefix(tmp_path):
    writer = event_files.EventsWriter(bytes(tmp_path / "mine"))
    assert writer.Flush() and not list(tmp_path.iterdir())  # made by the first event
    for step, value in enumerate((0.5, 1.5)):
        event = Event(wall_time=1.0, summary=tf.Summary(value=[tf.Summary.Value(tag="reward", simple_value=value)]))
        event.step = step
        writer.WriteEvent(event)
    path = writer.FileName()
    assert path.startswith(str(tmp_path / "mine.out.tfevents."))
    writer.Close()
    version, *rest = tf.train.summary_iterator(path)
    assert version.file_version == "brain.Event:2"
    assert [(e.step, e.summary.value[0].simple_value) for e in rest] == [(0, 0.5), (1, 1.5)]
    writer.InitWithSuffix(".more")
    assert writer.FileName() != path and writer.FileName().endswith(".more")
    writer.Close()
