"""PyTorch's windows of signals, `torch.signal.windows`."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from dispatchkit.as_torch.table import ALONE, Function
from dispatchkit.declare.namespace import tensor_namespace as xp


def _cosines(t: Any, *factors: float) -> Any:
    """Return a sum of cosines with one, two and more periods from 0 to 1, of alternating signs."""
    return sum((-1) ** i * factor * np.cos(2 * math.pi * i * t) for i, factor in enumerate(factors))


# Of the numbers of elements, beginning with 0, and how many there are in a symmetric window.
WINDOWS: dict[str, Function] = {
    "bartlett": lambda k, n: 1 - np.abs(2 * k / (n - 1) - 1),
    "blackman": lambda k, n: _cosines(k / (n - 1), 0.42, 0.5, 0.08),
    "cosine": lambda k, n: np.sin(math.pi * (k + 0.5) / n),
    "exponential": lambda k, n, center=None, tau=1.0: np.exp(
        -np.abs(k - ((n - 1) / 2 if center is None else center)) / tau
    ),
    "gaussian": lambda k, n, std=1.0: np.exp(-(((k - (n - 1) / 2) / std) ** 2) / 2),
    "general_cosine": lambda k, n, a: _cosines(k / (n - 1), *a),
    "general_hamming": lambda k, n, alpha=0.54: _cosines(k / (n - 1), alpha, 1 - alpha),
    "hamming": lambda k, n: _cosines(k / (n - 1), 0.54, 0.46),
    "hann": lambda k, n: _cosines(k / (n - 1), 0.5, 0.5),
    "kaiser": lambda k, n, beta=12.0: (
        np.i0(beta * np.sqrt(np.maximum(1 - (2 * k / (n - 1) - 1) ** 2, 0))) / np.i0(beta)
    ),
    "nuttall": lambda k, n: _cosines(k / (n - 1), 0.3635819, 0.4891775, 0.1365995, 0.0106411),
}


def _window(formula, /, M, *, sym=True, dtype=None, device=None, requires_grad=False, **options):
    if M > 1:
        if sym:
            length = M
        else:
            length = M + 1
        values = formula(np.arange(M), length, **options)
    else:
        values = np.ones(M)
    if dtype is None:
        dtype = xp.get_default_dtype()
    return xp.tensor(values, dtype=dtype, device=device, requires_grad=requires_grad)


ALONE.update({f"signal.windows.{name}": partial(_window, formula) for name, formula in WINDOWS.items()})
