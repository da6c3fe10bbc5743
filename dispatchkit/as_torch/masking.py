"""PyTorch's reductions over the elements that a mask shows, `torch.masked`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dispatchkit.as_torch.table import Function
from dispatchkit.backends.arrays import numpy_dtype
from dispatchkit.declare.namespace import tensor_namespace as xp

# What stands for elements that the mask hides, and counts for nothing.
NEUTRAL = {
    **dict.fromkeys(("sum", "cumsum"), 0.0),
    **dict.fromkeys(("prod", "cumprod"), 1.0),
    **dict.fromkeys(("amax", "argmax", "logsumexp", "softmax", "log_softmax"), -math.inf),
    **dict.fromkeys(("amin", "argmin", "softmin"), math.inf),
    "median": math.nan,
}


def masked_functions(of: Mapping[str, Function]) -> dict[str, Function]:
    """Return the functions of `torch.masked`.

    Parameters
    ----------
    of : the functions of PyTorch on whole arrays, by their paths
    """

    def visible(input: Any, mask: Any, neutral: float, dtype: Any = None) -> Any:
        x = input if dtype is None else xp.astype(input, numpy_dtype(dtype))
        return x if mask is None else xp.where(mask, x, xp.asarray(neutral, dtype=x.dtype))

    def reduction(name: str) -> Function:
        whole = of[{"median": "nanmedian", "softmin": "nn.functional.softmin"}.get(name, name)]

        def reduce(input: Any, dim: Any = None, *, keepdim: Any = None, dtype: Any = None, mask: Any = None) -> Any:
            kept = {} if keepdim is None else {"keepdim": keepdim}
            x = visible(input, mask, NEUTRAL[name], dtype)
            y = whole(x, dim, **kept)
            return y.values if name == "median" else xp.astype(y, x.dtype, copy=False)

        return reduce

    def mean(input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
        ones = visible(xp.ones_like(input), mask, 0, dtype)
        return of["sum"](visible(input, mask, 0, dtype), dim, keepdim) / of["sum"](ones, dim, keepdim)

    def var(input: Any, dim: Any = None, unbiased: bool = True, *, keepdim: bool = False, **options: Any) -> Any:
        ones = visible(xp.ones_like(input), options.get("mask"), 0, options.get("dtype"))
        squares = ((input - mean(input, dim, keepdim=True, **options)) * ones) ** 2
        return of["sum"](squares, dim, keepdim) / xp.maximum(of["sum"](ones, dim, keepdim) - int(unbiased), 0)

    def std(input: Any, dim: Any = None, unbiased: bool = True, **options: Any) -> Any:
        return xp.sqrt(var(input, dim, unbiased, **options))

    def norm(
        input: Any, ord: Any = 2.0, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
    ) -> Any:
        return of["linalg.vector_norm"](visible(input, mask, math.inf if ord < 0 else 0, dtype), ord, dim, keepdim)

    def normalize(input: Any, ord: Any, dim: Any, *, eps: float = 1e-12, dtype: Any = None, mask: Any = None) -> Any:
        x = visible(input, mask, 0, dtype)
        return x / xp.maximum(norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask), eps)

    def logaddexp(input: Any, other: Any, *, dtype: Any = None, input_mask: Any = None, other_mask: Any = None) -> Any:
        return xp.logaddexp(visible(input, input_mask, -math.inf, dtype), visible(other, other_mask, -math.inf, dtype))

    written = (mean, var, std, norm, normalize, logaddexp)
    return {**{name: reduction(name) for name in NEUTRAL}, **{function.__name__: function for function in written}}
