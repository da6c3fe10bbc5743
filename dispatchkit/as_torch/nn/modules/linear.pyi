"""`torch.nn.modules.linear` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

Bilinear: Any

Identity: Any

LazyLinear: Any

LazyModuleMixin: Any

Linear: Any
