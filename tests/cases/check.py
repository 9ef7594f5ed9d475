"""Rows for checks and printing (`regrad/ops/check.py`), for constants and what is fed, and for host functions
(`regrad/ops/script.py`)."""

import os

import numpy as np

import regrad as tf
from tests.cases import Bad, Case, Steps, once
from tests.cases.queues import folder

YES, NO = np.array(True), np.array(False)
X = np.array([[1.5, -2.0, np.nan], [np.inf, 0.0, 1e-30]], np.float32)
TYPES = ("float16", "bfloat16", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
         "bool", "complex64", "complex128")


def of(dtype, values):
    return np.array(values, tf.as_dtype(dtype).as_numpy_dtype)


# -- checks ---------------------------------------------------------------------------------------------
def asserted(p, *data):
    """What waits for a check comes only if the check holds."""
    with tf.control_dependencies([tf.Assert(p, list(data) or ["no"])]):
        return tf.identity(data[0] if data else p)


CASES = [
    *(once("Assert", asserted, p, note=str(p)) for p in (YES, NO)),
    *(once("Assert", asserted, p, X, np.array([b"a"], object), note=f"{p}, data") for p in (YES, NO)),
    once("Assert", lambda v: [tf.Assert(tf.reduce_all(v > 0), [v])], np.zeros((0,), np.float32), note="empty"),
    Steps("Assert", lambda v, p: [tf.group(tf.Assert(p, [v])), asserted(p, v)], (np.array([1.0], np.float32),), (NO,),
          note="variable"),
    Bad("Assert", lambda: tf.Assert(tf.constant(False), [tf.constant([5, 6]), "seven"]), tf.errors.InvalidArgumentError,
        r"assertion failed: \[5 6\] \[seven\]", run=True),
    Bad("Assert", lambda: tf.Assert(tf.constant(True), tf.constant("no")), TypeError, "Expected list for 'data' argument"),
    Bad("Assert", lambda: tf.Assert(tf.constant(1.0), ["no"]), TypeError, "float32 that does not match expected type of bool"),
]


# -- printing: what is written is read again -----------------------------------------------------------------
def printed(function, *inputs, note=""):
    """A row of `function(*inputs, output_stream=)`, and what stands in the file after it."""
    def build(*tensors):
        path = os.path.join(folder().name, "printed")
        with open(path, "w"):
            pass
        return [function(*tensors, output_stream=f"file://{path}"), tf.read_file(path)]

    return Steps("PrintV2", build, inputs=inputs, note=note)


CASES += [
    *(printed(tf.print, of(d, [[0, 1], [2, 3]]), note=d) for d in TYPES),
    *(printed(tf.print, X[i], np.array(b"word", object), note=f"two {i}") for i in (0, 1)),
    printed(lambda x, **to: tf.print("x:", x, [x, {"y": x[0]}], sep=";", end=".", **to), np.arange(3, dtype=np.int32),
            note="structures"),
    *(printed(lambda x, n=n, **to: tf.print(x, summarize=n, **to), np.arange(20).reshape(4, 5), note=f"{n} of each")
      for n in (-1, 1, 2)),
    printed(tf.print, np.zeros((0, 2), np.float32), note="empty"),
    Bad("PrintV2", lambda: tf.print(1, output_stream="nowhere"), ValueError, "output_stream must be"),
    *(Case("Print", lambda x: tf.Print(x, [x, "word"], message="m", summarize=2), lambda x: x, (shape,), order=2,
           dtypes=("float16", "float32", "complex64")) for shape in ((2, 3), (0,), ())),
    Case("Print", lambda x: tf.Print(x, [x], first_n=1), lambda x: x, (np.arange(3),), dtypes=(), note="int"),
    Bad("Print", lambda: tf.Print(1.0, 5), TypeError, "Expected list for 'data' argument to 'Print' Op, not 5"),
]


# -- constants, and what is fed --------------------------------------------------------------------------------
def fed(shape, dtype=tf.float32):
    return lambda x: [x, tf.placeholder(dtype, shape), tf.placeholder_with_default(x, shape)]


CASES += [
    *(Steps("Const", lambda d=d: [tf.constant([[0, 1], [2, 3]], d), tf.constant(1, d, [2, 2]), tf.constant([], d)], note=d)
      for d in TYPES if d != "bool"),
    Steps("Const", lambda: [tf.constant(True), tf.constant([b"a", "b"]), tf.constant([1.5, 2]), tf.constant(2**40),
                            tf.constant(np.float64(1)), tf.constant([[], []])], note="chosen"),
    Steps("Const", lambda: [tf.constant([np.nan, np.inf, -0.0])], note="not finite"),
    Steps("Const", lambda v: [tf.gradients(v * tf.constant([2.0]), v), tf.stop_gradient(v)], (np.array([1.0], np.float32),),
          note="gradient"),
    *(Steps("Placeholder", lambda x: [x, tf.identity(x)], inputs=(of(d, [[0, 1], [2, 3]]),), note=d) for d in TYPES),
    Steps("Placeholder", lambda x: [x], inputs=(np.array([b"a", b""], object),), note="string"),
    *(Steps("Placeholder", fed(shape), inputs=(X,), note=str(shape), unknown=False) for shape in (None, [None, 3], [2, 3])),
    Bad("Placeholder", lambda: tf.placeholder(tf.float32, [-2]), ValueError, "Dimension -2 must be >= 0"),
    Bad("Placeholder", lambda: tf.placeholder("no type"), TypeError, "no type"),
]


# -- host functions -------------------------------------------------------------------------------------------------
def halves(x):
    return x / 2, np.float64(x.sum())


def refused(x):
    raise ValueError("not this")


def counted(stateful):
    """Whether the function is called once a run, or may be called less often, its values are the same."""
    return lambda x: [tf.py_func(np.sin, [x], x.dtype, stateful=stateful), tf.py_func(halves, [x], [x.dtype, tf.float64],
                                                                                       stateful=stateful)]


def eager(x):
    return tf.py_function(lambda v: v.numpy() * 2, [x], x.dtype)


for _op_type, _stateful in (("PyFunc", True), ("PyFuncStateless", False)):
    CASES += [
        *(once(_op_type, lambda x, s=_stateful: tf.py_func(lambda v: v[::-1], [x], x.dtype, stateful=s), of(d, [[0, 1], [2, 3]]),
               note=d) for d in TYPES),
        once(_op_type, lambda x, s=_stateful: tf.py_func(lambda v: v[::-1], [x], tf.string, stateful=s),
             np.array([b"a", b"b\0"], object), note="string"),
        Steps(_op_type, counted(_stateful), inputs=(np.array([0.5, 1.5]),), note="two results"),
        once(_op_type, lambda x, s=_stateful: tf.py_func(np.float32, [x], tf.float32, stateful=s), np.float32(2), note="scalar"),
        once(_op_type, lambda x, s=_stateful: tf.py_func(np.negative, [x], tf.float32, stateful=s), X, note="not finite"),
        once(_op_type, lambda x, s=_stateful: tf.py_func(lambda v: v, [x], tf.float32, stateful=s), np.float64(2),
             note="another dtype"),
        once(_op_type, lambda x, s=_stateful: tf.py_func(halves, [x], [x.dtype], stateful=s), np.array([0.5]), note="too many"),
        Bad(_op_type, lambda s=_stateful: tf.py_func(refused, [1.0], tf.float32, stateful=s), ValueError, "not this", run=True),
        Bad(_op_type, lambda s=_stateful: tf.py_func(1, [1.0], tf.float32, stateful=s), ValueError, "needs a callable"),
    ]
CASES += [
    *(once("EagerPyFunc", eager, of(d, [[0, 1], [2, 3]]), note=d) for d in TYPES if d not in ("bool", "bfloat16")),
    once("EagerPyFunc", lambda x: tf.py_function(lambda v: [v.numpy() + 1, v.numpy().sum()], [x], [tf.float64, tf.float64]),
         np.array([0.5, 1.5]), note="two results"),
    Steps("Timestamp", lambda: [tf.timestamp() > 1.7e9], note="since 1970"),
]
