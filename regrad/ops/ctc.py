"""Connectionist temporal classification (Graves et al. 2006): loss, greedy and beam search decoding, on the
host.

A path gives each time step a class or blank (the last class); removing repetitions, then blanks, leaves its
labels. The loss is minus the logarithm of the probability of all paths that leave the given labels.
"""

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.errors import FailedPreconditionError, InvalidArgumentError, ShapeError
from regrad.core.gradient_registry import NotDifferentiable, RegisterGradient
from regrad.core.opdef import Spec, define_op, rank_is
from regrad.ops import array

_FLOAT = {"T": frozenset((dtypes.float32, dtypes.float64))}


def _inputs(x, sequence_length):
    """Returns (time, batch, classes), checked."""
    rank_is(x, 3, "inputs [time, batch, classes]")
    rank_is(sequence_length, 1, "sequence_length [batch]")
    return x.dims or (None, None, None)


def _log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


# -- loss -----------------------------------------------------------------------------------------------
def _loss_infer(x, indices, values, sequence_length, **attrs):
    time, batch, classes = _inputs(x, sequence_length)
    return [Spec((batch,), x.dtype), Spec((time, batch, classes), x.dtype)]


def _forward(log_y, stay, skip):
    """Returns log alpha [time, sequence, place]: the probability of all paths to each place at each time.

    Args:
      log_y: logarithms of the probabilities of the label at each place, of the same shape; -inf behind a sequence's last.
      stay, skip: [sequence, place], whether a place may be entered from itself and from two before.
    """
    alpha = np.full(log_y.shape, -np.inf)
    alpha[0, :, :2] = log_y[0, :, :2]
    barred = np.where([stay, np.full_like(stay, True), skip], 0, -np.inf)
    came = np.full((3, *stay.shape), -np.inf)
    for t in range(1, len(log_y)):
        came[0], came[1, :, 1:], came[2, :, 2:] = alpha[t - 1], alpha[t - 1, :, :-1], alpha[t - 1, :, :-2]
        terms = came + barred
        most = terms.max(0)
        most[most == -np.inf] = 0
        alpha[t] = log_y[t] + most + np.log(np.exp(terms - most).sum(0))
    return alpha


def _losses(logits, labels, lengths, merge_repeated):
    """Returns the loss of each sequence and its gradient.

    Args:
      logits: float64 [time, sequence, class].
      labels: a vector of class numbers for each sequence.
      lengths: how many time steps each sequence has, one at least.
    """
    time, batch, classes = logits.shape
    blank, sizes = classes - 1, np.array([2 * len(v) + 1 for v in labels])
    # Blanks around the labels, a place for each; behind a sequence's own places are others that no path comes to.
    path = np.full((batch, sizes.max()), blank)
    for row, v in zip(path, labels):
        row[1:2 * len(v):2] = v
    place, step = np.arange(path.shape[1]), np.arange(time)[:, None]
    real = place < sizes[:, None]
    log_p = _log_softmax(logits)
    log_y = np.where(real, np.take_along_axis(log_p, np.broadcast_to(path, (time, *path.shape)), 2), -np.inf)
    stay = np.full_like(real, True) if merge_repeated else path == blank
    skip = path != blank
    if merge_repeated:
        skip[:, 2:] &= path[:, 2:] != path[:, :-2]
    skip[:, :2] = False

    # Backwards in time the path runs backwards; a step of two is allowed for the pairs it was allowed for.
    turned_step = (lengths - 1 - step) % time
    turned_place = (sizes[:, None] - 1 - place) % path.shape[1]
    turn = turned_step[:, :, None], np.arange(batch)[:, None], turned_place
    turned_skip = np.take_along_axis(skip, (sizes[:, None] + 1 - place) % path.shape[1], 1)
    turned_skip[:, :2] = False
    both = _forward(np.concatenate([log_y, np.where(real, log_y[turn], -np.inf)], 1),
                    np.concatenate([stay, np.take_along_axis(stay, turned_place, 1)]), np.concatenate([skip, turned_skip]))
    alpha, beta = both[:, :batch], both[:, batch:][turn]

    last = alpha[lengths - 1, np.arange(batch)]
    log_total = np.logaddexp.reduce(np.where(real & (place >= sizes[:, None] - 2), last, -np.inf), 1)
    possible = log_total > -np.inf  # or no path at all, as when repeated labels leave no room for blanks; TF's gradient, then
    within = (step < lengths)[:, :, None]
    shares = np.isfinite(log_y) & possible[:, None] & within  # of the paths, how many pass each place
    passing = np.exp(np.where(shares, alpha + beta - log_y - log_total[:, None], -np.inf))
    of_label = path[:, :, None] == np.arange(classes)
    gradient = np.exp(log_p) - np.matmul(passing.transpose(1, 0, 2), of_label).transpose(1, 0, 2)
    return -log_total, np.where(within, gradient, 0)


def _labels_of(indices, values, batch):
    order = np.lexsort((indices[:, 1], indices[:, 0])) if len(indices) else []
    rows, values = indices[order, 0] if len(indices) else np.zeros(0, int), values[order]
    return [values[rows == i] for i in range(batch)]


def _loss_lower(b, x, indices, values, sequence_length, *, preprocess_collapse_repeated, ctc_merge_repeated,
                ignore_longer_outputs_than_inputs):
    time, batch, classes = x.shape
    if len(sequence_length) != batch or np.any(sequence_length > time):
        raise InvalidArgumentError(f"sequence_length must hold one length of at most {time} for each of "
                                   f"{batch} sequences, got {sequence_length.tolist()}.")
    losses, gradients = np.zeros(batch, x.dtype), np.zeros(x.shape, x.dtype)
    taken, paths = [], []
    for i, labels in enumerate(_labels_of(indices, values, batch)):
        if np.any((labels < 0) | (labels >= classes - 1)):
            raise InvalidArgumentError(f"Saw a label of batch {i} that is no class: {labels.tolist()}; "
                                       f"classes are 0 to {classes - 2}, {classes - 1} is the blank.")
        if preprocess_collapse_repeated:
            labels = labels[np.append(True, labels[1:] != labels[:-1])[:len(labels)]]
        n = int(sequence_length[i])
        if len(labels) > n and not ignore_longer_outputs_than_inputs:
            raise InvalidArgumentError("Not enough time for target transition sequence (required: "
                                       f"{len(labels)}, available: {n}) in batch {i}. You can turn this "
                                       "error into a loss of 0 by using the flag "
                                       "ignore_longer_outputs_than_inputs.")
        if len(labels) <= n and n:
            taken.append(i)
            paths.append(labels)
    if taken:
        with np.errstate(divide="ignore", invalid="ignore"):  # at places that no path comes to
            losses[taken], gradients[:, taken] = _losses(x[:, taken].astype(np.float64), paths, sequence_length[taken],
                                                         ctc_merge_repeated)
    return losses, gradients


ctcloss_op = define_op("CTCLoss",
                       "inputs: T, labels_indices: int64, labels_values: int32, sequence_length: int32",
                       attrs={"preprocess_collapse_repeated": False, "ctc_merge_repeated": True,
                              "ignore_longer_outputs_than_inputs": False},
                       types=_FLOAT, infer=_loss_infer, lower=_loss_lower, host=True)
ctcloss_op.declare(cost="heavy")


@RegisterGradient("CTCLoss")
def _ctcloss_grad(op, dloss, _):
    gradient = array.prevent_gradient(op.outputs[1],
                                      message="Currently there is no way to take the second derivative "
                                                             "of ctc_loss.")
    return array.reshape(dloss, (1, -1, 1)) * gradient, None, None, None


def ctc_loss(labels, inputs=None, sequence_length=None, preprocess_collapse_repeated=False,
             ctc_merge_repeated=True, ignore_longer_outputs_than_inputs=False, time_major=True, logits=None):
    """Returns the connectionist temporal classification loss of each sequence, [batch].

    Args:
      labels: int32 SparseTensor [batch, longest label sequence].
      inputs: float32 or float64 logits [time, batch, classes]; the last class is the blank.
      sequence_length: int32 [batch], the number of time steps of each sequence.
      preprocess_collapse_repeated: remove repetitions from `labels` first.
      ctc_merge_repeated: False to let repetitions in a path stand for repeated labels.
      ignore_longer_outputs_than_inputs: labels that need more steps than there are cost 0, and are no error.
      time_major: False when `inputs` are [batch, time, classes].
      logits: the newer name of `inputs`.

    Raises:
      TypeError: `labels` is not a SparseTensor.
      InvalidArgumentError: (when run) a label is no class, or has too few time steps.
    """
    if not hasattr(labels, "dense_shape"):
        raise TypeError(f"Expected labels (first argument) to be a SparseTensor, got {labels!r}.")
    inputs = convert_to_tensor(array.one_of("inputs", inputs, "logits", logits), name="inputs")
    if not time_major:
        inputs = array.transpose(inputs, [1, 0, 2])
    return ctcloss_op(inputs, labels.indices, labels.values, sequence_length,
                      preprocess_collapse_repeated=preprocess_collapse_repeated,
                      ctc_merge_repeated=ctc_merge_repeated,
                      ignore_longer_outputs_than_inputs=ignore_longer_outputs_than_inputs)[0]


# -- decoding ----------------------------------------------------------------------------------------------
def _sparse(paths):
    """Returns (indices, values, shape) of a list of label sequences."""
    indices = [(i, j) for i, path in enumerate(paths) for j in range(len(path))]
    values = [label for path in paths for label in path]
    shape = np.array([len(paths), max(map(len, paths), default=0)], np.int64)
    return np.array(indices, np.int64).reshape(-1, 2), np.array(values, np.int64), shape


def _merged(path):
    return [c for i, c in enumerate(path) if not i or c != path[i - 1]]


def _check_lengths(x, sequence_length):
    for i, n in enumerate(sequence_length):
        if n > len(x):
            raise FailedPreconditionError(f"sequence_length({i}) is not <= {len(x)}: it is {n}.")


def _greedy_lower(b, x, sequence_length, *, merge_repeated):
    _check_lengths(x, sequence_length)
    best, blank = x.argmax(-1), x.shape[2] - 1
    paths, scores = [], np.zeros((x.shape[1], 1))
    for i, n in enumerate(sequence_length):
        steps = best[:n, i].tolist()
        paths.append([c for c in (_merged(steps) if merge_repeated else steps) if c != blank])
        scores[i] = -x[:n, i].max(-1).sum()
    return *_sparse(paths), scores.astype(x.dtype)


def _decoded(paths):
    return [Spec((None, 2), dtypes.int64)] * paths + [Spec((None,), dtypes.int64)] * paths \
        + [Spec((2,), dtypes.int64)] * paths


ctcgreedy_op = define_op("CTCGreedyDecoder", "inputs: T, sequence_length: int32",
                         attrs={"merge_repeated": False},
                         types=_FLOAT, host=True, lower=_greedy_lower, infer=lambda x, n, *, merge_repeated:
                         [*_decoded(1), Spec((_inputs(x, n)[1], 1), x.dtype)])
NotDifferentiable("CTCGreedyDecoder")


def _beam_step(beams, log_p, blank, width):
    """Returns the `width` likeliest prefixes after one more step: {prefix: (ending in blank, ending in a
    label)}.
    """
    new = {}

    def add(prefix, in_blank, in_label):
        old = new.get(prefix, (-np.inf, -np.inf))
        new[prefix] = np.logaddexp(old[0], in_blank), np.logaddexp(old[1], in_label)

    for prefix, (in_blank, in_label) in beams.items():
        total = np.logaddexp(in_blank, in_label)
        add(prefix, total + log_p[blank], in_label + log_p[prefix[-1]] if prefix else -np.inf)
        for c in range(blank):
            # A repetition is a new label only after a blank.
            add((*prefix, c), -np.inf, (in_blank if prefix and c == prefix[-1] else total) + log_p[c])
    return dict(sorted(new.items(), key=lambda item: -np.logaddexp(*item[1]))[:width])


def _beam_lower(b, x, sequence_length, *, beam_width, top_paths, merge_repeated):
    _check_lengths(x, sequence_length)
    blank = x.shape[2] - 1
    found, scores = [[] for _ in range(top_paths)], np.zeros((x.shape[1], top_paths))
    for i, n in enumerate(sequence_length):
        beams = {(): (0.0, -np.inf)}
        for row in _log_softmax(x[:n, i].astype(np.float64)):
            beams = _beam_step(beams, row, blank, beam_width)
        if len(beams) < top_paths:
            raise InvalidArgumentError(f"Requested {top_paths} paths of batch {i}, the search found "
                                       f"{len(beams)}.")
        for k, (prefix, p) in enumerate(list(beams.items())[:top_paths]):
            found[k].append(_merged(prefix) if merge_repeated else list(prefix))
            scores[i, k] = np.logaddexp(*p)
    parts = [_sparse(paths) for paths in found]
    return *(p[j] for j in range(3) for p in parts), scores.astype(x.dtype)


ctcbeam_op = define_op("CTCBeamSearchDecoder", "inputs: T, sequence_length: int32",
                       attrs={"beam_width": 100, "top_paths": 1, "merge_repeated": True}, types=_FLOAT,
                       host=True, lower=_beam_lower, infer=lambda x, n, *, beam_width, top_paths,
                       merge_repeated:
                       [*_decoded(top_paths), Spec((_inputs(x, n)[1], top_paths), x.dtype)])
NotDifferentiable("CTCBeamSearchDecoder")


def _tensors(outputs, paths):
    from regrad.ops.sparse import SparseTensor

    return [SparseTensor(*outputs[k:3 * paths:paths]) for k in range(paths)], outputs[-1]


def ctc_greedy_decoder(inputs, sequence_length, merge_repeated=True):
    """Decodes the likeliest class of each time step.

    Args:
      inputs: float32 or float64 logits [time, batch, classes]; the last class is the blank.
      sequence_length: int32 [batch].
      merge_repeated: remove repetitions that no blank separates.

    Returns:
      ([SparseTensor of labels, int64], minus the sum of the logits taken, [batch, 1]).
    """
    return _tensors(ctcgreedy_op(inputs, sequence_length, merge_repeated=merge_repeated), 1)


def ctc_beam_search_decoder(inputs, sequence_length, beam_width=100, top_paths=1, merge_repeated=True):
    """Decodes by beam search over label prefixes.

    Args:
      inputs, sequence_length: as in `ctc_greedy_decoder`.
      beam_width: prefixes kept at each step.
      top_paths: how many of the likeliest to return.
      merge_repeated: remove repetitions from the labels found.

    Returns:
      (list of `top_paths` SparseTensors of labels, their log probabilities [batch, top_paths]).
    """
    if top_paths > beam_width:
        raise ValueError(f"ctc_beam_search_decoder: top_paths {top_paths} exceeds beam_width {beam_width}.")
    outputs = ctcbeam_op(inputs, sequence_length, beam_width=int(beam_width), top_paths=int(top_paths),
                         merge_repeated=merge_repeated)
    return _tensors(outputs, top_paths)


def ctc_beam_search_decoder_v2(inputs, sequence_length, beam_width=100, top_paths=1):
    """Decodes by beam search, keeping repeated labels; as `ctc_beam_search_decoder`."""
    return ctc_beam_search_decoder(inputs, sequence_length, beam_width, top_paths, False)


# -- edit distance ---------------------------------------------------------------------------------
def _levenshtein(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


def _sequences(indices, values):
    found = {}
    for at, v in zip(indices.tolist(), values.tolist()):
        found.setdefault(tuple(at[:-1]), []).append(v)
    return found


def _edit_distance_lower(b, h_indices, h_values, h_shape, t_indices, t_values, t_shape, *, normalize):
    hypotheses, truths = _sequences(h_indices, h_values), _sequences(t_indices, t_values)
    out = np.zeros(tuple(np.maximum(h_shape, t_shape)[:-1]), np.float32)
    for at in hypotheses.keys() | truths.keys():
        hypothesis, truth = hypotheses.get(at, ()), truths.get(at, ())
        distance = _levenshtein(hypothesis, truth)
        if normalize:  # what is compared with nothing is infinitely far away
            distance = distance / len(truth) if truth else np.inf if hypothesis else 0
        out[at] = distance
    return out


def _edit_distance_infer(h_indices, h_values, h_shape, t_indices, t_values, t_shape, *, normalize):
    a, b = h_shape.partial(), t_shape.partial()
    if a is None or b is None:
        return Spec(None, dtypes.float32)
    if len(a) != len(b):
        raise ShapeError(f"edit_distance: hypothesis and truth must have one rank, their shapes are {list(a)} and {list(b)}")
    return Spec(tuple(None if None in (m, n) else max(m, n) for m, n in zip(a[:-1], b[:-1])), dtypes.float32)


editdistance_op = define_op(
    "EditDistance", "hypothesis_indices: int64, hypothesis_values: T, hypothesis_shape: int64, truth_indices: int64, "
    "truth_values: T, truth_shape: int64", attrs={"normalize": True}, host=True, infer=_edit_distance_infer,
    lower=_edit_distance_lower)
NotDifferentiable("EditDistance")


def edit_distance(hypothesis, truth, normalize=True, name="edit_distance"):
    """Returns the Levenshtein distances between the sequences of two sparse tensors, float32 of their shape but the last axis.

    Args:
      hypothesis, truth: SparseTensors of one dtype and rank, whose last axis is that of the sequences.
      normalize: divide by the length of the truth; infinity where that is empty and the hypothesis is not.
    """
    from regrad.ops.sparse import SparseTensor, SparseTensorValue

    for what, x in (("Hypothesis", hypothesis), ("Truth", truth)):
        if not isinstance(x, (SparseTensor, SparseTensorValue)):
            raise TypeError(f"{what} must be a SparseTensor.")
    h, t = SparseTensor.from_value(hypothesis), SparseTensor.from_value(truth)
    return editdistance_op(h.indices, h.values, h.dense_shape, t.indices, t.values, t.dense_shape, normalize=normalize,
                           name=name)
