"""Distributions of positive numbers and of shares: `Exponential`, `Gamma`, `Beta`, `Dirichlet`, ..."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dispatchkit.as_torch.distributions import constraints
from dispatchkit.as_torch.distributions.continuous import Cauchy, LocationScale, Normal
from dispatchkit.as_torch.distributions.distribution import (
    Distribution,
    ExponentialFamily,
    constant,
    parameters,
    tensor_of,
)
from dispatchkit.as_torch.distributions.gamma_draws import standard_gammas
from dispatchkit.as_torch.special_functions import OPERATIONS
from dispatchkit.backends.arrays import numpy_dtype
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.marks import override
from dispatchkit.ops.random.generator import source_of

gammaln, digamma = xp.special.gammaln, xp.special.digamma


class Exponential(ExponentialFamily):
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
        self._validate_sample(value)
        return xp.log(self.rate) - self.rate * value

    @override
    def cdf(self, value: Any) -> Any:
        self._validate_sample(value)
        return -xp.expm1(-self.rate * value)

    @override
    def icdf(self, value: Any) -> Any:
        return -xp.log1p(-value) / self.rate

    @override
    def entropy(self) -> Any:
        return 1 - xp.log(self.rate)


class Gamma(ExponentialFamily):
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
        value = tensor_of(value, self.rate.dtype)
        self._validate_sample(value)
        a, b = self.concentration, self.rate
        return xp.special.xlogy(a, b) + xp.special.xlogy(a - 1, value) - b * value - gammaln(a)

    @override
    def cdf(self, value: Any) -> Any:
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


class Dirichlet(ExponentialFamily):
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
        shares = draws / xp.sum(draws, axis=-1, keepdims=True)
        # Where the others are too small for the dtype, a share is less than 1 all the same, as in PyTorch.
        limits = np.finfo(numpy_dtype(shares.dtype))
        whole = shares.detach()
        moved = xp.clip(whole, float(limits.smallest_normal), float(1 - limits.epsneg)) - whole
        return shares + moved  # with the gradient of the shares, also where they are moved

    @override
    def log_prob(self, value: Any) -> Any:
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


class Beta(ExponentialFamily):
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
        self._validate_sample(value)
        return xp.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    @override
    def cdf(self, value: Any) -> Any:
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
