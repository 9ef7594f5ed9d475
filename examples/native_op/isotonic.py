"""An operation in C++: isotonic regression, and with it ranks that have a derivative.

The system's C++ compiler builds `isotonic.cc`; two op types take their lowerings from it, and are operations like any other:
inside compiled segments, loops and branches, with derivatives of every order, overridden and audited. On top of them, soft
ranks (Blondel et al. 2020, "Fast differentiable sorting and ranking", arXiv 2002.08871): a linear model learns to rank.

    python examples/native_op/isotonic.py
"""

import ctypes
import os
import pathlib
import shlex
import subprocess
import sysconfig
import tempfile

import jax
import numpy as np

import regrad as tf

SOURCE = pathlib.Path(__file__).with_name("isotonic.cc")


def build(directory):
    """Compiles the C++ file into a library in `directory`; returns its path.

    Raises:
      FileNotFoundError: there is no C++ compiler; CXX names another one.
      RuntimeError: it refuses the file; the message is the compiler's.
    """
    library = pathlib.Path(directory) / ("isotonic" + (sysconfig.get_config_var("SHLIB_SUFFIX") or ".so"))
    command = [*shlex.split(os.environ.get("CXX", "c++")), "-std=c++17", "-O2", "-fPIC", "-shared",
               f"-I{jax.ffi.include_dir()}", str(SOURCE), "-o", str(library)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{shlex.join(command)}\n{done.stderr}")
    return library


def define(library):
    """Gives XLA the functions of the library, defines the op types, and returns the function that makes the operation."""
    functions = ctypes.cdll.LoadLibrary(str(library))
    for name in ("Isotonic", "IsotonicGrad"):
        jax.ffi.register_ffi_target(f"regrad_example_{name}", jax.ffi.pycapsule(getattr(functions, name)), platform="cpu")

    def call(name):
        def lower(b, x, *rest):
            return b.jax.ffi.ffi_call(f"regrad_example_{name}", jax.ShapeDtypeStruct(x.shape, x.dtype))(x, *rest)

        return lower

    def rows(x, *rest):
        if x.dims == ():
            raise ValueError("there must be at least one axis, along which values shall not decrease")
        return tf.Spec(x.dims, x.dtype)

    real = {"T": {tf.float32, tf.float64}}
    isotonic = tf.define_op("Isotonic", "x: T", infer=rows, lower=call("Isotonic"), types=real, xla_only=True)
    average = tf.define_op("IsotonicGrad", "y: T, dy: T", infer=rows, lower=call("IsotonicGrad"), types=real, xla_only=True)

    @tf.RegisterGradient("Isotonic")
    def _isotonic_grad(op, dy):
        return average(op.outputs[0], dy)

    @tf.RegisterGradient("IsotonicGrad")
    def _isotonic_grad_grad(op, dz):  # averaging over blocks is linear, and its own transpose; the blocks stay as they are
        return None, average(op.inputs[0], dz)

    return isotonic


def soft_ranks(isotonic, scores, softness):
    """Returns ranks of a vector, n for the greatest: exact for small `softness`, smoother for greater ones."""
    n = scores.shape[0].value
    order = tf.argsort(scores, direction="DESCENDING")
    z = tf.gather(scores, order) / softness
    ranks = z + isotonic(tf.constant(np.arange(n, 0, -1), scores.dtype) - z)
    return tf.gather(ranks, tf.invert_permutation(order))


def main():
    with tempfile.TemporaryDirectory() as directory:
        isotonic = define(build(directory))
    draw = np.random.RandomState(0)
    data = draw.randn(40, 5).astype(np.float32)
    target = np.exp(data @ [1.0, -2.0, 0.5, 0.0, 1.0]).argsort().argsort().astype(np.float32) + 1

    w = tf.Variable(draw.randn(5, 1).astype(np.float32) * 0.1)
    scores = tf.matmul(data, w)[:, 0]
    loss = tf.reduce_mean(tf.square(soft_ranks(isotonic, scores, 0.1) - target))
    step = tf.train.AdamOptimizer(0.05).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for i in range(101):
            if i % 25 == 0:
                ranks = session.run(scores).argsort().argsort()
                print(f"step {i:3d}  loss {session.run(loss):7.2f}  rank correlation {np.corrcoef(ranks, target)[0, 1]:.3f}")
            session.run(step)


if __name__ == "__main__":
    main()
