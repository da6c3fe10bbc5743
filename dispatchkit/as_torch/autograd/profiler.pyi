"""`torch.autograd.profiler` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

EventList: Any

ProfilerActivity: Any

emit_itt: Any

emit_nvtx: Any

profile: Any

record_function: Any
