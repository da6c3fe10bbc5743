"""NumPy's shorter ways for the reductions that leave out NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dispatchkit.ops.extras_nan import nanmax, nanmin

__all__: list[str] = []


def _without_nan(reduce: Callable[..., Any]) -> Callable[..., Any]:
    """Return an extreme that leaves out NaN in one pass, from the reduction of NumPy's function of pairs that does."""

    def extreme(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
        return reduce(x, axis, None, None, keepdims)

    return extreme


nanmax.def_numpy(_without_nan(np.fmax.reduce))
nanmin.def_numpy(_without_nan(np.fmin.reduce))
