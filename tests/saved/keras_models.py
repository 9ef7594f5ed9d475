"""Models of Keras whose variables TensorFlow saves (`record.py`), and Regrad loads."""
import numpy as np


def build(tf):
    """Returns {name: model}, each with variables of its own numbers: those of `numbers`."""
    keras, layers = tf.keras, tf.keras.layers

    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.first, self.last, self.norm = layers.Dense(4), [layers.Dense(2)], layers.BatchNormalization()

        def call(self, inputs, training=None):
            return self.last[0](self.norm(self.first(inputs), training=training))

    a, b = keras.Input([5, 3]), keras.Input([2])
    joined = layers.Concatenate()([layers.Bidirectional(layers.LSTM(3))(a), layers.Dense(2)(b)])
    inner = keras.Sequential([layers.Dense(3, input_shape=(8,)), layers.PReLU()])
    steps = layers.TimeDistributed(layers.Dense(2))(layers.GRU(2, return_sequences=True)(a))
    stacked = layers.RNN([layers.LSTMCell(2), layers.GRUCell(2)])(a)
    own = Own()
    own.predict(np.zeros((2, 3), np.float32))
    return {"sequential": keras.Sequential([layers.Dense(4, input_shape=(3,)), layers.BatchNormalization(), layers.Dropout(0.5),
                                            layers.Dense(2)]),
            "functional": keras.Model([a, b], [layers.Dense(1)(inner(joined)), steps, stacked]), "own": own}


def numbers(model):
    """Returns arrays for all variables of a model."""
    draws = np.random.RandomState(1)
    return [draws.randn(*w.shape).astype(np.float32) for w in model.get_weights()]
