"""A backward pass with a tap at every operation: what arrives at its outputs, and what its rule gives to its inputs."""

from regrad.autodiff import overrides as rules
from regrad.autodiff.gradients import _as_list, _element, gradients
from regrad.autodiff.rules import dense
from regrad.autodiff.selectors import everything
from regrad.core import context
from regrad.core.graph import Operation
from regrad.core.indexed_slices import IndexedSlices
from regrad.inspect.explain import explain_gradients


class Taps:
    """The gradients of one backward pass, as tensors.

    Attributes:
      explanation: the `Explanation` of the pass.
      at: {operation: (gradients of its outputs, gradients its rule gives to its inputs)}; None where there is none.
      xs: what stands for each x; grads: the gradient of each, or None.
    """

    def __init__(self, ys, xs, overrides=None, view=None, name="taps", **options):
        graph = _element(_as_list(ys)[0], "y").graph
        call = rules.as_overrides(overrides, graph, "this call")
        self.explanation = explain_gradients(ys, xs, overrides=call, view=view, **options)
        if self.explanation.unused:
            raise rules.OverrideError(f"{name}(overrides=...): caught nothing: {'; '.join(self.explanation.unused)}")
        for override in call:  # the tap stands before them all, so that none would seem to be the one that counts
            override.caught += 1
        self.at = {}

        def tap(op, *dys, default):
            grads = default()
            if isinstance(op, Operation) and op.graph is graph:
                self.at[op] = list(dys), [g if g is None or op.inputs[i].dtype._kind in "fc" else None
                                          for i, g in enumerate(grads)]
            return grads

        self.xs = [_element(x, "x") for x in _as_list(xs)]
        self.grads = gradients(ys, xs, overrides=[rules.Override(everything, tap), *call], view=view, name=name, **options)

    def tensors(self):
        """Returns every gradient once."""
        found = [g for dys, gs in self.at.values() for g in (*dys, *gs)] + self.grads
        return list(dict.fromkeys(part(g) for g in found if g is not None))


def part(gradient):
    """Returns the tensor to fetch for a gradient: of slices, their values."""
    return gradient.values if isinstance(gradient, IndexedSlices) else gradient


def whole(gradient):
    """Returns a gradient as one tensor of the shape of its x, or None."""
    return None if gradient is None else dense(gradient)


def fetch(tensors, feed_dict, session):
    """Returns {tensor: value} from one run in `session`, the default session, or a new one."""
    tensors = list(dict.fromkeys(tensors))
    if not tensors:
        return {}
    session = session or context.get_default_session()
    if session is not None:
        return dict(zip(tensors, session.run(tensors, feed_dict)))
    from regrad.runtime.session import Session

    with Session(graph=tensors[0].graph) as session:
        return dict(zip(tensors, session.run(tensors, feed_dict)))
