"""Optimizers step by step, schedules, clipping in training, averages, global steps."""
from corpus import Row


def _steps(id, optimizer, steps=3, sparse=False, dtype="float64"):
    """A row with a variable after each of several steps; the loss's curvature differs by element."""
    loss = "tf.reduce_sum(w ** 2 * [1.0, 2.0, 3.0]) + w[0] * w[1]"
    if sparse:
        loss = "tf.reduce_sum(tf.gather(w, [0, 2, 2]) ** 2)"
    return Row(id, f"""
w = tf.Variable([1.0, -2.0, 0.5], dtype=tf.{dtype}, name='w')
op = {optimizer}.minimize({loss})
result = []
for _ in range({steps}):
    run(op); result.append(run(w))""")


ROWS = [
    _steps("GradientDescent", "tf.train.GradientDescentOptimizer(0.1)"),
    _steps("Momentum", "tf.train.MomentumOptimizer(0.1, 0.9)"),
    _steps("Momentum, Nesterov", "tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True)"),
    _steps("Adam", "tf.train.AdamOptimizer(0.1)"),
    _steps("Adam, other constants", "tf.train.AdamOptimizer(0.05, beta1=0.5, beta2=0.8, epsilon=0.1)"),
    _steps("Adagrad", "tf.train.AdagradOptimizer(0.5)"),
    _steps("Adagrad, initial value", "tf.train.AdagradOptimizer(0.5, initial_accumulator_value=1.0)"),
    _steps("Adadelta", "tf.train.AdadeltaOptimizer(1.0, rho=0.9, epsilon=1e-6)"),
    _steps("RMSProp", "tf.train.RMSPropOptimizer(0.1)"),
    _steps("RMSProp with momentum", "tf.train.RMSPropOptimizer(0.1, decay=0.8, momentum=0.5, epsilon=1e-3)"),
    _steps("RMSProp, centred", "tf.train.RMSPropOptimizer(0.1, momentum=0.5, centered=True)"),
    _steps("Ftrl", "tf.train.FtrlOptimizer(0.5)"),
    _steps("Ftrl with both penalties",
           "tf.train.FtrlOptimizer(0.5, l1_regularization_strength=0.2, l2_regularization_strength=0.1, "
           "learning_rate_power=-0.6)"),
    _steps("Ftrl with shrinkage", "tf.train.FtrlOptimizer(0.5, l2_shrinkage_regularization_strength=0.3)"),
    _steps("ProximalGradientDescent", "tf.train.ProximalGradientDescentOptimizer(0.1, 0.5, 0.2)",
           dtype="float32"),
    _steps("ProximalAdagrad",
           "tf.train.ProximalAdagradOptimizer(0.5, l1_regularization_strength=0.2, "
           "l2_regularization_strength=0.1)",
           dtype="float32"),
    Row("AdagradDA", """
w = tf.Variable([1.0, -2.0, 0.5], name='w')
step = tf.train.get_or_create_global_step()
op = tf.train.AdagradDAOptimizer(
    0.5, step, l1_regularization_strength=0.1, l2_regularization_strength=0.1
).minimize(tf.reduce_sum(w**2 * [1.0, 2.0, 3.0]), global_step=step)
result = []
for _ in range(3):
    run(op)
    result.append(run(w))"""),
    _steps("GradientDescent, sparse", "tf.train.GradientDescentOptimizer(0.1)", sparse=True),
    _steps("Momentum, sparse", "tf.train.MomentumOptimizer(0.1, 0.9)", sparse=True),
    _steps("Adam, sparse", "tf.train.AdamOptimizer(0.1)", sparse=True),
    _steps("Adagrad, sparse", "tf.train.AdagradOptimizer(0.5)", sparse=True),
    _steps("RMSProp, sparse", "tf.train.RMSPropOptimizer(0.1, momentum=0.5)", sparse=True),
    _steps("Ftrl, sparse", "tf.train.FtrlOptimizer(0.5, l1_regularization_strength=0.1)", sparse=True),
    _steps("Adadelta, sparse", "tf.train.AdadeltaOptimizer(1.0)", sparse=True),
    _steps("a tensor as learning rate", "tf.train.AdamOptimizer(tf.constant(0.1))"),
    Row("learning rate fed", """
lr = tf.placeholder(tf.float32, [])
w = tf.Variable(1.0)
op = tf.train.GradientDescentOptimizer(lr).minimize(w * 2.0)
run(op, {lr: 0.5})
a = run(w)
run(op, {lr: 2.0})
result = [a, run(w)]"""),
    Row("learning rate by function", """
w = tf.Variable(1.0)
op = tf.train.GradientDescentOptimizer(lambda: 0.25).minimize(w * 2.0)
run(op)
result = run(w)"""),
    Row("compute_gradients", """
a, b = tf.Variable(2.0, name='a'), tf.Variable(3.0, name='b')
gvs = tf.train.GradientDescentOptimizer(0.1).compute_gradients(a * a)
result = [[g is None for g, _ in gvs], [v.name for _, v in gvs], run(gvs[0][0])]"""),
    Row("compute_gradients with grad_loss", """
a = tf.Variable(2.0)
gvs = tf.train.GradientDescentOptimizer(0.1).compute_gradients(a * a, [a], grad_loss=tf.constant(10.0))
result = run(gvs[0][0])"""),
    Row("apply_gradients skips None", """
a, b = tf.Variable(2.0), tf.Variable(3.0); o = tf.train.GradientDescentOptimizer(0.1)
run(o.apply_gradients([(tf.constant(1.0), a), (None, b)])); result = run([a, b])"""),
    Row("var_list", """
a, b = tf.Variable(2.0), tf.Variable(3.0)
run(tf.train.GradientDescentOptimizer(0.1).minimize(a * b, var_list=[b]))
result = run([a, b])"""),
    Row("not trainable", """
a, b = tf.Variable(2.0), tf.Variable(3.0, trainable=False)
run(tf.train.GradientDescentOptimizer(0.1).minimize(a * b))
result = run([a, b])"""),
    Row("global_step counts", """
a = tf.Variable(2.0)
s = tf.train.get_or_create_global_step()
op = tf.train.AdamOptimizer().minimize(a * a, global_step=s)
run(op)
run(op)
result = run(s)"""),
    Row("the loss fetched is the loss before", """
w = tf.Variable(1.0)
loss = w * w
op = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
result = [run([op, loss])[1], run(loss)]"""),
    Row("two optimizers, one model", """
g, d = tf.Variable(1.0), tf.Variable(2.0)
loss = g * d
a = tf.train.GradientDescentOptimizer(0.1).minimize(loss, var_list=[d])
b = tf.train.AdamOptimizer(0.1).minimize(-loss, var_list=[g])
run(a)
run(b)
run(a)
result = run([g, d])"""),
    Row("clipped gradients", """
w = tf.Variable([3.0, 4.0])
o = tf.train.GradientDescentOptimizer(1.0)
gvs = o.compute_gradients(tf.reduce_sum(w * w))
run(o.apply_gradients([(tf.clip_by_norm(g, 1.0), v) for g, v in gvs]))
result = run(w)"""),
    Row("a weight of a float32 variable", """
w = tf.Variable([1.0, 2.0])
op = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(w**2))
[run(op) for _ in range(5)]
result = run(w)"""),
    Row("slots after steps", """
o = tf.train.AdamOptimizer(0.1)
w = tf.Variable([1.0, -2.0])
op = o.minimize(tf.reduce_sum(w**2))
run(op)
run(op)
result = run([o.get_slot(w, 'm'), o.get_slot(w, 'v')])"""),
    Row("momentum's slot", """
o = tf.train.MomentumOptimizer(0.1, 0.9)
w = tf.Variable([1.0, -2.0])
op = o.minimize(tf.reduce_sum(w**2))
run(op)
run(op)
result = run(o.get_slot(w, 'momentum'))"""),
    Row("moving average", """
v = tf.Variable(1.0, name='v')
ema = tf.train.ExponentialMovingAverage(0.9)
up = ema.apply([v])
avg = ema.average(v)
out = [run(avg)]
for x in (2.0, 3.0):
    run(v.assign(x))
    run(up)
    out.append(run(avg))
result = [out, avg.op.name, ema.average_name(v)]"""),
    Row("moving average of a tensor", """
x = tf.placeholder(tf.float32, [])
ema = tf.train.ExponentialMovingAverage(0.5)
up = ema.apply([x])
avg = ema.average(x)
out = []
for v in (8.0, 4.0):
    run(up, {x: v})
    out.append(run(avg))
result = out"""),
    Row("moving average with zero_debias", """
x = tf.placeholder(tf.float32, [])
ema = tf.train.ExponentialMovingAverage(0.5, zero_debias=True)
up = ema.apply([x])
avg = ema.average(x)
out = []
for v in (8.0, 4.0):
    run(up, {x: v})
    out.append(run(avg))
result = out"""),
    Row("moving average, num_updates", """
n = tf.Variable(0.0)
v = tf.Variable(1.0)
ema = tf.train.ExponentialMovingAverage(0.99, num_updates=n)
up = ema.apply([v])
avg = ema.average(v)
run(avg)
run([v.assign(5.0), n.assign(8.0)])
run(up)
result = run(avg)"""),
    Row("schedules", """
s = tf.placeholder(tf.int32, [])
ys = [
    tf.train.exponential_decay(1.0, s, 10, 0.5),
    tf.train.exponential_decay(1.0, s, 10, 0.5, staircase=True),
    tf.train.natural_exp_decay(1.0, s, 10, 0.5),
    tf.train.inverse_time_decay(1.0, s, 10, 0.5),
    tf.train.polynomial_decay(1.0, s, 20, 0.1),
    tf.train.polynomial_decay(1.0, s, 20, 0.1, power=0.5, cycle=True),
    tf.train.piecewise_constant(s, [5, 15], [1.0, 0.5, 0.25]),
    tf.train.cosine_decay(1.0, s, 20),
    tf.train.cosine_decay_restarts(1.0, s, 10),
    tf.train.linear_cosine_decay(1.0, s, 20),
    tf.train.inverse_time_decay(1.0, s, 10, 0.5, staircase=True),
]
result = [run(ys, {s: v}) for v in (0, 5, 6, 15, 16, 30)]"""),
    Row("a schedule in an optimizer", """
s = tf.train.get_or_create_global_step()
lr = tf.train.exponential_decay(0.5, s, 1, 0.5)
w = tf.Variable(1.0)
op = tf.train.GradientDescentOptimizer(lr).minimize(w * 1.0, global_step=s)
out = []
for _ in range(3):
    run(op)
    out.append(run(w))
result = out"""),
    Row("UPDATE_OPS", """
v = tf.Variable(0.0)
tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, v.assign_add(1.0))
w = tf.Variable(1.0)
with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
    op = tf.train.GradientDescentOptimizer(0.1).minimize(w * w)
run(op)
result = run([v, w])"""),
    Row("Saver's file", """
import os, tempfile
v = tf.Variable([1.0, 2.0], name='v')
saver = tf.train.Saver()
with tempfile.TemporaryDirectory() as d, tf.Session() as s:
    s.run(v.initializer)
    path = saver.save(s, os.path.join(d, 'm'))
    s.run(v.assign([5.0, 5.0]))
    saver.restore(s, path)
    result = [
        os.path.basename(path),
        s.run(v),
        tf.train.checkpoint_exists(path),
        os.path.basename(tf.train.latest_checkpoint(d)),
    ]"""),
    Row("initializers of a model", """
tf.Variable(1.0, name='a')
tf.Variable(2.0, name='b', collections=[tf.GraphKeys.LOCAL_VARIABLES])
s = tf.Session()
s.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
result = s.run(['a:0', 'b:0'])"""),
    Row("older names of initialisation", """
v = tf.Variable(1.0)
out = []
for f in (
    tf.initialize_all_variables,
    lambda: tf.initialize_variables([v]),
    lambda: tf.variables_initializer([v]),
):
    with tf.Session() as s:
        s.run(f())
        out.append(s.run(v))
result = out"""),
    Row("rows of a variable read in a branch, and the others", """
def zeros():
    return tf.zeros([3, 2])
models = [
    lambda e: tf.cond(f, lambda: tf.gather(e, ids), zeros),
    lambda e: tf.cond(f, zeros, lambda: tf.gather(e, [1, 1, 3])),
    lambda e: tf.cond(f, lambda: tf.reduce_sum(tf.gather(e, ids) ** 2), lambda: 0.0),
    lambda e: tf.cond(f, lambda: tf.cond(ids[0] > 0, lambda: tf.gather(e, ids), zeros), zeros),
    lambda e: tf.switch_case(tf.cast(f, tf.int32), [zeros, lambda: tf.gather(e, ids), zeros]),
    lambda e: tf.cond(f, lambda: tf.gather(e, ids), zeros) + tf.gather(e, [4, 1, 4]),
]
ids, f = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.bool, [])
steps, variables, kinds = [], [], []
for n, model in enumerate(models):
    for optimizer in (tf.train.MomentumOptimizer(0.1, 0.9), tf.train.FtrlOptimizer(0.1), tf.train.AdamOptimizer(0.1)):
        e = tf.get_variable('e%d' % len(steps), initializer=np.arange(10.0, dtype=np.float32).reshape(5, 2), use_resource=True)
        loss = tf.reduce_sum(0.1 * model(e) ** 2)
        kinds.append(isinstance(tf.gradients(loss, e)[0], tf.IndexedSlices))
        steps.append(optimizer.minimize(loss, var_list=[e]))
        variables.append(e)
with tf.Session() as s:
    s.run(tf.global_variables_initializer())
    for rows, flag in (([1, 1, 3], True), ([1, 1, 2], True), ([4, 1, 2], False), ([0, 2, 0], True)):
        s.run(steps, {ids: rows, f: flag})
    result = [kinds, s.run(variables)]""", tolerance=1e-4),
]
