"""`torch.nn.modules.conv` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

Conv1d: Any

Conv2d: Any

Conv3d: Any

ConvTranspose1d: Any

ConvTranspose2d: Any

ConvTranspose3d: Any

LazyConv1d: Any

LazyConv2d: Any

LazyConv3d: Any

LazyConvTranspose1d: Any

LazyConvTranspose2d: Any

LazyConvTranspose3d: Any

LazyModuleMixin: Any

_ConvNd: Any

_ConvTransposeNd: Any

_pair: Any

_single: Any

_triple: Any
