"""Frames: what is in force where an operation is made (scopes, devices, overrides ...), and the blocks that put it there.

A graph has one frame at a time for each thread. A Frame never changes: a block puts a changed copy in its place, and at its
end gives what it changed its old value again.
"""

import contextlib
import re
from threading import get_ident
from typing import Any, NamedTuple

from regrad.core import device as devices
from regrad.core.operation import Operation

OP_NAME = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\-/]*$")
SCOPE_NAME = re.compile(r"^[A-Za-z0-9_.\-/]*$")


class Frame(NamedTuple):
    """What operations are given when they are made.

    Attributes:
      scope: the name scope, without a slash at its end.
      controls: the open blocks of `control_dependencies`, the innermost last.
      device: the device's name, as far as it follows from names alone.
      device_functions: functions of the open device blocks, the outermost first.
      device_by_op: whether one of them is the user's, to be asked for each operation.
      colocation: operations that new ones belong with.
      override_scope: the innermost open block of `gradient_override_map`, or None.
      forward_op: while a gradient rule runs, the operation that it differentiates.
      made_from: the operation of `_original_op`.
      attrs: {name: value or function of a NodeDef} of the open blocks of `_attr_scope`.
      container: where queues, readers and tables are kept.
    """

    scope: str = ""
    controls: tuple = ()
    device: str = ""
    device_functions: tuple = ()
    device_by_op: bool = False
    colocation: tuple = ()
    override_scope: Any = None
    forward_op: Operation | None = None
    made_from: Operation | None = None
    attrs: dict = {}
    container: str = ""

    def changed(self, changes):
        """Returns a Frame like this one but for `changes`, a dict of fields."""
        values = list(self)
        for name, value in changes.items():
            values[_PLACE[name]] = value
        return tuple.__new__(Frame, values)  # `_replace`, which does the same, takes three times as long


_PLACE = {name: i for i, name in enumerate(Frame._fields)}


class Frames:
    """The frames of one graph: that of the thread which made the graph, and those of other threads.

    Another thread that has no block of its own open sees what the first has, but for its name scope.
    """

    __slots__ = ("owner", "frame", "_others", "_seen_by_others")

    def __init__(self, frame):
        self.owner = get_ident()
        self.frame = frame  # of the owner
        self._others = {}  # {thread: Frame} of those that have blocks open
        self._seen_by_others = None  # from `part` on what other threads see is this

    @property
    def current(self):
        """The frame in force in the calling thread."""
        thread = get_ident()
        if thread == self.owner:
            return self.frame
        own = self._others.get(thread)
        return (self._seen_by_others or self.frame).changed({"scope": ""}) if own is None else own

    def swap(self, frame):
        """Makes `frame` the calling thread's, or with None leaves it without; returns what `swap` needs to undo that."""
        thread = get_ident()
        if thread == self.owner:
            old, self.frame = self.frame, frame
            return old
        old = self._others.pop(thread, None)
        if frame is not None:
            self._others[thread] = frame
        return old

    def part(self):
        """Lets other threads see what is in force now, whatever blocks the first opens or closes from now on."""
        self._seen_by_others = self._seen_by_others or self.frame


class framed:
    """Context manager: `graph` has the given fields of its frame changed inside the block."""

    __slots__ = ("frames", "changes", "before", "inside", "old")

    def __init__(self, graph, **changes):
        self.frames = graph._frames
        self.changes = changes

    def __enter__(self):
        frames = self.frames
        if get_ident() == frames.owner:
            self.before = self.old = frames.frame
            frames.frame = self.inside = self.before.changed(self.changes)
        else:
            self.before = frames.current
            self.inside = self.before.changed(self.changes)
            self.old = frames.swap(self.inside)

    def __exit__(self, *exc):
        frames = self.frames
        now = frames.current
        if now is self.inside:
            frames.swap(self.old)
        else:  # blocks that were opened by hand may end in another order: each gives back what it changed
            frames.swap(now.changed({name: getattr(self.before, name) for name in self.changes}))


class NameScope(framed, contextlib.ContextDecorator):
    """The block of `Graph.name_scope`; a name that ends in "/" is taken as it is, an empty one leaves all scopes."""

    __slots__ = ("graph", "name", "made_before")

    def __init__(self, graph, name, **changes):
        self.graph = graph
        self.name = name
        self.frames = graph._frames
        self.changes = changes  # of other fields

    def __enter__(self):
        graph, name = self.graph, self.name
        self.made_before = len(graph._ops)
        if not name:
            scope = ""
        elif not isinstance(name, str):
            raise TypeError(f"The name of a scope must be a string, got {name!r}.")
        elif not SCOPE_NAME.match(name) or (not graph.frame.scope and not OP_NAME.match(name)):
            raise bad_name(name)
        else:
            scope = name[:-1] if name[-1] == "/" else graph.unique_name(name)
        self.changes["scope"] = scope
        framed.__enter__(self)
        return scope + "/" if name else ""

    def __exit__(self, *exc):
        framed.__exit__(self)
        graph, name = self.graph, self.name
        if exc[0] is not None and name and name[-1] != "/" and len(graph._ops) == self.made_before:
            graph._give_back(name, self.inside.scope)  # nothing was made in it


class ControlDependencies:
    """The block of `Graph.control_dependencies`.

    Attributes:
      ops: operations of the graph that what is made inside waits for.
      made: what has been made inside.
    """

    def __init__(self, graph, control_inputs):
        self.graph = graph
        self.ops = []
        self.made = set()
        self.clears = control_inputs is None
        if not self.clears and (isinstance(control_inputs, (str, Operation)) or hasattr(control_inputs, "_as_graph_element")):
            raise TypeError(f"control_dependencies takes a list of operations and tensors, got {control_inputs!r}; "
                            "put it in brackets.")
        for c in () if self.clears else control_inputs:
            if hasattr(c, "values") and hasattr(c, "indices") and not isinstance(c, Operation):
                c = c.op if hasattr(c, "op") else c.values  # IndexedSlices
            if graph.encloses(getattr(c, "graph", None)):
                outside = c if isinstance(c, Operation) else getattr(c, "op", c)
                graph.waits_outside.append((outside, self.made))  # runs before the operation that holds the body does
                continue
            element = graph.as_graph_element(c)
            self.ops.append(element if isinstance(element, Operation) else element.op)

    def __enter__(self):
        self.block = framed(self.graph, controls=() if self.clears else (*self.graph.frame.controls, self))
        self.block.__enter__()

    def __exit__(self, *exc):
        self.block.__exit__()


def on_device(graph, given):
    """Context manager of `Graph.device`; `given` is a name or DeviceSpec, a function of an operation, or None."""
    frame = graph.frame
    if given is None:
        return framed(graph, device="", device_functions=(), device_by_op=False)
    if callable(given):
        return framed(graph, device_functions=(*frame.device_functions, given), device_by_op=True)
    return framed(graph, device_functions=(*frame.device_functions, devices.merge_device(given)),
                  device=devices.joined(frame.device, given))


def with_attrs(graph, attr_map):
    """Context manager of `Graph._attr_scope`."""
    if not isinstance(attr_map, dict):
        raise TypeError("attr_map must be a dictionary mapping strings to Callables that return AttrValue protocol buffers")
    for name, value in attr_map.items():
        if not isinstance(name, str) or not (value is None or callable(value) or hasattr(value, "value")):
            raise TypeError("attr_map maps strings to AttrValue messages, functions that return one, or None; got "
                            f"{name!r}: {value!r}.")
    return framed(graph, attrs={k: v for k, v in {**graph.frame.attrs, **attr_map}.items() if v is not None})


def colocated(graph, op, ignore_existing):
    """Context manager of `Graph.colocate_with`."""
    if op is None and not ignore_existing:
        raise ValueError("Trying to reset colocation (op is None) but ignore_existing is not True")
    together = () if ignore_existing else graph.frame.colocation
    if op is not None:
        element = graph.as_graph_element(op)
        together = (*together, element if isinstance(element, Operation) else element.op)
    return framed(graph, colocation=together)


def given_attrs(frame, op):
    """Returns the attributes that open blocks of `_attr_scope` give `op`."""
    given = {}
    for name, value in frame.attrs.items():
        value = value(op.node_def) if callable(value) else value
        if value is not None:
            given[name] = getattr(value, "value", value)
    return given


def control_inputs(frame, inputs):
    """Returns the control inputs for an operation of these inputs; one that an input already waits for is left out."""
    controls = []
    for block in frame.controls:
        # An input made inside the block waits already, so the operation that takes it needs no edge of its own.
        if not any(t.op in block.made for t in inputs):
            controls += block.ops
    return tuple(dict.fromkeys(c for c in controls if all(t.op is not c for t in inputs)))


def device_by_op(frame, op):
    """Returns the device that the open blocks give `op`, where one of them is a user's function."""
    op._device = ""  # what a user's function sees
    for function in reversed(frame.device_functions):
        op._device = devices.canonical_name(function(op))
    return op._device


def bad_name(name):
    return ValueError(f"'{name}' is not a valid scope name: a name holds the letters A to Z and a to z, digits and ._-/, no "
                      "blanks, and starts with a letter, digit or dot.")
