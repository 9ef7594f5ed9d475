"""`tf.keras.preprocessing.text`: texts as sequences of numbers."""

import collections
import hashlib

import numpy as np

from regrad.core.shown import Shown

_SIGNS = '!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n'


def text_to_word_sequence(text, filters=_SIGNS, lower=True, split=" "):
    """Returns the words of a text, between `split`, which stands for each sign of `filters`, too."""
    text = text.lower() if lower else text
    return [word for word in text.translate({ord(c): split for c in filters}).split(split) if word]


def hashing_trick(text, n, hash_function=None, filters=_SIGNS, lower=True, split=" "):
    """Returns a number from 1 to n - 1 for each word, by a hash of it: `hash` by default, or "md5", or a function."""
    if hash_function == "md5":
        def hash_function(word):
            return int(hashlib.md5(word.encode()).hexdigest(), 16)

    return [(hash_function or hash)(word) % (n - 1) + 1 for word in text_to_word_sequence(text, filters, lower, split)]


def one_hot(input_text, n, filters=_SIGNS, lower=True, split=" "):
    """Returns a number from 1 to n - 1 for each word; see `hashing_trick`."""
    return hashing_trick(input_text, n, hash, filters, lower, split)


class Tokenizer(Shown):
    """Numbers words by how often they occur in texts, from 1 on.

    Args:
      num_words: sequences and matrices hold numbers below it only.
      filters, lower, split: as for `text_to_word_sequence`.
      char_level: each character is a word.
      oov_token: stands, as word 1, for those that are not known, which are left out else.

    Attributes:
      word_index, index_word: {word: number}, {number: word}.
      word_counts, word_docs, index_docs: in how many places, and in how many texts, a word or number is.
      document_count: how many texts there were.
    """

    def __init__(self, num_words=None, filters=_SIGNS, lower=True, split=" ", char_level=False, oov_token=None,
                 document_count=0):
        self.num_words, self.filters, self.lower, self.split = num_words, filters, lower, split
        self.char_level, self.oov_token, self.document_count = char_level, oov_token, document_count
        self.word_counts = collections.OrderedDict()
        self.word_docs, self.index_docs = collections.defaultdict(int), collections.defaultdict(int)
        self.word_index, self.index_word = {}, {}

    def _words(self, text):
        if isinstance(text, list) or self.char_level:
            text = text.lower() if self.lower and isinstance(text, str) else text
            return [word.lower() for word in text] if self.lower else list(text)
        return text_to_word_sequence(text, self.filters, self.lower, self.split)

    def fit_on_texts(self, texts):
        """Counts and numbers the words of texts, each a string or a list of words."""
        for text in texts:
            self.document_count += 1
            words = self._words(text)
            for word in words:
                self.word_counts[word] = self.word_counts.get(word, 0) + 1
            for word in set(words):
                self.word_docs[word] += 1
        ordered = sorted(self.word_counts, key=self.word_counts.get, reverse=True)
        first = [] if self.oov_token is None else [self.oov_token]
        self.word_index = {word: i for i, word in enumerate([*first, *ordered], 1)}
        self.index_word = {i: word for word, i in self.word_index.items()}
        for word, n in self.word_docs.items():
            self.index_docs[self.word_index[word]] = n

    def fit_on_sequences(self, sequences):
        """Counts in how many sequences each number is, for matrices of sequences."""
        self.document_count += len(sequences)
        for sequence in sequences:
            for i in set(sequence):
                self.index_docs[i] += 1

    def texts_to_sequences(self, texts):
        """Returns lists of the words' numbers."""
        return list(self.texts_to_sequences_generator(texts))

    def texts_to_sequences_generator(self, texts):
        """Yields the list of the words' numbers of each text."""
        unknown = self.word_index.get(self.oov_token)
        for text in texts:
            numbers = [self.word_index.get(word) for word in self._words(text)]
            numbers = [unknown if n is None or self.num_words and n >= self.num_words else n for n in numbers]
            yield [n for n in numbers if n is not None]

    def sequences_to_texts(self, sequences):
        """Returns texts of the words that numbers stand for, between spaces."""
        unknown = self.word_index.get(self.oov_token)
        texts = []
        for sequence in sequences:
            kept = [n if n in self.index_word and not (self.num_words and n >= self.num_words) else unknown for n in sequence]
            texts.append(" ".join(self.index_word[n] for n in kept if n is not None))
        return texts

    def texts_to_matrix(self, texts, mode="binary"):
        """Returns `sequences_to_matrix` of texts."""
        return self.sequences_to_matrix(self.texts_to_sequences(texts), mode)

    def sequences_to_matrix(self, sequences, mode="binary"):
        """Returns an array [texts, words]: whether each word occurs ("binary"), how often ("count"), its share ("freq"), or

        (1 + log(count)) log(1 + documents / (1 + documents with the word)) ("tfidf").

        Raises:
          ValueError: an unknown mode, or no words yet.
        """
        if not self.num_words and not self.word_index:
            raise ValueError("Specify a dimension (`num_words` argument), or fit on some text data first.")
        if mode == "tfidf" and not self.document_count:
            raise ValueError("Fit the Tokenizer on some data before using tfidf mode.")
        if mode not in ("binary", "count", "freq", "tfidf"):
            raise ValueError(f"Unknown vectorization mode: {mode}")
        size = self.num_words or len(self.word_index) + 1
        found = np.zeros((len(sequences), size))
        for row, sequence in zip(found, sequences):
            for n, count in collections.Counter(n for n in sequence if n < size).items():
                idf = np.log(1 + self.document_count / (1 + self.index_docs.get(n, 0)))
                row[n] = {"binary": 1, "count": count, "freq": count / len(sequence), "tfidf": (1 + np.log(count)) * idf}[mode]
        return found


__all__ = ["Tokenizer", "hashing_trick", "one_hot", "text_to_word_sequence"]
