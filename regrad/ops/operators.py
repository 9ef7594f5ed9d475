"""Python's operators on tensors and variables: one table, installed when this module is imported.

`==` and `!=` compare identity, as in TensorFlow 1, so that tensors may be keys of dictionaries; `tf.equal`
compares values. Names of the ops are TF1's: `x * y` is named "mul", `x < y` "Less".
"""

from regrad.core.convert import convert_to_tensor
from regrad.core.graph import get_default_graph
from regrad.core.indexed_slices import IndexedSlices
from regrad.core.opdef import find_op
from regrad.core.operation import Tensor
from regrad.ops import compare, indexing, math, matmul


def _binary(name, function):
    """A pair of methods for `x <op> y` and `y <op> x`."""

    def method(x, y):
        if type(y) is not Tensor and name in getattr(type(y), "_reflected", ()):
            return NotImplemented  # the operator of slices and sparse tensors, which may keep them sparse
        return function(x, y, name=name)

    def reflected(y, x):
        return function(x, y, name=name)

    return method, reflected


def _logical(name, bool_function, bitwise_type):
    """`&`, `|`, `^`: logical on bool, bit by bit on integers."""

    def function(x, y, name):
        with get_default_graph().name_scope(name) as scope:
            dtype = (x if hasattr(x, "_as_graph_element") else y).dtype
            chosen = find_op(bitwise_type) if dtype.is_integer else bool_function
            return chosen(x, y, name=scope)

    return _binary(name, function)


def _invert(x):
    return find_op("Invert")(x) if x.dtype.is_integer else compare.logical_not(x)


BINARY = {
    "add": _binary("add", math.add_op),
    "sub": _binary("sub", math.sub_op),
    "mul": _binary("mul", math.mul_op),
    "truediv": _binary("truediv", math.truediv),
    "div": _binary("div", math.div),
    "floordiv": _binary("floordiv", math.floordiv_op),
    "mod": _binary("mod", math.floormod_op),
    "pow": _binary("pow", math.pow_op),
    "matmul": _binary("matmul", matmul.matmul),
    "and": _logical("and", compare.logical_and, "BitwiseAnd"),
    "or": _logical("or", compare.logical_or, "BitwiseOr"),
    "xor": _logical("xor", compare.logical_xor, "BitwiseXor"),
}
OPERATORS = {
    "__neg__": lambda x: math.neg_op(x),
    "__abs__": lambda x: math.abs(x),
    "__invert__": _invert,
    "__lt__": lambda x, y: compare.less_op(x, y),
    "__le__": lambda x, y: compare.lessequal_op(x, y),
    "__gt__": lambda x, y: compare.greater_op(x, y),
    "__ge__": lambda x, y: compare.greaterequal_op(x, y),
    "__getitem__": indexing.getitem,
}
for _name, (_method, _reflected) in BINARY.items():
    OPERATORS[f"__{_name}__"] = _method
    OPERATORS[f"__r{_name}__"] = _reflected

for _name, _method in OPERATORS.items():
    _method.__name__ = _name
    setattr(Tensor, _name, _method)
Tensor.OVERLOADABLE_OPERATORS = set(OPERATORS)


def overload_all(cls, as_tensor):
    """Gives the instances of `cls` all operators of a tensor, each applied to `as_tensor(instance)`.

    A slice of an instance that has storage of its own (`_ref`) can be assigned to: `v[1:3].assign(value)`.
    """
    for name, method in OPERATORS.items():
        setattr(cls, name, _through(name, method, as_tensor))
    if hasattr(cls, "_ref"):
        cls.__getitem__ = lambda self, key: indexing.getitem(as_tensor(self), key, var=self)


def _through(name, method, as_tensor):
    def operator(self, *args):
        return method(as_tensor(self), *args)

    operator.__name__ = name
    return operator


# -- IndexedSlices: scaling keeps the rows sparse, everything else makes the tensor dense
# ----------------------
def _is_scalar(y):
    return getattr(convert_to_tensor(y) if isinstance(y, (int, float, complex)) else y, "shape", None) == ()


def _scaled(function, name):
    def method(slices, y):
        if not isinstance(y, IndexedSlices) and _is_scalar(y):
            return IndexedSlices(function(slices.values, y, name=name), slices.indices, slices.dense_shape)
        return function(convert_to_tensor(slices), _dense(y), name=name)

    return method


def _densified(function, name, swap=False):
    def method(slices, y):
        x, y = convert_to_tensor(slices), _dense(y)
        return function(y, x, name=name) if swap else function(x, y, name=name)

    return method


def _dense(y):
    return convert_to_tensor(y) if isinstance(y, IndexedSlices) else y


for _name, _method in (
    ("mul", _scaled(math.mul_op, "mul")),
    ("rmul", _scaled(math.mul_op, "mul")),
    ("truediv", _scaled(math.truediv, "truediv")),
    ("rtruediv", _densified(math.truediv, "truediv", swap=True)),
    ("add", _densified(math.add_op, "add")),
    ("radd", _densified(math.add_op, "add")),
    ("sub", _densified(math.sub_op, "sub")),
    ("rsub", _densified(math.sub_op, "sub", swap=True)),
):
    setattr(IndexedSlices, f"__{_name}__", _method)
