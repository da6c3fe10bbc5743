"""`torch.backends.cudnn` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

benchmark: Any

deterministic: Any

enabled: Any

flags: Any

def is_available(*args: Any, **kwargs: Any) -> Any: ...
