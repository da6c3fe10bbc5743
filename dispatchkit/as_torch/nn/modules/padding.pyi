"""`torch.nn.modules.padding` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

CircularPad1d: Any

CircularPad2d: Any

CircularPad3d: Any

ConstantPad1d: Any

ConstantPad2d: Any

ConstantPad3d: Any

ReflectionPad1d: Any

ReflectionPad2d: Any

ReflectionPad3d: Any

ReplicationPad1d: Any

ReplicationPad2d: Any

ReplicationPad3d: Any

ZeroPad1d: Any

ZeroPad2d: Any

ZeroPad3d: Any

_CircularPadNd: Any

_ConstantPadNd: Any

_ReflectionPadNd: Any

_ReplicationPadNd: Any

_ntuple: Any

_pair: Any

_quadruple: Any
