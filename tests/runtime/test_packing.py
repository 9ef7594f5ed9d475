"""Small variables that a program keeps as one array: they are what they would be one by one, whoever asks for them."""

import threading

import numpy as np
import pytest

import regrad as tf
from regrad.core import interrupts
from regrad.runtime import direct, native, packing

pytestmark = pytest.mark.skipif(not native.available("regrad_packed"), reason="regrad was built without its C files")

RUNS = direct.AFTER[0] + 2
SHAPES = [(40, 60), (3, 4), (), (5,), (1,)]


@pytest.fixture(autouse=True)
def compiling(monkeypatch):
    monkeypatch.setattr(tf.config, "host_runs", 0)
    monkeypatch.setattr(tf.config, "tiny_ops", 4)


class Net:
    """Variables that one step replaces by Adam, a large one among them; others, of other types."""

    def __init__(self, session):
        self.session = session
        self.x = tf.placeholder(tf.float32, [None])
        rng = np.random.default_rng(0)
        self.weights = [tf.Variable(rng.standard_normal(s).astype(np.float32)) for s in SHAPES]
        self.count = tf.Variable(np.int64(0), trainable=False)
        self.flag = tf.Variable(False, trainable=False)
        self.half = tf.Variable(np.float16(1), trainable=False)
        self.loss = tf.add_n([tf.reduce_sum(tf.square(w) * tf.reduce_mean(self.x)) for w in self.weights])
        opt = tf.train.AdamOptimizer(0.01)
        train = opt.minimize(self.loss, global_step=self.count)
        self.slot = next(s for s in map(opt.get_slot, self.weights, "m" * len(SHAPES)) if s.shape == (3, 4))
        self.packed = {opt.get_slot(w, name).op for w in self.weights for name in "mv" if w.shape.num_elements() < 1000}
        self.packed |= {self.count.op, self.half.op}
        flip, grow = self.flag.assign(tf.logical_not(self.flag)), self.half.assign_add(0.5)
        self.train = tf.group(train, flip, grow)
        self.all = tf.global_variables()
        session.run(tf.global_variables_initializer())

    def step(self, x=(1.0, 2.0)):
        return self.session.run([self.loss, self.train], {self.x: x})[0]

    def values(self):
        return self.session.run(self.all)

    def pack(self):
        """The Pack that is in use, or None."""
        return next(iter(self.session.state._packs.values()), None)


@pytest.fixture
def net(session):
    return Net(session)


def _same(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-6)


def _without_packs(program):
    """What `program(net)` returns when nothing is packed."""
    with pytest.MonkeyPatch.context() as patched, tf.Graph().as_default(), tf.Session() as session:
        patched.setattr(packing, "_LEAST", 1_000)
        other = Net(session)
        found = program(other)
        assert other.pack() is None
        return found


def _mixed(net):
    """Runs of all kinds, in turns, and what they gave."""
    found, rng = [], np.random.default_rng(1)
    bump, away = net.slot.assign_add(np.ones((3, 4))), tf.variables_initializer([*net.weights[2:4], net.half])
    both = [net.slot, net.weights[4], net.count, net.train]
    for i in range(70):
        kind = rng.integers(9) if i > RUNS else 8
        if kind == 0:
            found += net.values()
        elif kind == 1:
            net.session.run(bump)
        elif kind == 2:
            net.session.run(away)
        elif kind == 3:  # another program of the same variables
            found.append(net.step([1.0, 2.0, 3.0]))
        elif kind == 4:
            found += net.session.run(both, {net.x: [1.0]})[1:3]
        elif kind == 5:
            found.append(net.session.run(net.loss, {net.x: [2.0]}))
        elif kind == 6:
            found.append(net.session.run([net.loss, net.train], {net.x: [1.0, 1.0]}, tf.RunOptions(trace_level=3),
                                         tf.RunMetadata())[0])
        else:
            found += [net.step() for _ in range(rng.integers(1, 12))]
    return [*found, *net.values()]


def test_runs_of_all_kinds_give_what_they_gave(net):
    _same(_mixed(net), _without_packs(_mixed))


def test_what_only_its_update_reads_is_in_one_array(net):
    for _ in range(RUNS):
        net.step()
    state = net.session.state
    pack = net.pack()
    assert set(pack.places) == net.packed
    assert set(state) == {v.op for v in net.all} and len(state) == len(net.all)
    assert net.slot.op in state and state.get(net.slot.op).shape == (3, 4) and state.get(net) is None
    net.values()
    assert net.pack() is pack and state._copies  # reading takes nothing apart
    net.step()
    assert net.pack() is pack and not state._copies
    net.session.run(net.train, {net.x: [1.0]})  # another plan
    net.session.run(net.slot.initializer)
    assert net.pack() is None
    net.step()
    assert net.pack() is pack
    assert len(state._known) == 1


def test_a_step_that_fails_leaves_them_as_they_were(session, monkeypatch):
    x = tf.placeholder(tf.float32, [])
    sums = [tf.Variable(np.zeros(i + 1, np.float32)) for i in range(packing._LEAST)]
    step = tf.group(*[v.assign_add(tf.tanh(x) * np.ones(i + 1, np.float32)) for i, v in enumerate(sums)])
    session.run(tf.global_variables_initializer())
    for _ in range(RUNS):
        session.run(step, {x: 1.0})
    before = session.run(sums)
    (pack,) = set(session.state._packs.values())
    (program,) = pack.programs
    run = program.direct

    def failing(arrays, state):
        run(arrays, state)
        raise MemoryError

    monkeypatch.setattr(program, "direct", failing)
    with pytest.raises(MemoryError):
        session.run(step, {x: 1.0})
    _same(session.run(sums), before)
    monkeypatch.setattr(program, "direct", run)
    session.run(step, {x: 1.0})
    _same(session.run(sums), [v * (RUNS + 1) / RUNS for v in before])


def test_a_variable_without_a_value_is_named(net):
    for _ in range(RUNS):
        net.step()
    net.session.state.clear()
    assert not net.session.state
    with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value Variable"):
        net.step()
    net.session.run(tf.global_variables_initializer())
    net.step()


def test_what_others_replace_all_the_time_is_packed_no_more(net):
    def in_turns(net):
        bump = net.slot.assign_add(np.ones((3, 4))).op
        for _ in range(direct.AFTER[-1] + 2 * packing._PATIENCE):
            net.step()
            net.session.run(bump)
        return net.values()

    found = in_turns(net)
    assert net.pack() is None
    _same(found, _without_packs(in_turns))
    for _ in range(direct.AFTER[-1]):
        net.session.run(net.train, {net.x: [1.0, 2.0]})  # nor by another plan
    assert net.pack() is None


def test_now_and_then_is_no_reason(net):
    for _ in range(2 * packing._PATIENCE):
        net.session.run(net.slot.initializer)
        for _ in range(packing._USEFUL + 1):
            net.step()
    assert net.pack() is not None


def test_threads_train_and_read(net):
    for _ in range(RUNS):
        net.step()
    start, failed = int(net.session.run(net.count)), []
    bump = net.slot.assign_add(np.zeros((3, 4))).op

    def work(k):
        try:
            for i in range(25):
                if k == 2 and i % 5 == 0:
                    net.session.run(bump)
                elif k == 3:
                    count, half = net.session.run([net.count, net.half])
                    assert half == np.float16(1 + count / 2)  # of one step
                else:
                    net.step()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert net.session.run(net.count) == start + 2 * 25 + 20


def test_an_old_value_lives_on(net):
    """What a run has read is its own, though the program's next run makes a new array."""
    for _ in range(RUNS):
        net.step()
    old = net.session.state[net.slot.op]
    kept = old.copy()
    for _ in range(3):
        net.step()
    np.testing.assert_array_equal(old, kept)


def test_an_interrupt_before_the_others_wait_leaves_nothing_behind(monkeypatch):
    """One that comes while Ctrl-C is being taken over is answered, and later ones wait as before."""
    def interrupted(number):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(interrupts._signal, "getsignal", interrupted)
        with pytest.raises(KeyboardInterrupt), interrupts.uninterrupted:
            pass
    assert interrupts.uninterrupted.depth == 0
