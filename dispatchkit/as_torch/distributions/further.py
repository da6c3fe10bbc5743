"""Further distributions of real numbers: `VonMises`, `FisherSnedecor`, `GeneralizedPareto`, `ContinuousBernoulli`."""

from __future__ import annotations

import math
from typing import Any

from dispatchkit.as_torch.distributions import constraints
from dispatchkit.as_torch.distributions.discrete import TwoSided
from dispatchkit.as_torch.distributions.distribution import (
    CentredDistribution,
    Distribution,
    ExponentialFamily,
    constant,
    parameters,
    rows,
    uniforms,
)
from dispatchkit.as_torch.distributions.gamma_draws import standard_gammas
from dispatchkit.as_torch.special_functions import OPERATIONS
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.marks import override
from dispatchkit.nn import functional
from dispatchkit.ops.random.generator import source_of

gammaln = xp.special.gammaln


class VonMises(CentredDistribution):
    """The von Mises distribution, of angles.

    Parameters
    ----------
    loc : the mean angle
    concentration : how near to it the angles are

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.distributions.VonMises(0.0, 1.0).log_prob(torch.tensor(0.0))
    tensor(-1.0738)
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    fields = {"loc": 0, "concentration": 0}

    def __init__(self, loc: Any, concentration: Any, validate_args: Any = None) -> None:
        self.loc, self.concentration, shape = parameters(loc, concentration)
        super().__init__(shape, validate_args=validate_args)

    @property
    @override
    def variance(self) -> Any:
        k = self.concentration
        return 1 - OPERATIONS["special.i1e"](k) / OPERATIONS["special.i0e"](k)

    @override
    def sample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        drawn = source_of(None).vonmises(rows(self.loc, shape), rows(self.concentration, shape), shape)
        return constant(drawn, self.loc)

    @override
    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        k = self.concentration
        return k * (xp.cos(value - self.loc) - 1) - math.log(2 * math.pi) - xp.log(OPERATIONS["special.i0e"](k))


class FisherSnedecor(Distribution):
    """The distribution of the ratio of two mean squares of normal numbers.

    Parameters
    ----------
    df1, df2 : degrees of freedom of both

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.distributions.FisherSnedecor(2.0, 4.0).mean
    tensor(2.)
    """

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    fields = {"df1": 0, "df2": 0}

    def __init__(self, df1: Any, df2: Any, validate_args: Any = None) -> None:
        self.df1, self.df2, shape = parameters(df1, df2)
        super().__init__(shape, validate_args=validate_args)

    @property
    @override
    def mean(self) -> Any:
        return xp.where(self.df2 > 2, self.df2 / (self.df2 - 2), math.nan)

    @property
    @override
    def mode(self) -> Any:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return xp.where(self.df1 > 2, mode, math.nan)

    @property
    @override
    def variance(self) -> Any:
        m, n = self.df1, self.df2
        variance = 2 * n**2 * (m + n - 2) / (m * (n - 2) ** 2 * (n - 4))
        return xp.where(n > 4, variance, math.nan)

    @override
    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        above = standard_gammas(self.df1 / 2, shape) / self.df1
        return above * self.df2 / standard_gammas(self.df2 / 2, shape)

    @override
    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        m, n, ratio = self.df1 / 2, self.df2 / 2, self.df1 / self.df2
        beta = gammaln(m) + gammaln(n) - gammaln(m + n)
        return m * xp.log(ratio) + (m - 1) * xp.log(value) - (m + n) * xp.log1p(ratio * value) - beta


class GeneralizedPareto(Distribution):
    """The generalized Pareto distribution, of what is left above a bound.

    Parameters
    ----------
    loc : the bound
    scale : of what is above
    concentration : how heavy the tail is; it ends where that is negative

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.distributions.GeneralizedPareto(0.0, 1.0, 0.5).mean
    tensor(2.)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True
    fields = {"loc": 0, "scale": 0, "concentration": 0}

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: Any = None) -> None:
        self.loc, self.scale, self.concentration, shape = parameters(loc, scale, concentration)
        super().__init__(shape, validate_args=validate_args)

    @constraints.dependent_property
    def support(self) -> Any:
        """Return the numbers above the bound, up to the end of the tail."""
        ends = self.concentration < 0
        last = xp.where(ends, self.loc + self.scale / xp.where(ends, -self.concentration, 1.0), math.inf)
        return constraints.interval(self.loc, last)

    def _where_heavy(self, heavy: Any, otherwise: Any) -> Any:
        """Return what a function makes of the concentration, and something else where that is 0."""
        is_zero = xp.abs(self.concentration) <= 1e-8
        return xp.where(is_zero, otherwise, heavy(xp.where(is_zero, 1.0, self.concentration)))

    @property
    @override
    def mean(self) -> Any:
        c = self.concentration
        return xp.where(c < 1, self.loc + self.scale / (1 - xp.where(c < 1, c, 0.5)), math.nan)

    @property
    @override
    def mode(self) -> Any:
        return self.loc

    @property
    @override
    def variance(self) -> Any:
        c = xp.where(self.concentration < 0.5, self.concentration, 0.25)
        return xp.where(self.concentration < 0.5, self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c)), math.nan)

    @override
    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.icdf(uniforms(self._extended_shape(sample_shape), self.loc))

    @override
    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        z = (value - self.loc) / self.scale
        return -xp.log(self.scale) - self._where_heavy(lambda c: (1 / c + 1) * xp.log1p(c * z), z)

    def log_survival_function(self, value: Any) -> Any:
        """Return the logarithm of the probability of larger values."""
        self._validate_sample(value)
        z = (value - self.loc) / self.scale
        return self._where_heavy(lambda c: -xp.log1p(c * z) / c, -z)

    def log_cdf(self, value: Any) -> Any:
        """Return the logarithm of the probability of smaller values."""
        return xp.log1p(-xp.exp(self.log_survival_function(value)))

    @override
    def cdf(self, value: Any) -> Any:
        return xp.exp(self.log_cdf(value))

    @override
    def icdf(self, value: Any) -> Any:
        left = xp.log1p(-value)
        return self.loc + self.scale * self._where_heavy(lambda c: xp.expm1(-c * left) / c, -left)

    @override
    def entropy(self) -> Any:
        return xp.log(self.scale) + self.concentration + 1


class ContinuousBernoulli(TwoSided, ExponentialFamily):
    """The distribution of numbers between 0 and 1 whose density is that of `Bernoulli`, normalised.

    Parameters
    ----------
    probs : its parameter
    logits : its log-odds, in its place
    lims : bounds between which series around 0.5 are used
    validate_args : as of `Distribution`

    Notes
    -----
    Source: Loaiza-Ganem and Cunningham, 2019.

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.distributions.ContinuousBernoulli(0.5).mean
    tensor(0.5000)
    """

    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: Any = None,
    ) -> None:
        (shape,) = self._take(probs, logits)
        self._lims = lims
        super().__init__(shape, validate_args=validate_args)

    def _by_formula(self) -> Any:
        """Return where formulas are exact, and the parameter there, another value elsewhere."""
        probs = xp.clip(self.probs, float(xp.finfo(self.probs.dtype).eps), 1 - float(xp.finfo(self.probs.dtype).eps))
        outside = (probs <= self._lims[0]) | (probs > self._lims[1])
        return outside, xp.where(outside, probs, self._lims[0])

    def _log_norm(self) -> Any:
        """Return the logarithm of the factor that makes the density one."""
        outside, p = self._by_formula()
        below = xp.where(p <= 0.5, p, 0.0)
        above = xp.where(p <= 0.5, 1.0, p)
        twice = xp.where(p <= 0.5, xp.log1p(-2 * below), xp.log(2 * above - 1))
        formula = xp.log(xp.abs(xp.log1p(-p) - xp.log(p))) - twice
        x = (self.probs - 0.5) ** 2
        return xp.where(outside, formula, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    @override
    def mean(self) -> Any:
        outside, p = self._by_formula()
        x = self.probs - 0.5
        formula = p / (2 * p - 1) + 1 / (xp.log1p(-p) - xp.log(p))
        return xp.where(outside, formula, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x**2) * x)

    @property
    @override
    def variance(self) -> Any:
        outside, p = self._by_formula()
        x = (self.probs - 0.5) ** 2
        formula = p * (p - 1) / (1 - 2 * p) ** 2 + 1 / (xp.log1p(-p) - xp.log(p)) ** 2
        return xp.where(outside, formula, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    @override
    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.icdf(uniforms(self._extended_shape(sample_shape), self._kept))

    @override
    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        return value * self.logits - functional.softplus(self.logits) + self._log_norm()

    @override
    def cdf(self, value: Any) -> Any:
        self._validate_sample(value)
        outside, p = self._by_formula()
        formula = (p**value * (1 - p) ** (1 - value) + p - 1) / (2 * p - 1)
        share = xp.where(outside, formula, value)
        return xp.where(value <= 0, 0.0, xp.where(value >= 1, 1.0, share))

    @override
    def icdf(self, value: Any) -> Any:
        outside, p = self._by_formula()
        formula = (xp.log1p(-p + value * (2 * p - 1)) - xp.log1p(-p)) / (xp.log(p) - xp.log1p(-p))
        return xp.where(outside, formula, value)

    @override
    def entropy(self) -> Any:
        return -self.mean * self.logits + functional.softplus(self.logits) - self._log_norm()
