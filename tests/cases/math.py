"""Rows for `regrad/ops/math.py`."""

import numpy as np
import scipy.special

from regrad.ops import math
from tests.cases import Case

FLOATS = ("float16", "bfloat16", "float32")

CASES = [
    Case("Square", math.square, np.square, ((3, 4),), dtypes=(*FLOATS, "int32", "complex64")),
    Case("Mul", math.multiply, np.multiply, ((3, 4), (4,)), dtypes=(*FLOATS, "int32", "complex64")),
    Case("Tanh", math.tanh, np.tanh, ((3, 4),), dtypes=(*FLOATS, "complex64")),
    Case("Sigmoid", math.sigmoid, scipy.special.expit, ((3, 4),), dtypes=FLOATS),
]
