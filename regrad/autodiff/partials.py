"""The terms of gradients: what arrives at a tensor by several paths, and how it adds up."""

import warnings

from regrad.autodiff.rules import rule_name
from regrad.core import source
from regrad.core.convert import convert_to_tensor
from regrad.core.errors import RegradWarning, RuleError
from regrad.core.indexed_slices import IndexedSlices
from regrad.core.opdef import spec_text
from regrad.core.operation import Operation, Tensor
from regrad.core.shapes import compatible
from regrad.ops import math
from regrad.ops.indexing import add_slices, join_slices

# Terms of one gradient that are held before they are added. From then on each is added as it comes, to the sum so far: where
# a graph repeats itself, its gradient repeats itself as well, and the runtime makes a loop of both.
_MANY = 32


class Accumulation:
    """The rules of `accumulate` of one call, and which of them have added anything up.

    Attributes:
      rules: {tensor, or "all": rule}; of a variable its storage.
      together: whether several calls share it, of which one must have something to add up.
    """

    together = False

    def __init__(self, given):
        if not isinstance(given, dict):
            raise TypeError("gradients: accumulate is a dict {tensor or variable: rule}; {'all': rule} means every tensor; got "
                            f"{given!r}.")
        self.rules = {k if isinstance(k, str) and k == "all" else element(k, "accumulate"): rule for k, rule in given.items()}
        self._applied, self._alone = set(), {}
        for tensor, rule in self.rules.items():
            if not callable(rule):
                raise TypeError(f"gradients: accumulate has a function rule(terms, tensor) for each tensor, got {rule!r} for "
                                f"{getattr(tensor, 'name', tensor)}.")

    def rule_for(self, tensor, terms):
        """Returns the rule that adds up these terms of a tensor's gradient, or None."""
        key = tensor if tensor in self.rules else "all"
        if len(terms) < 2:
            self._alone.setdefault(key, terms[0])
            return None
        self._applied.add(key)
        return self.rules.get(key)

    def splits(self, read, storage):
        """True where the terms that meet at a read of a variable go on to the variable one by one, for its rule."""
        return storage in self.rules and read not in self.rules

    def unused(self):
        """Returns, for each rule that had nothing to add up, words that say so."""
        return [f"accumulate=...): the rule {rule_name(rule)!r} for {getattr(key, 'name', repr(key))} had nothing to add up: "
                + self._why(key) for key, rule in self.rules.items() if key not in self._applied]

    def _why(self, key):
        if key == "all":
            return "no tensor between xs and ys gets more than one term."
        if key not in self._alone:
            return "no gradient arrives there; it is not on the way from xs to ys."
        op = self._alone[key].op
        giver = f", from {(op.forward_op or op).describe()}" if isinstance(op, Operation) else ""
        return (f"one term alone arrives there{giver}. A loop, branch or group gives one term, whatever meets inside it; its "
                "own tensors are keys, too. tf.combine_gradients(losses, variables, rule) combines the gradients of losses.")


def as_accumulation(given):
    """Returns the Accumulation that the argument `accumulate` means, or None."""
    return given if not given or isinstance(given, Accumulation) else Accumulation(given)


class Partials:
    """The terms of each tensor's gradient, summed once, when they are asked for.

    Args:
      accumulate: an Accumulation, or None.
    """

    def __init__(self, accumulate=None, colocate=False):
        self.terms = {}
        self.colocate = colocate
        self.long = set()  # tensors that had _MANY terms already
        self.known = {}
        self.asked = set()  # those of the known ones that the walk has come to
        self.accumulate = accumulate

    def know(self, tensor, gradient):
        """Fixes the gradient of `tensor`, whatever arrives there."""
        g = convert_to_tensor(gradient, dtype=None if hasattr(gradient, "dtype") else tensor.dtype)
        if g.dtype is not tensor.dtype or not compatible(g.dims, tensor.dims):
            raise ValueError(f"gradients: known_gradients has {spec_text(g)} for {tensor.name}, which is {spec_text(tensor)}; "
                             "a gradient has the shape and dtype of its tensor.")
        self.known[tensor] = g

    def never_asked(self):
        """Returns the tensors whose gradient was fixed, and that nothing on the way has asked for."""
        return [t for t in self.known if t not in self.asked]

    def add(self, tensor, gradient):
        terms = self.terms.setdefault(tensor, [])
        terms.append(gradient)
        if len(terms) < 2 or len(terms) < _MANY and tensor not in self.long:
            return
        # A tensor used thousands of times is summed up as the terms come: a sum next to its terms keeps large graphs local.
        if not self.accumulate and not any(isinstance(g, IndexedSlices) for g in terms):
            self.terms[tensor] = [math.addn_op([convert_to_tensor(g) for g in terms])]
            self.long.add(tensor)

    def terms_at(self, tensor):
        """Returns what has arrived at `tensor` so far: one gradient where it is fixed."""
        return [self.total(tensor)] if tensor in self.known else self.terms.get(tensor, [])

    def total(self, tensor):
        """Returns the sum of the terms, or None when there are none; slices alone stay slices."""
        if tensor in self.known:
            self.asked.add(tensor)
            return self.known[tensor]
        terms = self.terms.get(tensor)
        if terms is None:
            return None
        rule = self.accumulate.rule_for(tensor, terms) if self.accumulate else None
        if len(terms) > 1:
            if rule is not None:
                terms = [convert_to_tensor(g) for g in terms]
                total = source.call(rule, terms, tensor, role="rule(terms, tensor) of accumulate")
                total = _checked_sum(total, rule, tensor)
            elif self.colocate:  # with the terms, or where they come from several devices with what they belong to
                near = terms[-1].op if len({g.device for g in terms}) == 1 else tensor.op
                with near.graph.colocate_with(near, ignore_existing=True):
                    total = _sum(terms)
            else:
                total = _sum(terms)
            self.terms[tensor] = terms = [total]
        return terms[0]


def _checked_sum(total, rule, tensor):
    """Returns what a rule of `accumulate` gave, or raises what is wrong with it."""
    try:
        total = convert_to_tensor(total, dtype=None if hasattr(total, "dtype") else tensor.dtype)
        right = total.dtype is tensor.dtype and compatible(total.dims, tensor.dims)
        given = spec_text(total)
    except (TypeError, ValueError):
        right, given = False, repr(total)
    if not right:
        raise RuleError(f"gradients: the rule {rule_name(rule)!r} of accumulate, at {source.of_function(rule)}, gave {given} "
                        f"for {tensor.name}, which is {spec_text(tensor)}; a sum has the shape and dtype of its terms.")
    return total


def _sum(terms):
    if all(isinstance(g, IndexedSlices) for g in terms):
        return join_slices(terms)
    whole = [g for g in terms if not isinstance(g, IndexedSlices)]
    total = whole[0] if len(whole) == 1 else math.addn_op(whole)
    for g in terms:  # rows are added to the whole, not made whole first
        if isinstance(g, IndexedSlices):
            total = add_slices(total, g)
    return total


def element(x, what):
    """Returns the tensor that a variable, slices or a tensor stands for in a walk."""
    if isinstance(x, IndexedSlices):
        return x.values
    if isinstance(x, Tensor):
        return x
    handle = getattr(x, "_gradient_handle", None)  # a Variable: its storage, which all reads of it start from
    if handle is not None:
        return handle()
    if isinstance(x, (Operation, str)) or x is None or what not in ("x", "y"):
        hint = "; graph.get_tensor_by_name(name) gives a tensor by its name, such as 'x:0'" if isinstance(x, str) else ""
        raise TypeError(f"gradients: {what} must be a tensor or variable, got {x!r}{hint}.")
    if what == "x":
        warnings.warn(f"gradients: {str(x)[:100]} in xs at {source.here()} is no tensor of the graph. It becomes a new "
                      "constant, to which no path leads, so its gradient is None; pass the tensor that the ys were made of.",
                      RegradWarning, stacklevel=4)
    return convert_to_tensor(x, name=what)
