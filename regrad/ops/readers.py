"""Readers: records of files whose names come from a queue. Where a reader stands is kept in the session."""

import functools
import os

import numpy as np

from regrad.core import dtypes
from regrad.core.errors import InvalidArgumentError, NotFoundError, UnimplementedError
from regrad.core.messages import ReaderBaseState
from regrad.core.opdef import Spec, rank_is
from regrad.core.reading import each
from regrad.core.records import opened, read_records
from regrad.core.shown import Shown
from regrad.ops.queues import define_handle, kept_op


def _whole(path):
    with opened(path) as file:
        yield path, file.read()


def _lines(skip):
    def records(path):
        with opened(path) as file:
            for i, line in enumerate(file):
                if i >= skip:
                    yield f"{path}:{i + 1}", line.rstrip(b"\n").removesuffix(b"\r")

    return records


def _tfrecords(compression):
    def records(path):
        at = 0
        for record in read_records(path, compression):
            yield f"{path}:{at}", record
            at += len(record) + 16

    return records


def _fixed(size, header, footer, hop, compression):
    def records(path):
        with opened(path, compression) as file:
            data = file.read()
        end, at, i = len(data) - footer, header, 0
        while at + size <= end:
            yield f"{path}:{i}", data[at:at + size]
            at, i = at + (hop or size), i + 1

    return records


class ReaderSpec:
    """What a reader does with a file; where it stands is in `session.resources`.

    Attributes:
      records: `records(path)` yields (key, value).
      whole: a file is one record: it is done with it, and tried again where that failed.
    """

    def __init__(self, kind, records, whole):
        self.kind, self.records, self.whole = kind, records, whole

    def state(self, session):
        found = session.resources.get(self)
        if found is None:
            found = session.resources[self] = ReaderState(self)
        return found


def _fail(error):
    raise error


class ReaderState:
    """Where a reader stands in one session."""

    def __init__(self, spec):
        self.spec = spec
        self.name = self.records = None
        self.last = ""  # the file taken last
        self.produced = self.completed = 0

    def next(self, session, queue):
        """Returns the next (key, value), taking names from the queue as files end."""
        while True:
            if self.records is None:
                if self.name is None:
                    (name,) = queue.contents(session).take(session, 1)[0]
                    self.name = self.last = os.fsdecode(name.item())
                self.records = each(self.name, self.spec.records(self.name))
            try:
                found = next(self.records, None)
            except NotFoundError:  # a file that is read as a whole is tried again, the place of any other one is past
                self.records = None
                self.name = self.name if self.spec.whole else None
                raise
            except Exception as error:
                self.records = iter(functools.partial(_fail, error), None)
                raise
            if found is None or self.spec.whole:
                self.name = self.records = None
                self.completed += 1
            if found is not None:
                self.produced += 1
                return found[0].encode(), found[1]

    def ahead(self):
        """Returns True while the file at hand has more to give."""
        return self.records is not None


_HANDLES = {kind: define_handle(f"{kind}V2") for kind in ("WholeFileReader", "TextLineReader", "TFRecordReader",
                                                           "FixedLengthRecordReader", "IdentityReader")}


def _read(b, session, reader, queue):
    key, value = reader.item().state(session).next(session, queue.item())
    return np.array(key, object), np.array(value, object)


def _read_up_to(b, session, reader, queue, n):
    state, found = reader.item().state(session), []
    while len(found) < int(n) and (not found or state.ahead()):
        if found:
            item = next(state.records, None)
            if item is None:
                state.name = state.records = None
                state.completed += 1
                break
            state.produced += 1
            found.append((item[0].encode(), item[1]))
        else:
            found.append(state.next(session, queue.item()))
    out = np.empty((2, len(found)), object)
    for i, pair in enumerate(found):
        out[0, i], out[1, i] = pair
    return out[0], out[1]


def _reset(b, session, reader):
    session.resources.pop(reader.item(), None)
    return ()


def _count(b, session, reader):
    return np.int64(reader.item().state(session).produced)


def _completed(b, session, reader):
    return np.int64(reader.item().state(session).completed)


def _serialized(b, session, reader):
    state = reader.item().state(session)
    _check_whole(state, "SerializeState")
    message = ReaderBaseState(work_started=state.completed + (state.name is not None), work_finished=state.completed,
                              num_records_produced=state.produced, current_work=os.fsencode(state.last))
    return np.array(message.SerializeToString(), object)


def _restored(b, session, reader, text):
    state = reader.item().state(session)
    _check_whole(state, "RestoreState")
    try:
        message = ReaderBaseState.FromString(text.item())
    except ValueError:
        message = None
    # A reader of whole files is asked between two of them.
    if message is None or message.work_started > message.work_finished or min(
            message.work_started, message.work_finished, message.num_records_produced) < 0:
        raise InvalidArgumentError(f"Could not parse state for {reader.item().kind}: {text.item()!r}")
    state.completed, state.produced = message.work_finished, message.num_records_produced
    state.name, state.records, state.last = None, None, os.fsdecode(message.current_work)
    return ()


def _check_whole(state, what):
    if not state.spec.whole:
        raise UnimplementedError(None, None, f"Reader {what}: a {state.spec.kind} stands within a file.")


def _number(reader):
    return Spec((), dtypes.int64)


readerread_op = kept_op("ReaderReadV2", "reader_handle: resource, queue_handle: resource",
                        lambda r, q: [Spec((), dtypes.string)] * 2, _read)
readerreadupto_op = kept_op("ReaderReadUpToV2", "reader_handle: resource, queue_handle: resource, num_records: int64",
                            lambda r, q, n: [Spec((None,), dtypes.string)] * 2, _read_up_to)
readerreset_op = kept_op("ReaderResetV2", "reader_handle: resource", lambda r: [], _reset)
readerserializestate_op = kept_op("ReaderSerializeStateV2", "reader_handle: resource",
                                  lambda r: Spec((), dtypes.string), _serialized)
readerrestorestate_op = kept_op("ReaderRestoreStateV2", "reader_handle: resource, state: string",
                                lambda r, state: rank_is(state, 0, "ReaderRestoreStateV2") or [], _restored)
readernumrecordsproduced_op = kept_op("ReaderNumRecordsProducedV2", "reader_handle: resource", _number, _count)
readernumworkunitscompleted_op = kept_op("ReaderNumWorkUnitsCompletedV2", "reader_handle: resource", _number, _completed)


class ReaderBase(Shown):
    """Reads records of files whose names a queue gives.

    Attributes:
      reader_ref: the handle, a resource tensor.
      supports_serialize: whether `serialize_state` works: it does where a file is one record.
    """

    def __init__(self, kind, records, name, whole=False):
        self.supports_serialize = whole
        self.reader_ref = _HANDLES[kind](spec=ReaderSpec(kind, records, whole), name=name)[0]

    @staticmethod
    def _queue(queue):
        return getattr(queue, "queue_ref", queue)

    def read(self, queue, name=None):
        """Returns (key, value) of the next record, string scalars; waits for a file's name where the last has ended.

        Raises:
          OutOfRangeError: (when run) there is no more.
        """
        key, value = readerread_op(self.reader_ref, self._queue(queue), name=name or "ReaderReadV2")
        return key, value

    def read_up_to(self, queue, num_records, name=None):
        """Returns (keys, values) of up to so many records of one file, at least one, string vectors."""
        keys, values = readerreadupto_op(self.reader_ref, self._queue(queue), num_records, name=name)
        return keys, values

    def num_records_produced(self, name=None):
        """Returns how many records were read, int64."""
        return readernumrecordsproduced_op(self.reader_ref, name=name)[0]

    def num_work_units_completed(self, name=None):
        """Returns how many files were read to their end, int64."""
        return readernumworkunitscompleted_op(self.reader_ref, name=name)[0]

    def serialize_state(self, name=None):
        """Returns where the reader stands, a string scalar.

        Raises:
          UnimplementedError: (when run) this reader reads files in parts.
        """
        return readerserializestate_op(self.reader_ref, name=name)[0]

    def restore_state(self, state, name=None):
        """Returns an operation that puts the reader where `serialize_state` said it stood.

        Raises:
          ValueError: `state` is no scalar.
          InvalidArgumentError: (when run) `state` is no such string.
          UnimplementedError: (when run) this reader reads files in parts.
        """
        return readerrestorestate_op(self.reader_ref, state, name=name)

    def reset(self, name=None):
        """Returns an operation that forgets where the reader stands."""
        return readerreset_op(self.reader_ref, name=name)


class WholeFileReader(ReaderBase):
    """Gives each file as one record: (name, contents)."""

    def __init__(self, name=None):
        super().__init__("WholeFileReader", _whole, name, whole=True)


class IdentityReader(ReaderBase):
    """Gives what the queue holds: (name, name)."""

    def __init__(self, name=None):
        super().__init__("IdentityReader", lambda path: iter([(path, path.encode())]), name, whole=True)


class TextLineReader(ReaderBase):
    """Gives lines without their ends: ("name:line", line)."""

    def __init__(self, skip_header_lines=None, name=None):
        super().__init__("TextLineReader", _lines(skip_header_lines or 0), name)


class TFRecordReader(ReaderBase):
    """Gives the records of TFRecord files."""

    def __init__(self, name=None, options=None):
        super().__init__("TFRecordReader", _tfrecords(options.compression if options is not None else ""), name)


class FixedLengthRecordReader(ReaderBase):
    """Gives records of `record_bytes` each."""

    def __init__(self, record_bytes, header_bytes=None, footer_bytes=None, hop_bytes=None, name=None, encoding=None):
        if record_bytes <= 0:
            raise InvalidArgumentError(f"record_bytes must be positive, got {record_bytes}")
        compression = {None: "", "": "", "NONE": ""}.get(encoding, encoding)
        super().__init__("FixedLengthRecordReader", _fixed(record_bytes, header_bytes or 0, footer_bytes or 0, hop_bytes or 0,
                                                           compression), name)
