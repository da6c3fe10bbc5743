"""`torch.nn.modules.batchnorm` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

BatchNorm1d: Any

BatchNorm2d: Any

BatchNorm3d: Any

LazyBatchNorm1d: Any

LazyBatchNorm2d: Any

LazyBatchNorm3d: Any

LazyModuleMixin: Any

SyncBatchNorm: Any

_BatchNorm: Any

_NormBase: Any
