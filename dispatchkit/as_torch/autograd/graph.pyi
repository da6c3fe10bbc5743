"""`torch.autograd.graph` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from typing import Any

GradientEdge: Any

Node: Any

allow_mutation_on_saved_tensors: Any

disable_saved_tensors_hooks: Any

get_gradient_edge: Any

increment_version: Any

register_multi_grad_hook: Any

save_on_cpu: Any

saved_tensors_hooks: Any
