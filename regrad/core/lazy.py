"""Namespaces whose names are loaded from their modules when they are first used."""

import importlib
import sys
import types

from regrad.core.interrupts import uninterrupted

_FEW = 40  # an unknown name is told what there is instead, if that is no more


class _Namespace(types.ModuleType):
    """A module whose submodules show their public names only, and say what is there instead of others."""

    def __setattr__(self, name, value):  # Python's import gives a package the modules below it
        if _is_below(value, self.__name__):
            complete(value)
        super().__setattr__(name, value)

    @property
    def __all__(self):
        """The public names; none for `help(regrad)`, which would list two thousand behind the page that says where to begin."""
        names = vars(self).get("__all__")
        if names is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute '__all__'")
        return [] if self.__name__ == "regrad" and sys._getframe(1).f_globals.get("__name__") == "pydoc" else names


def _is_below(value, package):
    return isinstance(value, types.ModuleType) and value.__name__.startswith(package + ".")


def names_of(module_name, table, modules=""):
    """Returns (`__getattr__`, `__dir__`, `__all__`) of a module that takes its names from others.

    Args:
      module_name: the module's `__name__`.
      table: {module: names, separated by white space; "name=other" calls there `other` here `name`}.
      modules: names that are modules themselves, those below this one; "name=module" is one from elsewhere.
    """
    this = sys.modules[module_name]
    this.__class__ = _Namespace
    for below in [value for value in vars(this).values() if _is_below(value, module_name)]:
        complete(below)  # those that were imported before
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
            raise AttributeError(f"module {module_name!r} has no attribute {name!r}{instead(module_name, name, where)}")
        module, inner = where[name]
        with uninterrupted:  # a module that was loaded by half would leave others behind that have the half of it
            value = importlib.import_module(module)
        if inner is None:
            complete(value)
        else:
            with uninterrupted:
                importlib.import_module("regrad.ops.operators")  # a tensor, however it was made, has its operators
            value = getattr(value, inner)
        setattr(sys.modules[module_name], name, value)
        return value

    def dir_():
        return sorted({*where, *_public(sys.modules[module_name])})

    return getattr_, dir_, sorted(where)


def _public(module):
    """Returns the names that a module offers itself: those it lists, or else those that are defined in it."""
    listed = vars(module).get("__all__")
    if listed is not None:
        return listed
    return [name for name, value in vars(module).items()
            if name[0] != "_" and getattr(value, "__module__", None) == module.__name__]


def complete(module):
    """Makes a namespace that takes nothing from others show its public names only, and say what is there instead of others."""
    def getattr_(name):
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}"
                             f"{instead(module.__name__, name, _public(module))}")

    vars(module).setdefault("__getattr__", getattr_)
    vars(module).setdefault("__dir__", lambda: sorted(_public(module)))


class Guesses:
    """The last finder of modules: `from regrad import hvp` is an error that says what there is instead."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        """Returns None; ModuleNotFoundError for a name below `regrad` that is often guessed."""
        if fullname.startswith("regrad."):
            from regrad.core.absent import hint

            module, _, name = fullname.rpartition(".")
            words = hint(module, name)
            if words:  # without `name=`: what imports from a package would replace an error that has it
                raise ModuleNotFoundError(f"No module named {fullname!r}{words}")
        return None


def instead(module_name, name, known):
    """Returns the end of the message for a name that a module has not: why, the nearest ones, or all."""
    if name.startswith("__"):  # asked for by Python itself, which wants no advice
        return ""
    from regrad.core.absent import hint
    from regrad.core.errors import nearest

    return (hint(module_name, name) or nearest(name, known)
            or (f": it has {', '.join(sorted(known))}." if 0 < len(known) <= _FEW else ""))
