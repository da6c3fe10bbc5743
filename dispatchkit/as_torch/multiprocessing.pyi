"""`torch.multiprocessing` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

Array: Any

AuthenticationError: Any

Barrier: Any

BoundedSemaphore: Any

BufferTooShort: Any

Condition: Any

Event: Any

JoinableQueue: Any

Lock: Any

Manager: Any

Pipe: Any

Pool: Any

Process: Any

ProcessError: Any

Queue: Any

RLock: Any

RawArray: Any

RawValue: Any

Semaphore: Any

SimpleQueue: Any

TimeoutError: Any

Value: Any

active_children: Any

allow_connection_pickling: Any

cpu_count: Any

current_process: Any

freeze_support: Any

get_all_start_methods: Any

get_context: Any

get_logger: Any

get_sharing_strategy: Any

get_start_method: Any

log_to_stderr: Any

parent_process: Any

reducer: Any

set_executable: Any

set_forkserver_preload: Any

set_sharing_strategy: Any

set_start_method: Any
