"""`torch.autograd.functional` of PyTorch in terms of dispatchkit.

Written by ``python -m tests.typing.as_torch_stub`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

hessian: Any

hvp: Any

jacobian: Any

jvp: Any

vhp: Any

vjp: Any
