"""`torch.cuda` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit import manual_seed as manual_seed
from dispatchkit import manual_seed as manual_seed_all
from dispatchkit.as_torch.cuda import amp as amp
from dispatchkit.as_torch.cuda import nvtx as nvtx
from dispatchkit.as_torch.cuda import streams as streams
from typing import Any

CUDAGraph: Any

Event: Any

OutOfMemoryError: Any

Stream: Any

StreamContext: Any

current_device: Any

current_stream: Any

def device_count(*args: Any, **kwargs: Any) -> Any: ...

def empty_cache(*args: Any, **kwargs: Any) -> Any: ...

get_rng_state_all: Any

graph: Any

ipc_collect: Any

def is_available(*args: Any, **kwargs: Any) -> Any: ...

max_memory_allocated: Any

memory_allocated: Any

memory_reserved: Any

reset_peak_memory_stats: Any

set_device: Any

set_rng_state_all: Any

stream: Any

synchronize: Any

_initialized: Any
