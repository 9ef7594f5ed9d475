"""Names that people know from PyTorch, JAX and Keras, or that TensorFlow 1 has and Regrad not: errors say what to write."""

import importlib
import re
import subprocess
import sys
import types

import pytest

import regrad as tf
from regrad import compat
from regrad.core import absent, symbolic


def _find(path):
    value = tf
    for part in path.split("."):
        value = getattr(value, part)
    return value


@pytest.mark.parametrize("name, says", [
    ("hvp", "tf.hessian_vector_product"), ("vjp", "grad_ys="), ("grad", "tf.gradients"),
    ("grad_reverse", "tf.reverse_gradient"), ("GradReverse", "tf.reverse_gradient"), ("no_grad", "tf.stop_gradient"),
    ("ste", "tf.straight_through"),
    ("detach", "tf.stop_gradient"), ("rules.pcgrad", "pcgrad"), ("rules.lrp", "rules.lrp_epsilon"), ("sel.regex", "sel.name"),
    ("keras.optimizers.AdamW", "tf.contrib.opt.AdamWOptimizer"), ("losses.mse", "tf.losses.mean_squared_error"),
    ("function", "built once"), ("GradientTape", "tf.gradients"), ("nn.Linear", "tf.layers.dense"), ("optim", "tf.train"),
    ("nn.functional", "tf.nn"), ("contrib.gan", "two optimizers"), ("vmap", "tf.vectorized_map"),
    # a namespace that lists its own names finds the nearest
    ("losses.mean_squared_eror", "did you mean 'mean_squared_error'"), ("keras.optimizers.Adan", "did you mean 'Adam"),
    ("keras.layers.Dens", "did you mean 'Dense'"), ("keras.regularizers.nothing_at_all", "it has "),
])
def test_a_guessed_name_is_told_what_to_write(name, says):
    with pytest.raises(AttributeError, match=re.escape(says)):
        _find(name)


@pytest.mark.parametrize("use, says", [
    (lambda x: x.grad, "use tf.gradients(y, x)"), (lambda x: x.backward(), "use tf.gradients(y, xs)"),
    (lambda x: x.detach(), "use tf.stop_gradient(x)"), (lambda x: x.requires_grad_(), "tf.gradients(y, x)"),
    (lambda x: x.requires_grad, "keeps nothing between runs"), (lambda x: x.register_hook(print), "overrides="),
    (lambda x: x.cuda(), "XLA places"), (lambda x: x.float(), "tf.cast"), (lambda x: x.unsqueeze(0), "tf.expand_dims"),
])
@pytest.mark.parametrize("made", [lambda: tf.constant(1.0), lambda: tf.Variable(1.0)], ids=["tensor", "variable"])
def test_what_tensors_of_other_libraries_have(made, use, says):
    with pytest.raises(AttributeError, match=re.escape(says) + r"|" + re.escape(says.replace("x", "v"))) as error:
        use(made())
    assert "test_guesses.py" in str(error.value)


def test_all_that_is_recommended_is_there():
    words = {**absent.guessed(), **absent.ABSENT, **symbolic._INSTEAD}
    named = {name for text in words.values() for name in re.findall(r"\btf\.((?:\w+\.)*\w+)", text)}
    named |= {name for text in words.values() for name in re.findall(r"(?<![\w.])((?:rules|sel)\.\w+)", text)}
    assert len(named) > 80
    assert [name for name in sorted(named) if not _there(name)] == []


def _there(name):
    try:
        return _find(name) is not None
    except AttributeError:
        return False


def test_what_is_guessed_is_not_there():
    assert [name for name in {**absent.guessed(), **absent.ABSENT} if _there(name)] == []


@pytest.mark.parametrize("module", ["tensorflow.contrib.gan", "tensorflow.contrib.boosted_trees",
                                    "tensorflow.contrib.session_bundle", "tensorflow.examples.tutorials.mnist"])
def test_missing_modules(module):
    was = compat.installed()
    compat.install()
    try:
        with pytest.raises(ImportError, match="; here: |Regrad leaves"):
            importlib.import_module(module)
        package, _, name = module.rpartition(".")
        with pytest.raises(ImportError, match="; here: |Regrad leaves"):
            exec(f"from {package} import {name}")
    finally:
        if not was:
            compat.uninstall()


def test_imports_from_the_package():
    with pytest.raises(ImportError, match="tf.hessian_vector_product"):
        exec("from regrad import hvp")
    with pytest.raises(ImportError, match="tf.keras"):
        importlib.import_module("regrad.contrib.keras")
    with pytest.raises(ImportError):
        importlib.import_module("regrad.nothing")
    assert importlib.util.find_spec("regrad.nothing") is None


def _namespaces():
    """Returns all modules that are reached from `tf` by public names."""
    found, todo = {}, [tf]
    while todo:
        module = todo.pop()
        if module.__name__ in found or not module.__name__.startswith("regrad"):
            continue
        found[module.__name__] = module
        todo += [v for v in (getattr(module, n) for n in dir(module)) if isinstance(v, types.ModuleType)]
    return found


def test_completion_shows_public_names_only():
    namespaces = _namespaces()
    assert len(namespaces) > 60
    for name, module in namespaces.items():
        shown = dir(module)
        assert shown == sorted(set(shown)), name
        assert [n for n in shown if n.startswith("_")] == [], name
        assert [n for n in shown if not hasattr(module, n)] == [], name
        strangers = [n for n in shown if isinstance(getattr(module, n), types.ModuleType)
                     and not getattr(module, n).__name__.startswith("regrad") and (name, n) != ("regrad.test", "mock")]
        assert strangers == [], name


def test_completion_in_a_fresh_process():
    program = ("import regrad as tf; assert 'jax' not in __import__('sys').modules; names = dir(tf); "
               "assert 'Variable' in names and 'newaxis' in names and 'keras' in names, names; "
               "assert not [n for n in names if n[0] == '_' or n == 'importlib'], names; "
               "assert 'Adam' in dir(tf.keras.optimizers) and 'np' not in dir(tf.keras.optimizers)")
    subprocess.run([sys.executable, "-c", program], check=True)
