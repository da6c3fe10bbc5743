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

# Of any type for a checker: the stubs of NumPy's functions know arrays and numbers alone.
Quantity: Any = QuantityTensor
Named: Any = NamedTensor
Masked: Any = MaskedTensor


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
    agree(convert(Quantity([180.0, 90.0], "deg")), "rad", [math.pi, math.pi / 2])
    agree(convert(Quantity([0.5], "turn")), "rad", [math.pi])
    agree(convert(Quantity([2.0], "rad")), "rad", [2.0])
    agree(convert(dk.asarray([180.0])), None, [math.pi])


@pytest.mark.parametrize("convert", TO_DEGREES)
def test_an_angle_in_any_unit_becomes_degrees(convert: Any) -> None:
    agree(convert(Quantity([math.pi], "rad")), "deg", [180.0])
    agree(convert(Quantity([30.0], "arcmin")), "deg", [0.5])
    agree(convert(dk.asarray([math.pi])), None, [180.0])


@pytest.mark.parametrize("convert", [*TO_RADIANS, *TO_DEGREES])
@pytest.mark.parametrize("unit", ["m", "", "percent", "rad/s", "degC", "rad**2"])
def test_what_is_no_angle_is_refused(convert: Any, unit: str) -> None:
    with pytest.raises(UnitError, match=rf"^(deg2rad|rad2deg): numbers in '{re.escape(unit)}' are no angles"):
        convert(Quantity([1.0], unit))


def test_angles_are_converted_inside_of_other_types_and_through_derivatives() -> None:
    named: Any = np.deg2rad(Named(Quantity([180.0], "deg"), "time"))
    assert (named.names, str(named.data.unit)) == (("time",), "rad")
    masked: Any = np.deg2rad(Quantity(Masked([180.0, 1.0], [True, False]), "deg"))
    assert (str(masked.unit), masked.data.valid.tolist()) == ("rad", [True, False])
    gradient: Any = dk.func.grad(lambda x: np.deg2rad(x).sum())(Quantity([1.0, 2.0], "deg"))
    agree(gradient, "rad/deg", [math.pi / 180] * 2)
    agree(np.sin(np.deg2rad(Quantity([90.0], "deg"))), None, [1.0])
    for dtype in (np.int8, np.uint16, np.float32, np.float64):
        assert np.deg2rad(dk.asarray(np.array([9], dtype))).dtype == np.deg2rad(np.array([9], dtype)).dtype


turning = Quantity([0.0, 90.0, 350.0, 10.0], "deg")
# Arguments that are angles, shares or counts.
SHARES: dict[str, tuple[Callable[[], Any], str | None, Any]] = {
    "unwrap": (lambda: np.unwrap(turning), "deg", [0, 90, -10, 10]),
    "unwrap, period": (lambda: np.unwrap(turning, period=Quantity(1.0, "turn")), "deg", [0, 90, -10, 10]),
    "unwrap of lengths": (
        lambda: np.unwrap(Quantity([0.0, 9.0, 1.0], "m"), period=Quantity(1000.0, "cm")),
        "m",
        [0, -1, 1],
    ),
    "angle": (lambda: np.angle(Quantity([1 + 1j], "m")), None, [math.pi / 4]),
    "angle in degrees": (lambda: np.angle(Quantity([1 + 1j], "m"), deg=True), None, [45]),
    "sinc": (lambda: np.sinc(Quantity([90.0], "deg")), "", [np.sinc(math.pi / 2)]),
    "percentile": (lambda: np.percentile(full, 50), "m", 2.5),
    "percentile in percent": (lambda: np.percentile(full, Quantity(50.0, "percent")), "m", 2.5),
    "percentile of a share": (lambda: np.percentile(full, Quantity(0.5, "")), "m", 2.5),
    "nanpercentile in percent": (lambda: np.nanpercentile(full, Quantity(50.0, "percent")), "m", 2.5),
    "quantile in percent": (lambda: np.quantile(full, Quantity(50.0, "percent")), "m", 2.5),
    "nanquantile in percent": (lambda: np.nanquantile(full, Quantity(50.0, "percent")), "m", 2.5),
    "heaviside": (lambda: np.heaviside(full - full[0], Quantity(50.0, "percent")), "", [0.5, 1, 1, 1]),
    "exp2": (lambda: np.exp2(Quantity([100.0], "percent")), "", [2]),
    "logaddexp2": (lambda: np.logaddexp2(Quantity([100.0], "percent"), 1.0), None, [2]),
    "polar": (lambda: torch.polar(Quantity([1.0], "m"), Quantity([90.0], "deg")).imag, "m", [1]),
}
full: Any = Quantity([1.0, 2.0, 3.0, 4.0], "m")


@pytest.mark.parametrize("name", SHARES)
def test_arguments_that_are_angles_or_shares_are_converted(name: str) -> None:
    call, unit, values = SHARES[name]
    agree(call(), unit, values)


# Numbers beside the arrays.

celsius = Quantity([10.0, 20.0], "degC")
degrees: Any = Quantity([0.0, 90.0], "deg")
beyond: Any = Quantity([-1.0, 400.0], "deg")
NUMBERS: dict[str, tuple[Callable[[], Any], str | None, Any]] = {
    "interp, period": (
        lambda: np.interp(Quantity([370.0], "deg"), degrees, [10.0, 20.0], period=Quantity(1.0, "turn")),
        "",
        [100 / 9],
    ),
    "interp, left and right": (
        lambda: np.interp(beyond, degrees, Quantity([10.0, 20.0], "K"), left=Quantity(1e3, "mK"), right=0),
        "K",
        [1, 0],
    ),
    "interp of points": (
        lambda: np.interp(beyond, degrees, celsius, left=Quantity(32.0, "degF"), right=Quantity(0.0, "K")),
        "degC",
        [0, -273.15],
    ),
    "pad": (lambda: np.pad(full[:1], 1), "m", [0, 1, 0]),
    "pad by a value": (
        lambda: np.pad(full[:1], 1, constant_values=(Quantity(1.0, "km"), Quantity(1.0, "cm"))),
        "m",
        [1000, 1, 0.01],
    ),
    "pad by nan": (lambda: np.pad(full[:1], 1, constant_values=np.nan), "m", [np.nan, 1, np.nan]),
    "pad points": (lambda: np.pad(celsius, 1, constant_values=Quantity(32.0, "degF")), "degC", [0, 10, 20, 0]),
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
        lambda: np.interp(beyond, degrees, full[:2], left=Quantity(1.0, "s")),
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
        lambda: np.pad(Quantity([1, 2], "m"), 1, constant_values=Quantity(1, "cm")),
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


# Functions that keep a unit.

walk = Quantity([1.0, 2.0, 3.0, 4.0, 2.0], "m")
times = Quantity([1.0, 0.0, 3.0, 0.0, 2.0], "s")
square = Quantity([[1.0, 2.0], [1.0, 2.0], [0.0, 3.0]], "m")
identity = Quantity(np.eye(4).reshape(2, 2, 2, 2), "m")
KEPT: dict[str, tuple[Callable[[], Any], str | None, Any]] = {
    "histogram, counts": (lambda: np.histogram(walk, Quantity([0.0, 200.0, 500.0], "cm"))[0], None, [1, 4]),
    "histogram, edges": (lambda: np.histogram(walk, 3)[1], "m", [1, 2, 3, 4]),
    "histogram, weights": (lambda: np.histogram(walk, 2, weights=times)[0], "s", [3, 3]),
    "histogram, density": (lambda: np.histogram(walk, 2, density=True)[0], "1/m", [0.4, 4 / 15]),
    "histogram, range": (
        lambda: np.histogram(walk, 2, range=(Quantity(0.0, "m"), Quantity(1000.0, "cm")))[1],
        "m",
        [0, 5, 10],
    ),
    "histogram of one": (lambda: np.histogram(Quantity([2.0], "m"), 2)[1], "m", [1.5, 2, 2.5]),
    "histogram of nothing": (lambda: np.histogram(Quantity([], "m"), 2)[1], "m", [0, 0.5, 1]),
    "histogram of points": (lambda: np.histogram(Quantity([10.0], "degC"), 2)[1], "degC", [9.5, 10, 10.5]),
    "histogram_bin_edges": (lambda: np.histogram_bin_edges(walk, 2), "m", [1, 2.5, 4]),
    "histogram2d": (
        lambda: np.histogram2d(walk, times, [Quantity([0.0, 2.0, 4.0], "m"), 2])[0],
        None,
        [[1, 0], [2, 2]],
    ),
    "histogram2d, density": (lambda: np.histogram2d(walk, times, 1, density=True)[0], "1/m/s", [[1 / 9]]),
    "histogramdd": (lambda: np.histogramdd([walk, times], 2)[1][1], "s", [0, 1.5, 3]),
    "bincount": (lambda: np.bincount([0, 1, 1, 0, 2], weights=walk), "m", [5, 5, 2]),
    "ediff1d": (
        lambda: np.ediff1d(walk[:2], Quantity(1.0, "km"), Quantity(5.0, "cm")),
        "cm",
        [5, 100, 1e5],
    ),
    "trim_zeros": (lambda: np.trim_zeros(Quantity([0.0, 1.0, 0.0], "m")), "m", [1]),
    "choose": (lambda: np.choose([0, 1, 0, 1, 1], [walk, Quantity(1.0, "km")]), "m", [1, 1000, 3, 1000, 1000]),
    "piecewise": (
        lambda: np.piecewise(walk, [walk < walk[1]], [lambda x: x / times[2], Quantity(7.0, "m/s")]),
        "m/s",
        [1 / 3, 7, 7, 7, 7],
    ),
    "apply_along_axis": (lambda: np.apply_along_axis(np.sum, 0, square), "m", [2, 7]),
    "apply_over_axes": (lambda: np.apply_over_axes(np.sum, square, [0, 1]), "m", [[9]]),
    "logspace": (
        lambda: np.logspace(Quantity([0.0, 100.0], "percent"), 2.0, 3),
        "",
        [[1, 10], [10, 10**1.5], [100, 100]],
    ),
    "vander": (lambda: np.vander(Quantity([50.0, 200.0], "percent"), 3), "", [[0.25, 0.5, 1], [4, 2, 1]]),
    "lstsq of deficient rank": (
        lambda: np.linalg.lstsq(Quantity([[0.0, 0], [1, 0]], "m"), Quantity([3.0, 1], "m"))[1],
        "m**2",
        [],
    ),
    "power of percent": (lambda: Quantity([50.0, 50.0], "percent") ** np.array([1, 2]), "", [0.5, 0.25]),
    "geomspace": (lambda: np.geomspace(walk[0], Quantity(1.0, "km"), 4), "m", [1, 10, 100, 1000]),
    "unique, axis": (lambda: np.unique(square, axis=0), "m", [[0, 3], [1, 2]]),
    "unique, axis and counts": (lambda: np.unique(square, axis=0, return_counts=True)[1], None, [1, 2]),
    "intersect1d": (
        lambda: np.intersect1d(walk, Quantity([400.0, 200.0], "cm"), return_indices=True)[2],
        None,
        [1, 0],
    ),
    "tensorsolve": (
        lambda: np.linalg.tensorsolve(identity, Quantity(np.ones((2, 2)), "s")),
        "s/m",
        np.ones((2, 2)),
    ),
    "tensorinv": (lambda: np.linalg.tensorinv(identity)[0, 0], "1/m", [[1, 0], [0, 0]]),
    "array_equiv": (lambda: np.array_equiv(walk, walk.to("cm")), None, True),
    "ldexp": (lambda: np.ldexp(walk[:2], 3), "m", [8, 16]),
    "spacing": (lambda: np.spacing(walk[:1]), "m", [2**-52]),
    "shares_memory": (lambda: np.shares_memory(walk, walk[1:]), None, True),
    "lexsort": (lambda: np.lexsort((walk, times)), None, [1, 3, 0, 4, 2]),
    "einsum_path": (lambda: np.einsum_path("i,i->i", walk, times)[0][1], None, [0, 1]),
    "add.reduceat": (lambda: np.add.reduceat(walk, [0, 2]), "m", [3, 9]),
    "minimum.accumulate": (lambda: np.minimum.accumulate(walk[::-1]), "m", [2, 2, 2, 2, 1]),
    "subtract.reduce": (lambda: np.subtract.reduce(walk), "m", -10),
    "hypot.reduce": (lambda: np.hypot.reduce(Quantity([-2.0], "m")), "m", 2),
    "around tens": (lambda: np.around(Quantity([15, 26], "m"), -1), "m", [20, 30]),
    "real_if_close": (lambda: np.real_if_close(walk * (1 + 0j)), "m", [1, 2, 3, 4, 2]),
    "quantile 0": (lambda: np.quantile(walk, 0), "m", 1),
    "full, like": (lambda: np.full(2, walk[1], like=walk), "m", [2, 2]),
    "arange, like": (
        lambda: np.arange(walk[0], walk[1], Quantity(25.0, "cm"), like=walk),
        "m",
        [1, 1.25, 1.5, 1.75],
    ),
    "maximum of half precision": (
        lambda: np.maximum(Quantity([1.0], "h"), Quantity(np.array([0.5, np.inf], np.float16), "ms")),
        "h",
        [1, np.inf],
    ),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_a_function_of_numpy_makes_of_quantities(name: str) -> None:
    call, unit, values = KEPT[name]
    agree(call(), unit, values)


# Units as factors.

FACTORS: dict[str, Any] = {
    "number": 2.0,
    "scalar of NumPy": np.float64(2.0),
    "array": np.array([2.0, 4.0]),
    "list": [2.0, 4.0],
    "tensor": dk.asarray([2.0, 4.0]),
    "mask": Masked([2.0, 4.0], [True, False]),
    "names": Named([2.0, 4.0], "time"),
    "quantity": Quantity([2.0, 4.0], "s"),
    "quantity with names": Named(Quantity([2.0, 4.0], "s"), "time"),
}


@pytest.mark.parametrize("name", FACTORS)
def test_a_product_with_a_unit_is_a_quantity(name: str) -> None:
    x, unit = FACTORS[name], Unit("m")
    of_x = Unit("s") if name.startswith("quantity") else Unit("")
    for result, expected in (
        (x * unit, of_x * unit),
        (unit * x, of_x * unit),
        (x / unit, of_x / unit),
        (unit / x, unit / of_x),
    ):
        quantity = result.data if isinstance(result, NamedTensor) else result
        assert quantity.unit == expected
    assert float(np.max(np.asarray((unit / 2.0).magnitude))) == 0.5


def test_units_among_themselves_are_units() -> None:
    assert (Unit("m") * Unit("s"), Unit("m") / Unit("s"), Unit("m") ** 2) == (Unit("m*s"), Unit("m/s"), Unit("m**2"))
    assert repr(20.0 * Unit("degC")) == "QuantityTensor(20., 'degC')"
    with pytest.raises(TypeError):
        Unit("m") * "s"
    with pytest.raises(UnitError, match="'degC' is of points on a scale, which have no products"):
        1 / Unit("degC")
    with pytest.raises(TypeError, match=r"a QuantityTensor in 'm' is no whole number; where it is to be multiplied"):
        [1.0, 2.0] * Quantity(3.0, "m")


def test_missing_elements_of_a_quantity_are_filled_by_a_quantity() -> None:
    x = Quantity(Masked([1.0, 2.0], [True, False]), "m")
    agree(x.filled(Quantity(5.0, "cm")), "m", [1, 0.05])
    agree(x.filled(0), "m", [1, 0])
    agree(Quantity([1.0], "m").filled(0), "m", [1])
    named = Named(x, "time").filled(0)
    assert (named.names, str(named.data.unit)) == (("time",), "m")
    with pytest.raises(UnitError, match="filled: value: a plain number is not in 'm'; give value=QuantityTensor"):
        x.filled(3.0)


def test_points_on_a_scale_are_close_by_a_tolerance_in_a_unit_of_differences() -> None:
    boiling, same = Quantity(100.0, "degC"), Quantity(212.0, "degF")
    assert np.isclose(boiling, same, rtol=0, atol=Quantity(1.0, "mK"))
    with pytest.raises(UnitError, match=r"give rtol=0, and atol in a unit of differences, such as QuantityTensor\(0.1"):
        np.isclose(boiling, same)
