import tensorflow as tf


@tf.RegisterGradient("A")
def _clip_grad(unused_op, grad):  # grad is the gradient TensorFlow would have had here
    return [grad*0.5]


Input = tf.Variable([3.0], dtype=tf.float32)
g = tf.get_default_graph()
with g.gradient_override_map({"Identity": "A"}):
    # for x = 3, forward (untouched): y = (6x)^2 = (6x3)^2 = 324
    # for x = 3, backward: y' = 72x = 72*3 = 216, which the rule above halves to 108
    output_clip = tf.square(tf.multiply(Input, 6, name="Identity"))
    output_A = tf.identity(output_clip)
grad_clip = tf.gradients(output_A, Input)
# output without gradient clipping in the backwards pass for comparison:
output = tf.identity(Input)
grad = tf.gradients(output, Input)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    o = sess.run(output_clip)
    print("forward prop: output = ", o)
    print("with clipping:", sess.run(grad_clip))
    print("without clipping:", sess.run(grad))
