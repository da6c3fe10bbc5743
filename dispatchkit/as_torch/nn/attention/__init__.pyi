"""`torch.nn.attention` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit.as_torch.nn.attention import flex_attention as flex_attention
from typing import Any

SDPBackend: Any

sdpa_kernel: Any
