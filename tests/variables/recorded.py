"""Variables, variable scopes, initializers and random numbers: programs for both systems (see `tests/recorded.py`)."""
import numpy as np

from tests.recorded import graph_lines, refusal


# -- graphs --------------------------------------------------------------------------------------------
def variables(tf):
    w = tf.Variable(1.0, name="w")
    tf.Variable([1, 2])
    tf.Variable(tf.zeros([3]), name="w")
    tf.Variable(lambda: tf.ones([2]), name="late")
    with tf.name_scope("n"):
        tf.Variable(1.0)
    w.assign(2.0)
    w.assign_add(1.0)
    tf.assign(w, 3.0)
    tf.assign_sub(w, 3.0, name="less")
    w + 1
    tf.global_variables_initializer()


def initializers(tf):
    for name in ("zeros ones constant random_normal truncated_normal uniform_unit_scaling variance_scaling glorot_uniform "
                 "glorot_normal").split():
        tf.get_variable(name, [3, 3], initializer=getattr(tf, name + "_initializer")())
    for name in "he_normal he_uniform lecun_normal lecun_uniform".split():
        tf.get_variable(name, [3, 3, 2, 4], initializer=getattr(tf.initializers, name)())
    tf.get_variable("uniform", [3], initializer=tf.random_uniform_initializer(-2, 3))
    tf.get_variable("uniform_int", [3], tf.int32, tf.random_uniform_initializer(0, 10, dtype=tf.int32))
    tf.get_variable("int", [3], dtype=tf.int32)
    tf.get_variable("big", [100, 100], initializer=tf.zeros_initializer)
    tf.get_variable("list", initializer=[1.0, 2.0])
    tf.get_variable("function", initializer=lambda: tf.ones([2]))
    tf.get_variable("tensor", initializer=tf.constant([1.0, 2.0]))


def scopes(tf):
    with tf.variable_scope("a") as s:
        tf.get_variable("x", [1])
        tf.identity(1.0)
        with tf.variable_scope("b"):
            tf.get_variable("x", [1])
    with tf.variable_scope("a", reuse=True):
        tf.get_variable("x")
        tf.identity(1.0)
    with tf.variable_scope(s) as t:
        tf.identity(1.0, name=f"reuse_{bool(t.reuse)}_{t.name}_{t.original_name_scope[:-1]}")
        tf.get_variable("y", [1])
        with tf.name_scope(t.original_name_scope):
            tf.identity(2.0, name="q")
    for _ in range(3):
        with tf.variable_scope(None, "d"):
            tf.get_variable("z", [1])
            tf.identity(1.0)
    with tf.variable_scope(None, "d"):
        with tf.variable_scope(None, "e"):
            tf.get_variable("z", [1])
        with tf.variable_scope(None, "e"):
            tf.get_variable("z", [1])
    with tf.variable_scope("d_3", auxiliary_name_scope=False):
        tf.identity(1.0)
        with tf.variable_scope("deep") as deep:
            tf.identity(1.0)
    with tf.variable_scope(s, reuse=tf.AUTO_REUSE):
        tf.get_variable("x", [1])
        tf.get_variable("k", [2])
        with tf.variable_scope("in") as inner:
            tf.identity(1.0, name=f"reuse_{inner.reuse is tf.AUTO_REUSE}")
    with tf.variable_scope("p"):
        with tf.variable_scope(deep):
            tf.get_variable("z", [1])
            tf.identity(1.0)
        with tf.variable_scope(""):
            tf.get_variable("e", [1])
            tf.identity(1.0)
    with tf.variable_scope("", reuse=tf.AUTO_REUSE):
        tf.get_variable("root", [1])
        tf.identity(1.0)
    with tf.variable_op_scope([], None, "op_scope"):
        tf.get_variable("v", [1])


def getters(tf):
    def outer(getter, name, *args, **kwargs):
        tf.identity(1.0, name="outer_" + "_".join(sorted(k for k in kwargs if k not in ("synchronization", "aggregation"))))
        return getter(name + "_o", *args, **kwargs)

    def inner(getter, name, *args, **kwargs):
        return 2 * getter(name + "_i", *args, **kwargs)

    with tf.variable_scope("a", custom_getter=outer):
        tf.get_variable("x", [1])
        with tf.variable_scope("b", custom_getter=inner):
            tf.get_variable("x", [1])


def partitions(tf):
    with tf.variable_scope("parts", partitioner=tf.fixed_size_partitioner(3)):
        tf.identity(tf.get_variable("x", [7, 2]))


def collections(tf):
    tf.get_variable("w", [2])
    with tf.variable_scope("m") as scope:
        tf.get_variable("w", [2])
        tf.get_variable("fixed", [2], trainable=False)
    tf.get_local_variable("l", [2])
    tf.Variable(1.0, collections=["own"], name="o")
    for name in ("trainable_variables", "global_variables", "local_variables"):
        tf.identity(1.0, name=name + "_" + "_".join(v.op.name.replace("/", ".") for v in getattr(tf, name)()))
    tf.identity(1.0, name="of_scope_" + "_".join(v.op.name.replace("/", ".") for v in scope.global_variables()))
    tf.identity(1.0, name="matching_" + "_".join(v.op.name.replace("/", ".") for v in tf.global_variables("m/")))


def draws(tf):
    tf.random_normal([2, 2], seed=1)
    tf.truncated_normal([3])
    tf.random_uniform([2], 1.0, 2.0)
    tf.random_uniform([2], maxval=3, dtype=tf.int32)
    tf.random_normal(tf.shape(tf.placeholder(tf.float32, [None, 2])), tf.constant(1.0))


GRAPHS = (variables, initializers, scopes, getters, partitions, collections, draws)


# -- refusals --------------------------------------------------------------------------------------------
def _shared(tf, *args, **kwargs):
    tf.get_variable("x", [1])
    with tf.variable_scope("", reuse=True):
        tf.get_variable("x", *args, **kwargs)


REFUSALS = {
    "exists": lambda tf: [tf.get_variable("x", [1]), tf.get_variable("x", [1])],
    "shape": lambda tf: _shared(tf, [2]),
    "no_initial_value": lambda tf: tf.Variable(None),
    "not_trainable_shape": lambda tf: tf.get_variable("x", [2], initializer=tf.constant([1.0, 2.0])),
    "no_scope_name": lambda tf: tf.variable_scope(None).__enter__(),
    "reuse_of_default": lambda tf: tf.variable_scope(None, "d", reuse=True).__enter__(),
    "scope_of_number": lambda tf: tf.variable_scope(3).__enter__(),
    "constraint": lambda tf: tf.Variable(1.0, constraint=3),
}


# -- random numbers ------------------------------------------------------------------------------------------
RANDOM = {
    **{f"uniform_{d}": lambda tf, d=d: tf.random_uniform([5, 7], 0.5, 2.0, dtype=d, seed=7)
       for d in ("float16", "float32", "float64")},
    **{f"normal_{d}": lambda tf, d=d: tf.random_normal([5, 7], dtype=d, seed=7) for d in ("float16", "float32", "float64")},
    **{f"truncated_{d}": lambda tf, d=d: tf.truncated_normal([50, 7], dtype=d, seed=7)
       for d in ("float16", "float32", "float64")},
    **{f"integers_{d}": lambda tf, d=d: tf.random_uniform([5, 7], -3, 1000, dtype=d, seed=7) for d in ("int32", "int64")},
    "implicit_seed": lambda tf: tf.random_normal([3], 1.0, 2.0),
    "large_uniform": lambda tf: tf.random_uniform([300_001], seed=7)[-9:],
    "large_normal": lambda tf: tf.random_normal([70_001], seed=7)[-9:],
    "large_truncated": lambda tf: tf.truncated_normal([70_003], seed=7)[-9:],
    "shuffle": lambda tf: tf.random_shuffle(tf.range(20), seed=7),
    "shuffle_rows": lambda tf: tf.random_shuffle(tf.reshape(tf.range(30), [10, 3]), seed=7),
    "multinomial": lambda tf: tf.multinomial(tf.log([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]]), 9, seed=7),
    "gamma_float32": lambda tf: tf.random_gamma([6], tf.constant([0.5, 1.0, 3.0]), seed=7),
    "gamma_float64": lambda tf: tf.random_gamma([6], [0.5, 1.0, 3.0], [[1.0], [2.0]], dtype=tf.float64, seed=7),
    "poisson": lambda tf: tf.random_poisson([0.5, 4.0, 30.0], [6], seed=7),
    "crop": lambda tf: tf.random_crop(tf.reshape(tf.range(100), [10, 10]), [3, 4], seed=7),
    **{f"stateless_{k}_{d}": lambda tf, k=k, d=d: getattr(tf.random, f"stateless_{k}")([5, 3], seed=[3, 4], dtype=d)
       for k in ("uniform", "normal", "truncated_normal") for d in ("float32", "float64")},
    "stateless_int32": lambda tf: tf.random.stateless_uniform([5, 3], [3, 4], 0, 100, tf.int32),
    "stateless_int64": lambda tf: tf.random.stateless_uniform([5, 3], [3, 4], 0, 100, tf.int64),
    "stateless_categorical": lambda tf: tf.random.stateless_categorical(tf.log([[0.1, 0.2, 0.7]]), 9, [3, 4]),
    "initial_glorot": lambda tf: tf.get_variable("g", [4, 3]).initialized_value(),
    "initial_he": lambda tf: tf.get_variable("h", [4, 3], initializer=tf.initializers.he_normal(seed=3)).initialized_value(),
}


def run_random(tf, build):
    """Returns the draws of three runs in one session, stacked."""
    with tf.Graph().as_default():
        tf.set_random_seed(1234)
        draw = build(tf)
        with tf.Session() as sess:
            return np.stack([sess.run(draw) for _ in range(3)])


def seeds(tf):
    """Returns the seeds that ops get, for graph seeds and op seeds of all kinds."""
    found = []
    for graph_seed in (None, 0, 5, 2**31 + 3):
        for op_seed in (None, 0, 7, 2**31 - 1, 2**31 + 7):
            with tf.Graph().as_default():
                tf.set_random_seed(graph_seed)
                tf.constant(1.0)
                found.append([-1 if s is None else int(s) for s in tf.get_seed(op_seed)])
    return np.array(found)


def results(tf):
    found = {"seeds": seeds(tf)}
    for build in GRAPHS:
        with tf.Graph().as_default() as graph:
            build(tf)
        found[f"graph_{build.__name__}"] = graph_lines(graph)
    for name, build in REFUSALS.items():
        with tf.Graph().as_default():
            found[f"refusal_{name}"] = refusal(lambda build=build: build(tf))
    for name, build in RANDOM.items():
        found[f"random_{name}"] = run_random(tf, build)
    return found
