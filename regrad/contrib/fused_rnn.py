"""Networks over whole sequences, made of cells, or of others turned round: `LSTMBlockFusedCell` is of this kind too."""

from regrad.core.shown import Shown
from regrad.nn.rnn import dynamic_rnn, static_rnn
from regrad.ops import array
from regrad.ops.layout import reverse, reverse_sequence


class FusedRNNCellAdaptor(Shown):
    """A cell as a network over sequences.

    Args:
      cell: an RNNCell.
      use_dynamic_rnn: make a loop; else the steps stand in the graph one by one.
    """

    def __init__(self, cell, use_dynamic_rnn=False):
        self._cell, self._use_dynamic_rnn = cell, use_dynamic_rnn

    def __call__(self, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None):
        """Returns (outputs, last state).

        Args:
          inputs: [time, batch, size], or a list of the times; the outputs come in the same way.
          initial_state, dtype: the first state, or the dtype of its zeros.
          sequence_length: int [batch]; None: all of them are whole.
        """
        listed = isinstance(inputs, list)
        settings = {"initial_state": initial_state, "dtype": dtype, "sequence_length": sequence_length, "scope": scope}
        if self._use_dynamic_rnn:
            outputs, state = dynamic_rnn(self._cell, array.stack(inputs) if listed else inputs, time_major=True, **settings)
            return (array.unstack(outputs, num=len(inputs)) if listed else outputs), state
        outputs, state = static_rnn(self._cell, inputs if listed else array.unstack(inputs), **settings)
        return (outputs if listed else array.stack(outputs)), state


class TimeReversedFusedRNN(Shown):
    """A network over sequences that reads each from its end; the outputs stand where their inputs stood.

    Args:
      cell: a network over sequences, such as LSTMBlockFusedCell or FusedRNNCellAdaptor.
    """

    def __init__(self, cell):
        self._cell = cell

    def __call__(self, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None):
        """Returns (outputs, last state); arguments as for FusedRNNCellAdaptor."""
        def turned(t):
            if isinstance(t, list):
                return array.unstack(turned(array.stack(t)), num=len(t))
            return reverse(t, [0]) if sequence_length is None else reverse_sequence(t, sequence_length, 0, 1)

        named = {} if scope is None else {"scope": scope}
        outputs, state = self._cell(turned(inputs), initial_state=initial_state, dtype=dtype, sequence_length=sequence_length,
                                    **named)
        return turned(outputs), state


__all__ = ["FusedRNNCellAdaptor", "TimeReversedFusedRNN"]
