"""`tf.contrib.rnn`: recurrent cells, by their older names."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.contrib.cells": """
        AttentionCellWrapper Conv1DLSTMCell Conv2DLSTMCell ConvLSTMCell InputProjectionWrapper LayerNormBasicLSTMCell
        OutputProjectionWrapper stack_bidirectional_dynamic_rnn""",
    "regrad.contrib.fused_rnn": "FusedRNNCellAdaptor TimeReversedFusedRNN",
    "regrad.contrib.gated_cells": """
        CoupledInputForgetGateLSTMCell HighwayWrapper IndRNNCell IndyGRUCell IndyLSTMCell IntersectionRNNCell NASCell
        PhasedLSTMCell SRUCell UGRNNCell""",
    "regrad.nn.rnn": "static_bidirectional_rnn static_rnn static_state_saving_rnn",
    "regrad.nn.rnn_cell": """
        BasicLSTMCell BasicRNNCell CoreRNNCell=RNNCell DeviceWrapper DropoutWrapper GRUCell LSTMCell LSTMStateTuple MultiRNNCell
        RNNCell ResidualWrapper""",
    "regrad.contrib.lstm_block": "LSTMBlockCell LSTMBlockFusedCell",
})
