"""How objects print that have no values to show: by their class, their name and what they were made with."""

import inspect

import numpy as np

_LONG = 60  # characters of a value


class Shown:
    """Gives `<Class 'name' argument=value ...>` for the arguments that were given, as far as the object has kept them."""

    __slots__ = ()

    def __repr__(self):
        try:
            parts = [*_named(self), *_given(self)]
        except Exception:  # its constructor did not end, or a subclass lacks something: printing is no place to say so
            parts = []
        return f"<{' '.join([type(self).__name__, *parts])}>"

    def _said(self):
        """Returns {name: value} of what is to be said besides what is kept under the names of arguments."""
        return {}


def _named(shown):
    name = _kept(shown, "name")
    return [repr(name)] if isinstance(name, str) else []


def _kept(shown, name):
    """Returns what an object keeps of an argument of that name: its attribute, a private one too; None for nothing."""
    held = getattr(shown, "__dict__", {})
    for attribute in (name, f"_{name}"):
        if attribute in held:
            return held[attribute]
    return getattr(shown, name, None) if isinstance(getattr(type(shown), name, None), property) and name == "name" else None


def _given(shown):
    """Returns "argument=value" for arguments of the constructor that are not the default and can be said shortly."""
    try:
        parameters = list(inspect.signature(type(shown).__init__).parameters.values())
    except (TypeError, ValueError):
        return []
    values = {p.name: _kept(shown, p.name) for p in parameters if p.name not in ("self", "name")} | shown._said()
    usual = {p.name: p.default for p in parameters}
    found = {}
    for name, value in values.items():
        default = usual.get(name)
        if isinstance(value, list) and isinstance(default, tuple):
            default = list(default)
        same = value is default or isinstance(value, (bool, int, float, str, tuple, list)) and value == default
        if value is not None and not same:
            found[name] = said(value)
    return [f"{name}={text}" for name, text in found.items() if text]


def said(value):
    """Returns a short text for a value, without an address; "" for one that has none."""
    if isinstance(value, np.ndarray) and value.ndim:
        return f"{value.dtype}{list(value.shape)}"
    if isinstance(getattr(value, "name", None), str) and hasattr(value, "op"):  # a tensor or variable
        return repr(value.name)
    if isinstance(value, type) or inspect.isroutine(value):
        return getattr(value, "__name__", "")
    if isinstance(value, (list, tuple)):
        parts = [said(v) for v in value[:8]]
        text = ", ".join(parts) + (", ..." if len(value) > 8 else "")
        return f"[{text}]" if all(parts) and len(text) <= _LONG else f"[{len(value)}]"
    if isinstance(value, dict):
        return f"{{{len(value)}}}"
    if isinstance(value, Shown):
        return type(value).__name__
    text = repr(value)
    return text if len(text) <= _LONG and " at 0x" not in text else type(value).__name__
