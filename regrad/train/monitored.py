"""Sessions that initialise or restore themselves, run hooks around every step, and stop when a hook says so."""

import inspect

from regrad import logging
from regrad.core import errors
from regrad.core.graph import get_default_graph
from regrad.core.graph_keys import GraphKeys
from regrad.core.shown import Shown
from regrad.ops.control import group
from regrad.ops.summary import merge_all
from regrad.runtime.trace import RunMetadata, RunOptions
from regrad.train.checkpoint import latest_checkpoint
from regrad.train.coordinator import Coordinator, start_queue_runners
from regrad.train.hooks import (
    CheckpointSaverHook,
    SessionRunArgs,
    SessionRunContext,
    SessionRunValues,
    StepCounterHook,
    SummarySaverHook,
)
from regrad.train.saver import Saver, restore
from regrad.train.steps import get_global_step
from regrad.variables.listing import (
    global_variables,
    global_variables_initializer,
    local_state_initializer,
    report_uninitialized_variables,
)

USE_DEFAULT = object()
_LOST = (errors.AbortedError, errors.UnavailableError)  # a run that may be made again in a new session


class Scaffold(Shown):
    """The pieces with which a session is made; what is not given is made when it is needed.

    Attributes:
      init_op, init_feed_dict, init_fn: run when nothing is restored; `init_fn(scaffold, session)` after `init_op`.
      ready_op: string vector of the variables without a value.
      ready_for_local_init_op: the same of what `local_init_op` may read: of global variables, by default.
      local_init_op: run always.
      saver: the Saver.
      summary_op: all summaries of the graph merged, by default.
    """

    def __init__(self, init_op=None, init_feed_dict=None, init_fn=None, ready_op=None, ready_for_local_init_op=None,
                 local_init_op=None, summary_op=None, saver=None, copy_from_scaffold=None,
                 local_init_feed_dict=None):
        given = {"init_op": init_op, "init_feed_dict": init_feed_dict, "init_fn": init_fn, "ready_op": ready_op,
                 "ready_for_local_init_op": ready_for_local_init_op, "local_init_op": local_init_op,
                 "summary_op": summary_op, "saver": saver, "local_init_feed_dict": local_init_feed_dict}
        for name, value in given.items():
            setattr(self, name, value if value is not None else getattr(copy_from_scaffold, name, None))

    def finalize(self):
        """Makes what is missing and finalises the graph; returns the scaffold."""
        def kept(name, key, make):
            if getattr(self, name) is None:
                setattr(self, name, self.get_or_default(name, key, make))

        kept("init_op", GraphKeys.INIT_OP, lambda: group(global_variables_initializer()))
        kept("local_init_op", GraphKeys.LOCAL_INIT_OP, Scaffold.default_local_init_op)
        kept("ready_op", GraphKeys.READY_OP, report_uninitialized_variables)
        kept("ready_for_local_init_op", GraphKeys.READY_FOR_LOCAL_INIT_OP,
             lambda: report_uninitialized_variables(global_variables()))
        kept("summary_op", GraphKeys.SUMMARY_OP, merge_all)
        kept("saver", GraphKeys.SAVERS, lambda: Saver(allow_empty=True))
        self.saver.build()
        get_default_graph().finalize()
        return self

    @staticmethod
    def get_or_default(arg_name, collection_key, default_constructor):
        """Returns the one item of a collection, or what `default_constructor()` makes, which joins it."""
        graph = get_default_graph()
        found = graph.get_collection(collection_key)
        if len(found) > 1:
            raise RuntimeError(f"More than one item in the collection {collection_key!r}. Please indicate which one to use "
                               f"by passing it to the tf.Scaffold constructor as: "
                               f"tf.Scaffold({arg_name}=item to use)")
        if found:
            return found[0]
        made = default_constructor()
        if made is not None:
            graph.add_to_collection(collection_key, made)
        return made

    @staticmethod
    def default_local_init_op():
        """Returns an operation that initialises local variables and tables."""
        return local_state_initializer()


class SessionCreator(Shown):
    """Makes sessions: `create_session()`."""

    def create_session(self):
        raise NotImplementedError


class ChiefSessionCreator(SessionCreator):
    """Makes a session whose variables come from the latest checkpoint, or from their initializers."""

    def __init__(self, scaffold=None, master="", config=None, checkpoint_dir=None, checkpoint_filename_with_path=None):
        """Args:
          checkpoint_dir: directory of whose checkpoints the latest is restored, if there is one.
          checkpoint_filename_with_path: the checkpoint to restore.
        """
        self._scaffold, self._config = scaffold or Scaffold(), config
        self._directory, self._path = checkpoint_dir, checkpoint_filename_with_path

    def create_session(self):
        from regrad.runtime.session import Session

        scaffold = self._scaffold.finalize()
        session = Session(config=self._config)
        path = self._path or (latest_checkpoint(self._directory) if self._directory else None)
        if path is not None:
            restore(scaffold.saver, session, path, None if self._path else self._directory)
        else:
            if scaffold.init_op is not None:
                session.run(scaffold.init_op, scaffold.init_feed_dict)
            if scaffold.init_fn is not None:
                scaffold.init_fn(scaffold, session)
        if scaffold.local_init_op is not None:
            _check_ready(session, scaffold.ready_for_local_init_op, " for local_init")
            session.run(scaffold.local_init_op, scaffold.local_init_feed_dict)
        _check_ready(session, scaffold.ready_op, "")
        return session


def _check_ready(session, op, what):
    missing = session.run(op)
    if len(missing):
        session.close()
        raise RuntimeError(f"Init operations did not make model ready{what}: Variables not initialized: "
                           f"{', '.join(m.decode() for m in missing)}.")


class WorkerSessionCreator(ChiefSessionCreator):
    """As ChiefSessionCreator, without a checkpoint: in one process there is no chief to wait for."""

    def __init__(self, scaffold=None, master="", config=None, max_wait_secs=1800):
        super().__init__(scaffold, master, config)


def _merged(options, more):
    """Returns RunOptions that ask for what either of two, or None, asks for: the finer trace, the longer time."""
    if options is None or more is None:
        return options or more
    settings = {**vars(options), **vars(more)}
    for name in ("trace_level", "timeout_in_ms"):
        settings[name] = max(getattr(options, name), getattr(more, name))
    return RunOptions(**settings)


class _HookedSession:
    """A session in whose runs hooks take part; libraries make one of a session they have."""

    def __init__(self, sess, hooks):
        self._session, self._hooks, self._stop = sess, list(hooks), False

    graph = property(lambda self: self._session.graph)

    def should_stop(self):
        """Returns whether a hook asked for the end."""
        return self._stop

    def close(self):
        self._session.close()

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        """Runs once, with what the hooks add; returns the values of `fetches`.

        Raises:
          RuntimeError: a tensor is fed twice.
        """
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict, options), self._session)
        asked, feeds = {}, dict(feed_dict or {})
        for i, hook in enumerate(self._hooks):
            request = hook.before_run(context)
            if request is not None:
                if request.fetches is not None:
                    asked[i] = request.fetches
                for tensor in request.feed_dict or ():
                    if tensor in feeds:
                        raise RuntimeError(f"Same tensor is fed by two hooks, or by a hook and the caller: {tensor}")
                feeds.update(request.feed_dict or {})
                options = _merged(options, request.options)
        if run_metadata is None and getattr(options, "trace_level", 0):
            run_metadata = RunMetadata()
        results = self._session.run({"caller": fetches, "hooks": asked} if asked else fetches, feeds or None, options,
                                    run_metadata)
        of_hooks = results["hooks"] if asked else {}
        for i, hook in enumerate(self._hooks):
            hook.after_run(context, SessionRunValues(of_hooks.get(i), options, run_metadata))
        self._stop = self._stop or context.stop_requested
        return results["caller"] if asked else results


class MonitoredSession(Shown):
    """A session with hooks; use it as a context manager.

        with tf.train.MonitoredSession(hooks=[tf.train.StopAtStepHook(100)]) as sess:
            while not sess.should_stop():
                sess.run(train_op)

    The graph is finalised until the session is closed. An OutOfRangeError or StopIteration inside the block ends it quietly. A
    run that fails with an AbortedError or UnavailableError is made again in a new session, which begins with the latest
    checkpoint.
    """

    _recovers = True

    def __init__(self, session_creator=None, hooks=None, stop_grace_period_secs=120):
        self._hooks = list(hooks or [])
        self._grace = stop_grace_period_secs
        self._was_finalized = get_default_graph().finalized
        for hook in self._hooks:
            hook.begin()
        self._creator = session_creator or ChiefSessionCreator()
        self._begin()

    def _begin(self):
        """Makes the session, and starts what goes with it."""
        self._session = self._creator.create_session()
        self._hooked = _HookedSession(self._session, self._hooks)
        self._coord = Coordinator()
        with self._session.graph.as_default():
            start_queue_runners(self._session, self._coord)
        for hook in self._hooks:
            hook.after_create_session(self._session, self._coord)

    def _recovered(self, call):
        """Returns `call()`, made again in a new session where this one was lost."""
        while True:
            try:
                return call()
            except _LOST as error:
                if not self._recovers:
                    raise
                logging.info("An error was raised. This may be due to a preemption in a connected worker or parameter server. "
                             "The current session will be closed and a new session will be created. Error: %s", error)
                graph = self._session.graph
                self._stop_threads()
                with graph.as_default():
                    self._begin()

    @property
    def graph(self):
        return None if self._session is None else self._session.graph

    def raw_session(self):
        """Returns the session without hooks."""
        return self._session

    _tf_sess = raw_session
    _sess = property(raw_session)  # TensorFlow has several layers; programs go down until they find a Session

    def should_stop(self):
        """Returns whether the loop should end: a hook asked for it, a thread failed, or the session is closed."""
        return self._session is None or self._hooked.should_stop() or self._coord.should_stop()

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        """Runs once, with what the hooks add; returns the values of `fetches`.

        Raises:
          RuntimeError: after the loop should have stopped, or a tensor is fed twice.
        """
        if self._session is None:
            raise RuntimeError("Run called even after should_stop requested.")

        def once():
            self._coord.raise_requested_exception()
            return self._hooked.run(fetches, feed_dict, options, run_metadata)

        return self._recovered(once)

    def run_step_fn(self, step_fn):
        """Returns `step_fn(step_context)`, which may use `step_context.session` without hooks, `run_with_hooks(...)` and
        `request_stop()`, which ends the loop by StopIteration."""
        if list(inspect.signature(step_fn).parameters) not in (["step_context"], ["self", "step_context"]):
            raise ValueError("`step_fn` may either have one `step_context` argument, or `self` and `step_context`: it has "
                             f"{inspect.signature(step_fn)}.")
        if self._session is None:
            raise RuntimeError("Run called even after should_stop requested.")
        return self._recovered(lambda: step_fn(StepContext(self._session, self._hooked.run)))

    StepContext = property(lambda self: StepContext)

    def close(self):
        """Ends the hooks, stops the threads and closes the session."""
        self._close(None)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        if kind in (errors.OutOfRangeError, StopIteration):
            kind = None
        self._close(kind)
        return kind is None

    def _close(self, kind):
        session, self._session = self._session, None
        if session is None:
            return
        try:
            if kind is None:
                for hook in self._hooks:
                    hook.end(session)
        finally:
            if not self._was_finalized:
                session.graph._unsafe_unfinalize()
            self._stop_threads(session)

    def _stop_threads(self, session=None):
        """Stops the threads and closes the session."""
        try:
            self._coord.request_stop()
            self._coord.join(stop_grace_period_secs=self._grace, ignore_live_threads=True)
        except _LOST:
            if session is not None:
                raise
        finally:
            (session or self._session).close()


class StepContext:
    """What `run_step_fn` passes on."""

    def __init__(self, session, run_with_hooks):
        self.session = session
        self.run_with_hooks = run_with_hooks

    def request_stop(self):
        """Ends the loop."""
        raise StopIteration("step_fn has requested the iterations to stop.")


class SingularMonitoredSession(MonitoredSession):
    """A MonitoredSession made of a scaffold and a checkpoint directory; a session that is lost stays lost."""

    _recovers = False

    def __init__(self, hooks=None, scaffold=None, master="", config=None, checkpoint_dir=None, stop_grace_period_secs=120,
                 checkpoint_filename_with_path=None):
        super().__init__(ChiefSessionCreator(scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path), hooks,
                         stop_grace_period_secs)


def _how_often(secs, steps, default):
    """Returns (seconds, None), (None, steps), or (None, None) for never; `default` where nothing is said."""
    if secs is USE_DEFAULT and steps is USE_DEFAULT:
        return default
    secs, steps = (None if n is USE_DEFAULT else n or None for n in (secs, steps))
    return secs, None if secs else steps


def MonitoredTrainingSession(master="", is_chief=True, checkpoint_dir=None, scaffold=None, hooks=None,
                             chief_only_hooks=None, save_checkpoint_secs=USE_DEFAULT, save_summaries_steps=USE_DEFAULT,
                             save_summaries_secs=USE_DEFAULT, config=None, stop_grace_period_secs=120,
                             log_step_count_steps=100, max_wait_secs=7200, save_checkpoint_steps=USE_DEFAULT,
                             summary_dir=None, save_graph_def=True):
    """Returns a MonitoredSession for training: restores from and saves to `checkpoint_dir`, and counts steps.

    Args:
      checkpoint_dir: where checkpoints are; None for none.
      hooks, chief_only_hooks: further hooks.
      save_checkpoint_secs, save_checkpoint_steps: how often to save; every 600 seconds by default, None for never.
      log_step_count_steps: how often to log steps per second; None for never.
      save_summaries_steps, save_summaries_secs: how often to write the graph's summaries; every 100 steps by default.
      summary_dir: where to; `checkpoint_dir` by default.
      save_graph_def: whether the graph is written beside the checkpoints, as text and into the event file.
      master, is_chief, config, max_wait_secs: accepted.
    """
    summary_secs, summary_steps = _how_often(save_summaries_secs, save_summaries_steps, (None, 100))
    secs, steps = _how_often(save_checkpoint_secs, save_checkpoint_steps, (600, None))
    scaffold = scaffold or Scaffold()
    every = list(chief_only_hooks or [])
    summary_dir = summary_dir or checkpoint_dir
    if summary_dir:
        if log_step_count_steps and get_global_step() is not None:
            every.append(StepCounterHook(every_n_steps=log_step_count_steps, output_dir=summary_dir))
        if (summary_secs or summary_steps) and get_global_step() is not None:
            every.append(SummarySaverHook(summary_steps, summary_secs, summary_dir, scaffold=scaffold))
    if checkpoint_dir and (secs or steps):
        every.append(CheckpointSaverHook(checkpoint_dir, secs, steps, scaffold=scaffold, save_graph_def=save_graph_def))
    creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    return MonitoredSession(creator, [*every, *(hooks or [])], stop_grace_period_secs)
