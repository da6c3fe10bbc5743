"""`torch.autograd.functional` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

hessian: Any

hvp: Any

jacobian: Any

jvp: Any

vhp: Any

vjp: Any

_construct_standard_basis_for: Any
