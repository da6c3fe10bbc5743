"""Distributions of functions of the values of others: `Weibull`, `Pareto`, `InverseGamma`, `RelaxedBernoulli`, ..."""

from __future__ import annotations

import math
from typing import Any

from dispatchkit.as_torch.distributions import constraints
from dispatchkit.as_torch.distributions.compound import TransformedDistribution
from dispatchkit.as_torch.distributions.continuous import EULER, Normal, Uniform
from dispatchkit.as_torch.distributions.discrete import OfClasses, TwoSided, clamped
from dispatchkit.as_torch.distributions.distribution import Distribution, parameters, tensor_of, uniforms
from dispatchkit.as_torch.distributions.positive import Exponential, Gamma
from dispatchkit.as_torch.distributions.transforms import (
    AffineTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    StickBreakingTransform,
)
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.marks import override
from dispatchkit.nn import functional

gammaln, digamma = xp.special.gammaln, xp.special.digamma


class WithParameters(TransformedDistribution):
    """What distributions of functions share that have parameters of their own."""

    has_rsample = True

    @override
    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        other = Distribution.expand(self, batch_shape, _instance)
        other.base_dist = self.base_dist.expand(batch_shape)
        return other


class Weibull(WithParameters):
    """The Weibull distribution, of times to a failure.

    Parameters
    ----------
    scale : by what it is stretched
    concentration : its shape, 1 where failures do not depend on age

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.distributions.Weibull(2.0, 1.0).mean
    tensor(2.)
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    fields = {"scale": 0, "concentration": 0}

    def __init__(self, scale: Any, concentration: Any, validate_args: Any = None) -> None:
        self.scale, self.concentration, _ = parameters(scale, concentration)
        base = Exponential(xp.ones_like(self.scale), validate_args)
        transforms = [PowerTransform(1 / self.concentration), AffineTransform(0, self.scale)]
        super().__init__(base, transforms, validate_args)

    def _moment(self, n: int) -> Any:
        """Return the mean of a power, of the distribution without scale."""
        return xp.exp(gammaln(1 + n / self.concentration))

    @property
    @override
    def mean(self) -> Any:
        return self.scale * self._moment(1)

    @property
    @override
    def mode(self) -> Any:
        k = self.concentration
        return self.scale * ((k - 1) / k) ** (1 / k)

    @property
    @override
    def variance(self) -> Any:
        return self.scale**2 * (self._moment(2) - self._moment(1) ** 2)

    @override
    def entropy(self) -> Any:
        return EULER * (1 - 1 / self.concentration) + xp.log(self.scale / self.concentration) + 1


class Pareto(WithParameters):
    """The Pareto distribution, whose density falls as a power.

    Parameters
    ----------
    scale : the smallest value
    alpha : the power by which larger ones are rarer

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.distributions.Pareto(1.0, 3.0).mean
    tensor(1.5000)
    """

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}
    fields = {"scale": 0, "alpha": 0}

    def __init__(self, scale: Any, alpha: Any, validate_args: Any = None) -> None:
        self.scale, self.alpha, _ = parameters(scale, alpha)
        super().__init__(
            Exponential(self.alpha, validate_args), [ExpTransform(), AffineTransform(0, self.scale)], validate_args
        )

    @constraints.dependent_property
    @override
    def support(self) -> Any:
        return constraints.greater_than_eq(self.scale)

    @property
    @override
    def mean(self) -> Any:
        a = xp.where(self.alpha > 1, self.alpha, 2.0)
        return xp.where(self.alpha > 1, a * self.scale / (a - 1), math.inf)

    @property
    @override
    def mode(self) -> Any:
        return self.scale

    @property
    @override
    def variance(self) -> Any:
        a = xp.where(self.alpha > 2, self.alpha, 3.0)
        return xp.where(self.alpha > 2, self.scale**2 * a / ((a - 1) ** 2 * (a - 2)), math.inf)

    @override
    def entropy(self) -> Any:
        return xp.log(self.scale / self.alpha) + 1 + 1 / self.alpha


class Kumaraswamy(WithParameters):
    """The Kumaraswamy distribution, of numbers between 0 and 1.

    Parameters
    ----------
    concentration1, concentration0 : its powers a and b; the share of values up to x is ``1 - (1 - x**a)**b``

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.distributions.Kumaraswamy(1.0, 1.0).mean
    tensor(0.5000)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    fields = {"concentration1": 0, "concentration0": 0}

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: Any = None) -> None:
        self.concentration1, self.concentration0, _ = parameters(concentration1, concentration0)
        a, b = self.concentration1, self.concentration0
        base = Uniform(xp.zeros_like(a), xp.ones_like(a), validate_args)
        transforms = [PowerTransform(1 / b), AffineTransform(1.0, -1.0), PowerTransform(1 / a)]
        super().__init__(base, transforms, validate_args)

    def _moment(self, n: int) -> Any:
        """Return the mean of a power."""
        a, b = self.concentration1, self.concentration0
        return b * xp.exp(gammaln(1 + n / a) + gammaln(b) - gammaln(1 + n / a + b))

    @property
    @override
    def mean(self) -> Any:
        return self._moment(1)

    @property
    @override
    def mode(self) -> Any:
        a, b = self.concentration1, self.concentration0
        inside = (a >= 1) & (b >= 1) & (a * b > 1)
        mode = (xp.where(inside, a - 1, 1.0) / xp.where(inside, a * b - 1, 1.0)) ** (1 / a)
        return xp.where(inside, mode, math.nan)

    @property
    @override
    def variance(self) -> Any:
        return self._moment(2) - self._moment(1) ** 2

    @override
    def entropy(self) -> Any:
        a, b = self.concentration1, self.concentration0
        return 1 - 1 / b + (1 - 1 / a) * (digamma(b + 1) + EULER) - xp.log(a) - xp.log(b)


class InverseGamma(WithParameters):
    """The distribution of the inverses of numbers of a gamma distribution.

    Parameters
    ----------
    concentration, rate : of the gamma distribution

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.distributions.InverseGamma(3.0, 2.0).mean
    tensor(1.)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    fields = {"concentration": 0, "rate": 0}

    def __init__(self, concentration: Any, rate: Any, validate_args: Any = None) -> None:
        self.concentration, self.rate, _ = parameters(concentration, rate)
        base = Gamma(self.concentration, self.rate, validate_args)
        super().__init__(base, PowerTransform(-xp.ones_like(self.rate)), validate_args)

    @property
    @override
    def mean(self) -> Any:
        a = self.concentration
        return xp.where(a > 1, self.rate / (a - 1), math.inf)

    @property
    @override
    def mode(self) -> Any:
        return self.rate / (self.concentration + 1)

    @property
    @override
    def variance(self) -> Any:
        a = self.concentration
        return xp.where(a > 2, self.rate**2 / ((a - 1) ** 2 * (a - 2)), math.inf)

    @override
    def entropy(self) -> Any:
        a = self.concentration
        return a + xp.log(self.rate) + gammaln(a) - (1 + a) * digamma(a)


class LogisticNormal(TransformedDistribution):
    """The distribution of shares that sticks are broken into at places that are normal in their logits.

    Parameters
    ----------
    loc, scale : of the normal distribution, of shape (..., K - 1) for K shares

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.distributions.LogisticNormal(torch.zeros(2), torch.ones(2)).event_shape
    torch.Size([3])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: Any = None) -> None:
        base = Normal(loc, scale, validate_args)
        if not base.batch_shape:
            base = base.expand((1,))
        super().__init__(base, StickBreakingTransform(), validate_args)

    @property
    def loc(self) -> Any:
        """Mean of the logits."""
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Any:
        """Standard deviation of the logits."""
        return self.base_dist.base_dist.scale


class LogitRelaxedBernoulli(TwoSided):
    """The logits of `RelaxedBernoulli`.

    Parameters
    ----------
    temperature, probs, logits : as of `RelaxedBernoulli`
    """

    support = constraints.real
    has_rsample = True

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        self.temperature = tensor_of(temperature)
        (shape,) = self._take(probs, logits)
        super().__init__(shape, validate_args=validate_args)

    @override
    def rsample(self, sample_shape: Any = ()) -> Any:
        drawn = clamped(uniforms(self._extended_shape(sample_shape), self._kept))
        probs = clamped(self.probs)
        return (xp.log(drawn) - xp.log1p(-drawn) + xp.log(probs) - xp.log1p(-probs)) / self.temperature

    @override
    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        apart = self.logits - value * self.temperature
        return xp.log(self.temperature) + apart - 2 * functional.softplus(apart)


class OfRelaxed(TransformedDistribution):
    """What relaxed distributions share: their parameters are those of what they are made of."""

    has_rsample = True

    @property
    def temperature(self) -> Any:
        """How far values are from whole numbers."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Any:
        """Logarithms of the odds, or of the probabilities."""
        return self.base_dist.logits

    @property
    def probs(self) -> Any:
        """Probabilities."""
        return self.base_dist.probs


class RelaxedBernoulli(OfRelaxed):
    """Numbers between 0 and 1 that come near to one of them as the temperature falls.

    Parameters
    ----------
    temperature : how far values are from 0 and 1
    probs : probability of 1
    logits : its log-odds, in its place

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.distributions.RelaxedBernoulli(torch.tensor(0.5), torch.tensor(0.5)).log_prob(torch.tensor(0.5))
    tensor(-0.6931)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits, validate_args)
        super().__init__(base, SigmoidTransform(), validate_args)


class ExpRelaxedCategorical(OfClasses):
    """The logarithms of `RelaxedOneHotCategorical`.

    Parameters
    ----------
    temperature, probs, logits : as of `RelaxedOneHotCategorical`
    """

    support = constraints.real_vector
    has_rsample = True
    has_enumerate_support = False

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        self.temperature = tensor_of(temperature)
        shape = self._take(probs, logits)
        super().__init__(shape, (self._num_events,), validate_args)

    @override
    def rsample(self, sample_shape: Any = ()) -> Any:
        drawn = clamped(uniforms(self._extended_shape(sample_shape), self._kept))
        scores = (self.logits - xp.log(-xp.log(drawn))) / self.temperature
        return scores - xp.logsumexp(scores, axis=-1, keepdims=True)

    @override
    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        classes = self._num_events
        score = self.logits - value * self.temperature
        score = xp.sum(score - xp.logsumexp(score, axis=-1, keepdims=True), axis=-1)
        return score + math.lgamma(classes) + (classes - 1) * xp.log(self.temperature)


class RelaxedOneHotCategorical(OfRelaxed):
    """Shares of classes that come near to one class as the temperature falls.

    Parameters
    ----------
    temperature : how far values are from one class
    probs : of shape (..., K), divided by their sums
    logits : their logarithms, up to a constant, in their place

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> d = torch.distributions.RelaxedOneHotCategorical(torch.tensor(1.0), torch.ones(2))
    >>> d.log_prob(torch.tensor([0.5, 0.5]))
    tensor(0.)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args)
        super().__init__(base, ExpTransform(), validate_args)
