"""Event files: what TensorBoard reads. Written by `FileWriter`, read back by `summary_iterator`.

The format is TensorFlow's: records (`core/records.py`) of `Event` messages; the first one names the version.
"""

import errno
import os
import socket
import threading
import time

from regrad.core.errors import AlreadyExistsError
from regrad.core.files import Growing, translated
from regrad.core.graph import Graph, get_default_graph
from regrad.core.graph_def import GraphDef
from regrad.core.messages import Event, Summary
from regrad.core.reading import each
from regrad.core.records import framed, read_records
from regrad.core.shown import Shown
from regrad.gfile import MakeDirs


def _bytes_of(message):
    return message if isinstance(message, bytes) else message.SerializeToString()


def _new_file(prefix, suffix=""):
    """Returns a new event file with the version in it: named by `prefix`, the time, the machine and `suffix`."""
    stamp = f"{prefix}.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}"
    name, turn = stamp + suffix, 0
    head = framed(Event(wall_time=time.time(), file_version="brain.Event:2").SerializeToString())
    while True:
        try:
            with translated(name):
                return Growing(_begun(name, head), name, len(head))
        except AlreadyExistsError:
            turn += 1
            name = f"{stamp}.{os.getpid()}.{turn}{suffix}"


def _begun(name, head):
    """Returns the system's number of a new file, open, that begins with `head`."""
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        if os.write(handle, head) < len(head):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return handle
    except BaseException:
        os.close(handle)
        os.remove(name)
        raise


class FileWriter(Shown):
    """Writes summaries, graphs and other events into a new file of a folder, for TensorBoard.

        writer = tf.summary.FileWriter("logs", sess.graph)
        writer.add_summary(sess.run(merged), step)
        writer.close()

    Events are in the file after `flush` or `close`, `flush_secs` seconds after the last time, or when `max_queue` wait. What a
    full disk refuses waits for the next time, and the file ends with a whole event.
    """

    def __init__(self, logdir, graph=None, max_queue=10, flush_secs=120, graph_def=None, filename_suffix=None, session=None):
        """Args:
          logdir: folder, made if it is not there.
          graph: a Graph to write first.
          max_queue, flush_secs: when to write what was added.
          graph_def: a GraphDef to write first, instead of `graph`.
          filename_suffix: end of the file's name.
          session: accepted; events are written when they are added.
        """
        self._logdir = os.fspath(logdir)
        self._suffix = filename_suffix or ""
        self._max_queue, self._flush_secs = max_queue, flush_secs
        self._lock = threading.Lock()
        self._file = None
        self._closed = False
        self._seen_tags = set()  # TensorBoard needs the metadata of a tag once
        MakeDirs(self._logdir)
        self._open()
        if graph is not None or graph_def is not None:
            self.add_graph(graph, graph_def=graph_def)

    def _open(self):
        self._file = _new_file(os.path.join(self._logdir, "events"), self._suffix)
        self._waiting, self._flushed = 0, time.monotonic()

    def _write(self, event):
        self._file.add(framed(event.SerializeToString()))
        self._waiting += 1
        if self._waiting > self._max_queue or time.monotonic() - self._flushed > self._flush_secs:
            self._flush()

    def _flush(self):
        self._file.flush()
        self._waiting, self._flushed = 0, time.monotonic()

    def get_logdir(self):
        """Returns the folder."""
        return self._logdir

    def add_event(self, event):
        """Adds an Event. After `close` nothing is written, until `reopen`."""
        with self._lock:
            if not self._closed:
                if self._file is None:
                    self._open()
                self._write(event)

    def _add(self, global_step=None, **what):
        event = Event(wall_time=time.time(), **what)
        if global_step is not None:
            event.step = int(global_step)
        self.add_event(event)

    def add_summary(self, summary, global_step=None):
        """Adds a Summary, or the bytes of one that `session.run` gave, at a step."""
        if isinstance(summary, bytes) or hasattr(summary, "tobytes"):
            summary = Summary.FromString(summary if isinstance(summary, bytes) else summary.item())
        if not hasattr(summary, "value"):
            raise TypeError(f"add_summary takes what a run of a summary gives, or a tf.Summary; got {summary!r}. "
                            "tf.summary.merge_all gives None where there are no summaries.")
        for value in summary.value:
            if not value.HasField("metadata"):
                continue
            if value.tag in self._seen_tags:
                value.ClearField("metadata")
            else:
                self._seen_tags.add(value.tag)
        self._add(global_step, summary=summary)

    def add_graph(self, graph, global_step=None, graph_def=None):
        """Adds a graph.

        Raises:
          TypeError: it is no Graph.
          ValueError: neither `graph` nor `graph_def`.
        """
        if graph is None and graph_def is None:
            raise ValueError("The argument graph or graph_def must be given.")
        if graph_def is None:
            if isinstance(graph, GraphDef):
                graph_def = graph
            elif isinstance(graph, Graph):
                graph_def = graph.as_graph_def(add_shapes=True)
            else:
                raise TypeError("The passed graph must be an instance of `Graph` or the deprecated `GraphDef`")
        self._add(global_step, graph_def=_bytes_of(graph_def))

    def add_meta_graph(self, meta_graph_def, global_step=None):
        """Adds a MetaGraphDef, as a message or as bytes."""
        self._add(global_step, meta_graph_def=_bytes_of(meta_graph_def))

    def add_session_log(self, session_log, global_step=None):
        """Adds a SessionLog: that a session started, stopped or saved a checkpoint."""
        self._add(global_step, session_log=session_log)

    def add_run_metadata(self, run_metadata, tag, global_step=None):
        """Adds what a run recorded, under a tag of its own.

        Raises:
          ValueError: the tag was used before.
        """
        if tag in self._seen_tags:
            raise ValueError("The provided tag was already used for this event type")
        self._seen_tags.add(tag)
        self._add(global_step, tagged_run_metadata={"tag": tag, "run_metadata": run_metadata.SerializeToString()})

    def flush(self):
        """Writes to disk what was added.

        Raises:
          ResourceExhaustedError: the disk is full; what was added is written by the next `flush` for which there is room.
        """
        with self._lock:
            if self._file is not None:
                self._flush()

    def close(self):
        """Writes what was added and closes the file; where it cannot be written, `flush` says, the file stays open."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None
            self._closed = True

    def reopen(self):
        """Lets events be added again after `close`, into a new file."""
        with self._lock:
            self._closed = False

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


class EventsWriter:
    """Writes Events into one file, made at the first of them: TensorFlow's `pywrap_tensorflow.EventsWriter`.

    Args:
      file_prefix: beginning of the file's path, text or bytes.
    """

    def __init__(self, file_prefix):
        self._prefix, self._suffix, self._file = os.fsdecode(file_prefix), "", None

    def InitWithSuffix(self, suffix):
        """Makes the file, its name ending in `suffix`."""
        self._suffix = suffix
        self.FileName()

    def FileName(self):
        """Returns the file's path; makes it if there is none."""
        if self._file is None:
            self._file = _new_file(self._prefix, self._suffix)
        return self._file.name

    def WriteEvent(self, event):
        """Adds an Event."""
        self.FileName()
        self._file.add(framed(event.SerializeToString()))

    def Flush(self):
        """Writes to disk what was added; True when that was possible."""
        if self._file is not None:
            self._file.flush()
        return True

    def Close(self):
        """Writes what was added and closes the file; what is added later goes into a new one."""
        if self._file is not None:
            self._file.close()
            self._file = None
        return True


class FileWriterCache(Shown):
    """One FileWriter per folder: `FileWriterCache.get(logdir)`."""

    _writers: dict[str, FileWriter] = {}
    _lock = threading.Lock()

    @staticmethod
    def get(logdir):
        """Returns the FileWriter of a folder, with the default graph written."""
        with FileWriterCache._lock:
            writer = FileWriterCache._writers.get(logdir)
            if writer is None:
                writer = FileWriterCache._writers[logdir] = FileWriter(logdir, graph=get_default_graph())
            return writer

    @staticmethod
    def clear():
        """Closes and forgets them all."""
        with FileWriterCache._lock:
            for writer in FileWriterCache._writers.values():
                writer.close()
            FileWriterCache._writers.clear()


def summary_iterator(path):
    """Yields the Events of an event file.

    Raises:
      NotFoundError: no such file.
      DataLossError: the file is damaged.
    """
    yield from each(path, map(Event.FromString, read_records(path)))
