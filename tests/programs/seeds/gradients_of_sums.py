import tensorflow as tf
sess = tf.Session()
a = tf.Variable(0., name="a")
b = tf.Variable(0., name="b")
c = 5*a+b
print(sess.run(tf.gradients(c, [a, b])))
print(sess.run(tf.gradients([a, b], [a, b])))
print(sess.run(tf.gradients([a+b, 2*a+3*b], [a, b])))
