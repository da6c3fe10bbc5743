"""`torch._tensor_str` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

PRINT_OPTS: Any

_tensor_str: Any
