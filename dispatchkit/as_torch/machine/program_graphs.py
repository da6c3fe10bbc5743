"""Names of `torch.fx`, which makes graphs of programs: libraries ask whether something is one, and nothing here is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from dispatchkit.as_torch.machine import settings
from dispatchkit.as_torch.spelling import Module

__all__ = ["OF_GRAPHS"]


def symbolic_trace(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise: no graph of a program is made.

    Raises
    ------
    RuntimeError : saying what to call instead
    """
    raise RuntimeError("torch.fx: no graph of a program is made here; dk.compile compiles whole steps")


def wrap(fn_or_name: str | Callable[..., Any]) -> Any:
    """Return a function that graphs would call as a whole, as it is.

    Parameters
    ----------
    fn_or_name : the function, or its name
    """
    return settings.as_it_is(fn_or_name)


def _without_instances(name: str, *bases: type) -> type:
    """Return a class of a name that nothing is made of."""
    text = f"`torch.fx.{name}`, of which there is none here."
    return type(name, bases, {"__init__": symbolic_trace, "__module__": __name__, "__doc__": text})


OF_GRAPHS: dict[str, Any] = {
    **{name: _without_instances(name) for name in ("Graph", "Interpreter", "Node", "Proxy", "Tracer", "Transformer")},
    "GraphModule": _without_instances("GraphModule", Module),
    "symbolic_trace": symbolic_trace,
    "wrap": wrap,
}
