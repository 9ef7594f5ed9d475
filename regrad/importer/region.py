"""Nodes become operations: those of a GraphDef, of a function that is called, of a branch, of a loop's condition and body.

Each of these is a `Region`: it makes the operations of its own nodes, and takes other values from the region around it. Loops
and branches are made by `tf.while_loop` and `tf.cond`, whose functions import the nodes inside; what they give has the names
of TensorFlow's Exit and Merge.
"""

import importlib

from regrad.core.graph import get_default_graph
from regrad.core.graph_def import controls, operands, source
from regrad.core.graph_proto import read_attributes
from regrad.core.opdef import Spec, find_op
from regrad.core.operation import Tensor, origin
from regrad.core.reading import refusing
from regrad.core.shapes import TensorShape
from regrad.importer.functions import Function
from regrad.importer.operations import add_operation
from regrad.importer.recorded import add_unimported, without_recorded
from regrad.importer.structure import ENTERS, FLOW, Choice, Loop, Structure, full

_MOST = 1_000_000  # nodes that calls may come to: fifty functions that call each other twice would be more than there are atoms
_MADE = 10_000  # operations that the functions and loops of a small graph may become


class Library:
    """The functions of a graph.

    Attributes:
      gradients: {name of a function: name of the function that is its gradient}.
      calls: the functions whose calls are being imported, one in another.
      given: the Python functions that nodes may call, by names; see `import_graph_def`.
    """

    def __init__(self, graph_def, given):
        self._definitions = {f.signature.name: f for f in graph_def.library.function}
        self.gradients = {g.function_name: g.gradient_func for g in graph_def.library.gradient}
        self._made = {}
        self.calls = []
        self.given = given
        self._sizes = {}
        # A loop's body is made two or three times until its shapes are known, and so is a loop in it each time.
        nodes = len(graph_def.node) + sum(len(f.node_def) for f in graph_def.library.function)
        self._most = self._room = max(nodes, min(_MADE + nodes * nodes, _MOST))

    def __contains__(self, name):
        return name in self._definitions

    def take_room(self):
        """Counts a node that becomes an operation; ValueError for more than a graph of this size has a use for."""
        self._room -= 1
        if self._room < 0:
            raise ValueError(f"its functions and loops, which stand in one another, come to over {self._most} operations")

    def check_size(self, name, asked_by):
        """Raises ValueError where a call of a function, with the calls in it, comes to too many operations."""
        if self._size(name) > _MOST:
            raise ValueError(f"Node '{asked_by.name}' ({asked_by.op}): {name!r} and the functions that it calls call each "
                             f"other so often that they come to over {_MOST} operations; a call is imported as what it runs.")

    def _size(self, name):
        if name not in self._sizes:
            self._sizes[name] = 0  # while it is asked for: a function that calls itself is refused where it is called
            self._sizes[name] = sum(1 + sum(map(self._size, self._called_by(node)))
                                    for node in self._definitions[name].node_def)
        return self._sizes[name]

    def _called_by(self, node):
        named = [f.name for attr in node.attr.values() for f in (attr.func, *attr.list.func)]
        return [name for name in (node.op, *named) if name in self._definitions]

    def function(self, name, attrs, asked_by):
        """Returns (Function, Structure of its nodes).

        Raises:
          ValueError: there is none of that name.
        """
        if name not in self._definitions:
            raise ValueError(f"Node '{asked_by.name}' ({asked_by.op}) calls {name!r}, which the library of functions lacks.")
        key = name, str(sorted((k, str(v)) for k, v in attrs.items()))
        if key not in self._made:
            function = Function(self._definitions[name], attrs)
            self._made[key] = function, Structure(function.nodes)
        return self._made[key]


def import_nodes(graph_def, given, functions):
    """Adds the operations of a GraphDef to the default graph.

    Args:
      given: {"name:0": tensor} to use instead of tensors of `graph_def`.
      functions: {name: Python function} that nodes may call.

    Returns:
      (the Region of all nodes, the names in `given` that were of use).
    """
    if any("Iterator" in n.op or "Dataset" in n.op for n in graph_def.node):
        importlib.import_module("regrad.data.stored")  # their op types
    types = {t.name: t.dtype for n in graph_def.node if n.operation for t in n.operation.outputs} if given else {}
    nodes, unimported = without_recorded(graph_def.node)
    region = Region(Structure(nodes), Library(graph_def, functions), given=Given(given, types))
    region.build_all()
    add_unimported(region, unimported)
    return region, region.given.used


class Given:
    """Tensors to use instead of those of the outermost graph.

    Attributes:
      tensors: {"name:0": tensor}.
      types: {"name:0": the dtype it must have}, as far as that is known.
      used: the names asked for.
    """

    def __init__(self, tensors, types):
        self.tensors, self.types, self.used = tensors, types, set()

    def get(self, text):
        """Returns the tensor given instead of `text`, or None; ValueError if it is of another dtype."""
        given = self.tensors.get(text)
        if given is not None:
            self.used.add(text)
            wanted = self.types.get(text)
            if wanted is not None and given.dtype is not wanted:
                raise ValueError(f"input_map: {text} is {wanted.name}, {given.name} is {given.dtype.name}.")
        return given


class Region:
    """Nodes of a Structure that become operations of the default graph.

    Attributes:
      graph: the graph they go to.
      scope: name scope of its operations.
      frame, state: which nodes: those in this frame that have a value under these predicates.
      bound: {"name:0": value} given from outside: loop variables, a function's arguments.
      values: {node name: list of its outputs}: tensors, or what stands for TensorFlow's handles.
      ops: {node name: operation}.
      given: the tensors to use instead of some, a Given; None within functions.
      parent: the region around it, in the same Structure; None for the outermost.
    """

    def __init__(self, structure, library, parent=None, frame=(), state=frozenset(), bound=(), scope=None,
                 given=None):
        self.structure, self.library, self.parent = structure, library, parent
        self.frame, self.state = frame, state
        self.bound = dict(bound)
        self.graph = get_default_graph()
        self.scope = self.graph.frame.scope if scope is None else scope
        self.given = given if parent is None else parent.given
        self.values, self.ops = {}, {}
        self._done = set()

    # -- values -------------------------------------------------------------------------
    def value(self, text):
        """Returns what an input text names, as a tensor of this region's graph."""
        text = full(self.structure.resolved(text))
        if text in self.bound:
            return self._inside(self.bound[text])
        given = None if self.given is None else self.given.get(text)
        if given is not None:
            return self._inside(given)
        name, _, index = text.partition(":")
        if name in self.values:
            outputs = self.values[name]
            if not index.isdigit() or int(index) >= len(outputs):
                raise ValueError(f"graph_def: {text} is taken, but '{name}' ({self.structure.nodes[name].op}) has "
                                 f"{len(outputs)} outputs.")
            return outputs[int(index)]
        node = self.structure.nodes.get(name)
        if self.parent is None:
            if node is None:
                raise KeyError(text)
            raise ValueError(f"graph_def: '{name}' ({node.op}) is inside a branch or loop, and has a value only there.")
        if node.op in ENTERS and self.parent.frame != self.frame:
            text = node.input[0]
        return self._inside(self.parent.value(text))

    def _inside(self, value):
        if isinstance(value, Tensor) and value.graph is not self.graph:
            return self.graph.capture(value)
        return value

    def _operation(self, name):
        """Returns the operation that a control input names, None where nobody has to wait."""
        if self.parent is not None and not self.structure.matters(name):
            return None
        region = self
        while region is not None and name not in region.ops:
            region = region.parent
        return None if region is None else region.ops[name]

    # -- building ----------------------------------------------------------------------------
    def build_all(self):
        """Makes every operation that has a value whatever the predicates are."""
        self.build(["^" + n.name for n in self.structure.order])

    def build(self, texts):
        """Makes the operations that `texts` need."""
        structure = self.structure
        for text in texts:
            stack, opened = [self._item(text)], set()
            while stack:
                item = stack[-1]
                if item is None or item in self._done:
                    stack.pop()
                    continue
                needs = [self._item(t) for t in (item.needs() if isinstance(item, (Loop, Choice)) else item.input)
                         if not t.startswith("^") or self.parent is None or structure.matters(source(t))]
                missing = [n for n in needs if n is not None and n not in self._done]
                if not missing:
                    self._add(stack.pop())
                    continue
                opened.add(item)
                if not opened.isdisjoint(missing):
                    raise ValueError(f"'{item.name}' needs itself: the branches of one predicate take each other's results.")
                stack += reversed(missing)

    def makes(self, text):
        """True where a control input names a node of this region that somebody has to wait for."""
        name = source(text)
        return self.structure.place(name) == (self.frame, self.state) and self.structure.matters(name)

    def _item(self, text):
        """Returns the node, Loop or Choice of this region that gives a text's value; None if it comes from outside."""
        text = text if text.startswith("^") else full(self.structure.resolved(text))
        name = source(text)
        if text in self.bound or name not in self.structure.nodes:
            return None
        if self.structure.place(name) != (self.frame, self.state) or self.structure.nodes[name].op in ENTERS:
            return None
        item = self.structure.item.get(name, self.structure.nodes[name])
        return None if isinstance(item, Loop) and item.path == self.frame else item

    def _add(self, item):
        if item in self._done:
            return
        self._done.add(item)
        with self.graph.name_scope(self.scope and self.scope + "/"):
            if isinstance(item, Choice):
                self._add_choice(item)
            elif isinstance(item, Loop):
                self._add_loop(item)
            elif item.op not in FLOW:
                with refusing(item):
                    self.library.take_room()
                    self._add_node(item)

    def controls(self, node):
        """Context manager: what is made inside waits for what the node's control inputs name."""
        waits = [self._operation(text[1:]) for text in controls(node)]
        return self.graph.control_dependencies([op for op in waits if op is not None])

    def _add_node(self, node):
        from regrad.importer import translations

        inputs = tuple(self.value(text) for text in operands(node))
        with self.controls(node):
            made = translations.translated(self, node, inputs)
        if made is not None:
            self.values[node.name] = list(made)
            tensors = [v for v in made if isinstance(v, Tensor) and v.graph is self.graph]
            if tensors:
                self.ops.setdefault(node.name, tensors[0].op)
            return
        with self.controls(node):
            op = add_operation(self.graph, node, inputs, self.library.given)
        self.ops[node.name], self.values[node.name] = op, op.outputs

    def _named(self, name, value):
        """Gives a node's value its name."""
        from regrad.ops.array import unasked_identity

        if isinstance(value, Tensor):
            value = unasked_identity(value, name=name)
            self.ops[name] = value.op
        self.values[name] = [value]

    # -- branches -------------------------------------------------------------------------
    def _add_choice(self, choice):
        from regrad.ops.compare import where
        from regrad.ops.control import tuple as wait
        from regrad.ops.flow import cond

        predicate = self.value(choice.predicate)
        if self._add_initialized(choice, predicate):
            return
        kept: dict = {}  # handles, the same in both branches

        def branch(taken):
            def make():
                inner = Region(self.structure, self.library, self, self.frame,
                               choice.state | {(choice.predicate, int(taken))}, scope=self.scope)
                texts = [operands(m)[first if not taken else 1 - first] for m, first in choice.merges]
                waits = [t for m, _ in choice.merges for t in controls(m) if inner.makes(t)]
                inner.build([*waits, *texts])
                values = [inner.value(t) for t in texts]
                for (m, _), v in zip(choice.merges, values):
                    if not isinstance(v, Tensor):
                        kept[m.name] = v
                effects = [inner.ops[source(t)] for t in waits if source(t) in inner.ops]
                tensors = [v for v in values if isinstance(v, Tensor)]
                return wait(tensors, control_inputs=effects) if effects and tensors else tensors
            return make

        name = _beside(choice.merges[0][0].name, "If")
        results = iter(cond(predicate, branch(True), branch(False), strict=True, name=name))
        for m, first in choice.merges:
            self._named(m.name, kept[m.name] if m.name in kept else next(results))
            if f"{m.name}:1" in self.structure.used:
                self.values[m.name].append(where(predicate, 1 - first, first))

    def _add_initialized(self, choice, predicate):
        """Makes of "the variable where it has a value, or else this one" the operation that may look at it without a value.

        Returns:
          Whether `choice` is of that kind; `tf.Variable.initialized_value` makes it.
        """
        is_initialized, initialized_value = origin(predicate).op, find_op("InitializedValue")
        merge, first = choice.merges[0]
        if (is_initialized.type != "IsVariableInitialized" or initialized_value is None or len(choice.merges) > 1
                or f"{merge.name}:1" in self.structure.used):
            return False

        def value(taken):
            inner = Region(self.structure, self.library, self, self.frame, choice.state | {(choice.predicate, taken)},
                           scope=self.scope)
            text = operands(merge)[1 - first if taken else first]
            inner.build([text])
            return inner.value(text)

        storage, read = is_initialized.inputs[0], value(1)
        if not isinstance(read, Tensor) or origin(read) is not storage:
            return False
        self._named(merge.name, initialized_value(storage, value(0)))
        return True

    # -- loops ---------------------------------------------------------------------------
    def _add_loop(self, loop):
        start = [self.value(enter.input[0]) for _, enter, _ in loop.variables]

        def inner(values, texts):
            bound = {f"{m.name}:0": v for (m, _, _), v in zip(loop.variables, values)}
            region = Region(self.structure, self.library, self, loop.path, frozenset(), bound, self.scope)
            region.build(texts)
            return [region.value(t) for t in texts]

        nexts = [after.input[0] for _, _, after in loop.variables]
        unchanged = [self.structure.origin(t) == f"{m.name}:0" for t, (m, _, _) in zip(nexts, loop.variables)]
        waits = [self._operation(t[1:]) for t in loop.needs() if t.startswith("^")]
        with self.graph.control_dependencies([op for op in waits if op is not None]):
            results = repeated(_beside(loop.condition.name, "While"), start, unchanged,
                               lambda values: inner(values, loop.condition.input[:1])[0],
                               lambda values, wanted: inner(values, [nexts[i] for i in wanted]))
        last = {m.name: v for (m, _, _), v in zip(loop.variables, results)}
        for name, merge in loop.exits.items():
            self._named(name, last[merge])

    # -- functions ----------------------------------------------------------------------------
    def function(self, node, named):
        """Returns (Function, its Structure) for the value of a node's attribute that names one, a NameAttrList."""
        return self.library.function(named.name, read_attributes(named.attr, node.name), node)

    def called(self, node, function, structure, arguments):
        """Returns (what a function gives for `arguments`, the operations that it runs for their effects), made here."""
        if len(arguments) != len(function.arguments):
            raise ValueError(f"Node '{node.name}' ({node.op}) gives {len(arguments)} arguments to the function "
                             f"{function.name!r}, which takes {len(function.arguments)}.")
        if function.name in self.library.calls:
            raise ValueError(f"Node '{node.name}' ({node.op}): the function {function.name!r} calls itself, and calls are "
                             "imported as what they run.")
        self.library.check_size(function.name, node)
        scope = f"{self.scope}/{node.name}" if self.scope else node.name
        region = Region(structure, self.library, None, bound=zip(function.arguments, arguments), scope=scope)
        self.library.calls.append(function.name)
        try:
            region.build([*("^" + name for name in function.effects), *function.results])
        finally:
            self.library.calls.pop()
        return ([region.value(text) for text in function.results],
                [region.ops[name] for name in function.effects if name in region.ops])


def repeated(name, start, unchanged, condition, step):
    """Makes a loop, and returns the last values of its variables.

    A file does not say which shapes stay the same in each turn: what the body changes is found by importing it.

    Args:
      start: the first values.
      unchanged: for each whether every turn leaves it as it is; such, and handles, are no variables of the loop made.
      condition: function of all values that returns a bool scalar.
      step: function of all values, and the positions of those wanted, that returns their next values.
    """
    from regrad.ops.array import unasked_identity
    from regrad.ops.flow import trace, while_loop

    wanted = [i for i, v in enumerate(start) if not unchanged[i] and isinstance(v, Tensor)]
    first = [unasked_identity(start[i]) if start[i].op.opdef.variable else start[i] for i in wanted]

    def whole(values):
        every = list(start)
        for i, v in zip(wanted, values):
            every[i] = v
        return every

    def next_values(*values):
        return step(whole(values), wanted)

    dims = [t.dims for t in first]
    while True:
        _, after = trace("body", next_values, [Spec(d, t.dtype) for d, t in zip(dims, first)])
        joined = [_joined(d, t.dims) for d, t in zip(dims, after)]
        if joined == dims:
            break
        dims = joined
    changes = any(d != t.dims for d, t in zip(dims, first))
    last = list(start)
    if first:
        results = while_loop(lambda *values: condition(whole(values)), lambda *values: list(next_values(*values)), first,
                             shape_invariants=[TensorShape(d) for d in dims] if changes else None, name=name,
                             return_same_structure=True)
        for i, v in zip(wanted, results):
            last[i] = v
    return last


def _joined(before, after):
    """Returns the sizes that hold before and after a turn."""
    if before is None or after is None or len(before) != len(after):
        return None
    return tuple(a if a == b else None for a, b in zip(before, after))


def _beside(name, what):
    """Returns the name `what` in the scope of `name`."""
    scope, slash, _ = name.rpartition("/")
    return scope + slash + what
