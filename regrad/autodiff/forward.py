"""Forward-mode rules: how `forward_gradients` uses a rule of `RegisterForwardGradient` in place of a transposed reverse rule.

Forward mode is the derivative of the backward pass by what arrives at its end, in which every rule is linear. Where an
operation has a forward rule, its backward rule is replaced by one node whose value nobody asks for, and whose derivative is
the forward rule. So forward rules hold wherever operations stand, in the bodies of loops and branches too.
"""

from regrad.autodiff import rules
from regrad.autodiff.rules import as_grads
from regrad.autodiff.walking import inner_gradients
from regrad.core import gradient_registry, source
from regrad.core.convert import convert_to_tensor
from regrad.core.errors import RuleError, RuleTypeError
from regrad.core.opdef import spec_text
from regrad.core.shapes import compatible
from regrad.ops.array import identity, identityn_op, zeros_like


class _Seen:
    """An operation as a forward rule sees it: with tensors that are at hand where the rule builds."""

    def __init__(self, op, inputs, outputs):
        self._op, self.inputs, self.outputs = op, tuple(inputs), tuple(outputs)

    def __getattr__(self, name):
        return getattr(self._op, name)


def rule_beside(op, rule):
    """Returns the forward rule (a function) that belongs to the rule in force at `op`, or None.

    Args:
      rule: a BoundRule; None where the op is declared not differentiable or has no rule.
    """
    if rule is None:
        found = gradient_registry.find_forward(op.type)
        return found.function if found is not None else None
    own = getattr(rule.function, "forward", None)
    if own is not None:
        return own
    found, reverse = gradient_registry.find_forward(rule.name), gradient_registry.find(rule.name)
    if found is None or reverse is None or reverse.function is not rule.function:
        return None
    return found.function


def replaced(op, forward, out_grads):
    """Returns stand-ins for the gradients of the inputs of `op`, whose derivative by `out_grads` is `forward`."""
    real = [i for i, t in enumerate(op.inputs) if t.dtype._kind in "fc"]
    arriving = [k for k, g in enumerate(out_grads) if g is not None]
    us = [rules.dense(out_grads[k]) for k in arriving]
    stand_ins = (_transposed if isinstance(forward, Closed) else _node)(op, forward, real, arriving, us)
    out = [None] * len(op.inputs)
    for i, t in zip(real, stand_ins):
        out[i] = t
    return out


def _node(op, forward, real, arriving, us):
    n, m, inputs = len(real), len(us), len(op.inputs)
    made = identityn_op([*(zeros_like(op.inputs[i]) for i in real), *us, *op.inputs, *op.outputs], name="forward")
    node = made[0].op

    def transposed(_, *tangents):
        given = [None] * inputs
        for i, t in zip(real, tangents):
            given[i] = t
        seen = _Seen(op, node.outputs[n + m:n + m + inputs], node.outputs[n + m + inputs:])
        outs = checked(seen, forward, as_grads(forward(seen, *given)))
        back = [g if outs[k] is None else outs[k] if g is None else outs[k] + rules.dense(g)
                for k, g in zip(arriving, tangents[n:n + m])]
        return [None] * n + back + list(tangents[n + m:])  # to what the forward rule used, for derivatives of it

    node.attached_rules = [transposed]
    return made


class Closed:
    """A forward rule that is a closure over tensors of the operation's graph, as those of `custom_gradient` are.

    It is built where the backward pass is built, once, so that the tensors are at hand; there it is transposed, and the
    derivative by what arrives transposes it back.
    """

    def __init__(self, function, n_results, n_arguments):
        self.function, self.n_results, self.n_arguments = function, n_results, n_arguments
        self.__wrapped__ = function

    def __call__(self, op, *tangents):
        outs = as_grads(self.function(*tangents[self.n_results:self.n_results + self.n_arguments]))
        if len(outs) != self.n_results:
            raise RuleError(f"{len(outs)} tangents for the {self.n_results} results of {op.name}. Forward rule at "
                            f"{source.of_function(self)}. Op made at {op.location}.")
        return [*outs, *tangents[self.n_results:]]


def _transposed(op, forward, real, arriving, us):
    tangents = [None] * len(op.inputs)
    for i in real:
        tangents[i] = identity(zeros_like(op.inputs[i]), name="tangent")
    outs = checked(op, forward, forward(op, *tangents))
    pairs = [(outs[k], u) for k, u in zip(arriving, us) if outs[k] is not None]
    return inner_gradients([t for t, _ in pairs], [tangents[i] for i in real], [u for _, u in pairs])


def checked(op, rule, tangents):
    """Returns the tangents that a forward rule gave, or raises what is wrong with them."""
    blame = f"Forward rule at {source.of_function(rule)}. Op made at {op.location}."
    if len(tangents) != len(op.outputs):
        raise RuleError(f"{len(tangents)} tangents for the {len(op.outputs)} outputs of {op.name} ({op.type}). {blame}")
    out = []
    for i, (y, t) in enumerate(zip(op.outputs, tangents)):
        if t is not None:
            t = convert_to_tensor(t, dtype=None if hasattr(t, "dtype") else y.dtype)
            if t.dtype is not y.dtype:
                raise RuleTypeError(f"The tangent of output {i} of {op.name} ({op.type}) is {spec_text(t)}, the output "
                                    f"{spec_text(y)}. {blame}")
            if not compatible(t.dims, y.dims):
                raise RuleError(f"The tangent of output {i} of {op.name} ({op.type}) is {spec_text(t)}, the output "
                                f"{spec_text(y)}. {blame}")
        out.append(t)
    return out
