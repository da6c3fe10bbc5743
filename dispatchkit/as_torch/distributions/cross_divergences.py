"""Formulas of `kl_divergence` for pairs of distributions of different families.

Each is the mean of the negative logarithm of the second density, by what the first distribution knows of its means,
less its own entropy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from dispatchkit.as_torch.distributions.by_functions import Pareto
from dispatchkit.as_torch.distributions.continuous import Gumbel, Laplace, Normal, Uniform
from dispatchkit.as_torch.distributions.discrete import Bernoulli, Binomial, Poisson
from dispatchkit.as_torch.distributions.divergences import any_normal, digamma, gammaln, kl_divergence, register_kl
from dispatchkit.as_torch.distributions.further import ContinuousBernoulli
from dispatchkit.as_torch.distributions.positive import Beta, Exponential, Gamma
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.nn import functional

__all__ = ["kl_divergence"]

Mean = Callable[[Any], Any]


def mean_log_of_uniform(low: Any, high: Any) -> Any:
    """Return the mean of the logarithm of a number that is uniform between two from 0 on."""
    ends = [xp.where(x > 0, x * xp.log(xp.where(x > 0, x, 1.0)), 0.0) for x in (low, high)]
    return (ends[1] - ends[0]) / (high - low) - 1


# By distribution: the mean of the logarithm of x.
MEAN_LOGS: Mapping[type, Mean] = {
    Beta: lambda p: digamma(p.concentration1) - digamma(p.concentration1 + p.concentration0),
    Pareto: lambda p: xp.log(p.scale) + 1 / p.alpha,
    Uniform: lambda p: mean_log_of_uniform(p.low, p.high),
}
# By distribution: the mean of e to the power of x times a number.
MEAN_POWERS: Mapping[type, Callable[[Any, Any], Any]] = {
    Exponential: lambda p, t: 1 / (1 - t / p.rate),
    Gamma: lambda p, t: (1 - t / p.rate) ** -p.concentration,
    Normal: lambda p, t: xp.exp(t * p.loc + 0.5 * (t * p.scale) ** 2),
    Uniform: lambda p, t: (xp.exp(t * p.high) - xp.exp(t * p.low)) / (t * (p.high - p.low)),
}


def _known(means: Mapping[type, Any], p: Any) -> Any:
    """Return the mean that a table has for the family of a distribution."""
    return next(mean for cls, mean in means.items() if isinstance(p, cls))


def _bounds(p: Any) -> tuple[Any, Any]:
    """Return between which numbers a distribution draws."""
    if isinstance(p, Uniform):
        return p.low, p.high
    if isinstance(p, Pareto):
        return p.scale, math.inf
    return 0.0, 1.0


@register_kl(Beta, Exponential)
@register_kl(ContinuousBernoulli, Exponential)
@register_kl(Pareto, Exponential)
@register_kl(Uniform, Exponential)
def any_exponential(p: Any, q: Any) -> Any:
    divergence = -p.entropy() - xp.log(q.rate) + q.rate * p.mean
    return xp.where(_bounds(p)[0] < 0 * q.rate, math.inf, divergence)


@register_kl(Beta, Gamma)
@register_kl(Pareto, Gamma)
@register_kl(Uniform, Gamma)
def any_gamma(p: Any, q: Any) -> Any:
    shape, rate = q.concentration, q.rate
    scale = gammaln(shape) - shape * xp.log(rate)
    divergence = -p.entropy() + scale - (shape - 1) * _known(MEAN_LOGS, p)(p) + rate * p.mean
    return xp.where(_bounds(p)[0] < 0 * rate, math.inf, divergence)


@register_kl(Exponential, Gumbel)
@register_kl(Gamma, Gumbel)
@register_kl(Normal, Gumbel)
@register_kl(Uniform, Gumbel)
def any_gumbel(p: Any, q: Any) -> Any:
    power = _known(MEAN_POWERS, p)(p, -1 / q.scale) * xp.exp(q.loc / q.scale)
    return -p.entropy() + xp.log(q.scale) + (p.mean - q.loc) / q.scale + power


@register_kl(Beta, Uniform)
@register_kl(ContinuousBernoulli, Uniform)
def any_uniform(p: Any, q: Any) -> Any:
    return xp.where((q.low > 0) | (q.high < 1), math.inf, -p.entropy() + xp.log(q.high - q.low))


@register_kl(Beta, ContinuousBernoulli)
@register_kl(Uniform, ContinuousBernoulli)
def any_continuous_bernoulli(p: Any, q: Any) -> Any:
    divergence = -p.entropy() - p.mean * q.logits + functional.softplus(q.logits) - q._log_norm()
    low, high = _bounds(p)
    return xp.where((low < 0 * q.logits) | (high > 1 + 0 * q.logits), math.inf, divergence)


@register_kl(Uniform, Beta)
def uniform_beta(p: Any, q: Any) -> Any:
    a, b = q.concentration1, q.concentration0
    logs = (a - 1) * mean_log_of_uniform(p.low, p.high) + (b - 1) * mean_log_of_uniform(1 - p.high, 1 - p.low)
    divergence = -p.entropy() + gammaln(a) + gammaln(b) - gammaln(a + b) - logs
    return xp.where((p.low < 0) | (p.high > 1), math.inf, divergence)


@register_kl(Uniform, Pareto)
def uniform_pareto(p: Any, q: Any) -> Any:
    scale = xp.log(q.alpha) + q.alpha * xp.log(q.scale)
    divergence = -p.entropy() - scale + (q.alpha + 1) * mean_log_of_uniform(p.low, p.high)
    return xp.where(p.low < q.scale, math.inf, divergence)


@register_kl(Pareto, Normal)
def pareto_normal(p: Any, q: Any) -> Any:
    return xp.where(p.alpha <= 2, math.inf, any_normal(p, q))


def infinite(p: Any, q: Any) -> Any:
    """Return what is the divergence where the first distribution draws numbers that the second one never does."""
    return xp.full_like(p.mean, math.inf)


BOUNDED = (Beta, ContinuousBernoulli, Pareto, Uniform)
# By distribution, those that do not draw some of its numbers, whatever their parameters.
NARROWER: Mapping[type, tuple[type, ...]] = {
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Exponential: BOUNDED,
    Gamma: BOUNDED,
    Gumbel: (*BOUNDED, Exponential, Gamma),
    Laplace: (*BOUNDED, Exponential, Gamma),
    Normal: (*BOUNDED, Exponential, Gamma),
    Pareto: (Beta, ContinuousBernoulli, Uniform),
    Poisson: (Bernoulli, Binomial),
}
for _wider, _classes in NARROWER.items():
    for _narrower in _classes:
        register_kl(_wider, _narrower)(infinite)
register_kl(ContinuousBernoulli, Normal)(any_normal)
