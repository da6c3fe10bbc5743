"""`torch.nn.modules.module` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit.as_torch.nn import *
from dispatchkit.nn import register_module_forward_hook as register_module_forward_hook
from dispatchkit.nn import register_module_forward_pre_hook as register_module_forward_pre_hook
from dispatchkit.nn import register_module_full_backward_hook as register_module_full_backward_hook
from dispatchkit.nn import register_module_full_backward_pre_hook as register_module_full_backward_pre_hook
from typing import Any

register_module_backward_hook: Any

register_module_buffer_registration_hook: Any

register_module_module_registration_hook: Any

register_module_parameter_registration_hook: Any

_IncompatibleKeys: Any
