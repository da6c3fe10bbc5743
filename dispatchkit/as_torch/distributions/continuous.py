"""Distributions of real numbers: `Normal`, `Uniform`, `Gamma`, `Beta`, ..."""

from __future__ import annotations

import math
from typing import Any

from dispatchkit.as_torch.distributions import constraints
from dispatchkit.as_torch.distributions.distribution import (
    CentredDistribution,
    Distribution,
    ExponentialFamily,
    constant,
    normals,
    parameters,
    uniforms,
)
from dispatchkit.as_torch.distributions.gamma_draws import standard_gammas
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.marks import override
from dispatchkit.ops.random.generator import source_of

EULER = 0.5772156649015329
gammaln, digamma = xp.special.gammaln, xp.special.digamma


class LocationScale(CentredDistribution):
    """What distributions share that are a standard one, stretched and moved.

    Parameters
    ----------
    loc : by what it is moved
    scale : by what it is stretched, positive
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    fields = {"loc": 0, "scale": 0}

    def __init__(self, loc: Any, scale: Any, validate_args: Any = None) -> None:
        self.loc, self.scale, shape = parameters(loc, scale)
        super().__init__(shape, validate_args=validate_args)

    def _standard(self, value: Any) -> Any:
        """Return the value of the standard distribution; checked."""
        self._validate_sample(value)
        return (value - self.loc) / self.scale


class Normal(LocationScale, ExponentialFamily):
    """The normal distribution.

    Parameters
    ----------
    loc : mean
    scale : standard deviation

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.distributions.Normal(0.0, 1.0).log_prob(torch.tensor([0.0, 1.0]))
    tensor([-0.9189, -1.4189])
    """

    @property
    @override
    def variance(self) -> Any:
        return self.scale**2

    @property
    @override
    def stddev(self) -> Any:
        return self.scale

    @override
    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.loc + self.scale * normals(self._extended_shape(sample_shape), self.loc)

    @override
    def log_prob(self, value: Any) -> Any:
        return -(self._standard(value) ** 2) / 2 - xp.log(self.scale) - math.log(math.sqrt(2 * math.pi))

    @override
    def cdf(self, value: Any) -> Any:
        return 0.5 * (1 + xp.special.erf(self._standard(value) / math.sqrt(2)))

    @override
    def icdf(self, value: Any) -> Any:
        return self.loc + self.scale * xp.special.erfinv(2 * value - 1) * math.sqrt(2)

    @override
    def entropy(self) -> Any:
        return 0.5 + 0.5 * math.log(2 * math.pi) + xp.log(self.scale)


class Laplace(LocationScale):
    """The Laplace distribution, whose density falls exponentially on both sides.

    Parameters
    ----------
    loc : mean
    scale : of the distances from it

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.distributions.Laplace(0.0, 2.0).variance
    tensor(8.)
    """

    @property
    @override
    def variance(self) -> Any:
        return 2 * self.scale**2

    @property
    @override
    def stddev(self) -> Any:
        return math.sqrt(2) * self.scale

    @override
    def rsample(self, sample_shape: Any = ()) -> Any:
        u = 2 * uniforms(self._extended_shape(sample_shape), self.loc) - 1
        return self.loc - self.scale * xp.sign(u) * xp.log1p(-xp.abs(u))

    @override
    def log_prob(self, value: Any) -> Any:
        return -xp.log(2 * self.scale) - xp.abs(self._standard(value))

    @override
    def cdf(self, value: Any) -> Any:
        z = self._standard(value)
        return 0.5 - 0.5 * xp.sign(z) * xp.expm1(-xp.abs(z))

    @override
    def icdf(self, value: Any) -> Any:
        term = value - 0.5
        return self.loc - self.scale * xp.sign(term) * xp.log1p(-2 * xp.abs(term))

    @override
    def entropy(self) -> Any:
        return 1 + xp.log(2 * self.scale)


class Cauchy(LocationScale):
    """The Cauchy distribution, which has no mean.

    Parameters
    ----------
    loc : median
    scale : half of the width at half of the highest density

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.distributions.Cauchy(0.0, 1.0).cdf(torch.tensor(1.0))
    tensor(0.7500)
    """

    @property
    @override
    def mean(self) -> Any:
        return xp.full_like(self.loc, math.nan)

    @property
    @override
    def variance(self) -> Any:
        return xp.full_like(self.loc, math.inf)

    @override
    def rsample(self, sample_shape: Any = ()) -> Any:
        draws = constant(source_of(None).standard_cauchy(self._extended_shape(sample_shape)), self.loc)
        return self.loc + self.scale * draws

    @override
    def log_prob(self, value: Any) -> Any:
        return -math.log(math.pi) - xp.log(self.scale) - xp.log1p(self._standard(value) ** 2)

    @override
    def cdf(self, value: Any) -> Any:
        return xp.atan(self._standard(value)) / math.pi + 0.5

    @override
    def icdf(self, value: Any) -> Any:
        return xp.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    @override
    def entropy(self) -> Any:
        return math.log(4 * math.pi) + xp.log(self.scale)


class Gumbel(LocationScale):
    """The Gumbel distribution, of the largest of many numbers.

    Parameters
    ----------
    loc : most likely value
    scale : of the distances from it

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.distributions.Gumbel(0.0, 1.0).mean
    tensor(0.5772)
    """

    @property
    @override
    def mean(self) -> Any:
        return self.loc + self.scale * EULER

    @property
    @override
    def variance(self) -> Any:
        return (math.pi / math.sqrt(6) * self.scale) ** 2

    @override
    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.icdf(uniforms(self._extended_shape(sample_shape), self.loc))

    @override
    def log_prob(self, value: Any) -> Any:
        z = -self._standard(value)
        return z - xp.exp(z) - xp.log(self.scale)

    @override
    def cdf(self, value: Any) -> Any:
        return xp.exp(-xp.exp(-self._standard(value)))

    @override
    def icdf(self, value: Any) -> Any:
        return self.loc - self.scale * xp.log(-xp.log(value))

    @override
    def entropy(self) -> Any:
        return xp.log(self.scale) + (1 + EULER)


class StudentT(LocationScale):
    """Student's t distribution.

    Parameters
    ----------
    df : degrees of freedom
    loc, scale : by what the standard distribution is moved and stretched

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.distributions.StudentT(4.0).variance
    tensor(2.)
    """

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    fields = {"df": 0, "loc": 0, "scale": 0}

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: Any = None) -> None:
        self.df, loc, scale, _ = parameters(df, loc, scale)
        super().__init__(loc, scale, validate_args)

    @property
    @override
    def mean(self) -> Any:
        return xp.where(self.df > 1, self.loc, math.nan)

    @property
    @override
    def variance(self) -> Any:
        finite = self.scale**2 * self.df / xp.where(self.df > 2, self.df - 2, 1.0)
        return xp.where(self.df > 2, finite, xp.where(self.df > 1, xp.full_like(self.df, math.inf), math.nan))

    @override
    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        squares = 2 * standard_gammas(self.df / 2, shape)
        return self.loc + self.scale * normals(shape, self.loc) / xp.sqrt(squares / self.df)

    @override
    def log_prob(self, value: Any) -> Any:
        z = self._standard(value)
        half = 0.5 * (self.df + 1)
        norm = xp.log(self.scale) + 0.5 * xp.log(self.df * math.pi) + gammaln(0.5 * self.df) - gammaln(half)
        return -half * xp.log1p(z**2 / self.df) - norm

    @override
    def entropy(self) -> Any:
        half = 0.5 * (self.df + 1)
        beta = gammaln(0.5 * self.df) + math.log(math.sqrt(math.pi)) - gammaln(half)
        spread = half * (digamma(half) - digamma(0.5 * self.df))
        return xp.log(self.scale) + spread + 0.5 * xp.log(self.df) + beta


class Uniform(Distribution):
    """The distribution that is the same everywhere between two bounds.

    Parameters
    ----------
    low : the lower bound
    high : the upper bound, which is not drawn

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.distributions.Uniform(0.0, 4.0).entropy().exp()
    tensor(4.)
    """

    arg_constraints = {"low": constraints.dependent, "high": constraints.dependent}
    has_rsample = True
    fields = {"low": 0, "high": 0}

    def __init__(self, low: Any, high: Any, validate_args: Any = None) -> None:
        self.low, self.high, shape = parameters(low, high)
        super().__init__(shape, validate_args=validate_args)
        if self._validate_args and not bool(xp.all(self.low < self.high)):
            raise ValueError(f"Uniform is not defined when low >= high, found low {self.low} and high {self.high}")

    @constraints.dependent_property
    @override
    def support(self) -> Any:
        return constraints.interval(self.low, self.high)

    @property
    @override
    def mean(self) -> Any:
        return (self.high + self.low) / 2

    @property
    @override
    def mode(self) -> Any:
        return math.nan * self.high

    @property
    @override
    def variance(self) -> Any:
        return (self.high - self.low) ** 2 / 12

    @override
    def rsample(self, sample_shape: Any = ()) -> Any:
        draws = constant(source_of(None).random(self._extended_shape(sample_shape)), self.low)
        return self.low + draws * (self.high - self.low)

    @override
    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        inside = (self.low <= value) & (value < self.high)
        width = self.high - self.low
        return xp.where(inside, xp.zeros_like(width), -math.inf) - xp.log(width)

    @override
    def cdf(self, value: Any) -> Any:
        self._validate_sample(value)
        return xp.clip((value - self.low) / (self.high - self.low), 0.0, 1.0)

    @override
    def icdf(self, value: Any) -> Any:
        return value * (self.high - self.low) + self.low

    @override
    def entropy(self) -> Any:
        return xp.log(self.high - self.low)
