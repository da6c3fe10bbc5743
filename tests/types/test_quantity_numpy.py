"""NumPy's functions on quantities: angles, numbers beside the arrays that carry a unit, and all that keeps one."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
import dispatchkit.as_torch as torch
from dispatchkit.errors import UnitError
from dispatchkit.types import MaskedTensor, NamedTensor, QuantityTensor, Unit


def agree(result: Any, unit: str | None, values: Any) -> None:
    """Check the unit of a result, None for a plain one, and its numbers."""
    if unit is not None:
        assert type(result) is QuantityTensor
        assert str(result.unit) == str(Unit(unit))
        result = result.magnitude
    assert not isinstance(result, QuantityTensor)
    np.testing.assert_allclose(np.asarray(result), values, rtol=1e-12, atol=1e-12)


# Angles.

TO_RADIANS = [np.deg2rad, np.radians, dk.deg2rad, torch.deg2rad, lambda x: x.deg2rad()]
TO_DEGREES = [np.rad2deg, np.degrees, dk.rad2deg, torch.rad2deg, lambda x: x.rad2deg()]


@pytest.mark.parametrize("convert", TO_RADIANS)
def test_an_angle_in_any_unit_becomes_radians(convert: Any) -> None:
    agree(convert(QuantityTensor([180.0, 90.0], "deg")), "rad", [math.pi, math.pi / 2])
    agree(convert(QuantityTensor([0.5], "turn")), "rad", [math.pi])
    agree(convert(QuantityTensor([2.0], "rad")), "rad", [2.0])
    agree(convert(dk.asarray([180.0])), None, [math.pi])


@pytest.mark.parametrize("convert", TO_DEGREES)
def test_an_angle_in_any_unit_becomes_degrees(convert: Any) -> None:
    agree(convert(QuantityTensor([math.pi], "rad")), "deg", [180.0])
    agree(convert(QuantityTensor([30.0], "arcmin")), "deg", [0.5])
    agree(convert(dk.asarray([math.pi])), None, [180.0])


@pytest.mark.parametrize("convert", [*TO_RADIANS, *TO_DEGREES])
@pytest.mark.parametrize("unit", ["m", "", "percent", "rad/s", "degC", "rad**2"])
def test_what_is_no_angle_is_refused(convert: Any, unit: str) -> None:
    with pytest.raises(UnitError, match=rf"^(deg2rad|rad2deg): numbers in '{re.escape(unit)}' are no angles"):
        convert(QuantityTensor([1.0], unit))


def test_angles_are_converted_inside_of_other_types_and_through_derivatives() -> None:
    named = np.deg2rad(NamedTensor(QuantityTensor([180.0], "deg"), "time"))
    assert (named.names, str(named.data.unit)) == (("time",), "rad")
    masked = np.deg2rad(QuantityTensor(MaskedTensor([180.0, 1.0], [True, False]), "deg"))
    assert (str(masked.unit), masked.data.valid.tolist()) == ("rad", [True, False])
    gradient: Any = dk.func.grad(lambda x: np.deg2rad(x).sum())(QuantityTensor([1.0, 2.0], "deg"))
    agree(gradient, "rad/deg", [math.pi / 180] * 2)
    agree(np.sin(np.deg2rad(QuantityTensor([90.0], "deg"))), None, [1.0])
    for dtype in (np.int8, np.uint16, np.float32, np.float64):
        assert np.deg2rad(dk.asarray(np.array([9], dtype))).dtype == np.deg2rad(np.array([9], dtype)).dtype


turning = QuantityTensor([0.0, 90.0, 350.0, 10.0], "deg")
# Arguments that are angles, shares or counts.
SHARES: dict[str, tuple[Callable[[], Any], str | None, Any]] = {
    "unwrap": (lambda: np.unwrap(turning), "deg", [0, 90, -10, 10]),
    "unwrap, period": (lambda: np.unwrap(turning, period=QuantityTensor(1.0, "turn")), "deg", [0, 90, -10, 10]),
    "unwrap of lengths": (
        lambda: np.unwrap(QuantityTensor([0.0, 9.0, 1.0], "m"), period=QuantityTensor(1000.0, "cm")),
        "m",
        [0, -1, 1],
    ),
    "angle": (lambda: np.angle(QuantityTensor([1 + 1j], "m")), None, [math.pi / 4]),
    "angle in degrees": (lambda: np.angle(QuantityTensor([1 + 1j], "m"), deg=True), None, [45]),
    "sinc": (lambda: np.sinc(QuantityTensor([90.0], "deg")), "", [np.sinc(math.pi / 2)]),
    "percentile": (lambda: np.percentile(full, 50), "m", 2.5),
    "percentile in percent": (lambda: np.percentile(full, QuantityTensor(50.0, "percent")), "m", 2.5),
    "percentile of a share": (lambda: np.percentile(full, QuantityTensor(0.5, "")), "m", 2.5),
    "nanpercentile in percent": (lambda: np.nanpercentile(full, QuantityTensor(50.0, "percent")), "m", 2.5),
    "quantile in percent": (lambda: np.quantile(full, QuantityTensor(50.0, "percent")), "m", 2.5),
    "nanquantile in percent": (lambda: np.nanquantile(full, QuantityTensor(50.0, "percent")), "m", 2.5),
    "heaviside": (lambda: np.heaviside(full - full[0], QuantityTensor(50.0, "percent")), "", [0.5, 1, 1, 1]),
    "exp2": (lambda: np.exp2(QuantityTensor([100.0], "percent")), "", [2]),
    "logaddexp2": (lambda: np.logaddexp2(QuantityTensor([100.0], "percent"), 1.0), None, [2]),
    "polar": (lambda: torch.polar(QuantityTensor([1.0], "m"), QuantityTensor([90.0], "deg")).imag, "m", [1]),
}
full: Any = QuantityTensor([1.0, 2.0, 3.0, 4.0], "m")


@pytest.mark.parametrize("name", SHARES)
def test_arguments_that_are_angles_or_shares_are_converted(name: str) -> None:
    call, unit, values = SHARES[name]
    agree(call(), unit, values)


# Numbers beside the arrays.

celsius = QuantityTensor([10.0, 20.0], "degC")
degrees: Any = QuantityTensor([0.0, 90.0], "deg")
beyond: Any = QuantityTensor([-1.0, 400.0], "deg")
NUMBERS: dict[str, tuple[Callable[[], Any], str | None, Any]] = {
    "interp, period": (
        lambda: np.interp(QuantityTensor([370.0], "deg"), degrees, [10.0, 20.0], period=QuantityTensor(1.0, "turn")),
        "",
        [100 / 9],
    ),
    "interp, left and right": (
        lambda: np.interp(beyond, degrees, QuantityTensor([10.0, 20.0], "K"), left=QuantityTensor(1e3, "mK"), right=0),
        "K",
        [1, 0],
    ),
    "interp of points": (
        lambda: np.interp(beyond, degrees, celsius, left=QuantityTensor(32.0, "degF"), right=QuantityTensor(0.0, "K")),
        "degC",
        [0, -273.15],
    ),
    "pad": (lambda: np.pad(full[:1], 1), "m", [0, 1, 0]),
    "pad by a value": (
        lambda: np.pad(full[:1], 1, constant_values=(QuantityTensor(1.0, "km"), QuantityTensor(1.0, "cm"))),
        "m",
        [1000, 1, 0.01],
    ),
    "pad by nan": (lambda: np.pad(full[:1], 1, constant_values=np.nan), "m", [np.nan, 1, np.nan]),
    "pad points": (lambda: np.pad(celsius, 1, constant_values=QuantityTensor(32.0, "degF")), "degC", [0, 10, 20, 0]),
    "pad points by themselves": (lambda: np.pad(celsius, 1, mode="edge"), "degC", [10, 10, 20, 20]),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_beside_the_arrays_are_converted(name: str) -> None:
    call, unit, values = NUMBERS[name]
    agree(call(), unit, values)


NUMBERS_REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "period": (
        lambda: np.interp(beyond, degrees, [10.0, 20.0], period=360.0),
        "interp: period: a plain number is not in 'deg'; give period=QuantityTensor(number, 'deg')",
    ),
    "left": (
        lambda: np.interp(beyond, degrees, full[:2], left=QuantityTensor(1.0, "s")),
        "interp: left: 's' and 'm' measure different things; give left=QuantityTensor(number, 'm')",
    ),
    "pad": (
        lambda: np.pad(full, 1, constant_values=1.0),
        "pad: constant_values: a plain number is not in 'm'; give constant_values=QuantityTensor(number, 'm')",
    ),
    "pad points": (
        lambda: np.pad(celsius, 1),
        "pad: 0 is a place on the scale 'degC' like any other; give constant_values in a unit",
    ),
    "pad whole numbers": (
        lambda: np.pad(QuantityTensor([1, 2], "m"), 1, constant_values=QuantityTensor(1, "cm")),
        (
            "pad: an array of int64 in 'm' cannot hold constant_values exactly; make it one of floating-point numbers "
            "first, x = x.astype('float64')"
        ),
    ),
}


@pytest.mark.parametrize("name", NUMBERS_REFUSED)
def test_numbers_without_their_unit_are_refused(name: str) -> None:
    call, text = NUMBERS_REFUSED[name]
    with pytest.raises(UnitError) as caught:
        call()
    assert str(caught.value) == text
