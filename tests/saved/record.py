"""Records files that TensorFlow writes: `python tests/saved/record.py` under TensorFlow (`make oracle`).

`checkpoints.npz` then holds the bytes of each file as "file:<name>", and the values that are in them as "value:<variable>".
"""

import os
import pathlib
import tempfile

import numpy as np

FILE = pathlib.Path(__file__).with_name("checkpoints.npz")
VALUES = {
    "a/float32": np.float32([[1.5, -2, np.inf], [0, 3, 4]]), "a/float64": np.float64(7.25), "a/float16": np.float16([1, 2]),
    "a/int8": np.int8([-1, 5]), "a/uint8": np.uint8([]), "a/int16": np.int16([[300]]), "a/int32": np.int32([1, 2, 3]),
    "a/int64": np.int64(-2**40), "a/bool": np.array([True, False]), "a/complex64": np.complex64([1 + 2j]),
    "a/strings": np.array([[b"one", b""], [b"\xff\x00", b"x" * 300]], object), "a/string": np.array(b"s", object),
    "parts": np.arange(200, dtype=np.float32).reshape(100, 2), "columns": np.arange(300, dtype=np.float64).reshape(2, 150),
}


def checkpoints(tf):
    for name, value in VALUES.items():
        if name.startswith("a/"):
            tf.get_variable(name, initializer=value, use_resource=False)
    for name, parts, axis in (("parts", 3, 0), ("columns", 2, 1)):
        whole = VALUES[name]
        tf.get_variable(name, whole.shape, whole.dtype, tf.constant_initializer(0), use_resource=False,
                        partitioner=tf.fixed_size_partitioner(parts, axis))
    arrays = {f"value:{name}": np.array(value.tolist(), "S300") if value.dtype == object else value
              for name, value in VALUES.items() if "string" not in name}
    with tempfile.TemporaryDirectory() as folder, tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for v in tf.global_variables():
            info = v._get_save_slice_info()
            if info is not None:
                places = tuple(slice(o, o + n) for o, n in zip(info.var_offset, info.var_shape))
                v.load(VALUES[info.full_name][places], sess)
        for name, options in {"v2": {}, "v1": {"write_version": tf.train.SaverDef.V1}, "shards": {"sharded": True}}.items():
            tf.train.Saver(**options).save(sess, f"{folder}/{name}", write_meta_graph=False, write_state=False)
        for name in sorted(os.listdir(folder)):
            arrays[f"file:{name}"] = np.fromfile(f"{folder}/{name}", np.uint8)
    np.savez_compressed(FILE, **arrays)


if __name__ == "__main__":
    import tensorflow.compat.v1 as tensorflow

    tensorflow.disable_v2_behavior()
    checkpoints(tensorflow)
