"""`tf.logging`: messages to standard error, through Python's logger "tensorflow", which programs may know by that name."""

import logging as _logging
import sys as _sys

DEBUG, INFO, WARN, ERROR, FATAL = _logging.DEBUG, _logging.INFO, _logging.WARNING, _logging.ERROR, _logging.FATAL

_logger = _logging.getLogger("tensorflow")
_counts: dict = {}


class _ToStderr(_logging.StreamHandler):
    """Writes to what sys.stderr is when the message comes."""

    stream = property(lambda self: _sys.stderr, lambda self, value: None)


if not _logger.handlers and not _logging.getLogger().handlers:  # a program that set up Python's logging has its own way
    _handler = _ToStderr()
    _handler.setFormatter(_logging.Formatter(_logging.BASIC_FORMAT))
    _logger.addHandler(_handler)

debug, info, warn, warning = _logger.debug, _logger.info, _logger.warning, _logger.warning
error, fatal, log = _logger.error, _logger.fatal, _logger.log


def get_logger():
    """Returns the logger that the functions here write to."""
    return _logger


def vlog(level, msg, *args):
    """Logs at a level given as a number."""
    _logger.log(level, msg, *args)


def set_verbosity(v):
    """Shows messages of level `v` and above: DEBUG, INFO, WARN, ERROR or FATAL."""
    _logger.setLevel(v)


def get_verbosity():
    """Returns the level from which messages are shown."""
    return _logger.getEffectiveLevel()


def flush():
    """Writes out what waits."""
    for handler in _logger.handlers:
        handler.flush()


def log_first_n(level, msg, n, *args):
    """Logs the first `n` times that it is called with this message."""
    _counts[msg] = _counts.get(msg, 0) + 1
    if _counts[msg] <= n:
        _logger.log(level, msg, *args)


def log_every_n(level, msg, n, *args):
    """Logs the first of every `n` times that it is called with this message."""
    _counts[msg] = _counts.get(msg, 0) + 1
    if (_counts[msg] - 1) % n == 0:
        _logger.log(level, msg, *args)


def log_if(level, msg, condition, *args):
    """Logs if `condition`."""
    if condition:
        _logger.log(level, msg, *args)
