"""Calls as libraries for PyTorch write them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit.as_torch as torch
from dispatchkit.errors import InplaceError

OF_ANY: Any = torch
F: Any = OF_ANY.nn.functional
X = np.asarray([[1.0, 3.0, 2.0, 5.0], [0.0, 2.0, 7.0, 1.0]])


def changed(value: float) -> Any:
    """Return a parameter that was changed in place, as by a step of an optimiser."""
    weight = OF_ANY.nn.Parameter(OF_ANY.ones(4))
    with OF_ANY.no_grad():
        weight.mul_(value)
    return weight


@pytest.mark.parametrize("name", ["layer_norm", "group_norm"])
def test_norms_take_factors_that_were_changed_before_the_call(name: str) -> None:
    weight, bias = changed(2.0), changed(3.0)
    arguments: dict[str, Any] = {"layer_norm": ((4,), weight, bias), "group_norm": (2, weight, bias)}
    y = getattr(F, name)(OF_ANY.from_numpy(X), *arguments[name])
    y.sum().backward()
    np.testing.assert_allclose(bias.grad, [2.0] * 4)
    np.testing.assert_allclose(y.detach().sum(0), (weight.grad * 2.0 + 6.0).detach())


def test_factors_that_are_changed_after_the_call_are_told_also_by_name() -> None:
    weight = changed(2.0)
    x = OF_ANY.from_numpy(X.copy()).requires_grad_()
    y = F.layer_norm(x, (4,), weight=weight)
    with OF_ANY.no_grad():
        weight.mul_(2.0)
    with pytest.raises(InplaceError, match="a value needed by the backward of LayerNormBackward was changed"):
        y.sum().backward()


M, V, B = OF_ANY.ones(2, 2), OF_ANY.ones(2), OF_ANY.ones(2, 2, 2)
OLD = [
    ("add", M, (M,), 2.0, {"alpha": 2.0}),
    ("sub", M, (M,), 2.0, {"alpha": 2.0}),
    ("addcmul", M, (M, M), 2.0, {"value": 2.0}),
    ("addcdiv", M, (M, M), 2.0, {"value": 2.0}),
    ("addmm", M, (M, M), 2.0, {"beta": 2.0}),
    ("addmv", V, (M, V), 2.0, {"beta": 2.0}),
    ("addr", M, (V, V), 2.0, {"beta": 2.0}),
    ("baddbmm", B, (B, B), 2.0, {"beta": 2.0}),
    ("addbmm", M, (B, B), 2.0, {"beta": 2.0}),
]


@pytest.mark.parametrize(("name", "x", "rest", "factor", "by_name"), OLD)
def test_factors_stand_before_tensors_as_in_older_programs(
    name: str, x: Any, rest: tuple[Any, ...], factor: float, by_name: dict[str, float]
) -> None:
    expected = getattr(x, name)(*rest, **by_name)
    with pytest.warns(UserWarning, match=f"this order of the arguments of {name} is deprecated: give the factor"):
        assert OF_ANY.equal(getattr(x, name)(factor, *rest), expected)
    with pytest.warns(UserWarning, match=f"after the tensors \\({next(iter(by_name))}=2.0\\)"):
        assert OF_ANY.equal(getattr(x.clone(), f"{name}_")(factor, *rest), expected)


def test_both_factors_of_products_stand_before_tensors() -> None:
    expected = OF_ANY.addmm(M, M, M, beta=2.0, alpha=3.0)
    with pytest.warns(UserWarning, match="deprecated"):
        assert OF_ANY.equal(OF_ANY.addmm(2.0, M, 3.0, M, M), expected)
    with pytest.warns(UserWarning, match="deprecated"):
        assert OF_ANY.equal(M.clone().addmm_(2.0, 3.0, M, M), expected)


def test_other_orders_of_factors_are_refused() -> None:
    with pytest.raises(TypeError, match="takes 3 arguments"):
        OF_ANY.addcmul(M, M, 2.0, M)
    with pytest.raises(TypeError, match="add\\(\\) received an invalid combination of arguments"):
        OF_ANY.add(2.0, M, M)


@pytest.mark.parametrize(
    ("subscripts", "shapes", "same"),
    [
        ("vn...c->vnc", [(2, 3, 4, 5, 6)], "vnabc->vnc"),
        ("...i,...i->i", [(4, 2, 3), (2, 3)], "abi,bi->i"),
        ("...i,j... -> ij", [(1, 3), (2, 5)], "ai,ja->ij"),
        ("i...->i", [(3,)], "i->i"),
    ],
)
def test_axes_under_dots_that_the_result_has_not_are_summed_over(
    subscripts: str, shapes: list[tuple[int, ...]], same: str
) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=shape) for shape in shapes]
    y = OF_ANY.einsum(subscripts, *map(OF_ANY.from_numpy, arrays))
    expected = OF_ANY.einsum(same, *map(OF_ANY.from_numpy, arrays))
    np.testing.assert_allclose(y, expected)


def test_subscripts_that_do_not_fit_are_told_where_dots_are_summed_over() -> None:
    with pytest.raises(RuntimeError, match="operand 0 has 1 axes"):
        OF_ANY.einsum("ab...->a", OF_ANY.ones(3))
