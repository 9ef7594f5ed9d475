"""Blocks of `gradient_override_map`: which rule names the operations made inside are given, and what is refused."""

import contextlib
import warnings

from regrad.core import gradient_registry, source
from regrad.core import opdef as opdefs
from regrad.core.errors import RegradWarning, nearest
from regrad.core.frames import framed
from regrad.core.tf_op_types import OP_TYPES


class OverrideScope:
    """One open `gradient_override_map` block: a frozen link in the chain that ops made inside it keep."""

    __slots__ = ("mapping", "parent", "where", "caught", "used")

    def __init__(self, mapping, parent, where):
        self.mapping = mapping
        self.parent = parent
        self.where = where
        self.caught = 0  # operations of its types made inside it
        self.used = 0  # how often one of them was differentiated by its rule

    def named_rule(self, op_type):
        """Returns the rule name for `op_type` in the innermost block that names it, or None."""
        scope = self
        while scope is not None:
            if op_type in scope.mapping:
                return scope.mapping[op_type]
            scope = scope.parent
        return None

    def block_for(self, op_type):
        """Returns the innermost block that names `op_type`, or None."""
        scope = self
        while scope is not None and op_type not in scope.mapping:
            scope = scope.parent
        return scope


class Block:
    """A context manager that warns where it was made and never opened: without `with` it does nothing."""

    waiting = None  # what was made, and where, until it is opened

    def _waits(self, what):
        self.waiting = f"{what} at {source.here()}"

    def __del__(self):
        if self.waiting:
            warnings.warn(f"{self.waiting} does nothing: it was not opened. Write `with` before it, and what it is for into "
                          "the block.", RegradWarning, stacklevel=2)


class OverrideBlock(Block, contextlib.ContextDecorator):
    """What `gradient_override_map` returns: operations made in `graph` while it is open keep its rules."""

    def __init__(self, graph, op_type_map):
        self.graph = graph
        self.given, self.mapping = op_type_map, checked_override_map(op_type_map)
        self.open = []  # (scope, frame, number of operations before), for each time it is open: as a decorator it may recur
        self._waits("gradient_override_map")

    def __enter__(self):
        self.waiting = None
        graph = self.graph
        scope = OverrideScope(self.mapping, graph.frame.override_scope, source.here())
        graph.override_blocks.append(scope)
        block = framed(graph, override_scope=scope)
        self.open.append((scope, block, len(graph._ops)))
        block.__enter__()

    def __exit__(self, kind, *_):
        scope, block, made_before = self.open.pop()
        block.__exit__()
        if kind is None and self.mapping and not scope.caught:
            self._complain(scope, made_before)

    def _complain(self, scope, made_before):
        from regrad.core.graph import get_default_graph

        ops = self.graph._ops
        made = sorted({op.type for op in ops[made_before:]})
        if not made and get_default_graph() is not self.graph:
            raise ValueError(f"gradient_override_map at {scope.where} was opened on a graph that is not the default "
                             "graph, and no operation was added to it: the operations made inside the block went to "
                             "another graph and keep their rules. Use tf.get_default_graph().gradient_override_map, or "
                             "open the graph with `with graph.as_default():` first.")
        what = (f"no operation of these types was made inside the block, only {', '.join(made)}" if made else
                "no operation was added to this graph inside the block; operations made before it keep their rules, and "
                "new ones go to the default graph, which may be another one")
        before = [op for op in ops[:made_before] if op.type in self.mapping and op.forward_op is None]
        if before:
            what += (f"; {len(before)} of these types were made before it, the first at {before[0].location}: "
                     "tf.attach(selector, rule) and gradients(..., overrides={selector: rule}) reach those")
        warnings.warn(f"gradient_override_map({self.given!r}) at {scope.where} overrides nothing: {what}.", RegradWarning,
                      stacklevel=3)


def checked_override_map(op_type_map):
    """Returns {canonical op type: rule name}; refuses what could never apply."""
    if not isinstance(op_type_map, dict):
        raise TypeError("op_type_map must be a dictionary mapping strings to strings")
    mapping = {}
    for op_type, name in op_type_map.items():
        if not isinstance(op_type, str) or not isinstance(name, str):
            raise TypeError(f"op_type_map must be a dictionary mapping strings to strings, got {{{op_type!r}: {name!r}}}; "
                            "functions go to gradients(..., overrides=...).")
        check_op_type(op_type, "gradient_override_map")
        mapping[op_type] = name
        mapping[gradient_registry.canonical(op_type)] = name
    return mapping


def check_op_type(op_type, who):
    """Raises ValueError when `op_type` is no op type of Regrad, of TensorFlow 1, or of the registry."""
    if not isinstance(op_type, str):
        raise TypeError(f"{who}: op types are strings, got {op_type!r}.")
    if op_type in OP_TYPES or opdefs.find_op(op_type) or gradient_registry.find(op_type):
        return
    known = set(opdefs.op_types()) | set(gradient_registry.names())
    hint = nearest(op_type, known) or nearest(op_type, OP_TYPES) or "."
    raise ValueError(f"{who}: {op_type!r} is no op type of Regrad or TensorFlow 1{hint} "
                     "print(tensor.op) shows an operation's type, as `op: ...`.")
