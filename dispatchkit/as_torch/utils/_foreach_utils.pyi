"""`torch.utils._foreach_utils` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

_group_tensors_by_device_and_dtype: Any

_get_foreach_kernels_supported_devices: Any

_get_fused_kernels_supported_devices: Any

_device_has_foreach_support: Any

_has_foreach_support: Any
