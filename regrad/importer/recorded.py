"""Gradients of loops that TensorFlow 1 recorded in a graph: loops that run backwards over stacks, which cannot be imported.

The rest of such a graph is: what takes something of them becomes operations that exist by name, and say when they are run why
they cannot. `tf.gradients` of the imported loop gives its gradient anew.
"""

from regrad.core.dtypes import DType, float32
from regrad.core.errors import UnimplementedError
from regrad.core.graph_def import source
from regrad.importer.structure import ENTERS, EXITS, FLOW

# Stacks keep the values of a loop's turns, TensorArrayGrad the gradients of its rows, optional values those of a branch.
RECORDS = frozenset("""Stack StackPush StackPop StackClose StackV2 StackPushV2 StackPopV2 StackCloseV2 TensorArrayGrad
    TensorArrayGradV2 TensorArrayGradV3 TensorArrayGradWithShape OptionalFromValue OptionalNone OptionalGetValue
    OptionalHasValue""".split())


class Unimported:
    """The function of an operation that was not imported: it raises when it is run."""

    def __init__(self, node, cause):
        self.text = (f"'{node.name}' ({node.op}) takes what '{cause.name}' ({cause.op}) gives, a part of a gradient that "
                     "TensorFlow recorded. Such gradients of loops are not imported: build them anew with tf.gradients, or an "
                     "optimizer's minimize.")

    def __call__(self):
        raise UnimplementedError(self.text)

    def __repr__(self):
        return f"<unimported: {self.text}>"


def without_recorded(nodes):
    """Returns (nodes that have nothing to do with recorded gradients, {node: the node of a recorded gradient it takes from}).

    Of the second only those outside of loops are named: there nothing else can be asked for.
    """
    causes = {n.name: n for n in nodes if n.op in RECORDS}
    if not causes:
        return nodes, {}
    users: dict = {}
    for node in nodes:
        for text in node.input:
            users.setdefault(source(text), []).append(node)
    stack = list(causes)
    while stack:
        name = stack.pop()
        for user in users.get(name, ()):
            if user.name not in causes:
                causes[user.name] = causes[name]
                stack.append(user.name)
    depth = _depths(nodes, users)
    outside = {n: causes[n.name] for n in nodes if n.name in causes and not depth[n.name] and n.op not in FLOW}
    return [n for n in nodes if n.name not in causes], outside


def _depths(nodes, users):
    """Returns in how many loops each node is, by name."""
    depth = dict.fromkeys((n.name for n in nodes), 0)
    stack = list(nodes)
    while stack:
        node = stack.pop()
        after = depth[node.name] + (node.op in ENTERS) - (node.op in EXITS)
        for user in users.get(node.name, ()):
            if after > depth[user.name]:
                depth[user.name] = after
                stack.append(user)
    return depth


def add_unimported(region, nodes):
    """Makes the operations that stand for what was not imported."""
    from regrad.ops.script import py_func

    for node, cause in nodes.items():
        dtype = next((node.attr[k].value for k in ("T", "dtype", "DstT") if k in node.attr), float32)
        made = py_func(Unimported(node, cause), [], dtype if isinstance(dtype, DType) else float32, name=node.name)
        region.ops[node.name], region.values[node.name] = made.op, [made]
