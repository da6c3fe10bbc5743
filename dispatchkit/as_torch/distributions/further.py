"""Further distributions of real numbers: `VonMises`, `FisherSnedecor`, `ContinuousBernoulli`."""

from __future__ import annotations

import math
from typing import Any

from dispatchkit.as_torch.distributions import constraints
from dispatchkit.as_torch.distributions.discrete import TwoSided
from dispatchkit.as_torch.distributions.distribution import Distribution, constant, parameters, rows, uniforms
from dispatchkit.as_torch.distributions.gamma_draws import standard_gammas
from dispatchkit.as_torch.special_functions import OPERATIONS
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.marks import override
from dispatchkit.nn import functional
from dispatchkit.ops.random.generator import source_of

gammaln = xp.special.gammaln


class VonMises(Distribution):
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
    def mean(self) -> Any:
        return self.loc

    @property
    @override
    def mode(self) -> Any:
        return self.loc

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


class ContinuousBernoulli(TwoSided):
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
