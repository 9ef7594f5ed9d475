"""Rows for `regrad/ops/train.py`: the sum of repeated rows, and one step of every optimizer. Whole optimizers: `tests/train`."""

import numpy as np

import regrad as tf
from regrad.ops import train
from tests.cases import Bad, Case, Steps

INDICES = np.array([3, 1, 3, 0, 1], np.int64)


def summed(values, indices, num_rows=None):
    """The sum stands where the last of the equal rows stood."""
    outside = (indices < 0) | (indices >= num_rows) if num_rows is not None else np.zeros(len(indices), bool)
    key = np.where(outside, -1, indices) if indices.dtype == np.int64 else indices
    sums, rows = np.zeros_like(values), np.full_like(indices, np.iinfo(indices.dtype).max)
    for row in np.unique(key):
        last = np.flatnonzero(key == row)[-1]
        sums[last], rows[last] = values[key == row].sum(0), indices[last]
    return sums, rows


SPARSE = np.array([3, 1, 3, 9, -1, 1], np.int32)
CASES = [
    Case("SumRepeatedRows", train.sum_repeated_rows, summed, ((5, 2), INDICES), order=0, wrt=()),
    Case("SumRepeatedRows", train.sum_repeated_rows, summed, ((5,), INDICES.astype(np.int32)), order=0, wrt=()),
    Case("SumRepeatedRows", train.sum_repeated_rows, summed, ((0, 2), INDICES[:0]), order=0, wrt=(), note="empty"),
    Case("SumRepeatedRows", train.sum_repeated_rows, summed, ((5, 2), INDICES), {"num_rows": 4}, order=0, wrt=(),
         note="bounded"),
    Case("SumRepeatedRows", train.sum_repeated_rows, summed, ((6, 2), SPARSE), {"num_rows": 5}, order=0, wrt=(),
         note="outside"),
    Case("SumRepeatedRows", train.sum_repeated_rows, summed, ((6, 2), SPARSE.astype(np.int64)), {"num_rows": 5}, order=0,
         wrt=(), note="outside_int64"),
    Case("SumRepeatedRows", train.sum_repeated_rows, summed, ((0, 2), INDICES[:0]), {"num_rows": 0}, order=0, wrt=(),
         note="nothing"),
]
CASES.append(Case("SumRepeatedRows", train.sum_repeated_rows, summed, ((6, 2), SPARSE), order=0, wrt=(), note="negative"))


# -- steps of optimizers ------------------------------------------------------------------------

# Op type without "Apply": its refs after the first with where they start, and its numbers.
RATES = {"lr": 0.1, "l1": 0.05, "l2": 0.02}
RULES = {
    "GradientDescent": ({}, {"alpha": 0.1}),
    "ProximalGradientDescent": ({}, {"alpha": 0.1, "l1": 0.05, "l2": 0.02}),
    "Momentum": ({"accum": 0.5}, {"lr": 0.1, "momentum": 0.9}),
    "Adam": ({"m": 0.5, "v": 0.3}, {"beta1_power": 0.9, "beta2_power": 0.99, "lr": 0.1, "beta1": 0.9, "beta2": 0.99,
                                    "epsilon": 0.01}),
    "AdaMax": ({"m": 0.5, "v": 0.3}, {"beta1_power": 0.9, "lr": 0.1, "beta1": 0.9, "beta2": 0.99, "epsilon": 0.01}),
    "Adagrad": ({"accum": 0.5}, {"lr": 0.1}),
    "AdagradDA": ({"gradient_accumulator": 0.2, "gradient_squared_accumulator": 0.5}, {**RATES, "global_step": 2}),
    "ProximalAdagrad": ({"accum": 0.5}, RATES),
    "Adadelta": ({"accum": 0.5, "accum_update": 0.3}, {"lr": 0.1, "rho": 0.9, "epsilon": 0.01}),
    "RMSProp": ({"ms": 0.5, "mom": 0.3}, {"lr": 0.1, "rho": 0.9, "momentum": 0.8, "epsilon": 0.01}),
    "CenteredRMSProp": ({"mg": 0.1, "ms": 0.5, "mom": 0.3}, {"lr": 0.1, "rho": 0.9, "momentum": 0.8, "epsilon": 0.01}),
    "Ftrl": ({"accum": 0.5, "linear": 0.3}, {**RATES, "lr_power": -0.5}),
    "FtrlV2": ({"accum": 0.5, "linear": 0.3}, {**RATES, "l2_shrinkage": 0.1, "lr_power": -0.5}),
    "AddSign": ({"m": 0.5}, {"lr": 0.1, "alpha": 1.0, "sign_decay": 0.9, "beta": 0.9}),
    "PowerSign": ({"m": 0.5}, {"lr": 0.1, "logbase": 1.0, "sign_decay": 0.9, "beta": 0.9}),
}
FLAGS = {"Momentum": {"use_nesterov": True}, "Adam": {"use_nesterov": True}, "Adagrad": {"update_slots": False}}
DENSE_ONLY = {"Adam", "AdaMax", "AddSign", "PowerSign"}
NO_KERNEL = {  # in TensorFlow
    **dict.fromkeys(("ApplyProximalGradientDescent", "ApplyAdagradDA", "ApplyProximalAdagrad"), ("float16", "bfloat16")),
    **dict.fromkeys(("SparseApplyProximalGradientDescent", "SparseApplyAdagradDA", "SparseApplyProximalAdagrad"),
                    ("float16", "bfloat16")),
    **dict.fromkeys(("ApplyAdaMax", "SparseApplyRMSProp", "SparseApplyCenteredRMSProp"), ("bfloat16",)),
}
FLOATS = ("float16", "bfloat16", "float32", "float64")
START = np.array([[1.0, -2.0], [0.5, 0.0], [3.0, -0.25], [0.01, 1.0]])
SLOPE = np.array([[0.5, -1.0], [2.0, 0.0], [-0.125, 0.02], [1.0, 1.5]])
STRANGE = np.array([[np.inf, -np.inf], [np.nan, 0.0], [60000.0, -0.0], [1e-6, 1.0]])


def step(rule, sparse, dtype="float32", start=START, slope=SLOPE, rows=(), runs=3, note="", numbers=None, expected=None,
         **attrs):
    """Some runs of an op, each fed the same gradient; `rows` are the indices of a sparse one."""
    op_type, (slots, given) = f"{'Sparse' * sparse}Apply{rule}", RULES[rule]
    name, dtype = dtype, tf.bfloat16.as_numpy_dtype if dtype == "bfloat16" else np.dtype(dtype)
    given = given | (numbers or {})
    gradient = "delta" if rule.endswith("GradientDescent") and not sparse else "grad"

    def build(*tensors):
        refs, operands = dict(zip(("var", *slots), tensors)), tensors[1 + len(slots):]
        refs |= {k: tf.constant(v, tf.int64 if k == "global_step" else refs["var"].dtype.base_dtype) for k, v in given.items()}
        refs |= dict(zip((gradient, "indices"), operands)) | attrs
        return [getattr(tf.raw_ops, op_type)(**refs)] * runs + [tensors[0]]

    variables = [start, *(np.full(start.shape, v) + 0.1 * np.arange(start.size).reshape(start.shape) for v in slots.values())]
    inputs = (slope.astype(dtype), np.array(rows, np.int32 if dtype == np.float32 else np.int64))[:1 + sparse]
    return Steps(op_type, build, tuple(v.astype(dtype) for v in variables), inputs, note=note or name, expected=expected,
                 compiled=not note and dtype == np.float32, rtol=2e-5)


def steps(rule):
    """A rule in every dtype, with all its flags, at numbers that are none, dense and for some rows."""
    rows = []
    for sparse in (False, True):
        if sparse and (rule in DENSE_ONLY or rule == "GradientDescent"):
            continue
        some = {"slope": SLOPE[[2, 0]], "rows": [3, 1]} if sparse else {}
        none = {"slope": SLOPE[:0], "rows": []} if sparse else {"start": START[:0], "slope": SLOPE[:0]}
        strange = {"slope": STRANGE, "rows": [3, 1, 0, 2]} if sparse else {"slope": STRANGE}
        rows += [step(rule, sparse, d, **some) for d in FLOATS
                 if d not in NO_KERNEL.get(f"{'Sparse' * sparse}Apply{rule}", ())]
        rows += [step(rule, sparse, note="locking", runs=1, use_locking=True, **some),
                 step(rule, sparse, note="empty", runs=1, **none),
                 step(rule, sparse, note="not finite", runs=2, **strange)]
        rows += [step(rule, sparse, note=k, **{k: v}, **some) for k, v in FLAGS.get(rule, {}).items()]
        rows += [step(rule, sparse, note=f"{k} 0", numbers={k: 0.0}, **some) for k in RULES[rule][1] if k in ("l1", "l2")]
        if "lr_power" in RULES[rule][1]:
            rows.append(step(rule, sparse, note="lr_power", numbers={"lr_power": -0.7}, **some))
        if sparse:
            rows.append(step(rule, sparse, note="repeated", runs=1, slope=SLOPE[[2, 0, 1]], rows=[3, 1, 3]))
            rows.append(step(rule, sparse, note="past the end", runs=1, slope=SLOPE[:1], rows=[4]))
    if rule not in DENSE_ONLY:
        rows.append(Bad(f"SparseApply{rule}", lambda: step(rule, True, slope=SLOPE[:2], rows=[1]).build(
            *_made(rule), SLOPE[:2].astype(np.float32), [1]), ValueError, "do not have the same shape"))
    rows.append(Bad(f"Apply{rule}", lambda: step(rule, False).build(*_made(rule), SLOPE[:2].astype(np.float32)), ValueError,
                    "do not have the same shape"))
    return rows


def _made(rule):
    return [tf.Variable(START, dtype=tf.float32)._variable for _ in range(1 + len(RULES[rule][0]))]


CASES += [row for rule in RULES for row in steps(rule)]
_MOVED = START.copy()
_MOVED[[3, 1]] -= 3 * 0.1 * SLOPE[[2, 0]]
# TensorFlow's optimizer makes a ScatterSub; this op type is what one of one's own would be made of.
CASES.append(step("GradientDescent", True, "float64", slope=SLOPE[[2, 0]], rows=[3, 1],
                  expected=[[START + (_MOVED - START) * k / 3] for k in (1, 2, 3, 3)]))
