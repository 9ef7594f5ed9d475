"""Windows, what a run computes of a whole dataset, and datasets that carry a state along or are chosen from."""

import itertools

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.errors import InvalidArgumentError
from regrad.core.facts import Stored
from regrad.core.host import as_array
from regrad.core.opdef import Spec
from regrad.core.shapes import text
from regrad.data.dataset import Dataset, ElementFunction, WindowDataset, WindowSpec, _count, _joined, _Running, dense_only
from regrad.data.iterator import Scope
from regrad.data.structure import is_nested, leaves, leaves_up_to, packed
from regrad.ops.queues import kept_op


class WindowedDataset(Dataset):
    """Windows of elements: each component of an element is a dataset of that component in the window."""

    def __init__(self, source, size, shift, stride, drop_remainder):
        dense_only(source, "window")
        self._source = source
        self._counts = [_count(n, name) for n, name in ((size, "size"), (size if shift is None else shift, "shift"),
                                                        (stride, "stride"))]
        self._drop = convert_to_tensor(drop_remainder, dtypes.bool_, "drop_remainder")
        self._windows = [WindowDataset(spec.dtype, [spec]) for spec in source.specs]
        super().__init__([source], source._structure, [WindowSpec(w) for w in self._windows], [*self._counts, self._drop])

    def start(self, scope):
        size, shift, stride = (int(scope.values[t]) for t in self._counts)
        for name, n in (("size", size), ("shift", shift), ("stride", stride)):
            if n < 1:
                raise InvalidArgumentError(f"Window {name} must be greater than zero.")
        source, drop = self._source.start(scope), bool(scope.values[self._drop])
        span, kept = (size - 1) * stride + 1, []

        def step():
            kept.extend(itertools.islice(source, max(0, span - len(kept))))
            if not kept or drop and len(kept) < span:
                raise StopIteration
            window = kept[:span:stride]
            for _ in itertools.islice(source, max(0, shift - len(kept))):  # what lies between two windows
                pass
            del kept[:shift]
            return [[[element[i]] for element in window] for i in range(len(self._windows))]

        return _Running(step)


def _reduce_infer(tensors, state, *, dataset, function):
    return function.specs


def _reduce_lower(b, session, tensors, state, *, dataset, function):
    scope = Scope(session, [*dataset.tensors, *function.captures], [as_array(t) for t in tensors])
    state = [as_array(t) for t in state]
    for element in dataset.start(scope):
        state = function(scope, [*state, *element])
    return tuple(state)


reducedataset_op = kept_op("ReduceDataset", "input_dataset: [T], initial_state: [S]", _reduce_infer, _reduce_lower,
                           {"dataset": None, "function": None}, user_code=True)


def reduced(dataset, initial_state, reduce_func):
    """Returns the last state of `state = reduce_func(state, element)`; see `Dataset.reduce`."""
    dense_only(dataset, "reduce")
    types = packed(initial_state, [None] * len(leaves(initial_state)))
    state = [convert_to_tensor(t) for t in leaves(initial_state)]
    specs = [Spec(t.dims, t.dtype) for t in state]
    while True:
        function = ElementFunction("reduce", reduce_func, (types, dataset.output_types), [*specs, *dataset.specs])
        found = leaves_up_to(types, function.returned, "what reduce_func returns")
        for i, (spec, new, t) in enumerate(zip(specs, function.specs, found)):
            if spec.dtype is not new.dtype:
                raise TypeError("Dataset.reduce: the element types for the new state must match the initial state: part "
                                f"{i} is {spec.dtype.name} there, and reduce_func returned {new.dtype.name} {text(new.dims)} "
                                f"({t!r}).")
        dims = [_joined(s.dims, f.dims) for s, f in zip(specs, function.specs)]
        if dims == [s.dims for s in specs]:  # else sizes change from step to step: they are not known
            break
        specs = [Spec(d, s.dtype) for d, s in zip(dims, specs)]
    return packed(initial_state, reducedataset_op([*dataset.tensors, *function.captures], state, dataset=dataset,
                                                  function=function))


def _single_infer(tensors, *, dataset):
    return dataset.specs


def _single_lower(b, session, tensors, *, dataset):
    found = list(itertools.islice(dataset.start(Scope(session, dataset.tensors, [as_array(t) for t in tensors])), 2))
    if len(found) != 1:
        raise InvalidArgumentError("Dataset was empty." if not found else "Dataset had more than one element.")
    return tuple(found[0])


datasettosingleelement_op = kept_op("DatasetToSingleElement", "dataset_tensors: [T]", _single_infer, _single_lower,
                                    {"dataset": None}, user_code=True)


for _op in (reducedataset_op, datasettosingleelement_op):
    _op.declare(stored=Stored(module="regrad.data.stored"))


def get_single_element(dataset):
    """Returns the only element of a dataset, a structure of tensors; each run takes it anew.

    Raises:
      InvalidArgumentError: (when run) the dataset has no element, or several.
    """
    dense_only(dataset, "get_single_element")
    return packed(dataset.output_types, datasettosingleelement_op(dataset.tensors, dataset=dataset))


class ScanDataset(Dataset):
    """Elements that a function of a state and an element gives beside the next state."""

    def __init__(self, source, initial_state, function):
        dense_only(source, "scan")
        self._source = source
        self._state = [convert_to_tensor(t) for t in leaves(initial_state)]
        self._function = ElementFunction("scan", function, (initial_state, source.output_types),
                                         [*(Spec(t.dims, t.dtype) for t in self._state), *source.specs])
        returned, n = self._function.returned, len(self._state)
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise TypeError("The scan function must return a pair comprising the new state and the output value: "
                            f"got {returned!r}.")
        leaves_up_to(initial_state, returned[0], "the new state")
        given, new = [t.dtype for t in self._state], [s.dtype for s in self._function.specs[:n]]
        if given != new:
            raise TypeError(f"The element types for the new state must match the initial state: {given}, got {new}.")
        super().__init__([source], returned[1], self._function.specs[n:], [*self._state, *self._function.captures])

    def start(self, scope):
        source, state = self._source.start(scope), [as_array(scope.values[t]) for t in self._state]
        n = len(state)

        def step():
            found = self._function(scope, [*state, *next(source)])
            state[:] = found[:n]
            return found[n:]

        return _Running(step)


class TakeWhileDataset(Dataset):
    """The elements before the first of which a predicate is False."""

    def __init__(self, source, predicate):
        dense_only(source, "take_while")
        self._source = source
        self._predicate = ElementFunction("take_while", predicate, source.output_types, source.specs)
        if [s.dtype for s in self._predicate.specs] != [dtypes.bool_] or self._predicate.specs[0].dims not in ((), None):
            raise ValueError("`predicate` must return a scalar boolean tensor.")
        super().__init__([source], source._structure, source.specs, self._predicate.captures)

    def start(self, scope):
        source, over = self._source.start(scope), False

        def step():
            nonlocal over
            if not over:
                element = next(source)
                over = not self._predicate(scope, element)[0]
                if not over:
                    return element
            raise StopIteration

        return _Running(step)


class UniqueDataset(Dataset):
    """The elements, scalars, each when it comes for the first time."""

    def __init__(self, source):
        dense_only(source, "unique")
        self._source = source
        if is_nested(source._structure) or source.specs[0].dtype not in (dtypes.int32, dtypes.int64, dtypes.string):
            raise TypeError("`tf.data.experimental.unique()` only supports inputs with a single `tf.int32`, `tf.int64`, or "
                            f"`tf.string` component; the types are {source.output_types}.")
        super().__init__([source], source._structure, source.specs)

    def start(self, scope):
        source, seen = self._source.start(scope), set()

        def step():
            while True:
                element = next(source)
                if element[0].item() not in seen:
                    seen.add(element[0].item())
                    return element

        return _Running(step)


class ChosenDataset(Dataset):
    """The next element of one of several datasets at a time, as another dataset says, whose elements are int64 scalars."""

    def __init__(self, datasets, choices):
        for dataset in datasets:
            dense_only(dataset, "choose_from_datasets")
            if dataset.output_types != datasets[0].output_types:
                raise TypeError(f"Incompatible dataset element types: {dataset.output_types} and {datasets[0].output_types}.")
        if [(s.dtype, s.dims) for s in choices.specs] != [(dtypes.int64, ())]:
            raise TypeError("`choice_dataset` must be a dataset of scalar `tf.int64` tensors.")
        self._datasets, self._choices = list(datasets), choices
        specs = [Spec(first.dims if all(s.dims == first.dims for s in rest) else None, first.dtype)
                 for first, *rest in zip(*(d.specs for d in datasets))]
        super().__init__([*datasets, choices], datasets[0]._structure, specs)

    def start(self, scope):
        running, choices = [d.start(scope) for d in self._datasets], self._choices.start(scope)

        def step():
            while True:  # a dataset that has ended is passed over
                i = int(next(choices)[0])
                if not 0 <= i < len(running):
                    raise InvalidArgumentError(f"Selector index out of range: {i} >= {len(running)}")
                for element in running[i]:
                    return element

        return _Running(step)
