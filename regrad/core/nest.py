"""Nested structures: lists, tuples, mappings (by sorted key), namedtuples, attrs classes; everything else is a leaf.

With `expand_composites`, sparse tensors and slices are no leaves, but made of their tensors.
"""

from collections import defaultdict
from collections.abc import Mapping

_SPARSE = ("indices", "values", "dense_shape")


def is_sequence(seq):
    """True for lists, tuples, namedtuples, mappings and objects of classes that `attrs` made."""
    return isinstance(seq, (list, tuple, Mapping)) or hasattr(type(seq), "__attrs_attrs__")


is_nested = is_sequence


def is_sequence_or_composite(seq):
    """True for what `is_sequence` holds of, and for sparse tensors and slices."""
    return is_sequence(seq) or _is_composite(seq)


def _is_composite(x):
    return getattr(x, "is_tensor_like", False) is True and all(hasattr(x, part) for part in _SPARSE)


def _parts(x):
    """Returns {name: tensor} of a sparse tensor or slices, in the order of what makes one."""
    names = _SPARSE if hasattr(x, "from_value") else ("values", "indices", "dense_shape")
    return {name: getattr(x, name) for name in names if getattr(x, name) is not None}


def _ordered(mapping):
    try:
        return sorted(mapping)
    except TypeError:
        raise TypeError(f"nest only supports dicts with sortable keys, got {list(mapping)}.") from None


def flatten(structure, expand_composites=False):
    """Returns the leaves of a structure as a list; a leaf alone gives a list of one."""
    if isinstance(structure, (list, tuple)):
        return [leaf for item in structure for leaf in flatten(item, expand_composites)]
    if is_sequence(structure) or expand_composites and _is_composite(structure):
        return [leaf for _, item in _items(structure) for leaf in flatten(item, expand_composites)]
    return [structure]


def pack_sequence_as(structure, flat_sequence, expand_composites=False):
    """Returns a structure like `structure` with the leaves `flat_sequence`; ValueError when their numbers differ."""
    if not is_sequence(flat_sequence) and not hasattr(flat_sequence, "__next__"):
        raise TypeError(f"flat_sequence must be a sequence, got {type(flat_sequence).__name__}.")
    leaves = list(flat_sequence)
    if not (is_sequence(structure) or expand_composites and _is_composite(structure)) and len(leaves) != 1:
        raise ValueError(f"Structure is a scalar but len(flat_sequence) == {len(leaves)} > 1")
    expected = len(flatten(structure, expand_composites))
    if len(leaves) != expected:
        raise ValueError(f"Could not pack sequence. Structure had {expected} elements, but flat_sequence had {len(leaves)} "
                         f"elements.  Structure: {structure}, flat_sequence: {leaves}.")
    return _pack(structure, iter(leaves), expand_composites)


def _pack(structure, leaves, expand=False):
    if isinstance(structure, (list, tuple)) and not hasattr(structure, "_fields"):
        return type(structure)(_pack(item, leaves, expand) for item in structure)
    if is_sequence(structure) or expand and _is_composite(structure):
        return _like(structure, [_pack(item, leaves, expand) for _, item in _items(structure)])
    return next(leaves)


def _like(structure, items):
    """Returns a structure of the kind of `structure` of new items, which are in the order of `_items`."""
    kind = type(structure)
    if isinstance(structure, Mapping):
        packed = dict(zip(_ordered(structure), items))
        pairs = [(k, packed[k]) for k in structure]
        return kind(structure.default_factory, pairs) if isinstance(structure, defaultdict) else kind(pairs)
    if _is_composite(structure):
        return kind(**dict(zip(_parts(structure), items)))
    return kind(items) if kind in (list, tuple) or not hasattr(structure, "_fields") and isinstance(
        structure, (list, tuple)) else kind(*items)


def map_structure(func, *structures, **kwargs):
    """Returns the structure of `func` applied to corresponding leaves of `structures`.

    Args: check_types: whether sequences must be of one type; expand_composites: whether sparse tensors are no leaves.
    """
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if not structures:
        raise ValueError("Must provide at least one structure")
    unknown = kwargs.keys() - {"check_types", "expand_composites"}
    if unknown:
        raise ValueError(f"Only valid keyword arguments are `check_types` and `expand_composites`, not: {sorted(unknown)}")
    expand = kwargs.get("expand_composites", False)
    for other in structures[1:]:
        assert_same_structure(structures[0], other, kwargs.get("check_types", True), expand)
    rows = zip(*(flatten(s, expand) for s in structures))
    return pack_sequence_as(structures[0], [func(*leaves) for leaves in rows], expand)


# -- paths, and structures that go less deep ------------------------------------------------------------
def _items(structure):
    """Returns [(key, item)] of a structure, in the order of its leaves."""
    if isinstance(structure, Mapping):
        return [(k, structure[k]) for k in _ordered(structure)]
    if hasattr(structure, "_fields"):
        return list(zip(structure._fields, structure))
    if isinstance(structure, (list, tuple)):
        return list(enumerate(structure))
    fields = getattr(type(structure), "__attrs_attrs__", None)
    if fields is not None:
        return [(f.name, getattr(structure, f.name)) for f in fields]
    return list(_parts(structure).items())


def flatten_with_tuple_paths(structure, expand_composites=False):
    """Returns [(path, leaf)], a path being the tuple of keys, names and positions that lead to the leaf."""
    if not is_sequence(structure):
        return [((), structure)]
    return [((key, *path), leaf) for key, item in _items(structure) for path, leaf in flatten_with_tuple_paths(item)]


def flatten_with_joined_string_paths(structure, separator="/", expand_composites=False):
    """Returns [(path, leaf)], a path being the keys, names and positions that lead to the leaf, joined."""
    return [(separator.join(map(str, path)), leaf) for path, leaf in flatten_with_tuple_paths(structure)]


def yield_flattened_paths(nest, expand_composites=False):
    """Yields the path of each leaf, as a tuple."""
    return (path for path, _ in flatten_with_tuple_paths(nest))


def map_structure_with_tuple_paths(func, *structures, check_types=True, expand_composites=False):
    """Returns the structure of `func(path, *leaves)`, with paths as tuples."""
    for other in structures[1:]:
        assert_same_structure(structures[0], other, check_types=check_types)
    rows = zip(yield_flattened_paths(structures[0]), *map(flatten, structures))
    return pack_sequence_as(structures[0], [func(*row) for row in rows])


def map_structure_with_paths(func, *structures, check_types=True, expand_composites=False):
    """Returns the structure of `func(path, *leaves)`, with paths as joined text."""
    paths = [path for path, _ in flatten_with_joined_string_paths(structures[0])]
    return map_structure(func, pack_sequence_as(structures[0], paths), *structures, check_types=check_types)


def assert_shallow_structure(shallow_tree, input_tree, check_types=True, expand_composites=False):
    """Raises TypeError or ValueError unless `input_tree` nests as `shallow_tree` does, as deep as that goes."""
    if not is_sequence(shallow_tree):
        return
    if not is_sequence(input_tree):
        raise TypeError("If shallow structure is a sequence, input must also be a sequence. Input has type: "
                        f"{type(input_tree)}.")
    if check_types and not isinstance(input_tree, type(shallow_tree)) and not isinstance(shallow_tree, type(input_tree)):
        raise TypeError("The two structures don't have the same sequence type. Input structure has type "
                        f"{type(input_tree)}, while shallow structure has type {type(shallow_tree)}.")
    if len(input_tree) != len(shallow_tree):
        raise ValueError("The two structures don't have the same sequence length. Input structure has length "
                         f"{len(input_tree)}, while shallow structure has length {len(shallow_tree)}.")
    if isinstance(shallow_tree, Mapping) and set(shallow_tree) != set(input_tree):
        raise ValueError(f"The two structures don't have the same keys. Input structure has keys {list(input_tree)}, while "
                         f"shallow structure has keys {list(shallow_tree)}.")
    for (_, shallow), (_, item) in zip(_items(shallow_tree), _items(input_tree)):
        assert_shallow_structure(shallow, item, check_types)


def flatten_up_to(shallow_tree, input_tree, check_types=True, expand_composites=False):
    """Returns what `input_tree` holds at the places of the leaves of `shallow_tree`."""
    assert_shallow_structure(shallow_tree, input_tree, check_types)
    if not is_sequence(shallow_tree):
        return [input_tree]
    return [found for (_, shallow), (_, item) in zip(_items(shallow_tree), _items(input_tree))
            for found in flatten_up_to(shallow, item, check_types)]


def map_structure_up_to(shallow_tree, func, *inputs, check_types=True, expand_composites=False):
    """Returns a structure like `shallow_tree` of `func` applied to what the inputs hold at the places of its leaves."""
    if not inputs:
        raise ValueError("Cannot map over no sequences")
    flat = [flatten_up_to(shallow_tree, tree, check_types) for tree in inputs]
    return pack_sequence_as(shallow_tree, [func(*items) for items in zip(*flat)])


def get_traverse_shallow_structure(traverse_fn, structure):
    """Returns a structure of booleans: True for leaves and False for what `traverse_fn` says not to look into."""
    if not is_sequence(structure):
        return bool(traverse_fn(structure))
    goes = traverse_fn(structure)
    if not is_sequence(goes):
        if not isinstance(goes, bool):
            raise TypeError(f"traverse_fn returned a non-boolean scalar: {goes} for input: {structure}")
        if not goes:
            return False
        inner = [get_traverse_shallow_structure(traverse_fn, item) for _, item in _items(structure)]
    else:
        assert_shallow_structure(structure, goes)
        inner = [get_traverse_shallow_structure(traverse_fn, item) if go else False
                 for (_, item), (_, go) in zip(_items(structure), _items(goes))]
    return _like(structure, inner)


def flatten_dict_items(dictionary):
    """Returns {key: value} of a dict whose keys and values are structures: {(1, 2): ("a", "b")} gives {1: "a", 2: "b"}."""
    if not isinstance(dictionary, dict):
        raise TypeError("input must be a dictionary")
    flat = {}
    for keys, values in dictionary.items():
        if not is_sequence(keys):
            pairs = [(keys, values)]
        else:
            pairs = list(zip(flatten(keys), flatten(values), strict=False))
            if len(flatten(keys)) != len(flatten(values)):
                raise ValueError(f"Could not flatten dictionary. Key had {len(flatten(keys))} elements, but value had "
                                 f"{len(flatten(values))} elements. Key: {keys}, value: {values}.")
        for k, v in pairs:
            if k in flat:
                raise ValueError(f"Could not flatten dictionary: key {k} is not unique.")
            flat[k] = v
    return flat


def assert_same_structure(nest1, nest2, check_types=True, expand_composites=False):
    """Raises ValueError (or TypeError for types) unless both structures nest in the same way."""
    try:
        _same(nest1, nest2, check_types, expand_composites)
    except (TypeError, ValueError) as error:
        raise type(error)(f"The two structures don't have the same nested structure.\n\nFirst structure: {_shown(nest1)}\n\n"
                          f"Second structure: {_shown(nest2)}\n\nMore specifically: {error}\nEntire first structure:\n"
                          f"{_dotted(nest1)}\nEntire second structure:\n{_dotted(nest2)}") from None


def _shown(structure):
    return f"type={type(structure).__name__} str={structure}"


def _dotted(structure):
    return str(map_structure(lambda _: _Dot(), structure))


class _Dot:
    """Stands for a leaf where only the nesting is shown."""

    def __repr__(self):
        return "."


def _same(a, b, check_types, expand):
    nested = is_sequence_or_composite if expand else is_sequence
    if nested(a) != nested(b):
        first, second = (a, b) if nested(a) else (b, a)
        raise ValueError(f'Substructure "{_shown(first)}" is a sequence, while substructure "{_shown(second)}" is not')
    if not nested(a):
        return
    # Types of mappings count as one, and namedtuples may be made twice.
    if check_types and type(a) is not type(b) and not (isinstance(a, Mapping) and isinstance(b, Mapping)) and not (
            hasattr(a, "_fields") and type(a).__name__ == type(b).__name__ and a._fields == getattr(b, "_fields", None)):
        raise TypeError(f"The two structures don't have the same sequence type. First has type {type(a)}, second has type "
                        f"{type(b)}.")
    ours, theirs = _items(a), _items(b)
    if len(ours) != len(theirs):
        raise ValueError("The two structures don't have the same number of elements. "
                         f"First structure: {_shown(a)}. Second structure: {_shown(b)}")
    if isinstance(a, Mapping) and isinstance(b, Mapping) and set(a) != set(b):
        raise ValueError(f"The two dictionaries don't have the same set of keys. First structure has keys {list(a)}, while "
                         f"second structure has keys {list(b)}")
    for (_, x), (_, y) in zip(ours, theirs):
        _same(x, y, check_types, expand)
