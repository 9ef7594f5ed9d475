"""TensorFlow 1's module tree over Regrad's names, for programs that say `import tensorflow`.

`install()` answers imports of `tensorflow` and everything below it, in this process only and on request only: nothing
that is installed is shadowed elsewhere. `regrad run script.py` does this and runs the script.
"""

from regrad.compat.tensorflow import install, installed, uninstall
from regrad.compat.text import (
    as_bytes,
    as_str,
    as_str_any,
    as_text,
    bytes_or_text_types,
    complex_types,
    forward_compatible,
    integral_types,
    path_to_str,
    real_types,
)
from regrad.core.lazy import names_of
from regrad.core.shapes import dimension_at_index, dimension_value

__getattr__, __dir__ = names_of(__name__, {}, modules="v1 v2")[:2]
__all__ = ["as_bytes", "as_str", "as_str_any", "as_text", "bytes_or_text_types", "complex_types", "dimension_at_index",
           "dimension_value", "forward_compatible", "install", "installed", "integral_types", "path_to_str", "real_types",
           "uninstall"]
