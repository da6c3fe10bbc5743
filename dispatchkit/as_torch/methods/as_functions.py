"""Functions of PyTorch that are methods here, or functions with an option: `torch.detach`, `torch.exp_`, `F.relu_`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from dispatchkit.as_torch.calling.allowed import allowed_names
from dispatchkit.as_torch.operators import in_place
from dispatchkit.as_torch.spelling import HOME, Tensor

__all__ = ["functions_in_place", "method_functions"]

# Functions of networks that take `inplace`, and how many arguments stand between the first and it.
POSITIONS = {
    **dict.fromkeys(("hardsigmoid", "hardswish", "mish", "relu", "relu6", "selu", "silu"), 0),
    **dict.fromkeys(("celu", "elu", "leaky_relu"), 1),
    **dict.fromkeys(("alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"), 2),
    **dict.fromkeys(("hardtanh", "threshold"), 2),
    "rrelu": 3,
}
# What are no methods in PyTorch.
NO_FUNCTIONS = frozenset({"cpu", "eig", "layout"})


def method_functions(held: Mapping[str, Any]) -> dict[str, Callable[..., Any]]:
    """Return the functions at the top of PyTorch that call the method of their name.

    Parameters
    ----------
    held : what the module has already
    """
    names = (allowed_names("") or frozenset()) - held.keys() - NO_FUNCTIONS
    return {
        name: _of_method(name) for name in sorted(names) if name[0] != "_" and callable(getattr(Tensor, name, None))
    }


def _of_method(name: str) -> Callable[..., Any]:
    def function(input: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(input, name)(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__module__, function.__doc__ = HOME, f"Call ``input.{name}`` with further arguments."
    return function


def functions_in_place(held: Mapping[str, Any]) -> dict[str, Callable[..., Any]]:
    """Return the functions of networks that take `inplace`, which write into their argument then, and ``relu_``.

    Parameters
    ----------
    held : what the module has already, where they only return what the argument is to become
    """
    names = allowed_names("nn.functional") or frozenset()
    functions = {}
    for name, position in POSITIONS.items():
        changing = in_place(Tensor, name, held[name], None)
        functions[name] = _overwriting(held[name], changing, position)
        if f"{name}_" in names:
            functions[f"{name}_"] = changing
    return functions


def _overwriting(function: Callable[..., Any], changing: Callable[..., Any], position: int) -> Callable[..., Any]:
    """Return a function that calls another one where it is told to work in place."""

    @functools.wraps(function)
    def call(input: Any, *args: Any, inplace: bool = False, **kwargs: Any) -> Any:
        if len(args) > position:
            inplace = args[position]
            args = (*args[:position], *args[position + 1 :])
        if inplace:
            return changing(input, *args, **kwargs)
        return function(input, *args, **kwargs)

    return call
