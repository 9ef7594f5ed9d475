"""One table of `Case` and `Bad` rows per op family; `tests/test_ops.py` checks every row in every way it knows.

A row gives: value against the reference, inferred spec against the result with full, partial and no static shape, host
against XLA backend, first and second derivative in a random direction in float64 (against finite differences and JAX's
own derivative of the lowering), and each further dtype's value.
"""

import dataclasses
from collections.abc import Callable
from typing import Any


@dataclasses.dataclass(frozen=True)
class Case:
    """One op at one set of arguments.

    Attributes:
      op_type: the op type this row is about; it must occur in the graph that `build` makes.
      build: `build(*tensors, **kwargs)` -> tensor or list of tensors.
      reference: `reference(*arrays, **kwargs)` -> array or tuple of arrays, in NumPy or SciPy; None where only
        shapes, derivatives and the two backends are compared.
      inputs: a tuple; a shape (tuple of ints) is filled with random float64 in [low, high), an ndarray is used as it
        is (integer and bool arrays keep their dtype and are not differentiated).
      kwargs: further arguments of `build` (and of `reference`).
      low, high: range of random elements: keep away from kinks and poles.
      order: how many derivatives to check: 2, 1, or 0 (declared NotDifferentiable).
      wrt: indices of the inputs to differentiate; all floating ones by default.
      dtypes: further dtypes in which the value is checked, by name.
      rtol: relative tolerance of values in float64.
      unknown: False where static shapes must be known (kernel sizes from the shape, for instance).
      host: False for ops defined as xla_only.
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
    unknown: bool = True
    note: str = ""

    @property
    def id(self):
        shapes = "x".join(str(getattr(i, "shape", i)).replace(" ", "") for i in self.inputs)
        return f"{self.op_type}{self.note and '-' + self.note}-{shapes}"


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
