import numpy as np
import tensorflow as tf
from tensorflow.python.framework import ops


def np_mod(x, y):
    return (x % y).astype(np.float64)


def modgrad(op, grad):
    x = op.inputs[0]  # the first argument (normally you need those to calculate the gradient)
    y = op.inputs[1]  # the second argument

    # the propagated gradient with respect to the first and second argument respectively
    return grad * 1, grad * tf.neg(tf.floordiv(x, y))


def py_func(func, inp, Tout, stateful=True, name=None, grad=None):

    # Need to generate a unique name to avoid duplicates:
    rnd_name = 'PyFuncGrad' + str(np.random.randint(0, 1E+8))

    tf.RegisterGradient(rnd_name)(grad)
    g = tf.get_default_graph()
    with g.gradient_override_map({"PyFunc": rnd_name}):
        return tf.py_func(func, inp, Tout, stateful=stateful, name=name)


def tf_mod(x, y, name=None):

    with ops.op_scope([x, y], name, "mod") as name:
        z = py_func(np_mod,
                    [x, y],
                    [tf.float32],
                    stateful=True,
                    name=name,
                    grad=modgrad)  # <-- here's the call to the gradient
        return z[0]


with tf.Session() as sess:

    x = tf.constant([0.3, 0.7, 1.2, 1.7])
    y = tf.constant([0.2, 0.5, 1.0, 2.9])
    z = tf_mod(x, y)
    gr = tf.gradients(z, [x, y])
    tf.initialize_all_variables().run()

    print(x.eval(), y.eval(), z.eval(), gr[0].eval(), gr[1].eval())
