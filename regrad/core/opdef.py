"""Definitions of op types: everything Regrad knows about "MatMul" besides its gradient.

    mul_op = define_op("Mul", "x: T, y: T", infer=broadcasted, lower=lambda b, x, y: b.np.multiply(x, y))

The signature names the inputs and their types:

    x: T              one tensor; all inputs marked T have the same dtype
    x: int32          one tensor of that dtype
    values: N*T       a list of tensors of one dtype
    data: [T]         a list of tensors of any dtypes
    types={"T": REAL} restricts what T may be

`infer(x, y, *, attributes)` sees each input's `dims`, `dtype`, `value()` (a NumPy array when known) and `partial()`
(sizes, None where unknown), and returns one `Spec` or a list of them. `lower(b, x, y, *, attributes)` computes: `b` is
the backend, whose `b.np` is NumPy or jax.numpy, so this package never imports JAX.
"""

import dataclasses
import itertools
import re
import sys

import numpy as np

from regrad.core import dtypes, gradient_registry, source
from regrad.core.errors import InvalidArgumentError, ShapeError, nearest
from regrad.core.facts import NONE, Facts
from regrad.core.shapes import broadcast, fully_known, size_of
from regrad.core.tf_op_types import OP_TYPES

# Op types whose attribute "shape" holds sizes and is TensorFlow's message of a shape for those who ask.
SHAPED = ("Placeholder", "PlaceholderWithDefault", "VariableV2", "VarHandleOp", "EnsureShape")

_TYPE = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*$")  # names of op types


class Spec:
    """Shape and dtype of a tensor that need not exist: dims (tuple with None for unknown, or None) and DType."""

    __slots__ = ("dims", "dtype")

    def __init__(self, dims, dtype):
        self.dims = dims
        self.dtype = dtype

    @property
    def rank(self):
        return None if self.dims is None else len(self.dims)

    def value(self):
        return None

    def partial(self):
        return partial_of(self)

    def __repr__(self):
        return spec_text(self)


class Known(Spec):
    """A Spec whose value, a NumPy array, is known before anything runs."""

    __slots__ = ("array",)

    def __init__(self, array, dtype=None):
        self.array = array
        self.dims = np.shape(array)
        self.dtype = dtype or dtypes.as_dtype(array.dtype)

    def value(self):
        return self.array


class Ranged(Spec):
    """A Spec of integers that all lie between `low` and `high`, these included."""

    __slots__ = ("low", "high")

    def __init__(self, dims, dtype, low, high):
        super().__init__(dims, dtype)
        self.low = low
        self.high = high


def partial_of(x):
    """Returns the integers of a rank-0 or rank-1 `x` as an int or tuple, None where unknown; None if not even the rank is."""
    v = x.value()
    if v is not None:
        v = np.asarray(v)
        return int(v) if v.ndim == 0 else tuple(int(i) for i in v)
    if x.dims is None or len(x.dims) != 1 or x.dims[0] is None:
        return None
    return (None,) * x.dims[0]


def extent(x):
    """Returns (least, largest) that the integers of a Spec or tensor can be, as far as it is known before it is computed."""
    v = x.value()
    if v is not None and np.size(v):
        return np.min(v), np.max(v)
    return (x.low, x.high) if isinstance(x, Ranged) else (-np.inf, np.inf)


def spec_text(x):
    """Returns "float32[2,?]", the one notation for dtype and shape in messages."""
    if x.dims is None:
        return f"{x.dtype.name}<unknown rank>"
    return f"{x.dtype.name}[{','.join('?' if d is None else str(d) for d in x.dims)}]"


def rank_is(x, rank, what):
    """Refuses an `x` that is known to have another number of axes than `rank`."""
    if x.dims is not None and len(x.dims) != rank:
        raise ShapeError(f"Shape must be rank {rank} but is rank {len(x.dims)} for {what}, {spec_text(x)}")


def rank_at_least(x, rank, what):
    """Refuses an `x` that is known to have fewer than `rank` axes."""
    if x.dims is not None and len(x.dims) < rank:
        raise ShapeError(f"Shape must be at least rank {rank} but is rank {len(x.dims)} for {what}, {spec_text(x)}")


# -- shape rules that many ops share ---------------------------------------------------


def same(x, *rest, **attrs):
    """The output is like the first input."""
    return Spec(x.dims, x.dtype)


def broadcasted(x, y, **attrs):
    """The output has the broadcast shape and the common dtype."""
    return Spec(broadcast(x.dims, y.dims), x.dtype)


def compared(x, y, **attrs):
    """The output is bool, of the broadcast shape."""
    return Spec(broadcast(x.dims, y.dims), dtypes.bool_)


def no_output(*inputs, **attrs):
    return []


# -- definitions ---------------------------------------------------------------------


class _Arg:
    __slots__ = ("name", "var", "fixed", "is_list", "mixed")

    def __init__(self, text):
        name, _, kind = text.partition(":")
        self.name, kind = name.strip(), kind.strip() or "T"
        if not self.name.isidentifier():
            raise ValueError(f"define_op: {text.strip()!r} in the signature; an input is written 'name' or 'name: type', and "
                             "inputs are separated by commas: \"x: T, y: T\".")
        self.mixed = kind.startswith("[")  # a list of any dtypes
        self.is_list = self.mixed or "*" in kind
        kind = kind.strip("[]").rpartition("*")[2].strip()
        self.fixed = dtypes._BY_NAME.get(kind)
        self.var = None if self.fixed is not None else kind


LIST = -2  # `OpDef._fast` of those that take one list


class OpDef:
    """One op type. Made by `define_op`; calling it builds an operation in the default graph."""

    __slots__ = ("type", "args", "attrs", "infer", "lower", "types", "stateful", "host", "static", "writes", "reads",
                 "xla_only", "shape_only", "partial", "variable", "has_lists", "single", "random", "facts",
                 "_fast", "key", "module", "_cell", "__weakref__")

    def __init__(self, type, signature, infer, lower, attrs, types, stateful, host, static, writes, reads, xla_only,
                 shape_only, partial, variable, random, single, facts=NONE):
        self.type = type
        self.args = tuple(_Arg(a) for a in signature.split(",") if a.strip())
        for arg in self.args:
            if arg.var and arg.var.islower() and arg.var not in types:
                hint = nearest(arg.var, dtypes._BY_NAME) or ";"
                raise ValueError(f"define_op: {arg.var!r} in the signature is no dtype{hint} a type that is left open is a "
                                 'capital letter, "x: T", or has an entry in `types`.')
        self.infer = infer
        self.lower = lower
        self.attrs = attrs
        self.types = types
        self.stateful = stateful
        self.host = host
        self.static = static
        self.writes = writes
        self.reads = reads
        self.xla_only = xla_only
        self.shape_only = shape_only
        self.partial = partial
        self.variable = variable
        self.random = random
        self.facts = facts
        self.has_lists = any(a.is_list for a in self.args)
        # The common cases, worth paths of their own: a few inputs, all of type T; one list of them.
        of_type = all(a.var == "T" for a in self.args)
        self._fast = len(self.args) if of_type and not self.has_lists else -1
        if of_type and self.has_lists and len(self.args) == 1:
            self._fast = LIST
        self.single = single
        self.key = type  # stands for the op type where compiled programs are looked up
        self.module = ""  # that defined it; the rules of a family's ops stand in the sibling file
        self._cell = None

    def __call__(self, *inputs, name=None, **attrs):
        return builder(self, inputs, name, attrs)

    def declare(self, **facts):
        """States facts of the op type, fields of core.facts.Facts, in the block that defines it; returns the op type."""
        self.facts = dataclasses.replace(self.facts, **facts)
        return self

    def pure(self):
        """True when running it twice, or not at all when unused, changes nothing."""
        return not (self.stateful or self.host or self.writes or self.variable or self.random)

    def __repr__(self):
        return f"<op type {self.type}({', '.join(a.name for a in self.args)})>"


def builder(opdef, inputs, name, attrs):
    """Builds an operation; `core.convert`, which knows graphs and conversions, puts the real one here."""
    raise RuntimeError("regrad.core.convert is not loaded")


USER_DEFINED = "user-defined"
_serial = itertools.count()
_defs: dict[str, OpDef] = {}
_ANY: dict = {}


def define_op(type, signature, *, infer, lower=None, attrs=None, types=None, stateful=False, host=False, static=(),
              writes=(), reads=True, xla_only=False, shape_only=(), partial=False, variable=False, random=False, single=True,
              facts=NONE):
    """Defines an op type and returns it, callable: `op(*inputs, name=None, **attributes)` builds an operation.

    Args:
      type: the op type's name, TF's where TF has one.
      signature: inputs and types, as at the top of this file.
      infer: `infer(*inputs, **attrs)` -> Spec, list of Specs ([] for no output).
      lower: `lower(b, *arrays, **attrs)` -> array or tuple, one per output.
      attrs: names and default values of attributes.
      types: what a type variable may be, as {"T": set of DTypes}.
      stateful: never folded, merged or repeated; runs once per run that needs it.
      host: runs in the calling thread on NumPy arrays, between compiled segments; `lower` gets the host backend.
        Needed by Python functions, strings, and ops whose output shape depends on data.
      static: indices of inputs whose value the lowering must know (shapes, axes).
      writes: indices of variable inputs it overwrites; `lower` returns their new values, and the op's outputs are
        the same.
      reads: whether an overwritten variable's old value is needed.
      xla_only: the lowering needs `b.lax` or another part that NumPy lacks.
      shape_only: indices of inputs of which only shape and dtype matter; `lower` gets an object with `.shape` and
        `.dtype`, and the op does not wait for them.
      partial: the lowering also works on arrays of objects, some of them unknown sizes (shape arithmetic).
      variable: the op is a variable's storage.
      random: draws numbers: `lower(b, rng, *arrays, **attrs)`, where `rng` is uint64[3]: graph seed, op seed, and how
        many blocks of its stream the op took before in this session; its fact `blocks` says how many it takes.
      single: an op with one output gives a Tensor when called; False for ops whose number of outputs varies, which
        always give a list.
      facts: a Facts: what the op type costs, that it is a product, and what else the runtime may know of it.

    Raises:
      ValueError: the type is defined already. (A notebook cell that is run again replaces its own.)
    """
    module = sys._getframe(1).f_globals.get("__name__", "")
    built_in = module.startswith("regrad.")
    if not built_in and type in OP_TYPES:
        gradient_registry.complete()
    old, cell = _defs.get(type), source.cell()
    if not isinstance(type, str) or not _TYPE.match(type):
        raise ValueError(f"define_op: an op type's name is of letters and digits, such as 'MyOp', got {type!r}.")
    if old is not None and not source.rerun(old._cell, cell):
        raise ValueError(f"define_op: op type {type!r} is defined already.")
    for name, role in ((infer, "infer"), (lower, "lower")):
        if not callable(name) and (name is not None or role == "infer"):
            raise TypeError(f"define_op: {role} of {type!r} must be a function, got {name!r}.")
    if not isinstance(facts, Facts):
        raise TypeError(f"define_op: facts of {type!r} must be a tf.Facts, got {facts!r}.")
    opdef = OpDef(type, signature, infer, lower, attrs or {}, types or _ANY, stateful, host, tuple(static),
                  tuple(writes), reads, xla_only, tuple(shape_only), partial, variable, random, single, facts)
    opdef.module = module
    if not built_in:
        # What a user's lowering does may be another thing tomorrow: its programs are kept for this process alone.
        opdef.key = f"{type} ({USER_DEFINED} {next(_serial)})"
        opdef._cell = cell
    _defs[type] = opdef
    return opdef


class Refusal:
    """What an op cannot be computed for, where only values tell: an integer divided by zero, a singular matrix.

    NumPy raises at once. A compiled program cannot stop half-way: it tells by one number, for all its operations, which was
    refused first, and the run raises what NumPy says of the same values, before any variable has changed
    (runtime/checks.py). Lowerings go on with whatever the backend gives.

    Attributes:
      message: of the error, where NumPy's lowering does not raise one that says more.
      finds: `finds(b, result, *operands, **attrs)` -> bools, one of which is True when the op is to be refused.
      types: the dtypes of the first input that it is for; None for all.
      by_itself: NumPy's lowering raises; else `finds` is asked after it.
      never: `never(*specs, **attrs)` -> True where what is known before a run, the inputs' Specs, leaves nothing to find.
      error: class of the error.
    """

    __slots__ = ("message", "finds", "types", "by_itself", "never", "error")

    def __init__(self, message, finds, types=None, *, by_itself=False, never=None, error=InvalidArgumentError):
        self.message = message
        self.finds = finds
        self.types = types
        self.by_itself = by_itself
        self.never = never
        self.error = error


class Bounds(Refusal):
    """Which values of an integer input an op cannot be computed for: indices, class labels. NumPy's lowering raises.

    What comes from outside the runtime looks at before a compiled program gets it; what is known to lie within needs no look.

    Attributes:
      position: of the input; it holds numbers from 0, or rows of them where there are several limits.
      limit: `limit(*inputs, **attrs)` for the inputs' Specs -> int, or a tuple with an int for each column, or more of them.
      refuse: `refuse(values, limit)` raises what the host's lowering does.
      spare: which integers outside are no mistakes, but stand for rows that are left out: "negative" ones or the "largest";
        None if none are.
    """

    __slots__ = ("position", "limit", "refuse", "spare")

    def __init__(self, position, limit, refuse, *, spare=None, error=InvalidArgumentError):
        super().__init__("an index is out of range", self._outside, by_itself=True, error=error)
        self.position = position
        self.limit = limit
        self.refuse = refuse
        self.spare = spare

    def _outside(self, b, result, *operands, **attrs):
        values, limit = operands[self.position], self.limit(*map(_spec_of, operands), **attrs)
        if not values.size:
            return np.False_
        if type(limit) is not int:
            limit = np.array(limit[:values.shape[-1]], values.dtype)
        outside = ~(values < limit)  # of operations that runtime/reductions.py knows
        if self.spare != "negative":
            outside = outside | (values < 0)
        if self.spare == "largest":
            outside = outside & (values != np.iinfo(values.dtype).max)
        return outside

    @staticmethod
    def hold(values, limit):
        """True when all `values` lie in [0, limit)."""
        if not values.size:
            return True
        unsigned = values.view(f"u{values.itemsize}")  # in which what is negative is too large
        if type(limit) is int:
            return np.maximum.reduce(unsigned, axis=None) < limit
        columns = values.shape[-1]
        return bool((np.maximum.reduce(unsigned.reshape(-1, columns)) < limit[:columns]).all())


def _spec_of(x):
    dtype = dtypes.as_dtype(x.dtype)
    return Known(x, dtype) if type(x) is np.ndarray else Spec(tuple(x.shape), dtype)


def refusal_of(op):
    """Returns the Refusal that holds for an operation, or None."""
    refusal = op.opdef.facts.refusal
    if refusal is None or refusal.types is not None and op.inputs[0].dtype not in refusal.types:
        return None
    return refusal


def declared_attrs(op):
    """Returns the attributes that an op type declares: not what graphs note on ops for themselves (`_class` and such)."""
    attrs = op.attrs
    if len(attrs) != len(op.opdef.attrs):
        return {k: v for k, v in attrs.items() if k in op.opdef.attrs}
    return attrs


def find_op(type):
    """Returns the OpDef of an op type, or None."""
    opdef = _defs.get(type)
    if opdef is None and type in OP_TYPES:
        gradient_registry.complete()  # families are loaded when they are first needed
        opdef = _defs.get(type)
    return opdef


def defined(type):
    """Returns the OpDef of an op type whose family is loaded, or None."""
    return _defs.get(type)


def op_types():
    return _defs.keys()


__all__ = ["Bounds", "Known", "OpDef", "Ranged", "Refusal", "Spec", "broadcasted", "compared", "declared_attrs", "define_op",
           "extent", "find_op", "fully_known", "no_output", "op_types", "partial_of", "rank_at_least", "rank_is", "refusal_of",
           "same", "size_of", "spec_text"]
