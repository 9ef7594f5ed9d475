"""Loops of compiled programs with less to do in their turns.

What is the same in all turns is computed before: XLA takes most of it out of a loop, but not the slices of a weight whose
other rows are data's (rewriting.part_op). What turns stack and multiply is computed where it is stacked.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import Literal, jaxprs_in_params

from regrad.runtime import products

_INFLATING = ("broadcast_in_dim", "iota", "pad")  # cheap to compute again, and larger than what they are made of


def scan(turn, first, rows, length, reverse=False, loop=lax.while_loop):
    """Does what `jax.lax.scan` does. The stacks begin as memory that nobody has written: every turn writes its row.

    Args:
      loop: what makes the loop; the first of its values counts the turns.
    """
    inputs, tree = jax.tree.flatten((first, jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), rows)))
    traced, shape = jax.make_jaxpr(lambda *values: turn(*tree.unflatten(values)), return_shape=True)(*inputs)
    made, results = jax.tree.flatten(shape)
    n = len(jax.tree.leaves(first))
    stacks = [products.uninitialized((length, *x.shape), x.dtype) for x in made[n:]]
    if length == 0:
        return results.unflatten([*jax.tree.leaves(first), *stacks])
    one, constants = _hoisted(traced.jaxpr, traced.consts)
    one, placed = _placed(one, n, length)

    def step(state):
        i, carry, stacks = state
        at = length - 1 - i if reverse else i
        row = jax.tree.map(lambda x: _take(x, at), rows)
        more = (*(stacks[k] for k in placed), at) if placed else ()
        values = jax.core.eval_jaxpr(one, constants, *carry, *jax.tree.leaves(row), *more)
        return i + 1, values[:n], [v if k in placed else _put(s, v, at) for k, (s, v) in enumerate(zip(stacks, values[n:]))]

    _, last, stacks = loop(lambda state: state[0] < length, step, (jnp.int32(0), jax.tree.leaves(first), stacks))
    return results.unflatten([*last, *stacks])


def all_at_once(turn, stacks, most=None):
    """Returns what `turn` returns for each row of the arrays `stacks`, stacked: each of its steps is computed for all of them.

    Returns:
      None where the results of its steps have more than `most` elements in all, or functions of other libraries are called:
      XLA would call them row by row.
    """
    traced = jax.make_jaxpr(turn)(*[jax.ShapeDtypeStruct(x.shape[1:], x.dtype) for x in stacks])
    if most is not None:
        made = _made(traced.jaxpr)
        if made is None or made * len(stacks[0]) > most:
            return None
    return jax.vmap(lambda *row: jax.core.eval_jaxpr(traced.jaxpr, traced.consts, *row))(*stacks)


def _made(jaxpr):
    """Returns how many elements the results of a jaxpr's equations have; None if it calls functions of other libraries."""
    made = 0
    for eqn in jaxpr.eqns:
        called = [_made(inner) for inner in jaxprs_in_params(eqn.params)]
        if None in called or eqn.primitive.name == "ffi_call" and eqn.invars:  # without operands it makes memory, once for all
            return None
        made += sum(called) + sum(v.aval.size for v in eqn.outvars)
    return made


def _take(stack, at):
    return lax.dynamic_index_in_dim(stack, at, keepdims=False, allow_negative_indices=False)


def _put(stack, row, at, column=0):
    """Returns the stack with one row written, from a column on."""
    start = [np.int32(0)] * stack.ndim
    start[-1], start[0] = np.int32(column), at
    return lax.dynamic_update_slice(stack, row[None], start, allow_negative_indices=False)


def _hoisted(jaxpr, constants):
    """Returns the jaxpr without what depends on its constants alone, and its constants, with what that gives."""
    known, before, rest = set(jaxpr.constvars), [], []
    for eqn in jaxpr.eqns:
        read = [v for v in eqn.invars if not isinstance(v, Literal)]
        if read and known.issuperset(read) and not eqn.effects and eqn.primitive.name not in _INFLATING:
            before.append(eqn)
            known.update(eqn.outvars)
        else:
            turned, eqn = products.turned(eqn, known)
            before += turned
            rest.append(eqn)
    if not before:
        return jaxpr, constants
    wanted = {v for v in (*(v for eqn in rest for v in eqn.invars), *jaxpr.outvars) if not isinstance(v, Literal)}
    kept = [v for eqn in before for v in eqn.outvars if v in wanted]
    made = jax.core.eval_jaxpr(jaxpr.replace(eqns=before, invars=[], outvars=kept), constants)
    return jaxpr.replace(eqns=rest, constvars=[*jaxpr.constvars, *kept]), [*constants, *made]


def _placed(jaxpr, n, length):
    """Lets rows that are made of parts beside each other, stacked and multiplied be put together in the stack alone.

    Args:
      jaxpr: of a turn, whose results behind the `n` carried values are rows to be stacked.
      length: how many turns there are.

    Returns:
      The jaxpr of a turn that takes such rows' stacks and the turn's index as well, and returns the stacks in place of the
      rows; and which rows those are. A product reads its row in the stack; so nothing is copied into a row, and from there
      into the stack.
    """
    made_by = {v: eqn for eqn in jaxpr.eqns for v in eqn.outvars}
    places = {}
    for k, v in enumerate(jaxpr.outvars[n:]):
        made = None if isinstance(v, Literal) else made_by.get(v)
        if made and _joined(made) and jaxpr.outvars.count(v) == 1 and products.from_stack(jaxpr, v):
            places[v] = k
    if not places:
        return jaxpr, []
    *stacks, at = jax.make_jaxpr(lambda *values: values)(
        *[jax.ShapeDtypeStruct((length, *v.aval.shape), v.aval.dtype) for v in places], np.int32(0)).jaxpr.invars
    stack_of, eqns = dict(zip(places, stacks)), []

    def add(result, function, *given):
        """Adds what a function does with variables, as equations the last of which gives `result`; returns that."""
        made = jax.make_jaxpr(function)(*[v.aval for v in given]).jaxpr
        names = dict(zip(made.invars, given))
        eqns.extend(e.replace(invars=[v if isinstance(v, Literal) else names.get(v, v) for v in e.invars]) for e in made.eqns)
        result = result or made.outvars[0]
        eqns[-1] = eqns[-1].replace(outvars=[result])
        return result

    for eqn in jaxpr.eqns:
        row = next((v for v in (*eqn.outvars, *eqn.invars) if not isinstance(v, Literal) and v in places), None)
        if row is None:
            eqns.append(eqn)
        elif row in eqn.outvars:
            column = 0
            for part in eqn.invars:
                stack_of[row] = add(None, partial(_put, column=column), stack_of[row], part, at)
                column += part.aval.shape[-1]
        else:
            others = [v for v in eqn.invars if v is not row]
            add(eqn.outvars[0], products.of_stack(eqn, row), stack_of[row], at, *others)
    outvars = [v if isinstance(v, Literal) else stack_of.get(v, v) for v in jaxpr.outvars]
    return jaxpr.replace(invars=[*jaxpr.invars, *stacks, at], outvars=outvars, eqns=eqns), list(places.values())


def _joined(eqn):
    """True for columns put beside each other."""
    return eqn.primitive.name == "concatenate" and eqn.params["dimension"] == eqn.outvars[0].aval.ndim - 1
