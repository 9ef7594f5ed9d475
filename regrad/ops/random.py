"""Random numbers: TensorFlow's streams, number for number.

An op's numbers are a function of its two seeds and of how much it drew before: Philox4x32-10 (Salmon et al. 2011) with
the seeds as key and upper counter, TF's conversions from bits to numbers, and TF's steps through the counter. So the same
seeds give what TensorFlow's CPU kernels give; `docs/differences.md` says where sums differ in the last bit.

Gradients: `random_grad.py`. Tests: `tests/cases/random.py`, `tests/variables/test_random.py`.
"""

import math as pymath
import numbers

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import FLOATING, INDEX, REAL, as_dtype
from regrad.core.errors import BadValue, ShapeError
from regrad.core.graph import get_default_graph
from regrad.core.host import HOST
from regrad.core.opdef import Refusal, Spec, broadcasted, define_op, extent, rank_is, spec_text
from regrad.core.shapes import as_dims, compatible, fully_known, size_of
from regrad.ops import array, math, reducing

# -- seeds -----------------------------------------------------------------------------------
DEFAULT_GRAPH_SEED = 87654321
_MAX_SEED = 2**31 - 1


def get_seed(op_seed):
    """Returns the pair of seeds for an op, by TF's rule.

    With a graph seed and no op seed, the op seed counts such ops: 0, 1, 2 ... (so it is in TensorFlow since 2.4. TF1 took
    the number of all ops in the graph, which any change to a program changes.) With an op seed alone, the graph seed is
    87654321; with neither the pair is (None, None), and every session draws other numbers.
    """
    graph = get_default_graph()
    _check_seed(op_seed)
    if graph.seed is not None:
        if op_seed is None:
            # One count for the program and the bodies in it, so that no two of their ops draw the same.
            root = graph.root
            op_seed = root.__dict__.get("_seeds_given", 0)
            root._seeds_given = op_seed + 1
        seeds = graph.seed % _MAX_SEED, op_seed % _MAX_SEED
    elif op_seed is not None:
        seeds = DEFAULT_GRAPH_SEED, op_seed % _MAX_SEED
    else:
        return None, None
    # (0, 0) means "no seed" to the kernels.
    return (0, _MAX_SEED) if seeds == (0, 0) else seeds


def set_random_seed(seed):
    """Sets the graph seed of the default graph: ops made from here on, without a seed of their own, draw the same
    numbers in every session."""
    _check_seed(seed)
    get_default_graph().seed = seed


def _check_seed(seed):
    if seed is not None and not isinstance(seed, (numbers.Real, np.generic)):
        raise TypeError(f"A seed is an integer, or None, got {seed!r}.")


def _seeds(op_seed):
    seed, seed2 = get_seed(op_seed)
    return {"seed": seed or 0, "seed2": seed2 or 0}


# -- bits ----------------------------------------------------------------------------------------
_RESERVED = 256  # blocks that TF sets aside per number, so that rejection cannot run into the next run's


def words(rng):
    """Yields the 32-bit words of a stream as ints, without end; of seeds that are both 0, of a stream of its own each time.

    Args:
      rng: uint64[3]: graph seed, op seed, block to begin at.
    """
    if not rng[:2].any():
        rng = np.array([*np.random.SeedSequence().generate_state(2, np.uint64), 0], np.uint64)
    stream, at = _Stream(rng), 0
    while True:
        for block in np.transpose(stream.block(HOST, np.arange(at, at + 16, dtype=np.uint64))).tolist():
            yield from block
        at += 16


def _low(x):
    return (x & np.uint64(0xFFFFFFFF)).astype(np.uint32)


def _high(x):
    return (x >> np.uint64(32)).astype(np.uint32)


def _philox(counter, key):
    """Philox4x32-10: four uint32 arrays of counter and two of key give four arrays of random bits."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for i in range(10):
        p0 = c0.astype(np.uint64) * np.uint64(0xD2511F53)
        p1 = c2.astype(np.uint64) * np.uint64(0xCD9E8D57)
        r0 = k0 + np.uint32(i * 0x9E3779B9 & 0xFFFFFFFF)
        r1 = k1 + np.uint32(i * 0xBB67AE85 & 0xFFFFFFFF)
        c0, c1, c2, c3 = _high(p1) ^ c1 ^ r0, _low(p1), _high(p0) ^ c3 ^ r1, _low(p0)
    return c0, c1, c2, c3


_CHUNK = 1 << 14  # blocks that NumPy computes at a time: its scratch arrays stay in the cache


def _philox_chunk(index, upper, key, scratch):
    """`_philox` in place for NumPy, which would else spend its time on temporaries; returns uint32 [blocks, 4].

    Args:
      index: uint64 [blocks], the lower half of the counter.
      upper, key: two ints each.
      scratch: six uint64 arrays of at least as many elements.
    """
    c0, c1, c2, c3, p0, p1 = (x[:index.size] for x in scratch)
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    np.bitwise_and(index, low, out=c0)
    np.right_shift(index, half, out=c1)
    c2[:], c3[:] = upper
    for i in range(10):
        np.multiply(c0, np.uint64(0xD2511F53), out=p0)
        np.multiply(c2, np.uint64(0xCD9E8D57), out=p1)
        np.right_shift(p1, half, out=c0)
        np.bitwise_xor(c0, c1, out=c0)
        np.bitwise_xor(c0, np.uint64(key[0] + i * 0x9E3779B9 & 0xFFFFFFFF), out=c0)
        np.right_shift(p0, half, out=c2)
        np.bitwise_xor(c2, c3, out=c2)
        np.bitwise_xor(c2, np.uint64(key[1] + i * 0xBB67AE85 & 0xFFFFFFFF), out=c2)
        np.bitwise_and(p1, low, out=c1)
        np.bitwise_and(p0, low, out=c3)
    words = np.empty((index.size, 4), np.uint32)
    for i, c in enumerate((c0, c1, c2, c3)):
        words[:, i] = c
    return words


class _Stream:
    """The words of one op in one run: a key, and a 128-bit counter of which the low half counts blocks."""

    def __init__(self, rng):
        """Args: rng: uint64[3]: graph seed, op seed, block to begin at."""
        self.key = _low(rng[0:1]), _high(rng[0:1])
        self.upper = _low(rng[1:2]), _high(rng[1:2])
        self.start = rng[2:3]

    @classmethod
    def of_seed(cls, b, seed):
        """The stream of a stateless op: its seed pair, scrambled, is key and upper counter."""
        s = b.np.asarray(seed).astype(np.int64).astype(np.uint64)
        key = np.array([0x3EC8F720], np.uint32), np.array([0x02461E29], np.uint32)
        w = _philox((_low(s[0:1]), _high(s[0:1]), _low(s[1:2]), _high(s[1:2])), key)
        stream = cls.__new__(cls)
        stream.key, stream.upper, stream.start = w[:2], w[2:], np.zeros(1, np.uint64)
        return stream

    def block(self, b, index):
        """Returns the four words of each block in `index`, an array of uint64."""
        index = index + self.start
        if b.is_host:
            return tuple(np.concatenate([w for _, w in self._chunks(index)] or [np.empty((0, 4), np.uint32)]).T)
        zero = b.np.zeros(index.shape, np.uint32)
        return _philox((_low(index), _high(index), self.upper[0] + zero, self.upper[1] + zero), self.key)

    def _chunks(self, index):
        """Yields (first, words [blocks, 4]) for the blocks in `index`, chunk by chunk."""
        upper, key = [int(x[0]) for x in self.upper], [int(x[0]) for x in self.key]
        scratch = [np.empty(min(_CHUNK, index.size), np.uint64) for _ in range(6)]
        for first in range(0, index.size, _CHUNK):
            yield first, _philox_chunk(index[first:first + _CHUNK], upper, key, scratch)

    def numbers(self, b, n, arity, convert, pairs=False):
        """Returns n numbers, made of the stream's words in order.

        Args:
          arity: how many words a draw takes.
          convert: function of `arity` arrays of words that gives an array of numbers; with `pairs` two of them, and a draw
            is two numbers.
        """
        draws = -(-n // 2) if pairs else n
        per_block = 4 // arity
        if b.is_host:
            return self._numbers_in_chunks(n, draws, arity, convert, pairs)
        # Every number computes its own block, four times over: XLA fuses and vectorises that, and it is several times
        # faster than computing each block once and interleaving its words (1.2 against 9.8 ms for 1M numbers).
        number = b.np.arange(n, dtype=np.uint32)
        draw = number >> np.uint32(1) if pairs else number
        lane = draw % np.uint32(per_block)
        w = self.block(b, (draw // np.uint32(per_block)).astype(np.uint64))
        where = b.np.where
        if arity == 2:
            w = where(lane == 0, w[0], w[2]), where(lane == 0, w[1], w[3])
        elif arity == 1:
            w = (where(lane < 2, where(lane == 0, w[0], w[1]), where(lane == 2, w[2], w[3])),)
        made = convert(w)
        return where((number & np.uint32(1)) == 0, *made) if pairs else made

    def _numbers_in_chunks(self, n, draws, arity, convert, pairs):
        per_block = 4 // arity
        parts = []
        for _, w in self._chunks(np.arange(-(-draws // per_block), dtype=np.uint64) + self.start):
            w = w.reshape(-1, arity)
            made = convert(tuple(w[:, i] for i in range(arity)))
            parts.append(np.stack(made, -1).reshape(-1) if pairs else made)
        if not parts:
            made = convert((np.empty(0, np.uint32),) * arity)
            return made[0] if pairs else made
        return np.concatenate(parts)[:n]


def philox_words(seed, seed2, first, blocks):
    """Returns the words of some blocks of the stream of two seeds, as Python ints: what TensorFlow's datasets shuffle by."""
    stream = _Stream(np.array([s & 0xFFFFFFFFFFFFFFFF for s in (seed, seed2, first)], np.uint64))
    index = np.arange(blocks, dtype=np.uint64) + stream.start
    return [word for _, words in stream._chunks(index) for word in words.reshape(-1).tolist()]


# -- from bits to numbers --------------------------------------------------------------------------
# A float in [1, 2) is made of the exponent's bits and random mantissa bits, and 1 is subtracted.
_UNIT = {"float16": (np.uint16, 10, 15), "bfloat16": (np.uint16, 7, 127), "float32": (np.uint32, 23, 127)}


def _bitcast(b, x, dtype):
    return x.view(dtype) if b.is_host else b.lax.bitcast_convert_type(x, dtype)


def _unit(b, words, dtype):
    """Returns numbers in [0, 1) of `dtype`, of one word each (two for float64)."""
    if dtype.name == "float64":
        bits = ((words[0] & np.uint32(0xFFFFF)).astype(np.uint64) << np.uint64(32)) | words[1].astype(np.uint64)
        return _bitcast(b, bits | np.uint64(1023 << 52), np.float64) - np.float64(1)
    unsigned, mantissa, exponent = _UNIT[dtype.name]
    bits = (words[0] & np.uint32((1 << mantissa) - 1)).astype(unsigned) | unsigned(exponent << mantissa)
    kind = dtype.as_numpy_dtype
    return _bitcast(b, bits, kind) - kind(1)


def _box_muller(b, words, real):
    """Returns two arrays of normal numbers for each pair of words (four words for float64)."""
    half = len(words) // 2
    kind = real.as_numpy_dtype
    u = b.np.maximum(_unit(b, words[:half], real), kind(1e-7))
    turns = _unit(b, words[half:], real)
    angle = (turns.astype(np.float64) * np.float64(2 * np.pi)).astype(kind)
    plain = b.is_host or real is dtypes.float64
    sin, cos = (b.np.sin(angle), b.np.cos(angle)) if plain else _sin_cos(b, angle, turns)
    radius = b.np.sqrt(kind(-2) * b.np.log(u))
    return sin * radius, cos * radius


def _sin_cos(b, angle, turns):
    """Returns sine and cosine of float32 angles in [0, 2 pi), `turns` being angle / (2 pi).

    XLA calls the C library's for each element; this is plain arithmetic that it vectorises. The angle less a multiple q
    of pi / 2, which is subtracted in three parts so that nothing is lost, and Cephes' polynomials on [-pi/4, pi/4].
    """
    f = np.float32
    q = b.np.floor(turns * f(4) + f(0.5))
    x = ((angle - q * f(1.5703125)) - q * f(4.837512969970703e-4)) - q * f(7.549789954891882e-8)
    z = x * x
    sin = x + x * z * (f(-1.6666654611e-1) + z * (f(8.3321608736e-3) + z * f(-1.9515295891e-4)))
    cos = f(1) - f(0.5) * z + z * z * (f(4.166664568298827e-2) + z * (f(-1.388731625493765e-3) + z * f(2.443315711809948e-5)))
    odd = (q == 1) | (q == 3)
    s, c = b.np.where(odd, cos, sin), b.np.where(odd, sin, cos)
    return b.np.where((q == 2) | (q == 3), -s, s), b.np.where((q == 1) | (q == 2), -c, c)


def _computed_in(dtype):
    """TF computes 16-bit normals in float32."""
    return dtypes.float64 if dtype.name == "float64" else dtypes.float32


def _uniform(b, stream, shape, dtype):
    arity = 2 if dtype.name == "float64" else 1
    return b.np.reshape(stream.numbers(b, size_of(shape), arity, lambda w: _unit(b, w, dtype)), shape)


def _normal(b, stream, shape, dtype):
    real = _computed_in(dtype)
    numbers = stream.numbers(b, size_of(shape), 4 if real is dtypes.float64 else 2,
                             lambda w: _box_muller(b, w, real), pairs=True)  # fmt: skip
    return b.cast(b.np.reshape(numbers, shape), dtype)


def _truncated(b, stream, shape, dtype, bound=2.0):
    """Normal numbers, those outside (-bound, bound) drawn again: a group of four (two) numbers has a stream of its own."""
    real = _computed_in(dtype)
    per_group = 2 if real is dtypes.float64 else 4
    fill = _truncated_on_host if b.is_host else _truncated_compiled
    numbers = fill(b, stream, size_of(shape), real, per_group, np.uint64(_RESERVED * per_group // 4), bound)
    return b.cast(b.np.reshape(numbers, shape), dtype)


def _candidates(b, w, real):
    """Returns the normal numbers of a block, in order."""
    return _box_muller(b, w, real) if real is dtypes.float64 else _box_muller(b, w[:2], real) + _box_muller(b, w[2:], real)


def _truncated_on_host(b, stream, n, real, per_group, stride, bound):
    """Fills all groups from their first blocks, then those that are not full from their second blocks, and so on."""
    groups = -(-n // per_group)
    found = np.empty((groups, per_group), real.as_numpy_dtype)
    todo, count = [], []
    for first, w in stream._chunks(np.arange(groups, dtype=np.uint64) * stride + stream.start):
        drawn = np.stack(_candidates(b, w.T, real), -1)
        found[first:first + len(w)] = drawn
        good = np.abs(drawn) < bound
        rows = np.flatnonzero(sum(good.T, np.zeros(len(w), np.int8)) < per_group)  # a sixth of them
        todo.append(rows + first)
        count.append(_kept(found, rows + first, drawn[rows], good[rows], np.zeros(rows.size, np.int8)))
    todo, count = np.concatenate([*todo, np.empty(0, np.int64)]), np.concatenate([*count, np.empty(0, np.int8)])
    step = 0
    while todo.size:
        step += 1
        drawn = np.stack(_candidates(b, stream.block(b, todo.astype(np.uint64) * stride + np.uint64(step)), real), -1)
        count = _kept(found, todo, drawn, np.abs(drawn) < bound, count)
        todo, count = todo[count < per_group], count[count < per_group]
    return found.reshape(-1)[:n]


def _kept(found, rows, drawn, good, count):
    """Puts the good ones of `drawn` behind the first `count` numbers of the given rows; returns the new counts."""
    place = count[:, None] + np.cumsum(good, 1, dtype=np.int8) - good
    at, which = np.nonzero(good & (place < found.shape[1]))
    found[rows[at], place[at, which]] = drawn[at, which]
    return sum(good.T, count)


def _truncated_compiled(b, stream, n, real, per_group, stride, bound):
    """Number i of a group is the i-th good one of the group's stream. What is not found yet holds, from 100 up, how many
    good ones came so far; so there is one array to carry, and XLA makes one loop of a step."""
    kind = real.as_numpy_dtype
    key = stream.key, stream.upper, stream.start

    def missing(state):
        return b.np.any(state[0] >= 100)

    def draw(state):
        number, step = state
        # XLA would move the key schedule out of the loop, as dozens of scalars that are compiled one by one.
        (stream.key, stream.upper, stream.start), step = b.lax.optimization_barrier((key, step))
        index = b.np.arange(n, dtype=np.uint32)
        wanted = (index % np.uint32(per_group)).astype(kind)
        w = stream.block(b, (index // np.uint32(per_group)).astype(np.uint64) * stride + step)
        count = number - kind(100)
        for x in _candidates(b, w, real):
            good = b.np.abs(x) < kind(bound)
            number = b.np.where(good & (count == wanted), x, number)
            count = count + good.astype(kind)
        return b.np.where(number < 100, number, count + kind(100)), step + np.uint64(1)

    return b.lax.while_loop(missing, draw, (b.np.full(n, 100, kind), b.np.zeros((), np.uint64)))[0]


def _while(b, condition, body, state):
    if not b.is_host:
        return b.lax.while_loop(condition, body, state)
    with np.errstate(all="ignore"):
        while condition(state):
            state = body(state)
    return state


def _integers(b, stream, shape, dtype, low, high):
    """Integers in [low, high): 32 or 64 bits modulo the size of the range, as TF, slightly uneven for huge ranges."""
    wide = dtype.name == "int64"
    unsigned = np.uint64 if wide else np.uint32
    low, high = b.np.reshape(low, (1,)), b.np.reshape(high, (1,))
    size = b.np.maximum(high.astype(unsigned) - low.astype(unsigned), unsigned(1))

    def convert(w):
        bits = w[0].astype(np.uint64) | w[1].astype(np.uint64) << np.uint64(32) if wide else w[0]
        return (low.astype(unsigned) + bits % size).astype(dtype.as_numpy_dtype)

    return b.np.reshape(stream.numbers(b, size_of(shape), 2 if wide else 1, convert), shape)


# -- ops of a shape alone ------------------------------------------------------------------------------
SEEDS = {"seed": 0, "seed2": 0}


def _dims(shape):
    return tuple(int(d) for d in shape)


def _shape_infer(shape, *, dtype, **_):
    return Spec(_sizes(shape), dtype)


def _sizes(shape):
    rank_is(shape, 1, "shape, a vector of sizes")
    dims = shape.partial()
    if dims is not None and any(d is not None and d < 0 for d in dims):
        raise ShapeError(f"shape must hold sizes, each of which must be >= 0, got {list(dims)}")
    return dims


def _of_shape(op_type, draw):
    """Defines an op that draws a tensor of a given shape, TF's seeded form."""
    return define_op(op_type, "shape: T", types={"T": INDEX}, attrs={**SEEDS, "dtype": dtypes.float32}, static=(0,),
                     random=True, infer=_shape_infer, lower=lambda b, rng, shape, *, seed, seed2, dtype:
                     draw(b, _Stream(rng), _dims(shape), dtype))


def _seeded(infer, at=1):
    """Returns the shape rule of a stateless op: `infer` of its other operands, after a look at the seed, operand `at`."""
    def checked(*operands, **attrs):
        seed = operands[at]
        if not compatible(seed.dims, (2,)):
            raise ShapeError(f"seed must be two integers, got {spec_text(seed)}; Shape must be [2]")
        return infer(*operands[:at], *operands[at + 1:], **attrs)

    return checked


def _of_seed(op_type, draw):
    """Defines the stateless form: the numbers are a function of the operand `seed`, two integers."""
    return define_op(op_type, "shape: T, seed: Tseed", types={"T": INDEX, "Tseed": INDEX}, attrs={"dtype": dtypes.float32},
                     static=(0,), infer=_seeded(_shape_infer),
                     lower=lambda b, shape, seed, *, dtype: draw(b, _Stream.of_seed(b, seed), _dims(shape), dtype))


randomuniform_op = _of_shape("RandomUniform", _uniform)
randomstandardnormal_op = _of_shape("RandomStandardNormal", _normal)
truncatednormal_op = _of_shape("TruncatedNormal", _truncated)
statelessrandomuniform_op = _of_seed("StatelessRandomUniform", _uniform)
statelessrandomnormal_op = _of_seed("StatelessRandomNormal", _normal)
statelesstruncatednormal_op = _of_seed("StatelessTruncatedNormal", _truncated)


def _int_infer(shape, minval, maxval, **_):
    low, high = minval.value(), maxval.value()
    if low is not None and high is not None and not np.all(low < high):
        raise ValueError(f"Need minval < maxval, got {low} >= {high}")
    return Spec(_sizes(shape), minval.dtype)


def _int_lower(b, rng, shape, minval, maxval, *, seed, seed2):
    if b.is_host and not np.all(minval < maxval):
        raise BadValue(f"Need minval < maxval, got {minval} >= {maxval}")
    return _integers(b, _Stream(rng), _dims(shape), as_dtype(minval.dtype), minval, maxval)


randomuniformint_op = define_op("RandomUniformInt", "shape: T, minval: Tout, maxval: Tout", attrs=SEEDS, random=True,
                                types={"T": INDEX, "Tout": INDEX}, static=(0,), infer=_int_infer, lower=_int_lower)
randomuniformint_op.declare(refusal=Refusal(
    "Need minval < maxval", lambda b, result, rng, shape, low, high, **seeds: low >= high, by_itself=True,
    never=lambda shape, low, high, **seeds: extent(low)[1] < extent(high)[0]))
statelessrandomuniformint_op = define_op(
    "StatelessRandomUniformInt", "shape: T, seed: Tseed, minval: Tout, maxval: Tout", static=(0,),
    types={"T": INDEX, "Tseed": INDEX, "Tout": INDEX}, infer=_seeded(_int_infer),
    lower=lambda b, shape, seed, low, high:
    _integers(b, _Stream.of_seed(b, seed), _dims(shape), as_dtype(low.dtype), low, high))
statelessrandomuniformint_op.declare(refusal=Refusal(
    "Need minval < maxval", lambda b, result, shape, seed, low, high: low >= high,
    never=lambda shape, seed, low, high: extent(low)[1] < extent(high)[0]))


def _shape_tensor(shape):
    """Converts a shape as TF does for random ops: a list of Python ints is int32."""
    if hasattr(shape, "_as_graph_element"):
        return convert_to_tensor(shape)
    try:
        dims = as_dims(shape)
    except TypeError:
        return convert_to_tensor(shape, dtype=dtypes.int32, name="shape")
    if not fully_known(dims):
        raise ValueError(f"Cannot convert a partially known TensorShape {dims} to a Tensor; tf.shape(x) gives the shape at "
                         "run time.")
    large = any(d > _MAX_SEED for d in dims)
    return convert_to_tensor(np.array(dims, np.int64 if large else np.int32), name="shape")


def random_uniform(shape, minval=0, maxval=None, dtype=dtypes.float32, seed=None, name=None):
    """Returns numbers drawn evenly from [minval, maxval).

    Args:
      shape: vector of sizes.
      minval, maxval: the range, scalars (or tensors that broadcast to `shape`, for floats); [0, 1) by default.
      dtype: a floating type, int32 or int64; integers need `maxval`.
      seed: op seed; see `set_random_seed`.

    Raises:
      ValueError: another dtype, or an integer dtype without `maxval`.

    Gradient: flows to `minval` and `maxval`, not into the draw.

    Example:
      drawn = tf.Session().run(tf.random_uniform([100], 2.0, 3.0, seed=1))
      print(drawn.shape, 2.0 <= drawn.min() <= drawn.max() < 3.0)
      #> (100,) True
    """
    return _drawn_evenly("random_uniform", randomuniform_op, randomuniformint_op, shape, minval, maxval, dtype, name,
                         seeds=lambda: _seeds(seed))


def _drawn_evenly(function, floats, integers, shape, minval, maxval, dtype, name, *seed, seeds=dict):
    """Returns numbers drawn evenly by one of two ops, which take `seed` behind the shape, or `seeds()` as attributes."""
    dtype = as_dtype(dtype)
    _check_dtype(dtype, FLOATING | INDEX, function)
    if maxval is None:
        if dtype.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {dtype!r}")
        maxval = 1
    with get_default_graph().name_scope(name or function) as scope:
        shape = _shape_tensor(shape)
        minval = convert_to_tensor(minval, dtype=dtype, name="min")
        maxval = convert_to_tensor(maxval, dtype=dtype, name="max")
        if dtype.is_integer:
            return integers(shape, *seed, minval, maxval, name=scope, **seeds())
        draw = floats(shape, *seed, dtype=dtype, **seeds())
        return math.add_op(draw * (maxval - minval), minval, name=scope)


def _check_dtype(dtype, allowed, function):
    if dtype not in allowed:
        raise ValueError(f"{function}: Invalid dtype {dtype.name}, it is not one of {dtypes.names(allowed)}.")


def random_normal(shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, seed=None, name=None):
    """Returns numbers drawn from a normal distribution.

    Args:
      shape: vector of sizes.
      mean, stddev: scalars, or tensors that broadcast to `shape`; gradients flow to them.
      dtype: a floating type.
      seed: op seed; see `set_random_seed`.

    Example:
      drawn = tf.Session().run(tf.random_normal([1000], mean=5.0, seed=1))
      print(drawn.shape, 4.5 < drawn.mean() < 5.5)
      #> (1000,) True
    """
    return _scaled(randomstandardnormal_op, shape, mean, stddev, dtype, name or "random_normal", seeds=lambda: _seeds(seed))


def truncated_normal(shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, seed=None, name=None):
    """Returns numbers drawn from a normal distribution without what lies more than two standard deviations off.

    Args: as for `random_normal`.
    """
    return _scaled(truncatednormal_op, shape, mean, stddev, dtype, name or "truncated_normal", seeds=lambda: _seeds(seed))


def _scaled(op, shape, mean, stddev, dtype, name, *seed, seeds=dict):
    """Returns what an op draws times `stddev` plus `mean`; for `seed` and `seeds` see `_drawn_evenly`."""
    dtype = as_dtype(dtype)
    with get_default_graph().name_scope(name) as scope:
        shape = _shape_tensor(shape)
        mean = convert_to_tensor(mean, dtype=dtype, name="mean")
        stddev = convert_to_tensor(stddev, dtype=dtype, name="stddev")
        return math.add_op(op(shape, *seed, dtype=dtype, **seeds()) * stddev, mean, name=scope)


def stateless_random_uniform(shape, seed, minval=0, maxval=None, dtype=dtypes.float32, name=None):
    """Returns numbers as `random_uniform` does, a function of `seed` (two integers) alone."""
    return _drawn_evenly("stateless_random_uniform", statelessrandomuniform_op, statelessrandomuniformint_op, shape, minval,
                         maxval, dtype, name, seed)


def stateless_random_normal(shape, seed, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None):
    """Returns numbers as `random_normal` does, a function of `seed` (two integers) alone."""
    return _scaled(statelessrandomnormal_op, shape, mean, stddev, dtype, name or "stateless_random_normal", seed)


def stateless_truncated_normal(shape, seed, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None):
    """Returns numbers as `truncated_normal` does, a function of `seed` (two integers) alone."""
    return _scaled(statelesstruncatednormal_op, shape, mean, stddev, dtype, name or "stateless_truncated_normal", seed)


# -- RandomShuffle -----------------------------------------------------------------------------------
def _shuffle_infer(x, **attrs):
    return [Spec(x.dims, x.dtype), Spec((1,) if x.dims == () else (x.dims and x.dims[0],), dtypes.int32)]


def _shuffle_lower(b, rng, value, *, seed, seed2):
    """Fisher-Yates from the front: element i changes places with one of those from i on."""
    n = value.shape[0] if value.shape else 1
    order = np.arange(n, dtype=np.int32)
    if n < 2:
        return value, order
    drawn = _Stream(rng).numbers(b, n - 1, 1, lambda w: w[0]) % np.arange(n, 1, -1).astype(np.uint32)
    if b.is_host:
        for i, j in enumerate(drawn.tolist()):
            order[i], order[i + j] = order[i + j], order[i]
        return value[order], order

    def swap(i, order):
        j = i + drawn[i].astype(np.int32)
        x, y = order[i], order[j]
        return order.at[i].set(y).at[j].set(x)

    order = b.lax.fori_loop(0, n - 1, swap, b.np.asarray(order))
    return value[order], order


# The second output, which item went where, is for the gradient.
randomshuffle_op = define_op("RandomShuffle", "value", attrs=SEEDS, random=True, infer=_shuffle_infer, lower=_shuffle_lower)


def random_shuffle(value, seed=None, name=None):
    """Returns `value` with the items of its first axis in random order.

    Gradient: each item's goes back to where it came from.
    """
    return randomshuffle_op(value, name=name, **_seeds(seed))[0]


# -- Multinomial -----------------------------------------------------------------------------------------
def _multinomial_infer(logits, num_samples, **attrs):
    rank_is(logits, 2, "logits, a matrix")
    rank_is(num_samples, 0, "num_samples")
    n = num_samples.partial()
    if n is not None and n < 0:
        raise ValueError(f"num_samples should be nonnegative, got {n}")
    if logits.dims is not None and logits.dims[1] == 0:
        raise ValueError(f"num_classes should be positive, got {spec_text(logits)}")
    return Spec((None if logits.dims is None else logits.dims[0], n), attrs["output_dtype"])


def _categorical(b, stream, logits, num_samples, output_dtype):
    """Draws columns by the inverse of each row's cumulative distribution; columns that are not finite have no chance."""
    rows, n = logits.shape[0], int(num_samples)
    x = logits.astype(np.float64)
    finite = b.np.isfinite(x)
    top = reducing.extreme(b, b.np.where(finite, x, -np.inf), (1,), keepdims=True)
    chances = b.np.where(finite, b.np.exp(b.np.where(finite, x - top, 0.0)), 0.0)
    if b.is_host:
        total = np.cumsum(chances, axis=1)
    else:  # XLA would compute the exponentials for each of the sums that they are in, and the sums for each that is read
        (total,) = b.apart(b.np.cumsum(*b.apart(chances), axis=1))
    wanted = stream.numbers(b, rows * n, 2, lambda w: _unit(b, w, dtypes.float64)).reshape(rows, n) * total[:, -1:]
    # The first column whose running total exceeds the draw.
    if b.is_host:
        columns = [np.searchsorted(t, w, side="right") for t, w in zip(total, wanted)]
        columns = np.stack(columns) if rows else np.zeros((0, n))
    else:
        columns = b.jax.vmap(lambda t, w: b.np.searchsorted(t, w, side="right"))(total, wanted)
    return columns.astype(output_dtype.as_numpy_dtype)


multinomial_op = define_op(
    "Multinomial", "logits: T, num_samples: int32", attrs={**SEEDS, "output_dtype": dtypes.int64}, static=(1,), random=True,
    types={"T": REAL}, infer=_multinomial_infer, lower=lambda b, rng, logits, n, *, seed, seed2, output_dtype:
    _categorical(b, _Stream(rng), logits, n, output_dtype))
statelessmultinomial_op = define_op(
    "StatelessMultinomial", "logits: T, num_samples: int32, seed: Tseed", attrs={"output_dtype": dtypes.int64}, static=(1,),
    types={"T": REAL, "Tseed": INDEX}, infer=_seeded(_multinomial_infer, 2), lower=lambda b, logits, n, seed, *, output_dtype:
    _categorical(b, _Stream.of_seed(b, seed), logits, n, output_dtype))


def multinomial(logits, num_samples, seed=None, name=None, output_dtype=None):
    """Returns `num_samples` draws per row, [rows, num_samples] of int64 (or `output_dtype`), from the categorical
    distributions whose unnormalised log-probabilities are the rows of `logits`."""
    return multinomial_op(logits, num_samples, name=name or "multinomial/Multinomial",
                          output_dtype=as_dtype(output_dtype or dtypes.int64), **_seeds(seed))


def categorical(logits, num_samples, dtype=None, seed=None, name=None):
    """Returns draws from categorical distributions: `multinomial` by its later name."""
    return multinomial_op(logits, num_samples, name=name or "categorical/Multinomial",
                          output_dtype=as_dtype(dtype or dtypes.int64), **_seeds(seed))


def stateless_multinomial(logits, num_samples, seed, output_dtype=dtypes.int64, name=None):
    """Returns draws as `multinomial` does, a function of `seed` (two integers) alone."""
    return statelessmultinomial_op(logits, num_samples, seed, name=name or "stateless_multinomial",
                                   output_dtype=as_dtype(output_dtype))


def stateless_categorical(logits, num_samples, seed, dtype=dtypes.int64, name=None):
    """Returns draws as `multinomial` does, a function of `seed` (two integers) alone."""
    return stateless_multinomial(logits, num_samples, seed, dtype, name or "stateless_categorical")


# -- rejection, one stream per number ---------------------------------------------------------------------
class _Sequence:
    """Words of many streams at once, one per number, read at the pace of each: what a rejecting sampler needs.

    A block gives two uniform or two normal float64 numbers; TF reads the second one first. The state is a tuple of
    arrays, so that it can be carried through a compiled loop: next block, numbers left, the pair at hand.
    """

    def __init__(self, b, stream, first, convert):
        self.b = b
        self.stream = stream
        self.first = first
        self.convert = convert

    def start(self):
        zero = self.b.np.zeros(self.first.shape, np.float64)
        return self.b.np.zeros(self.first.shape, np.int32), zero, zero

    def next(self, state, block, active):
        """Returns (number, state, next block); only streams in `active` move on."""
        np_ = self.b.np
        left, pair0, pair1 = state
        empty = active & (left == 0)
        new0, new1 = self.convert(self.b, self.stream.block(self.b, self.first + block))
        pair0, pair1 = np_.where(empty, new0, pair0), np_.where(empty, new1, pair1)
        block = block + empty.astype(np.uint64)
        left = np_.where(empty, 2, left)
        number = np_.where(left == 2, pair1, pair0)
        return number, (left - active.astype(np.int32), pair0, pair1), block


def _two_uniform(b, w):
    return _unit(b, w[:2], dtypes.float64), _unit(b, w[2:], dtypes.float64)


def _two_normal(b, w):
    return _box_muller(b, w, dtypes.float64)


def _gamma_lower(b, rng, shape, alpha, *, seed, seed2):
    """Marsaglia & Tsang 2000; an alpha below 1 through alpha + 1 and a power of a uniform number."""
    np_ = b.np
    count, dims = size_of(_dims(shape)), alpha.shape
    a = np_.repeat(np_.reshape(alpha, (-1,)).astype(np.float64), count)
    n = a.shape[0]
    stream = _Stream(rng)
    first = np_.arange(n, dtype=np.uint64) * np.uint64(_RESERVED)
    normals, uniforms = _Sequence(b, stream, first, _two_normal), _Sequence(b, stream, first, _two_uniform)
    small, unit = a < 1, a == 1
    d = a + np_.where(small, 2.0 / 3, -1.0 / 3)
    c = (1.0 / 3) / np_.sqrt(d)

    def searching(state):
        return np_.any(~state[1])

    def step(state):
        result, done, block, ns, us = state
        active = ~done
        x, ns, block = normals.next(ns, block, active & ~unit)
        v = 1 + c * x
        positive = active & (unit | (v > 0))
        v = np_.where(v > 0, v, 1.0) ** 3
        u, us, block = uniforms.next(us, block, positive)
        x2 = x * x
        good = (u < 1 - 0.0331 * x2 * x2) | (np_.log(u) < 0.5 * x2 + d * (1 - v + np_.log(v)))
        good = positive & (good | unit)
        p, us, block = uniforms.next(us, block, good & small)
        drawn = np_.where(unit, -np_.log1p(-u), d * v * np_.where(small, p ** (1 / np_.where(small, a, 1.0)), 1.0))
        return np_.where(good, drawn, result), done | good, block, ns, us

    start = (np_.zeros(n, np.float64), np_.zeros(n, bool), np_.zeros(n, np.uint64), normals.start(), uniforms.start())
    found = _while(b, searching, step, start)[0]
    by_alpha = np_.reshape(found, (-1, count)) if n else np_.zeros((alpha.size, count), np.float64)
    return np_.reshape(by_alpha.T, _dims(shape) + dims).astype(alpha.dtype)


def _samples_infer(shape, parameter, **attrs):
    dims = _sizes(shape)
    known = None if dims is None or parameter.dims is None else dims + parameter.dims
    return Spec(known, attrs.get("dtype") or parameter.dtype)


randomgamma_op = define_op("RandomGamma", "shape: S, alpha: T", attrs=SEEDS, static=(0,), random=True,
                           types={"S": INDEX, "T": FLOATING}, infer=_samples_infer, lower=_gamma_lower)
randomgammagrad_op = define_op("RandomGammaGrad", "alpha, sample", types={"T": FLOATING}, infer=broadcasted, xla_only=True,
                               lower=lambda b, alpha, sample: b.lax.random_gamma_grad(
                                   *b.np.broadcast_arrays(alpha, sample)))


def random_gamma(shape, alpha, beta=None, dtype=dtypes.float32, seed=None, name=None):
    """Returns draws from gamma distributions, of shape `shape` + the broadcast shape of `alpha` and `beta`.

    Args:
      shape: vector of sizes: how many draws of each.
      alpha: shape parameters, positive.
      beta: inverse scales; 1 by default.
      dtype: floating type of the parameters, where they are Python numbers.
      seed: op seed.

    Gradient: flows to `alpha` (implicitly, Figurnov et al. 2018) and `beta`.
    """
    dtype = as_dtype(dtype)
    with get_default_graph().name_scope(name or "random_gamma"):
        shape = _shape_tensor(shape)
        alpha = convert_to_tensor(alpha, name="alpha", dtype=None if hasattr(alpha, "dtype") else dtype)
        beta = convert_to_tensor(1 if beta is None else beta, name="beta", dtype=alpha.dtype)
        # Zeros of the common shape make `alpha` have it, with a gradient that sums back.
        alpha = alpha + array.zeros_like(beta)
        draw = randomgamma_op(shape, alpha, **_seeds(seed))
        smallest = np.finfo(alpha.dtype.as_numpy_dtype).tiny
        return math.maximum(convert_to_tensor(smallest, dtype=alpha.dtype), draw / beta)


# -- RandomPoissonV2 -----------------------------------------------------------------------------------------
def _poisson_lower(b, rng, shape, rate, *, seed, seed2, dtype):
    """Rates below 10 by multiplying uniform numbers (Knuth); others by transformed rejection (Hormann 1993)."""
    np_ = b.np
    count, dims = size_of(_dims(shape)), rate.shape
    lam = np_.repeat(np_.reshape(rate, (-1,)).astype(np.float64), count)
    n = lam.shape[0]
    stream = _Stream(rng)
    uniforms = _Sequence(b, stream, np_.arange(n, dtype=np.uint64) * np.uint64(_RESERVED), _two_uniform)
    small = lam < 10
    limit = np_.exp(-np_.where(small, lam, 1.0))
    log_rate = np_.log(np_.where(small, 10.0, lam))
    spread = 0.931 + 2.53 * np_.sqrt(np_.where(small, 10.0, lam))
    a = -0.059 + 0.02483 * spread
    inverse_alpha = 1.1239 + 1.1328 / (spread - 3.4)
    log_gamma = np.vectorize(pymath.lgamma, otypes=[np.float64]) if b.is_host else b.lax.lgamma

    def searching(state):
        return np_.any(~state[1])

    def step(state):
        result, done, product, block, us = state
        active = ~done
        u, us, block = uniforms.next(us, block, active)
        # Few events: count factors until the product is small enough.
        product = np_.where(active & small, product * u, product)
        ended = small & (product <= limit)
        # Many: a candidate from an envelope, accepted by area or by the exact ratio.
        v, us, block = uniforms.next(us, block, active & ~small)
        u = u - 0.5
        shifted = 0.5 - np_.abs(u)
        k = np_.floor((2 * a / shifted + spread) * u + lam + 0.43)
        sure = (shifted >= 0.07) & (v <= 0.9277 - 3.6224 / (spread - 2))
        hopeless = (k < 0) | (shifted < 0.013) & (v > shifted)
        left = np_.log(v * inverse_alpha / (a / (shifted * shifted) + spread))
        right = -lam + k * log_rate - log_gamma(np_.maximum(k, 0.0) + 1)
        accepted = ~small & (sure | ~hopeless & (left <= right))
        result = np_.where(active & small & ~ended, result + 1, np_.where(active & accepted, k, result))
        return result, done | active & (ended | accepted), product, block, us

    # A rate that is no positive number gives NaN, or the result would never be found.
    valid = np_.isfinite(lam) & (lam >= 0)
    start = (np_.where(valid, 0.0, np.nan), ~valid, np_.ones(n, np.float64), np_.zeros(n, np.uint64), uniforms.start())
    found = _while(b, searching, step, start)[0]
    by_rate = np_.reshape(found, (-1, count)) if n else np_.zeros((rate.size, count), np.float64)
    return np_.reshape(by_rate.T, _dims(shape) + dims).astype(dtype.as_numpy_dtype)


randompoisson_op = define_op(
    "RandomPoissonV2", "shape: S, rate: R", attrs={**SEEDS, "dtype": dtypes.int64}, static=(0,), random=True,
    types={"S": INDEX, "R": REAL}, infer=_samples_infer, lower=_poisson_lower)


def random_poisson(lam, shape, dtype=dtypes.float32, seed=None, name=None):
    """Returns draws from Poisson distributions, of shape `shape` + the shape of `lam`, the rates.

    Args:
      lam: rates, at least 0.
      shape: vector of sizes: how many draws of each.
      dtype: type of the result, floating or integer.
      seed: op seed.
    """
    dtype = as_dtype(dtype)
    if dtype not in REAL:
        raise TypeError(f"random_poisson: Value passed to parameter 'dtype' has DataType {dtype.name} not in list of allowed "
                        "values: floating and integer types")
    with get_default_graph().name_scope(name or "random_poisson"):
        shape = _shape_tensor(shape)
        return randompoisson_op(shape, lam, dtype=dtype, **_seeds(seed))


# -- ParameterizedTruncatedNormal --------------------------------------------------------------------------
def _interval_infer(shape, means, stdevs, minvals, maxvals, **attrs):
    dims = _sizes(shape)
    for name, x in (("means", means), ("stdevs", stdevs), ("minvals", minvals), ("maxvals", maxvals)):
        if x.rank is not None and x.rank > 1:
            raise ShapeError(f"{name} must be a scalar or a vector with one value per batch item, got {spec_text(x)}")
        if x.rank == 1 and dims and None not in (x.dims[0], dims[0]) and x.dims[0] not in (1, dims[0]):
            raise ShapeError(f"{name} has {x.dims[0]} values for a batch of {dims[0]}")
    return Spec(dims, means.dtype)


def _interval_lower(b, rng, shape, means, stdevs, minvals, maxvals, *, seed, seed2):
    """Rejection from the proposal that suits the interval: normal, uniform, or exponential for a tail (Robert 1995)."""
    np_ = b.np
    dims = _dims(shape)
    n = size_of(dims)
    if n == 0:
        return np_.zeros(dims, means.dtype)
    mean, stdev, low, high = (np_.ravel(np_.broadcast_to(np_.reshape(x.astype(np.float64), (-1,) + (1,) * (len(dims) - 1)),
                                                         dims)) for x in (means, stdevs, minvals, maxvals))
    a, z = (low - mean) / stdev, (high - mean) / stdev
    flip = z < -a  # the side nearer to the mean comes first
    a, z = np_.where(flip, -z, a), np_.where(flip, -a, z)
    stream = _Stream(rng)
    first = np_.arange(n, dtype=np.uint64) * np.uint64(_RESERVED)
    normals, uniforms = _Sequence(b, stream, first, _two_normal), _Sequence(b, stream, first, _two_uniform)
    inside = (a <= 0) & (z >= 0)
    centre = np_.where(np_.isfinite(a), a, 0.0)
    rate = (centre + np_.sqrt(centre * centre + 4)) / 2
    use_normal = inside & (z - a > 2.5)
    use_tail = ~use_normal & (z - centre > 1 / rate) & (a > 0)
    width = np_.where(use_normal | use_tail, 1.0, z - centre)
    nearest = np_.where(inside, 0.0, centre)

    def searching(state):
        return np_.any(~state[1])

    def step(state):
        result, done, block, ns, us = state
        active = ~done
        x, ns, block = normals.next(ns, block, active & use_normal)
        u, us, block = uniforms.next(us, block, active & ~use_normal)
        v, us, block = uniforms.next(us, block, active & ~use_normal)
        tail = centre - np_.log1p(-u) / rate
        flat = centre + u * width
        x = np_.where(use_normal, x, np_.where(use_tail, tail, flat))
        ratio = np_.where(use_tail, -0.5 * (x - rate) ** 2, 0.5 * (nearest * nearest - x * x))
        good = active & (x >= a) & (x <= z) & (use_normal | (v <= np_.exp(ratio)))
        return np_.where(good, x, result), done | good, block, ns, us

    # An interval that is none gives NaN, or the result would never be found.
    valid = (stdev > 0) & (a < z)
    start = (np_.where(valid, 0.0, np.nan), ~valid, np_.zeros(n, np.uint64), normals.start(), uniforms.start())
    x = _while(b, searching, step, start)[0]
    return np_.reshape(mean + stdev * np_.where(flip, -x, x), dims).astype(means.dtype)


parameterizedtruncatednormal_op = define_op(
    "ParameterizedTruncatedNormal", "shape: S, means: T, stdevs: T, minvals: T, maxvals: T", attrs=SEEDS, static=(0,),
    random=True, types={"S": INDEX, "T": FLOATING}, infer=_interval_infer, lower=_interval_lower)


def parameterized_truncated_normal(shape, means=0.0, stddevs=1.0, minvals=-2.0, maxvals=2.0, dtype=dtypes.float32, seed=None,
                                   name=None):
    """Returns draws from normal distributions cut off outside of [minvals, maxvals].

    Args:
      shape: vector of sizes; the first is the batch.
      means, stddevs, minvals, maxvals: scalars, or vectors of one value per batch item; the bounds may be infinite.
      dtype: floating type of the parameters, where they are Python numbers.
      seed: op seed. The numbers are not TensorFlow's; their distribution is.
    """
    dtype = as_dtype(dtype)
    with get_default_graph().name_scope(name or "parameterized_truncated_normal"):
        shape = _shape_tensor(shape)
        given = [convert_to_tensor(x, name=n, dtype=None if hasattr(x, "dtype") else dtype)
                 for x, n in ((means, "means"), (stddevs, "stddevs"), (minvals, "minvals"), (maxvals, "maxvals"))]
        return parameterizedtruncatednormal_op(shape, *given, **_seeds(seed))


def random_crop(value, size, seed=None, name=None):
    """Returns a window of shape `size` cut from `value` at a random place."""
    with get_default_graph().name_scope(name or "random_crop") as scope:
        from regrad.ops.indexing import block

        value = convert_to_tensor(value, name="value")
        size = convert_to_tensor(size, dtype=None if hasattr(size, "dtype") else dtypes.int32, name="size")
        wanted = size.partial()
        if value.dims is not None and wanted is not None:
            for i, (d, s) in enumerate(zip(value.dims, wanted)):
                if d is not None and s is not None and s > d:
                    raise BadValue(f"Need value.shape >= size, got {list(value.dims)} and {list(wanted)} (axis {i})")
        limit = array.shape(value) - size + 1
        drawn = random_uniform(array.shape(limit), maxval=size.dtype.max, dtype=size.dtype, seed=seed)
        return block(value, math.floormod(drawn, limit), size, name=scope)


# -- how much of its stream a run of an op takes: as in TF's kernels, so that later runs go on as theirs do -----------
for _op in (randomuniform_op, randomstandardnormal_op, truncatednormal_op, randomuniformint_op, randomgamma_op,
            randompoisson_op, parameterizedtruncatednormal_op):
    _op.declare(blocks=lambda attrs, dims: size_of(dims) * _RESERVED)
randomshuffle_op.declare(blocks=lambda attrs, dims, order: -(-order[0] // 4))
multinomial_op.declare(blocks=lambda attrs, dims: dims[0] * -(-dims[1] // 4) * 4 * 2 * _RESERVED)
