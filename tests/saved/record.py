"""Records files that TensorFlow writes: `python tests/saved/record.py` under TensorFlow (`make oracle`).

`checkpoints.npz` then holds the bytes of each file as "file:<name>", and the values that are in them as "value:<variable>";
`models.npz` the SavedModels of `models.py`, what TensorFlow computes of them, and their gradients; `objects.npz` one that its
version 2 wrote; `keras.npz` the variables of the models of `keras_models.py`.

`python tests/saved/record.py --read FOLDER` loads what `test_models.py` wrote into a folder (with SAVED_MODELS=FOLDER in the
environment), and says whether TensorFlow computes the same.
"""

import os
import pathlib
import subprocess
import sys
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


def models(tf):
    """Saves and runs all models; returns nothing, writes `models.npz`."""
    arrays = {}
    for name, build in MODELS.items():
        with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default(), tf.Session() as sess:
            inputs, outputs = build(tf)
            sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
            tf.saved_model.simple_save(sess, f"{folder}/m", {k: t for k, (t, _) in inputs.items()}, outputs)
            feeds = dict(inputs.values())
            for key, value in sess.run(outputs, feeds).items():
                arrays[f"{name}/output/{key}"] = np.array(value.tolist(), "S") if value.dtype == object else value
            slopes = gradients(tf, [t for t, _ in inputs.values()], outputs.values())
            for key, value in sess.run(slopes, feeds).items():
                arrays[f"{name}/gradient/{key}"] = value
            for path in pathlib.Path(folder, "m").rglob("*.*"):
                arrays[f"{name}/file/{path.relative_to(folder)}"] = np.fromfile(path, np.uint8)
    np.savez_compressed(FILE.with_name("models.npz"), **arrays)


def objects():
    """Saves a model of version 2, an object with functions; it runs in a process of its own."""
    import tensorflow as tf

    class Model(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable(draw(3, 2), name="w")
            self.table = tf.Variable(draw(4, 2, seed=1), name="table")
            self.turns = tf.Variable(3)

        @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32), tf.TensorSpec([None], tf.int32)])
        def call(self, x, ids):
            h = tf.nn.relu(tf.matmul(x, self.w))
            if tf.reduce_sum(x) > 0:
                h = h * 2.0
            for _ in tf.range(self.turns):
                h = tf.tanh(h) + 0.1
            return {"y": h + tf.gather(self.table, ids)}

    model, x, ids = Model(), tf.constant(draw(2, 3, seed=5)), tf.constant([1, 3])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = model.call(x, ids)["y"]
    slopes = tape.gradient(y, {"x": x, "w": model.w, "table": model.table})
    arrays = {"x": x, "ids": ids, "y": y, **{f"gradient/{k}": tf.convert_to_tensor(v) for k, v in slopes.items()}}
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(model, f"{folder}/m", signatures={"serving_default": model.call})
        for path in pathlib.Path(folder, "m").rglob("*.*"):
            arrays[f"file/{path.relative_to(folder)}"] = np.fromfile(path, np.uint8)
    np.savez_compressed(FILE.with_name("objects.npz"), **{k: np.asarray(v) for k, v in arrays.items()})


def keras(tf):
    """Saves the variables of Keras's models in both forms; writes `keras.npz`."""
    arrays = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, model in keras_models.build(tf).items():
            model.set_weights(keras_models.numbers(model))
            for path in (f"{folder}/{name}", f"{folder}/{name}.h5"):
                model.save_weights(path)
        for path in pathlib.Path(folder).glob("*.*"):
            arrays[path.name] = np.fromfile(path, np.uint8)
    np.savez_compressed(FILE.with_name("keras.npz"), **arrays)


def read(tf, folder):
    """Loads the SavedModels of a folder; prints how many of them give what is recorded, and what of the others differs."""
    recorded, good = np.load(FILE.with_name("models.npz")), 0
    for name, build in MODELS.items():
        with tf.Graph().as_default():
            inputs, _ = build(tf)
        with tf.Graph().as_default(), tf.Session() as sess:
            try:
                signature = tf.saved_model.loader.load(sess, ["serve"], f"{folder}/{name}").signature_def["serving_default"]
                info = tf.saved_model.utils.get_tensor_from_tensor_info
                feeds = {info(signature.inputs[k]): value for k, (_, value) in inputs.items()}
                for key, value in sess.run({k: info(v) for k, v in signature.outputs.items()}, feeds).items():
                    want = recorded[f"{name}/output/{key}"]
                    if value.dtype == object:
                        assert value.tolist() == want.tolist(), key
                    else:
                        np.testing.assert_allclose(value, want, 1e-4, 1e-5, err_msg=key)
                good += 1
            except Exception as error:
                print(f"{name}: {type(error).__name__}: {str(error)[:600]}")
    print(f"{good} of {len(MODELS)} SavedModels give what is recorded")


if __name__ == "__main__":
    sys.path.insert(0, str(FILE.parent.parent.parent))
    from tests.recorded import tensorflow_1
    from tests.saved import keras_models
    from tests.saved.models import MODELS, draw, gradients

    if sys.argv[1:2] == ["--read"]:
        read(tensorflow_1(), sys.argv[2])
    elif sys.argv[1:2] == ["--objects"]:
        objects()
    else:
        with tensorflow_1().Graph().as_default():
            checkpoints(tensorflow_1())
            keras(tensorflow_1())
        models(tensorflow_1())
        subprocess.run([sys.executable, __file__, "--objects"], check=True)
