"""`torch.nn.modules.activation` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

CELU: Any

ELU: Any

GELU: Any

GLU: Any

Hardshrink: Any

Hardsigmoid: Any

Hardswish: Any

Hardtanh: Any

LeakyReLU: Any

LogSigmoid: Any

LogSoftmax: Any

Mish: Any

MultiheadAttention: Any

PReLU: Any

RReLU: Any

ReLU: Any

ReLU6: Any

SELU: Any

SiLU: Any

Sigmoid: Any

Softmax: Any

Softmax2d: Any

Softmin: Any

Softplus: Any

Softshrink: Any

Softsign: Any

Tanh: Any

Tanhshrink: Any

Threshold: Any
