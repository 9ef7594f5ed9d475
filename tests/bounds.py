"""Writes `differences.json` again: where, and by how much, the rows that `differences.py` names differ from TensorFlow."""

import fnmatch
import json
import math
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from tests import opcheck, test_ops  # noqa: E402
from tests.differences import DIFFERENT  # noqa: E402


def _above(x):
    """Returns a short number a little above `x`: another machine may round otherwise."""
    unit = 10.0 ** (math.floor(math.log10(x)) - 1) if x else 1.0
    return float(f"{math.ceil(x * 1.02 / unit) * unit:.3g}")


def _listed(key):
    return key in test_ops.RECORDED and any(fnmatch.fnmatchcase(key, pattern) for pattern in DIFFERENT)


def _measured():
    """Yields (key, backend, outputs, levels, row) of every row that is listed."""
    for family, case in test_ops.CASES:
        key = f"{family}-{case.id}"
        if _listed(key):
            measured = opcheck.Measured(case)
            opcheck.measure([measured] if not measured.host else [])
            results = [*measured.host.values(), *(measured.built[k].grouped(v) for k, v in (measured.xla or {}).items()
                                                  if k in measured.built)]
            yield key, "the first backend", *results[0], case
    rows = [(key, case) for key, case in test_ops.NOT_FINITE if _listed(key)]
    compiled = opcheck.Compiled(rows, test_ops.RECORDED)
    for key, case in rows:
        for what, (outputs, levels) in compiled[key].items():
            yield key, what, outputs, levels, case


def main():
    bounds = {}
    for key, what, *values, case in _measured():
        found = test_ops.differences(test_ops.RECORDED[key], *values, case, what)
        if found:
            bounds.setdefault(key, {})[what] = {part: [n, _above(largest)] for part, (n, largest, _) in found.items()}
    lines = [f"{json.dumps(key)}: {json.dumps(of)}" for key, of in sorted(bounds.items())]
    (HERE / "differences.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
