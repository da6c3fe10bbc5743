"""`torch.nn.parallel.scatter_gather` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

gather: Any

scatter: Any

scatter_kwargs: Any
