"""TensorArray: a list of tensors of one shape, written and read by index, inside loops too.

It is a stacked buffer, rows by index, that every write replaces by a new one; compiled loops write in place. The shape of
a row may be unknown until the first write: an array nothing was written to has the shape (size, 0, 0, 0, 0, 0, 0, 0), and
takes its real one from what is written, in a loop by working out the body's shapes first. Rows never written are zeros.
Gradients: `tensor_array_grad.py`.
"""

import warnings

import numpy as np

from regrad.core import dtypes, source
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import INDEX, as_dtype
from regrad.core.errors import InvalidArgumentError, RegradWarning, ShapeError, UnimplementedError
from regrad.core.opdef import Bounds, Spec, define_op, spec_text
from regrad.core.operation import Tensor
from regrad.core.shapes import TensorShape, as_dims, compatible, fully_known, merge, size_of
from regrad.core.shown import Shown

UNWRITTEN = (0,) * 7  # the row shape of an array nothing was written to


def is_unwritten(dims):
    """True for the shape of a buffer whose row shape is not settled yet."""
    return dims is not None and tuple(dims[1:]) == UNWRITTEN


def _create_infer(size, *, dtype, element_shape, dynamic_size):
    n = size.partial() if _concrete(size) or not dynamic_size else None  # a loop may make it longer
    if element_shape is None or not fully_known(element_shape):
        return Spec((n, *UNWRITTEN) if _concrete(size) else None, dtype)
    return Spec((n, *element_shape), dtype)


def _concrete(size):
    """True when shapes are worked out for running: the row shape is then the unwritten one, not merely unknown."""
    return type(size) is not Tensor and size.value() is not None


def _create_lower(b, size, *, dtype, element_shape, dynamic_size):
    if size < 0:
        raise InvalidArgumentError(f"TensorArray: size must be >= 0, got {int(size)}.")
    row = element_shape if element_shape is not None and fully_known(element_shape) else UNWRITTEN
    return b.np.zeros((int(size), *row), dtype.as_numpy_dtype)


def _dynamic(op):
    return op.attrs["dynamic_size"]


create_op = define_op("TensorArrayV3", "size: int32", static=(0,), infer=_create_infer, lower=_create_lower,
                      attrs={"dtype": None, "element_shape": None, "dynamic_size": False})


def _row_dims(buffer):
    return None if buffer.dims is None or is_unwritten(buffer.dims) else buffer.dims[1:]


def _write_infer(buffer, index, value, *, dynamic_size):
    row = _row_dims(buffer)
    if not compatible(row, value.dims):
        raise ShapeError(f"TensorArray: the rows are of shape {list(row)}, the value written is {spec_text(value)}; elements "
                         "of several shapes are written at constant indices, each once, with infer_shape=False")
    row = merge(row, value.dims)
    size = buffer.dims[0] if buffer.dims is not None and not dynamic_size else None
    return Spec(None if row is None else (size, *row), value.dtype)


def _write_lower(b, buffer, index, value, *, dynamic_size):
    if is_unwritten(buffer.shape):
        buffer = b.np.zeros((buffer.shape[0], *value.shape), value.dtype)
    if not b.is_host and not buffer.shape[0]:
        return b.np.asarray(buffer)  # compiled, but never run, as in a read
    if not b.is_host:
        return b.lax.dynamic_update_index_in_dim(buffer, b.np.asarray(value, buffer.dtype), index, 0)
    i = int(index)
    _refuse_write(i, max(len(buffer), i + 1) if dynamic_size else len(buffer))
    out = np.zeros((max(len(buffer), i + 1), *value.shape), value.dtype)
    out[:len(buffer)] = buffer
    out[i, ...] = value  # with the ellipsis, for strings a scalar is one, and no array in an array
    return out


write_op = define_op("TensorArrayWriteV3", "flow_in: T, index: int32, value: T", infer=_write_infer, lower=_write_lower,
                     attrs={"dynamic_size": False})


def _bounds(message):
    """Returns (function that raises for indices outside of an array, the same for the runtime to look at what is fed)."""
    def refuse(indices, size):
        for i in np.ravel(indices):
            if not 0 <= i < size:
                raise InvalidArgumentError(message.format(i=i, size=size))

    return refuse, Bounds(1, lambda buffer, *others, **attrs: buffer.dims[0], refuse)


_refuse_write, write_bounds = _bounds("Tried to write to index {i} but array is not resizeable and size is: {size}")
_refuse_read, read_bounds = _bounds("Tried to read from index {i} but array size is: {size}")
write_op.declare(host_if=_dynamic, refusal=write_bounds)


def _read_lower(b, buffer, index):
    if b.is_host:
        _refuse_read(index, len(buffer))
        if is_unwritten(buffer.shape):
            raise InvalidArgumentError(f"Could not read from TensorArray index {int(index)}: no element was written, and the "
                                       "element shape is not fully defined. Write first, or give TensorArray element_shape.")
        return buffer[int(index), ...]
    if not buffer.shape[0]:
        return b.np.zeros(buffer.shape[1:], buffer.dtype)  # compiled, but never run: the body of a loop of no turns
    return b.lax.dynamic_index_in_dim(buffer, index, 0, keepdims=False)


read_op = define_op("TensorArrayReadV3", "flow_in: T, index: int32", lower=_read_lower,
                    infer=lambda buffer, index: Spec(_row_dims(buffer), buffer.dtype))


def _take_lower(b, buffer, index):
    if b.is_host or not buffer.shape[0]:
        row = _read_lower(b, buffer, index)
        return row, _write_lower(b, buffer, index, np.zeros_like(row), dynamic_size=False)
    (row,) = b.apart(_read_lower(b, buffer, index))
    # What is written depends on what was read, though no index is below 0: so XLA writes in place, after it has read.
    return row, _write_lower(b, buffer, index, b.np.where(index < 0, row, b.np.zeros_like(row)), dynamic_size=False)


take_op = define_op("TensorArrayTake", "flow_in: T, index: int32", lower=_take_lower,
                    infer=lambda buffer, index: [Spec(_row_dims(buffer), buffer.dtype), buffer])


def _gather_infer(buffer, indices):
    row = _row_dims(buffer)
    n = indices.dims[0] if indices.dims else None
    return Spec(None if row is None else (n, *row), buffer.dtype)


def _gather_lower(b, buffer, indices):
    if b.is_host:
        _refuse_read(indices, len(buffer))
    return b.np.take(buffer, indices, axis=0)


gather_op = define_op("TensorArrayGatherV3", "flow_in: T, indices: Tidx", types={"Tidx": INDEX}, infer=_gather_infer,
                      lower=_gather_lower)


def _scatter_infer(buffer, indices, value, *, dynamic_size):
    if value.dims is None:
        return Spec(None, value.dtype)
    if not compatible((indices.dims or (None,))[:1], value.dims[:1]):
        raise ShapeError(f"TensorArray.scatter: value must hold a row for each index, got {spec_text(value)} and "
                         f"{spec_text(indices)}")
    return Spec((buffer.dims[0] if buffer.dims and not dynamic_size else None, *value.dims[1:]), value.dtype)


def _scatter_lower(b, buffer, indices, value, *, dynamic_size):
    if is_unwritten(buffer.shape):
        buffer = b.np.zeros((buffer.shape[0], *value.shape[1:]), value.dtype)
    if not b.is_host:
        return buffer.at[indices].set(value)
    size = max(len(buffer), np.max(indices, initial=-1) + 1) if dynamic_size else len(buffer)
    _refuse_write(indices, size)
    out = np.zeros((size, *buffer.shape[1:]), buffer.dtype)
    out[:len(buffer)] = buffer
    out[indices] = value
    return out


scatter_op = define_op("TensorArrayScatterV3", "flow_in: T, indices: Tidx, value: T", types={"Tidx": INDEX},
                       infer=_scatter_infer, lower=_scatter_lower, attrs={"dynamic_size": False})
read_op.declare(refusal=read_bounds)
take_op.declare(refusal=read_bounds)
gather_op.declare(refusal=read_bounds)
scatter_op.declare(host_if=_dynamic, refusal=write_bounds)


def _concat_infer(buffer):
    row = _row_dims(buffer)
    if row is None:
        return Spec(None, buffer.dtype)
    if not row:
        raise ShapeError(f"TensorArray: scalars cannot be joined, the array is {spec_text(buffer)}; stack() makes a vector")
    return Spec((size_of((buffer.dims[0], row[0])), *row[1:]), buffer.dtype)


def _concat_lower(b, buffer):
    return b.np.reshape(buffer, (buffer.shape[0] * buffer.shape[1], *buffer.shape[2:]))


def _split_infer(value, *, num, length):
    if value.dims is None:
        return Spec(None, value.dtype)
    if value.dims[0] not in (None, num * length):
        raise ShapeError(f"TensorArray: {spec_text(value)} cannot be cut into {num} parts of length {length}")
    return Spec((num, length, *value.dims[1:]), value.dtype)


def _unstack_size(value, flow, dynamic_size):
    """Returns how many elements an array has that `value` was unstacked into, None where that is not known."""
    n = value.dims[0] if value.dims else None
    size = flow.dims[0] if flow.dims else None
    if n is None or size is None:
        return None
    if n > size and not dynamic_size:
        raise ShapeError(f"TensorArray: the {n} rows of {spec_text(value)} do not fit in an array that is not resizeable and "
                         f"whose size is: {size}")
    return max(n, size)


def _unstack_infer(value, flow, *, dynamic_size):
    if value.dims == ():
        raise ShapeError(f"TensorArray.unstack: value must be at least a vector, got {spec_text(value)}")
    size = _unstack_size(value, flow, dynamic_size)
    return Spec(None if value.dims is None else (size, *value.dims[1:]), value.dtype)


def _unstack_lower(b, value, flow, *, dynamic_size):
    missing = flow.shape[0] - value.shape[0]
    return b.np.pad(value, [(0, missing)] + [(0, 0)] * (len(value.shape) - 1)) if missing > 0 else value


unstack_op = define_op("TensorArrayUnstack", "value: T, flow_in: T", shape_only=(1,), attrs={"dynamic_size": False},
                       infer=_unstack_infer, lower=_unstack_lower)
concat_op = define_op("TensorArrayConcatV3", "flow_in: T", lower=_concat_lower, infer=_concat_infer)
split_op = define_op("TensorArraySplitV3", "value: T", attrs={"num": 0, "length": 0}, infer=_split_infer,
                     lower=lambda b, value, *, num, length: b.np.reshape(value, (num, length, *value.shape[1:])))
size_op = define_op("TensorArraySizeV3", "flow_in: T", shape_only=(0,), partial=True, infer=lambda x: Spec((), dtypes.int32),
                    lower=lambda b, x: np.asarray(x.shape[0], np.int32))


def warn_of_dropped_writes(flow):
    """Warns where a TensorArray is read on from a state that writes have replaced, whose results nobody uses."""
    for op in flow.consumers():
        if op.type in ("TensorArrayWriteV3", "TensorArrayScatterV3") and op.inputs[0] is flow and not op.outputs[0].consumers():
            warnings.warn(f"TensorArray: what was written at {op.location} is lost: write() and scatter() return the changed "
                          f"array, `ta = ta.write(i, x)`, and the one used at {source.here()} is still the old one.",
                          RegradWarning, stacklevel=3)
            return


class TensorArray(Shown):
    """A list of tensors of one dtype and (by default) one shape.

    Args:
      dtype: the elements' DType.
      size: int32 scalar (a number or tensor): how many; needed unless `dynamic_size`.
      dynamic_size: writing past the end makes the array longer. Loops over such an array run from the host.
      element_shape: static shape of the elements, if known.
      infer_shape: False lets elements, written and read at constant indices, differ in shape.
      clear_after_read, tensor_array_name, handle, colocate_with_first_write_call: accepted.

    Every method that changes the array returns the changed one; the old one stays what it was.

    Example:
      array = tf.TensorArray(tf.float32, size=2)
      array = array.write(0, [1.0, 2.0]).write(1, [3.0, 4.0])
      print(tf.Session().run(array.stack()))
      #> [[1. 2.]
      #>  [3. 4.]]
    """

    def __init__(self, dtype, size=None, dynamic_size=None, clear_after_read=None, tensor_array_name=None, handle=None,
                 flow=None, infer_shape=True, element_shape=None, colocate_with_first_write_call=True, name=None):
        self._dtype = as_dtype(dtype)
        self._dynamic = bool(dynamic_size)
        self._known = [as_dims(element_shape)]  # the elements' static shape, shared by all that became of the array
        self._name = name or "TensorArray"
        self._infer_shape = infer_shape or element_shape is not None
        self._written = {}  # what was written at constant indices: the element, or None where nobody needs it
        self._pieces = None  # {index: element} where shapes differ
        self._size = None  # as a number, where it is known
        if flow is not None:
            self._flow = flow
            return
        if size is None:
            if not dynamic_size:
                raise ValueError("Size must be provided if handle is not provided and dynamic_size is not set.")
            size = 0
        size = convert_to_tensor(size, dtype=None if hasattr(size, "dtype") else dtypes.int32, name="size")
        known = size.value()
        self._size = None if known is None or known.ndim else int(known)
        self._flow = create_op(size, dtype=self._dtype, element_shape=self._element_shape, dynamic_size=self._dynamic,
                               name=self._name)

    def _with(self, flow):
        new = TensorArray(self._dtype, flow=flow, dynamic_size=self._dynamic, infer_shape=self._infer_shape)
        new._known, new._size = self._known, self._size
        if flow.dims is not None and not is_unwritten(flow.dims):
            self._merge(flow.dims[1:])
        return new

    @property
    def _element_shape(self):
        return self._known[0]

    def _merge(self, dims):
        """Adds what an element's shape says of all; ValueError when it contradicts what others said."""
        if not self._infer_shape or dims is None:
            return
        if not compatible(self._known[0], dims):
            raise ValueError(f"Inconsistent shapes: saw {TensorShape(dims)} but expected {self.element_shape} (and "
                             "infer_shape=True)")
        self._known[0] = merge(self._known[0], dims)

    def _loop_parts(self):
        if self._pieces is not None:
            raise ValueError("A TensorArray whose elements differ in shape cannot be a loop variable: loops write and read "
                             "rows of one shape.")
        return [self._flow], self._with

    @property
    def flow(self):
        """The tensor that carries the contents."""
        return self._flow

    @property
    def handle(self):
        return self._flow

    @property
    def dtype(self):
        return self._dtype

    @property
    def dynamic_size(self):
        return self._dynamic

    @property
    def element_shape(self):
        return TensorShape(self._element_shape)

    def identity(self):
        """Returns an array with the same contents."""
        from regrad.ops.array import unasked_identity

        return self._with(unasked_identity(self._flow))

    def mark_used(self):
        """Does nothing: TensorFlow warned of arrays that nothing was done with."""

    def grad(self, source, flow=None, name=None):
        raise NotImplementedError("TensorArray.grad: gradients flow through a TensorArray's contents; use tf.gradients.")

    def read(self, index, name=None):
        """Returns element `index`.

        Raises:
          InvalidArgumentError: nothing was written, and the shape of the elements is not known.
        """
        if self._pieces is not None:
            return self._piece(index)
        at = convert_to_tensor(index).value()
        if at is not None and self._written.get(int(at)) is not None:
            return self._written[int(at)]  # which may be of another shape than the others
        if self._flow.op.opdef is create_op and not fully_known(self._element_shape):
            raise InvalidArgumentError(f"TensorArray {self._name}: Could not read from TensorArray index {index}: nothing was "
                                       "written, and the shape of the elements is not known. `array = array.write(...)` gives "
                                       "the array with an element.")
        warn_of_dropped_writes(self._flow)
        value = read_op(self._flow, index, name=name or "TensorArrayReadV3")
        value.set_shape(self._element_shape)
        return value

    def write(self, index, value, name=None):
        """Returns the array with element `index` set to `value`.

        Raises:
          ValueError: the shape of `value` is not that of the elements.
        """
        value = convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
        self._check_dtype(value)
        at = convert_to_tensor(index).value()
        fits = compatible(self._element_shape if self._infer_shape else _row_dims(self._flow), value.dims)
        if at is not None and int(at) in self._written and (fits or not self._infer_shape):
            raise InvalidArgumentError(f"TensorArray {self._name}: Could not write to TensorArray index {int(at)} because it "
                                       "has already been written to.")
        if self._pieces is not None or at is not None and not fits and not self._infer_shape:
            if at is None:
                raise ValueError("A TensorArray whose elements differ in shape is written at constant indices only.")
            new = self._with(self._flow)
            new._pieces = {**(self._written if self._pieces is None else self._pieces), int(at): value}
            new._written = new._pieces
            return new
        self._merge(value.dims)
        new = self._with(write_op(self._flow, index, value, dynamic_size=self._dynamic, name=name))
        if at is not None:
            new._written = {**self._written, int(at): None if self._infer_shape else value}
        return new

    def _all_written(self):
        """Returns {index: element} where every element was written at a constant index, and may be of a shape of its own."""
        size = max(self._written, default=-1) + 1 if self._dynamic else self._size
        return self._written if size and len(self._written) == size and None not in self._written.values() else None

    def _check_dtype(self, value):
        if value.dtype is not self._dtype:
            raise TypeError(f"TensorArray dtype is {self._dtype.name} but op is trying to write dtype {value.dtype.name}; "
                            f"tf.cast(x, tf.{self._dtype.name}) converts.")

    def stack(self, name=None):
        """Returns all elements stacked: shape [size, *element_shape]."""
        from regrad.ops.array import stack, unasked_identity

        if self._pieces is not None:
            return stack([self._pieces[i] for i in sorted(self._pieces)], name=name or "TensorArrayStack")
        if self._flow.op.opdef is create_op and not fully_known(self._element_shape) and (self._size or 0) >= 0:
            raise UnimplementedError(f"TensorArray {self._name}: nothing was written, and the element shape "
                                     f"{self.element_shape} is not fully defined. `array = array.write(...)` gives the array "
                                     "with an element.")
        warn_of_dropped_writes(self._flow)
        out = unasked_identity(self._flow, name=name or "TensorArrayStack")
        if self._element_shape is not None:
            out.set_shape((None if self._dynamic else self._size, *self._element_shape))
        return out

    def gather(self, indices, name=None):
        """Returns the elements `indices` (a vector), stacked."""
        if self._pieces is not None:
            raise ValueError("A TensorArray whose elements differ in shape cannot be gathered: read(index) gives one.")
        warn_of_dropped_writes(self._flow)
        return gather_op(self._flow, indices, name=name)

    def concat(self, name=None):
        """Returns the elements joined along their first axis."""
        from regrad.ops.array import concat

        pieces = self._pieces or self._all_written()
        if pieces:
            return concat([pieces[i] for i in sorted(pieces)], 0, name=name or "concat")
        warn_of_dropped_writes(self._flow)
        out = concat_op(self._flow, name=name or "TensorArrayConcatV3")
        if self._element_shape:
            first, *rest = self._element_shape
            out.set_shape((size_of((None if self._dynamic else self._size, first)), *rest))
        return out

    def unstack(self, value, name=None):
        """Returns the array holding the rows of `value`."""
        value = convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
        self._check_dtype(value)
        if value.dims == ():
            raise ShapeError("TensorArray.unstack: a scalar has no rows, value must be of rank 1 or more.")
        flow = unstack_op(value, self._flow, dynamic_size=self._dynamic, name=name or "TensorArrayUnstack")
        if value.dims is not None:
            self._merge(value.dims[1:])
        return self._with(flow)

    def scatter(self, indices, value, name=None):
        """Returns the array with elements `indices` set to the rows of `value`."""
        return self._with(scatter_op(self._flow, indices, value, dynamic_size=self._dynamic, name=name))

    def split(self, value, lengths, name=None):
        """Returns the array of `value` cut along its first axis into parts of the given lengths.

        Parts of different lengths make an array that can be read at constant indices, concatenated, and nothing else.

        Raises:
          ValueError: how many parts there are is not known while the graph is built.
        """
        from regrad.ops.array import split

        value = convert_to_tensor(value)
        lengths = convert_to_tensor(lengths)
        known = lengths.value()
        self._check_split(value, lengths, known)
        if known is not None and len(set(known.tolist())) == 1 and value.rank is not None:
            self._merge((int(known[0]), *value.dims[1:]))
            return self._with(split_op(value, num=len(known), length=int(known[0]), name=name or "TensorArraySplitV3"))
        if not lengths.dims or lengths.dims[0] is None:
            raise ValueError("TensorArray.split: the number of parts must be known while the graph is built.")
        new = self._with(self._flow)
        new._pieces = dict(enumerate(split(value, lengths, name=name or "TensorArraySplit")))
        return new

    def _check_split(self, value, lengths, known):
        """Raises ShapeError where it is known that `value` cannot be split so."""
        if lengths.dims is not None and len(lengths.dims) != 1:
            raise ShapeError(f"TensorArray.split: Expected lengths to be a vector, received shape: {spec_text(lengths)}")
        if value.dims == ():
            raise ShapeError(f"TensorArray.split: Expected value to be at least a vector, got {spec_text(value)}")
        if known is not None and value.dims and value.dims[0] not in (None, int(known.sum())):
            raise ShapeError("TensorArray.split: Expected sum of lengths to be equal to values.shape[0], but sum of lengths is "
                             f"{int(known.sum())} and value is {spec_text(value)}")
        size, parts = self._size, lengths.dims[0] if lengths.dims else None
        if not self._dynamic and None not in (size, parts) and size != parts:
            raise ShapeError(f"TensorArray's size is not equal to the size of lengths ({size} vs. {parts}), and the "
                             "TensorArray is not marked as dynamically resizeable")

    def _piece(self, index):
        """Returns element `index` of an array of parts of different lengths."""
        at = convert_to_tensor(index).value()
        if at is None:
            raise ValueError("A TensorArray whose elements differ in shape is read at constant indices only.")
        if int(at) not in self._pieces:
            raise ValueError(f"TensorArray: nothing was written at index {int(at)}.")
        return self._pieces[int(at)]

    def size(self, name=None):
        """Returns the number of elements, an int32 scalar."""
        return size_op(self._flow, name=name or "TensorArraySizeV3")

    def close(self, name=None):
        """Returns an operation that does nothing: there is nothing to free."""
        from regrad.ops.control import no_op

        return no_op(name=name)
