"""`torch.jit` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit.as_torch.jit import annotations as annotations
from dispatchkit.as_torch.nn import Module as Module
from typing import Any

Final: Any

ScriptFunction: Any

class ScriptModule(Module):
    def __init__(self) -> None: ...

annotate: Any

export: Any

fork: Any

ignore: Any

is_scripting: Any

is_tracing: Any

isinstance: Any

script: Any

script_if_tracing: Any

script_method: Any

unused: Any

wait: Any

_overload: Any

_overload_method: Any

_script_if_tracing: Any

_fork: Any

_wait: Any
