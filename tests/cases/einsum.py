"""Rows for `regrad/ops/einsum.py`."""

import numpy as np

from regrad.ops import array, einsum
from tests.cases import INEXACT, Bad, Case


def _z(*shape):
    rng = np.random.RandomState(6)
    return rng.randn(*shape) + 1j * rng.randn(*shape)


def _row(equation, *shapes, **more):
    return Case("Einsum", lambda *xs: einsum.einsum(equation, *xs), lambda *xs: np.einsum(equation, *xs), shapes,
                **{"note": equation.replace(" ", ""), "dtypes": ("float32",)} | more)


def _dot(*shapes, axes, **more):
    return Case("MatMul", einsum.tensordot, np.tensordot, shapes, {"axes": axes},
                **{"note": f"tensordot-{axes}".replace(" ", ""), "unknown": "rank", "dtypes": ("float32",)} | more)


CASES = [
    _row("ij,jk->ik", (2, 3), (3, 4), dtypes=(*INEXACT, "int32")),
    _row("ij,jk", (2, 3), (3, 4)),
    _row("ij , jk -> ki", (2, 3), (3, 4)),
    _row("bij,bjk->bik", (2, 2, 3), (2, 3, 2)),
    _row("i,j->ij", (2,), (3,)),
    _row("i,i->", (3,), (3,)),
    _row("ij->ji", (2, 3)),
    _row("ij->i", (2, 3)),
    _row("ij->", (2, 3)),
    _row("ii->i", (3, 3)),
    _row("ii->", (3, 3)),
    _row("iij,j->i", (2, 2, 3), (3,)),
    _row("ij,kj,kl->il", (2, 3), (4, 3), (4, 2)),
    _row("ij,jk->k", (2, 3), (3, 2)),
    _row("ijk,jl->l", (2, 3, 2), (3, 2)),
    _row("...ij,...jk->...ik", (2, 1, 2, 3), (4, 3, 2)),
    _row("...i->...", (2, 3)),
    _row("i...->...i", (2, 3, 2)),
    _row("ijk,k->ij", (2, 3, 4), (4,)),
    _row("ij,k->i", (2, 3), (4,)),
    _row("ij,jk->ik", (0, 3), (3, 2)),
    _row("ij,jk->ik", (2, 0), (0, 2)),
    _row("aBc,Bd->acd", (2, 3, 2), (3, 2)),
    _row("ij,jk->ik", _z(2, 3), _z(3, 2), dtypes=("complex64",)),
    _row("ij,kj->ik", (2, 3), (4, 3), order=3, note="third"),
    _dot((2, 3), (3, 4), axes=1),
    _dot((2, 3, 4), (3, 4, 2), axes=2),
    _dot((2, 3), (4,), axes=0),
    _dot((2, 3, 4), (4, 2, 3), axes=[[2, 0], [0, 1]]),
    _dot((2, 3), (3, 2), axes=[1, 0]),
    _dot((2, 3), (2, 3), axes=[[0, 1], [0, 1]]),
    _dot((2, 3), (2, 3), axes=[[-1], [-1]]),
    _dot((0, 3), (3, 4), axes=1),
    Bad("Einsum", lambda: einsum.einsum("ij,jk->ik", np.zeros((2, 3))), ValueError, "has 2 operands, got 1"),
    Bad("Einsum", lambda: einsum.einsum("ij,jk->iq", np.zeros((2, 3)), np.zeros((3, 2))), ValueError, "'q'.*no operand"),
    Bad("Einsum", lambda: einsum.einsum("ij->ii", np.zeros((2, 3))), ValueError, "'i' occurs twice"),
    Bad("Einsum", lambda: einsum.einsum("i-j", np.zeros((2, 3))), ValueError, "incorrect format"),
    Bad("Einsum", lambda: einsum.einsum("ij,jk->ik", np.zeros((2, 3)), np.zeros((2, 2))), ValueError, "'j'.* 3 and for 2"),
    Bad("Einsum", lambda: einsum.einsum("ij->i", np.zeros((2, 3, 4))), ValueError, "2 labels"),
    Bad("Einsum", lambda: einsum.einsum("...i->i", np.zeros((2, 3))), ValueError, "leaves the ellipsis out"),
    Bad("Einsum", lambda: einsum.einsum("ij->i", np.zeros((2, 3)), other=1), TypeError, "Invalid keyword.*other"),
    Bad("MatMul", lambda: einsum.tensordot(np.zeros((2, 3)), np.zeros((3, 2)), axes=3), ValueError, "must not be larger"),
    Bad("MatMul", lambda: einsum.tensordot(np.zeros((2, 3)), np.zeros((3, 2)), axes=-1), ValueError, "at least 0"),
    Bad("MatMul", lambda: einsum.tensordot(np.zeros((2, 3)), np.zeros((2, 3)), axes=1), ValueError,
        "Dimensions must be equal, but are 3 and 2"),
    Bad("MatMul", lambda: einsum.tensordot(np.zeros(2), np.zeros(2), axes=[[0], [0, 0]]), ValueError, "1 != 2"),
    Bad("MatMul", lambda: einsum.tensordot(array.placeholder("float32"), np.zeros(2, np.float32), [1]), ValueError, "length 2"),
]
