"""Gradient rules for `quantise.py`: as if nothing had been rounded, only clipped."""

from regrad.core.gradient_registry import NotDifferentiable, RegisterGradient
from regrad.ops import quantise
from regrad.ops.array import zeros_like
from regrad.ops.compare import equal, greater, less, select


def _bits(op):
    return {"num_bits": op.get_attr("num_bits"), "narrow_range": op.get_attr("narrow_range")}


@RegisterGradient("FakeQuantWithMinMaxArgs")
def _args_grad(op, dy):
    return quantise.fakequantargsgrad_op(dy, op.inputs[0], min=op.get_attr("min"), max=op.get_attr("max"), **_bits(op))


@RegisterGradient("FakeQuantWithMinMaxArgsGradient")
def _args_grad_grad(op, g):
    back = quantise.fakequantargsgrad_op(g, op.inputs[1], min=op.get_attr("min"), max=op.get_attr("max"), **_bits(op))
    return back, None


def _learned(op_type, grad_op, side_op):
    """Registers the rules of an op with a learned range and of its gradient, which is linear in what arrives."""

    @RegisterGradient(op_type)
    def rule(op, dy):
        return grad_op(dy, *op.inputs, **_bits(op))

    @RegisterGradient(op_type + "Gradient")
    def second(op, g_inputs, g_min, g_max):
        side = side_op(*op.inputs[1:], **_bits(op))
        back = zeros_like(side)
        for g, where in ((g_inputs, equal), (g_min, less), (g_max, greater)):
            if g is not None:
                back += select(where(side, 0.0), g + zeros_like(side), zeros_like(side))
        return back, None, None, None

    NotDifferentiable(op_type + "Side")


_learned("FakeQuantWithMinMaxVars", quantise.fakequantvarsgrad_op, quantise.fakequantvarsside_op)
_learned("FakeQuantWithMinMaxVarsPerChannel", quantise.fakequantchannelgrad_op, quantise.fakequantchannelside_op)


@RegisterGradient("QuantizeAndDequantizeV2")
def _quantize_grad(op, dy):
    return dy, None, None
