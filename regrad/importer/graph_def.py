"""`tf.import_graph_def`: a GraphDef becomes operations of the default graph."""

from regrad.core.convert import convert_to_tensor
from regrad.core.graph import get_default_graph
from regrad.core.graph_def import GraphDef
from regrad.core.graph_proto import checked_functions
from regrad.core.reading import refusing
from regrad.core.traversal import body_graphs
from regrad.importer.region import import_nodes


def import_graph_def(graph_def, input_map=None, return_elements=None, name=None, op_dict=None, producer_op_list=None,
                     functions=None):
    """Adds the operations of a GraphDef to the default graph.

    A graph that was read from a file is data: nothing that it names is imported or called. What a `py_func` of it is to call is
    passed here, under the name that the file has, "module:function", or under that of the node:

        tf.import_graph_def(tf.GraphDef.FromString(data), functions={"preparing:normalise": preparing.normalise})

    Gradient overrides recorded in it stay: those of blocks (`_gradient_op_type`), rules attached to operations, and rules of
    the graph it was made of, which hold for what is imported. Blocks in force here hold for what is imported too.

    Args:
      graph_def: what `graph.as_graph_def()` gave, or what was read from a file, one of TensorFlow's too.
      input_map: {tensor name in `graph_def`: tensor of the default graph} to use instead.
      return_elements: names of operations ("y") and tensors ("y:0") to return.
      name: prefix of the names here; "import" by default, "" for none.
      functions: {name: function} that nodes of a file may call; a node whose function is missing raises UnimplementedError when
        it is run, with the name. A GraphDef that this process made, or its bytes, needs none while its graph is there.

    Returns:
      A list of what `return_elements` names, or None.

    Raises:
      TypeError: `graph_def` is no GraphDef of Regrad, `functions` no mapping to functions.
      ValueError: a name in `input_map` or `return_elements` is not there.

    Example:
      with tf.Graph().as_default() as saved:
          tf.identity(tf.placeholder(tf.float32, [], name="x") * 2.0, name="y")
      x = tf.constant(3.0)
      y, = tf.import_graph_def(saved.as_graph_def(), input_map={"x": x}, return_elements=["y:0"])
      print(*tf.Session().run([y, tf.gradients(y, x)[0]]))
      #> 6.0 2.0
    """
    if type(graph_def).__name__ == "ProtoGraphDef":
        graph_def = GraphDef.FromString(graph_def.SerializeToString())
    if not isinstance(graph_def, GraphDef):
        raise TypeError(f"graph_def must be a GraphDef proto, one of Regrad's, got {type(graph_def).__name__}: what "
                        "graph.as_graph_def() gives, or tf.GraphDef.FromString of a file's bytes.")
    if input_map is not None and not isinstance(input_map, dict):
        raise TypeError(f"input_map must be a dictionary mapping strings to Tensor objects, got {input_map!r}.")
    if return_elements is not None and not (isinstance(return_elements, (list, tuple))
                                            and all(isinstance(e, str) for e in return_elements)):
        raise TypeError(f"return_elements must be a list of strings, got {return_elements!r}.")
    functions = checked_functions(functions)
    graph = get_default_graph()
    given = {k if ":" in k else k + ":0": convert_to_tensor(v) for k, v in (input_map or {}).items()}
    with refusing(), graph.name_scope(name if name is not None else "import"):
        region, used = import_nodes(graph_def, given, functions)
        ops = region.ops
        for op in ops.values():
            if "_class" in op.attrs:
                op.attrs = {**op.attrs, "_class": [_renamed(group, ops) for group in op.attrs["_class"]]}
    if graph_def.gradient_rules:
        made = dict(_with_bodies((node.operation, ops[node.name]) for node in graph_def.node if node.operation is not None))
        graph.gradient_rules += [o.moved(made) for o in graph_def.gradient_rules]
    missing = given.keys() - used
    if missing:
        raise ValueError(f"Attempted to map inputs that were not found in graph_def: [{', '.join(sorted(missing))}]")
    if return_elements is None:
        return None
    try:
        return [region.value(e) if ":" in e else ops[e] for e in return_elements]
    except (KeyError, IndexError) as error:
        raise ValueError(f"Requested return_element {return_elements} not found in graph_def: {error}.") from None


def _with_bodies(pairs):
    """Yields (original, copy) of the given operations and, in the order in which both were made, of what their bodies hold."""
    stack = list(pairs)
    while stack:
        old, new = stack.pop()
        yield old, new
        for body, copy in zip(body_graphs(old), body_graphs(new)):
            stack += zip(body._ops, copy._ops)


def _renamed(group, ops):
    """Returns the colocation group b"loc:@name" under the name that operation was given."""
    group = group if isinstance(group, bytes) else group.encode()
    op = ops.get(group.removeprefix(b"loc:@").decode())
    return group if op is None else f"loc:@{op.name}".encode()
