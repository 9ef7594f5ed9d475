"""Graph, Operation and Tensor: what a program builds before anything runs."""

import collections.abc
import contextlib
import heapq
import itertools
import linecache
import re
import threading
import types

from regrad.core import context, shapes, source
from regrad.core import device as devices
from regrad.core import opdef as opdefs
from regrad.core.errors import BadValue, InvalidArgumentError, OpError, OutOfRangeError, ShapeError, nearest
from regrad.core.opdef import Spec, spec_text
from regrad.core.override_blocks import OverrideBlock
from regrad.core.shapes import TensorShape
from regrad.core.symbolic import Symbolic

_OP_NAME = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\-/]*$")
_BRACKETS = str.maketrans({"(": "[", ")": "]", " ": None})  # how TensorFlow's messages write shapes
_SCOPE_NAME = re.compile(r"^[A-Za-z0-9_.\-/]*$")


class Tensor(Symbolic):
    """One output of an operation: a value that a session computes.

    Attributes:
      op: the Operation that produces it.
      value_index: which of the operation's outputs it is.
      dtype: its DType.
      name: "<operation>:<value_index>".
    """

    __slots__ = ("op", "value_index", "dims", "dtype", "_consumers", "_partial", "__dict__", "__weakref__")
    __array_priority__ = 100  # NumPy arrays leave mixed arithmetic to Tensor's operators
    OVERLOADABLE_OPERATORS: set[str]

    def __init__(self, op, value_index, dims, dtype):
        self.op = op
        self.value_index = value_index
        self.dims = dims
        self.dtype = dtype
        self._consumers = None

    @property
    def name(self):
        return f"{self.op.name}:{self.value_index}"

    @property
    def _value_index(self):
        return self.value_index

    @property
    def graph(self):
        return self.op.graph

    @property
    def device(self):
        return self.op.device

    @property
    def shape(self):
        """The static shape, a TensorShape."""
        return TensorShape._of(self.dims)

    def get_shape(self):
        """Returns the static shape, as `shape`."""
        return TensorShape._of(self.dims)

    def set_shape(self, shape):
        """Adds what is known about the shape; ValueError when it contradicts what was known."""
        try:
            self.dims = shapes.merge(self.dims, shapes.as_dims(shape))
        except ShapeError:
            raise ValueError(f"set_shape({TensorShape(shape)}): tensor {self.name} has the static shape {self.shape}, "
                             f"which does not fit; made at {self.op.location}.") from None

    @property
    def rank(self):
        return None if self.dims is None else len(self.dims)

    def value(self):
        """Returns the value as a NumPy array when it does not depend on running anything, else None."""
        from regrad.core import constants

        return constants.known_value(self)

    def partial(self):
        """Returns the integers of a scalar or vector, None for each that is unknown; None if the length is too."""
        from regrad.core import constants

        return constants.partial_value(self)

    def consumers(self):
        """Returns the operations that take this tensor as an input, in creation order, one for each input it is."""
        return list(self._consumers or ())

    def eval(self, feed_dict=None, session=None):
        """Returns the value as a NumPy array, computed in `session` or the default session."""
        return _session(session, self, "eval", feed_dict).run(self, feed_dict)

    def _as_graph_element(self):
        return self

    # -- what TensorFlow's own modules ask of a tensor --

    def _rank(self):
        return self.rank

    def _shape_tuple(self):
        return self.dims

    def _shape_as_list(self):
        return None if self.dims is None else list(self.dims)

    def _as_node_def_input(self):
        return self.op.name if self.value_index == 0 else self.name

    def __repr__(self):
        return f"<tf.Tensor '{self.name}' shape={self.shape} dtype={self.dtype.name}>"

    def __str__(self):
        shape = "" if self.dims is None else f", shape={self.shape}"
        device = f", device={self.device}" if self.device else ""
        return f'Tensor("{self.name}"{shape}, dtype={self.dtype.name}{device})'

    def __len__(self):  # variables have none: programs ask so which of their values are lists
        raise TypeError(f"len is not well defined for tensors: that of {self.name} is not known until it is run; use "
                        "tf.shape(x)[0], or x.shape[0] for the static size.")

    def __iter__(self):
        if not self.dims or self.dims[0] is None:
            why = ("it is a scalar" if self.dims == () else
                   "the size of its first axis is not known while the graph is built, and Tensor objects are only iterable "
                   "where it is. Use tf.map_fn, tf.scan or tf.while_loop")
            raise TypeError(f"Tensor {self.name} of shape {self.shape} cannot be iterated over: {why}. "
                            f"Made at {self.op.location}.")
        return (self[i] for i in range(self.dims[0]))


class Operation:
    """A node of the graph: inputs, attributes, outputs, and where the user made it."""

    __slots__ = ("graph", "id", "name", "opdef", "inputs", "outputs", "attrs", "_controls", "_device", "frames",
                 "groups", "override_scope", "attached_rules", "forward_op", "__dict__", "__weakref__")

    def __init__(self, graph, name, opdef, inputs, attrs, groups):
        self.graph = graph
        self.name = name
        self.opdef = opdef
        self.inputs = inputs
        self.attrs = attrs
        self.groups = groups  # sizes of the list inputs, None where no input is a list
        self.attached_rules = None  # rules given to this very op after it was made

    _original_op = None  # what it was made from, in a block of `graph._original_op`
    draws_as = None  # the random operation whose numbers it draws again in each run

    @property
    def unasked(self):
        """True for what loops, branches and functions consist of, which no line of the program asked for."""
        return "_unasked" in self.attrs

    @property
    def type(self):
        return self.opdef.type

    @property
    def device(self):
        return self._device

    @property
    def _id(self):
        return self.id

    def _set_device(self, device):
        self._device = devices.canonical_name(device)

    @property
    def control_inputs(self):
        """The operations that run before this one although it takes nothing of theirs, as a list."""
        return list(self._controls)

    @property
    def _outputs(self):
        return self.outputs

    @property
    def _input_types(self):
        return [t.dtype for t in self.inputs]

    _input_dtypes = _input_types

    @property
    def _output_types(self):
        return [t.dtype.as_datatype_enum for t in self.outputs]

    @property
    def _control_outputs(self):
        return [op for op in self.graph._ops if self in op._controls]

    # -- edges of what is built already, as TensorFlow's own tools change them --

    def _update_input(self, index, tensor):
        self.graph._rewire(self, index, tensor)

    def _add_control_input(self, op):
        self.graph._set_controls(self, (*self._controls, op))

    def _add_control_inputs(self, ops):
        self.graph._set_controls(self, (*self._controls, *ops))

    def _remove_all_control_inputs(self):
        self.graph._set_controls(self, ())

    @property
    def location(self):
        """"file:line" of the user's line that made this operation."""
        return source.location(self.frames)

    @property
    def traceback(self):
        """[(filename, line, function, the line's text), ...] of the user's frames that made it, the innermost last."""
        return [(*frame, linecache.getline(*frame[:2]).strip()) for frame in reversed(source.resolve(self.frames))]

    def _get_control_flow_context(self):
        return self.graph._get_control_flow_context()

    def describe(self):
        """Returns one line for messages: name, type and where it was made."""
        text, op = self._described(), self.forward_op
        for _ in range(3):
            if op is None:
                return text
            text, op = f"{text}, a gradient of {op._described()}", op.forward_op
        return text if op is None else text + ", a gradient of gradients"

    def _described(self):
        name = self.name if len(self.name) <= 200 else f"{self.name[:90]}...{self.name[-90:]}"
        return f"'{name}' ({self.type}), made at {self.location}"

    @property
    def op_def(self):
        """The op type's `name`, `input_arg`, `output_arg`, `attr` and `is_stateful`, as in TensorFlow's OpDef."""
        from regrad.core.graph_def import op_def

        return op_def(self)

    @property
    def node_def(self):
        """The operation as TensorFlow's NodeDef."""
        from regrad.core.graph_def import NodeDef

        return NodeDef(self)

    def get_attr(self, name):
        """Returns the attribute `name`; ValueError when the op has none of that name."""
        if name in self.attrs:
            value = self.attrs[name]
            if name == "shape" and self.type in opdefs.SHAPED:
                return TensorShape(value).as_proto()
            if name == "value" and self.type == "Const":
                from regrad.core.messages import make_tensor_proto

                return make_tensor_proto(value)
            if isinstance(value, tuple) and name != "_known":
                return [v.as_proto() if isinstance(v, TensorShape) else v for v in value]
            return AttrText(value) if type(value) is str else value
        if name == "_gradient_op_type" and self.override_scope is not None:
            found = self.override_scope.named_rule(self.type)
            if found is not None:
                return found.encode()
        position = 0
        for i, arg in enumerate(self.opdef.args):
            count = self.groups[i] if self.groups is not None and arg.is_list else 1
            if arg.var == name and arg.mixed:
                return [t.dtype for t in self.inputs[position:position + count]]
            if arg.var == name:
                return self.inputs[position].dtype
            if arg.is_list and name == "N":
                return count
            position += count
        raise ValueError(f"Operation '{self.name}' has no attr named '{name}'. It has: "
                         f"{', '.join(sorted(self.attrs)) or 'none'}.")

    def _set_attr(self, name, value):
        value = getattr(value, "s", value)
        if name == "_gradient_op_type":
            value = value if isinstance(value, bytes) else str(value).encode()
            self.override_scope = None  # a block's rule stands in that attribute, too, and is replaced
        self.attrs = {**self.attrs, name: value}

    def values(self):
        """Returns the outputs, as a tuple."""
        return tuple(self.outputs)

    def colocation_groups(self):
        """Returns the groups of operations that belong together which this one is in: its own if none was asked for."""
        groups = self.attrs.get("_class") or [f"loc:@{self.name}"]
        return [group.encode() if isinstance(group, str) else group for group in groups]

    def run(self, feed_dict=None, session=None):
        """Runs the operation in `session` or the default session."""
        _session(session, self, "run", feed_dict).run(self, feed_dict)

    def _as_graph_element(self):
        return self

    def __str__(self):
        return str(self.node_def)

    def __repr__(self):
        return f"<tf.Operation '{self.name}' type={self.type}>"


class AttrText(str):
    """A string attribute: TF gives bytes, so it equals and decodes like them too."""

    __slots__ = ()

    def decode(self, *_):
        return str(self)

    def __eq__(self, other):
        return str.__eq__(self, other.decode() if isinstance(other, bytes) else other)

    def __ne__(self, other):
        return not self == other

    __hash__ = str.__hash__


def _session(session, what, call, feed_dict=None):
    given, session = session, session or context.get_default_session()
    verb, kind = ("evaluate", "tensor") if isinstance(what, Tensor) else ("execute", "operation")
    if hasattr(feed_dict, "run"):
        raise TypeError(f"{call}() takes feed_dict first, and got {feed_dict!r}: the session is given by name, "
                        f"{call}(session=sess).")
    if session is not None and not hasattr(session, "graph"):
        raise TypeError(f"{call}(session=...) must be a tf.Session, got {session!r}.")
    if session is None:
        raise ValueError(f"Cannot {verb} {kind} using `{call}()`: No default session is registered. Use `with "
                         f"sess.as_default()` or pass an explicit session to `{call}(session=sess)`: {what!r}.")
    if session.graph is not what.graph:
        which = "default" if given is None else "given"
        raise ValueError(f"Cannot use the {which} session to {verb} {kind}: the {kind}'s graph is different from the session's "
                         f"graph: {what!r}. Pass an explicit session to `{call}(session=sess)`.")
    return session


def _creation(op):
    return op.id


UNASKED = {"_unasked": True}  # attributes of an Identity that overrides catch only where it is named


class _ById(collections.abc.Mapping):
    """The operations of a graph by their numbers, which are their places."""

    def __init__(self, ops):
        self._ops = ops

    def __getitem__(self, number):
        if number not in range(len(self._ops)):
            raise KeyError(number)
        return self._ops[number]

    def __iter__(self):
        return iter(range(len(self._ops)))

    def __len__(self):
        return len(self._ops)


kept: list | None = None  # `regrad doctor` puts a list here, to which every graph that is made is added


class Graph:
    """A set of operations under unique names, plus the scopes in force while more are added."""

    def __init__(self):
        self._ops = []
        self._by_name = {}
        self._names_in_use = {}
        self._scope = ""
        self._control_stack = []
        self._device_stack = ()  # functions of open device blocks
        self._device_by_op = False  # whether one of them must be asked for every op
        self._made_from = None  # inside _original_op
        self._device = ""
        self._colocation = ()  # operations that new ones belong with
        self._override_scope = None
        self._forward_op = None  # while a gradient rule runs: the op it differentiates
        self._attr_scope_map = {}
        self._revision = 0  # how often what is built already was changed
        self._cycle = 0  # how many operations the changes left in cycles and behind them
        self._collections = {}
        self._finalized = False
        self._feedable_off = set()
        self._buckets = {}  # placeholder -> Bucket, by which its feeds are padded
        self._fetchable_off = set()
        self._lock = threading.RLock()
        self._thread = threading.get_ident()  # the thread of which the name scope is, until another opens one
        self._container = ""
        self.gradient_rules = []  # overrides for the whole graph, latest last
        self.override_blocks = []  # every gradient_override_map that was opened
        self.schedules = {}  # storage of a step: a schedule of gradients that reads it, and where, in words
        if kept is not None:
            kept.append(self)
        self.seed = None
        self.outer_graph = None

    def outwards(self):
        """Yields the graph and, of the body of a branch, loop or function, those around it, the outermost last."""
        graph = self
        while graph is not None:
            yield graph
            graph = graph.outer_graph

    @property
    def root(self):
        """The graph that is nobody's body, around all others."""
        *_, outermost = self.outwards()
        return outermost

    # -- adding operations --------------------------------------------------------------

    def _add(self, opdef, inputs, attrs, name, groups=None, specs=None):
        """Makes an operation of converted inputs; `name` may end in "/" to be taken as it is."""
        if self._finalized:
            raise _finalized(f"no operation {name!r} ({opdef.type}) can be added")
        asked, name = name, self._name_for(opdef, name)
        op = Operation(self, name, opdef, inputs, attrs, groups)
        op.frames = source.user_frames()
        try:
            if specs is None:
                specs = _inferred(op)
            if type(specs) is list:
                op.outputs = [Tensor(op, i, s.dims, s.dtype) for i, s in enumerate(specs)]
            else:
                if specs.dtype is None:
                    missing = [key for key, value in attrs.items() if value is None]
                    raise TypeError(f"{opdef.type}: missing required argument: {', '.join(missing) or 'dtype'}, which gives "
                                    f"the output its dtype; made at {op.location}.")
                op.outputs = [Tensor(op, 0, specs.dims, specs.dtype)]
            op._device = self._device
            if self._device_by_op:
                op._device = ""
                for function in reversed(self._device_stack):
                    op._device = devices.canonical_name(function(op))
        except BaseException:
            if asked[-1:] != "/":
                self._give_back(asked, name)
            raise
        if self._made_from is not None:
            op._original_op = self._made_from
        op.override_scope = scope = self._override_scope
        op.forward_op = self._forward_op
        if scope is not None:
            scope = scope.block_for(opdef.type)
            if scope is not None:
                scope.caught += 1
        op._controls = self._controls(inputs) if self._control_stack else ()
        op.id = len(self._ops)
        self._ops.append(op)
        self._by_name[name] = op
        for t in inputs:
            if t._consumers is None:
                t._consumers = [op]
            else:
                t._consumers.append(op)
        if self._control_stack:
            for controller in self._control_stack:
                controller.made.add(op)
        if self._attr_scope_map:
            op.attrs = {**op.attrs, **self._given_attrs(op)}
        if self._colocation:
            groups = {group for other in self._colocation for group in other.colocation_groups()}
            op.attrs = {**op.attrs, "_class": sorted(groups)}
            op._device = self._colocation[-1].device
        return op

    def _name_for(self, opdef, name):
        """Returns the name that an operation asked to be called `name` gets; one that ends in "/" is taken as it is."""
        if checked_name(opdef, name)[-1:] == "/":
            found = name = name[:-1]
            while found in self._by_name:
                found = self.unique_name(name, absolute=True)
            return found
        if name is not opdef.type and not _OP_NAME.match(name) and not (self._scope and name and _SCOPE_NAME.match(name)):
            raise _bad_name(name)
        found = self.unique_name(name)
        while found in self._by_name:  # one that was taken as it is, of a converted input
            found = self.unique_name(name)
        return found

    def _given_attrs(self, op):
        """Returns the attributes that open blocks of `_attr_scope` give `op`."""
        given = {}
        for name, value in self._attr_scope_map.items():
            value = value(op.node_def) if callable(value) else value
            if value is not None:
                given[name] = getattr(value, "value", value)
        return given

    # -- changing edges -----------------------------------------------------------------

    def _rewire(self, op, index, tensor):
        """Makes `tensor` the input `index` of `op`.

        Raises:
          ValueError: it belongs to another graph.
          OutOfRangeError: there is no such input.
          InvalidArgumentError: it has another dtype or does not fit the shape rule.
        """
        if not isinstance(tensor, Tensor):
            raise TypeError(f"_update_input: a Tensor is expected, got {type(tensor).__name__}.")
        if tensor.graph is not self:
            raise ValueError(f"{tensor!r} must be from the same graph as {op!r}.")
        if not 0 <= index < len(op.inputs):
            raise OutOfRangeError(None, op, f"Cannot update edge. Input index [{index}] is greater than the number of total "
                                  f"inputs [{len(op.inputs)}].")
        old = op.inputs[index]
        if tensor.dtype is not old.dtype:
            raise InvalidArgumentError(None, op, f"Input {index} of node {op.name} was passed {tensor.dtype.name} from "
                                       f"{tensor.name} incompatible with expected {old.dtype.name}.")
        inputs = op.inputs
        op.inputs = (*inputs[:index], tensor, *inputs[index + 1:])
        try:
            op.opdef.infer(*op_arguments(op), **op.attrs)
        except (ShapeError, TypeError, ValueError) as error:
            op.inputs = inputs
            was, now = (str(TensorShape(t.dims)).translate(_BRACKETS) for t in (old, tensor))
            raise InvalidArgumentError(None, op, f"Cannot update edge, incompatible shapes: {now} and {was}, input {index} of "
                                       f"{op.describe()}: {error}") from None
        old._consumers.remove(op)
        tensor._consumers = sorted([*(tensor._consumers or ()), op], key=_creation)
        self._edges_changed(tensor.op.id > op.id)

    def _set_controls(self, op, controls):
        for c in controls:
            if not isinstance(c, Operation):
                raise TypeError(f"op must be an Operation: {c!r}")
            if c.graph is not self:
                raise ValueError(f"{c!r} must be from the same graph as {op!r}.")
        op._controls = tuple(dict.fromkeys(controls))
        self._edges_changed(any(c.id > op.id for c in op._controls))

    def _edges_changed(self, order_too):
        """Makes sessions plan anew, and numbers the operations in an order in which each follows what it needs.

        Everything that walks a graph relies on `id` being such an order, as it is when nothing but new operations come.
        """
        self._revision += 1
        self._cycle = 0
        for op in self._ops:
            for t in op.outputs:
                if hasattr(t, "_partial"):  # what was known of its value
                    del t._partial
        if not order_too:
            return
        waits, ready, order = {}, [], []
        needed_by = {}
        for op in self._ops:
            needs = {*(t.op for t in op.inputs), *op._controls}
            waits[op] = len(needs)
            for other in needs:
                needed_by.setdefault(other, []).append(op)
            if not needs:
                ready.append((op.id, op))
        heapq.heapify(ready)
        while ready:
            op = heapq.heappop(ready)[1]
            order.append(op)
            for other in needed_by.get(op, ()):
                waits[other] -= 1
                if not waits[other]:
                    heapq.heappush(ready, (other.id, other))
        self._cycle = len(self._ops) - len(order)
        if self._cycle:
            return  # a run says so: edges that come may end it
        self._ops[:] = order
        for i, op in enumerate(order):
            op.id = i

    def check_acyclic(self):
        """Raises InvalidArgumentError if edges that were changed form a cycle."""
        if self._cycle:
            raise InvalidArgumentError(f"Graph is invalid, contains a cycle with {self._cycle} nodes.")

    def _controls(self, inputs):
        """The control inputs for an op of these inputs; one that an input already waits for is left out."""
        controls = []
        for controller in self._control_stack:
            # An input made inside the block waits already, so the op that takes it needs no edge of its own.
            if not any(t.op in controller.made for t in inputs):
                controls += controller.ops
        return tuple(dict.fromkeys(c for c in controls if all(t.op is not c for t in inputs)))

    def create_op(self, op_type, inputs, dtypes=None, input_types=None, name=None, attrs=None, op_def=None,
                  compute_shapes=True, compute_device=True):
        """Makes an operation of type `op_type`: TF1's low-level entry.

        Args:
          inputs: the tensors, in one flat list.
          attrs: {name: AttrValue, or what stands in one}. What the inputs say already ("T", "N") may be left out; what the op
            type does not know is ignored, as in a GraphDef, but for names that begin with "_".

        Raises:
          ValueError: there is no such op type, or it does not take these inputs.
        """
        from regrad.core.graph_def import AttrValue, NodeDef
        from regrad.importer.operations import described

        node = NodeDef(op=op_type, name=name or op_type)
        node.attr.update({k: v if isinstance(v, AttrValue) else AttrValue(v) for k, v in (attrs or {}).items()})
        definition, groups, known = described(node, inputs)
        rest = iter(inputs)
        arguments = inputs if groups is None else [next(rest) if n is None else list(itertools.islice(rest, n)) for n in groups]
        with self.as_default():
            result = definition(*arguments, name=name, **{key: known[key] for key in definition.attrs})
        op = result if isinstance(result, Operation) else (result[0] if isinstance(result, list) else result).op
        for key, value in node.attr.items():
            if key.startswith("_") and (key != "_gradient_op_type" or op.override_scope is None):
                op._set_attr(key, value.value)
        return op

    def unique_name(self, name, mark_as_used=True, absolute=False):
        """Returns `name` inside the current scope, with _1, _2 ... appended when it is taken."""
        if self._scope and not absolute:
            name = f"{self._scope}/{name}"
        key = name.lower()  # two names must not differ by case alone: they may become file names
        in_use = self._names_in_use
        i = in_use.get(key, 0)
        if mark_as_used:
            in_use[key] = i + 1
        if i > 0:
            base = key
            while key in in_use:
                key = f"{base}_{i}"
                i += 1
            if mark_as_used:
                in_use[key] = 1
            name = f"{name}_{i - 1}"
        return name

    def _give_back(self, asked, name):
        """Undoes the `unique_name(asked)` that gave `name`, in the same scope: what was to be called so was not made."""
        in_use = self._names_in_use
        key = (f"{self._scope}/{asked}" if self._scope else asked).lower()
        if name.lower() != key:
            in_use.pop(name.lower(), None)
        if in_use.get(key, 0) > 1:
            in_use[key] -= 1
        else:
            in_use.pop(key, None)

    def _withdraw(self, first, prefix):
        """Removes the latest operations, from number `first` on, whose names begin with `prefix` and that nobody needs.

        They are what Python values became as operands of an operation, or what an initializer made, before it was refused.
        """
        ops = self._ops
        while len(ops) > first and ops[-1].name.startswith(prefix) and not any(t._consumers for t in ops[-1].outputs):
            op = ops.pop()
            del self._by_name[op.name]
            self._names_in_use.pop(op.name.lower(), None)
            for t in op.inputs:
                t._consumers.remove(op)
            for controller in self._control_stack:
                controller.made.discard(op)

    # -- scopes -------------------------------------------------------------------------

    def as_default(self):
        """Context manager: ops made inside the block, in this thread, go to this graph."""
        if type(self) is Graph and threading.get_ident() != self._thread:
            self._per_thread(_NamesPerThread)
        return context.push_graph(self)

    def switch_to_thread_local(self):
        """Makes blocks of devices, control dependencies and colocation hold in the thread that opens them, from now on.

        Name scopes always do.
        """
        if not isinstance(self, _BlocksPerThread):
            self._per_thread(_BlocksPerThread)

    def _per_thread(self, kind):
        """Makes this a Graph of a class whose `PER_THREAD` are each thread's own: what they are now, but for name scopes."""
        now = {name: getattr(self, name) for name in kind.PER_THREAD}
        self._local = _ThreadValues(self._thread, now)
        self.__class__ = kind

    def name_scope(self, name):
        """Context manager: prefixes the names of ops made inside the block; yields the prefix with its slash."""
        return _NameScope(self, name)

    def get_name_scope(self):
        """Returns the name scope in force, without a slash at its end."""
        return self._scope

    def _get_control_flow_context(self):
        """Returns None: the bodies of loops and branches are graphs of their own."""

    def control_dependencies(self, control_inputs):
        """Context manager: ops made inside the block run after `control_inputs`; None lifts outer blocks."""
        return _Controls(self, control_inputs)

    @contextlib.contextmanager
    def device(self, device_name_or_function):
        """Records a device on the ops made inside the block.

        Args:
          device_name_or_function: a name or DeviceSpec, completed by those of outer blocks; a function of an operation
            that returns its device's name; or None, which lifts outer blocks.
        """
        given = device_name_or_function
        saved = self._device, self._device_stack, self._device_by_op
        if given is None:
            self._device, self._device_stack, self._device_by_op = "", (), False
        elif callable(given):
            self._device_stack, self._device_by_op = (*self._device_stack, given), True
        else:
            self._device_stack = (*self._device_stack, devices.merge_device(given))
            self._device = devices.joined(self._device, given)
        try:
            yield
        finally:
            self._device, self._device_stack, self._device_by_op = saved

    @contextlib.contextmanager
    def _attr_scope(self, attr_map):
        """Gives the ops made inside the block attributes.

        Args:
          attr_map: {name: an AttrValue; a function of a NodeDef that returns one, or None; None, which lifts outer blocks}.
        """
        if not isinstance(attr_map, dict):
            raise TypeError("attr_map must be a dictionary mapping strings to Callables that return AttrValue protocol buffers")
        for name, value in attr_map.items():
            if not isinstance(name, str) or not (value is None or callable(value) or hasattr(value, "value")):
                raise TypeError("attr_map maps strings to AttrValue messages, functions that return one, or None; got "
                                f"{name!r}: {value!r}.")
        saved = self._attr_scope_map
        self._attr_scope_map = {k: v for k, v in {**saved, **attr_map}.items() if v is not None}
        try:
            yield
        finally:
            self._attr_scope_map = saved

    @contextlib.contextmanager
    def _original_op(self, op):
        """Records on the ops made inside the block that they were made from `op`."""
        old, self._made_from = self._made_from, op
        try:
            yield
        finally:
            self._made_from = old

    @contextlib.contextmanager
    def colocate_with(self, op, ignore_existing=False):
        """Records on the ops made inside the block that they belong with `op`, and with those of outer blocks.

        Args:
          op: operation or tensor, or None for none.
          ignore_existing: outer blocks do not count.

        Raises:
          ValueError: `op` is None and outer blocks count.
        """
        if op is None and not ignore_existing:
            raise ValueError("Trying to reset colocation (op is None) but ignore_existing is not True")
        old = self._colocation
        outer = () if ignore_existing else old
        if op is not None:
            element = self.as_graph_element(op)
            outer = (*outer, element if isinstance(element, Operation) else element.op)
        self._colocation = outer
        try:
            yield
        finally:
            self._colocation = old

    @contextlib.contextmanager
    def container(self, container_name):
        """Context manager: queues, readers and tables made inside the block are kept under this name; "" is the default."""
        old, self._container = self._container, container_name
        try:
            yield self._container
        finally:
            self._container = old

    def gradient_override_map(self, op_type_map):
        """Gives ops made inside the block another gradient rule, by op type.

            with g.gradient_override_map({"Identity": "Reverse"}):
                y = tf.identity(x)

        Inner blocks win over outer ones. A value names a rule of `RegisterGradient`, a built-in op type included; it
        is looked up when gradients are built, so it may be registered later.

        Args:
          op_type_map: {op type: rule name}.

        Raises:
          TypeError: keys or values are not strings, or the argument is not a dict.
          ValueError: a key is no op type of Regrad or of TensorFlow 1; the message gives the nearest ones.
        """
        current = get_default_graph()
        # In TensorFlow the body of a loop or branch belongs to the graph around it: what it names is the body, then.
        inside = isinstance(current, FuncGraph) and current.encloses(self)
        return OverrideBlock(current if inside else self, op_type_map)

    @property
    def _gradient_override_map(self):
        """{op type: rule name} of the `gradient_override_map` blocks that are open; it cannot be written to."""
        merged, scope = {}, self._override_scope
        while scope is not None:
            merged = scope.mapping | merged
            scope = scope.parent
        return types.MappingProxyType(merged)

    # -- looking up ---------------------------------------------------------------------

    _nodes_by_name = property(lambda self: types.MappingProxyType(self._by_name))
    _nodes_by_id = property(lambda self: _ById(self._ops))

    def get_operations(self):
        """Returns the operations in the order they were made."""
        return list(self._ops)

    def get_operation_by_name(self, name):
        """Returns the operation `name`; KeyError if there is none, with the nearest names."""
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_tensor=False, allow_operation=True)

    def get_tensor_by_name(self, name):
        """Returns the tensor "<op>:<index>"."""
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_tensor=True, allow_operation=False)

    def as_graph_element(self, obj, allow_tensor=True, allow_operation=True):
        """Returns the Tensor or Operation that `obj` is, names, or converts to.

        Raises:
          TypeError: `obj` is neither, nor convertible.
          ValueError: it belongs to another graph, or the name is malformed.
          KeyError: no such name.
        """
        if not allow_tensor and not allow_operation:
            raise ValueError("allow_tensor and allow_operation can't both be False.")
        wanted = " or ".join(w for w, on in (("Tensor", allow_tensor), ("Operation", allow_operation)) if on)
        convert = getattr(obj, "_as_graph_element", None)
        if convert is not None:
            obj = convert()
        if isinstance(obj, str):
            return self._element_by_name(obj, allow_tensor, allow_operation)
        if isinstance(obj, Tensor) and allow_tensor or isinstance(obj, Operation) and allow_operation:
            if obj.graph is not self:
                raise ValueError(_elsewhere(obj))
            return obj
        raise TypeError(f"Can not convert a {type(obj).__name__} into a {wanted}.")

    def _element_by_name(self, name, allow_tensor, allow_operation):
        base, colon, index = name.partition(":")
        if colon and allow_tensor:
            if not index.isdigit():
                raise ValueError(f"The name {name!r} looks like a (invalid) Tensor name: "
                                 "tensors are named <op_name>:<output_index>.")
            op = self._by_name.get(base)
            if op is None:
                raise KeyError(f"The name {name!r} refers to a Tensor which does not exist. The operation, {base!r}, "
                               f"does not exist in the graph{nearest(base, self._by_name) or '.'}")
            if int(index) >= len(op.outputs):
                raise KeyError(f"The name {name!r} refers to a Tensor which does not exist. The operation, {base!r}, "
                               f"exists but only has {len(op.outputs)} outputs.")
            return op.outputs[int(index)]
        if colon:
            raise ValueError(f"The name {name!r} appears to refer to a Tensor, not an Operation.")
        if not allow_operation:
            hint = f" Use {name + ':0'!r} for its first output." if name in self._by_name else ""
            raise ValueError(f"The name {name!r} looks like an (invalid) Operation name, not a Tensor. Tensor names must be of "
                             f'the form "<op_name>:<output_index>".{hint}')
        if name not in self._by_name:
            raise KeyError(f"The name {name!r} refers to an Operation not in the graph{nearest(name, self._by_name) or '.'}")
        return self._by_name[name]

    @property
    def version(self):
        """Grows with every operation added."""
        return len(self._ops)

    @property
    def graph_def_versions(self):
        """The versions of TensorFlow's format that the graph's GraphDef keeps to."""
        from regrad.core.graph_def import GraphDef

        return GraphDef.versions

    @property
    def finalized(self):
        """Whether the graph is read-only."""
        return self._finalized

    def finalize(self):
        """Makes the graph read-only."""
        self._finalized = True

    def _unsafe_unfinalize(self):
        self._finalized = False

    @property
    def building_function(self):
        return self.outer_graph is not None

    def as_graph_def(self, from_version=None, add_shapes=False):
        """Returns the graph in readable form, with TF's GraphDef fields (`node`, each `name op input attr`).

        Args:
          from_version: leave out as many operations, the oldest.
          add_shapes: give the attribute "_output_shapes".
        """
        from regrad.core.graph_def import GraphDef

        return GraphDef(self._ops[from_version or 0:], self.gradient_rules, add_shapes)

    # -- feeds and fetches ---------------------------------------------------------------

    def prevent_feeding(self, tensor):
        """Makes runs refuse values for `tensor`."""
        self._feedable_off.add(tensor)

    def is_feedable(self, tensor):
        """Returns whether runs take values for `tensor`."""
        return tensor not in self._feedable_off

    def prevent_fetching(self, op):
        """Makes runs refuse to give the results of `op`."""
        self._fetchable_off.add(op)
        self._revision += 1

    def is_fetchable(self, tensor_or_op):
        """Returns whether runs give an operation's results."""
        op = tensor_or_op.op if isinstance(tensor_or_op, Tensor) else tensor_or_op
        return op not in self._fetchable_off

    # -- collections ---------------------------------------------------------------------

    def add_to_collection(self, name, value):
        """Adds anything to the collection `name`, any hashable key; RuntimeError if the graph is finalized."""
        if self._finalized:
            raise _finalized(f"nothing can be added to its collection {name!r}")
        self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names, value):
        """Adds anything to several collections, or to one whose name is a string."""
        for name in (names,) if isinstance(names, str) else set(names):
            self.add_to_collection(name, value)

    def get_collection_ref(self, name):
        """Returns the collection's own list, which may be changed."""
        return self._collections.setdefault(name, [])

    def get_collection(self, name, scope=None):
        """Returns a copy of the collection; with `scope`, only items whose name matches that prefix pattern."""
        items = self._collections.get(name, [])
        if scope is None:
            return list(items)
        pattern = re.compile(scope)
        return [i for i in items if hasattr(i, "name") and pattern.match(i.name)]

    def get_all_collection_keys(self):
        """Returns the names of the collections, those that are strings."""
        return [k for k in self._collections if isinstance(k, str)]

    @property
    def collections(self):
        return self.get_all_collection_keys()

    def clear_collection(self, name):
        """Empties a collection."""
        self._collections.pop(name, None)

    def __repr__(self):
        return f"<Graph of {len(self._ops)} operations>"


class _ThreadValues(threading.local):
    """What blocks of a graph set, in one thread: at first what they did when each thread began to have its own."""

    def __init__(self, owner, values):
        self.__dict__.update(values)
        if threading.get_ident() != owner:
            self._scope = ""


def _own(name):
    """Returns the property of a graph that is kept for each thread."""
    return property(lambda graph: getattr(graph._local, name), lambda graph, value: setattr(graph._local, name, value))


class _NamesPerThread(Graph):
    """What a Graph becomes when a second thread builds in it: each has name scopes of its own."""

    PER_THREAD: tuple[str, ...] = ("_scope",)
    _scope = _own("_scope")


class _BlocksPerThread(_NamesPerThread):
    """What `switch_to_thread_local` makes of a Graph."""

    PER_THREAD = ("_scope", "_control_stack", "_device_stack", "_device_by_op", "_device", "_colocation")
    _control_stack, _device_stack, _device_by_op, _device, _colocation = map(_own, PER_THREAD[1:])


class FuncGraph(Graph):
    """A graph that is the body of a function, branch or loop of `outer_graph`.

    Using a tensor of an outer graph inside it makes an extra input, a *capture*. Scopes in force outside hold inside.

    Attributes:
      name: the body's name.
      inputs: its own input tensors, captures last.
      captures: {outer tensor: inner tensor}.
      outer_inputs: the tensors of the graph around that were captured, in the order of the inputs that they feed.
      reads: {the read `w/read` of a variable that was asked for inside: the variable's storage}.
      outputs: what it returns.
    """

    runs_all = False  # whether effects run that no output needs, as in TensorFlow's functions but not in its loops and branches
    built = False  # whether the function has returned: nobody outside may use its tensors from then on

    def __init__(self, name, outer_graph):
        super().__init__()
        self.name = name
        self.outer_graph = outer_graph
        self.inputs = []
        self.captures = {}
        self.outer_inputs = []
        self._inner_of = {}  # {tensor of the graph around: the input that it feeds}
        self.reads = {}
        self.outputs = []
        # (operation of an enclosing graph that a block of control dependencies names, what is made in that block or None)
        self.waits_outside = []
        self.seed = outer_graph.seed
        self._override_scope = outer_graph._override_scope
        self._forward_op = outer_graph._forward_op
        self._device, self._device_stack = outer_graph._device, outer_graph._device_stack
        self._device_by_op = outer_graph._device_by_op
        self._collections = outer_graph._collections
        self.gradient_rules = outer_graph.gradient_rules
        self.override_blocks = outer_graph.override_blocks

    def encloses(self, graph):
        """True when `graph` is one of the graphs around this one."""
        return graph is not self and any(outer is graph for outer in self.outwards())

    def add_input(self, dtype, dims, name):
        """Returns a new input tensor of the body, the last."""
        self.inputs.append(self._new_input(dtype, dims, name))
        return self.inputs[-1]

    def _new_input(self, dtype, dims, name):
        """Returns a new input tensor, which is yet to be put among `inputs`."""
        attrs = {"dtype": dtype, "shape": dims}
        return self._add(opdefs.find_op("FuncInput"), (), attrs, name, specs=Spec(dims, dtype)).outputs[0]

    def capture(self, tensor):
        """Returns the inner tensor that stands for `tensor` of an enclosing graph."""
        inner = self.captures.get(tensor)
        if inner is None:
            outer = self.outer_graph
            tensor_outside = tensor if tensor.graph is outer else outer.capture(tensor)
            known = tensor.value() if tensor.dtype._kind in "iubs" else None
            if tensor_outside in self._inner_of:  # under another name: two tensors further out may be one in the graph around
                inner = self._inner_of[tensor_outside]
            elif known is not None and known.size <= 64:
                # Sizes and axes are simply repeated, so that they stay known inside. Real numbers are not: somebody may
                # differentiate with respect to them.
                with self.control_dependencies(None):
                    op = self._add(opdefs.find_op("Const"), (), {"value": known, "dtype": tensor.dtype},
                                   tensor.op.name.rpartition("/")[2])
                inner = op.outputs[0]
            else:
                scope, self._scope = self._scope, ""
                stack, self._control_stack = self._control_stack, []
                override, self._override_scope = self._override_scope, None
                inner = self._new_input(tensor.dtype, tensor.dims, "capture/" + tensor.op.name)
                self._scope, self._control_stack, self._override_scope = scope, stack, override
                self.inputs.append(inner)
                self.outer_inputs.append(tensor_outside)
                self._inner_of[tensor_outside] = inner
                variable = variable_of(tensor)
                if variable is not None:
                    inner.op.attrs = {**inner.op.attrs, "variable": variable}
            self.captures[tensor] = inner
        return inner

    def capture_shape(self, tensor):
        """Returns an inner tensor of the shape of `tensor`, for an operand of which only the shape matters."""
        return self.capture(tensor)

    def note_read(self, snapshot, storage):
        """Remembers here and further out that a read made outside stands for one inside: a loop may have to make it one."""
        for graph in self.outwards():
            if graph.outer_graph is not None:
                graph.reads[snapshot] = storage

    def read_inside(self, snapshot):
        """Makes the read of a variable that was captured one of this body: its value is then that of each call."""
        inner = self.captures.pop(snapshot)
        n_explicit = len(self.inputs) - len(self.outer_inputs)
        position = self.inputs.index(inner)
        self._inner_of.pop(self.outer_inputs[position - n_explicit], None)
        del self.inputs[position], self.outer_inputs[position - n_explicit]
        storage = self.capture(self.reads[snapshot])
        op = inner.op
        op.opdef, op.inputs, op.attrs = opdefs.find_op("Identity"), (storage,), UNASKED
        storage._consumers = [*(storage._consumers or ()), op]


opdefs.define_op("FuncInput", "", infer=lambda *, dtype, shape, variable=None: Spec(shape, dtype),
                 attrs={"dtype": None, "shape": None}, stateful=True)


def variable_of(tensor):
    """Returns the variable operation whose storage `tensor` is, or None."""
    op = tensor.op
    if op.opdef.variable:
        return op
    return op.attrs.get("variable") if op.opdef.type == "FuncInput" else None


def origin(tensor):
    """Returns the tensor that `tensor` is another name of: what Identity operations pass on."""
    while tensor.op.type == "Identity":
        tensor = tensor.op.inputs[0]
    return tensor


def may_assign(op):
    """True for an operation that may write variables."""
    return bool(op.opdef.writes) or op.opdef.extra.get("has_bodies", False)


def assigned_by(op):
    """Yields the variable operations that one operation assigns, inside its branches or body too."""
    for i in op.opdef.writes:
        assigned = variable_of(op.inputs[i])
        if assigned is not None:
            yield assigned
    for body in body_graphs(op):
        for inner in body._ops:
            yield from assigned_by(inner)


def body_graphs(op):
    """Returns the FuncGraphs among an operation's attributes: branches, loop bodies."""
    if not op.opdef.extra.get("has_bodies"):
        return ()
    values = (v for value in op.attrs.values() for v in (value if isinstance(value, (list, tuple)) else (value,)))
    return [v for v in values if isinstance(v, FuncGraph)]


def operations_within(graph, gradients=True):
    """Returns the operations of a graph, behind each those of its branches and bodies, to any depth.

    Without `gradients`, what gradients are made of is left out, with all that is inside.
    """
    found, stack = [], [iter(graph._ops)]
    while stack:
        for op in stack[-1]:
            if not gradients and op.forward_op is not None:
                continue
            found.append(op)
            bodies = body_graphs(op)
            if bodies:
                stack.append(inner for body in bodies for inner in body._ops)
                break
        else:
            stack.pop()
    return found


def assigned_before(ops):
    """Returns the variable operations that are assigned by `ops` or by what these wait for.

    What each operation waits for is remembered, so that asking at every step of a growing graph stays linear.
    """
    return frozenset().union(*(_assigned_up_to(op) for op in ops))


def _assigned_up_to(op):
    graph = op.graph
    revision, known = graph.__dict__.get("_assigned", (None, {}))
    if revision != graph._revision:
        revision, known = graph._assigned = (graph._revision, {})
    stack = [op]
    while stack:
        last = stack[-1]
        if last in known:
            stack.pop()
            continue
        before = {*(t.op for t in last.inputs), *last._controls}
        missing = [other for other in before if other not in known]
        if missing:
            stack += missing
            continue
        sets = {id(s): s for s in map(known.__getitem__, before) if s}
        if may_assign(last):
            sets[0] = frozenset(assigned_by(last))
        known[last] = frozenset().union(*sets.values()) if len(sets) > 1 else next(iter(sets.values()), frozenset())
        stack.pop()
    return known[op]


def needed(fetches, fed=()):
    """Returns the set of operations that the fetches, tensors or operations, depend on, stopping at fed tensors."""
    seen = set()
    stack = list(fetches)
    while stack:
        item = stack.pop()
        if isinstance(item, Tensor):
            if item in fed:
                continue
            item = item.op
        if item in seen:
            continue
        seen.add(item)
        for t in item.inputs:
            if t.op not in seen and (not fed or t not in fed):
                stack.append(t.op)
        for c in item._controls:
            if c not in seen:
                stack.append(c)
    return seen


class _NameScope(contextlib.ContextDecorator):
    """The block of `Graph.name_scope`."""

    __slots__ = ("graph", "name", "outer", "made_before")

    def __init__(self, graph, name):
        self.graph = graph
        self.name = name

    def __enter__(self):
        graph, name = self.graph, self.name
        if type(graph) is Graph and threading.get_ident() != graph._thread:
            graph._per_thread(_NamesPerThread)
        self.outer = graph._scope
        self.made_before = len(graph._ops)
        if not name:
            graph._scope = ""
            return ""
        if not isinstance(name, str):
            raise TypeError(f"The name of a scope must be a string, got {name!r}.")
        if not _SCOPE_NAME.match(name) or (not self.outer and not _OP_NAME.match(name)):
            raise _bad_name(name)
        graph._scope = scope = name[:-1] if name.endswith("/") else graph.unique_name(name)
        return scope + "/"

    def __exit__(self, *exc):
        graph, name = self.graph, self.name
        inner, graph._scope = graph._scope, self.outer
        if exc[0] is not None and name and name[-1] != "/" and len(graph._ops) == self.made_before:
            graph._give_back(name, inner)  # nothing was made in it


class _Controls:
    """The block of `control_dependencies`."""

    def __init__(self, graph, control_inputs):
        self.graph = graph
        self.ops = []
        self.made = set()
        self.clears = control_inputs is None
        if not self.clears and (isinstance(control_inputs, (str, Operation)) or hasattr(control_inputs, "_as_graph_element")):
            raise TypeError(f"control_dependencies takes a list of operations and tensors, got {control_inputs!r}; "
                            "put it in brackets.")
        for c in () if self.clears else control_inputs:
            if hasattr(c, "values") and hasattr(c, "indices") and not isinstance(c, (Tensor, Operation)):
                c = c.op if hasattr(c, "op") else c.values  # IndexedSlices
            element = None
            if not hasattr(c, "graph") or getattr(c, "graph", None) is graph or isinstance(c, str):
                element = graph.as_graph_element(c)
            elif isinstance(graph, FuncGraph) and graph.encloses(c.graph):
                outside = c if isinstance(c, Operation) else getattr(c, "op", c)
                graph.waits_outside.append((outside, self.made))  # runs before the operation that holds the body does
                continue
            else:
                element = graph.as_graph_element(c)
            self.ops.append(element if isinstance(element, Operation) else element.op)

    def __enter__(self):
        graph = self.graph
        self.saved = graph._control_stack
        graph._control_stack = [] if self.clears else [*self.saved, self]

    def __exit__(self, *exc):
        self.graph._control_stack = self.saved


def _inferred(op):
    """Returns what the shape rule of an operation says of its outputs; its errors name the operation and the user's line."""
    try:
        specs = op.opdef.infer(*(op_arguments(op) if op.opdef.has_lists else op.inputs), **op.attrs)
        if type(specs) is not list and not hasattr(specs, "dims"):
            raise TypeError(f"its infer must return a tf.Spec, or a list of one for each output; it returned {specs!r}")
    except (ShapeError, TypeError, ValueError) as error:
        _explain_inference(error, op)
        if type(error) is ValueError:
            raise BadValue(*error.args) from None
        raise
    return specs


def _explain_inference(error, op):
    """Adds the op, its inputs and the user's line to an error raised by a shape rule."""
    inputs = ", ".join(spec_text(t) for t in op.inputs)
    text, shapes = str(error), " with input shapes"
    text = (text.replace(shapes, f" for '{op.name}' (op: '{op.type}'){shapes}") if shapes in text else
            f"{op.type} '{op.name}': {text}")
    if inputs and inputs not in text:
        text += f" (inputs: {inputs})"
    error.args = (f"{text}; made at {op.location}.",)
    if isinstance(error, OpError):
        error.message = error.args[0]


def op_arguments(op, values=None):
    """Returns an op's inputs (or `values` for them) as its shape rule takes them: lists where the signature has lists."""
    values = op.inputs if values is None else values
    if op.groups is None:
        return values
    out, position = [], 0
    for size in op.groups:
        if size is None:
            out.append(values[position])
            position += 1
        else:
            out.append(list(values[position:position + size]))
            position += size
    return out


def _finalized(what):
    return RuntimeError(f"Graph is finalized and cannot be modified: {what}. Build everything before graph.finalize() or a "
                        "monitored session, which calls it.")


def checked_name(opdef, name):
    """Returns the name that an operation is asked to have; TypeError where it is no string."""
    if not isinstance(name, str):
        raise TypeError(f"{opdef.type}: name must be a string, got {name!r}.")
    return name


def _bad_name(name):
    return ValueError(f"'{name}' is not a valid scope name: a name holds the letters A to Z and a to z, digits and ._-/, no "
                      "blanks, and starts with a letter, digit or dot.")


def _elsewhere(obj):
    """Says that an operation or tensor is of another graph than asked, and of which."""
    op, kind = (obj.op, "Tensor") if isinstance(obj, Tensor) else (obj, "Operation")
    text = f"{kind} {obj if op is not obj else repr(obj)} is not an element of this graph. It was made at {op.location}"
    if isinstance(op.graph, FuncGraph):
        return (f"{text}, inside {op.graph.name!r}, the body of a branch, loop or function, and has a value only there: "
                "return it from that function, and take what the call gives back.")
    return (f"{text}, in another graph: a session runs one, tf.Session(graph=g), and tf.reset_default_graph() begins a new "
            "one without what was made before.")


# -- the default graph ----------------------------------------------------------------

_global_graph = None


def get_default_graph():
    """Returns the innermost graph made default in this thread, else the process's own default graph."""
    graph = context.graphs.top()
    if graph is None:
        global _global_graph
        if _global_graph is None:
            _global_graph = Graph()
        graph = _global_graph
    return graph


def reset_default_graph():
    """Replaces the process's default graph by an empty one; not inside a `with graph.as_default()` block."""
    global _global_graph
    if context.graphs.items:
        raise AssertionError("Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared graph, "
                             "exit the nesting and create a new graph.")
    _global_graph = Graph()


def is_tensor(x):
    """Returns whether `x` is a tensor, a variable, a SparseTensor or IndexedSlices."""
    return isinstance(x, Tensor) or hasattr(x, "_as_graph_element") and not isinstance(x, Operation) or (
        getattr(x, "is_tensor_like", False))
