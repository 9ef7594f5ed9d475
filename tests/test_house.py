"""The rules of the house: which way imports point, what importing costs, and that the public names exist."""

import ast
import functools
import graphlib
import importlib
import pathlib
import subprocess
import sys

import pytest

import regrad

PACKAGE = pathlib.Path(regrad.__file__).parent
ORDER = ["core", "ops", "autodiff", "variables", "train", "layers"]  # each may import those before it
ALLOWED = {
    # rules of loops and branches walk their bodies, and ask whether a loop can be compiled; that of a cast, whether a bridge is
    # there to cross
    ("ops", "autodiff"): {"regrad/ops/flow_grad.py", "regrad/ops/math_grad.py"},
    ("ops", "runtime"): {"regrad/ops/flow_grad.py"},
    # the calls of a function share its variables, those that compute it again too
    ("autodiff", "variables"): {"regrad/autodiff/defun.py", "regrad/autodiff/custom.py"},
    ("autodiff", "train"): {"regrad/autodiff/rules.py"},  # a schedule is a function of the global step
}


@functools.cache
def _tree(path):
    return ast.parse(path.read_text())


def _imports(path):
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, node.lineno


def _arrows():
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).parts
        layer = parts[0] if len(parts) > 1 else None
        for module, line in _imports(path):
            yield path, layer, module, line


def test_imports_point_one_way():
    wrong = []
    for path, layer, module, line in _arrows():
        target = module.split(".")[1] if module.startswith("regrad.") else None
        if layer in ORDER and target in ORDER and ORDER.index(target) > ORDER.index(layer):
            where = f"regrad/{path.relative_to(PACKAGE)}"
            if where not in ALLOWED.get((layer, target), ()):
                wrong.append(f"{where}:{line} imports {module}")
        if layer == "runtime" and target in ("ops", "autodiff"):
            wrong.append(f"{path.name}:{line} imports {module}")
    assert wrong == []


def test_no_module_imports_itself_through_others():
    # Such a circle fails or holds depending on which of its modules a program needs first.
    paths = {".".join(("regrad", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): path
             for path in PACKAGE.rglob("*.py")}
    needs = {}
    for module, path in paths.items():
        found = [f"{node.module}.{alias.name}" for node in _tree(path).body
                 if isinstance(node, ast.ImportFrom) and node.module for alias in node.names]
        needs[module] = {name if name in paths else name.rpartition(".")[0] for name in found} & paths.keys() - {module}
    graphlib.TopologicalSorter(needs).prepare()  # CycleError names the circle


def test_only_the_runtime_imports_jax():
    wrong = [f"{path.relative_to(PACKAGE)}:{line}" for path, layer, module, line in _arrows()
             if module.split(".")[0] in ("jax", "jaxlib") and layer != "runtime"]
    assert wrong == []


@pytest.mark.parametrize("program", ["import regrad", """
import regrad as tf
x = tf.constant([1.0, 2.0])
g = tf.gradients(tf.reduce_sum(x * x), x)
assert tf.Session().run(g)[0].tolist() == [2.0, 4.0]
""", """
import regrad as tf
x, y = tf.train.shuffle_batch(tf.train.slice_input_producer([tf.ones([9, 8, 8, 3]), tf.zeros([9], tf.int64)]), 4, 20, 9)
x = tf.image.random_flip_left_right(tf.image.resize_images(x, [6, 6]))
h = tf.contrib.layers.batch_norm(tf.contrib.layers.conv2d(x, 4, 3))
loss = tf.losses.sparse_softmax_cross_entropy(y, tf.layers.dense(tf.layers.flatten(h), 2))
tf.summary.scalar("loss", loss)
tf.metrics.mean(loss)
step = tf.train.get_or_create_global_step()
tf.train.AdamOptimizer().minimize(loss, step)
tf.train.Supervisor()
for space in (tf.nn, tf.image, tf.sparse, tf.io, tf.train, tf.metrics, tf.sets, tf.graph_util):
    assert all(getattr(space, name) is not None for name in space.__all__)
"""], ids=["import", "a small program", "a graph that is built"])
def test_jax_is_not_loaded_by(program):
    code = program + "\nimport sys; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=PACKAGE.parent).returncode == 0


@pytest.mark.parametrize("name", regrad.__all__)
def test_public_name_exists(name):
    assert getattr(regrad, name) is not None or name == "newaxis"


def test_an_unknown_name_gets_the_nearest():
    with pytest.raises(AttributeError, match="did you mean 'placeholder'"):
        regrad.placeholdr  # noqa: B018


def test_every_family_is_listed():
    from regrad.ops import FAMILIES

    files = {p.stem for p in (PACKAGE / "ops").glob("*.py")} - {"__init__"}
    helpers = {"hosted", "window", "convolve", "dilated", "reducing", "ordering", "arcs", "turns"}  # without ops
    assert files - helpers <= set(FAMILIES)
    for family in FAMILIES:
        importlib.import_module(f"regrad.ops.{family}")


def test_namespaces_load_what_is_used():
    ran = _alone("""
import sys
import regrad as tf
assert all((tf.contrib, tf.data, tf.estimator, tf.inspect, tf.io, tf.keras, tf.math, tf.nn, tf.saved_model, tf.train))
assert not any(m.startswith("regrad.ops") for m in sys.modules)
""")
    assert ran.returncode == 0, ran.stderr


def _alone(program):
    return subprocess.run([sys.executable, "-c", program], cwd=PACKAGE.parent, capture_output=True, text=True)


def test_gradients_load_the_families_they_meet():
    ran = _alone("""
import sys
import regrad as tf
x = tf.constant([1.0, 2.0])
assert tf.gradients(tf.reduce_sum(tf.square(x)), x)[0] is not None
print(" ".join(m for m in sys.modules if m.startswith("regrad.ops.")))
""")
    assert ran.returncode == 0, ran.stderr
    loaded = ran.stdout.split()
    assert {"regrad.ops.math_grad", "regrad.ops.reduce_grad"} <= set(loaded)
    assert set(loaded).isdisjoint({"regrad.ops.image", "regrad.ops.conv", "regrad.ops.linalg_grad", "regrad.ops.strings"})


@pytest.mark.parametrize("program, error", [
    ("tf.RegisterGradient('Svd')(lambda op, *dy: None)", "KeyError: \"Registering two gradient with name 'Svd'!"),
    ("tf.RegisterGradient('Zeta')(lambda op, *dy: None)", "KeyError: \"Registering two gradient with name 'Zeta'!"),
    ("tf.vjp_of_lowering('MatMul')", "KeyError: \"Registering two gradient with name 'MatMul'!"),
    ("tf.define_op('Svd', 'x: T', infer=None)", "ValueError: define_op: op type 'Svd' is defined already."),
    ("tf.get_default_graph().gradient_override_map({'Sv': 'Svd'}).__enter__()", "did you mean 'Svd'"),
    ("x = tf.constant(1.0); tf.gradients(tf.exp(x), x, overrides={'Exp': 'Sgvd'})", "did you mean 'Svd'"),
])
def test_what_is_not_loaded_yet_is_known(program, error):
    assert error in _alone(f"import regrad as tf\n{program}").stderr


def test_loading_jax_leaves_the_random_numbers_of_numpy_alone():
    done = _alone("""
import sys
import numpy as np
import regrad as tf
tf.config.host_runs = tf.config.tiny_ops = 0
x = tf.placeholder(tf.float32, [3, 3])
np.random.seed(0)
before = np.random.get_state()[2], np.random.rand
with tf.Session() as sess:
    sess.run(tf.tanh(x), {x: np.ones([3, 3])})
assert 'jax' in sys.modules
assert before == (np.random.get_state()[2], np.random.rand)
""")

    assert done.returncode == 0, done.stderr


def test_threads_that_load_jax_at_once_leave_the_random_numbers_of_numpy_alone():
    done = _alone("""
import sys, threading
import numpy as np
from regrad.runtime.loading import import_jax
sys.setswitchinterval(1e-6)
before = np.random.rand
threads = [threading.Thread(target=lambda: [import_jax() for _ in range(200)]) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert np.random.rand == before
""")

    assert done.returncode == 0, done.stderr
