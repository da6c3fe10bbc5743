"""`torch.nn.utils.clip_grad` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

clip_grad_norm: Any

clip_grad_norm_: Any

clip_grad_value_: Any
