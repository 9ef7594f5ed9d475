"""`tf.keras.preprocessing.sequence`: lists of different lengths as one array, and pairs of words to learn from."""

import random

import numpy as np


def pad_sequences(sequences, maxlen=None, dtype="int32", padding="pre", truncating="pre", value=0.0):
    """Returns sequences as one array [number, maxlen, ...], cut and filled up.

    Args:
      sequences: list of lists, or of arrays.
      maxlen: the longest one's length by default.
      padding, truncating: "pre" or "post": where to fill up, and where to cut.
      value: what to fill up with.

    Raises:
      ValueError: a sequence has no length or another shape than the others; unknown "padding" or "truncating".
    """
    for s in sequences:
        if not hasattr(s, "__len__"):
            raise ValueError(f"`sequences` must be a list of iterables. Found non-iterable: {s}")
    for name, given in (("Padding", padding), ("Truncating", truncating)):
        if given not in ("pre", "post"):
            raise ValueError(f'{name} type "{given}" not understood')
    lengths = [len(s) for s in sequences]
    maxlen = max(lengths, default=0) if maxlen is None else maxlen
    inner = next((np.asarray(s).shape[1:] for s in sequences if len(s)), ())
    if isinstance(value, str) and np.dtype(dtype).kind not in "OU":
        raise ValueError(f"`dtype` {dtype} is not compatible with `value`'s type: {type(value)}. You should set `dtype=object` "
                         "for variable length strings.")
    found = np.full((len(lengths), maxlen, *inner), value, dtype=dtype)
    for row, s in zip(found, sequences):
        if not len(s):
            continue
        kept = np.asarray(s[-maxlen:] if truncating == "pre" else s[:maxlen], dtype=dtype)
        if kept.shape[1:] != inner:
            raise ValueError(f"Shape of sample {kept.shape[1:]} of sequence is different from expected shape {inner}")
        row[slice(0, len(kept)) if padding == "post" else slice(maxlen - len(kept), maxlen)] = kept
    return found


def make_sampling_table(size, sampling_factor=1e-5):
    """Returns for each word, ordered by how often it occurs, the probability to take it: p = sqrt(factor / f) + factor / f.

    Its frequency f follows from its rank r by Zipf's law: 1 / f = r (log r + 0.577) + 1/2 - 1 / (12 r).
    """
    rank = np.maximum(np.arange(size), 1)
    inverse = rank * (np.log(rank) + 0.577) + 0.5 - 1.0 / (12.0 * rank)
    f = sampling_factor * inverse
    return np.minimum(1.0, f / np.sqrt(f))


def skipgrams(sequence, vocabulary_size, window_size=4, negative_samples=1.0, shuffle=True, categorical=False,
              sampling_table=None, seed=None):
    """Returns (pairs of words, labels): words near each other, labelled 1, and pairs with random words, labelled 0.

    Args:
      sequence: list of words, ints; 0 is none.
      vocabulary_size: random words are below it.
      window_size: how far apart the words of a pair are at most.
      negative_samples: how many random pairs there are for a true one.
      categorical: labels are [0, 1] and [1, 0].
      sampling_table: probability to take each word.
      seed: of Python's `random`.
    """
    pairs, labels = [], []
    for i, word in enumerate(sequence):
        if not word or sampling_table is not None and sampling_table[word] < random.random():
            continue
        for j in range(max(0, i - window_size), min(len(sequence), i + window_size + 1)):
            if j != i and sequence[j]:
                pairs.append([word, sequence[j]])
                labels.append([0, 1] if categorical else 1)
    if negative_samples > 0:
        count = int(len(labels) * negative_samples)
        words = [pair[0] for pair in pairs]
        random.shuffle(words)
        pairs += [[words[i % len(words)], random.randint(1, vocabulary_size - 1)] for i in range(count)]
        labels += [[1, 0] if categorical else 0] * count
    if shuffle:
        seed = random.randint(0, 10_000_000) if seed is None else seed
        for listed in (pairs, labels):
            random.seed(seed)
            random.shuffle(listed)
    return pairs, labels


__all__ = ["make_sampling_table", "pad_sequences", "skipgrams"]
