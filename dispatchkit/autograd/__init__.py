"""What people use to compute and check derivatives."""

from dispatchkit.autograd import forward_ad as forward_ad
from dispatchkit.autograd import function as function
from dispatchkit.autograd import graph as graph
from dispatchkit.autograd.function import Function as Function
from dispatchkit.autograd.function_context import FunctionCtx as FunctionCtx
from dispatchkit.autograd.functional import backward as backward
from dispatchkit.autograd.functional import grad as grad
from dispatchkit.autograd.gradcheck import gradcheck as gradcheck
from dispatchkit.autograd.gradcheck import gradgradcheck as gradgradcheck
from dispatchkit.autograd.graph import detect_anomaly as detect_anomaly
from dispatchkit.autograd.graph import is_anomaly_enabled as is_anomaly_enabled
from dispatchkit.autograd.graph import set_detect_anomaly as set_detect_anomaly
from dispatchkit.declare.namespace import make_home, starred_names
from dispatchkit.graph.recording import enable_grad as enable_grad
from dispatchkit.graph.recording import is_grad_enabled as _is_grad_enabled
from dispatchkit.graph.recording import no_grad as no_grad
from dispatchkit.graph.recording import set_grad_enabled as set_grad_enabled


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


# Not spelled `__all__ =`: type checkers then follow the imports, and a name stands in one place.
vars()["__all__"] = ["forward_ad", "function", "graph", *starred_names(__name__)]

make_home(__name__)
