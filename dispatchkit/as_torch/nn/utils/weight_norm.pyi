"""`torch.nn.utils.weight_norm` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

remove_weight_norm: Any

weight_norm: Any
