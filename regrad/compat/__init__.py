"""TensorFlow 1's module tree over Regrad's names, for programs that say `import tensorflow`.

`install()` answers imports of `tensorflow` and everything below it, in this process only and on request only: nothing
that is installed is shadowed elsewhere. `regrad run script.py` does this and runs the script.
"""

from regrad.compat.tensorflow import install, installed, uninstall

__all__ = ["install", "installed", "uninstall"]
