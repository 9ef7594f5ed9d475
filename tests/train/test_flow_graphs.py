"""Loops, branches and functions of graphs that TensorFlow wrote: values and derivatives are TensorFlow's."""

import numpy as np
import pytest

import regrad as tf
from tests.train import flow_graphs

RECORDED = np.load(flow_graphs.FILE)
ROWS = sorted(key.removesuffix(".graph") for key in RECORDED.files if key.endswith(".graph"))


def _imported(key):
    graph_def = tf.GraphDef.FromString(RECORDED[f"{key}.graph"].tobytes())
    return tf.import_graph_def(graph_def, return_elements=["y:0"])[0]


@pytest.mark.parametrize("key", ROWS)
def test_values_and_derivatives(key):
    name, version = key.split(".")
    _, shapes, ints, only, order = flow_graphs.PROGRAMS[name]
    y = _imported(key)
    feeds = [tf.get_default_graph().get_tensor_by_name(f"import/x{i}:0") for i in range(len(shapes) + len(ints))]
    xs = feeds[:len(shapes)]

    got = [y, *(tf.gradients(y, xs) if order else [])]
    if order > 1 and (version == "v1" or only):
        got += tf.gradients(tf.add_n([tf.reduce_sum(g * g) for g in got[1:]]), xs)

    with tf.Session() as session:
        got = session.run(got, dict(zip(feeds, flow_graphs._values(shapes, ints))))
    for i, value in enumerate(got):
        np.testing.assert_allclose(value, RECORDED[f"{name}.{i}"], rtol=1e-9, atol=1e-9, err_msg=f"{key} {i}")
