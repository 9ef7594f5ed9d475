"""The import hook of TensorFlow's modules; which there are says `regrad/compat/modules.py`.

A module's names are looked for, in this order: its own entry in `EXTRAS`, the Regrad module it stands for, the public
names of `regrad`, and, in the `gen_*_ops` modules and `raw_ops`, the op types themselves.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import re
import sys
import types

from regrad.compat.modules import EXTRAS, MODULES
from regrad.core.absent import hint


class _Module(types.ModuleType):
    """One of TensorFlow's modules: names are looked up when they are used."""

    def __getattr__(self, name):
        stands_for = _tensorflow_name(self.__name__)
        if name.startswith("__") and name.endswith("__") and name not in EXTRAS.get(stands_for, {}):
            raise AttributeError(name)
        value = _lookup(stands_for, name)
        setattr(self, name, value)
        return value

    def __dir__(self):
        stands_for = _tensorflow_name(self.__name__)
        names = set(super().__dir__()) | set(EXTRAS.get(stands_for, ()))
        target = MODULES[stands_for]
        if target and target != "generated":
            names |= {name for name in dir(importlib.import_module(target)) if not name.startswith("__")}
        return sorted(names)


def _tensorflow_name(fullname):
    """Returns TensorFlow's name of a module that is imported as tensorflow... or as regrad.python..."""
    return "tensorflow" + fullname.removeprefix("regrad") if fullname.startswith("regrad.") else fullname


def _lookup(module, name):
    """Returns what TensorFlow's `module` calls `name`; AttributeError when Regrad has nothing of that name."""
    extra = EXTRAS.get(module, {}).get(name)
    if isinstance(extra, str) and ":" in extra:
        where, _, attribute = extra.partition(":")
        return getattr(importlib.import_module(where), attribute)
    if extra is not None:
        return extra
    below = f"{module}.{name}"
    if below in MODULES:
        below = below if installed() else "regrad" + below.removeprefix("tensorflow")
        return importlib.import_module(below)
    rule = _rule_named(name) if module.endswith("_grad") else None
    if rule is not None:
        return rule
    target = MODULES[module]
    if target == "generated":
        return raw_op(name)
    for place in (target, "regrad"):
        if place:
            try:
                return getattr(importlib.import_module(place), name)
            except AttributeError:
                pass
            except ModuleNotFoundError as error:
                if not str(error.name).startswith("regrad"):
                    raise
    if module.startswith("tensorflow.python.ops."):
        try:
            return raw_op(name)  # TensorFlow's modules hold the generated functions of their family too
        except AttributeError:
            pass
    if module.startswith("tensorflow.python."):
        for package in ("ops", "framework", "util", "platform", "eager"):  # and the modules that it imports
            if f"tensorflow.python.{package}.{name}" in MODULES:
                return _lookup(f"tensorflow.python.{package}", name)
    raise AttributeError(f"module {module!r} has no attribute {name!r} in Regrad{hint(module, name)}")


def _rule_named(name):
    """Returns the gradient rule that TensorFlow's `nn_grad` and its like call `name`: `_ReluGrad` is that of Relu, or None."""
    from regrad.core import gradient_registry

    match = re.fullmatch(r"_(\w+?)Grad", name)
    found = match and gradient_registry.find(match[1])
    return found.function if found else None


def _of_resource(op_type):
    """Returns the op type that does to a variable what one of TensorFlow's does to a resource: there is one kind here."""
    named = {"AssignVariableOp": "Assign", "AssignAddVariableOp": "AssignAdd", "AssignSubVariableOp": "AssignSub",
             "ReadVariableOp": "Identity", "ResourceGather": "GatherV2"}
    return named.get(op_type, op_type.removeprefix("Resource"))


def raw_op(name):
    """Returns the function that makes an op of a generated wrapper's name: `relu_grad` and `ReluGrad` are one."""
    from regrad.core import gradient_registry
    from regrad.core.opdef import find_op, op_types

    gradient_registry.complete()
    name = re.sub(r"(?:^|_)([a-z])", lambda m: m[1].upper(), name) if name.startswith("resource_") else name
    opdef = find_op(name)
    if opdef is None:
        opdef = find_op(_of_resource(name))
    if opdef is None:
        wanted = _of_resource(name).strip("_").replace("_", "").lower()
        by_snake = {re.sub(r"\W", "", t).lower(): t for t in op_types()}
        for spelling in (wanted, wanted + "v2", wanted + "v3"):
            if spelling in by_snake:
                opdef = find_op(by_snake[spelling])
                break
    if opdef is None:
        raise AttributeError(f"no op type of Regrad is called {name!r}")
    arguments = [a.name for a in opdef.args]

    def make(*inputs, name=None, **keywords):
        inputs = list(inputs)
        if "resource" in keywords:
            inputs.insert(0, keywords.pop("resource"))
        for argument in arguments[len(inputs):]:
            if argument in keywords:
                inputs.append(keywords.pop(argument))
        positional = dict(zip(opdef.attrs, inputs[len(arguments):]))
        for i in opdef.writes:
            inputs[i] = getattr(inputs[i], "_variable", inputs[i])
        return opdef(*inputs[:len(arguments)], name=name, **positional, **keywords)

    make.__name__ = make.__qualname__ = name
    positional = [inspect.Parameter(a, inspect.Parameter.POSITIONAL_OR_KEYWORD) for a in arguments]
    by_name = [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=value) for n, value in opdef.attrs.items()
               if n.isidentifier() and n not in (*arguments, "name")]
    make.__signature__ = inspect.Signature(
        [*positional, *by_name, inspect.Parameter("name", inspect.Parameter.KEYWORD_ONLY, default=None)])
    make.__doc__ = f"Makes an operation of type {opdef.type!r}."
    return make


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Answers imports of TensorFlow's modules from the table."""

    def find_spec(self, fullname, path=None, target=None):
        tensorflow = fullname.startswith("tensorflow")
        if tensorflow and not installed() or not tensorflow and not fullname.startswith("regrad.python."):
            return None
        if _tensorflow_name(fullname) not in MODULES:
            module, _, name = fullname.rpartition(".")
            words = hint(module, name)
            if words:  # without `name=`: `from tensorflow.contrib import seq2seq` would replace an error that has it
                raise ModuleNotFoundError(f"No module named {fullname!r}{words}")
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec):
        return _Module(spec.name)

    def exec_module(self, module):
        module.__path__ = []


_finder = _Finder()
_answers = False


def mount():
    """Makes TensorFlow's module tree importable below `regrad.python`."""
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def installed():
    """True when imports of `tensorflow` are answered by Regrad in this process."""
    return _answers


def install():
    """Answers imports of `tensorflow` by Regrad in this process, from now on.

    Raises:
      RuntimeError: a real TensorFlow is imported already.
    """
    present = sys.modules.get("tensorflow")
    if present is not None and not isinstance(present, _Module):
        raise RuntimeError("tensorflow is imported already in this process; run the program with `regrad run`, or call "
                           "regrad.compat.install() first.")
    global _answers
    mount()
    _answers = True


def uninstall():
    """Takes `install` back, and forgets the modules it made."""
    global _answers
    _answers = False
    for name in [n for n, m in sys.modules.items() if isinstance(m, _Module) and n.startswith("tensorflow")]:
        del sys.modules[name]
