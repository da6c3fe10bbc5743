"""Draws from gamma distributions, with the derivative of a draw for the shape of its distribution."""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatchkit.as_torch.distributions.distribution import constant, rows
from dispatchkit.as_torch.shared import gradient_alone
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.ops.random.generator import source_of

TERMS = 20_000
# From here on draws are ``a + sqrt(a) * z`` with normal numbers z, up to a share of 1 / a.
LARGE = 1e5


def standard_gammas(concentration: Any, shape: Any) -> Any:
    """Draw numbers of gamma distributions with rate 1.

    Parameters
    ----------
    concentration : the shapes of the distributions, a tensor
    shape : of the result

    Notes
    -----
    The value that is not exceeded with probability u moves with the shape a by ``-dP/da / p``, for the distribution
    function P and the density p. Source: Figurnov, Mohamed, Mnih, 2018, "Implicit reparameterization gradients".
    """
    shapes = rows(concentration, shape).astype(np.float64)
    smallest = float(np.finfo(concentration.dtype).smallest_normal)
    drawn = np.maximum(source_of(None).standard_gamma(shapes, shape), smallest)
    values = constant(drawn, concentration)
    if not concentration.requires_grad:
        return values
    slopes = constant(slope(shapes, drawn), concentration)
    return values + gradient_alone(concentration) * slopes


def slope(a: Any, x: Any) -> Any:
    """Return the derivative of draws from gamma distributions for their shapes, by the series of P.

    Parameters
    ----------
    a, x : shapes and draws, NumPy's arrays

    Notes
    -----
    ``P(a, x) = x**a exp(-x) sum_k x**k / Gamma(a + k + 1)``, so that, by terms
    ``t_k = x**(k+1) / (a (a+1) ... (a+k))``, the slope is ``-sum_k t_k (log(x) - digamma(a + k + 1))``.
    """
    a, x = np.broadcast_arrays(a, x)
    if np.any(a > LARGE):
        return np.where(a > LARGE, 1 + (x - a) / (2 * a), slope(np.minimum(a, LARGE), np.minimum(x, 2 * LARGE)))
    from_zero = _digamma(a + 1)
    logs, term, total = np.log(x), x / a, np.zeros(a.shape)
    for k in range(TERMS):
        added = term * (logs - from_zero)
        total = total + added
        if k > 8 and np.all(term * np.abs(logs - from_zero) < 1e-17 * np.abs(total)) and np.all(x < a + k):
            break
        from_zero = from_zero + 1 / (a + k + 1)
        term = term * x / (a + k + 1)
    return -total


def _digamma(a: Any) -> Any:
    """Return the digamma function of numbers above 1."""
    return np.asarray(xp.special.digamma(xp.asarray(a)).numpy())
