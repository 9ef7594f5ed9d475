"""Gradient declarations for `train.py`: a training step is not differentiated."""

from regrad.core.gradient_registry import NotDifferentiable
from regrad.core.opdef import defined
from regrad.ops.train import OPS

for _op_type in OPS:
    NotDifferentiable(_op_type)
    if defined("Sparse" + _op_type) is not None:
        NotDifferentiable("Sparse" + _op_type)
NotDifferentiable("SumRepeatedRows")
