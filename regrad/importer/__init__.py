"""Graphs that TensorFlow wrote, made into operations of Regrad; `core/graph_def.py` calls it for every graph it imports.

`structure.py` finds the loops and branches that Enter, Exit, Switch and Merge stand for, `functions.py` turns the functions of
a GraphDef into lists of nodes, `region.py` makes operations of nodes, and `translations.py` says what becomes of op types
that are more than another node: calls, TensorArrays with handles, lists of tensors. `recorded.py` sets aside the gradients of
loops that version 1 recorded.
"""
