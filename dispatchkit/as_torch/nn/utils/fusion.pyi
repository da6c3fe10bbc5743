"""`torch.nn.utils.fusion` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

fuse_conv_bn_eval: Any

fuse_conv_bn_weights: Any

fuse_linear_bn_eval: Any

fuse_linear_bn_weights: Any
