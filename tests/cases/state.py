"""Rows for `regrad/ops/state.py`, `regrad/variables` and the scatters of `regrad/ops/indexing.py`: what assignments give,
and the variables after them."""

import numpy as np

import regrad as tf
from tests.cases import Bad, Steps

FLOATS = ("float16", "bfloat16", "float32", "float64")
REAL = (*FLOATS, "int8", "uint8", "int16", "int32", "int64")
NUMERIC = (*REAL, "complex64", "complex128")
WORDS = np.array([b"a", b"", b"bc\0"], object)
NAN = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 65504.0], np.float32)
raw = tf.raw_ops


def of(dtype, *values):
    dtype = {"bfloat16": tf.bfloat16.as_numpy_dtype}.get(dtype, dtype)
    return tuple(np.array(v, dtype) for v in values)


def twice(op):
    """The op run two times, and once more with what it gives and what depends on it, then the variable as it is read."""
    def build(ref, *operands):
        out = op(ref, *operands)
        return [out, [out, tf.identity(out)], ref]

    return build


# -- whole assignments --------------------------------------------------------------------------


def whole(op_type, dtypes):
    op = getattr(raw, op_type)

    def build(ref, value):
        return twice(lambda ref, value: op(ref=ref, value=value))(ref, value)

    rows = [Steps(op_type, build, of(d, [2, 3]), of(d, [5, 1]), note=d, compiled=d == "float32") for d in dtypes]
    return rows + [
        Steps(op_type, build, of("float32", 3), of("float32", 4), note="scalar"),
        Steps(op_type, build, of("float32", np.zeros((2, 0))), of("float32", np.zeros((2, 0))), note="empty"),
        Steps(op_type, build, (NAN,), (NAN[::-1].copy(),), note="not finite"),
        Steps(op_type, lambda ref, x: [op(ref=ref, value=x, use_locking=lock) for lock in (True, False)],
              of("int32", [[1], [2]]), of("int32", [[3], [4]]), note="locking"),
    ]


def _changing(ref, value):
    """The variable takes another shape, and its first one again."""
    free = raw.Assign(ref=ref, value=value, validate_shape=False)
    return [free, tf.shape(ref), raw.Assign(ref=ref, value=[1.0, 2.0], validate_shape=False), tf.shape(ref)]


CASES = [
    *whole("Assign", (*NUMERIC, "bool")),
    *whole("AssignAdd", NUMERIC),
    *whole("AssignSub", NUMERIC),
    Steps("Assign", twice(lambda ref, x: tf.assign(ref, x)), (WORDS,), (WORDS[::-1].copy(),), note="string"),
    Steps("Assign", _changing, of("float32", [2, 3]), of("float32", [[5], [1], [4]]), note="another shape"),
    Steps("AssignAdd", lambda v, x: [tf.assign_add(tf.assign(v, x), x), tf.assign_sub(tf.assign_add(v, x), x)],
          of("float64", [2, 3]), of("float64", [5, 1]), note="one after another"),
    Steps("AssignAdd", lambda v: [tf.assign_add(v, [100]), tf.assign_add(v, [100])], of("int8", [100]), note="overflow"),
    Steps("AssignSub", lambda v: [tf.assign_sub(v, [1]), tf.assign_sub(v, [1])], of("uint8", [1]), note="overflow"),
    Bad("Assign", lambda: tf.assign(tf.Variable([1.0]), [1.0, 2.0]), ValueError, r"float32\[2\] to a variable of float32\[1\]"),
    Bad("Assign", lambda: tf.assign(tf.Variable([1.0]), tf.constant([1])), TypeError,
        "int32 that does not match type float32 of argument 'ref'"),
    Bad("Assign", lambda: tf.assign(tf.constant([1.0]), [1.0]), TypeError, "assigns a variable, not Tensor Const"),
    Bad("AssignAdd", lambda: tf.assign_add(tf.Variable([1.0]), [[1.0]]), ValueError, "AssignAdd needs a value of the variable"),
    Bad("AssignSub", lambda: tf.assign_sub(tf.Variable([True]), [False]), TypeError, "DataType bool not in list of allowed values"),
]


# -- rows of a variable ---------------------------------------------------------------------------


def rows_of(op_type, dtypes):
    op = getattr(raw, op_type)

    def build(ref, indices, updates):
        return [op(ref=ref, indices=indices, updates=updates)] * 2 + [ref]

    once, often = np.array([2, 0], np.int32), np.array([[1, 1], [3, 1]], np.int64)
    start = np.arange(8).reshape(4, 2) + 1
    repeated = [] if op_type == "ScatterUpdate" else [  # in no fixed order, for assignments
        Steps(op_type, build, of("float64", start), (often, *of("float64", np.arange(8).reshape(2, 2, 2) + 1.5)),
              note="repeated", compiled=True)]
    return repeated + [Steps(op_type, build, of(d, start), (once, *of(d, [[5, 4], [3, 2]])), note=d, compiled=d == "float32")
                       for d in dtypes] + [
        Steps(op_type, build, of("float32", start), (once, *of("float32", 3)), note="scalar update"),
        Steps(op_type, build, of("float32", start[:, 0]), (np.int32(1), *of("float32", 3)), note="scalar index"),
        Steps(op_type, build, of("float32", start), (once[:0], *of("float32", np.zeros((0, 2)))), note="empty"),
        Steps(op_type, build, (NAN,), (np.arange(7, dtype=np.int64), NAN[::-1].copy()), note="not finite"),
        Steps(op_type, build, of("float32", start), (np.array([4], np.int32), *of("float32", [[1, 1]])),
              note="past the end"),
        Steps(op_type, build, of("float32", start), (np.array([-1], np.int32), *of("float32", [[1, 1]])),
              note="negative"),
        Steps(op_type, lambda v, i, u: [op(ref=v, indices=i, updates=u, use_locking=lock) for lock in (True, False)],
              of("float32", start), (once, *of("float32", [[5, 4], [3, 2]])), note="locking"),
        Bad(op_type, lambda: op(ref=tf.Variable([1.0, 2.0])._ref(), indices=[0], updates=[1.0, 2.0]), ValueError,
            "updates must have the shape of indices, then that of a row"),
        Bad(op_type, lambda: op(ref=tf.Variable([1.0, 2.0])._ref(), indices=[0.5], updates=[1.0]), TypeError, "float32"),
    ]


for _name in ("Update", "Add", "Sub", "Mul", "Div"):
    CASES += rows_of(f"Scatter{_name}", NUMERIC)
for _name in ("Max", "Min"):
    CASES += rows_of(f"Scatter{_name}", ("float16", "bfloat16", "float32", "float64", "int32", "int64"))
CASES += [
    Steps("ScatterUpdate", lambda v, u: [raw.ScatterUpdate(ref=v, indices=[2, 0], updates=u)], (WORDS,), (WORDS[:2].copy(),),
          note="string"),
    Steps("ScatterUpdate", lambda v, u: [raw.ScatterUpdate(ref=v, indices=[2, 0], updates=u)], of("bool", [0, 1, 0]),
          of("bool", [1, 1]), note="bool"),
    Steps("ScatterDiv", lambda v, u: [raw.ScatterDiv(ref=v, indices=[0, 1], updates=u)], of("int32", [-7, 7]),
          of("int32", [2, -2]), note="negative quotients"),
]


# -- elements of a variable -------------------------------------------------------------------------


def elements_of(op_type, dtypes):
    op = getattr(raw, op_type)

    def build(ref, indices, updates):
        return [op(ref=ref, indices=indices, updates=updates)] * 2 + [ref]

    at, start = np.array([[2, 1], [0, 0]], np.int32), np.arange(8).reshape(4, 2) + 1
    return [Steps(op_type, build, of(d, start), (at, *of(d, [5, 4])), note=d, compiled=d == "float32") for d in dtypes] + [
        Steps(op_type, build, of("float64", start), (at[:, :1].astype(np.int64), *of("float64", [[5, 4], [3, 2]])), note="rows"),
        Steps(op_type, build, of("float64", start[:, 0]), (np.array([[[1], [3]]]), *of("float64", [[5, 4]])), note="rank 3"),
        Steps(op_type, build, of("float32", start), (at[:0], *of("float32", [])), note="empty"),
        Steps(op_type, build, of("float32", start), (at[:1] + 1, *of("float32", [5])), note="past the end"),
        Steps(op_type, build, of("float32", start), (at[1:] - 1, *of("float32", [4])), note="negative"),
        Steps(op_type, build, (NAN,), (np.arange(7)[:, None], NAN[::-1].copy()), note="not finite"),
        Bad(op_type, lambda: op(ref=tf.Variable([1.0, 2.0])._ref(), indices=[[0, 0]], updates=[1.0]), ValueError,
            "index innermost dimension length must be <= rank of the tensor; saw: 2 vs. 1"),
    ]


for _name in ("Update", "Add", "Sub"):
    CASES += elements_of(f"ScatterNd{_name}", NUMERIC)
CASES += [Steps(t, lambda v, u, t=t: [getattr(raw, t)(ref=v, indices=[[1], [1], [3]], updates=u)], of("float64", [1, 2, 3, 4]),
                of("float64", [5, 6, 7]), note="repeated") for t in ("ScatterNdAdd", "ScatterNdSub")]


def slices(assign, value, dtype="float32", note=""):
    return Steps("StridedSliceAssign", lambda v, x: [assign(v, x), v], of(dtype, np.arange(12).reshape(3, 4)), of(dtype, value),
                 note=note or dtype, compiled=dtype == "float32")


CASES += [
    *(slices(lambda v, x: tf.assign(v[1:, ::2], x), [[20, 21], [22, 23]], d) for d in (*NUMERIC, "bool")),
    slices(lambda v, x: tf.assign(v[::-1, -1], x), [20, 21, 22], note="backwards, one column"),
    slices(lambda v, x: tf.assign(v[..., 1:3], x), np.arange(6).reshape(3, 2), note="ellipsis"),
    slices(lambda v, x: tf.assign(v[tf.newaxis, 2], x), [[5, 6, 7, 8]], note="new axis"),
    slices(lambda v, x: tf.assign(v[2:1], x), np.zeros((0, 4)), note="empty"),
    slices(lambda v, x: raw.StridedSliceAssign(ref=v, begin=[0, 1], end=[2, 3], strides=[1, 1], value=x),
           [[1, 2], [3, 4]], note="raw"),
    Bad("StridedSliceAssign", lambda: tf.assign(tf.Variable([1.0, 2.0, 3.0])[:2], [1.0, 2.0, 3.0]), ValueError, r"the value, float32\[3\], does not fit the slice, float32\[2\]"),
]


# -- asking about variables -----------------------------------------------------------------------------


def _asking(about):
    """Before and after the second of two variables has a value."""
    def build(first):
        second = tf.Variable([1.0], name="second")
        ask = about(first, second)
        return [ask, second.initializer, ask]

    return build


def _storage():
    """Storage of its own: unset, set, read."""
    ref = raw.VariableV2(shape=[2], dtype=tf.float32)
    return [ref, raw.IsVariableInitialized(ref=ref), raw.Assign(ref=ref, value=[1.0, 2.0]), ref,
            raw.IsVariableInitialized(ref=ref)]


CASES += [
    Steps("IsVariableInitialized", _asking(lambda a, b: [tf.is_variable_initialized(a), tf.is_variable_initialized(b)]),
          of("float32", [1])),
    Steps("VariableV2", _storage),
    Steps("VariableV2", lambda: [raw.VariableV2(shape=[2, 3], dtype=d) for d in (tf.int64, tf.string, tf.bool)], note="unset"),
    Steps("NoOp", lambda: [tf.no_op(), tf.group(tf.constant(1.0), name="group")]),
    Steps("NoOp", lambda v: [tf.group(tf.assign_add(v, [1.0])), v], of("float32", [1]), note="waits"),
    Steps("CountUpTo", lambda v: [tf.count_up_to(v, 3)] * 4, of("int32", 1), note="int32"),
    Steps("CountUpTo", lambda v: [tf.count_up_to(v, 3)] * 4, of("int64", 1), note="int64"),
    Steps("CountUpTo", lambda v: [raw.CountUpTo(ref=v, limit=3)], of("int32", 1), note="raw"),
    Steps("ReportUninitializedVariables", _asking(lambda a, b: tf.report_uninitialized_variables([a, b])), of("float32", [1]),
          expected=[[np.array([b"second"], object)], [], [np.array([], object)]]),
    Steps("AssertVariablesInitialized", _asking(lambda a, b: tf.assert_variables_initialized([a, b])), of("float32", [1]),
          expected=["FailedPreconditionError", [], []]),
    Bad("AssertVariablesInitialized", lambda: tf.assert_variables_initialized([tf.Variable(1.0, name="w")]),
        tf.errors.FailedPreconditionError, "uninitialized value w", run=True),
    Bad("CountUpTo", lambda: tf.count_up_to(tf.Variable([1, 2]), 3), ValueError, "must be rank 0 but is rank 1 for CountUpTo"),
    Bad("CountUpTo", lambda: tf.count_up_to(tf.Variable(1.0), 3), TypeError, "float32"),
]
