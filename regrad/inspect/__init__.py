"""Looking at backward passes: explain, audit, diagnose, compare."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.inspect.auditing": "audit",
    "regrad.inspect.comparing": "compare",
    "regrad.inspect.contracts": "expect expect_gradient",
    "regrad.inspect.diagnosis": "diagnose",
    "regrad.inspect.explain": "Explanation explain_gradients why_none",
    "regrad.inspect.inventory": "overrides_in_use",
    "regrad.inspect.report": "Report",
    "regrad.inspect.studies": "ablate bias coverage forward_against_reverse",
})
