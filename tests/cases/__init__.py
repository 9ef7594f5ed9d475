"""One table of rows per op family, `CASES = [Case(...), Steps(...), Edge(...), Bad(...), ...]`; `tests/test_ops.py` checks
every row in every way it knows (the list stands at its top), and the whole of it for a plain `Case("Mul", f,
np.multiply, ((3, 4), (4,)))`.
"""

import dataclasses
import importlib
import pkgutil
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True)
class Case:
    """One op at one set of arguments.

    Attributes:
      op_type: the op type this row is about; it must occur in the graph that `build` makes.
      build: `build(*tensors, **kwargs)` -> tensor or list of tensors.
      reference: `reference(*arrays, **kwargs)` -> array or tuple of arrays, in NumPy or SciPy; None where only
        shapes, derivatives and the two backends are compared.
      inputs: a tuple; a shape (tuple of ints) is filled with random float64 in [low, high), an ndarray is used as it
        is (integer, bool and string arrays keep their dtype and are not differentiated; float arrays are, in float64,
        and complex ones in complex128).
      kwargs: further arguments of `build` (and of `reference`).
      low, high: range of random elements: keep away from kinks and poles.
      order: how many derivatives to check: 3, 2, 1, or 0 (the op type is declared NotDifferentiable). Without floating
        inputs there is nothing to differentiate, whatever is said.
      wrt: indices of the inputs to differentiate; all floating ones by default.
      dtypes: further dtypes in which the value is checked, by name; floating inputs are cast to it.
      rtol: relative tolerance of values in float64.
      grad_rtol: relative tolerance of derivatives in float64, against finite differences.
      unknown: False where static shapes must be known (kernel sizes from the shape, for instance); "rank" where only
        the ranks must be.
      derivatives: False where only values count: NaN and infinite inputs, points where the derivative does not exist.
      jax: False where the op's derivative is by definition another than that of its lowering.
      note: a word that tells this row from others of the same op type and shapes.
    """

    op_type: str
    build: Callable
    reference: Callable | None
    inputs: tuple
    kwargs: dict[str, Any] = dataclasses.field(default_factory=dict)
    low: float = -2.0
    high: float = 2.0
    order: int = 2
    wrt: tuple[int, ...] | None = None
    dtypes: tuple[str, ...] = ("float32",)
    rtol: float = 1e-10
    grad_rtol: float = 1e-6
    unknown: bool | str = True
    derivatives: bool = True
    jax: bool = True
    note: str = ""

    def arrays(self):
        """Returns the inputs as arrays: shapes filled with random numbers, floats in 64 bits."""
        return arrays_of(self.inputs, self.low, self.high)

    def differentiable(self, arrays):
        """Returns the indices of the inputs to differentiate."""
        return [i for i, x in enumerate(arrays) if x.dtype.kind in "fc" and (self.wrt is None or i in self.wrt)]

    @property
    def id(self):
        shapes = "x".join(str(getattr(i, "shape", i)).replace(" ", "") for i in self.inputs)
        return f"{self.op_type}{self.note and '-' + self.note}-{shapes}"


@dataclasses.dataclass(frozen=True)
class Steps:
    """An op with a state, or with effects: runs of one session, one after another, and the variables after each.

    Attributes:
      op_type: the op type this row is about; it must occur in the graph that `build` makes.
      build: `build(*variables, *tensors)` -> a list of fetches, one for each run; a fetch is a tensor, an operation, or a
        list of them. Each run is fed the same. A run may fail: the class of the error is compared.
      variables: their initial values, arrays of the dtype to test.
      inputs: what is fed, likewise.
      expected: where TensorFlow has no answer: for each run a list of the arrays it gives, or the name of an error.
      rtol: relative tolerance in float64 and float32; 2e-2 in shorter types.
      unknown: False where static shapes must be known.
      compiled: False where nothing is to be gained by running it through XLA as well.
      note: a word that tells this row from others of the same op type.
    """

    op_type: str
    build: Callable
    variables: tuple = ()
    inputs: tuple = ()
    expected: list | None = None
    rtol: float = 1e-5
    unknown: bool = True
    compiled: bool = False
    note: str = ""

    @property
    def id(self):
        return f"{self.op_type}{self.note and '-' + self.note}"


def once(op_type, function, *inputs, note="", **more):
    """A row of one run, for an op of the host: `function(*tensors)` -> tensors of `inputs`, which are kept as they are."""
    return Steps(op_type, lambda *tensors: [function(*tensors)], inputs=inputs, note=note, **more)


@dataclasses.dataclass(frozen=True)
class Edge:
    """Decided derivatives at a point where formulas fail: ties, kinks, 0/0, infinities.

    Attributes:
      op_type, build: as in Case.
      inputs: arrays (lists become float64 arrays).
      grads: the expected gradient of the sum of the outputs per floating input; None where none flows.
      second: the expected gradient of the sum of the first gradients, or absent.
      dy: the gradient arriving, ones by default.
    """

    op_type: str
    build: Callable
    inputs: tuple
    grads: tuple
    second: tuple | None = None
    dy: Any = None
    kwargs: dict[str, Any] = dataclasses.field(default_factory=dict)
    note: str = ""

    @property
    def id(self):
        return f"{self.op_type}-edge-{self.note}"


@dataclasses.dataclass(frozen=True)
class Bad:
    """Bad input that must be refused while building (or running) with words that `says` matches (a regex).

    `build()` takes no arguments; `run=True` when the refusal comes from `Session.run` of its result.
    """

    op_type: str
    build: Callable
    error: type | tuple
    says: str
    run: bool = False

    @property
    def id(self):
        return f"{self.op_type}-{self.says[:30]}"


def arrays_of(inputs, low=-2.0, high=2.0):
    """Returns a row's inputs as arrays: shapes filled with random numbers, floats in 64 bits."""
    rng = np.random.RandomState(7)
    out = []
    for x in inputs:
        x = np.asarray(rng.uniform(low, high, x) if isinstance(x, tuple) else x)
        out.append(x.astype(np.float64) if x.dtype.kind == "f" else x.astype(np.complex128) if x.dtype.kind == "c" else x)
    return out


def random_like(shape, dtype, rng):
    """Returns random numbers in [-1, 1) of a shape, complex if `dtype` is."""
    x = np.asarray(rng.uniform(-1, 1, shape))
    return x + 1j * rng.uniform(-1, 1, shape) if np.dtype(dtype).kind == "c" else x


def families():
    """Returns {family: its rows}, every table in this package."""
    tables = {}
    for module in pkgutil.iter_modules(__path__):
        tables[module.name] = importlib.import_module(f"{__name__}.{module.name}").CASES
    return tables


# -- values that are not finite ------------------------------------------------------------------------

NOT_FINITE = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.0, 1e100, np.inf, -np.inf, np.nan])
# Where TensorFlow's own answer is an accident of the algorithm, or no gradient passes.
_FINITE = {"linalg", "fft", "conv", "counting", "ctc", "generate", "image", "random", "strings", "train"}


def nonfinite(rows):
    """Returns {key: row}: of each op type a row whose inputs are made of zeros, ones, huge, infinite and NaN numbers.

    `rows` is a list of (family, row). The first derivative counts too: what it does with such numbers is TensorFlow's.
    """
    found, seen = {}, set()
    for family, row in rows:
        if family in _FINITE or not isinstance(row, Case) or row.op_type in seen:
            continue
        arrays = row.arrays()
        filled = [i for i, given in enumerate(row.inputs) if isinstance(given, tuple) and arrays[i].size]
        if not filled or not row.order or any(x.dtype.kind == "c" for x in arrays):
            continue
        seen.add(row.op_type)
        rng = np.random.RandomState(zlib.crc32(row.id.encode()) % 2**31)
        for i in filled:
            share = 0.9 if arrays[i].size < 30 and len(filled) < 3 else 0.3
            arrays[i] = np.where(rng.uniform(size=arrays[i].shape) < share, rng.choice(NOT_FINITE, arrays[i].shape), arrays[i])
        found[f"nonfinite-{family}-{row.id}"] = dataclasses.replace(row, inputs=tuple(arrays), derivatives=True)
    return found


# -- rows that many ops share -------------------------------------------------------------------------

FLOATS = ("float16", "bfloat16", "float32")
INEXACT = (*FLOATS, "complex64")
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-300, 1e300])
_COMPLEX = np.array([[0.6 + 0.5j, 0.3 - 0.7j], [-0.5 + 0.2j, 0.9 + 0.1j]])


def unary(op_type, function, reference, low=-2.0, high=2.0, dtypes=INEXACT, order=2, special=True, note="", complex_jax=True,
          **more):
    """Rows for an element-wise op of one tensor: a matrix, a scalar, an empty tensor, special and complex values."""
    more |= {"low": low, "high": high, "order": order}
    rows = [
        Case(op_type, function, reference, ((3, 4),), dtypes=dtypes, note=note, **more),
        Case(op_type, function, reference, ((),), dtypes=(), note=note, **more),
        Case(op_type, function, reference, ((2, 0),), dtypes=(), note=note, **more),
    ]
    if special:
        rows.append(Case(op_type, function, reference, (SPECIAL,), derivatives=False, note="special" + note, **more))
    if order and "complex64" in dtypes:
        rows.append(Case(op_type, function, reference, (_COMPLEX,), dtypes=("complex64",), note="complex" + note,
                         jax=complex_jax, **more))
    return rows


def binary(op_type, function, reference, low=-2.0, high=2.0, dtypes=INEXACT, order=2, special=True, note="", **more):
    """Rows for an element-wise op of two tensors: broadcasting in every way, size 1, empty, special, complex values."""
    more |= {"low": low, "high": high, "order": order}
    shapes = [((3, 4), (3, 4)), ((3, 4), (4,)), ((3, 1), (1, 4)), ((), (2, 3)), ((2, 0), (1, 1)), ((1,), (3,))]
    rows = [Case(op_type, function, reference, s, dtypes=dtypes if i == 1 else (), note=note, **more)
            for i, s in enumerate(shapes)]
    if special:
        rows.append(Case(op_type, function, reference, tuple(np.meshgrid(SPECIAL, SPECIAL)), derivatives=False,
                         note="special" + note, **more))
    if order and "complex64" in dtypes:
        rows.append(Case(op_type, function, reference, (_COMPLEX, _COMPLEX[0] - 1.5), dtypes=("complex64",),
                         note="complex" + note, **more))
    return rows
