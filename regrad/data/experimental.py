"""`tf.data.experimental`: functions for `Dataset.apply`, which `tf.contrib.data` had before."""

import numpy as np

from regrad.core.convert import constant
from regrad.core.dtypes import int32, int64
from regrad.core.errors import OpError
from regrad.data.dataset import AUTOTUNE as AUTOTUNE
from regrad.data.dataset import Dataset, GroupByWindowDataset, IgnoreErrors
from regrad.data.structure import leaves_up_to, packed
from regrad.data.windows import ChosenDataset, ScanDataset, TakeWhileDataset, UniqueDataset
from regrad.data.windows import get_single_element as get_single_element
from regrad.framework import control_dependencies
from regrad.ops import math
from regrad.ops.array import identity
from regrad.ops.check import Assert
from regrad.ops.indexing import gather
from regrad.ops.sort import searchsorted


def shuffle_and_repeat(buffer_size, count=None, seed=None):
    """Returns a function that shuffles a dataset and repeats it."""
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def map_and_batch(map_func, batch_size, num_parallel_batches=None, drop_remainder=False, num_parallel_calls=None):
    """Returns a function that maps a dataset and batches the result."""
    return lambda dataset: dataset.map(map_func).batch(batch_size, drop_remainder)


def parallel_interleave(map_func, cycle_length, block_length=1, sloppy=False, buffer_output_elements=None,
                        prefetch_input_elements=None):
    """Returns a function that interleaves the datasets of a dataset's elements, in a fixed order."""
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length)


def group_by_window(key_func, reduce_func, window_size=None, window_size_func=None):
    """Returns a function that collects the elements of a dataset that have the same key.

    Args:
      key_func: gives an element's key, an int64 scalar.
      reduce_func: a function of a key and a dataset of elements with that key, which returns a dataset.
      window_size: how many elements that is, at most; or
      window_size_func: a function of a key that says so.

    Raises:
      ValueError: both sizes are given, or none.
    """
    if (window_size is None) == (window_size_func is None):
        raise ValueError("group_by_window: give either window_size or window_size_func.")
    size = window_size_func or (lambda key: window_size)
    return lambda dataset: GroupByWindowDataset(dataset, key_func, reduce_func, size)


def ignore_errors(log_warning=False):
    """Returns a function that leaves out the elements of a dataset that fail."""
    return lambda dataset: IgnoreErrors(dataset, OpError)


def unbatch():
    """Returns a function that gives the rows of a dataset's elements one by one."""
    return Dataset.unbatch


def enumerate_dataset(start=0):
    """Returns a function that pairs the elements of a dataset with their numbers."""
    return lambda dataset: dataset.enumerate(start)


def prefetch_to_device(device, buffer_size=None):
    """Returns a function that gives the dataset as it is: XLA places what runs."""
    return lambda dataset: dataset


def copy_to_device(target_device, source_device="/cpu:0"):
    """Returns a function that gives the dataset as it is: XLA places what runs."""
    return lambda dataset: dataset


def bucket_by_sequence_length(element_length_func, bucket_boundaries, bucket_batch_sizes, padded_shapes=None,
                              padding_values=None, pad_to_bucket_boundary=False, no_padding=False, drop_remainder=False):
    """Returns a function that makes batches of elements of similar length.

    Args:
      element_length_func: gives an element's length, an int32 scalar.
      bucket_boundaries: lengths at which a bucket ends, and the next begins; increasing.
      bucket_batch_sizes: size of the batches of each bucket, one more than there are boundaries.
      padded_shapes, padding_values, drop_remainder: as for `Dataset.padded_batch`.
      pad_to_bucket_boundary: pad unknown sizes to the bucket's last length; there must be none as long as the last boundary.
      no_padding: the elements of a batch have the same shape.

    Raises:
      ValueError: the numbers of boundaries and batch sizes do not fit.
      InvalidArgumentError: (when run) an element is too long to be padded to a boundary.
    """
    if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
        raise ValueError(f"len(bucket_batch_sizes) must equal len(bucket_boundaries) + 1, got {len(bucket_batch_sizes)} and "
                         f"{len(bucket_boundaries)}.")
    boundaries, sizes = list(bucket_boundaries), np.asarray(bucket_batch_sizes, np.int64)

    def bucket(*element):
        length = math.cast(element_length_func(*element), int32)
        if not boundaries:
            return constant(0, int64)
        return math.cast(searchsorted(constant(boundaries, int32), length[None], side="right")[0], int64)

    def size(key):
        return gather(constant(sizes), key)

    def batches(key, group):
        if no_padding:
            return group.batch(size(key), drop_remainder)
        shapes = group.output_shapes if padded_shapes is None else padded_shapes
        if not pad_to_bucket_boundary:
            return group.padded_batch(size(key), shapes, padding_values, drop_remainder)
        check = Assert(key < len(boundaries), ["When pad_to_bucket_boundary=True, elements must have length < "
                                               "max(bucket_boundaries)."])
        with control_dependencies([check]):
            longest = gather(constant([*boundaries, 0], int64), identity(key)) - 1
        full = [[longest if d is None else d for d in getattr(dims, "as_list", lambda dims=dims: dims)()]
                for dims in leaves_up_to(group.output_types, shapes)]
        return group.padded_batch(size(key), packed(group.output_types, full), padding_values, drop_remainder)

    return group_by_window(bucket, batches, window_size_func=size)


def scan(initial_state, scan_func):
    """Returns a function that carries a state along a dataset: `scan_func(state, element)` gives (next state, new element)."""
    return lambda dataset: ScanDataset(dataset, initial_state, scan_func)


def take_while(predicate):
    """Returns a function that ends a dataset before the first element of which `predicate` is False."""
    return lambda dataset: TakeWhileDataset(dataset, predicate)


def unique():
    """Returns a function that leaves out the elements of a dataset of scalars that came before."""
    return UniqueDataset


def choose_from_datasets(datasets, choice_dataset):
    """Returns a dataset that takes its elements from `datasets`, the next from the one that `choice_dataset` says."""
    return ChosenDataset(list(datasets), choice_dataset)


def Counter(start=0, step=1, dtype=int64):
    """Returns a dataset that counts without end."""
    return Dataset.from_tensors(0).repeat().apply(scan(constant(start, dtype), lambda state, _: (state + step, state)))


def batch_and_drop_remainder(batch_size):
    """Returns a function that makes full batches."""
    return lambda dataset: dataset.batch(batch_size, True)


def padded_batch_and_drop_remainder(batch_size, padded_shapes, padding_values=None):
    """Returns a function that makes full batches of padded rows."""
    return lambda dataset: dataset.padded_batch(batch_size, padded_shapes, padding_values, True)


def sliding_window_batch(window_size, stride=None, window_shift=None, window_stride=1):
    """Returns a function that makes a batch of each whole window.

    Args:
      window_shift: how far apart windows begin, 1 by default; `stride` is its older name.
      window_stride: how far apart the elements of a window are.
    """
    if stride is not None and window_shift is not None:
        raise ValueError("Cannot specify both `stride` and `window_shift`")
    shift = window_shift or stride or 1

    def apply(dataset):
        parts = dataset.window(window_size, shift, window_stride, drop_remainder=True)
        return parts.flat_map(lambda *windows: Dataset.zip(packed(dataset.output_types, [
            w.batch(window_size) for w in leaves_up_to(dataset.output_types, windows if len(windows) > 1 else windows[0])])))

    return apply
