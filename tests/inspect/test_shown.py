"""What inspection gives back prints as what it is, at a prompt and in a notebook; nothing prints as an address."""

import pytest

import regrad as tf
from regrad import rules
from regrad.core.tabular import Record
from regrad.inspect.report import Report


def twice(op, dy):
    return 2.0 * dy


def made():
    """Returns {name: object} of everything that inspection and overriding hand out."""
    x = tf.placeholder(tf.float32, [2], name="x")
    w = tf.Variable([1.0, 2.0], name="w")
    h = tf.tanh(x * w, name="h")
    y = tf.reduce_sum(tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, tf.sin(a)), [0, h])[1] + tf.round(x))
    feed, metadata = {x: [0.1, 0.2]}, tf.RunMetadata()
    attached = tf.attach("Tanh", twice)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(y, feed, options=tf.RunOptions(trace_level=3), run_metadata=metadata)
        told = tf.explain_gradients(y, [x, w])
        run = told.at(feed)
        audit, ill = tf.audit(y, [x, w], feed), tf.diagnose(y, [x, w], feed, vanishing=10.0, saturated=0.0)
        ill.problems += tf.diagnose(tf.reduce_sum(tf.sqrt(x)), x, {x: [0.0, 1.0]}).problems
        same = tf.compare(None, tf.View("twice", {"Sin": twice}), y, [x, w], feed)
        plan, study = session.plan(y, feed), tf.inspect.coverage(y, [x, w], feed)
    return {
        "explanation": told, "step": told["h"], "cut": told.targets[0].cuts[0], "target": told.targets[0],
        "difference": told.diff(told), "run": run, "flow": run["h"].flow, "audit": audit, "finding": audit["h"],
        "diagnosis": ill, "problem": ill.problems[0], "health": ill.ops[0], "health of an x": ill.xs[0], "comparison": same,
        "agreement": same.ops[0], "agreement of an x": same.xs[0], "study": study, "plan": plan, "metadata": metadata,
        "step of a run": metadata.steps[0], "attached": attached, "rule of a graph": tf.set_graph_rule("Tanh", rules.clip(1.0)),
        "why_none": tf.why_none(y, x), "rule": tf.get_gradient_function(h.op), "inventory": tf.inspect.overrides_in_use(),
        "row": tf.inspect.overrides_in_use().rows[0], "override": attached.override, "view": tf.View("v", {"Tanh": twice}),
    }


SAYS = {
    "finding": "wrong: h (Tanh) at tests/inspect/test_shown.py", "health": "gain", "step": "twice at tests", "cut": "Round",
    "attached": "twice at tests/inspect/test_shown", "rule of a graph": "clip(1.0) at", "target": ": a gradient",
    "agreement": "cosine", "flow": "arrives", "rule": "'twice' at", "step of a run": " ms", "problem": "Cure:", "row": "used",
    "why_none": "x:0 gets a gradient", "health of an x": "x:0: ", "agreement of an x": "x:0: cosine",
}


def test_everything_says_what_it_is():
    things = made()
    for name, thing in things.items():
        text = repr(thing)
        assert " at 0x" not in text and "object" not in text, f"{name}: {text}"
        assert len(text) > 5 and SAYS.get(name, "") in text, f"{name}: {text}"
        if name not in ("override", "view"):
            page = thing._repr_html_()
            assert page.startswith("<") and " at 0x" not in page, f"{name}: {page}"
    attached = things["attached"]
    attached.detach()
    assert "detached" in repr(attached)


def _subclasses(c):
    return {c}.union(*map(_subclasses, c.__subclasses__()))


@pytest.mark.parametrize("base", [Record, Report])
def test_every_class_of_reports_prints_itself(base):
    for c in _subclasses(base) - {base}:
        assert c.__repr__ is not object.__repr__ and c._repr_html_ is not None
        if base is Record and c.__module__.startswith("regrad."):
            assert c.__str__ is not object.__str__, c
