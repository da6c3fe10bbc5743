"""Functions of parts of an argument, and of its shape: `CatTransform`, `StackTransform`, `ReshapeTransform`, ..."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

from dispatchkit.as_torch.distributions import constraints
from dispatchkit.as_torch.distributions.distribution import summed
from dispatchkit.as_torch.distributions.transforms import Transform
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.marks import override
from dispatchkit.nn import functional


class ReshapeTransform(Transform):
    """The last axes with other lengths, for as many elements.

    Parameters
    ----------
    in_shape, out_shape : lengths of the last axes, before and after
    cache_size : as of `Transform`

    Raises
    ------
    ValueError : where the two have other numbers of elements

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.distributions.ReshapeTransform((4,), (2, 2))(torch.ones(3, 4)).shape
    torch.Size([3, 2, 2])
    """

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: Any = 0) -> None:
        super().__init__(cache_size)
        self.in_shape, self.out_shape = tuple(in_shape), tuple(out_shape)
        self.event_dim = len(self.in_shape)
        self.domain = constraints.reinterpreted(constraints.real, len(self.in_shape))
        self.codomain = constraints.reinterpreted(constraints.real, len(self.out_shape))
        if math.prod(self.in_shape) != math.prod(self.out_shape):
            raise ValueError(
                f"ReshapeTransform: in_shape {self.in_shape} and out_shape {self.out_shape} have different numbers of "
                f"elements"
            )

    @override
    def _call(self, x: Any) -> Any:
        return xp.reshape(x, self.forward_shape(tuple(x.shape)))

    @override
    def _inverse(self, y: Any) -> Any:
        return xp.reshape(y, self.inverse_shape(tuple(y.shape)))

    @override
    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return xp.zeros(x.shape[: x.ndim - len(self.in_shape)], dtype=x.dtype)

    @override
    def forward_shape(self, shape: Any) -> Any:
        return replaced(shape, self.in_shape, self.out_shape)

    @override
    def inverse_shape(self, shape: Any) -> Any:
        return replaced(shape, self.out_shape, self.in_shape)


def replaced(shape: Any, old: tuple[int, ...], new: tuple[int, ...]) -> tuple[int, ...]:
    """Return lengths of axes with the last ones replaced.

    Raises
    ------
    ValueError : where there are too few, or others
    """
    if len(shape) < len(old):
        raise ValueError(f"Too few dimensions on input: found {tuple(shape)}, expected {old} at the end")
    cut = len(shape) - len(old)
    if tuple(shape[cut:]) != old:
        raise ValueError(f"Shape mismatch: expected {old} but got {tuple(shape[cut:])}")
    return (*shape[:cut], *new)


class OfParts(Transform):
    """Functions of parts of an argument along an axis.

    Parameters
    ----------
    tseq : the functions
    dim : the axis
    cache_size : as of `Transform`

    Raises
    ------
    TypeError : for what is no function that can be inverted
    """

    def __init__(self, tseq: Iterable[Any], dim: int = 0, cache_size: Any = 0) -> None:
        super().__init__(cache_size)
        self.transforms, self.dim = list(tseq), dim
        for part in self.transforms:
            if not isinstance(part, Transform):
                raise TypeError(f"{type(self).__name__}: every element of tseq must be a Transform, found {part!r}")
        self.bijective = all(part.bijective for part in self.transforms)

    def _parts(self, x: Any) -> list[Any]:
        """Return the parts of an argument or value."""
        raise NotImplementedError

    def _joined(self, parts: list[Any], dim: int) -> Any:
        """Return parts in one along an axis."""
        raise NotImplementedError

    @override
    def _call(self, x: Any) -> Any:
        pairs = zip(self.transforms, self._parts(x), strict=True)
        return self._joined([function(part) for function, part in pairs], self.dim)

    @override
    def _inverse(self, y: Any) -> Any:
        pairs = zip(self.transforms, self._parts(y), strict=True)
        return self._joined([function.inv(part) for function, part in pairs], self.dim)

    def _slopes(self, x: Any, y: Any) -> list[Any]:
        """Return the logarithms of the absolute slopes of each part."""
        triples = zip(self.transforms, self._parts(x), self._parts(y), strict=True)
        return [function.log_abs_det_jacobian(a, b) for function, a, b in triples]


class CatTransform(OfParts):
    """Functions of parts of an argument, which follow one another along an axis.

    Parameters
    ----------
    tseq : the functions
    dim : the axis
    lengths : of the parts; one element each where they are not said
    cache_size : as of `Transform`

    Raises
    ------
    ValueError : where there are more functions than lengths, or fewer, or others than the argument has

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> D = torch.distributions
    >>> D.CatTransform([D.ExpTransform(), D.identity_transform])(torch.tensor([0.0, 3.0]))
    tensor([1., 3.])
    """

    def __init__(
        self, tseq: Iterable[Any], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: Any = 0
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise ValueError(
                f"CatTransform: there must be a length for each transform, found {len(self.lengths)} for "
                f"{len(self.transforms)}"
            )
        self.event_dim = max((part.event_dim for part in self.transforms), default=0)

    @property
    @override
    def domain(self) -> Any:
        return constraints.cat([part.domain for part in self.transforms], self.dim, self.lengths)

    @property
    @override
    def codomain(self) -> Any:
        return constraints.cat([part.codomain for part in self.transforms], self.dim, self.lengths)

    @property
    def length(self) -> int:
        """The length of the axis."""
        return sum(self.lengths)

    @override
    def _parts(self, x: Any) -> list[Any]:
        if x.shape[self.dim] != self.length:
            raise ValueError(
                f"CatTransform: axis {self.dim} must have {self.length} elements, found shape {[*x.shape]}"
            )
        return list(xp.split(x, list(accumulate(self.lengths))[:-1], axis=self.dim))

    @override
    def _joined(self, parts: list[Any], dim: int) -> Any:
        return xp.concat(parts, axis=dim)

    @override
    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        slopes = self._slopes(x, y)
        pairs = zip(self.transforms, slopes, strict=True)
        slopes = [summed(slope, self.event_dim - function.event_dim) for function, slope in pairs]
        # Counted from the end, behind which the axes of one argument are summed.
        place = self.dim - x.ndim * (self.dim >= 0) + self.event_dim
        if place < 0:
            return self._joined(slopes, place)
        return sum(slopes)


class StackTransform(OfParts):
    """Functions of the parts of an argument that an axis counts.

    Parameters
    ----------
    tseq, dim, cache_size : as of `CatTransform`

    Raises
    ------
    ValueError : where the argument has more parts than there are functions, or fewer

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> D = torch.distributions
    >>> D.StackTransform([D.ExpTransform(), D.identity_transform], dim=1)(torch.tensor([[0.0, 3.0]]))
    tensor([[1., 3.]])
    """

    @property
    @override
    def domain(self) -> Any:
        return constraints.stack([part.domain for part in self.transforms], self.dim)

    @property
    @override
    def codomain(self) -> Any:
        return constraints.stack([part.codomain for part in self.transforms], self.dim)

    @override
    def _parts(self, x: Any) -> list[Any]:
        if x.shape[self.dim] != len(self.transforms):
            raise ValueError(
                f"StackTransform: axis {self.dim} must have {len(self.transforms)} elements, found shape {[*x.shape]}"
            )
        return list(xp.unstack(x, axis=self.dim))

    @override
    def _joined(self, parts: list[Any], dim: int) -> Any:
        return xp.stack(parts, axis=dim)

    @override
    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return self._joined(self._slopes(x, y), self.dim)


class CorrCholeskyTransform(Transform):
    """Lower factors of matrices of correlations, by a number for each pair.

    An argument of ``D * (D - 1) / 2`` numbers has a factor of D rows of length 1 as its value.

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> torch.distributions.CorrCholeskyTransform()(torch.tensor([0.0]))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    event_dim = 1

    @override
    def _call(self, x: Any) -> Any:
        bound = 1 - float(xp.finfo(x.dtype).eps)
        size = self.forward_shape(tuple(x.shape))[-1]
        rows, columns = _places(size)
        places = xp.zeros((size, size), dtype=xp.int64)
        places = xp.index_put(places, (rows, columns), xp.arange(x.shape[-1]))
        of_pairs = xp.clip(xp.tanh(x), -bound, bound)[..., places]
        shares = xp.tril(of_pairs, k=-1)
        left = xp.cumulative_prod(xp.sqrt(1 - shares**2), axis=-1)
        ones = xp.ones_like(left[..., :1])
        return (shares + xp.eye(size, dtype=x.dtype)) * xp.concat([ones, left[..., :-1]], axis=-1)

    @override
    def _inverse(self, y: Any) -> Any:
        rows, columns = _places(y.shape[-1])
        left = 1 - xp.cumulative_sum(y * y, axis=-1)
        before = xp.concat([xp.ones_like(left[..., :1]), left[..., :-1]], axis=-1)
        return xp.atanh(y[..., rows, columns] / xp.sqrt(before[..., rows, columns]))

    @override
    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        left = 1 - xp.cumulative_sum(y * y, axis=-1)
        rows, columns = _places(y.shape[-1] - 1)
        of_sticks = 0.5 * xp.sum(xp.log(left[..., rows + 1, columns]), axis=-1)
        return of_sticks - 2 * xp.sum(x + functional.softplus(-2 * x) - math.log(2.0), axis=-1)

    @override
    def forward_shape(self, shape: Any) -> Any:
        count = shape[-1]
        size = (1 + math.isqrt(1 + 8 * count)) // 2
        if size * (size - 1) // 2 != count:
            raise ValueError(f"Input is not a flattened lower-diagonal number: found {count} elements")
        return (*shape[:-1], size, size)

    @override
    def inverse_shape(self, shape: Any) -> Any:
        if len(shape) < 2 or shape[-1] != shape[-2]:
            raise ValueError(f"Input is not square: found shape {tuple(shape)}")
        return (*shape[:-2], shape[-1] * (shape[-1] - 1) // 2)


def _places(size: int) -> tuple[Any, Any]:
    """Return the rows and columns below the diagonal of a matrix, row by row."""
    pairs = [(row, column) for row in range(size) for column in range(row)]
    return xp.asarray([row for row, _ in pairs], dtype=xp.int64), xp.asarray([c for _, c in pairs], dtype=xp.int64)
