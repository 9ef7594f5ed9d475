"""Sequences of labels, dense: repetitions removed, and the CTC loss under its later name."""

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.graph import get_default_graph
from regrad.ops import array, math
from regrad.ops.compare import greater, logical_and, not_equal, where, where_v2
from regrad.ops.ctc import ctc_loss
from regrad.ops.indexing import boolean_mask, gather_nd, scatter_nd, sequence_mask
from regrad.ops.reduce import reduce_max, reduce_sum
from regrad.ops.sparse import SparseTensor


def collapse_repeated(labels, seq_length, name=None):
    """Returns (labels without repetitions, their numbers): rows are filled up with zeros.

    Args:
      labels: [batch, longest], of which seq_length[i] count in row i.
      seq_length: [batch].
    """
    with get_default_graph().name_scope(name or "collapse_repeated_labels"):
        labels, seq_length = convert_to_tensor(labels, name="labels"), convert_to_tensor(seq_length, name="seq_length")
        first = array.ones_like(labels[:, :1], dtypes.bool_)
        kept = array.concat([first, not_equal(labels[:, 1:], labels[:, :-1])], 1)
        kept = logical_and(kept, sequence_mask(seq_length, array.shape(labels)[1]))
        number = reduce_sum(math.cast(kept, seq_length.dtype), 1)
        longest = reduce_max(number)
        places = where(sequence_mask(number, longest))
        dims = array.stack([array.shape(labels, out_type=dtypes.int64)[0], math.cast(longest, dtypes.int64)])
        return scatter_nd(places, boolean_mask(labels, kept), dims), number


def dense_labels_to_sparse(dense, length):
    """Returns the first `length` labels of each row of `dense` [batch, longest] as a SparseTensor."""
    dense = convert_to_tensor(dense, name="labels")
    places = where(sequence_mask(length, array.shape(dense)[1]))
    return SparseTensor(places, gather_nd(dense, places), array.shape(dense, out_type=dtypes.int64))


def ctc_loss_v2(labels, logits, label_length, logit_length, logits_time_major=True, unique=None, blank_index=None, name=None):
    """Returns the CTC loss of each sequence, [batch], with the blank at any class.

    Args:
      labels: int32 [batch, longest label sequence], or a SparseTensor (then `label_length` is not used).
      logits: [time, batch, classes], or [batch, time, classes] without `logits_time_major`.
      label_length, logit_length: int32 [batch].
      unique: accepted: an aid to TensorFlow's own computation.
      blank_index: the class that is the blank, counted from the end if negative; 0 by default for dense labels.

    Raises:
      ValueError: sparse labels without `blank_index`.
    """
    with get_default_graph().name_scope(name or "ctc_loss"):
        logits = convert_to_tensor(logits, name="logits")
        sparse = isinstance(labels, SparseTensor)
        if blank_index is None:
            if sparse:
                raise ValueError("Argument `blank_index` must be provided when labels is a SparseTensor.")
            blank_index = 0
        classes = logits.dims[-1] if logits.dims is not None else None
        if classes is None:
            raise ValueError(f"ctc_loss_v2: the number of classes must be known, got logits of shape {logits.shape}.")
        blank = blank_index + classes if blank_index < 0 else blank_index
        if not sparse:
            labels = dense_labels_to_sparse(labels, label_length)
        values = math.cast(labels.values, dtypes.int32)
        if blank != classes - 1:
            # The op's blank is the last class: what follows the blank moves one down.
            logits = array.concat([logits[..., :blank], logits[..., blank + 1:], logits[..., blank:blank + 1]], -1)
            values = where_v2(greater(values, blank), values - 1, values)
        return ctc_loss(SparseTensor(labels.indices, values, labels.dense_shape), logits,
                        math.cast(logit_length, dtypes.int32),
                        time_major=logits_time_major)
