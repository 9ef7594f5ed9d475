"""Variables kept as several parts along one axis, and the functions that say how many."""

import math

from regrad.core.convert import convert_to_tensor, register_tensor_conversion_function
from regrad.core.shapes import TensorShape
from regrad.ops import operators
from regrad.ops.array import concat, identity


class PartitionedVariable:
    """One variable of several parts, each a Variable `<name>/part_<i>`; used like the concatenation of them.

    Attributes:
      name: the whole's name.
      shape, dtype: of the whole.
      partitions: parts per axis.
    """

    __array_priority__ = 100

    def __init__(self, name, shape, dtype, variable_list, partitions):
        if not isinstance(variable_list, (list, tuple)):
            raise TypeError(f"variable_list is not a list or tuple: {variable_list}")
        if not isinstance(partitions, (list, tuple)):
            raise TypeError(f"partitions is not a list or tuple: {partitions}")
        if any(int(p) < 1 for p in partitions):
            raise ValueError(f"partition values must be positive: {partitions}")
        if not variable_list:
            raise ValueError(f"variable_list may not be empty: {variable_list}")
        if any(v._save_slice_info is None for v in variable_list):
            raise ValueError("All variables must have a save_slice_info available: _set_save_slice_info gives it.")
        self.name = name
        self.shape = TensorShape(shape)
        self.dtype = dtype
        self.partitions = list(partitions)
        self._parts = list(variable_list)
        axes = [i for i, n in enumerate(self.partitions) if n > 1]
        self._axis = axes[0] if axes else 0
        if len(self._parts) == 1:
            self._whole = identity(self._parts[0], name=name + "/")
        else:
            whole = concat(self._parts, self._axis, name=f"{name}/ConcatPartitions/concat/")
            self._whole = identity(whole, name=name + "/")

    @property
    def _variable_list(self):
        return self._parts

    def __iter__(self):
        return iter(self._parts)

    def __len__(self):
        return len(self._parts)

    def get_shape(self):
        return self.shape

    @property
    def graph(self):
        return self._whole.graph

    def as_tensor(self):
        """Returns the concatenation of the parts."""
        return self._whole

    def _as_graph_element(self):
        return self._whole

    def _get_variable_list(self):
        return self._parts

    def _get_partitions(self):
        return self.partitions

    def _partition_axes(self):
        return [i for i, n in enumerate(self.partitions) if n > 1] or [0]

    def _gradient_handle(self):
        return self._whole

    def assign(self, value, use_locking=False, name=None, read_value=True):
        """Returns the assignments of the parts, a list of tensors, or of operations unless `read_value`."""
        return self._assigned("assign", value, name, read_value)

    def assign_add(self, value, use_locking=False, name=None, read_value=True):
        """Returns the additions to the parts; see `assign`."""
        return self._assigned("assign_add", value, name, read_value)

    def assign_sub(self, value, use_locking=False, name=None, read_value=True):
        """Returns the subtractions from the parts; see `assign`."""
        return self._assigned("assign_sub", value, name, read_value)

    def _assigned(self, method, value, name, read_value):
        from regrad.ops.array import split

        value = convert_to_tensor(value, dtype=None if hasattr(value, "dtype") else self.dtype)
        sizes = [p.shape.as_list()[self._axis] for p in self._parts]
        return [getattr(p, method)(v, name=name, read_value=read_value)
                for p, v in zip(self._parts, split(value, sizes, self._axis))]

    def __repr__(self):
        return f"<PartitionedVariable '{self.name}' shape={self.shape} dtype={self.dtype.name} parts={len(self._parts)}>"


operators.overload_all(PartitionedVariable, PartitionedVariable.as_tensor)
register_tensor_conversion_function(PartitionedVariable, lambda v, dtype=None, name=None, as_ref=False: v._whole)


def partitions(partitioner, shape, dtype):
    """Returns ([parts per axis], [(offset, sizes) of each part]) for what `partitioner(shape, dtype)` says.

    Raises:
      ValueError: not one positive number per axis, or more than one axis is cut.
    """
    counts = partitioner(shape=shape, dtype=dtype)
    counts = [int(c) for c in counts]
    sizes = shape.as_list()
    if len(counts) != len(sizes) or any(c < 1 for c in counts):
        raise ValueError(f"Partitioner returned {counts} for shape {shape}: it must return one positive number per axis.")
    cut = [i for i, c in enumerate(counts) if c > 1]
    if len(cut) > 1:
        raise ValueError(f"Can only slice a variable along one dimension, not more than one: shape {shape}, {counts} parts.")
    axis = cut[0] if cut else 0
    n = counts[axis] if counts else 1
    if not sizes:
        return counts, [((), ())]
    small, larger = divmod(sizes[axis], n)
    slices, start = [], 0
    for i in range(n):
        size = small + (i < larger)
        slices.append((tuple(start if a == axis else 0 for a in range(len(sizes))),
                       tuple(size if a == axis else s for a, s in enumerate(sizes))))
        start += size
    return counts, slices


def _sizes(shape, axis):
    sizes = TensorShape(shape).as_list()
    if not -len(sizes) <= axis < len(sizes):
        raise ValueError(f"Cannot partition variable along axis {axis} when shape is only {shape}.")
    return sizes


def fixed_size_partitioner(num_shards, axis=0):
    """Returns a partitioner that cuts `axis` into `num_shards` parts."""

    def partitioner(shape, dtype=None):
        sizes = _sizes(shape, axis)
        counts = [1] * len(sizes)
        counts[axis] = min(num_shards, sizes[axis])
        return counts

    return partitioner


def variable_axis_size_partitioner(max_shard_bytes, axis=0, bytes_per_string_element=16, max_shards=None):
    """Returns a partitioner that cuts `axis` into parts of at most `max_shard_bytes`; ValueError if that is not positive."""
    if max_shard_bytes < 1 or bytes_per_string_element < 1:
        raise ValueError("max_shard_bytes must be positive, and bytes_per_string_element too, got "
                         f"{max_shard_bytes} and {bytes_per_string_element}.")
    if max_shards and max_shards < 1:
        raise ValueError(f"max_shards must be positive, got {max_shards}.")

    def partitioner(shape, dtype):
        sizes = _sizes(shape, axis)
        element = bytes_per_string_element if dtype.name == "string" else dtype.size
        counts = [1] * len(sizes)
        rows = sizes[axis]
        per_row = max(math.prod(sizes) // max(rows, 1) * element, 1)
        per_part = max(max_shard_bytes // per_row, 1)
        counts[axis] = min(max(math.ceil(rows / per_part), 1), max_shards or rows)
        return counts

    return partitioner


def min_max_variable_partitioner(max_partitions=1, axis=0, min_slice_size=256 << 10, bytes_per_string_element=16):
    """Returns a partitioner that cuts `axis` into up to `max_partitions` parts of at least `min_slice_size` bytes."""
    for name, value in (("max_partitions", max_partitions), ("min_slice_size", min_slice_size)):
        if value < 1:
            raise ValueError(f"{name} must be positive, got {value}.")

    def partitioner(shape, dtype):
        sizes = _sizes(shape, axis)
        element = bytes_per_string_element if dtype.name == "string" else dtype.size
        parts = math.ceil(math.prod(sizes) * element / min_slice_size)
        counts = [1] * len(sizes)
        counts[axis] = max(1, min(sizes[axis], max_partitions, parts))
        return counts

    return partitioner
