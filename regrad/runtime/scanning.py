"""Loops of compiled programs without work that is the same in all turns.

XLA takes most of it out of a loop, but not the slices of a weight whose other rows are data's (rewriting.part_op).
"""

import jax
from jax.extend.core import Literal

_INFLATING = ("broadcast_in_dim", "iota", "pad")  # cheap to compute again, and larger than what they are made of


def scan(turn, first, rows, length, reverse=False):
    """Does what `jax.lax.scan` does; what a turn computes of nothing but values from outside is computed once, before."""
    inputs, tree = jax.tree.flatten((first, jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), rows)))
    traced, shape = jax.make_jaxpr(lambda *values: turn(*tree.unflatten(values)), return_shape=True)(*inputs)
    one, constants = _hoisted(traced.jaxpr, traced.consts)
    results = jax.tree.structure(shape)

    def step(carry, row):
        return results.unflatten(jax.core.eval_jaxpr(one, constants, *jax.tree.leaves((carry, row))))

    return jax.lax.scan(step, first, rows, length=length, reverse=reverse)


def _hoisted(jaxpr, constants):
    """Returns the jaxpr without what depends on its constants alone, and its constants, with what that gives."""
    known, before, rest = set(jaxpr.constvars), [], []
    for eqn in jaxpr.eqns:
        read = [v for v in eqn.invars if not isinstance(v, Literal)]
        if read and known.issuperset(read) and not eqn.effects and eqn.primitive.name not in _INFLATING:
            before.append(eqn)
            known.update(eqn.outvars)
        else:
            rest.append(eqn)
    if not before:
        return jaxpr, constants
    wanted = {v for v in (*(v for eqn in rest for v in eqn.invars), *jaxpr.outvars) if not isinstance(v, Literal)}
    kept = [v for eqn in before for v in eqn.outvars if v in wanted]
    made = jax.core.eval_jaxpr(jaxpr.replace(eqns=before, invars=[], outvars=kept), constants)
    return jaxpr.replace(eqns=rest, constvars=[*jaxpr.constvars, *kept]), [*constants, *made]
