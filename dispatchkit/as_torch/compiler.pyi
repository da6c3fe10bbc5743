"""`torch.compiler` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

allow_in_graph: Any

assume_constant_result: Any

disable: Any

is_compiling: Any

is_dynamo_compiling: Any

is_exporting: Any
