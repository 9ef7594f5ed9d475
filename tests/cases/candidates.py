"""Rows for `regrad/ops/candidates.py`: what does not depend on chance. What does is in
`tests/nn/test_functions.py`.
"""

import numpy as np

from regrad.core.errors import ShapeError
from regrad.ops import candidates
from tests.cases import Bad, Case

TRUE = np.array([[1, 0], [2, 2]])
FEW = {"num_true": 2, "num_sampled": 3, "unique": False, "range_max": 3}


def _expected(sampled, p):
    return np.array(sampled), np.float32(p[TRUE] * 3), np.float32(p[sampled] * 3)


CASES = [
    Case("FixedUnigramCandidateSampler", candidates.fixed_unigram_candidate_sampler,
         lambda true, **_: _expected([2, 2, 2], np.array([0.0, 0.0, 1.0])), (TRUE,),
         {**FEW, "unigrams": [0.0, 5.0], "num_reserved_ids": 1}, rtol=1e-6),
    Case("UniformCandidateSampler", candidates.uniform_candidate_sampler,
         lambda true, **_: (np.zeros(1, int), np.ones((2, 1)), np.ones(1)), (np.zeros((2, 1), int),),
         {"num_true": 1, "num_sampled": 1, "unique": True, "range_max": 1}, rtol=1e-6),
    Case("LogUniformCandidateSampler", candidates.log_uniform_candidate_sampler,
         lambda true, **_: (np.zeros(2, int), np.full((2, 1), 2.0), np.full(2, 2.0)),
         (np.zeros((2, 1), int),), {"num_true": 1, "num_sampled": 2, "unique": False, "range_max": 1},
         rtol=1e-6),
    Case("AllCandidateSampler", candidates.all_candidate_sampler,
         lambda true, **_: (np.arange(3), np.ones((2, 2)), np.ones(3)), (TRUE,),
         {"num_true": 2, "num_sampled": 3, "unique": True}),
    Case("ComputeAccidentalHits", candidates.compute_accidental_hits,
         lambda true, sampled, num_true: (np.array([0, 1, 1]), np.array([1, 0, 0]),
                                          np.full(3, -np.finfo(np.float32).max)),
         (TRUE, np.array([2, 1, 5])), {"num_true": 2}),
    Bad("UniformCandidateSampler", lambda: candidates.uniform_candidate_sampler(TRUE, 3, 1, False, 5),
        ShapeError, "num_true = 3 columns"),
    Bad("UniformCandidateSampler", lambda: candidates.uniform_candidate_sampler(TRUE, 2, 6, True, 5),
        ValueError, "6 different classes cannot be drawn out of 5"),
    Bad("FixedUnigramCandidateSampler",
        lambda: candidates.fixed_unigram_candidate_sampler(TRUE, 2, 1, False, 5, num_shards=2), ValueError,
        "num_shards"),
]
