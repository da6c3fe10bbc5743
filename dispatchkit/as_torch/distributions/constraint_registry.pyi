"""`torch.distributions.constraint_registry` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

biject_to: Any

transform_to: Any
