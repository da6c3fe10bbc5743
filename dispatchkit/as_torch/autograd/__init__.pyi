"""`torch.autograd` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit import enable_grad as enable_grad
from dispatchkit import no_grad as no_grad
from dispatchkit import set_grad_enabled as set_grad_enabled
from dispatchkit.as_torch import inference_mode as inference_mode
from dispatchkit.as_torch.autograd import anomaly_mode as anomaly_mode
from dispatchkit.as_torch.autograd import forward_ad as forward_ad
from dispatchkit.as_torch.autograd import function as function
from dispatchkit.as_torch.autograd import functional as functional
from dispatchkit.as_torch.autograd import grad_mode as grad_mode
from dispatchkit.as_torch.autograd import graph as graph
from dispatchkit.as_torch.autograd import profiler as profiler
from dispatchkit.as_torch.autograd import variable as variable
from dispatchkit.autograd import backward as backward
from dispatchkit.autograd import gradgradcheck as gradgradcheck
from typing import Any
import dispatchkit.autograd

class Function(dispatchkit.autograd.Function): ...

SavedTensor: Any

Variable: Any

detect_anomaly: Any

grad: Any

gradcheck: Any

is_multithreading_enabled: Any

set_detect_anomaly: Any

set_multithreading_enabled: Any

torch: Any
