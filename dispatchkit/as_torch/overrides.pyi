"""`torch.overrides` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

TorchFunctionMode: Any

handle_torch_function: Any

has_torch_function: Any

has_torch_function_unary: Any

has_torch_function_variadic: Any

is_tensor_like: Any
