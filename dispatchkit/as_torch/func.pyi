"""`torch.func` of PyTorch in terms of dispatchkit.

Written by ``nox -s generated`` from the table; do not edit.
"""

# mypy: disable-error-code="misc, no-redef, override"
from dispatchkit.func import grad as grad
from dispatchkit.func import hessian as hessian
from dispatchkit.func import jacfwd as jacfwd
from dispatchkit.func import jacrev as jacrev
from dispatchkit.func import linearize as linearize
from dispatchkit.func import vjp as vjp
from dispatchkit.func import vmap as vmap
from dispatchkit.nn.utils import functional_call as functional_call
from typing import Any

grad_and_value: Any

jvp: Any

replace_all_batch_norm_modules_: Any

stack_module_state: Any
