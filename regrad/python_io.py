"""`tf.python_io`: TFRecord files, written and read from Python."""

import gzip
import os
import zlib

from regrad.core.records import framed, read_records

__all__ = ["TFRecordCompressionType", "TFRecordOptions", "TFRecordWriter", "tf_record_iterator"]


class TFRecordCompressionType:
    """How a TFRecord file is compressed."""

    NONE, ZLIB, GZIP = 0, 1, 2


_TYPES = {None: "", "": "", 0: "", 1: "ZLIB", 2: "GZIP", "ZLIB": "ZLIB", "GZIP": "GZIP"}


class TFRecordOptions:
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


class TFRecordWriter:
    """Writes a TFRecord file, one byte string after the other."""

    def __init__(self, path, options=None):
        compression = TFRecordOptions.get_compression_type_string(options)
        self._zlib = zlib.compressobj() if compression == "ZLIB" else None
        self._file = gzip.open(path, "wb") if compression == "GZIP" else open(os.fspath(path), "wb")

    def write(self, record):
        """Adds a record, bytes."""
        if isinstance(record, str):
            record = record.encode()
        data = framed(bytes(record))
        self._file.write(data if self._zlib is None else self._zlib.compress(data))

    def flush(self):
        """Writes to disk what was added."""
        if self._zlib is not None:
            self._file.write(self._zlib.flush(zlib.Z_SYNC_FLUSH))
        self._file.flush()

    def close(self):
        """Ends the file."""
        if self._zlib is not None and not self._file.closed:
            self._file.write(self._zlib.flush())
        self._file.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


def tf_record_iterator(path, options=None):
    """Yields the byte strings of a TFRecord file.

    Raises:
      NotFoundError: no such file.
      DataLossError: the file is damaged.
    """
    yield from read_records(path, TFRecordOptions.get_compression_type_string(options))
