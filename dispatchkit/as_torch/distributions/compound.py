"""Distributions made of others: `Independent`, `MixtureSameFamily`, `TransformedDistribution`, `LogNormal`."""

from __future__ import annotations

import copy
from typing import Any

from dispatchkit.as_torch.attributes.shapes import Shape
from dispatchkit.as_torch.distributions import constraints
from dispatchkit.as_torch.distributions.continuous import Normal
from dispatchkit.as_torch.distributions.discrete import Categorical
from dispatchkit.as_torch.distributions.distribution import Distribution, summed
from dispatchkit.as_torch.distributions.transforms import ComposeTransform, ExpTransform, Transform
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.graph.recording import no_grad
from dispatchkit.marks import override


class Independent(Distribution):
    """A distribution whose last axes of the batch are axes of one value.

    Parameters
    ----------
    base_distribution : the distribution
    reinterpreted_batch_ndims : number of the axes

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> D = torch.distributions
    >>> D.Independent(D.Normal(torch.zeros(2, 3), 1.0), 1).event_shape
    torch.Size([3])
    """

    def __init__(self, base_distribution: Any, reinterpreted_batch_ndims: Any, validate_args: Any = None) -> None:
        axes = len(base_distribution.batch_shape)
        if reinterpreted_batch_ndims > axes:
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                f"actual {reinterpreted_batch_ndims} vs {axes}"
            )
        shape = base_distribution.batch_shape + base_distribution.event_shape
        events = reinterpreted_batch_ndims + len(base_distribution.event_shape)
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, reinterpreted_batch_ndims
        super().__init__(shape[: len(shape) - events], shape[len(shape) - events :], validate_args)

    @override
    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        other = copy.copy(self)
        extra = self._event_shape[: self.reinterpreted_batch_ndims]
        other.base_dist = self.base_dist.expand((*batch_shape, *extra))
        other._batch_shape = Shape(batch_shape)
        return other

    @property
    @override
    def has_rsample(self) -> Any:  # type: ignore[override]  # that of the other
        return self.base_dist.has_rsample

    @constraints.dependent_property
    @override
    def support(self) -> Any:
        support = self.base_dist.support
        if self.reinterpreted_batch_ndims:
            support = constraints.independent(support, self.reinterpreted_batch_ndims)
        return support

    @property
    @override
    def mean(self) -> Any:
        return self.base_dist.mean

    @property
    @override
    def mode(self) -> Any:
        return self.base_dist.mode

    @property
    @override
    def variance(self) -> Any:
        return self.base_dist.variance

    @override
    def sample(self, sample_shape: Any = ()) -> Any:
        return self.base_dist.sample(sample_shape)

    @override
    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.base_dist.rsample(sample_shape)

    @override
    def log_prob(self, value: Any) -> Any:
        return summed(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    @override
    def entropy(self) -> Any:
        return summed(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    @override
    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamily(Distribution):
    """A mixture of distributions of one kind.

    Parameters
    ----------
    mixture_distribution : a `Categorical` of the shares
    component_distribution : whose last axis of the batch counts the parts of the mixture

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> D = torch.distributions
    >>> D.MixtureSameFamily(D.Categorical(torch.ones(2)), D.Normal(torch.tensor([0.0, 4.0]), 1.0)).mean
    tensor(2.)
    """

    def __init__(self, mixture_distribution: Any, component_distribution: Any, validate_args: Any = None) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution need to be an instance of torch.distributions.Distribution")
        shape, parts = component_distribution.batch_shape[:-1], component_distribution.batch_shape[-1]
        lengths = zip(reversed(mixture_distribution.batch_shape), reversed(shape), strict=False)
        fits = len(mixture_distribution.batch_shape) <= len(shape) and all(n in (1, m) or m == 1 for n, m in lengths)
        if not fits:
            raise ValueError(
                f"`mixture_distribution.batch_shape` ({mixture_distribution.batch_shape}) is not compatible with "
                f"`component_distribution.batch_shape` ({component_distribution.batch_shape})"
            )
        if mixture_distribution.param_shape[-1] != parts:
            raise ValueError(
                f"`mixture_distribution component` ({mixture_distribution.param_shape[-1]}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({parts})"
            )
        self.mixture_distribution, self.component_distribution = mixture_distribution, component_distribution
        super().__init__(shape, component_distribution.event_shape, validate_args)

    @override
    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        other = copy.copy(self)
        parts = self.component_distribution.batch_shape[-1]
        other.component_distribution = self.component_distribution.expand((*batch_shape, parts))
        other.mixture_distribution = self.mixture_distribution.expand(batch_shape)
        other._batch_shape = Shape(batch_shape)
        return other

    @constraints.dependent_property
    @override
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self.component_distribution.support)

    def _shares(self) -> Any:
        """Return the shares, with axes for the elements of a value."""
        shares = self.mixture_distribution.probs
        return xp.reshape(shares, (*shares.shape, *(1,) * len(self._event_shape)))

    def _axis(self) -> Any:
        """Return the axis that counts the parts."""
        return -1 - len(self._event_shape)

    @property
    @override
    def mean(self) -> Any:
        return xp.sum(self._shares() * self.component_distribution.mean, axis=self._axis())

    @property
    @override
    def variance(self) -> Any:
        shares, means = self._shares(), self.component_distribution.mean
        within = xp.sum(shares * self.component_distribution.variance, axis=self._axis())
        apart = means - xp.expand_dims(self.mean, axis=self._axis())
        return within + xp.sum(shares * apart**2, axis=self._axis())

    @override
    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            mixture = self.mixture_distribution.expand(self._batch_shape)
            chosen, events = mixture.sample(sample_shape), len(self._event_shape)
            draws = self.component_distribution.sample(sample_shape)
            index = xp.reshape(chosen, (*chosen.shape, 1, *(1,) * events))
            index = xp.broadcast_to(index, (*chosen.shape, 1, *self._event_shape))
            return xp.squeeze(xp.take_along_axis(draws, index, axis=self._axis()), axis=self._axis())

    @override
    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        apart = xp.expand_dims(value, axis=self._axis())
        of_parts = self.component_distribution.log_prob(apart)
        return xp.logsumexp(of_parts + xp.log_softmax(self.mixture_distribution.logits, axis=-1), axis=-1)

    @override
    def cdf(self, value: Any) -> Any:
        apart = xp.expand_dims(value, axis=self._axis())
        return xp.sum(self.component_distribution.cdf(apart) * self.mixture_distribution.probs, axis=-1)

    @override
    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"


class TransformedDistribution(Distribution):
    """The distribution of what functions make of the values of another.

    Parameters
    ----------
    base_distribution : the other
    transforms : a function, or several one after another

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> D = torch.distributions
    >>> D.TransformedDistribution(D.Normal(0.0, 1.0), D.ExpTransform()).log_prob(torch.tensor(1.0))
    tensor(-0.9189)
    """

    def __init__(self, base_distribution: Any, transforms: Any, validate_args: Any = None) -> None:
        if isinstance(transforms, Transform):
            transforms = [transforms]
        if not all(isinstance(each, Transform) for each in transforms):
            raise ValueError(f"transforms must be a Transform or a list of Transforms, but was {transforms}")
        self.transforms = list(transforms)
        whole = ComposeTransform(self.transforms)
        shape = base_distribution.batch_shape + base_distribution.event_shape
        events = max(whole.event_dim, len(base_distribution.event_shape))
        extra = events - len(base_distribution.event_shape)
        self.base_dist = base_distribution
        if extra:
            self.base_dist = Independent(base_distribution, extra)
        shape = whole.forward_shape(shape)
        super().__init__(shape[: len(shape) - events], shape[len(shape) - events :], validate_args)

    @override
    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        other = copy.copy(self)
        other.base_dist, other._batch_shape = self.base_dist.expand(batch_shape), Shape(batch_shape)
        return other

    @property
    @override
    def has_rsample(self) -> Any:  # type: ignore[override]  # that of the other
        return self.base_dist.has_rsample

    @constraints.dependent_property
    @override
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        codomain = self.transforms[-1].codomain
        return constraints.reinterpreted(codomain, len(self._event_shape) - codomain.event_dim)

    @override
    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            return self._transformed(self.base_dist.sample(sample_shape))

    @override
    def rsample(self, sample_shape: Any = ()) -> Any:
        return self._transformed(self.base_dist.rsample(sample_shape))

    def _transformed(self, value: Any) -> Any:
        """Return what the functions make of a value of the other distribution."""
        for transform in self.transforms:
            value = transform(value)
        return value

    @override
    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        events, total, y = len(self._event_shape), 0.0, value
        for transform in reversed(self.transforms):
            x = transform._inv_call(y)
            total = total - summed(transform.log_abs_det_jacobian(x, y), events - transform.event_dim)
            y = x
        return total + summed(self.base_dist.log_prob(y), events - len(self.base_dist.event_shape))

    def _falls(self) -> Any:
        """Return whether the functions together fall, as a number or tensor."""
        sign = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return sign

    @override
    def cdf(self, value: Any) -> Any:
        for transform in reversed(self.transforms):
            value = transform._inv_call(value)
        share, sign = self.base_dist.cdf(value), self._falls()
        return sign * (share - 0.5) + 0.5

    @override
    def icdf(self, value: Any) -> Any:
        value = self._falls() * (value - 0.5) + 0.5
        return self._transformed(self.base_dist.icdf(value))


class LogNormal(TransformedDistribution):
    """The distribution of numbers whose logarithms are normal.

    Parameters
    ----------
    loc, scale : mean and standard deviation of the logarithms

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.distributions.LogNormal(0.0, 1.0).mean
    tensor(1.6487)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: Any = None) -> None:
        super().__init__(Normal(loc, scale, validate_args), ExpTransform(), validate_args)

    @property
    def loc(self) -> Any:
        """Mean of the logarithms."""
        return self.base_dist.loc

    @property
    def scale(self) -> Any:
        """Standard deviation of the logarithms."""
        return self.base_dist.scale

    @property
    @override
    def mean(self) -> Any:
        return xp.exp(self.loc + self.scale**2 / 2)

    @property
    @override
    def mode(self) -> Any:
        return xp.exp(self.loc - self.scale**2)

    @property
    @override
    def variance(self) -> Any:
        squared = self.scale**2
        return xp.expm1(squared) * xp.exp(2 * self.loc + squared)

    @override
    def entropy(self) -> Any:
        return self.base_dist.entropy() + self.loc
