"""What `Model.fit` and its kin take for data - arrays, generators, Sequences, datasets, tensors - as batches of arrays.

Arrays are matched with a model's inputs and outputs by order or by name, checked, and given the axis of size 1 that rows of
numbers lack.
"""

import random
from collections.abc import Mapping

import numpy as np

from regrad.core import nest
from regrad.core.errors import OutOfRangeError
from regrad.core.graph import is_tensor
from regrad.data.dataset import Dataset
from regrad.data.iterator import Iterator, make_initializable_iterator
from regrad.keras import backend
from regrad.keras.utils import Sequence
from regrad.variables.lifting import root_graph


# -- matching ---------------------------------------------------------------------------------------------------
def matched(data, names, shapes, what):
    """Returns arrays in the order of `names`.

    Args:
      data: an array, a list, a dict by name, or None, which gives [].
      shapes: of what is expected, each a tuple or None; the first axis is the batch's.
      what: "input" or "target", for messages.

    Raises:
      ValueError: others than expected, or of other shapes.
    """
    if data is None:
        if names:
            raise ValueError(f"No data for the {what}s {names}: give an array for each.")
        return []
    if isinstance(data, Mapping):
        missing = [name for name in names if name not in data]
        if missing:
            raise ValueError(f"No data provided for {missing[0]!r}. Need data for each key in: {names}; got {list(data)}.")
        data = [data[name] for name in names]
    elif not isinstance(data, (list, tuple)) or len(names) == 1 and (not data or isinstance(data[0], (int, float, np.number))):
        data = [data]
    elif len(data) != len(names) and len(names) == 1:
        data = [np.asarray(data)]
    if len(data) != len(names):
        raise ValueError(f"Error when checking model {what}: the model expects {len(names)} arrays, for the {what}s {names}, "
                         f"but got {len(data)}, of shapes {[np.shape(x) for x in data]}.")
    return [_checked(x, name, shape, what) for x, name, shape in zip(data, names, shapes)]


def _checked(x, name, shape, what):
    x = getattr(x, "values", x) if type(x).__name__ in ("DataFrame", "Series") else x
    x = x if hasattr(x, "shape") and hasattr(x, "dtype") else np.asarray(x)
    if len(x.shape) == 1 and (shape is None or len(shape) != 1):
        x = np.expand_dims(x, -1)
    if shape is None:
        return x
    start = f"Error when checking {what}: expected {name} to have"
    if len(x.shape) != len(shape):
        raise ValueError(f"{start} {len(shape)} dimensions, but got array with shape {tuple(x.shape)}")
    if any(None not in (want, n) and want != n for want, n in zip(shape[1:], x.shape[1:])):
        raise ValueError(f"{start} shape {tuple(shape[1:])} but got array with shape {tuple(x.shape[1:])}")
    return x


def sample_weights(given, class_weight, endpoints, targets):
    """Returns an array of weights for each output, ones where there are none; or None where no output has any.

    Args:
      given: weights of samples: an array for one output, else a list or dict, as `class_weight`, {class: weight}, may be.
      targets: arrays of the targets of `endpoints`.
    """
    names = [e.name for e in endpoints]
    given, classes = _for_each(given, names, "sample_weight"), _for_each(class_weight, names, "class_weight")
    if all(w is None for w in (*given, *classes)):
        return None
    found = []
    for e, weights, of_class, y in zip(endpoints, given, classes, targets):
        shape = None if y is None else tuple(y.shape[:2 if e.mode == "temporal" else 1])
        if weights is not None:
            weights = np.asarray(getattr(weights, "values", weights))
            start = f"Found a sample_weight array with shape {weights.shape}"
            if e.mode == "temporal" and weights.ndim < 2:
                raise ValueError(f'{start}: where sample_weight_mode is "temporal", it is [samples, steps].')
            if e.mode != "temporal" and weights.ndim != 1:
                raise ValueError(f'{start}: it is [samples], unless `compile` was given sample_weight_mode="temporal".')
            if shape is not None and weights.shape != shape:
                raise ValueError(f"{start} for targets with shape {y.shape}: expected {shape}.")
        if of_class is not None:
            of_samples = _of_classes(of_class, y)
            weights = of_samples if weights is None else weights * of_samples
        found.append(np.ones(shape, backend.floatx()) if weights is None else weights)
    return found


def _for_each(given, names, what):
    if given is None or isinstance(given, (list, tuple)) and not given:
        return [None] * len(names)
    if isinstance(given, Mapping) and (what == "sample_weight" or len(names) > 1 or any(name in given for name in names)):
        unknown = given.keys() - set(names)
        if unknown:
            raise ValueError(f"Unknown entries in {what} dictionary: {sorted(unknown, key=str)}. Only expected following keys: "
                             f"{names}")
        return [given.get(name) for name in names]
    if len(names) == 1:
        one = isinstance(given, (list, tuple)) and len(given) == 1 and np.ndim(given[0]) > 0
        return [given[0] if one else given]
    if not isinstance(given, (list, tuple)) or len(given) != len(names):
        raise ValueError(f"Provided `{what}` should be a list or dict with one entry for each of the {len(names)} outputs, "
                         f"{names}.")
    return list(given)


def _of_classes(weights, y):
    if not isinstance(weights, Mapping):
        raise ValueError(f"class_weight must be a dict {{class: weight}}, got {weights!r}.")
    if y.ndim > 2:
        raise ValueError("`class_weight` not supported for 3+ dimensional targets.")
    classes = np.argmax(y, axis=1) if y.ndim == 2 and y.shape[1] > 1 else np.reshape(y, [-1])
    missing = set(np.unique(classes).tolist()) - set(weights)
    if missing:
        raise ValueError(f"`class_weight` must contain all classes in the data. The classes {missing} are not in it.")
    return np.array([weights[c] for c in classes.tolist()], backend.floatx())


def check_lengths(inputs, targets, weights):
    """Raises ValueError where arrays differ in their number of samples."""
    for what, arrays in (("input", inputs), ("target", targets)):
        if len({len(a) for a in arrays}) > 1:
            raise ValueError(f"All {what} arrays (x or y) should have the same number of samples. Got array shapes: "
                             f"{[np.shape(a) for a in arrays]}")
    for what, arrays in (("target arrays", targets), ("sample_weight arrays", weights or [])):
        if inputs and arrays and len(inputs[0]) != len(arrays[0]):
            raise ValueError(f"Input arrays should have the same number of samples as {what}. Found {len(inputs[0])} input "
                             f"samples and {len(arrays[0])} samples of {what}.")


# -- sources ----------------------------------------------------------------------------------------------------
class Arrays:
    """Batches of arrays that are there as a whole: `epoch()` yields (arrays, number of samples).

    Args:
      arrays: of one length.
      shuffle: True, or "batch" to shuffle whole batches, for files that are read in ranges.
      steps: where it is given, each step takes all samples.
    """

    def __init__(self, arrays, weighted, batch_size, shuffle, steps=None):
        self.arrays, self.weighted, self.batch_size, self.shuffle, self.steps = arrays, weighted, batch_size, shuffle, steps
        self.count = len(arrays[0]) if arrays else 0
        self.samples = None if steps else self.count

    def epoch(self):
        n, size = self.count, self.batch_size
        if self.steps:
            for _ in range(self.steps):
                yield self.arrays, self.weighted, n
            return
        order = None
        if self.shuffle == "batch":
            order = np.arange(n)
            whole = n // size * size
            batches = order[:whole].reshape(-1, size)
            np.random.shuffle(batches)
            order = np.concatenate([batches.ravel(), order[whole:]])
        elif self.shuffle:
            order = np.arange(n)
            np.random.shuffle(order)
        for start in range(0, n, size):
            end = min(start + size, n)
            rows = slice(start, end) if order is None else order[start:end]
            rows = rows.tolist() if self.shuffle == "batch" else rows  # what files take
            yield [_dense(a[rows]) for a in self.arrays], self.weighted, end - start


def _dense(x):
    return x.toarray() if hasattr(x, "toarray") else x


class Stream:
    """Batches that come one after the other: of a generator, a Sequence, a dataset, an iterator, or of tensors.

    Args:
      take: function that returns the next batch, a tuple (x, y, weights), or raises StopIteration.
      arranged: function of such a tuple that returns (arrays, weighted).
      steps: how many make an epoch; None for as many as there are.
      again: function that begins anew, after an epoch without `steps`, or None.
    """

    samples, anew = None, False  # `anew`: each epoch begins with the first batch

    def __init__(self, take, arranged, steps, again=None):
        self.take, self.arranged, self.steps, self.again, self.begun, self._kept = take, arranged, steps, again, False, []

    @property
    def first(self):
        """The inputs of the first batch, which still comes."""
        if self.again is not None:
            self.again()
            return _parts(self.take())[0]
        self._kept.append(self.take())
        return _parts(self._kept[0])[0]

    def epoch(self):
        if self.again is not None and (not self.begun or self.steps is None or self.anew):
            self.again()
        self.begun, step = True, 0
        while self.steps is None or step < self.steps:
            try:
                given = self._kept.pop() if self._kept else self.take()
            except (StopIteration, OutOfRangeError):
                if self.steps is not None:
                    raise RanOut(f"The data ran out after {step} of {self.steps} batches of this epoch: give more, as by "
                                 "`repeat()` of a dataset, or fewer steps.") from None
                return
            arrays, weighted = self.arranged(*_parts(given))
            yield arrays, weighted, len(arrays[0]) if arrays else 1
            step += 1


class RanOut(Exception):
    """Says that fewer batches came than steps were asked for."""


def _parts(given):
    """Returns (x, y, weights) of what a generator gave."""
    given = given if isinstance(given, tuple) and not hasattr(given, "_fields") else (given,)
    if len(given) not in (1, 2, 3):
        raise ValueError("Output of generator should be a tuple of 1 or 2 or 3 elements: (input,), (input, target) or (input, "
                         f"target, sample_weights). Received {len(given)} elements.")
    return (*given, *[None] * (3 - len(given)))


def is_stream(x):
    """True for what gives batches by itself."""
    return isinstance(x, (Sequence, Dataset, Iterator)) or hasattr(x, "__next__")


def has_tensors(*structures):
    return any(is_tensor(t) for structure in structures for t in nest.flatten(structure))


def stream(x, arranged, steps, shuffle, steps_name):
    """Returns the batches of a generator, Sequence, dataset or iterator.

    Raises:
      ValueError: nothing says how many steps an epoch has.
    """
    if isinstance(x, Sequence):
        return _of_sequence(x, arranged, steps or len(x), shuffle)
    if isinstance(x, Dataset):
        iterator, following = _read(x)
        return Stream(lambda: backend.get_session().run(following), arranged, steps,
                      lambda: backend.get_session().run(iterator.initializer))
    if steps is None:
        raise ValueError(f"`{steps_name}` says how many batches of {type(x).__name__} make an epoch; give it.")
    if isinstance(x, Iterator):
        following = x.get_next()
        return Stream(lambda: backend.get_session().run(following), arranged, steps)
    return Stream(lambda: next(x), arranged, steps)


def _read(dataset):
    """Returns (iterator, its next element) of a dataset, the same ones each time in a graph."""
    graph = root_graph()
    found = dataset.__dict__.get("_read_by_keras")
    if found is None or found[0] is not graph:
        iterator = make_initializable_iterator(dataset)
        found = dataset._read_by_keras = graph, iterator, iterator.get_next()
    return found[1:]


def _of_sequence(sequence, arranged, steps, shuffle):
    def batches():
        while True:
            order = list(range(len(sequence)))
            if shuffle:
                random.shuffle(order)
            for i in order:
                yield sequence[i]
            sequence.on_epoch_end()

    made = batches()
    return Stream(lambda: next(made), arranged, steps)


def of_tensors(tensors, arranged, steps, steps_name):
    """Returns the batches that tensors give, each time they are run."""
    if steps is None:
        raise ValueError(f"When using tensors as data, `{steps_name}` says how many runs of them make an epoch; give it.")
    return Stream(lambda: tuple(evaluated(tensors)), arranged, steps)


def evaluated(structures):
    """Returns structures with the values of their tensors; None for None."""
    flat = [nest.flatten(s) for s in structures]
    values = iter(backend.get_session().run([t for leaves in flat for t in leaves if is_tensor(t)]))
    return [None if s is None else nest.pack_sequence_as(s, [next(values) if is_tensor(t) else t for t in leaves])
            for s, leaves in zip(structures, flat)]
