"""`torch.amp` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit.as_torch.amp import autocast_mode as autocast_mode
from typing import Any

GradScaler: Any

autocast: Any

custom_bwd: Any

custom_fwd: Any

is_autocast_available: Any
