"""`torch.nn.attention.flex_attention` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

AuxRequest: Any

BlockMask: Any

and_masks: Any

create_block_mask: Any

create_mask: Any

flex_attention: Any

or_masks: Any

_DEFAULT_SPARSE_BLOCK_SIZE: Any
