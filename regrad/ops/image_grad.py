"""Gradient rules for `image.py`: resizing is linear, and its gradient the transpose; the others are those of the lowerings."""

from regrad.core.gradient_registry import RegisterGradient
from regrad.ops import image
from regrad.ops.array import shape
from regrad.ops.vjp import vjp_of_lowering

for _op_type in ("CropAndResize", "RGBToHSV", "HSVToRGB"):
    vjp_of_lowering(_op_type)


def _alignment(op, *names):
    return {name: op.get_attr(name) for name in names or ("align_corners", "half_pixel_centers")}


def _resize_rules(op_type, resize, resize_back, *names):
    @RegisterGradient(op_type)
    def grad(op, dy):
        return resize_back(dy, op.inputs[0], **_alignment(op, *names)), None

    @RegisterGradient(f"{op_type}Grad")
    def grad_grad(op, dx):
        return resize(dx, shape(op.inputs[0])[1:3], **_alignment(op, *names)), None


_resize_rules("ResizeBilinear", image.resizebilinear_op, image.resizebilineargrad_op)
_resize_rules("ResizeBicubic", image.resizebicubic_op, image.resizebicubicgrad_op)
_resize_rules("ResizeArea", image.resizearea_op, image.resizeareagrad_op, "align_corners")


@RegisterGradient("ResizeNearestNeighbor")
def _nearest_grad(op, dy):
    return image.resizenearestgrad_op(dy, shape(op.inputs[0])[1:3], **_alignment(op)), None


@RegisterGradient("ResizeNearestNeighborGrad")
def _nearest_grad_grad(op, dx):
    return image.resizenearest_op(dx, shape(op.inputs[0])[1:3], **_alignment(op)), None
