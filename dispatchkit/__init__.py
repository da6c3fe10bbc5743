"""dispatchkit: array-like types in a few lines, on a differentiable array library.

::

    import dispatchkit as dk

    @dk.array_type(fallback=dk.fallback.decompose | dk.fallback.dense)
    class ScaledIdentity: ...

    @dk.implements(dk.mean)
    def mean_scaled_identity(x: ScaledIdentity, /): ...

    dk.explain(dk.mean, ScaledIdentity(3, 2.0))
    dk.coverage(ScaledIdentity)

The functions follow the array API standard; PyTorch's names for them, and for everything about gradients, work, too.
"""

import sys as _sys

from dispatchkit import autograd, errors, linalg, overrides, random, types
from dispatchkit.autograd import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from dispatchkit.errors import *  # noqa: F403
from dispatchkit.errors import __all__ as _errors
from dispatchkit.ops import *  # noqa: F403
from dispatchkit.ops import __all__ as _operations
from dispatchkit.ops.declare import operation
from dispatchkit.ops.namespace import publish as _publish
from dispatchkit.protocol.decline import decline
from dispatchkit.protocol.densify import clear_ledger as clear_densify_ledger
from dispatchkit.protocol.densify import densify
from dispatchkit.protocol.densify import ledger as densify_ledger
from dispatchkit.protocol.engine import DispatchProtocol
from dispatchkit.protocol.fallbacks import fallback
from dispatchkit.protocol.instance import (
    TensorFunctionMode,
    array_type,
    converts,
    disable_dispatch,
    explain,
    implements,
    local_registrations,
    overridable,
    redispatch,
    register_type,
    tensor_protocol,
)
from dispatchkit.protocol.kinds import kinds
from dispatchkit.random import Generator, manual_seed
from dispatchkit.report import coverage
from dispatchkit.tensor import ArrayMethods, Tensor, set_printoptions

__version__ = "0.1.0"
__array_api_version__ = "2025.12"

__all__ = [
    "ArrayMethods",
    "DispatchProtocol",
    "Generator",
    "Tensor",
    "TensorFunctionMode",
    "array_type",
    "autograd",
    "clear_densify_ledger",
    "converts",
    "coverage",
    "decline",
    "densify",
    "densify_ledger",
    "disable_dispatch",
    "enable_grad",
    "errors",
    "explain",
    "fallback",
    "implements",
    "is_grad_enabled",
    "kinds",
    "linalg",
    "local_registrations",
    "manual_seed",
    "no_grad",
    "operation",
    "overridable",
    "overrides",
    "random",
    "redispatch",
    "register_type",
    "set_grad_enabled",
    "set_printoptions",
    "tensor_protocol",
    "types",
]
__all__ += _operations
__all__ += _errors

_publish(_sys.modules[__name__])
