"""`tf.profiler`: how many parameters variables have, and how many floating operations a graph takes, by names or op types.

Floating operations are counted as TensorFlow counts them, from static shapes, for the op types below; the bodies of loops and
branches are not looked into, and operations of unknown shape are left out.
"""

import collections
import copy
import math
import re
import sys

from regrad.core.files import in_place_of
from regrad.core.graph import get_default_graph
from regrad.core.graph_keys import GraphKeys
from regrad.core.shown import Shown

# -- floating operations --------------------------------------------------------------------------------------


def _size(tensor):
    return math.prod(tensor.shape.as_list())


def _by_outputs(per_element):
    return lambda op: per_element * _size(op.outputs[0])


def _by_inputs(per_element):
    return lambda op: per_element * _size(op.inputs[0])


def _reduction(finish):
    return lambda op: _size(op.inputs[0]) + (finish - 1) * _size(op.outputs[0])


def _channels_last(op):
    if op.attrs.get("data_format", "NHWC") not in ("NHWC", "NDHWC"):
        raise ValueError("only NHWC is counted")


def _convolution(op):
    return 2 * _size(op.outputs[0]) * math.prod(op.inputs[1].shape.as_list()[:-1])


def _per_channel(op):
    return 2 * _size(op.outputs[0]) * math.prod(op.inputs[1].shape.as_list()[:2])


def _backprop(of_input, of_filter):
    """Returns the count for a gradient of Conv2D, of the two tensors that it finds in the operation."""
    def count(op):
        _channels_last(op)
        image, taps = of_input(op), of_filter(op)
        strides = op.attrs["strides"]
        return 2 * _size(image) * _size(taps) // (image.shape.as_list()[-1] * strides[1] * strides[2])

    return count


def _pool(of_output, per_tap, per_output=0):
    def count(op):
        _channels_last(op)
        return _size(of_output(op)) * (per_tap * math.prod(op.attrs["ksize"]) + per_output)

    return count


def _product(op):
    transposed = op.attrs.get("transpose_a") or op.attrs.get("adj_x")
    return 2 * op.inputs[0].shape.as_list()[-2 if transposed else -1] * _size(op.outputs[0])


_FLOPS = {
    **dict.fromkeys("Reciprocal Square Log Neg AssignSub AssignAdd BiasAdd".split(), _by_inputs(1)),
    "Rsqrt": _by_inputs(2), "Softmax": _by_inputs(5), "L2Loss": lambda op: 3 * _size(op.inputs[0]) - 1,
    **dict.fromkeys("Add AddV2 Sub Mul RealDiv Maximum Minimum Pow Greater GreaterEqual Less LessEqual Equal NotEqual".split(),
                    _by_outputs(1)),
    "RsqrtGrad": _by_outputs(4), "SquaredDifference": _by_outputs(2),
    "AddN": lambda op: _size(op.inputs[0]) * (len(op.inputs) - 1),
    "Mean": _reduction(1), **dict.fromkeys("Sum ArgMax ArgMin BiasAddGrad SumToLike".split(), _reduction(0)),
    "MatMul": _product, "BatchMatMul": _product, "BatchMatMulV2": _product,
    "Conv2D": _convolution, "Conv3D": _convolution, "DepthwiseConv2dNative": _per_channel, "Dilation2D": _per_channel,
    "Conv2DBackpropInput": _backprop(lambda op: op.outputs[0], lambda op: op.inputs[1]),
    "Conv2DBackpropFilter": _backprop(lambda op: op.inputs[0], lambda op: op.outputs[0]),
    "MaxPool": _pool(lambda op: op.outputs[0], 1), "AvgPool": _pool(lambda op: op.outputs[0], 1),
    "MaxPoolGrad": _pool(lambda op: op.inputs[1], 1, 1), "AvgPoolGrad": _pool(lambda op: op.inputs[1], 2),
}


def _float_ops(graph):
    """Returns {name of an operation: its floating operations}; says on stderr how many could not be counted."""
    found, unknown = {}, 0
    for op in graph.get_operations():
        count = _FLOPS.get(op.type)
        if count is not None:
            try:
                found[op.name] = int(count(op))
            except (TypeError, ValueError):  # a size is None, or the rank is
                unknown += 1
    if unknown:
        sys.stderr.write(f"{unknown} ops no flops stats due to incomplete shapes.\n")
    return found


# -- options ---------------------------------------------------------------------------------------------------


class ProfileOptionBuilder(Shown):
    """Makes options of `profile`, step by step; `build` gives them. Each `with_...` returns the builder."""

    def __init__(self, options=None):
        self._options = dict(options) if options is not None else {
            "max_depth": 100, "min_params": 0, "min_float_ops": 0, "min_occurrence": 0, "order_by": "name",
            "account_type_regexes": [".*"], "start_name_regexes": [".*"], "trim_name_regexes": [], "show_name_regexes": [".*"],
            "hide_name_regexes": [], "account_displayed_op_only": False, "select": ["params"], "output": "stdout"}

    @staticmethod
    def trainable_variables_parameter():
        """Returns options that count the parameters of trainable variables."""
        return (ProfileOptionBuilder().with_max_depth(10000).with_accounted_types(["_trainable_variables"])
                .account_displayed_op_only(True).build())

    @staticmethod
    def float_operation():
        """Returns options that count floating operations."""
        return (ProfileOptionBuilder().with_max_depth(10000).with_min_float_operations(1).order_by("float_ops")
                .account_displayed_op_only(True).select(["float_ops"]).build())

    @staticmethod
    def time_and_memory(*args, **kwargs):
        """Refused: operations are compiled together, and have no times of their own."""
        raise ValueError("time_and_memory: a compiled program has no times of single operations; tf.RunMetadata of a run with "
                         "full_trace_level has those of its steps, and tf.train.ProfilerHook saves them.")

    def _with(self, **changes):
        self._options.update(changes)
        return self

    def build(self):
        """Returns the options, a dict."""
        return copy.deepcopy(self._options)

    def with_max_depth(self, max_depth):
        """Shows no more levels of names."""
        return self._with(max_depth=max_depth)

    def with_min_parameters(self, min_params):
        """Shows what has at least so many parameters."""
        return self._with(min_params=min_params)

    def with_min_float_operations(self, min_float_ops):
        """Shows what takes at least so many floating operations."""
        return self._with(min_float_ops=min_float_ops)

    def with_min_occurrence(self, min_occurrence):
        """Shows op types that occur at least so often."""
        return self._with(min_occurrence=min_occurrence)

    def with_accounted_types(self, account_type_regexes):
        """Counts operations whose type matches one of these; "_trainable_variables" is the type of such."""
        return self._with(account_type_regexes=list(account_type_regexes))

    def with_node_names(self, start_name_regexes=None, show_name_regexes=None, hide_name_regexes=None, trim_name_regexes=None):
        """Chooses by names: where to begin, what to show, what of that to hide, and below which to show nothing."""
        given = {"start_name_regexes": start_name_regexes, "show_name_regexes": show_name_regexes,
                 "hide_name_regexes": hide_name_regexes, "trim_name_regexes": trim_name_regexes}
        return self._with(**{key: list(value) for key, value in given.items() if value is not None})

    def account_displayed_op_only(self, is_true):
        """Totals are of what is shown, or of all that is below."""
        return self._with(account_displayed_op_only=is_true)

    def with_empty_output(self):
        """Prints nothing."""
        return self._with(output="none")

    def with_stdout_output(self):
        """Prints the table."""
        return self._with(output="stdout")

    def with_file_output(self, outfile):
        """Writes the table into a file."""
        return self._with(output=f"file:outfile={outfile}")

    def order_by(self, attribute):
        """Orders what stands on one level by "name", "params", "float_ops" or "occurrence"."""
        return self._with(order_by=attribute)

    def select(self, attributes):
        """Shows some of "params", "float_ops" and "occurrence"."""
        return self._with(select=list(attributes))


# -- counts ----------------------------------------------------------------------------------------------------


class GraphNode:
    """A name of the graph, or an op type, and what was counted there.

    Attributes:
      name: the name; "_TFProfRoot" of the whole.
      parameters, float_ops: its own; total_parameters, total_float_ops: with what is below.
      children: what stands below, as it is shown.
    """

    def __init__(self, name, parameters=0, float_ops=0, shape=None, occurrence=0):
        self.name, self.parameters, self.float_ops, self.shape, self.occurrence = name, parameters, float_ops, shape, occurrence
        self.total_parameters, self.total_float_ops, self.children = parameters, float_ops, []

    def __repr__(self):
        return f"<{self.name}: {self.total_parameters} parameters, {self.total_float_ops} float_ops>"


def profile(graph=None, run_meta=None, op_log=None, cmd="scope", options=None):
    """Counts parameters and floating operations, prints a table, and returns its root, a `GraphNode`.

    Args:
      graph: the default graph by default.
      run_meta, op_log: accepted.
      cmd: "scope", by names; "op", by op types, each of which has the next as its only child.
      options: of a ProfileOptionBuilder; `trainable_variables_parameter()` by default.

    Raises:
      ValueError: another `cmd`, or something is asked for that is not counted.
    """
    graph, options = graph or get_default_graph(), options or ProfileOptionBuilder.trainable_variables_parameter()
    unknown = {*options["select"], options["order_by"]} - {"name", "params", "float_ops", "occurrence"}
    if unknown:
        raise ValueError(f"profile: {sorted(unknown)} is not counted; there are params, float_ops and occurrence.")
    if cmd not in ("scope", "op"):
        raise ValueError(f'profile: cmd is "scope" or "op", got {cmd!r}.')
    nodes = _counted(graph, options)
    root, lines = (_by_names if cmd == "scope" else _by_types)(nodes, options)
    columns = " | ".join(["node name", *(f"# {_ATTRIBUTES[a]}" for a in options["select"])])
    text = "\n".join(["", "Profile:", columns, *lines, ""])
    kind, _, path = options["output"].partition(":outfile=")
    if kind == "stdout":
        print(text)
    elif kind == "file":
        with in_place_of(path) as file:
            file.write(text.encode())
    return root


_ATTRIBUTES = {"params": "parameters", "float_ops": "float_ops", "occurrence": "occurrence"}


def _matches(patterns, text):
    return any(re.fullmatch(p, text) for p in patterns)


def _counted(graph, options):
    """Returns {name: (GraphNode, op type)} of the operations that count."""
    wanted = {*options["select"], options["order_by"]}
    flops = _float_ops(graph) if "float_ops" in wanted or options["min_float_ops"] else {}
    trainable = {v.op.name: v for v in graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)}
    found = {}
    for op in graph.get_operations():
        variable = op.type in ("VariableV2", "Variable", "VarHandleOp")
        types = [op.type, *(["_trainable_variables"] if op.name in trainable else [])]
        if any(_matches(options["account_type_regexes"], t) for t in types):
            dims = op.outputs[0].shape.as_list() if variable and op.outputs[0].shape.is_fully_defined() else None
            node = GraphNode(op.name, 0 if dims is None else math.prod(dims), flops.get(op.name, 0), dims, 1)
            found[op.name] = node, op.type
    return found


def _shown(node, options):
    return (node.parameters >= options["min_params"] and node.float_ops >= options["min_float_ops"]
            and _matches(options["show_name_regexes"], node.name) and not _matches(options["hide_name_regexes"], node.name))


def _order(options, total):
    by = options["order_by"]
    if by == "name":
        return lambda n: n.name
    attribute = _ATTRIBUTES[by] if by == "occurrence" or not total else f"total_{_ATTRIBUTES[by]}"
    return lambda n: (-getattr(n, attribute), n.name)


def _by_names(nodes, options):
    """Returns (root, lines) of names as a tree; what is not shown has its children in its place."""
    parts, below = {name: node for name, (node, _) in nodes.items()}, {}
    for name in nodes:
        while name:
            parent = name.rpartition("/")[0]
            parts.setdefault(name, GraphNode(name))
            below.setdefault(parent, {})[name] = None
            name = parent

    def visible(name, depth):
        """Returns (nodes to show for a name, counts of all that is below it and not shown)."""
        trimmed = _matches(options["trim_name_regexes"], name)
        node, (shown, hidden) = parts[name], beneath(below.get(name, ()), math.inf if trimmed else depth + 1)
        if not _shown(node, options):
            return shown, hidden + _Counts(node.parameters, node.float_ops)
        _add_up(node, shown, hidden, options)
        return [node], _Counts(0, 0)

    def beneath(names, depth):
        shown, hidden = [], _Counts(0, 0)
        for name in names:
            made, rest = visible(name, depth)
            shown += made
            hidden += rest
        return (shown, hidden) if depth <= options["max_depth"] else ([], hidden + _Counts.of(shown))

    root, lines = GraphNode("_TFProfRoot"), []
    _add_up(root, *beneath([n for n in below.get("", ()) if _matches(options["start_name_regexes"], n)], 2), options)

    def write(node, depth):
        words = ", ".join(_written(node, a, node.name in nodes) for a in options["select"])
        shape = ""
        if node.shape is not None and "params" in options["select"]:
            shape = f"{'x'.join(map(str, node.shape)) or 'scalar'}, "
        lines.append(f"{'  ' * depth}{node.name} ({shape}{words})")
        for child in node.children:
            write(child, depth + 1)

    write(root, 0)
    return root, lines


class _Counts(collections.namedtuple("_Counts", "parameters float_ops")):
    """Parameters and floating operations of several nodes, which are added."""

    def __add__(self, other):
        return _Counts(*(a + b for a, b in zip(self, other)))

    @classmethod
    def of(cls, nodes):
        return cls(sum(n.total_parameters for n in nodes), sum(n.total_float_ops for n in nodes))


def _add_up(node, children, hidden, options):
    """Gives a node its children, and totals: of what is shown, and of what is not unless only that is to count."""
    node.children = sorted(children, key=_order(options, total=True))
    total = _Counts(node.parameters, node.float_ops) + _Counts.of(children)
    node.total_parameters, node.total_float_ops = total if options["account_displayed_op_only"] else total + hidden


def _by_types(nodes, options):
    """Returns (root, lines) of op types, the ones that count most first."""
    types = {}
    for node, op_type in nodes.values():
        found = types.setdefault(op_type, GraphNode(op_type))
        found.parameters += node.parameters
        found.float_ops += node.float_ops
        found.occurrence += 1
    shown = sorted((n for n in types.values() if _shown(n, options) and n.occurrence >= options["min_occurrence"]),
                   key=_order(options, total=False))
    root = last = GraphNode("_TFProfRoot")
    chain = [root]
    for node in shown:
        last.children = [node]
        last = node
        chain.append(node)
    for node in reversed(chain):
        _add_up(node, node.children, _Counts(0, 0), options)
    lines = [f"{n.name:<28}{' | '.join(_number(getattr(n, _ATTRIBUTES[a])) + ' ' + _ATTRIBUTES[a] for a in options['select'])}"
             for n in shown]
    return root, lines


def _number(n):
    """Returns 12, 3.40k, 5.60m or 7.80b."""
    for size, letter in ((1e9, "b"), (1e6, "m"), (1e3, "k")):
        if n >= size:
            return f"{n / size:.2f}{letter}"
    return str(n)


def _written(node, attribute, is_op):
    if attribute == "occurrence":
        return f"{node.occurrence} times"
    name, word = {"params": ("parameters", "params"), "float_ops": ("float_ops", "flops")}[attribute]
    own, total = getattr(node, name), getattr(node, f"total_{name}")
    return f"{_number(own) if is_op else '--'}/{_number(total)} {word}"


__all__ = ["GraphNode", "ProfileOptionBuilder", "profile"]
