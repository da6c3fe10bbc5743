"""`torch.nn.modules.linear_cross_entropy_options` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

LinearCrossEntropyOptions: Any
