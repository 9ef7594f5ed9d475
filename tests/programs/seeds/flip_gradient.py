import tensorflow as tf
from tensorflow.python.framework import ops


# inverse gradient in BP
class FlipGradientBuilder(object):
    def __init__(self):
        self.num_calls = 0

    # callable: execute following ops when call FlipGradientBuilder(obj)
    def __call__(self, x, l=1.0):
        grad_name = "FlipGradient%d" % self.num_calls

        @ops.RegisterGradient(grad_name)
        def _flip_gradients(op, grad):
            return [tf.negative(grad) * l]

        g = tf.get_default_graph()
        with g.gradient_override_map({"Identity": grad_name}):
            y = tf.identity(x)
        self.num_calls += 1
        return y


flip_gradient = FlipGradientBuilder()

x = tf.Variable([1.0, -2.0])
strength = tf.placeholder(tf.float32, [])
once = flip_gradient(x)
scaled = flip_gradient(3.0 * x, strength)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print("forward:", sess.run(once), sess.run(scaled))
    print("flipped:", sess.run(tf.gradients(once, x)[0]))
    print("flipped and scaled:", sess.run(tf.gradients(scaled, x)[0], {strength: 0.25}))
    print("calls:", flip_gradient.num_calls)
