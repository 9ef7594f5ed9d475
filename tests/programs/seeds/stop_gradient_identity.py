import tensorflow as tf


def func(x):
    return tf.round(x)


input = tf.constant([0.2, 1.7, -2.6])
output = input + tf.stop_gradient(func(input) - input)
# forward, the expression is output = func(input)
# backward, the expression is output = input

with tf.Session() as sess:
    print("forward:", sess.run(output))
    print("backward:", sess.run(tf.gradients(output, input)[0]))
    print("without:", tf.gradients(func(input), input))
