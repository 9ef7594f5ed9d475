"""Graphs that TensorFlow or Regrad wrote, made into operations.

`graph_def.py` is `tf.import_graph_def`. `structure.py` finds the loops and branches that Enter, Exit, Switch and Merge stand
for, `functions.py` turns the functions of a GraphDef into lists of nodes, `region.py` makes operations of nodes: of one where
Regrad has its op type by `operations.py`, of op types that are more than that (calls, TensorArrays with handles, lists of
tensors) by `translations.py`. `recorded.py` sets aside the gradients of loops that version 1 recorded.
"""
