"""Rows for `regrad/ops/checkpoints.py`: tensors written into checkpoints and read again."""

import functools
import os
import pathlib

import numpy as np

import regrad as tf
from tests.cases import Bad, Steps, once
from tests.cases.queues import folder

raw = tf.raw_ops
WHOLE = np.arange(12.0).reshape(4, 3)


def at(name):
    return os.path.join(folder().name, name)


def save(prefix, names, tensors, slices=None):
    return raw.SaveV2(prefix=prefix, tensor_names=names, shape_and_slices=slices or [""] * len(names), tensors=tensors)


def restore(prefix, names, dtypes, slices=None):
    return raw.RestoreV2(prefix=prefix, tensor_names=names, shape_and_slices=slices or [""] * len(names), dtypes=dtypes)


def kept(name):
    """Variables and constants of several dtypes, saved, assigned, saved over, read in another order."""
    def build(v, n):
        prefix = at(name)
        texts = tf.constant(["one", ""])
        write = save(prefix, ["v", "deep/n", "t", "none"], [v, n, texts, tf.zeros([0, 2], tf.bool)])
        read = restore(prefix, ["none", "deep/n", "v", "t"], [tf.bool, n.dtype.base_dtype, v.dtype.base_dtype, tf.string])
        return [write, read, tf.assign(v, v * 2.0), read, write, read]

    return build


def sliced(name):
    """A whole written as two slices, read as a whole and in other slices."""
    def build(top, rest):
        prefix = at(name)
        write = save(prefix, ["w", "w"], [top, rest], ["4 3 0,1:0,3", "4 3 1,3:0,3"])
        dtype = top.dtype.base_dtype
        return [write, restore(prefix, ["w"] * 4, [dtype] * 4, ["", "4 3 -:-", "4 3 2,2:-", "4 3 0,4:1,1"])]

    return build


def failing(prefix, names=("x",), dtypes=(tf.float32,), slices=None):
    """A checkpoint of x is written, something else asked for."""
    def build():
        write = save(at("has"), ["x"], [tf.constant([1.0, 2.0])])
        return [write, restore(at(prefix), list(names), list(dtypes), slices)]

    return build


def merged(delete):
    """Two checkpoints become one; the first two are there still or not."""
    def build():
        first, second, both = at(f"part{delete}/a"), at(f"part{delete}/b"), at(f"both{delete}")
        os.makedirs(at(f"part{delete}"), exist_ok=True)
        merge = raw.MergeV2Checkpoints(checkpoint_prefixes=[first, second], destination_prefix=both, delete_old_dirs=delete)
        return [save(first, ["x"], [tf.constant(1.0)]), save(second, ["y"], [tf.constant([2, 3])]), merge,
                restore(both, ["y", "x"], [tf.int32, tf.float32]), restore(first, ["x"], [tf.float32])]

    return build


@functools.cache
def old():
    """Puts a checkpoint of version 1 there, which TensorFlow wrote."""
    with np.load(pathlib.Path(__file__).parent.parent / "saved" / "checkpoints.npz") as arrays:
        arrays["file:v1"].tofile(at("old"))
    return "old"


CASES = [
    *(Steps("SaveV2", kept(f"kept{i}"), variables=(np.array([[1.5, -2]], t), np.array([3, 4], n)), note=f"{t} {n}")
      for i, (t, n) in enumerate([("float32", "int32"), ("float64", "int64"), ("float16", "uint8"), ("complex64", "int16")])),
    Steps("RestoreV2", sliced("sliced"), variables=(WHOLE[:1], WHOLE[1:]), unknown=False),
    Steps("RestoreV2", failing("has", ["y"]), note="no such name"),
    Steps("RestoreV2", failing("missing"), note="no such checkpoint"),
    Steps("RestoreV2", failing("has", dtypes=[tf.int32]), note="another dtype"),
    Steps("RestoreV2", failing("has", slices=["3 0,1"]), note="another whole"),
    Steps("RestoreV2", failing("has", slices=["2 1,1"]), note="a slice of a whole"),
    Steps("MergeV2Checkpoints", merged(True)),
    Steps("MergeV2Checkpoints", merged(False), note="old ones stay"),
    Steps("Restore", lambda: [raw.Restore(file_pattern=at(old()), tensor_name=name, dt=dtype) for name, dtype in [
        ("a/float32", tf.float32), ("a/string", tf.string), ("parts", tf.float32), ("none", tf.float32)]]),
    Steps("Restore", lambda: [raw.Restore(file_pattern=at("nowhere*"), tensor_name="x", dt=tf.float32)], note="no file"),
    *(Steps("RestoreSlice", lambda text=text: [raw.RestoreSlice(
        file_pattern=at(old() + "*"), tensor_name="parts", shape_and_slice=text, dt=tf.float32)], note=text or "whole")
        for text in ("", "100 2 30,10:-")),
    once("ShardedFilename", lambda name, i, n: raw.ShardedFilename(basename=name, shard=i, num_shards=n),
         np.array(b"dir/name", object), np.int32(3), np.int32(12)),
    once("ShardedFilespec", lambda name, n: raw.ShardedFilespec(basename=name, num_shards=n),
         np.array(b"dir/name", object), np.int32(12)),
    Bad("SaveV2", lambda: save(["a"], ["x"], [tf.zeros([])]), ValueError, "Shape must be rank 0 but is rank 1"),
    Bad("RestoreV2", lambda: restore(1, ["x"], [tf.float32]), TypeError, "Expected string, got 1"),
]
