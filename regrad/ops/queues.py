"""Queues: elements that threads hand to each other. A queue's contents live in the session; nothing here has a gradient.

A run that takes from a queue waits for the elements before it does anything else, so that it sees variables as they are
when it goes on. One that puts into a full queue waits where it stands; if it assigns variables, it waits for room first, or
two runs that count up would count the same. While a run waits, others go on.
"""

import bisect

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import as_dtype
from regrad.core.errors import BadValue, CancelledError, InvalidArgumentError, OutOfRangeError
from regrad.core.facts import Waiting
from regrad.core.graph import get_default_graph
from regrad.core.opdef import Spec, spec_text
from regrad.core.shapes import TensorShape, as_dims, compatible
from regrad.core.shown import Shown
from regrad.ops.hosted import host_op
from regrad.ops.random import get_seed, words


class QueueSpec:
    """What a queue is; its contents are in `session.resources`, those of queues of one `shared_name` under that."""

    def __init__(self, kind, capacity, types, shapes, shared_name=None, reserve=0, seeds=(0, 0)):
        if not types:
            raise ValueError(f"{kind}: dtypes is empty; an element has at least one component.")
        self.kind, self.types, self.shapes = kind, types, shapes
        self.capacity = capacity if capacity > 0 else float("inf")
        self.shared_name, self.container = shared_name or "", get_default_graph()._container or ""
        self.reserve, self.seeds = reserve, seeds
        self.name = kind

    def attributes(self):
        """Returns the attributes that TensorFlow's operation of this queue has."""
        attrs = {"capacity": -1 if self.capacity == float("inf") else self.capacity, "component_types": self.types,
                 "shapes": tuple(TensorShape(s) for s in self.shapes or ()), "container": self.container,
                 "shared_name": self.shared_name}
        if self.kind == "RandomShuffleQueue":
            attrs |= {"min_after_dequeue": self.reserve, "seed": self.seeds[0], "seed2": self.seeds[1]}
        return attrs

    def __repr__(self):
        return f"{self.kind} '{self.name}'"

    def contents(self, session):
        """Returns the Contents of this queue in a session.

        Raises:
          InvalidArgumentError: another queue has its shared name, and is not like it.
        """
        key = (self.container, self.shared_name) if self.shared_name else self
        found = session.resources.get(key)
        if found is None:
            found = session.resources[key] = Contents(self)
        elif found.spec is not self:
            self._check_like(found.spec)
        return found

    def _check_like(self, other):
        for what, theirs, ours in (("type", other.kind, self.kind), ("capacity", other.capacity, self.capacity),
                                   ("component types", other.types, self.types),
                                   ("component shapes", other.shapes, self.shapes),
                                   ("min_after_dequeue", other.reserve, self.reserve)):
            if theirs != ours:
                raise InvalidArgumentError(f"Shared queue '{self.shared_name}' has {what} {theirs} but requested {what} was "
                                           f"{ours}: '{other.name}' and '{self.name}' are one queue.")


class Contents:
    """What a queue holds in one session. Elements are lists of arrays, one per component."""

    def __init__(self, spec):
        self.spec = spec
        self.items = []
        self.closed = self.cancelled = self.admitted = False  # admitted: the run that waited for room may put, closed or not
        self.words = words(np.array([*spec.seeds, 0], np.uint64)) if spec.kind == "RandomShuffleQueue" else None
        self.taken = []  # (n, up_to, elements) taken for a run that is about to begin

    def put(self, session, elements):
        """Appends elements, waiting where the queue is full.

        Raises:
          CancelledError: the queue is closed, or is closed meanwhile with its pending operations.
        """
        if self.closed and not self.admitted:
            raise CancelledError(f"{self.spec} is closed.")
        self.admitted = False
        for element in elements:
            while len(self.items) >= self.spec.capacity:
                session.wait()
                if self.cancelled:
                    raise CancelledError(f"Enqueue operation was cancelled: {self.spec} was closed.")
            if self.spec.kind == "PriorityQueue":
                bisect.insort_right(self.items, element, key=lambda e: int(e[0]))
            else:
                self.items.append(element)
            session.notify()

    def waited_for_room(self, session, n):
        """Waits until `n` more elements fit, as far as they ever do; returns whether that took any waiting."""
        waited = False
        if not self.closed:
            while len(self.items) + min(n, self.spec.capacity) > self.spec.capacity and not self.cancelled:
                waited = True
                session.wait()
            self.admitted = waited and not self.cancelled
        return waited

    def _one(self):
        if self.spec.kind == "RandomShuffleQueue":
            i = next(self.words) % len(self.items)
            self.items[i], self.items[-1] = self.items[-1], self.items[i]
            return self.items.pop()
        return self.items.pop(0)

    def take(self, session, n, up_to=False):
        """Returns `n` elements, waiting for them; once the queue is closed, what there is if `up_to`.

        Raises:
          OutOfRangeError: the queue is closed and has too few.
        """
        found = []
        while len(found) < n:
            if len(self.items) > (0 if self.closed else self.spec.reserve):
                found.append(self._one())
                session.notify()
            elif not self.closed:
                session.wait()
            elif up_to and found:
                break
            else:
                size = len(found) + len(self.items)
                self.items[:0] = found
                raise OutOfRangeError(f"{self.spec} is closed and has insufficient elements (requested {n}, "
                                      f"current size {size})")
        return found

    def take_first(self, session, n, up_to):
        """Takes for a run that is about to begin; `given` hands it over. A closed queue is left for the run to find."""
        try:
            self.taken.append((n, up_to, self.take(session, n, up_to)))
        except OutOfRangeError:
            pass

    def given(self, session, n, up_to):
        """Returns what was taken before the run began, or takes now."""
        for i, (m, kind, elements) in enumerate(self.taken):
            if (m, kind) == (n, up_to):
                del self.taken[i]
                return elements
        return self.take(session, n, up_to)


# -- op types -----------------------------------------------------------------------------------------
def kept_op(op_type, signature, infer, lower, attrs=None, **facts):
    """Defines an op type that keeps something in the session, which its lowering is given."""
    op = host_op(op_type, signature, infer, lower, attrs, stateful=True, single=False)
    return op.declare(in_session=True, **facts)


def define_handle(op_type, attrs=(), begin=None):
    """Defines an op type without inputs whose value is its attribute `spec`, the handle of what lives in the session.

    Args:
      attrs: names of further attributes, which are there to be read.
      begin: function of the spec and the session, called where the handle is asked for.
    """

    def lower(b, session, *, spec, **_):
        if begin is not None:
            begin(spec, session)
        return np.array(spec, object)

    return kept_op(op_type, "", lambda *, spec, **_: Spec((), dtypes.resource), lower, {"spec": None, **dict.fromkeys(attrs)})


_ATTRS = ("capacity", "component_types", "shapes", "container", "shared_name")
_HANDLES = {kind: define_handle(f"{kind}V2", _ATTRS, QueueSpec.contents)
            for kind in ("FIFOQueue", "PaddingFIFOQueue", "PriorityQueue")}
_HANDLES["RandomShuffleQueue"] = define_handle("RandomShuffleQueueV2", (*_ATTRS, "min_after_dequeue", "seed", "seed2"),
                                               QueueSpec.contents)


def _select(b, session, index, handles):
    if not 0 <= index < len(handles):
        raise InvalidArgumentError(f"Index must be in the range [0, {len(handles)}) but got {index}")
    return handles[int(index)]


refselect_op = kept_op("RefSelect", "index: int32, inputs: [T]", lambda index, inputs: Spec((), inputs[0].dtype), _select)


def _check_element(spec, arrays):
    for i, (a, dims) in enumerate(zip(arrays, spec.shapes or [None] * len(arrays))):
        if not compatible(a.shape, dims):
            raise InvalidArgumentError(f"Shape mismatch in tuple component {i}. Expected {list(dims)}, got {list(a.shape)}")


def _enqueue(b, session, handle, components):
    spec = handle.item()
    element = [np.array(c) for c in components]
    _check_element(spec, element)
    spec.contents(session).put(session, [element])
    return ()


def _enqueue_many(b, session, handle, components):
    spec = handle.item()
    sizes = {len(c) for c in components}
    if len(sizes) != 1:
        raise InvalidArgumentError("All input tensors must have the same size in the 0th dimension, "
                                   f"got {[len(c) for c in components]}")
    elements = [[np.array(c[i, ...]) for c in components] for i in range(sizes.pop())]
    for element in elements[:1]:
        _check_element(spec, element)
    spec.contents(session).put(session, elements)
    return ()


def _stacked(spec, elements):
    """Returns one array per component; of a padding queue with zeros up to the largest size of each axis."""
    out = []
    for i, dtype in enumerate(spec.types):
        parts = [e[i] for e in elements]
        shape = tuple(np.max([p.shape for p in parts], axis=0)) if parts else tuple(spec.shapes[i])
        whole = np.zeros((len(parts), *shape), dtype.as_numpy_dtype)
        if dtype is dtypes.string:
            whole[...] = b""
        for j, p in enumerate(parts):
            whole[(j, *(slice(n) for n in p.shape), ...)] = p  # else of strings scalars would be arrays in an array
        out.append(whole)
    return tuple(out)


def _dequeue(b, session, handle, *, types, shapes):
    return tuple(handle.item().contents(session).given(session, 1, False)[0])


def _dequeue_many(up_to):
    def lower(b, session, handle, n, *, types, shapes):
        spec = handle.item()
        if n < 0:
            raise InvalidArgumentError(f"{spec}: cannot dequeue {int(n)} elements")
        return _stacked(spec, spec.contents(session).given(session, int(n), up_to))

    return lower


def _taken_first(count, up_to):
    """Makes the function that takes what a dequeue operation of a run needs, if its number is known."""

    def wait(session, op):
        spec = op.inputs[0].op.attrs.get("spec")
        n = 1 if count is None else op.inputs[count].value()
        if spec is not None and n is not None and n >= 0:
            spec.contents(session).take_first(session, int(n), up_to)

    return wait


def _one_infer(handle, *, types, shapes):
    return [Spec(s, t) for s, t in zip(shapes, types)]


def _many_infer(up_to):
    def infer(handle, n, *, types, shapes):
        size = None if up_to else n.partial()
        return [Spec(None if s is None else (size, *s), t) for s, t in zip(shapes, types)]

    return infer


def _close(b, session, handle, *, cancel_pending_enqueues):
    found = handle.item().contents(session)
    if found.closed:
        raise CancelledError(f"{found.spec} is already closed.")
    found.closed = True
    found.cancelled = found.cancelled or cancel_pending_enqueues
    session.notify()
    return ()


def nothing(*inputs, **attrs):
    """The shape rule of an operation without results."""
    return []


def _rows(op):
    """Returns how many elements an operation puts, 1 where that is not known."""
    dims = op.inputs[1].dims if len(op.inputs) > 1 else None
    return dims[0] if dims and dims[0] is not None else 1


def _waited_for_room(session, op, n):
    spec = op.inputs[0].op.attrs.get("spec")
    return spec is not None and spec.contents(session).waited_for_room(session, n)


_COMPONENTS = {"types": (), "shapes": ()}
queueenqueue_op = kept_op("QueueEnqueueV2", "handle: resource, components: [T]", nothing, _enqueue,
                          waiting=Waiting(gives=lambda op: 1, room=_waited_for_room))
queueenqueuemany_op = kept_op("QueueEnqueueManyV2", "handle: resource, components: [T]", nothing, _enqueue_many,
                          waiting=Waiting(gives=_rows, room=_waited_for_room))
queuedequeue_op = kept_op("QueueDequeueV2", "handle: resource", _one_infer, _dequeue, _COMPONENTS,
                          waiting=Waiting(take=_taken_first(None, False)))
queuedequeuemany_op = kept_op("QueueDequeueManyV2", "handle: resource, n: int32", _many_infer(False), _dequeue_many(False),
                              _COMPONENTS, waiting=Waiting(take=_taken_first(1, False)))
queuedequeueupto_op = kept_op("QueueDequeueUpToV2", "handle: resource, n: int32", _many_infer(True), _dequeue_many(True),
                              _COMPONENTS, waiting=Waiting(take=_taken_first(1, True)))
queueclose_op = kept_op("QueueCloseV2", "handle: resource", nothing, _close, {"cancel_pending_enqueues": False})
queuesize_op = kept_op("QueueSizeV2", "handle: resource", lambda handle: Spec((), dtypes.int32),
                       lambda b, session, handle: np.int32(len(handle.item().contents(session).items)))
queueisclosed_op = kept_op("QueueIsClosedV2", "handle: resource", lambda handle: Spec((), dtypes.bool_),
                           lambda b, session, handle: np.bool_(handle.item().contents(session).closed))


# -- the classes --------------------------------------------------------------------------------------
def _listed(x):
    return list(x) if isinstance(x, (list, tuple)) else [x]


class QueueBase(Shown):
    """A queue of elements, each a tuple of tensors (or a dict of them, if the components have names).

    Attributes:
      dtypes, shapes, names: of the components; `names` is None without them.
      name: of the operation.
      queue_ref: the handle, a resource tensor.
    """

    def __init__(self, spec, shapes, names, name):
        self._spec = spec
        handle = _HANDLES[spec.kind](spec=spec, name=name, **spec.attributes())[0]
        spec.name = handle.op.name
        self.queue_ref = handle
        self.name = handle.op.name.split("/")[-1]
        self.dtypes, self.names = list(spec.types), names
        self.shapes = [TensorShape(s) for s in shapes]

    @staticmethod
    def _components(dtypes_, shapes, names):
        types = tuple(as_dtype(t) for t in _listed(dtypes_))
        if shapes is not None:
            if isinstance(shapes, TensorShape) or not isinstance(shapes, (list, tuple)) or len(types) == 1 and (
                    not shapes or any(not isinstance(s, (list, tuple, TensorShape)) for s in shapes)):
                shapes = [shapes]
            if len(shapes) != len(types):
                raise ValueError(f"Queue shapes must have the same length as dtypes, got {len(shapes)} shapes and {len(types)} "
                                 "dtypes.")
            shapes = [as_dims(s) for s in shapes]
        if names is not None:
            names = _listed(names)
            if len(names) != len(types):
                raise ValueError(f"Queue names must have the same length as dtypes, got {len(names)} names and {len(types)} "
                                 "dtypes.")
        return types, shapes, names

    @staticmethod
    def from_list(index, queues):
        """Returns one of several queues, by a number: the queue itself where that is known now, else one chosen in each run.

        Raises:
          TypeError: the list holds no queues, or queues of unlike dtypes or names.
          InvalidArgumentError: (when run) there is no such queue.
        """
        queues = list(queues)
        if not queues or not all(isinstance(q, QueueBase) for q in queues):
            raise TypeError("A list of queues expected")
        if any(q.dtypes != queues[0].dtypes for q in queues):
            raise TypeError(f"Queues do not have matching component dtypes: {[q.dtypes for q in queues]}.")
        if any(q.names != queues[0].names for q in queues):
            raise TypeError(f"Queues do not have matching component names: {[q.names for q in queues]}.")
        index = convert_to_tensor(index)
        value = index.value()
        return queues[int(value)] if value is not None else _SelectedQueue(index, queues)

    @staticmethod
    def _known(shapes):
        """Refuses shapes that are not fully known: elements of such a queue could not be joined."""
        if shapes is not None and any(s is None or None in s for s in shapes):
            raise ValueError(f"All shapes must be fully defined: {[str(TensorShape(s)) for s in shapes]}; a PaddingFIFOQueue "
                             "takes elements of different sizes.")

    def _elements(self, values, many=False):
        if isinstance(values, dict):
            if not self.names:
                raise ValueError("Queue must have names to enqueue a dictionary")
            if sorted(values) != sorted(self.names):
                raise ValueError(f"Keys in dictionary to enqueue do not match names of Queue. Dictionary: {sorted(values)}, "
                                 f"Queue: {sorted(self.names)}")
            values = [values[n] for n in self.names]
        elif self.names:
            raise ValueError("You must enqueue a dictionary in a Queue with names")
        else:
            values = _listed(values)
        if len(values) != len(self.dtypes):
            raise ValueError(f"{self.name} has {len(self.dtypes)} components, got {len(values)}.")
        tensors = [convert_to_tensor(v, dtype=t, name=f"component_{i}") for i, (v, t) in enumerate(zip(values, self.dtypes))]
        for t, s in zip(tensors, self.shapes):
            dims = t.dims
            if many and dims is not None:
                if not dims:
                    raise ValueError(f"enqueue_many: each component needs a first axis, got {spec_text(t)}")
                dims = dims[1:]
            if self._spec.shapes and not compatible(dims, s.dims_):
                raise ValueError(f"Shapes {TensorShape(dims)} and {s} are incompatible: an element of {self.name}.")
        return tensors

    def enqueue(self, vals, name=None):
        """Returns an operation that puts one element into the queue, waiting while it is full.

        Raises:
          CancelledError: (when run) the queue is closed.
        """
        with get_default_graph().name_scope(name or f"{self.name}_enqueue") as scope:
            return queueenqueue_op(self.queue_ref, self._elements(vals), name=scope)

    def enqueue_many(self, vals, name=None):
        """Returns an operation that puts the rows of tensors into the queue, one element each."""
        with get_default_graph().name_scope(name or f"{self.name}_EnqueueMany") as scope:
            return queueenqueuemany_op(self.queue_ref, self._elements(vals, True), name=scope)

    def _returned(self, tensors):
        if self.names:
            return dict(zip(self.names, tensors))
        return tensors[0] if len(tensors) == 1 else tensors

    def _attrs(self):
        return {"types": self._spec.types, "shapes": tuple(s.dims_ for s in self.shapes)}

    def dequeue(self, name=None):
        """Returns one element, for which a run waits.

        Raises:
          OutOfRangeError: (when run) the queue is closed and empty.
        """
        return self._returned(queuedequeue_op(self.queue_ref, name=name or f"{self.name}_Dequeue", **self._attrs()))

    def _many(self, op, n, name):
        if self._spec.shapes is None:
            raise ValueError(f"{self.name}: dequeue_many needs the shapes of the components: pass shapes= when making the "
                             "queue.")
        return self._returned(op(self.queue_ref, n, name=name, **self._attrs()))

    def dequeue_many(self, n, name=None):
        """Returns `n` elements joined along a new first axis."""
        return self._many(queuedequeuemany_op, n, name or f"{self.name}_DequeueMany")

    def dequeue_up_to(self, n, name=None):
        """Returns `n` elements, or, when the queue is closed, those that are left (at least one)."""
        return self._many(queuedequeueupto_op, n, name or f"{self.name}_DequeueUpTo")

    def close(self, cancel_pending_enqueues=False, name=None):
        """Returns an operation after which nothing can be put in; `cancel_pending_enqueues` ends those that wait."""
        return queueclose_op(self.queue_ref, cancel_pending_enqueues=cancel_pending_enqueues, name=name or f"{self.name}_Close")

    def is_closed(self, name=None):
        """Returns whether the queue is closed, a bool scalar."""
        return queueisclosed_op(self.queue_ref, name=name or f"{self.name}_Is_Closed")[0]

    def size(self, name=None):
        """Returns the number of elements, an int32 scalar."""
        return queuesize_op(self.queue_ref, name=name or f"{self.name}_Size")[0]


class _SelectedQueue(QueueBase):
    """One of several queues, which a run chooses by a number."""

    def __init__(self, index, queues):
        first = queues[0]
        self._spec = first._spec
        self.queue_ref = refselect_op(index, [q.queue_ref for q in queues])[0]
        self.name = self.queue_ref.op.name.split("/")[-1]
        self.dtypes, self.names = first.dtypes, first.names
        self.shapes = [s if all(s.dims_ == q.shapes[i].dims_ for q in queues) else TensorShape(None)
                       for i, s in enumerate(first.shapes)]


class FIFOQueue(QueueBase):
    """A queue that gives elements in the order they came."""

    def __init__(self, capacity, dtypes, shapes=None, names=None, shared_name=None, name="fifo_queue"):
        """Args:
          capacity: how many elements fit; -1 for no limit.
          dtypes: of the components: a list, or one dtype.
          shapes: of the components, fully known; needed for `dequeue_many`.
          names: of the components; elements are dicts then.
          shared_name: queues of one shared name are one queue in a session.
        """
        types, shapes, names = self._components(dtypes, shapes, names)
        self._known(shapes)
        spec = QueueSpec("FIFOQueue", capacity, types, shapes, shared_name)
        super().__init__(spec, shapes or [None] * len(types), names, name)


class PaddingFIFOQueue(QueueBase):
    """A FIFOQueue whose elements may have different sizes: `dequeue_many` fills up with zeros. Shapes may hold None."""

    def __init__(self, capacity, dtypes, shapes, names=None, shared_name=None, name="padding_fifo_queue"):
        types, shapes, names = self._components(dtypes, shapes, names)
        if shapes is None:
            raise ValueError(f"PaddingFIFOQueue {name!r} needs the shapes of its components; sizes in them may be None.")
        if any(s is None for s in shapes):
            raise ValueError(f"All shapes must have a defined rank: {[str(TensorShape(s)) for s in shapes]}.")
        super().__init__(QueueSpec("PaddingFIFOQueue", capacity, types, shapes, shared_name), shapes, names, name)


class RandomShuffleQueue(QueueBase):
    """A queue that gives elements in random order, keeping `min_after_dequeue` of them to mix, until it is closed."""

    def __init__(self, capacity, min_after_dequeue, dtypes, shapes=None, names=None, seed=None, shared_name=None,
                 name="random_shuffle_queue"):
        types, shapes, names = self._components(dtypes, shapes, names)
        if 0 < capacity <= min_after_dequeue:
            raise BadValue(f"RandomShuffleQueue {name!r}: min_after_dequeue, {min_after_dequeue}, must be less than the "
                           f"capacity, {capacity}: else nothing ever comes out.")
        self._known(shapes)
        seeds = tuple(s or 0 for s in get_seed(seed))
        super().__init__(QueueSpec("RandomShuffleQueue", capacity, types, shapes, shared_name, int(min_after_dequeue), seeds),
                         shapes or [None] * len(types), names, name)


class PriorityQueue(QueueBase):
    """A queue that gives the element with the smallest priority first: the first component, int64, of each element."""

    def __init__(self, capacity, types, shapes=None, names=None, shared_name=None, name="priority_queue"):
        kinds, shapes, names = self._components(types, shapes, names)
        self._known(shapes)
        kinds = (dtypes.int64, *kinds)
        shapes = None if shapes is None else [(), *shapes]
        spec = QueueSpec("PriorityQueue", capacity, kinds, shapes, shared_name)
        super().__init__(spec, shapes or [None] * len(kinds), names, name)
