"""Supervisor: TF1's first training loop. It restores or initialises, saves, writes summaries, and stops threads together.

    sv = tf.train.Supervisor(logdir="logs")
    with sv.managed_session() as sess:
        while not sv.should_stop():
            sess.run(train_op)
"""

import contextlib
import os
import time

from regrad.core import errors
from regrad.core.graph import Graph, get_default_graph
from regrad.core.graph_keys import GraphKeys
from regrad.core.messages import SessionLog, Summary
from regrad.core.shown import Shown
from regrad.ops.summary import merge_all
from regrad.train.checkpoint import latest_checkpoint
from regrad.train.coordinator import Coordinator, LooperThread
from regrad.train.event_files import FileWriter
from regrad.train.saver import Saver, restore
from regrad.train.steps import get_global_step
from regrad.variables.listing import global_variables_initializer, local_state_initializer, report_uninitialized_variables


class SessionManager(Shown):
    """Makes sessions whose variables come from a checkpoint or from an init operation."""

    def __init__(self, local_init_op=None, ready_op=None, ready_for_local_init_op=None, graph=None, recovery_wait_secs=30,
                 local_init_run_options=None, local_init_feed_dict=None):
        """Args:
          local_init_op: run always.
          ready_op: string vector of the variables without a value.
          graph: by default the default graph.
          recovery_wait_secs: how long `wait_for_session` waits before it looks again.
          local_init_feed_dict: fed to `local_init_op`.
          ready_for_local_init_op, local_init_run_options: accepted.
        """
        self._graph = graph or get_default_graph()
        self._local_init_op, self._local_feeds = local_init_op, local_init_feed_dict
        self._ready_op = ready_op
        self._wait = recovery_wait_secs

    def _session(self, saver, path, directory=None):
        from regrad.runtime.session import Session

        session = Session(graph=self._graph)
        if path and saver is not None:
            restore(saver, session, path, directory)
        return session

    @staticmethod
    def _checkpoint(directory, path):
        if directory and path:
            raise ValueError("Can not provide both checkpoint_dir and checkpoint_filename_with_path.")
        return path or (latest_checkpoint(directory) if directory else None)

    def _missing(self, session):
        """Returns the names of variables without a value, after the local ones were initialised."""
        if self._local_init_op is not None:
            session.run(self._local_init_op, self._local_feeds)
        return [] if self._ready_op is None else [name.decode() for name in session.run(self._ready_op)]

    def prepare_session(self, master="", init_op=None, saver=None, checkpoint_dir=None, checkpoint_filename_with_path=None,
                        wait_for_checkpoint=False, max_wait_secs=7200, config=None, init_feed_dict=None, init_fn=None):
        """Returns a session that is ready: restored where there is a checkpoint, else initialised.

        Raises:
          RuntimeError: there is neither a checkpoint nor `init_op`, `init_fn` or a local one; or variables are left without
            a value.
        """
        path = self._checkpoint(checkpoint_dir, checkpoint_filename_with_path)
        session = self._session(saver, path, checkpoint_dir)
        if path is None:
            if init_op is None and init_fn is None and self._local_init_op is None:
                raise RuntimeError("Model is not initialized and no init_op or init_fn or local_init_op was given")
            if init_op is not None:
                session.run(init_op, init_feed_dict)
            if init_fn is not None:
                init_fn(session)
        missing = self._missing(session)
        if missing:
            raise RuntimeError(f"Init operations did not make model ready. Variables not initialized: {', '.join(missing)}. "
                               f"Init op: {getattr(init_op, 'name', init_op)}, init fn: {init_fn}")
        return session

    def recover_session(self, master="", saver=None, checkpoint_dir=None, checkpoint_filename_with_path=None,
                        wait_for_checkpoint=False, max_wait_secs=7200, config=None):
        """Returns (session, True if it was restored and is ready)."""
        path = self._checkpoint(checkpoint_dir, checkpoint_filename_with_path)
        session = self._session(saver, path, checkpoint_dir)
        return session, path is not None and not self._missing(session)

    def wait_for_session(self, master="", config=None, max_wait_secs=float("inf")):
        """Returns a session once its variables have values, which in one process only local ones can get.

        Raises:
          DeadlineExceededError: they have none after `max_wait_secs`.
        """
        session, until = self._session(None, None), time.monotonic() + max_wait_secs
        while missing := self._missing(session):
            if time.monotonic() + self._wait > until:
                session.close()
                raise errors.DeadlineExceededError(None, None, f"Session was not ready after waiting {max_wait_secs} secs: "
                                                               f"{', '.join(missing)}")
            time.sleep(self._wait)
        return session


class Supervisor(Shown):
    """Runs a training program: see the top of this file.

    Attributes:
      saver, summary_op, global_step, init_op, ready_op, summary_writer, coord, session_manager: as given, or made.
      save_path: prefix of the checkpoints.
    """

    USE_DEFAULT = 0

    def __init__(self, graph=None, ready_op=USE_DEFAULT, ready_for_local_init_op=USE_DEFAULT, is_chief=True,
                 init_op=USE_DEFAULT, init_feed_dict=None, local_init_op=USE_DEFAULT, logdir=None, summary_op=USE_DEFAULT,
                 saver=USE_DEFAULT, global_step=USE_DEFAULT, save_summaries_secs=120, save_model_secs=600,
                 recovery_wait_secs=30, stop_grace_secs=120, checkpoint_basename="model.ckpt", session_manager=None,
                 summary_writer=USE_DEFAULT, init_fn=None, local_init_run_options=None):
        """Args:
          graph: by default the default graph; finalised by the first session.
          init_op, local_init_op, ready_op, summary_op, saver, global_step, summary_writer: None for none; made by default.
          init_feed_dict, init_fn: for and after `init_op`; `init_fn(session)`.
          logdir: folder of checkpoints and events; None for neither.
          save_summaries_secs, save_model_secs: how often; 0 for never.
          stop_grace_secs: how long threads may take to stop.
          is_chief: False saves and writes nothing.
          ready_for_local_init_op, recovery_wait_secs, local_init_run_options: accepted.
        """
        default = self.USE_DEFAULT
        self._graph = graph or get_default_graph()
        if not isinstance(self._graph, Graph):
            raise TypeError(f"graph must be a tf.Graph, got {graph!r}.")
        self.is_chief, self._logdir = is_chief, logdir
        self.coord = Coordinator()
        self._grace, self._init_fn, self.init_feed_dict = stop_grace_secs, init_fn, init_feed_dict
        self.save_summaries_secs, self.save_model_secs = save_summaries_secs, save_model_secs
        self.save_path = os.path.join(logdir, checkpoint_basename) if logdir else None
        with self._graph.as_default():
            def kept(given, key, make):
                if given is not default:
                    return given
                found = self._graph.get_collection(key)
                if found:
                    return found[0]
                made = make()
                if made is not None:
                    self._graph.add_to_collection(key, made)
                return made

            self.init_op = kept(init_op, GraphKeys.INIT_OP, global_variables_initializer)
            self.local_init_op = kept(local_init_op, GraphKeys.LOCAL_INIT_OP, local_state_initializer)
            self.ready_op = kept(ready_op, GraphKeys.READY_OP, report_uninitialized_variables)
            self.summary_op = kept(summary_op, GraphKeys.SUMMARY_OP, merge_all)
            self.global_step = get_global_step(self._graph) if global_step is default else global_step
            self.saver = kept(saver, GraphKeys.SAVERS,
                              lambda: Saver() if self._graph.get_collection(GraphKeys.GLOBAL_VARIABLES) else None)
            if self.saver is not None:
                self.saver.build()
        self.session_manager = session_manager or SessionManager(self.local_init_op, self.ready_op, graph=self._graph)
        self.summary_writer = summary_writer
        if summary_writer is default:
            self.summary_writer = FileWriter(logdir) if logdir and is_chief else None

    # -- sessions ------------------------------------------------------------------------------------

    def prepare_or_wait_for_session(self, master="", config=None, wait_for_checkpoint=False, max_wait_secs=7200,
                                    start_standard_services=True):
        """Returns a session that is ready, with queue runners and services started."""
        self.coord.clear_stop()
        if self.summary_writer is not None:
            self.summary_writer.reopen()
        session = self.session_manager.prepare_session(
            master, init_op=self.init_op, saver=self.saver, checkpoint_dir=self._logdir, init_feed_dict=self.init_feed_dict,
            init_fn=self._init_fn)
        self._graph.finalize()
        if self.is_chief and self.summary_writer is not None:
            self.summary_writer.add_graph(self._graph)
        if start_standard_services:
            self.start_standard_services(session)
        self.start_queue_runners(session)
        return session

    @contextlib.contextmanager
    def managed_session(self, master="", config=None, start_standard_services=True, close_summary_writer=True):
        """Context manager: a session; at the end of the block the threads are stopped, and what one of them raised is raised.

        An exception in the block stops them too; OutOfRangeError ends it quietly.
        """
        session = self.prepare_or_wait_for_session(master, config, start_standard_services=start_standard_services)
        try:
            yield session
        except Exception as error:
            self.request_stop(error)
        finally:
            try:
                self.stop(close_summary_writer=close_summary_writer, ignore_live_threads=True)
            finally:
                session.close()

    def start_queue_runners(self, sess, queue_runners=None):
        """Starts the graph's queue runners, or those given; returns their threads."""
        runners = self._graph.get_collection(GraphKeys.QUEUE_RUNNERS) if queue_runners is None else queue_runners
        return [t for r in runners for t in r.create_threads(sess, coord=self.coord, daemon=True, start=True)]

    # -- services --------------------------------------------------------------------------------------

    def start_standard_services(self, sess):
        """Starts threads that write summaries, count steps and save; returns them.

        Raises:
          RuntimeError: this is not the chief.
        """
        if not self.is_chief:
            raise RuntimeError("Only chief supervisor can start standard services. Because only chief supervisors can write "
                               "events.")
        if not self._logdir:
            return []
        threads = []
        if self.global_step is not None and self.summary_writer is not None:
            self.summary_writer.add_session_log(SessionLog(status=SessionLog.START), sess.run(self.global_step))
        if self.save_summaries_secs and self.summary_writer is not None:
            if self.summary_op is not None:
                threads.append(self.loop(self.save_summaries_secs, self._write_summary, (sess,)))
            if self.global_step is not None:
                self._counted = time.monotonic(), int(sess.run(self.global_step))
                threads.append(self.loop(self.save_summaries_secs, self._count_steps, (sess,)))
        if self.saver is not None and self.save_model_secs:
            threads.append(self.loop(self.save_model_secs, self._save, (sess,)))
        return threads

    def _write_summary(self, sess):
        step = None if self.global_step is None else sess.run(self.global_step)
        self.summary_writer.add_summary(sess.run(self.summary_op), step)

    def _count_steps(self, sess):
        then, before = self._counted
        self._counted = now, step = time.monotonic(), int(sess.run(self.global_step))
        if now > then:
            value = Summary.Value(tag="global_step/sec", simple_value=(step - before) / (now - then))
            self.summary_writer.add_summary(Summary(value=[value]), step)

    def _save(self, sess):
        self.saver.save(sess, self.save_path, global_step=self.global_step)
        if self.summary_writer is not None and self.global_step is not None:
            log = SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path=self.save_path)
            self.summary_writer.add_session_log(log, sess.run(self.global_step))

    def loop(self, timer_interval_secs, target, args=None, kwargs=None):
        """Starts a thread that calls `target(*args, **kwargs)` every so many seconds until the supervisor stops."""
        return LooperThread.loop(self.coord, timer_interval_secs, target, args, kwargs)

    def summary_computed(self, sess, summary, global_step=None):
        """Writes a summary that the program ran itself.

        Raises:
          TypeError: `summary` is no bytes.
          RuntimeError: there is no writer.
        """
        if self.summary_writer is None:
            raise RuntimeError("Writing a summary requires a summary writer.")
        if global_step is None and self.global_step is not None:
            global_step = sess.run(self.global_step)
        self.summary_writer.add_summary(summary, global_step)

    # -- stopping --------------------------------------------------------------------------------------

    def stop_on_exception(self):
        """Returns a context manager: an exception inside the block requests a stop, and ends there."""
        return self.coord.stop_on_exception()

    StopOnException = stop_on_exception

    def should_stop(self):
        """Returns whether the loop should end."""
        return self.coord.should_stop()

    def request_stop(self, ex=None):
        """Asks everything to stop; `ex` is raised again by `stop`."""
        self.coord.request_stop(ex)

    def wait_for_stop(self):
        """Waits until somebody asks to stop."""
        self.coord.wait_for_stop()

    def stop(self, threads=None, close_summary_writer=True, ignore_live_threads=False):
        """Stops the threads, waits for them, and raises what one of them raised."""
        self.coord.request_stop()
        try:
            self.coord.join(threads, stop_grace_period_secs=self._grace, ignore_live_threads=ignore_live_threads)
        finally:
            if close_summary_writer and self.summary_writer is not None:
                if self.is_chief:
                    self.summary_writer.add_session_log(SessionLog(status=SessionLog.STOP))
                self.summary_writer.close()

    PrepareSession = prepare_or_wait_for_session
    StartQueueRunners = start_queue_runners
    StartStandardServices = start_standard_services
    Stop, RequestStop, ShouldStop, WaitForStop = stop, request_stop, should_stop, wait_for_stop
    Loop, SummaryComputed = loop, summary_computed


def basic_train_loop(supervisor, train_step_fn, args=None, kwargs=None, master=""):
    """Calls `train_step_fn(session, *args, **kwargs)` until the supervisor stops."""
    with supervisor.managed_session(master) as session:
        while not supervisor.should_stop():
            train_step_fn(session, *(args or ()), **(kwargs or {}))
