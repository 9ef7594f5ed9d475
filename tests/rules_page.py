"""Writes `docs/rules.md`: the ready-made parts of `regrad.rules`, with their papers, read from their docstrings.

    make pages
"""

import importlib
import inspect
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "rules.md"
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from regrad import rules  # noqa: E402

HEAD = """# Ready-made parts

What `regrad.rules` has, one line each; `help(rules.NAME)` says more. Written by `make pages` from the docstrings.

A rule or transform stands in `overrides={selector: rule}`, in `tf.attach`, `tf.overriding`, `tf.View`; transforms also follow a
rule, `rules.default >> rules.clip(1.0) >> rules.scale(0.5)`, or come before it, and have a block of their own,
`tf.clip_gradient(x, 1.0)`. `rules.default` is the rule that is replaced, `rules.mix(weight, a, b)` a mixture whose weight may
be fed, `rules.transform` makes a transform of a function of a gradient. A strength is a number, a scalar tensor, or a
schedule: a function of the global step.
"""
_PARTS = [  # heading, module, which of its names
    ("Changes of a gradient", "transforms", lambda n: not n.endswith("_gradient") and not n.startswith("accumulate")
     and n not in ("substitute", "block") or n == "quantize_gradient"),
    ("The same as blocks in the graph: `tf.NAME`", "transforms", lambda n: n.endswith("_gradient") and n != "quantize_gradient"
     or n in ("substitute", "block")),
    ("How gradients add: `accumulate={tensor or variable: rules.NAME}` of `gradients`", "transforms",
     lambda n: n.startswith("accumulate")),
    ("Derivatives for functions that have none", "surrogates", lambda n: True),
    ("Relevance", "relevance", lambda n: True),
    ("Quantisers", "quantisers", lambda n: True),
]
_PAPER = re.compile(r"""[A-Z][\w'-]+[ ](?:&\ [A-Z][\w'-]+|et\ al\.)?[ ]?\d{4}                 # who and when
                        (?:[^.|;]{0,90}? arXiv\ \d{4}\.\d{4,5} (?:,\ (?:eq\.|section)\ \d[\d.,\ and]*)?)?""", re.X)


def _row(name, function):
    doc = " ".join(inspect.getdoc(function).split())
    first = " ".join(inspect.getdoc(function).split("\n\n")[0].split())
    paper = _PAPER.search(doc)
    says = first.replace(paper.group(), "").rstrip(" ,;:.") + "." if paper else first
    parameters = ", ".join(p.name if p.default is p.empty else f"{p.name}={getattr(p.default, '__name__', repr(p.default))}"
                           for p in inspect.signature(function).parameters.values()
                           if p.kind is not p.VAR_KEYWORD and p.name != "name")
    call = "" if next(iter(inspect.signature(function).parameters), "") == "op" else f"({parameters})"
    cells = (f"`{name}{call}`", says, paper.group().rstrip(" .,") if paper else "")
    return "| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |"


def page():
    """Returns the page's text."""
    parts = [HEAD]
    for heading, module, chosen in _PARTS:
        found = vars(importlib.import_module(f"regrad.autodiff.{module}"))
        rows = [_row(n, found[n]) for n in found if n in names() and chosen(n) and found[n].__module__.endswith(module)]
        parts.append("\n".join([f"## {heading}\n", "| name | what | paper |", "|---|---|---|", *rows]) + "\n")
    return "\n".join(parts)


def names():
    """Returns the names the page is to have."""
    return set(dir(rules)) - {"Rule", "Transform", "default", "mix", "transform"}


if __name__ == "__main__":
    PAGE.write_text(page())
    print(PAGE)
