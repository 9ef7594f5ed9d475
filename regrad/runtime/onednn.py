"""Convolutions by oneDNN (oneapi-src.github.io/oneDNN, C interface 3.x), where its library is installed.

It computes them near the arithmetic's limit of the processor and needs a millisecond to make a convolution ready, where XLA's
compiler needs some hundred. NumPy's lowerings call it on their arrays, compiled programs through `runtime.foreign`.
Everything here is float32; convolutions are channels last. A filter of fewer input channels than the image has makes groups of
them, and a depthwise filter is one of a single input channel.
"""

import ctypes
import functools
import math
import os
import sys
import threading
from pathlib import Path

import numpy as np

from regrad.runtime import buffers, config, foreign, native

TARGET, NATIVE = "regrad_onednn", "regrad_convolution"  # called through Python, and by convolutions.c
FORWARD, BY_INPUT, BY_FILTER = "forward", "by_input", "by_filter"  # the three products of a convolution
_DISTRIBUTION, _LIBRARY = "onednn_cpu_gomp", "libdnnl.so.3"
_LEAST, _LEAST_BY_FILTER = 300_000, 50_000  # products of numbers; a call takes what XLA needs for these
_LEAST_IN_GROUPS = 100_000  # XLA needs ten to several hundred times as long for them
_ALONE, _ALONE_IN_GROUPS = 20_000_000, 5_000_000  # up to so many, waking other threads takes longer than they save

_FLOAT32, _ANY, _DIRECT, _TRAINING, _IN_ORDER, _CPU, _USER = 3, 1, 1, 64, 1, 1, 1  # enumerators of dnnl_types.h
_SCRATCHPAD, _SCRATCHPAD_LAYOUT = 80, 136
_Dims = ctypes.c_int64 * 12
# What oneDNN calls the first operand, the second and the result of each: as arguments, and in queries for layouts.
_ROLES = {
    FORWARD: ((1, 129), (33, 131), (17, 133)),  # source, weights -> destination
    BY_INPUT: ((33, 131), (145, 134), (129, 130)),  # weights, gradient of the destination -> of the source
    BY_FILTER: ((1, 129), (145, 134), (161, 132)),  # source, gradient of the destination -> of the weights
}


class _Argument(ctypes.Structure):
    _fields_ = [("role", ctypes.c_int), ("memory", ctypes.c_void_p)]


# The structures of convolutions.c.
class _Step(ctypes.Structure):
    _fields_ = [("primitive", ctypes.c_void_p), ("count", ctypes.c_int), ("arguments", ctypes.POINTER(_Argument))]


class _Room(ctypes.Structure):
    _fields_ = [("memory", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class _Prepared(ctypes.Structure):
    _fields_ = [("threads", ctypes.c_int), ("n_steps", ctypes.c_int), ("n_rooms", ctypes.c_int),
                ("memories", ctypes.c_void_p * 3), ("steps", _Step * 3), ("rooms", _Room * 4)]


class _OneDnn(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("place", "execute", "limit", "stream", "prepare")]


class _Library:
    """The library, an engine on its processor, and a stream: one convolution at a time, on all cores."""

    def __init__(self, path):
        policy = "OMP_WAIT_POLICY"
        before = os.environ.get(policy)
        # OpenMP's threads would go on turning for a while after each call, on the cores that XLA's threads need next.
        os.environ[policy] = before or "passive"
        try:
            self.call = ctypes.CDLL(path)
        finally:
            if before is None:
                del os.environ[policy]
        self.lock = threading.Lock()
        self.rooms = {}
        self.engine, self.stream = ctypes.c_void_p(), ctypes.c_void_p()
        self.check(self.call.dnnl_engine_create(ctypes.byref(self.engine), _CPU, ctypes.c_size_t(0)))
        self.check(self.call.dnnl_stream_create(ctypes.byref(self.stream), self.engine, _IN_ORDER))
        # The library's own room for intermediate values is that of the thread which makes a convolution, not which runs it.
        self.attributes = self.make("primitive_attr_create")
        self.check(self.call.dnnl_primitive_attr_set_scratchpad_mode(self.attributes, _USER))
        self.call.dnnl_primitive_desc_query_md.restype = ctypes.c_void_p
        self.call.dnnl_memory_desc_get_size.restype = ctypes.c_size_t
        self.openmp = ctypes.CDLL("libgomp.so.1")
        self.threads = self.openmp.omp_get_max_threads()
        self.alone = False

    @staticmethod
    def check(status):
        if status:
            raise MemoryError("oneDNN is out of memory") if status == 1 else RuntimeError(f"oneDNN failed with status {status}")

    def make(self, what, *args):
        """Returns what `dnnl_<what>_create` makes."""
        made = ctypes.c_void_p()
        self.check(self.call[f"dnnl_{what}"](ctypes.byref(made), *args))
        return made

    def layout(self, dims, strides):
        return self.make("memory_desc_create_with_strides", len(dims), _Dims(*dims), _FLOAT32, _Dims(*strides))

    def any_layout(self, dims):
        return self.make("memory_desc_create_with_tag", len(dims), _Dims(*dims), _FLOAT32, _ANY)

    def memory(self, layout):
        return self.make("memory_create", layout, self.engine, None)

    def limit(self, threads):
        self.openmp.omp_set_num_threads(1 if self.alone else threads or self.threads)  # of the calling thread's teams

    def place(self, memory, address):
        self.check(self.call.dnnl_memory_set_data_handle(memory, ctypes.c_void_p(address)))

    def room(self, name, size):
        """Returns the address of at least `size` bytes that are one convolution's while it is computed."""
        if name not in self.rooms or self.rooms[name].nbytes < size:
            self.rooms[name] = buffers.room(size)
        return self.rooms[name].ctypes.data

    def execute(self, primitive, *arguments):
        self.check(self.call.dnnl_primitive_execute(
            primitive, self.stream, len(arguments), (_Argument * len(arguments))(*arguments)))


@functools.cache
def _installed():
    """Returns where the library lies and its version, as its distribution's list of files tells; None where there is none.

    `importlib.metadata` would tell the same, and take 60 ms to be imported.
    """
    for directory in map(Path, sys.path):
        for record in directory.glob(f"{_DISTRIBUTION}-*.dist-info/RECORD"):
            files = [directory / line.split(",")[0] for line in record.read_text().splitlines()]
            for path in files:
                if path.name == _LIBRARY:
                    return str(path.resolve()), record.parent.name
    return None


@functools.cache
def _library():
    """Returns the _Library, or None where it is not installed or cannot be loaded."""
    try:
        return _installed() and _Library(_installed()[0])
    except (OSError, AttributeError, RuntimeError):
        return None


def begin_again():
    """In a forked process: OpenMP's other threads are those of the process before."""
    library = _library() if _library.cache_info().currsize else None
    if library is not None:
        library.lock, library.alone = threading.Lock(), True


def version():
    """Returns the version of the library that computes convolutions; None where there is none, or it is switched off."""
    return config.onednn and _installed() and _installed()[1] or None


def callable_from(b):
    """True where there is oneDNN to be called by what the backend `b` computes."""
    return config.onednn and _library() is not None and (b.is_host or foreign.register(_target()) is not None)


def _target():
    return NATIVE if native.available(NATIVE) else TARGET


def handler(target):
    """Returns the function that XLA calls, or None."""
    return foreign.python_handler(execute) if target == TARGET else _library() and _native_handler()


def fast(b, kind, dtype, products, groups=1):
    """True where a convolution of so many products of numbers is worth a call."""
    least = _LEAST_BY_FILTER if kind == BY_FILTER else _LEAST if groups == 1 else _LEAST_IN_GROUPS
    return dtype == np.float32 and products >= least and (b.is_host or foreign.allowed()) and callable_from(b)


def serves(b, kind, x_shape, w_shape, dtype, windows):
    """True where oneDNN is to convolve `x_shape` [batch, *spatial, channels] with `w_shape` [*window, in, out]."""
    if not w_shape[-2] or any(min(w.lo, w.hi) < 0 for w in windows):
        return False
    return fast(b, kind, dtype, _products(x_shape, w_shape, windows), x_shape[-1] // w_shape[-2])


def _products(x_shape, w_shape, windows):
    return x_shape[0] * math.prod(w.out for w in windows) * math.prod(w_shape)


def convolution(b, kind, first, second, shape, windows):
    """Returns one of the three products of a convolution, FORWARD, BY_INPUT or BY_FILTER, whose result has `shape`.

    Args:
      first, second: input and filter; filter and gradient of the output; input and gradient of the output.
    """
    shapes = {FORWARD: (first.shape, second.shape), BY_INPUT: (shape, first.shape), BY_FILTER: (first.shape, shape)}
    x, w = shapes[kind]
    threads = 1 if _products(x, w, windows) < (_ALONE if x[-1] == w[-2] else _ALONE_IN_GROUPS) else config.threads or 0
    numbers = [*x, *w, *(v for window in windows for v in (window.stride, window.dilation, window.lo, window.hi, window.out))]
    key = f"{kind} {len(windows)} {threads} {' '.join(map(str, numbers))}"
    if not b.is_host:
        return foreign.call(_target(), shape, np.float32, first, second, key=key)
    arrays = [np.ascontiguousarray(first), np.ascontiguousarray(second), np.empty(shape, np.float32)]
    execute(key.encode(), [a.ctypes.data for a in arrays])
    return arrays[2]


def execute(key, addresses):
    """Computes the convolution that `key` describes, at the addresses of two operands and the result."""
    library = _library()
    if library is None:
        raise RuntimeError("the program was compiled with oneDNN, which is not installed any more")
    with library.lock:
        _made(key).execute(addresses)


def _native_handler():
    """Returns the function of convolutions.c, told where oneDNN is and whom to ask for convolutions; or None."""
    function, library = native.function(NATIVE), _library()
    if function is not None:
        functions = (library.call.dnnl_memory_set_data_handle, library.call.dnnl_primitive_execute,
                     library.openmp.omp_set_num_threads, _prepare)
        place, execute, limit, prepare = (ctypes.cast(f, ctypes.c_void_p) for f in functions)
        native.function("regrad_convolution_by")(ctypes.byref(_OneDnn(place, execute, limit, library.stream, prepare)))
    return function


_prepared: list[tuple] = []  # what convolutions.c holds on to


@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
def _prepare(key, length):
    """Returns the address of the _Prepared convolution of a key; None if that fails."""
    try:
        made = _made.__wrapped__(ctypes.string_at(key, length))
        _prepared.append((made, made.prepared()))
        return ctypes.addressof(_prepared[-1][1])
    except BaseException as error:  # nothing may pass through C's frames
        foreign.note(error)
        return None


@functools.lru_cache(maxsize=4096)
def _made(key):
    kind, *numbers = key.decode().split()
    spatial, threads, *numbers = map(int, numbers)
    x, w, rest = numbers[:spatial + 2], numbers[spatial + 2:2 * spatial + 4], numbers[2 * spatial + 4:]
    return _Convolution(_library(), kind, x, w, *([rest[i::5] for i in range(5)]), threads)


class _Convolution:
    """One of the three products, made ready for shapes.

    Inputs and outputs are taken as they lie. Filters are rearranged for oneDNN, or from its result, in each call.
    """

    def __init__(self, library, kind, x, w, strides, dilations, lo, hi, out, threads):
        self.library, self.threads = library, threads
        library.limit(threads)
        dims, in_memory = _filter(w, x[-1] // w[-2])
        plain, wanted = library.layout(dims, in_memory), library.any_layout(dims)
        source, destination = _image(library, x), _image(library, [x[0], *out, w[-1]])
        window = [_Dims(*strides), _Dims(*(d - 1 for d in dilations)), _Dims(*lo), _Dims(*hi)]
        make, attributes = library.make, library.attributes
        forward = make("convolution_forward_primitive_desc_create", library.engine, _TRAINING, _DIRECT, source, wanted, None,
                       destination, *window, attributes)
        if kind == FORWARD:
            description, layouts = forward, [source, plain, destination]
        elif kind == BY_INPUT:
            description = make("convolution_backward_data_primitive_desc_create", library.engine, _DIRECT, source, wanted,
                               destination, *window, forward, attributes)
            layouts = [plain, destination, source]
        else:
            description = make("convolution_backward_weights_primitive_desc_create", library.engine, _DIRECT, source, wanted,
                               None, destination, *window, forward, attributes)
            layouts = [source, destination, plain]
        self.memories = [library.memory(layout) for layout in layouts]
        self.own, self.sizes = {}, {}  # memories of ours: of the filter as oneDNN wants it, and for intermediate values
        arguments, before, after = [], [], []
        for (role, query), layout, memory in zip(_ROLES[kind], layouts, self.memories):
            wanted = ctypes.c_void_p(library.call.dnnl_primitive_desc_query_md(description, query, 0))
            if not library.call.dnnl_memory_desc_equal(wanted, layout):
                rearranged = self._room("filter", wanted)
                if layout is layouts[2]:
                    after.append(self._rearrangement(wanted, rearranged, layout, memory))
                else:
                    before.append(self._rearrangement(layout, memory, wanted, rearranged))
                memory = rearranged
            arguments.append(_Argument(role, memory))
        self.steps = [*before, self._step(description, arguments), *after]

    def _room(self, name, layout):
        self.sizes[name] = self.library.call.dnnl_memory_desc_get_size(layout)
        self.own[name] = self.library.memory(layout)
        return self.own[name]

    def _rearrangement(self, layout, memory, other_layout, other_memory):
        library = self.library
        description = library.make("reorder_primitive_desc_create", layout, library.engine, other_layout, library.engine,
                                   library.attributes)
        return self._step(description, [_Argument(1, memory), _Argument(17, other_memory)])

    def _step(self, description, arguments):
        """Returns (primitive, arguments), with room for its intermediate values if it needs any."""
        library = self.library
        layout = ctypes.c_void_p(library.call.dnnl_primitive_desc_query_md(description, _SCRATCHPAD_LAYOUT, 0))
        if layout and library.call.dnnl_memory_desc_get_size(layout):
            arguments = [*arguments, _Argument(_SCRATCHPAD, self._room(f"intermediate {len(self.own)}", layout))]
        return library.make("primitive_create", description), arguments

    def prepared(self):
        """Returns it as convolutions.c wants it."""
        steps = [_Step(p, len(a), (_Argument * len(a))(*a)) for p, a in self.steps]
        rooms = [_Room(memory, self.sizes[name]) for name, memory in self.own.items()]
        return _Prepared(self.threads or self.library.threads, len(steps), len(rooms), tuple(m.value for m in self.memories),
                         tuple(steps), tuple(rooms))

    def execute(self, addresses):
        library = self.library
        library.limit(self.threads)
        for memory, address in zip(self.memories, addresses):
            library.place(memory, address)
        for name, memory in self.own.items():
            library.place(memory, library.room(name, self.sizes[name]))
        for primitive, arguments in self.steps:
            library.execute(primitive, *arguments)


def _image(library, shape):
    """Returns the layout of channels-last data, whose dimensions oneDNN names batch, channels, spatial."""
    strides = [math.prod(shape[i + 1:]) for i in range(len(shape))]
    return library.layout([shape[0], shape[-1], *shape[1:-1]], [strides[0], strides[-1], *strides[1:-1]])


def _filter(shape, groups):
    """Returns the dimensions, out, in, window, with the groups before them if there are several, and the strides of a filter
    [*window, in, out].
    """
    strides = [math.prod(shape[i + 1:]) for i in range(len(shape))]
    dims, strides = [shape[-1], shape[-2], *shape[:-2]], [strides[-1], strides[-2], *strides[:-2]]
    if groups == 1:
        return dims, strides
    of_each = shape[-1] // groups
    return [groups, of_each, *dims[1:]], [of_each, *strides]
