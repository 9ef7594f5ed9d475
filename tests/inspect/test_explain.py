"""explain_gradients: the rule, the reason and the line of each operation, and the cut where a gradient is None."""

import html
import json
import re
from html.parser import HTMLParser

import pytest

import regrad as tf
from regrad import rules, sel


@tf.RegisterGradient("ExplainTestHalf")
def _half(op, dy):
    return 0.5 * dy


def twice(op, dy):
    return 2.0 * dy


def refused(op, dy):
    return dy, dy


def crashing(op, dy):
    raise ZeroDivisionError("in the user's own rule")


def _net():
    x = tf.placeholder(tf.float32, [3], name="x")
    with tf.name_scope("head"):
        h = tf.tanh(x, name="h")
    return x, tf.reduce_sum(tf.exp(h, name="e"))


def _scoped():
    x = tf.placeholder(tf.float32, [3], name="x")
    with tf.get_default_graph().gradient_override_map({"Tanh": "ExplainTestHalf"}), tf.name_scope("head"):
        h = tf.tanh(x, name="h")
    return x, h


def _attached():
    x, y = _net()
    tf.attach("Tanh", twice)
    return x, y


REASONS = [  # program, options, operation, status, words
    (_net, {}, "head/h", "rule", ["Tanh", "math_grad.py", "registered for the op type"]),
    (_net, {"overrides": {"Tanh": twice}}, "head/h", "overridden",
     ["twice", "test_explain.py", "this call", "sel.type('Tanh')"]),
    (_net, {"overrides": {sel.scope("head"): rules.default >> rules.clip(1.0)}}, "head/h", "overridden",
     ["default >> clip(1.0)", "sel.scope('head')"]),
    (_net, {"view": "view"}, "head/h", "overridden", ["twice", "view"]),
    (_scoped, {}, "head/h", "overridden", ["ExplainTestHalf", "gradient_override_map at", "test_explain.py"]),
    (_attached, {}, "head/h", "overridden", ["twice", "attached at"]),
    (_net, {"stop_gradients": "h"}, "head/h", "stopped", ["stop_gradients"]),
    (_net, {"overrides": {"Tanh": refused}}, "head/h", "rule failed", ["Num gradients 2"]),
    (_net, {"overrides": {"Tanh": crashing}}, "head/h", "rule failed", ["ZeroDivisionError"]),
    (_net, {"overrides": {"Tanh": "NeverRegistered"}}, "head/h", "no rule", ["NeverRegistered"]),
]


@pytest.mark.parametrize(("program", "options", "name", "status", "words"), REASONS)
def test_which_rule_and_why(program, options, name, status, words):
    x, y = program()
    if "view" in options:
        options = {"view": tf.View("v", {"Tanh": twice})}
    if "stop_gradients" in options:
        options = {"stop_gradients": tf.get_default_graph().get_tensor_by_name("head/h:0")}
    step = tf.explain_gradients(y, x, **options)[name]

    assert step.status == status
    assert [w for w in words if w not in step.says()] == []
    assert "test_explain.py" in step.at and "tf.tanh(x" in step.line


CUTS = {  # y of x, and the operations at which the path ends
    "round": (lambda x: tf.round(x), {"Round"}),
    "argmax": (lambda x: tf.argmax(x), {"ArgMax"}),
    "floordiv": (lambda x: x // 2.0, {"FloorDiv"}),
    "integer cast": (lambda x: tf.cast(tf.cast(x, tf.int32), tf.float32), {"Cast"}),
    "comparison": (lambda x: tf.to_float(x > 0.5), {"Greater"}),
    "stop": (lambda x: tf.stop_gradient(x) * 2.0, {"StopGradient"}),
    "host": (lambda x: tf.py_func(lambda v: v, [x], tf.float32), {"PyFunc"}),
    "two ways": (lambda x: tf.round(x) + tf.ceil(x), {"Round", "Ceil"}),
    "branch": (lambda x: tf.cond(tf.constant(1.0) > 0.0, lambda: tf.round(x), lambda: tf.floor(x)), {"Round", "Floor"}),
    "loop": (lambda x: tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a + tf.round(x)), [0, tf.zeros([2])])[1],
             {"Round"}),
}


@pytest.mark.parametrize("case", CUTS)
def test_why_none(case):
    program, types = CUTS[case]
    x, other = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32, [2])
    y = program(x)
    told = tf.explain_gradients(y, [x, other])

    assert tf.gradients(y, x) == [None]
    assert {c.type for c in told.targets[0].cuts} == types
    assert all(c.cure and c.why and "test_explain.py" in c.at for c in told.targets[0].cuts)
    assert [w for w in types if w not in str(told)] == []
    assert told.targets[1].cuts == [] and "no operation takes it" in told.targets[1].reason
    assert "Cure:" in tf.why_none(y, x)


def test_shapes_are_no_missing_gradients():
    x = tf.placeholder(tf.float32, [None])
    size = tf.to_float(tf.size(x))

    assert tf.explain_gradients(tf.tanh(x) * size, x).targets[0].cuts == []
    assert [c.shape_only for c in tf.explain_gradients(size, x).targets[0].cuts] == [True]


def test_xs_with_one_cut_share_a_row():
    xs = [tf.placeholder(tf.float32, [2]) for _ in range(6)]
    tables = tf.explain_gradients(tf.round(tf.add_n(xs)), xs).tables()

    assert [(t.title, len(t.rows)) for t in tables[2:]] == [("Where every path ends", 1)]
    assert "and 3 others" in tables[2].rows[0][0]


def test_cures_work():
    x = tf.placeholder(tf.float32, [2])

    assert tf.gradients(tf.straight_through(tf.round)(x), x) != [None]
    assert tf.gradients(tf.round(x), x, overrides={"Round": rules.surrogate()}) != [None]


def _branch(x):
    return tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.tanh(x), lambda: tf.exp(x))


def _loop(x):
    return tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.tanh(tf.exp(a))), [0, x])[1]


@pytest.mark.parametrize("program", [_branch, _loop])
def test_reaches_into_bodies(program):
    x = tf.placeholder(tf.float32, [2])
    told = tf.explain_gradients(program(x), x, overrides={"Tanh": twice})

    assert {s.type: s.status for s in told.steps if s.type in ("Tanh", "Exp")} == {"Tanh": "overridden", "Exp": "rule"}
    assert told.targets[0].gradient


def test_leaves_out_what_only_goes_into_a_body():
    x, z = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32, [2])
    _, y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x + tf.tanh(z)), [0, x])
    y = tf.cond(tf.reduce_sum(x) > 0.0, lambda: y * tf.exp(z), lambda: y)

    assert not {s.type for s in tf.explain_gradients(y, x).steps if s.status == "rule"} & {"Tanh", "Exp"}
    assert {s.type for s in tf.explain_gradients(y, z).steps if s.status == "rule"} >= {"Tanh", "Exp"}


def _shape(graph):
    return [(op.name, len(op.outputs), len(op.attrs.get("body", op).outputs)) for op in graph._ops]


def _second_order(x):
    return tf.gradients(tf.exp(x) * x, x)[0]


@pytest.mark.parametrize("program", [_branch, _loop, _second_order])
def test_changes_nothing(program, fresh_graph):
    x = tf.placeholder(tf.float32, [2])
    y = program(x)
    before, override = _shape(fresh_graph), tf.Override("Exp", twice)
    names = dict(fresh_graph._names_in_use)
    tf.explain_gradients(y, x, overrides=[override])

    assert _shape(fresh_graph) == before
    assert fresh_graph._names_in_use == names
    assert not fresh_graph._finalized
    assert override.caught == 0


def test_a_rule_that_adds_to_the_graph_is_not_tried():
    x, y = _net()
    graph = tf.get_default_graph()

    def rule(op, dy):
        with graph.as_default():
            return dy * tf.constant(2.0)

    told = tf.explain_gradients(y, x, overrides={"Tanh": rule})

    assert "not tried out" in told["head/h"].note
    assert told.targets[0].gradient


@pytest.mark.parametrize("program", [CUTS[c][0] for c in CUTS] + [_branch, _loop, tf.tanh, lambda x: tf.gather(x, [0]),
                                     lambda x: tf.concat([x, tf.round(x)], 0), lambda x: x])
def test_says_what_gradients_does(program):
    x, other = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32, [2])
    y = program(x)

    assert [t.gradient for t in tf.explain_gradients(y, [x, other]).targets] == [
        g is not None for g in tf.gradients(y, [x, other])]


def test_unused_override_is_told():
    x, y = _net()

    assert "Relu" in tf.explain_gradients(y, x, overrides={"Relu": twice}).unused[0]


def test_group():
    x, y = _net()
    h = tf.get_default_graph().get_tensor_by_name("head/h:0")
    told = tf.explain_gradients(y, x, overrides={sel.group([x], [h], "block"): twice})

    assert told["block"].status == "overridden"
    assert told["head/h"].status == "inside a group"


def test_diff():
    x, y = _net()
    plain, other = tf.explain_gradients(y, x), tf.explain_gradients(y, x, overrides={"Tanh": twice})
    cut = tf.explain_gradients(y, x, stop_gradients=[y.op.inputs[0]])

    assert not plain.diff(tf.explain_gradients(y, x))
    assert [name for name, _, _ in plain.diff(other).changes] == ["head/h"]
    assert plain.diff(cut).xs == [("x:0", True, False)]
    assert "twice" in str(plain.diff(other))


class _Balanced(HTMLParser):
    """Fails on a tag that is not closed, and collects what is there."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.links = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [v for k, v in attrs if k in ("src", "href")]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_page(tmp_path):
    x, y = _net()
    told = tf.explain_gradients(tf.cond(y > 0.0, lambda: tf.exp(x) * y, lambda: x), x, overrides={"Tanh": twice})
    told.html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    parsed = _Balanced(page)

    assert page.count("<div class='rung") == len(told.steps) and "details" in parsed.tags
    assert parsed.links == [] and "http:" not in page and "url(" not in page  # nothing from elsewhere
    assert "tf.tanh(x, name=" in page and "overridden</span>" in page and page.count("class='rung over'") == 1
    assert _Balanced(told._repr_html_()).tags.count("details") == parsed.tags.count("details")


def test_page_draws_the_edges_of_both_graphs():
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.name_scope("a"):
        h = tf.tanh(x, name="h")
    y = tf.add(h * h, tf.stop_gradient(h), name="y")
    rungs = re.findall(r"data-in='([\d ]*)' data-to='([\d ]*)'><div class='f' title='([^']*)'",
                       tf.explain_gradients(y, x)._repr_html_())

    assert rungs == [("", "", "a/h"), ("0", "0", "mul"), ("0", "", "StopGradient"), ("1 2", "1 2", "y")]


def test_page_folds_scopes_and_bodies():
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.name_scope("big"):
        y = x
        for _ in range(70):
            y = tf.tanh(y)
    with tf.name_scope("alone"), tf.name_scope("too"):
        y = tf.exp(y, name="e")
    with tf.name_scope("net"):
        y = tf.while_loop(lambda i, h: i < 2, lambda i, h: (i + 1, tf.sin(tf.cos(h))), (0, y))[1]
    page = tf.explain_gradients(y, x)._repr_html_()
    scopes = re.findall(r"<details class='scope'( open)?><summary>([^<]*)<", page)

    assert scopes == [("", "big"), (" open", "net/while"), (" open", "While: body")]
    assert "<b>alone/too/e</b>" in page  # a scope of one operation is no block
    assert page.index("<b>While</b>") < page.index("While: body") < page.index("<b>Cos</b>") < page.index("<b>Sin</b>")


def test_page_marks_where_paths_end():
    x = tf.placeholder(tf.float32, [2], name="x")
    page = tf.explain_gradients(tf.to_float(tf.argmax(x, name="choice")) + tf.reduce_sum(x), x)._repr_html_()

    assert page.count("class='rung cut'") == 1 == page.count("a path ends here: its output is int64")
    assert page.index("a path ends here") > page.index("<b>choice</b>")


def test_a_mask_is_no_missed_path():
    x = tf.placeholder(tf.float32, [None, 3])
    told = tf.explain_gradients(tf.nn.dropout(x, rate=0.5), x)

    assert told.targets[0].gradient and told.targets[0].cuts == []


def test_json_and_dot():
    x, y = _net()
    told = tf.explain_gradients(y, x, overrides={"Tanh": twice})
    data = json.loads(told.to_json())

    assert {s["name"]: s["rule"] for s in data["steps"]}["head/h"] == "twice"
    assert data["xs"] == [{"name": "x:0", "gradient": True, "reason": "", "cuts": []}]
    assert '"head/h" -> "e";' in told.to_dot() and "penwidth=3" in told.to_dot()


def test_shows_with_rich(capsys):
    x, y = _net()
    tf.explain_gradients(y, x).show()

    assert "Tanh" in capsys.readouterr().out


def test_linear_in_the_graph():
    x = y = tf.placeholder(tf.float32, [])
    for _ in range(3000):
        y = -y

    assert len(tf.explain_gradients(y, x).steps) == 3000


@pytest.mark.parametrize("make", [
    lambda x, w: tf.custom_gradient(lambda x: (tf.log(x) * w, lambda dy: dy))(x),
    lambda x, w: tf.straight_through(tf.round)(x) * tf.stop_gradient(w),
    lambda x, w: tf.recompute_grad(lambda x: tf.sin(x) * w)(x),
])
def test_a_rule_that_stands_for_a_way_cuts_no_path(make):
    x, w = tf.constant([1.0]), tf.constant([2.0])

    inside, captured = tf.explain_gradients(make(x, w), [x, w]).targets

    assert inside.gradient and inside.cuts == []
    assert not captured.gradient and len(captured.cuts) == 1
    assert captured.cuts[0].type == "StopGradient" or "make it an argument" in captured.cuts[0].cure


def test_a_rule_that_reads_a_tensor_from_outside_a_loop_leaves_the_loop_as_it_was():
    x, scale = tf.placeholder(tf.float32, []), tf.constant(3.0) * 1.0
    y = tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, tf.sin(a)), [0, x])[1]
    loop = y.op.inputs[0].op
    before = len(loop.attrs["body"].inputs), len(loop.attrs["body"]._ops)
    told = tf.explain_gradients(y, x, overrides={"Sin": lambda op, dy: dy * scale})
    assert [s.status for s in told.steps if s.type == "Sin"] == ["overridden"]
    assert (len(loop.attrs["body"].inputs), len(loop.attrs["body"]._ops)) == before


def _past(x):
    @tf.custom_gradient
    def f(a):
        return a * x, lambda dy: dy

    return f(tf.ones([2]))


def _weighted(x):
    return tf.tanh(x * 2.0, name="h") * 3.0


def _group(graph):
    return sel.group([graph.get_tensor_by_name("x:0")], [graph.get_tensor_by_name("h:0")])


def _name(name):
    return lambda graph: graph.get_tensor_by_name(name)


WAYS = {  # y of x; options of the call, made of the graph; the x asked about, x by default; words of why_none
    "a way that ends beside one that goes on": (lambda x: tf.stop_gradient(x) * x, {}, None,
                                                "some ways to it end.*StopGradient"),
    "all is well": (lambda x: tf.tanh(x) * x, {}, None, "gets a gradient.$"),
    "a linear function's gradient": (lambda x: tf.gradients(x * 2.0, x)[0], {}, None, "no more than its shape"),
    "stop_gradients": (lambda x: tf.tanh(x, name="h") * 2.0, {"stop_gradients": _name("h:0")}, None, "Cure: take it out"),
    "earlier gradients": (lambda x: tf.gradients(x * x * x, x)[0] * 2.0, {"through_gradients": lambda g: False}, None,
                          "through_gradients=False"),
    "a group's rule": (_weighted, {"overrides": lambda g: {_group(g): lambda group, dy: [None]}}, None,
                       "group.*gives None for x:0"),
    "a condition of a loop": (lambda x: tf.while_loop(lambda i, a: i < x[0], lambda i, a: (i + 1.0, a * 2.0),
                                                      [0.0, tf.ones([2])])[1], {}, None, "how many turns"),
    "an assignment": (lambda x: tf.assign(tf.Variable([1.0, 2.0], name="w"), x) * 2.0, {}, "w:0", "takes its place"),
    "past a function's arguments": (_past, {}, None, "the way leads past them"),
    "known gradients": (lambda x: tf.tanh(x, name="h") * 2.0,
                        {"known_gradients": lambda g: {_name("h:0")(g): [1.0, 1.0]}}, None, "gets a gradient.$"),
    "a rule that stops": (tf.tanh, {"overrides": lambda g: {"Tanh": rules.stop()}}, None, r"'stop\(\)' gives None"),
    "an unread TensorArray": (lambda x: tf.to_float(tf.TensorArray(tf.float32, 2).unstack(x).size()), {}, None,
                              "TensorArraySize"),
}


@pytest.mark.parametrize("case", WAYS)
def test_why_none_says_what_gradients_does(case, fresh_graph):
    program, options, asked, words = WAYS[case]
    x = tf.placeholder(tf.float32, [2], name="x")
    y = program(x)
    x = x if asked is None else fresh_graph.get_tensor_by_name(asked)
    options = {key: make(fresh_graph) for key, make in options.items()}
    said = tf.why_none(y, x, **options)

    assert (tf.gradients(y, x, **options)[0] is None) == (" gets None" in said)
    assert re.search(words, said, re.S), said
    assert html.escape(said.split("\n")[0]) in said._repr_html_()
