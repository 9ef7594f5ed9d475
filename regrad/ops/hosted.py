"""How op types are defined that are computed on the host and have no gradient."""

from regrad.core.gradient_registry import NotDifferentiable
from regrad.core.opdef import define_op


def host_op(op_type, signature, infer, lower, attrs=None, **more):
    """Returns the definition of an op type that is computed on the host and declared not differentiable; see `define_op`."""
    NotDifferentiable(op_type)
    return define_op(op_type, signature, infer=infer, lower=lower, attrs=attrs or {}, host=True, **more)
