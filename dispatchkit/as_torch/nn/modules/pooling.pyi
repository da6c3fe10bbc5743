"""`torch.nn.modules.pooling` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

AdaptiveAvgPool1d: Any

AdaptiveAvgPool2d: Any

AdaptiveAvgPool3d: Any

AdaptiveMaxPool1d: Any

AdaptiveMaxPool2d: Any

AdaptiveMaxPool3d: Any

AvgPool1d: Any

AvgPool2d: Any

AvgPool3d: Any

FractionalMaxPool2d: Any

FractionalMaxPool3d: Any

LPPool1d: Any

LPPool2d: Any

LPPool3d: Any

MaxPool1d: Any

MaxPool2d: Any

MaxPool3d: Any

MaxUnpool1d: Any

MaxUnpool2d: Any

MaxUnpool3d: Any

_AdaptiveAvgPoolNd: Any

_AdaptiveMaxPoolNd: Any

_AvgPoolNd: Any

_LPPoolNd: Any

_MaxPoolNd: Any

_MaxUnpoolNd: Any

_pair: Any

_single: Any

_triple: Any
