"""Gradient rules for `warp.py`."""

from regrad.core.gradient_registry import RegisterGradient
from regrad.ops.array import concat, ones_like, reshape, shape
from regrad.ops.linalg import matrix_inverse
from regrad.ops.vjp import vjp_of_lowering
from regrad.ops.warp import imageprojectivetransform_op, scaleandtranslate_op, scaleandtranslategrad_op

vjp_of_lowering("Resampler")


def _scaling(op):
    return {"kernel_type": op.get_attr("kernel_type"), "antialias": op.get_attr("antialias")}


@RegisterGradient("ScaleAndTranslate")
def _scaled_grad(op, dy):
    # A linear map of the pixels: its transpose. As in TF, where it scales and moves to gets no gradient.
    images, _, scale, translation = op.inputs
    return scaleandtranslategrad_op(dy, images, scale, translation, **_scaling(op)), None, None, None


@RegisterGradient("ScaleAndTranslateGrad")
def _scaled_grad_grad(op, dx):
    dy, _, scale, translation = op.inputs
    return scaleandtranslate_op(dx, shape(dy)[1:3], scale, translation, **_scaling(op)), None, None, None


@RegisterGradient("ImageProjectiveTransformV2")
def _projected_grad(op, dy):
    # As in TF: the gradient is seen through the inverse of the projection.
    images, transforms, _ = op.inputs
    matrices = reshape(concat([transforms, ones_like(transforms[:, :1])], 1), [-1, 3, 3])
    back = reshape(matrix_inverse(matrices), [-1, 9])
    back = back[:, :8] / back[:, 8:]
    return imageprojectivetransform_op(dy, back, shape(images)[1:3], interpolation=op.get_attr("interpolation")), None, None
