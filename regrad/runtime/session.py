"""Session: holds the values of variables and runs any part of a graph."""

import contextlib
import os
import threading
import weakref
from types import SimpleNamespace

import numpy as np

from regrad.core import collecting, context
from regrad.core.errors import CancelledError, InvalidArgumentError, NotFoundError
from regrad.core.graph import Graph, get_default_graph
from regrad.core.host import as_array
from regrad.core.interrupts import uninterrupted
from regrad.core.operation import Operation, Tensor
from regrad.core.shapes import as_int
from regrad.core.shown import Shown
from regrad.runtime import segment as segments
from regrad.runtime import stopping
from regrad.runtime.feeds import Fetches, announced, checked_feeds, feed_array, feed_tensors, own
from regrad.runtime.packing import State
from regrad.runtime.plan import Plan, body_plan
from regrad.runtime.runner import Runner
from regrad.runtime.still import warn_of_still_steps
from regrad.runtime.trace import ConfigProto, Recorder, RunMetadata, RunOptions

_sessions: weakref.WeakSet = weakref.WeakSet()
_ndarray, _OBJECTS = np.ndarray, np.dtype(object)
planned = None  # `regrad explain` puts a function here, which gets every plan before it runs for the first time
_MAX_RUNNERS = 4096  # plans kept per session; a program that builds new ops for every run would grow without end


class Session(Shown):
    """Runs operations and evaluates tensors of one graph; variables live in it.

    Attributes:
      graph: the graph.
      state: {variable operation: array}.
      plans: how many programs were specialised (one per fetches, feeds and shapes).
      runs: how often `run` was called.
      closed: it cannot be used any more.

    Threads may share a session: runs are executed one after the other, in some order.

    Example:
      x = tf.placeholder(tf.float32)
      with tf.Session() as sess:
          print(*sess.run([x + 1.0, x * 2.0], feed_dict={x: 3.0}))
      #> 4.0 6.0
    """

    def __init__(self, target="", graph=None, config=None):
        """Args:
          target: "" or "local": there is one process.
          graph: by default the default graph.
          config: a ConfigProto; of its settings `operation_timeout_in_ms` counts, the time that a run has.

        Raises:
          TypeError: `graph` is no Graph, `target` no string, or `config` no ConfigProto.
          NotFoundError: another target.
        """
        if not isinstance(target, (str, bytes)):
            raise TypeError(f"target must be a string, but got {target!r}.")
        if config is not None and not isinstance(config, ConfigProto):
            raise TypeError(f"config must be a tf.ConfigProto, but got {type(config).__name__}.")
        if graph is not None and not isinstance(graph, Graph):
            raise TypeError(f"graph must be a tf.Graph, got {graph!r}.")
        if target not in ("", b"", "local", b"local"):
            raise NotFoundError(None, None, "No session factory registered for the given session options: "
                                f"{{target: {target!r}}}. There is one process: leave the target out.")
        self.graph = graph or get_default_graph()
        self._target = target
        self._timeout = 0 if config is None else as_int(vars(config).get("operation_timeout_in_ms", 0),
                                                        "ConfigProto: operation_timeout_in_ms")
        self.state = State(self)
        self.plans = 0
        self.runs = 0
        self._runners = {}
        self.reshaped = set()  # variables that have taken another shape
        self._fetches = {}
        self._revision = 0
        self._fed = {}  # tensor: (its static shape, the last shape fed for it)
        self._random_blocks = {}
        self._entropy = None
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self.resources = {}  # operation -> what lives in the session besides variables: queues, readers
        self.suspended = 0  # runs that wait in the middle
        self.executing = 0  # runs in progress: one, those inside host functions that call `run`, and suspended ones
        self.closed = False
        self._contexts = []
        self._partial = {}
        self.recorder = None
        _sessions.add(self)

    _graph = property(lambda self: self.graph)  # by their names in TensorFlow
    _closed = property(lambda self: self.closed)

    def _said(self):
        return {"graph": self.graph, "variables": len(self.state), "closed": self.closed or None}

    # -- running ------------------------------------------------------------------------------

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        """Runs operations and returns the values of tensors.

        Args:
          fetches: a Tensor, Operation, Variable, name, IndexedSlices, or any nesting of lists, tuples, dicts and
            namedtuples of them.
          feed_dict: {tensor: value}: any tensor may be given a value instead of being computed.
          options, run_metadata: `RunOptions(trace_level=RunOptions.FULL_TRACE)` and a RunMetadata record every step;
            `RunOptions(timeout_in_ms=...)` ends a run that waits, or goes on in a loop, for longer: DeadlineExceededError.

        Returns:
          The same structure holding NumPy arrays (NumPy scalars for rank 0, None for operations), which the caller owns.

        Raises:
          RuntimeError: the session is closed, or the graph is empty.
          TypeError, ValueError: a fetch or feed is no element of the graph, or does not fit.
          tf.errors.OpError: something failed while running. No variable has changed then.
        """
        with self._lock:
            if self.closed or not self.graph._ops:
                self._check_open()
                raise RuntimeError(self._empty())
            self.runs += 1
            if self._revision != self.graph._revision:
                self._forget_plans()
            structure = self._structure(fetches)
            tensors, arrays = self._feeds(feed_dict)
            runner = self._runners.get((structure, tensors)) or self._runner(structure, tensors)
            if options is not None or self._timeout:
                return self._run_with(runner, structure, arrays, options, run_metadata)
            if runner.plan.waiting or runner.plan.filling:
                self._wait_first(runner.plan)
            return structure.owned(runner.run(arrays))

    def _run_with(self, runner, structure, arrays, options, metadata):
        """Runs as RunOptions and the session's ConfigProto say: within a time, or recording its steps."""
        if options is not None and not isinstance(options, RunOptions):
            raise TypeError(f"options must be a tf.RunOptions, got {options!r}.")
        if metadata is not None and not isinstance(metadata, RunMetadata):
            raise TypeError(f"run_metadata must be a tf.RunMetadata, got {metadata!r}.")
        timeout = getattr(options, "timeout_in_ms", 0) or self._timeout
        with stopping.within(timeout / 1000):
            if metadata is not None and getattr(options, "trace_level", 0):
                return self._traced(runner, structure, arrays, metadata)
            self._wait_first(runner.plan)
            return structure.owned(runner.run(arrays))

    def _forget_plans(self):
        """Forgets what was planned before edges of the graph were changed."""
        self.graph.check_acyclic()
        self._runners.clear()
        self._fetches.clear()
        self._revision = self.graph._revision

    def _check_open(self):
        if self.closed:
            raise RuntimeError("Attempted to use a closed Session. A `with` block closes its session when it ends: run inside "
                               "it, or make a new session, whose variables start anew.")

    def _empty(self):
        text = "The Session graph is empty. Add operations to the graph before calling run()."
        if get_default_graph() is not self.graph and get_default_graph()._ops:
            text += (" The default graph, which is not this session's, has operations: tf.Session(graph=g) chooses a graph, "
                     "and a session made without takes the default graph of that moment.")
        return text

    def _traced(self, runner, structure, arrays, metadata):
        self.recorder = Recorder(metadata)
        try:
            values = runner.run(arrays)
            self.recorder.done(runner.plan)
        finally:
            self.recorder = None
        return structure.owned(values)

    def _structure(self, fetches):
        """Returns the Fetches for a structure, remembered for those that can be dictionary keys."""
        kind = type(fetches)
        key = fetches
        if kind is list:
            key = (list, *fetches)
        try:
            found = self._fetches.get(key)
        except TypeError:  # something unhashable inside
            return Fetches(self.graph, fetches)
        if found is None:
            found = Fetches(self.graph, fetches)
            if len(self._fetches) > _MAX_RUNNERS:
                self._fetches.clear()
            if kind in (Tensor, Operation) or kind is list or kind is tuple:
                self._fetches[key] = found
        return found

    def _feeds(self, feed_dict):
        if feed_dict is None:
            return (), ()
        if type(feed_dict) is not dict:
            if isinstance(feed_dict, (list, tuple)) and not feed_dict:
                return (), ()
            checked_feeds(feed_dict)
        tensors, arrays = [], []
        graph = self.graph
        special = graph._feedable_off or graph._buckets
        for key, value in feed_dict.items():
            if type(key) is Tensor and key.op.graph is graph and not (
                    special and (key in graph._feedable_off or key in graph._buckets)):
                tensors.append(key)
                # The usual case at once: an array of just that dtype and shape, or of the shape that was fed before.
                if type(value) is _ndarray and (dtype := value.dtype) is key.dtype.np_dtype and dtype is not _OBJECTS and (
                        (shape := value.shape) == key.dims or (key.dims, shape) == self._fed.get(key)):
                    arrays.append(value)
                else:
                    arrays.append(feed_array(key, value))
                    self._fed[key] = key.dims, arrays[-1].shape
            else:
                for tensor, part in feed_tensors(graph, {key: value}):
                    tensors.append(tensor)
                    arrays.append(feed_array(tensor, part))
        return tuple(tensors), arrays

    def _runner(self, structure, tensors):
        key = (tuple(structure.elements), tensors)
        runner = self._runners.get(key)
        if runner is None:
            if len(self._runners) > _MAX_RUNNERS:
                self._runners.clear()
            with collecting.paused():
                self.graph.planned = True
                plan = Plan(self.graph, structure.elements, tensors)
                if planned is not None:
                    planned(plan)
                if self.graph.schedules:
                    warn_of_still_steps(plan)
                runner = self._runners[key] = Runner(plan, self)
        if structure in self._fetches.values():
            self._runners[structure, tensors] = runner
        return runner

    def plan(self, fetches, feed_dict=None):
        """Returns the Plan that `run` would execute: print it to see what runs, and in which order."""
        structure = self._structure(fetches)
        tensors = [t for t, _ in feed_tensors(self.graph, dict.fromkeys(feed_dict or ()))]
        return self._runner(structure, tuple(tensors)).plan

    @property
    def compiles(self):
        """How many segments this process has compiled."""
        return segments.compile_count

    # -- called by the runner ---------------------------------------------------------------------

    def seeds(self, ops, blocks, drawn=None):
        """Returns uint64[n, 3] for `ops`: graph seed, op seed, and where its stream stands in this session.

        Args:
          blocks: how many blocks of its stream each op takes now, so that the next run goes on behind them.
          drawn: {operation: where its stream stood} of what this run has drawn so far, for what draws the same again.
        """
        out = np.empty((len(ops), 3), np.uint64)
        drawn = {} if drawn is None else drawn
        for i, (op, taken) in enumerate(zip(ops, blocks)):
            again, op = op.draws_as is not None, op.draws_as or op
            seed, seed2 = op.attrs.get("seed") or 0, op.attrs.get("seed2") or 0
            if not seed and not seed2:
                if self._entropy is None:
                    self._entropy = np.frombuffer(os.urandom(16), np.uint64)
                seed, seed2 = int(self._entropy[0]), int(self._entropy[1]) ^ op.id
            at = drawn.get(op) if again else None
            if at is None:  # where the original is not part of the run, too
                at = self._random_blocks.get(op, 0)
                self._random_blocks[op] = at + taken & 0xFFFFFFFFFFFFFFFF
            if not again:
                drawn[op] = at
            out[i] = seed & 0xFFFFFFFFFFFFFFFF, seed2 & 0xFFFFFFFFFFFFFFFF, at
        return out

    def drew(self, draws, chosen, drawn=None):
        """Moves the streams of random operations in branches on, in those that a run has taken.

        Args:
          draws: `branch_draws` of a segment.
          chosen: for each the value that chose the branch.
          drawn: as of `seeds`; by default the segment is all of the run.
        """
        drawn = {draw[3] for draw in draws} if drawn is None else drawn
        for (op, _, branch, random, blocks), value in zip(draws, chosen):
            if random.draws_as in drawn:
                continue
            random = random.draws_as or random
            if op.opdef.facts.bodies.taken(op, value) == branch:
                self._random_blocks[random] = self._random_blocks.get(random, 0) + blocks & 0xFFFFFFFFFFFFFFFF

    def restart(self, ops):
        """Makes the streams of random operations begin anew."""
        for op in ops:
            self._random_blocks.pop(op, None)

    def _wait_first(self, plan):
        """Lets operations that wait for other threads do so before the run looks at anything: no lock is held meanwhile."""
        for op in plan.waiting:
            op.opdef.facts.waiting.take(self, op)
        while plan.filling and any(op.opdef.facts.waiting.room(self, op, n) for op, n in plan.filling):
            pass  # while one waited, what another had found may have gone

    def wait(self):
        """Waits until `notify` is called, letting other threads run this session.

        Raises:
          CancelledError: the session was closed meanwhile.
          DeadlineExceededError: the run has waited for as long as it may.
        """
        self.suspended += 1
        try:
            self._changed.wait(stopping.left())
        finally:
            self.suspended -= 1
        stopping.check(self)

    def notify(self):
        """Wakes the runs that wait: a resource has changed."""
        self._changed.notify_all()

    def body_runner(self, graph):
        """Returns the Runner of a branch's or loop's body that runs from the host."""
        plan = body_plan(graph)
        runner = self._runners.get(plan)
        if runner is None:
            runner = self._runners[plan] = Runner(plan, self)
        return runner

    def constants(self, tensors):
        """Returns the values of tensors that depend on no feed and no variable, for an operation that is running."""
        if not tensors:
            return []
        runner = self._runner(Fetches(self.graph, list(tensors)), ())
        return [np.array(v) for v in runner.run_body([])[0]]

    @contextlib.contextmanager
    def unlocked(self):
        """Lets other threads use the session inside the block, unless this thread is in the middle of another run.

        Raises:
          CancelledError: the session was closed meanwhile.
        """
        if self.executing:
            yield
            return
        released = False
        try:
            with uninterrupted:
                self._lock.release()
                released = True
            yield
        finally:  # what called this releases it again, whatever happens
            try:
                with uninterrupted:
                    if released:
                        self._lock.acquire()
                    released = False
            except KeyboardInterrupt:
                if released:  # it came before it could be deferred
                    with uninterrupted:
                        self._lock.acquire()
                raise
        if self.closed:
            raise CancelledError("The session was closed while a run of it was made ready.")

    def xla_context(self):
        from regrad.runtime.backend import x64

        return x64()

    # -- other ways to run -----------------------------------------------------------------------

    def make_callable(self, fetches, feed_list=None, accept_options=False):
        """Returns a function of the values for `feed_list` that runs `fetches`: a `run` with its look-ups done once.

        With `accept_options` it takes `options=` and `run_metadata=` as `run` does. InvalidArgumentError: other than one value
        for each of `feed_list`.
        """
        if feed_list is not None and not isinstance(feed_list, (list, tuple)):
            raise TypeError(f"feed_list must be a list of tensors, got {feed_list!r}.")
        structure = Fetches(self.graph, fetches)
        tensors = [self.graph.as_graph_element(t, allow_operation=False) for t in feed_list or ()]
        if any(t in self.graph._buckets for t in tensors):  # what is fed is not what runs
            return lambda *values: self.run(fetches, dict(zip(tensors, values, strict=True)))
        runner, revision = self._runner(structure, tuple(tensors)), self.graph._revision

        def function(*values, options=None, run_metadata=None):
            nonlocal runner, revision
            if len(values) != len(tensors):
                raise InvalidArgumentError(None, None, f"This callable takes {len(tensors)} feed values, got {len(values)}.")
            with self._lock:
                self._check_open()
                self.runs += 1
                if revision != self.graph._revision:
                    self._forget_plans()
                    runner, revision = self._runner(structure, tuple(tensors)), self._revision
                arrays = [v if type(v) is _ndarray and v.shape == t.dims and v.dtype is t.dtype.np_dtype is not _OBJECTS
                          else feed_array(t, v) for t, v in zip(tensors, values)]
                if options is not None or self._timeout:
                    return self._run_with(runner, structure, arrays, options, run_metadata)
                if runner.plan.waiting or runner.plan.filling:
                    self._wait_first(runner.plan)
                return structure.owned(runner.run(arrays))

        return function

    def partial_run_setup(self, fetches, feeds=None):
        """Prepares a run in several calls: returns a handle for `partial_run`."""
        self._check_open()
        structure = Fetches(self.graph, fetches)
        feeds = announced(self.graph, feeds or ())
        if not structure.elements:
            raise InvalidArgumentError("Must specify at least one target to fetch or execute.")
        handle = object()
        self._partial[handle] = _PartialRun(set(structure.elements), feeds)
        return handle

    def partial_run(self, handle, fetches, feed_dict=None):
        """Continues a partial run with more feeds; what was fetched before is not computed again."""
        with self._lock:
            self._check_open()
            partial = self._partial.get(handle)
            if partial is None:
                raise InvalidArgumentError("partial_run: this handle was not made by partial_run_setup of this session.")
            structure = Fetches(self.graph, fetches)
            for element in structure.elements:
                if element not in partial.fetches:
                    raise InvalidArgumentError(None, getattr(element, "op", element), f"partial_run: {element.name} was not "
                                               "among the fetches of partial_run_setup.")
                if element in partial.done:
                    raise InvalidArgumentError(None, getattr(element, "op", element),
                                               f"Must run 'setup' again: {element.name} was fetched before.")
            for tensor, value in feed_tensors(self.graph, feed_dict or {}):
                if tensor not in partial.feeds:
                    raise InvalidArgumentError(None, tensor.op, f"partial_run: {tensor.name} was not among the feeds of "
                                               "partial_run_setup.")
                if tensor in partial.values:
                    raise InvalidArgumentError(None, tensor.op, f"The tensor {tensor.name} has already been fed.")
                partial.values[tensor] = feed_array(tensor, value)
            known = dict(partial.values)
            runner = self._runner(structure, tuple(known))
            values = [own(v) for v in runner.run(list(known.values()))]
            for element, value in zip(structure.elements, values):
                partial.done.add(element)
                if isinstance(element, Tensor):
                    partial.values.setdefault(element, as_array(value))
            return structure.rebuild(values)

    # -- life ------------------------------------------------------------------------------------

    @property
    def graph_def(self):
        return self.graph.as_graph_def()

    @property
    def sess_str(self):
        return self._target

    def list_devices(self):
        """Returns the devices XLA offers, each with `name` and `device_type` as TensorFlow has them."""
        from regrad.runtime.backend import jax

        return [_Device(d.platform.upper(), d.id) for d in jax.devices()]

    @staticmethod
    def reset(target="", containers=None, config=None):
        """Closes the sessions of this process, and frees their variables and queues; all arguments are accepted."""
        for session in list(_sessions):
            session.close()

    def as_default(self):
        """Context manager: the default session for `eval()` and `run()` inside the block; does not close it."""
        return context.push_session(self)

    def __enter__(self):
        if self._contexts:
            raise RuntimeError("Session context managers are not re-entrant. Use `Session.as_default()` if you want to enter a "
                               "session multiple times.")
        pushed = [self.graph.as_default(), self.as_default()]
        for p in pushed:
            p.__enter__()
        self._contexts.append(pushed)
        return self

    def __exit__(self, *exc):
        for p in reversed(self._contexts.pop()):
            p.__exit__(*exc)
        self.close()

    def _begin_again(self):
        """In a forked process: other threads' runs are gone, and programs are made for NumPy (runtime/forking.py)."""
        for runner in self._runners.values():
            runner.programs.clear()
            runner.sole = None
        if not self._lock._is_owned():
            self._lock = threading.RLock()
            self._changed = threading.Condition(self._lock)
            self.executing = self.suspended = 0

    def close(self):
        """Frees the session's variables; it cannot be used afterwards. A run that waits, or is in a loop, is cancelled."""
        self.closed = True
        stopping.close(self)
        with self._lock:
            self.state = State(self)
            self.resources = {}
            self._changed.notify_all()
            self._runners.clear()
            self._fetches.clear()


class InteractiveSession(Session):
    """A Session that makes itself the default session, for notebooks and shells."""

    def __init__(self, target="", graph=None, config=None):
        super().__init__(target, graph, config)
        self._pushed = [self.graph.as_default()] if graph is not None else []
        self._pushed.append(self.as_default())
        for p in self._pushed:
            p.__enter__()

    def close(self):
        super().close()
        pushed, self._pushed = self._pushed, []
        for p in reversed(pushed):
            p.__exit__(None, None, None)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


class _Device:
    """A device as `list_devices` gives it."""

    def __init__(self, device_type, index):
        self.device_type, self.memory_limit_bytes = device_type, 0
        self.name = f"/job:localhost/replica:0/task:0/device:{device_type}:{index}"

    def __repr__(self):
        return f"_DeviceAttributes({self.name}, {self.device_type}, {self.memory_limit_bytes})"


def list_local_devices(session_config=None):
    """Returns the devices XLA offers, each with the fields of TensorFlow's DeviceAttributes: `name`, `device_type` ...

    Args:
      session_config: accepted; XLA knows what there is.
    """
    from regrad.runtime.backend import jax

    return [SimpleNamespace(name=f"/device:{d.platform.upper()}:{d.id}", device_type=d.platform.upper(), incarnation=d.id,
                            memory_limit=(d.memory_stats() or {}).get("bytes_limit", 0), locality=SimpleNamespace(),
                            physical_device_desc="" if d.platform == "cpu" else d.device_kind) for d in jax.devices()]


class _PartialRun:
    def __init__(self, fetches, feeds):
        self.fetches = fetches
        self.feeds = set(feeds)
        self.values = {}
        self.done = set()


def open_sessions(graph):
    """Returns the sessions of a graph that are not closed."""
    return [s for s in list(_sessions) if s.graph is graph and not s.closed]
