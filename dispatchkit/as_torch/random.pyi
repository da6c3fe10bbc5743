"""`torch.random` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit import manual_seed as manual_seed
from typing import Any

fork_rng: Any

get_rng_state: Any

initial_seed: Any

seed: Any

set_rng_state: Any
