"""Rows of large variables that NumPy writes in place, as compiled programs do with memory that is donated to them."""

import numpy as np

from regrad.core.host import HostBackend
from regrad.runtime import buffers, config


class Overwriting(HostBackend):
    """The host backend of a run in which `owned` arrays may be overwritten, where nothing else in the run can see them."""

    def __init__(self, owned):
        self._owned = owned
        self._before = []  # (array, index, what was there)
        self._values, self._last = (), ()

    def look(self, values, last):
        """Notes what is alive before an operation: all `values`; its operands at places `last` are not read after it."""
        self._values, self._last = values, last

    def to_write(self, x, index):
        if x.size <= config.tiny_cost:
            return np.array(x)
        if any(x is array for array in self._owned) and x.flags.writeable and not self._seen(x):
            self._before.append((x, index, x[index]))
            return x
        copy = buffers.like(x)
        copy[...] = x
        self._owned.append(copy)
        return copy

    def _seen(self, x):
        """True when something sees the memory of `x` besides the operand that it is."""
        place = next((i for i in self._last if self._values[i] is x), None)
        return place is None or any(i != place and isinstance(value, np.ndarray) and np.may_share_memory(value, x)
                                    for i, value in enumerate(self._values))

    def undo(self):
        """Puts back what was overwritten: a run that fails leaves every variable as it was."""
        for array, index, rows in reversed(self._before):
            array[index] = rows
