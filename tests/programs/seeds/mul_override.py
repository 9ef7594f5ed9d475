import tensorflow as tf


@tf.RegisterGradient('mulGrad')
def mulGrad(op, grad):
    grad = grad * op.inputs[1]

    return [grad, None]


W = tf.get_variable('w', shape=[1], dtype=tf.float32, initializer=tf.truncated_normal_initializer(0.0, 0.02))
I = tf.constant(10.0, dtype=tf.float32)

with tf.get_default_graph().gradient_override_map({'Mul': 'mulGrad'}):
    Y = tf.multiply(W, I, name='Multiply')

graph = tf.get_default_graph()
print(graph.get_operation_by_name('Multiply'))

grads = tf.gradients(Y, [W, I])
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    w, y, g = sess.run([W, Y, grads[0]])
    print("y / w:", y / w)
    print("grad:", g, grads[1])
