"""Static shapes.

Inside Regrad a shape is *dims*: a tuple of ints and Nones (None: size unknown), or None when even the rank is
unknown. `TensorShape` and `Dimension` are the public, TF1-like faces of the same thing.
"""

import operator

from regrad.core.errors import ShapeError

# -- dims: plain tuples ---------------------------------------------------------------


def as_dims(shape):
    """Returns dims for anything that names a shape: TensorShape, list, tuple, int, None, array."""
    if shape is None:
        return None
    if isinstance(shape, TensorShape):
        return shape.dims_
    if isinstance(shape, (list, tuple)):
        return tuple(_as_dim(d) for d in shape)
    if isinstance(shape, Dimension):
        return (shape.value,)
    if hasattr(shape, "__index__") and getattr(shape, "shape", ()) == ():
        return (_as_dim(shape),)
    if hasattr(shape, "dim"):  # a TensorShapeProto
        if getattr(shape, "unknown_rank", False):
            return None
        return tuple(None if d.size == -1 else int(d.size) for d in shape.dim)
    if isinstance(shape, float):
        return (_as_dim(shape),)
    return tuple(_as_dim(d) for d in shape)


def _as_dim(d):
    if d is None:
        return None
    if isinstance(d, Dimension):
        return d.value
    if isinstance(d, float) and d == int(d):
        d = int(d)
    try:
        d = operator.index(d)
    except TypeError:
        hint = (" A static shape consists of numbers; tf.zeros, tf.reshape and tf.fill take sizes that are tensors."
                if hasattr(d, "_as_graph_element") else "")
        raise TypeError(f"Dimension value must be an int or None, got {d!r} of type {type(d).__name__}.{hint}") from None
    if d < 0:
        # TF writes -1 for an unknown size in serialised shapes; in programs it is a mistake.
        raise ShapeError(f"Dimension {d} must be >= 0; None stands for a size that is not known.")
    return d


def as_int(value, what):
    """Returns `value` as an int; TypeError, which says that `what` must be one, for what is no number."""
    if not isinstance(value, (str, bytes)):
        try:
            number = int(value)
        except (TypeError, ValueError):
            number = None
        if number is not None and number == value:
            return number
    raise TypeError(f"{what} must be an integer, got {value!r}.")


def fully_known(dims):
    return dims is not None and None not in dims


def size_of(dims):
    """Returns the number of elements, or None when not fully known."""
    if dims is None:
        return None
    n = 1
    for d in dims:
        if d is None:
            return None
        n *= d
    return n


def compatible(a, b):
    """True when some shape fits both."""
    if a is None or b is None:
        return True
    return len(a) == len(b) and all(x is None or y is None or x == y for x, y in zip(a, b))


def merge(a, b, what="shapes"):
    """Returns the most specific dims that fit both `a` and `b`; ShapeError if none does."""
    if a is None or a == b:
        return b
    if b is None:
        return a
    if len(a) != len(b):
        raise ShapeError(f"{what} {text(a)} and {text(b)} are incompatible: Shapes must be equal rank, but are {len(a)} and "
                         f"{len(b)}.")
    for i, (x, y) in enumerate(zip(a, b)):
        if x != y and x is not None and y is not None:
            raise ShapeError(f"{what} {text(a)} and {text(b)} are incompatible: Dimension {i} in both shapes must be equal, "
                             f"but are {x} and {y}.")
    return tuple(y if x is None else x for x, y in zip(a, b))


def broadcast(a, b, what=""):
    """Returns dims of the NumPy broadcast of `a` and `b`.

    Raises:
      ShapeError: two known sizes differ and neither is 1.
    """
    if a == b and a is not None and None not in a:
        return a
    if a is None or b is None:
        return None
    if len(a) < len(b):
        a = (1,) * (len(b) - len(a)) + a
    elif len(b) < len(a):
        b = (1,) * (len(a) - len(b)) + b
    out = []
    for x, y in zip(a, b):
        if x == y:
            out.append(x)
        elif x == 1:
            out.append(y)
        elif y == 1:
            out.append(x)
        elif x is None:
            out.append(y)
        elif y is None:
            out.append(x)
        else:
            raise ShapeError(f"Dimensions must be equal, but are {x} and {y}{what and ' for ' + what} with input shapes: "
                             f"{text(a)}, {text(b)}. Incompatible shapes: {text(a)} vs. {text(b)}; sizes are equal, or one "
                             "is 1, to broadcast.")
    return tuple(out)


def text(dims):
    """Returns dims as TF prints them: "[2,?,3]", "<unknown>"."""
    if dims is None:
        return "<unknown>"
    return "[" + ",".join("?" if d is None else str(d) for d in dims) + "]"


# -- the public classes ---------------------------------------------------------------


class Dimension:
    """The size of one axis: `value` is an int, or None when unknown. Arithmetic with unknown is unknown."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = _as_dim(value)

    def __int__(self):
        if self.value is None:
            raise TypeError("An unknown Dimension has no int value; use tf.shape(x)[i] for the size at run time.")
        return self.value

    __index__ = __int__

    def __repr__(self):
        return f"Dimension({self.value})"

    def __str__(self):
        return "?" if self.value is None else str(self.value)

    def __hash__(self):
        return hash(self.value)

    def __eq__(self, other):
        try:
            other = as_dimension(other)
        except (TypeError, ValueError):
            return NotImplemented
        if self.value is None or other.value is None:
            return None
        return self.value == other.value

    def __ne__(self, other):
        same = self.__eq__(other)
        return same if same is NotImplemented or same is None else not same

    def is_compatible_with(self, other):
        """Returns whether this and `other` may be one size: where both are known they agree."""
        other = as_dimension(other)
        return self.value is None or other.value is None or self.value == other.value

    def assert_is_compatible_with(self, other):
        """Raises ValueError unless this and `other` may be one size."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {as_dimension(other)} are not compatible")

    def merge_with(self, other):
        """Returns what is known by this size and `other` together; ValueError where they differ."""
        other = as_dimension(other)
        self.assert_is_compatible_with(other)
        return Dimension(other.value if self.value is None else self.value)


def _arithmetic(op):
    def method(self, other):
        other = as_dimension(other)
        if self.value is None or other.value is None:
            return Dimension(None)
        return Dimension(op(self.value, other.value))

    def reflected(self, other):
        return method(as_dimension(other), self)

    return method, reflected


def _comparison(op):
    def method(self, other):
        other = as_dimension(other)
        return None if self.value is None or other.value is None else op(self.value, other.value)

    return method


for _name, _op in (("add", operator.add), ("sub", operator.sub), ("mul", operator.mul), ("mod", operator.mod),
                   ("floordiv", operator.floordiv)):
    _m, _r = _arithmetic(_op)
    setattr(Dimension, f"__{_name}__", _m)
    setattr(Dimension, f"__r{_name}__", _r)
Dimension.__div__ = Dimension.__floordiv__  # type: ignore[attr-defined, operator]
for _name in ("lt", "le", "gt", "ge"):
    setattr(Dimension, f"__{_name}__", _comparison(getattr(operator, _name)))


def as_dimension(value):
    """Returns `value` (Dimension, int or None) as a Dimension."""
    return value if isinstance(value, Dimension) else Dimension(value)


class TensorShape:
    """A static shape: known, with some sizes unknown, or of unknown rank.

    `TensorShape([2, None])`, `TensorShape(None)`. Indexing gives `Dimension`s (after `tf.enable_v2_tensorshape()` ints and
    None), slicing gives TensorShapes.

    Example:
      shape = tf.TensorShape([None, 3])
      print(shape, shape.ndims, shape.is_compatible_with([5, 3]))
      #> (?, 3) 2 True
    """

    __slots__ = ("dims_",)
    _plain = False  # whether a size is an int, as in version 2

    def __init__(self, dims):
        self.dims_ = as_dims(dims)

    @classmethod
    def _of(cls, dims):
        self = object.__new__(cls)
        self.dims_ = dims
        return self

    @property
    def dims(self):
        """A list of Dimensions; None when the rank is unknown."""
        return None if self.dims_ is None else [Dimension(d) for d in self.dims_]

    _dims = property(lambda self: self.dims)  # by its name in TensorFlow 1

    @property
    def ndims(self):
        """The number of axes, or None."""
        return None if self.dims_ is None else len(self.dims_)

    rank = ndims

    def as_list(self):
        """Returns sizes as ints and Nones; ValueError when the rank is unknown."""
        if self.dims_ is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape. x.set_shape(shape) says what is known; "
                             "tf.shape(x) is the shape at run time.")
        return list(self.dims_)

    def num_elements(self):
        """Returns the product of the sizes, or None when one is unknown."""
        return size_of(self.dims_)

    def is_fully_defined(self):
        """Returns whether all sizes are known."""
        return fully_known(self.dims_)

    def assert_is_fully_defined(self):
        """Raises ValueError unless all sizes are known."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def is_compatible_with(self, other):
        """Returns whether this and `other` may be one shape: where both are known they agree."""
        return compatible(self.dims_, as_dims(other))

    def assert_is_compatible_with(self, other):
        """Raises ValueError unless this and `other` may be one shape."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {TensorShape(other)} are incompatible")

    def assert_same_rank(self, other):
        """Raises ValueError if both ranks are known and differ."""
        other = TensorShape(other)
        if None not in (self.ndims, other.ndims) and self.ndims != other.ndims:
            raise ValueError(f"Shapes {self} and {other} must have the same rank")

    def assert_has_rank(self, rank):
        """Raises ValueError if the rank is known to be another one."""
        if self.ndims not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")

    def with_rank(self, rank):
        """Returns the shape, of `rank` unknown sizes where it was unknown; ValueError if its rank is another one."""
        try:
            return self.merge_with(TensorShape._of((None,) * rank))
        except ValueError:
            raise ValueError(f"Shape {self} must have rank {rank}") from None

    def with_rank_at_least(self, rank):
        """Returns the shape; ValueError if it is known to have fewer axes."""
        if self.ndims is not None and self.ndims < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank):
        """Returns the shape; ValueError if it is known to have more axes."""
        if self.ndims is not None and self.ndims > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def merge_with(self, other):
        """Returns what is known by this shape and `other` together; ValueError where they differ."""
        other = as_dims(other)
        if not compatible(self.dims_, other):
            raise ValueError(f"Shapes {self} and {TensorShape._of(other)} are not compatible")
        return TensorShape._of(merge(self.dims_, other))

    def concatenate(self, other):
        """Returns the shape with the axes of `other` behind its own."""
        other = as_dims(other)
        if self.dims_ is None or other is None:
            return unknown_shape()
        return TensorShape._of(self.dims_ + other)

    def most_specific_compatible_shape(self, other):
        """Returns the shape of which both are: the sizes that they have in common, None for the others."""
        other = as_dims(other)
        if self.dims_ is None or other is None or len(self.dims_) != len(other):
            return unknown_shape()
        return TensorShape._of(tuple(x if x == y else None for x, y in zip(self.dims_, other)))

    def as_proto(self):
        """Returns the shape as a TensorShapeProto: -1 for an unknown size."""
        from regrad.core.messages import TensorShapeProto

        if self.dims_ is None:
            return TensorShapeProto(unknown_rank=True)
        return TensorShapeProto(dim=[TensorShapeProto.Dim(size=-1 if d is None else d) for d in self.dims_])

    def __iter__(self):
        if self.dims_ is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return iter(self.dims_ if TensorShape._plain else self.dims)

    def __len__(self):
        if self.dims_ is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self.dims_)

    def __bool__(self):
        return self.dims_ is not None

    def __getitem__(self, key):
        if isinstance(key, slice):
            if self.dims_ is None:
                # Only a prefix of known length says anything about an unknown rank.
                start, stop = key.start or 0, key.stop
                if stop is None or start < 0 or stop < 0 or (key.step or 1) != 1:
                    return unknown_shape()
                return TensorShape._of((None,) * max(stop - start, 0))
            return TensorShape._of(self.dims_[key])
        try:
            size = None if self.dims_ is None else self.dims_[key]
        except IndexError:
            raise IndexError(f"Shape {self} has {len(self.dims_)} dimensions; there is none at index {key}.") from None
        return size if TensorShape._plain else Dimension(size)

    def __eq__(self, other):
        try:
            return self.dims_ == as_dims(other)
        except (TypeError, ValueError):
            return NotImplemented

    def __hash__(self):
        return hash(self.dims_)

    def __add__(self, other):
        return self.concatenate(other)

    def __radd__(self, other):
        return TensorShape(other).concatenate(self)

    def __repr__(self):
        return f"TensorShape({None if self.dims_ is None else self.dims})"

    def __str__(self):
        if self.dims_ is None:
            return "<unknown>"
        if len(self.dims_) == 1:
            return f"({self._part(0)},)"
        return "(" + ", ".join(self._part(i) for i in range(len(self.dims_))) + ")"

    def _part(self, i):
        return "?" if self.dims_[i] is None else str(self.dims_[i])


def dimension_value(dimension):
    """Returns the int of a Dimension, None for an unknown one; an int or None as it is."""
    return dimension.value if isinstance(dimension, Dimension) else dimension


def dimension_at_index(shape, index):
    """Returns the Dimension at `index`, an unknown one if the rank is unknown."""
    return Dimension(None) if shape.ndims is None else shape.dims[index]


def as_shape(shape):
    """Returns `shape` as a TensorShape."""
    return shape if isinstance(shape, TensorShape) else TensorShape(shape)


def unknown_shape(ndims=None):
    """Returns a shape of unknown rank, or of rank `ndims` with unknown sizes."""
    return TensorShape._of(None if ndims is None else (None,) * ndims)


def scalar():
    return TensorShape._of(())


def vector(length):
    return TensorShape([length])


def matrix(rows, cols):
    return TensorShape([rows, cols])
