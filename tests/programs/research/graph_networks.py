"""Graph convolution with sparse adjacency and sparse dropout, graph attention by sparse softmax, Chebyshev filters, GraphSAGE sampling, layer classes of 2017."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(2)
N, F, C = 9, 6, 3
_LAYER_UIDS = {}


def get_layer_uid(layer_name=""):
    _LAYER_UIDS[layer_name] = _LAYER_UIDS.get(layer_name, 0) + 1
    return _LAYER_UIDS[layer_name]


def sparse_dropout(x, keep_prob, noise_shape):
    random_tensor = keep_prob + tf.random_uniform(noise_shape, seed=12)
    dropout_mask = tf.cast(tf.floor(random_tensor), dtype=tf.bool)
    pre_out = tf.sparse_retain(x, dropout_mask)
    return pre_out * (1.0 / keep_prob)


def dot(x, y, sparse=False):
    return tf.sparse_tensor_dense_matmul(x, y) if sparse else tf.matmul(x, y)


def glorot(shape, seed):
    r = np.sqrt(6.0 / (shape[0] + shape[1]))
    return tf.Variable(tf.random_uniform(shape, minval=-r, maxval=r, dtype=tf.float32, seed=seed))


class Layer(object):
    def __init__(self, **kwargs):
        name = kwargs.get("name") or self.__class__.__name__.lower() + "_" + str(
            get_layer_uid(self.__class__.__name__.lower())
        )
        self.name, self.vars = name, {}

    def __call__(self, inputs):
        with tf.name_scope(self.name):
            outputs = self._call(inputs)
            tf.summary.histogram(self.name + "/outputs", outputs)
            return outputs


class GraphConvolution(Layer):
    def __init__(self, i, o, placeholders, sparse_inputs=False, act=tf.nn.relu, dropout=0.0, **kw):
        super(GraphConvolution, self).__init__(**kw)
        self.dropout = placeholders["dropout"] if dropout else 0.0
        self.act, self.support, self.sparse_inputs, self.nnz = (
            act,
            placeholders["support"],
            sparse_inputs,
            placeholders["nnz"],
        )
        with tf.variable_scope(self.name + "_vars"):
            for k in range(len(self.support)):
                self.vars["weights_" + str(k)] = glorot([i, o], 20 + k + i)
            self.vars["bias"] = tf.Variable(tf.zeros([o]), name="bias")

    def _call(self, x):
        x = (
            sparse_dropout(x, 1 - self.dropout, self.nnz)
            if self.sparse_inputs
            else tf.nn.dropout(x, 1 - self.dropout, seed=3)
        )
        supports = [
            dot(s, dot(x, self.vars["weights_" + str(k)], sparse=self.sparse_inputs), sparse=True)
            for k, s in enumerate(self.support)
        ]
        return self.act(tf.add_n(supports) + self.vars["bias"])


placeholders = {
    "support": [tf.sparse_placeholder(tf.float32) for _ in range(2)],
    "features": tf.sparse_placeholder(tf.float32, shape=tf.constant((N, F), dtype=tf.int64)),
    "labels": tf.placeholder(tf.float32, shape=(None, C)),
    "labels_mask": tf.placeholder(tf.int32),
    "dropout": tf.placeholder_with_default(0.0, shape=()),
    "nnz": tf.placeholder(tf.int32, [1]),
}
l1 = GraphConvolution(F, 5, placeholders, sparse_inputs=True, dropout=True)
l2 = GraphConvolution(5, C, placeholders, act=lambda x: x, dropout=True)
out = l2(l1(placeholders["features"]))


def masked_softmax_cross_entropy(preds, labels, mask):
    loss = tf.nn.softmax_cross_entropy_with_logits(logits=preds, labels=labels)
    mask = tf.cast(mask, dtype=tf.float32)
    mask /= tf.reduce_mean(mask)
    loss *= mask
    return tf.reduce_mean(loss)


loss = masked_softmax_cross_entropy(out, placeholders["labels"], placeholders["labels_mask"])
for var in l1.vars.values():
    loss += 5e-3 * tf.nn.l2_loss(var)
acc = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(out, 1), tf.argmax(placeholders["labels"], 1)), tf.float32))
train = tf.train.AdamOptimizer(0.02).minimize(loss)
# GAT with dense bias and with sparse softmax
seq = tf.placeholder(tf.float32, [1, N, F])
bias = tf.placeholder(tf.float32, [1, N, N])


def conv1d(x, n, seed):
    w = tf.Variable(tf.random_normal([1, int(x.shape[-1]), n], stddev=0.4, seed=seed))
    return tf.nn.conv1d(x, w, 1, "VALID")


def attn_head(x, n, seed, sparse=None):
    fts = conv1d(x, n, seed)
    f1 = conv1d(fts, 1, seed + 1)
    f2 = conv1d(fts, 1, seed + 2)
    if sparse is None:
        coefs = tf.nn.softmax(tf.nn.leaky_relu(f1 + tf.transpose(f2, [0, 2, 1])) + bias)
        vals = tf.matmul(coefs, fts)
    else:
        g1, g2 = tf.reshape(f1, (N, 1)), tf.reshape(f2, (N, 1))
        logits = tf.sparse_add(sparse * g1, sparse * tf.transpose(g2, [1, 0]))
        lrelu = tf.SparseTensor(
            indices=logits.indices, values=tf.nn.leaky_relu(logits.values), dense_shape=logits.dense_shape
        )
        coefs = tf.sparse_softmax(lrelu)
        coefs = tf.sparse_reshape(coefs, [N, N])
        vals = tf.expand_dims(tf.sparse_tensor_dense_matmul(coefs, tf.squeeze(fts)), axis=0)
        vals.set_shape([1, N, n])
    return tf.nn.elu(vals)


adj = tf.sparse_placeholder(tf.float32, shape=[N, N])
gat = tf.concat([attn_head(seq, 4, 30), attn_head(seq, 4, 40, adj)], -1)
gat_loss = tf.reduce_mean(tf.square(tf.reduce_mean(gat, -1)))
gv = tf.trainable_variables()[-6:]
gg = tf.gradients(gat_loss, gv)
gt = tf.train.GradientDescentOptimizer(0.1).apply_gradients(zip(gg, gv))
# GraphSAGE: mean of sampled neighbours by gather, unsorted segments for messages, GGNN cell
edges = tf.placeholder(tf.int32, [None, 2])
nodes = tf.Variable(rng.randn(N, 5).astype("f"))
cell = tf.nn.rnn_cell.GRUCell(5, kernel_initializer=tf.glorot_uniform_initializer(seed=8))
h = nodes
for t in range(2):
    msg = tf.unsorted_segment_sum(tf.tanh(tf.gather(h, edges[:, 0])), edges[:, 1], N)
    att = tf.unsorted_segment_max(tf.gather(h, edges[:, 0]), edges[:, 1], N)
    att = tf.where(att < -1e30, tf.zeros_like(att), att)
    with tf.variable_scope("ggnn", reuse=t > 0):
        h, _ = cell(msg + 0.1 * att, h)
pooled = tf.segment_mean(h, tf.constant([0, 0, 0, 1, 1, 1, 1, 2, 2]))
mp_loss = tf.reduce_sum(tf.square(pooled))
mp = tf.gradients(mp_loss, [nodes])[0]


def sparse(m):
    i = np.array(np.nonzero(m)).T.astype(np.int64)
    return (i, m[tuple(i.T)].astype("f"), m.shape)


A = (rng.rand(N, N) > 0.6).astype("f")
A = np.maximum(A, A.T)
np.fill_diagonal(A, 1)
deg = A.sum(1)
An = A / np.sqrt(deg[:, None] * deg)
feats = rng.rand(N, F) * (rng.rand(N, F) > 0.4)
fs = sparse(feats)
f = {
    placeholders["support"][0]: sparse(np.eye(N)),
    placeholders["support"][1]: tf.SparseTensorValue(*sparse(An)),
    placeholders["features"]: fs,
    placeholders["labels"]: np.eye(C)[rng.randint(0, C, N)],
    placeholders["labels_mask"]: (rng.rand(N) > 0.3),
    placeholders["nnz"]: [len(fs[1])],
    seq: feats[None],
    bias: (-1e9 * (1 - A))[None],
    adj: sparse(A),
    edges: np.array(np.nonzero(A)).T,
}
log = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(5):
        log.append(sess.run([loss, acc, gat_loss], f))
        f[placeholders["dropout"]] = 0.5
        sess.run([train, gt], f)
        f[placeholders["dropout"]] = 0.0
    RESULTS = {"log": np.array(log), "out": sess.run(out, f), "gat": sess.run(gat, f), "mp": sess.run(mp, f)}
    for i, g in enumerate(sess.run(gg, f)):
        RESULTS["gg%d" % i] = g
TOLERANCE = 1e-3
