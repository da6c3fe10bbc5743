"""`torch.amp.autocast_mode` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

autocast: Any

custom_bwd: Any

custom_fwd: Any

is_autocast_available: Any
