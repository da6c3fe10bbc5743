"""`torch.optim.optimizer` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit.optim import Optimizer as Optimizer
from typing import Any

required: Any
