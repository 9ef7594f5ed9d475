"""Rows for `regrad/ops/ctc.py`. The reference adds up all paths, one by one."""

import itertools

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import constant
from regrad.core.errors import FailedPreconditionError, InvalidArgumentError, ShapeError
from regrad.ops import ctc
from regrad.ops.array import placeholder
from regrad.ops.sparse import SparseTensor
from tests.cases import Bad, Case, Edge

# TensorFlow refuses an example without labels, the last here: rows of three examples are held against it.
LABELS = [[0, 1, 1], [1], [0, 0], []]
LENGTHS = np.array([4, 3, 4, 2], np.int32)
INDICES = np.array([(i, j) for i, labels in enumerate(LABELS) for j in range(len(labels))])
VALUES = np.array([label for labels in LABELS for label in labels], np.int32)


def _log_softmax(x):
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def _merge(path):
    return [c for c, _ in itertools.groupby(path)]


def _left(path, blank, merge):
    return [c for c in (_merge(path) if merge else path) if c != blank]


def ref_loss(x, preprocess_collapse_repeated=False, ctc_merge_repeated=True, **_):
    blank, losses = x.shape[2] - 1, []
    for i, labels in enumerate(LABELS[:x.shape[1]]):
        labels = _merge(labels) if preprocess_collapse_repeated else labels
        log_p = _log_softmax(x[:LENGTHS[i], i])
        total = sum(np.exp(sum(log_p[t, c] for t, c in enumerate(path)))
                    for path in itertools.product(range(blank + 1), repeat=LENGTHS[i])
                    if _left(path, blank, ctc_merge_repeated) == labels)
        losses.append(-np.log(total))
    return np.array(losses)


def _loss(x, examples=3, **kwargs):
    labels = SparseTensor(INDICES, VALUES, np.array([examples, 3]))
    return ctc.ctc_loss(labels, x, LENGTHS[:examples], **kwargs)


def _small(labels, x, length, **kwargs):
    sparse = SparseTensor(np.array([(0, j) for j in range(len(labels))]).reshape(-1, 2),
                          np.array(labels, np.int32), np.array([1, len(labels)]))
    return ctc.ctc_loss(sparse, x, np.array([length], np.int32), **kwargs)


def _parts(result):
    return [t for s in result[0] for t in (s.indices, s.values, s.dense_shape)] + [result[1]]


def ref_beam(x, sequence_length, top_paths=1, merge_repeated=True, **_):
    """Returns the parts of the likeliest label sequences of one example, from all paths."""
    blank, found = x.shape[2] - 1, {}
    log_p = _log_softmax(x[:sequence_length[0], 0])
    for path in itertools.product(range(blank + 1), repeat=int(sequence_length[0])):
        labels = tuple(_left(path, blank, True))
        found[labels] = found.get(labels, 0) + np.exp(sum(log_p[t, c] for t, c in enumerate(path)))
    best = sorted(found.items(), key=lambda item: -item[1])[:top_paths]
    out = []
    for labels, _p in best:
        labels = _merge(labels) if merge_repeated else list(labels)
        out += [np.array([(0, j) for j in range(len(labels))]).reshape(-1, 2), np.array(labels),
                np.array([1, len(labels)])]
    return [*out, np.log([[p for _, p in best]])]


# Classes 0, 0, blank, 0, 1 in turn, each by a margin.
STEPS = np.where(np.eye(3)[[0, 0, 2, 0, 1]] == 1, 2.0, 0.5)[:, None]
ZEROS = np.zeros((3, 1, 3))

CASES = [
    Case("CTCLoss", _loss, ref_loss, ((4, 3, 3),), order=1, dtypes=("float32",)),
    Case("CTCLoss", lambda x: _loss(x, examples=4), ref_loss, ((4, 4, 3),), order=1, note="an example without labels"),
    Case("CTCLoss", _loss, ref_loss, ((4, 3, 3),), {"preprocess_collapse_repeated": True}, order=1,
         note="collapse"),
    Case("CTCLoss", _loss, ref_loss, ((4, 3, 3),), {"ctc_merge_repeated": False}, order=1, note="no merge"),
    Case("CTCLoss", lambda x, time_major: _loss(x, time_major=time_major),
         lambda x, time_major: ref_loss(np.swapaxes(x, 0, 1)), ((3, 4, 3),), {"time_major": False}, order=1,
         unknown=False, note="batch major"),
    Edge("CTCLoss", lambda x: _small([0, 1, 0, 1], x, 3, ignore_longer_outputs_than_inputs=True), (ZEROS,),
         (0.0,), note="too long, ignored"),
    Case("CTCLoss", lambda x: _small([0, 0], x, 2), lambda x: np.array([np.inf]), (ZEROS,), derivatives=False,
         note="no path"),
    Case("CTCGreedyDecoder", lambda x, n, **k: _parts(ctc.ctc_greedy_decoder(x, n, **k)),
         lambda x, n: (np.array([[0, 0], [0, 1], [0, 2]]), np.array([0, 0, 1]), np.array([1, 3]), [[-10.0]]),
         (STEPS, np.array([5], np.int32)), derivatives=False, unknown=False),
    Case("CTCGreedyDecoder", lambda x, n, **k: _parts(ctc.ctc_greedy_decoder(x, n, **k)),
         lambda x, n, **_: (np.array([[0, 0], [0, 1]]), np.array([0, 0]), np.array([1, 2]), [[-6.0]]),
         (STEPS, np.array([3], np.int32)), {"merge_repeated": False}, derivatives=False, unknown=False,
         note="no merge"),
    Case("CTCBeamSearchDecoder", lambda x, n, **k: _parts(ctc.ctc_beam_search_decoder(x, n, **k)), ref_beam,
         ((5, 1, 3), np.array([4], np.int32)), {"top_paths": 3, "merge_repeated": False, "beam_width": 200},
         derivatives=False, dtypes=(), unknown=False),
    Case("CTCBeamSearchDecoder", lambda x, n, **k: _parts(ctc.ctc_beam_search_decoder(x, n, **k)), ref_beam,
         (STEPS, np.array([5], np.int32)), {"merge_repeated": True, "beam_width": 200}, derivatives=False,
         dtypes=(), unknown=False, note="merge"),
    *(Case("EditDistance", ctc.editdistance_op, lambda *_, normalize, e=e: np.array(e, np.float32),
           (np.array([[0, 0, 0], [1, 0, 0]]), np.array([1, 2]), np.array([2, 2, 1]),
            np.array([[0, 1, 0], [1, 0, 0], [1, 0, 1], [1, 1, 0]]), np.array([1, 2, 3, 1]), np.array([2, 2, 2])),
           {"normalize": normalize}, note=f"normalize {normalize}")
      for normalize, e in ((True, [[np.inf, 1], [0.5, 1]]), (False, [[1, 1], [1, 1]]))),
    Case("EditDistance", ctc.editdistance_op, lambda *_, normalize: np.float32([3, 5, 1, 1]),
         (np.array([[0, i] for i in range(6)] + [[1, i] for i in range(5)] + [[2, 0], [2, 1], [3, 1]]),
          np.array([*b"kittencloud", 1, 2, 7]), np.array([4, 6]),
          np.array([[0, i] for i in range(7)] + [[1, i] for i in range(5)] + [[2, 0], [2, 1], [2, 2]]),
          np.array([*b"sittingrains", 1, 5, 2]), np.array([4, 7])),
         {"normalize": False}, note="words"),
    Bad("CTCGreedyDecoder", lambda: ctc.ctc_greedy_decoder(ZEROS, [4])[1], FailedPreconditionError, "is not <= 3",
        run=True),
    Bad("CTCBeamSearchDecoder", lambda: ctc.ctc_beam_search_decoder(ZEROS, [4])[1], FailedPreconditionError, "is not <= 3",
        run=True),
    Bad("CTCLoss", lambda: ctc.ctc_loss(np.array([[1]]), ZEROS, [3]), TypeError, "to be a SparseTensor"),
    Bad("CTCLoss", lambda: _small([1], placeholder(dtypes.float32, [3, 1]), 3), ShapeError, "must be rank 3"),
    Bad("CTCLoss", lambda: _small([2], constant(ZEROS), 3), InvalidArgumentError, "no class.*2 is the blank",
        run=True),
    Bad("CTCLoss", lambda: _small([0, 1, 0, 1], constant(ZEROS), 3), InvalidArgumentError,
        r"required: 4, available: 3", run=True),
    Bad("CTCLoss", lambda: _small([0], constant(ZEROS), 4), InvalidArgumentError, "sequence_length must hold",
        run=True),
    Bad("CTCBeamSearchDecoder", lambda: ctc.ctc_beam_search_decoder(ZEROS, [3], 2, 3), ValueError,
        "exceeds beam_width"),
]
