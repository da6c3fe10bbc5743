"""Which operation a function of PyTorch is: the one of its name, unless the name means something else there."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from torch.overrides import resolve_name

from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.nn import functional  # noqa: F401  # its operations are in the namespace once it is loaded
from dispatchkit.protocol.overridable import Overridable, of

__all__ = ["KEYWORDS", "method_name", "operation_of", "path_of"]

# What PyTorch calls otherwise than the array API and so the operations.
NAMES = {
    "cumprod": "cumulative_prod",
    "cumsum": "cumulative_sum",
    "det": "linalg.det",
    "digamma": "special.digamma",
    "erf": "special.erf",
    "erfc": "special.erfc",
    "erfinv": "special.erfinv",
    "fix": "trunc",
    "ger": "outer",
    "inverse": "linalg.inv",
    "lgamma": "special.gammaln",
    "linalg.vecdot": "vecdot",
    "logit": "special.logit",
    "matrix_power": "linalg.matrix_power",
    "slogdet": "linalg.slogdet",
    "special.expm1": "expm1",
    "special.log1p": "log1p",
    "special.log_softmax": "log_softmax",
    "special.logsumexp": "logsumexp",
    "special.psi": "special.digamma",
    "special.softmax": "softmax",
    "take_along_dim": "take_along_axis",
    "xlogy": "special.xlogy",
}
# Of the same name, but of another meaning; some of them are put in terms of operations in `translations`.
OTHERS = frozenset(
    {
        *("add", "sub", "subtract", "div", "divide", "true_divide", "max", "min", "std", "var", "sort", "argsort"),
        *("transpose", "diagonal", "split", "nonzero", "where", "softmax", "log_softmax", "meshgrid"),
        *("equal", "index_put", "median", "norm", "squeeze", "trace", "empty_like", "searchsorted", "tile", "isin"),
        *("special.softmax", "special.log_softmax"),
        *(f"nn.functional.{name}" for name in ("batch_norm", "dropout", "softmax", "log_softmax", "one_hot")),
    }
)
KEYWORDS = {
    "dim": ("axis", "axes"),
    "dims": ("axes", "axis"),
    "keepdim": ("keepdims",),
    "size": ("shape",),
    "shifts": ("shift",),
    "diagonal": ("k", "offset"),
    "interpolation": ("method",),
}


@functools.cache
def path_of(func: Callable[..., Any]) -> str:
    """Return the name of a function inside `torch`, such as ``"linalg.solve"``; of a method that of its function."""
    path = (resolve_name(func) or "").removeprefix("torch.")
    if path.startswith("Tensor."):
        return path.removeprefix("Tensor.")
    path = path.removeprefix("functional.")
    # Some functions have several names in `torch`, of which `resolve_name` finds the first: `spmm` is `mm`.
    return path if "." in path else getattr(func, "__name__", path)


@functools.cache
def method_name(func: Callable[..., Any]) -> str | None:
    """Return the name of a method of PyTorch's tensors, None for what is no method."""
    path = resolve_name(func) or ""
    return path.removeprefix("torch.Tensor.") if path.startswith("torch.Tensor.") else None


@functools.cache
def operation_of(path: str) -> Overridable | None:
    """Return the operation of the same meaning as a function of PyTorch, None where there is none."""
    if path in OTHERS:
        return None
    place: Any = tensor_namespace
    for part in NAMES.get(path, path).split("."):
        place = getattr(place, part, None)
    return of(place)
