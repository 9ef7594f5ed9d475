"""Rows for `regrad/ops/complex.py`."""

import numpy as np

from regrad.ops import array, math
from regrad.ops import complex as c
from tests.cases import Bad, Case, Edge

Z = np.array([[0.6 + 0.5j, 0.3 - 0.7j, -1 - 1j], [-0.5 + 0.2j, 0.9 + 0.1j, 2j]])
EMPTY = np.zeros((0, 2), np.complex128)
ODD = np.array([0, complex(np.inf, 1), complex(0, -np.inf), complex(np.nan, 0), -1, -0.0 - 0j])


def rows(op_type, function, reference, **more):
    return [
        Case(op_type, function, reference, (Z,), dtypes=("complex64",), **more),
        Case(op_type, function, reference, (EMPTY,), dtypes=(), **more),
        Case(op_type, function, reference, (Z[0, 0],), dtypes=(), note="scalar", **more),
        Case(op_type, function, reference, (ODD,), dtypes=(), derivatives=False, note="special"),
    ]


CASES = [
    *rows("Conj", c.conj, np.conj),
    *rows("Real", c.real, np.real),
    *rows("Imag", c.imag, np.imag),
    *rows("ComplexAbs", math.abs, np.abs),
    *rows("Angle", c.angle, np.angle),
    Case("Complex", c.complex, lambda x, y: x + 1j * y, ((2, 3), (3,)), dtypes=("float32",)),
    Case("Complex", c.complex, lambda x, y: x + 1j * y, ((2, 1), (1, 3)), dtypes=()),
    Case("Complex", c.complex, lambda x, y: x + 1j * y, ((0,), (1,)), dtypes=()),
    Case("Complex", c.complex, lambda x, y: np.array([complex(1, np.inf), complex(np.nan, 2)]),
         (np.array([1.0, np.nan]), np.array([np.inf, 2])), derivatives=False, dtypes=(), note="special"),
    Case("Select", c.angle, np.angle, (np.array([-2.0, 3, -1]),), order=2, note="angle of reals"),
    Case("ZerosLike", c.imag, np.zeros_like, ((3,),), derivatives=False, note="imag of reals"),
    Case("Identity", lambda x: array.identity(c.real(c.conj(x))), lambda x: x, ((3,),), note="reals pass"),
    Edge("ComplexAbs", math.abs, (np.array([0j, 3 + 4j]),), ([0, 0.6 + 0.8j],), note="at 0"),
    Edge("Angle", c.angle, (np.array([0j, 2j]),), ([0, -0.5],), note="at 0"),
    Bad("Complex", lambda: c.complex(np.zeros(2, np.int32), np.zeros(2, np.int32)), TypeError, "int32"),
    Bad("Complex", lambda: c.complex(array.zeros([2]), array.zeros([2], "float64")), TypeError, "float64.*float32"),
    Bad("Conj", lambda: c.conj("text"), TypeError, "numeric"),
]
