"""Namespaces whose names are loaded from their modules when they are first used."""

import importlib
import sys


def names_of(module_name, table):
    """Returns (`__getattr__`, `__dir__`, `__all__`) of a module that takes its names from others.

    Args:
      module_name: the module's `__name__`.
      table: {module: names, separated by white space; "name=other" calls there `other` here `name`}.
    """
    where = {}
    for module, names in table.items():
        for name in names.split():
            public, _, inner = name.partition("=")
            where[public] = module, inner or public

    def getattr_(name):
        if name not in where:
            from regrad.core.errors import nearest

            raise AttributeError(f"module {module_name!r} has no attribute {name!r}{nearest(name, where)}")
        module, inner = where[name]
        importlib.import_module("regrad.ops.operators")
        value = getattr(importlib.import_module(module), inner)
        setattr(sys.modules[module_name], name, value)
        return value

    def dir_():
        return sorted({*vars(sys.modules[module_name]), *where})

    return getattr_, dir_, sorted(where)
