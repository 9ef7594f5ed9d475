"""What does not fit into memory is refused before anything is computed, and the process goes on.

The programs of `HUGE` are made of little and ask for much. They run in a process of their own, which any of them would end.
"""

import json
import re
import subprocess
import sys

import numpy as np
import pytest

import regrad as tf
from regrad.runtime import memory

HUGE = """
tf.fill([2**20, 2**20], 1.0)
tf.fill(fed([2**20, 2**20], tf.int32), 1.0)
tf.zeros([2**40])
tf.zeros([2**32, 2**32])
tf.ones([2**62]) + 1
tf.reduce_sum(tf.ones([2**20, 2**20]) * small[0])
tf.ones_like(tf.broadcast_to(small[0], [2**40]))
tf.reshape(small[:0], fed([0, 2**31 - 1, 2**31 - 1, 4], tf.int32))
tf.range(2**40)
tf.range(fed(2**40, tf.int64))
tf.range(0.0, fed(1e12, tf.float32), 1.0)
tf.linspace(0.0, 1.0, 2**40)
tf.linspace(0.0, 1.0, fed(2**40, tf.int64))
tf.one_hot(tf.zeros([2**16], tf.int32), 2**30)
tf.one_hot(fed([1] * 999, tf.int32), fed(2**31 - 1, tf.int32))
tf.tile(square, [2**20, 2**20])
tf.tile(square, fed([2**31 - 1, 2**31 - 1], tf.int32))
tf.broadcast_to(small[0], [2**31 - 1, 2**31 - 1, 4])
tf.pad(square, [[0, 2**31 - 1], [2**31 - 1, 0]])
tf.pad(square, fed([[2**30, 0], [0, 2**30]], tf.int32))
tf.eye(2**20)
tf.eye(fed(2**20, tf.int32))
tf.diag(tf.zeros([2**20]))
tf.matrix_diag(long)
tf.matrix_band_part(tf.ones([2**20, 2**20]), 0, 0)
tf.random_uniform([2**20, 2**20])
tf.random_normal(fed([2**20, 2**20], tf.int32))
tf.truncated_normal([2**38])
tf.random_gamma([2**36], small)
tf.random_poisson(small, [2**36])
tf.multinomial(tf.tile(square, [2**4, 1]), 2**31 - 1)
long[:, None] * long[None, :]
tf.reduce_max(tf.abs(long[:, None] - long[None, :]), 1)
tf.matmul(long[:, None], long[None, :])
tf.tensordot(long, long, 0)
tf.einsum('i,j,k->ijk', long, long, long)
tf.hessians(tf.reduce_sum(long ** 3), long)
tf.gradients(tf.reduce_sum(tf.tanh(tf.tile(long, [2**18]))), long)
tf.nn.conv2d(image, tf.ones([1, 1, 1, 2**40]), [1, 1, 1, 1], 'SAME')
tf.nn.conv2d_transpose(image, tf.ones([1, 1, 1, 1]), [1, 2**22, 2**22, 1], [1, 2**20, 2**20, 1])
tf.image.resize_bilinear(image, [2**20, 2**20])
tf.image.resize_nearest_neighbor(image, fed([2**20, 2**20], tf.int32))
tf.image.resize_area(image, [2**20, 2**20])
tf.image.resize_image_with_crop_or_pad(image, 2**20, 2**20)
tf.image.crop_and_resize(image, [[0.0, 0.0, 1.0, 1.0]], [0], [2**20, 2**20])
tf.extract_image_patches(tf.ones([1, 2**12, 2**12, 1]), [1, 2**11, 2**11, 1], [1, 1, 1, 1], [1, 1, 1, 1], 'VALID')
tf.space_to_batch_nd(image, [2, 2], [[2**30, 0], [2**30, 0]])
tf.repeat(square, fed(2**40, tf.int64), axis=0)
tf.repeat(tf.tile(square, [2**10, 1]), fed(2**31 - 1, tf.int32), axis=0)
tf.meshgrid(long, long)
tf.sequence_mask(tf.fill([2**20], 5), 2**30)
tf.sequence_mask(fed([2**40], tf.int64))
tf.sparse_to_dense([[0, 0]], [2**20, 2**20], 1.0)
tf.sparse.to_dense(tf.SparseTensor([[0, 0]], [1.0], [2**40, 2**10]))
tf.scatter_nd([[0]], [1.0], fed([2**40], tf.int64))
tf.unsorted_segment_sum(square, [0, 1, 2, 3], 2**50)
tf.unsorted_segment_max(square, [0, 1, 2, 3], fed(2**40, tf.int64))
tf.segment_sum(tf.zeros([4, 2**20]), fed([0, 1, 2, 2**26], tf.int32))
tf.sparse_fill_empty_rows(tf.SparseTensor([[0, 0]], [1.0], fed([2**50, 2], tf.int64)), 0.0)[0].values
tf.dynamic_stitch([fed([2**31 - 2], tf.int32)], [tf.zeros([1, 2**12])])
tf.gather(tf.zeros([4, 2**20]), tf.zeros([2**20], tf.int32))
tf.nn.embedding_lookup(tf.zeros([4, 2**20]), tf.zeros([2**20], tf.int32))
tf.gather_nd(tf.zeros([4, 2**20]), tf.zeros([2**20, 1], tf.int32))
tf.stack([tf.zeros([2**36])] * 64)
tf.concat([tf.zeros([2**38])] * 16, 0)
tf.transpose(tf.zeros([2**20, 2**20]))
tf.cast(tf.zeros([2**42], tf.uint8), tf.complex128)
tf.fft(tf.zeros([2**38], tf.complex64))
tf.confusion_matrix([1, 2], [3, 4], num_classes=2**20)
tf.signal.frame(tf.ones([2**22]), 2**21, 1)
tf.TensorArray(tf.float32, 2**30, element_shape=[2**12]).unstack(tf.zeros([1, 2**12])).stack()
tf.TensorArray(tf.float32, 2**31 - 1).write(0, tf.zeros([999])).stack()
tf.map_fn(lambda i: tf.zeros([2**30]) + i, tf.range(2**12, dtype=tf.float32))
tf.gradients(tf.while_loop(lambda i, t: i < 10**7, lambda i, t: (i + 1, tf.sin(t)), [0, long])[1], long)
tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t + tf.reduce_sum(tf.ones([2**40]))), [0, 0.0])[1]
tf.cond(fed(True, tf.bool), lambda: tf.zeros([2**40]), lambda: tf.zeros([2]))
initialised(tf.get_variable('v', [2**20, 2**20]))
initialised(tf.Variable(tf.zeros([2**40])))
initialised(tf.Variable(tf.ones([2]))).assign_add(tf.reduce_sum(tf.ones([2**40])) * tf.ones([2]))
""".strip().splitlines()

RUN = """
import json, sys
import numpy as np
import regrad as tf

tf.config.cache_dir = None


def attempt(program):
    feeds = {}

    def fed(value, dtype):
        x = tf.placeholder(dtype, np.shape(value))
        feeds[x] = value
        return x

    def initialised(variable):
        initialisers.append(variable.initializer)
        return variable

    with tf.Graph().as_default(), tf.Session() as session:
        small, square, image, long = (fed(np.ones(n, np.float32), tf.float32) for n in ([4], [4, 4], [1, 4, 4, 1], [2**21]))
        initialisers = []
        try:
            y = eval(program)
            session.run(initialisers)
            error = ["none", str(session.run(y, feeds))]
        except Exception as e:
            error = [type(e).__name__, str(e)]
        return [*error, session.run(small + 1, feeds).tolist()]


for program in json.load(sys.stdin):
    print(json.dumps(attempt(program)), flush=True)
"""


@pytest.fixture(scope="module")
def answers():
    done = subprocess.run([sys.executable, "-c", RUN], input=json.dumps(HUGE), capture_output=True, text=True, timeout=300)
    return dict(zip(HUGE, [*map(json.loads, done.stdout.splitlines()), *[["died", done.stderr[-500:], None]] * len(HUGE)]))


@pytest.mark.parametrize("program", HUGE)
def test_a_huge_program_is_refused_with_its_operation_and_size(program, answers):
    error, message, after = answers[program]
    assert error == "ResourceExhaustedError", message
    assert re.match(r"OOM when allocating (tensor with|the result of \w+:) shape \[.* [\d,]+ bytes, and there is m", message)
    assert "made at <string>:" in message
    assert after == [2, 2, 2, 2]


def test_a_program_whose_values_fit_and_that_does_not_in_all_is_refused(monkeypatch):
    """Nothing is overwritten; with a higher limit the same session goes on."""
    v = tf.Variable(tf.zeros([512, 512]))
    x = tf.placeholder(tf.float32, [512, 512])
    products = [tf.matmul(x + i, v + i) for i in range(6)]
    step = tf.group(*(v.assign_add(p) for p in products[:1]), *products)
    with tf.Session() as session:
        session.run(v.initializer)
        feed = {x: np.ones((512, 512), np.float32)}
        monkeypatch.setattr(tf.config, "host_runs", 0)
        monkeypatch.setattr(tf.config, "memory_limit", 3 << 20)
        with pytest.raises(tf.errors.ResourceExhaustedError, match=r"a compiled program takes [\d,]+ bytes,.* 3,145,728\."):
            session.run([step, products], feed)
        assert not session.run(v).any()
        monkeypatch.setattr(tf.config, "memory_limit", None)
        session.run([step, products], feed)


def test_the_limit_counts_bytes_of_the_element_type(monkeypatch):
    monkeypatch.setattr(tf.config, "memory_limit", 1000)
    x = tf.placeholder(tf.int32, [])
    with tf.Session() as session:
        assert session.run(tf.zeros(tf.reshape(x, [1]), tf.float64), {x: 125}).shape == (125,)
        for dtype, n in ((tf.float64, 126), (tf.uint8, 1001), (tf.string, 126), (tf.complex128, 63)):
            with pytest.raises(tf.errors.ResourceExhaustedError, match=f"shape \\[{n}\\] and type {dtype.name}"):
                session.run(tf.zeros(tf.reshape(x, [1]), dtype), {x: n})


@pytest.mark.parametrize("wanted", [False, True])
def test_what_does_not_fit_in_a_branch_counts_where_it_is_taken(wanted, monkeypatch):
    monkeypatch.setattr(tf.config, "memory_limit", 1 << 20)
    x = tf.placeholder(tf.float32, [])
    y = tf.cond(x > 0, lambda: tf.reduce_sum(tf.fill([1 << 20], x)), lambda: -x)
    with tf.Session() as session:
        for _ in range(4):
            if wanted:
                with pytest.raises(tf.errors.ResourceExhaustedError, match="cond/.*Fill"):
                    session.run(y, {x: 1.0})
            else:
                assert session.run(y, {x: -2.0}) == 2


def test_values_that_nothing_reads_do_not_count():
    huge = tf.ones([1 << 20, 1 << 20])
    with tf.Session() as session:
        assert session.run(tf.shape(huge)).tolist() == [1 << 20, 1 << 20]
        assert session.run(tf.shape(huge * tf.placeholder_with_default(2.0, [])))[0] == 1 << 20


def test_a_size_that_int32_does_not_hold_is_no_other_size():
    x = tf.placeholder(tf.float32, [0, None])
    few = np.zeros((0, 2**31), np.float32)
    with tf.Session() as session:
        assert session.run(tf.shape(x, out_type=tf.int64), {x: few}).tolist() == [0, 2**31]
        with pytest.raises(tf.errors.InvalidArgumentError, match="2147483648 elements are more than int32 can count"):
            session.run(tf.shape(x), {x: few})


@pytest.mark.parametrize("listed,files,expected", [
    ("0::/", {}, None),
    ("0::/", {"memory.max": "max", "memory.current": "5"}, None),
    ("0::/a/b", {"a/memory.max": "1000", "a/memory.current": "400", "a/b/memory.max": "max"}, 600),
    ("0::/a", {"a/memory.max": "1000", "a/memory.current": "400", "a/memory.stat": "anon 1\ninactive_file 150\n"}, 750),
    ("0::/elsewhere", {"memory.max": "500", "memory.current": "700"}, 0),
    ("5:cpu:/\n4:memory:/a\n0::/", {"memory/a/memory.limit_in_bytes": "1000", "memory/a/memory.usage_in_bytes": "10",
                                    "memory/memory.limit_in_bytes": "9223372036854771712"}, 990),
    ("4:memory:/gone", {"memory/memory.limit_in_bytes": "1000", "memory/memory.usage_in_bytes": "100",
                        "memory/memory.stat": "inactive_file 5\ntotal_inactive_file 7\n"}, 907),
])
def test_what_control_groups_leave(listed, files, expected, tmp_path):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text + "\n")
    (tmp_path / "listed").write_text(listed + "\n")
    groups = memory._groups.__wrapped__(str(tmp_path), str(tmp_path / "listed"))
    assert min((memory._left(*group) for group in groups), default=None) == expected
