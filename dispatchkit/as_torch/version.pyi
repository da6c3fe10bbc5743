"""`torch.version` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

cuda: Any

debug: Any

git_version: Any

hip: Any
