"""Files are data: what a file names is neither imported nor called, by whichever reader it comes in. See docs/security.md.

Each attack names a function that would leave a trace, in a module that would leave one when it is imported, and is given to one
public reader. What the reader does with it is not asked; that nothing was imported or called is, and the words of the error.
"""

import ast
import json
import pathlib
import re
import sys

import numpy as np
import pytest

import regrad as tf
from regrad.core import graph_proto
from regrad.core.graph_proto import CollectionDef, MetaGraphDef, ProtoAttrValue, ProtoGraphDef, SavedModel, SaverDef
from regrad.core.messages import VariableDef

MODULE = "regrad_marker"


@pytest.fixture
def traces(tmp_path, monkeypatch):
    """Returns a function that tells what a file had done: a module that marks its import, and whose function marks its call."""
    place = tmp_path / "modules"
    place.mkdir()
    (place / f"{MODULE}.py").write_text(
        "import pathlib\nhere = pathlib.Path(__file__).parent\n(here / 'imported').touch()\n"
        "def mark(*args, **kwargs):\n    (here / 'called').touch()\n    return 1.0\n")
    monkeypatch.syspath_prepend(str(place))
    yield lambda: sorted(p.name for p in place.iterdir() if not p.suffix and p.name != "__pycache__")
    sys.modules.pop(MODULE, None)


NAMED = {"function": f"{MODULE}:mark"}


def stored(value):
    return ProtoAttrValue(s=b"regrad: " + json.dumps(value).encode())


def hostile_graph(value=NAMED, op="PyFunc", attr="func", more=()):
    """Returns a ProtoGraphDef with a node "p" of no inputs, and "after", which waits for it."""
    graph = ProtoGraphDef()
    node = graph.node.add(name="p", op=op)
    node.attr.put(attr, stored(value))
    if op == "PyFunc":
        node.attr.put("Tout", ProtoAttrValue(list={"type": [tf.float64.as_datatype_enum]}))
    graph.node.add(name="after", op="NoOp", input=["^p"])
    graph.node.extend(more)
    return graph


def hostile_meta():
    meta = MetaGraphDef(graph_def={}, saver_def=SaverDef(filename_tensor_name="path:0", restore_op_name="after",
                                                         save_tensor_name="path:0"))
    path = ProtoGraphDef().node.add(name="path", op="Const")
    path.attr.put("dtype", ProtoAttrValue(type=tf.string.as_datatype_enum))
    path.attr.put("value", ProtoAttrValue(tensor=tf.make_tensor_proto("")))
    meta.graph_def.CopyFrom(hostile_graph(more=[path]))
    meta.meta_info_def.tags.append("serve")
    meta.collection_def["saved_model_main_op"].CopyFrom(CollectionDef(node_list={"value": ["after"]}))
    return meta


@pytest.fixture
def checkpoint(tmp_path):
    """Returns the prefix of a checkpoint of one variable."""
    (tmp_path / "ckpt").mkdir()
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("v", initializer=1.0)
        session.run(tf.global_variables_initializer())
        return tf.train.Saver().save(session, str(tmp_path / "ckpt" / "m"), write_meta_graph=False)


@pytest.fixture
def folder(tmp_path):
    """Returns a folder with the hostile graph as a GraphDef, a MetaGraphDef, and a SavedModel."""
    meta = hostile_meta()
    (tmp_path / "g.pb").write_bytes(meta.graph_def.SerializeToString())
    (tmp_path / "g.pbtxt").write_text(str(meta.graph_def))
    (tmp_path / "m.meta").write_bytes(meta.SerializeToString())
    (tmp_path / "model").mkdir()
    model = SavedModel(saved_model_schema_version=1, meta_graphs=[meta])
    model.meta_graphs[0].ClearField("saver_def")
    (tmp_path / "model" / "saved_model.pb").write_bytes(model.SerializeToString())
    return tmp_path


def _run(name="p:0"):
    with tf.Session() as session:
        session.run(name)


def _import(graph_def):
    tf.import_graph_def(graph_def, name="")
    _run()


def _meta(folder, checkpoint):
    saver = tf.train.import_meta_graph(str(folder / "m.meta"))
    with tf.Session() as session:
        saver.restore(session, checkpoint)


def _load(folder, checkpoint):
    with tf.Session(graph=tf.get_default_graph()) as session:
        tf.saved_model.loader.load(session, ["serve"], str(folder / "model"))


def _predictor(folder, checkpoint):
    tf.contrib.predictor.from_saved_model(str(folder / "model"), input_names={}, output_names={"y": "p:0"})


def _freeze(**where):
    def read(folder, checkpoint):
        from regrad.train.freezing import freeze_graph

        given = {"input_graph": None, "input_binary": True, **{key: str(folder / name) for key, name in where.items()}}
        if str(given["input_graph"]).endswith(".pbtxt"):
            given["input_binary"] = False
        freeze_graph(given.pop("input_graph"), "", given.pop("input_binary"), checkpoint, "p", "", "", "", False, "after",
                     **given)
    return read


GRAPH_READERS = {
    "GraphDef.FromString": lambda folder, _: _import(tf.GraphDef.FromString((folder / "g.pb").read_bytes())),
    "GraphDef.ParseFromString": lambda folder, _: _import(_parsed((folder / "g.pb").read_bytes())),
    "import_graph_def of a message": lambda folder, _: _import(ProtoGraphDef.FromString((folder / "g.pb").read_bytes())),
    "import_meta_graph and restore": _meta,
    "saved_model.loader.load": _load,
    "predictor.from_saved_model": _predictor,
    "freeze_graph of a graph": _freeze(input_graph="g.pb"),
    "freeze_graph of text": _freeze(input_graph="g.pbtxt"),
    "freeze_graph of a meta graph": _freeze(input_meta_graph="m.meta"),
    "freeze_graph of a SavedModel": _freeze(input_saved_model_dir="model"),
}


def _parsed(data):
    graph_def = tf.GraphDef()
    graph_def.ParseFromString(data)
    return graph_def


@pytest.mark.parametrize("reader", GRAPH_READERS)
def test_no_graph_calls_a_function_that_it_names(reader, folder, checkpoint, traces):
    words = f"(?s)'p' calls the function '{MODULE}:mark'.*neither imports nor calls.*functions={{'{MODULE}:mark': the fun"
    with pytest.raises(tf.errors.UnimplementedError, match=words):
        GRAPH_READERS[reader](folder, checkpoint)
    assert traces() == [] and MODULE not in sys.modules


@pytest.mark.parametrize("key", [f"{MODULE}:mark", "p"])
def test_functions_that_are_passed_are_called(key, folder, checkpoint):
    functions, model = {key: lambda: 2.5}, str(folder / "model")
    tf.import_graph_def(tf.GraphDef.FromString((folder / "g.pb").read_bytes()), name="plain", functions=functions)
    saver = tf.train.import_meta_graph(str(folder / "m.meta"), import_scope="meta", functions=functions)
    with tf.Session() as session:
        saver.restore(session, checkpoint)
        tf.saved_model.loader.load(session, ["serve"], model, import_scope="loaded", functions=functions)
        assert session.run(["plain/p:0", "meta/p:0", "loaded/p:0"]) == [2.5] * 3
    predict = tf.contrib.predictor.from_saved_model(model, input_names={}, output_names={"y": "p:0"}, functions=functions)
    assert predict({}) == {"y": 2.5}
    from regrad.train.freezing import freeze_graph

    for given in ({"input_graph": str(folder / "g.pb")}, {"input_meta_graph": str(folder / "m.meta")},
                  {"input_saved_model_dir": model}):
        freeze_graph(given.pop("input_graph", None), "", True, checkpoint, "p", "", "", "", False, "after", functions=functions,
                     **given)
    with pytest.raises(TypeError, match="mapping from names.*'p': 3"):
        tf.import_graph_def(tf.GraphDef(), functions={"p": 3})


def test_a_name_that_is_almost_right_is_said():
    graph_def = tf.GraphDef.FromString(hostile_graph().SerializeToString())
    tf.import_graph_def(graph_def, name="", functions={f"{MODULE}:marc": len})
    with pytest.raises(tf.errors.UnimplementedError, match=f"did you mean '{MODULE}:marc'"):
        _run()


@pytest.mark.parametrize("value", [NAMED, {"lost": "function f"}, {"operation": "p"}, 3, "os:system", None, [], {"items": []}])
def test_whatever_stands_for_a_function_is_none(value, traces):
    tf.import_graph_def(tf.GraphDef.FromString(hostile_graph(value).SerializeToString()), name="")
    with pytest.raises(tf.errors.UnimplementedError, match="belongs to the program"):
        _run()
    assert traces() == []


def test_no_attribute_of_any_op_type_becomes_a_function(traces):
    """Every attribute of every op type, in an array, a list and a structure too: what is read is never something to call."""
    from regrad.core.opdef import find_op, op_types

    graph = ProtoGraphDef()
    for op_type in op_types():
        node = graph.node.add(name=op_type, op=op_type)
        for key in find_op(op_type).attrs:
            node.attr.put(key, stored(NAMED))
        node.attr.put("many", stored([NAMED, {"items": [["a", NAMED]]}, {"lost": "x"}]))
        node.attr.put("in a list", ProtoAttrValue(list={"s": [b"regrad: " + json.dumps(NAMED).encode()]}))
    nodes = tf.GraphDef.FromString(graph.SerializeToString()).node
    found = [attr.value for node in nodes for attr in node.attr.values()]
    while found:
        value = found.pop()
        if isinstance(value, (tuple, dict)):
            found += value.values() if isinstance(value, dict) else value
        else:
            assert not callable(value) or isinstance(value, graph_proto.Lost), value
    assert traces() == [] and MODULE not in sys.modules


def test_functions_inside_bodies(traces):
    with tf.Graph().as_default() as graph:
        x = tf.constant(1.0)
        tf.identity(tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, tf.py_func(np.sin, [a], tf.float32)), [0, x],
                                  shape_invariants=[tf.TensorShape([]), tf.TensorShape(None)])[1], name="y")
        data = graph.as_graph_def().SerializeToString()
    del graph
    graph_proto._operations.clear()  # as in another process
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(tf.GraphDef.FromString(data), name="")
        with pytest.raises(tf.errors.UnimplementedError, match="belongs to the program"):
            session.run("y:0")
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(tf.GraphDef.FromString(data), name="", functions={"numpy:sin": np.sin})
        np.testing.assert_allclose(session.run("y:0"), np.sin(np.sin(np.float32(1))))


def test_tokens_of_this_process_cannot_be_guessed():
    """The bytes of a graph find the functions of this process by 128 random bits, and only for nodes of the same op type."""
    kept = tf.py_func(lambda: 7.0, [], tf.float64, name="p")
    data = tf.get_default_graph().as_graph_def().SerializeToString()
    (token,) = [node.attr["_regrad_operation"].s for node in ProtoGraphDef.FromString(data).node]
    assert len(token) == 32 and graph_proto._operations[token.decode()] is kept.op
    with tf.Graph().as_default():
        _import(tf.GraphDef.FromString(data))
    for wrong in (b"0" * 32, f"{int(token, 16) + 1:032x}".encode()):
        with tf.Graph().as_default(), pytest.raises(tf.errors.UnimplementedError):
            _import(tf.GraphDef.FromString(data.replace(token, wrong)))
    node = ProtoGraphDef.FromString(data).node[0]
    node.op = "NoOp"
    other = ProtoGraphDef(node=[node])
    assert tf.GraphDef.FromString(other.SerializeToString()).node[0].operation is None


@pytest.mark.parametrize("text", [b"regrad: ", b"regrad: {\"function\": \"os:system\"}", b"python: (1, 2)", b"python: ("])
def test_text_that_looks_like_ours_stays_text(text):
    with tf.Graph().as_default() as graph:
        tf.Print(tf.constant(1.0), [], message=text.decode(), name="p")
        data = graph.as_graph_def().SerializeToString()
    (node,) = [n for n in tf.GraphDef.FromString(data).node if n.name == "p"]
    assert node.attr["message"].value == text.decode()


def test_a_damaged_attribute_is_named():
    for value in ({"no kind": 1}, {"dtype": "complicated"}, {"bytes": 3}, {"body": 1, "function": "a"}, {"slice": 3},
                  {"items": [[{"slice": [1, 2, 3]}]]}, {"tensor": "AAAA"}, {"function": [1]}):
        with pytest.raises(ValueError, match="NodeDef 'p', attribute 'func': it is damaged"):
            _import(tf.GraphDef.FromString(hostile_graph(value).SerializeToString()))


HOSTILE_PIPELINES = {
    "a function as a dataset": {"value": NAMED}, "a class": {"object": [0, f"{MODULE}.mark", {}]},
    "a class of the standard library": {"object": [0, "Popen", {"args": {"value": "touch"}}]},
    "a base class": {"object": [0, "object", {}]},
    "a method": {"object": [0, "TensorDataset", {"start": {"value": NAMED}}]},
    "methods of the object": {"object": [0, "TensorDataset", {"__class__": {"value": NAMED}, "__reduce__": {"value": NAMED}}]},
    "names that become source": {"named": [f"x=__import__('{MODULE}').mark()", ["a"], [{"value": 1}]]},
    "fields that become source": {"named": ["x", [f"a=__import__('{MODULE}').mark()"], [{"value": 1}]]},
    "fields that are normalised": {"named": ["x", ["\uff3ftuple_new"], [{"value": 1}]]},
    "an error": {"error": "functools"}, "a private error": {"error": "__builtins__"}, "a type": {"numpy": f"{MODULE}.mark"},
    "a body": {"function": {"name": "f", "body": {"graph": "AAAA"}, "captures": {"list": []}}},
}


@pytest.mark.parametrize("what", HOSTILE_PIPELINES)
def test_pipelines_call_nothing_that_they_name(what, traces):
    graph = ProtoGraphDef()
    node = graph.node.add(name="it", op="OneShotIterator")
    node.attr.put("spec", ProtoAttrValue(s=json.dumps([HOSTILE_PIPELINES[what]]).encode()))
    node.attr.put("output_types", ProtoAttrValue(list={"type": [1]}))
    node.attr.put("output_shapes", ProtoAttrValue(list={"shape": [tf.TensorShape([]).as_proto()]}))
    with pytest.raises((ValueError, AttributeError, TypeError, tf.errors.OpError)):
        tf.import_graph_def(tf.GraphDef.FromString(graph.SerializeToString()), name="")
        iterator = tf.get_default_graph().get_tensor_by_name("it:0").op.attrs["spec"]
        with tf.Session() as session:
            iterator.begin(session, iterator.dataset, [])
    assert traces() == [] and MODULE not in sys.modules


def test_functions_that_multiply_are_refused():
    """Sixty functions, each of which calls the next one twice: 2^60 operations in a kilobyte or two."""
    graph = ProtoGraphDef()
    for i in range(60):
        made = graph.library.function.add()
        made.signature.name = f"f{i}"
        made.signature.input_arg.add(name="x", type=1)
        made.signature.output_arg.add(name="y", type=1)
        for name, taken in (("a", "x"), ("b", "a")):
            op, taken = "PartitionedCall" if i < 59 else "Neg", taken + ":0" * (taken == "a")
            called = made.node_def.add(name=name, op=op, input=[taken])
            if i < 59:
                called.attr["f"].func.name = f"f{i + 1}"
        made.ret["y"] = "b:0"
    x = graph.node.add(name="x", op="Placeholder")
    x.attr.put("dtype", ProtoAttrValue(type=1))
    graph.node.add(name="y", op="PartitionedCall", input=["x"]).attr["f"].func.name = "f0"
    with pytest.raises(ValueError, match="'y' \\(PartitionedCall\\): 'f0' and the functions that it calls .* so often"):
        tf.import_graph_def(tf.GraphDef.FromString(graph.SerializeToString()))


@pytest.mark.parametrize(("op", "attrs", "says"), [
    ("Const", {"value": NAMED}, "a constant's value is an array"), ("Const", {"value": 3}, "a constant's value is"),
    ("Const", {}, "a constant's value is an array"), ("Sum", {"keep_dims": "x"}, "'keep_dims': Sum has a number there"),
    ("StringJoin", {"separator": 3}, "'separator': StringJoin has text there"),
    ("Shape", {"out_type": [1]}, "'out_type': Shape has a dtype there"),
    ("Unpack", {"num": 2**31 - 1}, "'num': Unpack would have 2147483647 outputs"),
    ("Split", {"num_split": 2**62}, "'num_split': Split would have"),
    ("DynamicPartition", {"num_partitions": 10**7}, "'num_partitions': DynamicPartition would have"),
    ("MaxPool", {"ksize": 3, "strides": 3, "padding": "SAME"}, "'n' \\(MaxPool\\): its attributes or inputs do not fit")])
def test_attributes_of_another_kind_are_refused_when_the_graph_is_read(op, attrs, says):
    graph = ProtoGraphDef()
    graph.node.add(name="x", op="Placeholder").attr.put("dtype", ProtoAttrValue(type=7 if op == "StringJoin" else 1))
    graph.node[0].attr.put("shape", ProtoAttrValue(shape=tf.TensorShape([1, 4, 4, 1]).as_proto()))
    graph.node.add(name="i", op="Placeholder").attr.put("dtype", ProtoAttrValue(type=3))
    node = graph.node.add(name="n", op=op, input={"Const": [], "Sum": ["x", "i"], "Split": ["i", "x"],
                                                  "DynamicPartition": ["x", "i"]}.get(op, ["x"]))
    for key, value in attrs.items():
        node.attr.put(key, stored(value))
    with pytest.raises(ValueError, match=says):
        tf.import_graph_def(tf.GraphDef.FromString(graph.SerializeToString()))


# -- loading writes no files --------------------------------------------------------------------------------------------------
def _writing(kind, path):
    with tf.Graph().as_default() as graph:
        if kind == "WriteFile":
            op = tf.write_file(path, "owned")
        elif kind == "PrintV2":
            op = tf.print("owned", output_stream=f"file://{path}")
        elif kind == "SaveV2":
            from regrad.ops.checkpoints import savev2_op

            op = savev2_op(path, ["v"], [""], [tf.constant(1.0)])
        elif kind == "in a dataset":
            def element(i):
                with tf.control_dependencies([tf.write_file(path, "owned")]):
                    return tf.identity(i)

            op = tf.data.Dataset.range(3).flat_map(lambda i: tf.data.Dataset.range(3).map(element)).make_one_shot_iterator(
                ).get_next().op
        else:
            op = tf.cond(tf.constant(0.5) < tf.placeholder_with_default(1.0, []),
                         lambda: tf.group(tf.write_file(path, "owned")), lambda: tf.no_op()).op
        with tf.control_dependencies([op]):
            tf.no_op(name="after")
        tf.constant("", name="path")
        return graph.as_graph_def()


@pytest.mark.parametrize("kind", ["WriteFile", "PrintV2", "SaveV2", "in a branch", "in a dataset"])
@pytest.mark.parametrize("reader", ["import_meta_graph and restore", "saved_model.loader.load", "predictor.from_saved_model"])
def test_loading_writes_no_files(kind, reader, folder, checkpoint, tmp_path):
    meta, target = hostile_meta(), tmp_path / "target"
    meta.graph_def.CopyFrom(graph_proto.graph_proto(_writing(kind, str(target))))
    (folder / "m.meta").write_bytes(meta.SerializeToString())
    meta.ClearField("saver_def")
    (folder / "model" / "saved_model.pb").write_bytes(SavedModel(meta_graphs=[meta]).SerializeToString())
    with pytest.raises(tf.errors.PermissionDeniedError, match="would write files by .*nothing of it was run"):
        GRAPH_READERS[reader](folder, checkpoint)
    assert not list(tmp_path.glob("target*"))


# -- other readers ------------------------------------------------------------------------------------------------------------
def test_names_are_never_code(traces):
    """Names of operations and attributes go into no source that is compiled: neither NumPy's small programs nor XLA's."""
    code = f"__import__('{MODULE}').mark()"
    graph = ProtoGraphDef()
    nodes = [("x", "Placeholder", []), ("y", "Tanh", ["x"]), ("z", "Print", ["y"]), ("out", "Exp", ["z"])]
    for name, op, inputs in nodes:
        node = graph.node.add(name=name, op=op, input=inputs, device=f"/cpu:0 {code}" if op == "Exp" else "")
        node.attr.put("dtype", ProtoAttrValue(type=tf.float32.as_datatype_enum))
        for key in (f"a={code}, b", f"_a={code}, b", f"\n{code}\n", "_mark"):
            node.attr.put(key, ProtoAttrValue(s=code.encode()))
    with pytest.raises(ValueError):
        _imported(graph)
    graph.node[-1].device = ""
    with tf.Graph().as_default() as made, tf.Session() as session:
        _imported(graph)
        y, x = made.get_tensor_by_name("out:0"), made.get_tensor_by_name("x:0")
        for fetched in (y, tf.gradients(y, x)):
            for _ in range(5):  # by NumPy at first, then written out as a function
                session.run(fetched, {x: np.float32([0.5])})
    for name in (f"x);{code};(", f"x\n{code}"):
        graph.node[0].name = graph.node[1].input[0] = name
        with tf.Graph().as_default(), pytest.raises(ValueError, match="not a valid"):
            _imported(graph)
    assert traces() == []


def _imported(graph):
    tf.import_graph_def(tf.GraphDef.FromString(graph.SerializeToString()), name="")
    return tf.get_default_graph().get_operations()


def test_collections_are_names_and_data(tmp_path, traces):
    meta, code = MetaGraphDef(graph_def={}), f"{MODULE}:mark".encode()
    meta.collection_def["mine"].bytes_list.value.extend([b"regrad: " + json.dumps(NAMED).encode(), code])
    meta.collection_def[MODULE].bytes_list.value.append(code)
    meta.collection_def["any"].any_list.value.add(type_url=f"type.googleapis.com/{MODULE}.mark", value=code)
    (tmp_path / "m.meta").write_bytes(meta.SerializeToString())
    assert tf.train.import_meta_graph(str(tmp_path / "m.meta")) is None
    assert all(isinstance(item, bytes) for item in tf.get_collection("mine") + tf.get_collection(MODULE))
    for key in (tf.GraphKeys.TRAINABLE_VARIABLES, "nodes"):
        hostile = MetaGraphDef(graph_def={})
        if key == "nodes":
            hostile.collection_def[key].node_list.value.append(f"{MODULE}:mark")
        else:
            hostile.collection_def[key].bytes_list.value.append(VariableDef(variable_name=f"{MODULE}:mark").SerializeToString())
        (tmp_path / "m.meta").write_bytes(hostile.SerializeToString())
        with tf.Graph().as_default(), pytest.raises((KeyError, ValueError)):
            tf.train.import_meta_graph(str(tmp_path / "m.meta"))
    assert traces() == [] and MODULE not in sys.modules


def test_the_state_file_sets_its_four_fields_only(tmp_path):
    from regrad.train.checkpoint import CheckpointState

    (tmp_path / "checkpoint").write_text('model_checkpoint_path: "m-1"\n__class__: "x"\n__dict__: "x"\n__str__: "x"\nother: 1\n'
                                         'all_model_checkpoint_paths: "m-1"\n')
    state = tf.train.get_checkpoint_state(str(tmp_path))
    assert type(state) is CheckpointState and set(vars(state)) == set(vars(CheckpointState()))


def _layer(class_name, **config):
    return {"class_name": class_name, "config": {"name": "l", **config}}


HOSTILE_LAYERS = {
    "the class": (_layer(f"{MODULE}.mark"), "Unknown layer: regrad_marker.mark"),
    "a class of the registry of Python": (_layer("__import__"), "Unknown layer"),
    "a private class": (_layer("_function"), "Unknown layer"),
    "a function that is no layer": (_layer("custom_object"), "Unknown layer"),
    "a Lambda by name": (_layer("Lambda", function=f"{MODULE}:mark"), "Unknown function.*custom_objects"),
    "a Lambda as Keras writes it": (_layer("Lambda", function=["4wEAAAAA", None, None], function_type="lambda", module="m"),
                                    "bytecode of a lambda.*runs no code of files"),
    "an activation": (_layer("Dense", units=1, activation=f"{MODULE}.mark"), "Unknown activation|not.*known|no activation"),
    "an initializer": (_layer("Dense", units=1, kernel_initializer=_layer(f"{MODULE}.mark")), "Unknown initializer"),
    "a regularizer": (_layer("Dense", units=1, kernel_regularizer=_layer(f"{MODULE}.mark")), "Unknown regularizer"),
    "a constraint": (_layer("Dense", units=1, kernel_constraint=_layer(f"{MODULE}.mark")), "Could not interpret constraint"),
    "a wrapped layer": (_layer("TimeDistributed", layer=_layer(f"{MODULE}.mark")), "Unknown layer"),
    "a cell": (_layer("RNN", cell=_layer(f"{MODULE}.mark")), "Unknown layer"),
}


@pytest.mark.parametrize("what", HOSTILE_LAYERS)
@pytest.mark.parametrize("reader", ["model_from_json", "model_from_config", "from_config", "load_model"])
def test_descriptions_of_keras_run_no_code(what, reader, tmp_path, traces):
    layer, words = HOSTILE_LAYERS[what]
    model = {"name": "m", "layers": [_layer("InputLayer", batch_input_shape=[None, 2, 3], dtype="float32"), layer]}
    with pytest.raises((ValueError, AttributeError), match=words):
        if reader == "model_from_json":
            tf.keras.models.model_from_json(json.dumps({"class_name": "Sequential", "config": model}))
        elif reader == "model_from_config":
            tf.keras.models.model_from_config({"class_name": "Sequential", "config": model})
        elif reader == "from_config":
            tf.keras.Sequential.from_config(model)
        else:
            h5py = pytest.importorskip("h5py")
            with h5py.File(tmp_path / "m.h5", "w") as file:
                file.attrs["model_config"] = json.dumps({"class_name": "Sequential", "config": model})
            tf.keras.models.load_model(str(tmp_path / "m.h5"))
    assert traces() == [] and MODULE not in sys.modules


@pytest.mark.parametrize("text", [
    "{}", "[]", "nonsense", "3", "[" * 100_000, '{"class_name": ["x"], "config": {}}',
    '{"class_name": "Sequential", "config": {}}',
    '{"class_name": "Sequential", "config": {"layers": [3]}}', '{"class_name": "Dense", "config": {"units": {}}}',
    '{"class_name": "Model", "config": {"input_layers": [["a", 0, 0]], "layers": [], "output_layers": []}}'])
def test_descriptions_that_are_none_are_one_class_of_error(text, tmp_path):
    with pytest.raises(tf.errors.DataLossError, match="The description of a model: "):
        tf.keras.models.model_from_json(text)
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "m.h5", "w") as file:
        file.attrs["model_config"] = text[:1000]
    (tmp_path / "cut.h5").write_bytes((tmp_path / "m.h5").read_bytes()[:200])
    for path in (tmp_path / "m.h5", tmp_path / "cut.h5"):
        with pytest.raises(tf.errors.DataLossError, match=path.name):
            tf.keras.models.load_model(str(path))


@pytest.mark.parametrize("asked", [{"loss": f"{MODULE}.mark"}, {"loss": "mse", "metrics": [f"{MODULE}.mark"]},
                                   {"loss": "mse", "optimizer_config": _layer(f"{MODULE}.mark")},
                                   {"loss": "mse", "metrics": [_layer("get", identifier=f"{MODULE}.mark")]}])
def test_how_a_model_is_trained_runs_no_code(asked, tmp_path, traces):
    h5py = pytest.importorskip("h5py")
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
    model.compile("sgd", "mse")
    model.save(str(tmp_path / "m.h5"))
    with h5py.File(tmp_path / "m.h5", "a") as file:
        was = json.loads(file.attrs["training_config"])
        file.attrs["training_config"] = json.dumps({**was, **asked})
    with pytest.raises((ValueError, TypeError)):
        tf.keras.models.load_model(str(tmp_path / "m.h5"))
    assert traces() == [] and MODULE not in sys.modules


@pytest.mark.parametrize("how", ["a link to a file", "a link in the file to such a link", "raw bytes", "a virtual dataset"])
@pytest.mark.parametrize("reader", ["load_weights", "load_model"])
def test_values_of_hdf5_lie_in_the_file_itself(how, reader, tmp_path):
    h5py = pytest.importorskip("h5py")
    secret = np.arange(2, dtype=np.float32).reshape(2, 1)
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["key"] = secret
    (tmp_path / "secret.bin").write_bytes(secret.tobytes())
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,), name="d")])
    path = str(tmp_path / "m.h5")
    model.save(path)
    with h5py.File(path, "a") as file:
        group, name = file["model_weights/d"], model.weights[0].name
        del group[name]
        if how == "raw bytes":
            group.create_dataset(name, (2, 1), "f4", external=[(str(tmp_path / "secret.bin"), 0, 8)])
        elif how == "a virtual dataset":
            layout = h5py.VirtualLayout((2, 1), "f4")
            layout[:] = h5py.VirtualSource(str(tmp_path / "secret.h5"), "key", (2, 1))
            group.create_virtual_dataset(name, layout)
        else:
            file["link"] = h5py.ExternalLink(str(tmp_path / "secret.h5"), "key")
            group[name] = h5py.SoftLink("/link") if "in the file" in how else file.get("link", getlink=True)
    with pytest.raises(ValueError, match="lies in another file, which is not read"):
        model.load_weights(path) if reader == "load_weights" else tf.keras.models.load_model(path)


def test_other_readers_take_data(tmp_path, traces, monkeypatch):
    code = f"__import__('{MODULE}').mark()"
    settings = tf.contrib.training.HParams(rate=0.5, name="a")
    for text in (json.dumps({"rate": code}), json.dumps({"__class__": code}), json.dumps({"set_hparam": NAMED})):
        with pytest.raises((ValueError, KeyError, TypeError)):
            settings.parse_json(text)
    with pytest.raises(ValueError):
        settings.parse(f"rate={code}")
    (tmp_path / "words.txt").write_text(f"{code}\nb\n")
    column = tf.feature_column.categorical_column_with_vocabulary_file("c", str(tmp_path / "words.txt"))
    assert column.vocabulary_size == 2
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": {code: [code]}, "task": {"type": code, "index": 0}}))
    tf.estimator.RunConfig()
    assert traces() == [] and MODULE not in sys.modules


def _override(rule, selector=None):
    return {"selector": selector or {"kind": "everything"}, "rule": rule, "order": "all", "bridge": False, "optional": False}


MARK = {"function": f"{MODULE}:mark"}
HOSTILE_OVERRIDES = {
    "a function": (_override(MARK), f"names the function '{MODULE}:mark'.*nothing that it names is imported"),
    "a function of the standard library": (_override({"function": "os:system"}), "names the function 'os:system'"),
    "a function of Regrad": (_override({"function": "regrad.autodiff.rules:apply_rule"}), "names the function"),
    "a helper as a rule": (_override({"ready": "apply_rule"}), "no ready-made rule"),
    "a maker as a rule": (_override({"ready": "clip"}), "no ready-made rule"),
    "what calls its argument": (_override({"made": "apply_rule", "args": [{"rule": MARK}, *[{"value": 1}] * 3], "kwargs": {}}),
                                f"names the function '{MODULE}:mark'"),
    "no function of ours": (_override({"made": "__import__", "args": [{"value": MODULE}], "kwargs": {}}), "makes no"),
    "an import of Regrad's": (_override({"made": "importlib", "args": [], "kwargs": {}}), "makes no"),
    "a helper": (_override({"made": "_made", "args": [], "kwargs": {}}), "makes no"),
    "what builds operations": (_override({"made": "replay", "args": [{"value": 1}], "kwargs": {}}), "makes no"),
    "within an argument": (_override({"made": "mask", "args": [{"rule": MARK}], "kwargs": {}}), "names the function"),
    "within a composition": (_override({"made": ">>", "args": [{"rule": {"made": "default"}}, {"rule": MARK}], "kwargs": {}}),
                             "names the function"),
    "a predicate": (_override({"made": "zero", "args": [], "kwargs": {}}, {"kind": "where", "names": [f"{MODULE}:mark"]}),
                    "no selector 'where'"),
    "a method of the selectors": (_override({"made": "default"}, {"kind": "__getattr__", "names": ["x"]}), "no selector"),
    "an array of objects": (_override({"made": "mask", "args": [{"array": [MODULE], "dtype": "O"}], "kwargs": {}}), "object"),
    "a text as a position": (_override({"made": "default"}, {"kind": "nth", "of": [{}], "index": "0"}), "damaged"),
    "nothing in it": ({}, "damaged"), "no dict": (7, "damaged"),
}


@pytest.mark.parametrize("what", HOSTILE_OVERRIDES)
@pytest.mark.parametrize("place", ["attached", "graph", "views"])
def test_overrides_call_nothing_that_they_name(what, place, traces):
    override, words = HOSTILE_OVERRIDES[what]
    text = {"regrad overrides": 2, "attached": [], "graph": [], "blocks": [], "given": [], "views": {}}
    text[place] = {"v": [override]} if place == "views" else [override]
    tf.tanh(tf.constant(1.0))
    with pytest.raises(tf.OverrideError, match=words):
        tf.overrides_from_json(json.dumps(text))
    graph = tf.get_default_graph()
    assert not graph.gradient_rules and all(op.attached_rules is None for op in graph.get_operations())
    assert traces() == [] and MODULE not in sys.modules


# -- the list ---------------------------------------------------------------------------------------------------------------
ROOT = pathlib.Path(__file__).parents[1]
PAGE = ROOT / "docs" / "security.md"
# What reads bytes or text, or makes something of a name. `open` counts where its mode is not one for writing.
READING = set("""FromString GFile MergeFromString ParseFromString Unpickler __import__ a2b_base64 b64decode decodebytes
    decompress decompressobj eval exec frombuffer fromfile fromstring genfromtxt import_module iter_unpack literal_eval load
    loads loadtxt memmap open read_bytes read_text reader urlsafe_b64decode CDLL DictReader File""".split())
HARMLESS = {"self", "session", "backend", "files", "scopes", "program", "disk_cache", "v", "x", "loader", "picture"}  # x.load()


LIBRARIES = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "yaml", "zipfile", "tarfile", "xml.etree.ElementTree"}
SUSPECT = re.compile(rf"\b(?:{'|'.join(READING)})\(|import.*\b(?:{'|'.join(LIBRARIES)})\b|from (?:{'|'.join(LIBRARIES)})\b")


def _reads(path):
    """Yields the names of the reading functions that a module calls, and those of the standard library by which it could."""
    text = path.read_text()
    for node in ast.walk(ast.parse(text)) if SUSPECT.search(text) else ():
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [n.name for n in node.names]
            yield from LIBRARIES & set(names)
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        owner = called.value.id if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) else ""
        mode = node.args[1].value if len(node.args) > 1 and isinstance(node.args[1], ast.Constant) else ""
        if name in ("eval", "exec") and isinstance(called, ast.Attribute):
            continue  # methods of tensors and sessions
        if name in READING and owner not in HARMLESS and not (name == "open" and str(mode)[:1] in ("w", "a", "x") and mode):
            yield name


def test_every_module_that_reads_is_on_the_page():
    page = set(re.findall(r"`([\w/]+\.py)`", PAGE.read_text()))
    package = ROOT / "regrad"
    reading = {str(path.relative_to(package)): found for path in package.rglob("*.py") if (found := set(_reads(path)))}
    assert {name: found for name, found in reading.items() if name not in page} == {}
    assert {name for name in page if name != "script.py" and not (package / name).exists()} == set()


def test_every_reader_of_the_page_is_attacked():
    rows = re.findall(r"^\| (.*) \|$", PAGE.read_text().partition("| reader |")[2].partition("\n\n")[0], re.M)[1:]
    assert len(rows) > 15
    for row in rows:
        links = re.findall(r"\]\(\.\./(tests/[\w/]+\.py)(?:#(\w+))?\)", row.split(" | ")[-1])
        assert links, row
        for file, test in links:
            assert f"def {test}(" in (ROOT / file).read_text() if test else (ROOT / file).exists(), (row, test)
