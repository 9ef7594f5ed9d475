"""One step of an optimizer as an op, dense and for some rows only: TF's `ApplyX` and `SparseApplyX` op types.

A rule is one function of the variable, its slots, numbers and the gradient, that returns the new variable and slots. The
dense op applies it to the whole; the sparse op to the rows `indices`, which it reads and writes in place. The formulas
are those of TF's kernels, so that trajectories agree to rounding.

Each row of the table at the end: op type; refs that are overwritten, variable first; other operands (`grad` or `delta` is
the gradient); attributes; the rule. Gradients: `train_grad.py`.
"""

import numpy as np

from regrad.core.dtypes import INDEX, NUMERIC
from regrad.core.errors import ShapeError
from regrad.core.facts import Facts, Product
from regrad.core.opdef import Bounds, OpDef, Spec, define_op, spec_text
from regrad.core.shapes import compatible, merge, size_of
from regrad.ops.state import refuse_rows
from regrad.runtime import foreign, native
from regrad.runtime.products import product

_TARGET, _BY_PRODUCT = "regrad_update", "regrad_update_by_product"  # runtime/updates.c
_LEAST_ALONE = 16_384  # elements


def _number(x, value):
    return x.dtype.type(value)


# -- rules -----------------------------------------------------------------------------------------
# `np` is the backend's NumPy. Numbers arrive as scalars of the variable's dtype.


def _gradient_descent(np, var, alpha, grad):
    return (var - alpha * grad,)


def _shrunk(np, x, step, l1, l2):
    """The proximal point of l1 |x| + l2 x^2 / 2 for a step: shrinks towards zero."""
    one = _number(x, 1)
    soft = np.sign(x) * np.maximum(np.abs(x) - step * l1, _number(x, 0))
    return np.where(l1 > 0, soft, x) / (one + l2 * step)


def _proximal_gradient_descent(np, var, alpha, l1, l2, grad):
    return (_shrunk(np, var - alpha * grad, alpha, l1, l2),)


def _momentum(np, var, accum, lr, grad, momentum, *, use_nesterov):
    accum = accum * momentum + grad
    return var - (grad * lr + accum * momentum * lr if use_nesterov else accum * lr), accum


def _adam(np, var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad, *, use_nesterov):
    one = _number(var, 1)
    alpha = lr * np.sqrt(one - beta2_power) / (one - beta1_power)
    m = m + (grad - m) * (one - beta1)
    v = v + (grad * grad - v) * (one - beta2)
    step = grad * (one - beta1) + beta1 * m if use_nesterov else m
    return var - step * alpha / (np.sqrt(v) + epsilon), m, v


def _adamax(np, var, m, v, beta1_power, lr, beta1, beta2, epsilon, grad):
    one = _number(var, 1)
    m = m + (grad - m) * (one - beta1)
    v = np.maximum(beta2 * v, np.abs(grad))
    return var - lr / (one - beta1_power) * (m / (v + epsilon)), m, v


def _adagrad(np, var, accum, lr, grad, *, update_slots):
    if update_slots:
        accum = accum + grad * grad
    return var - grad * lr / np.sqrt(accum), accum


def _adagrad_da(np, var, gradient_accumulator, gradient_squared_accumulator, grad, lr, l1, l2, global_step):
    step = global_step.astype(var.dtype)
    total = gradient_accumulator + grad
    squares = gradient_squared_accumulator + grad * grad
    soft = np.sign(total) * np.maximum(np.abs(total) - l1 * step, _number(var, 0))
    return -lr * np.where(l1 > 0, soft, total) / (l2 * step * lr + np.sqrt(squares)), total, squares


def _proximal_adagrad(np, var, accum, lr, l1, l2, grad):
    accum = accum + grad * grad
    step = lr / np.sqrt(accum)
    return _shrunk(np, var - grad * step, step, l1, l2), accum


def _adadelta(np, var, accum, accum_update, lr, rho, epsilon, grad):
    rest = _number(var, 1) - rho
    accum = accum * rho + grad * grad * rest
    update = np.sqrt(accum_update + epsilon) / np.sqrt(accum + epsilon) * grad
    return var - update * lr, accum, accum_update * rho + update * update * rest


def _rmsprop(np, var, ms, mom, lr, rho, momentum, epsilon, grad):
    ms = ms + (grad * grad - ms) * (_number(var, 1) - rho)
    mom = mom * momentum + grad * lr / np.sqrt(ms + epsilon)
    return var - mom, ms, mom


def _centered_rmsprop(np, var, mg, ms, mom, lr, rho, momentum, epsilon, grad):
    rest = _number(var, 1) - rho
    ms = ms + (grad * grad - ms) * rest
    mg = mg + (grad - mg) * rest
    mom = mom * momentum + grad * lr / np.sqrt(ms - mg * mg + epsilon)
    return var - mom, mg, ms, mom


def _ftrl(np, var, accum, linear, grad, lr, l1, l2, lr_power):
    return _ftrl_v2(np, var, accum, linear, grad, lr, l1, l2, _number(var, 0), lr_power)


def _ftrl_v2(np, var, accum, linear, grad, lr, l1, l2, l2_shrinkage, lr_power):
    two = _number(var, 2)
    new = accum + grad * grad
    # lr_power is known while compiling, nearly always -0.5, and a root ten times as fast as a power.
    old_root, root = (np.sqrt(x) if lr_power == -0.5 else np.power(x, -lr_power) for x in (accum, new))
    linear = linear + (grad + two * l2_shrinkage * var) - (root - old_root) / lr * var
    solution = (np.sign(linear) * l1 - linear) / (root / lr + two * l2)
    return np.where(np.abs(linear) > l1, solution, _number(var, 0)), new, linear


def _add_sign(np, var, m, lr, alpha, sign_decay, beta, grad):
    m = grad * (_number(var, 1) - beta) + m * beta
    return var - lr * (alpha + sign_decay * (np.sign(grad) * np.sign(m))) * grad, m


def _power_sign(np, var, m, lr, logbase, sign_decay, beta, grad):
    m = grad * (_number(var, 1) - beta) + m * beta
    return var - lr * np.exp(logbase * sign_decay * (np.sign(grad) * np.sign(m))) * grad, m


# -- from a rule to ops ------------------------------------------------------------------------------
def _check(ref, operands, names, grad_dims):
    for name, x in zip(names, operands):
        if name in ("grad", "delta"):
            if not compatible(x.dims, grad_dims):
                raise ShapeError(f"var and {name} do not have the same shape: {spec_text(ref)} {spec_text(x)}")
        elif x.dims not in (None, ()):
            raise ShapeError(f"{name} is not a scalar: {spec_text(x)}")


def _define(op_type, refs, operands, attrs, rule):
    """Defines the dense op, and for a rule TF has in sparse form the sparse one."""
    refs, operands = refs.split(), operands.split()
    n = len(refs)
    gradient = next(n + i for i, name in enumerate(operands) if name in ("grad", "delta"))
    kinds = {"global_step": "int64"}
    signature = ", ".join(f"{name}: {kinds.get(name, 'T')}" for name in refs + operands)

    def infer(*inputs, **_):
        dims = inputs[0].dims
        for slot in inputs[1:n]:
            dims = merge(dims, slot.dims, f"{op_type}: var and its slots have one shape;")
        _check(inputs[0], inputs[n:], operands, dims)
        return Spec(dims, inputs[0].dtype)

    def lower(b, *inputs, use_locking, **rest):
        number = _rule_in_c(b, op_type, inputs[0], rest)
        # Without slots XLA makes one function, which is called faster than one of C.
        if number is not None and (n > 1 or inputs[0].size >= _LEAST_ALONE) and native.serves(b.unless(_TARGET)):
            return foreign.overwrite(b.unless(_TARGET), n, *inputs, *b.readers, *b.guard(), gradient=np.int32(gradient),
                                     rule=np.int32(number))
        return rule(b.np, *inputs, **rest)

    shared = {"attrs": {"use_locking": False, **attrs}, "types": {"T": NUMERIC}, "writes": tuple(range(n)),
              "static": tuple(n + i for i, name in enumerate(operands) if name == "lr_power")}  # fmt: skip
    dense = define_op(op_type, signature, infer=infer, lower=lower, **shared)
    if any(key[0] == op_type for key in _BY_C):
        dense.declare(by_product=_by_product(dense, gradient))
    if op_type in _DENSE_ONLY:
        return dense

    names = [*refs, *("grad" if name == "delta" else name for name in operands)]
    at = names.index("grad") + 1  # the indices come after the gradient, wherever that stands
    names.insert(at, "indices")

    def infer_rows(*inputs, **_):
        ref, indices = inputs[0], inputs[at]
        rows = None if ref.dims is None or indices.dims is None else indices.dims + ref.dims[1:]
        _check(ref, inputs[n:at] + inputs[at + 1:], operands, rows)
        return Spec(ref.dims, ref.dtype)

    def lower_rows(b, *inputs, use_locking, **rest):
        indices, inputs = inputs[at], inputs[:at] + inputs[at + 1:]
        if b.is_host:
            refuse_rows(indices, len(inputs[0]))
        old = [take_rows(b, ref, indices) for ref in inputs[:n]]
        new = rule(b.np, *old, *inputs[n:], **rest)
        return tuple(put_rows(b, ref, indices, rows) for ref, rows in zip(inputs[:n], new))

    kinds["indices"] = "Tindices"
    sparse = define_op("Sparse" + op_type, ", ".join(f"{name}: {kinds.get(name, 'T')}" for name in names), infer=infer_rows,
                       lower=lower_rows, **{**shared, "types": {"T": NUMERIC, "Tindices": INDEX},
                                            "static": tuple(i for i, name in enumerate(names) if name == "lr_power")})
    sparse.declare(rows_of=tuple(range(n)))
    sparse.declare(refusal=Bounds(at, lambda ref, *_, **attrs: ref.dims[0], refuse_rows, spare="largest"))
    return dense


def _rule_in_c(b, op_type, var, attrs):
    """Returns the number that updates.c has for a rule; None where it does not serve."""
    return None if b.is_host or var.dtype != np.float32 else _BY_C.get((op_type, *attrs.values()))


def _by_product(dense, at):
    """Returns the OpDef of a step by the gradient x' y, which has x and y in the gradient's place `at`; it is in no graph.

    `runtime/rewriting.py` has it for a weight's step where nothing else reads the gradient: that need not be written to memory.
    """
    names = [arg.name for arg in dense.args]

    def lower(b, *inputs, use_locking, **rest):
        number = _rule_in_c(b, dense.type, inputs[0], rest)
        if number is not None and native.serves(b.unless(_BY_PRODUCT)):
            return foreign.overwrite(b.unless(_BY_PRODUCT), len(dense.writes), *inputs, *b.readers, *b.guard(),
                                     gradient=np.int32(at), rule=np.int32(number))
        grad = product(b, *inputs[at:at + 2], transpose_x=True)
        return dense.lower(b, *inputs[:at], grad, *inputs[at + 2:], use_locking=use_locking, **rest)

    return OpDef(dense.type + "ByProduct", ", ".join([*names[:at], "x", "y", *names[at + 1:]]), lambda var, *_, **attrs: Spec(
        var.dims, var.dtype), lower, attrs=dense.attrs, types={}, stateful=False, host=False, static=(), writes=dense.writes,
        reads=True, xla_only=False, shape_only=(), partial=False, variable=False, random=False, single=True,
        facts=Facts(cost="heavy", product=Product(multiply_adds=lambda op, dims, made: size_of(dims[0]) * dims[at][0])))


def take_rows(b, ref, indices):
    """Returns the rows `indices` of `ref`; an index past the end gives some row, which nobody will see."""
    if b.is_host:  # np.take would copy all of a variable that is one number over and over
        return ref[np.clip(indices, 0, len(ref) - 1)]
    return b.np.take(ref, indices, axis=0, mode="clip")


def put_rows(b, ref, indices, rows):
    """Returns `ref` with rows replaced; indices outside are left out."""
    if not b.is_host:
        return ref.at[indices].set(rows, mode="drop", wrap_negative_indices=False)
    inside = (indices >= 0) & (indices < len(ref))
    out = b.to_write(ref, indices[inside])
    out[indices[inside]] = rows[inside]
    return out


# What updates.c computes: op type and attributes.
_BY_C = {("ApplyGradientDescent",): 0, ("ApplyMomentum", False): 1, ("ApplyMomentum", True): 2, ("ApplyAdam", False): 3,
         ("ApplyAdagrad", True): 4, ("ApplyRMSProp",): 5}
_DENSE_ONLY = {"ApplyAdam", "ApplyAdaMax", "ApplyAddSign", "ApplyPowerSign"}
_RULES: tuple = (
    ("ApplyGradientDescent", "var", "alpha delta", {}, _gradient_descent),
    ("ApplyProximalGradientDescent", "var", "alpha l1 l2 delta", {}, _proximal_gradient_descent),
    ("ApplyMomentum", "var accum", "lr grad momentum", {"use_nesterov": False}, _momentum),
    ("ApplyAdam", "var m v", "beta1_power beta2_power lr beta1 beta2 epsilon grad", {"use_nesterov": False}, _adam),
    ("ApplyAdaMax", "var m v", "beta1_power lr beta1 beta2 epsilon grad", {}, _adamax),
    ("ApplyAdagrad", "var accum", "lr grad", {"update_slots": True}, _adagrad),
    ("ApplyAdagradDA", "var gradient_accumulator gradient_squared_accumulator", "grad lr l1 l2 global_step", {},
     _adagrad_da),
    ("ApplyProximalAdagrad", "var accum", "lr l1 l2 grad", {}, _proximal_adagrad),
    ("ApplyAdadelta", "var accum accum_update", "lr rho epsilon grad", {}, _adadelta),
    ("ApplyRMSProp", "var ms mom", "lr rho momentum epsilon grad", {}, _rmsprop),
    ("ApplyCenteredRMSProp", "var mg ms mom", "lr rho momentum epsilon grad", {}, _centered_rmsprop),
    ("ApplyFtrl", "var accum linear", "grad lr l1 l2 lr_power", {}, _ftrl),
    ("ApplyFtrlV2", "var accum linear", "grad lr l1 l2 l2_shrinkage lr_power", {}, _ftrl_v2),
    ("ApplyAddSign", "var m", "lr alpha sign_decay beta grad", {}, _add_sign),
    ("ApplyPowerSign", "var m", "lr logbase sign_decay beta grad", {}, _power_sign),
)
OPS = {row[0]: _define(*row) for row in _RULES}


# -- sparse gradients with repeated rows ----------------------------------------------------------------
def _places(b, indices, num_rows):
    """Returns, for each row, the place of the last one with the same index: the one that takes the sum."""
    n = indices.shape[0]
    position = b.np.arange(n, dtype=np.int32)
    if indices.dtype == np.int64 and num_rows is not None and num_rows < 2**31:
        outside = (indices < 0) | (indices >= num_rows)
        indices = b.np.where(outside, 2**31 - 1, indices).astype(np.int32)
    if b.is_host or indices.dtype == np.int64:
        order = b.np.argsort(indices, kind="stable") if b.is_host else b.np.argsort(indices)
        ordered = indices[order]
    else:  # XLA sorts single integers five times as fast as pairs
        packed = b.np.sort((indices.astype(np.int64) << 32) | position)
        order, ordered = packed & 0xFFFFFFFF, packed >> 32
    last = b.np.concatenate([ordered[1:] != ordered[:-1], b.np.ones(min(n, 1), bool)])
    # In sorted order equal ones follow each other, the latest last; each takes the place of the end of its run.
    end = b.np.where(last, position, np.int32(n))
    end = np.minimum.accumulate(end[::-1])[::-1] if b.is_host else b.lax.cummin(end, reverse=True)
    place = order.astype(np.int32)[end] if n else position
    if b.is_host:
        out = np.empty(n, np.int32)
        out[order] = place
        return out
    return b.np.zeros(n, np.int32).at[order].set(place, unique_indices=True)


def _sum_repeated_lower(b, values, indices, *, num_rows):
    n = indices.shape[0]
    place = _places(b, indices, num_rows)
    past_end = indices.dtype.type(np.iinfo(indices.dtype).max)
    rows = b.np.where(place == b.np.arange(n, dtype=np.int32), indices, past_end)
    if b.is_host:
        sums = np.zeros(values.shape, values.dtype)
        np.add.at(sums, place, values)
        return sums, rows
    return b.np.zeros(values.shape, values.dtype).at[place].add(values), rows


sumrepeatedrows_op = define_op("SumRepeatedRows", "values: T, indices: Tindices", attrs={"num_rows": None},
                               types={"T": NUMERIC, "Tindices": INDEX}, lower=_sum_repeated_lower,
                               infer=lambda values, indices, *, num_rows: [Spec(values.dims, values.dtype),
                                                                           Spec(indices.dims, indices.dtype)])


def sum_repeated_rows(values, indices, num_rows=None, name=None):
    """Returns (values, indices) in which no index occurs twice: the rows of equal ones are added.

    As many rows as before come back; those that became superfluous are zeros, with the largest integer as their index,
    which is past the end of any variable and left out by everything that writes rows. So the number of rows stays known
    while compiling, which it would not if they were dropped.

    Args:
      values, indices: rows [n, ...] and their places [n].
      num_rows: how many places there are, if known: int64 indices are then sorted as fast as int32 ones.
    """
    return sumrepeatedrows_op(values, indices, num_rows=num_rows, name=name)
