"""Annotations of parameters that are no arrays may name what a type checker alone imports."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.errors import RegistrationError

if TYPE_CHECKING:
    from collections.abc import Callable as Op
    from collections.abc import Sequence as Axes


@dk.array_type(fallback=dk.fallback.convert)
class Grid(dk.ArrayMethods):
    """A type of its own, with a field that a type checker alone knows."""

    axes: Axes[int]

    def __init__(self, data: Any) -> None:
        self.data = dk.asarray(data)


def test_a_rule() -> None:
    @dk.implements(dk.sum)
    def sum_grid(x: Grid, /, *, axis: Axes[int] | None = None) -> Axes[int] | str:
        return f"sum over {axis}"

    assert dk.sum(Grid([1.0]), axis=0) == "sum over 0"


def test_a_rule_for_a_kind() -> None:
    @dk.implements(dk.kinds.elementwise)
    def apply_to_grid(op: Op[..., Any], x: Grid, /, **options: Axes[int]) -> str:
        return op.__name__

    assert dk.exp(Grid([1.0])) == "exp"  # type: ignore[comparison-overlap]


def test_a_conversion() -> None:
    @dk.converts()
    def dense_of(x: Grid, axes: Axes[int] = ()) -> dk.Tensor:
        return x.data + 1

    assert dk.mean(Grid([1.0, 2.0])) == 2.5


def test_a_function_that_is_made_overridable() -> None:
    @dk.overridable(arrays=("x",))
    def spread(x: Axes[int], n: Axes[int] = ()) -> Axes[int]:
        return x

    @dk.implements(spread)
    def spread_grid(x: Grid, n: Axes[int] = ()) -> str:
        return f"rule with {n}"

    assert spread(Grid([1.0]), (1,)) == "rule with (1,)"


def test_what_decides_who_is_asked_must_be_resolved() -> None:
    @dk.overridable
    def spread(x: Any, n: Any) -> Any:
        return x

    with pytest.raises(RegistrationError, match=r"of parameter 'n' .* cannot be resolved"):

        @dk.implements(spread)
        def spread_grid(x: Grid, n: Axes[int]) -> Any:
            return x


def test_an_operation_with_all_its_rules() -> None:
    @dk.operation(kind=dk.kinds.function)
    def thrice(xp: Axes[int], x: dk.Tensor, /, *, axis: Axes[int] | None = None) -> Axes[int]:
        return 3 * x

    @thrice.def_vjp
    def thrice_vjp(g: Axes[int], axis: Axes[int]) -> Axes[int]:
        return 3 * g

    assert dk.func.grad(lambda x: thrice(x).sum())(dk.ones(2)).tolist() == [3.0, 3.0]

    @dk.operation(kind=dk.kinds.function, arrays=("x",))
    def twice(xp: Any, x: Axes[int], n: Axes[int] = ()) -> Any:
        return 2 * x

    assert twice(np.ones(2)).tolist() == [2.0, 2.0]


def test_a_function_with_a_derivative() -> None:
    class Half(dk.autograd.Function):
        @staticmethod
        def forward(ctx: Axes[int], x: dk.Tensor, n: Axes[int] = ()) -> Axes[int]:
            return x / 2

        @staticmethod
        def backward(ctx: Axes[int], g: Axes[int]) -> Any:
            return g / 2, None

    x = dk.ones(2, requires_grad=True)
    Half.apply(x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [0.5, 0.5]


def test_the_promise_of_a_rule_whose_parameters_cannot_be_resolved() -> None:
    @dk.implements(dk.mean)
    def mean_of_grid(x: Grid, /, *, axis: Axes[int] | None = None) -> Grid:
        return x

    assert "if declined" not in str(dk.explain(dk.mean, Grid([1.0]))).splitlines()[2]


def test_the_array_itself_must_be_resolved() -> None:
    with pytest.raises(RegistrationError, match=r"annotation 'Axes\[int\]' of parameter 'x' .* cannot be resolved"):

        @dk.implements(dk.sum)
        def sum_axes(x: Axes[int], /) -> Any:
            return x

    with pytest.raises(
        RegistrationError, match=r"'Axes\[int\]' of parameter 'return' .*write the classes where they are"
    ):

        @dk.converts()
        def axes_of(x: Grid) -> Axes[int]:
            return []


@pytest.mark.skipif(sys.version_info < (3, 14), reason="annotations are evaluated where they are written")
def test_annotations_that_python_evaluates_when_it_is_asked() -> None:
    scope: dict[str, Any] = {"dk": dk, "Grid": Grid, "Any": Any}
    code = """
@dk.array_type()
class Lazy:
    unit: Missing

@dk.implements(dk.sum)
def sum_grid(x: Grid, /, *, axis: Missing | None = None) -> Missing:
    return "lazy"

@dk.implements(dk.kinds.rounding)
def round_grid(op: Missing, x: Grid, /) -> Missing:
    return op.__name__

@dk.overridable
def spread(x: Missing) -> Missing:
    return x

@dk.operation(kind=dk.kinds.function)
def thrice(xp: Missing, x: dk.Tensor, /, *, axis: Missing = None) -> Missing:
    return 3 * x

@thrice.def_vjp
def thrice_vjp(g: Missing) -> Missing:
    return 3 * g
"""
    exec(compile(code, "<lazy>", "exec", dont_inherit=True), scope)  # noqa: S102  # without the import of this file
    assert dk.sum(Grid([1.0])) == "lazy"
    assert dk.floor(Grid([1.0])) == "floor"  # type: ignore[comparison-overlap]
    assert scope["spread"](1) == 1
    assert dk.func.grad(lambda x: scope["thrice"](x).sum())(dk.ones(2)).tolist() == [3.0, 3.0]
