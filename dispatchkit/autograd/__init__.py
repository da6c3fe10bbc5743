"""What people use to compute and check derivatives."""

from __future__ import annotations

from dispatchkit.autograd import function, graph
from dispatchkit.autograd.function import Function
from dispatchkit.autograd.function_context import FunctionCtx
from dispatchkit.autograd.functional import backward, grad
from dispatchkit.autograd.gradcheck import gradcheck, gradgradcheck
from dispatchkit.autograd.graph import detect_anomaly, is_anomaly_enabled, set_detect_anomaly
from dispatchkit.declare.namespace import make_home
from dispatchkit.graph.recording import enable_grad, no_grad, set_grad_enabled
from dispatchkit.graph.recording import is_grad_enabled as _is_grad_enabled

__all__ = [
    "Function",
    "FunctionCtx",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "function",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]


def is_grad_enabled() -> bool:
    """Return whether operations record a graph.

    Returns
    -------
    bool
        True, unless `no_grad` or `set_grad_enabled` has switched recording off.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> with dk.no_grad():
    ...     dk.is_grad_enabled()
    False
    """
    return bool(_is_grad_enabled())


make_home(__name__)
