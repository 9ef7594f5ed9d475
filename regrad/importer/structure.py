"""The loops and branches that TensorFlow's dataflow operations stand for, found in a list of nodes.

TensorFlow 1 writes a loop as a *frame*: each loop variable goes through

    Merge(Enter(start), NextIteration(next)) -> Switch(_, LoopCond) -> output 1 is the body's value, Exit of output 0 the result

and other tensors that the body uses go in by `Enter(..., is_constant=True)`. A branch is what lies between Switch operations,
of which one output alone has a value, and a Merge, which takes the input that has one. Which nodes have a value when is
worked out here: a node's *state* is the set of (predicate, branch taken) under which it has one.
"""

from regrad.core.graph_def import operands, source
from regrad.core.opdef import find_op
from regrad.core.tf_nodes import native

SWITCHES = frozenset({"Switch", "RefSwitch"})
MERGES = frozenset({"Merge", "RefMerge"})
ENTERS = frozenset({"Enter", "RefEnter"})
EXITS = frozenset({"Exit", "RefExit"})
NEXTS = frozenset({"NextIteration", "RefNextIteration"})
CONDITION = "LoopCond"
FLOW = SWITCHES | MERGES | ENTERS | EXITS | NEXTS | {CONDITION}


def full(text):
    """Returns "name:0" for "name"."""
    return text if ":" in text else text + ":0"


def in_order(nodes, more=()):
    """Returns nodes so that each stands behind those it needs; as they are where they do so already.

    What comes from the turn before, by a NextIteration, is not needed.

    Args:
      more: {name: names of nodes that it needs besides its inputs}.

    Raises:
      ValueError: two nodes of one name; a node needs one that is not there, or itself.
    """
    named, done, order = {}, set(), []
    for node in nodes:
        if named.setdefault(node.name, node) is not node:
            raise ValueError(f"Node '{node.name}' is not unique: graph_def has two of this name.")
    for node in nodes:
        stack, opened = [node], set()  # opened: those on the way from `node` to the top of the stack
        while stack:
            top = stack[-1]
            needed = dict.fromkeys(source(text) for text in top.input)
            if top.op in ("Merge", "RefMerge"):
                needed = [n for n in needed if n not in named or named[n].op not in ("NextIteration", "RefNextIteration")]
            if top.name in more:
                needed = [*needed, *more[top.name]]
            missing = [n for n in needed if n not in done]
            if top.name in done or not missing:
                stack.pop()
                if top.name not in done:
                    done.add(top.name)
                    order.append(top)
                continue
            opened.add(top.name)
            for name in missing:
                if name not in named:
                    raise ValueError(f"Node '{top.name}': Unknown input node '{name}'")
                if name in opened:
                    raise ValueError(f"Node '{name}' ({named[name].op}) needs itself: graph_def has a cycle that is no loop of "
                                     "TensorFlow's, with a NextIteration and a Merge.")
            stack += [named[name] for name in missing]
    return order


class Loop:
    """A loop, one frame.

    Attributes:
      path: names of the frames around it, and its own.
      enters: the Enter nodes of all that goes in.
      variables: for each loop variable its (Merge, Enter, NextIteration).
      condition: the LoopCond node.
      exits: {name of an Exit: name of the Merge whose last value it is}.
    """

    def __init__(self, path):
        self.path = path
        self.name = path[-1]
        self.enters, self.variables, self.condition, self.exits = [], [], None, {}

    def needs(self):
        return [text for enter in self.enters for text in enter.input]


class Choice:
    """A branch: what some Merge nodes give, depending on one predicate.

    Attributes:
      predicate: input text of the predicate.
      merges: [(Merge, number of its input that has a value when the predicate is false)].
      state: that of the results.
    """

    def __init__(self, predicate, state):
        self.predicate = self.name = predicate
        self.state = state
        self.merges = []
        self.outside = {}  # what the branches take from outside: input texts, as keys

    def needs(self):
        return [self.predicate, *self.outside]


class Structure:
    """Nodes with the loops and branches among them.

    Attributes:
      nodes: {name: NodeDef}.
      order: the nodes, each behind those it needs.
      frame: {name: names of the frames a node runs in, outermost first}.
      state: {name: the (predicate, branch) pairs under which it has a value}, within its frame; of Exit nodes, outside of it.
      item: {name: the Loop or Choice that gives a node's value}.
      used: every input text.
    """

    def __init__(self, nodes):
        self.order = in_order(native(nodes))
        self.nodes = {n.name: n for n in self.order}
        self.frame, self.state, self.item = {}, {}, {}
        self.loops: dict = {}
        self.used = {full(text) for n in self.order for text in n.input if not text.startswith("^")}
        self._effects: dict = {}
        if not any(n.op in FLOW for n in self.order):
            self.frame = dict.fromkeys(self.nodes, ())
            self.state = dict.fromkeys(self.nodes, frozenset())
            return
        self._find_frames()
        self._find_loops()
        # A loop's results wait for all that goes in, which Exit nodes need not.
        entered = {exit: [e.name for e in loop.enters] for loop in self.loops.values() for exit in loop.exits}
        self.order = in_order(self.order, entered)
        branch_of = {node.name: branch for node in self.order if (branch := self._find_state(node)) is not None}
        self._find_choices(branch_of)

    # -- loops --------------------------------------------------------------------------
    def _find_frames(self):
        for node in self.order:
            paths = [self._outer_frame(source(text)) for text in self._inputs(node)]
            path = max(paths, key=len, default=())
            if any(path[:len(other)] != other for other in paths):
                raise ValueError(f"Node '{node.name}' ({node.op}) takes inputs from two loops that are not in one another.")
            self.frame[node.name] = path

    def _inputs(self, node):
        """Returns the inputs that do not come from the turn before."""
        return [t for t in node.input if node.op not in MERGES or self.nodes[source(t)].op not in NEXTS]

    def _outer_frame(self, name):
        """Returns the frame in which a node's output is."""
        node, path = self.nodes[name], self.frame[name]
        if node.op in ENTERS:
            return (*path, str(node.attr["frame_name"].value))
        return path[:-1] if node.op in EXITS else path

    def _find_loops(self):
        for node in self.order:
            if node.op in ENTERS:
                path = self._outer_frame(node.name)
                self.loops.setdefault(path, Loop(path)).enters.append(node)
        merge_of = {}
        for node in self.order:
            loop = self.loops.get(self.frame[node.name])
            if node.op in NEXTS and loop is None:
                raise ValueError(f"Node '{node.name}' ({node.op}) is in no loop: no Enter leads to it.")
            if node.op == CONDITION:
                if loop is None or loop.condition is not None:
                    why = "is in no loop" if loop is None else f"the loop has another, '{loop.condition.name}'"
                    raise ValueError(f"Node '{node.name}' (LoopCond): {why}.")
                loop.condition = node
            elif node.op in MERGES and any(self.nodes[source(t)].op in NEXTS for t in node.input):
                pair = [self.nodes[source(t)] for t in operands(node)]
                if len(pair) != 2 or pair[0].op not in ENTERS or pair[1].op not in NEXTS:
                    raise ValueError(f"Node '{node.name}' ({node.op}): a loop variable's Merge takes an Enter and a "
                                     f"NextIteration, this one {', '.join(n.op for n in pair)}.")
                loop.variables.append((node, *pair))
                self.item[node.name] = loop
            elif node.op in SWITCHES and self.nodes[source(node.input[1])].op == CONDITION:
                merge_of[node.name] = source(node.input[0])
            elif node.op in EXITS:
                of = merge_of.get(source(self._canonical(node.input[0])))
                if loop is None or of is None or self.nodes[of].op not in MERGES:
                    raise ValueError(f"Node '{node.name}' ({node.op}) gives something else than a loop variable: it must take "
                                     "a Switch of a Merge.")
                loop.exits[node.name] = of
                self.item[node.name] = loop
        for loop in self.loops.values():
            if loop.condition is None and loop.variables:
                raise ValueError(f"The loop {loop.name!r} has no LoopCond, which says how long it goes on.")

    # -- branches ----------------------------------------------------------------------------
    def _canonical(self, text):
        """Returns the predicate behind Identity operations: those of TensorFlow stand between it and its users."""
        text = full(text)
        node = self.nodes[source(text)]
        while node.op == "Identity":
            text = full(node.input[0])
            node = self.nodes[source(text)]
        return text

    def _chosen(self, node):
        """True for a Switch that belongs to a branch, not to a loop."""
        return node.op in SWITCHES and self.nodes[source(node.input[1])].op != CONDITION

    def text_state(self, text):
        """Returns the state of what an input text names, as the nodes see it that take it."""
        node = self.nodes[source(text)]
        if node.op in ENTERS:
            return frozenset()
        state = self.state[node.name]
        if text.startswith("^") or not self._chosen(node):
            return state
        return state | {(self._canonical(node.input[1]), int(text.endswith(":1")))}

    def _find_state(self, node):
        """Finds the state of a node whose inputs have theirs.

        Returns:
          Of a branch's Merge (predicate, the branch in which its first input has a value), None of other nodes.

        Raises:
          ValueError: a Merge of something else than two branches.
        """
        if node.op in EXITS:
            states = [self.state[e.name] for e in self.loops[self.frame[node.name]].enters]
            self.state[node.name] = frozenset().union(*states)
            return None
        joins = node.op in MERGES and node.name not in self.item
        states = {text: self.text_state(text) for text in self._inputs(node)}
        if not joins:
            self.state[node.name] = frozenset().union(*states.values())
            return None
        data = [s for text, s in states.items() if not text.startswith("^")]
        only = [s - data[1 - i] for i, s in enumerate(data)] if len(data) == 2 else []
        if len(only) != 2 or any(len(o) != 1 for o in only) or len({p for o in only for p, _ in o}) != 1:
            raise ValueError(f"Node '{node.name}' ({node.op}) joins what does not come from the two branches of one predicate; "
                             "such dataflow stands for no tf.cond, and cannot be imported.")
        self.state[node.name] = data[0] & data[1]  # what it waits for does not take its value away
        ((predicate, branch),) = only[0]
        return predicate, branch

    def _find_choices(self, branch_of):
        """Gathers the Merge nodes of each tf.cond: those whose branches have nodes in common.

        But for one that needs another's result, as that of a gradient does: it gets a branch of its own.

        Args:
          branch_of: {name of a Merge: (predicate, the branch in which its first input has a value)}.
        """
        parent: dict = {}
        depth = self._depths({name: (predicate, self.state[name]) for name, (predicate, _) in branch_of.items()})

        def root(name):
            while parent[name] != name:
                name = parent[name]
            return name

        first, outside_of, at = {}, {}, {}
        for merge, (predicate, _) in branch_of.items():
            node = self.nodes[merge]
            inside, outside_of[merge] = self._branches(node.input, predicate)
            parent[node.name] = node.name
            for name in inside:
                if not self._is_pivot(name, predicate):
                    key = predicate, self.state[node.name], name
                    other = first.setdefault((*key, depth[node.name]), node.name)
                    parent[root(node.name)] = root(other)
                    if at.setdefault(key, depth[node.name]) != depth[node.name] and not self._repeatable(name):
                        raise ValueError(f"Node '{name}' ({self.nodes[name].op}) is in a branch, and '{node.name}' takes of it "
                                         "later, as a recorded gradient does: the branch would run twice, with another effect "
                                         "or other random numbers. tf.gradients of the imported branch gives its gradient.")
        choices: dict = {}
        for name, (predicate, branch) in branch_of.items():
            choice = choices.setdefault(root(name), Choice(predicate, self.state[name]))
            choice.merges.append((self.nodes[name], branch))
            choice.outside.update(outside_of[name])
            self.item[name] = choice

    def _repeatable(self, name):
        """True where a node gives the same when it is computed twice."""
        opdef = find_op(self.nodes[name].op)
        return opdef is None or not (opdef.random or opdef.stateful or opdef.writes) or self.nodes[name].op in _HARMLESS

    def _depths(self, keys):
        """Returns {name of a Merge: how many others of the same of `keys`, at most, follow each other up to it}."""
        depth, seen = {}, {}  # seen: {name: {key: depth of the last Merge before it}}
        for node in self.order:
            before = [seen[source(t)] for t in self._inputs(node)]
            most = before[0] if before else {}
            for other in before[1:]:
                if other is not most and any(most.get(k, 0) < n for k, n in other.items()):
                    most = {k: max(most.get(k, 0), other.get(k, 0)) for k in {**most, **other}}
            if node.name in keys:
                key = keys[node.name]
                depth[node.name] = most.get(key, 0) + 1
                most = {**most, key: depth[node.name]}
            seen[node.name] = most
        return depth

    def _is_pivot(self, name, predicate):
        node = self.nodes[name]
        if node.op != "Identity":
            return False
        switch = self.nodes[source(node.input[0])]
        return self._chosen(switch) and self._canonical(switch.input[0]) == predicate

    def _branches(self, texts, predicate):
        """Returns (names of the nodes that run under a predicate and lead to `texts`, what these take from outside)."""
        inside, outside, stack = {}, {}, list(texts)
        while stack:
            text = stack.pop()
            if all(p != predicate for p, _ in self.text_state(text)):
                outside[text] = None
                continue
            node = self.nodes[source(text)]
            if all(p != predicate for p, _ in self.state[node.name]):  # the Switch that leads into the branch
                outside.update(dict.fromkeys(node.input))
                continue
            if node.name in inside:
                continue
            inside[node.name] = None
            stack += self.loops[self.frame[node.name]].needs() if node.op in EXITS else node.input
        return inside, outside

    # -- asking ----------------------------------------------------------------------------------
    def place(self, name):
        """Returns (frame, state) in which the item that gives a node's value is."""
        node = self.nodes[name]
        frame = self.frame[name]
        return (frame[:-1] if node.op in EXITS else frame), self.state[name]

    def resolved(self, text):
        """Returns the text of what a Switch passes on, for its outputs; any other text as it is."""
        node = self.nodes.get(source(text))
        while node is not None and node.op in SWITCHES:
            text = node.input[0]
            node = self.nodes.get(source(text))
        return text

    def origin(self, text):
        """Returns the text of what Switch and Identity nodes pass on as `text`."""
        text = self.resolved(text)
        node = self.nodes.get(source(text))
        while node is not None and node.op == "Identity":
            text = self.resolved(node.input[0])
            node = self.nodes.get(source(text))
        return full(text)

    def matters(self, name):
        """True where a node, or one before it in the same branch or turn, does more than compute: others wait for that."""
        stack = [name]
        while stack:
            top = stack[-1]
            if top in self._effects:
                stack.pop()
                continue
            node = self.nodes[top]
            opdef = find_op(node.op)
            own = opdef is None and (node.op not in FLOW and node.op not in _HARMLESS) or opdef is not None and bool(
                opdef.stateful or opdef.writes or opdef.host) and node.op not in _HARMLESS
            place = self.place(top)
            before = [source(t) for t in (() if node.op in ENTERS else self._inputs(node))]
            before = [n for n in before if self.place(n) == place and self.nodes[n].op not in ENTERS]
            missing = [n for n in before if n not in self._effects]
            if not own and missing:
                stack += missing
                continue
            self._effects[top] = own or any(self._effects[n] for n in before)
            stack.pop()
        return self._effects[name]


# What reads, makes a handle or only carries tensors: nobody has to wait for it.
_HARMLESS = frozenset({"Placeholder", "VariableV2", "TensorArrayV3", "NoOp", "_Arg"})
