"""Where the pictures of these examples go: the file named on the command line, or `<example>.png` here."""

import pathlib
import sys

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt

__all__ = ["plt", "save"]


def save(figure):
    """Writes the picture, and says where."""
    path = sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(sys.argv[0]).stem + ".png"
    figure.savefig(path, dpi=110, bbox_inches="tight")
    plt.close(figure)
    print(f"picture: {path}")
