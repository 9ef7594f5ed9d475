"""`tf.estimator.inputs`: input functions over arrays and pandas' tables."""

import collections

import numpy as np

from regrad.core.dtypes import as_dtype
from regrad.core.graph import get_default_graph
from regrad.data.dataset import Dataset
from regrad.data.iterator import make_one_shot_iterator

_ALONE = object()  # the key of what is given as one array


def numpy_input_fn(x, y=None, batch_size=128, num_epochs=1, shuffle=None, queue_capacity=1000, num_threads=1):
    """Returns an input function that gives batches of rows of arrays: `features`, or `(features, labels)` where `y` is given.

    Batches go on over the end of an epoch; the last of all may be smaller.

    Args:
      x: array, or {name: array}, with equally many rows.
      y: the same of the labels, or None.
      batch_size: how many rows.
      num_epochs: how often the rows are given; None for no end.
      shuffle: whether each epoch has an order of its own, which the graph's seed determines; it must be given.
      queue_capacity, num_threads: accepted; all rows are shuffled together.

    Raises:
      ValueError: `shuffle` is no bool, `x` or `y` is empty, they have a name in common, or numbers of rows differ.
      TypeError: `x` or `y` is neither an array nor a dictionary.
    """
    _check_shuffle(shuffle)
    return _input_fn(_arrays(x, "x"), _arrays(y, "y"), batch_size, num_epochs, shuffle)


def pandas_input_fn(x, y=None, batch_size=128, num_epochs=1, shuffle=None, queue_capacity=1000, num_threads=1,
                    target_column="target"):
    """Returns an input function that gives batches of rows of a pandas DataFrame; see `numpy_input_fn`.

    Args:
      x: a DataFrame; each column is a feature.
      y: a Series, or a DataFrame whose columns become a dictionary of labels; with the index of `x`.
      target_column: accepted; what the column of labels is called while it is read.
      The others: see `numpy_input_fn`.

    Raises:
      TypeError: `x` is no DataFrame.
      ValueError: `shuffle` is no bool, the indices differ, or `target_column` is a column of `x`.
    """
    if not (hasattr(x, "columns") and hasattr(x, "index")):
        raise TypeError(f"x must be a pandas DataFrame; got {type(x).__name__}")
    _check_shuffle(shuffle)
    if not isinstance(target_column, str):
        raise TypeError("target_column must be a string type")
    if y is not None and target_column in x:
        raise ValueError(f"Cannot use name {target_column} for target column: DataFrame already has a column with that name: "
                         f"{x.columns}")
    if y is not None and not np.array_equal(x.index, y.index):
        raise ValueError(f"Index for x and y are mismatched.\nIndex for x: {x.index}\nIndex for y: {y.index}\n")
    return _input_fn(_columns(x), None if y is None else _columns(y) if hasattr(y, "columns") else {_ALONE: y.to_numpy()},
                     batch_size, num_epochs, shuffle)


def _check_shuffle(shuffle):
    if shuffle not in (True, False):
        raise ValueError("shuffle must be provided and explicitly set as boolean (it is recommended to set it as True for "
                         f"training); got {shuffle}")


def _arrays(given, what):
    if given is None and what == "y":
        return None
    if isinstance(given, np.ndarray):
        return {_ALONE: given}
    if not isinstance(given, dict):
        raise TypeError(f"{what} must be a dict or array; got {type(given).__name__}")
    if not given:
        raise ValueError(f"{what} cannot be empty dict{', use None instead.' if what == 'y' else ''}")
    return {name: np.asarray(given[name]) for name in sorted(given)}


def _columns(table):
    return {name: table[name].to_numpy() for name in table.columns}


def _input_fn(features, labels, batch_size, num_epochs, shuffle):
    both = sorted(set(features) & set(labels or ()) - {_ALONE})
    if both:
        raise ValueError(f"{len(both)} duplicate keys are found in both x and y: {both}")
    everything = [*features.values(), *(labels or {}).values()]
    if len({len(array) for array in everything}) != 1:
        shapes = [{name: np.shape(array) for name, array in part.items()} for part in (features, labels or {})]
        raise ValueError("Length of tensors in x and y is mismatched. All elements in x and y must have the same length.\n"
                         f"Shapes in x: {shapes[0]}\nShapes in y: {shapes[1]}\n")

    def input_fn():
        seed = get_default_graph().seed

        def batches():
            for rows in _rows(len(everything[0]), batch_size, num_epochs, np.random.RandomState(seed) if shuffle else None):
                yield tuple(array[rows] for array in everything)

        types = tuple(as_dtype(array.dtype) for array in everything)
        dataset = Dataset.from_generator(batches, types, tuple((None, *array.shape[1:]) for array in everything))
        tensors = collections.deque(make_one_shot_iterator(dataset).get_next())
        given = _like(features, tensors)
        return given if labels is None else (given, _like(labels, tensors))

    return input_fn


def _like(arrays, tensors):
    found = {name: tensors.popleft() for name in arrays}
    return found[_ALONE] if _ALONE in found else found


def _rows(count, batch_size, num_epochs, random):
    """Yields the numbers of each batch's rows."""
    left = np.zeros(0, np.int64)
    done = 0
    while count and (num_epochs is None or done < num_epochs):
        while len(left) < batch_size and (num_epochs is None or done < num_epochs):
            left = np.concatenate([left, np.arange(count) if random is None else random.permutation(count)])
            done += 1
        while len(left) >= batch_size:
            yield left[:batch_size]
            left = left[batch_size:]
    if len(left):
        yield left
