"""The four systems that are compared: how each is imported and in which environment it lives.

Only the standard library is used here, because this file is read before a system's import is timed.
"""

import importlib
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SYSTEMS = ("regrad", "tensorflow", "torch", "jax")

# Which function of a workload a system runs. Regrad and TensorFlow share one: the same TF1 program.
PROGRAM = {
    "regrad": "tf1_program",
    "tensorflow": "tf1_program",
    "torch": "torch_program",
    "jax": "jax_program",
}

# The line with which a script imports the system, used where a whole process is measured.
IMPORT_LINE = {
    "regrad": "import regrad as tf",
    "tensorflow": "import tensorflow.compat.v1 as tf; tf.disable_v2_behavior()",
    "torch": "import torch",
    "jax": "import jax, jax.numpy as jnp",
}

# What setup.py installs: Regrad with its own requirements, and the peers in the versions that the recorded
# figures are of, so that a change in a ratio is Regrad's doing.
REQUIREMENTS = {
    "regrad": ("-e", str(ROOT)),
    "tensorflow": ("tensorflow-cpu==2.21.0",),
    "torch": ("torch==2.13.0", "numpy"),
    "jax": ("jax==0.10.2", "numpy"),
}


def folder(system):
    """Returns where setup.py makes the environment of `system`."""
    return ROOT / ".bench" / {"tensorflow": "tf"}.get(system, system)


def load(system):
    """Returns the imported module of `system`, ready for graph mode where that is a choice."""
    if system == "regrad":
        return importlib.import_module("regrad")
    if system == "tensorflow":
        tf = importlib.import_module("tensorflow.compat.v1")
        tf.disable_v2_behavior()
        tf.logging.set_verbosity(tf.logging.ERROR)
        return tf
    if system == "jax":
        importlib.import_module("jax.numpy")
    return importlib.import_module(system)


def environment(system):
    """Returns the variables a system's process runs under: the caller's, quiet, on the CPU."""
    variables = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", JAX_PLATFORMS="cpu", CUDA_VISIBLE_DEVICES="-1")
    # An XLA cache left by an earlier process would turn a first run into a second one.
    variables.pop("JAX_COMPILATION_CACHE_DIR", None)
    variables.pop("PYTHONPATH", None)
    if system == "regrad":
        variables["PYTHONPATH"] = str(ROOT)  # the tree these benchmarks stand in, not another installation
    return variables


def default_python(system):
    """Returns the interpreter of `system`: from BENCH_PYTHON_<SYSTEM>, else `.bench/<system>`."""
    named = os.environ.get(f"BENCH_PYTHON_{system.upper()}")
    return named or str(folder(system) / "bin" / "python")
