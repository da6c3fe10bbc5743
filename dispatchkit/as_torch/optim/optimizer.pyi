"""`torch.optim.optimizer` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit.optim import Optimizer as Optimizer
from typing import Any

register_optimizer_step_post_hook: Any

register_optimizer_step_pre_hook: Any

required: Any
