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


@pytest.mark.parametrize(
    ("unit", "value", "written"),
    [
        ("m", QuantityTensor(2.0, "km"), 2000.0),
        ("km", QuantityTensor(500.0, "m"), 0.5),
        ("m", QuantityTensor(2.0, "metre"), 2.0),
        ("degC", QuantityTensor(300.0, "K"), 300.0 - 273.15),
        ("K", QuantityTensor(25.0, "degC"), 298.15),
    ],
)
def test_values_that_are_written_are_converted_at_each_call(unit: str, value: QuantityTensor, written: float) -> None:
    for key in (1, slice(1, 2), [1], 1):
        x = QuantityTensor(np.asarray([1.0, 4.0, 9.0]), unit)
        x[key] = value
        np.testing.assert_allclose(x.magnitude.numpy(), [1.0, written, 9.0], rtol=1e-15)


def test_what_does_not_convert_or_fit_is_refused_at_each_call() -> None:
    lengths_of_integers = QuantityTensor(np.asarray([1, 2]), "m")
    for _ in range(2):
        with pytest.raises(UnitError, match=r"^setitem: 's' and 'm' measure different things"):
            lengths()[0] = QuantityTensor(1.0, "s")
        lengths_of_integers[0] = QuantityTensor(2, "km")
        assert lengths_of_integers.magnitude.tolist() == [2000, 2]
        with pytest.raises(UnitError, match=r"cannot hold the value in 'mm' exactly"):
            lengths_of_integers[0] = QuantityTensor(5, "mm")


def test_a_converted_value_takes_few_more_steps_than_one_of_the_same_unit() -> None:
    x = lengths()

    def write(value: QuantityTensor) -> None:
        x[1] = value

    assert steps_of(lambda: write(QuantityTensor(2.0, "km"))) <= 2.5 * steps_of(lambda: write(QuantityTensor(2.0, "m")))
