"""`torch.distributed` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit.as_torch.distributed import device_mesh as device_mesh
from dispatchkit.as_torch.distributed import fsdp as fsdp
from dispatchkit.as_torch.distributed import nn as nn
from dispatchkit.as_torch.distributed import optim as optim
from dispatchkit.as_torch.distributed import tensor as tensor
from typing import Any

ProcessGroup: Any

ReduceOp: Any

all_gather: Any

all_gather_object: Any

all_reduce: Any

all_to_all: Any

barrier: Any

broadcast: Any

broadcast_object_list: Any

gather: Any

get_rank: Any

get_world_size: Any

group: Any

is_available: Any

is_initialized: Any

new_group: Any

recv: Any

reduce: Any

reduce_scatter: Any

scatter: Any

send: Any
