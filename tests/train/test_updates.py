"""Optimizers' steps by `runtime/updates.c`: values by all kernels, in programs, and which ones."""


import jax
import numpy as np
import pytest

import regrad as tf
from regrad.core.host import HOST
from regrad.ops import train
from regrad.runtime import backend, foreign, native, program
from tests import c_library

NUMBERS = {"beta1_power": 0.5, "beta2_power": 0.9, "lr": 0.1, "beta1": 0.7, "beta2": 0.9, "epsilon": 1e-3, "alpha": 0.1,
           "momentum": 0.9, "rho": 0.8}  # fmt: skip
ATTRS = {"ApplyMomentum": ["use_nesterov"], "ApplyAdam": ["use_nesterov"], "ApplyAdagrad": ["update_slots"]}


def _operands(op_type, shape):
    """Returns operands for an op: float32 arrays, numbers, and how many refs there are."""
    rng = np.random.default_rng(0)
    _, refs, operands, *_ = next(row for row in train._RULES if row[0] == op_type)
    arrays = [np.abs(rng.standard_normal(shape, np.float32)) for _ in refs.split()]
    arrays += [np.float32(NUMBERS[name]) if name in NUMBERS else rng.standard_normal(shape, np.float32)
               for name in operands.split()]
    return arrays, len(refs.split())


def _expected(op_type, attrs, arrays):
    return train.OPS[op_type].lower(HOST, *(np.asarray(a, np.float64)[()] for a in arrays), use_locking=False, **attrs)


@c_library.needs_compiler
@pytest.mark.parametrize("kernel", c_library.PROCESSORS)
def test_values_by_all_kernels(kernel, tmp_path, monkeypatch):
    target = f"regrad_update {kernel}"
    handler = c_library.built(tmp_path, *c_library.PROCESSORS[kernel], names=("updates", "products", "sharing")).regrad_update
    jax.ffi.register_ffi_target(target, jax.ffi.pycapsule(handler), platform="cpu")
    monkeypatch.setattr(train, "_TARGET", target)
    monkeypatch.setattr(train, "_LEAST_ALONE", 0)
    monkeypatch.setattr(native, "serves", lambda target: True)
    for (op_type, *values) in train._BY_C:
        attrs = dict(zip(ATTRS.get(op_type, ()), values))
        for shape in ((), (37,), (300, 500)):  # less than a vector, vectors and a rest, blocks for several threads
            arrays, n = _operands(op_type, shape)
            found = jax.jit(lambda *a, op_type=op_type, attrs=attrs: train.OPS[op_type].lower(
                backend.XLA, *a, use_locking=False, **attrs))(*arrays)
            assert len(found) == n
            for got, wanted in zip(found, _expected(op_type, attrs, arrays)):
                np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6, err_msg=op_type)


@pytest.mark.skipif(not native.available(train._TARGET), reason="there was no C compiler")
def test_which_steps_it_computes(monkeypatch):
    """Others are XLA's; either way variables that another part of the run reads keep their old values for it."""
    monkeypatch.setattr(tf.config, "host_runs", 0)
    monkeypatch.setattr(tf.config, "tiny_ops", 0)
    monkeypatch.setattr(tf.config, "cache_dir", None)
    made, overwrite = [], foreign.overwrite
    monkeypatch.setattr(foreign, "overwrite", lambda *args, **kwargs: made.append(args[1]) or overwrite(*args, **kwargs))

    def trained(optimizer, dtype, native=True):
        monkeypatch.setattr(tf.config, "native", native)
        made.clear()
        with tf.Graph().as_default(), tf.Session() as session:
            w = tf.Variable(np.linspace(-1, 1, 6).reshape(2, 3), dtype=dtype)
            before = w * 2
            step = optimizer().minimize(tf.reduce_sum(tf.square(w - 3)))
            session.run(tf.global_variables_initializer())
            old = session.run(w)
            np.testing.assert_allclose(session.run([before, step])[0], 2 * old, rtol=1e-6)
            session.run(step)
            return session.run(w), list(made)

    for optimizer, slots in ((lambda: tf.train.AdamOptimizer(0.1), 3), (lambda: tf.train.MomentumOptimizer(0.1, 0.9), 2)):
        by_c, calls = trained(optimizer, tf.float32)
        assert set(calls) == {slots}
        by_xla, calls = trained(optimizer, tf.float32, native=False)
        assert not calls
        np.testing.assert_allclose(by_c, by_xla, rtol=1e-5)
    assert not trained(lambda: tf.train.AdamOptimizer(0.1), tf.float64)[1]
    assert not trained(lambda: tf.train.FtrlOptimizer(0.1), tf.float32)[1]
    assert not trained(lambda: tf.train.GradientDescentOptimizer(0.1), tf.float32)[1]


@pytest.mark.skipif(not native.available(train._TARGET), reason="there was no C compiler")
def test_weights_are_overwritten_without_copies(monkeypatch):
    """XLA sees that the product which takes a gradient on to the layer before comes first, and copies no weights."""
    monkeypatch.setattr(tf.config, "host_runs", 0)
    monkeypatch.setattr(tf.config, "cache_dir", None)
    compiled, compile_function = [], backend.compile_function
    monkeypatch.setattr(backend, "compile_function", lambda *args: compiled.append(compile_function(*args)) or compiled[-1])
    with tf.Graph().as_default(), tf.Session() as session:
        h = x = tf.placeholder(tf.float32, [8, 33])
        for i in range(3):
            h = tf.tanh(tf.matmul(h, tf.Variable(tf.ones([33, 33]), name=f"w{i}")))
        step = tf.train.AdamOptimizer().minimize(tf.reduce_sum(h))
        session.run(tf.global_variables_initializer())
        session.run(step, {x: np.ones((8, 33))})
    assert not [line for line in compiled[-1].as_text().splitlines() if "f32[33,33]" in line and " copy(" in line]


# Small gradients are not divided by themselves, which would make rounding errors large.
OPTIMIZERS = {
    "gradient descent": lambda: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "Nesterov": lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "Adam": lambda: tf.train.AdamOptimizer(0.01, epsilon=0.01),
    "Adagrad": lambda: tf.train.AdagradOptimizer(0.1),
    "RMSProp": lambda: tf.train.RMSPropOptimizer(0.01, momentum=0.5, epsilon=0.01),
}


def _two_layers(monkeypatch, optimizer, **settings):
    """Returns the weights of two layers after three steps, and the op types of steps that the program has."""
    for name, value in {"cache_dir": None, "host_runs": 0, "native": True, **settings}.items():
        monkeypatch.setattr(tf.config, name, value)
    seen, rewritten = set(), program.rewritten

    def noted(*args):
        nodes = rewritten(*args)
        seen.update(n.op.type for n in nodes if n.op.type.startswith("Apply") and n.op.inputs[0].shape.ndims == 2)
        return nodes

    with monkeypatch.context() as m, tf.Graph().as_default(), tf.Session() as session:
        m.setattr(program, "rewritten", noted)
        rng = np.random.default_rng(1)
        x = tf.placeholder(tf.float32, [50, 300])
        weights = [tf.Variable(rng.standard_normal(shape, np.float32) / 20) for shape in ((300, 333), (333, 200))]
        h = tf.tanh(tf.matmul(x, weights[0]) + tf.Variable(tf.zeros([333])))
        step = optimizer().minimize(tf.reduce_mean(tf.square(tf.matmul(h, weights[1]) - 1)))
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(step, {x: rng.standard_normal((50, 300), np.float32)})
        return session.run(weights), seen


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_of_weights_by_the_product_that_is_their_gradient(name, monkeypatch):
    plain, _ = _two_layers(monkeypatch, OPTIMIZERS[name], native=False)
    for settings in ({}, {"host_runs": 9}):
        found, types = _two_layers(monkeypatch, OPTIMIZERS[name], **settings)
        assert types and all(t.endswith("ByProduct") for t in types)
        for got, wanted in zip(found, plain):
            np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-6)


def test_a_gradient_that_something_else_reads_is_made(monkeypatch):
    monkeypatch.setattr(tf.config, "cache_dir", None)
    monkeypatch.setattr(tf.config, "host_runs", 0)
    with tf.Graph().as_default(), tf.Session() as session:
        x, w = tf.constant(np.ones((4, 300), np.float32)), tf.Variable(tf.ones([300, 300]))
        optimizer = tf.train.GradientDescentOptimizer(1.0)
        ((grad, _),) = pairs = optimizer.compute_gradients(tf.reduce_sum(tf.matmul(x, w)), [w])
        step = optimizer.apply_gradients(pairs)
        session.run(tf.global_variables_initializer())
        got, _ = session.run([grad, step])
        assert (got == 4).all() and (session.run(w) == -3).all()


@pytest.mark.skipif(not native.available(train._BY_PRODUCT), reason="there was no C compiler")
def test_weights_that_a_step_by_a_product_overwrites_are_read_before(monkeypatch):
    """What reads the old weights, beside or after the step, gets the old ones."""
    monkeypatch.setattr(tf.config, "cache_dir", None)
    monkeypatch.setattr(tf.config, "host_runs", 0)
    with tf.Graph().as_default(), tf.Session() as session:
        x, w = tf.placeholder(tf.float32, [8, 300]), tf.Variable(tf.ones([300, 300]))
        y, old = tf.matmul(tf.tanh(tf.matmul(x, w)), w), w * 2
        step = tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_sum(tf.matmul(y, w)), var_list=[w])
        session.run(tf.global_variables_initializer())
        before, got, _ = session.run([w.read_value(), old, step], {x: np.ones((8, 300))})
        np.testing.assert_array_equal(got, 2 * before)
