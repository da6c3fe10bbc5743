"""Sets that parameters and values of distributions belong to, `torch.distributions.constraints`."""

from __future__ import annotations

from typing import Any

from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.marks import override

__all__ = [
    "Constraint",
    "MixtureSameFamilyConstraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "positive_semidefinite",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]


class Constraint:
    """A set of values; a subclass writes `check`.

    Attributes
    ----------
    is_discrete : whether its values are isolated numbers
    event_dim : number of the last axes that are one value together
    """

    is_discrete = False
    event_dim = 0

    def check(self, value: Any) -> Any:
        """Return which values belong to the set."""
        raise NotImplementedError

    def __repr__(self) -> str:
        """Return the name of the set, as PyTorch shows it."""
        return type(self).__name__.lstrip("_") + "()"


class _Dependent(Constraint):
    """A set that only an instance of a distribution knows."""


class dependent_property(property, _Dependent):  # noqa: N801  # PyTorch's
    """A property that is a set which only an instance of a distribution knows.

    Parameters
    ----------
    fn : gives the set
    is_discrete, event_dim : of the set
    """

    def __init__(self, fn: Any = None, *, is_discrete: Any = False, event_dim: Any = 0) -> None:
        super().__init__(fn)
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def __call__(self, fn: Any) -> Any:
        """Return the property of a function."""
        return dependent_property(fn, is_discrete=self.is_discrete, event_dim=self.event_dim)


class _Real(Constraint):
    @override
    def check(self, value: Any) -> Any:
        return value == value  # noqa: PLR0124  # what is no number is not equal to itself


class _Boolean(Constraint):
    is_discrete = True

    @override
    def check(self, value: Any) -> Any:
        return (value == 0) | (value == 1)


class _Interval(Constraint):
    """Numbers between two bounds.

    Parameters
    ----------
    lower_bound, upper_bound : the bounds, None where there is none
    open : whether the lower bound does not belong to it
    whole : whether only whole numbers do
    """

    def __init__(
        self, lower_bound: Any = None, upper_bound: Any = None, open: Any = False, whole: Any = False, name: Any = ""
    ) -> None:
        self.lower_bound, self.upper_bound, self.open, self.is_discrete = lower_bound, upper_bound, open, whole
        self.name = name

    @override
    def check(self, value: Any) -> Any:
        inside = value == value  # noqa: PLR0124  # what is no number is not equal to itself
        if self.is_discrete:
            inside = inside & (value % 1 == 0)
        if self.lower_bound is not None and self.open:
            inside = inside & (self.lower_bound < value)
        elif self.lower_bound is not None:
            inside = inside & (self.lower_bound <= value)
        if self.upper_bound is not None:
            inside = inside & (value <= self.upper_bound)
        return inside

    @override
    def __repr__(self) -> str:
        bounds = {"lower_bound": self.lower_bound, "upper_bound": self.upper_bound}
        return f"{self.name}({', '.join(f'{name}={bound}' for name, bound in bounds.items() if bound is not None)})"


class _Below(Constraint):
    """Numbers below a bound.

    Parameters
    ----------
    upper_bound : the bound
    lower_bound : another, which belongs to the set, None for none
    """

    def __init__(self, upper_bound: Any, lower_bound: Any = None) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    @override
    def check(self, value: Any) -> Any:
        below = value < self.upper_bound
        if self.lower_bound is None:
            return below
        return (self.lower_bound <= value) & below

    @override
    def __repr__(self) -> str:
        if self.lower_bound is None:
            return f"LessThan(upper_bound={self.upper_bound})"
        return f"HalfOpenInterval(lower_bound={self.lower_bound}, upper_bound={self.upper_bound})"


class _Square(Constraint):
    event_dim = 2

    @override
    def check(self, value: Any) -> Any:
        return xp.full(tuple(value.shape)[:-2], value.shape[-1] == value.shape[-2])


class _LowerTriangular(Constraint):
    event_dim = 2

    @override
    def check(self, value: Any) -> Any:
        return xp.all(xp.all(xp.tril(value) == value, axis=-1), axis=-1)


class _Simplex(Constraint):
    event_dim = 1

    @override
    def check(self, value: Any) -> Any:
        return xp.all(value >= 0, axis=-1) & (xp.abs(xp.sum(value, axis=-1) - 1) < 1e-6)


class _OneHot(Constraint):
    is_discrete = True
    event_dim = 1

    @override
    def check(self, value: Any) -> Any:
        return xp.all((value == 0) | (value == 1), axis=-1) & (xp.sum(value, axis=-1) == 1)


class _Multinomial(Constraint):
    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    @override
    def check(self, value: Any) -> Any:
        return xp.all(value >= 0, axis=-1) & (xp.sum(value, axis=-1) <= self.upper_bound)


class _LowerCholesky(Constraint):
    event_dim = 2

    @override
    def check(self, value: Any) -> Any:
        lower = xp.all(xp.all(xp.tril(value) == value, axis=-1), axis=-1)
        return lower & xp.all(xp.linalg.diagonal(value) > 0, axis=-1)


class _CorrCholesky(_LowerCholesky):
    @override
    def check(self, value: Any) -> Any:
        lengths = xp.sqrt(xp.sum(value * value, axis=-1))
        tolerance = float(xp.finfo(value.dtype).eps) * value.shape[-1] * 10
        return super().check(value) & xp.all(xp.abs(lengths - 1) <= tolerance, axis=-1)


class _Symmetric(_Square):
    @override
    def check(self, value: Any) -> Any:
        if value.shape[-1] != value.shape[-2]:
            return super().check(value)
        return xp.all(xp.all(xp.abs(value - value.mT) <= 1e-6 + 1e-5 * xp.abs(value.mT), axis=-1), axis=-1)


class _OfEigenvalues(_Symmetric):
    """Symmetric matrices whose eigenvalues belong to a set.

    Parameters
    ----------
    eigenvalues : the set
    name : of this one
    """

    def __init__(self, eigenvalues: Constraint, name: str) -> None:
        self.eigenvalues, self.name = eigenvalues, name

    @override
    def check(self, value: Any) -> Any:
        symmetric = super().check(value)
        if value.shape[-1] != value.shape[-2]:
            return symmetric
        return symmetric & xp.all(self.eigenvalues.check(xp.linalg.eigvalsh(value.detach())), axis=-1)

    @override
    def __repr__(self) -> str:
        return f"{self.name}()"


class _Parts(Constraint):
    """Arrays whose parts along an axis belong to sets, each to its own.

    Parameters
    ----------
    cseq : the sets
    dim : the axis

    Raises
    ------
    AssertionError : for what is no set
    """

    def __init__(self, cseq: Any, dim: int) -> None:
        self.cseq, self.dim = list(cseq), dim
        if not all(isinstance(each, Constraint) for each in self.cseq):
            raise AssertionError("All elements of cseq must be Constraint instances")
        self.is_discrete = any(each.is_discrete for each in self.cseq)
        self.event_dim = max((each.event_dim for each in self.cseq), default=0)

    def axis(self, value: Any) -> int:
        """Return the axis of an array.

        Raises
        ------
        AssertionError : where it has none
        """
        if not -value.ndim <= self.dim < value.ndim:
            raise AssertionError(f"dim {self.dim} out of range for value with {value.ndim} dimensions")
        return self.dim % value.ndim


class _Cat(_Parts):
    """Arrays that are joined of elements of sets.

    Parameters
    ----------
    cseq, dim : the sets, and the axis
    lengths : of the parts along the axis, 1 each by default
    """

    def __init__(self, cseq: Any, dim: int = 0, lengths: Any = None) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match cseq ({len(self.cseq)})")

    @override
    def check(self, value: Any) -> Any:
        axis, checks, start = self.axis(value), [], 0
        for constraint, length in zip(self.cseq, self.lengths, strict=True):
            part = value[(*(slice(None),) * axis, slice(start, start + length))]
            checks.append(constraint.check(part))
            start += length
        return xp.concat(checks, axis=self.dim)


class _Stack(_Parts):
    """Arrays that are stacked of elements of sets.

    Parameters
    ----------
    cseq, dim : the sets, and the axis that is new
    """

    def __init__(self, cseq: Any, dim: int = 0) -> None:
        super().__init__(cseq, dim)
        # Where the axis is one of those that are an element together.
        self.event_dim += self.dim + self.event_dim < 0

    @override
    def check(self, value: Any) -> Any:
        parts = xp.unstack(value, axis=self.axis(value))
        checks = [constraint.check(part) for constraint, part in zip(self.cseq, parts, strict=False)]
        return xp.stack(checks, axis=self.dim)


class MixtureSameFamilyConstraint(Constraint):
    """The values of a mixture, each of which belongs to the set of each of its components.

    Parameters
    ----------
    base_constraint : the set of the components, whose last axis of batches a value has not
    """

    def __init__(self, base_constraint: Any) -> None:
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"base_constraint must be a Constraint, got {type(base_constraint).__name__}")
        self.base_constraint = base_constraint
        self.is_discrete, self.event_dim = base_constraint.is_discrete, base_constraint.event_dim

    @override
    def check(self, value: Any) -> Any:
        if value.ndim < self.event_dim:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.ndim}")
        inside = self.base_constraint.check(xp.expand_dims(value, axis=-1 - self.event_dim))
        kept = inside.shape[: value.ndim - self.event_dim]
        return xp.all(xp.reshape(inside, (*kept, -1)), axis=-1)

    @override
    def __repr__(self) -> str:
        return f"MixtureSameFamilyConstraint({self.base_constraint!r})"


class _Independent(Constraint):
    """A set whose elements are arrays of elements of another.

    Parameters
    ----------
    base_constraint : the other
    reinterpreted_batch_ndims : number of the axes of the arrays
    """

    def __init__(self, base_constraint: Any, reinterpreted_batch_ndims: Any) -> None:
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims
        self.is_discrete = base_constraint.is_discrete
        self.event_dim = base_constraint.event_dim + reinterpreted_batch_ndims

    @override
    def check(self, value: Any) -> Any:
        inside = self.base_constraint.check(value)
        return xp.all(inside, axis=tuple(range(-self.reinterpreted_batch_ndims, 0)))

    @override
    def __repr__(self) -> str:
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


def interval(lower_bound: Any, upper_bound: Any) -> Any:
    """Return the numbers from one bound to another."""
    return _Interval(lower_bound, upper_bound, name="Interval")


def greater_than(lower_bound: Any) -> Any:
    """Return the numbers above a bound."""
    return _Interval(lower_bound, open=True, name="GreaterThan")


def greater_than_eq(lower_bound: Any) -> Any:
    """Return the numbers from a bound on."""
    return _Interval(lower_bound, name="GreaterThanEq")


def less_than(upper_bound: Any) -> Any:
    """Return the numbers below a bound."""
    return _Below(upper_bound)


def half_open_interval(lower_bound: Any, upper_bound: Any) -> Any:
    """Return the numbers from one bound on, below another."""
    return _Below(upper_bound, lower_bound)


def integer_interval(lower_bound: Any, upper_bound: Any) -> Any:
    """Return the whole numbers from one bound to another."""
    return _Interval(lower_bound, upper_bound, whole=True, name="IntegerInterval")


def independent(base_constraint: Any, reinterpreted_batch_ndims: Any) -> Any:
    """Return the arrays, with some axes, of elements of a set."""
    return _Independent(base_constraint, reinterpreted_batch_ndims)


def cat(cseq: Any, dim: int = 0, lengths: Any = None) -> Any:
    """Return the arrays that are joined of elements of sets.

    Parameters
    ----------
    cseq : the sets
    dim : the axis along which parts are joined
    lengths : of the parts along it, 1 each by default

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> constraints = torch.distributions.constraints
    >>> both = constraints.cat([constraints.positive, constraints.unit_interval], 0, [2, 1])
    >>> both.check(torch.tensor([1.0, -1.0, 2.0]))
    tensor([ True, False, False])
    """
    return _Cat(cseq, dim, lengths)


def stack(cseq: Any, dim: int = 0) -> Any:
    """Return the arrays that are stacked of elements of sets, along an axis."""
    return _Stack(cseq, dim)


def reinterpreted(constraint: Any, axes: int) -> Any:
    """Return a set, of arrays of elements of it where they have further axes."""
    if axes <= 0:
        return constraint
    return _Independent(constraint, axes)


def multinomial(upper_bound: Any) -> Any:
    """Return the vectors of counts of at most so many in all."""
    return _Multinomial(upper_bound)


def is_dependent(constraint: Any) -> bool:
    """Return whether only an instance of a distribution knows a set."""
    return isinstance(constraint, (_Dependent, property))


dependent = _Dependent()
boolean = _Boolean()
one_hot = _OneHot()
real = _Real()
real_vector = independent(real, 1)
positive = greater_than(0.0)
nonnegative = greater_than_eq(0.0)
nonnegative_integer = _Interval(0, whole=True, name="IntegerGreaterThan")
positive_integer = _Interval(1, whole=True, name="IntegerGreaterThan")
unit_interval = interval(0.0, 1.0)
simplex = _Simplex()
square = _Square()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
symmetric = _Symmetric()
positive_semidefinite = _OfEigenvalues(nonnegative, "PositiveSemidefinite")
positive_definite = _OfEigenvalues(positive, "PositiveDefinite")
