"""`torch.cuda.nvtx` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

mark: Any

range: Any

range_end: Any

range_pop: Any

range_push: Any

range_start: Any
