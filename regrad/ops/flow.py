"""Choices and loops: operations that hold sub-graphs. Gradients: `flow_grad.py`.

`If` and `Case` run one of their branches. `While` is one operation for all loops, closed under differentiation:

    inputs    limit, carry..., captures..., xs...      outputs    carry..., turns, ys...
    body      (carry..., captures..., x_i...) -> (carry..., y_i...)
    cond      (carry..., captures...) -> bool; without one the loop makes `limit` turns

`xs` are stacked along their first axis and read one row a turn; `ys` are stacked likewise. A loop's gradient is a loop in
the other direction whose `xs` are what the forward loop saved each turn. Bodies that can be compiled are (all turns at
once, or by a scan, when their number is known: `turns.py`; `lax.while_loop` when nothing is stacked); others run turn by
turn from the host, and then no bound is needed for anything.
"""

import itertools

import numpy as np

from regrad.core import dtypes, nest, source
from regrad.core.convert import constant, convert_to_tensor, use_elsewhere
from regrad.core.errors import InvalidArgumentError
from regrad.core.facts import Bodies
from regrad.core.func_graph import FuncGraph
from regrad.core.graph import get_default_graph
from regrad.core.host import HOST, as_array
from regrad.core.indexed_slices import IndexedSlices
from regrad.core.opdef import Ranged, Spec, declared_attrs, define_op, spec_text
from regrad.core.operation import Operation, op_arguments, origin, variable_of
from regrad.core.shapes import TensorShape, as_dims, compatible, fully_known, size_of
from regrad.core.traversal import assigned_before, assigned_by, body_graphs, may_assign, needed
from regrad.ops.array import unasked_identity
from regrad.ops.control import with_dependencies
from regrad.ops.tensor_array import is_unwritten, warn_of_dropped_writes
from regrad.ops.turns import at_once, inputs_of, like, scan, step_of

_MAX_SIMULATED = 100_000  # turns; a loop whose count would take longer to find is run without knowing it
_COUNTED = 1024  # turns, where so many are counted together
_COMPARING = ("Less", "LessEqual", "Greater", "GreaterEqual", "Equal", "NotEqual", "LogicalAnd", "LogicalOr", "LogicalNot",
              "Add", "AddV2", "Sub", "Mul", "Maximum", "Minimum")
_MAX_REMEMBERED = 64  # counts of turns of one loop


# -- bodies --------------------------------------------------------------------------------


def trace(name, function, specs=(), input_names=None):
    """Returns (FuncGraph, structure): the graph of `function(*inputs)`, and what it returned.

    Args:
      specs: one Spec per input.
    """
    outer = get_default_graph()
    graph = FuncGraph(name, outer, inherits_scope=True)
    with graph.as_default():
        inputs = [graph.add_input(s.dtype, s.dims, (input_names or {}).get(i, "Enter")) for i, s in enumerate(specs)]
        graph.n_explicit = len(inputs)
        returned = function(*inputs)
    graph.built = True
    return graph, returned


def after_waits(graphs):
    """Context manager: what is made inside runs after the outer operations that control dependencies in bodies name."""
    outer, waits = get_default_graph(), {}
    for g in graphs:
        used = needed(g.outputs) if g.waits_outside else ()
        waits.update((op, None) for op, waiting in g.waits_outside if not waiting or not waiting.isdisjoint(used))
    for op in waits:
        if op.graph is not outer:  # further out: the body around this one waits
            outer.waits_outside.append((op, None))
    return outer.control_dependencies([op for op in waits if op.graph is outer])


def set_captures(graphs, n_explicit):
    """Gives several bodies of one op the same captures, in the same order; returns the outer tensors."""
    outers = list(dict.fromkeys(t for g in graphs for t in g.outer_inputs))
    for g in graphs:
        explicit = g.inputs[:n_explicit]
        inner_of = dict(zip(g.outer_inputs, g.inputs[n_explicit:]))
        with g.as_default(), g.control_dependencies(None):
            for t in outers:
                if t not in inner_of:
                    inner_of[t] = _new_capture(g, t)
        g.inputs = explicit + [inner_of[t] for t in outers]
        g.outer_inputs = list(outers)
    return outers


def _read_inside(graphs, inputs, repeated=False):
    """Makes bodies read variables when they run, where that is after an assignment: one that the op's `inputs` wait for, or,
    if it is `repeated`, one of its own. Other variables are read before the run's assignments."""
    reads = {snapshot: storage for g in graphs for snapshot, storage in g.reads.items() if snapshot in g.captures}
    assigned = {v for g in graphs for op in g._ops for v in assigned_by(op)} if reads and repeated else set()
    if any(_assigned_twice(storage) for storage in reads.values()):  # the first one initialises it
        assigned |= assigned_before([t.op for t in inputs])
    for g in graphs:
        for snapshot, storage in reads.items():
            if storage.op in assigned and snapshot in g.captures:
                g.read_inside(snapshot)


def _assigned_twice(storage):
    return len(list(itertools.islice(filter(may_assign, storage._consumers), 2))) == 2


def _read_before(graphs, inputs, captures):
    """Returns the captures of a loop with the storage of each variable that it does not assign read where the loop begins.

    The loop's gradient then computes with that value too, whatever has assigned the variable by the time it runs.
    """
    assigned = {v for g in graphs for op in g._ops for v in assigned_by(op)}
    unchanging = [t for t in captures if variable_of(t) is not None and variable_of(t) not in assigned]
    if not unchanging or any(map(_takes_no_value, graphs)):
        return captures
    with get_default_graph().control_dependencies([t.op for t in inputs if not t.op.opdef.variable]):
        read = {t: unasked_identity(t, name="read") for t in unchanging}
    return [read.get(t, t) for t in captures]


def _takes_no_value(graph):
    """True for a body with an operation for which a variable need not have a value."""
    return any(op.opdef.facts.uninitialized_ok or any(map(_takes_no_value, body_graphs(op))) for op in graph._ops)


def _new_capture(graph, tensor):
    before = len(graph.inputs)
    inner = graph.capture(tensor)
    return graph.inputs[before] if len(graph.inputs) > before else inner


def as_outputs(graph, returned, what, ran=True):
    """Returns the tensors a branch or body gives, as a list, in `graph`; an operation becomes `ran` when it has run."""
    outputs = []
    with graph.as_default():
        for leaf in nest.flatten(returned):
            if leaf is None:
                continue
            if isinstance(leaf, Operation):
                leaf = with_dependencies([leaf], constant(ran))
            elif isinstance(leaf, IndexedSlices):
                leaf = convert_to_tensor(leaf)
            else:
                try:
                    leaf = convert_to_tensor(leaf)
                except (TypeError, ValueError) as error:
                    raise TypeError(f"{what} returned {leaf!r}, which is no tensor: {error}") from None
            if leaf.graph is not graph:
                if isinstance(leaf.graph, FuncGraph) and not graph.encloses(leaf.graph):
                    raise ValueError(use_elsewhere(leaf, f"what {what} returns", graph))
                leaf = graph.capture(leaf)
            if leaf.op.opdef.type == "FuncInput" and leaf.op.attrs.get("variable") is not None:
                leaf = unasked_identity(leaf)  # a variable's value, not its storage
            outputs.append(leaf)
    return outputs


# -- If and Case --------------------------------------------------------------------------------


def _joined(outputs_of_branches):
    """Returns the Specs that hold for whichever branch is taken."""
    specs = []
    for outputs in zip(*outputs_of_branches):
        dims = outputs[0].dims
        for o in outputs[1:]:
            if dims is None or o.dims is None or len(dims) != len(o.dims):
                dims = None
            else:
                dims = tuple(a if a == b else None for a, b in zip(dims, o.dims))
        specs.append(Spec(dims, outputs[0].dtype))
    return specs


def _branches_infer(index, inputs, *, branches, n_saved):
    own = len(branches[0].outputs) - n_saved[0]
    specs = _joined([g.outputs[:own] for g in branches])
    for g, n in zip(branches, n_saved):
        specs += [Spec(t.dims, t.dtype) for t in g.outputs[own:own + n]]
    return specs


def _case_lower(b, index, inputs, *, branches, n_saved):
    """Runs one branch. Outputs saved for a gradient stand after the common ones; those of branches not taken are zeros."""
    own = len(branches[0].outputs) - n_saved[0]
    if b.is_host:
        taken = _taken(index, branches)
        values = b.call(branches[taken], inputs)
        saved = []
        for i, (g, n) in enumerate(zip(branches, n_saved)):
            saved += values[own:] if i == taken else [_nothing(t) for t in g.outputs[own:own + n]]
        return tuple(values[:own]) + tuple(saved)

    def run(i):
        def branch():
            values = [b.np.asarray(v) for v in b.call(branches[i], inputs)]
            saved = []
            for j in range(len(n_saved)):
                saved += values[own:] if j == i else [b.np.zeros(s.shape, s.dtype) for s in shapes[j]]
            return tuple(values[:own]) + tuple(saved)

        return branch

    # The saved values of a branch that is not taken need their shapes all the same.
    try:
        shapes = [list(b.shapes(lambda g=g: tuple(b.np.asarray(v) for v in b.call(g, inputs)))) for g in branches]
    except (InvalidArgumentError, ValueError):
        b.run_on_host()  # a branch that is not taken may not fit the shapes of this run
    if any([s.shape for s in other[:own]] != [s.shape for s in shapes[0][:own]] for other in shapes[1:]):
        b.run_on_host()  # the shape of the result depends on the branch taken
    shapes = [s[own:] for s in shapes]
    n = len(branches)
    position = b.np.where((index < 0) | (index >= n), n - 1, index)
    return b.switch(position, [run(i) for i in range(n)])


def _taken(index, branches):
    return int(index) if 0 <= int(index) < len(branches) else len(branches) - 1


def _nothing(t):
    dims = tuple(0 if d is None else d for d in t.dims or ())
    return np.zeros(dims, t.dtype.as_numpy_dtype)


def _if_lower(b, cond, inputs, *, branches, n_saved):
    taken = (0 if cond else 1) if b.is_host else b.np.where(cond, 0, 1)
    return _case_lower(b, taken, inputs, branches=branches, n_saved=n_saved)


_BRANCHES = {"branches": (), "n_saved": ()}
if_op = define_op("If", "cond: bool, input: [Tin]", attrs=_BRANCHES, infer=_branches_infer, lower=_if_lower, single=False)
case_op = define_op("Case", "branch_index: int32, input: [Tin]", attrs=_BRANCHES, infer=_branches_infer, lower=_case_lower,
                    single=False)
def _branch_calls(op, inputs, body_dims):
    return [(g, inputs[1:], 1) for g in op.attrs["branches"]]


def _branch_dims(op, inputs, body_dims):
    found = [body_dims(g, inputs[1:]) for g in op.attrs["branches"]]
    own = len(found[0]) - op.attrs["n_saved"][0]
    if any(dims[:own] != found[0][:own] for dims in found):
        return None
    return [*found[0][:own], *(d for dims in found for d in dims[own:])]


for _op, _choice in ((if_op, lambda op, cond: 0 if cond else 1),
                     (case_op, lambda op, index: _taken(index, op.attrs["branches"]))):
    _op.declare(cost="heavy", bodies=Bodies(
        calls=_branch_calls, dims=_branch_dims, taken=_choice,
        saved_from=lambda op: len(op.attrs["branches"][0].outputs) - op.attrs["n_saved"][0]))


def cond(pred, true_fn=None, false_fn=None, strict=False, name=None, fn1=None, fn2=None):
    """Returns what `true_fn()` gives if `pred` is true, else what `false_fn()` gives; only one of them runs.

    Args:
      pred: bool scalar tensor.
      true_fn, false_fn: functions of no arguments that return the same structure of tensors (or operations).
      strict: keep a list of one element as a list.

    Raises:
      TypeError: `pred` is a Python bool, or a branch is not callable.
      ValueError: the branches return different structures or dtypes.

    Example:
      x = tf.placeholder(tf.float32)
      y = tf.cond(x > 0.0, lambda: x * 2.0, lambda: -x)
      print(*[tf.Session().run(y, {x: value}) for value in (3.0, -3.0)])
      #> 6.0 3.0
    """
    for new, old, what, older in ((true_fn, fn1, "true_fn", "fn1"), (false_fn, fn2, "false_fn", "fn2")):
        if new is not None and old is not None:
            raise TypeError(f"cond(): {what} and {older} may not be set simultaneously.")
        if new is None and old is None:
            raise TypeError(f"cond(): {what} argument required")
        if not callable(new if old is None else old):
            raise TypeError(f"cond: {what} must be callable, a function of no arguments; got {new if old is None else old!r}.")
    true_fn, false_fn = fn1 if true_fn is None else true_fn, fn2 if false_fn is None else false_fn
    if isinstance(pred, bool):
        raise TypeError("pred must not be a Python bool: choose with a Python `if`, or pass a tensor.")
    with get_default_graph().name_scope(name or "cond"):
        pred = convert_to_tensor(pred, name="pred")
        if pred.dims:
            raise ValueError(f"pred: Shape must be rank 0 but is rank {len(pred.dims)}: {spec_text(pred)}.")
        return _choose(if_op, pred, [true_fn, false_fn], strict, ["true_fn", "false_fn"])


def _choose(op, selector, functions, strict, names):
    traced = [trace(n, lambda f=f, n=n: source.call(f, role=f"{n} of a conditional")) for n, f in zip(names, functions)]
    graphs = [g for g, _ in traced]
    structures = [s if strict else _without_singleton(s) for _, s in traced]
    if op is if_op and any(s is None for s in structures):
        lacking = " and ".join(n for n, s in zip(names, structures) if s is None)
        raise ValueError(f"cond: {lacking} must have a return value, got None. A branch that is run for its effect returns the "
                         "operation; tf.no_op() does nothing.")
    for s, n in zip(structures[1:], names[1:]):
        try:
            nest.assert_same_structure(structures[0], s)
        except (TypeError, ValueError) as error:
            kind = "types" if isinstance(error, TypeError) else "values"
            raise type(error)(f"Incompatible return {kind} of {names[0]} and {n}: {error}") from None
    leaves, rebuild = _branch_leaves(structures, graphs)
    for g, flat, n in zip(graphs, leaves, names):
        g.outputs = as_outputs(g, flat, n, ran=n != "false_fn")
    for g, n in zip(graphs[1:], names[1:]):
        for i, (a, b) in enumerate(zip(graphs[0].outputs, g.outputs)):
            if a.dtype is not b.dtype:
                raise ValueError(f"Outputs of {names[0]} and {n} must have the same type(s): output {i} is {spec_text(a)} "
                                f"and {spec_text(b)}.")
    _read_inside(graphs, [selector])
    captures = set_captures(graphs, 0)
    with after_waits(graphs):
        made = op(selector, captures, branches=tuple(graphs), n_saved=(0,) * len(graphs), name="If")
    if isinstance(made, Operation):
        return made
    return rebuild([unasked_identity(t, name="Merge") for t in made])


def _without_singleton(returned):
    return returned[0] if isinstance(returned, (list, tuple)) and len(returned) == 1 else returned


def _branch_leaves(structures, graphs):
    """Returns (leaves of each branch, rebuild): what consists of several tensors is taken apart where all branches agree.

    Slices become dense tensors where another branch gives a tensor, or where only some say their dense shape.
    """
    flat = [nest.flatten(s) for s in structures]
    leaves, builders = [[] for _ in flat], []
    for items in zip(*flat):
        items = _indices_alike(items, graphs)
        parts = [_parts(x) for x in items]
        alike = None not in parts and len({(type(x), len(p[0])) for x, p in zip(items, parts) if p}) == 1
        if items[0] is None:
            builders.append((0, lambda: None))
            continue
        builders.append((len(parts[0][0]), parts[0][1]) if alike else (1, lambda t: t))
        for own, x, p in zip(leaves, items, parts):
            own += p[0] if alike else [x]

    def rebuild(tensors):
        return nest.pack_sequence_as(structures[0], _built(builders, tensors))

    return leaves, rebuild


def _indices_alike(slices, graphs):
    """Returns the slices that branches give with int64 indices where some have int64 and some int32; others as they are."""
    if not all(isinstance(s, IndexedSlices) for s in slices) or len({s.indices.dtype for s in slices}) == 1:
        return slices
    from regrad.ops.math import cast

    out = []
    for s, graph in zip(slices, graphs):
        with graph.as_default():
            out.append(IndexedSlices(s.values, cast(s.indices, dtypes.int64), s.dense_shape))
    return out


def _parts(x):
    """Returns (tensors, function that builds the like of them) for what consists of tensors, None for anything else."""
    parts = getattr(x, "_loop_parts", None)
    return None if parts is None else parts()


def _built(builders, tensors):
    items, position = [], 0
    for count, build in builders:
        items.append(build(*tensors[position:position + count]))
        position += count
    return items


def case(pred_fn_pairs, default=None, exclusive=False, strict=False, name="case"):
    """Returns what the function of the first true predicate gives, or `default()`.

    Args:
      pred_fn_pairs: list of (bool scalar tensor, function), or a dict of them.
      default: function used when no predicate is true; without one the last pair's is, and it is an error at run time
        when its predicate is false.
      exclusive: raise at run time if more than one predicate is true.
    """
    if not isinstance(pred_fn_pairs, (list, tuple, dict)):
        raise TypeError("pred_fn_pairs must be a list, tuple, or dict")
    if default is not None and not callable(default):
        raise TypeError("default must be callable.")
    pairs = list(pred_fn_pairs.items()) if isinstance(pred_fn_pairs, dict) else list(pred_fn_pairs)
    if not pairs:
        raise ValueError("pred_fn_pairs must not be empty: case needs at least one pair.")
    for p in pairs:
        if not isinstance(p, tuple) or len(p) != 2:
            raise TypeError("Each entry in pred_fn_pairs must be a 2-tuple of a bool tensor and a function.")
        if not callable(p[1]):
            raise TypeError(f"fn for pred {p[0]!r} must be callable.")
    from regrad.ops.array import stack
    from regrad.ops.check import assert_true
    from regrad.ops.math import cast
    from regrad.ops.reduce import reduce_any, reduce_sum

    with get_default_graph().name_scope(name):
        preds = [convert_to_tensor(p, name="pred") for p, _ in pairs]
        checks = []
        if exclusive:
            number = reduce_sum(cast(stack(preds), dtypes.int32))
            checks.append(assert_true(number <= 1, "Input error: exclusive=True, but more than 1 condition evaluated as True"))
        if default is None:
            checks.append(assert_true(reduce_any(stack(preds)), "Input error: None of the conditions evaluated as True, and "
                                                                "there is no default"))
            default = pairs[-1][1]
            preds, pairs = preds[:-1], pairs[:-1]
            if not pairs:  # nothing to choose from, but the check must have run
                with get_default_graph().control_dependencies(checks):
                    return nest.map_structure(lambda t: unasked_identity(convert_to_tensor(t)), default())
        with get_default_graph().control_dependencies(checks or []):
            function = default
            for p, (_, f) in zip(reversed(preds), reversed(pairs)):
                function = _nested(p, f, function, strict)
            return function()


def _nested(pred, true_fn, false_fn, strict):
    return lambda: cond(pred, true_fn, false_fn, strict=strict)


def switch_case(branch_index, branch_fns, default=None, name="switch_case"):
    """Returns what branch number `branch_index` gives; outside the range, the default (or last) branch.

    Args:
      branch_index: int32 scalar tensor.
      branch_fns: list of functions, or a dict (or list of pairs) of int to function, covering 0 .. n-1.
    """
    if isinstance(branch_fns, dict):
        branch_fns = list(branch_fns.items())
    if branch_fns and isinstance(branch_fns[0], tuple):
        for k, _ in branch_fns:
            if not isinstance(k, int):
                raise TypeError(f"key must be a Python `int`, got {k!r} of type {type(k).__name__}.")
        keys = sorted(k for k, _ in branch_fns)
        if keys != list(range(len(keys))):
            raise ValueError(f"branch indices must form contiguous range of [0 to {len(keys)}), got {keys}.")
        branch_fns = [f for _, f in sorted(branch_fns, key=lambda pair: pair[0])]
    functions = list(branch_fns) + ([default] if default is not None else [])
    for i, f in enumerate(functions):
        if not callable(f):
            raise TypeError(f"fn for index {i} must be callable, got {f!r}.")
    if not functions:
        raise ValueError("switch_case: branch_fns must not be empty.")
    if isinstance(branch_index, int):
        raise TypeError(f"branch_index must be a Tensor, got {branch_index!r}: choose with Python's list, or pass a tensor.")
    with get_default_graph().name_scope(name):
        index = convert_to_tensor(branch_index, name="branch_index")
        if index.dtype is not dtypes.int32:
            raise TypeError(f"branch_index must be a Tensor of dtype int32, got {index.dtype.name}.")
        return _choose(case_op, index, functions, False, [f"branch{i}" for i in range(len(functions))])


# -- While -----------------------------------------------------------------------------------------


class Rows:
    """What a loop run from the host saved, a row a turn: read by the loop of its gradient.

    Args:
      like: the tensor in the body that was saved. It tells the shape where there was no turn; unknown sizes are 0 then.
    """

    __slots__ = ("rows", "dtype", "_dims")

    def __init__(self, rows, like):
        self.rows = rows
        self.dtype = like.dtype.as_numpy_dtype
        self._dims = like.dims

    @property
    def shape(self):
        return (len(self.rows), *(self.rows[0].shape if self.rows else (d or 0 for d in self._dims or ())))

    @property
    def ragged(self):
        """True when the rows are of different shapes: no compiled loop can read them."""
        return len({r.shape for r in self.rows}) > 1 or any(isinstance(r, Rows) and r.ragged for r in self.rows)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]

    def __array__(self, dtype=None, copy=None):
        return np.stack([as_array(r) for r in self.rows]) if self.rows else np.zeros(self.shape, self.dtype)


def _while_infer(limit, inputs, *, cond, body, n_carry, n_xs, reverse, invariants, host):
    turns = _turns_of(limit, inputs, cond, body, n_carry, n_xs) if len(body.outputs) > n_carry else None
    specs = []
    for i in range(n_carry):
        fixed = invariants[i]
        dims = inputs[i].dims if fixed is None else fixed
        if is_unwritten(dims):
            dims = None  # a TensorArray whose rows get their shape in the body
        elif dims is not None:  # a size that this run knows need not last: the body may change what is not fixed
            after = body.outputs[i].dims
            dims = None if after is None else tuple(d if a is not None else None for d, a in zip(dims, after))
        specs.append(Spec(dims, inputs[i].dtype))
    specs.append(Spec((), dtypes.int32))
    for y in body.outputs[n_carry:]:
        specs.append(Spec(None if y.dims is None else (turns, *y.dims), y.dtype))
    return specs


def _turns_of(limit, inputs, cond, body, n_carry, n_xs):
    """Returns how many turns a loop makes, as far as Specs tell; None if they do not."""
    if n_xs:
        return inputs[-1].dims[0] if inputs[-1].dims else None
    values = [None] * len(inputs)
    if cond is not None:
        counters = _counters(cond, body)
        if counters is None:
            return None
        for i in (*counters[0], *(n_carry + c for c in counters[1])):
            values[i] = inputs[i].value()
            if values[i] is None:
                return None
            values[i] = np.asarray(values[i])
    bound = limit.value()
    return None if bound is None else known_turns(np.asarray(bound), values[:n_carry], values[n_carry:], cond, body)


def _while_lower(b, limit, inputs, *, cond, body, n_carry, n_xs, reverse, invariants, host):
    carry, captures = list(inputs[:n_carry]), list(inputs[n_carry:len(inputs) - n_xs])
    xs = list(inputs[len(inputs) - n_xs:])
    run = _loop_on_host if b.is_host else _loop_compiled
    return run(b, limit, carry, captures, xs, cond, body, reverse)


def _loop_on_host(b, limit, carry, captures, xs, cond, body, reverse):
    limit = int(limit)
    n = len(carry)
    captures = [np.asarray(c) if isinstance(c, Rows) else c for c in captures]
    turns = min([len(x) for x in xs], default=limit)
    saved = [[] for _ in body.outputs[n:]]
    i = 0
    while (turns < 0 or i < turns) and (cond is None or bool(np.asarray(b.call(cond, carry + captures, i)[0]))):
        at = len(xs[0]) - 1 - i if xs and reverse else i
        values = b.call(body, carry + captures + [x[at] for x in xs], i)
        carry = values[:n]
        for rows, v in zip(saved, values[n:]):
            rows.append(v)
        i += 1
    if reverse:
        for rows in saved:
            rows.reverse()
    ys = [Rows(rows, t) for rows, t in zip(saved, body.outputs[n:])]
    return (*carry, np.int32(i), *ys)


def _loop_compiled(b, limit, carry, captures, xs, cond, body, reverse):
    turns = xs[0].shape[0] if xs else known_turns(limit, carry, captures, cond, body)
    try:
        return _loop_traced(b, turns, limit, carry, captures, xs, cond, body, reverse)
    except (InvalidArgumentError, ValueError):  # a body that never runs may not fit what is empty
        if turns == 0:
            return (*carry, np.int32(0), *(b.np.zeros(d, y.dtype.as_numpy_dtype) for d, y in _no_rows(body, len(carry))))
        if turns is None and any(not size_of(np.shape(x)) for x in (*carry, *captures)):
            b.run_on_host()
        raise


def _no_rows(body, n):
    """Returns (dims, tensor of the body) for the rows that a loop of no turns has saved, as far as its body tells."""
    return [((0, *(d or 0 for d in y.dims or ())), y) for y in body.outputs[n:]]


def _loop_traced(b, turns, limit, carry, captures, xs, cond, body, reverse):
    n = len(carry)
    first = _settled(b, tuple(b.np.asarray(c) for c in carry), lambda state: b.call(body, [
        *state, *captures, *(b.np.zeros(x.shape[1:], x.dtype) for x in xs)], 0)[:n])
    one = b.shapes(lambda: tuple(b.np.asarray(v) for v in b.call(body, [
        *first, *captures, *(b.np.zeros(x.shape[1:], x.dtype) for x in xs)], 0)[:n]))
    if any(o.shape != f.shape for o, f in zip(one, first)):
        b.run_on_host()  # a loop variable changes its shape
    together = at_once(b, turns, first, carry, captures, xs, body, reverse) if turns else None
    if together is not None:
        return together
    if turns is not None and (xs or len(body.outputs) > n):
        return scan(b, turns, first, captures, xs, body, reverse)

    def go_on(state):
        i, values = state[0], state[1:]
        below = b.np.logical_or(limit < 0, i < limit)
        if cond is None:
            return below
        return b.np.logical_and(below, b.call(cond, [*values, *captures], i)[0])

    def turn(state):
        i, values = state[0], state[1:]
        return (i + 1, *like(b, b.call(body, [*values, *captures], i)[:n], values))

    last = b.while_loop(go_on, turn, (b.np.asarray(np.int32(0)), *first))
    return (*last[1:], last[0])


def _settled(b, state, turn):
    """Gives TensorArrays that nothing was written to the row shape that the body will write."""
    if not any(is_unwritten(s.shape) for s in state):
        return state
    after = b.shapes(lambda: tuple(b.np.asarray(v) for v in turn(state)))
    return tuple(b.np.zeros(a.shape, a.dtype) if is_unwritten(s.shape) and a.shape != s.shape else s
                 for s, a in zip(state, after))


def known_turns(limit, carry, captures, cond, body):
    """Returns how many turns the loop makes, found by running its counters on the host; None when that cannot be known.

    Args: limit, carry, captures: arrays; NumPy ones are known, tracers are not.
    """
    bound = int(limit) if isinstance(limit, (np.ndarray, np.generic, int)) else None
    if cond is None:
        return bound if bound is not None and bound >= 0 else None
    if bound is None:
        return None
    counters = _counters(cond, body)
    if counters is None:
        return None
    wanted, wanted_captures, memory = counters
    values = carry + captures
    n = len(carry)
    if not all(isinstance(values[i], np.ndarray) for i in (*wanted, *(n + c for c in wanted_captures))):
        return None
    known = {i: values[i] for i in (*wanted, *(n + c for c in wanted_captures))}
    key = (bound, *((v.shape, v.tobytes()) for v in known.values()))
    if key not in memory:
        if len(memory) >= _MAX_REMEMBERED:
            memory.clear()
        most = _MAX_SIMULATED if len(body.outputs) == n else None  # nothing can be stacked without knowing how much
        memory[key] = _simulated(bound, known, wanted, cond, body, most)
    return memory[key]


def _simulated(bound, known, wanted, cond, body, most):
    """Returns the number of turns that the counters `wanted` make from the values `known`; None if it is `most` or more."""
    go_on = _evaluator(cond, [cond.outputs[0]], known)
    steps = {i: step_of(body.outputs[i], body.inputs[i], known[i]) for i in wanted}
    if None not in steps.values() and _of_numbers(cond):
        return _counted(bound, known, steps, go_on, most)
    step = _evaluator(body, [body.outputs[i] for i in wanted], known)
    for turn in itertools.count() if most is None else range(most):
        if 0 <= bound <= turn or not go_on(known)[0]:
            return turn
        known = {**known, **dict(zip(wanted, step(known)))}
    return None


def _of_numbers(cond):
    """True if a condition compares numbers by operations that do the same for arrays of them."""
    return all(op.type in _COMPARING or op.type in ("FuncInput", "Const", "Identity") for op in cond._ops) and not any(
        op.type == "Const" and op.outputs[0].dims for op in cond._ops)


def _counted(bound, known, steps, go_on, most):
    """Returns what `_simulated` does where all counters grow by constants: many turns are looked at together."""
    begin = 0
    while most is None or begin < most * _COUNTED:
        turns = np.arange(begin, begin + _COUNTED)
        counters = {i: (known[i] + step * turns).astype(known[i].dtype) for i, step in steps.items()}
        stops = ~np.broadcast_to(go_on({**known, **counters})[0], turns.shape) | ((turns >= bound) & (bound >= 0))
        if stops.any():
            return begin + int(stops.argmax())
        begin += _COUNTED
    return None


def _counters(cond, body):
    """Returns what alone decides how long the loop goes on, or None if that is not so simple.

    It is (carry positions, capture positions, {their values and the limit: the number of turns, as far as found}).
    """
    key = ("_counters", body)
    found = cond.__dict__.get("_counters_of")
    if found is not None and found[0] is key[1]:
        return found[1]
    n = len(body.outputs)
    needed, captures = set(), set()
    at = {t: i for i, t in enumerate(cond.inputs)}
    result = None
    pending = inputs_of([cond.outputs[0]], at)
    at_body = {t: i for i, t in enumerate(body.inputs)}
    n_carry = getattr(cond, "n_carry", n)
    while pending is not None:
        new = {i for i in pending if i < n_carry} - needed
        captures |= {i - n_carry for i in pending if i >= n_carry}
        needed |= new
        if not new:
            result = (tuple(sorted(needed)), tuple(sorted(captures)), {})
            break
        pending = inputs_of([body.outputs[i] for i in new], at_body)
    cond._counters_of = (body, result)
    return result


def _evaluator(graph, outputs, positions):
    """Returns a function that computes `outputs` on the host from {position: value} for these inputs of the graph."""
    given = [(i, graph.inputs[i]) for i in positions]
    inside, needed, stack = {t for _, t in given}, set(), [t.op for t in outputs]
    while stack:
        op = stack.pop()
        if op not in needed and not inside.issuperset(op.outputs):
            needed.add(op)
            stack += [t.op for t in op.inputs if t not in inside]
    steps = [(op, op.opdef.lower, op.inputs, declared_attrs(op), op.outputs) for op in sorted(needed, key=lambda op: op.id)]

    def evaluate(known):
        values = {t: known[i] for i, t in given}
        for op, lower, inputs, attrs, results in steps:
            made = lower(HOST, *op_arguments(op, [values[t] for t in inputs]), **attrs)
            for t, v in zip(results, made if isinstance(made, (tuple, list)) else (made,)):
                values[t] = np.asarray(v)
        return [values[t] for t in outputs]

    return evaluate


def _known_from_shapes(tensor):
    """True when the value follows from constants and static or run-time shapes alone."""
    seen, stack = set(), [tensor.op]
    while stack:
        op = stack.pop()
        if op in seen:
            continue
        seen.add(op)
        if op.opdef.type in ("Const", "Shape", "Size", "Rank", "ShapeN"):
            continue
        if not op.opdef.pure() or op.opdef.xla_only or op.opdef.facts.bodies or not op.inputs or len(seen) > 200:
            return False
        stack += [t.op for t in op.inputs]
    return True


def _must_run_on_host(op):
    """True for a loop that stacks rows, or changes shape, without its number of turns following from shapes."""
    attrs = op.attrs
    if attrs["host"]:
        return True
    n, body = attrs["n_carry"], attrs["body"]
    if any(dims is not None and not fully_known(dims) and fully_known(op.inputs[1 + i].dims)
           for i, dims in enumerate(attrs["invariants"])):
        return True  # a shape invariant says that the shape changes from turn to turn
    if attrs["n_xs"] or len(body.outputs) == n:
        return False
    counters = _counters(attrs["cond"], body) if attrs["cond"] is not None else ((), ())
    if counters is None or not _known_from_shapes(op.inputs[0]):
        return True
    return not all(_known_from_shapes(op.inputs[1 + i]) for i in (*counters[0], *(n + c for c in counters[1])))


def _counter_positions(op):
    """Returns the inputs whose values must be known when a loop that stacks rows is compiled."""
    attrs = op.attrs
    if attrs["n_xs"] or len(attrs["body"].outputs) == attrs["n_carry"] or attrs["cond"] is None:
        return (0,) if attrs["cond"] is None and len(attrs["body"].outputs) > attrs["n_carry"] and not attrs["n_xs"] else ()
    counters = _counters(attrs["cond"], attrs["body"])
    return (0, *(1 + i for i in counters[0]), *(1 + attrs["n_carry"] + c for c in counters[1]))


def _turn_calls(op, inputs, body_dims):
    turns, specs = _turns_and_specs(op, inputs, body_dims)
    return None if turns is None else [(op.attrs["body"], specs, turns)] if turns else []


def _turns_and_specs(op, inputs, body_dims):
    """Returns how many turns a loop makes, None where Specs do not tell, and the Specs of its body's inputs."""
    attrs = op.attrs
    n, n_xs = attrs["n_carry"], attrs["n_xs"]
    turns = _turns_of(inputs[0], inputs[1:], attrs["cond"], attrs["body"], n, n_xs)
    specs = [Spec(i.dims, i.dtype) for i in inputs[1:1 + n]]  # a value that is known holds for the first turn only
    specs += inputs[1 + n:len(inputs) - n_xs]
    for i in inputs[len(inputs) - n_xs:] if n_xs else ():
        specs.append(Ranged(i.dims[1:], i.dtype, i.low, i.high) if isinstance(i, Ranged) else Spec(i.dims[1:], i.dtype))
    for i, (low, high) in _counted_ranges(attrs["body"], inputs[1:1 + n], turns).items():
        specs[i] = Ranged((), specs[i].dtype, low, high)
    if any(is_unwritten(i.dims) for i in specs[:n]):  # the first turn settles what rows look like
        settled = _body_dims(attrs["body"], n, turns, specs, body_dims)
        specs[:n] = [Spec(dims, i.dtype) if is_unwritten(i.dims) else i for dims, i in zip(settled, specs[:n])]
    return turns, specs


def _counted_ranges(body, carry, turns):
    """Returns {position: (least, largest)} of a loop's counters in all turns, whose Specs know what they begin with."""
    found = {}
    for i, x in enumerate(carry) if turns else ():
        first = x.value()
        step = None if first is None else step_of(origin(body.outputs[i]), body.inputs[i], np.asarray(first))
        if step is not None:
            ends = int(first), int(first) + step * (turns - 1)
            found[i] = min(ends), max(ends)
    return found


def _saved_counters(op, inputs):
    """Returns {output: (least, largest)} for what a loop saves of its counters."""
    n, body = op.attrs["n_carry"], op.attrs["body"]
    turns = _turns_of(inputs[0], inputs[1:], op.attrs["cond"], body, n, op.attrs["n_xs"])
    ranges = {body.inputs[i]: ends for i, ends in _counted_ranges(body, inputs[1:1 + n], turns).items()}
    return {n + 1 + k: ranges[origin(t)] for k, t in enumerate(body.outputs[n:]) if origin(t) in ranges}


def _body_dims(body, n, turns, specs, body_dims):
    """Returns the dims that a body gives; one that never runs may not fit what is empty."""
    try:
        return body_dims(body, specs)
    except (InvalidArgumentError, ValueError):
        if turns != 0:
            raise
        return [*(i.dims for i in specs[:n]), *(dims[1:] for dims, _ in _no_rows(body, n))]


def _turn_dims(op, inputs, body_dims):
    turns, specs = _turns_and_specs(op, inputs, body_dims)
    n = op.attrs["n_carry"]
    found = _body_dims(op.attrs["body"], n, turns, specs, body_dims)
    carried = [i.dims for i in specs[:n]]
    if found[:n] != carried or turns is None and len(found) > n:
        return None
    return [*carried, (), *((turns, *dims) for dims in found[n:])]


while_op = define_op("While", "limit: int32, input: [T]", single=False, infer=_while_infer, lower=_while_lower,
                     attrs={"cond": None, "body": None, "n_carry": 0, "n_xs": 0, "reverse": False, "invariants": (),
                            "host": False})
while_op.declare(cost="heavy", host_if=_must_run_on_host, bodies=Bodies(
    calls=_turn_calls, dims=_turn_dims, saved_from=lambda op: op.attrs["n_carry"], loop_vars=lambda op: op.attrs["n_carry"],
    static=_counter_positions, counters=_saved_counters, unsettled=is_unwritten))


def while_loop(cond, body, loop_vars, shape_invariants=None, parallel_iterations=10, back_prop=True, swap_memory=False,
               name=None, maximum_iterations=None, return_same_structure=False):
    """Returns `loop_vars` after `loop_vars = body(*loop_vars)` was repeated while `cond(*loop_vars)` held.

    Args:
      cond: function of the loop variables that returns a bool scalar.
      body: function of the loop variables that returns new ones: same structure and dtypes, compatible shapes.
      loop_vars: list, tuple or structure of tensors and TensorArrays, one per argument.
      shape_invariants: shapes, in the structure of `loop_vars`, that hold in every turn, where a shape changes.
      parallel_iterations, swap_memory: accepted; turns follow each other, and memory is XLA's business.
      back_prop: False stops gradients at the loop.
      maximum_iterations: stop after so many turns even if `cond` holds.
      return_same_structure: keep the structure even of a single loop variable.

    Raises:
      TypeError: cond or body is not callable; a dtype changes.
      ValueError: no loop variables, another structure, or a shape that changes without an invariant.

    Example:
      i, total = tf.while_loop(lambda i, total: i < 5, lambda i, total: (i + 1, total + i), [0, 0])
      print(*tf.Session().run([i, total]))
      #> 5 10
    """
    if not callable(cond):
        raise TypeError(f"while_loop: cond must be callable, a function of the loop variables; got {cond!r}.")
    if not callable(body):
        raise TypeError(f"while_loop: body must be callable, a function of the loop variables; got {body!r}.")
    if loop_vars is None or not nest.flatten(loop_vars):
        raise ValueError("while_loop: No loop variables provided.")
    if parallel_iterations < 1:
        raise TypeError(f"parallel_iterations must be a positive integer, got {parallel_iterations!r}.")
    as_list = isinstance(loop_vars, (list, tuple))
    structure = list(loop_vars) if isinstance(loop_vars, list) else loop_vars if as_list else [loop_vars]
    with get_default_graph().name_scope(name or "while"):
        leaves, rebuild = _loop_leaves(structure)
        start = [convert_to_tensor(x) for x in leaves]
        start = [unasked_identity(t) if t.op.opdef.variable else t for t in start]
        limit = _limit(maximum_iterations)

        def test(*inner):
            return source.call(cond, *rebuild(inner), role="cond of tf.while_loop")

        def step(*inner):
            returned = source.call(body, *rebuild(inner), role="body of tf.while_loop")
            if not isinstance(returned, (list, tuple)) or len(structure) == 1 and not _is_wrapped(returned, structure):
                returned = [returned]
            return _body_leaves(returned, structure, body)

        graphs, invariants, host = _graphs_that_hold(test, step, start, structure, shape_invariants, cond, body)
        for t in graphs[1].outputs:
            warn_of_dropped_writes(t)
        for g in graphs:
            g.n_carry = len(start)
        _read_inside(graphs, [limit, *start], repeated=True)
        captures = set_captures(graphs, len(start))
        with after_waits(graphs):
            captures = _read_before(graphs, [limit, *start, *captures], captures)
            outputs = while_op(limit, [*start, *captures], cond=graphs[0], body=graphs[1], n_carry=len(start), n_xs=0,
                               reverse=False, invariants=tuple(invariants), host=host, name="While")
        outputs = [unasked_identity(t, name="Exit") for t in outputs[:len(start)]]
        if not back_prop:
            from regrad.ops.array import stop_gradient

            outputs = [stop_gradient(t) for t in outputs]
        result = rebuild(outputs)
        if return_same_structure:
            return type(loop_vars)(result) if type(loop_vars) in (list, tuple) else result if as_list else result[0]
        if len(result) == 1 or len(outputs) == 1 and maximum_iterations is None:
            return result[0]
        return result if not isinstance(loop_vars, tuple) else _tuple_like(loop_vars, result)


def _limit(maximum_iterations):
    """Returns the number of turns after which a loop stops, an integer scalar; -1 for no limit."""
    given = -1 if maximum_iterations is None else maximum_iterations
    limit = convert_to_tensor(given, dtype=None if hasattr(given, "dtype") else dtypes.int32, name="maximum_iterations")
    if limit.dims:
        raise ValueError(f"maximum_iterations must be a scalar, saw shape: {limit.shape}")
    if maximum_iterations is None or limit.op.opdef.type == "Const" and limit.op.attrs["value"] >= 0:
        return limit
    from regrad.ops.math import maximum

    return maximum(limit, 0)


def _graphs_that_hold(test, step, start, structure, shape_invariants, cond, body):
    """Returns ([graph of the condition, of the body], sizes or None for each loop variable, whether the host must turn).

    They are made for the sizes that the variables begin with, and once more where the first body shows that these do not hold.
    """
    invariants, anys = _invariants(shape_invariants, structure, start)
    specs = [Spec(t.dims if dims is None else dims, t.dtype) for t, dims in zip(start, invariants)]
    graphs = _loop_graphs(test, step, specs, cond)
    outs = graphs[1].outputs
    # What sparse tensors consist of may have another size in each turn, and what may change its rank may do it.
    grows = _growing(structure, specs, outs) if shape_invariants is None else []
    ranks = [i for i in anys if outs[i:i + 1] and outs[i].dims is not None and len(outs[i].dims) != len(specs[i].dims)]
    for i, dims in (*grows, *((i, None) for i in ranks)):
        invariants[i] = specs[i].dims = dims
    if grows or ranks:
        graphs = _loop_graphs(test, step, specs, cond)
        outs = graphs[1].outputs
    for i in anys:
        if outs[i:i + 1] and outs[i].dims is None:
            invariants[i] = specs[i].dims = None  # known when it runs
    _check_body(start, specs, outs, body)
    return graphs, invariants, bool(ranks)


def _loop_graphs(test, step, specs, cond):
    """Returns [graph of a loop's condition, graph of its body]."""
    cond_graph, condition = trace("cond", test, specs)
    cond_graph.outputs = as_outputs(cond_graph, condition, "cond")
    if len(cond_graph.outputs) != 1 or cond_graph.outputs[0].dtype is not dtypes.bool_:
        raise TypeError(f"while_loop: {_at('cond', cond)} must return a boolean scalar tensor, got {condition!r}.")
    if cond_graph.outputs[0].dims not in (None, ()):
        raise ValueError(f"while_loop: {_at('cond', cond)} must return a boolean scalar, got shape "
                         f"{cond_graph.outputs[0].shape}; tf.reduce_all and tf.reduce_any make one of several.")
    body_graph, returned = trace("body", step, specs)
    body_graph.outputs = as_outputs(body_graph, returned, "body")
    return [cond_graph, body_graph]


def _growing(structure, specs, outputs):
    """Returns [(position, sizes that hold in every turn)] of the parts of sparse tensors that do not keep their sizes."""
    found, position = [], 0
    for x in nest.flatten(list(structure)):
        parts = (_parts(x) or ([x],))[0]
        places = range(position, position + len(parts))
        position += len(parts)
        if hasattr(x, "_loop_dims") and any(not _less_specific(o.dims, s.dims) for o, s in
                                            zip(outputs[places.start:places.stop], specs[places.start:places.stop])):
            found += zip(places, x._loop_dims(None))
    return found


def _tuple_like(loop_vars, result):
    return type(loop_vars)(*result) if hasattr(loop_vars, "_fields") else tuple(result)


def _is_wrapped(returned, structure):
    """True when a body of one loop variable returned [new], not the new (list-valued) variable itself."""
    return len(returned) == 1 and (not isinstance(structure[0], (list, tuple)) or isinstance(returned[0], (list, tuple)))


def _loop_leaves(structure):
    """Returns (tensors, rebuild): loop variables taken apart, TensorArrays and slices into the tensors they consist of."""
    leaves, builders = [], []
    flat = nest.flatten(list(structure))
    for x in flat:
        tensors, build = _parts(x) or ([x], lambda t: t)
        leaves += tensors
        builders.append((len(tensors), build))

    def rebuild(tensors):
        return nest.pack_sequence_as(list(structure), _built(builders, list(tensors)))

    return leaves, rebuild


def _at(role, function):
    return f"{role} (at {source.of_function(function)})"


def _body_leaves(returned, structure, body):
    returned = list(returned)
    if len(returned) != len(structure):
        raise ValueError(f"while_loop: The number of inputs and outputs of body must match loop_vars: {_at('body', body)} "
                         f"returned {len(returned)} for {len(structure)} loop variables. It returns the new value of each, in "
                         "their order. The two structures don't have the same nested structure: they must have the same number "
                         "of elements.")
    if any(x is None for x in nest.flatten(returned)):
        raise ValueError(f"while_loop: {_at('body', body)} returned None for a loop variable; it returns the new value of "
                         "each.")
    try:
        for old, new in zip(structure, returned):
            nest.assert_same_structure(old, new)
    except (TypeError, ValueError) as error:
        raise type(error)(f"while_loop: {_at('body', body)} must return the structure of loop_vars. {error}") from None
    return _loop_leaves(returned)[0]


def _invariants(shape_invariants, structure, start):
    """Returns (sizes that hold in every turn, or None, for each loop variable; those whose very rank need not hold)."""
    if shape_invariants is None:
        return [None] * len(start), []
    flat = []

    def walk(s, x):
        parts = _parts(x)
        if isinstance(x, (list, tuple, dict)) and parts is None:
            values = s.values() if isinstance(s, dict) else s
            items = x.values() if isinstance(x, dict) else x
            for a, b in zip(values, items):
                walk(a, b)
        elif s is None or parts is not None and not hasattr(x, "_loop_dims"):
            flat.extend([None] * (1 if parts is None else len(parts[0])))
        elif parts is not None:
            flat.extend(x._loop_dims(TensorShape(s)))
        else:
            dims = _invariant_dims(s, x)
            flat.append(_ANY_RANK if dims is None else dims)

    shapes = shape_invariants if isinstance(shape_invariants, (list, tuple)) else [shape_invariants]
    if len(shapes) == len(structure):
        walk(list(shapes), list(structure))
    if len(flat) != len(start):
        raise ValueError("while_loop: shape_invariants must have the structure of loop_vars: "
                         f"{len(shapes)} given for {len(structure)} loop variables.")
    out = []
    for dims, t in zip(flat, start):
        if dims is _ANY_RANK:
            out.append(None if t.dims is None else _ANY_RANK)
            continue
        if dims is not None and not _less_specific(t.dims, dims):
            raise ValueError(f"The shape invariant specified for {t.name} is not compatible with the initial shape of the "
                             f"loop variable. It enters the loop with shape {t.shape}, but the specified shape invariant "
                             f"is {list(dims)}.")
        out.append(None if dims == t.dims else dims)
    anys = [i for i, d in enumerate(out) if d is _ANY_RANK]
    return [(None,) * len(t.dims) if d is _ANY_RANK else d for d, t in zip(out, start)], anys


def _invariant_dims(invariant, x):
    """Returns the sizes that an invariant, a shape or TensorSpec, gives for the loop variable `x`."""
    wanted = getattr(invariant, "dtype", None)
    if wanted is not None and wanted is not convert_to_tensor(x).dtype:
        raise TypeError(f"while_loop: the shape invariant {invariant} does not have the dtype of the loop variable {x}.")
    return as_dims(invariant if wanted is None else invariant.shape)


_ANY_RANK = object()


def _less_specific(given, invariant):
    if given is None:
        return False
    return len(given) == len(invariant) and all(i is None or g == i for g, i in zip(given, invariant))


def _check_body(start, specs, outputs, body):
    if len(outputs) != len(start):
        raise ValueError(f"while_loop: {_at('body', body)} returns {len(outputs)} tensors for {len(start)} loop variables.")
    for i, (t, spec, out) in enumerate(zip(start, specs, outputs)):
        if out.dtype is not spec.dtype:
            raise TypeError(f"Loop variable {i}, {t.name}, enters the loop with type {spec.dtype.name}, but has type "
                            f"{out.dtype.name} after one iteration of {_at('body', body)}. tf.cast(x, tf.{spec.dtype.name}) "
                            "converts.")
        if spec.dims is None:
            continue
        if out.dims is None or not compatible(out.dims, spec.dims) or not _less_specific(out.dims, spec.dims):
            raise ValueError(f"The shape for {t.name} is not an invariant for the loop. It enters the loop with shape "
                             f"{t.shape}, but has shape {out.shape} after one iteration of {_at('body', body)}. Provide shape "
                             "invariants using either the `shape_invariants` argument of tf.while_loop or set_shape() on the "
                             "loop variables.")


