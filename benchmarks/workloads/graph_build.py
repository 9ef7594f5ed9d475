"""Building a graph and its gradients, per op of the graph, at growing size: it must stay linear.

PyTorch records no graph ahead of a run. JAX's trace of the same chain is reported beside the two graph
libraries but is not scored as a peer: its equations have no names, scopes, source lines or rules to override.

Building is one thread's work, so processor time is taken: it is what passes on a machine left alone.
"""

import statistics
import time

ROWS = {f"graph of {n:,} ops": {"n": n} for n in (2_000, 20_000, 100_000)}
QUICK = {f"graph of {n:,} ops": {"n": n} for n in (2_000, 20_000)}
METRICS = ("build/op", "gradients/op")
PEERS = ("tensorflow",)
REPEATS = 1
TIMEOUT = 240


def data(n):
    return {}


def tf1_program(tf, data, n):
    def build(links):
        with tf.Graph().as_default() as graph:
            x = tf.placeholder(tf.float32, [16])
            w = tf.placeholder(tf.float32, [16])
            start = time.process_time()
            h = x
            for _ in range(links):
                h = tf.tanh(tf.multiply(h, w))
            built = time.process_time()
            gradients = tf.gradients(h, [x, w])
            done = time.process_time()
        assert None not in gradients and len(graph.get_operations()) > 4 * links
        return (built - start) / n, (done - built) / n

    build(10)  # a process's first gradients load modules
    rounds = [build(n // 2) for _ in range(max(1, 20_000 // n))]
    return {metric: statistics.median(costs) for metric, costs in zip(METRICS, zip(*rounds), strict=True)}


def jax_program(jax, data, n):
    jnp = jax.numpy
    x = jnp.ones(16)

    def chain(h, w):
        for _ in range(n // 2):
            h = jnp.tanh(h * w)
        return h.sum()

    jax.make_jaxpr(jax.grad(lambda x: jnp.tanh(x * x).sum()))(x)  # a process's first trace loads modules
    start = time.process_time()
    jax.make_jaxpr(chain)(x, x)
    built = time.process_time()
    jax.make_jaxpr(jax.grad(chain, (0, 1)))(x, x)
    done = time.process_time()
    # The second trace repeats the first.
    return {"build/op": (built - start) / n, "gradients/op": (done - 2 * built + start) / n}


def summary(rows):
    """Returns lines on linearity: cost per op of the largest graph over that of the smallest."""
    if len(rows) < 2:
        return []
    small, *_, large = rows.values()
    lines = []
    for metric in METRICS:
        growth = [f"{system} {large[system][metric] / small[system][metric]:.2f}"
                  for system in large if metric in large[system] and metric in small.get(system, {})]
        lines.append(f"{metric}, largest graph over smallest (1 is linear): {', '.join(growth) or '-'}")
    return lines
