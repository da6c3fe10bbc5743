"""`torch.nn.utils.memory_format` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

convert_conv2d_weight_memory_format: Any

convert_conv3d_weight_memory_format: Any
