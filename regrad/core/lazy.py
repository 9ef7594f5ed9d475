"""Namespaces whose names are loaded from their modules when they are first used."""

import importlib
import sys

_FEW = 40  # an unknown name is told what there is instead, if that is no more


def names_of(module_name, table, modules=""):
    """Returns (`__getattr__`, `__dir__`, `__all__`) of a module that takes its names from others.

    Args:
      module_name: the module's `__name__`.
      table: {module: names, separated by white space; "name=other" calls there `other` here `name`}.
      modules: names that are modules themselves, those below this one; "name=module" is one from elsewhere.
    """
    where = {}
    for module, names in table.items():
        for name in names.split():
            public, _, inner = name.partition("=")
            where[public] = module, inner or public
    for name in modules.split():
        public, _, elsewhere = name.partition("=")
        where[public] = elsewhere or f"{module_name}.{public}", None

    def getattr_(name):
        if name not in where:
            raise AttributeError(f"module {module_name!r} has no attribute {name!r}{_instead(module_name, name, where)}")
        module, inner = where[name]
        value = importlib.import_module(module)
        if inner is not None:
            importlib.import_module("regrad.ops.operators")  # a tensor, however it was made, has its operators
            value = getattr(value, inner)
        setattr(sys.modules[module_name], name, value)
        return value

    def dir_():
        return sorted({*vars(sys.modules[module_name]), *where})

    return getattr_, dir_, sorted(where)


def _instead(module_name, name, known):
    """Returns the end of the message for a name that a module has not: why, the nearest ones, or all."""
    if name.startswith("__"):  # asked for by Python itself, which wants no advice
        return ""
    from regrad.core.absent import hint
    from regrad.core.errors import nearest

    return (hint(module_name, name) or nearest(name, known)
            or (f": it has {', '.join(sorted(known))}." if 0 < len(known) <= _FEW else ""))
