"""Second derivatives: tf.hessians, Hessian-vector products by two ways, Newton's method, Gauss-Newton."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(32)
theta = tf.Variable(rng.randn(4), name="theta")
data, labels = rng.randn(15, 4), (rng.rand(15) < 0.5).astype(float)
logits = tf.squeeze(tf.matmul(tf.constant(data), theta[:, tf.newaxis]), 1)
loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)) \
    + 0.05 * tf.reduce_sum(theta ** 4)
grad, = tf.gradients(loss, theta)
hessian, = tf.hessians(loss, theta)

v = tf.placeholder(tf.float64, [4])
hvp_reverse, = tf.gradients(tf.reduce_sum(grad * tf.stop_gradient(v)), theta)
# Forward mode by two reverse passes: the gradient is linear in a dummy cotangent.
dummy = tf.placeholder_with_default(np.zeros(15), [15])
vjp, = tf.gradients(logits, theta, grad_ys=dummy)
jvp, = tf.gradients(vjp, dummy, grad_ys=v)
output_hessian = tf.gradients(
    tf.gradients(
        tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)), logits
    )[0],
    logits,
)[0]
gauss_newton, = tf.gradients(logits, theta, grad_ys=output_hessian * jvp)

newton = tf.assign_sub(theta, tf.squeeze(tf.matrix_solve(hessian, grad[:, tf.newaxis]), 1))
third = tf.gradients(tf.trace(hessian), theta)[0]

x, y = tf.placeholder(tf.float64, [2]), tf.placeholder(tf.float64, [])
rosenbrock = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2 + tf.sin(x[0] * y)
mixed = [tf.hessians(rosenbrock, [x, y])[0], tf.hessians(rosenbrock, [x, y])[1],
         tf.gradients(tf.gradients(rosenbrock, y)[0], x)[0]]

history = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    vector = rng.randn(4)
    RESULTS = sess.run({"grad": grad, "hessian": hessian, "hvp": hvp_reverse, "jvp": jvp, "third": third,
                        "gauss_newton": gauss_newton}, {v: vector})
    RESULTS["product"] = RESULTS["hessian"].dot(vector)
    for _ in range(5):
        history.append(sess.run(loss))
        sess.run(newton)
    RESULTS["newton"] = history
    RESULTS["hxx"], RESULTS["hyy"], RESULTS["hxy"] = sess.run(mixed, {x: [-0.5, 0.8], y: 1.3})
