"""Keywords that nothing takes: the error that names the nearest one that is taken."""

import inspect

from regrad.core.errors import nearest


def parameters(function):
    """Returns the names that may be given as keywords; for a class those of each `__init__` that gets what others hand on."""
    if not isinstance(function, type):
        return _named(function)
    found: list[str] = []
    for cls in function.__mro__:
        init = vars(cls).get("__init__")
        if init is not None:
            found += _named(init)
            if not any(p.kind is p.VAR_KEYWORD for p in inspect.signature(init).parameters.values()):
                break
    return list(dict.fromkeys(found))


def _named(function):
    given = inspect.signature(function).parameters.values()
    return [p.name for p in given if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) and p.name != "self"]


def handing_on(cls, given=()):
    """Returns a class whose constructor gives its base *args and **kwargs, with a signature that names those in their place.

    Args:
      given: names that the constructor gives the base by itself.
    """
    init = vars(cls)["__init__"]
    own = inspect.signature(init).parameters
    more = [p for n, p in inspect.signature(cls.__base__.__init__).parameters.items() if n not in own and n not in given]
    init.__signature__ = inspect.Signature([
        *(p for p in own.values() if p.kind is p.POSITIONAL_OR_KEYWORD),
        *(p for p in more if p.kind is p.POSITIONAL_OR_KEYWORD),
        *(p for p in (*own.values(), *more) if p.kind is p.KEYWORD_ONLY),
        *(p for p in own.values() if p.kind is p.VAR_KEYWORD)])
    return cls


def unexpected(function, given, known=None):
    """Returns the TypeError for the first of the keywords `given` that a function or class does not take.

    Args:
      known: the keywords that it takes; by default what its signature names.
    """
    known = [name for name in (parameters(function) if known is None else known) if name[0] != "_"]
    name = next(iter(given))
    return TypeError(f"{function.__name__}() got an unexpected keyword argument {name!r}{nearest(name, known)}")


def bound(function, signature, args, kwargs):
    """Returns {name: what was given} of a call of `function`, as `signature` has it; what goes into its **kwargs, too.

    Raises:
      TypeError: the call does not fit.
    """
    rest = next((name for name, p in signature.parameters.items() if p.kind is p.VAR_KEYWORD), None)
    unknown = [name for name in kwargs if name not in signature.parameters]
    if unknown and rest is None:
        raise unexpected(function, unknown, signature.parameters)
    try:
        found = signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        raise TypeError(f"{function.__name__}() {error}") from None
    return found | found.pop(rest, {})
