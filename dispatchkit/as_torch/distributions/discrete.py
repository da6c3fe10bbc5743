"""Distributions of counts, classes and truth values: `Bernoulli`, `Categorical`, `Poisson`, ..."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dispatchkit.as_torch.distributions import constraints
from dispatchkit.as_torch.distributions.distribution import (
    Distribution,
    ExponentialFamily,
    constant,
    derived_parameter,
    parameters,
    rows,
    tensor_of,
)
from dispatchkit.as_torch.shared import gradient_alone
from dispatchkit.as_torch.spelling import Tensor, spell
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.marks import override
from dispatchkit.nn import functional
from dispatchkit.ops.random.generator import source_of

gammaln = xp.special.gammaln


def clamped(probs: Any) -> Any:
    """Return probabilities that are neither 0 nor 1, so that they have logarithms."""
    eps = float(xp.finfo(probs.dtype).eps)
    return xp.clip(probs, eps, 1 - eps)


class TwoSided(Distribution):
    """What distributions share that have a probability, or the logarithm of its odds.

    Parameters
    ----------
    probs : the probability
    logits : the logarithm of ``probs / (1 - probs)``, in its place
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    fields = {"probs": 0, "logits": 0}

    def _take(self, probs: Any, logits: Any, *others: Any) -> Any:
        """Keep the probability or its logit; return the other parameters and the shape."""
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        name, value = "probs", probs
        if probs is None:
            name, value = "logits", logits
        self.__dict__[name], *rest = parameters(value, *others)
        return rest

    @property
    def _kept(self) -> Any:
        """The parameter that was given."""
        return self.__dict__.get("probs", self.__dict__.get("logits"))

    @derived_parameter
    def probs(self) -> Any:
        """Probabilities."""
        if "probs" in self.__dict__:
            return self.__dict__["probs"]
        return xp.sigmoid(self.__dict__["logits"])

    @derived_parameter
    def logits(self) -> Any:
        """Logarithms of the odds."""
        if "logits" in self.__dict__:
            return self.__dict__["logits"]
        probs = clamped(self.__dict__["probs"])
        return xp.log(probs) - xp.log1p(-probs)

    @property
    def param_shape(self) -> Any:
        """Shape of the parameter."""
        return tuple(self._kept.shape)


class Bernoulli(TwoSided, ExponentialFamily):
    """The distribution of 1 with a probability, and 0 otherwise.

    Parameters
    ----------
    probs : the probability of 1
    logits : the logarithm of its odds, in its place

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.distributions.Bernoulli(0.25).log_prob(torch.tensor([0.0, 1.0])).exp()
    tensor([0.7500, 0.2500])
    """

    support = constraints.boolean
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        (shape,) = self._take(probs, logits)
        super().__init__(shape, validate_args=validate_args)

    @property
    @override
    def mean(self) -> Any:
        return self.probs

    @property
    @override
    def mode(self) -> Any:
        p = self.probs
        return xp.where(p == 0.5, math.nan, xp.astype(p >= 0.5, p.dtype))

    @property
    @override
    def variance(self) -> Any:
        return self.probs * (1 - self.probs)

    @override
    def sample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        return constant(source_of(None).random(shape) < rows(self.probs, shape), self._kept)

    @override
    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        logits, value = xp.broadcast_arrays(self.logits, value)
        return -functional.binary_cross_entropy_with_logits(logits, xp.astype(value, logits.dtype), reduction="none")

    @override
    def entropy(self) -> Any:
        return functional.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    @override
    def enumerate_support(self, expand: Any = True) -> Any:
        values = Tensor(xp.reshape(xp.arange(2.0, dtype=self._kept.dtype), (2, *(1,) * len(self._batch_shape))))
        if expand:
            values = xp.broadcast_to(values, (2, *self._batch_shape))
        return values


class Geometric(TwoSided):
    """The distribution of the number of failures before a success.

    Parameters
    ----------
    probs : the probability of success
    logits : the logarithm of its odds, in its place

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.distributions.Geometric(0.25).mean
    tensor(3.)
    """

    support = constraints.nonnegative_integer

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        (shape,) = self._take(probs, logits)
        super().__init__(shape, validate_args=validate_args)
        if self._validate_args and probs is not None and not bool(xp.all(self.probs > 0)):
            raise ValueError(f"Geometric: probs must be greater than 0, found {self.probs}")

    @property
    @override
    def mean(self) -> Any:
        return 1.0 / self.probs - 1.0

    @property
    @override
    def mode(self) -> Any:
        return xp.zeros_like(self.probs)

    @property
    @override
    def variance(self) -> Any:
        return (1.0 / self.probs - 1.0) / self.probs

    @override
    def sample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        return constant(source_of(None).geometric(rows(self.probs, shape), shape) - 1, self._kept)

    @override
    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        # What is certain comes at once, and nothing else does.
        certain = self.probs == 1
        failures = xp.log1p(-xp.where(certain, 0.0, self.probs))
        return value * xp.where(certain & (value != 0), -math.inf, failures) + xp.log(self.probs)

    @override
    def entropy(self) -> Any:
        return functional.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs


class Binomial(TwoSided):
    """The distribution of the number of successes in a number of trials.

    Parameters
    ----------
    total_count : number of trials
    probs : the probability of success
    logits : the logarithm of its odds, in its place

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.distributions.Binomial(4, torch.tensor(0.5)).log_prob(torch.tensor(2.0)).exp()
    tensor(0.3750)
    """

    arg_constraints = {"total_count": constraints.nonnegative_integer} | TwoSided.arg_constraints
    fields = {"total_count": 0} | TwoSided.fields

    def __init__(self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        self.total_count, shape = self._take(probs, logits, total_count)
        super().__init__(shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True)
    @override
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    @property
    @override
    def mean(self) -> Any:
        return self.total_count * self.probs

    @property
    @override
    def mode(self) -> Any:
        return xp.minimum(xp.floor((self.total_count + 1) * self.probs), self.total_count)

    @property
    @override
    def variance(self) -> Any:
        return self.total_count * self.probs * (1 - self.probs)

    @override
    def sample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        trials = rows(self.total_count, shape).astype(np.int64)
        return constant(source_of(None).binomial(trials, rows(self.probs, shape), shape), self._kept)

    @override
    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        n, logits = self.total_count, self.logits
        ways = gammaln(n + 1) - gammaln(value + 1) - gammaln(n - value + 1)
        return ways + value * logits - n * functional.softplus(logits)

    @override
    def enumerate_support(self, expand: Any = True) -> Any:
        n = int(xp.max(self.total_count))
        if int(xp.min(self.total_count)) != n:
            raise NotImplementedError("Inhomogeneous total count not supported by `enumerate_support`.")
        values = xp.reshape(xp.arange(n + 1.0, dtype=self._kept.dtype), (n + 1, *(1,) * len(self._batch_shape)))
        if expand:
            values = xp.broadcast_to(values, (n + 1, *self._batch_shape))
        return Tensor(values)

    @override
    def entropy(self) -> Any:
        values = self.enumerate_support(False)
        logs = Binomial(self.total_count, logits=self.logits, validate_args=False).log_prob(values)
        return -xp.sum(xp.exp(logs) * logs, axis=0)


class NegativeBinomial(TwoSided):
    """The distribution of the number of successes before a number of failures.

    Parameters
    ----------
    total_count : number of failures
    probs : the probability of success
    logits : the logarithm of its odds, in its place

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.distributions.NegativeBinomial(3.0, torch.tensor(0.5)).mean
    tensor(3.)
    """

    arg_constraints = {"total_count": constraints.nonnegative} | TwoSided.arg_constraints
    fields = {"total_count": 0} | TwoSided.fields
    support = constraints.nonnegative_integer

    def __init__(self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        self.total_count, shape = self._take(probs, logits, total_count)
        super().__init__(shape, validate_args=validate_args)

    @property
    @override
    def mean(self) -> Any:
        return self.total_count * xp.exp(self.logits)

    @property
    @override
    def mode(self) -> Any:
        return xp.clip(xp.floor((self.total_count - 1) * xp.exp(self.logits)), 0.0, None)

    @property
    @override
    def variance(self) -> Any:
        return self.mean / xp.sigmoid(-self.logits)

    @override
    def sample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        rates = source_of(None).standard_gamma(rows(self.total_count, shape), shape)
        return constant(source_of(None).poisson(rates * np.exp(rows(self.logits, shape))), self._kept)

    @override
    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        n, logits = self.total_count, self.logits
        likely = n * functional.logsigmoid(-logits) + value * functional.logsigmoid(logits)
        ways = -gammaln(n + value) + gammaln(1.0 + value) + gammaln(n)
        return likely - xp.where(n + value == 0, 0.0, ways)


class Poisson(ExponentialFamily):
    """The distribution of the number of independent events.

    Parameters
    ----------
    rate : their mean number

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.distributions.Poisson(2.0).log_prob(torch.tensor(0.0))
    tensor(-2.)
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    fields = {"rate": 0}

    def __init__(self, rate: Any, validate_args: Any = None) -> None:
        self.rate, shape = parameters(rate)
        super().__init__(shape, validate_args=validate_args)

    @property
    @override
    def mean(self) -> Any:
        return self.rate

    @property
    @override
    def mode(self) -> Any:
        return xp.floor(self.rate)

    @property
    @override
    def variance(self) -> Any:
        return self.rate

    @override
    def sample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        return constant(source_of(None).poisson(rows(self.rate, shape), shape), self.rate)

    @override
    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        return xp.special.xlogy(value, self.rate) - self.rate - gammaln(value + 1)


class OfClasses(Distribution):
    """What distributions share that have a probability for each of several classes.

    Parameters
    ----------
    probs : of shape (..., K), divided by their sums
    logits : their logarithms, up to a constant, in their place
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    fields = {"probs": 1, "logits": 1}
    has_enumerate_support = True

    def _take(self, probs: Any, logits: Any) -> Any:
        """Keep probabilities or logarithms; return the shape of the batch and the number of classes."""
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        name, value = "probs", probs
        if probs is None:
            name, value = "logits", logits
        value = tensor_of(value)
        if value.ndim < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if not xp.isdtype(value.dtype, "real floating"):
            value = xp.astype(value, xp.get_default_dtype())
        if name == "probs":
            value = value / xp.sum(value, axis=-1, keepdims=True)
        else:
            value = value - xp.logsumexp(value, axis=-1, keepdims=True)
        self.__dict__[name], self._num_events = value, value.shape[-1]
        return tuple(value.shape)[:-1]

    @property
    def _kept(self) -> Any:
        """The parameter that was given."""
        return self.__dict__.get("probs", self.__dict__.get("logits"))

    @derived_parameter
    def probs(self) -> Any:
        """Probabilities of the classes."""
        if "probs" in self.__dict__:
            return self.__dict__["probs"]
        return xp.softmax(self.__dict__["logits"], axis=-1)

    @derived_parameter
    def logits(self) -> Any:
        """Logarithms of the probabilities."""
        if "logits" in self.__dict__:
            return self.__dict__["logits"]
        return xp.log(clamped(self.__dict__["probs"]))

    @property
    def param_shape(self) -> Any:
        """Shape of the parameter."""
        return tuple(self._kept.shape)

    def _classes(self, sample_shape: Any) -> Any:
        """Draw classes, as NumPy's array."""
        shape = (*sample_shape, *self._batch_shape)
        sums = np.cumsum(np.asarray(self.probs.detach().numpy(), np.float64), axis=-1)
        chosen = source_of(None).random(shape)[..., None] * sums[..., -1:]
        return np.minimum(np.sum(chosen >= sums, axis=-1), self._num_events - 1)

    @override
    def entropy(self) -> Any:
        least = float(xp.finfo(self._kept.dtype).min)
        return -xp.sum(xp.clip(self.logits, least, None) * self.probs, axis=-1)


class Categorical(OfClasses):
    """The distribution of one of several classes, by its number.

    Parameters
    ----------
    probs : probabilities, of shape (..., K), divided by their sums
    logits : their logarithms, up to a constant, in their place

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.distributions.Categorical(torch.tensor([1.0, 3.0])).log_prob(torch.tensor([0, 1])).exp()
    tensor([0.2500, 0.7500])
    """

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        shape = self._take(probs, logits)
        super().__init__(shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True)
    @override
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    @override
    def mean(self) -> Any:
        return spell(xp.broadcast_to(xp.full_like(self._kept[..., 0], math.nan), self._batch_shape))

    @property
    @override
    def mode(self) -> Any:
        return xp.argmax(self._kept, axis=-1)

    @property
    @override
    def variance(self) -> Any:
        return self.mean

    @override
    def sample(self, sample_shape: Any = ()) -> Any:
        self._extended_shape(sample_shape)
        return Tensor(xp.asarray(self._classes(sample_shape)))

    @override
    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        index = xp.astype(value, xp.int64)[..., None]
        lead = np.broadcast_shapes(tuple(index.shape)[:-1], self._batch_shape)
        logits = xp.broadcast_to(self.logits, (*lead, self._num_events))
        return xp.take_along_axis(logits, xp.broadcast_to(index, (*lead, 1)), axis=-1)[..., 0]

    @override
    def enumerate_support(self, expand: Any = True) -> Any:
        n = self._num_events
        values = xp.reshape(xp.arange(n), (n, *(1,) * len(self._batch_shape)))
        if expand:
            values = xp.broadcast_to(values, (n, *self._batch_shape))
        return Tensor(values)


class OneHotCategorical(OfClasses):
    """The distribution of one of several classes, as a vector with a 1 in its place.

    Parameters
    ----------
    probs : probabilities, of shape (..., K), divided by their sums
    logits : their logarithms, up to a constant, in their place

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.distributions.OneHotCategorical(torch.tensor([1.0, 3.0])).log_prob(torch.tensor([0.0, 1.0])).exp()
    tensor(0.7500)
    """

    support = constraints.one_hot

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        shape = self._take(probs, logits)
        super().__init__(shape, (self._num_events,), validate_args)

    @property
    @override
    def mean(self) -> Any:
        return self.probs

    @property
    @override
    def mode(self) -> Any:
        best = xp.argmax(self.probs, axis=-1, keepdims=True)
        return xp.astype(xp.arange(self._num_events) == best, self._kept.dtype)

    @property
    @override
    def variance(self) -> Any:
        return self.probs * (1 - self.probs)

    @override
    def sample(self, sample_shape: Any = ()) -> Any:
        self._extended_shape(sample_shape)
        return constant(np.eye(self._num_events)[self._classes(sample_shape)], self._kept)

    @override
    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        chosen = xp.argmax(value, axis=-1)
        return Categorical(logits=self.logits, validate_args=False).log_prob(chosen)

    @override
    def enumerate_support(self, expand: Any = True) -> Any:
        n = self._num_events
        values = xp.reshape(xp.eye(n, dtype=self._kept.dtype), (n, *(1,) * len(self._batch_shape), n))
        if expand:
            values = xp.broadcast_to(values, (n, *self._batch_shape, n))
        return Tensor(values)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """`OneHotCategorical` whose draws have the gradient of the probabilities.

    Parameters
    ----------
    probs : probabilities, of shape (..., K), divided by their sums
    logits : their logarithms, up to a constant, in their place

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.distributions.OneHotCategoricalStraightThrough(torch.ones(3)).rsample().sum()
    tensor(1.)
    """

    has_rsample = True

    @override
    def rsample(self, sample_shape: Any = ()) -> Any:
        draws = self.sample(sample_shape)
        return draws + gradient_alone(self.probs)


class Multinomial(OfClasses):
    """The distribution of how often each of several classes comes in a number of draws.

    Parameters
    ----------
    total_count : number of draws
    probs : probabilities, of shape (..., K), divided by their sums
    logits : their logarithms, up to a constant, in their place

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.distributions.Multinomial(4, torch.tensor([1.0, 3.0])).mean
    tensor([1., 3.])
    """

    has_enumerate_support = False

    def __init__(self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        shape = self._take(probs, logits)
        super().__init__(shape, (self._num_events,), validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    @override
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    @override
    def mean(self) -> Any:
        return self.probs * self.total_count

    @property
    @override
    def variance(self) -> Any:
        return self.total_count * self.probs * (1 - self.probs)

    @override
    def sample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        probs = np.asarray(rows(self.probs, shape), np.float64)
        probs = probs / probs.sum(-1, keepdims=True)
        return constant(source_of(None).multinomial(self.total_count, probs), self._kept)

    @override
    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        logits, value = xp.broadcast_arrays(self.logits, value)
        impossible = (value == 0) & xp.isinf(logits)
        powers = xp.sum(xp.where(impossible, 0.0, logits) * value, axis=-1)
        return gammaln(xp.sum(value, axis=-1) + 1) - xp.sum(gammaln(value + 1), axis=-1) + powers

    @override
    def entropy(self) -> Any:
        n = self.total_count
        base = n * super().entropy() - math.lgamma(n + 1)
        counts = xp.reshape(xp.arange(1.0, n + 1, dtype=self._kept.dtype), (n, *(1,) * len(self.param_shape)))
        weights = xp.exp(Binomial(n, self.probs, validate_args=False).log_prob(counts))
        return base + xp.sum(weights * gammaln(counts + 1), axis=(0, -1))
