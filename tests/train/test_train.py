"""Parts of training that TensorFlow leaves no recording of: constraints, sparse rows, checkpoints, threads."""
import errno
import os
import threading
import time

import numpy as np
import pytest

import regrad as tf
from regrad.core import bundle
from regrad.core.host import HOST
from regrad.core.opdef import find_op
from regrad.ops import train as ops
from regrad.runtime import config


@pytest.fixture(params=["host", "compiled"])
def backend(request, monkeypatch):
    """Everything is executed by NumPy, or everything compiled."""
    for name in ("host_runs", "tiny_ops"):
        monkeypatch.setattr(config, name, 10**9 if request.param == "host" else 0)


def trained(optimizer, loss, steps=1, **kwargs):
    """Runs `minimize` some times and returns the values of the trainable variables."""
    op = optimizer.minimize(loss, **kwargs)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(steps):
            sess.run(op)
        return sess.run(tf.trainable_variables())


# -- optimizers --------------------------------------------------------------------------------------------
def test_constraints_apply_to_the_new_value():
    w = tf.Variable([1.0, -1.0], constraint=lambda x: tf.clip_by_value(x, -1.5, 1.5))

    assert trained(tf.train.GradientDescentOptimizer(1.0), tf.reduce_sum(w * [3.0, 0.25]))[0].tolist() == [-1.5, -1.25]


def test_grad_loss_and_var_list():
    w, v = tf.Variable(1.0), tf.Variable(1.0)
    op = tf.train.GradientDescentOptimizer(0.5).minimize(w * v, var_list=[v], grad_loss=tf.constant(4.0))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(op)
        assert sess.run([w, v]) == [1.0, -1.0]


def test_gradients_may_be_changed_between_the_halves():
    w, unused = tf.Variable([3.0, 4.0]), tf.Variable(1.0)
    optimizer = tf.train.GradientDescentOptimizer(1.0)
    pairs = optimizer.compute_gradients(tf.reduce_sum(w * w), gate_gradients=optimizer.GATE_GRAPH)
    assert [g is None for g, _ in pairs] == [False, True]
    op = optimizer.apply_gradients([(g if g is None else tf.clip_by_norm(g, 5.0), v) for g, v in pairs])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(op)
        np.testing.assert_allclose(sess.run(w), [0.0, 0.0], atol=1e-6)
    assert tf.get_collection(tf.GraphKeys.TRAIN_OP) == [op]
    assert unused.op.name == "Variable_1"


@pytest.mark.parametrize("make", [
    lambda: tf.train.MomentumOptimizer(0.1, 0.9), lambda: tf.train.AdagradOptimizer(0.1), lambda: tf.train.AdamOptimizer(0.1),
    lambda: tf.train.RMSPropOptimizer(0.1), lambda: tf.train.AdadeltaOptimizer(0.1), lambda: tf.train.FtrlOptimizer(0.1),
    lambda: tf.train.GradientDescentOptimizer(0.1)])
def test_untouched_rows_stay_and_repeated_ones_add_up(make, backend):
    def train(ids, weights):
        with tf.Graph().as_default():
            e = tf.Variable(tf.reshape(tf.range(12, dtype=tf.float64), [6, 2]) / 7, name="e")
            rows = tf.gather(e, tf.constant(ids))
            return trained(make(), tf.reduce_sum(rows * np.array(weights)[:, None]))[0]

    repeated = train([4, 1, 4, 4], [1.0, 2.0, 3.0, -1.5])
    once = train([4, 1], [2.5, 2.0])

    np.testing.assert_allclose(repeated, once, rtol=1e-13)
    np.testing.assert_array_equal(repeated[[0, 2, 3, 5]], (np.arange(12.0).reshape(6, 2) / 7)[[0, 2, 3, 5]])
    assert np.all(repeated[[1, 4]] != (np.arange(12.0).reshape(6, 2) / 7)[[1, 4]])


@pytest.mark.parametrize("num_rows", [None, 6])
@pytest.mark.parametrize("indices", [[3, 1, 3, 0, 1], [2], [], [5, 5, 5]])
def test_sum_of_repeated_rows(indices, num_rows, backend):
    values = np.arange(2.0 * len(indices)).reshape(-1, 2)
    sums, rows = ops.sum_repeated_rows(tf.constant(values, tf.float64), tf.constant(indices, tf.int32), num_rows)
    with tf.Session() as sess:
        sums, rows = sess.run([sums, rows])
    inside = rows < 2**31 - 1

    assert sorted(rows[inside].tolist()) == sorted(set(indices))
    assert not sums[~inside].any()
    for row, total in zip(rows[inside], sums[inside]):
        np.testing.assert_array_equal(total, values[[i for i, r in enumerate(indices) if r == row]].sum(0))


def test_sparse_steps_make_no_dense_temporary():
    import jax
    import jax.numpy as jnp

    class Backend:
        np, lax, is_host = jnp, jax.lax, False

    def step(var, accum, grad, indices):
        return find_op("SparseApplyAdagrad").lower(Backend, var, accum, jnp.float32(0.1), grad, indices,
                                                       use_locking=False, update_slots=True)

    big, rows = jax.ShapeDtypeStruct((100_000, 8), "float32"), jax.ShapeDtypeStruct((16, 8), "float32")
    compiled = jax.jit(step, donate_argnums=(0, 1)).lower(big, big, rows, jax.ShapeDtypeStruct((16,), "int32")).compile()

    assert compiled.memory_analysis().temp_size_in_bytes < 100_000
    # Nor is a buffer of that size copied or computed anew: the rows are written into what was given.
    whole = [line for line in compiled.as_text().splitlines() if "f32[100000,8]" in line.split("=")[-1].split("(")[0]]
    assert not [line for line in whole if any(f" {op}(" in line for op in ("copy", "broadcast", "add", "multiply"))]


def test_update_rules_against_their_papers():
    def lower(name, *args, **attrs):
        return ops.OPS[name].lower(HOST, *map(np.float64, args), use_locking=False, **attrs)

    # One step from zero statistics: AdaMax and Adam's first steps are the learning rate, whatever the gradient.
    (w, m, u) = lower("ApplyAdaMax", 1.0, 0.0, 0.0, 0.9, 0.1, 0.9, 0.999, 0.0, 5.0)
    assert np.allclose([w, m, u], [0.9, 0.5, 5.0])
    (w, *_) = lower("ApplyAdam", 1.0, 0.0, 0.0, 0.9, 0.999, 0.1, 0.9, 0.999, 0.0, 5.0, use_nesterov=False)
    assert np.allclose(w, 0.9)
    # AddSign doubles the step where gradient and mean agree, and skips it where they differ.
    assert np.allclose(lower("ApplyAddSign", 1.0, 1.0, 0.1, 1.0, 1.0, 0.9, 2.0)[0], 1 - 0.1 * 2 * 2)
    assert np.allclose(lower("ApplyAddSign", 1.0, -9.0, 0.1, 1.0, 1.0, 0.9, 2.0)[0], 1.0)
    # PowerSign multiplies by its base to the power of that agreement.
    assert np.allclose(lower("ApplyPowerSign", 1.0, -9.0, 0.1, np.log(2.0), 1.0, 0.9, 2.0)[0], 1 - 0.1 * 0.5 * 2)


@pytest.mark.parametrize("make, reference", [
    (lambda: tf.contrib.opt.AdamWOptimizer(0.01, 0.1), lambda: tf.train.AdamOptimizer(0.1)),
    (lambda: tf.contrib.opt.MomentumWOptimizer(0.01, 0.1, 0.9), lambda: tf.train.MomentumOptimizer(0.1, 0.9))])
def test_weight_decay_is_outside_of_the_gradient(make, reference):
    def step(make, **kwargs):
        with tf.Graph().as_default():
            w, b = tf.Variable([1.0, 2.0]), tf.Variable(1.0)
            return trained(make(), tf.reduce_sum(w * w) + b * b, **kwargs)

    (w, b), (plain_w, plain_b) = step(make), step(reference)
    np.testing.assert_allclose(w, plain_w - 0.01 * np.array([1.0, 2.0]), rtol=1e-6)
    np.testing.assert_allclose(b, plain_b - 0.01, rtol=1e-6)


def test_optimizers_derive_from_optimizer_directly():
    """Programs that find the optimizers of `tf.train` by name look at `__base__`."""
    names = [name for name in dir(tf.train) if name.endswith("Optimizer") and name != "Optimizer"]
    assert len(names) == 11 and {getattr(tf.train, name).__base__ for name in names} == {tf.train.Optimizer}


@pytest.mark.parametrize("make", [lambda: tf.contrib.opt.NadamOptimizer(), lambda: tf.contrib.opt.AdaMaxOptimizer(),
                                  lambda: tf.contrib.opt.AddSignOptimizer(), lambda: tf.contrib.opt.PowerSignOptimizer()])
def test_other_optimizers_descend(make):
    optimizer = make()
    w = tf.Variable([1.0, -2.0])
    loss = tf.reduce_sum(w * w)
    before = 5.0
    after = np.sum(np.square(trained(optimizer, loss, steps=5)[0]))
    assert after < before
    with pytest.raises(NotImplementedError, match="takes no sparse gradients"):
        optimizer.minimize(tf.reduce_sum(tf.gather(w, [0])))


# -- checkpoints -------------------------------------------------------------------------------------------
def model():
    w = tf.get_variable("layer/w", [2, 3])
    texts = tf.Variable([b"abc", b"", b"\0x"], name="texts", trainable=False)
    half = tf.Variable(tf.constant([1.5, -2.0], tf.bfloat16), name="half")
    with tf.variable_scope("parts", partitioner=tf.fixed_size_partitioner(2)):
        parts = tf.get_variable("x", [5, 2])
    return [w, texts, half, parts.as_tensor(), tf.get_variable("scalar", [], tf.int64)]


def test_a_checkpoint_gives_back_every_type(tmp_path):
    values = model()
    saver = tf.train.Saver()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        before = sess.run(values)
        path = saver.save(sess, str(tmp_path / "model.ckpt"), global_step=7)
    with tf.Session() as sess:
        saver.restore(sess, path)
        after = sess.run(values)

    assert os.path.basename(path) == "model.ckpt-7"
    for x, y in zip(before, after):
        assert x.dtype == y.dtype
        np.testing.assert_array_equal(x, y)
    assert tf.train.list_variables(path) == [("half", [2]), ("layer/w", [2, 3]), ("parts/x", [5, 2]), ("scalar", []),
                                             ("texts", [3])]
    np.testing.assert_array_equal(tf.train.load_variable(str(tmp_path), "parts/x"), before[3])
    reader = tf.train.NewCheckpointReader(path)
    assert reader.has_tensor("half") and not reader.has_tensor("nothing")
    assert reader.get_variable_to_dtype_map()["half"] == tf.bfloat16


def test_old_checkpoints_are_deleted_and_the_latest_is_known(tmp_path):
    w = tf.Variable(0, name="w")
    saver = tf.train.Saver(max_to_keep=2)
    with tf.Session() as sess:
        sess.run(w.initializer)
        paths = [saver.save(sess, str(tmp_path / "m"), step) for step in (1, 2, 3)]
        assert saver.last_checkpoints == paths[1:]
    state = tf.train.get_checkpoint_state(str(tmp_path))

    assert [tf.train.checkpoint_exists(p) for p in paths] == [False, True, True]
    assert tf.train.latest_checkpoint(str(tmp_path)) == paths[2] == state.model_checkpoint_path
    assert state.all_model_checkpoint_paths == paths[1:]
    assert tf.train.latest_checkpoint(str(tmp_path / "elsewhere")) is None
    assert sorted(os.listdir(tmp_path)) == ["checkpoint", *(f"m-{step}.{ending}" for step in (2, 3) for ending in (
        "data-00000-of-00001", "index", "meta"))]


def test_relative_paths_move_with_their_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    w = tf.Variable(3.0, name="w")
    saver = tf.train.Saver(save_relative_paths=True)
    with tf.Session() as sess:
        sess.run(w.initializer)
        saver.save(sess, "run/m")
    (tmp_path / "run").rename(tmp_path / "moved")

    assert tf.train.latest_checkpoint("moved") == os.path.join("moved", "m")


def test_a_save_that_fails_leaves_the_older_checkpoint_and_nothing_else(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    v = tf.get_variable("v", [], initializer=tf.ones_initializer())
    saver, prefix = tf.train.Saver(), str(tmp_path / "model")
    with tf.Session() as sess:
        sess.run(v.initializer)
        saver.save(sess, prefix)
        files = sorted(os.listdir(tmp_path))
        monkeypatch.setattr(bundle, "table_bytes", full)
        with pytest.raises(tf.errors.ResourceExhaustedError, match="No space left"):
            saver.save(sess, prefix)
        saver.restore(sess, prefix)

    assert sorted(os.listdir(tmp_path)) == files


def test_what_a_checkpoint_lacks_or_has_otherwise_is_refused(tmp_path):
    w = tf.Variable([1.0, 2.0], name="w")
    with tf.Session() as sess:
        sess.run(w.initializer)
        path = tf.train.Saver().save(sess, str(tmp_path / "m"))
        with pytest.raises(tf.errors.NotFoundError, match="Key v not found in checkpoint"):
            tf.train.Saver({"v": w}).restore(sess, path)
        longer = tf.Variable([1.0, 2.0, 3.0], name="longer")
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"lhs shape= \[3\] rhs shape= \[2\]"):
            tf.train.Saver({"w": longer}).restore(sess, path)
        with pytest.raises(ValueError, match="doesn't exist, can't save"):
            tf.train.Saver([w]).save(sess, str(tmp_path / "no" / "m"))
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value longer"):
            tf.train.Saver([w, longer]).save(sess, str(tmp_path / "m"))
        with open(path + ".index", "w") as file:
            file.write("{}")
        with pytest.raises(tf.errors.DataLossError, match="index: the file is no table"):
            tf.train.Saver([w]).restore(sess, path)
    with pytest.raises(ValueError, match="same name: w"):
        tf.train.Saver([w, w])


def test_a_checkpoint_can_change_shape_and_be_where_variables_start(tmp_path):
    w = tf.Variable([[1.0, 2.0]], name="scope/w")
    with tf.Session() as sess:
        sess.run(w.initializer)
        path = tf.train.Saver().save(sess, str(tmp_path / "m"))
    with tf.Graph().as_default():
        v = tf.Variable([0.0, 0.0], name="v")
        u = tf.Variable([[0.0, 0.0]], name="other/w")
        twice = tf.Variable(lambda: 2 * u)
        with tf.Session() as sess:
            tf.train.Saver({"scope/w": v}, reshape=True).restore(sess, path)
            assert sess.run(v).tolist() == [1.0, 2.0]
        tf.train.init_from_checkpoint(path, {"scope/": "other/"})
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            assert sess.run(u).tolist() == [[1.0, 2.0]]
            assert sess.run(twice).shape == (1, 2)
        with pytest.raises(ValueError, match="not found in"):
            tf.train.init_from_checkpoint(path, {"scope/x": u})


def test_averages_are_restored_in_place_of_variables(tmp_path):
    w = tf.Variable(1.0, name="w")
    ema = tf.train.ExponentialMovingAverage(0.5)
    with tf.control_dependencies([w.assign(5.0)]):
        op = ema.apply()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(op)
        path = tf.train.Saver().save(sess, str(tmp_path / "m"))
        tf.train.Saver(ema.variables_to_restore()).restore(sess, path)
        assert sess.run(w) == 3.0


# -- threads -----------------------------------------------------------------------------------------------
def test_threads_stop_together():
    coord, turns = tf.train.Coordinator(), []

    def work():
        while not coord.should_stop():
            turns.append(1)
            time.sleep(0.001)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    assert not coord.wait_for_stop(0.01)
    coord.request_stop()
    coord.join(threads)

    assert turns and coord.joined and not any(t.is_alive() for t in threads)


def test_a_threads_exception_reaches_the_main_one():
    coord = tf.train.Coordinator()

    def fail():
        with coord.stop_on_exception():
            raise ValueError("in a thread")

    thread = threading.Thread(target=fail)
    thread.start()
    with pytest.raises(ValueError, match="in a thread"):
        coord.join([thread])
    coord.clear_stop()
    coord.request_stop(tf.errors.OutOfRangeError(None, None, "the end"))
    coord.join([])


def test_a_looper_repeats_and_queue_runners_run_their_ops():
    coord, count = tf.train.Coordinator(), []
    tf.train.LooperThread.loop(coord, 0.001, target=count.append, args=(1,))
    counter = tf.Variable(0, name="counter")
    runner = tf.train.QueueRunner(enqueue_ops=[tf.count_up_to(counter, 20).op])
    tf.train.add_queue_runner(runner)
    with tf.Session() as sess:
        sess.run(counter.initializer)
        threads = tf.train.start_queue_runners(sess, coord)
        threads[0].join(10)
        assert sess.run(counter) == 20
        while len(count) < 3:
            time.sleep(0.001)
        coord.request_stop()
        coord.join(threads)
    assert runner.exceptions_raised == []


def test_an_optimizer_written_for_resources():
    from regrad.python.ops import gen_training_ops, resource_variable_ops

    class Mine(tf.train.Optimizer):
        def __init__(self):
            super().__init__(False, "Mine")

        def _create_slots(self, var_list):
            for v in var_list:
                self._zeros_slot(v, "m", self._name)

        def _resource_apply_dense(self, grad, var):
            m = self.get_slot(var, "m")
            return gen_training_ops.resource_apply_momentum(var.handle, m.handle, 0.5, grad, 0.9, use_nesterov=True)

        def _resource_apply_sparse(self, grad, var, indices):
            with tf.control_dependencies([resource_variable_ops.resource_scatter_add(var.handle, indices, -0.5 * grad)]):
                return tf.no_op()

    v, rows = tf.Variable([1.0, 2.0]), tf.Variable([[1.0], [2.0]])
    loss = tf.reduce_sum(v * v) + 3.0 * tf.reduce_sum(tf.gather(rows, [1, 1]))
    step = Mine().minimize(loss)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(step)
        np.testing.assert_allclose(sess.run(v), [1 - 0.5 * (2 + 0.9 * 2), 2 - 0.5 * (4 + 0.9 * 4)])
        np.testing.assert_allclose(sess.run(rows), [[1.0], [2.0 - 0.5 * 6]])
        sess.run(tf.raw_ops.AssignAddVariableOp(resource=v.handle, value=[1.0, 1.0]))
        np.testing.assert_allclose(sess.run(v), [0.1, -0.8], rtol=1e-5)
    assert tf.raw_ops.ResourceApplyRMSProp and gen_training_ops.resource_apply_rms_prop
    with pytest.raises(NotImplementedError, match="_apply_dense"):
        tf.train.Optimizer(False, "Nothing").minimize(loss)


def test_subclasses_find_what_they_lean_on():
    class Accumulating(tf.train.AdamOptimizer):  # keeps gradients, and applies the mean of two
        def _create_slots(self, var_list):
            super()._create_slots(var_list)
            for v in var_list:
                self._zeros_slot(v, "sum", self._name)

        def _resource_apply_dense(self, grad, var):
            total = self.get_slot(var, "sum")
            with tf.control_dependencies([total.assign_add(grad)]):
                return super()._resource_apply_dense(total.read_value() / 2.0 * tf.cast(self._beta1_t, var.dtype), var)

    class Rows(tf.train.AdamOptimizer):
        def _apply_sparse_shared(self, grad, var, indices, scatter_add):
            return scatter_add(var, indices, -self._lr_t * grad)

    v, w = tf.get_variable("v", initializer=[1.0, 2.0]), tf.get_variable("w", initializer=[[1.0], [2.0]])
    keeping, rows, plain = Accumulating(0.1, beta1=0.5), Rows(0.5), tf.train.MomentumOptimizer(1.0, 0.5)
    first = keeping.apply_gradients([(tf.constant([4.0, 8.0]), v)])
    second = rows.apply_gradients([(tf.IndexedSlices([[1.0], [1.0]], [0, 0], [2, 1]), w)])
    plain._learning_rate = 2.0  # read when the gradients are applied
    third = plain.apply_gradients([(tf.constant([1.0, 1.0]), v)])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(first)
        np.testing.assert_allclose(sess.run([v, keeping.get_slot(v, "m")]), [[0.9, 1.9], [0.5, 1.0]], rtol=1e-5)
        sess.run(second)
        assert sess.run(w).tolist() == [[0.0], [2.0]]
        sess.run(third)
        np.testing.assert_allclose(sess.run(v), [-1.1, -0.1], rtol=1e-5)
        assert sess.run([plain._learning_rate_tensor, plain._momentum_tensor]) == [2.0, 0.5]
