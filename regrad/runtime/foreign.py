"""Functions of other libraries called by compiled programs, on the program's own memory: XLA's foreign function interface.

XLA calls a *handler* with a frame that says where operands, results and attributes lie (`xla/ffi/api/c_api.h`, version 0.3 of
its binary interface, which XLA keeps for a year at least). A handler is a C function of a library, or one made here that calls
Python by ctypes with the GIL taken: some 10 us a call, so it is for work that takes longer and gives the GIL back meanwhile.
"""

import contextlib
import ctypes
import functools
import importlib
import struct
import threading

from regrad.runtime.loading import import_jax

# target: the module, below `regrad`, whose `handler(target)` gives the function that XLA calls.
TARGETS = {"regrad_onednn": "runtime.onednn", "regrad_convolution": "runtime.onednn", "regrad_product": "runtime.native",
           "regrad_sum_of_rows": "runtime.native", "regrad_uninitialized": "runtime.native",
           "regrad_special": "runtime.native", "regrad_sums_of_rows": "runtime.native", "regrad_update": "runtime.native",
           "regrad_update_by_product": "runtime.native", "regrad_update_unless": "runtime.native",
           "regrad_update_by_product_unless": "runtime.native",
           "regrad_packed": "runtime.native", "regrad_unpacked": "runtime.native", "regrad_winograd": "runtime.native"}

_METADATA, _EXECUTE, _INTERNAL = 1, 3, 13  # enumerators of the interface
_VERSION = struct.pack("=ii", 0, 3)
_FRAME = struct.Struct("=QQQQi4x" "16xqQQ" "16xqQQ" "16xqQQQ")  # head; operands, results, attributes
_LIST = {n: struct.Struct(f"={n}Q") for n in range(1, 9)}
_DATA_AT = 24  # in a buffer's description: after sizes and dtype
_SPAN = struct.Struct("=QQ")
_ERROR_AT = 48  # in the table of the interface's functions: XLA_FFI_Error_Create, the first


_tracing = threading.local()  # `differentiated`: JAX differentiates what this thread traces
_interrupts: list[KeyboardInterrupt] = []  # that came while a handler ran, in the main thread


class _ErrorArguments(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("extension", ctypes.c_void_p), ("message", ctypes.c_char_p), ("code", ctypes.c_int)]


def _pointers(address, n):
    return _LIST[n].unpack(ctypes.string_at(address, 8 * n)) if n else ()


def python_handler(execute):
    """Returns the handler, a C function, that calls `execute(key, addresses of operands and results)`."""

    def handle(frame):
        (_, extension, api, _, stage, n_args, _, args, n_rets, _, rets,
         _, _, _, attrs) = _FRAME.unpack(ctypes.string_at(frame, _FRAME.size))
        try:
            if extension:
                _describe(extension)
            elif stage == _EXECUTE:
                key = ctypes.string_at(*_SPAN.unpack(ctypes.string_at(*_pointers(attrs, 1), _SPAN.size)))
                buffers = _pointers(args, n_args) + _pointers(rets, n_rets)
                execute(key, [ctypes.c_void_p.from_address(b + _DATA_AT).value for b in buffers])
        except BaseException as error:  # nothing may pass through XLA's frames
            note(error)
            return _error(api, f"{type(error).__name__}: {error}")
        return None

    return ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(handle)


def _describe(extension):
    """Answers XLA's question which version of the interface the handler is for."""
    _, kind, _, metadata = struct.unpack("=Qi4xQQ", ctypes.string_at(extension, 32))
    if kind == _METADATA:
        ctypes.memmove(metadata + 8 + 16, _VERSION, len(_VERSION))


def _error(api, message):
    create = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(ctypes.c_void_p.from_address(api + _ERROR_AT).value)
    arguments = _ErrorArguments(ctypes.sizeof(_ErrorArguments), None, message.encode(), _INTERNAL)
    return create(ctypes.addressof(arguments))


@functools.cache
def register(target):
    """Makes a target of TARGETS known to XLA: before a program that calls it is compiled, or loaded from the disk.

    Returns:
      The handler, kept because XLA holds its address; None where there is none, or this XLA has no such interface.
    """
    module = importlib.import_module(f"regrad.{TARGETS[target]}")
    handler = module.handler(target)
    if handler is None:
        return None
    try:
        ffi = import_jax().ffi
        ffi.register_ffi_target(target, ffi.pycapsule(handler), platform="cpu")
    except Exception:  # older, or newer by more than a year
        return None
    return handler


def register_all_in(data):
    """Registers the targets that a stored executable names."""
    for target in TARGETS:
        if target.encode() in data:
            register(target)


@contextlib.contextmanager
def differentiated():
    """Context manager: what is traced in the block calls none of these functions, as JAX cannot differentiate them."""
    before = getattr(_tracing, "differentiated", False)
    _tracing.differentiated = True
    try:
        yield
    finally:
        _tracing.differentiated = before


def allowed():
    """True where the program that this thread traces may call such functions."""
    return not getattr(_tracing, "differentiated", False)


def call(target, shape, dtype, *operands, **attributes):
    """Returns the result of `target` in a program that is being traced.

    Args:
      target: one of TARGETS, registered.
      shape, dtype: of the result.
      operands: arrays, laid out row by row.
      attributes: what tells it what to compute: `key`, a str, where the handler is Python's; else as it wants them.
    """
    jax = import_jax()
    one = jax.ffi.ffi_call(target, jax.ShapeDtypeStruct(shape, dtype), vmap_method="sequential_unrolled")
    return one(*operands, **attributes)


def overwrite(target, count, *operands, **attributes):
    """Returns the results of `target`: new values of its first `count` operands, in their memory if nothing else reads it."""
    jax = import_jax()
    results = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in operands[:count]]
    one = jax.ffi.ffi_call(target, results, vmap_method="sequential_unrolled",
                           input_output_aliases={i: i for i in range(count)})
    return one(*operands, **attributes)


def note(error):
    """Remembers an interrupt that came while a handler ran."""
    if isinstance(error, KeyboardInterrupt):
        _interrupts.append(error)


def raise_interrupt():
    """Raises the KeyboardInterrupt that made a run fail, if one did."""
    if _interrupts:
        raise _interrupts.pop() from None
