"""Rows for `regrad/ops/compare.py`."""

import numpy as np

from regrad.ops import array, compare, math
from tests.cases import FLOATS, Bad, Case, Edge, binary

A = np.array([[1.0, 2, 3], [np.nan, np.inf, -0.0]])
B = np.array([[1.0, 3, 2], [np.nan, np.inf, 0.0]])
P = np.array([[True, True], [False, False]])
Q = np.array([[True, False], [True, False]])
S = np.array([b"a", b"bc", b""], object)
C = np.array([True, False])
INF = np.array([[np.inf, 1.0], [np.nan, 2.0]])


def comparison(op_type, function, reference, *, equality=False):
    out = binary(op_type, function, reference, order=0, dtypes=(*FLOATS, "int8", "int64", "uint16"))
    out.append(Case(op_type, function, reference, (A, B), order=0, dtypes=FLOATS, note="equal elements"))
    if equality:
        out.append(Case(op_type, function, reference, (np.array([1j, 2]), np.array([1j, 2j])), order=0, note="complex"))
        out.append(Case(op_type, function, reference, (P, Q), note="bools"))
        out.append(Case(op_type, function, lambda x, y: reference(x, y).astype(bool), (S, np.array(b"bc", object)),
                        note="strings"))
    return out


CASES = [
    *comparison("Equal", compare.equal, np.equal, equality=True),
    *comparison("NotEqual", compare.not_equal, np.not_equal, equality=True),
    *comparison("Less", compare.less, np.less),
    *comparison("LessEqual", compare.less_equal, np.less_equal),
    *comparison("Greater", compare.greater, np.greater),
    *comparison("GreaterEqual", compare.greater_equal, np.greater_equal),
    Case("LogicalAnd", compare.logical_and, np.logical_and, (P, Q)),
    Case("LogicalAnd", compare.logical_and, np.logical_and, (P, Q[0]), note="broadcast"),
    Case("LogicalOr", compare.logical_or, np.logical_or, (P, Q)),
    Case("LogicalNot", compare.logical_not, np.logical_not, (P,)),
    Case("LogicalAnd", compare.logical_xor, np.logical_xor, (P, Q), note="xor"),
    # Choice.
    Case("Select", compare.select, np.where, (np.array([[True, False, True], [False, False, True]]), (2, 3), (2, 3)),
         dtypes=(*FLOATS, "int32", "complex64")),
    Case("Select", compare.select, lambda c, x, y: np.where(c[:, None], x, y), (C, (2, 3), (2, 3)), note="rows"),
    Case("Select", compare.select, np.where, (np.array(True), (2, 3), (2, 3)), note="scalar"),
    Case("Select", compare.where, np.where, (np.zeros((0, 2), bool), (0, 2), (0, 2)), note="empty"),
    Case("Select", compare.where, lambda c, x, y: np.array([b"a", b"y", b"z"], object),
         (np.array([True, False, False]), S, np.array([b"x", b"y", b"z"], object)), note="strings"),
    Case("SelectV2", compare.where_v2, np.where, (C[:, None], (2, 3), (3,)), dtypes=(*FLOATS, "int32", "complex64")),
    Case("SelectV2", compare.where_v2, np.where, (C, (), (2, 1)), note="broadcast"),
    Case("Where", compare.where, lambda c: np.argwhere(c), (P,), note="indices"),
    # The branch not taken says nothing, whatever it holds.
    Edge("Select", lambda x: compare.select(np.array([[False, True], [False, True]]), x * 2.0, array.zeros_like(x)), (INF,),
         ([[0, 2], [0, 2]],), note="NaN in the branch not taken"),
    Edge("Log", lambda x: compare.where(x > 0, math.log(x), array.zeros_like(x)), ([0.0, -1, 2],), ([0, 0, 0.5],),
         second=([0, 0, -0.25],), note="in the branch not taken"),
    Edge("Select", compare.select, (np.array([True, False]), [np.nan, 1.0], [1.0, np.nan]), ([1, 0], [0, 1]), note="NaN"),
    Bad("Select", lambda: compare.where(P, np.zeros((2, 2))), ValueError, "both"),
    Bad("Select", lambda: compare.select(P, np.zeros((2, 2)), np.zeros(2)), ValueError, r"\[2,2\] and \[2\]"),
    Bad("Select", lambda: compare.select(P, np.zeros((2, 2, 2)), np.zeros((2, 2, 2))), ValueError, "condition bool"),
    Bad("Select", lambda: compare.select(array.ones([2]), np.zeros(2), np.zeros(2)), TypeError, "bool"),
    Bad("SelectV2", lambda: compare.where_v2(P, np.zeros(3), np.zeros(2)), ValueError, "3 and 2|2 and 3"),
    Bad("Less", lambda: compare.less(np.zeros(2, complex), np.zeros(2, complex)), TypeError, "complex"),
    Bad("Equal", lambda: compare.equal(np.zeros(2), np.zeros(3)), ValueError, "2 and 3"),
    Bad("LogicalAnd", lambda: compare.logical_and(array.zeros([2]), array.zeros([2])), TypeError, "bool"),
]
