"""Functions from all real numbers to a set, by the set: `torch.distributions.biject_to` and `transform_to`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchkit.as_torch.distributions import constraints, transforms
from dispatchkit.as_torch.distributions.constraints import Constraint
from dispatchkit.as_torch.distributions.further_transforms import CorrCholeskyTransform

Factory = Callable[[Any], Any]


class ConstraintRegistry:
    """Gives a function whose values are in a set, by the class of the set.

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> D = torch.distributions
    >>> D.transform_to(D.constraints.positive)(torch.tensor(0.0))
    tensor(1.)
    """

    def __init__(self, factories: dict[type, Factory]) -> None:
        self._factories = dict(factories)

    def register(self, constraint: Any, factory: Factory | None = None) -> Any:
        """Enter what makes the function for a class of sets; without it, return a decorator.

        Parameters
        ----------
        constraint : a class of sets, or one of them
        factory : takes a set, and gives the function

        Raises
        ------
        TypeError : for what is no class of sets
        """
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        cls = constraint
        if isinstance(constraint, Constraint):
            cls = type(constraint)
        if not isinstance(cls, type) or not issubclass(cls, Constraint):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._factories[cls] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        """Return the function for a set.

        Parameters
        ----------
        constraint : the set

        Raises
        ------
        NotImplementedError : if none is entered
        """
        factory = self._factories.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


def _to_interval(constraint: Any) -> Any:
    """Return the function to the numbers between two bounds, or on one side of one."""
    low, high = constraint.lower_bound, constraint.upper_bound
    if constraint.is_discrete:
        raise NotImplementedError(f"Cannot transform {constraint!r}: its values are isolated")
    if high is None:
        return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(low, 1)])
    if low is None:
        return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(high, -1)])
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


def _to_independent(registry: ConstraintRegistry) -> Factory:
    """Return what makes the functions to arrays of elements of a set."""

    def factory(constraint: Any) -> Any:
        of_elements = registry(constraint.base_constraint)
        return transforms.IndependentTransform(of_elements, constraint.reinterpreted_batch_ndims)

    return factory


SHARED: dict[type, Factory] = {
    type(constraints.real): lambda _: transforms.identity_transform,
    type(constraints.positive): _to_interval,
    type(constraints.less_than(0.0)): _to_interval,
    type(constraints.lower_cholesky): lambda _: transforms.LowerCholeskyTransform(),
    type(constraints.corr_cholesky): lambda _: CorrCholeskyTransform(),
    type(constraints.positive_definite): lambda _: transforms.PositiveDefiniteTransform(),
}
SIMPLEX = type(constraints.simplex)
biject_to = ConstraintRegistry({**SHARED, SIMPLEX: lambda _: transforms.StickBreakingTransform()})
transform_to = ConstraintRegistry({**SHARED, SIMPLEX: lambda _: transforms.SoftmaxTransform()})
for _registry in (biject_to, transform_to):
    _registry.register(type(constraints.real_vector), _to_independent(_registry))
