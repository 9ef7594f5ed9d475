"""Nested structures: lists, tuples, dicts (by sorted key), namedtuples; everything else is a leaf."""


def is_sequence(seq):
    """True for lists, tuples, namedtuples and dicts."""
    return isinstance(seq, (list, tuple, dict))


is_nested = is_sequence


def flatten(structure, expand_composites=False):
    """Returns the leaves of a structure as a list; a leaf alone gives a list of one."""
    if isinstance(structure, dict):
        return [leaf for k in sorted(structure) for leaf in flatten(structure[k])]
    if isinstance(structure, (list, tuple)):
        return [leaf for item in structure for leaf in flatten(item)]
    return [structure]


def pack_sequence_as(structure, flat_sequence, expand_composites=False):
    """Returns a structure like `structure` with the leaves `flat_sequence`; ValueError when their numbers differ."""
    if not is_sequence(flat_sequence) and not hasattr(flat_sequence, "__next__"):
        raise TypeError(f"flat_sequence must be a sequence, got {type(flat_sequence).__name__}.")
    leaves = list(flat_sequence)
    if not is_sequence(structure) and len(leaves) != 1:
        raise ValueError(f"Structure is a scalar but len(flat_sequence) == {len(leaves)} > 1")
    expected = len(flatten(structure))
    if len(leaves) != expected:
        raise ValueError(f"Could not pack sequence. Structure had {expected} elements, but flat_sequence had {len(leaves)} "
                         f"elements.  Structure: {structure}, flat_sequence: {leaves}.")
    return _pack(structure, iter(leaves))


def _pack(structure, leaves):
    if isinstance(structure, dict):
        packed = {k: _pack(structure[k], leaves) for k in sorted(structure)}
        return type(structure)((k, packed[k]) for k in structure)
    if hasattr(structure, "_fields"):
        return type(structure)(*(_pack(item, leaves) for item in structure))
    if isinstance(structure, (list, tuple)):
        return type(structure)(_pack(item, leaves) for item in structure)
    return next(leaves)


def map_structure(func, *structures, check_types=True, expand_composites=False):
    """Returns the structure of `func` applied to corresponding leaves of `structures`."""
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if not structures:
        raise ValueError("Must provide at least one structure")
    for other in structures[1:]:
        assert_same_structure(structures[0], other, check_types=check_types)
    return pack_sequence_as(structures[0], [func(*leaves) for leaves in zip(*(flatten(s) for s in structures))])


# -- paths, and structures that go less deep ------------------------------------------------------------
def _items(structure):
    """Returns [(key, item)] of a structure, in the order of its leaves."""
    if isinstance(structure, dict):
        return [(k, structure[k]) for k in sorted(structure)]
    if hasattr(structure, "_fields"):
        return list(zip(structure._fields, structure))
    return list(enumerate(structure))


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
    if isinstance(shallow_tree, dict) and set(shallow_tree) != set(input_tree):
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
    if isinstance(structure, dict):
        found = dict(zip(sorted(structure), inner))
        return type(structure)((k, found[k]) for k in structure)
    return type(structure)(*inner) if hasattr(structure, "_fields") else type(structure)(inner)


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
        _same(nest1, nest2, check_types)
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


def _same(a, b, check_types):
    if is_sequence(a) != is_sequence(b):
        first, second = (a, b) if is_sequence(a) else (b, a)
        raise ValueError(f'Substructure "{_shown(first)}" is a sequence, while substructure "{_shown(second)}" is not')
    if not is_sequence(a):
        return
    if check_types and type(a) is not type(b) and not (hasattr(a, "_fields") and type(a).__name__ == type(b).__name__):
        raise TypeError(f"The two structures don't have the same sequence type. First has type {type(a)}, second has type "
                        f"{type(b)}.")
    if len(a) != len(b):
        raise ValueError("The two structures don't have the same number of elements. "
                         f"First structure: {_shown(a)}. Second structure: {_shown(b)}")
    if isinstance(a, dict) and set(a) != set(b):
        raise ValueError(f"The two dictionaries don't have the same set of keys. First structure has keys {list(a)}, while "
                         f"second structure has keys {list(b)}")
    pairs = [(a[k], b[k]) for k in sorted(a)] if isinstance(a, dict) else zip(a, b)
    for x, y in pairs:
        _same(x, y, check_types)
