"""The walk in progress, so that the rules of loops and branches can walk their bodies under the same overrides."""

import threading

from regrad.core.graph import get_default_graph


def ancestors(tensors):
    """Returns the set of operations that `tensors` are computed from, those that make them included."""
    seen = {t.op for t in tensors}
    stack = list(seen)
    while stack:
        for t in stack.pop().inputs:
            op = t.op
            if op not in seen:
                seen.add(op)
                stack.append(op)
    return seen


def carrying(ops):
    """Returns the function that says of a tensor made by `ops` whether gradients pass it, in the walk in progress."""
    walk = current_walk()
    across = walk.resolution.across(ops) if walk is not None else ()
    return lambda t: t.dtype._kind in "fc" or t in across


def crosses(t):
    """True for a tensor of a dtype without gradients that the walk in progress carries one to, at a declared bridge."""
    walk = current_walk()
    return walk is not None and t in walk.crossing


def leading(ys, xs, carries):
    """Returns, for each of `ys`, the set of positions among `xs` from which tensors that carry gradients lead to it.

    Args:
      carries: function that says of a tensor whether it carries a gradient.
    """
    masks = {x: 1 << i for i, x in enumerate(xs)}
    for op in sorted(ancestors(ys), key=lambda op: op.id):
        mask = 0
        for t in op.inputs:
            mask |= masks.get(t, 0)
        if mask:
            masks.update((t, masks.get(t, 0) | mask) for t in op.outputs if carries(t))
    return [{i for i in range(len(xs)) if masks.get(y, 0) >> i & 1} for y in ys]


class _Current(threading.local):
    def __init__(self):
        self.walks = []
        self.forward = False  # the walk is made to be transposed


_current = _Current()


class in_progress:
    """Context manager: `walk` is the one whose overrides hold inside bodies."""

    def __init__(self, walk):
        self.walk = walk

    def __enter__(self):
        _current.walks.append(self.walk)

    def __exit__(self, *exc):
        _current.walks.pop()


class for_forward_mode:
    """Context manager: what the walks inside give is differentiated by what arrives, so forward rules take part."""

    def __enter__(self):
        self.was, _current.forward = _current.forward, True

    def __exit__(self, *exc):
        _current.forward = self.was


def in_forward_mode():
    return _current.forward


def current_walk():
    """Returns the innermost walk in progress, or None."""
    return _current.walks[-1] if _current.walks else None


def wants(t):
    """True if the gradient with respect to `t` leads to one that was asked for, as far as the walk in progress knows.

    What a rule gives for other inputs is not used, so a loop need not add it up.
    """
    walk = current_walk()
    return walk is None or t in walk.wanted


def inner_gradients(ys, xs, grad_ys, stops=()):
    """Returns the gradients inside a body, under the overrides of the walk in progress; no way leads through `stops`."""
    from regrad.autodiff.gradients import Walk
    from regrad.autodiff.partials import Partials

    outer = current_walk()
    sums = Partials(outer.accumulate if outer is not None else None)
    for y, dy in zip(ys, grad_ys):
        sums.add(y, dy)
    walk = Walk(get_default_graph(), ys, xs, stops, outer=outer)
    walk.run(sums)
    return [sums.total(x) for x in xs]
