"""Random numbers: TensorFlow's streams, number for number.

An op's numbers are a function of its two seeds and of how much it drew before: Philox4x32-10 (Salmon et al. 2011) with
the seeds as key and upper counter, TF's conversions from bits to numbers, and TF's steps through the counter. So the same
seeds give what TensorFlow's CPU kernels give; `docs/differences.md` says where sums differ in the last bit.

Gradients: `random_grad.py`. Tests: `tests/cases/random.py`, `tests/variables/test_random.py`.
"""

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import FLOATING, INDEX, as_dtype
from regrad.core.errors import ShapeError
from regrad.core.graph import FuncGraph, get_default_graph
from regrad.core.opdef import Spec, define_op, spec_text
from regrad.core.shapes import as_dims, fully_known, size_of
from regrad.ops import math

# -- seeds -----------------------------------------------------------------------------------
DEFAULT_GRAPH_SEED = 87654321
_MAX_SEED = 2**31 - 1


def get_seed(op_seed):
    """Returns the pair of seeds for an op, by TF's rule.

    With a graph seed and no op seed, the op seed is the number of operations in the graph; with an op seed alone, the
    graph seed is 87654321; with neither the pair is (None, None), and every session draws other numbers.
    """
    graph = get_default_graph()
    if graph.seed is not None:
        if op_seed is None:
            op_seed = _operations_so_far(graph)
        seeds = graph.seed % _MAX_SEED, op_seed % _MAX_SEED
    elif op_seed is not None:
        seeds = DEFAULT_GRAPH_SEED, op_seed % _MAX_SEED
    else:
        return None, None
    # (0, 0) means "no seed" to the kernels.
    return (0, _MAX_SEED) if seeds == (0, 0) else seeds


def _operations_so_far(graph):
    if not isinstance(graph, FuncGraph):
        return graph.version
    # Bodies are graphs of their own; the count of seeded ops in bodies keeps two branches from drawing the same numbers.
    root, total = graph.root, 0
    while graph is not None:
        total, graph = total + graph.version, graph.outer_graph
    drawn = root.__dict__["_seeds_in_bodies"] = root.__dict__.get("_seeds_in_bodies", 0) + 1
    return total + 1_000_003 * drawn


def set_random_seed(seed):
    """Sets the graph seed of the default graph: ops made from here on, without a seed of their own, draw the same
    numbers in every session."""
    get_default_graph().seed = seed


def _seeds(op_seed):
    seed, seed2 = get_seed(op_seed)
    return {"seed": seed or 0, "seed2": seed2 or 0}


# -- bits ----------------------------------------------------------------------------------------
_RESERVED = 256  # counter steps that TF sets aside per number, so that rejection cannot run into the next run's


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


class _Stream:
    """The words of one op in one run: a key, and a 128-bit counter of which the low half counts blocks."""

    def __init__(self, rng, drawn):
        """Args: rng: uint64[3] (graph seed, op seed, earlier runs); drawn: numbers that a run draws."""
        self.key = _low(rng[0:1]), _high(rng[0:1])
        self.upper = _low(rng[1:2]), _high(rng[1:2])
        self.start = rng[2:3] * np.uint64(drawn * _RESERVED)

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
        zero = b.np.zeros(index.shape, np.uint32)
        return _philox((_low(index), _high(index), self.upper[0] + zero, self.upper[1] + zero), self.key)

    def words(self, b, n, arity, share=1):
        """Returns `arity` arrays of n words: number i takes the words of draw i // share, 4 // arity draws to a block."""
        per_block = 4 // arity
        if b.is_host:
            draws = -(-n // share)
            w = np.stack(self.block(b, np.arange(-(-draws // per_block), dtype=np.uint64)), -1).reshape(-1, arity)[:draws]
            w = np.repeat(w, share, 0)[:n] if share > 1 else w
            return tuple(w[:, i] for i in range(arity))
        # Every number computes its own block, four times over: XLA fuses and vectorises that, and it is several times
        # faster than computing each block once and interleaving its words (1.2 against 9.8 ms for 1M numbers).
        draw = b.np.arange(n, dtype=np.uint32) // np.uint32(share)
        lane = draw % np.uint32(per_block)
        w = self.block(b, (draw // np.uint32(per_block)).astype(np.uint64))
        if arity == 4:
            return w
        if arity == 2:
            return b.np.where(lane == 0, w[0], w[2]), b.np.where(lane == 0, w[1], w[3])
        where = b.np.where
        return (where(lane < 2, where(lane == 0, w[0], w[1]), where(lane == 2, w[2], w[3])),)


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
    if b.is_host:  # NumPy's float32 functions are off by up to 4 units in the last place, its float64 ones by none here
        log, sin, cos = (f(x.astype(np.float64)).astype(kind)
                         for f, x in ((np.log, u), (np.sin, angle), (np.cos, angle)))  # fmt: skip
    elif real is dtypes.float32:
        log, (sin, cos) = b.np.log(u), _sin_cos(b, angle, turns)
    else:
        log, sin, cos = b.np.log(u), b.np.sin(angle), b.np.cos(angle)
    radius = b.np.sqrt(kind(-2) * log)
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
    return b.np.reshape(_unit(b, stream.words(b, size_of(shape), 2 if dtype.name == "float64" else 1), dtype), shape)


def _normal(b, stream, shape, dtype):
    real = _computed_in(dtype)
    n = size_of(shape)
    even, odd = _box_muller(b, stream.words(b, n, 4 if real is dtypes.float64 else 2, share=2), real)
    first = (b.np.arange(n, dtype=np.uint32) & np.uint32(1)) == 0
    return b.cast(b.np.reshape(b.np.where(first, even, odd), shape), dtype)


def _truncated(b, stream, shape, dtype, bound=2.0):
    """Normal numbers, those outside (-bound, bound) drawn again: a group of four (two) numbers has a stream of its own.

    Number i of a group is the i-th good one of the group's stream. What is not found yet holds, from 100 up, how many
    good ones came so far; so there is one array to carry, and XLA makes one loop of a step.
    """
    real = _computed_in(dtype)
    kind = real.as_numpy_dtype
    per_group = 2 if real is dtypes.float64 else 4
    n = size_of(shape)
    key = stream.key, stream.upper, stream.start

    def missing(state):
        return b.np.any(state[0] >= 100)

    def draw(state):
        number, step = state
        if not b.is_host:
            # XLA would move the key schedule out of the loop, as dozens of scalars that are compiled one by one.
            (stream.key, stream.upper, stream.start), step = b.lax.optimization_barrier((key, step))
        index = b.np.arange(n, dtype=np.uint32)
        wanted = (index % np.uint32(per_group)).astype(kind)
        first = (index // np.uint32(per_group)).astype(np.uint64) * np.uint64(_RESERVED * per_group // 4)
        w = stream.block(b, first + step)
        candidates = _box_muller(b, w, real) if per_group == 2 else _box_muller(b, w[:2], real) + _box_muller(b, w[2:], real)
        count = number - kind(100)
        for x in candidates:
            good = b.np.abs(x) < kind(bound)
            number = b.np.where(good & (count == wanted), x, number)
            count = count + good.astype(kind)
        return b.np.where(number < 100, number, count + kind(100)), step + np.uint64(1)

    number, _ = _while(b, missing, draw, (b.np.full(n, 100, kind), b.np.zeros((), np.uint64)))
    return b.cast(b.np.reshape(number, shape), dtype)


def _while(b, condition, body, state):
    if not b.is_host:
        return b.lax.while_loop(condition, body, state)
    with np.errstate(all="ignore"):
        while condition(state):
            state = body(state)
    return state


def _integers(b, stream, shape, dtype, low, high):
    """Integers in [low, high): 32 or 64 bits modulo the size of the range, as TF, slightly uneven for huge ranges."""
    wide = dtype.name in ("int64", "uint64")
    unsigned = np.uint64 if wide else np.uint32
    w = stream.words(b, size_of(shape), 2 if wide else 1)
    bits = w[0].astype(np.uint64) | w[1].astype(np.uint64) << np.uint64(32) if wide else w[0]
    if low is None:
        return b.np.reshape(bits, shape).astype(dtype.as_numpy_dtype)
    low, high = b.np.reshape(low, (1,)), b.np.reshape(high, (1,))
    size = high.astype(unsigned) - low.astype(unsigned)
    bits = bits % b.np.maximum(size, unsigned(1))
    return b.np.reshape(low.astype(unsigned) + bits, shape).astype(dtype.as_numpy_dtype)


# -- ops of a shape alone ------------------------------------------------------------------------------
SEEDS = {"seed": 0, "seed2": 0}


def _dims(shape):
    return tuple(int(d) for d in shape)


def _shape_infer(shape, *, dtype, **_):
    return Spec(_sizes(shape), dtype)


def _sizes(shape):
    if shape.dims is not None and len(shape.dims) != 1:
        raise ShapeError(f"shape must be a vector of sizes, got {spec_text(shape)}")
    dims = shape.partial()
    if dims is not None and any(d is not None and d < 0 for d in dims):
        raise ShapeError(f"shape must hold sizes of at least 0, got {list(dims)}")
    return dims


def _of_shape(op_type, draw):
    """Defines an op that draws a tensor of a given shape, TF's seeded form."""
    return define_op(op_type, "shape: T", types={"T": INDEX}, attrs={**SEEDS, "dtype": dtypes.float32}, static=(0,),
                     random=True, infer=_shape_infer, lower=lambda b, rng, shape, *, seed, seed2, dtype:
                     draw(b, _Stream(rng, size_of(_dims(shape))), _dims(shape), dtype))  # fmt: skip


def _of_seed(op_type, draw):
    """Defines the stateless form: the numbers are a function of the operand `seed`, two integers."""
    return define_op(op_type, "shape: T, seed: Tseed", types={"T": INDEX, "Tseed": INDEX}, attrs={"dtype": dtypes.float32},
                     static=(0,), infer=lambda shape, seed, *, dtype: _shape_infer(shape, dtype=dtype),
                     lower=lambda b, shape, seed, *, dtype: draw(b, _Stream.of_seed(b, seed), _dims(shape), dtype))  # fmt: skip


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
    dims = _dims(shape)
    return _integers(b, _Stream(rng, size_of(dims)), dims, as_dtype(minval.dtype), minval, maxval)


randomuniformint_op = define_op("RandomUniformInt", "shape: T, minval: Tout, maxval: Tout", attrs=SEEDS, random=True,
                                types={"T": INDEX, "Tout": INDEX}, static=(0,), infer=_int_infer, lower=_int_lower)  # fmt: skip
statelessrandomuniformint_op = define_op(
    "StatelessRandomUniformInt", "shape: T, seed: Tseed, minval: Tout, maxval: Tout", static=(0,),
    types={"T": INDEX, "Tseed": INDEX, "Tout": INDEX}, infer=lambda shape, seed, low, high: _int_infer(shape, low, high),
    lower=lambda b, shape, seed, low, high:
    _integers(b, _Stream.of_seed(b, seed), _dims(shape), as_dtype(low.dtype), low, high))  # fmt: skip


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
                         "run time.")  # fmt: skip
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
    """
    dtype = as_dtype(dtype)
    _check_dtype(dtype, FLOATING | INDEX, "random_uniform")
    if maxval is None:
        if dtype.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {dtype!r}")
        maxval = 1
    with get_default_graph().name_scope(name or "random_uniform") as scope:
        shape = _shape_tensor(shape)
        minval = convert_to_tensor(minval, dtype=dtype, name="min")
        maxval = convert_to_tensor(maxval, dtype=dtype, name="max")
        if dtype.is_integer:
            return randomuniformint_op(shape, minval, maxval, name=scope, **_seeds(seed))
        draw = randomuniform_op(shape, dtype=dtype, **_seeds(seed))
        return math.add_op(draw * (maxval - minval), minval, name=scope)


def _check_dtype(dtype, allowed, function):
    if dtype not in allowed:
        raise ValueError(f"{function}: dtype {dtype.name} is not one of {dtypes.names(allowed)}.")


def random_normal(shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, seed=None, name=None):
    """Returns numbers drawn from a normal distribution.

    Args:
      shape: vector of sizes.
      mean, stddev: scalars, or tensors that broadcast to `shape`; gradients flow to them.
      dtype: a floating type.
      seed: op seed; see `set_random_seed`.
    """
    with get_default_graph().name_scope(name or "random_normal") as scope:
        return _scaled(randomstandardnormal_op, shape, mean, stddev, dtype, seed, scope)


def truncated_normal(shape, mean=0.0, stddev=1.0, dtype=dtypes.float32, seed=None, name=None):
    """Returns numbers drawn from a normal distribution without what lies more than two standard deviations off.

    Args: as for `random_normal`.
    """
    with get_default_graph().name_scope(name or "truncated_normal") as scope:
        return _scaled(truncatednormal_op, shape, mean, stddev, dtype, seed, scope)


def _scaled(op, shape, mean, stddev, dtype, seed, scope):
    dtype = as_dtype(dtype)
    shape = _shape_tensor(shape)
    mean = convert_to_tensor(mean, dtype=dtype, name="mean")
    stddev = convert_to_tensor(stddev, dtype=dtype, name="stddev")
    draw = op(shape, dtype=dtype, **_seeds(seed))
    return math.add_op(draw * stddev, mean, name=scope)


def stateless_random_uniform(shape, seed, minval=0, maxval=None, dtype=dtypes.float32, name=None):
    """Returns numbers as `random_uniform` does, a function of `seed` (two integers) alone."""
    dtype = as_dtype(dtype)
    _check_dtype(dtype, FLOATING | INDEX, "stateless_random_uniform")
    if maxval is None:
        if dtype.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {dtype!r}")
        maxval = 1
    with get_default_graph().name_scope(name or "stateless_random_uniform") as scope:
        shape = _shape_tensor(shape)
        minval = convert_to_tensor(minval, dtype=dtype, name="min")
        maxval = convert_to_tensor(maxval, dtype=dtype, name="max")
        if dtype.is_integer:
            return statelessrandomuniformint_op(shape, seed, minval, maxval, name=scope)
        draw = statelessrandomuniform_op(shape, seed, dtype=dtype)
        return math.add_op(draw * (maxval - minval), minval, name=scope)


def stateless_random_normal(shape, seed, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None):
    """Returns numbers as `random_normal` does, a function of `seed` (two integers) alone."""
    return _stateless_scaled(statelessrandomnormal_op, shape, seed, mean, stddev, dtype, name or "stateless_random_normal")


def stateless_truncated_normal(shape, seed, mean=0.0, stddev=1.0, dtype=dtypes.float32, name=None):
    """Returns numbers as `truncated_normal` does, a function of `seed` (two integers) alone."""
    return _stateless_scaled(statelesstruncatednormal_op, shape, seed, mean, stddev, dtype,
                             name or "stateless_truncated_normal")  # fmt: skip


def _stateless_scaled(op, shape, seed, mean, stddev, dtype, name):
    dtype = as_dtype(dtype)
    with get_default_graph().name_scope(name) as scope:
        shape = _shape_tensor(shape)
        mean = convert_to_tensor(mean, dtype=dtype, name="mean")
        stddev = convert_to_tensor(stddev, dtype=dtype, name="stddev")
        return math.add_op(op(shape, seed, dtype=dtype) * stddev, mean, name=scope)
