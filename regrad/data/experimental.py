"""`tf.data.experimental`: functions for `Dataset.apply`, which `tf.contrib.data` had before."""

from regrad.core.errors import OpError
from regrad.data.dataset import AUTOTUNE as AUTOTUNE
from regrad.data.dataset import Dataset, GroupByWindowDataset, IgnoreErrors


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
