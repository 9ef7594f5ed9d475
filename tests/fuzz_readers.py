"""The readers that `tests/fuzz.py` tries, each with files that it reads: those that TensorFlow wrote, and our own."""

import gzip
import io
import itertools
import json
import os
import pathlib
import pickle
import tempfile
import zipfile
import zlib

import numpy as np

import regrad as tf
from regrad.core.messages import RunMetadataProto
from regrad.core.records import framed
from tests import fuzz
from tests.fuzz import document, message, packed, record_items, records_again, table_again, table_items, words

HERE = pathlib.Path(__file__).resolve().parent
READERS = {}


class Reader:
    """One reader.

    Attributes:
      name: what it is called.
      samples: [{name of a file: bytes}] that it reads.
      read: function of a folder with such files.
      changes: {ending or name of a file: changes besides those of bytes}.
      again: {ending of a file: function that makes it hold together again}.
      also: classes of errors besides those of `tf.errors` by which it may refuse: those of TensorFlow's functions.
      named: whether errors have the file's name.
      slow: how many times as long as others it takes; the tests try it so many times less.
    """

    def __init__(self, name, samples, read, changes=None, again=None, also=(), named=True, slow=1):
        self.name, self.samples, self.read, self.slow = name, samples, read, slow
        self._changes, self.again, self.also, self.named = changes or {}, again or {}, also, named

    def changes_of(self, name):
        return self._changes.get(name) or self._changes.get(pathlib.Path(name).suffix, [])

    def check(self):
        """Reads the samples as they are."""
        for files in self.samples:
            with tempfile.TemporaryDirectory() as folder:
                fuzz._write(folder, files)
                self.read(folder)


def reader(function):
    """Makes a function that returns (samples, read, further arguments of Reader) a reader of its name."""
    def make():
        samples, read, *more = function()
        return Reader(function.__name__, samples, read, **(more[0] if more else {}))

    READERS[function.__name__] = make
    return function


def _files(write):
    """Returns {name: bytes} of the files that `write(folder)` leaves in a folder."""
    with tempfile.TemporaryDirectory() as folder:
        write(folder)
        return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(pathlib.Path(folder).rglob("*")) if p.is_file()}


def _recorded(file, start):
    """Returns {name: bytes} of files that TensorFlow wrote, as tests/saved has them."""
    with np.load(HERE / "saved" / file) as arrays:
        return {key[len(start):]: arrays[key].tobytes() for key in arrays if key.startswith(start)}


def _path(folder, name="data"):
    return os.path.join(folder, name)


def _bytes(folder, name="data"):
    with open(_path(folder, name), "rb") as file:
        return file.read()


def _op(build, *samples, changes=(), **more):
    """Returns a reader of strings: `build(string tensor)` makes what is run."""
    graph = tf.Graph()
    with graph.as_default():
        text = tf.placeholder(tf.string, [])
        out = build(text)
    session = tf.Session(graph=graph)

    def read(folder):
        for fetch in out if isinstance(out, (list, tuple)) else [out]:
            session.run(fetch, {text: _bytes(folder)})

    return [{"data": s} for s in samples], read, {"changes": {"data": list(changes)}, "named": False, **more}


# -- graphs --------------------------------------------------------------------------------------------------
def _graphs():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        w = tf.get_variable("w", [3, 2])
        y = tf.layers.dense(tf.matmul(x, w), 2, name="d")
        y = tf.cond(tf.reduce_sum(y) > 0, lambda: y * 2, lambda: tf.zeros_like(y))
        _, total = tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t + tf.reduce_sum(y)), [0, 0.0])
        parts = tf.split(tf.pad(tf.concat([y, tf.fill([2, 2], 1.0)], 0), [[1, 0], [0, 0]]), 2, 1)
        tf.strided_slice(tf.reshape(parts[0], [-1]), [0], [2], name="out")
        tf.one_hot([1, 2], 4), tf.range(5), tf.transpose(x), tf.gather(w, [0]), tf.nn.conv2d(
            tf.zeros([1, 4, 4, 1]), tf.zeros([2, 2, 1, 1]), [1, 1, 1, 1], "SAME")
        tf.add_to_collection("losses", total)
    return graph


def _models(*names):
    """Returns the files of SavedModels that TensorFlow wrote; the last is one of functions."""
    return [*(_recorded("models.npz", f"{name}/file/m/") for name in names), _recorded("objects.npz", "file/m/")]


def _saved_graphs(*names):
    from regrad.core.graph_proto import SavedModel

    models = [SavedModel.FromString(files["saved_model.pb"]) for files in _models(*names)]
    return [model.meta_graphs[0].graph_def.SerializeToString() for model in models]


@reader
def graph_def():
    def read(folder):
        with tf.Graph().as_default():
            tf.import_graph_def(tf.GraphDef.FromString(_bytes(folder)))

    ours = _graphs().as_graph_def().SerializeToString()
    return [{"data": data} for data in (ours, *_saved_graphs(*SMALL))], read, {"changes": {"data": [message]}, "named": False}


@reader
def graph_def_flow():
    """Loops, branches and functions as TensorFlow writes them."""
    def read(folder):
        with tf.Graph().as_default():
            tf.import_graph_def(tf.GraphDef.FromString(_bytes(folder)))

    with np.load(HERE / "train" / "flow_by_tensorflow.npz") as arrays:
        found = sorted((arrays[key].tobytes() for key in arrays if key.endswith(".graph")), key=len)
    return [{"data": data} for data in found[:20]], read, {"changes": {"data": [message]}, "named": False}


SMALL = ["dense", "slices", "texts", "resources"]


@reader
def graph_def_pipeline():
    """An input pipeline as a graph holds it."""
    with tf.Graph().as_default() as graph:
        made = tf.data.Dataset.range(9).map(lambda i: (i, tf.cast(i, tf.float32) * 2.0)).shuffle(3).batch(2).repeat(2)
        made.make_one_shot_iterator().get_next()
        sample = graph.as_graph_def().SerializeToString()

    def read(folder):
        with tf.Graph().as_default():
            tf.import_graph_def(tf.GraphDef.FromString(_bytes(folder)))

    return [{"data": sample}], read, {"changes": {"data": [message]}, "named": False}


@reader
def graph_text():
    from regrad.core.graph_proto import ProtoGraphDef
    from regrad.train.freezing import _read

    def write(folder):
        tf.train.write_graph(_graphs(), folder, "graph.pbtxt")

    def read(folder):
        with tf.Graph().as_default():
            tf.import_graph_def(_read(ProtoGraphDef, _path(folder, "graph.pbtxt"), False))

    return [_files(write)], read, {"changes": {".pbtxt": [words]}, "named": False, "slow": 2}


@reader
def meta_graph():
    def write(folder, as_text=False):
        tf.train.export_meta_graph(_path(folder, "g.meta"), graph=_graphs(), as_text=as_text)

    def read(folder):
        with tf.Graph().as_default():
            tf.train.import_meta_graph(_path(folder, "g.meta"))

    return [_files(write), _files(lambda f: write(f, True))], read, {"changes": {".meta": [message, words]}, "slow": 2}


@reader
def saved_model():
    def read(folder):
        with tf.Session(graph=tf.Graph()) as sess:
            meta = tf.saved_model.loader.load(sess, ["serve"], folder)
            for info in meta.signature_def["serving_default"].outputs.values():
                sess.graph.get_tensor_by_name(info.name)

    return _models(*SMALL), read, {"changes": {".pb": [message], ".index": [table_items(message)]},
                                   "again": {".index": table_again}, "also": (RuntimeError, KeyError), "slow": 4}


# -- checkpoints ---------------------------------------------------------------------------------------------
def _read_all(path):
    found = tf.train.load_checkpoint(path)
    for name in found.get_variable_to_shape_map():
        found.get_tensor(name)


def _checkpoint(start):
    return {name: data for name, data in _recorded("checkpoints.npz", "file:").items() if name.startswith(start)}


@reader
def bundle():
    return ([_checkpoint("v2"), _checkpoint("shards")], lambda folder: _read_all(_path(folder, next(
        name.partition(".")[0] for name in sorted(os.listdir(folder))))),
        {"changes": {".index": [table_items(message)]}, "again": {".index": table_again}})


@reader
def checkpoint_v1():
    return [_checkpoint("v1")], lambda folder: _read_all(_path(folder, "v1")), {
        "changes": {"v1": [table_items(message)]}, "again": {"": table_again}}


@reader
def checkpoint_state():
    text = (b'model_checkpoint_path: "model-2"\nall_model_checkpoint_paths: "/tmp/model-1"\n'
            b'all_model_checkpoint_paths: "model-2"\nall_model_checkpoint_timestamps: 1.5e9\n'
            b"all_model_checkpoint_timestamps: 2\nlast_preserved_timestamp: 1600000000.25\n")
    return [{"checkpoint": text}], tf.train.get_checkpoint_state, {"changes": {"checkpoint": [words]}}


# -- records -------------------------------------------------------------------------------------------------
def _records(options, *records):
    def write(folder):
        with tf.python_io.TFRecordWriter(_path(folder), options) as writer:
            for record in records:
                writer.write(record)
    return _files(write)


def _example():
    feature = {"n": tf.train.Feature(int64_list=tf.train.Int64List(value=[1, -2])),
               "f": tf.train.Feature(float_list=tf.train.FloatList(value=[1.5])),
               "s": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"a", b"bc"])),
               "i": tf.train.Feature(int64_list=tf.train.Int64List(value=[3, 1]))}
    return tf.train.Example(features=tf.train.Features(feature=feature))


def _tfrecord(kind, unpack, pack):
    def make():
        options = tf.python_io.TFRecordOptions(kind)
        sample = _records(options, b"abc", b"", _example().SerializeToString(), b"x" * 300)

        def read(folder):
            list(tf.python_io.tf_record_iterator(_path(folder), options))

        changes = [lambda rng, d, o: pack(record_items(rng.choice(fuzz.BYTES))(rng, unpack(d), b"")),
                   packed(unpack, lambda data: pack(records_again(data)))]
        return [sample], read, {"changes": {"data": changes}}

    make.__name__ = "tfrecord" + (f"_{kind.lower()}" if kind else "")
    reader(make)


for _kind, _unpack, _pack in (("", bytes, bytes), ("ZLIB", zlib.decompress, zlib.compress),
                              ("GZIP", gzip.decompress, gzip.compress)):
    _tfrecord(_kind, _unpack, _pack)


def _iterated(name, make, *samples):
    """A dataset of one file."""
    def made():
        graph = tf.Graph()
        with graph.as_default():
            path = tf.placeholder(tf.string, [])
            iterator = make(path).make_initializable_iterator()
            following = iterator.get_next()
        session = tf.Session(graph=graph)

        def read(folder):
            session.run(iterator.initializer, {path: _path(folder)})
            try:
                while True:
                    session.run(following)
            except tf.errors.OutOfRangeError:
                pass

        return [{"data": data} for data in samples], read

    made.__name__ = name
    reader(made)


_RECORDS = b"".join(map(framed, (b"abc", b"", b"de" * 9)))
_iterated("dataset_records", tf.data.TFRecordDataset, _RECORDS)
_iterated("dataset_lines", lambda path: tf.data.TextLineDataset(path, "GZIP"), gzip.compress(b"one\ntwo\r\n\n"))
_iterated("dataset_fixed", lambda path: tf.data.FixedLengthRecordDataset(path, 3, 1, 1, compression_type="ZLIB"),
          zlib.compress(b"habcdeff"))


def _queued(name, make, *samples, **more):
    """A reader of files whose names are in a queue."""
    def made():
        graph = tf.Graph()
        with graph.as_default():
            path = tf.placeholder(tf.string, [])
            queue = tf.FIFOQueue(9, [tf.string], [[]])
            put, close, get = queue.enqueue(path), queue.close(), make().read_up_to(queue, 99)

        def read(folder):
            with tf.Session(graph=graph) as session:
                session.run(put, {path: _path(folder)})
                session.run(close)
                try:
                    session.run(get)
                except tf.errors.OutOfRangeError:  # it has no records
                    pass

        return [{"data": data} for data in samples], read, more

    made.__name__ = name
    reader(made)


_queued("reader_records", tf.TFRecordReader, _RECORDS, again={"": records_again})
_queued("reader_fixed", lambda: tf.FixedLengthRecordReader(3, 1, 1, encoding="ZLIB"), zlib.compress(b"habcdeff"))


@reader
def events():
    def write(folder):
        with tf.summary.FileWriter(folder, graph=_graphs()) as writer:
            writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="a", simple_value=1.5)]), 1)
            writer.add_session_log(tf.SessionLog(status=1, msg="started"), 2)
        (name,) = os.listdir(folder)
        os.rename(_path(folder, name), _path(folder))

    return [_files(write)], lambda folder: list(tf.train.summary_iterator(_path(folder))), {
        "changes": {"data": [record_items(message)]}, "again": {"": records_again}}


# -- strings that operations read ----------------------------------------------------------------------------
@reader
def parse_example():
    features = {"n": tf.FixedLenFeature([2], tf.int64), "s": tf.VarLenFeature(tf.string),
                "i": tf.FixedLenSequenceFeature([], tf.int64, allow_missing=True),
                "p": tf.SparseFeature("i", "n", tf.int64, 10)}

    def build(text):
        made = tf.parse_single_example(text, features)
        batch = tf.parse_example([text], {k: v for k, v in features.items() if k != "p"})
        return [made["n"], made["s"].values, made["p"].indices, batch["n"], batch["i"]]

    return _op(build, _example().SerializeToString(), changes=[message])


@reader
def parse_sequence_example():
    lists = {"l": tf.train.FeatureList(feature=[tf.train.Feature(int64_list=tf.train.Int64List(value=[i])) for i in range(3)])}
    sample = tf.train.SequenceExample(context=_example().features, feature_lists=tf.train.FeatureLists(feature_list=lists))

    def build(text):
        context, made = tf.parse_single_sequence_example(
            text, {"n": tf.FixedLenFeature([2], tf.int64)}, {"l": tf.FixedLenSequenceFeature([1], tf.int64)})
        return [context["n"], made["l"]]

    return _op(build, sample.SerializeToString(), changes=[message])


_TENSORS = {"float32": np.arange(6, dtype=np.float32).reshape(2, 3), "string": [b"a", b"bc"], "float16": np.float16([1.5, 2]),
            "int8": np.int8([1, -1]), "complex128": 2j}


def _tensor(dtype):
    def make():
        return _op(lambda text: tf.parse_tensor(text, tf.as_dtype(dtype)),
                   tf.make_tensor_proto(_TENSORS[dtype], tf.as_dtype(dtype)).SerializeToString(), changes=[message])

    make.__name__ = f"parse_tensor_{dtype}"
    reader(make)


for _dtype in _TENSORS:
    _tensor(_dtype)


@reader
def decode_csv():
    defaults = [[0], [1.5], [""], np.zeros(0, np.int64)]
    return _op(lambda text: tf.decode_csv(text, defaults), b'1,2.5,"a ""b""",4', changes=[words])


@reader
def decode_raw():
    return _op(lambda text: [tf.decode_raw(text, tf.int32), tf.decode_raw(text, tf.float64, little_endian=False)],
               np.arange(4).tobytes())


@reader
def string_to_number():
    return _op(lambda text: [tf.string_to_number(text, t) for t in (tf.float32, tf.int64)], b"12", b"-3", changes=[words])


@reader
def decode_compressed():
    return _op(lambda text: tf.io.decode_compressed(text, "GZIP"), gzip.compress(b"abc" * 99))


@reader
def decode_zlib():
    return _op(lambda text: tf.io.decode_compressed(text, "ZLIB"), zlib.compress(b"abc" * 99))


@reader
def decode_base64():
    return _op(tf.decode_base64, b"YWJjZGVmZw", b"YQ==")


@reader
def utf8():
    return _op(lambda text: [tf.strings.length(text, unit="UTF8_CHAR"), tf.strings.substr(text, 1, 1, unit="UTF8_CHAR"),
                             tf.strings.lower(text, encoding="utf-8")], "aé漢".encode())


@reader
def sparse_text():
    with tf.Graph().as_default(), tf.Session() as sess:
        samples = sess.run(tf.serialize_sparse(tf.SparseTensor([[0, 1], [1, 2]], [1.5, 2.5], [2, 3]))).tolist()

    return _op(lambda text: tf.deserialize_many_sparse(tf.stack([[text, *samples[1:]]]), tf.float32).indices, samples[0],
               changes=[message])


@reader
def serialized_reader():
    graph = tf.Graph()
    with graph.as_default():
        text = tf.placeholder(tf.string, [])
        made = tf.WholeFileReader()
        restore, state = made.restore_state(text), made.serialize_state()
    with tf.Session(graph=graph) as sess:
        sample = sess.run(state)

    def read(folder):
        with tf.Session(graph=graph) as sess:
            sess.run(restore, {text: _bytes(folder)})

    return [{"data": sample + b"\x08\x01\x10\x01"}], read, {"changes": {"data": [message]}, "named": False}


# -- pictures ------------------------------------------------------------------------------------------------
def _pictures(kind, **more):
    from PIL import Image

    rng = np.random.default_rng(0)
    found = []
    for mode in ("RGB", "L", "P"):
        image = Image.fromarray(rng.integers(0, 255, (12, 10, 3), np.uint8)).convert(mode)
        if mode == "P" and kind == "JPEG":
            continue
        out = io.BytesIO()
        image.save(out, kind, **(dict(save_all=True, append_images=[image] * 2) if kind == "GIF" else {}), **more)
        found.append(out.getvalue())
    return found


def _picture(kind, build, changes=()):
    def make():
        return _op(build, *_pictures(kind), changes=changes)

    make.__name__ = f"image_{kind.lower()}"
    reader(make)


_picture("PNG", lambda text: [tf.image.decode_png(text), tf.image.decode_png(text, 1, tf.uint16), tf.image.decode_image(text)],
         [fuzz.png_again])
_picture("JPEG", lambda text: [tf.image.decode_jpeg(text), tf.image.decode_jpeg(text, 1, 2), tf.image.extract_jpeg_shape(text),
                               tf.image.decode_and_crop_jpeg(text, [1, 1, 3, 3])])
_picture("GIF", lambda text: [tf.image.decode_gif(text), tf.image.decode_image(text)])
_picture("BMP", lambda text: [tf.image.decode_bmp(text), tf.image.decode_image(text)])


# -- Keras ---------------------------------------------------------------------------------------------------
def _model():
    x = tf.keras.layers.Input([4])
    y = tf.keras.layers.Dense(3, activation="relu", kernel_regularizer="l2")(x)
    y = tf.keras.layers.Dropout(0.5)(tf.keras.layers.BatchNormalization()(y))
    return tf.keras.Model(x, tf.keras.layers.Add()([y, tf.keras.layers.Dense(3)(x)]))


@reader
def keras_json():
    with tf.Graph().as_default():
        samples = [_model().to_json(), tf.keras.Sequential([
            tf.keras.layers.Embedding(9, 4, input_length=5), tf.keras.layers.Bidirectional(tf.keras.layers.LSTM(3)),
            tf.keras.layers.Reshape([2, 3])]).to_json()]

    def read(folder):
        with tf.Graph().as_default():
            tf.keras.models.model_from_json(_bytes(folder).decode("latin-1"))

    return [{"data": text.encode()} for text in samples], read, {"changes": {"data": [document]}, "named": False}


@reader
def keras_model():
    import h5py

    def write(folder):
        with tf.Graph().as_default():
            tf.set_random_seed(1)
            model = _model()
            model.compile("adam", "mse", ["mae"])
            model.train_on_batch(np.zeros([2, 4], np.float32), np.zeros([2, 3], np.float32))
            model.save(_path(folder, "model.h5"))

    def read(folder):
        with tf.Graph().as_default():
            tf.keras.models.load_model(_path(folder, "model.h5"))

    def attribute(rng, data, other):
        file = io.BytesIO(data)
        with h5py.File(file, "r+") as found:
            name = rng.choice([name for name in found.attrs if name.endswith("config")])
            found.attrs[name] = document(rng, bytes(found.attrs[name]) if isinstance(found.attrs[name], bytes) else
                                         found.attrs[name].encode(), b"")
        return file.getvalue()

    return [_files(write)], read, {"changes": {".h5": [attribute]}, "slow": 4}


@reader
def keras_weights():
    with np.load(HERE / "saved" / "keras.npz") as arrays:
        samples = [{"sequential.h5": arrays["sequential.h5"].tobytes()}]
    from tests.saved.keras_models import build

    graph = tf.Graph()
    with graph.as_default():
        model = build(tf)["sequential"]

    def read(folder):
        with graph.as_default():
            model.load_weights(_path(folder, "sequential.h5"))

    return samples, read


@reader
def keras_checkpoint():
    with np.load(HERE / "saved" / "keras.npz") as arrays:
        samples = [{name: arrays[name].tobytes() for name in arrays if name.startswith("sequential.") and name[-2:] != "h5"}]
    from tests.saved.keras_models import build

    graph = tf.Graph()
    with graph.as_default():
        model = build(tf)["sequential"]

    def read(folder):
        with graph.as_default():
            model.load_weights(_path(folder, "sequential"))

    return samples, read, {"changes": {".index": [table_items(message)]}, "again": {".index": table_again}}


# -- data sets -----------------------------------------------------------------------------------------------
def _saved(**arrays):
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


def _inside_zip(rng, data, other):
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        names = old.namelist()
        chosen = rng.choice(names)
        for name in names:
            body = old.read(name)
            new.writestr(name, rng.choice(fuzz.BYTES)(rng, body, old.read(rng.choice(names))) if name == chosen else body)
    return out.getvalue()


def _texts():
    made = np.empty(3, object)
    made[:] = [[1, 2, 300], [4], [5, 6]]
    return made


@reader
def dataset_npz():
    x = np.arange(3 * 784, dtype=np.uint8).reshape(3, 28, 28)
    return [{"data": _saved(x_train=x, y_train=[1, 2, 3], x_test=x, y_test=[1, 2, 3])}], lambda folder: (
        tf.keras.datasets.mnist.load_data(_path(folder))), {"changes": {"data": [_inside_zip]}}


@reader
def dataset_texts():
    return [{"data": _saved(x=_texts(), y=[1, 2, 3])}], lambda folder: (
        tf.keras.datasets.reuters.load_data(_path(folder))), {"changes": {"data": [_inside_zip]}}


@reader
def dataset_pickled():
    found = {b"data": np.arange(2 * 3072, dtype=np.uint8).reshape(2, 3072), b"fine_labels": [1, 2], b"filenames": [b"a", b"b"]}
    return [{part: pickle.dumps(found, protocol) for part in ("train", "test")} for protocol in (2, 4)], lambda folder: (
        tf.keras.datasets.cifar100.load_data(path=folder))


@reader
def dataset_gzip():
    files = {f"{part}-{name}": gzip.compress(data) for part in ("train", "t10k") for name, data in (
        ("labels-idx1-ubyte.gz", bytes(8) + bytes([4, 5])), ("images-idx3-ubyte.gz", bytes(16 + 2 * 784)))}
    return [files], lambda folder: tf.keras.datasets.fashion_mnist.load_data(path=folder), {
        "changes": {".gz": [packed(gzip.decompress, gzip.compress)]}}


@reader
def dataset_index():
    return [{"data": json.dumps({"the": 1, "of": 2}).encode()}], lambda folder: (
        tf.keras.datasets.imdb.get_word_index(_path(folder))), {"changes": {"data": [document]}}


# -- tables, lists of words ----------------------------------------------------------------------------------
@reader
def lookup_table():
    graph = tf.Graph()
    with graph.as_default():
        path = tf.placeholder_with_default("", [])
        from regrad.ops.lookup import HashTable, TextFileInitializer
        made = [HashTable(TextFileInitializer(path, tf.string, 0, tf.int64, 1, delimiter=","), -1),
                HashTable(TextFileInitializer(path, tf.int64, 1, tf.float32, 1, delimiter=","), -1.0)]

    def read(folder):
        for table in made:
            with tf.Session(graph=graph) as sess:
                sess.run(table.initializer, {path: _path(folder)})

    return [{"data": b"a,1\nb,2\n\xc3\xa9,33\n"}], read, {"changes": {"data": [words]}}


@reader
def sampler_words():
    different = itertools.count()

    def read(folder):
        with tf.Graph().as_default(), tf.Session() as sess:  # a table is kept for the next run of the same
            sess.run(tf.nn.fixed_unigram_candidate_sampler([[0]], 1, 1, True, 3, vocab_file=_path(folder),
                                                           distortion=1 + 1e-9 * next(different)))

    return [{"data": b"a,1\nb,2.5\nc,3\n"}], read, {"changes": {"data": [words]}, "named": False}


@reader
def overrides_json():
    from regrad.autodiff import rules
    from regrad.autodiff import selectors as sel
    from regrad.autodiff.overrides import OverrideError

    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [3], name="x")
        y = tf.nn.relu(tf.exp(x, name="e"), name="r")
        tf.attach(sel.last(sel.type("Relu", "Exp")), rules.clip(1.0) >> rules.scale(2.0))
        tf.set_graph_rule(sel.name("e*") | sel.between(x, y) - sel.scope("none"), rules.clip(2.0))
        text = tf.overrides_to_json(views=[tf.View("v", [tf.Override(sel.everything, rules.default)])])

    def read(folder):
        with tf.Graph().as_default() as again:
            tf.import_graph_def(graph.as_graph_def(), name="")
            tf.overrides_from_json(_bytes(folder).decode("latin-1"), again)

    return [{"data": text.encode()}], read, {"changes": {"data": [document]}, "named": False, "also": (OverrideError,)}


@reader
def settings_json():
    def read(folder):
        tf.contrib.training.HParams(rate=0.1, layers=[1, 2], name="a").parse_json(_bytes(folder).decode("latin-1"))

    return [{"data": b'{"rate": 0.5, "layers": [3], "name": "b"}'}], read, {"changes": {"data": [document]}, "named": False}


def _message(kind, sample):
    def make():
        return [{"data": sample.SerializeToString()}], lambda folder: str(kind.FromString(_bytes(folder))), {
            "changes": {"data": [message]}, "named": False}

    make.__name__ = f"message_{kind.__name__}"
    reader(make)


_message(tf.Summary, tf.Summary(value=[tf.Summary.Value(tag="a", histo=tf.HistogramProto(min=0, bucket=[1, 2]))]))
_message(tf.Event, tf.Event(wall_time=1, step=2, summary=tf.Summary(value=[tf.Summary.Value(tag="a", simple_value=1)])))
_message(RunMetadataProto, RunMetadataProto(step_stats={"dev_stats": [{"device": "d", "node_stats": [{"node_name": "n"}]}]}))
