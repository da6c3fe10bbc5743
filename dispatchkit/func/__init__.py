"""Transformations of functions: derivatives of any order and mode, batches, recomputation."""

from dispatchkit.declare.namespace import make_home
from dispatchkit.func.batches import vmap
from dispatchkit.func.checkpointing import checkpoint
from dispatchkit.func.derivatives import grad, hessian, jacfwd, jacrev, jvp, linearize, value_and_grad, vjp

__all__ = ["checkpoint", "grad", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "value_and_grad", "vjp", "vmap"]

make_home(__name__)
