"""`tf.contrib.rnn`: recurrent cells, by their older names."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.contrib.cells": """
        AttentionCellWrapper Conv1DLSTMCell Conv2DLSTMCell Conv3DLSTMCell ConvLSTMCell EmbeddingWrapper InputProjectionWrapper
        LayerNormBasicLSTMCell LayerNormLSTMCell OutputProjectionWrapper stack_bidirectional_dynamic_rnn
        stack_bidirectional_rnn""",
    "regrad.contrib.fused_rnn": "FusedRNNCellAdaptor TimeReversedFusedRNN",
    "regrad.contrib.gated_cells": """
        CFNCell CoupledInputForgetGateLSTMCell GLSTMCell GRUBlockCell GRUBlockCellV2 HighwayWrapper IndRNNCell IndyGRUCell
        IndyLSTMCell IntersectionRNNCell MinimalRNNCell NASCell PhasedLSTMCell SRUCell UGRNNCell WeightNormLSTMCell""",
    "regrad.contrib.grid_cells": "BidirectionalGridLSTMCell GridLSTMCell TimeFreqLSTMCell",
    "regrad.nn.rnn": "static_bidirectional_rnn static_rnn static_state_saving_rnn transpose_batch_time=_transposed",
    "regrad.nn.rnn_cell": """
        BasicLSTMCell BasicRNNCell CoreRNNCell=RNNCell DeviceWrapper DropoutWrapper GRUCell LSTMCell LSTMStateTuple MultiRNNCell
        RNNCell ResidualWrapper""",
    "regrad.contrib.lstm_block": "LSTMBlockCell LSTMBlockFusedCell",
})
