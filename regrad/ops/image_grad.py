"""Gradient rules for `image.py`: those of the lowerings."""

from regrad.ops import image as _image  # noqa: F401 - the op types
from regrad.ops.vjp import vjp_of_lowering

for _op_type in ("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic", "ResizeArea"):
    vjp_of_lowering(_op_type, linear=True)
for _op_type in ("CropAndResize", "RGBToHSV", "HSVToRGB"):
    vjp_of_lowering(_op_type)
