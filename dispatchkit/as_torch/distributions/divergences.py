"""How far two distributions are apart, `torch.distributions.kl_divergence`, and formulas for pairs of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dispatchkit.as_torch.distributions.by_functions import Pareto
from dispatchkit.as_torch.distributions.compound import Independent, LogNormal, TransformedDistribution
from dispatchkit.as_torch.distributions.continuous import EULER, Cauchy, Gumbel, Laplace, Normal, Uniform
from dispatchkit.as_torch.distributions.discrete import (
    Bernoulli,
    Binomial,
    Categorical,
    Geometric,
    OneHotCategorical,
    Poisson,
)
from dispatchkit.as_torch.distributions.distribution import summed
from dispatchkit.as_torch.distributions.further import ContinuousBernoulli
from dispatchkit.as_torch.distributions.multivariate import LowRankMultivariateNormal, MultivariateNormal, solved
from dispatchkit.as_torch.distributions.positive import Beta, Dirichlet, Exponential, Folded, Gamma
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.nn import functional

Formula = Callable[[Any, Any], Any]
FORMULAS: dict[tuple[type, type], Formula] = {}
gammaln, digamma = xp.special.gammaln, xp.special.digamma


def register_kl(type_p: Any, type_q: Any) -> Callable[[Formula], Formula]:
    """Return a decorator of the formula for two classes of distributions.

    Parameters
    ----------
    type_p, type_q : the classes, or others that distributions derive from, too; the formula answers for their
        subclasses if these have none

    Raises
    ------
    TypeError : for what is no class
    """
    for name, cls in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(cls, type):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {cls}")

    def decorate(formula: Formula) -> Formula:
        FORMULAS[type_p, type_q] = formula
        return formula

    return decorate


def _has_nearer(pair: tuple[type, type], pairs: list[tuple[type, type]]) -> bool:
    """Return whether another of several pairs of classes is of subclasses."""
    return any(other != pair and all(map(issubclass, other, pair)) for other in pairs)


def kl_divergence(p: Any, q: Any) -> Any:
    """Return the mean, by one distribution, of the logarithm of its density over that of another.

    Parameters
    ----------
    p, q : the distributions

    Raises
    ------
    NotImplementedError : for a pair without a formula; `register_kl` enters one

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> D = torch.distributions
    >>> D.kl_divergence(D.Normal(1.0, 1.0), D.Normal(0.0, 1.0))
    tensor(0.5000)
    """
    pairs = [(a, b) for a in type(p).__mro__ for b in type(q).__mro__ if (a, b) in FORMULAS]
    nearest = [pair for pair in pairs if not _has_nearer(pair, pairs)]
    if not nearest:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
        )
    return FORMULAS[nearest[0]](p, q)


@register_kl(Normal, Normal)
def normal_normal(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - xp.log(ratio))


@register_kl(LogNormal, LogNormal)
def lognormal_lognormal(p: Any, q: Any) -> Any:
    return normal_normal(p.base_dist, q.base_dist)


@register_kl(Folded, Folded)
def folded_folded(p: Any, q: Any) -> Any:
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(TransformedDistribution, TransformedDistribution)
def transformed_transformed(p: Any, q: Any) -> Any:
    if [repr(each) for each in p.transforms] != [repr(each) for each in q.transforms]:
        raise NotImplementedError("kl_divergence: the transforms of the distributions must be the same")
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(MultivariateNormal, MultivariateNormal)
def multivariate_normals(p: Any, q: Any) -> Any:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be computed"
        )
    lower = q._unbroadcasted_scale_tril
    columns = p._unbroadcasted_scale_tril.mT  # rows of which are columns of the factor
    spread = xp.sum(solved(xp.expand_dims(lower, axis=-3), columns) ** 2, axis=(-2, -1))
    apart = xp.sum(solved(lower, q.loc - p.loc) ** 2, axis=-1)
    return q._half_log_det() - p._half_log_det() + 0.5 * (spread + apart - p.event_shape[0])


@register_kl(Bernoulli, Bernoulli)
def bernoulli_bernoulli(p: Any, q: Any) -> Any:
    one = p.probs * (functional.softplus(-q.logits) - functional.softplus(-p.logits))
    zero = (1 - p.probs) * (functional.softplus(q.logits) - functional.softplus(p.logits))
    one, zero = xp.where(q.probs == 0, math.inf, one), xp.where(q.probs == 1, math.inf, zero)
    return xp.where(p.probs == 0, 0.0, one) + xp.where(p.probs == 1, 0.0, zero)


@register_kl(Binomial, Binomial)
def binomial_binomial(p: Any, q: Any) -> Any:
    if bool(xp.any(p.total_count < q.total_count)):
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    divergence = p.total_count * (p.probs * (p.logits - q.logits) + xp.log1p(-p.probs) - xp.log1p(-q.probs))
    return xp.where(p.total_count > q.total_count, math.inf, divergence)


@register_kl(Geometric, Geometric)
def geometric_geometric(p: Any, q: Any) -> Any:
    return -p.entropy() - xp.log1p(-q.probs) / p.probs - q.logits


@register_kl(Categorical, Categorical)
def categorical_categorical(p: Any, q: Any) -> Any:
    t = p.probs * (p.logits - q.logits)
    t = xp.where(q.probs == 0, math.inf, t)
    return xp.sum(xp.where(p.probs == 0, 0.0, t), axis=-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def onehot_onehot(p: Any, q: Any) -> Any:
    return categorical_categorical(p, q)


@register_kl(Poisson, Poisson)
def poisson_poisson(p: Any, q: Any) -> Any:
    return p.rate * (xp.log(p.rate) - xp.log(q.rate)) - (p.rate - q.rate)


@register_kl(Exponential, Exponential)
def exponential_exponential(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return -xp.log(ratio) + ratio - 1


@register_kl(Laplace, Laplace)
def laplace_laplace(p: Any, q: Any) -> Any:
    ratio, apart = p.scale / q.scale, xp.abs(p.loc - q.loc)
    return -xp.log(ratio) + apart / q.scale + ratio * xp.exp(-apart / p.scale) - 1


@register_kl(Cauchy, Cauchy)
def cauchy_cauchy(p: Any, q: Any) -> Any:
    return xp.log((p.scale + q.scale) ** 2 + (p.loc - q.loc) ** 2) - xp.log(4 * p.scale * q.scale)


@register_kl(Gumbel, Gumbel)
def gumbel_gumbel(p: Any, q: Any) -> Any:
    ratio, apart = p.scale / q.scale, (p.loc - q.loc) / q.scale
    moved = xp.exp(-apart + gammaln(1 + ratio)) - (1 + EULER)
    return -xp.log(ratio) + apart + ratio * EULER + moved


@register_kl(Gamma, Gamma)
def gamma_gamma(p: Any, q: Any) -> Any:
    rates = q.concentration * xp.log(p.rate / q.rate)
    shapes = gammaln(q.concentration) - gammaln(p.concentration)
    moved = (p.concentration - q.concentration) * digamma(p.concentration)
    return rates + shapes + moved + (q.rate - p.rate) * (p.concentration / p.rate)


@register_kl(Dirichlet, Dirichlet)
def dirichlet_dirichlet(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    total = xp.sum(a, axis=-1)
    sums = gammaln(total) - gammaln(xp.sum(b, axis=-1))
    parts = xp.sum(gammaln(a) - gammaln(b), axis=-1)
    return sums - parts + xp.sum((a - b) * (digamma(a) - digamma(total)[..., None]), axis=-1)


@register_kl(Beta, Beta)
def beta_beta(p: Any, q: Any) -> Any:
    return dirichlet_dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Uniform, Uniform)
def uniform_uniform(p: Any, q: Any) -> Any:
    divergence = xp.log((q.high - q.low) / (p.high - p.low))
    return xp.where((q.low > p.low) | (q.high < p.high), math.inf, divergence)


@register_kl(Uniform, Normal)
def uniform_normal(p: Any, q: Any) -> Any:
    width = p.high - p.low
    spread = (width / q.scale) ** 2 / 12 + ((p.high + p.low - 2 * q.loc) / (2 * q.scale)) ** 2
    return 0.5 * spread + xp.log(math.sqrt(2 * math.pi) * q.scale / width)


@register_kl(Independent, Independent)
def independent_independent(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError(
            "kl_divergence: the distributions must have the same reinterpreted_batch_ndims, found "
            f"{p.reinterpreted_batch_ndims} and {q.reinterpreted_batch_ndims}"
        )
    return summed(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(Pareto, Pareto)
def pareto_pareto(p: Any, q: Any) -> Any:
    ratio = p.scale / q.scale
    divergence = q.alpha * xp.log(ratio) + xp.log(p.alpha / q.alpha) + q.alpha / p.alpha - 1
    return xp.where(p.scale < q.scale, math.inf, divergence)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def continuous_bernoullis(p: Any, q: Any) -> Any:
    apart = p.mean * (p.logits - q.logits) + p._log_norm() - q._log_norm()
    return apart + functional.softplus(q.logits) - functional.softplus(p.logits)


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def lowrank_multivariate_normals(p: Any, q: Any) -> Any:
    return multivariate_normals(*(MultivariateNormal(d.loc, scale_tril=d.scale_tril) for d in (p, q)))


@register_kl(Exponential, Gamma)
def exponential_gamma(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return -q.concentration * xp.log(ratio) + ratio + gammaln(q.concentration) + q.concentration * EULER - (1 + EULER)


@register_kl(Gamma, Exponential)
def gamma_exponential(p: Any, q: Any) -> Any:
    return -p.entropy() - xp.log(q.rate) + q.rate * p.concentration / p.rate


@register_kl(Exponential, Normal)
@register_kl(Gamma, Normal)
@register_kl(Laplace, Normal)
@register_kl(Gumbel, Normal)
@register_kl(Beta, Normal)
def any_normal(p: Any, q: Any) -> Any:
    spread = (p.variance + (p.mean - q.loc) ** 2) / (2 * q.scale**2)
    return -p.entropy() + spread + xp.log(q.scale) + 0.5 * math.log(2 * math.pi)


@register_kl(Normal, Laplace)
def normal_laplace(p: Any, q: Any) -> Any:
    apart = p.loc - q.loc
    moved = apart * xp.special.erf(math.sqrt(0.5) * apart / p.scale)
    mean = moved + math.sqrt(2 / math.pi) * p.scale * xp.exp(-0.5 * (apart / p.scale) ** 2)
    return -p.entropy() + xp.log(2 * q.scale) + mean / q.scale


@register_kl(Bernoulli, Poisson)
def bernoulli_poisson(p: Any, q: Any) -> Any:
    return -p.entropy() - (p.probs * xp.log(q.rate) - q.rate)
