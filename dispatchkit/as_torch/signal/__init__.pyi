"""`torch.signal` of PyTorch in terms of dispatchkit.

Written by ``python -m tests.typing.as_torch_stub`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit.as_torch.signal import windows as windows
