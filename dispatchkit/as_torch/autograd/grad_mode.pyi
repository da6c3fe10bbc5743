"""`torch.autograd.grad_mode` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit import enable_grad as enable_grad
from dispatchkit import no_grad as no_grad
from dispatchkit import set_grad_enabled as set_grad_enabled
from typing import Any, overload

@overload
def inference_mode(mode: F) -> F: ...
@overload
def inference_mode(mode: builtins.bool = ...) -> Block: ...

set_multithreading_enabled: Any
