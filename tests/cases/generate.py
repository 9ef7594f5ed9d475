"""Rows for `regrad/ops/generate.py`."""

import numpy as np

from regrad.ops import generate, math
from tests.cases import Bad, Case

CASES = [
    Case("Range", lambda: generate.range(1, 10, 3), lambda: np.arange(1, 10, 3), ()),
    Case("Range", lambda: generate.range(4), lambda: np.arange(4), (), note="count"),
    Case("Range", lambda: generate.range(3.0, -1.0, -0.5), lambda: np.arange(3, -1, -0.5), (), note="down"),
    Case("LinSpace", lambda a, b: generate.linspace(a, b, 4), lambda a, b: np.linspace(a, b, 4), ((), ()),
         dtypes=("float32",)),
    Case("LinSpace", lambda a, b: generate.linspace(a, b, 1), lambda a, b: np.reshape(a, 1), ((), ()),
         note="one"),
    *(Case("LinSpace", lambda a, b, n=n: math.floor(generate.linspace(a, b, n)), None, (np.array(0.0), np.array(n - 1.0)),
           dtypes=("float32",), derivatives=False, note=f"whole {n}") for n in (42, 50, 100)),
    Bad("Range", lambda: generate.range(0, 4, 0), ValueError, "Requires delta != 0"),
    Bad("Range", lambda: generate.range(4, 0), ValueError, "Requires start <= limit"),
    Bad("Range", lambda: generate.range(np.int8(3)), TypeError, "limit is int8.*dtype="),
    Bad("LinSpace", lambda: generate.linspace(0.0, 1.0, 0), ValueError, "Requires num > 0"),
]
