"""Random programs for the laws of gradients: the steps they are made of, in Regrad and in TensorFlow alike.

A program is a list of steps (kind, first operand, second operand) over matrices; operands count backwards from the latest.

    python tests/autodiff/random_programs.py        (with TensorFlow 2.x, used as its version 1)

records what TensorFlow answers for a sample of them in `tensorflow.npz`; `make oracle` runs it.
"""

import pathlib

import numpy as np

SIZE = 3
X = np.random.RandomState(11).uniform(-1, 1, (SIZE, SIZE))
C = np.random.RandomState(12).uniform(-1, 1, (SIZE, SIZE))
U = np.random.RandomState(13).uniform(-1, 1, (SIZE, SIZE))
RECORDED = pathlib.Path(__file__).with_name("tensorflow.npz")


def table(tf):
    """Returns {kind: function of two matrices} in the words of `tf`."""
    return {
        "tanh": lambda a, b: tf.tanh(a),
        "sin": lambda a, b: tf.sin(a),
        "sigmoid": lambda a, b: tf.sigmoid(a),
        "bump": lambda a, b: tf.exp(-tf.square(a)),
        "relu": lambda a, b: tf.nn.relu(a + 0.1),
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - 0.5 * b,
        "mul": lambda a, b: a * b,
        "max": lambda a, b: tf.maximum(a, b * 0.9),
        "div": lambda a, b: a / (1.5 + tf.square(b)),
        "matmul": lambda a, b: tf.matmul(a, b) * 0.5,
        "transposed": lambda a, b: tf.matmul(a, b, transpose_b=True) * 0.5,
        "mean": lambda a, b: a * tf.reduce_mean(b, axis=1, keepdims=True),
        "sum": lambda a, b: a + 0.1 * tf.reduce_sum(b),
        "softmax": lambda a, b: tf.nn.softmax(a),
        "columns": lambda a, b: tf.concat([a[:, 1:], b[:, :1]], 1),
        "choice": lambda a, b: tf.cond(tf.reduce_sum(a) > 0.0, lambda: tf.sin(a) * b, lambda: a + tf.tanh(b)),
        "loop": lambda a, b: tf.while_loop(lambda i, h: i < 2, lambda i, h: (i + 1, tf.tanh(h * b + a)), (0, a))[1],
    }


def steps(tf, program, x, c, each=lambda i, t: t, kinds=None):
    """Returns the matrices that a program makes of `x` and `c`; `each` may replace them as they are made."""
    made, kinds = [c, x], kinds or table(tf)
    for i, (kind, a, b) in enumerate(program):
        made.append(each(i, kinds[kind](made[-1 - a % len(made)], made[-1 - b % len(made)])))
    return made[2:]


def place(tf, program, where, x, c, kinds=None):
    """Returns the last matrix of a program that stands flat, in a branch, in a loop of one turn, mapped, or recomputed."""
    body = lambda h: steps(tf, program, h, c, kinds=kinds)[-1]  # noqa: E731
    if where == "branch":
        return tf.cond(tf.reduce_sum(x) > -100.0, lambda: body(x), lambda: x)
    if where == "loop":
        return tf.while_loop(lambda i, h: i < 1, lambda i, h: (i + 1, body(h)), (0, x))[1]
    if where == "mapped":
        return tf.map_fn(body, x[None])[0]
    if where == "recomputed":
        return tf.recompute_grad(body)(x)
    return body(x)


def sample(n=32):
    """Returns `n` programs (steps, where), always the same ones."""
    draw, kinds = np.random.RandomState(7), sorted(table(None))
    return [([(kinds[draw.randint(len(kinds))], int(draw.randint(5)), int(draw.randint(5))) for _ in range(draw.randint(2, 8))],
             ("flat", "flat", "branch", "loop")[draw.randint(4)]) for _ in range(n)]


def answers(tf, program, where):
    """Returns value, gradient, gradient of the gradient (of flat programs), and gradient under a block of overrides."""
    with tf.Graph().as_default() as graph:
        x, c = tf.placeholder(tf.float64, [SIZE, SIZE]), tf.constant(C)
        y = place(tf, program, where, x, c)
        first = tf.gradients(y, x, grad_ys=[tf.constant(U)], unconnected_gradients="zero")[0]
        wanted = {"value": y, "gradient": first}
        if where == "flat" and not {"choice", "loop"} & {s[0] for s in program}:
            wanted["second"] = tf.gradients(tf.reduce_sum(first * C), x, unconnected_gradients="zero")[0]
            with graph.gradient_override_map({"Tanh": "LawTanh", "MatMul": "LawMatMul"}):
                again = place(tf, program, where, x, c)
            wanted["overridden"] = tf.gradients(again, x, grad_ys=[tf.constant(U)], unconnected_gradients="zero")[0]
        with tf.Session() as session:
            return session.run(wanted, {x: X})


def register(tf):
    """Registers the rules that `answers` overrides with."""
    tf.RegisterGradient("LawTanh")(lambda op, dy: -2.0 * dy * op.outputs[0])
    tf.RegisterGradient("LawMatMul")(lambda op, dy: (0.5 * dy, dy * op.inputs[0]))


def main():
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    register(tf)
    got = {f"{i} {name}": value for i, (program, where) in enumerate(sample())
           for name, value in answers(tf, program, where).items()}
    np.savez_compressed(RECORDED, **got)
    print(f"{len(got)} answers of TensorFlow {tf.__version__} in {RECORDED.name}")


if __name__ == "__main__":
    main()
