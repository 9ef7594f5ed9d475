"""`tf.distribute`, as it is where no strategy was chosen: one replica, which computes everything.

Libraries ask these functions whether they must share their sums with others; there are no others.
"""

import contextlib

from regrad.core import nest
from regrad.core.lazy import names_of
from regrad.core.shown import Shown

__getattr__, __dir__ = names_of(__name__, {})[:2]


class ReduceOp:
    """How the values of replicas become one; of one replica they are the value itself."""

    SUM = "SUM"
    MEAN = "MEAN"


class Strategy(Shown):
    """The strategy of one replica; `tf.distribute.get_strategy()` returns it."""

    num_replicas_in_sync = 1
    extended = property(lambda self: self)

    @contextlib.contextmanager
    def scope(self):
        yield self

    def reduce(self, reduce_op, value, axis=None):
        """Returns `value`, after its sum or mean over `axis` where one is given."""
        if axis is None:
            return value
        from regrad.ops.reduce import reduce_mean, reduce_sum

        over = reduce_mean if reduce_op == ReduceOp.MEAN else reduce_sum
        return nest.map_structure(lambda x: over(x, axis), value)

    def reduce_to(self, reduce_op, value, destinations):
        return value

    def batch_reduce_to(self, reduce_op, value_destination_pairs):
        return [value for value, _ in value_destination_pairs]

    def update(self, var, fn, args=(), kwargs=None, group=True):
        """Returns `fn(var, *args, **kwargs)`."""
        return fn(var, *args, **(kwargs or {}))

    def update_non_slot(self, colocate_with, fn, args=(), kwargs=None, group=True):
        """Returns `fn(*args, **kwargs)`."""
        return fn(*args, **(kwargs or {}))

    def call_for_each_replica(self, fn, args=(), kwargs=None):
        """Returns `fn(*args, **kwargs)`."""
        return fn(*args, **(kwargs or {}))

    experimental_run_v2 = call_for_each_replica


class MirroredStrategy(Strategy):
    """What libraries ask a strategy to be; it cannot be made."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError("tf.distribute.MirroredStrategy: one process computes, on what XLA finds. Leave the strategy "
                                  "out, and run what stands in its scope.")


class ReplicaContext(Shown):
    """Where the one replica stands; `tf.distribute.get_replica_context()` returns it."""

    num_replicas_in_sync = 1
    replica_id_in_sync_group = 0

    @property
    def strategy(self):
        """The strategy of one replica."""
        return _strategy

    def merge_call(self, merge_fn, args=(), kwargs=None):
        """Returns `merge_fn(strategy, *args, **kwargs)`."""
        return merge_fn(_strategy, *args, **(kwargs or {}))

    def all_reduce(self, reduce_op, value):
        """Returns `value`."""
        return value


_strategy, _context = Strategy(), ReplicaContext()


def has_strategy():
    """Returns False."""
    return False


def get_strategy():
    """Returns the strategy of one replica."""
    return _strategy


def get_replica_context():
    """Returns the context of the one replica."""
    return _context


def in_cross_replica_context():
    """Returns False."""
    return False
