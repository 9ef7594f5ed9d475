"""Graph: operations under unique names, collections, and what is in force while more operations are made."""

import collections.abc
import contextlib
import itertools
import re
import types
from threading import get_ident

from regrad.core import context, edges, frames, source
from regrad.core.errors import BadValue, InvalidArgumentError, OpError, ShapeError, nearest
from regrad.core.frames import ControlDependencies, Frame, Frames, NameScope, framed
from regrad.core.opdef import spec_text
from regrad.core.operation import Operation, Tensor, op_arguments
from regrad.core.override_blocks import OverrideBlock


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
    """A set of operations under unique names, plus the scopes in force while more are added.

    Example:
      graph = tf.Graph()
      with graph.as_default():
          y = tf.constant(2.0) * 3.0
      print(tf.Session(graph=graph).run(y))
      #> 6.0
    """

    def __init__(self, frame=None):
        self._ops = []
        self._by_name = {}
        self._names_in_use = {}
        self._frames = Frames(frame or Frame())
        self._revision = 0  # how often what is built already was changed
        self.planned = False  # whether plans were made since then
        self._cycle = 0  # how many operations the changes left in cycles and behind them
        self._collections = {}
        self._finalized = False
        self._feedable_off = set()
        self._buckets = {}  # placeholder -> Bucket, by which its feeds are padded
        self._fetchable_off = set()
        self.gradient_rules = []  # overrides for the whole graph, latest last
        self.override_blocks = []  # every gradient_override_map that was opened
        self.schedules = {}  # storage of a step: a schedule of gradients that reads it, and where, in words
        if kept is not None:
            kept.append(self)
        self.seed = None
        self.outer_graph = None

    @property
    def frame(self):
        """The Frame in force in this thread; `framed(graph, field=value)` changes it for a block."""
        frames = self._frames
        return frames.frame if get_ident() == frames.owner else frames.current

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

    def encloses(self, graph):
        """True when `graph` is one of those around this one, which is a body then."""
        return False

    # -- adding operations --------------------------------------------------------------

    def _add(self, opdef, inputs, attrs, name, groups=None, specs=None):
        """Makes an operation of converted inputs; `name` may end in "/" to be taken as it is."""
        if self._finalized:
            raise _finalized(f"no operation {name!r} ({opdef.type}) can be added")
        asked, name = name, self._name_for(opdef, name)
        op = Operation(self, name, opdef, inputs, attrs, groups)
        op.frames = source.user_frames()
        frame = self.frame
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
            op._device = frames.device_by_op(frame, op) if frame.device_by_op else frame.device
        except BaseException:
            if asked[-1:] != "/":
                self._give_back(asked, name)
            raise
        if frame.made_from is not None:
            op._original_op = frame.made_from
        op.override_scope = scope = frame.override_scope
        op.forward_op = frame.forward_op
        if scope is not None:
            scope = scope.block_for(opdef.type)
            if scope is not None:
                scope.caught += 1
        op._controls = frames.control_inputs(frame, inputs) if frame.controls else ()
        op.id = len(self._ops)
        self._ops.append(op)
        self._by_name[name] = op
        for t in inputs:
            if t._consumers is None:
                t._consumers = [op]
            else:
                t._consumers.append(op)
        for block in frame.controls:
            block.made.add(op)
        if frame.attrs:
            op.attrs = {**op.attrs, **frames.given_attrs(frame, op)}
        if frame.colocation:
            groups = {group for other in frame.colocation for group in other.colocation_groups()}
            op.attrs = {**op.attrs, "_class": sorted(groups)}
            op._device = frame.colocation[-1].device
        return op

    def _name_for(self, opdef, name):
        """Returns the name that an operation asked to be called `name` gets; one that ends in "/" is taken as it is."""
        if checked_name(opdef, name)[-1:] == "/":
            found = name = name[:-1]
            while found in self._by_name:
                found = self.unique_name(name, absolute=True)
            return found
        if (name is not opdef.type and not frames.OP_NAME.match(name)
                and not (self.frame.scope and name and frames.SCOPE_NAME.match(name))):
            raise frames.bad_name(name)
        found = self.unique_name(name)
        while found in self._by_name:  # one that was taken as it is, of a converted input
            found = self.unique_name(name)
        return found

    _rewire = staticmethod(edges.rewire)
    _set_controls = staticmethod(edges.set_controls)

    def changed_what_is_planned(self):
        """Makes sessions plan anew, if they have planned anything: an operation was changed that is built already."""
        if self.planned:
            self._revision += 1
            self.planned = False

    def check_acyclic(self):
        """Raises InvalidArgumentError if edges that were changed form a cycle."""
        if self._cycle:
            raise InvalidArgumentError(f"Graph is invalid, contains a cycle with {self._cycle} nodes.")

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
        scope = self.frame.scope
        if scope and not absolute:
            name = f"{scope}/{name}"
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
        scope = self.frame.scope
        key = (f"{scope}/{asked}" if scope else asked).lower()
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
            for block in self.frame.controls:
                block.made.discard(op)

    # -- scopes -------------------------------------------------------------------------

    def as_default(self):
        """Context manager: ops made inside the block, in this thread, go to this graph."""
        return context.push_graph(self)

    def switch_to_thread_local(self):
        """Makes blocks of devices, control dependencies and colocation hold only in the thread that opens them, from now on.

        Until then threads that have none open are in those of the thread that made the graph. Name scopes are never shared.
        """
        self._frames.part()

    def name_scope(self, name):
        """Context manager: prefixes the names of ops made inside the block; yields the prefix with its slash."""
        return NameScope(self, name)

    def get_name_scope(self):
        """Returns the name scope in force, without a slash at its end."""
        return self.frame.scope

    def _get_control_flow_context(self):
        """Returns None: the bodies of loops and branches are graphs of their own."""

    def control_dependencies(self, control_inputs):
        """Context manager: ops made inside the block run after `control_inputs`; None lifts outer blocks."""
        return ControlDependencies(self, control_inputs)

    @contextlib.contextmanager
    def device(self, device_name_or_function):
        """Records a device on the ops made inside the block.

        Args:
          device_name_or_function: a name or DeviceSpec, completed by those of outer blocks; a function of an operation
            that returns its device's name; or None, which lifts outer blocks.
        """
        with frames.on_device(self, device_name_or_function):
            yield

    @contextlib.contextmanager
    def _attr_scope(self, attr_map):
        """Gives the ops made inside the block attributes.

        Args:
          attr_map: {name: an AttrValue; a function of a NodeDef that returns one, or None; None, which lifts outer blocks}.
        """
        with frames.with_attrs(self, attr_map):
            yield

    @contextlib.contextmanager
    def _original_op(self, op):
        """Records on the ops made inside the block that they were made from `op`."""
        with framed(self, made_from=op):
            yield

    @contextlib.contextmanager
    def colocate_with(self, op, ignore_existing=False):
        """Records on the ops made inside the block that they belong with `op`, and with those of outer blocks.

        Args:
          op: operation or tensor, or None for none.
          ignore_existing: outer blocks do not count.

        Raises:
          ValueError: `op` is None and outer blocks count.
        """
        with frames.colocated(self, op, ignore_existing):
            yield

    @contextlib.contextmanager
    def container(self, container_name):
        """Context manager: queues, readers and tables made inside the block are kept under this name; "" is the default."""
        with framed(self, container=container_name):
            yield container_name

    @property
    def _container(self):
        return self.frame.container

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
        return OverrideBlock(current if current.encloses(self) else self, op_type_map)

    @property
    def _gradient_override_map(self):
        """{op type: rule name} of the `gradient_override_map` blocks that are open; it cannot be written to."""
        merged, scope = {}, self.frame.override_scope
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


def _finalized(what):
    return RuntimeError(f"Graph is finalized and cannot be modified: {what}. Build everything before graph.finalize() or a "
                        "monitored session, which calls it.")


def checked_name(opdef, name):
    """Returns the name that an operation is asked to have; TypeError where it is no string."""
    if not isinstance(name, str):
        raise TypeError(f"{opdef.type}: name must be a string, got {name!r}.")
    return name


def _elsewhere(obj):
    """Says that an operation or tensor is of another graph than asked, and of which."""
    op, kind = (obj.op, "Tensor") if isinstance(obj, Tensor) else (obj, "Operation")
    text = f"{kind} {obj if op is not obj else repr(obj)} is not an element of this graph. It was made at {op.location}"
    if op.graph.outer_graph is not None:
        return (f"{text}, inside {op.graph.name!r}, the body of a branch, loop or function, and has a value only there: "
                "return it from that function, and take what the call gives back.")
    return (f"{text}, in another graph: a session runs one, tf.Session(graph=g), and tf.reset_default_graph() begins a new "
            "one without what was made before.")


# -- the default graph ----------------------------------------------------------------

_global_graph = None


def get_default_graph():
    """Returns the innermost graph made default in this thread, else the process's own default graph.

    Example:
      with tf.Graph().as_default() as graph:
          print(tf.get_default_graph() is graph)
      #> True
    """
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
