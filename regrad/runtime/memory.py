"""What fits into memory: sizes are worked out, in Python's integers, before anything of that size is computed.

A process that touches more memory than there is gets no error: the system ends it. XLA does so itself when 64 bits do not hold
a size. So `Stage` asks here about each value that a run makes, and `Segment` about each compiled program.
"""

import functools
import os

from regrad.core.dtypes import as_dtype
from regrad.core.errors import ResourceExhaustedError
from regrad.core.opdef import Spec
from regrad.runtime import config

_SMALL = 64 << 20  # bytes; for less nobody looks how much memory there is
_MOST = 2**63 - 1  # what NumPy and XLA count with


def limit():
    """Returns how many bytes one value, or one compiled program, may take: `config.memory_limit`, or what the process can have.

    That is what it has and what is left, of the machine's memory and of what its control groups allow.
    """
    if config.memory_limit is not None:
        return config.memory_limit
    return min(_MOST, _own() + min([_free(), *(_left(*group) for group in _groups())]))


def large(size):
    """True for so many bytes that it is worth asking for the limit."""
    return size > _SMALL or config.memory_limit is not None


def misfit(specs):
    """Returns the first of the Specs that does not fit, with its bytes; None where all fit or are not known."""
    for spec in specs:
        if spec is None or spec.dims is None or None in spec.dims:
            continue
        extent = 8 if spec.dtype._kind in "so" else spec.dtype.size  # of Python objects, a reference to each
        for d in spec.dims:
            extent *= d or 1
        if extent > _MOST:  # sizes beside a 0 count here: strides are made of them
            return spec, extent
        if 0 not in spec.dims and large(extent) and extent > limit():
            return spec, extent
    return None


def exhausted(op, found):
    """Returns the error for what `misfit` found among the results of `op`."""
    spec, size = found
    return ResourceExhaustedError(
        None, op, f"OOM when allocating tensor with shape {list(spec.dims)} and type {spec.dtype.name}: {op.type} would make "
        f"{size:,} bytes, and there is memory for {limit():,}. Compute with a part of it at a time, or with a shorter type.")


def check(op, specs):
    """Raises where one of the results of `op`, of these Specs, does not fit.

    Raises:
      ResourceExhaustedError: with the operation and the size.
    """
    found = misfit(specs)
    if found is not None:
        raise exhausted(op, found)


def room_for(dims, dtype):
    """Lets a lowering ask for a result whose size depends on values, which no shape rule can tell.

    Raises:
      MemoryError: it does not fit; a session makes ResourceExhaustedError of it.
    """
    found = misfit([Spec(dims, as_dtype(dtype))])
    if found is not None:
        raise MemoryError(f"shape {list(dims)} and type {as_dtype(dtype).name} are {found[1]:,} bytes, and there is memory for "
                          f"{limit():,}.")


def _read(path):
    try:
        with open(path) as f:
            return f.read()
    except OSError:
        return ""


def _number(text):
    text = text.strip()
    return int(text) if text.isdigit() else None


@functools.cache
def _physical():
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not a POSIX system
        return _MOST


def _free():
    """Returns how many bytes the machine could give away without writing others to a disk."""
    for line in _read("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    return _physical()


def _own():
    """Returns how many bytes of memory the process has now: what it frees it can have again."""
    pages = _read("/proc/self/statm").split()
    return int(pages[1]) * os.sysconf("SC_PAGE_SIZE") if len(pages) > 1 else 0


_FILES = {  # version of control groups: files that say what is allowed, what is used, and which line of memory.stat could go
    1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "),
    2: ("memory.max", "memory.current", "inactive_file "),
}


@functools.cache
def _groups(root="/sys/fs/cgroup", listed="/proc/self/cgroup"):
    """Returns [(folder, version)] of the control groups that limit the process's memory, its own and those around it."""
    found = []
    for line in _read(listed).splitlines():
        _, controllers, path = line.split(":", 2)
        version = 2 if not controllers else 1
        if version == 1 and "memory" not in controllers.split(","):
            continue
        base = root if version == 2 else os.path.join(root, "memory")
        parts = [p for p in path.split("/") if p]
        for n in range(len(parts) + 1):  # within a container only the last of these may be there, as the root
            folder = os.path.join(base, *parts[:n])
            allowed = _number(_read(os.path.join(folder, _FILES[version][0])))
            if allowed is not None and allowed < _physical():
                found.append((folder, version))
    return found


def _left(folder, version):
    """Returns how many more bytes a control group allows, files that are only kept for later not counted."""
    allowed, used, kept = _FILES[version]
    found = [_number(_read(os.path.join(folder, name))) for name in (allowed, used)]
    if None in found:
        return _MOST
    stat = _read(os.path.join(folder, "memory.stat"))
    kept = [int(line.split()[1]) for line in stat.splitlines() if line.startswith(kept)]
    return max(0, found[0] - found[1] + sum(kept))
