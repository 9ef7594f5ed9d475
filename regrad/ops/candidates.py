"""Drawing a few classes out of many: the candidate samplers behind `tf.nn.nce_loss` and
`tf.nn.sampled_softmax_loss`.

They run on the host: without repetition, how long a draw takes depends on what is drawn.
"""

import collections
import csv
import functools

import numpy as np

from regrad.core.dtypes import float32, int32, int64
from regrad.core.errors import InvalidArgumentError, ShapeError
from regrad.core.gradient_registry import NotDifferentiable
from regrad.core.opdef import Spec, define_op, rank_is, spec_text
from regrad.core.reading import reading
from regrad.ops.random import get_seed

CandidateSampler = collections.namedtuple(
    "CandidateSampler", ["sampled_candidates", "true_expected_count", "sampled_expected_count"])
AccidentalHits = collections.namedtuple("AccidentalHits", ["indices", "ids", "weights"])

_ATTRS = {"num_true": 1, "num_sampled": None, "unique": True, "range_max": None, "seed": 0, "seed2": 0}


def _true_classes(true_classes, num_true):
    rank_is(true_classes, 2, "true_classes, a matrix [batch, num_true]")
    dims = true_classes.dims or (None, num_true)
    if dims[1] not in (None, num_true):
        raise ShapeError(f"true_classes must have num_true = {num_true} columns, got "
                         f"{spec_text(true_classes)}")
    return dims[0], num_true


def _infer(true_classes, *, num_true, num_sampled, unique, range_max, **attrs):
    if unique and num_sampled > range_max:
        raise ValueError(f"{num_sampled} different classes cannot be drawn out of {range_max}.")
    dims = _true_classes(true_classes, num_true)
    return [Spec((num_sampled,), int64), Spec(dims, float32), Spec((num_sampled,), float32)]


def _draw(random, draw, num_sampled, unique):
    """Returns (classes, number of draws) of `draw(n)`; repeated ones are drawn again when `unique`."""
    if not unique:
        return draw(num_sampled), num_sampled
    chosen, tries = {}, 0
    while len(chosen) < num_sampled:
        for c in draw(2 * num_sampled):
            tries += 1
            chosen[int(c)] = True
            if len(chosen) == num_sampled:
                break
    return np.array(list(chosen), np.int64), tries


def _expected(p, num_sampled, unique, tries):
    """Returns how often a class of probability `p` is expected among the samples."""
    if not unique or tries == num_sampled:  # where no draw was repeated, they count as draws with replacement
        return (p * num_sampled).astype(np.float32)
    with np.errstate(divide="ignore"):
        return (-np.expm1(tries * np.log1p(-p))).astype(np.float32)


def _sampler(op_type, probabilities, attrs=None):
    """Defines a sampler from `probabilities(classes, **attrs)`, a function of an array of classes."""

    @functools.lru_cache(maxsize=4)
    def distribution(range_max, **more):
        p = probabilities(range_max, **more)
        return p, np.cumsum(p)

    def lower(b, rng, true_classes, *, num_true, num_sampled, unique, range_max, seed, seed2, **more):
        random = np.random.Generator(np.random.Philox([int(v) for v in np.asarray(rng)]))
        p, cumulative = distribution(range_max, **more)
        possible = np.count_nonzero(np.diff(cumulative, prepend=0.0) > 0)
        if unique and num_sampled > possible:  # drawing would never end
            raise InvalidArgumentError(f"{num_sampled} different classes cannot be drawn out of {possible} whose probability "
                                       f"is not 0, of {range_max}.")

        def draw(n):
            return np.searchsorted(cumulative, random.random(n) * cumulative[-1],
                                   side="right").clip(0, range_max - 1)

        sampled, tries = _draw(random, draw, num_sampled, unique)
        return (sampled.astype(np.int64), _expected(p[true_classes], num_sampled, unique, tries),
                _expected(p[sampled], num_sampled, unique, tries))

    NotDifferentiable(op_type)
    return define_op(op_type, "true_classes: int64", attrs=_ATTRS | (attrs or {}), infer=_infer, lower=lower,
                     random=True, stateful=True, host=True)


def _log_uniform(range_max):
    k = np.arange(range_max, dtype=np.float64)
    return np.log((k + 2) / (k + 1)) / np.log(range_max + 1)


def _unigrams(range_max, vocab_file="", distortion=1.0, num_reserved_ids=0, unigrams=()):
    if vocab_file:
        with reading(vocab_file) as at, open(vocab_file, newline="", encoding="utf-8") as file:
            unigrams = []
            for row in (rows := csv.reader(file)):
                at.place = f"line {rows.line_num}"
                if row:
                    unigrams.append(float(row[-1]))
    weights = np.concatenate([np.zeros(num_reserved_ids), np.asarray(unigrams, np.float64) ** distortion])
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise ValueError(f"{vocab_file or 'unigrams'}: how often classes occur are numbers from 0 on, and not all of them 0")
    if len(weights) != range_max:
        raise ValueError(f"range_max is {range_max}, but there are {len(weights)} unigrams and reserved ids.")
    return weights / weights.sum()


loguniform_op = _sampler("LogUniformCandidateSampler", _log_uniform)
uniform_op = _sampler("UniformCandidateSampler", lambda range_max: np.full(range_max, 1 / range_max))
fixedunigram_op = _sampler("FixedUnigramCandidateSampler", _unigrams,
                           {"vocab_file": "", "distortion": 1.0, "num_reserved_ids": 0, "unigrams": ()})


def _sample(op, true_classes, num_true, num_sampled, unique, range_max, seed, name, **more):
    seed, seed2 = get_seed(seed)
    return CandidateSampler(*op(true_classes, num_true=int(num_true), num_sampled=int(num_sampled),
                                unique=bool(unique), range_max=int(range_max), seed=seed or 0,
                                seed2=seed2 or 0, name=name, **more))


def uniform_candidate_sampler(true_classes, num_true, num_sampled, unique, range_max, seed=None, name=None):
    """Draws `num_sampled` of the classes 0 .. range_max - 1, all equally likely.

    Args:
      true_classes: int64 [batch, num_true].
      unique: draw no class twice.

    Returns:
      (sampled_candidates, true_expected_count, sampled_expected_count): int64 [num_sampled]; float32 [batch,
      num_true] and [num_sampled], how often each class is expected among the samples.
    """
    return _sample(uniform_op, true_classes, num_true, num_sampled, unique, range_max, seed, name)


def log_uniform_candidate_sampler(true_classes, num_true, num_sampled, unique, range_max, seed=None,
                                  name=None):
    """Draws class k with probability log((k + 2) / (k + 1)) / log(range_max + 1) (Zipf's law).

    Arguments and result as in `uniform_candidate_sampler`.
    """
    return _sample(loguniform_op, true_classes, num_true, num_sampled, unique, range_max, seed, name)


def fixed_unigram_candidate_sampler(true_classes, num_true, num_sampled, unique, range_max, vocab_file="",
                                    distortion=1.0, num_reserved_ids=0, num_shards=1, shard=0, unigrams=(),
                                    seed=None, name=None):
    """Draws classes by given counts, `unigrams` or the last column of `vocab_file`, ** `distortion`.

    Arguments and result as in `uniform_candidate_sampler`; `num_reserved_ids` classes at the start are never
    drawn. Only one shard is supported.
    """
    if num_shards != 1 or shard:
        raise ValueError("fixed_unigram_candidate_sampler: only num_shards=1 is supported, got "
                         f"{num_shards}.")
    return _sample(fixedunigram_op, true_classes, num_true, num_sampled, unique, range_max, seed, name,
                   vocab_file=vocab_file, distortion=float(distortion),
                   num_reserved_ids=int(num_reserved_ids), unigrams=tuple(unigrams))


# -- all classes, and accidental hits ------------------------------------------------------------------------
def _all_lower(b, true_classes, *, num_true, num_sampled, unique, **attrs):
    return (np.arange(num_sampled, dtype=np.int64), np.ones(true_classes.shape, np.float32),
            np.ones(num_sampled, np.float32))


all_op = define_op("AllCandidateSampler", "true_classes: int64", attrs=_ATTRS, infer=_infer, host=True,
                   lower=_all_lower)
NotDifferentiable("AllCandidateSampler")


def all_candidate_sampler(true_classes, num_true, num_sampled, unique, seed=None, name=None):
    """Returns all classes 0 .. num_sampled - 1, each expected once; for testing."""
    return CandidateSampler(*all_op(true_classes, num_true=int(num_true), num_sampled=int(num_sampled),
                                    unique=bool(unique), range_max=int(num_sampled), name=name))


def _hits_lower(b, true_classes, sampled_candidates, *, num_true, seed, seed2):
    rows, _, columns = np.nonzero(true_classes[:, :, None] == sampled_candidates)
    return (rows.astype(np.int32), columns.astype(np.int64),
            np.full(len(rows), -np.finfo(np.float32).max, np.float32))


hits_op = define_op("ComputeAccidentalHits", "true_classes: int64, sampled_candidates: int64",
                    attrs={"num_true": 1, "seed": 0, "seed2": 0}, host=True, lower=_hits_lower,
                    infer=lambda true_classes, sampled, *, num_true, seed, seed2:
                    [Spec((None,), int32), Spec((None,), int64), Spec((None,), float32)])
NotDifferentiable("ComputeAccidentalHits")


def compute_accidental_hits(true_classes, sampled_candidates, num_true, seed=None, name=None):
    """Returns where samples are true: (rows of `true_classes`, places of samples, -FLOAT_MAX)."""
    return AccidentalHits(*hits_op(true_classes, sampled_candidates, num_true=int(num_true), name=name))
