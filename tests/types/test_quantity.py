"""`QuantityTensor`: every operation has a law, results do not depend on the units that arguments are written in."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dispatchkit as dk
from dispatchkit.declare.operation import DeclaredOperation
from dispatchkit.errors import UnitError
from dispatchkit.types import QuantityTensor, Unit
from dispatchkit.types.units.laws import law_of
from dispatchkit.types.units.unit import BASES, DEFINITIONS
from tests.declared import by_operation

way, time = QuantityTensor([3.0, 5.0], "km"), QuantityTensor(2.0, "h")
celsius = QuantityTensor([20.0, 25.0], "degC")
matrix = QuantityTensor([[2.0, 1.0], [1.0, 3.0]], "m")

LIBRARY = {
    name: entry
    for name, entry in dk.tensor_protocol.operations.items()
    if isinstance(entry, DeclaredOperation) and name.startswith("dispatchkit.")
}


def agree(found: Any, unit: str, values: Any) -> None:
    assert type(found) is QuantityTensor
    assert found.unit == Unit(unit), f"{found.unit} in place of {unit}"
    np.testing.assert_allclose(found.magnitude.numpy(), values, rtol=1e-12)


# Every operation.


def test_every_operation_of_the_library_has_a_law() -> None:
    creating = {name for name, entry in LIBRARY.items() if not entry.parameters.arrays}
    missing = [name for name, entry in LIBRARY.items() if name not in creating and law_of(entry.function) is None]
    assert not missing


@pytest.mark.parametrize("kind", [kind for kind in dk.kinds if dk.kinds.elementwise in kind.lineage()], ids=str)
@pytest.mark.parametrize("namespace", [None, "dispatchkit"])
def test_an_elementwise_operation_without_a_law_of_its_own_never_drops_the_unit(
    kind: Any, namespace: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    @dk.operation(kind=kind)
    def unlisted(xp: Any, x: Any, /) -> Any:
        return 1 / (x * x)

    if namespace is None:  # of a user: its body computes with quantities
        agree(unlisted(QuantityTensor([2.0], "m")), "1/m**2", [0.25])
        return
    monkeypatch.setattr(dk.tensor_protocol.operation(unlisted), "namespace", namespace)
    if kind in (dk.kinds.additive, dk.kinds.bounds, dk.kinds.rounding, dk.kinds.complex_parts):
        assert type(unlisted(QuantityTensor([2.0], "m"))) is QuantityTensor
    elif kind not in (dk.kinds.comparison, dk.kinds.predicate):  # these give booleans, which have no unit
        with pytest.raises(UnitError, match="unlisted: 'm' and a plain number measure different things"):
            unlisted(QuantityTensor([2.0], "m"))


# Rounding is of the numbers as they are written; what is random, or made of nothing, is not the same twice.
AS_WRITTEN = {"floor", "ceil", "trunc", "round", "nextafter", "empty", "empty_like", "ones_like"}
CALLS = [
    pytest.param(entry, index, id=f"{name.removeprefix('dispatchkit.')}-{index}")
    for name, entry in LIBRARY.items()
    for index in range(len(entry.samples))
    if entry.name not in AS_WRITTEN and entry.kind is not dk.kinds.random and "dropout" not in entry.name
]


def in_unit(entry: Any, sample: Any, unit: str, scale: float) -> Any:
    """Return the result of a sample call of which each floating array is that many times 1 km."""
    args, kwargs = sample.make(np.random.default_rng(0))

    def measured(name: str, value: Any) -> Any:
        if isinstance(value, np.ndarray) and value.dtype.kind in "fc":
            return QuantityTensor(value * scale, unit)
        return value

    own, options = dk.tensor_protocol.map_arguments(entry.function, args, kwargs, measured)
    return entry.function(*own, **options)


def outputs(value: Any) -> list[Any]:
    return [one for part in value for one in outputs(part)] if isinstance(value, (list, tuple)) else [value]


@by_operation(("entry", "index"), CALLS)
def test_results_do_not_depend_on_the_units_that_arguments_are_in(entry: Any, index: int) -> None:
    sample = entry.samples[index]
    try:
        inside = in_unit(entry, sample, "km", 1.0)
    except UnitError:
        with pytest.raises(UnitError):
            in_unit(entry, sample, "m", 1000.0)
        return
    for one, other in zip(outputs(inside), outputs(in_unit(entry, sample, "m", 1000.0)), strict=True):
        if isinstance(one, QuantityTensor):
            found, expected = other.to(one.unit).magnitude, one.magnitude
        else:
            assert not isinstance(other, QuantityTensor)
            found, expected = other, one
        if isinstance(expected, dk.Tensor):
            np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-7, atol=1e-12)
        else:
            assert found == expected


UNITS: dict[str, tuple[Callable[[], Any], str, Any]] = {
    "quotient": (lambda: way / time, "km/h", [1.5, 2.5]),
    "sum of two units": (lambda: way + QuantityTensor([1.0, 2.0], "m"), "km", [3.001, 5.002]),
    "difference from the left": (lambda: QuantityTensor(1000.0, "m") - way, "m", [-2000.0, -4000.0]),
    "number times": (lambda: 2 * way, "km", [6.0, 10.0]),
    "NumPy times": (lambda: np.array([2.0, 3.0]) * way, "km", [6.0, 15.0]),
    "number by": (lambda: 6 / way, "1/km", [2.0, 1.2]),
    "power": (lambda: way**2, "km**2", [9.0, 25.0]),
    "third root": (lambda: QuantityTensor([8.0], "m**3") ** (1 / 3), "m", [2.0]),
    "root": (lambda: dk.sqrt(QuantityTensor([4.0], "m")), "m**(1/2)", [2.0]),
    "prod": (lambda: dk.prod(matrix), "m**4", 6.0),
    "prod along an axis": (lambda: dk.prod(matrix, axis=0), "m**2", [2.0, 3.0]),
    "var": (lambda: dk.var(way), "km**2", 1.0),
    "std": (lambda: dk.std(way), "km", 1.0),
    "cumulative sum": (lambda: dk.cumulative_sum(way), "km", [3.0, 8.0]),
    "sort": (lambda: dk.sort(-way), "km", [-5.0, -3.0]),
    "concat": (lambda: dk.concat([way, QuantityTensor([7.0], "m")]), "km", [3.0, 5.0, 0.007]),
    "where": (lambda: dk.where(way > QuantityTensor(4000.0, "m"), way, -way), "km", [-3.0, 5.0]),
    "clip": (lambda: dk.clip(way, max=QuantityTensor(4000.0, "m")), "km", [3.0, 4.0]),
    "maximum": (lambda: dk.maximum(way, QuantityTensor(4000.0, "m")), "km", [4.0, 5.0]),
    "inv": (lambda: dk.linalg.inv(matrix), "1/m", [[0.6, -0.2], [-0.2, 0.4]]),
    "det": (lambda: dk.linalg.det(matrix), "m**2", 5.0),
    "solve": (lambda: dk.linalg.solve(matrix, QuantityTensor([5.0, 5.0], "s")), "s/m", [2.0, 1.0]),
    "eigenvalues": (lambda: dk.linalg.eigvalsh(matrix), "m", [(5 - 5**0.5) / 2, (5 + 5**0.5) / 2]),
    "einsum": (lambda: dk.einsum("i,i", way, way), "km**2", 34.0),
    "tensordot": (lambda: dk.tensordot(matrix, matrix), "m**2", 15.0),
    "fft": (lambda: dk.fft.fft(way), "km", [8.0, -2.0]),
    "zeros_like": (lambda: dk.zeros_like(way), "km", [0.0, 0.0]),
    "interp": (lambda: dk.interp(QuantityTensor([3500.0], "m"), way, QuantityTensor([0.0, 4.0], "s")), "s", [1.0]),
    "linear": (
        lambda: dk.nn.functional.linear(way, matrix, QuantityTensor([1.0, 1.0], "m**2")),
        "km*m",
        [11.001, 18.001],
    ),
}


@pytest.mark.parametrize("name", UNITS)
def test_units_of_results(name: str) -> None:
    call, unit, values = UNITS[name]
    agree(call(), unit, values)


def test_several_results_have_units_of_their_own() -> None:
    u, s, vh = dk.linalg.svd(matrix)
    assert (type(u), type(vh)) == (dk.Tensor, dk.Tensor)
    assert s.unit == Unit("m")
    found = dk.linalg.eigh(matrix)
    assert found.eigenvalues.unit == Unit("m")
    assert type(found.eigenvectors) is dk.Tensor
    q, r = dk.linalg.qr(matrix)
    assert (type(q), r.unit) == (dk.Tensor, Unit("m"))
    assert [one.unit for one in dk.meshgrid(way, time[None])] == [Unit("km"), Unit("h")]
    assert dk.unique_counts(way).values.unit == Unit("km")


def test_questions_give_plain_tensors() -> None:
    for found in (way > QuantityTensor(1.0, "m"), dk.isnan(way), dk.sign(way), dk.argmax(way), dk.argsort(way)):
        assert type(found) is dk.Tensor
    assert type(dk.sin(QuantityTensor([90.0], "deg"))) is dk.Tensor


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "dimensions": (lambda: way + time, r"^add: 'h' and 'km' measure different things$"),
    "comparison": (lambda: way < time, r"^less: 'h' and 'km'"),
    "a plain number": (lambda: way + 1, r"^add: a plain number and 'km'"),
    "zero, as one": (lambda: way + 0, r"^add: a plain number and 'km'"),
    "Python's sum": (lambda: sum([way, way]), r"^add: .*; Python's sum\(\) starts with 0, .* sum\(values, start=Quant"),
    "zeros, as ones": (lambda: way + dk.zeros(2), r"^add: a plain number and 'km'"),
    "equality with a number": (lambda: way == 3, r"^equal: a plain number"),
    "exp": (lambda: dk.exp(way), r"^exp: 'km' and a plain number"),
    "maximum": (lambda: dk.maximum(way, 0), r"^maximum: a plain number"),
    "assignment": (lambda: way.clone().__setitem__(0, 1.0), r"^setitem: a plain number"),
    "powers": (lambda: way ** dk.tensor([1.0, 2.0]), "would have several units"),
    "cumulative product": (lambda: dk.cumulative_prod(way), r"^cumulative_prod: 'km' and a plain number"),
    "quotient as it is written": (lambda: way // time, r"^floor_divide: 'h' and 'km'"),
    "bytes": (lambda: way.view(dk.int64), r"^view: numbers in 'km' read as int64 by their bytes have no unit; convert"),
    "padding by value": (
        lambda: dk.pad(way, 1, constant_values=1.0),
        r"^pad: constant_values: a plain number is not in 'km'; give constant_values=QuantityTensor",
    ),
    "unit of another": (lambda: way.to("s"), r"^to: 'km' and 's' measure different things$"),
    "NumPy": (lambda: np.asarray(way), r"would lose the unit; take \.magnitude, or \.to\(unit\)\.magnitude$"),
    "float": (lambda: float(time), "would lose the unit"),
    "item": (lambda: time.item(), "would lose the unit"),
    "unit twice": (
        lambda: QuantityTensor(way, "m"),
        r"^QuantityTensor: the array is in 'km' already; write x\.to\('m'\)$",
    ),
    "unknown": (lambda: Unit("blub"), r"^unknown unit 'blub'"),
    "number as unit": (lambda: Unit("3"), r"'3' is a number; a unit is a product"),
    "sum as unit": (lambda: Unit("m+s"), r"'m\+s' is no unit; write a product of powers"),
    "no text": (lambda: Unit(3), r"a unit is written as text, such as 'm/s', or is one of Pint or astropy; found 3"),
    "decibels": (lambda: QuantityTensor(1.0, "dBm") + QuantityTensor(1.0, "dBm"), "'dBm' is logarithmic"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_and_why(name: str) -> None:
    call, message = REFUSED[name]
    with pytest.raises(UnitError, match=message):
        call()


def test_a_refusal_is_no_type_error_that_operators_swallow() -> None:
    assert not issubclass(UnitError, TypeError)
    assert pickle.loads(pickle.dumps(UnitError("text"))).args == ("text",)


# Angles.


def test_hertz_do_not_become_rounds_per_minute_nine_and_a_half_times_as_many() -> None:
    rate = QuantityTensor(1.0, "Hz")
    with pytest.raises(UnitError, match="differ by the radian; multiply or divide by QuantityTensor"):
        rate.to("rpm")
    with pytest.raises(UnitError, match="differ by the radian"):
        QuantityTensor(60.0, "rpm").to("Hz")
    agree((rate * QuantityTensor(1.0, "turn")).to("rpm"), "rpm", 60.0)


def test_an_angle_may_stand_where_a_number_may() -> None:
    right = QuantityTensor([90.0], "deg")
    np.testing.assert_allclose(dk.sin(right).numpy(), [1.0])
    agree(right + math.pi / 2, "deg", [180.0])
    assert float(QuantityTensor(180.0, "deg")) == pytest.approx(math.pi)
    with pytest.warns(dk.DensifyWarning, match="made QuantityTensor dense"):
        np.testing.assert_allclose(np.asarray(right), [math.pi / 2])


# Temperatures.


def test_points_on_a_scale_have_differences_and_means() -> None:
    agree(celsius - QuantityTensor(68.0, "degF"), "delta_degC", [0.0, 5.0])
    agree(celsius.mean(), "degC", 22.5)
    agree(celsius + QuantityTensor(9.0, "delta_degF"), "degC", [25.0, 30.0])
    agree(QuantityTensor(1.0, "delta_degC") + celsius, "degC", [21.0, 26.0])
    agree(celsius - QuantityTensor(1.0, "K"), "degC", [19.0, 24.0])
    agree(dk.diff(celsius), "delta_degC", [5.0])
    slopes: Any = np.gradient(QuantityTensor([20.0, 25.0, 24.0], "degC"), time)
    agree(slopes, "delta_degC / h", [2.5, 1.0, -0.5])
    agree(dk.std(celsius), "delta_degC", 2.5)
    agree(celsius.to("K"), "K", [293.15, 298.15])
    agree(celsius.to("degF"), "degF", [68.0, 77.0])
    agree(dk.max(celsius), "degC", 25.0)
    assert (celsius > QuantityTensor(70.0, "degF")).tolist() == [False, True]


POINTS: dict[str, tuple[Callable[[], Any], str]] = {
    "sum": (
        lambda: celsius.sum(),
        r"^sum: numbers in 'degC' are points on a scale, of which there is none; convert to 'K'",
    ),
    "two points": (lambda: celsius + celsius, r"^add: points on a scale, in 'degC' and 'degC', have no sum"),
    "twice": (lambda: 2 * celsius, r"^multiply: points on a scale, in 'degC', have no products"),
    "25 times": (lambda: 25 * QuantityTensor(1.0, "degC"), "have no products"),
    "a number": (lambda: celsius + 1, r"^add: a plain number and 'delta_degC'"),
    "from a vector": (lambda: QuantityTensor(1.0, "K") - celsius, r"^subtract: a point on a scale, in 'degC'"),
    "difference as point": (
        lambda: QuantityTensor(1.0, "delta_degC").to("degC"),
        "a point on a scale is no difference",
    ),
    "zeros and points": (lambda: dk.tril(celsius[None]), "^tril: numbers in 'degC' are points"),
    "in a product": (lambda: Unit("degC/m"), "'degC' is of points on a scale, which have no products"),
    "with a prefix": (lambda: Unit("mdegC"), "^unknown unit 'mdegC'"),
}


@pytest.mark.parametrize("name", POINTS)
def test_what_points_on_a_scale_do_not_have(name: str) -> None:
    call, message = POINTS[name]
    with pytest.raises(UnitError, match=message):
        call()


# Numbers and types.


def test_numbers_stay_what_they_are() -> None:
    whole = QuantityTensor(dk.asarray([1, 2]), "m")
    assert whole.dtype == dk.int64
    assert (whole + whole).dtype == dk.int64
    assert dk.prod(whole).dtype == dk.int64
    single = QuantityTensor(dk.asarray([1.0], dtype=dk.float32), "km")
    assert single.to("m").dtype == dk.float32
    agree(QuantityTensor([0.3], "m").to("cm"), "cm", [30.0])
    assert QuantityTensor(7.0, "mm").to("m").magnitude.item() == 0.007


def test_it_casts_and_moves_as_other_arrays_do() -> None:
    assert way.to(dk.float32).dtype == dk.float32
    assert way.to(dk.float32).unit == way.unit
    assert way.to("cpu").unit == way.unit


def test_copies_and_pickles_keep_the_unit() -> None:
    for made in (copy.copy(way), copy.deepcopy(way), pickle.loads(pickle.dumps(way)), way.clone()):
        agree(made, "km", [3.0, 5.0])
    assert pickle.loads(pickle.dumps(way.unit)) is way.unit
    assert copy.deepcopy(way.unit) is way.unit


def test_changes_in_place() -> None:
    x: Any = QuantityTensor([1.0, 2.0], "m")
    x += QuantityTensor(1.0, "km")
    agree(x, "m", [1001.0, 1002.0])
    x[0] = QuantityTensor(1.0, "km")
    agree(x, "m", [1000.0, 1002.0])
    with pytest.raises(UnitError):
        x += 1.0
    agree(x, "m", [1000.0, 1002.0])


def put_item(x: Any, value: Any) -> Any:
    x[0] = value
    return x


def put_masked(x: Any, value: Any) -> Any:
    x[np.array([True, False])] = value
    return x


ASSIGNMENTS: dict[str, Callable[[Any, Any], Any]] = {
    "item": put_item,
    "mask": put_masked,
    "index_put": lambda x, value: dk.index_put(x, 0, value),
    "out": lambda x, value: np.multiply(value[None], np.ones(2, int), out=x),
}
WHOLE = ["int8", "uint8", "int16", "int32", "int64", "uint64"]


@pytest.mark.parametrize("assign", ASSIGNMENTS.values(), ids=ASSIGNMENTS)
@pytest.mark.parametrize("dtype", WHOLE)
@pytest.mark.parametrize("value", [1500, 1500.0, 10**9, 2.0**80, math.nan], ids=str)
def test_whole_numbers_do_not_hold_what_is_no_whole_number_in_their_unit(assign: Any, dtype: str, value: Any) -> None:
    x = QuantityTensor(np.array([1, 2], dtype), "km" if value in (1500, 1500.0) else "nm")
    before = str(x)
    with pytest.raises(UnitError) as caught:
        assign(x, QuantityTensor(np.asarray(value) * np.float64(10**9 if value == 10**9 else 1), "m"))
    unit = x.unit
    name = "index_put" if assign is ASSIGNMENTS["index_put"] else "setitem"
    assert str(caught.value) == (
        f"{name}: an array of {dtype} in '{unit}' cannot hold the value in 'm' exactly; make it one of floating-point "
        f"numbers first, x = x.astype('float64'), or round the value, dk.round(value.to('{unit}'))"
    )
    assert str(x) == before


@pytest.mark.parametrize("assign", ASSIGNMENTS.values(), ids=ASSIGNMENTS)
@pytest.mark.parametrize("dtype", WHOLE)
@pytest.mark.parametrize("value", [3000, 3000.0])
def test_whole_numbers_hold_what_is_a_whole_number_in_their_unit(assign: Any, dtype: str, value: Any) -> None:
    found = assign(QuantityTensor(np.array([1, 2], dtype), "km"), QuantityTensor(value, "m"))
    assert found.magnitude[0].item() == 3
    assert found.dtype == np.dtype(dtype)


def test_large_whole_numbers_are_assigned_exactly() -> None:
    x = QuantityTensor(np.zeros(2, np.int64), "mm")
    x[0] = QuantityTensor(2**53 + 1, "m")
    x[1] = QuantityTensor((2**53 + 1) * 1000, "um")
    assert x.magnitude.tolist() == [(2**53 + 1) * 1000, 2**53 + 1]
    with pytest.raises(UnitError, match="cannot hold"):
        x[0] = QuantityTensor(2**60, "m")


@pytest.mark.parametrize("assign", [lambda x, y: x.__setitem__(slice(None), y), lambda x, y: np.negative(-y, out=x)])
def test_narrow_numbers_are_converted_among_the_wider_ones_that_they_become(assign: Any) -> None:
    x = QuantityTensor(np.zeros(2), "mm")
    assign(x, QuantityTensor(np.asarray([100, 0.25], "float16"), "km"))  # 1e8 mm is no number of float16
    assert x.magnitude.tolist() == [1e8, 2.5e5]
    assign(x, QuantityTensor(np.asarray([1.1, 3], "float32"), "mile"))
    assert x.magnitude.tolist() == [float(np.float32(1.1)) * 1609344, 3 * 1609344]


def test_whole_degrees_are_assigned_across_scales() -> None:
    x = QuantityTensor([1, 2], "degC")
    x[0] = QuantityTensor(68, "degF")
    assert x.magnitude.tolist() == [20, 2]
    with pytest.raises(UnitError, match="cannot hold the value in 'degF' exactly"):
        x[1] = QuantityTensor(69, "degF")


def test_what_a_mask_hides_need_not_fit_when_it_is_assigned() -> None:
    x = QuantityTensor(dk.types.MaskedTensor(dk.asarray([1, 2]), np.array([True, True])), "km")
    x[...] = QuantityTensor(dk.types.MaskedTensor(dk.asarray([1500, 3000]), np.array([False, True])), "m")
    assert x[1].magnitude.data.item() == 3


WAYS_TO_DIVIDE: dict[str, Callable[[Any, Any], Any]] = {
    "operators": lambda x, y: (x // y, x % y),
    "divmod": divmod,
    "NumPy": lambda x, y: (np.floor_divide(x, y), np.remainder(x, y)),
    "fmod": lambda x, y: (x // y, dk.copysign(np.fmod(dk.abs(x), y), x)),
}


@pytest.mark.parametrize("divide", WAYS_TO_DIVIDE.values(), ids=WAYS_TO_DIVIDE)
@pytest.mark.parametrize(
    ("one", "other", "times", "rest"),
    [
        *(((1, "km"), (4, "m"), 250, 0), ((6, "km"), (3, "m"), 2000, 0), ((7, "km"), (4000, "m"), 1, 3)),
        *(((254, "cm"), (1, "inch"), 100, 0), ((7, "m"), (2, "km"), 0, 7), ((36, "km/h"), (5, "m/s"), 2, 0)),
        *(((-7, "h"), (7, "min"), -60, 0), ((1, "N"), (1, "g*cm/s**2"), 100000, 0)),
    ],
)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_quotients_and_rests_are_exact_whatever_units_they_are_in(
    divide: Any, one: Any, other: Any, times: float, rest: float, dtype: str
) -> None:
    x, y = (QuantityTensor(np.array([n], dtype), unit) for n, unit in (one, other))
    quotient, remainder = divide(x, y)
    assert quotient.tolist() == [times]
    agree(remainder, one[1], [rest])


@pytest.mark.parametrize(("coarse", "fine", "ratio"), [("m", "cm", 100), ("km", "m", 1000), ("h", "s", 3600)])
def test_equality_is_that_of_the_decimal_fractions_in_either_order(coarse: str, fine: str, ratio: int) -> None:
    numbers = np.arange(1.0, 2000.0)
    one, other = QuantityTensor(numbers / ratio, coarse), QuantityTensor(numbers, fine)
    assert dk.all(one == other)
    assert dk.all(other == one)
    assert dk.all(dk.isin(other, one))
    assert not dk.any(one < other)
    assert not dk.any(other < one)


def test_equality_is_exact_where_units_are_whole_multiples_of_a_third() -> None:
    inches = QuantityTensor(np.arange(0.0, 1270.0, 50.0), "inch")
    assert dk.all(inches == QuantityTensor(inches.magnitude * 127 / 50, "cm"))


# How many of the second unit are how many of the first one, by the definitions of the units.
MULTIPLES = [
    *(("deg", 1, "arcmin", 60), ("deg", 1, "arcsec", 3600), ("turn", 1, "deg", 360), ("turn", 1, "arcmin", 21600)),
    *(("lb", 1, "oz", 16), ("psi", 1, "lbf/inch**2", 1), ("nmi", 1, "m", 1852), ("knot", 1, "km/h", 1.852)),
    *(("rpm", 1, "deg/s", 6), ("rpm", 60, "turn/s", 1), ("mi", 125, "m", 201168), ("inch", 50, "cm", 127)),
    *(("cal", 250, "J", 1046), ("week", 1, "h", 168), ("degF", 212, "degC", 100), ("degF", 32, "degC", 0)),
    *(("percent", 100, "", 1), ("km/h", 18, "m/s", 5), ("delta_degF", 9, "K", 5), ("cm**(1/2)", 10, "m**(1/2)", 1)),
]


@pytest.mark.parametrize(("one", "some", "other", "many"), MULTIPLES)
def test_whole_multiples_of_units_are_exact_there_and_back(one: str, some: float, other: str, many: float) -> None:
    x, y = QuantityTensor(float(some), one), QuantityTensor(float(many), other)
    assert x.to(other).magnitude.item() == many
    assert y.to(one).magnitude.item() == some
    assert x == y
    assert y == x
    assert dk.all(dk.isin(x, y))
    assert np.union1d(dk.reshape(x, (1,)), dk.reshape(y, (1,))).shape == (1,)
    if not x.unit.origin:
        assert (x // y, (x % y).magnitude) == (1, 0)


def test_all_units_of_one_dimension_are_exact_multiples_where_their_definitions_say_so() -> None:
    units = [Unit(name) for name in (*BASES, *DEFINITIONS)]
    pairs = [(u, v, ratio) for u in units for v in units if (ratio := u.ratio(v)) is not None]
    assert len(pairs) > 200
    for unit, other, ratio in pairs:
        x, y = (QuantityTensor(float(part), of) for part, of in ((ratio.denominator, unit), (ratio.numerator, other)))
        if ratio.numerator * ratio.denominator < 2**53:
            assert x == y, f"{x} and {y}"
            assert x.to(other).magnitude == y.magnitude, f"{x} in {other}"
            assert x // y == 1, f"{x} // {y}"


def test_minutes_of_arc_are_counted_in_degrees() -> None:
    degrees = QuantityTensor(np.arange(1, 100) / 10, "deg")
    minutes = QuantityTensor(np.arange(1, 100) * 6.0, "arcmin")
    assert dk.all(degrees == minutes)
    assert QuantityTensor(90.0, "deg") // QuantityTensor(1.0, "arcmin") == 5400
    assert dk.searchsorted(QuantityTensor([1.0, 2.0], "deg"), QuantityTensor([60.0], "arcmin")).tolist() == [0]
    agree(QuantityTensor(180.0, "deg").to("rad"), "rad", math.pi)
    agree(QuantityTensor(1.0, "rad").to("deg"), "deg", 180 / math.pi)


def test_numbers_of_small_dtypes_are_converted_without_overflow() -> None:
    miles = QuantityTensor(np.array([3.0], np.float16), "mi").to("km")
    assert miles.dtype == np.float16
    np.testing.assert_allclose(miles.magnitude.numpy(), [4.828032], rtol=1e-3)
    assert QuantityTensor(np.array([18.0], np.float32), "km/h").to("m/s").magnitude.item() == 5.0


def test_relations_of_pint_are_read_as_they_are_written() -> None:
    pytest.importorskip("pint")
    for one, other, ratio in (
        *(("furlong", "rod", 40), ("troy_ounce", "grain", 480), ("stone", "pound", 14)),
        *(("square_degree", "deg**2", 1), ("grade", "deg", 0.9), ("byte", "bit", 8), ("inch_H2O", "inch_H2O", 1)),
    ):
        assert QuantityTensor(1.0, one) == QuantityTensor(float(ratio), other), one
        assert QuantityTensor(1.0, one).to(other).magnitude.item() == ratio, one
    assert QuantityTensor(80.0, "degRe").to("degC").magnitude.item() == 100.0


holes: Any = QuantityTensor([1.0, np.nan, 3.0], "m")
full: Any = QuantityTensor([1.0, -2.0, 0.0], "m")
kilometre: Any = QuantityTensor(1.0, "km")
mask = np.array([True, False, True])
# Functions of NumPy that put a plain 0, NaN, infinity or tolerance among the numbers.
PLAIN_NUMBERS: dict[str, tuple[Callable[[], Any], str, Any]] = {
    "nan_to_num": (lambda: np.nan_to_num(holes), "m", [1, 0, 3]),
    "nan_to_num, nan=0.0": (lambda: np.nan_to_num(holes, nan=0.0), "m", [1, 0, 3]),
    "nan_to_num of infinities": (
        lambda: np.nan_to_num(QuantityTensor([np.inf, -np.inf, np.nan], "m"), posinf=kilometre, nan=kilometre),
        "m",
        [1000, np.finfo("f8").min, 1000],
    ),
    "nan_to_num of angles": (lambda: np.nan_to_num(QuantityTensor([90.0, np.nan], "deg")), "deg", [90, 0]),
    "nancumsum": (lambda: np.nancumsum(holes), "m", [1, 1, 4]),
    "sum, where": (lambda: np.sum(full, where=mask), "m", 1),
    "sum, initial": (lambda: np.sum(full, initial=kilometre), "m", 999),
    "sum, initial=0": (lambda: np.sum(full, initial=0, keepdims=True), "m", [-1]),
    "add.reduce, where": (lambda: np.add.reduce(full, where=mask), "m", 1),
    "max, initial": (lambda: np.max(full, initial=kilometre), "m", 1000),
    "max, initial=-inf": (lambda: np.max(full, initial=-np.inf, where=mask), "m", 1),
    "min, initial": (lambda: np.min(full, initial=kilometre, where=mask), "m", 0),
    "min of points": (lambda: np.min(celsius, initial=celsius[0] + QuantityTensor(-5.0, "K")), "degC", 15),
    "insert": (lambda: np.insert(full, 1, kilometre), "m", [1, 1000, -2, 0]),
    "mean, where": (lambda: np.mean(full, where=mask), "m", 0.5),
    "nansum, where": (lambda: np.nansum(holes, where=np.array([True, True, False])), "m", 1),
    "max, initial, of a list": (lambda: np.max(full, where=[True, False, True], initial=full[0]), "m", 1),
    "linspace from 0": (lambda: np.linspace(0, kilometre, 3), "km", [0, 0.5, 1]),
    "diff, prepend": (lambda: np.diff(full, prepend=kilometre), "m", [-999, -3, 2]),
    "cov of two": (lambda: np.cov(full, QuantityTensor([1.0, -2.0, 0.0], "m"))[0, 1], "m**2", 7 / 3),
    "a list of quantities": (lambda: np.add(full, [kilometre, full[0], full[1]]), "m", [1001, -1, -2]),
    "insert 0": (lambda: np.insert(full, [1, 2], 0), "m", [1, 0, -2, 0, 0]),
    "select": (lambda: np.select([mask], [full], default=np.nan), "m", [1, np.nan, 0]),
    "select, by default": (lambda: np.select([mask], [full]), "m", [1, 0, 0]),
    "fmod": (lambda: np.fmod(QuantityTensor([-7.0, 7.0], "km"), QuantityTensor(4.0, "m")), "km", [0, 0]),
    "modf": (lambda: np.modf(QuantityTensor([-1.5, np.inf], "m"))[0], "m", [-0.5, 0]),
}


@pytest.mark.parametrize("name", PLAIN_NUMBERS)
def test_the_zeros_and_nans_in_functions_of_numpy_fit_every_unit(name: str) -> None:
    call, unit, values = PLAIN_NUMBERS[name]
    agree(call(), unit, values)


def test_questions_of_numpy_about_quantities_have_plain_answers() -> None:
    infinite = QuantityTensor([np.inf, -np.inf, 1.0], "m")
    assert np.isposinf(infinite).tolist() == [True, False, False]
    assert np.isneginf(infinite).tolist() == [False, True, False]
    assert (int(np.nanargmax(holes)), int(np.nanargmin(holes))) == (2, 0)
    assert np.heaviside(full, 0.5).tolist() == [1.0, 0.0, 0.5]
    assert np.isnan(np.heaviside(holes, 0.5)).tolist() == [False, True, False]
    assert (bool(np.any(full, where=mask)), bool(np.all(full, where=mask))) == (True, False)


@pytest.mark.parametrize("near", [np.allclose, np.isclose])
def test_quantities_are_close_by_a_tolerance_in_a_unit_or_a_relative_one(near: Any) -> None:
    other = QuantityTensor([0.001, -0.002, 0.0], "km")
    close, far = other + QuantityTensor(0.5, "cm"), other * (1 + 1e-4)
    assert np.all(near(full, other))
    assert np.all(near(full, other, atol=0))
    assert not np.all(near(full, close, atol=0.0))
    assert np.all(near(full, close, atol=QuantityTensor(1.0, "cm")))
    assert not np.all(near(full, far))
    assert np.all(near(full, far, rtol=1e-3))
    with pytest.raises(UnitError) as caught:
        near(full, other, atol=1e-3)
    assert str(caught.value) == (
        "isclose: add: 'km' and a plain number measure different things; give atol in a unit, "
        "atol=QuantityTensor(0.001, unit), or 0"
    )


FILLS_REFUSED: dict[str, Callable[[], Any]] = {
    "a plain 1": lambda: np.nan_to_num(holes, nan=1.0),
    "points": lambda: np.nan_to_num(celsius),
    "the number of factors": lambda: np.prod(full, where=mask),
    "an operation": lambda: np.where(mask, full, 0),
    "a plain initial value": lambda: np.max(full, initial=1.0),
    "an array of zeros": lambda: np.select([mask], [full], default=np.zeros(3)),
}


@pytest.mark.parametrize("name", FILLS_REFUSED)
def test_other_plain_numbers_have_no_unit_in_functions_of_numpy(name: str) -> None:
    np.nan_to_num(holes)
    with pytest.raises(UnitError, match=r"^(where|maximum): .* measure different things$"):
        FILLS_REFUSED[name]()


def test_printing() -> None:
    assert repr(way) == "QuantityTensor([3., 5.], 'km')"
    assert str(Unit("m") / Unit("s") ** 2) == "m/s**2"


# Gradients.


def test_gradients_are_in_the_quotient_of_the_units() -> None:
    agree(dk.func.grad(lambda t: (way / t).sum())(time), "km/h**2", -2.0)
    value, gradient = dk.func.value_and_grad(lambda x: (x * x).sum())(way)
    agree(value, "km**2", 34.0)
    agree(gradient, "km", [6.0, 10.0])
    agree(dk.func.grad(lambda x: (x * x).sum().to("m**2").magnitude)(way), "1/km", [6e6, 10e6])
    agree(dk.func.grad(dk.mean)(celsius), "", [0.5, 0.5])
    nested = dk.func.grad(lambda p: (p["way"] / p["time"]).sum())({"way": way, "time": time})
    agree(nested["way"], "1/h", [0.5, 0.5])


def test_second_derivatives_are_in_the_quotient_again() -> None:
    agree(dk.func.grad(dk.func.grad(lambda x: x**3))(QuantityTensor(2.0, "m")), "m", 12.0)


@pytest.mark.parametrize("jacobian", [dk.func.jacrev, dk.func.jacfwd])
def test_jacobians_are_in_the_quotient(jacobian: Any) -> None:
    agree(jacobian(lambda x: x**3)(way), "km**2", [[27.0, 0.0], [0.0, 75.0]])


def test_tangents_are_in_the_unit_of_what_they_are_tangents_of() -> None:
    y, t = dk.func.jvp(lambda x: x * x, (way,), (way,))
    agree(y, "km**2", [9.0, 25.0])
    agree(t, "km**2", [18.0, 50.0])


def test_outputs_of_several_units_have_no_common_gradient() -> None:
    _, pull = dk.func.vjp(lambda x: (x, x * x), way)
    with pytest.raises(UnitError, match=r"^grad: outputs in km and km\*\*2 have no common gradient$"):
        pull((dk.ones(2), dk.ones(2)))


def test_backward_accumulates_in_the_quotient() -> None:
    x = QuantityTensor(dk.tensor([1.0, 2.0], requires_grad=True), "m")
    assert x.requires_grad
    assert x.grad is None
    (x**3).sum().backward()
    agree(x.grad, "m**2", [3.0, 12.0])
    (x**3).sum().backward()
    agree(x.grad, "m**2", [6.0, 24.0])
    with pytest.raises(
        UnitError, match=r"^backward: the gradient of a loss in 'm\*\*2' would be added to that of a loss"
    ):
        (x * x).sum().backward()
    agree(x.grad, "m**2", [6.0, 24.0])
    x.grad = None
    (x * x).sum().backward()
    agree(x.grad, "m", [2.0, 4.0])


def test_a_parameter_is_trained() -> None:
    x: Any = dk.nn.Parameter(QuantityTensor([1.0, 2.0], "m"))
    target = QuantityTensor([300.0, 100.0], "cm")
    optimizer = dk.optim.SGD([x], lr=0.5)
    loss = ((x - target) ** 2).sum()
    loss.backward()
    agree(x.grad, "m", [-4.0, 2.0])
    optimizer.step()
    agree(x.detach(), "m", [3.0, 1.0])


def test_batches_keep_the_unit() -> None:
    agree(dk.func.vmap(lambda x: x * x)(way), "km**2", [9.0, 25.0])


# Units.

NAMES = st.sampled_from(["m", "km", "s", "h", "kg", "N", "J", "rad", "K"])


@given(st.lists(st.tuples(NAMES, st.integers(-3, 3)), max_size=4))
def test_units_read_what_they_print(parts: list[tuple[str, int]]) -> None:
    unit = Unit("")
    for name, power in parts:
        unit = unit * Unit(name) ** power
    assert Unit(str(unit)) == unit
    assert unit / unit == Unit("")
    assert hash(Unit(str(unit))) == hash(unit)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        *(
            ("kg m^2 s^-2", "J"),
            ("m s-1", "m/s"),
            ("kilometre/hour", "km/h"),
            ("µm", "um"),
            ("m²", "m*m"),
            ("m s⁻²", "m/s**2"),
        ),
        *(("N·m", "J"), ("%", "percent"), ("1/s", "Hz"), ("W/(m^2 K)", "W/m**2/K"), ("°C", "degC"), ("", "m/m")),
        *(("m^(1/2)", "m**0.5"), ("milligram", "mg"), ("degree_Celsius", "degC")),
    ],
)
def test_ways_to_write_a_unit(text: str, same: str) -> None:
    assert Unit(text) == Unit(same)


def test_units_of_pint() -> None:
    pint = pytest.importorskip("pint")
    registry = pint.UnitRegistry()
    agree(QuantityTensor([1.0], registry.meter / registry.second**2), "m/s**2", [1.0])
    agree(QuantityTensor([1.0], "m").to(registry.centimeter), "cm", [100.0])
    assert QuantityTensor(1.0, "furlong").to("m").magnitude.item() == pytest.approx(201.168, rel=1e-5)


class PintLike:
    """As the quantities of Pint are."""

    def __init__(self, magnitude: Any, units: str) -> None:
        self.magnitude, self.units = magnitude, UnitLike(units)


class UnitLike:
    def __init__(self, text: str) -> None:
        self.text = text

    def __format__(self, spec: str) -> str:
        return self.text


PintLike.__module__ = UnitLike.__module__ = "pint.like"


def test_a_quantity_of_another_library_keeps_its_unit() -> None:
    x = QuantityTensor(PintLike([1.0, 2.0], "kilometer"))
    assert (x.magnitude.tolist(), x.unit) == ([1.0, 2.0], Unit("km"))
    assert QuantityTensor([PintLike(1.0, "m"), PintLike(2.0, "km")]).magnitude.tolist() == [1.0, 2000.0]
    assert QuantityTensor(x).unit == Unit("km")
    with pytest.raises(UnitError, match=r"^QuantityTensor: the array is in 'km' already; write x\.to\('m'\)$"):
        QuantityTensor(PintLike(1.0, "km"), "m")


def test_quantities_and_units_of_astropy_are_taken_by_size() -> None:
    units = pytest.importorskip("astropy.units")
    assert QuantityTensor([1.0, 2.0] * units.km / units.s**2).unit == Unit("km/s**2")
    assert QuantityTensor(units.Quantity(20.0, "deg_C")).unit == Unit("degC")
    assert QuantityTensor(5.0 * units.percent).unit == Unit("percent")
    assert QuantityTensor(1.0, "km").to(units.m).magnitude == 1000.0
    assert QuantityTensor(3 * units.Unit("2 km")).magnitude == 6.0
    with pytest.raises(UnitError, match=r"^'2 km' of astropy has the factor 2\.0; multiply the numbers by it$"):
        Unit(units.Unit("2 km"))
    with pytest.raises(UnitError, match=r"^unknown unit 'vox', which is one of astropy$"):
        Unit(units.vox)


def test_equal_units_of_other_names_are_converted_and_multiplied_each_by_itself() -> None:
    assert Unit("K") == Unit("delta_degC")
    assert QuantityTensor(274.15, "K").to("degC").magnitude.item() == pytest.approx(1.0)
    with pytest.raises(UnitError, match="a point on a scale is no difference"):
        QuantityTensor(1.0, "delta_degC").to("degC")
    names = [str(unit * Unit("s")) for unit in (Unit("J"), Unit("N*m"), Unit("J"))]
    assert names == ["J*s", "N*m*s", "J*s"]
    assert [str(Unit("K") ** 2), str(Unit("delta_degC") ** 2)] == ["K**2", "delta_degC**2"]


def test_what_is_added_to_elements_has_their_unit() -> None:
    lengths, places = QuantityTensor([1.0, 2.0, 3.0], "m"), dk.asarray([0, 0])
    found: Any = dk.scatter_add(lengths, 0, places, QuantityTensor([1.0, 2.0], "cm"))
    np.testing.assert_allclose(found.magnitude, [1.03, 2.0, 3.0])
    with pytest.raises(UnitError, match="scatter_add: a plain number and 'm' measure different things"):
        dk.scatter_add(lengths, 0, places, dk.ones(2))
    warm = QuantityTensor([10.0], "degC")
    found = dk.index_put(warm, 0, QuantityTensor(1.0, "delta_degC"), accumulate=True)
    assert found.magnitude.tolist() == [11.0]
    with pytest.raises(UnitError, match="a point on a scale is no difference"):
        dk.index_put(warm, 0, warm[0], accumulate=True)
