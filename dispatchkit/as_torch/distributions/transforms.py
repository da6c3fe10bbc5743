"""Functions that can be inverted, with the logarithms of their slopes, `torch.distributions.transforms`."""

from __future__ import annotations

import math
from typing import Any

from dispatchkit.as_torch.distributions.distribution import summed
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.marks import override
from dispatchkit.nn import functional


class Transform:
    """A function that can be inverted; a subclass writes `_call`, `_inverse` and `log_abs_det_jacobian`.

    Parameters
    ----------
    cache_size : 1 to keep the last argument with its value

    Attributes
    ----------
    bijective : whether it can be inverted
    sign : of its slope
    event_dim : number of the last axes that are one argument together
    """

    bijective = True
    sign: Any = 1
    event_dim = 0

    def __init__(self, cache_size: Any = 0) -> None:
        self._cache_size = cache_size
        self._cached = (None, None)

    @property
    def inv(self) -> Any:
        """The inverse."""
        return _Inverse(self)

    def __call__(self, x: Any) -> Any:
        """Return the value for an argument."""
        if self._cache_size and self._cached[0] is x:
            return self._cached[1]
        y = self._call(x)
        self._cached = (x, y) if self._cache_size else (None, None)
        return y

    def _inv_call(self, y: Any) -> Any:
        """Return the argument for a value."""
        if self._cache_size and self._cached[1] is y:
            return self._cached[0]
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


class _Inverse(Transform):
    """The inverse of a function.

    Parameters
    ----------
    of : the function
    """

    def __init__(self, of: Any) -> None:
        super().__init__()
        self.of, self.bijective, self.sign, self.event_dim = of, of.bijective, of.sign, of.event_dim

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
        total = 0.0
        for part in self.parts:
            y = part(x)
            total = total + summed(part.log_abs_det_jacobian(x, y), self.event_dim - part.event_dim)
            x = y
        return total

    @override
    def __repr__(self) -> str:
        return f"ComposeTransform({self.parts!r})"


class ExpTransform(Transform):
    """The exponential function."""

    @override
    def _call(self, x: Any) -> Any:
        return xp.exp(x)

    @override
    def _inverse(self, y: Any) -> Any:
        return xp.log(y)

    @override
    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x


class SigmoidTransform(Transform):
    """The logistic function."""

    @override
    def _call(self, x: Any) -> Any:
        return xp.clip(xp.sigmoid(x), float(xp.finfo(x.dtype).smallest_normal), 1.0 - float(xp.finfo(x.dtype).eps))

    @override
    def _inverse(self, y: Any) -> Any:
        return xp.log(y) - xp.log1p(-y)

    @override
    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -functional.softplus(-x) - functional.softplus(x)


class SoftplusTransform(Transform):
    """The function ``log(1 + exp(x))``."""

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

    def __init__(self, exponent: Any, cache_size: Any = 0) -> None:
        super().__init__(cache_size)
        self.exponent = xp.asarray(exponent, dtype=None)

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

    bijective = False

    @override
    def _call(self, x: Any) -> Any:
        return xp.abs(x)

    @override
    def _inverse(self, y: Any) -> Any:
        return y


class SoftmaxTransform(Transform):
    """Exponentials, divided by their sum; the inverse is a logarithm."""

    bijective = False
    event_dim = 1

    @override
    def _call(self, x: Any) -> Any:
        return xp.softmax(x, axis=-1)

    @override
    def _inverse(self, y: Any) -> Any:
        return xp.log(y)


identity_transform = ComposeTransform([])
