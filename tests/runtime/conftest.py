"""What several files of tests of the runtime need."""

import signal

import pytest

import regrad as tf


@pytest.fixture
def session(monkeypatch):
    """A session whose programs do not come from the disk."""
    monkeypatch.setattr(tf.config, "cache_dir", None)
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


@pytest.fixture
def interruptible():
    """Ctrl-C raises, also where the tests run in the background of a shell, which has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
