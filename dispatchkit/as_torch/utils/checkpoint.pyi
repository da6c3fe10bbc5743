"""`torch.utils.checkpoint` of PyTorch in terms of dispatchkit.

Written by ``python -m tests.typing.as_torch_stub`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

def checkpoint(*args: Any, **kwargs: Any) -> Any: ...

set_checkpoint_early_stop: Any
