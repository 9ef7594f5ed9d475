"""What a file may have run while it is loaded: its restore operation and its main operation, if they write no files."""

from regrad.core.errors import PermissionDeniedError
from regrad.core.func_graph import FuncGraph
from regrad.core.traversal import body_graphs


def refuse_writing(op, what):
    """Raises PermissionDeniedError where running an operation of a file, while the file is loaded, would write files.

    Whoever runs a graph knows that it runs; whoever loads one only wants its variables to have their values.

    Args:
      op: an Operation or Tensor.
      what: what the file says that it is, for the message.
    """
    stack = [getattr(op, "op", op)]
    seen = set(stack)
    while stack:
        one = stack.pop()
        writes = one.opdef.facts.stored.writes_files
        if writes and writes(one):
            raise PermissionDeniedError(None, one, (
                f"{what}, '{op.name}', would write files by '{one.name}' ({one.type}). Loading runs nothing that writes files: "
                "it is refused, and nothing of it was run. If the file is trusted, import its graph, and run the operation."))
        inside = [inner for body in (*body_graphs(one), *_element_functions(one)) for inner in body._ops]
        for other in (*(t.op for t in one.inputs), *one.control_inputs, *inside):
            if other not in seen:
                seen.add(other)
                stack.append(other)


def _element_functions(op):
    """Yields the graphs of the functions in the datasets that an operation holds."""
    stack, seen = list(op.attrs.values()) if op.opdef.facts.stored.module else [], set()
    while stack:
        value = stack.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, (list, tuple)):
            stack += value
        elif isinstance(value, FuncGraph):
            yield value
        elif type(value).__module__.startswith("regrad.data."):
            stack += vars(value).values()
