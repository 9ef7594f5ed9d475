"""Operation and Tensor: the nodes of a graph and the values that they give."""

import linecache

from regrad.core import context, shapes, source
from regrad.core import device as devices
from regrad.core import opdef as opdefs
from regrad.core.errors import ShapeError
from regrad.core.shapes import TensorShape
from regrad.core.symbolic import Symbolic


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


UNASKED = {"_unasked": True}  # attributes of an Identity that overrides catch only where it is named


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
