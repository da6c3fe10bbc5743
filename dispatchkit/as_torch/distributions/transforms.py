"""Functions that can be inverted, with the logarithms of their slopes, `torch.distributions.transforms`."""

from __future__ import annotations

import math
from typing import Any

from dispatchkit.as_torch.distributions import constraints
from dispatchkit.as_torch.distributions.distribution import summed
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.marks import override
from dispatchkit.nn import functional


class _EventsOfDomain:
    """What `event_dim` is where a transform does not say it: that of the set of its arguments."""

    def __get__(self, transform: Any, cls: Any = None) -> Any:
        if transform is None:
            return 0
        return transform.domain.event_dim


class Transform:
    """A function that can be inverted; a subclass writes `_call`, `_inverse` and `log_abs_det_jacobian`.

    Parameters
    ----------
    cache_size : 1 to keep the last argument with its value

    Attributes
    ----------
    domain, codomain : the sets of arguments and values, `torch.distributions.constraints`
    bijective : whether it can be inverted
    sign : of its slope
    event_dim : number of the last axes that are one argument together
    """

    bijective = True
    sign: Any = 1
    event_dim: Any = _EventsOfDomain()
    domain: Any = constraints.real
    codomain: Any = constraints.real

    def __init__(self, cache_size: Any = 0) -> None:
        self._cache_size = cache_size
        self._cached_x_y = (None, None)
        super().__init__()  # of a module, say, that a class of yours derives from, too

    @property
    def inv(self) -> Any:
        """The inverse."""
        return _InverseTransform(self)

    def __call__(self, x: Any) -> Any:
        """Return the value for an argument."""
        if self._cache_size and self._cached_x_y[0] is x:
            return self._cached_x_y[1]
        y = self._call(x)
        self._cached_x_y = (x, y) if self._cache_size else (None, None)
        return y

    def _inv_call(self, y: Any) -> Any:
        """Return the argument for a value."""
        if self._cache_size and self._cached_x_y[1] is y:
            return self._cached_x_y[0]
        return self._inverse(y)

    def _call(self, x: Any) -> Any:
        raise NotImplementedError

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Return the logarithm of the absolute slope where `x` becomes `y`."""
        raise NotImplementedError

    def forward_shape(self, shape: Any) -> Any:
        """Return the shape of values."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """Return the shape of arguments."""
        return shape

    def __repr__(self) -> str:
        """Return the class."""
        return f"{type(self).__name__}()"


class _InverseTransform(Transform):
    """The inverse of a function.

    Parameters
    ----------
    of : the function
    """

    def __init__(self, of: Any) -> None:
        super().__init__()
        self.of, self.bijective, self.sign, self.event_dim = of, of.bijective, of.sign, of.event_dim
        self.domain, self.codomain = of.codomain, of.domain

    @property
    @override
    def inv(self) -> Any:
        return self.of

    @override
    def _call(self, x: Any) -> Any:
        return self.of._inv_call(x)

    @override
    def _inverse(self, y: Any) -> Any:
        return self.of(y)

    @override
    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self.of.log_abs_det_jacobian(y, x)

    @override
    def forward_shape(self, shape: Any) -> Any:
        return self.of.inverse_shape(shape)

    @override
    def inverse_shape(self, shape: Any) -> Any:
        return self.of.forward_shape(shape)

    @override
    def __repr__(self) -> str:
        return f"_InverseTransform({self.of!r})"


class ComposeTransform(Transform):
    """Functions one after another.

    Parameters
    ----------
    parts : the functions
    cache_size : as of `Transform`
    """

    def __init__(self, parts: Any, cache_size: Any = 0) -> None:
        super().__init__(cache_size)
        self.parts = list(parts)
        self.bijective = all(part.bijective for part in self.parts)
        self.sign = math.prod(part.sign for part in self.parts)
        self.event_dim = max((part.event_dim for part in self.parts), default=0)
        if self.parts:
            first, last = self.parts[0].domain, self.parts[-1].codomain
            self.domain = constraints.reinterpreted(first, self.event_dim - first.event_dim)
            self.codomain = constraints.reinterpreted(last, self.event_dim - last.event_dim)

    @override
    def _call(self, x: Any) -> Any:
        for part in self.parts:
            x = part(x)
        return x

    @override
    def _inverse(self, y: Any) -> Any:
        for part in reversed(self.parts):
            y = part._inv_call(y)
        return y

    @override
    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        if not self.parts:
            return xp.zeros_like(x)
        total = 0.0
        for part in self.parts:
            y = part(x)
            total = total + summed(part.log_abs_det_jacobian(x, y), self.event_dim - part.event_dim)
            x = y
        return total

    @override
    def forward_shape(self, shape: Any) -> Any:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    @override
    def inverse_shape(self, shape: Any) -> Any:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    @override
    def __repr__(self) -> str:
        return f"ComposeTransform({self.parts!r})"


class ExpTransform(Transform):
    """The exponential function."""

    codomain = constraints.positive

    @override
    def _call(self, x: Any) -> Any:
        return xp.exp(x)

    @override
    def _inverse(self, y: Any) -> Any:
        return xp.log(y)

    @override
    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x


def inside(y: Any) -> Any:
    """Return values between 0 and 1, the bounds moved inwards."""
    limits = xp.finfo(y.dtype)
    return xp.clip(y, float(limits.smallest_normal), 1.0 - float(limits.eps))


class SigmoidTransform(Transform):
    """The logistic function."""

    codomain = constraints.unit_interval

    @override
    def _call(self, x: Any) -> Any:
        return inside(xp.sigmoid(x))

    @override
    def _inverse(self, y: Any) -> Any:
        y = inside(y)
        return xp.log(y) - xp.log1p(-y)

    @override
    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -functional.softplus(-x) - functional.softplus(x)


class SoftplusTransform(Transform):
    """The function ``log(1 + exp(x))``."""

    codomain = constraints.positive

    @override
    def _call(self, x: Any) -> Any:
        return functional.softplus(x)

    @override
    def _inverse(self, y: Any) -> Any:
        return xp.log(-xp.expm1(-y)) + y

    @override
    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -functional.softplus(-x)


class TanhTransform(Transform):
    """The hyperbolic tangent."""

    codomain = constraints.interval(-1.0, 1.0)

    @override
    def _call(self, x: Any) -> Any:
        return xp.tanh(x)

    @override
    def _inverse(self, y: Any) -> Any:
        return xp.atanh(y)

    @override
    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return 2.0 * (math.log(2.0) - x - functional.softplus(-2.0 * x))


class AffineTransform(Transform):
    """The function ``loc + scale * x``.

    Parameters
    ----------
    loc, scale : numbers or tensors
    event_dim, cache_size : as of `Transform`
    """

    def __init__(self, loc: Any, scale: Any, event_dim: Any = 0, cache_size: Any = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale, self.event_dim = loc, scale, event_dim
        self.domain = self.codomain = constraints.reinterpreted(constraints.real, event_dim)

    @property
    @override
    def sign(self) -> Any:
        return xp.sign(xp.asarray(self.scale))

    @override
    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    @override
    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    @override
    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        slope = xp.log(xp.abs(xp.asarray(self.scale, dtype=x.dtype))) + xp.zeros_like(x)
        return summed(slope, self.event_dim)


class PowerTransform(Transform):
    """The function ``x ** exponent`` of positive numbers.

    Parameters
    ----------
    exponent : a number or tensor
    cache_size : as of `Transform`
    """

    domain = constraints.positive
    codomain = constraints.positive

    def __init__(self, exponent: Any, cache_size: Any = 0) -> None:
        super().__init__(cache_size)
        self.exponent = xp.asarray(exponent, dtype=None)

    @property
    @override
    def sign(self) -> Any:
        return xp.sign(self.exponent)

    @override
    def _call(self, x: Any) -> Any:
        return x**self.exponent

    @override
    def _inverse(self, y: Any) -> Any:
        return y ** (1 / self.exponent)

    @override
    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return xp.log(xp.abs(self.exponent * y / x))


class AbsTransform(Transform):
    """The absolute value, which is not inverted."""

    codomain = constraints.positive
    bijective = False

    @override
    def _call(self, x: Any) -> Any:
        return xp.abs(x)

    @override
    def _inverse(self, y: Any) -> Any:
        return y


class SoftmaxTransform(Transform):
    """Exponentials, divided by their sum; the inverse is a logarithm."""

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = False
    event_dim = 1

    @override
    def _call(self, x: Any) -> Any:
        return xp.softmax(x, axis=-1)

    @override
    def _inverse(self, y: Any) -> Any:
        return xp.log(y)


class StickBreakingTransform(Transform):
    """Shares of a stick that is broken again and again, by a number for each break.

    An argument of K - 1 numbers has a value of K shares that make up 1.
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    event_dim = 1

    def _moved(self, x: Any) -> Any:
        """Return the logits of the share of each break in what is left of the stick."""
        count = x.shape[-1]
        return x - xp.log(xp.arange(count, 0, -1, dtype=x.dtype))

    @override
    def _call(self, x: Any) -> Any:
        share = xp.sigmoid(self._moved(x))
        left = xp.cumulative_prod(1 - share, axis=-1)
        one = xp.ones_like(x[..., :1])
        return xp.concat([share, one], axis=-1) * xp.concat([one, left], axis=-1)

    @override
    def _inverse(self, y: Any) -> Any:
        broken = y[..., :-1]
        left = xp.clip(1 - xp.cumulative_sum(broken, axis=-1), float(xp.finfo(y.dtype).smallest_normal), None)
        return xp.log(broken) - xp.log(left) + xp.log(xp.arange(broken.shape[-1], 0, -1, dtype=y.dtype))

    @override
    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        moved = self._moved(x)
        return xp.sum(-moved - functional.softplus(-moved) + xp.log(y[..., :-1]), axis=-1)

    @override
    def forward_shape(self, shape: Any) -> Any:
        return (*shape[:-1], shape[-1] + 1)

    @override
    def inverse_shape(self, shape: Any) -> Any:
        return (*shape[:-1], shape[-1] - 1)


class IndependentTransform(Transform):
    """A function whose last axes are one argument together.

    Parameters
    ----------
    base_transform : the function
    reinterpreted_batch_ndims : number of further axes that are one argument
    cache_size : as of `Transform`
    """

    def __init__(self, base_transform: Any, reinterpreted_batch_ndims: Any, cache_size: Any = 0) -> None:
        super().__init__(cache_size)
        self.base_transform, self.reinterpreted_batch_ndims = base_transform, reinterpreted_batch_ndims
        self.bijective, self.sign = base_transform.bijective, base_transform.sign
        self.event_dim = base_transform.event_dim + reinterpreted_batch_ndims
        sets = (base_transform.domain, base_transform.codomain)
        self.domain, self.codomain = (constraints.reinterpreted(each, reinterpreted_batch_ndims) for each in sets)

    @override
    def _call(self, x: Any) -> Any:
        return self.base_transform(x)

    @override
    def _inverse(self, y: Any) -> Any:
        return self.base_transform._inv_call(y)

    @override
    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return summed(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    @override
    def forward_shape(self, shape: Any) -> Any:
        return self.base_transform.forward_shape(shape)

    @override
    def inverse_shape(self, shape: Any) -> Any:
        return self.base_transform.inverse_shape(shape)

    @override
    def __repr__(self) -> str:
        return f"IndependentTransform({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class CumulativeDistributionTransform(Transform):
    """The probability of smaller or equal values of a distribution.

    Parameters
    ----------
    distribution : which has `cdf` and `icdf`
    cache_size : as of `Transform`
    """

    def __init__(self, distribution: Any, cache_size: Any = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution
        self.domain, self.codomain = distribution.support, constraints.unit_interval

    @override
    def _call(self, x: Any) -> Any:
        return self.distribution.cdf(x)

    @override
    def _inverse(self, y: Any) -> Any:
        return self.distribution.icdf(y)

    @override
    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return self.distribution.log_prob(x)


class LowerCholeskyTransform(Transform):
    """Lower triangles of matrices, with exponentials of their diagonals."""

    domain = constraints.independent(constraints.real, 2)
    codomain: Any = constraints.lower_cholesky
    event_dim = 2

    @override
    def _call(self, x: Any) -> Any:
        return xp.tril(x, k=-1) + _diagonal(x, xp.exp)

    @override
    def _inverse(self, y: Any) -> Any:
        return xp.tril(y, k=-1) + _diagonal(y, xp.log)


class PositiveDefiniteTransform(LowerCholeskyTransform):
    """Positive definite matrices, by the logarithms of the diagonals of their lower factors."""

    codomain = constraints.positive_definite

    @override
    def _call(self, x: Any) -> Any:
        lower = super()._call(x)
        return lower @ lower.mT

    @override
    def _inverse(self, y: Any) -> Any:
        return super()._inverse(xp.linalg.cholesky(y))


def _diagonal(matrix: Any, function: Any) -> Any:
    """Return a function of the diagonal of a matrix as a diagonal matrix."""
    values = function(xp.linalg.diagonal(matrix))
    return values[..., None] * xp.eye(matrix.shape[-1], dtype=matrix.dtype)


identity_transform = ComposeTransform([])
