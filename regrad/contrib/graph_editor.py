"""`tf.contrib.graph_editor`: walks through built graphs, views of parts of them, copies, and other ends for their edges.

    import regrad.contrib.graph_editor as ge
    forward = ge.get_forward_walk_ops(x.op)
    copy, info = ge.copy_with_input_replacements(ge.sgv(forward), {x: other})
    y_of_other = info.transformed(y)

What changes edges may lead an input to a tensor that was made later; sessions see it in their next run.
"""

import re

from regrad.core import nest
from regrad.core.convert import convert_to_tensor
from regrad.core.copying import copy_op
from regrad.core.graph import Graph
from regrad.core.operation import Operation, Tensor
from regrad.core.shown import Shown

__all__ = [
    "ControlOutputs", "SubGraphView", "Transformer", "TransformerInfo", "add_control_inputs", "bypass", "check_cios",
    "compute_boundary_ts", "connect", "copy", "copy_with_input_replacements", "detach", "detach_inputs", "detach_outputs",
    "filter_ops", "filter_ops_from_regex", "filter_ts", "filter_ts_from_regex", "get_backward_walk_ops", "get_consuming_ops",
    "get_forward_walk_ops", "get_generating_ops", "get_name_scope_ops", "get_ops_ios", "get_tensors", "get_unique_graph",
    "get_walks_intersection_ops", "get_walks_union_ops", "get_within_boundary_ops", "graph_replace", "make_list_of_op",
    "make_list_of_t", "make_placeholder_from_dtype_and_shape", "make_placeholder_from_tensor", "make_view",
    "make_view_from_scope", "ops", "ph", "placeholder_name", "remove_control_inputs", "reroute_inputs", "reroute_ios",
    "reroute_outputs", "reroute_ts", "select_ops", "select_ops_and_ts", "select_ts", "sgv", "sgv_scope", "swap_inputs",
    "swap_ios", "swap_outputs", "swap_ts", "ts",
]


# -- lists ------------------------------------------------------------------------------------------
def get_unique_graph(tops, check_types=None, none_if_empty=False):
    """Returns the one graph of operations and tensors; ValueError if there are several (or, by default, none)."""
    if isinstance(tops, Graph):
        return tops
    tops = tops if isinstance(tops, (list, tuple)) else [tops]
    graphs = list(dict.fromkeys(t.graph for t in tops))
    for t in tops:
        if check_types is not None and not isinstance(t, check_types):
            raise TypeError(f"Expected a type in ({check_types}), got: {type(t)}")
    if not graphs and none_if_empty:
        return None
    if len(graphs) != 1:
        raise ValueError("Can't find the unique graph of an empty list" if not graphs
                         else f"{tops[0]!r} and others belong to {len(graphs)} graphs; one is expected.")
    return graphs[0]


def _as_list(things, kind, check_graph, other_ignored, allow_graph, items):
    if isinstance(things, Graph):
        if not allow_graph:
            raise TypeError("allow_graph is False: a graph is no list here.")
        return items(things)
    if isinstance(things, SubGraphView):
        things = things.ops if kind is Operation else things._all_ts()
    things = list(things) if hasattr(things, "__iter__") and not isinstance(things, (Tensor, Operation, str)) else [things]
    if other_ignored:
        things = [t for t in things if isinstance(t, kind)]
    for t in things:
        if not isinstance(t, kind):
            raise TypeError(f"Expected a type in ({kind}), got: {type(t)}")
    if things and check_graph:
        get_unique_graph(things)
    return things


def make_list_of_op(ops, check_graph=True, allow_graph=True, ignore_ts=False):
    """Returns operations as a list: of one, of an iterable, of a graph, of a SubGraphView."""
    return _as_list(ops, Operation, check_graph, ignore_ts, allow_graph, lambda g: g.get_operations())


def make_list_of_t(ts, check_graph=True, allow_graph=True, ignore_ops=False):
    """Returns tensors as a list: of one, of an iterable, of a graph."""
    return _as_list(ts, Tensor, check_graph, ignore_ops, allow_graph, get_tensors)


def get_tensors(graph):
    """Returns all tensors of a graph."""
    if not isinstance(graph, Graph):
        raise TypeError(f"Expected a graph, got: {type(graph)}")
    return [t for op in graph.get_operations() for t in op.outputs]


def get_generating_ops(ts):
    """Returns the operations that make tensors, each once."""
    return list(dict.fromkeys(t.op for t in make_list_of_t(ts, allow_graph=False)))


def get_consuming_ops(ts):
    """Returns the operations that take tensors, each once."""
    return list(dict.fromkeys(op for t in make_list_of_t(ts, allow_graph=False) for op in t.consumers()))


class ControlOutputs(Shown):
    """Which operations wait for an operation: the control inputs of a graph the other way round."""

    def __init__(self, graph):
        self._graph = graph
        self._outputs = {}
        for op in graph.get_operations():
            for waited in op.control_inputs:
                self._outputs.setdefault(waited, []).append(op)

    graph = property(lambda self: self._graph)

    def get_all(self):
        return self._outputs

    def get(self, op):
        """Returns the operations that wait for `op`."""
        return self._outputs.get(op, [])


def check_cios(control_inputs=False, control_outputs=None, control_ios=None):
    """Returns (control_inputs, control_outputs) of the three ways to give them."""
    if control_ios is not None:
        if control_inputs or control_outputs is not None:
            raise ValueError("control_ios stands for control_inputs and control_outputs: give it alone.")
        control_inputs, control_outputs = True, control_ios
    if control_outputs is not None and not isinstance(control_outputs, ControlOutputs):
        raise TypeError(f"Expected a ControlOutputs, got: {type(control_outputs)}")
    return control_inputs, control_outputs


# -- choosing ---------------------------------------------------------------------------------------
def filter_ops(ops, positive_filter):
    """Returns the operations for which `positive_filter` (a function, True, or a regular expression) holds."""
    ops = make_list_of_op(ops)
    return ops if positive_filter is True else [op for op in ops if _holds(positive_filter, op)]


def filter_ts(ops, positive_filter):
    """Returns the outputs of operations for which `positive_filter` holds."""
    ts = [t for op in make_list_of_op(ops) for t in op.outputs]
    return ts if positive_filter is True else [t for t in ts if _holds(positive_filter, t)]


def _holds(condition, thing):
    return condition(thing) if callable(condition) else re.search(condition, thing.name) is not None


def filter_ops_from_regex(ops, regex):
    """Returns the operations in whose name the regular expression is found."""
    return filter_ops(ops, re.compile(regex).pattern)


def filter_ts_from_regex(ops, regex):
    """Returns the outputs of operations in whose name (with ":0") the regular expression is found."""
    return filter_ts(ops, re.compile(regex).pattern)


def get_name_scope_ops(ops, scope):
    """Returns the operations below a scope, and the one called like it."""
    return filter_ops(ops, f"^{re.escape(scope.rstrip('/'))}(/.*)?$") if scope else make_list_of_op(ops)


def _select(args, graph, positive_filter, restrict):
    """Returns (operations, tensors) that names, patterns, operations and tensors stand for."""
    ops, ts = [], []
    for arg in args:
        if isinstance(arg, str) or hasattr(arg, "pattern"):
            pattern = arg if isinstance(arg, str) else arg.pattern
            if graph is None:
                raise ValueError("Use the keyword argument 'graph' to use regex.")
            wants_ts, pattern = pattern.startswith("(?#ts)"), re.sub(r"^\(\?#(ts|ops)\)", "", pattern)
            if wants_ts or restrict == "ts":
                ts += filter_ts_from_regex(graph, pattern)
            else:
                ops += filter_ops_from_regex(graph, pattern)
        elif isinstance(arg, (Operation, SubGraphView, Graph)):
            ops += make_list_of_op(arg)
        elif isinstance(arg, Tensor):
            ts.append(arg)
        else:
            more_ops, more_ts = _select(arg, graph, None, restrict)
            ops += more_ops
            ts += more_ts
    ops, ts = list(dict.fromkeys(ops)), list(dict.fromkeys(ts))
    if positive_filter is not None:
        ops, ts = [o for o in ops if positive_filter(o)], [t for t in ts if positive_filter(t)]
    return ops, ts


def select_ops(*args, graph=None, positive_filter=None, restrict_ops_regex=False):
    """Returns operations: those given, and (with `graph`) those whose names a given regular expression is found in."""
    ops, ts = _select(args, graph, positive_filter, "ops")
    if ts:
        raise TypeError(f"select_ops: tensors are given: {ts[0]!r}.")
    return ops


def select_ts(*args, graph=None, positive_filter=None, restrict_ts_regex=False):
    """Returns tensors: those given, and (with `graph`) those whose names a given regular expression is found in."""
    ops, ts = _select(args, graph, positive_filter, "ts")
    if ops:
        raise TypeError(f"select_ts: operations are given: {ops[0]!r}.")
    return ts


def select_ops_and_ts(*args, graph=None, positive_filter=None):
    """Returns (operations, tensors); a regular expression means operations, one that begins with "(?#ts)" tensors."""
    return _select(args, graph, positive_filter, None)


def get_ops_ios(ops, control_inputs=False, control_outputs=None, control_ios=None):
    """Returns the operations that are next to `ops`, on either side."""
    control_inputs, control_outputs = check_cios(control_inputs, control_outputs, control_ios)
    near = []
    for op in make_list_of_op(ops):
        near += [t.op for t in op.inputs] + [c for t in op.outputs for c in t.consumers()]
        near += op.control_inputs if control_inputs else []
        near += control_outputs.get(op) if control_outputs is not None else []
    return list(dict.fromkeys(near))


def compute_boundary_ts(ops):
    """Returns (tensors `ops` take from outside, tensors others (or nobody) take of theirs, tensors that are both)."""
    ops = make_list_of_op(ops)
    inside = set(ops)
    inputs = list(dict.fromkeys(t for op in ops for t in op.inputs))
    made = [t for op in ops for t in op.outputs]
    outputs = [t for t in made if not t.consumers() or any(c not in inside for c in t.consumers())]
    return [t for t in inputs if t.op not in inside], outputs, [t for t in outputs if t in set(inputs)]


# -- walks ------------------------------------------------------------------------------------------
def _walk(seeds, step, inclusive, within_ops, within_ops_fn):
    within = None if within_ops is None else set(make_list_of_op(within_ops, allow_graph=True))

    def allowed(op):
        return (within is None or op in within) and (within_ops_fn is None or within_ops_fn(op))

    seeds = list(dict.fromkeys(seeds))
    for op in seeds:
        if not allowed(op):
            raise ValueError(f"seed operation {op.name} is not within the given ops.")
    found, wave = dict.fromkeys(seeds), seeds
    while wave:
        wave = [op for op in dict.fromkeys(n for op in wave for n in step(op)) if op not in found and allowed(op)]
        found.update(dict.fromkeys(wave))
    return list(found) if inclusive else [op for op in found if op not in set(seeds)]


def get_forward_walk_ops(seed_ops, inclusive=True, within_ops=None, within_ops_fn=None, stop_at_ts=(), control_outputs=None):
    """Returns all operations that depend on `seed_ops`.

    Args:
      seed_ops: operations, or tensors, which stand for the operations that take them.
      inclusive: whether the seeds belong to it.
      within_ops, within_ops_fn: go no further than these, or than where this function holds.
      stop_at_ts: go no further than these tensors.
      control_outputs: a ControlOutputs: go to what waits, too.
    """
    _, control_outputs = check_cios(False, control_outputs)
    stop = set(make_list_of_t(stop_at_ts))
    seeds = _seeds(seed_ops, get_consuming_ops)

    def step(op):
        after = [c for t in op.outputs if t not in stop for c in t.consumers()]
        return after + (control_outputs.get(op) if control_outputs is not None else [])

    return _walk(seeds, step, inclusive, within_ops, within_ops_fn)


def get_backward_walk_ops(seed_ops, inclusive=True, within_ops=None, within_ops_fn=None, stop_at_ts=(), control_inputs=False):
    """Returns all operations that `seed_ops` depend on; the arguments are those of `get_forward_walk_ops`."""
    stop = set(make_list_of_t(stop_at_ts))
    seeds = _seeds(seed_ops, lambda ts: [t.op for t in ts if t not in stop])

    def step(op):
        return [t.op for t in op.inputs if t not in stop] + (op.control_inputs if control_inputs else [])

    return _walk(seeds, step, inclusive, within_ops, within_ops_fn)


def _seeds(things, of_tensors):
    things = list(things) if isinstance(things, (list, tuple, set, frozenset)) or hasattr(things, "__next__") else [things]
    if things and isinstance(things[0], Tensor):
        return of_tensors(make_list_of_t(things, allow_graph=False))
    return make_list_of_op(things[0] if len(things) == 1 and isinstance(things[0], SubGraphView) else things, allow_graph=False)


def get_walks_intersection_ops(forward_seed_ops, backward_seed_ops, forward_inclusive=True, backward_inclusive=True,
                               within_ops=None, within_ops_fn=None, control_inputs=False, control_outputs=None,
                               control_ios=None):
    """Returns the operations that depend on the first and that the second depend on."""
    forward, backward = _both_walks(forward_seed_ops, backward_seed_ops, forward_inclusive, backward_inclusive, within_ops,
                                    within_ops_fn, control_inputs, control_outputs, control_ios)
    backward = set(backward)
    return [op for op in forward if op in backward]


def get_walks_union_ops(forward_seed_ops, backward_seed_ops, forward_inclusive=True, backward_inclusive=True, within_ops=None,
                        within_ops_fn=None, control_inputs=False, control_outputs=None, control_ios=None):
    """Returns the operations that depend on the first or that the second depend on."""
    forward, backward = _both_walks(forward_seed_ops, backward_seed_ops, forward_inclusive, backward_inclusive, within_ops,
                                    within_ops_fn, control_inputs, control_outputs, control_ios)
    return list(dict.fromkeys([*forward, *backward]))


def _both_walks(first, second, first_in, second_in, within_ops, within_ops_fn, control_inputs, control_outputs, control_ios):
    control_inputs, control_outputs = check_cios(control_inputs, control_outputs, control_ios)
    return (get_forward_walk_ops(first, first_in, within_ops, within_ops_fn, control_outputs=control_outputs),
            get_backward_walk_ops(second, second_in, within_ops, within_ops_fn, control_inputs=control_inputs))


def get_within_boundary_ops(ops, seed_ops, boundary_ops=(), inclusive=True, control_inputs=False, control_outputs=None,
                            control_ios=None):
    """Returns the operations among `ops` that are reached from `seed_ops`, either way, without crossing `boundary_ops`.

    Args:
      inclusive: whether the boundary belongs to it where it is reached.
    """
    control_inputs, control_outputs = check_cios(control_inputs, control_outputs, control_ios)
    ops, boundary = set(make_list_of_op(ops)), set(make_list_of_op(boundary_ops))
    seeds = make_list_of_op(seed_ops)
    if boundary & set(seeds):
        raise ValueError(f"Boundary is intersecting with the seeds: {sorted(op.name for op in boundary & set(seeds))}")
    found = dict.fromkeys(seeds)
    wave = [op for op in seeds if op not in boundary]
    while wave:
        near = [op for op in get_ops_ios(wave, control_inputs, control_outputs) if op in ops and op not in found]
        found.update(dict.fromkeys(op for op in near if inclusive or op not in boundary))
        wave = [op for op in near if op not in boundary]
    return list(found)


# -- views ------------------------------------------------------------------------------------------
class SubGraphView(Shown):
    """A part of a graph: operations, with inputs and outputs in an order that may be chosen.

    Attributes:
      graph: the graph.
      ops: its operations.
      inputs, outputs: tensors it takes from outside; tensors of it that others (or nobody) take.
    """

    def __init__(self, inside_ops=(), passthrough_ts=()):
        self._ops = make_list_of_op(inside_ops)
        inputs, outputs, _ = compute_boundary_ts(self._ops)
        self._passthrough_ts = [t for t in make_list_of_t(passthrough_ts) if t not in inputs and t not in outputs]
        self._inputs = inputs + self._passthrough_ts
        self._outputs = outputs + self._passthrough_ts
        self._graph = get_unique_graph([*self._ops, *self._passthrough_ts], none_if_empty=True)

    graph = property(lambda self: self._graph)
    ops = property(lambda self: list(self._ops))
    inputs = property(lambda self: list(self._inputs))
    outputs = property(lambda self: list(self._outputs))
    passthroughs = property(lambda self: [t for t in self._inputs if t in set(self._outputs)])

    @property
    def connected_inputs(self):
        """The inputs that its operations take."""
        return [t for t in self._inputs if not self.is_passthrough(t)]

    @property
    def connected_outputs(self):
        """The outputs that its operations make."""
        return [t for t in self._outputs if not self.is_passthrough(t)]

    def is_passthrough(self, t):
        return t in self._passthrough_ts

    def _all_ts(self):
        return list(dict.fromkeys([*self._inputs, *(t for op in self._ops for t in op.outputs), *self._outputs]))

    def __copy__(self):
        new = SubGraphView.__new__(SubGraphView)
        new.__dict__.update({k: list(v) if isinstance(v, list) else v for k, v in self.__dict__.items()})
        return new

    def copy(self):
        return self.__copy__()

    def _remapped(self, ts, wanted):
        return [ts[self._position(ts, w)] for w in wanted]

    @staticmethod
    def _position(ts, wanted):
        if isinstance(wanted, Tensor):
            if wanted not in ts:
                raise ValueError(f"{wanted!r} is not among {[t.name for t in ts]}.")
            return ts.index(wanted)
        if not 0 <= wanted < len(ts):
            raise ValueError(f"index {wanted} is out of range: there are {len(ts)}.")
        return wanted

    def remap_inputs(self, new_input_indices):
        """Returns a view with these inputs (tensors or positions), in this order, only."""
        new = self.copy()
        new._inputs = self._remapped(self._inputs, new_input_indices)
        if len(set(new._inputs)) != len(new._inputs):
            raise ValueError(f"inputs appear twice: {[t.name for t in new._inputs]}.")
        return new

    def remap_outputs(self, new_output_indices):
        """Returns a view with these outputs, in this order, only; one may appear twice."""
        new = self.copy()
        new._outputs = self._remapped(self._outputs, new_output_indices)
        return new

    def remap(self, new_input_indices=None, new_output_indices=None):
        new = self if new_input_indices is None else self.remap_inputs(new_input_indices)
        return new.copy() if new_output_indices is None else new.remap_outputs(new_output_indices)

    def remap_default(self, remove_input_map=True, remove_output_map=True):
        """Returns a view whose inputs, outputs or both are those of the operations again."""
        default = SubGraphView(self._ops, self._passthrough_ts)
        new = self.copy()
        new._inputs = default._inputs if remove_input_map else new._inputs
        new._outputs = default._outputs if remove_output_map else new._outputs
        return new

    def remap_outputs_make_unique(self):
        new = self.copy()
        new._outputs = list(dict.fromkeys(self._outputs))
        return new

    def remap_outputs_to_consumers(self):
        """Returns a view in which each output stands as often as it has consumers outside."""
        new, inside = self.copy(), set(self._ops)
        new._outputs = [t for t in dict.fromkeys(self._outputs) for c in t.consumers() if c not in inside]
        return new

    def consumers(self):
        """Returns the operations outside that take its outputs."""
        inside = set(self._ops)
        return [op for op in get_consuming_ops(self._outputs) if op not in inside] if self._outputs else []

    def find_op_by_name(self, op_name):
        for op in self._ops:
            if op.name == op_name:
                return op
        raise AttributeError(f"{op_name} not found in subgraph.")

    def op(self, op_id):
        return self._ops[op_id]

    def input_index(self, t):
        return self._position(self._inputs, t)

    def output_index(self, t):
        return self._position(self._outputs, t)

    def __bool__(self):
        return self._graph is not None

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return None

    def __eq__(self, other):
        return isinstance(other, SubGraphView) and (self._ops, self._inputs, self._outputs) == (
            other._ops, other._inputs, other._outputs)

    __hash__ = None  # type: ignore[assignment]

    def __str__(self):
        if self._graph is None:
            return "SubGraphView: empty"
        return (f"SubGraphView: {len(self._ops)} operations\n  ops: {[op.name for op in self._ops]}\n"
                f"  inputs: {[t.name for t in self._inputs]}\n  outputs: {[t.name for t in self._outputs]}")


def make_view(*args, graph=None):
    """Returns a SubGraphView of operations, tensors that pass through, or names as in `select_ops_and_ts`."""
    if len(args) == 1 and isinstance(args[0], SubGraphView):
        return args[0]
    return SubGraphView(*select_ops_and_ts(*args, graph=graph))


def make_view_from_scope(scope, graph):
    """Returns a SubGraphView of what stands below a scope."""
    return SubGraphView(get_name_scope_ops(graph, scope))


sgv, sgv_scope = make_view, make_view_from_scope
ops, ts = select_ops, select_ts


# -- placeholders for what a part takes ---------------------------------------------------------------
def placeholder_name(t=None, scope=None, prefix="geph"):
    """Returns a name for the placeholder of a tensor: "geph__<name of its operation>_<index>"."""
    scope = "" if not scope else scope.rstrip("/") + "/"
    if t is None:
        return scope + prefix
    return f"{scope}{prefix}__{t.op.name.rpartition('/')[2]}_{t.value_index}"


def make_placeholder_from_tensor(t, scope=None, prefix="geph"):
    """Returns a placeholder of the dtype and shape of a tensor, in the default graph."""
    from regrad.ops.array import placeholder

    return placeholder(t.dtype, t.shape, name=placeholder_name(t, scope, prefix))


def make_placeholder_from_dtype_and_shape(dtype, shape=None, scope=None, prefix="geph"):
    from regrad.ops.array import placeholder

    return placeholder(dtype, shape, name=placeholder_name(None, scope, prefix))


ph = make_placeholder_from_dtype_and_shape


# -- copies -----------------------------------------------------------------------------------------
class TransformerInfo(Shown):
    """What became of a copied part: `transformed` leads from an original to its copy, `original` back."""

    def __init__(self, transformed_ops, transformed_ts, graph, graph_, scope, scope_):
        self._transformed_ops, self._transformed_ts = transformed_ops, transformed_ts
        self._graph, self._graph_, self._scope, self._scope_ = graph, graph_, scope, scope_

    def _found(self, table, thing, missing):
        if isinstance(thing, str):
            graph = self._graph if table is self._forward else self._graph_
            thing = graph.as_graph_element(thing)
        found = table().get(thing)
        return missing(thing) if found is None and missing is not None else found

    def _forward(self):
        return {**self._transformed_ops, **self._transformed_ts}

    def _backward(self):
        return {new: old for old, new in self._forward().items()}

    def transformed(self, original_top, missing_fn=None):
        """Returns the copy of a tensor or operation (or structure of them), else `missing_fn` of it, else None."""
        return nest.map_structure(lambda t: self._found(self._forward, t, missing_fn), original_top)

    def original(self, transformed_top, missing_fn=None):
        """Returns what a tensor or operation (or structure of them) is a copy of."""
        return nest.map_structure(lambda t: self._found(self._backward, t, missing_fn), transformed_top)

    def __str__(self):
        return f"TransformerInfo of {len(self._transformed_ops)} operations, from scope {self._scope!r} to {self._scope_!r}"


class Transformer(Shown):
    """Copies parts of graphs: `Transformer()(sgv, dst_graph, dst_scope)`.

    Attributes that may be set to functions:
      transform_external_input_handler(info, t): what an input becomes: the tensor itself in the same graph, else a placeholder.
    """

    def __init__(self):
        self.transform_external_input_handler = None

    def __call__(self, sgv, dst_graph, dst_scope, src_scope="", reuse_dst_scope=False):
        """Returns (SubGraphView of the copy, TransformerInfo)."""
        sgv = make_view(sgv)
        if src_scope and not src_scope.endswith("/"):
            src_scope += "/"
        source = sgv.graph
        scope = dst_scope.rstrip("/") if dst_scope else ""
        if scope and not reuse_dst_scope:
            with dst_graph.name_scope(None):
                scope = dst_graph.unique_name(scope)
        made_ts: dict = {}
        made_ops: dict = {}
        info = TransformerInfo(made_ops, made_ts, source, dst_graph, src_scope, scope + "/" if scope else "")

        def place(name):
            name = name[len(src_scope):] if src_scope and name.startswith(src_scope) else name
            return f"{scope}/{name}" if scope else name

        def outside(t):
            if t not in made_ts:
                if self.transform_external_input_handler is not None:
                    made_ts[t] = self.transform_external_input_handler(info, t)
                elif t.graph is dst_graph:
                    made_ts[t] = t
                else:
                    with dst_graph.as_default(), dst_graph.name_scope(None):
                        made_ts[t] = make_placeholder_from_tensor(t, scope=scope)
            return made_ts[t]

        for op in sorted(sgv.ops, key=lambda op: op.id):
            controls = [made_ops.get(c, c) for c in op.control_inputs if c in made_ops or c.graph is dst_graph]
            with dst_graph.name_scope(None):
                copy = copy_op(op, dst_graph, [outside(t) for t in op.inputs], place(op.name) + "/", controls)
            made_ops[op] = copy
            made_ts.update(zip(op.outputs, copy.outputs))
        view = SubGraphView(list(made_ops.values()), [outside(t) for t in sgv._passthrough_ts])
        view._inputs, view._outputs = [outside(t) for t in sgv._inputs], [made_ts[t] for t in sgv._outputs]
        return view, info


def copy(sgv, dst_graph=None, dst_scope="", src_scope="", reuse_dst_scope=False):
    """Returns (SubGraphView of the copy, TransformerInfo) of a part of a graph.

    Args:
      dst_graph: where it goes; by default into the same graph. In another one its inputs become placeholders.
      dst_scope: the scope it goes to.
      src_scope: a scope that its names lose.
      reuse_dst_scope: take `dst_scope` as it is, instead of making it unique.
    """
    sgv = make_view(sgv)
    dst_graph = sgv.graph if dst_graph is None else dst_graph
    if not isinstance(dst_graph, Graph):
        raise TypeError(f"Expected a tf.Graph, got: {type(dst_graph)}")
    return Transformer()(sgv, dst_graph, dst_scope, src_scope, reuse_dst_scope)


def copy_with_input_replacements(sgv, replacement_ts, dst_graph=None, dst_scope="", src_scope="", reuse_dst_scope=False):
    """Returns (SubGraphView of the copy, TransformerInfo) of a part of a graph that takes other tensors.

    Args:
      replacement_ts: {tensor that the part takes: tensor of `dst_graph` that the copy takes}.
    """
    sgv = make_view(sgv)
    dst_graph = sgv.graph if dst_graph is None else dst_graph
    if not isinstance(dst_graph, Graph):
        raise TypeError(f"Expected a tf.Graph, got: {type(dst_graph)}")
    copier = Transformer()

    def replaced(info, t):
        if t in replacement_ts:
            return replacement_ts[t]
        if t.graph is dst_graph:
            return t
        with dst_graph.as_default(), dst_graph.name_scope(None):
            return make_placeholder_from_tensor(t, scope=info._scope_)

    copier.transform_external_input_handler = replaced
    return copier(sgv, dst_graph, dst_scope, src_scope, reuse_dst_scope)


def graph_replace(target_ts, replacement_ts, dst_scope="", src_scope="", reuse_dst_scope=False):
    """Returns copies of tensors that are computed of other tensors: the structure of `target_ts`.

    Args:
      target_ts: tensor, or structure of tensors.
      replacement_ts: {tensor: the tensor to use in its place}.

    Raises:
      ValueError: no target depends on what is replaced.
    """
    flat = nest.flatten(target_ts)
    get_unique_graph(flat, check_types=Tensor)
    replacement_ts = {convert_to_tensor(k): convert_to_tensor(v) for k, v in replacement_ts.items()}
    found = get_walks_intersection_ops(list(replacement_ts), flat)
    direct = [t for t in flat if t in replacement_ts]
    if not found and not direct:
        raise ValueError("Targets and replacements are not connected!")
    # What is replaced is not made again.
    wanted = set(get_backward_walk_ops([t.op for t in flat if t not in replacement_ts], stop_at_ts=list(replacement_ts)))
    _, info = copy_with_input_replacements(sorted((op for op in found if op in wanted), key=lambda op: op.id), replacement_ts,
                                           None, dst_scope, src_scope, reuse_dst_scope) if found else (None, None)

    def new(t):
        if t in replacement_ts:
            return replacement_ts[t]
        return info._transformed_ts.get(t, t)

    return nest.pack_sequence_as(target_ts, [new(t) for t in flat])


# -- other ends for edges -----------------------------------------------------------------------------
def _consumers(t, can_modify, cannot_modify):
    consumers = set(t.consumers())
    if can_modify is not None:
        consumers &= set(make_list_of_op(can_modify))
    if cannot_modify is not None:
        consumers -= set(make_list_of_op(cannot_modify))
    return sorted(consumers, key=lambda op: op.id)


def _turn(t, consumers, to):
    """Makes `consumers` of the tensor `t` take `to`; returns how many inputs that were."""
    places = [(op, i) for op in consumers for i, x in enumerate(op.inputs) if x is t]
    for op, i in places:
        op._update_input(i, to)
    return len(places)


def _pairs(ts0, ts1):
    ts0 = list(ts0) if hasattr(ts0, "__iter__") and not isinstance(ts0, Tensor) else [ts0]
    ts1 = list(ts1) if hasattr(ts1, "__iter__") and not isinstance(ts1, Tensor) else [ts1]
    get_unique_graph([*ts0, *ts1], check_types=Tensor)
    if len(ts0) != len(ts1):
        raise ValueError(f"the lists must have one length: {len(ts0)} and {len(ts1)}.")
    for a, b in zip(ts0, ts1):
        if a.dtype is not b.dtype:
            raise ValueError(f"Dtypes {a.dtype} and {b.dtype} are not compatible")
        if not a.shape.is_compatible_with(b.shape):
            raise ValueError(f"Shapes {a.shape} and {b.shape} are not compatible")
    return list(zip(ts0, ts1))


def reroute_ts(ts0, ts1, can_modify=None, cannot_modify=None):
    """Makes the operations that take ts1 take ts0, pair by pair; returns how many inputs were changed.

    Args:
      can_modify, cannot_modify: the only operations to change; operations not to change.
    """
    return sum(_turn(t1, _consumers(t1, can_modify, cannot_modify), t0) for t0, t1 in _pairs(ts0, ts1) if t0 is not t1)


def swap_ts(ts0, ts1, can_modify=None, cannot_modify=None):
    """Makes the operations that take ts1 take ts0 and the other way round; returns how many inputs were changed."""
    changed = 0
    for t0, t1 in _pairs(ts0, ts1):
        if t0 is not t1:
            of_0, of_1 = _consumers(t0, can_modify, cannot_modify), _consumers(t1, can_modify, cannot_modify)
            places = [(op, i, t1) for op in of_0 for i, x in enumerate(op.inputs) if x is t0]
            places += [(op, i, t0) for op in of_1 for i, x in enumerate(op.inputs) if x is t1]
            for op, i, to in places:
                op._update_input(i, to)
            changed += len(places)
    return changed


def _views(sgv0, sgv1):
    return make_view(sgv0), make_view(sgv1)


def reroute_inputs(sgv0, sgv1):
    """Gives the second part the inputs of the first; returns both as they are then."""
    sgv0, sgv1 = _views(sgv0, sgv1)
    reroute_ts(sgv0.inputs, sgv1.inputs, can_modify=sgv1.ops)
    sgv1._inputs = sgv0.inputs
    return sgv0, sgv1


def swap_inputs(sgv0, sgv1):
    """Exchanges the inputs of two parts."""
    sgv0, sgv1 = _views(sgv0, sgv1)
    for a, b in _pairs(sgv0.inputs, sgv1.inputs):
        for view, old, new in ((sgv0, a, b), (sgv1, b, a)):
            _turn(old, [op for op in old.consumers() if op in view._ops], new)
    sgv0._inputs, sgv1._inputs = sgv1._inputs, sgv0._inputs
    return sgv0, sgv1


def reroute_outputs(sgv0, sgv1):
    """Makes whoever takes the outputs of the second part take those of the first."""
    sgv0, sgv1 = _views(sgv0, sgv1)
    reroute_ts(sgv0.outputs, sgv1.outputs, cannot_modify=[*sgv0.ops, *sgv1.ops])
    sgv0._outputs = sgv0.outputs
    return sgv0, sgv1


def swap_outputs(sgv0, sgv1):
    """Exchanges who takes the outputs of two parts."""
    sgv0, sgv1 = _views(sgv0, sgv1)
    swap_ts(sgv0.outputs, sgv1.outputs, cannot_modify=[*sgv0.ops, *sgv1.ops])
    return sgv0, sgv1


def reroute_ios(sgv0, sgv1):
    """`reroute_outputs` and `reroute_inputs`."""
    reroute_outputs(sgv0, sgv1)
    return reroute_inputs(sgv0, sgv1)


def swap_ios(sgv0, sgv1):
    """`swap_outputs` and `swap_inputs`."""
    swap_outputs(sgv0, sgv1)
    return swap_inputs(sgv0, sgv1)


def add_control_inputs(op, cops):
    """Makes `op` wait for operations; ValueError where it does already."""
    for cop in make_list_of_op(cops, allow_graph=False):
        if cop in op.control_inputs:
            raise ValueError(f"{cop.name} is already a control_input of {op.name}")
        op._add_control_input(cop)


def remove_control_inputs(op, cops):
    """Makes `op` not wait for operations; ValueError where it did not."""
    cops = make_list_of_op(cops, allow_graph=False)
    for cop in cops:
        if cop not in op.control_inputs:
            raise ValueError(f"{cop.name} is not a control_input of {op.name}")
    kept = [c for c in op.control_inputs if c not in cops]
    op._remove_all_control_inputs()
    op._add_control_inputs(kept)


def detach_inputs(sgv, control_inputs=False):
    """Gives a part placeholders in place of its inputs; returns (the part, the placeholders)."""
    sgv = make_view(sgv)
    with sgv.graph.as_default():
        placeholders = [make_placeholder_from_tensor(t) for t in sgv._inputs]
    for t, p in zip(sgv.inputs, placeholders):
        _turn(t, _consumers(t, sgv.ops, None), p)
    sgv._inputs = list(placeholders)
    if control_inputs:
        for op in sgv.ops:
            outside = [c for c in op.control_inputs if c not in sgv._ops]
            if outside:
                remove_control_inputs(op, outside)
    return sgv, placeholders


def detach_outputs(sgv, control_outputs=None):
    """Gives those who take a part's outputs placeholders in their place; returns (the part, the placeholders)."""
    sgv = make_view(sgv)
    outputs = [t for t in dict.fromkeys(sgv._outputs) if any(c not in sgv._ops for c in t.consumers())]
    with sgv.graph.as_default():
        placeholders = [make_placeholder_from_tensor(t) for t in outputs]
    for t, p in zip(outputs, placeholders):
        _turn(t, _consumers(t, None, sgv.ops), p)
    return sgv, placeholders


def detach(sgv, control_inputs=False, control_outputs=None, control_ios=None):
    """`detach_inputs` and `detach_outputs`; returns (the part, placeholders before it, placeholders behind it)."""
    control_inputs, control_outputs = check_cios(control_inputs, control_outputs, control_ios)
    sgv, before = detach_inputs(sgv, control_inputs)
    sgv, behind = detach_outputs(sgv, control_outputs)
    return sgv, before, behind


def connect(sgv0, sgv1, disconnect_first=False):
    """Makes the second part take the outputs of the first."""
    sgv0, sgv1 = _views(sgv0, sgv1)
    if disconnect_first:
        detach_outputs(sgv0)
    reroute_ts(sgv0.outputs, sgv1.inputs, can_modify=sgv1.ops)
    sgv1._inputs = sgv0.outputs
    return sgv0, sgv1


def bypass(sgv):
    """Takes a part out: whoever took its outputs takes its inputs; returns (the part, the placeholders it takes now)."""
    sgv = make_view(sgv)
    inputs = sgv.inputs
    sgv, placeholders = detach_inputs(sgv)
    reroute_ts(inputs, sgv.outputs, cannot_modify=sgv.ops)
    return sgv, placeholders


