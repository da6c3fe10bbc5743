"""`torch.autograd.gradcheck` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit.autograd import gradgradcheck as gradgradcheck
from typing import Any

GradcheckError: Any

get_analytical_jacobian: Any

get_numerical_jacobian: Any

gradcheck: Any
