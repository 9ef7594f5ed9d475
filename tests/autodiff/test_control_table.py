"""Every way of control on every kind of target: it acts with the right number, or says that it does not."""

import warnings

import numpy as np
import pytest

import regrad as tf
from tests.autodiff import control_table
from tests.autodiff.control_table import ACTS, NONE, PAGE, TARGETS, WAYS, outcome


def _told():
    """Returns {way: {target: what the page says}}."""
    head, _, *rows = [[c.strip() for c in line.strip("|\n").split("|")] for line in PAGE.read_text().splitlines()
                      if line.startswith("|")]
    return {way: {row[0]: row[1 + i] for row in rows} for i, way in enumerate(head[1:])}


TOLD = _told()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("way", WAYS)
def test_a_way_acts_on_a_target_or_says_that_it_does_not(way, target):
    assert outcome(way, target) == TOLD[way][target], "run make pages, if that is how it is to be"


def test_the_page_has_every_cell_and_most_act():
    assert {way: set(cells) for way, cells in TOLD.items()} == dict.fromkeys(WAYS, set(TARGETS))
    cells = [cell for cells in TOLD.values() for cell in cells.values()]
    assert cells.count(ACTS) > 0.7 * (len(cells) - cells.count(NONE))


def test_a_way_that_does_nothing_and_says_nothing_is_found(monkeypatch):
    silent = control_table.lasting(lambda b: None)
    monkeypatch.setitem(WAYS, "`overriding`", silent)
    with pytest.raises(AssertionError, match="nothing has changed, and nothing is said"):
        outcome("`overriding`", "in `while_loop`")
    wrong = control_table.called(overrides=lambda b: {b.op_type: lambda op, dy: 3.0 * dy})
    monkeypatch.setitem(WAYS, "`overriding`", wrong)
    with pytest.raises(AssertionError, match="was to come"):
        outcome("`overriding`", "in `map_fn`")


def test_the_second_order_has_overrides_of_its_own_in_every_place():
    """Doubled in the first differentiation the second derivative doubles too; in the second, what it goes through does."""
    for name in ("an operation", "in `cond`", "in `while_loop`", "in `map_fn`", "in `scan`", "in `recompute_grad`"):
        with tf.Graph().as_default(), warnings.catch_warnings():
            warnings.simplefilter("error")
            b = TARGETS[name]()
            v = [tf.ones_like(b.x)]
            products = [tf.hessian_vector_product(b.y, b.x, v, **options)[0] for options in (
                {}, {"overrides": {"Tanh": control_table.double}, "order": 1})]
            with tf.Session() as session:
                plain, first = session.run(products)
            np.testing.assert_allclose(first, b.factor * plain, rtol=1e-9, err_msg=name)
