"""A five-line program as a whole process: import, graph, gradient, session, first result, exit."""

from systems import IMPORT_LINE

ROWS = {"five-line script": {}}
METRICS = ("process", "import", "memory")
IMPORT_LIMIT = 0.15  # seconds for `import regrad`, NumPy included

# A module may load its parts when they are asked for, so the import is over when the first name is at hand.
FIRST_USE = {"tensorflow": "tf.placeholder", "torch": "torch.tensor", "jax": "jnp.array"}

TF1 = """
x = tf.placeholder(tf.float32, [3])
w = tf.Variable(2.0)
y = tf.reduce_sum(tf.square(w * x))
sess = tf.Session(); sess.run(tf.global_variables_initializer())
results = sess.run([y, tf.gradients(y, w)[0]], {x: [1.0, 2.0, 3.0]})
"""
TORCH = """
x = torch.tensor([1.0, 2.0, 3.0])
w = torch.tensor(2.0, requires_grad=True)
y = ((w * x) ** 2).sum()
y.backward()
results = [y.item(), w.grad.item()]
"""
JAX = """
x = jnp.array([1.0, 2.0, 3.0])
loss = lambda w: jnp.sum((w * x) ** 2)
results = jax.jit(jax.value_and_grad(loss))(2.0)
"""


def summary(rows):
    """Returns a line on Regrad's import against its limit."""
    spent = [figures["regrad"]["import"] for figures in rows.values() if "regrad" in figures]
    return [f"import regrad: {t:.3f} s, limit {IMPORT_LIMIT} s: {'met' if t < IMPORT_LIMIT else 'EXCEEDED'}"
            for t in spent]


def script(system):
    """Returns the program, between the lines that time its import and print its result."""
    body = {"torch": TORCH, "jax": JAX}.get(system, TF1)
    return f"""
import time
start = time.perf_counter()
{IMPORT_LINE[system]}
{FIRST_USE.get(system, FIRST_USE["tensorflow"])}
imported = time.perf_counter() - start
{body}
import json
print(json.dumps({{"figures": {{"import": imported}}, "results": [float(r) for r in results]}}))
"""
