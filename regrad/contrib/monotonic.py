"""Attention that only moves forward through the memory (Raffel et al. 2017, arXiv:1704.00784)."""

import numpy as np

from regrad.contrib.attention import BahdanauAttention, LuongAttention
from regrad.core.convert import convert_to_tensor
from regrad.core.graph import get_default_graph
from regrad.core.shown import Shown
from regrad.ops import array, clip, math
from regrad.ops.compare import greater, where_v2
from regrad.ops.cumulative import cumprod, cumsum
from regrad.ops.functional import scan
from regrad.ops.indexing import one_hot
from regrad.ops.random import random_normal
from regrad.variables.initializers import constant_initializer
from regrad.variables.scope import get_variable


def safe_cumprod(x, *args, **kwargs):
    """Returns the running product of numbers in [0, 1], computed as the exponential of a sum; 0 counts as the least number.

    Further arguments are those of `tf.cumsum`.
    """
    with get_default_graph().name_scope("SafeCumprod"):
        x = convert_to_tensor(x, name="x")
        tiny = np.finfo(x.dtype.as_numpy_dtype).tiny
        return math.exp(cumsum(math.log(clip.clip_by_value(x, tiny, 1)), *args, **kwargs))


def monotonic_attention(p_choose_i, previous_attention, mode):
    """Returns [batch, time]: how probable it is that the next output attends to each place of the memory.

    Args:
      p_choose_i: [batch, time], the probability to stop at a place that is reached.
      previous_attention: [batch, time], where the last output attended.
      mode: "recursive": exact, place by place; "parallel": at once, inexact where p is near 1; "hard": the first place that is
        chosen, for p of 0 and 1.

    Raises:
      ValueError: another mode.
    """
    p, previous = (convert_to_tensor(t) for t in (p_choose_i, previous_attention))
    if mode == "recursive":
        go_on = array.concat([array.ones_like(p[:, :1]), 1 - p[:, :-1]], 1)
        reached = scan(lambda x, given: given[0] * x + given[1], (array.transpose(go_on), array.transpose(previous)),
                       initializer=array.zeros_like(p[:, 0]))
        return p * array.transpose(reached)
    if mode == "parallel":
        passed = safe_cumprod(1 - p, axis=1, exclusive=True)
        return p * passed * cumsum(previous / clip.clip_by_value(passed, 1e-10, 1.0), axis=1)
    if mode == "hard":
        p = p * cumsum(previous, axis=1)
        return p * cumprod(1 - p, axis=1, exclusive=True)
    raise ValueError("mode must be 'recursive', 'parallel', or 'hard'.")


class _Monotonic(Shown):
    """What the two kinds share: a bias of the score, noise, and alignments that follow from the last ones."""

    def _settings(self, sigmoid_noise, sigmoid_noise_seed, score_bias_init, mode):
        if mode not in ("recursive", "parallel", "hard"):
            raise ValueError("mode must be 'recursive', 'parallel', or 'hard'.")
        self._noise, self._seed, self._bias_init, self._mode = sigmoid_noise, sigmoid_noise_seed, score_bias_init, mode

    def initial_alignments(self, batch_size, dtype):
        """Returns 1 at the first place of the memory, 0 elsewhere."""
        return one_hot(array.fill(array.reshape(batch_size, [1]), 0), self.alignments_size, dtype=dtype)

    def _biased(self, score):
        return score + get_variable("attention_score_bias", shape=(), dtype=score.dtype,
                                    initializer=constant_initializer(self._bias_init))

    def __call__(self, query, state):
        """Returns (alignments [batch, time], next state)."""
        score = self._score(query)
        if self._mask is not None:
            masked = -np.inf if self._score_mask_value is None else self._score_mask_value
            score = where_v2(self._mask, score, convert_to_tensor(masked, dtype=score.dtype))
        if self._noise > 0:
            score += self._noise * random_normal(array.shape(score), dtype=score.dtype, seed=self._seed)
        p = math.cast(greater(score, 0), score.dtype) if self._mode == "hard" else math.sigmoid(score)
        alignments = monotonic_attention(p, state, self._mode)
        return alignments, alignments


class BahdanauMonotonicAttention(_Monotonic, BahdanauAttention):
    """Additive attention that only moves forward.

    Args:
      num_units, memory, memory_sequence_length, normalize, score_mask_value, dtype: as for BahdanauAttention.
      sigmoid_noise: standard deviation of noise on the scores, which trains them to be large; `sigmoid_noise_seed`: its seed.
      score_bias_init: how the bias of the scores begins.
      mode: as for `monotonic_attention`.
    """

    _scope = "bahdanau_monotonic_attention"

    def __init__(self, num_units, memory, memory_sequence_length=None, normalize=False, score_mask_value=None,
                 sigmoid_noise=0.0, sigmoid_noise_seed=None, score_bias_init=0.0, mode="parallel", dtype=None,
                 name="BahdanauMonotonicAttention"):
        self._settings(sigmoid_noise, sigmoid_noise_seed, score_bias_init, mode)
        super().__init__(num_units, memory, memory_sequence_length, normalize, None, score_mask_value, dtype, name)


class LuongMonotonicAttention(_Monotonic, LuongAttention):
    """Multiplicative attention that only moves forward; arguments as for LuongAttention and BahdanauMonotonicAttention."""

    _scope = "luong_monotonic_attention"

    def __init__(self, num_units, memory, memory_sequence_length=None, scale=False, score_mask_value=None, sigmoid_noise=0.0,
                 sigmoid_noise_seed=None, score_bias_init=0.0, mode="parallel", dtype=None, name="LuongMonotonicAttention"):
        self._settings(sigmoid_noise, sigmoid_noise_seed, score_bias_init, mode)
        super().__init__(num_units, memory, memory_sequence_length, scale, None, score_mask_value, dtype, name)
