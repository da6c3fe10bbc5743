"""Orders of arguments of older programs, in which factors stand before the tensors that they go with."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from numbers import Number
from typing import Any

__all__ = ["count_of_tensors", "in_new_order"]

_OF_MATRICES = ("addbmm", "addmm", "addmv", "addr", "baddbmm")
# Functions by the factors that may stand there, and by the number of their tensors.
_FACTORS = {
    **dict.fromkeys(("add", "sub"), ("alpha",)),
    **dict.fromkeys(("addcdiv", "addcmul"), ("value",)),
    **dict.fromkeys(_OF_MATRICES, ("beta", "alpha")),
}
_TENSORS = {path: 2 if path in ("add", "sub") else 3 for path in _FACTORS}


def count_of_tensors(path: str) -> int | None:
    """Return how many tensors a function takes that older programs call in another order; None for others."""
    return _TENSORS.get(path)


def in_new_order(path: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a call with the factors by their names, where they stand before tensors.

    ``x.add_(2, y)`` is ``x.add_(y, alpha=2)``, ``x.addcmul_(2, y, z)`` is ``x.addcmul_(y, z, value=2)``, and
    ``x.addmm_(3, 2, y, z)`` is ``x.addmm_(y, z, beta=3, alpha=2)``; in functions, the first factor may stand before `x`.

    Parameters
    ----------
    path : of the function
    args, kwargs : of the call

    Warns
    -----
    UserWarning : where they do, as PyTorch does
    """
    factors = [x for x in args if isinstance(x, Number)]
    tensors = tuple(x for x in args if not isinstance(x, Number))
    names, count = _FACTORS[path], _TENSORS[path]
    leading, last = args[: len(args) - count + 1], args[len(args) - count + 1 :]
    is_old = len(tensors) == count and 0 < len(factors) <= len(names) and not any(isinstance(x, Number) for x in last)
    if not is_old or (path not in _OF_MATRICES and isinstance(leading[0], Number)):
        return args, dict(kwargs)
    by_name = dict(zip(names, factors, strict=False))
    shown = ", ".join(f"{name}={value}" for name, value in by_name.items())
    warnings.warn(
        f"this order of the arguments of {path} is deprecated: give the factor by its name, after the tensors ({shown})",
        UserWarning,
        stacklevel=5,
    )
    return tensors, {**kwargs, **by_name}
