"""`torch.distributed.nn` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

all_gather: Any

all_reduce: Any

all_to_all: Any

broadcast: Any

gather: Any

reduce: Any

reduce_scatter: Any

scatter: Any
