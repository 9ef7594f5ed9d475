"""Graphs with iterators in files: another process loads them, trains on, and reads the same elements."""
import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import regrad as tf
from tests.data import recorded

ROOT = pathlib.Path(__file__).parents[2]
CALLS_PYTHON = {"generator", "generator_of_dicts", "generator_of_wrong_shapes", "generator_of_wrong_values",
                "maps_with_a_host_function"}

READ = """
import json, sys
import regrad as tf
from tests.data.recorded import elements

found = {}
for name in sys.argv[2:]:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.import_meta_graph(f"{sys.argv[1]}/{name}.meta")
        with open(f"{sys.argv[1]}/{name}.json") as file:
            following = tuple(map(tf.get_default_graph().get_tensor_by_name, json.load(file)))
        lines = found[name] = []
        session.run(tf.global_variables_initializer())
        try:
            for _ in range(2):
                session.run("MakeIterator")
                lines += elements(tf, session, following)
        except tf.errors.OpError as error:
            lines += [type(error).__name__, str(error)]
print(json.dumps(found))
"""


def other_process(program, *arguments):
    """Returns what a program prints, in a process of its own."""
    return subprocess.run([sys.executable, "-W", "error", "-c", program, *arguments], cwd=ROOT, capture_output=True, text=True,
                          check=True).stdout


def test_every_pipeline_is_read_in_another_process(tmp_path):
    here = {}
    for name, build in recorded.PROGRAMS.items():
        with tf.Graph().as_default(), tf.Session() as session:
            dataset = build(tf)
            if not isinstance(dataset, tf.data.Dataset) or any(
                    op.type.startswith("Placeholder") for op in tf.get_default_graph().get_operations()):
                continue
            iterator = tf.data.make_initializable_iterator(dataset)
            following = tuple(tf.contrib.framework.nest.flatten(iterator.get_next()))
            (tmp_path / f"{name}.json").write_text(json.dumps([t.name for t in following]))
            tf.train.export_meta_graph(f"{tmp_path}/{name}.meta")
            here[name] = []
            session.run(tf.global_variables_initializer())
            for _ in range(2):
                session.run(iterator.initializer)
                here[name] += recorded.elements(tf, session, following)
    assert len(here) > 30
    there = json.loads(other_process(READ, str(tmp_path), *here))
    for name in CALLS_PYTHON:
        assert any("UnimplementedError" in line for line in there[name]), name
    assert {n: v for n, v in there.items() if n not in CALLS_PYTHON} == {n: v for n, v in here.items() if n not in CALLS_PYTHON}


def _one_shot(dataset):
    return dataset.make_one_shot_iterator(), [], {}


def _initializable(dataset):
    iterator = dataset.make_initializable_iterator()
    return iterator, [iterator.initializer], {}


def _reinitializable(dataset):
    iterator = tf.data.Iterator.from_structure(dataset.output_types, dataset.output_shapes)
    return iterator, [iterator.make_initializer(dataset, name="again")], {}


def _by_handle(dataset):
    handle = tf.placeholder(tf.string, [], name="handle")
    source = dataset.make_one_shot_iterator().string_handle(name="source")
    return tf.data.Iterator.from_string_handle(handle, dataset.output_types, dataset.output_shapes), [], {handle: source}


ITERATORS = {f.__name__.strip("_"): f for f in (_one_shot, _initializable, _reinitializable, _by_handle)}
TRAIN = """
import json, sys
import numpy as np
import regrad as tf

for folder, saved_model, starts, feeds in json.loads(sys.argv[1]):
    with tf.Graph().as_default() as graph, tf.Session() as session:
        if saved_model:
            tf.saved_model.loader.load(session, ["serve"], folder)
        else:
            tf.train.import_meta_graph(folder + "/model.meta").restore(session, folder + "/model")
        feed = {name: session.run(source) for name, source in feeds}
        numbers = [session.run("loss:0", {"element:0": np.ones(2, "f"), **feed})]
        session.run(starts)
        numbers += [session.run(["train", "loss:0"], feed)[1] for _ in range(4)]
        w = tf.trainable_variables()[0]
        numbers.append(tf.gradients(graph.get_tensor_by_name("loss:0"), w)[0].eval({"element:0": np.ones(2, "f"), **feed}))
        print(json.dumps([float(n) for n in numbers]))
"""


def test_graphs_with_iterators_go_on_in_another_process(tmp_path):
    want, saved = [], []
    for kind, made in ITERATORS.items():
        with tf.Graph().as_default(), tf.Session() as session:
            dataset = tf.data.Dataset.from_tensor_slices(np.arange(6.0, dtype="f"))
            limit = tf.constant(3.0)
            iterator, starts, feeds = made(dataset.map(lambda x, limit=limit: x * 2.0 + limit).batch(2).repeat())
            x = iterator.get_next(name="element")
            loss = tf.reduce_sum(tf.get_variable("w", [], initializer=tf.ones_initializer()) * x, name="loss")
            train = tf.train.GradientDescentOptimizer(0.01).minimize(loss, name="train")
            session.run(tf.global_variables_initializer())
            folder = tmp_path / kind
            folder.mkdir()
            tf.train.Saver().save(session, f"{folder}/model")
            tf.saved_model.simple_save(session, f"{folder}/served", {"x": x}, {"loss": loss})
            names = [op.name for op in starts], [(key.name, value.name) for key, value in feeds.items()]
            saved += [(str(folder), False, *names), (f"{folder}/served", True, *names)]
            session.run(starts)
            feed = {key: session.run(value) for key, value in feeds.items()}
            want += 2 * [[session.run(loss, {x: np.ones(2), **feed}),
                          *(session.run([loss, train], feed)[0] for _ in range(4)), 2.0]]
    found = other_process(TRAIN, json.dumps(saved)).splitlines()
    np.testing.assert_allclose([json.loads(line) for line in found], want, rtol=1e-5)


def test_a_generator_of_a_file_is_passed_to_what_reads_it(tmp_path):
    def numbers():
        yield from (1.0, 2.0)

    dataset = tf.data.Dataset.from_generator(numbers, tf.float32, [])
    dataset.make_one_shot_iterator().get_next(name="element")
    data = tf.get_default_graph().as_graph_def().SerializeToString().replace(b"_regrad_operation", b"_another_process_")
    for functions, says in (({}, "pass the function"), ({"OneShotIterator": lambda: iter([5.0])}, None)):
        with tf.Graph().as_default() as graph, tf.Session() as session:
            tf.import_graph_def(tf.GraphDef.FromString(data), name="", functions=functions)
            element = graph.get_tensor_by_name("element:0")
            if says is None:
                assert session.run(element) == 5.0
            else:
                with pytest.raises(tf.errors.UnimplementedError, match=says):
                    session.run(element)


def test_a_graph_that_is_imported_reads_its_own_tensors():
    limit = tf.constant([1.0, 2.0], name="limit")
    tf.data.Dataset.from_tensor_slices(limit).make_one_shot_iterator().get_next(name="element")
    graph_def = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default() as graph, tf.Session() as session:
        other = tf.constant([7.0, 8.0])
        tf.import_graph_def(graph_def, name="", input_map={"limit:0": other})
        assert session.run("element:0") == 7.0
    with tf.Graph().as_default() as graph, tf.Session() as session:
        for name in "ab":  # two iterators, each for itself
            tf.import_graph_def(graph_def, name=name)
        assert [session.run(graph.get_tensor_by_name(f"{n}/element:0")) for n in "aba"] == [1.0, 1.0, 2.0]


def _of_tensorflow():
    """Returns a GraphDef as TensorFlow writes one of an iterator; see `save` and `restore` of its programs."""
    made = tf.GraphDef()
    element = {"output_types": tf.AttrValue([tf.float32]), "output_shapes": tf.AttrValue([tf.TensorShape([None])])}
    made.node.add(name="x", op="Const", attr={"dtype": tf.AttrValue(tf.float32), "value": tf.AttrValue(np.ones((3, 2), "f"))})
    made.node.add(name="n", op="Const", attr={"dtype": tf.AttrValue(tf.int64), "value": tf.AttrValue(np.array(2))})
    made.node.add(name="TensorSliceDataset", op="TensorSliceDataset", input=["x"], attr=element)
    made.node.add(name="TakeDataset", op="TakeDataset", input=["TensorSliceDataset", "n"], attr=element)
    made.node.add(name="IteratorV2", op="IteratorV2", attr=element | {"shared_name": tf.AttrValue(""),
                                                                      "container": tf.AttrValue("")})
    made.node.add(name="MakeIterator", op="MakeIterator", input=["TakeDataset", "IteratorV2"])
    made.node.add(name="element", op="IteratorGetNext", input=["IteratorV2"], attr=element)
    made.node.add(name="y", op="Square", input=["element"], attr={"T": tf.AttrValue(tf.float32)})
    return tf.GraphDef.FromString(made.SerializeToString())


def test_tensorflows_pipelines_are_loaded_to_be_fed_or_replaced():
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.import_graph_def(_of_tensorflow(), name="")
        y, element = (graph.get_tensor_by_name(name) for name in ("y:0", "element:0"))
        assert element.dtype is tf.float32 and element.shape.as_list() == [None]
        assert session.run(y, {element: [3.0, 4.0]}).tolist() == [9.0, 16.0]
        assert session.run(tf.gradients(y, element)[0], {element: [3.0]}).tolist() == [6.0]
        with pytest.raises(tf.errors.UnimplementedError, match=r"TensorFlow wrote this graph's input pipeline.*input_map"):
            session.run("MakeIterator")
    with tf.Graph().as_default() as graph, tf.Session() as session:
        mine = tf.data.Dataset.from_tensors([5.0]).make_one_shot_iterator().get_next()
        tf.import_graph_def(_of_tensorflow(), name="", input_map={"element:0": mine})
        assert session.run("y:0").tolist() == [25.0]


@pytest.mark.parametrize("text", [
    "{}", "[1]", '[{"object": [0, "Popen", {}]}]', '[{"object": [0, "LostDataset"]}]', '[{"error": "OpError.mro"}]', "nothing",
    '[{"input": 7}]', '[{"nothing": 1}]', '[{"_graph": 1}]',
])
def test_damaged_pipelines_are_refused(text):
    made = tf.GraphDef()
    element = {"output_types": tf.AttrValue([tf.float32]), "output_shapes": tf.AttrValue([tf.TensorShape([])])}
    made.node.add(name="it", op="OneShotIterator", attr=element | {"spec": tf.AttrValue(text)})
    with pytest.raises(ValueError, match="'it': its dataset cannot be read"):
        tf.import_graph_def(tf.GraphDef.FromString(made.SerializeToString()), name="")
