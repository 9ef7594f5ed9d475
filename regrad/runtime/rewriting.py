"""Device operations of a program replaced by fewer that compute the same, where only the whole program shows it.

What the graph holds stays as it is: a rewritten node has an operation of its own, which gives the tensors of the one it
replaces and is in no graph.
"""

from regrad.core.facts import Facts, Product
from regrad.core.opdef import Known, OpDef, Spec
from regrad.core.operation import Operation
from regrad.core.shapes import size_of
from regrad.runtime.plan import Node
from regrad.runtime.products import product


def rewritten(nodes, infos, outside):
    """Returns `nodes` with sums gathered, products of matrices too, or narrowed; what nothing reads any more is still there.

    Rows that are taken from one array, here and there, come right after the array.

    Args:
      nodes: in order.
      infos: value number -> Spec or Known.
      outside: value numbers that anything but `nodes` reads.
    """
    products = sum(n.op.type == "MatMul" for n in nodes)
    if not products and len(nodes) < _LONG:
        return nodes
    users = dict.fromkeys(outside, 1)
    for n in nodes:
        for v in n.ins:
            users[v] = users.get(v, 0) + 1
    producer = {v: n for n in nodes for v in n.outs}
    several, parts, replaced = products >= _FEWEST, set(), {}
    for n in reversed(nodes):
        if n.op.type in ("Split", "SplitV"):
            replaced[n] = _part_of_product(n, producer, users, infos) or n
        elif n.opdef.facts.by_product:
            replaced[n] = _step_by_product(n, producer, users, infos) or n
        elif several and n.op.type in _SUMS and n not in parts:
            replaced[n] = _sum_of_products(n, producer, users, infos, parts) or n
        # Without products what repeats itself is too small for a loop, and sums of many terms are slower than partial ones.
        if several and n.op.type == "AddN" and n not in parts and replaced.get(n, n) is n:
            replaced[n] = _sum_of_sums(n, producer, users, infos, parts) or n
    nodes = [replaced.get(n, n) for n in nodes]
    return _rows_first(nodes, producer, infos) if len(nodes) >= _LONG else nodes


def _instead(node, opdef, inputs, attrs, groups, output=0):
    """Returns a node that makes one value of `node`, or the variables that it assigns, by another operation.

    Args:
      inputs: (value number, tensor) of each.
    """
    old = node.op
    op = Operation(old.graph, old.name, opdef, tuple(t for _, t in inputs), attrs, groups)
    op.frames, op.forward_op, op.id = old.frames, old.forward_op, old.id
    op.outputs = tuple(old.outputs) if opdef.writes else (old.outputs[output],)
    op._controls, op.override_scope, op._device = (), None, old._device
    outs = node.outs if opdef.writes else (node.outs[output],)
    made = Node(op, tuple(v for v, _ in inputs), outs, False, node.written)
    made.stage = node.stage
    return made


# -- sums of products: the gradient of a weight that is used many times adds up `a.T @ g` -----------------------

_FEWEST = 3  # products worth gathering
_SUMS = ("AddN", "Add", "AddV2")


def _products_lower(b, x, y, rest, *, transpose_x, transpose_y):
    """Returns the sum of the products of each of `x` and of `y`, and of `rest`: stacked, it is one product."""
    x = b.np.concatenate([m if t else m.T for m, t in zip(x, transpose_x)])
    y = b.np.concatenate([m.T if t else m for m, t in zip(y, transpose_y)])
    total = product(b, x, y, transpose_x=True)
    for more in rest:
        total = total + more
    return total


def stacked_product(b, xs, ys, transpose_x, transpose_y):
    """Returns the sum of the products of the matrices in `xs` with those in `ys`, stacks of them, as one product."""
    xs = xs if transpose_x else b.np.swapaxes(xs, 1, 2)
    ys = b.np.swapaxes(ys, 1, 2) if transpose_y else ys
    xs, ys = (s.reshape(-1, s.shape[2]) for s in (xs, ys))
    return product(b, xs, ys, transpose_x=True)


def _products_infer(x, y, rest, *, transpose_x, transpose_y):
    return Spec((x[0].dims[1 if transpose_x[0] else 0], y[0].dims[0 if transpose_y[0] else 1]), x[0].dtype)


def _multiply_adds(op, dims, made):
    rows = size_of(op.outputs[0].dims[:1]) or 1
    return sum(size_of(d) for d in dims[:op.groups[0]]) * made // rows


products_op = OpDef("SumOfProducts", "x: N*T, y: N*T, rest: M*T", _products_infer, _products_lower,
                    attrs={"transpose_x": (), "transpose_y": ()}, types={}, stateful=False, host=False, static=(), writes=(),
                    reads=True, xla_only=False, shape_only=(), partial=False, variable=False, random=False, single=True,
                    facts=Facts(cost="heavy", product=Product(multiply_adds=_multiply_adds)))


def _sum_of_products(node, producer, users, infos, parts):
    """Returns a node that multiplies the operands of all products in the sum `node` as one; None where that is no gain.

    It is one where the stacked operands are no longer than the products they make superfluous: the processor is at its best
    with long sums, and a product that is written and read again costs memory's time. Sums inside the sum go to `parts`:
    none is looked at twice, so that a long chain of them costs what it is long.
    """
    dims = infos[node.outs[0]].dims
    if len(dims) != 2 or node.op.outputs[0].dtype.name not in ("float32", "float64"):
        return None
    terms, products, rest = [*zip(node.ins, node.op.inputs)], [], []
    while terms:
        v, t = terms.pop()
        made = producer.get(v)
        if infos[v].dims != dims:
            return None
        if made is None or users[v] != 1:
            rest.append((v, t))
        elif made.op.type in _SUMS:
            parts.add(made)
            terms += zip(made.ins, made.op.inputs)
        elif made.op.type == "MatMul":
            products.append(made)
        else:
            rest.append((v, t))
    transpose_x, transpose_y = (tuple(bool(p.op.attrs[name]) for p in products) for name in ("transpose_a", "transpose_b"))
    length = sum(infos[p.ins[0]].dims[0 if t else 1] for p, t in zip(products, transpose_x))
    if len(products) < _FEWEST or length * sum(dims) > len(products) * dims[0] * dims[1]:
        return None
    inputs = [(p.ins[i], p.op.inputs[i]) for i in (0, 1) for p in products]
    return _instead(node, products_op, inputs + rest, {"transpose_x": transpose_x, "transpose_y": transpose_y},
                    (len(products), len(products), len(rest)))


# -- sums of sums: the gradient of what is used many times is added up as its terms come ------------------------------

_LONG = 64  # nodes; sums in shorter programs stay as they are
_LARGE = 16_384  # elements; larger terms are not kept until all have come


def _sum_of_sums(node, producer, users, infos, parts):
    """Returns a node that adds up all terms of the sums within the sum `node`, so that each turn of what repeats itself makes a
    term and no more; None if there is no other sum in it. The inner sums go to `parts`."""
    if (size_of(infos[node.outs[0]].dims) or 0) > _LARGE:
        return None
    terms, left = [], [*zip(node.ins, node.op.inputs)][::-1]
    while left:
        v, t = left.pop()
        made = producer.get(v)
        if made is not None and made.op.type == "AddN" and users[v] == 1:
            parts.add(made)
            left += [*zip(made.ins, made.op.inputs)][::-1]
        else:
            terms.append((v, t))
    return None if len(terms) == len(node.ins) else _instead(node, node.op.opdef, terms, node.op.attrs, (len(terms),))


# -- rows: x[:, t] in the turn t of what repeats itself ----------------------------------------------------------------

_ROWS = 4  # fewer stay where they are


def row_taken(op, begin, strides):
    """Returns (axis, index) where a StridedSlice takes one index of one axis, and all of the others; else None."""
    masks = {name: op.attrs[f"{name}_mask"] for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")}
    shrunk = masks["shrink_axis"]
    if shrunk.bit_count() != 1 or masks["new_axis"] or 0 < masks["ellipsis"] < shrunk or any(s != 1 for s in strides):
        return None
    whole = masks["begin"] & masks["end"] | masks["ellipsis"] | shrunk
    axis = shrunk.bit_length() - 1
    return (axis, int(begin[axis])) if whole == (1 << len(begin)) - 1 else None


def _rows_first(nodes, producer, infos):
    """Returns `nodes` with operations that take rows of one array, if they are several, right after what makes it."""
    rows = {}
    for n in nodes:
        if n.op.type == "StridedSlice" and all(isinstance(infos[v], Known) for v in n.ins[1:]):
            if row_taken(n.op, infos[n.ins[1]].array, infos[n.ins[3]].array):
                rows.setdefault(n.ins[0], []).append(n)
    rows = {v: some for v, some in rows.items() if len(some) >= _ROWS}
    if not rows:
        return nodes
    moved = {n for some in rows.values() for n in some}
    ordered, left = [], [n for n in reversed(nodes) if n not in moved]
    left += [n for v, some in rows.items() if v not in producer for n in some]
    while left:
        n = left.pop()
        ordered.append(n)
        left += [m for v in n.outs for m in rows.get(v, ())]
    return ordered


# -- products of which only some rows or columns are read: the gradient of [x, h] @ w where x is data ----------------


def _part_lower(b, x, y, *, transpose_a, transpose_b, axis, start, stop):
    """Returns rows (axis 0) or columns `start` to `stop` of the product of `x` and `y`."""
    part = slice(start, stop)
    if axis == 0:
        x = x[:, part] if transpose_a else x[part]
    else:
        y = y[part] if transpose_b else y[:, part]
    return product(b, x, y, transpose_a, transpose_b)


def _part_infer(x, y, *, transpose_a, transpose_b, axis, start, stop):
    dims = [x.dims[1 if transpose_a else 0], y.dims[0 if transpose_b else 1]]
    dims[axis] = stop - start
    return Spec(tuple(dims), x.dtype)


def _part_multiply_adds(op, dims, made):
    return made * dims[0][0 if op.attrs["transpose_a"] else 1]


part_op = OpDef("PartOfProduct", "x, y", _part_infer, _part_lower,
                attrs={"transpose_a": False, "transpose_b": False, "axis": 1, "start": 0, "stop": 0}, types={}, stateful=False,
                host=False, static=(), writes=(), reads=True, xla_only=False, shape_only=(), partial=False, variable=False,
                random=False, single=True, facts=Facts(cost="heavy", product=Product(multiply_adds=_part_multiply_adds)))


def _part_of_product(node, producer, users, infos):
    """Returns a node that computes the only piece of a split product that is read; None if `node` is not like that."""
    by_sizes = node.op.type == "SplitV"
    value, axis = (node.ins[0], node.ins[2]) if by_sizes else (node.ins[1], node.ins[0])
    read = [k for k, v in enumerate(node.outs) if users.get(v)]
    product = producer.get(value)
    if product is None or product.op.type != "MatMul" or users[value] != 1 or len(read) != 1 or len(node.outs) == 1:
        return None
    axis = int(infos[axis].array) % 2
    widths = [infos[v].dims[axis] for v in node.outs]
    start = sum(widths[:read[0]])
    attrs = {name: bool(product.op.attrs[name]) for name in ("transpose_a", "transpose_b")}
    return _instead(node, part_op, [*zip(product.ins, product.op.inputs)],
                    {**attrs, "axis": axis, "start": start, "stop": start + widths[read[0]]}, None, read[0])


# -- steps of weights by products: the gradient x' y need not be written where nothing but the step reads it ---------------

_LEAST_STEP = 65_536  # elements
_MOST_TERMS = 2_048  # a longer product takes long enough for its result's way to memory not to matter


def _step_by_product(node, producer, users, infos):
    """Returns a node that computes an optimizer's step and its gradient as one; None where something else reads that."""
    opdef = node.opdef.facts.by_product
    at = next(i for i, arg in enumerate(opdef.args) if arg.name == "x")
    v = node.ins[at]
    made = producer.get(v)
    if made is None or made.op.type != "MatMul" or users[v] != 1 or infos[v].dtype.name != "float32":
        return None
    if not made.op.attrs["transpose_a"] or made.op.attrs["transpose_b"] or infos[v].dims != infos[node.ins[0]].dims:
        return None
    if size_of(infos[v].dims) < _LEAST_STEP or not 0 < infos[made.ins[0]].dims[0] <= _MOST_TERMS:
        return None
    inputs = [*zip(node.ins, node.op.inputs)]
    return _instead(node, opdef, inputs[:at] + [*zip(made.ins, made.op.inputs)] + inputs[at + 1:], node.op.attrs, None)
