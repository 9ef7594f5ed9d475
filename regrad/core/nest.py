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
    leaves = list(flat_sequence)
    expected = len(flatten(structure))
    if len(leaves) != expected:
        raise ValueError(f"Structure had {expected} elements, but flat_sequence had {len(leaves)} elements.")
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


def map_structure(func, *structures):
    """Returns the structure of `func` applied to corresponding leaves of `structures`."""
    for other in structures[1:]:
        assert_same_structure(structures[0], other)
    return pack_sequence_as(structures[0], [func(*leaves) for leaves in zip(*(flatten(s) for s in structures))])


def assert_same_structure(nest1, nest2, check_types=True, expand_composites=False):
    """Raises ValueError (or TypeError for types) unless both structures nest in the same way."""
    _same(nest1, nest2, check_types, nest1, nest2)


def _same(a, b, check_types, whole_a, whole_b):
    if is_sequence(a) != is_sequence(b):
        raise ValueError(f"The two structures don't have the same nested structure.\n\nFirst structure: {whole_a}\n\n"
                         f"Second structure: {whole_b}")
    if not is_sequence(a):
        return
    if check_types and type(a) is not type(b) and not (hasattr(a, "_fields") and type(a).__name__ == type(b).__name__):
        raise TypeError(f"The two structures don't have the same sequence type. First has type {type(a)}, second has type "
                        f"{type(b)}.")
    if len(a) != len(b) or isinstance(a, dict) and sorted(a) != sorted(b):
        raise ValueError(f"The two structures don't have the same number of elements.\n\nFirst structure: {whole_a}\n\n"
                         f"Second structure: {whole_b}")
    pairs = [(a[k], b[k]) for k in sorted(a)] if isinstance(a, dict) else zip(a, b)
    for x, y in pairs:
        _same(x, y, check_types, whole_a, whole_b)
