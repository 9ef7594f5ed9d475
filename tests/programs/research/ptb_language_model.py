"""PTB language model with config classes, epochs through shared variables, truncated BPTT with carried state, new_lr assign."""

import numpy as np
import tensorflow as tf

flags = tf.flags
flags.DEFINE_string("ptb_model", "small", "size")
flags.DEFINE_bool("ptb_fp16", False, "fp16")
FLAGS = flags.FLAGS


class SmallConfig(object):
    init_scale, learning_rate, max_grad_norm, num_layers, num_steps, hidden_size = 0.1, 1.0, 0.5, 2, 5, 8
    max_epoch, max_max_epoch, keep_prob, lr_decay, batch_size, vocab_size = 1, 3, 1.0, 0.5, 2, 11


def data_type():
    return tf.float16 if FLAGS.ptb_fp16 else tf.float32


class PTBInput(object):
    def __init__(self, config, data, name=None):
        self.batch_size, self.num_steps = config.batch_size, config.num_steps
        self.epoch_size = ((len(data) // config.batch_size) - 1) // config.num_steps
        with tf.name_scope(name, "PTBProducer", [data]):
            raw = tf.convert_to_tensor(data, name="raw_data", dtype=tf.int32)
            data_len = tf.size(raw)
            batch_len = data_len // self.batch_size
            d = tf.reshape(raw[0 : self.batch_size * batch_len], [self.batch_size, batch_len])
            epoch_size = (batch_len - 1) // self.num_steps
            assertion = tf.assert_positive(epoch_size, message="epoch_size == 0, decrease batch_size or num_steps")
            with tf.control_dependencies([assertion]):
                epoch_size = tf.identity(epoch_size, name="epoch_size")
            i = tf.train.range_input_producer(epoch_size, shuffle=False).dequeue()
            x = tf.strided_slice(d, [0, i * self.num_steps], [self.batch_size, (i + 1) * self.num_steps])
            x.set_shape([self.batch_size, self.num_steps])
            y = tf.strided_slice(d, [0, i * self.num_steps + 1], [self.batch_size, (i + 1) * self.num_steps + 1])
            y.set_shape([self.batch_size, self.num_steps])
            self.input_data, self.targets = x, y


class PTBModel(object):
    def __init__(self, is_training, config, input_):
        self._input = input_
        size, vocab = config.hidden_size, config.vocab_size

        def lstm_cell():
            c = tf.nn.rnn_cell.BasicLSTMCell(size, forget_bias=0.0, state_is_tuple=True, reuse=not is_training)
            return (
                tf.nn.rnn_cell.DropoutWrapper(c, output_keep_prob=config.keep_prob)
                if is_training and config.keep_prob < 1
                else c
            )

        cell = tf.nn.rnn_cell.MultiRNNCell([lstm_cell() for _ in range(config.num_layers)], state_is_tuple=True)
        self._initial_state = cell.zero_state(config.batch_size, data_type())
        with tf.device("/cpu:0"):
            embedding = tf.get_variable("embedding", [vocab, size], dtype=data_type())
            inputs = tf.nn.embedding_lookup(embedding, input_.input_data)
        outputs, state = [], self._initial_state
        with tf.variable_scope("RNN"):
            for time_step in range(config.num_steps):
                if time_step > 0:
                    tf.get_variable_scope().reuse_variables()
                (cell_output, state) = cell(inputs[:, time_step, :], state)
                outputs.append(cell_output)
        output = tf.reshape(tf.concat(outputs, 1), [-1, size])
        softmax_w = tf.get_variable("softmax_w", [size, vocab], dtype=data_type())
        softmax_b = tf.get_variable("softmax_b", [vocab], dtype=data_type())
        logits = tf.nn.xw_plus_b(output, softmax_w, softmax_b)
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(logits=logits, labels=tf.reshape(input_.targets, [-1]))
        self._cost = cost = tf.reduce_sum(loss) / config.batch_size
        self._final_state = state
        if not is_training:
            return
        self._lr = tf.Variable(0.0, trainable=False)
        tvars = tf.trainable_variables()
        grads, _ = tf.clip_by_global_norm(tf.gradients(cost, tvars), config.max_grad_norm)
        optimizer = tf.train.GradientDescentOptimizer(self._lr)
        self._train_op = optimizer.apply_gradients(zip(grads, tvars), global_step=tf.train.get_or_create_global_step())
        self._new_lr = tf.placeholder(tf.float32, shape=[], name="new_learning_rate")
        self._lr_update = tf.assign(self._lr, self._new_lr)

    def assign_lr(self, session, lr_value):
        session.run(self._lr_update, feed_dict={self._new_lr: lr_value})


def run_epoch(session, model, eval_op=None):
    costs, iters = 0.0, 0
    state = session.run(model._initial_state)
    fetches = {"cost": model._cost, "final_state": model._final_state}
    if eval_op is not None:
        fetches["eval_op"] = eval_op
    for step in range(model._input.epoch_size):
        feed_dict = {}
        for i, (c, h) in enumerate(model._initial_state):
            feed_dict[c], feed_dict[h] = state[i].c, state[i].h
        vals = session.run(fetches, feed_dict)
        costs += vals["cost"]
        iters += model._input.num_steps
        state = vals["final_state"]
    return np.exp(costs / iters)


rng = np.random.RandomState(0)
train, valid = rng.randint(0, 11, 45), rng.randint(0, 11, 25)
config, log = SmallConfig(), []
with tf.Graph().as_default():
    initializer = tf.random_uniform_initializer(-config.init_scale, config.init_scale, seed=4)
    with tf.name_scope("Train"):
        ti = PTBInput(config, train, name="TrainInput")
        with tf.variable_scope("Model", reuse=None, initializer=initializer):
            m = PTBModel(True, config, ti)
        tf.summary.scalar("Training Loss", m._cost)
    with tf.name_scope("Valid"):
        vi = PTBInput(config, valid, name="ValidInput")
        with tf.variable_scope("Model", reuse=True, initializer=initializer):
            mv = PTBModel(False, config, vi)
    sv = tf.train.Supervisor(logdir=None)
    with sv.managed_session() as session:
        for i in range(config.max_max_epoch):
            m.assign_lr(session, config.learning_rate * config.lr_decay ** max(i + 1 - config.max_epoch, 0.0))
            log.append([session.run(m._lr), run_epoch(session, m, m._train_op), run_epoch(session, mv)])
        emb = session.run(tf.get_default_graph().get_tensor_by_name("Model/embedding:0"))
        gs = session.run(tf.train.get_global_step())
    names = sorted(v.name for v in tf.trainable_variables())
RESULTS = {"log": np.array(log, "f"), "emb": emb, "gs": gs, "names": np.array(names)}
TOLERANCE = 1e-3
