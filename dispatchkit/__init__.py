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

__version__ = "0.1.0"
__array_api_version__ = "2025.12"

import sys as _sys
import typing as _typing
from functools import partial as _partial

from dispatchkit import accelerator as _accelerator  # noqa: F401  # before the modules that it may take the place of
from dispatchkit import errors as errors
from dispatchkit import linalg as linalg
from dispatchkit import random as random
from dispatchkit import tensor as _tensor  # noqa: F401  # loaded before the function `tensor` takes its name
from dispatchkit.backends.libraries import arrays_of as arrays_of
from dispatchkit.declare.decorators import operation as operation
from dispatchkit.declare.namespace import load_all_names as _load_all_names
from dispatchkit.declare.namespace import make_home as _make_home
from dispatchkit.declare.namespace import names_loaded_later as _names_loaded_later
from dispatchkit.declare.namespace import publish as _publish
from dispatchkit.declare.namespace import starred_names as _starred_names
from dispatchkit.declare.typing import ArrayLike as ArrayLike
from dispatchkit.declare.typing import Operation as Operation
from dispatchkit.declare.wrapping import holds as holds
from dispatchkit.errors import *  # noqa: F403
from dispatchkit.graph.recording import enable_grad as enable_grad
from dispatchkit.graph.recording import no_grad as no_grad
from dispatchkit.graph.recording import set_grad_enabled as set_grad_enabled
from dispatchkit.interop import bridges as _members  # noqa: F401
from dispatchkit.interop.bridges import register_on_import as _register_on_import
from dispatchkit.ops import *  # noqa: F403
from dispatchkit.ops.info import __array_namespace_info__ as __array_namespace_info__
from dispatchkit.protocol.densify import clear_densify_ledger as clear_densify_ledger
from dispatchkit.protocol.densify import densify as densify
from dispatchkit.protocol.densify import densify_ledger as densify_ledger
from dispatchkit.protocol.engine import DispatchProtocol as DispatchProtocol
from dispatchkit.protocol.fallbacks import fallback as fallback
from dispatchkit.protocol.functions import array_type as array_type
from dispatchkit.protocol.functions import converts as converts
from dispatchkit.protocol.functions import implements as implements
from dispatchkit.protocol.functions import local_registrations as local_registrations
from dispatchkit.protocol.functions import overridable as overridable
from dispatchkit.protocol.functions import redispatch as redispatch
from dispatchkit.protocol.functions import register_type as register_type
from dispatchkit.protocol.instance import TensorFunctionMode as TensorFunctionMode
from dispatchkit.protocol.instance import disable_dispatch as disable_dispatch
from dispatchkit.protocol.instance import tensor_protocol as tensor_protocol
from dispatchkit.protocol.kinds import kinds as kinds
from dispatchkit.protocol.modes import reset_modes as reset_modes
from dispatchkit.protocol.steps import decline as decline
from dispatchkit.protocol.types.declaration import field as field
from dispatchkit.protocol.types.type_tests import TypeTests as TypeTests
from dispatchkit.tensor import ArrayMethods as ArrayMethods
from dispatchkit.tensor import Tensor as Tensor
from dispatchkit.tensor import set_printoptions as set_printoptions
from dispatchkit.tensor.closeness import allclose as allclose
from dispatchkit.tensor.closeness import isclose as isclose

if _typing.TYPE_CHECKING:
    from dispatchkit import autograd as autograd
    from dispatchkit import data as data
    from dispatchkit import fft as fft
    from dispatchkit import func as func
    from dispatchkit import nn as nn
    from dispatchkit import optim as optim
    from dispatchkit import overrides as overrides
    from dispatchkit import special as special
    from dispatchkit import testing as testing
    from dispatchkit import types as types
    from dispatchkit.autograd import is_grad_enabled as is_grad_enabled
    from dispatchkit.interop.compiling import compile as compile
    from dispatchkit.progress import set_progress as set_progress
    from dispatchkit.report import check as check
    from dispatchkit.report import draw as draw
    from dispatchkit.report import explain as explain
    from dispatchkit.report import record_calls as record_calls
    from dispatchkit.report import rules as rules
    from dispatchkit.report import show_config as show_config
    from dispatchkit.report import which as which
    from dispatchkit.report.auditing.audit import audit as audit
    from dispatchkit.report.covering.coverage import coverage as coverage
    from dispatchkit.saving import load as load
    from dispatchkit.saving import save as save
    from dispatchkit.testing import checked as checked
    from dispatchkit.testing import verify as verify
else:
    # What many programs do not use loads when it is first asked for.
    _LATER: dict[str, str | None] = {
        **dict.fromkeys(("autograd", "data", "fft", "func", "nn", "optim", "overrides")),
        **dict.fromkeys(("report", "saving", "special", "testing", "types")),
        **dict.fromkeys(("audit", "check", "coverage", "draw", "explain", "record_calls", "rules", "which"), "report"),
        **dict.fromkeys(("load", "save"), "saving"),
        **dict.fromkeys(("checked", "verify"), "testing"),
        "compile": "interop.compiling",
        "is_grad_enabled": "autograd",
        "set_progress": "progress",
        "show_config": "report",
    }

    # Not spelled `__all__ =`: type checkers then follow the imports, and a name stands in one place.
    vars()["__all__"] = sorted(
        {"errors", "linalg", "random", *_starred_names(__name__), *_LATER} - {"report", "saving", "testing"}
    )

    __getattr__ = _names_loaded_later(__name__, _LATER, without=vars(errors)["__all__"])
    tensor_protocol.journal.loaders[_partial(_load_all_names, __name__, _LATER)] = None


_publish(_sys.modules[__name__])
_register_on_import()
_make_home(__name__, without=vars(errors)["__all__"])
