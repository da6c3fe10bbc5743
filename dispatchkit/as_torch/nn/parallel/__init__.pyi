"""`torch.nn.parallel` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit.as_torch.nn import *
from dispatchkit.as_torch.nn.parallel import distributed as distributed
from dispatchkit.as_torch.nn.parallel import scatter_gather as scatter_gather
from typing import Any

DistributedDataParallel: Any
