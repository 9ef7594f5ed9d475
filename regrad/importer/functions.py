"""Functions of a GraphDef: their bodies as nodes whose inputs are written as those of a graph are."""

from regrad.core.graph_def import AttrValue, NodeDef, source
from regrad.importer.output_names import OUTPUTS


class Function:
    """A function, for the types that one call gives it.

    Attributes:
      name: its name.
      nodes: NodeDefs of its arguments, of op type "_Arg", and of its body.
      arguments: the input texts of its arguments, one for each tensor.
      results: input texts of what it returns.
      effects: names of the nodes that run although nothing takes what they give.
    """

    def __init__(self, definition, attrs):
        from regrad.core.graph_proto import read_node

        signature = definition.signature
        self.name = signature.name
        self.nodes = [NodeDef(name=arg.name, op="_Arg") for arg in signature.input_arg]
        counts = {}
        for proto in definition.node_def:
            node = read_node(proto)
            for key, attr in node.attr.items():
                given = getattr(attr.value, "placeholder", None)
                if given is not None:
                    node.attr[key] = AttrValue(attrs[given].value)
            counts[node.name] = _outputs(node)
            self.nodes.append(node)
        self.arguments, given = [], {}
        for arg in signature.input_arg:
            size = _size(arg, attrs)
            given[arg.name] = [f"{arg.name}:{i}" for i in range(size)]
            self.arguments += given[arg.name]
        for node in self.nodes:
            node.input = [_plain_text(text, given, counts) for text in node.input]
        self.results = []
        for arg in signature.output_arg:
            text = definition.ret[arg.name]
            name = source(text)
            size = _size(arg, attrs)
            if name in given:
                self.results += given[name]
            elif size == 1:
                self.results.append(_plain_text(text, given, counts))
            else:
                first = _plain_text(text, given, counts).partition(":")[2]
                self.results += [f"{name}:{int(first or 0) + i}" for i in range(size)]
        self.effects = list(dict.fromkeys(definition.control_ret.values()))


def _size(arg, attrs):
    """Returns of how many tensors an argument of a function consists."""
    if arg.number_attr:
        return int(attrs[arg.number_attr].value)
    return len(attrs[arg.type_list_attr].value) if arg.type_list_attr else 1


def _outputs(node):
    """Returns {name of an output: the position of its first tensor}, {} for op types with one output."""
    position, found = 0, {}
    for text in OUTPUTS.get(node.op, ()):
        name, _, attribute = text.partition("*")
        found[name] = position
        count = node.attr[attribute].value if attribute else 1
        position += count if isinstance(count, int) else len(count)
    return found


def _plain_text(text, arguments, counts):
    """Returns "node:2" for what a function's body calls "node:output:2"."""
    if text.startswith("^"):
        return text
    name, _, rest = text.partition(":")
    if name in arguments:
        return arguments[name][int(rest or 0)]
    output, _, index = rest.partition(":")
    return f"{name}:{counts[name].get(output, 0) + int(index or 0)}"


