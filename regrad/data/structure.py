"""Structures of elements: tuples, namedtuples and dicts (by sorted key). A list is a tensor, so it is a leaf."""


def is_nested(structure):
    return isinstance(structure, (tuple, dict))


def leaves(structure):
    """Returns the leaves of a structure as a list."""
    return leaves_up_to(structure, structure)


def leaves_up_to(shallow, structure, what="structure"):
    """Returns the parts of `structure` that stand where `shallow` has leaves.

    Raises:
      TypeError, ValueError: `structure` does not nest as `shallow` does.
    """
    if isinstance(shallow, dict):
        if not isinstance(structure, dict):
            raise TypeError(f"{what} must be a dict with the keys {sorted(shallow)}, got {structure!r}.")
        if sorted(structure) != sorted(shallow):
            raise ValueError(f"{what} must have the keys {sorted(shallow)}, got {sorted(structure)}.")
        return [leaf for k in sorted(shallow) for leaf in leaves_up_to(shallow[k], structure[k], what)]
    if isinstance(shallow, tuple):
        if not isinstance(structure, (tuple, list)):
            raise TypeError(f"{what} must be a tuple of {len(shallow)}, got {structure!r}.")
        if len(structure) != len(shallow):
            raise ValueError(f"{what} must be a tuple of {len(shallow)}, got one of {len(structure)}.")
        return [leaf for a, b in zip(shallow, structure) for leaf in leaves_up_to(a, b, what)]
    return [structure]


def packed(structure, values):
    """Returns a structure like `structure` with other leaves."""
    return _packed(structure, iter(values))


def _packed(structure, values):
    if isinstance(structure, dict):
        made = {k: _packed(structure[k], values) for k in sorted(structure)}
        return type(structure)((k, made[k]) for k in structure)
    if hasattr(structure, "_fields"):
        return type(structure)(*(_packed(s, values) for s in structure))
    if isinstance(structure, tuple):
        return tuple(_packed(s, values) for s in structure)
    return next(values)
