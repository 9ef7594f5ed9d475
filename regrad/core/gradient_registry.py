"""The one registry of gradient rules: name -> rule, filled by Regrad's own files and by users alike.

A name is an op type ("MatMul") or any string a `gradient_override_map` may point at; of names that TensorFlow leaves free a
program's own rule is the one that counts, whatever Regrad has under them. `NotDifferentiable` declares
that nothing flows through an op type; having no entry at all is something else, and an error when met on a path.
"""

import sys

from regrad.core import source
from regrad.core.errors import nearest
from regrad.core.shown import Shown
from regrad.core.tf_op_types import OP_TYPES, TF_OP_TYPES, UNREGISTERED

# Op types that differ only by the TF release that made them; an entry or an override under one name serves both.
ALIASES = {
    "AddV2": "Add", "BatchMatMul": "BatchMatMulV2", "Inv": "Reciprocal", "InvGrad": "ReciprocalGrad",
    "Gather": "GatherV2", "Concat": "ConcatV2", "TopK": "TopKV2", "BiasAddV1": "BiasAdd",
    "ResourceApplyGradientDescent": "ApplyGradientDescent", "SelfAdjointEig": "SelfAdjointEigV2",
    "MatrixDiag": "MatrixDiagV2", "MatrixDiagV3": "MatrixDiagV2", "MatrixDiagPart": "MatrixDiagPartV2",
    "MatrixDiagPartV3": "MatrixDiagPartV2", "MatrixSetDiag": "MatrixSetDiagV2", "MatrixSetDiagV3": "MatrixSetDiagV2",
    "SpaceToBatch": "SpaceToBatchND", "BatchToSpace": "BatchToSpaceND", "ScatterNdNonAliasingAdd": "TensorScatterAdd",
    "DebugGradientRefIdentity": "DebugGradientIdentity", "StatelessIf": "If", "StatelessWhile": "While",
    "SparseMatMul": "MatMul", "XlaEinsum": "Einsum",
    **{f"TensorArray{kind}{old}": f"TensorArray{kind}V3" for old in ("", "V2")
       for kind in ("Concat", "Gather", "Read", "Scatter", "Size", "Split", "Write")},
    "RefIdentity": "Identity", "Reverse": "ReverseV2", "ParallelDynamicStitch": "DynamicStitch",
}


def canonical(op_type):
    """Returns the op type under which Regrad knows TF's `op_type`."""
    return ALIASES.get(op_type, op_type)


class Rule:
    """A gradient rule under its name: `function(op, *output_gradients)`, or None for "not differentiable"."""

    __slots__ = ("name", "function", "where", "used", "replaces", "_key", "_cell")

    def __init__(self, name, function):
        self.name = name
        self.function = function
        self.used = 0
        self.replaces = False  # whether it is a program's, under a name where it comes before Regrad's
        self._key = None if function is None else _identity(function)
        self._cell = source.cell()
        frames = source.user_frames()
        self.where = source.of_function(function) if function is not None else source.location(frames)

    def __call__(self, op, *grads):
        return self.function(op, *grads)

    def __repr__(self):
        kind = "not differentiable" if self.function is None else self.where
        return f"<gradient rule {self.name!r}: {kind}>"


def _identity(function):
    """What stays the same when a notebook cell that defines `function` runs again."""
    code = getattr(function, "__code__", None)
    if code is None:
        return None
    # IPython compiles each run of a cell under a new file name, but the cell's functions keep name and body.
    interactive = code.co_filename.startswith("<") or "ipykernel" in code.co_filename
    return (code.co_qualname, code.co_code, code.co_consts) if interactive else None


_rules: dict[str, Rule] = {}
_own: dict[str, Rule] = {}  # rules of Regrad's own op types: a program may use their names for its rules
_replaced: dict[str, Rule] = {}  # Regrad's rules under names where a program has put its own
_forward: dict[str, Rule] = {}  # rules for forward mode, under the names of the rules they stand beside
_loader = None  # imports op families, which are otherwise loaded on demand


def set_loader(load):
    """Sets what registers Regrad's own rules: `load(op_type)` those of its op's family, `load()` all."""
    global _loader
    _loader = load


def complete():
    """Makes sure that every built-in op type and rule is registered."""
    global _loader
    if _loader is not None:
        load, _loader = _loader, None
        load()


def _built_in():
    """True while Regrad registers its own rules: that must not load the others, which may need what is being loaded."""
    frame = sys._getframe(2)
    while frame is not None and (frame.f_globals.get("__name__") == __name__ or frame.f_code.co_name == "vjp_of_lowering"):
        frame = frame.f_back
    module = "" if frame is None else str(frame.f_globals.get("__name__"))
    return module.startswith("regrad.") and not module.startswith("regrad.compat.")  # which registers what programs give it


def register(name, function, rules=_rules):
    """Enters a rule; KeyError when the name is taken by another one."""
    if not isinstance(name, str):
        raise TypeError(f"RegisterGradient: the name must be a string, got {name!r}.")
    built_in = _built_in()
    if built_in and rules is _rules and name not in TF_OP_TYPES:
        rules = _own
    if not built_in and name in OP_TYPES:
        complete()  # a built-in name is taken even if its file is not loaded yet
    new = Rule(name, function)
    old = rules.get(name)
    new.replaces = not built_in and name in UNREGISTERED
    before_ours = new.replaces and old is not None and not old.replaces
    if old is not None and not before_ours and not (
            new._key is not None and new._key == old._key or source.rerun(old._cell, new._cell)):
        raise KeyError(
            f"Registering two gradient with name '{name}'! (Previous registration was at {old.where}.) "
            "A name is registered once per process; choose another, or give the second rule to "
            "gradients(..., overrides=...), which needs no name."
        )
    if before_ours:
        _replaced[name] = old
    rules[name] = new
    return new


def forget(name):
    """Takes the rule under `name` out, so that another may be registered; KeyError if there is none."""
    complete()
    del _rules[name if name in _rules else canonical(name)]
    if name in _replaced:
        _rules[name] = _replaced.pop(name)


def find(name):
    """Returns the Rule under `name`, or None."""
    found = _rules.get(name) or _rules.get(ALIASES.get(name, name))
    if found is None and _loader is not None:
        op_type = canonical(name)
        _loader(op_type)
        if op_type not in _rules and op_type in OP_TYPES:
            complete()
        found = _rules.get(op_type)
    return found or _own.get(name)


def of_type(op_type):
    """Returns the Rule of an op type, or None: of one of Regrad's own its own, whatever a program has under that name."""
    found = find(op_type)
    return _own.get(op_type) or found


def find_forward(name):
    """Returns the Rule for forward mode under `name`, or None."""
    return _forward.get(name) or _forward.get(ALIASES.get(name, name))


def names():
    """Returns the names of all rules."""
    complete()
    return {**_own, **_rules}.keys()


class RegisterGradient(Shown):
    """Decorator that registers a gradient rule under an op type or any other name.

        @tf.RegisterGradient("HalfGrad")
        def _half(op, dy):
            return 0.5 * dy

    The rule is called as `rule(op, *output_gradients)`, one gradient per output of `op`, and returns one tensor,
    IndexedSlices or None per input (a single input's gradient may be returned bare).

    Raises:
      KeyError: the name is taken; the message says where.
      TypeError: `name` is not a string, or the decorated object is not callable.

    Example:
      @tf.RegisterGradient("DoubledGrad")
      def _doubled(op, dy):
          return 2.0 * dy

      x = tf.constant(3.0)
      y = tf.square(x)
      print(*tf.Session().run([tf.gradients(y, x)[0], tf.gradients(y, x, overrides={"Square": "DoubledGrad"})[0]]))
      #> 6.0 2.0
    """

    _rules, _takes = _rules, "*grads"

    def __init__(self, op_type):
        if not isinstance(op_type, str):
            raise TypeError(f"{type(self).__name__}: op_type must be a string, got {op_type!r}.")
        self._op_type = op_type

    def __call__(self, f):
        if not callable(f):
            raise TypeError(f"{type(self).__name__}({self._op_type!r}): a rule is a function rule(op, {self._takes}), got "
                            f"{f!r}.")
        register(self._op_type, f, self._rules)
        return f


class RegisterForwardGradient(RegisterGradient):
    """Decorator that registers a rule for forward mode (`tf.forward_gradients`) beside the one of `RegisterGradient`.

        @tf.RegisterForwardGradient("Wave")
        def _wave_forward(op, dx, df):
            x, f = op.inputs
            return tf.cos(f * x) * (f * dx + x * df)

    The rule is called as `rule(op, *input_tangents)` and returns one tangent per output. A tangent has the dtype and shape of
    its tensor; None stands for an input of a type that carries none. Without such a rule, forward mode transposes the reverse
    one, which is always right and sometimes dearer. `tf.audit` holds the two against each other.

    It belongs to the reverse rule of the same name: an operation whose reverse rule is overridden does not use it, unless the
    override names a registered rule that has a forward rule beside it.

    Raises:
      KeyError: the name has a forward rule already; the message says where.
      TypeError: the name is not a string, or the decorated object is not callable.
    """

    _rules, _takes = _forward, "*tangents"


def NotDifferentiable(op_type):
    """Declares that no gradient flows through ops of this type: their inputs' gradient is None."""
    if not isinstance(op_type, str):
        raise TypeError("op_type must be a string")
    register(op_type, None)


NoGradient = NotDifferentiable


def suggest(name):
    """Returns ", did you mean ...?" over the registered names."""
    return nearest(name, names())
