"""`torch.library` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

custom_op: Any

register_autograd: Any

register_fake: Any

register_kernel: Any
