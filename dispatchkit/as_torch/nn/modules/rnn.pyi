"""`torch.nn.modules.rnn` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

GRU: Any

GRUCell: Any

LSTM: Any

LSTMCell: Any

RNN: Any

RNNBase: Any

RNNCell: Any

RNNCellBase: Any
