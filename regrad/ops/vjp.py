"""Gradient rules borrowed from JAX: the vector-Jacobian product of an op's own lowering.

For ops whose derivative would only repeat what JAX knows (decompositions, Fourier transforms ...):

    vjp_of_lowering("Cholesky")

registers a rule that builds one `LoweringVJP` operation, whose lowering calls `jax.vjp`. That operation is
differentiable in the same way, so every order works.

Complex numbers: JAX pairs a cotangent g with a tangent t as Re(g t), TF as Re(conj(g) t), hence the conjugates.
"""

from regrad.core.gradient_registry import RegisterGradient
from regrad.core.opdef import Bounds, Refusal, Spec, define_op, find_op
from regrad.runtime import foreign

STATIC, CONSTANT, PRIMAL = "static", "constant", "primal"


class Lowering:
    """An op type's lowering with its attributes fixed, as a function of its differentiable inputs.

    Equal ones compare equal, so that equal graphs share compiled code.
    """

    def __init__(self, op, linear=False):
        opdef = op.opdef
        self.linear = linear
        self.opdef, self.attrs, self.groups = opdef, op.attrs, op.groups
        sizes = [1 if n is None else n for n in op.groups] if op.groups is not None else [1] * len(opdef.args)
        arg_of = [i for i, n in enumerate(sizes) for _ in range(n)]
        self.kinds = tuple(STATIC if i in opdef.static else PRIMAL if t.dtype._kind in "fc" else CONSTANT
                           for i, t in zip(arg_of, op.inputs))
        self.flowing = tuple(t.dtype._kind in "fc" for t in op.outputs)
        shown = {k: v for k, v in op.attrs.items() if not k.startswith("_")}
        self.key = (opdef.key, repr(sorted(shown.items())), repr(self.groups), self.kinds, self.flowing, linear)

    def __eq__(self, other):
        return isinstance(other, Lowering) and self.key == other.key

    def __hash__(self):
        return hash(self.key)

    def __repr__(self):
        return f"{self.key[0]}({self.key[1]})"

    def operands(self, static, constants, primals):
        """Returns the operands of the lowering."""
        parts = {STATIC: iter(static), CONSTANT: iter(constants), PRIMAL: iter(primals)}
        flat = [next(parts[kind]) for kind in self.kinds]
        if self.groups is None:
            args = flat
        else:
            source = iter(flat)
            args = [next(source) if n is None else [next(source) for _ in range(n)] for n in self.groups]
        return args

    def declared(self):
        """Returns the attributes that the lowering takes."""
        return {k: v for k, v in self.attrs.items() if k in self.opdef.attrs}

    def __call__(self, b, static, constants, primals):
        """Returns the differentiable outputs, a tuple."""
        out = self.opdef.lower(b, *self.operands(static, constants, primals), **self.declared())
        outs = out if isinstance(out, (tuple, list)) else (out,)
        return tuple(o for o, flows in zip(outs, self.flowing) if flows)


class VJP:
    """The function (primals, output gradients) -> input gradients of another such function."""

    linear = False

    def __init__(self, function, n):
        self.function, self.n = function, n

    def __eq__(self, other):
        return isinstance(other, VJP) and (self.n, self.function) == (other.n, other.function)

    def __hash__(self):
        return hash((self.n, self.function))

    def __repr__(self):
        return f"vjp[{self.function!r}]"

    def __call__(self, b, static, constants, primals):
        xs, dys = primals[:self.n], primals[self.n:]
        with foreign.differentiated():
            _, pull = b.jax.vjp(lambda *xs: self.function(b, static, constants, xs), *xs)
            return tuple(_conj(b, dx) for dx in pull(tuple(_conj(b, dy) for dy in dys)))


def _conj(b, x):
    return b.np.conj(x) if x.dtype.kind == "c" else x


loweringvjp_op = define_op(
    "LoweringVJP", "static: [S], constants: [C], primals: [T], grads: [G]", attrs={"function": None}, static=(0,),
    single=False, xla_only=True,
    infer=lambda static, constants, xs, dys, *, function: [Spec(x.dims, x.dtype) for x in xs],
    lower=lambda b, static, constants, xs, dys, *, function:
    VJP(function, len(xs))(b, static, constants, tuple(xs) + tuple(dys)))


def _forward(function):
    """Returns the Lowering that a VJP, of whatever order, is of."""
    while type(function) is VJP:
        function = function.function
    return function


def _outside(b, result, static, constants, xs, dys, *, function):
    """Finds the indices that the forward op refuses: it need not be in the same program."""
    forward = _forward(function)
    operands = forward.operands(static, constants, xs[:forward.kinds.count(PRIMAL)])
    return forward.opdef.facts.refusal.finds(b, None, *operands, **forward.declared())


loweringvjp_op.declare(refusal=Refusal(
    "an index is out of range", _outside,
    never=lambda *specs, function: not isinstance(_forward(function).opdef.facts.refusal, Bounds)))


def vjp_of_lowering(op_type, linear=False):
    """Registers, for an op type defined already, the VJP of its lowering as its gradient rule.

    Args:
      op_type: the op type.
      linear: the op is linear in all its differentiable inputs together, so that its gradient does not depend on them:
        no second derivative leads back to them.
    """
    if find_op(op_type) is None:
        raise ValueError(f"vjp_of_lowering: no op type {op_type!r} is defined.")
    RegisterGradient(op_type)(linear_vjp if linear else lowering_vjp)


def linear_vjp(op, *dys):
    """The rule of a linear op."""
    return lowering_vjp(op, *dys, linear=True)


def lowering_vjp(op, *dys, linear=False):
    """The rule itself: the gradients of the floating and complex inputs of `op`, None for the others."""
    function = Lowering(op, linear)
    parts = {STATIC: [], CONSTANT: [], PRIMAL: []}
    for kind, x in zip(function.kinds, op.inputs):
        parts[kind].append(x)
    dys = [dy for dy, flows in zip(dys, function.flowing) if flows]
    dxs = iter(loweringvjp_op(parts[STATIC], parts[CONSTANT], parts[PRIMAL], dys, function=function))
    return [next(dxs) if kind == PRIMAL else None for kind in function.kinds]


@RegisterGradient("LoweringVJP")
def _loweringvjp_grad(op, *gs):
    function = op.get_attr("function")
    n_static, n_constants, n, m = op.groups
    static, rest = op.inputs[:n_static], op.inputs[n_static:]
    constants, primals = rest[:n_constants], rest[n_constants:]
    dxs = loweringvjp_op(list(static), list(constants), list(primals), list(gs), function=VJP(function, n))
    if function.linear:
        dxs[:n] = [None] * n
    return [None] * (n_static + n_constants) + dxs
