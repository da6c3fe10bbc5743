"""What is kept of calls on quantities: the next call of the same units does not think about them again."""

from __future__ import annotations

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.errors import UnitError
from dispatchkit.types import QuantityTensor
from dispatchkit.types.units import quantity as of_quantities
from tests.protocol.support import steps_of


def lengths() -> QuantityTensor:
    return QuantityTensor(np.asarray([1.0, 4.0, 9.0]), "m")


def test_each_exponent_has_its_own_unit_at_the_second_call_too() -> None:
    x = lengths()
    for _ in range(2):
        for exponent, unit in ((2, "m**2"), (2.0, "m**2"), (0.5, "m**(1/2)"), (-1, "1/m"), (0, ""), (3, "m**3")):
            y = x**exponent
            assert y.unit == dk.types.Unit(unit)
            assert y.magnitude.tolist() == (x.magnitude**exponent).tolist()


def test_an_exponent_in_a_tensor_is_read_at_each_call() -> None:
    x, exponent = lengths(), dk.asarray(2)
    assert (x**2).unit == (x**exponent).unit == dk.types.Unit("m**2")
    assert (x ** dk.asarray(3)).unit == dk.types.Unit("m**3")
    for _ in range(2):
        with pytest.raises(UnitError, match=r"^pow: the elements of 'm' to several powers would have several units"):
            x ** dk.asarray([1.0, 2.0, 3.0])


def test_a_second_power_takes_no_more_steps_than_a_product() -> None:
    x = lengths()
    assert (x**2).unit is (x * x).unit
    assert steps_of(lambda: x**2) <= 1.5 * steps_of(lambda: x * x)


def test_no_more_plans_are_kept_than_a_hundred_exponents_have() -> None:
    x = lengths()
    for i in range(3 * of_quantities.MOST_NUMBERS):
        assert (x ** (1 + i / 1000)).unit == dk.types.Unit("m") ** (1 + i / 1000)
    kept = [plans for plans in of_quantities._plans.values() if isinstance(plans, dict)]
    assert kept
    assert max(map(len, kept)) <= of_quantities.MOST_NUMBERS
