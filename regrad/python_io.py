"""`tf.python_io`: TFRecord files, written and read from Python."""

import os
import zlib

from regrad.core.errors import FailedPreconditionError
from regrad.core.files import Growing, Part, replaceable, translated
from regrad.core.records import framed, read_records
from regrad.core.shown import Shown

__all__ = ["TFRecordCompressionType", "TFRecordOptions", "TFRecordWriter", "tf_record_iterator"]


class TFRecordCompressionType:
    """How a TFRecord file is compressed."""

    NONE, ZLIB, GZIP = 0, 1, 2


_TYPES = {None: "", "": "", 0: "", 1: "ZLIB", 2: "GZIP", "ZLIB": "ZLIB", "GZIP": "GZIP"}
_WINDOW = {"ZLIB": zlib.MAX_WBITS, "GZIP": 16 + zlib.MAX_WBITS}  # the second asks for gzip's head and end


class TFRecordOptions(Shown):
    """Options of TFRecord files: `compression_type`, one of TFRecordCompressionType or "", "ZLIB", "GZIP"."""

    compression_type_map = {0: "", 1: "ZLIB", 2: "GZIP"}

    def __init__(self, compression_type=None, **settings):
        """Args: settings: accepted."""
        if compression_type not in _TYPES:
            raise ValueError(f"Not a valid compression_type: {compression_type!r}")
        self.compression_type = compression_type
        self.compression = _TYPES[compression_type]

    @classmethod
    def get_compression_type_string(cls, options):
        """Returns "", "ZLIB" or "GZIP" of options, of a type's number or name, or of None."""
        return options.compression if isinstance(options, TFRecordOptions) else _TYPES[options]


class TFRecordWriter(Shown):
    """Writes a TFRecord file, one byte string after the other.

    The file has its name from the first `flush`, or from `close`, on: a program that is killed leaves no half of one, and what
    had the name before. Records are there whole: what a full disk refuses waits for the next `flush`, or `close`.
    """

    _part = None

    def __init__(self, path, options=None):
        """Args:
          path: the file; one that is there is replaced.
          options: TFRecordOptions, or a compression type.

        Raises:
          OpError: the system does not let it: NotFoundError for a folder that is not there, and so on.
        """
        compression = TFRecordOptions.get_compression_type_string(options)
        self._zlib = zlib.compressobj(wbits=_WINDOW[compression]) if compression else None
        with translated(path):
            self._part = Part(path) if replaceable(path) else None
            handle = os.dup(self._part.handle) if self._part is not None else os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        self._file = Growing(handle, os.fspath(path))

    def write(self, record):
        """Adds a record, bytes."""
        self._check_open()
        if isinstance(record, str):
            record = record.encode()
        data = framed(bytes(record))
        self._file.add(data if self._zlib is None else self._zlib.compress(data))

    def flush(self):
        """Writes to disk what was added.

        Raises:
          ResourceExhaustedError: the disk is full.
        """
        self._check_open()
        if self._zlib is not None:
            self._file.add(self._zlib.flush(zlib.Z_SYNC_FLUSH))
        self._file.flush()
        self._take_place()

    def close(self):
        """Ends the file; raises as `flush` does, and can be called again then."""
        if self._file is None:
            return
        if self._zlib is not None:
            self._file.add(self._zlib.flush())
            self._zlib = None
        self._file.flush()
        with translated(self._file.name):
            if self._part is not None:
                self._part.finish()
        self._take_place()
        self._file.close()
        self._file = None

    def _take_place(self):
        if self._part is not None:
            with translated(self._file.name):
                self._part.take_place()
            self._part = None

    def _check_open(self):
        if self._file is None:
            raise FailedPreconditionError(None, None, "Writer is closed.")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._end(error[0] is not None)

    def __del__(self):
        if getattr(self, "_file", None) is not None and self._file.process == os.getpid():
            self._end()

    def _end(self, failed=True):
        """Closes, as TensorFlow does even in the middle of a failure; but where a write was refused nothing takes its place."""
        part = self._part
        try:
            if not (failed and self._file is not None and self._file.refused):
                self.close()
        finally:
            if part is not None:
                part.__exit__()
            if self._file is not None:
                self._file.drop()
                self._file = None


def tf_record_iterator(path, options=None):
    """Yields the byte strings of a TFRecord file.

    Raises:
      NotFoundError: no such file.
      DataLossError: the file is damaged.
    """
    yield from read_records(path, TFRecordOptions.get_compression_type_string(options))
