"""`isclose` and `allclose`: NumPy's answers, and those of array types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.errors import UnitError
from dispatchkit.types import MaskedTensor, NamedTensor, QuantityTensor, ScalarTensor

PAIRS = [
    ([1.0, 2.0, 1e10], [1.0 + 1e-9, 2.1, 1.00001e10]),
    ([np.nan, np.inf, -np.inf, np.inf, 1.0], [np.nan, np.inf, np.inf, 1.0, np.inf]),
    ([1, 2, 3], [1, 2, 4]),
    ([0.0, 1e-9, 1e-7], [0.0, 0.0, 0.0]),
    ([1 + 1j, 1e-9j], [1 + 1j, 0]),
    ([True, False], [True, True]),
    ([], []),
    ([[1.0, 2.0], [3.0, 4.0]], [1.0, 2.0]),
]


@pytest.mark.parametrize("equal_nan", [False, True])
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("tolerances", [{}, {"rtol": 0.1}, {"atol": 1.0, "rtol": 0}, {"rtol": 0, "atol": 0}])
def test_numbers_are_close_as_numpy_has_them(pair: Any, tolerances: Any, equal_nan: bool) -> None:
    a, b = map(np.asarray, pair)
    right = np.isclose(a, b, **tolerances, equal_nan=equal_nan)
    close = dk.isclose(dk.asarray(a), dk.asarray(b), **tolerances, equal_nan=equal_nan)
    assert close.tolist() == right.tolist()
    assert dk.allclose(dk.asarray(a), b, **tolerances, equal_nan=equal_nan) is bool(right.all())


def test_tolerances_go_by_position_as_in_numpy_and_pytorch() -> None:
    assert dk.isclose(dk.asarray([1.0, 2.0]), 1.5, 0.0, 0.5).tolist() == [True, True]
    assert dk.allclose(1.0, 1.2, 0.5)


def test_quantities_are_close_in_any_unit() -> None:
    q = QuantityTensor([1.0, 2.0], "m")
    assert dk.isclose(q, q.to("cm")).tolist() == [True, True]
    assert not dk.allclose(q, QuantityTensor([1.0, 2.0], "cm"))
    assert dk.allclose(q, q, rtol=0, atol=0)
    assert np.allclose(q, q, atol=0)
    near = QuantityTensor([110.0, 190.0], "cm")
    assert dk.isclose(q, near, rtol=0, atol=QuantityTensor(15.0, "cm")).tolist() == [True, True]
    assert dk.isclose(q, near, atol=QuantityTensor(5.0, "cm")).tolist() == [False, False]
    with pytest.raises(UnitError, match=r"'s' and 'm' measure different things"):
        dk.isclose(q, QuantityTensor([1.0, 2.0], "s"))
    with pytest.raises(UnitError, match=r"^isclose: .*; give atol in a unit, atol=QuantityTensor\(0\.1, unit\), or 0$"):
        dk.allclose(q, q, atol=0.1)


def test_temperatures_are_close_within_a_difference() -> None:
    t, allowed = QuantityTensor([20.0, 30.0], "degC"), QuantityTensor([1.0, 0.01], "K")
    assert dk.isclose(t, t + QuantityTensor(0.1, "delta_degC"), 0, allowed).tolist() == [True, False]


def test_masks_and_names_stay() -> None:
    close = dk.isclose(MaskedTensor([1.0, np.nan], [True, False]), 1.0)
    assert isinstance(close, MaskedTensor)
    assert close.valid.tolist() == [True, False]
    assert dk.allclose(MaskedTensor([1.0, np.nan], [True, False]), 1.0)
    named = dk.isclose(NamedTensor([1.0, 2.0], ("x",)), 1.0)
    assert named.names == ("x",)


@pytest.mark.filterwarnings("ignore::dispatchkit.DensifyWarning")
def test_a_structure_is_close_to_its_dense_form() -> None:
    s = ScalarTensor(3, 2.0)
    assert dk.allclose(s, s.to_dense())
    assert dk.isclose(s, 0.0).tolist() == (1 - np.eye(3)).astype(bool).tolist()


def test_vmap_and_gradients_pass_through() -> None:
    x = dk.ones((2, 3), requires_grad=True)
    assert dk.func.vmap(lambda row: dk.isclose(row, 1.0))(x).tolist() == [[True] * 3] * 2
