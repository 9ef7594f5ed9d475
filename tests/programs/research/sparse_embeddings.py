"""Embeddings with sparse gradients under every optimizer; repeated ids; bags of words."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(25)
V, D = 20, 4
table = rng.randn(V, D)
targets = rng.randn(6, D)
ids = tf.placeholder(tf.int32, [6])
RESULTS = {}
optimizers = [("sgd", tf.train.GradientDescentOptimizer(0.5)), ("adagrad", tf.train.AdagradOptimizer(0.5)),
              ("momentum", tf.train.MomentumOptimizer(0.3, 0.9)),
              ("nesterov", tf.train.MomentumOptimizer(0.3, 0.9, use_nesterov=True)),
              ("adam", tf.train.AdamOptimizer(0.1)), ("rmsprop", tf.train.RMSPropOptimizer(0.1)),
              ("ftrl", tf.train.FtrlOptimizer(0.3)), ("adadelta", tf.train.AdadeltaOptimizer(1.0))]
trainers = {}
for name, optimizer in optimizers:
    with tf.variable_scope(name):
        embeddings = tf.get_variable("embeddings", initializer=tf.constant(table))
        context = tf.get_variable("context", initializer=tf.constant(table[::-1].copy()))
        embed = tf.nn.embedding_lookup(embeddings, ids)
        bag = tf.reduce_mean(
            tf.gather(context, [[3, 3, 1], [0, 7, 7], [1, 2, 3], [4, 4, 4], [5, 9, 0], [8, 8, 2]]), 1
        )
        loss = tf.reduce_sum(tf.square(embed + bag - targets))
        gvs = optimizer.compute_gradients(loss, [embeddings, context])
        RESULTS[name + "_sparse"] = np.array([isinstance(g, tf.IndexedSlices) for g, _ in gvs])
        trainers[name] = (loss, optimizer.apply_gradients(gvs), embeddings, context)

slices = tf.gradients(tf.reduce_sum(tf.nn.embedding_lookup(embeddings, ids) * targets), embeddings)[0]
clipped, norm = tf.clip_by_global_norm([slices], 1.0)
logits = tf.nn.embedding_lookup_sparse(
    embeddings,
    tf.SparseTensor([[0, 0], [0, 1], [1, 0], [2, 0], [2, 1]], tf.constant([2, 5, 5, 1, 7], tf.int64), [3, 2]),
    None,
    combiner="mean",
)
bag_grad = tf.convert_to_tensor(tf.gradients(tf.reduce_sum(tf.square(logits)), embeddings)[0])

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    feed = {ids: [1, 5, 5, 0, 19, 5]}
    RESULTS["bag_grad"] = sess.run(bag_grad)
    value = sess.run(slices, feed)
    RESULTS["indices"], RESULTS["values"], RESULTS["dense_shape"] = (
        value.indices,
        value.values,
        value.dense_shape,
    )
    RESULTS["clipped"], RESULTS["norm"] = sess.run([clipped[0].values, norm], feed)
    for name, (loss, train_op, embeddings, context) in trainers.items():
        losses = [
            sess.run([loss, train_op], {ids: i})[0]
            for i in ([1, 5, 5, 0, 19, 5], [2, 2, 2, 2, 2, 2], range(6))
        ]
        RESULTS[name + "_losses"] = losses
        RESULTS[name + "_embeddings"], RESULTS[name + "_context"] = sess.run([embeddings, context])
