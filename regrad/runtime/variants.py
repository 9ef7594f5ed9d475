"""What one plan is made ready for: programs by the shapes of its feeds, stages by the sizes that data decide.

The more there have been, the longer each is NumPy's: of n runs, however they share them out, some 3 sqrt(n) at most end in a
compilation. And a few are kept only, those used last.
"""

import warnings

from regrad.core import source
from regrad.core.errors import RegradWarning
from regrad.runtime import config

_FEWEST = 32  # kept in any case
_USUAL = 16  # after so many, the next are worth compiling only when they have run once more as often


class Variants(dict):
    """{signature: program or stage}.

    Attributes:
      made: how many there have been.
    """

    def __init__(self, n_nodes):
        self.made = 0
        self._most = max(_FEWEST, config.kept_ops // max(n_nodes, 1))

    def find(self, key):
        """Returns what was made for `key`, or None."""
        found = self.get(key)
        if found is not None and 2 * len(self) > self._most:
            self[key] = self.pop(key)  # behind those that were not used since
        return found

    def add(self, key, made):
        """Keeps `made`; returns True where that is one more than a program is silent about."""
        while len(self) >= self._most:
            del self[next(iter(self))]
        self[key] = made
        self.made += 1
        return bool(config.recompile_warning) and self.made == config.recompile_warning + 1

    @property
    def patience(self):
        """How many times longer than usual the next one is NumPy's."""
        return 1 + self.made // _USUAL


def warn(what, remedy):
    """Warns at the user's line of what keeps a plan from being compiled once for all."""
    warnings.warn(
        f"The same fetches were prepared for {config.recompile_warning + 1} different shapes, each compiled anew when it turns "
        f"out hot; what varies: {what}. {remedy}; or set regrad.config.recompile_warning = 0 to hear no more of it.",
        RegradWarning, stacklevel=source.level())
