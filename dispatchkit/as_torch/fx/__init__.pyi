"""`torch.fx` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit.as_torch.fx import experimental as experimental
from dispatchkit.as_torch.fx import node as node
from typing import Any

Graph: Any

GraphModule: Any

Interpreter: Any

Node: Any

Proxy: Any

Tracer: Any

Transformer: Any

symbolic_trace: Any

wrap: Any
