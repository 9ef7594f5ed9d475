"""SavedModels: files, start operations, tags, signatures, text, predictors, and what is refused."""
import os
import pathlib

import numpy as np
import pytest

import regrad as tf
from regrad.core import proto_text

sm = tf.saved_model


def linear(sess):
    """Builds y = x w + b, initialised; returns x, y."""
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    w = tf.get_variable("w", initializer=np.float32([[1], [2]]))
    y = tf.add(tf.matmul(x, w), tf.get_variable("b", initializer=0.5), name="y")
    sess.run(tf.global_variables_initializer())
    return x, y


@pytest.fixture
def exported(tmp_path):
    with tf.Graph().as_default(), tf.Session() as sess:
        x, y = linear(sess)
        sm.simple_save(sess, str(tmp_path / "1"), {"x": x}, {"y": y})
    return tmp_path / "1"


@pytest.mark.parametrize("as_text", [False, True])
def test_files_tables_and_several_graphs(tmp_path, as_text):
    vocabulary, folder = tmp_path / "words.txt", str(tmp_path / "m")
    vocabulary.write_text("red\ngreen\nblue\n")
    with tf.Graph().as_default(), tf.Session() as sess:
        path = tf.constant(str(vocabulary), name="path")
        words = tf.placeholder(tf.string, [None], name="words")
        tf.Variable(3, collections=[tf.GraphKeys.LOCAL_VARIABLES], name="local")
        kind = tf.lookup.TextFileIndex
        ids = tf.lookup.StaticVocabularyTable(tf.lookup.TextFileInitializer(
            path, tf.string, kind.WHOLE_LINE, tf.int64, kind.LINE_NUMBER), 1).lookup(words)
        y = tf.gather(tf.get_variable("table", initializer=np.arange(8, dtype=np.float32).reshape(4, 2)), ids)
        start = tf.group(tf.tables_initializer(), tf.local_variables_initializer(), name="start")
        sess.run([tf.global_variables_initializer(), start])
        builder = sm.Builder(folder)
        signature = sm.predict_signature_def({"words": words}, {"y": y})
        builder.add_meta_graph_and_variables(sess, ["serve"], {"serving_default": signature}, [path], main_op=start)
        with pytest.raises(AssertionError, match="has already been saved"):
            builder.add_meta_graph_and_variables(sess, ["again"])
        with pytest.raises(ValueError, match="already contains one or more main ops"):
            builder.add_meta_graph(["other"], main_op=start)
    with tf.Graph().as_default():
        tf.get_variable("table", [4, 2]), tf.identity(tf.constant(1.0), name="one")
        builder.add_meta_graph(["train", "small"])
    written = builder.save(as_text)
    vocabulary.unlink()

    assert written.decode() == os.path.join(folder, "saved_model.pb" + "txt" * as_text)
    assert (tmp_path / "m" / "assets" / "words.txt").exists() and sm.maybe_saved_model_directory(folder)
    with tf.Session(graph=tf.Graph()) as sess:
        meta = sm.loader.load(sess, ["serve"], folder, import_scope="in")
        tensor = sm.utils.get_tensor_from_tensor_info
        signature = meta.signature_def["serving_default"]
        y = tensor(signature.outputs["y"], sess.graph, "in")
        assert y.name.startswith("in/")
        got = sess.run([y, "in/local:0"], {tensor(signature.inputs["words"], sess.graph, "in"): [b"blue", b"?"]})
        np.testing.assert_array_equal(got[0], [[4, 5], [6, 7]])
        assert got[1] == 3
    with tf.Session(graph=tf.Graph()) as sess:
        sm.load(sess, {"small", "train"}, folder)
        assert sess.run("one:0") == 1 and sess.run("table:0")[3, 1] == 7
        with pytest.raises(RuntimeError, match=r"tags \['serving'\] .* available tags {'serve'}, {'small', 'train'}; did you"):
            sm.load(sess, ["serving"], folder)
    assert tf.contrib.saved_model.get_saved_model_tag_sets(folder) == [["serve"], ["small", "train"]]


def test_predictors(exported):
    predict = tf.contrib.predictor.from_saved_model(str(exported))
    np.testing.assert_array_equal(predict({"x": [[1, 1]]})["y"], [[3.5]])
    named = tf.contrib.predictor.from_saved_model(str(exported), input_names={"a": "x:0"}, output_names={"c": "y:0"})
    assert named({"a": [[1, 0]]})["c"].tolist() == [[1.5]]
    with pytest.raises(ValueError, match=r"unexpected keys in input_dict: \['z'\]; expected: \['x'\]"):
        predict({"z": 1})
    with pytest.raises(ValueError, match="No SignatureDef with key 'served'.* it has serving_default"):
        tf.contrib.predictor.from_saved_model(str(exported), "served")


def test_training_goes_on(tmp_path):
    with tf.Graph().as_default(), tf.Session() as sess:
        x, y = linear(sess)
        loss = tf.reduce_mean(tf.square(y), name="loss")
        train = tf.train.AdamOptimizer(0.1).minimize(loss, name="train")
        sess.run(tf.global_variables_initializer())
        sess.run(train, {x: [[1, 2]]})
        sm.simple_save(sess, str(tmp_path / "m"), {"x": x}, {"loss": loss})
        want = [sess.run([train, loss], {x: [[1, 2]]})[1] for _ in range(3)]
    with tf.Session(graph=tf.Graph()) as sess:
        sm.load(sess, "serve", str(tmp_path / "m"))
        assert [sess.run(["train", "loss:0"], {"x:0": [[1, 2]]})[1] for _ in range(3)] == want


def test_overrides_of_what_was_loaded(exported):
    with tf.Session(graph=tf.Graph()) as sess:
        sm.load(sess, ["serve"], str(exported))
        get = sess.graph.get_tensor_by_name
        with sess.graph.as_default():
            slope, = tf.gradients(get("y:0"), get("x:0"), overrides=[
                (tf.sel.type("MatMul"), lambda op, dy: (tf.matmul(dy, 7.0 * op.inputs[1], transpose_b=True), None))])
        assert sess.run(slope, {"x:0": [[1, 1]]}).tolist() == [[7, 14]]


def test_signatures():
    texts, scores = tf.placeholder(tf.string, [None]), tf.placeholder(tf.float32, [None, 2])
    classes = tf.as_string(scores)
    good = [sm.classification_signature_def(texts, classes, scores), sm.classification_signature_def(texts, None, scores),
            sm.regression_signature_def(texts, scores), sm.predict_signature_def({"a": texts}, {"b": scores})]
    for signature in good:
        assert sm.is_valid_signature(signature)
    assert good[2].outputs["outputs"].dtype == tf.float32.as_datatype_enum
    assert [d.size for d in good[3].outputs["b"].tensor_shape.dim] == [-1, 2]
    broken = sm.build_signature_def({"a": good[0].inputs["inputs"]}, None, sm.signature_constants.PREDICT_METHOD_NAME)
    assert not any(sm.is_valid_signature(s) for s in (None, broken, sm.build_signature_def()))
    for build, says in [(lambda: sm.regression_signature_def(scores, scores), "must be of type string.*float32"),
                        (lambda: sm.regression_signature_def(texts, texts), "must be of type float.*string"),
                        (lambda: sm.classification_signature_def(texts, None, None), "cannot both be None"),
                        (lambda: sm.predict_signature_def({}, {"b": scores}), "inputs cannot be None or empty")]:
        with pytest.raises(ValueError, match=says):
            build()
    with pytest.raises(TypeError, match="takes a Tensor or SparseTensor"):
        sm.build_tensor_info([1, 2])


def test_what_cannot_be_saved(tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("")
    with pytest.raises(AssertionError, match="already exists, and isn't empty"):
        sm.Builder(str(tmp_path / "full"))
    builder = sm.Builder(str(tmp_path / "m"))
    with pytest.raises(AssertionError, match="invoke `add_meta_graph_and_variables"):
        builder.add_meta_graph(["serve"])
    with tf.Session() as sess:
        x, y = linear(sess)
        signature = sm.predict_signature_def({"x": x}, {"y": y})
        nothing = sm.build_signature_def({"x": tf.TensorInfo(dtype=1)})
        for more, error, says in [
                ({"signature_def_map": {"__saved_model_init_op": signature}}, KeyError, "is reserved"),
                ({"signature_def_map": {"s": nothing}}, AssertionError, "'s', 'x'"),
                ({"main_op": y}, TypeError, "to be an Operation but got type Tensor"),
                ({"assets_collection": [tf.constant("no such file")]}, ValueError, "there is no file 'no such file'"),
                ({"assets_collection": [tf.placeholder(tf.string, [])]}, ValueError, "not known before it runs")]:
            with pytest.raises(error, match=says):
                builder.add_meta_graph_and_variables(sess, ["serve"], **more)


def test_what_cannot_be_loaded(exported, tmp_path):
    def fails(error, says, folder=exported):
        with tf.Session(graph=tf.Graph()) as sess, pytest.raises(error, match=says):
            sm.load(sess, ["serve"], str(folder))

    fails(OSError, "does not exist at: .*; there is no folder", tmp_path / "none")
    fails(OSError, "does not exist at: .*; there is one in each of its folders 1", tmp_path)
    index, data, graph = (exported / n for n in ("variables/variables.index", "variables/variables.data-00000-of-00001",
                                                 "saved_model.pb"))
    whole = data.read_bytes()
    data.write_bytes(whole[:-2])
    fails(tf.errors.DataLossError, "cut short")
    data.unlink()
    fails(tf.errors.NotFoundError, "its data are missing")
    data.write_bytes(whole)
    tf.train.Saver([tf.get_variable("w", initializer=np.float32([[1], [2]]))])
    index.unlink()
    fails(ValueError, "is not a valid checkpoint")
    text = graph.read_bytes()
    graph.write_bytes(text[:len(text) // 2])
    fails(OSError, "Cannot parse file .*saved_model.pb")
    graph.write_bytes(b"")
    fails(OSError, "holds no graph")


def test_variables_that_are_missing(exported):
    with tf.Graph().as_default(), tf.Session() as sess:
        w = tf.get_variable("w", initializer=np.float32([[1], [2]]))
        sess.run(w.initializer)
        tf.train.Saver().save(sess, str(exported / "variables" / "variables"), write_meta_graph=False, write_state=False)
    with tf.Session(graph=tf.Graph()) as sess, pytest.raises(tf.errors.NotFoundError, match="Key b not found in checkpoint"):
        sm.load(sess, ["serve"], str(exported))


def test_texts_of_messages():
    text = """
      # as TensorFlow writes them
      meta_info_def { tags: "a" tags: 'b' stripped_op_list { op { name: "x" attr { type: "type" } } } }
      graph_def < node { name: "n\\"\\303\\244" op: "Const" attr { key: "dtype" value { type: DT_HALF } }
        attr { key: "l" value { list { i: [1, -2] f: 1.5e-3 f: inf } } } } >
      saver_def { version: V2 sharded: true keep_checkpoint_every_n_hours: 10000 }
      signature_def { key: "k" value { inputs { key: "i" value { name: "a" "b" dtype: DT_INT32 } } method_name: "m" } }
    """
    meta = proto_text.parse(tf.MetaGraphDef(), text)
    node = meta.graph_def.node[0]
    assert meta.meta_info_def.tags == ["a", "b"] and node.name == 'n"\u00e4' and node.attr["dtype"].type == 19
    assert node.attr["l"].list.i == [1, -2] and node.attr["l"].list.f[1] == np.inf
    assert meta.saver_def.version == 2 and meta.saver_def.sharded and meta.signature_def["k"].inputs["i"].name == "ab"
    assert proto_text.parse(tf.MetaGraphDef(), str(meta)) == meta
    for broken, says in [("graph_def {", "line 1: the text ends before '}'"), ("graph_def: }", "a value is expected"),
                         ("saver_def {\n version: V9 }", "line 2: V9 is no value of the field 'version'"),
                         ("= 1", "unexpected")]:
        with pytest.raises(ValueError, match=says):
            proto_text.parse(tf.MetaGraphDef(), broken)


def test_frozen(exported, tmp_path, capsys):
    from regrad.train.freezing import freeze_graph, print_tensors_in_checkpoint_file

    variables = str(exported / "variables" / "variables")
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        linear(sess)
        tf.train.write_graph(graph, str(tmp_path), "g.pbtxt")
        tf.train.Saver().export_meta_graph(str(tmp_path / "g.meta"))
    output = str(tmp_path / "frozen.pb")
    common = "y", "save/restore_all", "save/Const:0", output, True, ""
    freeze_graph(str(tmp_path / "g.pbtxt"), "", False, variables, *common)
    freeze_graph(None, "", True, variables, *common, input_meta_graph=str(tmp_path / "g.meta"))
    freeze_graph(None, "", True, "", *common, input_saved_model_dir=str(exported))
    with tf.Graph().as_default(), tf.Session() as sess:
        y, = tf.import_graph_def(tf.GraphDef.FromString(pathlib.Path(output).read_bytes()), return_elements=["y:0"])
        assert sess.run(y, {"import/x:0": [[1, 1]]}).tolist() == [[3.5]]
        assert not [op for op in tf.get_default_graph().get_operations() if op.type == "VariableV2"]
    with pytest.raises(ValueError, match="checkpoint 'none' doesn't exist"):
        freeze_graph(str(tmp_path / "g.pbtxt"), "", False, "none", *common)

    print_tensors_in_checkpoint_file(variables, "w", False)
    print_tensors_in_checkpoint_file(variables, "", False, True, count_exclude_pattern="^b")
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["tensor_name:  w", "[[1.]", " [2.]]", "# Total number of params: 3", "tensor: b (float32) []",
                     "tensor: w (float32) [2, 1]", "# Total number of params: 2"]
