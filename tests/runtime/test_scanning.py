"""Loops of compiled programs compute once what is the same in all turns."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from regrad.runtime.scanning import scan


def _body(jaxpr):
    """Returns the primitives of the loop's turn and of what is around it."""
    loop = next(eqn for eqn in jaxpr.eqns if eqn.primitive.name in ("scan", "while"))
    around = [eqn.primitive.name for eqn in jaxpr.eqns if eqn is not loop]
    turn = loop.params["jaxpr" if loop.primitive.name == "scan" else "body_jaxpr"]
    return [eqn.primitive.name for eqn in turn.jaxpr.eqns], around


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [0, 5])
def test_what_is_the_same_in_all_turns_is_computed_before(length, reverse):
    def program(h, w, xs, how):
        def turn(carry, row):
            h, n = carry
            part = jnp.sin(w[1:]) * 2  # of the weights alone
            return (jnp.tanh(h @ part + row), n + 1), (h, part.sum())

        return how(turn, (h, jnp.int32(0)), xs, length=length, reverse=reverse)

    rng = np.random.default_rng(0)
    h, w, xs = (rng.standard_normal(dims, np.float32) for dims in ((2, 3), (4, 3), (length, 2, 3)))
    ours, theirs = (jax.jit(program, static_argnums=3).trace(h, w, xs, how) for how in (scan, jax.lax.scan))
    if length:
        turn, around = _body(ours.jaxpr)
        assert "sin" in around and "sin" not in turn and {"tanh", "dot_general"} <= set(turn)
        assert "sin" in _body(theirs.jaxpr)[0]
    for got, want in zip(*(jax.tree.leaves(traced.lower().compile()(h, w, xs)) for traced in (ours, theirs)), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_what_only_grows_by_it_stays_where_it_is():
    def turn(carry, row):
        return carry + jnp.broadcast_to(bias, carry.shape), None

    bias = jnp.ones(3)
    traced = jax.jit(lambda h: scan(turn, h, None, length=4)).trace(np.zeros((2, 3), np.float32))
    assert "broadcast_in_dim" in _body(traced.jaxpr)[0]
