"""`torch.autograd.function` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit.autograd import FunctionCtx as FunctionCtx
from typing import Any

BackwardCFunction: Any

Function: Any

InplaceFunction: Any

once_differentiable: Any
