"""Compiled programs on disk: nobody else can write what is read there, and each is the program it is named for, whole."""

import errno
import os
import stat
import threading

import jax
import numpy as np
import pytest
from jax.experimental import serialize_executable

import regrad as tf
from regrad.runtime import disk_cache, native, onednn, segment

NAME, OTHER = "a" * 64, "b" * 64


@pytest.fixture
def places(monkeypatch, tmp_path):
    """The cache's folder and the key's, neither there yet."""
    monkeypatch.setattr(tf.config, "cache_dir", str(tmp_path / "above" / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "above" / "cache", tmp_path / "config" / "regrad" / "cache.key"


@pytest.fixture
def read(monkeypatch):
    """What was unpickled: byte strings stand for executables."""
    seen: list = []
    trees = disk_cache._structures(1, 1)
    monkeypatch.setattr(serialize_executable, "serialize", lambda executable: (executable, *trees))
    monkeypatch.setattr(serialize_executable, "deserialize_and_load", lambda data, *trees: seen.append(data) or data)
    return seen


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o277])
def test_folders_and_key_are_the_user_s_alone(places, umask):
    before = os.umask(umask)
    try:
        assert disk_cache.directory() == str(places[0])
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (*places, places[0].parent, places[1].parent)}
    assert modes == {"above": 0o700, "cache": 0o700, "regrad": 0o700, "cache.key": 0o600}
    assert len(places[1].read_bytes()) == 32


def _chmod(which, mode):
    def change(cache, key):
        {"cache": cache, "above": cache.parent, "key's folder": key.parent, "key": key}[which].chmod(mode)
    return change


def _link_to_key(cache, key):
    key.rename(key.with_name("elsewhere"))
    key.symlink_to(key.with_name("elsewhere"))


UNSAFE = {  # what was done to the folders -> whether they are used, words of the warning
    "others may write": (_chmod("cache", 0o722), "cache has the mode 722 .chmod go-w .*cache mends that"),
    "a group may write": (_chmod("cache", 0o770), "cache has the mode 770"),
    "a folder above": (_chmod("above", 0o777), "above has the mode 777 .chmod go-w .*above mends that"),
    "sticky itself": (_chmod("cache", 0o1777), "cache has the mode 1777"),
    "sticky above": (_chmod("above", 0o1777), None),
    "others may read": (_chmod("cache", 0o755), None),
    "the key's folder": (_chmod("key's folder", 0o777), "regrad has the mode 777"),
    "a key others may read": (_chmod("key", 0o644), "cache.key, can be read by others .its mode is 644.*delete it"),
    "a key cut short": (lambda cache, key: key.write_bytes(b"short"), "cache.key, has 5 bytes instead of 32"),
    "a key that is a link": (_link_to_key, "cache.key"),
}


@pytest.mark.parametrize("what", UNSAFE)
def test_what_others_could_change_is_not_used(places, read, what, monkeypatch):
    cache, key = places
    change, words = UNSAFE[what]
    disk_cache.store(NAME, b"program")
    disk_cache._own_folder.cache_clear()
    disk_cache._key.cache_clear()
    disk_cache._warn.cache_clear()
    monkeypatch.setenv("REGRAD_CACHE_DIR", str(cache))
    change(cache, key)
    if words is None:
        assert disk_cache.load(NAME) == b"program"
        return
    with pytest.warns(tf.RegradWarning, match=words) as warned:
        for _ in range(2):
            assert disk_cache.load(NAME) is None
            disk_cache.store(OTHER, b"program")
    assert len(warned) == 1 and not read and os.listdir(cache) == [NAME]


def test_what_belongs_to_others_is_not_used(places, read, monkeypatch):
    disk_cache.store(NAME, b"program")
    disk_cache._own_folder.cache_clear()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.warns(tf.RegradWarning, match="cache belongs to another user .chown"):
        assert disk_cache.load(NAME) is None
    disk_cache._own_folder.cache_clear()
    assert not read


def test_a_program_is_read_only_as_it_was_written_and_by_its_name(places, read):
    path, other = places[0] / NAME, places[0] / OTHER
    disk_cache.store(NAME, b"machine code")
    disk_cache.store(OTHER, b"something else")
    assert disk_cache.load(NAME) == b"machine code" and read == [b"machine code"]
    data, read[:] = path.read_bytes(), []
    for damaged in (data.replace(b"machine", b"mAchine"), data + b" ", data[:-1], data[:32], data[:20], b"", other.read_bytes(),
                    data[:32] + other.read_bytes()[32:]):
        path.write_bytes(damaged)
        assert disk_cache.load(NAME) is None
    path.unlink()
    path.symlink_to(other)
    assert disk_cache.load(NAME) is None
    path.unlink()
    os.mkfifo(path)
    assert disk_cache.load(NAME) is None and not read
    disk_cache.store(NAME, b"machine code")
    assert disk_cache.load(NAME) == b"machine code"
    places[1].unlink()
    disk_cache._key.cache_clear()
    assert disk_cache.load(NAME) is None  # by another key


def test_programs_are_not_taken_for_others(places, monkeypatch):
    """A file copied over another's gave that one's results."""
    monkeypatch.setattr(tf.config, "host_runs", 0)
    monkeypatch.setattr(tf.config, "tiny_ops", 0)

    def run():
        segment.clear_cache()
        before = segment.compile_count
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.float32, [3])
            found = [session.run(y, {x: np.zeros(3)}).tolist() for y in (tf.tanh(x) + 2.0, tf.cos(x) * 3.0)]
        return found, segment.compile_count - before

    right = [[2.0] * 3, [3.0] * 3]
    assert run() == (right, 2) and run() == (right, 0)
    one, two = sorted(places[0].iterdir())
    data = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(data)
    assert run() == (right, 2) and run() == (right, 0)


DECIDES = {
    "JAX": lambda patch: patch.setattr("jax.__version__", "0.0.1"),
    "jaxlib": lambda patch: patch.setattr("jaxlib.__version__", "0.0.1"),
    "XLA's flags": lambda patch: patch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true"),
    "the machine": lambda patch: patch.setattr("platform.machine", lambda: "pdp11"),
    "the processor": lambda patch: patch.setattr(disk_cache, "_processor", lambda: "flags: few"),
    "threads": lambda patch: patch.setattr(native, "threads", lambda: 99),
    "options": lambda patch: patch.setattr(tf.config, "call_ops", 33),
    "oneDNN": lambda patch: patch.setattr(onednn, "version", lambda: (0, 0)),
    "Regrad": lambda patch: patch.setattr("regrad.__version__", "0.0.1"),
    "the C library": lambda patch: patch.setattr(native, "path", lambda: __file__),
}


@pytest.mark.parametrize("what", DECIDES)
def test_names_depend_on_what_decides_the_program(what, monkeypatch):
    before = disk_cache.digest("structure")
    DECIDES[what](monkeypatch)
    disk_cache._own_version.cache_clear()
    assert disk_cache.digest("structure") != before and disk_cache.digest("another") != disk_cache.digest("structure")
    monkeypatch.undo()
    disk_cache._own_version.cache_clear()
    assert disk_cache.digest("structure") == before


def test_names_depend_on_jax_s_settings():
    before = disk_cache.digest("structure")
    with jax.default_matmul_precision("float32"):
        assert disk_cache.digest("structure") != before


def test_a_full_disk_and_one_that_is_only_read(places, read, monkeypatch):
    disk_cache.store(NAME, b"program")

    def refuses(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuses)
    disk_cache.store(OTHER, b"program")
    disk_cache.store(NAME, b"another")
    assert os.listdir(places[0]) == [NAME]
    monkeypatch.setattr(os, "utime", refuses)
    assert disk_cache.load(NAME) == b"program"


def test_many_write_one_program_at_once(places, read):
    threads = [threading.Thread(target=disk_cache.store, args=(NAME, bytes([65 + i]) * 100_000)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(disk_cache.load(NAME))) == 1 and os.listdir(places[0]) == [NAME]


def test_only_programs_are_deleted_when_there_are_many(places, read, monkeypatch):
    monkeypatch.setattr(disk_cache, "_MAX_FILES", 4)
    disk_cache.store(NAME, b"program")
    for name in ("letter", f".{OTHER}.part-0123abcd"):
        (places[0] / name).write_text("")
    for i in range(4):
        disk_cache.store(f"{i}" * 64, b"program")
    assert sorted(map(len, os.listdir(places[0]))) == [6, 64, 64, 64]


def test_where_jax_keeps_executables_they_are_not_kept_twice(places, tmp_path):
    assert disk_cache.directory() == str(places[0])
    before = jax.config.jax_compilation_cache_dir
    jax.config.update("jax_compilation_cache_dir", str(tmp_path / "jax"))
    try:
        assert disk_cache.directory() is None
    finally:
        jax.config.update("jax_compilation_cache_dir", before)
