"""`torch.fx.experimental.proxy_tensor` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

get_proxy_mode: Any
