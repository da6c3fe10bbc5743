"""Arrays of other libraries go in by ``from_<library>`` and out by ``to_<library>``, and nothing is lost in silence."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.errors import UnitError
from dispatchkit.types import MaskedTensor, MetadataTensor, NamedTensor, QuantityTensor, SparseTensor, UncertainTensor
from dispatchkit.types.units.unit import BASES, DEFINITIONS

VALID = [True, False, True]
NUMBERS = UncertainTensor([1.0, 2.0, 4.0], [0.5, 0.25, 0.125])
MASKED = MaskedTensor(np.asarray([1, 2, 3], np.int16), VALID)
GAPS = QuantityTensor(MaskedTensor([1.0, 2.0, 3.0], VALID), "km/h")
ALL = MetadataTensor(NamedTensor(QuantityTensor(MaskedTensor(NUMBERS, VALID), "m"), "time"), {"run": 7})


def same(x: Any, y: Any) -> None:
    """Check that two nestings are the same, but for the numbers of the sources of uncertain numbers."""
    assert (type(x), repr(x), x.dtype) == (type(y), repr(y), y.dtype)


def correlated() -> Any:
    return dk.cumulative_sum(UncertainTensor([1.0, 2.0], [0.5, 0.25]))


# Masked arrays of NumPy, whose library is always there.


def test_masked_arrays_of_numpy_go_in_and_out_with_their_dtype() -> None:
    array = MASKED.to_numpy_ma()
    assert (array.tolist(), array.dtype) == ([1, None, 3], np.int16)
    same(MaskedTensor.from_numpy_ma(array), MASKED)
    assert MaskedTensor.from_numpy_ma(np.ma.array([1.0, 2.0])).valid.all()


def test_the_old_name_of_to_numpy_ma_warns() -> None:
    with pytest.warns(DeprecationWarning, match=r"^MaskedTensor.to_masked_array is deprecated, .*; write to_numpy_ma$"):
        assert MASKED.to_masked_array().tolist() == [1, None, 3]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda x: QuantityTensor(x, "m"), "QuantityTensor([1., --], 'm')"),
        (lambda x: NamedTensor(x, "t"), "NamedTensor([1., --], ('t',))"),
        (lambda x: UncertainTensor(x, 0.1), "MaskedTensor([1.00 ± 0.10, --])"),
        (lambda x: MetadataTensor(x, {"run": 7}), "MetadataTensor([1., --], metadata={'run': 7})"),
        (lambda x: QuantityTensor([x, x], "m"), "QuantityTensor([[1., --],\n                [1., --]], 'm')"),
    ],
)
def test_every_type_takes_masked_arrays_with_what_is_missing(make: Callable[[Any], Any], text: str) -> None:
    assert repr(make(np.ma.array([1.0, 2.0], mask=[False, True]))) == text


@pytest.mark.parametrize(
    ("convert", "kind", "text"),
    [
        (lambda: MaskedTensor.from_numpy_ma([1.0]), TypeError, "array must be a numpy.ma.MaskedArray, not a list$"),
        (lambda: GAPS.to_numpy_ma(), TypeError, "an array of numpy.ma holds no units; take .magnitude first$"),
        (lambda: NUMBERS.to_numpy_ma(), TypeError, "holds no standard deviations; take .value first$"),
        (lambda: ALL.to_numpy_ma(), TypeError, "holds no metadata; take .data of the MetadataTensor first$"),
        (lambda: ALL.data.to_pint(), TypeError, "Pint holds no names of axes; take .data of the NamedTensor first$"),
        (lambda: MASKED.to_uncertainties(), TypeError, r"holds no missing elements; write x.filled\(value\) first$"),
        (lambda: MaskedTensor.from_pandas([1.0]), TypeError, "data must be a Series, DataFrame, Index or array of"),
        (lambda: MaskedTensor.from_polars([1.0]), TypeError, "a Series or DataFrame of polars, not a list$"),
        (lambda: QuantityTensor.from_pint(1.0), TypeError, "data must be a Quantity of Pint, not a float$"),
        (
            lambda: QuantityTensor.from_astropy([1.0]),
            TypeError,
            "must be a Quantity, Masked, Column or NDData of astropy",
        ),
        (lambda: UncertainTensor.from_uncertainties([1.0]), TypeError, "numbers must be those of uncertainties, or an"),
        (lambda: NamedTensor.from_xarray(1.0), TypeError, "array must be an xarray.DataArray, not a float$"),
    ],
)
def test_what_a_library_does_not_hold_is_refused(convert: Callable[[], Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=rf"^\w+\.(from|to)_\w+: .*{text}"):
        convert()


def test_masked_arrays_with_fields_are_refused() -> None:
    pairs: Any = np.ma.array([(1, 2.0)], dtype=[("a", int), ("b", float)])
    with pytest.raises(TypeError, match=r"must hold numbers or booleans, not fields \('a', 'b'\); take one field$"):
        MaskedTensor.from_numpy_ma(pairs)


@pytest.mark.parametrize("package", ["pandas", "polars", "xarray", "pint", "astropy", "uncertainties"])
def test_a_library_that_is_missing_is_named_with_what_to_install(package: str, monkeypatch: Any) -> None:
    for module in [package, *[name for name in sys.modules if name.startswith(f"{package}.")]]:
        monkeypatch.setitem(sys.modules, module, None)
    x: Any = MASKED
    if package == "uncertainties":
        x = NUMBERS
    named = {"pint": "Pint"}.get(package, package)
    with pytest.raises(ImportError, match=rf"^\w+.to_{package} needs {named}: pip install {package}$"):
        getattr(x, f"to_{package}")()


# Columns and tables.


@pytest.mark.parametrize("dtype", ["Int8", "UInt64", "Float32", "Float64", "boolean"])
def test_nullable_series_of_pandas_go_in_and_out_with_their_dtype(dtype: str) -> None:
    pandas = pytest.importorskip("pandas")
    series = pandas.Series([1, None, 0], dtype=dtype)
    x = MaskedTensor.from_pandas(series)
    assert (x.valid.tolist(), x.dtype) == (VALID, series.dtype.numpy_dtype)
    pandas.testing.assert_series_equal(x.to_pandas(), series)


def test_quantities_gaps_names_and_correlations_go_through_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    series = GAPS.to_pandas(name="speed", index=[5, 6, 7])
    assert (series.name, str(series.dtype), series.attrs) == ("speed", "Float64", {"units": "km/h"})
    same(QuantityTensor.from_pandas(series), GAPS)
    same(MaskedTensor.from_pandas(series), GAPS)
    pytest.importorskip("uncertainties")
    assert (ALL.to_pandas().attrs, ALL.to_pandas().index.name) == ({"run": 7, "units": "m"}, "time")
    same(NamedTensor.from_pandas(ALL.to_pandas()), ALL.data)
    back = UncertainTensor.from_pandas(correlated().to_pandas())
    assert (back[1] - back[0]).std == 0.25
    with pytest.raises(UnitError, match="is in 'km/h' already"):
        QuantityTensor.from_pandas(series, "m/s")
    assert QuantityTensor.from_pandas(pandas.Series([1.0, np.nan]), "m").magnitude.valid.tolist() == [True, False]


def test_tables_of_pandas_go_in_and_out_with_labels_and_dtype() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"a": [1, None], "b": [3, 4]}, index=["x", "y"], dtype="Int64")
    table.attrs["run"] = 7
    x = MetadataTensor.from_pandas(table)
    pandas.testing.assert_frame_equal(x.to_pandas(), table)
    assert (2 * x).to_pandas().loc["y", "b"] == 8
    assert "index" not in x[0].metadata
    assert MaskedTensor.from_pandas(table).valid.tolist() == [[True, True], [False, True]]
    named = NamedTensor([[1.0, 2.0]], ("time", "place"))
    same(NamedTensor.from_pandas(named.to_pandas()), named)
    assert MaskedTensor.from_pandas(pandas.DataFrame(index=[1, 2])).shape == (2, 0)
    with pytest.raises(ValueError, match=r"have the labels under 'name', which is an attribute here, too; rename"):
        MetadataTensor.from_pandas(pandas.Series([1.0]).rename_axis("t").pipe(with_attribute, "name"))


def with_attribute(data: Any, name: str) -> Any:
    data.attrs[name] = "x"
    return data


def test_a_column_that_is_missing_nothing_is_plain_and_nan_stays_a_number() -> None:
    pandas = pytest.importorskip("pandas")
    assert repr(QuantityTensor(pandas.Series([1, 2], dtype="Int64"), "m")) == "QuantityTensor([1, 2], 'm')"
    assert repr(QuantityTensor(pandas.Series([1, None], dtype="Int64"), "m")) == "QuantityTensor([1, --], 'm')"
    assert repr(QuantityTensor(pandas.Series([1.0, np.nan]), "m")) == "QuantityTensor([ 1., nan], 'm')"


def test_series_and_tables_of_polars_go_in_and_out_with_nulls() -> None:
    polars = pytest.importorskip("polars")
    for dtype in (polars.Int16, polars.Float32, polars.UInt64):
        series = polars.Series("v", [1, None, 0], dtype=dtype)
        x = MaskedTensor.from_polars(series)
        assert (x.valid.tolist(), x.to_polars(name="v").equals(series, check_dtypes=True)) == (VALID, True)
    flags = MaskedTensor(polars.Series([True, None]))
    assert (flags.dtype, flags.tolist()) == (dk.bool, [True, None])
    assert MaskedTensor.from_polars(polars.Series([1.0, float("nan"), None])).valid.tolist() == [True, True, False]
    table = polars.DataFrame({"a": [1, None], "b": [3, 4]})
    assert MetadataTensor.from_polars(table).to_polars().equals(table)
    with pytest.raises(TypeError, match=r"^data of polars must hold numbers or booleans, not String$"):
        MaskedTensor.from_polars(polars.Series(["a"]))
    with pytest.raises(
        TypeError, match=r"^QuantityTensor.to_polars: a Series of polars holds no units; take .magnitude"
    ):
        GAPS.to_polars()


# Labels.


def test_dimensions_coordinates_and_attributes_go_through_xarray() -> None:
    xarray = pytest.importorskip("xarray")
    coords = {"time": [10.0, 20.0], "label": ("time", ["a", "b"]), "run": 3}
    array = xarray.DataArray([1.0, 2.0], dims="time", coords=coords, name="speed", attrs={"units": "m/s"})
    x = MetadataTensor.from_xarray(array)
    assert x.to_xarray().identical(array)
    assert (2 * x).to_xarray().identical((2 * array).assign_attrs(array.attrs).rename("speed"))
    assert sorted(x[:1].metadata) == ["name", "units"]
    with pytest.raises(ValueError, match="disagree on 'coords'"):
        x + MetadataTensor.from_xarray(array.assign_coords(run=4))
    with pytest.warns(
        UserWarning, match=r"names hold no coordinates, and time, label, run are left out; MetadataTensor"
    ):
        assert NamedTensor.from_xarray(array).names == ("time",)


def test_quantities_with_gaps_stay_inside_of_xarray() -> None:
    pytest.importorskip("xarray")
    x = NamedTensor(GAPS, "time")
    same(NamedTensor.from_xarray(x.to_xarray()), x)
    same(NamedTensor.from_xarray(x.to_xarray().mean()), x.mean())


# Numbers in units, and uncertain ones.


def test_masked_and_uncertain_quantities_go_through_pint() -> None:
    pint = pytest.importorskip("pint")
    same(QuantityTensor.from_pint(GAPS.to_pint()), GAPS)
    assert GAPS.to_pint().mean().m_as("m/s") == pytest.approx(2 / 3.6)
    listed = QuantityTensor.from_pint([pint.Quantity(1.0, "m"), pint.Quantity(50.0, "cm")])
    same(listed, QuantityTensor([1.0, 0.5], "m"))
    pytest.importorskip("uncertainties")
    same(QuantityTensor.from_pint(ALL.data.data.to_pint()), ALL.data.data)
    both = QuantityTensor(correlated(), "m").to_pint()
    back = QuantityTensor.from_pint(both)
    assert (back[1] - back[0]).magnitude.std == 0.25
    listed = QuantityTensor.from_pint([both[0], both[1].to("cm")])
    assert (listed[1] - listed[0]).magnitude.std == 0.25
    one = QuantityTensor(NUMBERS[0], "m").to_pint()
    assert (type(one).__name__, one.error.m) == ("Measurement", 0.5)
    same(UncertainTensor.from_uncertainties(one.magnitude), NUMBERS[0])


def test_masked_quantities_go_through_astropy_and_uncertain_ones_become_nddata() -> None:
    pytest.importorskip("astropy")
    for x in (GAPS, QuantityTensor(np.asarray([1.0], np.float32), "m"), QuantityTensor([1, 2], "J/s"), MASKED):
        same(type(x).from_astropy(x.to_astropy()), x)
    data = MetadataTensor(ALL.data.data, ALL.metadata)
    nddata = data.to_astropy()
    assert (nddata.mask.tolist(), nddata.unit.to_string(), nddata.meta) == ([False, True, False], "m", {"run": 7})
    same(MetadataTensor.from_astropy(nddata), data)
    nddata.uncertainty = pytest.importorskip("astropy.nddata").VarianceUncertainty([1e4, 1e4, 4e4], unit="cm2")
    assert UncertainTensor.from_astropy(nddata).data.data.data.std.tolist() == [1.0, 1.0, 2.0]
    with pytest.raises(TypeError, match=r"to_astropy: NDData of astropy holds no correlations, and these numbers are"):
        correlated().to_astropy()
    with pytest.raises(
        TypeError, match=r"^QuantityTensor.from_astropy: data must be a Quantity, Masked, .* not a Time$"
    ):
        QuantityTensor.from_astropy(pytest.importorskip("astropy.time").Time(2000.0, format="jyear"))
    nddata.uncertainty = None
    nddata.psf = np.ones(1)
    with pytest.raises(TypeError, match=r"^NDData of astropy has psf, which no array type holds; set it to None"):
        UncertainTensor.from_astropy(nddata)


def test_all_units_go_through_pint_and_astropy() -> None:
    pytest.importorskip("pint")
    pytest.importorskip("astropy")
    for name in (*BASES, *DEFINITIONS, "kW*h/d", "1/min", "Pa**(1/2)"):
        x = QuantityTensor(2.5, name)
        assert QuantityTensor.from_pint(x.to_pint()).unit == x.unit
        if not name.startswith("delta_"):
            assert QuantityTensor.from_astropy(x.to_astropy()).unit == x.unit
    with pytest.raises(
        UnitError, match=r"no unit for differences of temperatures such as 'delta_degC'; write x.to\('K'\)$"
    ):
        QuantityTensor(1.0, "delta_degC").to_astropy()


def test_a_unit_that_a_registry_of_pint_does_not_know_is_refused() -> None:
    pint = pytest.importorskip("pint")
    with pytest.raises(UnitError, match=r"^QuantityTensor.to_pint: the registry of Pint does not know 'm'$"):
        QuantityTensor(1.0, "m").to_pint(pint.UnitRegistry(None))


def test_numbers_of_uncertainties_go_through_every_type_with_their_correlations() -> None:
    pytest.importorskip("uncertainties")
    numbers = correlated().to_uncertainties()
    back = UncertainTensor.from_uncertainties(numbers)
    assert (back[1] - back[0]).std == 0.25
    for x in (QuantityTensor(numbers, "m").magnitude, NamedTensor(list(numbers), "t").data, MaskedTensor(numbers).data):
        assert (x[1] - x[0]).std == 0.25


def test_sparse_matrices_go_through_scipy() -> None:
    scipy_sparse = pytest.importorskip("scipy.sparse")
    for name in ("coo", "csr", "csc"):
        theirs = scipy_sparse.random_array((3, 4), density=0.5, format=name, dtype=np.float32, rng=0)
        back = SparseTensor.from_scipy(theirs).to_scipy()
        assert (back.format, back.dtype, abs(back - theirs).max()) == (name, np.float32, 0)
