"""`torch.nn.modules.utils` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

consume_prefix_in_state_dict_if_present: Any

_ntuple: Any

_pair: Any

_quadruple: Any

_single: Any

_triple: Any
