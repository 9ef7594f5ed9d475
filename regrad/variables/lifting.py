"""Building in the root graph while the body of a branch, loop or function is being built: variables live there."""

import contextlib

from regrad.core.frames import framed
from regrad.core.func_graph import FuncGraph
from regrad.core.graph import get_default_graph


def root_graph(graph=None):
    """Returns the outermost graph around `graph` (the default graph by default)."""
    return (graph or get_default_graph()).root


def graph_around(variable):
    """Returns the graph to build in what uses `variable`: the variable's, or the body inside it that is being built."""
    graph = get_default_graph()
    return graph if root_graph(graph) is variable.graph else variable.graph


@contextlib.contextmanager
def init_scope():
    """Context manager: lifts ops out of control dependencies and out of the bodies of branches, loops and functions.

    The name scope stays in force. What initialises state is built like this, so that it can run once, on its own.
    """
    graph = get_default_graph()
    if not isinstance(graph, FuncGraph):
        if not graph.frame.controls:
            yield
            return
        with graph.control_dependencies(None):
            yield
        return
    root = graph.root
    # A body's scope continues that of the graph around it.
    with root.as_default(), root.control_dependencies(None), framed(root, scope=graph.frame.scope):
        yield
