"""Iterators: where a program stands in its datasets. That is kept in the session; `get_next` is a host operation.

A dataset is described by Python objects, of which only the tensors in them (sources, counts, what element functions
capture) are part of the graph: they are inputs of the initializer, which is why they may depend on what is fed to it.
"""

import numpy as np

from regrad.core import dtypes
from regrad.core.errors import FailedPreconditionError, InvalidArgumentError, OutOfRangeError
from regrad.core.facts import Stored
from regrad.core.opdef import Spec
from regrad.core.operation import Tensor
from regrad.core.shapes import TensorShape, as_dims, compatible
from regrad.core.shown import Shown
from regrad.data.structure import leaves, leaves_up_to, packed
from regrad.ops.queues import define_handle, kept_op


class Scope:
    """What a running pipeline sees: the session, the values of the tensors in its datasets, and what outlives an epoch.

    Attributes:
      values: {tensor: array}.
      memory: {dataset: what it keeps from one epoch to the next}.
      used: the element functions that ran since the iterator began, those of inner datasets included.
    """

    def __init__(self, session, tensors, arrays, used=None):
        self.session = session
        self.values = dict(zip(tensors, arrays))
        self.memory = {}
        self.used = set() if used is None else used


class IteratorSpec:
    """What an iterator gives; where it stands is in `session.resources`.

    Attributes:
      dataset: of a one-shot iterator, which begins by itself; `tensors` are what its tensors are in the iterator's graph.
    """

    def __init__(self, types, dims, dataset=None, tensors=()):
        self.types, self.dims, self.dataset, self.tensors = types, dims, dataset, list(tensors)

    def begin(self, session, dataset, arrays):
        """Stands before the first element of a dataset whose tensors have the values `arrays`."""
        running = session.resources[self] = dataset.start(Scope(session, dataset.tensors, arrays))
        return running

    def running(self, session):
        """Returns the running pipeline.

        Raises:
          FailedPreconditionError: the initializer did not run.
        """
        found = session.resources.get(self)
        if found is None:
            if self.dataset is None:
                raise FailedPreconditionError(
                    "GetNext() failed because the iterator has not been initialized. Ensure that you have run the initializer "
                    "operation for this iterator before getting the next element.")
            found = self.begin(session, self.dataset, session.constants(self.tensors))
        return found


# -- op types -----------------------------------------------------------------------------------------
def _define(*definition):
    return kept_op(*definition, user_code=True)  # element functions and generators raise what their users wrote


_ELEMENT = "output_types", "output_shapes"
iterator_op = define_handle("IteratorV2", (*_ELEMENT, "container", "shared_name"))
oneshotiterator_op = define_handle("OneShotIterator", (*_ELEMENT, "container", "shared_name"))


def _make(b, session, iterator, tensors, *, dataset):
    iterator.item().begin(session, dataset, [np.array(t) for t in tensors])
    return ()


def _get_next(b, session, iterator, *, output_types, output_shapes):
    try:
        return tuple(next(iterator.item().running(session)))
    except StopIteration:
        raise OutOfRangeError("End of sequence") from None


def _to_string(b, session, iterator):
    spec = iterator.item()
    name = f"iterator {session.resources.setdefault(('names of iterators', spec), len(session.resources))}".encode()
    session.resources["iterator", name] = spec
    return np.array(name, object)


def _from_string(b, session, handle):
    spec = session.resources.get(("iterator", handle.item()))
    if spec is None:
        raise InvalidArgumentError(f"{handle.item()!r} is no handle of an iterator in this session: run its string_handle() "
                                   "here, and feed what that gives.")
    return np.array(spec, object)


makeiterator_op = _define("MakeIterator", "iterator: resource, tensors: [T]", lambda iterator, tensors, *, dataset: [], _make,
                          {"dataset": None})
iteratorgetnext_op = _define("IteratorGetNext", "iterator: resource",
                             lambda iterator, *, output_types, output_shapes: [
                                 Spec(s.dims_, t) for s, t in zip(output_shapes, output_types)],
                             _get_next, dict.fromkeys(_ELEMENT, ()))
iteratortostringhandle_op = _define("IteratorToStringHandle", "iterator: resource", lambda i: Spec((), dtypes.string),
                                    _to_string)
iteratorfromstringhandle_op = _define("IteratorFromStringHandleV2", "string_handle: string",
                                      lambda h: Spec((), dtypes.resource), _from_string)
# How their nodes are written into files, and become operations again.
for _op in (iterator_op, oneshotiterator_op, makeiterator_op):
    _op.declare(stored=Stored(module="regrad.data.stored"))
oneshotiterator_op.declare(stored=Stored(module="regrad.data.stored", hidden_inputs=lambda op: op.attrs["spec"].tensors))


# -- the class ----------------------------------------------------------------------------------------
class Iterator(Shown):
    """Gives the elements of datasets, one a run.

    Attributes:
      initializer: the operation that begins its dataset anew; ValueError for an iterator that has none.
      output_types, output_shapes, output_classes: structures like an element.
    """

    def __init__(self, handle, initializer, output_types, output_dims):
        self._iterator_resource = handle
        self._initializer = initializer
        self._types, self._dims = output_types, output_dims

    @staticmethod
    def from_structure(output_types, output_shapes=None, shared_name=None, output_classes=None):
        """Returns an iterator for any dataset with elements of the given types and shapes; see `make_initializer`."""
        types = tuple(dtypes.as_dtype(t) for t in leaves(output_types))
        dims = _dims(output_types, output_shapes)
        return Iterator(_handle(iterator_op, IteratorSpec(types, dims)), None, packed(output_types, types), dims)

    @staticmethod
    def from_string_handle(string_handle, output_types, output_shapes=None, output_classes=None):
        """Returns an iterator that stands for the one whose `string_handle()` is fed."""
        types = [dtypes.as_dtype(t) for t in leaves(output_types)]
        handle = iteratorfromstringhandle_op(string_handle)[0]
        return Iterator(handle, None, packed(output_types, types), _dims(output_types, output_shapes))

    def _said(self):
        return {"shapes": self.output_shapes, "types": self.output_types}

    @property
    def initializer(self):
        if self._initializer is None:
            raise ValueError("Iterator does not have an initializer.")
        return self._initializer

    def make_initializer(self, dataset, name=None):
        """Returns an operation that begins `dataset` with this iterator.

        Raises:
          TypeError: elements of the dataset have other types or shapes.
        """
        ours, theirs = self._types, dataset.output_types
        if leaves(ours) != leaves(theirs) or packed(ours, leaves(ours)) != packed(theirs, leaves(theirs)):
            raise TypeError(f"Expected output types {ours!r} but got dataset with output types {theirs!r}.")
        if not all(compatible(a.dims, b) for a, b in zip(dataset.specs, self._dims)):
            raise TypeError(f"Expected output shapes compatible with {self.output_shapes!r} but got dataset with output shapes "
                            f"{dataset.output_shapes!r}.")
        return makeiterator_op(self._iterator_resource, dataset.tensors, dataset=dataset, name=name or "make_initializer")

    def get_next(self, name=None):
        """Returns the next element, a structure of tensors. Each call makes an operation, which advances once a run.

        Raises:
          OutOfRangeError: (when run) there is no more.
          FailedPreconditionError: (when run) the initializer did not run.
        """
        types = tuple(leaves(self._types))
        return packed(self._types, iteratorgetnext_op(self._iterator_resource, **_element(types, self._dims),
                                                      name=name or "IteratorGetNext"))

    def string_handle(self, name=None):
        """Returns a string that stands for this iterator, to be fed to one made by `from_string_handle`."""
        return iteratortostringhandle_op(self._iterator_resource, name=name or "IteratorToStringHandle")[0]

    @property
    def output_types(self):
        return self._types

    @property
    def output_shapes(self):
        return packed(self._types, [TensorShape(d) for d in self._dims])

    @property
    def output_classes(self):
        return packed(self._types, [Tensor] * len(self._dims))


def _element(types, dims):
    """Returns the attributes that say what elements are."""
    return {"output_types": tuple(types), "output_shapes": tuple(TensorShape(d) for d in dims)}


def _handle(op, spec):
    """Returns the handle of a new iterator."""
    return op(spec=spec, **_element(spec.types, spec.dims), container="", shared_name="", name=op.type)[0]


def _dims(types, shapes):
    if shapes is None:
        return [None] * len(leaves(types))
    return [as_dims(s) for s in leaves_up_to(types, shapes, "output_shapes")]


def _elements(dataset):
    """Returns (static shapes, types) of what iterators give; TypeError for windows, which are no tensors."""
    if any(hasattr(spec, "window") for spec in dataset.specs):
        raise TypeError("An iterator gives tensors, but the elements of the dataset are windows, datasets themselves: "
                        "flat_map(lambda window: window.batch(size)) makes tensors of them.")
    return [s.dims for s in dataset.specs], dataset.output_types


def make_initializable_iterator(dataset, shared_name=None):
    """Returns an Iterator over a dataset, which begins when its `initializer` runs, with what is fed then."""
    dims, types = _elements(dataset)
    handle = _handle(iterator_op, IteratorSpec(tuple(leaves(types)), dims))
    return Iterator(handle, makeiterator_op(handle, dataset.tensors, dataset=dataset, name="MakeIterator"), types, dims)


def make_one_shot_iterator(dataset):
    """Returns an Iterator over a dataset, which begins by itself in each session.

    Raises:
      ValueError: the dataset depends on a placeholder, a variable or random numbers.
    """
    _check_constant(dataset)
    dims, types = _elements(dataset)
    return Iterator(_handle(oneshotiterator_op, IteratorSpec(tuple(leaves(types)), dims, dataset, dataset.tensors)), None,
                    types, dims)


def _check_constant(dataset):
    seen, todo = set(), [t.op for t in dataset.tensors]
    while todo:
        op = todo.pop()
        if op in seen:
            continue
        seen.add(op)
        if op.type.startswith("Placeholder"):
            raise ValueError(f"Cannot capture a placeholder (name:{op.name}, type:{op.type}) by value: use "
                             "make_initializable_iterator(), and feed it when its initializer runs.")
        if op.opdef.stateful or op.opdef.random or op.opdef.variable:
            raise ValueError(f"Cannot capture a stateful node (name:{op.name}, type:{op.type}) by value: use "
                             "make_initializable_iterator().")
        todo += [t.op for t in op.inputs]
