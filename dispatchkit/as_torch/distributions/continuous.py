"""Distributions of real numbers: `Normal`, `Uniform`, `Gamma`, `Beta`, ..."""

from __future__ import annotations

import math
from typing import Any

from dispatchkit.as_torch.distributions import constraints
from dispatchkit.as_torch.distributions.distribution import (
    Distribution,
    constant,
    normals,
    parameters,
    uniforms,
)
from dispatchkit.as_torch.distributions.gamma_draws import standard_gammas
from dispatchkit.as_torch.special_functions import OPERATIONS
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.marks import override
from dispatchkit.ops.random.generator import source_of

EULER = 0.5772156649015329
gammaln, digamma = xp.special.gammaln, xp.special.digamma


class LocationScale(Distribution):
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

    @property
    @override
    def mean(self) -> Any:
        return self.loc

    @property
    @override
    def mode(self) -> Any:
        return self.loc

    def _standard(self, value: Any) -> Any:
        """Return the value of the standard distribution; checked."""
        if self._validate_args:
            self._validate_sample(value)
        return (value - self.loc) / self.scale


class Normal(LocationScale):
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
        return xp.where(self.df > 2, finite, xp.where(self.df > 1, math.inf, math.nan))

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

    @property
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
        if self._validate_args:
            self._validate_sample(value)
        inside = (self.low <= value) & (value < self.high)
        return xp.where(inside, 0.0, -math.inf) - xp.log(self.high - self.low)

    @override
    def cdf(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        return xp.clip((value - self.low) / (self.high - self.low), 0.0, 1.0)

    @override
    def icdf(self, value: Any) -> Any:
        return value * (self.high - self.low) + self.low

    @override
    def entropy(self) -> Any:
        return xp.log(self.high - self.low)


class Exponential(Distribution):
    """The exponential distribution, of times between events.

    Parameters
    ----------
    rate : number of events in a unit of time

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.distributions.Exponential(4.0).mean
    tensor(0.2500)
    """

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    fields = {"rate": 0}

    def __init__(self, rate: Any, validate_args: Any = None) -> None:
        self.rate, shape = parameters(rate)
        super().__init__(shape, validate_args=validate_args)

    @property
    @override
    def mean(self) -> Any:
        return 1 / self.rate

    @property
    @override
    def mode(self) -> Any:
        return xp.zeros_like(self.rate)

    @property
    @override
    def stddev(self) -> Any:
        return 1 / self.rate

    @property
    @override
    def variance(self) -> Any:
        return self.rate**-2.0

    @override
    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        return constant(source_of(None).standard_exponential(shape), self.rate) / self.rate

    @override
    def log_prob(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        return xp.log(self.rate) - self.rate * value

    @override
    def cdf(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        return -xp.expm1(-self.rate * value)

    @override
    def icdf(self, value: Any) -> Any:
        return -xp.log1p(-value) / self.rate

    @override
    def entropy(self) -> Any:
        return 1 - xp.log(self.rate)


class Gamma(Distribution):
    """The gamma distribution.

    Parameters
    ----------
    concentration : its shape
    rate : by what numbers of rate 1 are divided

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.distributions.Gamma(3.0, 2.0).mean
    tensor(1.5000)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    fields = {"concentration": 0, "rate": 0}

    def __init__(self, concentration: Any, rate: Any, validate_args: Any = None) -> None:
        self.concentration, self.rate, shape = parameters(concentration, rate)
        super().__init__(shape, validate_args=validate_args)

    @property
    @override
    def mean(self) -> Any:
        return self.concentration / self.rate

    @property
    @override
    def mode(self) -> Any:
        return xp.clip((self.concentration - 1) / self.rate, 0.0, None)

    @property
    @override
    def variance(self) -> Any:
        return self.concentration / self.rate**2

    @override
    def rsample(self, sample_shape: Any = ()) -> Any:
        return standard_gammas(self.concentration, self._extended_shape(sample_shape)) / self.rate

    @override
    def log_prob(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        a, b = self.concentration, self.rate
        return xp.special.xlogy(a, b) + xp.special.xlogy(a - 1, value) - b * value - gammaln(a)

    @override
    def cdf(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        return OPERATIONS["special.gammainc"](self.concentration, self.rate * value)

    @override
    def entropy(self) -> Any:
        a = self.concentration
        return a - xp.log(self.rate) + gammaln(a) + (1 - a) * digamma(a)


class Chi2(Gamma):
    """The distribution of sums of squares of normal numbers.

    Parameters
    ----------
    df : degrees of freedom

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.distributions.Chi2(3.0).variance
    tensor(6.)
    """

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df: Any, validate_args: Any = None) -> None:
        half, _ = parameters(df)
        super().__init__(half / 2, 0.5, validate_args)

    @property
    def df(self) -> Any:
        """Degrees of freedom."""
        return self.concentration * 2


class Dirichlet(Distribution):
    """The Dirichlet distribution, of shares that make up 1.

    Parameters
    ----------
    concentration : of shape (..., K), for K shares

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.distributions.Dirichlet(torch.tensor([1.0, 3.0])).mean
    tensor([0.2500, 0.7500])
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    fields = {"concentration": 1}

    def __init__(self, concentration: Any, validate_args: Any = None) -> None:
        self.concentration, shape = parameters(concentration)
        if len(shape) < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        super().__init__(shape[:-1], shape[-1:], validate_args)

    @property
    @override
    def mean(self) -> Any:
        return self.concentration / xp.sum(self.concentration, axis=-1, keepdims=True)

    @property
    @override
    def mode(self) -> Any:
        above = xp.clip(self.concentration - 1, 0.0, None)
        mode = above / xp.sum(above, axis=-1, keepdims=True)
        corner = xp.arange(mode.shape[-1]) == xp.argmax(self.concentration, axis=-1, keepdims=True)
        none = xp.all(self.concentration < 1, axis=-1, keepdims=True)
        return xp.where(none, xp.astype(corner, mode.dtype), mode)

    @property
    @override
    def variance(self) -> Any:
        total = xp.sum(self.concentration, axis=-1, keepdims=True)
        return self.concentration * (total - self.concentration) / (total**2 * (total + 1))

    @override
    def rsample(self, sample_shape: Any = ()) -> Any:
        draws = standard_gammas(self.concentration, self._extended_shape(sample_shape))
        return draws / xp.sum(draws, axis=-1, keepdims=True)

    @override
    def log_prob(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        a = self.concentration
        total = xp.sum(xp.special.xlogy(a - 1, value), axis=-1)
        return total + gammaln(xp.sum(a, axis=-1)) - xp.sum(gammaln(a), axis=-1)

    @override
    def entropy(self) -> Any:
        a, k = self.concentration, self.concentration.shape[-1]
        total = xp.sum(a, axis=-1)
        spread = xp.sum(gammaln(a), axis=-1) - gammaln(total) - (k - total) * digamma(total)
        return spread - xp.sum((a - 1) * digamma(a), axis=-1)


class Beta(Distribution):
    """The beta distribution, of numbers between 0 and 1.

    Parameters
    ----------
    concentration1, concentration0 : alpha and beta

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.distributions.Beta(1.0, 3.0).mean
    tensor(0.2500)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: Any = None) -> None:
        first, second, shape = parameters(concentration1, concentration0)
        self._dirichlet = Dirichlet(xp.stack([first, second], axis=-1), validate_args=False)
        super().__init__(shape, validate_args=validate_args)

    @property
    def concentration1(self) -> Any:
        """Alpha."""
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self) -> Any:
        """Beta."""
        return self._dirichlet.concentration[..., 1]

    @override
    def _check_parameters(self) -> None:
        for name in ("concentration1", "concentration0"):
            value = getattr(self, name)
            if not bool(xp.all(value > 0)):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                    f"Beta() to satisfy the constraint {constraints.positive!r}, but found invalid values:\n{value}"
                )

    @override
    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        other = super().expand(batch_shape, _instance)
        other._dirichlet = self._dirichlet.expand(batch_shape)
        return other

    @property
    @override
    def mean(self) -> Any:
        return self._dirichlet.mean[..., 0]

    @property
    @override
    def mode(self) -> Any:
        return self._dirichlet.mode[..., 0]

    @property
    @override
    def variance(self) -> Any:
        return self._dirichlet.variance[..., 0]

    @override
    def rsample(self, sample_shape: Any = ()) -> Any:
        return self._dirichlet.rsample(sample_shape)[..., 0]

    @override
    def log_prob(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        return self._dirichlet.log_prob(xp.stack([value, 1.0 - value], axis=-1))

    @override
    def entropy(self) -> Any:
        return self._dirichlet.entropy()


class Folded(Distribution):
    """What distributions of absolute values share.

    Parameters
    ----------
    scale : of the distribution on both sides of 0
    """

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    fields = {"scale": 0}
    whole: type[LocationScale]

    def __init__(self, scale: Any, validate_args: Any = None) -> None:
        self.scale, shape = parameters(scale)
        super().__init__(shape, validate_args=validate_args)

    @property
    def base_dist(self) -> Any:
        """The distribution on both sides of 0."""
        return self.whole(xp.zeros_like(self.scale), self.scale, validate_args=False)

    @property
    @override
    def mode(self) -> Any:
        return xp.zeros_like(self.scale)

    @override
    def rsample(self, sample_shape: Any = ()) -> Any:
        return xp.abs(self.base_dist.rsample(sample_shape))

    @override
    def log_prob(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        return xp.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    @override
    def cdf(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    @override
    def icdf(self, value: Any) -> Any:
        return self.base_dist.icdf((value + 1) / 2)

    @override
    def entropy(self) -> Any:
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(Folded):
    """The distribution of absolute values of normal numbers.

    Parameters
    ----------
    scale : standard deviation of the normal numbers

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.distributions.HalfNormal(1.0).mean
    tensor(0.7979)
    """

    whole = Normal

    @property
    @override
    def mean(self) -> Any:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    @override
    def variance(self) -> Any:
        return self.scale**2 * (1 - 2 / math.pi)


class HalfCauchy(Folded):
    """The distribution of absolute values of numbers of a Cauchy distribution.

    Parameters
    ----------
    scale : of the Cauchy distribution

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.distributions.HalfCauchy(1.0).cdf(torch.tensor(1.0))
    tensor(0.5000)
    """

    whole = Cauchy

    @property
    @override
    def mean(self) -> Any:
        return xp.full_like(self.scale, math.inf)

    @property
    @override
    def variance(self) -> Any:
        return self.base_dist.variance
