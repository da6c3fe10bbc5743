"""`torch.nn.modules.instancenorm` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

InstanceNorm1d: Any

InstanceNorm2d: Any

InstanceNorm3d: Any

LazyInstanceNorm1d: Any

LazyInstanceNorm2d: Any

LazyInstanceNorm3d: Any

_InstanceNorm: Any

_NormBase: Any
