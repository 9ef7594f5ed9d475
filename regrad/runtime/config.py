"""Settings of the runtime; `regrad.config` is this module.

Attributes:
  whole_ops: so many device operations between host steps are compiled as one segment, of those that repeat themselves one turn.
  longest_ops: so many are, unless pieces of them repeat.
  segment_ops: device operations per compiled segment, where there are more.
  call_ops: operations that XLA optimises together, at most, in a segment of more than `apart_ops` in which more than so many
    follow from one another without a product of matrices between, or in which some repeat themselves.
  repeat_size: operations that repeat themselves in such a segment, unrolled turns of a recurrent network for example, become
    a loop of the compiled program if their results have so many elements on average; smaller ones run faster without, and
    where turns do not depend on one another they are computed all at once.
  host_runs: how often, at most, a cold segment is executed with NumPy before it is compiled; 0 compiles at once. It is twice
    for one of more than host_cost that NumPy has done before it could be compiled, and for the small ones of the same
    program; the second time, another thread compiles. Of a plan that is run for many shapes, the later ones wait longer.
  host_cost: estimated work (nanoseconds of NumPy's) up to which a segment counts as small.
  random_cost: the same for the very first execution, per op that draws random numbers.
  tiny_ops, tiny_cost: a segment of so few operations and so little work is always executed with NumPy, which has its
    result before a compiled program would have been called.
  cache_dir: where compiled segments are kept between processes; None for nowhere. From REGRAD_CACHE_DIR ("" for None), by
    default the user's cache directory.
  keep_memory: memory that XLA frees stays with the process, instead of going back to the system and being asked for again in
    every run (glibc only; set before the first compiled run).
  synchronous: JAX's CPU client computes in the calling thread, which saves a small step 30 to 60 us (set before the first
    compiled run; without effect in a process that has used JAX on its own before).
  threads: how many threads a compiled program may use; None for one per core (as for `synchronous`).
  onednn: float32 convolutions are computed by oneDNN where its library is installed.
  native: C functions are called, where those were built (runtime/native.py): convolutions by Winograd's method, and float32
    products of matrices that XLA would leave to one core; and oneDNN is called without Python.
  checks: "all": compiled programs refuse what NumPy's runs refuse: indices out of range, integers divided by zero, singular
    matrices. "given": of indices and class labels only those are looked at that programs are given, by feeds, host operations
    and variables; what they compute themselves goes on: reads out of range give NaN (integers: an extreme), writes are left
    out. A warning says so where it is set; it holds for programs that run for the first time afterwards.
  memory_limit: bytes that one value, or one compiled program with all that it reads and makes, may take; more is a
    ResourceExhaustedError before anything is computed. None: what this process can have of the machine's memory.
  tracebacks: "short": exceptions that end a program, or a notebook's cell, are shown without the frames inside Regrad; "full":
    with them. Exceptions themselves keep all frames.
  kept_ops: operations in the programs that are kept for one plan, one program for each shape it is fed with (32 in any
    case), and twice as many in the compiled segments that the process keeps; those used last.
  recompile_warning: a plan specialised for more shapes than this says so once, naming the feed that varies; 0 never does.

NumPy and XLA may differ in the last bits of transcendental functions. Which of them runs depends on the program and on the
number of the run alone, never on time, so a program repeated is repeated bit for bit; with `host_runs = tiny_ops = 0`
everything is compiled, and every run of a session agrees bit for bit with every other.
"""

import functools
import os
import sys
import types

whole_ops = 2048
longest_ops = 16_384
segment_ops = 200
call_ops = 32
apart_ops = 300
repeat_size = 2048
host_runs = 3
host_cost = 200_000
random_cost = 30_000_000
tiny_ops = 12
tiny_cost = 4_000
keep_memory = True
synchronous = True
threads = None
onednn = True
native = True
memory_limit = None
checks = "all"
tracebacks = "short"
kept_ops = 50_000
recompile_warning = 16


def _default_cache():
    given = os.environ.get("REGRAD_CACHE_DIR")
    if given is not None:
        return given or None
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "regrad")


cache_dir = _default_cache()


@functools.lru_cache(maxsize=1)
def _wide_vectors():
    try:
        with open("/proc/cpuinfo") as f:
            return any(line.startswith("flags") and "avx512f" in line for line in f)
    except OSError:
        return False


def compiler_options(operations, library_reduces=False, level=3):
    """Returns XLA's options for a program of so many operations on this machine, whose reductions YNNPACK may compute.

    LLVM optimises it at `level`; XLA's default is 3.

    Vectors as wide as the processor has (XLA's default is 256 bits), but for long programs, which take half as long
    again to compile with them. Convolutions by Eigen, which uses all cores where YNNPACK, the default of recent XLA, uses one;
    YNNPACK keeps the products, at which it is the faster, and the reductions where they gain (runtime/reductions.py).
    """
    options: dict[str, int | str] = {}
    if _wide_vectors() and operations <= apart_ops:
        options["xla_cpu_prefer_vector_width"] = 512
    if level != 3:
        options["xla_backend_optimization_level"] = level
    # The last one: XLA forgets it when another option follows.
    kinds = ["INDIVIDUAL_DOT", *["REDUCE"] * library_reduces]
    return options | {"xla_cpu_experimental_ynn_fusion_type": ",".join(f"LIBRARY_FUSION_TYPE_{kind}" for kind in kinds)}


_KINDS = {"keep_memory": bool, "synchronous": bool, "onednn": bool, "native": bool, "threads": (int, type(None)),
          "memory_limit": (int, type(None)), "cache_dir": (str, os.PathLike, type(None))}
_WORDS = ("checks", "tracebacks")
_NUMBERS = tuple(name for name, value in globals().items() if type(value) is int)


_OTHERS = {  # of the module that TensorFlow 2 calls `tf.config`
    "experimental": ": XLA decides on devices and memory.",
    "list_physical_devices": ": tf.test.is_gpu_available() tells, and jax.devices() lists.",
}


class _Settings(types.ModuleType):
    """This module: a name that is no setting, or a value that is none of its, is refused where it is written."""

    def __setattr__(self, name, value):
        if name in _NUMBERS or name == "threads" and value is not None:
            if not isinstance(value, (int, float)) or isinstance(value, bool) or value < (name == "threads"):
                raise ValueError(f"regrad.config.{name} is a number of at least {int(name == 'threads')}, got {value!r}.")
        elif name == "checks":
            if value not in ("all", "given"):
                raise ValueError(f"regrad.config.checks is 'all' or 'given', got {value!r}.")
            if value == "given":
                _warn_of_fewer_checks()
        elif name == "tracebacks":
            if value not in ("short", "full"):
                raise ValueError(f"regrad.config.tracebacks is 'short' or 'full', got {value!r}.")
        elif name in _KINDS:
            if not isinstance(value, _KINDS[name]):
                raise ValueError(f"regrad.config.{name} cannot be {value!r}; it is {getattr(self, name)!r} now.")
        elif name not in vars(self):
            raise AttributeError(f"regrad.config has no setting {name!r}{_nearest_setting(name)}")
        super().__setattr__(name, value)

    def __dir__(self):
        return sorted([*_NUMBERS, *_KINDS, *_WORDS])

    def __repr__(self):
        return f"<tf.config: {', '.join(f'{name}={getattr(self, name)!r}' for name in dir(self))}>"

    def __getattr__(self, name):
        raise AttributeError(f"regrad.config has no setting {name!r}{_OTHERS.get(name) or _nearest_setting(name)}")


def _nearest_setting(name):
    from regrad.core.errors import nearest

    names = (*_NUMBERS, *_KINDS, *_WORDS)
    return nearest(name, names) or f"; it has {', '.join(sorted(names))}."


def _warn_of_fewer_checks():
    import warnings

    from regrad.core.errors import RegradWarning

    warnings.warn("regrad.config.checks = 'given': what compiled programs compute themselves is not looked at. An index out of "
                  "range reads NaN, or an extreme, and writes nothing; an integer divided by zero gives some number.",
                  RegradWarning, stacklevel=3)


sys.modules[__name__].__class__ = _Settings
