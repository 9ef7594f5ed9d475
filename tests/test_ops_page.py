"""docs/ops.md says what the code says."""

from tests import ops_page


def test_the_page_is_up_to_date():
    now, written = ops_page.stable(ops_page.page()), ops_page.stable(ops_page.PAGE.read_text())
    assert now - written == set() and written - now == set(), "docs/ops.md is out of date: run make pages"


def test_every_op_type_of_the_library_is_on_it():
    text = ops_page.PAGE.read_text()
    missing = [t for t in ops_page.built_in() if f"| `{t}` |" not in text]
    assert not missing and len(ops_page.built_in()) > 400
