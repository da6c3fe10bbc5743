"""`torch.jit` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

Final: Any

annotate: Any

export: Any

ignore: Any

is_scripting: Any

is_tracing: Any

script: Any

script_if_tracing: Any

unused: Any
