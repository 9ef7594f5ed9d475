"""Gradient rules for `layout.py`: what a rearrangement moved, its gradient moves back."""

import numpy as np

from regrad.core.convert import constant
from regrad.core.gradient_registry import RegisterGradient
from regrad.ops import layout
from regrad.ops.array import shape
from regrad.ops.indexing import slice_op
from regrad.ops.reduce import reduce_sum
from regrad.ops.vjp import vjp_of_lowering


@RegisterGradient("Tile")
def _tile_grad(op, dy):
    x, multiples = op.inputs
    return layout.tilegrad_op(dy, multiples, x), None


@RegisterGradient("TileGrad")
def _tilegrad_grad(op, g):
    return layout.tile_op(g, op.inputs[1]), None, None


# -- Pad -------------------------------------------------------------------------------------
def _inside(op, dy):
    """Returns the part of `dy` that is not margin."""
    x, paddings = op.inputs[:2]
    known = paddings.value()
    before = paddings[:, 0] if known is None else constant(np.array(known[:, 0]))
    return slice_op(dy, before, shape(x, out_type=paddings.dtype))


@RegisterGradient("Pad")
def _pad_grad(op, dy):
    return _inside(op, dy), None


@RegisterGradient("PadV2")
def _padv2_grad(op, dy):
    inside = _inside(op, dy)
    return inside, None, reduce_sum(dy) - reduce_sum(inside)


@RegisterGradient("MirrorPad")
def _mirrorpad_grad(op, dy):
    return layout.mirrorpadgrad_op(dy, op.inputs[1], mode=op.get_attr("mode")), None


@RegisterGradient("MirrorPadGrad")
def _mirrorpadgrad_grad(op, g):
    return layout.mirrorpad_op(g, op.inputs[1], mode=op.get_attr("mode")), None


# -- permutations ----------------------------------------------------------------------------
@RegisterGradient("Roll")
def _roll_grad(op, dy):
    _, shift, axis = op.inputs
    return layout.roll(dy, -shift, axis), None, None


@RegisterGradient("ReverseV2")
def _reverse_grad(op, dy):
    return layout.reverse_op(dy, op.inputs[1]), None


@RegisterGradient("ReverseSequence")
def _reversesequence_grad(op, dy):
    return layout.reversesequence_op(dy, op.inputs[1], seq_dim=op.get_attr("seq_dim"),
                                     batch_dim=op.get_attr("batch_dim")), None


@RegisterGradient("SpaceToBatchND")
def _spacetobatch_grad(op, dy):
    return layout.batchtospace_op(dy, *op.inputs[1:]), None, None


@RegisterGradient("BatchToSpaceND")
def _batchtospace_grad(op, dy):
    return layout.spacetobatch_op(dy, *op.inputs[1:]), None, None


@RegisterGradient("SpaceToDepth")
def _spacetodepth_grad(op, dy):
    return layout.depthtospace_op(dy, block_size=op.get_attr("block_size"),
                                  data_format=op.get_attr("data_format"))


@RegisterGradient("DepthToSpace")
def _depthtospace_grad(op, dy):
    return layout.spacetodepth_op(dy, block_size=op.get_attr("block_size"),
                                  data_format=op.get_attr("data_format"))


vjp_of_lowering("ExtractImagePatches", linear=True)
vjp_of_lowering("ExtractVolumePatches", linear=True)
