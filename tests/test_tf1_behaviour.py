"""TensorFlow 1's API, snippet by snippet, against what TensorFlow answers (see `programs/behaviour`)."""
import pathlib
import sys

import pytest

import regrad as tf

sys.path.insert(0, str(pathlib.Path(__file__).parent / "programs"))
import behaviour
import corpus

RECORDED = {name: corpus.load_json(f"behaviour_{name}.json") for name in behaviour.TABLES}
# What Regrad does not do as TensorFlow does, and why; a row that begins to pass must leave this list.
WAITING = {
    "names-attributes of a convolution": "string attributes are text that equals and decodes like TensorFlow's bytes",
}


def _marks(name):
    return [pytest.mark.xfail(strict=True, reason=WAITING[name])] if name in WAITING else []


ROWS = [pytest.param(table, row, id=f"{table}-{row.id}", marks=_marks(f"{table}-{row.id}"))
        for table, rows in behaviour.TABLES.items() for row in rows]


@pytest.mark.parametrize(("table", "row"), ROWS)
def test_behaves_as_tensorflow(table, row):
    if row.raises:
        assert corpus.failure_of(row, tf) is None
        return
    want = corpus.decode(RECORDED[table][row.id]) if row.recorded else row.expect

    assert corpus.differences(corpus.run_row(row, tf), want, row.tolerance) == []


def test_every_row_has_its_answer():
    for name, rows in behaviour.TABLES.items():
        ids = [row.id for row in rows]

        assert len(set(ids)) == len(ids)
        assert set(RECORDED[name]) == {row.id for row in rows if row.recorded}


def test_stored_results_come_back():
    value = {"a": [1, 2.5, None, True, "x", b"y"], "b": [1.5, float("inf")]}

    assert corpus.decode(corpus.encode(value)) == value
    assert corpus.differences(value, {**value, "b": [1.5, 2.0]}) != []
    assert corpus.differences(1, True) != []
