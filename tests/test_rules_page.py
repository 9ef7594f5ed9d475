"""docs/rules.md is what `make pages` writes."""

from tests import rules_page


def test_the_page_is_up_to_date():
    assert rules_page.page() == rules_page.PAGE.read_text(), "make pages writes it again"


def test_every_part_is_on_it():
    text = rules_page.PAGE.read_text()
    assert [n for n in sorted(rules_page.names()) if f"| `{n}`" not in text and f"| `{n}(" not in text] == []
    assert text.count("arXiv") > 25
