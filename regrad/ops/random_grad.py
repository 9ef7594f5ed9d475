"""Gradient rules for `random.py`: a draw has no derivative; gradients flow to the parameters it is scaled by."""

import numpy as np

from regrad.core.gradient_registry import NotDifferentiable, RegisterGradient
from regrad.ops.array import invert_permutation
from regrad.ops.indexing import gather
from regrad.ops.random import randomgammagrad_op
from regrad.ops.reduce import reduce_sum

for _op_type in ("RandomUniform", "RandomUniformInt", "RandomStandardNormal", "TruncatedNormal", "Multinomial",
                 "RandomPoissonV2", "ParameterizedTruncatedNormal", "StatelessRandomUniform",
                 "StatelessRandomUniformInt", "StatelessRandomNormal", "StatelessTruncatedNormal",
                 "StatelessMultinomial"):
    NotDifferentiable(_op_type)

@RegisterGradient("RandomGamma")
def _randomgamma_grad(op, dy):
    # Implicit reparameterisation: with F(x; alpha) the distribution function, dx/dalpha = -(dF/dalpha) / (dF/dx).
    shape, alpha = op.inputs
    y = op.outputs[0]
    axes = np.arange(shape.dims[0])
    return None, reduce_sum(dy * randomgammagrad_op(alpha, y), axes)


@RegisterGradient("RandomGammaGrad")
def _randomgammagrad_grad(op, dy):
    raise LookupError(f"RandomGammaGrad '{op.name}' has no gradient: the second derivative of a gamma draw with respect to "
                      "alpha is not known in a closed form that anybody computes. tf.stop_gradient cuts the path.")


@RegisterGradient("RandomShuffle")
def _randomshuffle_grad(op, dy, _):
    return gather(dy, invert_permutation(op.outputs[1])) if op.inputs[0].rank != 0 else dy
