"""Gradient rules for `random.py`: a draw has no derivative; gradients flow to the parameters it is scaled by."""

from regrad.core.gradient_registry import NotDifferentiable

for _op_type in ("RandomUniform", "RandomUniformInt", "RandomStandardNormal", "TruncatedNormal", "StatelessRandomUniform",
                 "StatelessRandomUniformInt", "StatelessRandomNormal", "StatelessTruncatedNormal"):  # fmt: skip
    NotDifferentiable(_op_type)
