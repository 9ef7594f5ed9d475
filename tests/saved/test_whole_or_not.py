"""What is written is there whole or not at all: the process is killed, interrupted, or finds the disk full at each system call.

Run as a script it does so for each row of WRITERS; a process of its own, because it forks, and JAX must not be loaded then.
"""

import builtins
import errno
import functools
import gc
import io
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading

import numpy as np
import pytest

import regrad as tf
from regrad.core import bundle, files, proto_text, records
from regrad.keras import weights

SIZE = 3000  # elements of a variable: some calls of write


def _model(value):
    """Makes a graph of two variables that have `value`, and returns their Saver and a session."""
    tf.reset_default_graph()
    for name in "ab":
        tf.Variable(np.full(SIZE, value, np.float32), name=name)
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return tf.train.Saver(max_to_keep=1), session


def _stored(prefix):
    """Returns the value of both variables of a checkpoint."""
    reader = tf.train.load_checkpoint(prefix)
    (value,) = {x for name in "ab" for x in reader.get_tensor(name)}
    return value


def _save(folder, value):
    saver, session = _model(value)
    return lambda: saver.save(session, f"{folder}/model")


def _saved(folder):
    assert tf.train.latest_checkpoint(folder) == f"{folder}/model"
    assert len(tf.MetaGraphDef.FromString(pathlib.Path(f"{folder}/model.meta").read_bytes()).graph_def.node) > 5
    return _stored(f"{folder}/model")


def _save_step(folder, value):
    saver, session = _model(value)
    state = tf.train.get_checkpoint_state(folder)
    saver.recover_last_checkpoints(state.all_model_checkpoint_paths if state else [])
    return lambda: saver.save(session, f"{folder}/model", int(value))


def _saved_steps(folder):
    prefix = tf.train.latest_checkpoint(folder)
    assert prefix == f"{folder}/model-{_stored(prefix):.0f}"
    return _stored(prefix)


def _sharded(folder, value):
    """The old one lies in several files, as TensorFlow writes those of several machines."""
    if value == 1:
        bundle.write(f"{folder}/model", {name: (np.full(SIZE, value, np.float32), tf.float32) for name in "ab"})
        header = bundle.BundleHeaderProto(num_shards=3, version=bundle.VersionDef(producer=1))
        index = pathlib.Path(f"{folder}/model.index")
        items = dict(bundle.read_table(index.read_bytes()))
        index.write_bytes(bundle.table_bytes([(b"", header.SerializeToString()), *list(items.items())[1:]]))
        os.rename(f"{folder}/model{bundle.DATA}", f"{folder}/model.data-00000-of-00003")
    return lambda: bundle.write(f"{folder}/model", {n: (np.full(SIZE, value, np.float32), tf.float32) for n in "ab"})


def _weights(folder, value):
    tf.reset_default_graph()
    tf.keras.backend.clear_session()
    model = tf.keras.Sequential([tf.keras.layers.Dense(5, input_dim=4)])
    model.set_weights([np.full([4, 5], value), np.full([5], value)])
    return lambda: model.save_weights(f"{folder}/w.h5")


def _weights_read(folder):
    with weights.h5py_module().File(f"{folder}/w.h5") as file:
        (value,) = {x for array in file["dense"]["dense"].values() for x in np.asarray(array).flat}
    return value


def _graph(value):
    tf.reset_default_graph()
    tf.constant(np.full(SIZE, value, np.float32), name="value")
    return tf.get_default_graph()


def _value_of(graph_def):
    (value,) = set(tf.make_ndarray(graph_def.node[0].attr["value"].tensor).flat)
    return value


def _export(folder, value):
    _, session = _model(value)
    if os.path.isdir(f"{folder}/model") and tf.saved_model.loader.maybe_saved_model_directory(f"{folder}/model"):
        files.remove_folder(f"{folder}/model")

    def write():
        with session.graph.as_default():
            builder = tf.saved_model.builder.SavedModelBuilder(f"{folder}/model")
            builder.add_meta_graph_and_variables(session, ["serve"])
            builder.save()

    return write


def _exported(folder):
    path = f"{folder}/model"
    if not os.path.isdir(path) or not os.listdir(path):
        return None
    with tf.Graph().as_default(), tf.Session() as session:
        tf.saved_model.loader.load(session, ["serve"], path)
        (value,) = {x for v in session.run(tf.global_variables()) for x in v}
    return value


def _records(folder, value, compression):
    def write():
        with tf.python_io.TFRecordWriter(f"{folder}/r", compression) as writer:
            for _ in range(100):
                writer.write(np.random.bytes(1000) + b"%d" % value)
    return write


def _records_read(folder, compression):
    found = [r[1000:] for r in tf.python_io.tf_record_iterator(f"{folder}/r", tf.python_io.TFRecordOptions(compression))]
    (value,) = {int(r) for r in found}
    assert len(found) == 100
    return value


def _text(folder, value):
    with tf.Graph().as_default():
        step, session = tf.write_file(f"{folder}/text", b"%d " % value * SIZE), tf.Session()
    return lambda: session.run(step)


def _text_read(folder):
    (value,) = set(pathlib.Path(f"{folder}/text").read_bytes().split())
    return int(value)


# name -> (function of a folder and a number that returns what writes it, function that returns the number that is there)
WRITERS = {
    "a checkpoint saved again": (_save, _saved),
    "a checkpoint of the next step": (_save_step, _saved_steps),
    "a checkpoint of several files": (_sharded, lambda folder: _stored(f"{folder}/model")),
    "weights as HDF5": (_weights, _weights_read),
    "a graph": (lambda folder, value: functools.partial(tf.train.write_graph, _graph(value), folder, "graph", False),
                lambda folder: _value_of(tf.GraphDef.FromString(pathlib.Path(f"{folder}/graph").read_bytes()))),
    "a graph as text": (lambda folder, value: functools.partial(
        tf.train.export_meta_graph, f"{folder}/graph", graph=_graph(value), as_text=True), lambda folder: _value_of(
            proto_text.parse(tf.MetaGraphDef(), pathlib.Path(f"{folder}/graph").read_text()).graph_def)),
    "a SavedModel": (_export, _exported),
    "records": (lambda *a: _records(*a, ""), lambda folder: _records_read(folder, "")),
    "compressed records": (lambda *a: _records(*a, "GZIP"), lambda folder: _records_read(folder, "GZIP")),
    "a text": (_text, _text_read),
}


# -- system calls that do not come to their end ------------------------------------------------------------------
class _Calls:
    """Context manager: counts the calls that change files, and calls `stop(name)` in place of the `at`-th."""

    NAMES = "open write replace rename link remove unlink mkdir rmdir fsync truncate ftruncate".split()

    def __init__(self, at=None, stop=None):
        self.at, self.stop, self.names = at, stop, []

    def __enter__(self):
        calls = self

        class Raw(io.FileIO):
            def write(self, data):
                calls.count("write", lambda: super(Raw, self).write(memoryview(data)[:len(data) // 2]))
                return super().write(data)

        def opened(file, mode="r", buffering=-1, *args, **kwargs):
            if set(mode) & set("wax+") and "b" in mode:
                if not isinstance(file, int):
                    calls.count("open")
                raw = Raw(file, mode.replace("b", ""), **kwargs)
                return io.BufferedWriter(raw, 4096) if buffering else raw
            return self.kept["builtins"](file, mode, buffering, *args, **kwargs)

        self.kept = {name: getattr(os, name) for name in self.NAMES} | {"builtins": builtins.open}
        for name in self.NAMES:
            setattr(os, name, self._counted(name))
        builtins.open = opened
        return self

    def _counted(self, name):
        function = self.kept[name]

        def counted(*args, **kwargs):
            if name != "open" or args[1] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                half = functools.partial(function, args[0], args[1][:len(args[1]) // 2]) if name == "write" else None
                self.count(name, half)
            return function(*args, **kwargs)

        return counted

    def count(self, name, half=None):
        self.names.append(name)
        if len(self.names) == self.at:
            if half is not None:
                half()
            self.stop(name)

    def __exit__(self, *exc):
        builtins.open = self.kept.pop("builtins")
        for name, function in self.kept.items():
            setattr(os, name, function)


def _killed(write, at):
    """Ends a fork of this process at its `at`-th call; returns whether it came to that."""
    child = os.fork()
    if child == 0:
        try:
            with _Calls(at, lambda name: os._exit(9)):
                write()
            os._exit(0)
        finally:
            os._exit(1)
    return {9: True, 0: False}[os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])]


def _interrupted(write, at):
    def stop(name):
        raise KeyboardInterrupt

    try:
        with _Calls(at, stop) as calls:
            write()
    except KeyboardInterrupt:
        return "while removing" if calls.names[at - 1] in ("remove", "unlink", "rmdir") else True
    return False


def _full(write, at):
    def stop(name):
        if name in ("write", "fsync", "open", "mkdir", "link"):
            raise OSError(errno.ENOSPC, "No space left on device")

    try:
        with _Calls(at, stop) as calls:
            write()
    except tf.errors.ResourceExhaustedError as error:
        assert "; No space left on device: make room there" in str(error) and "/" in str(error), error
        return True
    return len(calls.names) >= at


def _left_overs(folder):
    return [str(path) for path in pathlib.Path(folder).rglob(".*.part-*")]


def _try_all(name, way):
    """Returns how many calls there are, each of which was the last one of a process."""
    begin, found = WRITERS[name]
    with tempfile.TemporaryDirectory() as base:
        old = f"{base}/old"
        os.mkdir(old)
        begin(old, 1)()
        first, at, seen = found(old), 0, set()
        assert first == 1, first
        while True:
            at += 1
            folder = f"{base}/now"
            shutil.copytree(old, folder)
            for file in pathlib.Path(folder).rglob("checkpoint"):
                file.write_text(file.read_text().replace(old, folder))
            if name == "a SavedModel":
                shutil.rmtree(f"{folder}/model")
            cut = way(begin(folder, 2), at)
            value = found(folder)
            assert value in ((2,) if not cut else (None, 2) if name == "a SavedModel" else (1, 2)), (at, value)
            if way is not _killed and cut != "while removing" and _left_overs(folder):
                gc.collect()  # what an error's traceback holds
                assert not _left_overs(folder), (at, _left_overs(folder))
            seen.add(value)
            if way is _killed:
                begin(folder, 3)()
                assert found(folder) == 3 and not _left_overs(folder), (at, found(folder), _left_overs(folder))
            for data in pathlib.Path(folder).rglob("*.data-*") if cut != "while removing" else ():
                assert data.with_suffix(".index").exists(), (at, os.listdir(folder))
                assert way is not _killed or data.name.endswith(bundle.DATA), at
            shutil.rmtree(folder)
            if not cut:
                assert len(seen) == 2, seen
                return at - 1


WAYS = {"killed": _killed, "interrupted": _interrupted, "full": _full}


@pytest.mark.parametrize("way", WAYS)
def test_at_every_system_call(way):
    done = subprocess.run([sys.executable, __file__, way], capture_output=True, text=True, timeout=300)
    assert [line.rpartition(":")[0] for line in done.stdout.splitlines()] == list(WRITERS), done.stdout + done.stderr


@pytest.mark.parametrize("what", ["save 4", "export 4", "events 4", "kill 2"])
def test_at_random_moments(what):
    """A sample of what `make interrupts` does."""
    harness = pathlib.Path(__file__).parent.parent / "interrupts.py"
    done = subprocess.run([sys.executable, harness, *what.split()], capture_output=True, text=True, timeout=300)
    assert done.stdout.endswith("nothing lost\n"), done.stdout + done.stderr


# -- several writers, and other places ---------------------------------------------------------------------------
def test_threads_and_readers_share_a_prefix(tmp_path):
    """Four threads save other values each; whoever restores finds one's, all of them; nothing is left behind."""
    prefix, go_on = str(tmp_path / "model"), threading.Event()
    go_on.set()
    names = [f"v{i}" for i in range(20)]

    def write(value):
        return bundle.write(prefix, {name: (np.full(100, value, np.float32), tf.float32) for name in names})

    def work(value):
        try:
            while go_on.is_set():
                write(value)
        except BaseException as error:
            failures.append(error)

    failures: list = []
    write(0)
    with tf.Graph().as_default(), tf.Session() as session:
        restored = tf.raw_ops.RestoreV2(prefix=prefix, tensor_names=names, shape_and_slices=[""] * 20, dtypes=[tf.float32] * 20)
        threads = [threading.Thread(target=work, args=(value,)) for value in range(4)]
        for thread in threads:
            thread.start()
        try:
            seen = {frozenset(x for value in session.run(restored) for x in value) for _ in range(150)}
        finally:
            go_on.clear()
            for thread in threads:
                thread.join()
    assert not failures and all(len(values) == 1 for values in seen) and len(seen) > 1
    assert sorted(os.listdir(tmp_path)) == ["model" + bundle.DATA, "model" + bundle.INDEX]


def test_left_overs_are_removed_and_living_writers_are_not(tmp_path):
    path = tmp_path / "file"
    dead = tmp_path / ".file.part-0123abcd"
    others = [tmp_path / name for name in (".file.part-of-something", ".other.part-0123abcd", "file.part-0123abcd")]
    for part in (dead, *others):
        part.write_bytes(b"half")
    with files.in_place_of(path) as living:
        living.write(b"first")
        with files.in_place_of(path) as quicker:
            quicker.write(b"second")
        assert path.read_bytes() == b"second" and not dead.exists()
    assert path.read_bytes() == b"first"
    assert sorted(os.listdir(tmp_path)) == sorted(["file", *(part.name for part in others)])


def test_links_devices_modes_and_what_may_not_be_written(tmp_path):
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    with files.in_place_of(link) as file:
        file.write(b"new")
    assert link.is_symlink() and path.read_bytes() == b"new" and path.stat().st_mode & 0o777 == 0o640
    os.mkfifo(tmp_path / "pipe")
    pipe = os.open(tmp_path / "pipe", os.O_RDWR | os.O_NONBLOCK)
    with files.in_place_of(tmp_path / "pipe") as file:
        file.write(b"through")
    with tf.python_io.TFRecordWriter(str(tmp_path / "pipe")) as writer:
        writer.write(b"a pipe")
    assert os.read(pipe, 100) == b"through" + records.framed(b"a pipe")
    os.close(pipe)
    assert not files.replaceable("/dev/null") and not files.replaceable("/dev/full")  # what follows would replace them
    for place, error in ((tmp_path / "no" / "file", tf.errors.NotFoundError), (tmp_path, tf.errors.FailedPreconditionError),
                         (path / "file", tf.errors.FailedPreconditionError)):
        with pytest.raises(error, match=str(place)), files.in_place_of(place) as file:
            file.write(b"x")
        with pytest.raises(error, match=str(place)):
            tf.python_io.TFRecordWriter(str(place))
    with pytest.raises(tf.errors.ResourceExhaustedError, match="/dev/full; No space left on device: make room there"):
        with files.in_place_of("/dev/full") as file:
            file.write(b"x")
    with pytest.raises(tf.errors.ResourceExhaustedError, match="/dev/full"), tf.gfile.GFile("/dev/full", "w") as file:
        file.write("x")


@pytest.fixture
def small_disk(monkeypatch):
    """A function that says how many bytes more the disk takes."""
    room, write = [0], os.write

    def limited(handle, data):
        taken = min(len(data), room[0])
        if not taken and len(data):
            raise OSError(errno.ENOSPC, "No space left on device")
        room[0] -= taken
        return write(handle, data[:taken])

    monkeypatch.setattr(os, "write", limited)
    return lambda count: room.__setitem__(0, count)


def test_a_full_disk_ends_events_with_a_whole_one_and_keeps_the_others(tmp_path, small_disk):
    small_disk(0)
    with pytest.raises(tf.errors.ResourceExhaustedError, match=r"events.out.tfevents.*; No space left on device: make room"):
        tf.summary.FileWriter(str(tmp_path))
    assert not os.listdir(tmp_path)
    small_disk(500)
    writer = tf.summary.FileWriter(str(tmp_path))
    (path,) = tmp_path.iterdir()

    def steps():
        return [event.step for event in tf.train.summary_iterator(str(path))][1:]

    for step in range(3):
        writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="a" * 100, simple_value=1.0)]), step)
    writer.flush()
    for step in range(3, 6):
        writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="a" * 100, simple_value=1.0)]), step)
    for call in (writer.flush, writer.close):
        with pytest.raises(tf.errors.ResourceExhaustedError, match="No space left"):
            call()
        assert steps() == [0, 1, 2]
    small_disk(10_000)
    writer.close()
    assert steps() == list(range(6))


@pytest.mark.parametrize("kind", ["", "GZIP", "ZLIB"])
def test_a_full_disk_leaves_the_records_that_were_there(tmp_path, small_disk, kind):
    path, options = str(tmp_path / "records"), tf.python_io.TFRecordOptions(kind)

    def write(data):
        with tf.python_io.TFRecordWriter(path, kind) as writer:
            for record in data:
                writer.write(record)

    rng = np.random.default_rng(0)
    old, new = [rng.bytes(5000)], [rng.bytes(5000) for _ in range(40)]
    small_disk(10_000)
    write(old)
    with pytest.raises(tf.errors.ResourceExhaustedError, match="records; No space left on device"):
        write(new)
    assert list(tf.python_io.tf_record_iterator(path, options)) == old and os.listdir(tmp_path) == ["records"]
    writer = tf.python_io.TFRecordWriter(path, kind)
    small_disk(100)
    writer.write(new[0])
    with pytest.raises(tf.errors.ResourceExhaustedError, match="records; No space left on device"):
        writer.flush()
    small_disk(1_000_000)
    writer.write(new[1])
    writer.flush()
    writer.write(new[2])
    assert list(tf.python_io.tf_record_iterator(path))[:2] == new[:2] if not kind else True
    writer.close()
    writer.close()
    assert list(tf.python_io.tf_record_iterator(path, options)) == new[:3]
    with pytest.raises(tf.errors.FailedPreconditionError, match="Writer is closed"):
        writer.write(b"")


def test_records_have_their_name_when_they_are_closed(tmp_path):
    path = str(tmp_path / "records")
    writer = tf.python_io.TFRecordWriter(path)
    writer.write(b"a")
    assert not os.path.exists(path)
    del writer
    assert list(tf.python_io.tf_record_iterator(path)) == [b"a"]
    with pytest.raises(ValueError), tf.python_io.TFRecordWriter(path) as writer:
        writer.write(b"b")
        raise ValueError
    assert list(tf.python_io.tf_record_iterator(path)) == [b"b"]


if __name__ == "__main__":
    os.fsync = lambda handle: None  # half of the time
    for name in WRITERS:
        print(f"{name}: {_try_all(name, WAYS[sys.argv[1]])}", flush=True)
    assert "jax" not in sys.modules
