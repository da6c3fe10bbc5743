"""`torch.utils.data.dataloader` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit.as_torch.utils.data import *
from typing import Any

_BaseDataLoaderIter: Any

_MultiProcessingDataLoaderIter: Any

_SingleProcessDataLoaderIter: Any
