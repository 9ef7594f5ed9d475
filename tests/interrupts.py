"""Ctrl-C and `kill -9` at random moments: how often is something lost, and does the process go on working?

    python tests/interrupts.py import 100        # processes, each interrupted once while it loads JAX and compiles
    python tests/interrupts.py compile 100       # moments of one process; also background, save, export, events
    python tests/interrupts.py kill 250          # trainings that are killed, and go on from their last checkpoint
    python tests/interrupts.py all               # what docs/testing.md reports

Each prints what happened how often; whatever is lost ends it with an error. `--seed N` draws other moments.
"""

import argparse
import collections
import gc
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

import regrad as tf

SIZE = 40


def _network(depth=3):
    """Returns (feed, step, variables) of a small program that learns by Adam; `depth` makes another program of it."""
    x = tf.placeholder(tf.float32, [8, SIZE])
    y = x
    for _ in range(depth):
        y = tf.layers.dense(y, SIZE, tf.tanh)
    step = tf.train.AdamOptimizer(0.01).minimize(tf.reduce_mean(tf.square(y - 0.5)), tf.train.get_or_create_global_step())
    return {x: np.linspace(0, 1, 8 * SIZE, dtype=np.float32).reshape(8, SIZE)}, step, tf.global_variables()


class _CtrlC:
    """Context manager: Ctrl-C comes `after` so many seconds, if the block takes so long; `came` tells.

    Attributes:
      took: how many seconds the last block took that was not interrupted.
    """

    took = 0.0

    def __init__(self, after):
        self.came, self._began, self._over = False, threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._wait, args=(after + 0.001,))
        self._thread.start()

    def _wait(self, after):
        self._began.wait()
        if not self._over.wait(after):
            os.kill(os.getpid(), signal.SIGINT)

    def __enter__(self):
        self._at = time.monotonic()
        self._began.set()
        return self

    def __exit__(self, kind, error, trace):
        took = time.monotonic() - self._at
        while True:
            try:
                self._over.set()
                self._thread.join()
                break
            except KeyboardInterrupt:
                kind = KeyboardInterrupt
        self.came = kind is not None and issubclass(kind, KeyboardInterrupt)
        if kind is None:
            _CtrlC.took = took
        return self.came


# -- in one process ----------------------------------------------------------------------------------------------
def _values(session, variables):
    return [np.asarray(v) for v in session.run(variables)]


def _same(one, other):
    """Whether as many steps have been made, each of some 0.01; NumPy and XLA differ, and Adam makes more of that."""
    return all(np.allclose(a, b, atol=2e-3) for a, b in zip(one, other))


def compiles(after, number, folder):
    """A program that the process has not compiled yet; the second run finds the variables as the first left them."""
    tf.config.host_runs, tf.config.tiny_ops = 0, 0
    return _trains(after, number)


def background(after, number, folder):
    """The same while another thread compiles."""
    tf.config.host_runs, tf.config.tiny_ops = 3, 0
    return _trains(after, number)


def _trains(after, number):
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        feed, step, variables = _network(2 + number)
        session.run(tf.global_variables_initializer())
        start = _values(session, variables)
        with _CtrlC(after) as interrupt:
            for _ in range(6):
                session.run(step, feed)
        done = int(session.run(tf.train.get_global_step()))
        found = _values(session, variables)
        for variable, value in zip(variables, start):
            variable.load(value, session)
        for _ in range(done):
            session.run(step, feed)
        assert _same(found, _values(session, variables)), f"after {done} steps the variables are others"
        session.run(step, feed)
        return interrupt.came


def saves(after, number, folder):
    """A checkpoint saved over another: afterwards there is one of the two, and the next is saved."""
    with tf.Graph().as_default(), tf.Session() as session:
        variables = [tf.Variable(np.full(200_000, 1.0, np.float32)) for _ in range(4)]
        saver = tf.train.Saver()
        session.run(tf.global_variables_initializer())
        saver.save(session, f"{folder}/model")
        for v in variables:
            v.load(np.full(200_000, 2.0, np.float32), session)
        with _CtrlC(after) as interrupt:
            saver.save(session, f"{folder}/model")

        def stored():
            reader = tf.train.load_checkpoint(tf.train.latest_checkpoint(folder))
            (value,) = {x for v in variables for x in reader.get_tensor(v.op.name)[::1000]}
            return value

        assert stored() == 2 or interrupt.came and stored() == 1
        saver.save(session, f"{folder}/model")
        assert stored() == 2 and sorted(os.listdir(folder)) == [
            "checkpoint", "model.data-00000-of-00001", "model.index", "model.meta"], os.listdir(folder)
        return interrupt.came


def exports(after, number, folder):
    """A SavedModel: it is there whole or not at all, and can be written again."""
    path = f"{folder}/model"
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [3], name="x")
        y = x * tf.Variable(np.full(200_000, 2.0, np.float32))[:3]
        session.run(tf.global_variables_initializer())
        with _CtrlC(after) as interrupt:
            tf.saved_model.simple_save(session, path, {"x": x}, {"y": y})
        gc.collect()
        if interrupt.came and not (os.path.isdir(path) and os.listdir(path)):
            tf.saved_model.simple_save(session, path, {"x": x}, {"y": y})
    with tf.Graph().as_default(), tf.Session() as session:
        tf.saved_model.loader.load(session, ["serve"], path)
        assert session.run(tf.global_variables()[0])[-1] == 2 and os.listdir(folder) == ["model"], os.listdir(folder)
    return interrupt.came


def events(after, number, folder):
    """Events: those that were added are there in their order, once; the one that was interrupted may be."""
    added = 0
    writer = tf.summary.FileWriter(folder, max_queue=3)
    with _CtrlC(after) as interrupt:
        for step in range(300):
            writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="a" * 300, simple_value=step)]), step)
            added = step + 1
    writer.close()
    (file,) = pathlib.Path(folder).iterdir()
    steps = [event.step for event in tf.train.summary_iterator(str(file))][1:]
    assert steps in (list(range(added)), list(range(added + 1))), (added, steps[-3:])
    return interrupt.came


IN_ONE = {"compile": compiles, "background": background, "save": saves, "export": exports, "events": events}


def in_one_process(name, moments, seed):
    """Returns how many of so many runs were interrupted; whatever goes wrong raises."""
    rng, came = random.Random(seed), 0
    tf.config.cache_dir = None
    function = IN_ONE[name]
    with tempfile.TemporaryDirectory() as base:
        for i in range(4):  # the first loads what is loaded once
            os.mkdir(f"{base}/warm{i}")
            function(1000, i, f"{base}/warm{i}")
        for i in range(moments):
            os.mkdir(f"{base}/{i}")
            came += function(rng.uniform(0, _CtrlC.took), 4 + i % 20, f"{base}/{i}")
            assert gc.isenabled() and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    return came


# -- in many processes -------------------------------------------------------------------------------------------
def _importing():
    """What is interrupted: the first compiled run of a process. Then the process must go on working."""
    tf.config.cache_dir, tf.config.host_runs, tf.config.tiny_ops = None, 0, 0
    feed, step, variables = _network()
    session, found = tf.Session(), "finished"
    try:
        print("begin", flush=True)
        session.run(tf.global_variables_initializer())
        session.run(step, feed)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        found = "interrupted while " + ("JAX was loaded" if "jax" in sys.modules and "jax.numpy" not in sys.modules else
                                        "it compiled" if "jax" in sys.modules else "it began")
    session.run(tf.global_variables_initializer())
    before = session.run(tf.train.get_global_step())
    for _ in range(2):
        session.run(step, feed)
    assert session.run(tf.train.get_global_step()) == before + 2 == 2 and "jax" in sys.modules
    print(found, flush=True)


def _child(*arguments):
    return subprocess.Popen([sys.executable, __file__, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def importing(moments, seed):
    """Returns {what was interrupted: how often}."""
    rng, seen, took = random.Random(seed), collections.Counter(), None
    for _ in range(moments + 1):
        child = _child("_importing")
        assert child.stdout.readline() == "begin\n", child.stderr.read()
        started = time.monotonic()
        if took is not None:
            time.sleep(rng.uniform(0, took))
            child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=300)
        if took is None:
            took = (time.monotonic() - started) * 0.6
            continue
        assert child.returncode == 0, err
        seen[out.strip()] += 1
    return dict(seen)


def _training(folder):
    """A training that saves every third step, and goes on where the one before was killed."""
    tf.config.host_runs, tf.config.host_cost = 10**9, 10**12  # saving is what is killed, not compiling
    feed, step, variables = _network(2)
    count, values = tf.train.get_global_step(), tf.Variable(np.zeros(300_000, np.float32))
    with tf.control_dependencies([step]):
        step = tf.group(tf.assign(values, tf.fill([300_000], tf.cast(count + 0, tf.float32))))
    saver, session = tf.train.Saver(max_to_keep=2), tf.Session()
    session.run(tf.global_variables_initializer())
    latest = tf.train.latest_checkpoint(folder)
    if latest is not None:
        saver.restore(session, latest)
        saver.recover_last_checkpoints(tf.train.get_checkpoint_state(folder).all_model_checkpoint_paths)
    print(session.run(count), flush=True)
    while True:
        session.run(step, feed)
        done = session.run(count)
        if done % 3 == 0:
            saver.save(session, f"{folder}/model", count if done % 2 else None)
            print(done, flush=True)


def killing(kills, seed):
    """Returns how many trainings were killed; each began at the last step that had been saved, or later, whole."""
    rng, last = random.Random(seed), 0
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(kills):
            child = _child("_training", folder)
            first = child.stdout.readline()
            assert first, child.stderr.read()
            assert int(first) >= last, f"began at {first.strip()}, and {last} was saved"
            threading.Timer(rng.uniform(0, 1.0), child.kill).start()
            for line in child.stdout:
                last = int(line)
            child.wait()
            prefix = tf.train.latest_checkpoint(folder)
            if prefix is not None:
                reader = tf.train.load_checkpoint(prefix)
                arrays = {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}
                (value,) = set(next(a for a in arrays.values() if a.shape == (300_000,))[::100])
                assert value in (arrays["global_step"], arrays["global_step"] - 1), (value, arrays["global_step"])
        size = sum(path.stat().st_size for path in pathlib.Path(folder).iterdir())
        files = len(os.listdir(folder))
    return f"{kills} killed, the last at step {last}; {files} files of {size >> 20} MB in the end"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["all", "import", "kill", *IN_ONE])
    parser.add_argument("times", type=int, nargs="?")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for name in ["import", *IN_ONE, "kill"] if options.what == "all" else [options.what]:
        times = options.times or (250 if name == "kill" else 100)
        if name in IN_ONE:
            print(f"{name}: {in_one_process(name, times, options.seed)} of {times} interrupted, nothing lost", flush=True)
        else:
            print(f"{name}: {(importing if name == 'import' else killing)(times, options.seed)}, nothing lost", flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if sys.argv[1] == "_importing":
        _importing()
    elif sys.argv[1] == "_training":
        _training(sys.argv[2])
    else:
        main()
