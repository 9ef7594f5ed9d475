"""Rows for `regrad/ops/queues.py` and `readers.py`: what comes out of queues, and records of files."""

import functools
import gzip
import os
import tempfile

import numpy as np

import regrad as tf
from tests.cases import Bad, Steps

WORDS = np.array([b"a", b"", b"c\0"], object)
NUMBERS = np.arange(6, dtype=np.float32).reshape(3, 2)
TYPES = ("float16", "bfloat16", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "int64", "uint32", "uint64",
         "bool", "complex64", "complex128")


def made(kind="FIFOQueue", types=(tf.float32,), shapes=((2,),), capacity=4, **more):
    """Returns a queue; a PriorityQueue has its priorities besides."""
    if kind == "RandomShuffleQueue":
        more.setdefault("min_after_dequeue", 0)
    if kind == "PriorityQueue":
        return tf.PriorityQueue(capacity, list(types), list(shapes), **more)
    return getattr(tf, kind)(capacity, dtypes=list(types), shapes=shapes and list(shapes), **more)


def runs(op_type, script, *inputs, note="", **more):
    """A row of `script(queue, *inputs)` -> fetches, for a queue that `more` describes."""
    return Steps(op_type, lambda *tensors: script(made(**more), *tensors), inputs=inputs, note=note)


def in_and_out(q, x):
    return [q.enqueue_many([x]), q.size(), q.dequeue(), q.size(), q.dequeue_many(2), q.size()]


# -- one after the other ----------------------------------------------------------------------------
CASES = [
    runs("FIFOQueueV2", in_and_out, NUMBERS),
    *(runs("FIFOQueueV2", in_and_out, np.ones((3, 2), tf.as_dtype(d).as_numpy_dtype), types=[tf.as_dtype(d)], note=d)
      for d in TYPES),
    runs("FIFOQueueV2", in_and_out, WORDS, types=[tf.string], shapes=[[]], note="string"),
    runs("FIFOQueueV2", lambda q, x: [q.enqueue([x, 5]), q.enqueue([x + 1, 6]), q.dequeue(), q.dequeue_many(1)], NUMBERS[0],
         types=[tf.float32, tf.int64], shapes=[[2], []], note="two components"),
    runs("FIFOQueueV2", lambda q, x: [q.enqueue(x), q.enqueue(x[:1]), q.dequeue(), q.dequeue()], NUMBERS, shapes=None,
         note="any shape"),
    runs("QueueEnqueueV2", lambda q, x: [q.enqueue(x), q.enqueue(x), q.size(), q.dequeue(), q.dequeue()], NUMBERS[0]),
    runs("QueueEnqueueV2", lambda q, x: [q.close(), q.enqueue(x)], NUMBERS[0], note="closed"),
    runs("QueueEnqueueV2", lambda q, x: [q.enqueue(tf.placeholder_with_default(x, None)), q.size()], NUMBERS[0, :1],
         note="another size"),
    runs("QueueEnqueueManyV2", lambda q, x: [q.enqueue_many(x), q.enqueue_many(x[:1]), q.size(), q.dequeue_many(4)], NUMBERS),
    runs("QueueEnqueueManyV2", lambda q, x: [q.enqueue_many(x), q.size()], NUMBERS[:0], note="empty"),
    runs("QueueEnqueueManyV2", lambda q, x: [q.close(), q.enqueue_many(x)], NUMBERS, note="closed"),
    runs("QueueDequeueV2", lambda q, x: [q.enqueue_many(x), *[q.dequeue() for _ in range(3)], q.close(), q.dequeue()], NUMBERS),
    runs("QueueDequeueManyV2", lambda q, x: [q.enqueue_many(x), q.dequeue_many(2), q.dequeue_many(0), q.close(), q.dequeue_many(2),
                                             q.dequeue_many(1)], NUMBERS),
    runs("QueueDequeueManyV2", lambda q, x, n: [q.enqueue_many(x), q.dequeue_many(n)], NUMBERS, np.int32(3), note="fed number"),
    runs("QueueDequeueManyV2", lambda q, x, n: [q.enqueue_many(x), q.dequeue_many(n)], NUMBERS, np.int32(-1), note="negative"),
    runs("QueueDequeueUpToV2", lambda q, x: [q.enqueue_many(x), q.dequeue_up_to(2), q.close(), q.dequeue_up_to(2),
                                             q.dequeue_up_to(2)], NUMBERS),
    runs("QueueCloseV2", lambda q, x: [q.enqueue(x), q.close(), q.close(), q.dequeue(), q.dequeue()], NUMBERS[0]),
    runs("QueueCloseV2", lambda q, x: [q.enqueue(x), q.close(cancel_pending_enqueues=True), q.dequeue()], NUMBERS[0],
         note="pending"),
    runs("QueueIsClosedV2", lambda q: [q.is_closed(), q.close(), q.is_closed()]),
    runs("QueueSizeV2", lambda q, x: [q.size(), q.enqueue_many(x), q.size(), q.close(), q.size()], NUMBERS),
    Bad("FIFOQueueV2", lambda: tf.FIFOQueue(3, [tf.float32], [[2], [2]]), ValueError, "2 shapes and 1 dtypes"),
    Bad("FIFOQueueV2", lambda: tf.FIFOQueue(3, [tf.float32]).dequeue_many(2), ValueError, "dequeue_many needs the shapes of the components"),
    Bad("QueueEnqueueV2", lambda: made().enqueue(tf.ones([3])), ValueError, r"Shapes \(3,\) and \(2,\) are incompatible"),
    Bad("QueueEnqueueV2", lambda: made().enqueue([tf.ones([2]), 1]), ValueError, "has 1 components, got 2"),
    Bad("QueueEnqueueV2", lambda: made().enqueue(tf.constant([1, 2])), ValueError,
        "requested dtype float32 for Tensor with dtype int32"),
    Bad("QueueEnqueueManyV2", lambda: made().enqueue_many(tf.ones([3, 3])), ValueError, r"Shapes \(3,\) and \(2,\) are incompatible"),
    Bad("QueueDequeueManyV2", lambda: made().dequeue_many("a"), TypeError, "Expected int32, got 'a'"),
]

# -- other orders -----------------------------------------------------------------------------------
PRIORITIES = np.array([3, 1, 3, 2, -5])


def padded(q, x):
    return [q.enqueue([x]), q.enqueue([x[:1]]), q.enqueue([x[:0]]), q.size(), q.dequeue_many(3), q.enqueue([x]), q.close(),
            q.dequeue_up_to(2)]


def by_priority(q, p, x):
    return [q.enqueue_many([p, x]), q.dequeue(), q.enqueue([np.int64(2), x[0]]), q.dequeue_many(4), q.size(), q.close(),
            q.dequeue_many(1), q.dequeue()]


def shuffled(q, x):
    """In an order of its own: all that went in come out."""
    return [q.enqueue_many(x), q.size(), tf.sort(tf.reduce_sum(q.dequeue_many(3), axis=1)), q.size()]


CASES += [
    runs("PaddingFIFOQueueV2", padded, NUMBERS, kind="PaddingFIFOQueue", shapes=[[None, 2]]),
    runs("PaddingFIFOQueueV2", padded, WORDS, kind="PaddingFIFOQueue", types=[tf.string], shapes=[[None]], note="string"),
    runs("PaddingFIFOQueueV2", padded, np.array([True, True]), kind="PaddingFIFOQueue", types=[tf.bool], shapes=[[None]],
         note="bool"),
    Bad("PaddingFIFOQueueV2", lambda: tf.PaddingFIFOQueue(3, [tf.float32], None), (ValueError, TypeError), "needs the shapes of its components"),
    runs("PriorityQueueV2", by_priority, PRIORITIES, np.array([b"c", b"a", b"d", b"b", b"z"], object), kind="PriorityQueue",
         types=[tf.string], shapes=[[]], capacity=9),
    runs("PriorityQueueV2", by_priority, PRIORITIES, np.arange(10.0).reshape(5, 2), kind="PriorityQueue", types=[tf.float64],
         shapes=[[2]], capacity=9, note="float64"),
    runs("PriorityQueueV2", lambda q, p: [q.enqueue_many([p, p]), q.close(), q.dequeue_up_to(9)], PRIORITIES,
         kind="PriorityQueue", types=[tf.int64], shapes=[[]], capacity=9, note="what is left"),
    runs("RandomShuffleQueueV2", shuffled, NUMBERS, kind="RandomShuffleQueue"),
    runs("RandomShuffleQueueV2", lambda q, x: [q.enqueue_many(x), q.size(), q.close(), q.dequeue_many(2),
                                               q.dequeue_up_to(2), q.dequeue_many(1)], NUMBERS,
         kind="RandomShuffleQueue", seed=3, note="the same numbers"),
    runs("RandomShuffleQueueV2", lambda q, x: [q.enqueue_many(x), q.dequeue(), q.enqueue(x[0]), q.dequeue_many(2)], NUMBERS,
         kind="RandomShuffleQueue", min_after_dequeue=1, seed=5, note="some are left"),
    Bad("RandomShuffleQueueV2", lambda: tf.RandomShuffleQueue(3, 4, [tf.float32]), ValueError, "min_after_dequeue, 4, must be less than the capacity, 3"),
]


# -- readers ----------------------------------------------------------------------------------------------
@functools.cache
def folder():
    """A folder of files to read, until the process ends."""
    made = tempfile.TemporaryDirectory()
    files = {"a.txt": b"head\none\r\ntwo\n", "b.txt": b"head\n\nthree", "noise": b"no record" * 9, "empty": b"", "c.gz": gzip.compress(b"123456789", mtime=0)}
    for name, data in files.items():
        with open(os.path.join(made.name, name), "wb") as file:
            file.write(data)
    for name, kind in (("r", tf.python_io.TFRecordCompressionType.NONE), ("z", tf.python_io.TFRecordCompressionType.GZIP)):
        with tf.python_io.TFRecordWriter(os.path.join(made.name, name), tf.python_io.TFRecordOptions(kind)) as writer:
            for record in (b"first", b"", b"second"):
                writer.write(record)
    return made


def read(op_type, reader, *names, note="", up_to=None, ask=None):
    """A row that reads the records of files to the end, one by one or so many, without the names of their folder."""
    def build():
        q = tf.FIFOQueue(9, tf.string, [[]])
        r = reader()
        key, value = r.read(q) if up_to is None else r.read_up_to(q, up_to)
        record = [tf.regex_replace(key, "^.*/", ""), value]
        if op_type == "IdentityReaderV2":
            record[1] = tf.regex_replace(value, "^.*/", "")
        more = [] if ask is None else [ask(r)]
        return [q.enqueue_many([[os.path.join(folder().name, n) for n in names]]), q.close(), *more,
                *([record, *more] * 6)]

    return Steps(op_type, build, note=note)


TEXTS = ("a.txt", "empty", "b.txt")
CASES += [
    read("TextLineReaderV2", tf.TextLineReader, *TEXTS),
    read("TextLineReaderV2", lambda: tf.TextLineReader(skip_header_lines=1), *TEXTS, note="without heads"),
    read("TextLineReaderV2", tf.TextLineReader, "none there", note="no file"),
    read("WholeFileReaderV2", tf.WholeFileReader, *TEXTS),
    read("WholeFileReaderV2", tf.WholeFileReader, "none there", note="no file"),
    read("TFRecordReaderV2", tf.TFRecordReader, "r", "r"),
    read("TFRecordReaderV2", lambda: tf.TFRecordReader(options=tf.python_io.TFRecordOptions(2)), "z", note="gzip"),
    read("TFRecordReaderV2", tf.TFRecordReader, "noise", "r", note="no records"),
    read("FixedLengthRecordReaderV2", lambda: tf.FixedLengthRecordReader(3), "b.txt", "empty", "a.txt"),
    read("FixedLengthRecordReaderV2", lambda: tf.FixedLengthRecordReader(3, header_bytes=2, footer_bytes=1), "b.txt",
         note="head and foot"),
    read("FixedLengthRecordReaderV2", lambda: tf.FixedLengthRecordReader(4, hop_bytes=2), "b.txt", note="overlapping"),
    read("FixedLengthRecordReaderV2", lambda: tf.FixedLengthRecordReader(3, encoding="ZLIB"), "a.txt", note="not packed"),
    read("IdentityReaderV2", tf.IdentityReader, *TEXTS),
    read("ReaderReadV2", tf.TextLineReader, "a.txt"),
    *(read("ReaderReadUpToV2", tf.TextLineReader, *TEXTS, up_to=n, note=str(n)) for n in (1, 2, 9)),
    read("ReaderReadUpToV2", tf.WholeFileReader, *TEXTS, up_to=2, note="files"),
    read("ReaderNumRecordsProducedV2", tf.TextLineReader, *TEXTS, ask=lambda r: r.num_records_produced()),
    read("ReaderNumWorkUnitsCompletedV2", tf.TextLineReader, *TEXTS, ask=lambda r: r.num_work_units_completed()),
    read("ReaderNumWorkUnitsCompletedV2", tf.WholeFileReader, *TEXTS, ask=lambda r: r.num_work_units_completed(), note="files"),
    read("ReaderResetV2", tf.WholeFileReader, *TEXTS, ask=lambda r: [r.reset(), r.num_records_produced()]),
    read("ReaderResetV2", tf.TextLineReader, *TEXTS, ask=lambda r: r.reset(), note="in a file"),
]


# -- where a reader stands ------------------------------------------------------------------------------
def state_of(reader, text=None):
    """Steps of a reader that is read from, asked where it stands, reset, and put back there, or where `text` says."""
    def build():
        q, r = tf.FIFOQueue(9, tf.string, [[]]), reader()
        value, kept = r.read(q)[1], tf.Variable(b"", trainable=False)
        keep = kept.assign(r.serialize_state())
        return [q.enqueue_many([[b"x", b"y", b"z"]]), kept.initializer, value, *([] if text else [keep]), value, r.reset(),
                r.num_records_produced(), r.restore_state(text or kept), [r.num_records_produced(), r.num_work_units_completed()],
                value]
    return build


CASES += [
    Steps("ReaderSerializeStateV2", state_of(tf.IdentityReader)),
    Steps("ReaderRestoreStateV2", state_of(tf.IdentityReader, b"\xff none"), note="no state"),
    Steps("ReaderRestoreStateV2", state_of(tf.IdentityReader, b"\x08\x01\x10\x02"), note="more done than begun"),
    Steps("ReaderRestoreStateV2", state_of(tf.IdentityReader, b"\x08\x02\x10\x01\x18\x01\x22\x01w"), note="at a file"),
    Steps("ReaderSerializeStateV2", state_of(lambda: tf.TFRecordReader()), note="in parts"),
    Bad("ReaderRestoreStateV2", lambda: tf.IdentityReader().restore_state([b"a", b"b"]), ValueError, "rank"),
]

# -- queues of one name, and one of several queues ---------------------------------------------------------
def two(first, second):
    a, b = first(), second()
    return [a.enqueue([1.0]), b.size(), a.dequeue(), b.size()]


def queue(kind=tf.FIFOQueue, *more, capacity=3, dtype=tf.float32, shapes=None, name="one"):
    return kind(capacity, *more, [dtype], shapes, shared_name=name)


def chosen(numbers):
    queues = [tf.FIFOQueue(4, tf.float32, [[]]) for _ in range(2)]
    one = tf.QueueBase.from_list(tf.placeholder_with_default(numbers[0], []), queues)
    other = tf.QueueBase.from_list(tf.placeholder_with_default(numbers[1], []), queues)
    return [one.enqueue(1.5), [q.size() for q in queues], other.enqueue_many([[2.5, 3.5]]), [q.size() for q in queues],
            other.dequeue(), queues[numbers[1]].close(), other.is_closed(), other.dequeue_up_to(2)]


CASES += [
    Steps("FIFOQueueV2", lambda: two(queue, queue), note="one name"),
    Steps("FIFOQueueV2", lambda: two(queue, lambda: queue(name="two")), note="two names"),
    Steps("FIFOQueueV2", lambda: two(queue, lambda: queue(capacity=4)), note="one name, another capacity"),
    Steps("FIFOQueueV2", lambda: two(queue, lambda: queue(dtype=tf.float64)), note="one name, another dtype"),
    Steps("FIFOQueueV2", lambda: two(queue, lambda: queue(shapes=[[]])), note="one name, another shape"),
    Steps("FIFOQueueV2", lambda: two(queue, lambda: queue(tf.RandomShuffleQueue, 0)), note="one name, another kind"),
    Steps("RandomShuffleQueueV2", lambda: two(*[lambda: queue(tf.RandomShuffleQueue, 0)] * 2), note="one name"),
    Steps("RefSelect", lambda: chosen((0, 1))),
    Steps("RefSelect", lambda: chosen((1, 1)), note="the same"),
    Steps("RefSelect", lambda: [tf.QueueBase.from_list(tf.placeholder_with_default(2, []), [tf.FIFOQueue(1, tf.int32)]).size()],
          note="none there"),
]
