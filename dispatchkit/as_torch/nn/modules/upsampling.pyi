"""`torch.nn.modules.upsampling` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

Upsample: Any

UpsamplingBilinear2d: Any

UpsamplingNearest2d: Any
