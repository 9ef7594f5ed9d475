"""What overriding costs, as ratios within Regrad: no peer has anything to compare with.

unused: building gradients while overrides are in force that catch nothing, over building them without. Overridden: a network
whose ReLUs get another rule by an override, over the same network with the rule written into it as custom gradients; time and
size of what is compiled. Views: n backward passes in one run, over n runs of one. Selecting: cost per operation at 100,000
operations over that at 10,000.
"""

import statistics
import time

import numpy as np

from shared import tf1_session, tf1_variables, weights

ROWS = {
    "unused override": {"what": "unused", "n": 20_000},
    "override against hand-written": {"what": "written", "n": 8},
    "views in one run": {"what": "views", "n": 8},
    "selecting among operations": {"what": "selecting", "n": 100_000},
}
QUICK = {
    "unused override": {"what": "unused", "n": 4_000},
    "override against hand-written": {"what": "written", "n": 4},
    "views in one run": {"what": "views", "n": 4},
    "selecting among operations": {"what": "selecting", "n": 20_000},
}
METRICS = ("steady",)
PEERS = ()
REPEATS = 1
UNITS, BATCH, LAYERS = 512, 256, 4


def data(what, n):
    return {"weights": weights(*[(UNITS, UNITS)] * LAYERS),
            "x": np.random.default_rng(1).standard_normal((BATCH, UNITS), np.float32)}


def tf1_program(tf, data, what, n):
    if not hasattr(tf, "View"):
        return {}
    return {"unused": unused, "written": written, "views": views, "selecting": selecting}[what](tf, data, n)


def chain(tf, n):
    x = tf.placeholder(tf.float32, [16])
    h = x
    for i in range(n // 2):
        with tf.name_scope(f"block{i // 100}"):
            h = tf.tanh(tf.multiply(h, x))
    return x, h


def alternating(rounds, *functions):
    """Returns the median time of each function, called in turn."""
    taken = [[] for _ in functions]
    for _ in range(rounds):
        for times, function in zip(taken, functions, strict=True):
            start = time.perf_counter()
            function()
            times.append(time.perf_counter() - start)
    return [statistics.median(times) for times in taken]


def unused(tf, data, n):
    from regrad import sel

    def build(prepare):
        def gradients():
            with tf.Graph().as_default():
                x, h = chain(tf, n)
                options = prepare(x) or {}
                start = time.process_time()
                tf.gradients(h, x, **options)
                taken.append(time.process_time() - start)

        taken = []
        return gradients, taken

    def rule(op, *dys, default):
        return default()

    ways = {
        "none": build(lambda x: None),
        "rule of the graph": build(lambda x: tf.set_graph_rule("LRN", rule) and None),
        "attached off the path": build(lambda x: tf.attach(tf.exp(x), rule) and None),
        "view": build(lambda x: {"view": tf.View("v", {sel.scope("elsewhere"): rule})}),
    }
    for _ in range(5):
        for gradients, _ in ways.values():
            gradients()
    times = {name: statistics.median(taken) for name, (_, taken) in ways.items()}
    return {f"unused, {name}": taken / times["none"] for name, taken in times.items() if name != "none"}


def network(tf, data, relu):
    x = tf.placeholder(tf.float32, [BATCH, UNITS])
    variables, start = tf1_variables(tf, data["weights"])
    h = x
    for w in variables:
        h = relu(tf.matmul(h, w))
    return x, tf.reduce_sum(h), tf1_session(tf, start)


def timed(session, fetches, feed):
    """Returns (a function that runs, the size of what was compiled for it in lines of optimised HLO)."""
    from regrad.runtime import segment

    segment.clear_cache()
    for _ in range(5):
        session.run(fetches, feed)
    size = sum(len(e.executable.as_text().splitlines()) for e in segment._cache.values() if e.executable is not None)
    return lambda: session.run(fetches, feed), size


def guided(tf, y, dy):
    return tf.where(tf.logical_and(y > 0.0, dy > 0.0), dy, tf.zeros_like(dy))


def written(tf, data, n):
    @tf.custom_gradient
    def relu(v):
        y = tf.nn.relu(v)
        return y, lambda dy: guided(tf, y, dy)

    runs, sizes = [], []
    for by_hand in (True, False):
        with tf.Graph().as_default():
            x, y, session = network(tf, data, relu if by_hand else tf.nn.relu)
            overrides = None if by_hand else {"Relu": lambda op, dy: guided(tf, op.outputs[0], dy)}
            run, size = timed(session, tf.gradients(y, x, overrides=overrides), {x: data["x"]})
            runs.append(run)
            sizes.append(size)
    by_hand, overridden = alternating(10 * n, *runs)
    return {"overridden, time": overridden / by_hand, "overridden, size": sizes[1] / sizes[0]}


def views(tf, data, n):
    from regrad import rules

    with tf.Graph().as_default():
        x, y, session = network(tf, data, tf.nn.relu)
        named = [tf.View(f"view{k}", {"Relu": rules.default >> rules.scale(1.0 + k)}) for k in range(n)]
        passes = list(tf.view_gradients(y, x, named).values())
        one, size_of_one = timed(session, passes[0], {x: data["x"]})
        together, size = timed(session, passes, {x: data["x"]})
        forward, _ = timed(session, y, {x: data["x"]})
        one, together, forward = alternating(40, one, together, forward)
    return {f"{n} views, time": together / (n * one), f"{n} views, size": size / (n * size_of_one),
            "forward, share of one pass": forward / one}


def selecting(tf, data, n):
    from regrad import sel

    figures = {}
    for size in (n // 10, n):
        with tf.Graph().as_default() as graph:
            x, h = chain(tf, size)
            selectors = {
                "type": sel.type("Tanh"), "name": sel.name("*Mul_1*"), "scope": sel.scope("block3"),
                "predicate": sel.where(lambda op: len(op.inputs) == 2), "position": sel.last(sel.type("Mul")),
                "between": sel.between(x, h), "combined": (sel.type("Tanh") & sel.scope("block1", "block2")) - sel.name("*_5"),
            }
            for name, selector in selectors.items():
                cost, = alternating(3, lambda selector=selector: selector.select(graph))
                figures.setdefault(name, []).append(cost / len(graph.get_operations()))
    return ({f"selecting, {name}: us per op": costs[1] * 1e6 for name, costs in figures.items()}
            | {f"selecting, {name}: growth": costs[1] / costs[0] for name, costs in figures.items()})


def summary(rows):
    """Returns the ratios as lines."""
    return [f"{metric}: {value:.2f}" for figures in rows.values() for metric, value in figures.get("regrad", {}).items()
            if metric != "memory"]
