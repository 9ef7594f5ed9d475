import tensorflow as tf


@tf.RegisterGradient('funcGrad')
def funcGrad(op, grad1, grad2, grad3):
    grad = grad1*grad2 * op.inputs[1]

    return grad, None


def func(x, y):
    return x + y, x * y, x - y


a = tf.constant([1., 2.])
b = tf.constant([3., 5.])
with tf.get_default_graph().gradient_override_map({'PyFunc': 'funcGrad'}):
    out1, out2, out3 = tf.py_func(func, [a, b], [tf.float32, tf.float32, tf.float32])

grads = tf.gradients([out1, out2, out3], [a, b],
                     grad_ys=[tf.constant([2., 2.]), tf.constant([10., 1.]), None])
with tf.Session() as sess:
    print(sess.run([out1, out2, out3]))
    print(sess.run(grads[0]), grads[1])
