"""Input pipelines of queues: producers of file names, numbers and slices, and batches. Their runners are threads.

    image, label = tf.train.slice_input_producer([images, labels])
    x, y = tf.train.batch([image, label], batch_size=32)
    ...
    threads = tf.train.start_queue_runners(sess, coord)
"""

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.graph import get_default_graph
from regrad.core.graph_keys import GraphKeys
from regrad.core.shapes import as_dims, compatible, merge
from regrad.ops import array, math
from regrad.ops.check import assert_true
from regrad.ops.compare import greater
from regrad.ops.control import group, no_op, with_dependencies
from regrad.ops.files import matching_files
from regrad.ops.flow import cond
from regrad.ops.generate import range as range_
from regrad.ops.indexing import boolean_mask, gather
from regrad.ops.queues import FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue
from regrad.ops.random import random_shuffle
from regrad.ops.sparse import SparseTensor
from regrad.ops.sparse_text import deserialize_many_sparse, serialize_many_sparse, serialize_sparse
from regrad.ops.summary import scalar
from regrad.train.coordinator import QueueRunner, add_queue_runner
from regrad.variables.variable import Variable


def limit_epochs(tensor, num_epochs=None, name=None):
    """Returns a tensor that can be had `num_epochs` times (None: always), counted in a local variable.

    Raises:
      ValueError: num_epochs is not positive.
      OutOfRangeError: (when run) it was had that often.
    """
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    with get_default_graph().name_scope(name or "limit_epochs") as scope:
        epochs = Variable(0, dtype=dtypes.int64, trainable=False, name="epochs", collections=[GraphKeys.LOCAL_VARIABLES])
        return with_dependencies([epochs.count_up_to(num_epochs).op], tensor, name=scope)


def match_filenames_once(pattern, name=None):
    """Returns the names of files that match a pattern, found once and kept in a local variable, to be initialised."""
    with get_default_graph().name_scope(name or "matching_filenames"):
        return Variable(matching_files(pattern), trainable=False, validate_shape=False, name="matching_filenames",
                        collections=[GraphKeys.LOCAL_VARIABLES])


def _report(queue, name, full):
    scalar(name or f"fraction_of_{full}_full", math.cast(queue.size(), dtypes.float32) * (1.0 / full))


def input_producer(input_tensor, element_shape=None, num_epochs=None, shuffle=True, seed=None, capacity=32, shared_name=None,
                   summary_name=None, name=None, cancel_op=None):
    """Returns a FIFOQueue that threads fill with the rows of a tensor, again and again.

    Args:
      element_shape: of a row, where it is not known.
      num_epochs: how often each row comes; None for ever. Counted in a local variable, to be initialised.
      shuffle, seed: new order each time.
      capacity: of the queue.

    Raises:
      ValueError: the shape of a row is not known.
    """
    with get_default_graph().name_scope(name or "input_producer") as scope:
        rows = convert_to_tensor(input_tensor, name="input_tensor")
        shape = merge(None if rows.dims is None else rows.dims[1:], as_dims(element_shape))
        if shape is None or None in shape:
            raise ValueError("Either `input_tensor` must have a fully defined shape or `element_shape` must be specified")
        if shuffle:
            rows = random_shuffle(rows, seed=seed)
        rows = limit_epochs(rows, num_epochs)
        queue = FIFOQueue(capacity, [rows.dtype], [shape], shared_name=shared_name, name=scope)
        add_queue_runner(QueueRunner(queue, [queue.enqueue_many([rows])], queue.close(), cancel_op or queue.close(True)))
        if summary_name is not None:
            _report(queue, summary_name, capacity)
        return queue


def string_input_producer(string_tensor, num_epochs=None, shuffle=True, seed=None, capacity=32, shared_name=None, name=None,
                          cancel_op=None):
    """Returns a queue of strings, file names for a reader; see `input_producer`.

    Raises:
      ValueError: an empty list.
    """
    if not hasattr(string_tensor, "dtype") and not len(string_tensor):
        raise ValueError("string_input_producer requires a non-null input tensor")
    with get_default_graph().name_scope(name or "input_producer") as scope:
        names = convert_to_tensor(string_tensor, dtype=dtypes.string)
        check = assert_true(greater(array.size(names), 0), "string_input_producer requires a non-null input tensor")
        return input_producer(with_dependencies([check], names), [], num_epochs, shuffle, seed, capacity, shared_name,
                              f"fraction_of_{capacity}_full", scope, cancel_op)


def range_input_producer(limit, num_epochs=None, shuffle=True, seed=None, capacity=32, shared_name=None, name=None):
    """Returns a queue of the numbers 0 ... limit - 1, int32; see `input_producer`."""
    with get_default_graph().name_scope(name or "input_producer") as scope:
        return input_producer(range_(limit), [], num_epochs, shuffle, seed, capacity, shared_name,
                              f"fraction_of_{capacity}_full", scope)


def slice_input_producer(tensor_list, num_epochs=None, shuffle=True, seed=None, capacity=32, shared_name=None, name=None):
    """Returns a list of tensors: one row of each tensor in `tensor_list`, the same of all; see `input_producer`.

    Raises:
      ValueError: an empty list.
    """
    if not tensor_list:
        raise ValueError("Expected at least one tensor in slice_input_producer().")
    with get_default_graph().name_scope(name or "input_producer"):
        tensors = [convert_to_tensor(t) for t in tensor_list]
        queue = range_input_producer(array.shape(tensors[0])[0], num_epochs, shuffle, seed, capacity, shared_name)
        index = queue.dequeue()
        return [gather(t, index) for t in tensors]


# -- batches --------------------------------------------------------------------------------------------
def _flat(tensors):
    """Returns (list of tensors, names or None)."""
    if isinstance(tensors, dict):
        names = sorted(tensors)
        tensors = [tensors[n] for n in names]
    else:
        names = None
        tensors = list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]
    if not tensors:
        raise ValueError("Expected at least one tensor in batch().")
    return [t if isinstance(t, SparseTensor) else convert_to_tensor(t) for t in tensors], names


def _stored(tensors, enqueue_many):
    """Returns tensors as a queue holds them: sparse ones as strings."""
    store = serialize_many_sparse if enqueue_many else serialize_sparse
    return [store(t) if isinstance(t, SparseTensor) else t for t in tensors]


def _given_back(stored, like, enqueue_many):
    """Returns what came out of a queue, the strings of sparse tensors `like` those that went in as sparse tensors."""
    out = []
    for tensor, t in zip(stored, like):
        if isinstance(t, SparseTensor):
            rank = t.dense_shape.dims and t.dense_shape.dims[0]
            tensor = deserialize_many_sparse(tensor, t.dtype, rank if enqueue_many or rank is None else rank + 1)
        out.append(tensor)
    return out


def _checked_keep(keep_input, enqueue_many):
    """Returns `keep_input` as a bool tensor, or as it is where it is True.

    Raises:
      ValueError: its rank is unknown or above 1, or it is a vector while elements come one by one.
    """
    if keep_input is True:
        return keep_input
    keep = convert_to_tensor(keep_input, dtype=dtypes.bool_)
    if keep.dims is None:
        raise ValueError("`keep_input` dimensions must be known at graph construction.")
    if len(keep.dims) > 1:
        raise ValueError(f"`keep_input` must be 0 or 1 dimensions, got {keep.shape}.")
    if keep.dims and not enqueue_many:
        raise ValueError("`keep_input` cannot be a vector when `enqueue_many=False`.")
    return keep


def _shapes_of(lists, shapes, enqueue_many, dynamic_pad):
    if shapes is not None:
        return [as_dims(s) for s in shapes]
    found = []
    for column in zip(*lists):
        dims = [t.dims if t.dims is None or not enqueue_many else t.dims[1:] for t in column]
        joined = dims[0]
        for d in dims[1:]:
            if dynamic_pad:
                joined = None if joined is None or d is None else tuple(a if a == b else None for a, b in zip(joined, d))
            else:
                joined = merge(joined, d) if compatible(joined, d) else None
        if joined is None or None in joined and not dynamic_pad:
            raise ValueError(f"All shapes must be fully defined: {[str(t.shape) for t in column]}; use set_shape, pass "
                             "shapes=, or dynamic_pad=True.")
        found.append(joined)
    return found


def _batched(kind, lists, batch_size, keep_input, num_threads, capacity, enqueue_many, shapes, dynamic_pad, smaller, name,
             shared_name, min_after_dequeue=0, seed=None):
    graph = get_default_graph()
    with graph.name_scope(name or kind) as scope:
        flat = [_flat(t) for t in lists]
        if not flat:
            raise ValueError("Expected at least one entry in tensors_list.")
        names = flat[0][1]
        keep_input = _checked_keep(keep_input, enqueue_many)
        given = flat[0][0]
        for tensors, _ in flat[1:]:
            if [(type(t), t.dtype) for t in tensors] != [(type(t), t.dtype) for t in given]:
                raise TypeError("Expected types to be consistent: "
                                f"{[t.dtype for t in given]} vs {[t.dtype for t in tensors]}.")
        columns = [_stored(tensors, enqueue_many) for tensors, _ in flat]
        types = [t.dtype for t in columns[0]]
        shapes = _shapes_of(columns, shapes, enqueue_many, dynamic_pad)
        if kind.startswith("shuffle"):
            queue = RandomShuffleQueue(capacity, min_after_dequeue, types, shapes, seed=seed, shared_name=shared_name)
        else:
            queue = (PaddingFIFOQueue if dynamic_pad else FIFOQueue)(capacity, types, shapes, shared_name=shared_name)
        enqueues = []
        for tensors in columns:
            enqueues += [_kept(queue, tensors, keep_input, enqueue_many)] * (num_threads if len(columns) == 1 else 1)
        add_queue_runner(QueueRunner(queue, enqueues, queue.close(), queue.close(True)))
        if kind.startswith("shuffle"):
            free = max(1, capacity - min_after_dequeue)
            over = math.maximum(0, queue.size() - min_after_dequeue)
            scalar(f"fraction_over_{min_after_dequeue}_of_{free}_full", math.cast(over, dtypes.float32) * (1.0 / free))
        else:
            _report(queue, None, capacity)
        out = (queue.dequeue_up_to if smaller else queue.dequeue_many)(batch_size, name=scope)
        out = _given_back(out if isinstance(out, list) else [out], given, enqueue_many)
        if names is not None:
            return dict(zip(names, out))
        return out if len(out) != 1 else out[0]


def _kept(queue, tensors, keep_input, enqueue_many):
    """Returns the operation that puts tensors into the queue, those rows only that `keep_input` says."""
    if keep_input is True:
        return queue.enqueue_many(tensors) if enqueue_many else queue.enqueue(tensors)
    if keep_input.rank:
        return queue.enqueue_many([boolean_mask(t, keep_input) for t in tensors])

    def put():
        return group(queue.enqueue_many(tensors) if enqueue_many else queue.enqueue(tensors))

    return cond(keep_input, put, no_op)


def batch(tensors, batch_size, num_threads=1, capacity=32, enqueue_many=False, shapes=None, dynamic_pad=False,
          allow_smaller_final_batch=False, shared_name=None, name=None):
    """Returns tensors of `batch_size` elements, gathered by a queue from what `tensors` give run by run.

    Args:
      tensors: a list or dict of tensors, sparse ones too, or one tensor: what comes back has the same form.
      num_threads: how many threads fill the queue.
      enqueue_many: the tensors have rows, one element each.
      shapes: of the elements, where not known.
      dynamic_pad: fill elements of different sizes up with zeros.
      allow_smaller_final_batch: give what is left when the input ends.

    Raises:
      ValueError: no tensors, or shapes that are not known.
      OutOfRangeError: (when run) the input has ended.
    """
    return _batched("batch", [tensors], batch_size, True, num_threads, capacity, enqueue_many, shapes, dynamic_pad,
                    allow_smaller_final_batch, name, shared_name)


def maybe_batch(tensors, keep_input, batch_size, num_threads=1, capacity=32, enqueue_many=False, shapes=None, dynamic_pad=False,
                allow_smaller_final_batch=False, shared_name=None, name=None):
    """Returns `batch` of those elements for which the bool `keep_input` holds (a vector with `enqueue_many`)."""
    return _batched("batch", [tensors], batch_size, keep_input, num_threads, capacity, enqueue_many, shapes, dynamic_pad,
                    allow_smaller_final_batch, name, shared_name)


def batch_join(tensors_list, batch_size, capacity=32, enqueue_many=False, shapes=None, dynamic_pad=False,
               allow_smaller_final_batch=False, shared_name=None, name=None):
    """Returns `batch` of several sources, one thread each: `tensors_list` is a list of what `batch` takes."""
    return _batched("batch_join", tensors_list, batch_size, True, 1, capacity, enqueue_many, shapes, dynamic_pad,
                    allow_smaller_final_batch, name, shared_name)


def maybe_batch_join(tensors_list, keep_input, batch_size, capacity=32, enqueue_many=False, shapes=None, dynamic_pad=False,
                     allow_smaller_final_batch=False, shared_name=None, name=None):
    """Returns `batch_join` of those elements for which the bool `keep_input` holds."""
    return _batched("batch_join", tensors_list, batch_size, keep_input, 1, capacity, enqueue_many, shapes, dynamic_pad,
                    allow_smaller_final_batch, name, shared_name)


def shuffle_batch(tensors, batch_size, capacity, min_after_dequeue, num_threads=1, seed=None, enqueue_many=False, shapes=None,
                  allow_smaller_final_batch=False, shared_name=None, name=None):
    """Returns `batch` in random order: `min_after_dequeue` elements stay in the queue to be mixed with."""
    return _batched("shuffle_batch", [tensors], batch_size, True, num_threads, capacity, enqueue_many, shapes, False,
                    allow_smaller_final_batch, name, shared_name, min_after_dequeue, seed)


def maybe_shuffle_batch(tensors, batch_size, capacity, min_after_dequeue, keep_input, num_threads=1, seed=None,
                        enqueue_many=False, shapes=None, allow_smaller_final_batch=False, shared_name=None, name=None):
    """Returns `shuffle_batch` of those elements for which the bool `keep_input` holds."""
    return _batched("shuffle_batch", [tensors], batch_size, keep_input, num_threads, capacity, enqueue_many, shapes, False,
                    allow_smaller_final_batch, name, shared_name, min_after_dequeue, seed)


def shuffle_batch_join(tensors_list, batch_size, capacity, min_after_dequeue, seed=None, enqueue_many=False, shapes=None,
                       allow_smaller_final_batch=False, shared_name=None, name=None):
    """Returns `shuffle_batch` of several sources, one thread each."""
    return _batched("shuffle_batch_join", tensors_list, batch_size, True, 1, capacity, enqueue_many, shapes, False,
                    allow_smaller_final_batch, name, shared_name, min_after_dequeue, seed)


def maybe_shuffle_batch_join(tensors_list, batch_size, capacity, min_after_dequeue, keep_input, seed=None, enqueue_many=False,
                             shapes=None, allow_smaller_final_batch=False, shared_name=None, name=None):
    """Returns `shuffle_batch_join` of those elements for which the bool `keep_input` holds."""
    return _batched("shuffle_batch_join", tensors_list, batch_size, keep_input, 1, capacity, enqueue_many, shapes, False,
                    allow_smaller_final_batch, name, shared_name, min_after_dequeue, seed)
