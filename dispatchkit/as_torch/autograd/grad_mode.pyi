"""`torch.autograd.grad_mode` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit import enable_grad as enable_grad
from dispatchkit import no_grad as no_grad
from dispatchkit import set_grad_enabled as set_grad_enabled
from dispatchkit.as_torch import inference_mode as inference_mode
from typing import Any

set_multithreading_enabled: Any
