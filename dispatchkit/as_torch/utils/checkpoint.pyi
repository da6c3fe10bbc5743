"""`torch.utils.checkpoint` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

CheckpointError: Any

checkpoint: Any

checkpoint_sequential: Any

get_device_states: Any

set_checkpoint_debug_enabled: Any

set_checkpoint_early_stop: Any

set_device_states: Any
