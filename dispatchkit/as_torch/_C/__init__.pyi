"""`torch._C` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit.as_torch._C import _nn as _nn
from typing import Any

_are_functorch_transforms_active: Any

_TensorMeta: Any

_disabled_torch_function_impl: Any

_get_tracing_state: Any

_log_api_usage_once: Any

_current_graph_task_id: Any

_is_fwd_grad_enabled: Any

_set_fwd_grad_enabled: Any
