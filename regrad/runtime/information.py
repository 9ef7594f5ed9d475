"""`tf.show_versions()` and `regrad info`: what error reports should say of the installation, and what is wrong with it."""

import importlib.metadata
import os
import platform
import sys

_PACKAGES = ("numpy", "jax", "jaxlib", "ml_dtypes", "rich", "scipy", "h5py", "pillow", "matplotlib", "tensorboard",
             "tensorflow")


def versions():
    """Returns {what: text} of the installation; loads JAX to ask for devices."""
    import regrad
    from regrad.runtime import config, native, onednn

    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    found = {"regrad": regrad.__version__, "python": f"{platform.python_version()} ({sys.executable})",
             "platform": f"{platform.platform()}, {processors} processors"}
    found.update((name, _version(name)) for name in _PACKAGES)
    problems = []
    try:
        import jax

        devices = jax.devices()
        found["devices"] = ", ".join(f"{d.platform}:{d.id} ({d.device_kind})" for d in devices)
    except Exception as error:  # whatever an installation can do wrong
        found["devices"] = "none"
        problems.append(f"JAX does not start: {type(error).__name__}: {error}")
    if native.library() is None:
        found["C kernels"] = "not there"
        problems.append("the C file is not built, so XLA computes products, convolutions and optimizers' steps alone, in more "
                        "time: install with a C compiler (gcc), as `pip install --force-reinstall --no-deps regrad`")
    else:
        found["C kernels"] = native.path()
    found["oneDNN"] = onednn.version() or "not there"
    if found["oneDNN"] == "not there" and sys.platform == "linux" and platform.machine() == "x86_64":
        problems.append("oneDNN is not there, so XLA computes convolutions: pip install onednn-cpu-gomp")
    found["cache"] = "none" if config.cache_dir is None else _cache(os.fspath(config.cache_dir), problems)
    found["problems"] = "; ".join(problems) or "none"
    return found


def _version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _cache(path, problems):
    if not os.path.isdir(path):
        return f"{path} (not made yet)"
    if not os.access(path, os.W_OK):
        problems.append(f"the cache {path} cannot be written: set REGRAD_CACHE_DIR, so that programs start compiled")
    sizes = [os.path.getsize(os.path.join(folder, file)) for folder, _, files in os.walk(path) for file in files]
    return f"{path} ({len(sizes)} files, {sum(sizes) / 2 ** 20:.1f} MiB)"


def show_versions():
    """Prints what an error report should say: versions, platform, devices, kernels, cache, and what is wrong with them.

        tf.show_versions()

    The same from the command line: `regrad info`. It loads JAX.
    """
    found = versions()
    width = max(map(len, found))
    print("\n".join(f"{what:<{width}}  {text}" for what, text in found.items()))
