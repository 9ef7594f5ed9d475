"""Sums of products over named axes: einsum, tensordot. The gradient of Einsum is in `einsum_grad.py`."""

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import NUMERIC
from regrad.core.errors import ShapeError
from regrad.core.graph import get_default_graph
from regrad.core.opdef import Spec, define_op, spec_text
from regrad.core.shapes import broadcast, fully_known, size_of
from regrad.ops import array
from regrad.ops.compare import where_v2
from regrad.ops.generate import range as range_
from regrad.ops.indexing import gather
from regrad.ops.math import cast
from regrad.ops.matmul import matmul
from regrad.ops.partition import setdiff1d
from regrad.ops.reduce import reduce_prod


def parse(equation, count=None):
    """Returns ([labels of each operand], labels of the result); an ellipsis is the label ".".

    Raises:
      ValueError: the equation is malformed, or is not for `count` operands.
    """
    if not isinstance(equation, str):
        raise TypeError(f"einsum: the equation comes first, as 'ij,jk->ik', got {equation!r}.")
    text = equation.replace(" ", "")
    if "." in text.replace("...", ""):
        raise ValueError(f"Indices have incorrect format: {equation}")
    text = text.replace("...", ".")
    left, arrow, right = text.partition("->")
    operands = left.split(",")
    for labels in [*operands, right]:
        if any(not (c.isalpha() or c == ".") for c in labels) or labels.count(".") > 1:
            raise ValueError(f"Indices have incorrect format: {equation}")
    if count is not None and len(operands) != count:
        raise ValueError(f"einsum: equation {equation!r} has {len(operands)} operands, got {count} tensors")
    if not arrow:
        # What occurs once, in alphabetical order.
        every = "".join(operands)
        right = "." * ("." in every) + "".join(sorted(c for c in set(every) - {"."} if every.count(c) == 1))
    for c in right:
        if not any(c in labels for labels in operands) and c != ".":
            raise ValueError(f"einsum: label {c!r} of the result occurs in no operand of {equation!r}")
        if right.count(c) > 1:
            raise ValueError(f"einsum: label {c!r} occurs twice in the result of {equation!r}")
    return operands, right


def _infer(inputs, *, equation):
    operands, result = parse(equation, len(inputs))
    sizes, rest = {}, ()
    for labels, x in zip(operands, inputs):
        named = len(labels) - ("." in labels)
        if x.dims is None:
            if "." in labels:
                rest = None
            continue
        extra = len(x.dims) - named
        if extra < 0 or extra and "." not in labels:
            raise ShapeError(f"equation {equation!r} has {named} labels for an operand that is {spec_text(x)}")
        dims = list(x.dims)
        if "." in labels:
            at = labels.index(".")
            if rest is not None:
                rest = broadcast(rest, tuple(dims[at:at + extra]), "the axes of an ellipsis")
            dims[at:at + extra] = ["."]
        for c, d in zip(labels, dims):
            if c == ".":
                continue
            if sizes.get(c) is None:
                sizes[c] = d
            elif d not in (None, sizes[c]):
                raise ShapeError(f"label {c!r} of equation {equation!r} stands for {sizes[c]} and for {d}")
    if "." in result and rest is None:
        return Spec(None, inputs[0].dtype)
    if "." not in result and rest:
        raise ShapeError(f"equation {equation!r} leaves the ellipsis out of the result; its axes cannot be summed")
    dims = []
    for c in result:
        dims += rest if c == "." else [sizes.get(c)]
    return Spec(tuple(dims), inputs[0].dtype)


def _lower(b, xs, *, equation):
    operands, result = parse(equation)
    text = ",".join(operands).replace(".", "...") + "->" + result.replace(".", "...")
    dtype = xs[0].dtype
    if b.is_host:
        small = dtype.itemsize < 4 and dtype.kind not in "iu"  # NumPy's einsum knows no bfloat16
        xs = [x.astype(np.float32) for x in xs] if small else xs
        return np.asarray(np.einsum(text, *xs, optimize=len(xs) > 2)).astype(dtype, copy=False)
    return b.np.einsum(text, *xs).astype(dtype)


einsum_op = define_op("Einsum", "inputs: N*T", attrs={"equation": None}, types={"T": NUMERIC}, infer=_infer, lower=_lower)
einsum_op.declare(cost="heavy")


def einsum(equation, *inputs, **kwargs):
    """Returns the sum of products that an equation such as "ij,jk->ik" describes.

    Labels that are missing right of the arrow are summed over; without an arrow, labels that occur more than once are. A
    label repeated in one operand takes a diagonal. "..." stands for axes that broadcast.

    Args:
      equation: as above.
      *inputs: as many tensors as it has operands.
      name: name of the operation.
      optimize: accepted; XLA orders the products.

    Raises:
      ValueError: the equation is malformed, or does not fit the tensors.

    Example:
      print(tf.Session().run(tf.einsum("ij,j->i", [[1, 2], [3, 4]], [10, 1])))
      #> [12 34]
    """
    name = kwargs.pop("name", None)
    kwargs.pop("optimize", None)
    if kwargs:
        raise TypeError(f"Invalid keyword arguments for einsum: {', '.join(sorted(kwargs))}. Valid ones are: name, optimize")
    if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)):
        inputs = inputs[0]
    parse(equation, len(inputs))
    return einsum_op(list(inputs), equation=equation, name=name or "einsum")


# -- tensordot ------------------------------------------------------------------------------------
def tensordot(a, b, axes, name=None):
    """Returns the sum of products over pairs of axes: a transposition and reshaping of a matrix product.

    Args:
      a, b: tensors of one dtype; their shapes may be unknown.
      axes: an int n: the last n axes of `a` with the first n of `b`; or two lists of axes, of `a` and of `b`, or those
        as one int32 tensor.

    Returns:
      The remaining axes of `a`, then those of `b`.

    Raises:
      ValueError: `axes` does not fit.

    Example:
      print(tf.Session().run(tf.tensordot([1, 2, 3], [4, 5, 6], axes=1)))
      #> 32
    """
    with get_default_graph().name_scope(name or "Tensordot") as scope:
        a = convert_to_tensor(a, name="a")
        b = convert_to_tensor(b, name="b", dtype=None if hasattr(b, "dtype") else a.dtype)
        if a.dims is None or b.dims is None or hasattr(axes, "_as_graph_element"):
            return _tensordot_of_any_rank(a, b, axes, scope)
        a_axes, b_axes = _axes(axes, len(a.dims), len(b.dims))
        for i, j in zip(a_axes, b_axes):
            if None not in (a.dims[i], b.dims[j]) and a.dims[i] != b.dims[j]:
                raise ShapeError(f"Dimensions must be equal, but are {a.dims[i]} and {b.dims[j]}: axis {i} of a, "
                                 f"{spec_text(a)}, and axis {j} of b, {spec_text(b)}")
        rows, a_free = _as_matrix(a, a_axes, last=True)
        columns, b_free = _as_matrix(b, b_axes, last=False)
        product = matmul(rows, columns)
        free = tuple(a.dims[i] for i in a_free) + tuple(b.dims[i] for i in b_free)
        if fully_known(free):
            return array.reshape(product, np.array(free, np.int32), name=scope)
        shape = array.concat([_sizes(a, a_free), _sizes(b, b_free)], 0)
        result = array.reshape(product, shape, name=scope)
        result.set_shape(free)
        return result


def _tensordot_of_any_rank(a, b, axes, scope):
    """`tensordot` of tensors whose ranks a run tells: the order of their axes is computed too."""
    def as_matrix(x, contracted, last):
        sizes = array.shape(x)
        free, _ = setdiff1d(range_(array.rank(x)), contracted)
        x = array.transpose(x, array.concat([free, contracted] if last else [contracted, free], 0))
        inner, outer = reduce_prod(gather(sizes, contracted)), reduce_prod(gather(sizes, free))
        return array.reshape(x, [outer, inner] if last else [inner, outer]), gather(sizes, free)

    ranks = array.rank(a), array.rank(b)
    pair = axes if hasattr(axes, "_as_graph_element") else _axes_pair(axes)
    if pair is axes:  # a tensor [2, n], as TF takes it
        a_axes, b_axes = (where_v2(axes[i] < 0, axes[i] + r, axes[i]) for i, r in enumerate(ranks))
    elif pair is None:
        n = int(np.asarray(axes))
        a_axes, b_axes = range_(ranks[0] - n, ranks[0]), range_(n)
    else:
        a_axes, b_axes = (convert_to_tensor([i if i >= 0 else i + r for i in v], dtype=dtypes.int32)
                          for v, r in zip(pair, ranks))
    rows, a_free = as_matrix(a, a_axes, last=True)
    columns, b_free = as_matrix(b, b_axes, last=False)
    return array.reshape(matmul(rows, columns), array.concat([a_free, b_free], 0), name=scope)


def _axes_pair(axes):
    """Returns two lists of axes of equal length, or None for an int, which needs no more checking than its sign."""
    axes = getattr(axes, "tolist", lambda: axes)()
    if isinstance(axes, int):
        if axes < 0:
            raise ValueError("'axes' must be at least 0.")
        return None
    if not isinstance(axes, (list, tuple)) or len(axes) != 2:
        raise ValueError("'axes' must be an integer or have length 2.")
    first, second = ([v] if isinstance(v, int) else list(v) for v in axes)
    if len(first) != len(second):
        raise ValueError(f"Different number of contraction axes 'a' and 'b', {len(first)} != {len(second)}.")
    return [int(i) for i in first], [int(i) for i in second]


def _axes(axes, a_rank, b_rank):
    pair = _axes_pair(axes)
    if pair is None:
        n = int(np.asarray(axes))
        if n > min(a_rank, b_rank):
            raise ValueError(f"'axes' must not be larger than the number of dimensions of tensors: {n}")
        return list(range(a_rank - n, a_rank)), list(range(n))
    return [array.axis_in(i, a_rank) for i in pair[0]], [array.axis_in(i, b_rank) for i in pair[1]]


def _sizes(x, axes):
    """Returns the sizes of some axes as an int32 vector."""
    if not axes:
        return convert_to_tensor(np.zeros(0, np.int32))
    shape = array.shape(x)
    return array.stack([shape[i] if x.dims[i] is None else x.dims[i] for i in axes])


def _as_matrix(x, contracted, last):
    """Returns `x` as a matrix whose last (or first) axis is all of `contracted`, and the other axes."""
    free = [i for i in range(len(x.dims)) if i not in contracted]
    order = free + contracted if last else contracted + free
    if order != list(range(len(x.dims))):
        x = array.transpose(x, order)
    inner, outer = (size_of(tuple(x.dims[order.index(i)] for i in part)) for part in (contracted, free))
    positions = [order.index(i) for i in contracted]
    if inner is None:
        inner = cast(reduce_prod(_sizes(x, positions)), dtypes.int32) if outer is None else -1
    if outer is None:
        outer = -1
    return array.reshape(x, [outer, inner] if last else [inner, outer]), free
