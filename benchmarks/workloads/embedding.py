"""One Adagrad step on 4,096 rows of an embedding of a million rows of 64: the gradient must stay sparse.

Some ids occur twice in a batch, and their gradients have to be added before they are squared.
"""

import itertools

import numpy as np

from shared import tf1_session, tf1_variables, torch_step

ROWS = {"embedding 1,000,000 x 64, Adagrad": {"rows": 1_000_000, "ids": 4096}}
QUICK = {"embedding 100,000 x 64, Adagrad": {"rows": 100_000, "ids": 4096}}
REPEATS = 2
WIDTH, RATE, START, BATCHES = 64, 0.1, 0.1, 8


def data(rows, ids):
    rng = np.random.default_rng(1)
    batches = rng.integers(0, rows, (BATCHES, ids)).astype(np.int32)
    batches[:, :64] = batches[:, 64:128]
    return {
        "table": np.resize(rng.standard_normal((10_007, WIDTH), np.float32), (rows, WIDTH)),
        "ids": batches,
        "target": rng.standard_normal((ids, WIDTH), np.float32),
    }


def tf1_program(tf, data, rows, ids):
    chosen = tf.placeholder(tf.int32, [ids])
    target = tf.placeholder(tf.float32, [ids, WIDTH])
    (table,), start = tf1_variables(tf, [data["table"]])
    loss = tf.reduce_sum(tf.square(tf.nn.embedding_lookup(table, chosen) - target))
    train = tf.train.AdagradOptimizer(RATE, initial_accumulator_value=START).minimize(loss)
    session = tf1_session(tf, start)
    batches = itertools.cycle(data["ids"])
    return lambda: session.run([loss, train], {chosen: next(batches), target: data["target"]})[0]


def torch_program(torch, data, rows, ids):
    table = torch.tensor(data["table"], requires_grad=True)
    optimizer = torch.optim.Adagrad([table], lr=RATE, initial_accumulator_value=START, eps=0)
    batches = itertools.cycle(data["ids"])

    def loss_of():
        chosen = torch.from_numpy(next(batches))
        found = torch.nn.functional.embedding(chosen, table, sparse=True)
        return (found - torch.from_numpy(data["target"])).square().sum()

    return torch_step(optimizer, loss_of)


def jax_program(jax, data, rows, ids):
    jnp = jax.numpy

    def adagrad(table, total, chosen, target):
        # The gradient with respect to the rows found, not to the table, is what keeps it sparse in JAX.
        loss, gradient = jax.value_and_grad(lambda found: jnp.sum((found - target) ** 2))(table[chosen])
        order = jnp.argsort(chosen)
        chosen, gradient = chosen[order], gradient[order]
        first = jnp.concatenate([jnp.ones(1, bool), chosen[1:] != chosen[:-1]])
        slot = jnp.cumsum(first) - 1
        gradient = jax.ops.segment_sum(gradient, slot, ids, indices_are_sorted=True)
        # Slots beyond the distinct ids point outside the table and are dropped.
        chosen = jnp.full(ids, rows).at[slot].set(chosen)
        total = total.at[chosen].add(gradient**2, mode="drop")
        table = table.at[chosen].add(-RATE * gradient / jnp.sqrt(total[chosen]), mode="drop")
        return table, total, loss

    run = jax.jit(adagrad, donate_argnums=(0, 1))
    table = jnp.array(data["table"])
    state = [table, jnp.full_like(table, START)]
    batches = itertools.cycle(data["ids"])

    def step():
        *state[:], loss = run(*state, next(batches), data["target"])
        return float(loss)

    return step
