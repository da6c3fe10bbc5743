"""The compiled core: whether it is used is decided here, once, before the modules load that it takes the place of.

The distribution ``dispatchkit-accelerator`` has modules of this package, compiled as they stand, and an entry point for
functions that compute arrays alone. Without it everything runs as Python.
"""

import os
import sys
import warnings
from collections.abc import Callable
from importlib import import_module, util
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
NAME, PURE = "dispatchkit_accelerator", "DISPATCHKIT_PURE"


def _start(version: str) -> tuple[str, Any]:
    """Have compiled modules loaded in the place of others where they are of this version; return what was decided."""
    if os.environ.get(PURE, "0") not in ("", "0"):
        return f"switched off by {PURE}", None
    if util.find_spec(NAME) is None:
        return "not installed", None
    accelerator = import_module(NAME)
    refusal = accelerator.install(os.path.dirname(__file__), version)  # noqa: PTH120  # `pathlib` loads slowly
    if refusal:
        warnings.warn(f"dispatchkit {version} runs without its accelerator: {refusal}", RuntimeWarning, stacklevel=2)
        return f"refused: {refusal}", None
    return version, accelerator


# The version that is in use, or why there is none; and the module that gives functions compiled entry points.
state, core = _start(sys.modules["dispatchkit"].__version__)


def _rows() -> Any:
    if core is None:
        return None
    return core.rows()


# What computes norms, softmax and cross entropy of NumPy's arrays, by rows; None without the compiled core.
rows = _rows()


def by_pointer(function: Any) -> Any:
    """Return a function as it is called in least time, also by Python 3.11, which calls functions by their code."""
    if core is None:
        return function
    return core.by_pointer(function)


def reduction_of(function: Any) -> Any:
    """Return the reduction of a universal function of NumPy's; the compiled core takes less time for small arrays."""
    if core is None:
        return function.reduce
    return core.reducer(function)


def computed_by(loop: str) -> Callable[[F], F]:
    """Let the compiled core compute by one of its loops first what a function computes, which gets what is left to it.

    Without the core the function stays as it is. With it, it is the attribute `__self__` of what stands in its place.
    """

    def decorate(function: F) -> F:
        if core is None:
            return function
        return core.first(loop, function)  # type: ignore[no-any-return]

    return decorate
