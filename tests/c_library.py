"""The C files of the runtime, compiled as on other processors."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

from regrad.runtime import native

SOURCES = sorted(Path(native.__file__).parent.glob("*.c"))
PROCESSORS = {"this processor's": (), "vectors of 8": ("-DNO_AVX512",), "vectors of 4": ("-DNO_AVX512", "-DNO_AVX2")}
needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


def built(folder, *flags, names=None):
    """Returns the library, of all files or of those of some names; warnings are errors."""
    path = folder / "library.so"
    sources = [str(source) for source in SOURCES if names is None or source.stem in names]
    flags = ["-O3", "-fno-math-errno", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", *flags]
    subprocess.run(["cc", *flags, *sources, "-o", str(path), "-lm"], check=True)
    return ctypes.CDLL(str(path))
