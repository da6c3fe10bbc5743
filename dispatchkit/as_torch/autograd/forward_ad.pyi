"""`torch.autograd.forward_ad` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

UnpackedDualTensor: Any

dual_level: Any

enter_dual_level: Any

exit_dual_level: Any

make_dual: Any

unpack_dual: Any

_is_fwd_grad_enabled: Any

_set_fwd_grad_enabled: Any
