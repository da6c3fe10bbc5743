"""`torch.profiler` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

ProfilerAction: Any

ProfilerActivity: Any

kineto_available: Any

profile: Any

record_function: Any

schedule: Any

supported_activities: Any

tensorboard_trace_handler: Any
