"""`torch.nn.utils.parametrize` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit.as_torch.nn import Module as Module
from typing import Any

class ParametrizationList(Module):
    def __init__(self, modules: Any, original: Any, unsafe: Any = ...) -> None: ...

cached: Any

is_parametrized: Any

register_parametrization: Any

remove_parametrizations: Any

type_before_parametrizations: Any
