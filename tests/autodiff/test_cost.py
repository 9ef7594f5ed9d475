"""What overriding costs, counted and not timed: operations of the graph, and products in the compiled program."""

import numpy as np
import pytest

import regrad as tf
from regrad import rules, sel
from regrad.runtime import config, segment

WIDTH, LAYERS = 48, 3


@pytest.fixture
def compiling(monkeypatch):
    monkeypatch.setattr(config, "host_runs", 0)
    monkeypatch.setattr(config, "tiny_ops", 0)
    monkeypatch.setattr(config, "cache_dir", None)


def network(relu=tf.nn.relu):
    x = tf.placeholder(tf.float32, [4, WIDTH])
    h = x
    for k in range(LAYERS):
        h = relu(tf.matmul(h, tf.constant(np.random.RandomState(k).randn(WIDTH, WIDTH), tf.float32)))
    return x, tf.reduce_sum(h)


def compiled(fetches, x):
    """Returns the optimised programs of a run, as text."""
    segment.clear_cache()
    with tf.Session() as session:
        session.run(fetches, {x: np.ones((4, WIDTH), np.float32)})
    return "".join(e.executable.as_text() for e in segment._cache.values())


def products(text):
    return text.count(" dot(") + text.count("__onednn$matmul") + text.count("custom_call_target=\"__cpu$")


def guided(y, dy):
    return tf.where(tf.logical_and(y > 0.0, dy > 0.0), dy, tf.zeros_like(dy))


def operations(prepare=None, **options):
    with tf.Graph().as_default() as graph:
        x, y = network()
        if prepare is not None:
            prepare(x)
        before = len(graph.get_operations())
        tf.gradients(y, x, **options)
        return [op.type for op in graph.get_operations()[before:]]


def test_an_unused_override_adds_no_operation():
    plain = operations()
    assert operations(lambda x: tf.set_graph_rule("LRN", guided)) == plain
    assert operations(lambda x: tf.attach(tf.exp(x), guided)) == plain
    nothing = tf.Override(sel.scope("elsewhere"), guided, optional=True)
    assert operations(view=tf.View("v", [nothing])) == plain
    with tf.overriding([tf.Override("LRN", guided, optional=True)]):
        assert operations() == plain


def test_an_override_compiles_to_what_is_written_by_hand(compiling):
    @tf.custom_gradient
    def relu(v):
        y = tf.nn.relu(v)
        return y, lambda dy: guided(y, dy)

    texts = []
    for by_hand in (True, False):
        x, y = network(relu if by_hand else tf.nn.relu)
        overrides = None if by_hand else {"Relu": lambda op, dy: guided(op.outputs[0], dy)}
        texts.append(compiled(tf.gradients(y, x, overrides=overrides), x))
    by_hand, overridden = (len(t.splitlines()) for t in texts)
    assert products(texts[0]) == products(texts[1]) == 2 * LAYERS
    assert overridden <= by_hand


def test_views_share_the_forward_pass(compiling):
    x, y = network()
    views = [tf.View(f"v{k}", {"Relu": rules.default >> rules.scale(2.0 + k)}) for k in range(4)]
    passes = list(tf.view_gradients(y, x, views).values())
    one, four = compiled(passes[0], x), compiled(passes, x)
    assert products(one) == 2 * LAYERS and products(four) == 5 * LAYERS  # one forward pass, four backward
    assert len(four.splitlines()) < 3 * len(one.splitlines())


def test_contracts_compile_in_without_cutting_segments(compiling):
    x, y = network()
    plain = tf.gradients(y, x)[0]
    promised = tf.gradients(y, x, overrides={"Relu": rules.default >> tf.inspect.expect(nonzero=0.01, norm=(None, 1e9))})[0]
    compiled(plain, x)
    segments = len(segment._cache)
    compiled(promised, x)
    assert len(segment._cache) == segments == 1
