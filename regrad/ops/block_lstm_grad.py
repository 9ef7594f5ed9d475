"""Gradient rules for `block_lstm.py`: those of the lowerings."""

from regrad.ops import block_lstm as _block_lstm  # noqa: F401 - the op types
from regrad.ops.vjp import vjp_of_lowering

for _op_type in ("BlockLSTM", "BlockLSTMV2", "LSTMBlockCell"):
    vjp_of_lowering(_op_type)
