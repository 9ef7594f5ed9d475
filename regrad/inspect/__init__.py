"""Looking at backward passes: explain, audit, diagnose, compare."""

import importlib

_WHERE = {
    "Explanation": "explain", "explain_gradients": "explain", "why_none": "explain", "Report": "report",
    "ablate": "studies", "bias": "studies", "coverage": "studies", "forward_against_reverse": "studies",
    "expect": "contracts", "expect_gradient": "contracts",
    "overrides_in_use": "inventory", "audit": "auditing", "diagnose": "diagnosis", "compare": "comparing",
}


def __getattr__(name):
    module = _WHERE.get(name)
    if module is None:
        raise AttributeError(f"module 'regrad.inspect' has no attribute {name!r}")
    importlib.import_module("regrad.ops").load()
    value = globals()[name] = getattr(importlib.import_module(f"regrad.inspect.{module}"), name)
    return value


def __dir__():
    return sorted({*globals(), *_WHERE})
