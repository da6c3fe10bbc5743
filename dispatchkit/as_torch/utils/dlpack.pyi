"""`torch.utils.dlpack` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit import from_dlpack as from_dlpack
from typing import Any

to_dlpack: Any
