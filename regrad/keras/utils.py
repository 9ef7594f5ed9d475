"""`tf.keras.utils`: labels and vectors as arrays, batches by number, and a bar that shows how far a program is."""

import contextlib
import sys
import time

import numpy as np

from regrad.core.lazy import names_of
from regrad.core.shown import Shown


def to_categorical(y, num_classes=None, dtype="float32"):
    """Returns labels, ints [..., 1] or [...], as rows with a 1 at their place: [..., num_classes]."""
    y = np.array(y, dtype="int")
    shape = y.shape[:-1] if y.ndim > 1 and y.shape[-1] == 1 else y.shape
    labels = y.ravel()
    n = num_classes or np.max(labels) + 1
    found = np.zeros((labels.size, n), dtype=dtype)
    found[np.arange(labels.size), labels] = 1
    return found.reshape((*shape, n))


def normalize(x, axis=-1, order=2):
    """Returns an array whose vectors along an axis have the norm 1; zeros stay."""
    norms = np.atleast_1d(np.linalg.norm(x, order, axis))
    norms[norms == 0] = 1
    return x / np.expand_dims(norms, axis)


_custom: dict = {}  # what programs call by names: layers, activations, losses, metrics ...


def get_custom_objects():
    """Returns the dict of classes and functions of the program's own that are known by names; programs add theirs."""
    return _custom


def custom_object(name):
    """Returns what the program calls by a name, or None."""
    return _custom.get(name)


@contextlib.contextmanager
def custom_object_scope(*args):
    """Context manager: classes and functions, {name: object}, are known by names inside."""
    before = dict(_custom)
    for given in args:
        _custom.update(given)
    try:
        yield _custom
    finally:
        _custom.clear()
        _custom.update(before)


CustomObjectScope = custom_object_scope


class Sequence(Shown):
    """Base of data that give batches by number: a subclass has `__getitem__(i)`, which returns (x, y) or (x, y, weights), and
    `__len__()`, the number of batches."""

    def __getitem__(self, index):
        raise NotImplementedError(f"{type(self).__name__} is a Sequence: define __getitem__(index).")

    def __len__(self):
        raise NotImplementedError(f"{type(self).__name__} is a Sequence: define __len__().")

    def on_epoch_end(self):
        """Called when all batches were taken."""

    def __iter__(self):
        for i in range(len(self)):
            yield self[i]


class Progbar(Shown):
    """Writes how many of `target` steps are done, and means of values, on standard output.

    Args:
      target: how many steps there are, None if nobody knows.
      width: of the bar, in characters.
      verbose: 1 for a line that is written anew, 2 for a line at the end, 0 for nothing.
      interval: seconds between two writings.
      stateful_metrics: names of values that are shown as they are.
    """

    def __init__(self, target, width=30, verbose=1, interval=0.05, stateful_metrics=None, unit_name="step"):
        self.target, self.width, self.verbose, self.interval, self.unit_name = target, width, verbose, interval, unit_name
        self.stateful_metrics = set(stateful_metrics or ())
        self._sums, self._seen, self._start, self._last = {}, 0, time.time(), 0.0

    def update(self, current, values=None, finalize=None):
        """Says that `current` steps are done; `values` are (name, value) pairs of the steps since the last time."""
        steps = max(current - self._seen, 1)
        for name, value in values or ():
            total, n = self._sums.get(name, (0, 0))
            self._sums[name] = (value, 1) if name in self.stateful_metrics else (total + value * steps, n + steps)
        self._seen = current
        over = self.target is not None and current >= self.target if finalize is None else finalize
        now = time.time()
        if self.verbose == 1 and (over or now - self._last >= self.interval) or self.verbose == 2 and over:
            self._last = now
            end = "\n" if over or self.verbose == 2 else ""
            sys.stdout.write(("\r" if self.verbose == 1 else "") + self._text(current, now) + end)
            sys.stdout.flush()

    def _text(self, current, now):
        words = [f"{current}/{'Unknown' if self.target is None else self.target}"]
        if self.target is not None and self.verbose == 1:
            done = min(self.width, int(self.width * current / self.target))
            words.append("[" + "=" * done + "." * (self.width - done) + "]")
        words.append(f"- {now - self._start:.0f}s")
        words += [f"- {name}: {total / max(n, 1):.4f}" for name, (total, n) in self._sums.items()]
        return " ".join(words)

    def add(self, n, values=None):
        """Says that `n` more steps are done."""
        self.update(self._seen + n, values)


__getattr__, __dir__, _ = names_of(__name__, {})  # which says of names that are left out what to do
__all__ = ["CustomObjectScope", "Progbar", "Sequence", "custom_object_scope", "get_custom_objects", "normalize",
           "to_categorical"]
