"""`torch.accelerator` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

current_accelerator: Any

def device_count(*args: Any, **kwargs: Any) -> Any: ...

def empty_cache(*args: Any, **kwargs: Any) -> Any: ...

def is_available(*args: Any, **kwargs: Any) -> Any: ...
