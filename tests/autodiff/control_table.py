"""Ways of control x kinds of target: each way doubles the gradient of each target, or says that it does not.

    python tests/autodiff/control_table.py        (`make pages` runs it)

writes `docs/control-table.md`, which `test_control_table.py` holds to be true, cell by cell.
"""

import pathlib
import sys
import warnings

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import regrad as tf  # noqa: E402
from regrad import rules, sel  # noqa: E402
from regrad.core import gradient_registry  # noqa: E402

PAGE = ROOT / "docs" / "control-table.md"
X = np.array([0.3, -0.7, 1.2])
ACTS, ERROR, WARNS, TOLD, NOTHING, NONE = "acts", "error", "warns", "told when asked", "None as before", "–"


class NoSuchThing(Exception):
    """A way that has no meaning for a target."""


class Built:
    """A program with one target operation.

    Attributes:
      x, y: what is differentiated, by what.
      op_type, tensor: of the target.
      factor: by which the gradient grows when each gradient of the target is doubled.
    """

    def __init__(self, x, y, op_type, tensor, factor=2.0):
        self.x, self.y, self.op_type, self.tensor, self.factor = x, y, op_type, tensor, factor


def used(t, after):
    """Two uses of a tensor, so that two terms meet at it."""
    t = after(t)
    t = tf.cast(t, tf.float64) if not t.dtype.is_floating else t
    return 0.25 * t + 0.75 * t


def in_place(place, factor=2.0):
    """A target that is a Tanh in some place; `core` may be another function of one tensor."""

    def build(core=None, after=lambda t: t):
        x, seen = tf.constant(X), []

        def body(h):
            seen.append((core or tf.tanh)(h))
            return used(seen[-1], after)

        y = place(body, x)
        return Built(x, y, "Tanh", seen[-1], factor)

    return build


def of_kind(op_type, operand, operation):
    """A target that is an operation of another kind than a Tanh."""

    def build(core=None, after=lambda t: t):
        if core is not None:
            raise NoSuchThing
        x = operand()
        t = operation(x)
        return Built(x, used(t, after), op_type, t)

    return build


@tf.custom_gradient
def _fivefold(x, body):
    return body(x), lambda dy: 5.0 * dy


def _imported(core=None, after=lambda t: t):
    with tf.Graph().as_default() as other:
        t = (core or tf.tanh)(tf.placeholder(tf.float64, [3], name="x"))
        y = tf.identity(used(t, after), name="y")
    x = tf.constant(X)
    t, y = tf.import_graph_def(other.as_graph_def(), {"x:0": x}, [t.name, y.name])
    return Built(x, y, "Tanh", t)


def _of_gradients(core=None, after=lambda t: t):
    x = tf.constant(X)
    if core is not None:
        raise NoSuchThing
    y = tf.gradients(tf.reduce_sum(tf.sin(x)), x)[0]
    t = next(op for op in tf.get_default_graph().get_operations() if op.type == "Cos").outputs[0]
    return Built(x, used(y, after), "Cos", t)


def _read(w):
    return w.read_value()


def _keras(body, x):
    return tf.keras.layers.Activation(body)(tf.identity(x)[None])[0]


TARGETS = {
    "an operation": in_place(lambda body, x: body(x)),
    "in `cond`": in_place(lambda body, x: tf.cond(x[0] > 0.0, lambda: body(x), lambda: x)),
    "in `while_loop`": in_place(lambda body, x: tf.while_loop(lambda i, h: i < 2, lambda i, h: (i + 1, body(h)), [0, x])[1],
                                4.0),
    "in `map_fn`": in_place(lambda body, x: tf.map_fn(body, x)),
    "in `scan`": in_place(lambda body, x: tf.scan(lambda h, _: body(h), tf.zeros([2]), initializer=x)[-1], 4.0),
    "in a `Defun`": in_place(lambda body, x: _defun(body)(x)),
    "in `recompute_grad`": in_place(lambda body, x: tf.recompute_grad(body)(x)),
    "in a `grouped` function": in_place(lambda body, x: tf.grouped(rules.default)(body)(x)),
    "in `custom_gradient`": in_place(lambda body, x: _fivefold(x, body)),
    "imported": _imported,
    "read as an Identity": in_place(lambda body, x: tf.identity(body(x))),
    "made by a layer": in_place(lambda body, x: tf.layers.dense(
        x[None], 3, activation=body, kernel_initializer=tf.constant_initializer(np.eye(3)))[0]),
    "made by a Keras layer": in_place(_keras),
    "of integers or truth values": of_kind("Greater", lambda: tf.constant(X), lambda x: x > 0.0),
    "with several outputs": of_kind("Split", lambda: tf.constant(X), lambda x: tf.split(x, 3)[0]),
    "that gives rows": of_kind("GatherV2", lambda: tf.Variable(X), lambda w: tf.gather(w, [0, 0, 2])),
    "that reads a variable": of_kind("Identity", lambda: tf.Variable(X), _read),
    "`py_func`": of_kind("PyFunc", lambda: tf.constant(X), lambda x: tf.py_func(
        np.tanh, [x], tf.float64, grad=lambda op, dy: dy * (1.0 - tf.square(op.outputs[0])), shape=[3])),
    "made by `gradients`": _of_gradients,
}


def _defun(body):
    from regrad.autodiff.defun import Defun

    return Defun(tf.float64)(body)


# -- ways ----------------------------------------------------------------------------------------------------------


def double(op, *dys, default):
    return [None if g is None else 2.0 * tf.convert_to_tensor(g) for g in default()]


def twice(op, *dys):
    """The same as a registered rule, which has no default to ask for: twice that of the op type, or of `py_func`."""
    found = gradient_registry.find(op.type).function
    if op.type == "PyFunc":
        return 2.0 * dys[0] * (1.0 - tf.square(op.outputs[0]))
    if found is None:
        return [None] * len(op.inputs)
    return [None if g is None else 2.0 * tf.convert_to_tensor(g) for g in rules.as_grads(found(op, *dys))]


def register():
    """Registers the rules and the op type of the table, once in a process."""
    if gradient_registry.find("TableTwice") is not None:
        return
    tf.RegisterGradient("TableTwice")(twice)
    for name, factor in (("TableTanh", 2.0), ("TableForward", 1.0)):
        OWN[name] = tf.define_op(name, "x: T", infer=lambda x: tf.Spec(x.dims, x.dtype), lower=lambda b, x: b.np.tanh(x))
        tf.RegisterGradient(name)(lambda op, dy, factor=factor: factor * dy * (1.0 - tf.square(op.outputs[0])))
    tf.RegisterForwardGradient("TableForward")(lambda op, dx: 2.0 * dx * (1.0 - tf.square(op.outputs[0])))


OWN: dict = {}


def called(**options):
    """A way that is a further argument of `gradients`: functions of what was built that give it."""

    def way(build):
        b = build()
        return b, tf.gradients(b.y, b.x, **{key: make(b) for key, make in options.items()})[0]

    return way


def by(key):
    return called(overrides=lambda b: {key(b): double})


def _override_map(build):
    with tf.get_default_graph().gradient_override_map({build_type(build): "TableTwice"}):
        b = build()
    return b, tf.gradients(b.y, b.x)[0]


def build_type(build):
    with tf.Graph().as_default():
        return build().op_type


def lasting(give):
    """A way that is given after the program was built, and holds from then on."""

    def way(build):
        b = build()
        give(b)
        return b, tf.gradients(b.y, b.x)[0]

    return way


def _overriding(build):
    b = build()
    with tf.overriding({b.op_type: double}):
        return b, tf.gradients(b.y, b.x)[0]


def _optimizer(build):
    b = build()
    return b, tf.train.GradientDescentOptimizer(0.1).compute_gradients(b.y, [b.x], overrides={b.op_type: double})[0][0]


def _hooked(**hooks):
    def way(build):
        b = build(**hooks)
        return b, tf.gradients(b.y, b.x)[0]

    return way


def _forward(build):
    b = build(core=OWN["TableForward"])
    return b, tf.jvp(b.y, b.x, [tf.ones_like(b.x)])[0]


def _known(b):
    return {b.tensor: 2.0 * tf.ones_like(b.tensor)}


@tf.custom_gradient
def _custom(x):
    y = tf.tanh(x)
    return y, lambda dy: 2.0 * dy * (1.0 - tf.square(y))


def _group(b):
    return sel.group([t for t in b.tensor.op.inputs if t.dtype.is_floating], b.tensor.op.outputs)


WAYS = {
    "`gradient_override_map`": _override_map,
    "`RegisterGradient` of a new op type": _hooked(core=lambda x: OWN["TableTanh"](x)),
    "`overrides=` by type": by(lambda b: b.op_type),
    "`overrides=` by name": by(lambda b: sel.name(b.tensor.op.name)),
    "`overrides=` by selector": by(lambda b: sel.where(lambda op: op is b.tensor.op) & sel.everything),
    "`overrides=` by tensor": by(lambda b: b.tensor),
    "`overrides=` of a group": by(_group),
    "`bridge`": called(overrides=lambda b: [tf.bridge(b.op_type, lambda op, *dys, default: [2.0 * dys[0], None]
                                                      if op.type == "Greater" else double(op, *dys, default=default))]),
    "`overriding`": _overriding,
    "`View`": called(view=lambda b: tf.View("table", {b.op_type: double})),
    "`compute_gradients(overrides=)`": _optimizer,
    "`attach` by type": lasting(lambda b: tf.attach(b.op_type, double)),
    "`attach` by tensor": lasting(lambda b: tf.attach(b.tensor, double)),
    "`set_graph_rule`": lasting(lambda b: tf.set_graph_rule(b.op_type, double)),
    "`accumulate=`": called(accumulate=lambda b: {b.tensor: lambda terms, t: 2.0 * tf.add_n(terms)}),
    "`known_gradients=`": called(known_gradients=_known),
    "`custom_gradient`": _hooked(core=_custom),
    "`substitute`": _hooked(core=lambda x: tf.substitute(tf.tanh, lambda h: 2.0 * tf.tanh(h))(x)),
    "`straight_through`": _hooked(
        core=lambda x: tf.straight_through(tf.tanh, lambda h: 2.0 * (1.0 - tf.square(tf.tanh(h))))(x)),
    "`scale_gradient`": _hooked(after=lambda t: tf.scale_gradient(t, 2.0)),
    "`reverse_gradient`": _hooked(after=lambda t: tf.reverse_gradient(t, -2.0)),
    "forward rule": _forward,
}


# -- outcomes ------------------------------------------------------------------------------------------------------------


def outcome(way, target):
    """Returns what a way does to a target: `ACTS`, with the right number, or how it says that it does not.

    Raises:
      AssertionError: it changes nothing, or something else, and says nothing.
    """
    register()
    with tf.Graph().as_default(), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            built, got = WAYS[way](TARGETS[target])
        except NoSuchThing:
            return NONE
        except (ValueError, TypeError, LookupError) as error:
            assert len(str(error)) > 40, f"few words: {error}"
            return ERROR
        warned = [str(w.message) for w in told if issubclass(w.category, tf.RegradWarning)]
        asked = tf.inspect.overrides_in_use()
        told_of = {s.op: s.status for s in tf.explain_gradients(built.y, built.x).steps}
        passed_by = told_of.get(built.tensor.op) == "no gradient arrives"
        with tf.Graph().as_default():
            plain = TARGETS[target]()
            expected = tf.gradients(plain.y, plain.x)[0]
            expected = _value(expected)
        got = _value(got)
    if expected is None and target == "of integers or truth values" and way == "`bridge`":
        expected = np.ones_like(X)
    if got is not None and expected is not None and np.allclose(got, built.factor * expected, rtol=1e-6):
        assert not warned, warned
        return ACTS
    unchanged = got is None and expected is None or got is not None and expected is not None and np.allclose(got, expected)
    assert unchanged, f"{way}, {target}: {got} where {built.factor} * {expected} or no change was to come"
    if warned:
        return WARNS
    if target == "in `custom_gradient`" and passed_by:
        return TOLD
    if any(row.problem for row in asked.rows if row.kind != "registered"):
        return TOLD
    assert got is None and "_gradient`" in way, f"{way}, {target}: nothing has changed, and nothing is said"
    return NOTHING


def _value(g):
    if g is None:
        return None
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(tf.convert_to_tensor(g))


HEAD = """# Ways of control and kinds of target

Each way of changing gradients is used here to double the gradient of each kind of target. It acts, with the right number, or
it says that it does not: no cell is silent. The table is written by `make pages` from what happens, and held by
[the test of each cell](../tests/autodiff/test_control_table.py#test_a_way_acts_on_a_target_or_says_that_it_does_not).

- **acts**: the gradient is the right one (four times the plain one where a loop goes through the target twice).
- **error**, **warns**: an error with words, or a `RegradWarning`, when gradients are built.
- **told when asked**: the rule lies where no gradient passes by: `tf.inspect.overrides_in_use()` says that it was never
  applied, and `tf.explain_gradients` that no gradient arrives there.
- **None as before**: a block around what has no gradient changes nothing about that.
- **–**: the way is a function in the target's place, or an op type of its own, which this target is not made with.

What lies inside a function under `custom_gradient` is passed by, whatever is put there: `grad_fn` answers for it. What
`gradients` makes is not made in a block of `gradient_override_map`, as in TensorFlow; overrides that are looked for when
gradients are built reach it.
"""


def page():
    """Returns the page's text."""
    found = {way: {target: outcome(way, target) for target in TARGETS} for way in WAYS}
    rows = [f"| target | {' | '.join(WAYS)} |", "|" + "---|" * (len(WAYS) + 1)]
    rows += [f"| {target} | {' | '.join(found[way][target] for way in WAYS)} |" for target in TARGETS]
    return HEAD + "\n" + "\n".join(rows) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
    print(PAGE)
