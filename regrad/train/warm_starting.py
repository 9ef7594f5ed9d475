"""Warm starts: variables begin with the values of a checkpoint, under other names or for another vocabulary."""

import collections
import re

import numpy as np

from regrad import logging
from regrad.core.graph import get_default_graph
from regrad.core.graph_keys import GraphKeys
from regrad.core.reading import reading
from regrad.ops.compare import where_v2
from regrad.ops.indexing import gather
from regrad.train.checkpoint import load_checkpoint
from regrad.train.saver import init_from_checkpoint, stored_value
from regrad.variables.initializers import zeros_initializer
from regrad.variables.listing import global_variables
from regrad.variables.partition import PartitionedVariable
from regrad.variables.variable import Variable


class VocabInfo(collections.namedtuple("VocabInfo", [
        "new_vocab", "new_vocab_size", "num_oov_buckets", "old_vocab", "old_vocab_size", "backup_initializer", "axis"])):
    """Which words the rows of a variable stand for, and which those of the checkpoint's variable.

    Args:
      new_vocab, old_vocab: files of a word a line.
      new_vocab_size, old_vocab_size: how many lines count; -1, of the old, for all.
      num_oov_buckets: how many rows follow those of the words.
      backup_initializer: of rows that the checkpoint has not; zeros by default.
      axis: 0 where the rows of a matrix stand for words, 1 where its columns do.
    """

    __slots__ = ()

    def __new__(cls, new_vocab, new_vocab_size, num_oov_buckets, old_vocab, old_vocab_size=-1, backup_initializer=None, axis=0):
        if axis not in (0, 1):
            raise ValueError(f"axis must be 0 or 1, got {axis!r}.")
        return super().__new__(cls, new_vocab, new_vocab_size, num_oov_buckets, old_vocab, old_vocab_size, backup_initializer,
                               axis)


class WarmStartSettings(collections.namedtuple("WarmStartSettings", [
        "ckpt_to_initialize_from", "vars_to_warm_start", "var_name_to_vocab_info", "var_name_to_prev_var_name"])):
    """The arguments of `tf.train.warm_start`, for an Estimator.

    Raises:
      ValueError: no checkpoint.
    """

    __slots__ = ()

    def __new__(cls, ckpt_to_initialize_from, vars_to_warm_start=".*", var_name_to_vocab_info=None,
                var_name_to_prev_var_name=None):
        if not ckpt_to_initialize_from:
            raise ValueError("`ckpt_to_initialize_from` MUST be set in WarmStartSettings")
        return super().__new__(cls, ckpt_to_initialize_from, vars_to_warm_start, var_name_to_vocab_info or {},
                               var_name_to_prev_var_name or {})


def warm_start(ckpt_to_initialize_from, vars_to_warm_start=".*", var_name_to_vocab_info=None, var_name_to_prev_var_name=None):
    """Makes variables start from values of a checkpoint instead of their initializers.

    Args:
      ckpt_to_initialize_from: a checkpoint's prefix, or a folder of which the latest is taken.
      vars_to_warm_start: regular expression of the names of trainable variables; list of such expressions, of all global
        variables, or of variables; None for those of `var_name_to_vocab_info` only.
      var_name_to_vocab_info: {name of a variable: VocabInfo}.
      var_name_to_prev_var_name: {name of a variable: its name in the checkpoint}, where they differ.

    Raises:
      ValueError: the checkpoint lacks a variable, or a name of the two dictionaries is not used.
      TypeError: `vars_to_warm_start` is none of these.
    """
    vocabularies, earlier = var_name_to_vocab_info or {}, var_name_to_prev_var_name or {}
    logging.info("Warm-starting from: %s", ckpt_to_initialize_from)
    chosen = _by_name(_chosen(vars_to_warm_start))
    everything = _by_name(global_variables())
    chosen |= {name: everything[name] for name in vocabularies if name in everything}
    for name, parts in chosen.items():
        stored = earlier.get(name, name)
        if name in vocabularies:
            _start_from_words(name, parts, load_checkpoint(ckpt_to_initialize_from), stored, vocabularies[name])
        else:
            init_from_checkpoint(ckpt_to_initialize_from, {stored: parts})
    for what, given in ("prev_var_name", earlier), ("vocab_info", vocabularies):
        unused = sorted(set(given) - set(chosen))
        if unused:
            raise ValueError(f"You provided the following variables in var_name_to_{what} that were not used: {unused}. "
                             f"Perhaps you misspelled them? Here is the list of viable variable names: {sorted(chosen)}")


def _chosen(given):
    if given is None:
        return []
    if isinstance(given, str):
        return get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, scope=given)
    if isinstance(given, (list, tuple)) and all(isinstance(g, str) for g in given):
        return [v for v in global_variables() if any(re.match(pattern, v.op.name) for pattern in given)]
    if isinstance(given, (list, tuple)) and all(isinstance(g, (Variable, PartitionedVariable)) for g in given):
        return [part for g in given for part in (g if isinstance(g, PartitionedVariable) else [g])]
    raise TypeError("If `vars_to_warm_start` is a list, it must be all `Variable` or all `str`. Given: "
                    f"{given!r}")


def _by_name(variables):
    """Returns {name: parts}; a variable that is not partitioned is its only part."""
    found = collections.defaultdict(list)
    for v in variables:
        info = v._save_slice_info
        found[info.full_name if info is not None else v.op.name].append(v)
    return dict(found)


def _words(path, size):
    with reading(path), open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    return lines if size == -1 else lines[:size]


def _start_from_words(name, parts, reader, stored, info):
    """Makes the parts of a variable start with the stored rows of their words, and the initializer's of words that are new."""
    places = {word: i for i, word in enumerate(_words(info.old_vocab, info.old_vocab_size))}
    rows = [places.get(word, -1) for word in _words(info.new_vocab, info.new_vocab_size)] + [-1] * info.num_oov_buckets
    known = np.array(rows) >= 0
    shape = [len(rows) if i == info.axis else size for i, size in enumerate(reader.get_variable_to_shape_map()[stored])]
    for v in parts:
        at = v._save_slice_info
        if (v.shape.as_list() if at is None else list(at.full_shape)) != shape:
            raise ValueError(f"The vocabulary of {name} has {len(rows)} words and buckets, which gives the shape {shape}; the "
                             f"variable has {v.shape.as_list() if at is None else at.full_shape}.")
        offsets, sizes = ([0] * len(shape), shape) if at is None else (at.var_offset, at.var_shape)
        cut = tuple(slice(o, o + s) for o, s in zip(offsets, sizes))
        with v.graph.as_default(), v.graph.control_dependencies(None), v.graph.name_scope("warm_start"):
            fresh = (info.backup_initializer or zeros_initializer())(v.shape.as_list(), dtype=v.dtype)
            mask = known[cut[info.axis]].reshape([-1 if i == info.axis else 1 for i in range(len(shape))])
            old = gather(stored_value(reader.prefix, stored, v, whole=True), np.maximum(rows, 0), axis=info.axis)[cut]
            value = where_v2(mask, old, fresh)
            value.set_shape(v.shape)
            v._begin_with(value)
