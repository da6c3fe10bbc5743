"""`torch.optim.swa_utils` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit.as_torch.nn import Module as Module
from dispatchkit.nn.utils import get_ema_avg_fn as get_ema_avg_fn
from dispatchkit.nn.utils import get_ema_multi_avg_fn as get_ema_multi_avg_fn
from dispatchkit.nn.utils import get_swa_avg_fn as get_swa_avg_fn
from dispatchkit.nn.utils import get_swa_multi_avg_fn as get_swa_multi_avg_fn
from dispatchkit.nn.utils import update_bn as update_bn
from dispatchkit.optim.swa_utils import SWALR as SWALR
from typing import Any

class AveragedModel(Module):
    def __init__(self, model: Any, device: Any = ..., avg_fn: Any = ..., multi_avg_fn: Any = ..., use_buffers: Any = ...) -> None: ...
