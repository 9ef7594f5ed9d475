"""What every test file needs: the repository on the path, JAX on the CPU, a fresh default graph per test."""

import os
import pathlib
import sys

os.environ.setdefault("JAX_PLATFORMS", "cpu")
ROOT = pathlib.Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import pytest  # noqa: E402


@pytest.fixture(autouse=True)
def fresh_graph():
    """Each test starts with an empty default graph."""
    from regrad.core.graph import Graph

    with Graph().as_default() as graph:
        yield graph
