"""`tf.contrib.staging`: a place where runs leave tensors for later ones."""

from regrad.core.dtypes import as_dtype
from regrad.core.shapes import TensorShape
from regrad.core.shown import Shown
from regrad.ops.array import identity
from regrad.ops.queues import FIFOQueue


class StagingArea(Shown):
    """Keeps tuples of tensors, the oldest of which `get` gives: a FIFOQueue by other names.

        area = tf.contrib.staging.StagingArea([tf.float32])
        put, (x,) = area.put([batch]), area.get()

    Args:
      dtypes, shapes: of the tensors; shapes may be unknown.
      names: of the tensors; what is put and got is a dict then.
      shared_name: areas of one name are one.
      capacity: how many tuples fit before `put` waits; any number for 0.
      memory_limit: accepted, 0 only.

    Raises:
      ValueError: no dtypes; other numbers of shapes or names; negative capacity, or a limit of memory.
    """

    def __init__(self, dtypes, shapes=None, names=None, shared_name=None, capacity=0, memory_limit=0):
        if not isinstance(dtypes, (list, tuple)) or not dtypes:
            raise ValueError(f"StagingArea: dtypes must be a list of at least one dtype, got {dtypes!r}.")
        for what, given in (("shapes", shapes), ("names", names)):
            if given is not None and len(given) != len(dtypes):
                raise ValueError(f"StagingArea {what} must be the same length as dtypes: {len(given)} and {len(dtypes)}.")
        if capacity < 0 or memory_limit:
            raise ValueError(f"StagingArea: capacity must be at least 0 and memory_limit 0, got {capacity} and {memory_limit}.")
        self._dtypes, self._names, self._capacity = [as_dtype(t) for t in dtypes], names and list(names), capacity
        self._shapes = [TensorShape(s) for s in shapes] if shapes is not None else [TensorShape(None)] * len(dtypes)
        known = all(s.is_fully_defined() for s in self._shapes)
        self._queue = FIFOQueue(capacity or -1, self._dtypes, shapes=self._shapes if known else None, names=self._names,
                                shared_name=shared_name and f"staging_area_{shared_name}", name="StagingArea")

    dtypes = property(lambda self: list(self._dtypes))
    shapes = property(lambda self: list(self._shapes))
    names = property(lambda self: self._names)
    name = property(lambda self: self._queue.name)
    capacity = property(lambda self: self._capacity)
    memory_limit = property(lambda self: 0)

    def put(self, values, name=None):
        """Returns an operation that leaves a list of tensors (a dict, if they have names), waiting where the area is full."""
        values = values if isinstance(values, (list, tuple, dict)) else [values]
        return self._queue.enqueue(values, name=name)

    def get(self, name=None):
        """Returns the tensors that were put first, a list (or dict), waiting where there are none."""
        found = self._queue.dequeue(name=name)
        if isinstance(found, dict):
            return {key: self._shaped(t, s) for (key, t), s in zip(found.items(), self._shapes)}
        found = found if isinstance(found, (list, tuple)) else [found]
        return [self._shaped(t, s) for t, s in zip(found, self._shapes)]

    def _shaped(self, tensor, shape):
        tensor = identity(tensor)
        tensor.set_shape(shape)
        return tensor

    def size(self, name=None):
        """Returns how many tuples there are, int32."""
        return self._queue.size(name=name)


__all__ = ["StagingArea"]
