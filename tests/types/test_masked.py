"""`MaskedTensor`: what is missing has no influence on values or gradients, and none of numpy.ma's surprises."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dispatchkit as dk
from dispatchkit.types import MaskedTensor, NamedTensor, QuantityTensor
from tests.protocol.support import steps_of

x: Any = MaskedTensor([1.0, -5.0, 4.0], [True, False, True])
matrix: Any = MaskedTensor([[1.0, 2.0], [3.0, 4.0]], [[True, False], [True, True]])
nothing = MaskedTensor([1.0, 2.0], False)


def shown(found: Any) -> Any:
    """Return the elements, None for those that are missing."""
    assert type(found) is MaskedTensor
    made: Any = np.where(found.valid.numpy(), found.data.numpy().astype(object), None)
    return made.tolist()


RESULTS: dict[str, tuple[Callable[[], Any], Any]] = {
    "sum": (lambda: x.sum(), 5.0),
    "sum along an axis": (lambda: matrix.sum(1), [1.0, 7.0]),
    "sum of nothing": (lambda: nothing.sum(), None),
    "mean": (lambda: x.mean(), 2.5),
    "mean of nothing": (lambda: nothing.mean(), None),
    "var": (lambda: x.var(), 2.25),
    "std": (lambda: dk.std(matrix, axis=1), [0.0, 0.5]),
    "var with one degree of freedom": (lambda: dk.var(matrix, axis=1, correction=1), [None, 0.5]),
    "prod": (lambda: dk.prod(x), 4.0),
    "max": (lambda: dk.max(-x), -1.0),
    "min of nothing": (lambda: dk.min(nothing), None),
    "all": (lambda: dk.all(x > 0), True),
    "any": (lambda: dk.any(x < 0), False),
    "count_nonzero": (lambda: dk.count_nonzero(x), 2),
    "median": (lambda: dk.median(x), 2.5),
    "median along an axis": (lambda: dk.median(matrix, axis=1), [1.0, 3.5]),
    "median of nothing": (lambda: dk.median(nothing), None),
    "quantile": (lambda: dk.quantile(x, 0.25), 1.75),
    "sort": (lambda: dk.sort(MaskedTensor([3.0, -9.0, np.inf], [True, False, True])), [3.0, np.inf, None]),
    "sort downwards": (lambda: dk.sort(x, descending=True), [4.0, 1.0, None]),
    "cumulative sum": (lambda: dk.cumulative_sum(x), [1.0, None, 5.0]),
    "diff": (lambda: dk.diff(MaskedTensor([1.0, 2.0, 4.0, 0.0], [True, True, True, False])), [1.0, 2.0, None]),
    "second diff": (lambda: dk.diff(MaskedTensor([1.0, 2.0, 4.0, 0.0], [True, True, True, False]), n=2), [1.0, None]),
    "softmax": (lambda: dk.softmax(MaskedTensor([0.0, 9.0, 0.0], [True, False, True])), [0.5, None, 0.5]),
    "softmax of nothing": (lambda: dk.softmax(nothing), [None, None]),
    "union": (lambda: x + MaskedTensor([1.0, 1.0, 1.0], [False, True, True]), [None, None, 5.0]),
    "number": (lambda: 2 * x, [2.0, None, 8.0]),
    "column by row": (lambda: matrix[:, 1:] * dk.ones((1, 2)), [[None, None], [4.0, 4.0]]),
    "comparison": (lambda: x > 2, [False, None, True]),
    "where": (lambda: dk.where(x > 2, x, -x), [-1.0, None, 4.0]),
    "where, plain condition": (lambda: dk.where(dk.asarray([True, False, True]), x, 7.0), [1.0, 7.0, 4.0]),
    "concat": (lambda: dk.concat([x, dk.ones(1)]), [1.0, None, 4.0, 1.0]),
    "transposed": (lambda: matrix.T, [[1.0, 3.0], [None, 4.0]]),
    "row": (lambda: matrix[0], [1.0, None]),
    "zeros above": (lambda: dk.tril(matrix), [[1.0, 0.0], [3.0, 4.0]]),
    "padded": (lambda: dk.pad(x, 1), [0.0, 1.0, None, 4.0, 0.0]),
    "trace": (lambda: dk.linalg.trace(matrix), 5.0),
    "norm": (lambda: dk.linalg.vector_norm(MaskedTensor([3.0, 4.0, 9.0], [True, True, False])), 5.0),
}  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_what_is_missing_has_no_influence(name: str) -> None:
    call, expected = RESULTS[name]
    found = shown(call())
    np.testing.assert_equal(np.asarray(found, dtype=object), np.asarray(expected, dtype=object))


@st.composite
def arrays(draw: st.DrawFn) -> tuple[Any, Any]:
    shape = draw(st.sampled_from([(4,), (2, 3), (3, 1)]))
    size = int(np.prod(shape))
    numbers = draw(st.lists(st.sampled_from([-2.0, -0.0, 0.5, 1.0, 3.0]), min_size=size, max_size=size))
    flags = draw(st.lists(st.booleans(), min_size=len(numbers), max_size=len(numbers)))
    return np.reshape(numbers, shape), np.reshape(flags, shape)


REDUCTIONS: dict[Any, Any] = {
    dk.sum: np.sum,
    dk.mean: np.mean,
    dk.max: np.max,
    dk.var: np.var,
    dk.median: np.median,
    dk.prod: np.prod,
}


@given(arrays(), st.sampled_from(list(REDUCTIONS)))
def test_reductions_are_those_of_what_is_left(made: tuple[Any, Any], op: Any) -> None:
    data, valid = made
    for axis in range(data.ndim):
        found = op(MaskedTensor(data, valid), axis=axis)
        for place in np.ndindex(*found.shape):
            line = np.moveaxis(data, axis, -1)[place][np.moveaxis(valid, axis, -1)[place]]
            assert bool(found.valid[place]) == (line.size > 0)
            if line.size:
                assert float(found.data[place]) == pytest.approx(REDUCTIONS[op](line), abs=1e-12)


@given(arrays(), st.sampled_from([dk.sqrt, dk.log, dk.exp, dk.reciprocal, dk.acosh, dk.abs]))
def test_values_and_gradients_do_not_depend_on_what_is_missing(made: tuple[Any, Any], op: Any) -> None:
    data, valid = made

    def both(filler: float) -> Any:
        array = MaskedTensor(np.where(valid, np.abs(data) + 1.5, filler), valid)
        value, gradient = dk.func.value_and_grad(lambda x: op(x).sum())(array)
        return value.filled(0.0).numpy(), gradient.data.numpy()

    for found, expected in zip(both(np.nan), both(-1.0), strict=True):
        np.testing.assert_array_equal(found, expected)
        assert np.isfinite(found).all()
    assert (both(np.nan)[1][~valid] == 0).all()


def test_no_nan_comes_through_where() -> None:
    data = dk.tensor([0.0, 4.0], requires_grad=True)
    (dk.sqrt(MaskedTensor(data, [False, True])) / MaskedTensor(data, [False, True])).sum().backward()
    assert data.grad is not None
    assert data.grad.tolist() == [0.0, -0.0625]


# What surprises people who use numpy.ma.


def test_a_product_has_the_mask_of_its_shape() -> None:
    row, column = MaskedTensor([[1.0, 2.0]], [[True, False]]), dk.asarray([[3.0], [4.0]])
    assert shown(row @ column) == [[3.0]]
    assert shown(MaskedTensor([[1.0, 2.0]], False) @ column) == [[None]]
    assert shown(dk.einsum("ij,ij->j", matrix, matrix)) == [10.0, 16.0]
    assert shown(dk.linalg.outer(x, x))[1] == [None, None, None]


def test_the_place_of_the_largest_of_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"^argmax: every element is missing, so there is no place to give$"):
        dk.argmax(nothing)
    assert dk.argmax(-x).item() == 0


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_the_place_of_an_extreme_is_one_of_those_that_are_there(axis: Any, keepdims: bool) -> None:
    inf = float("inf")
    data = np.array([[inf, -inf, 1.0, 1.0], [-inf, -inf, 0.0, 1.0], [-inf, -inf, -inf, 2.0]])
    valid = np.array([[False, True, True, True], [True, False, False, False], [False, True, True, False]])
    # Of those that are there, the first that is as large as any.
    order = np.where(valid, np.where(data == -inf, -100.0, data), -1000.0)
    wanted = np.argmax(order, axis=axis, keepdims=keepdims).tolist()
    assert dk.argmax(MaskedTensor(data, valid), axis=axis, keepdims=keepdims).tolist() == wanted
    assert dk.argmin(MaskedTensor(-data, valid), axis=axis, keepdims=keepdims).tolist() == wanted


@pytest.mark.parametrize("of", [dk.argmax, dk.argmin])
def test_there_is_no_place_where_nothing_is(of: Any) -> None:
    rows = MaskedTensor([[1.0], [2.0]], [[True], [False]])
    for array, axis in ((nothing, None), (MaskedTensor(dk.ones(0)), None), (rows, 1)):
        message = rf"^{of.__name__}: every element is missing, so there is no place to give$"
        with pytest.raises(ValueError, match=message):
            of(array, axis=axis)


@pytest.mark.parametrize("axis", [None, 0, -1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_the_place_of_one_number_is_the_first(axis: Any, keepdims: bool) -> None:
    assert dk.argmin(MaskedTensor(2.0), axis=axis, keepdims=keepdims).tolist() == 0
    assert dk.argmax(MaskedTensor(-float("inf")), axis=axis, keepdims=keepdims).tolist() == 0


def test_results_of_another_shape_have_a_mask_of_it() -> None:
    y = x + dk.zeros((2, 3))
    assert y.valid.shape == y.data.shape == (2, 3)
    y[0, 0] = 7.0
    assert x.valid.tolist() == [True, False, True] == y.valid[1].tolist()
    z = -x
    z[1] = 1.0
    assert shown(z) == [-1.0, 1.0, -4.0]
    assert shown(x) == [1.0, None, 4.0]


def test_joins_take_plain_arrays_and_have_memory_of_their_own() -> None:
    joined = dk.stack([x, dk.ones(3), x], axis=1)
    assert shown(joined) == [[1.0, 1.0, 1.0], [None, 1.0, None], [4.0, 1.0, 4.0]]
    single = dk.concat([x], axis=None)
    single[1] = 2.0
    assert shown(x) == [1.0, None, 4.0]


def test_few_elements_are_added_compared_and_joined_in_few_steps() -> None:
    runs: list[Callable[[], Any]] = [lambda: -x, lambda: x + x, lambda: x.sum(), lambda: dk.concat([x, x])]
    for run in (*runs, x.argmax):
        run()
        assert steps_of(run) < 160
    assert dk.argmin(MaskedTensor([np.inf, np.inf], [False, True])).item() == 1


def test_values_do_not_become_missing_by_themselves() -> None:
    with np.errstate(all="ignore"):
        found = dk.log(MaskedTensor([-1.0, 1.0]))
    assert found.valid.tolist() == [True, True]
    assert np.isnan(found.data.numpy()[0])
    assert MaskedTensor([np.nan]).valid.tolist() == [True]


def test_small_integers_are_filled_by_what_is_asked_for() -> None:
    found = MaskedTensor(dk.asarray([1, 2], dtype=dk.uint8), [True, False]).filled(7)
    assert (found.dtype, found.tolist()) == (dk.uint8, [1, 7])


def test_a_view_shares_data_and_validity_and_a_result_neither() -> None:
    whole: Any = MaskedTensor([1.0, 2.0, 3.0], [True, False, True])
    view, result = whole[:2], -whole
    view[1] = 5.0
    assert shown(whole) == [1.0, 5.0, 3.0]
    assert shown(result) == [-1.0, None, -3.0]


def test_writing_makes_valid_and_writing_what_is_missing_makes_missing() -> None:
    changed: Any = x.clone()
    changed[1] = 2.0
    assert shown(changed) == [1.0, 2.0, 4.0]
    changed[0] = MaskedTensor(9.0, False)
    assert shown(changed) == [None, 2.0, 4.0]
    assert shown(x) == [1.0, None, 4.0]


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "inv": (lambda: dk.linalg.inv(matrix), TypeError, "it needs every element, and some may be"),
    "fft": (lambda: dk.fft.fft(x), TypeError, "it needs every element"),
    "NumPy": (lambda: np.asarray(x), ValueError, "would hold values that are missing; write x"),
    "item": (lambda: float(x[1]), ValueError, "^item: the element is missing$"),
    "numbers as validity": (lambda: MaskedTensor([1.0], [1]), TypeError, "valid must hold booleans"),
    "shapes": (lambda: MaskedTensor([1.0, 2.0], [True, False, True]), ValueError, r"\(3,\).*\(2,\)"),
    "into a tensor": (lambda: dk.setitem(dk.ones(3), slice(None), x), TypeError, "cannot be written into a plain"),
    "index": (lambda: dk.ones(5)[MaskedTensor([1, 2], [True, False])], TypeError, "what is missing cannot be an index"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_and_why(name: str) -> None:
    call, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        call()


def test_copies_and_printing() -> None:
    for made in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x.clone(), MaskedTensor(x)):
        assert shown(made) == [1.0, None, 4.0]
    assert shown(MaskedTensor(x, [True, True, False])) == [1.0, None, None]
    assert repr(x[:1]) == "MaskedTensor([1.])"


WHOLE = {
    "int8": np.asarray([[-100, 100, 3], [7, -128, 127]], np.int8),
    "uint8": np.asarray([[250, 0, 3], [7, 255, 1]], np.uint8),
    "bool": np.asarray([[True, False, True], [False, False, True]]),
    "float32": np.asarray([[1.0, -2.0, 0.5], [3.0, 4.0, 0.0]], np.float32),
    "infinities": np.asarray([[1.0, np.inf, np.inf], [-np.inf, 4.0, np.inf]]),
    "two infinities": np.asarray([[np.inf, np.inf], [-np.inf, np.inf]]),
    "infinities below": np.asarray([[-np.inf, 1.0], [-np.inf, -np.inf]]),
    "NaN": np.asarray([[1.0, np.nan, 2.0], [3.0, 4.0, 0.0]]),
    "complex64": np.asarray([[1 + 2j, -2j, 0.5], [3.0, 1j, -1 + 1j]], np.complex64),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of infinities
@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize(
    "op", [dk.median, dk.mean, dk.var, dk.logsumexp, dk.softmax, dk.log_softmax, dk.cumulative_sum]
)
def test_where_nothing_is_missing_results_are_those_of_the_plain_array(name: str, op: Any) -> None:
    plain, masked = dk.asarray(WHOLE[name]), MaskedTensor(WHOLE[name])
    try:
        wanted = op(plain, axis=1).numpy()
    except TypeError:
        with pytest.raises(TypeError):
            op(masked, axis=1)
        return
    result = op(masked, axis=1)
    left = np.broadcast_to(result.valid.numpy(), wanted.shape)
    assert left.all()
    np.testing.assert_allclose(result.data.numpy(), wanted, rtol=1e-5)
    assert result.dtype == wanted.dtype


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_averages_and_covariances_are_those_of_numpy_ma() -> None:
    np_: Any = np  # NumPy's stubs know no types but NumPy's
    ma: Any = np.ma
    rng = np.random.default_rng(3)
    for dtype in (np.float64, np.complex128, np.int64):
        data = (rng.normal(size=(3, 5)) * 9 + (1j if dtype is np.complex128 else 0)).astype(dtype)
        for valid in (rng.random((3, 5)) > 0.3, np.arange(3)[:, None] > np.zeros((1, 5)), np.zeros((3, 5), bool)):
            here, theirs = MaskedTensor(data, valid), np.ma.array(data, mask=~valid)
            row, weights = rng.random(5), rng.random((3, 5))
            some = np.asarray([True, False, True, True, True])
            pairs = [
                *((np_.average(here, axis=axis), np.ma.average(theirs, axis=axis)) for axis in (None, 0, 1)),
                (np_.average(here, axis=1, weights=row), np.ma.average(theirs, axis=1, weights=row)),
                (np_.average(here, weights=weights), np.ma.average(theirs, weights=weights)),
                *zip(
                    np_.average(here, axis=0, weights=weights, returned=True),
                    np.ma.average(theirs, axis=0, weights=weights, returned=True),
                    strict=True,
                ),
                (
                    dk.average(here, axis=1, weights=MaskedTensor(row, some)),
                    np.ma.average(theirs, axis=1, weights=np.ma.array(row, mask=~some)),
                ),
                (np_.cov(here), ma.cov(theirs)),
                (np_.cov(here, rowvar=False), ma.cov(theirs, rowvar=False)),
                (np_.cov(here, ddof=0), ma.cov(theirs, ddof=0)),
                (np_.cov(here[1]), ma.cov(theirs[1])),
            ]
            if dtype is not np.complex128:  # of which numpy.ma's deviations are complex
                pairs.append((np_.corrcoef(here), np.clip(ma.corrcoef(theirs), -1, 1)))
            for number, (got, want) in enumerate(pairs):
                assert isinstance(got, MaskedTensor)
                missing = np.ma.getmaskarray(want)
                np.testing.assert_array_equal(~got.valid.numpy(), missing, err_msg=str(number))
                filled = got.filled(0).numpy()
                np.testing.assert_allclose(filled, np.ma.filled(want, 0), rtol=1e-12, err_msg=str(number))


def test_no_gradient_of_an_average_or_a_covariance_sees_what_is_missing() -> None:
    calls = (lambda x: dk.average(x, axis=1, weights=dk.asarray([1.0, 2.0])), dk.cov, lambda x: dk.quantile(x, 0.3))
    for call in calls:
        values = [
            dk.func.grad(lambda x, call=call: call(x).sum())(MaskedTensor([[1.0, filler], [3.0, 4.0]], matrix.valid))
            for filler in (np.nan, 7.0)
        ]
        assert shown(values[0]) == shown(values[1])
        assert values[0].data.numpy()[0, 1] == 0


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_a_quantile_beside_an_infinity_is_the_infinity() -> None:
    for numbers, want in (([-np.inf, 2.0, 3.0], -np.inf), ([np.inf, np.inf], np.inf), ([-np.inf, np.inf], np.nan)):
        data = MaskedTensor([*numbers, 0.0], [True] * len(numbers) + [False])
        np.testing.assert_equal(dk.quantile(data, 0.4).data.numpy(), want)
        np.testing.assert_equal(dk.quantile(dk.asarray(numbers), 0.4).numpy(), want)


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
def test_the_deviation_of_equal_numbers_has_the_derivative_of_the_plain_one(axis: Any) -> None:
    data = np.asarray([[2.0, 2.0], [2.0, 2.0]])
    for valid in (np.ones((2, 2), bool), np.asarray([[True, True], [True, False]])):

        def deviation(x: Any, valid: Any = valid) -> Any:
            return MaskedTensor(x, valid).std(axis=axis).filled(0).sum()

        assert dk.func.grad(deviation)(dk.asarray(data)).tolist() == [[0.0, 0.0], [0.0, 0.0]]
        assert [part.item() for part in dk.func.jvp(deviation, (dk.asarray(data),), (dk.asarray(data),))] == [0.0, 0.0]


GAPS = MaskedTensor([1.0, 2.0, 4.0], [True, False, True])


def parts_of(x: Any) -> tuple[Any, Any]:
    return x.filled(-9.0).tolist(), x.valid.tolist()


def test_differences_take_ends_and_are_reached_by_numpy() -> None:
    assert parts_of(np.diff(MaskedTensor([1.0, 2.0, 4.0]))) == ([1.0, 2.0], [True, True])
    assert parts_of(np.diff(GAPS, prepend=0.0)) == ([1.0, -9.0, -9.0], [True, False, False])
    assert parts_of(dk.diff(GAPS, append=GAPS[:1]))[0] == [-9.0, -9.0, -3.0]


def test_convolutions_leave_out_products_with_what_is_missing() -> None:
    for y in (dk.convolve(GAPS, dk.ones(2)), np.convolve(GAPS, np.ones(2))):
        assert parts_of(y) == ([1.0, 1.0, 4.0, 4.0], [True] * 4)
    assert parts_of(dk.convolve(GAPS, GAPS)) == ([1.0, -9.0, 8.0, -9.0, 16.0], [True, False, True, False, True])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("nansum", 5.0),
        ("nanprod", 4.0),
        ("nanmean", 2.5),
        ("nanmax", 4.0),
        ("nanmin", 1.0),
        ("nanvar", 2.25),
        ("nanstd", 1.5),
        ("nanmedian", 2.5),
    ],
)
def test_reductions_but_nan_leave_out_both_nan_and_what_is_missing(name: str, value: float) -> None:
    x = MaskedTensor([1.0, float("nan"), 7.0, 4.0], [True, True, False, True])
    function = getattr(np, name)
    assert parts_of(function(x)) == (pytest.approx(value), True)
    assert parts_of(function(MaskedTensor([1.0, 2.0], False)))[1] is False
    assert parts_of(function(MaskedTensor([1, 9, 4], [True, False, True])))[0] == pytest.approx(value)


def test_means_of_many_numbers_in_half_precision_stay_in_range() -> None:
    x = MaskedTensor(np.full(70_000, 100.0, np.float16), True)
    assert (x.mean().dtype, float(x.mean().data), float(x.std().data)) == (np.float16, 100.0, 0.0)


def test_a_keyword_at_its_default_reaches_no_rule_that_lacks_it() -> None:
    @dk.array_type()
    class Ramp:
        shape, dtype = (3,), dk.float64

    @dk.implements(dk.diff)
    def diff_ramp(x: Ramp, /, n: int = 1) -> str:
        return f"differences of order {n}"

    assert np.diff(Ramp()) == dk.diff(Ramp(), prepend=None, axis=-1) == "differences of order 1"
    with pytest.raises(TypeError, match="the keyword 'axis'"):
        dk.diff(Ramp(), axis=0)


@pytest.mark.parametrize("chunks", [1, 2, 3])
def test_dask_divides_by_the_number_of_elements_that_are_there(chunks: int) -> None:
    array = pytest.importorskip("dask.array")
    x = array.from_array(GAPS, asarray=False, chunks=chunks)
    assert parts_of(x.mean().compute()) == (2.5, True)
    assert parts_of(x.std().compute()) == (1.5, True)


def test_data_arrays_of_xarray_are_reduced() -> None:
    xarray = pytest.importorskip("xarray")
    x = xarray.DataArray(GAPS)
    assert parts_of(x.mean().data) == (2.5, True)
    assert parts_of(x.median().data) == (2.5, True)


def test_places_and_sets_leave_out_what_is_missing() -> None:
    x = MaskedTensor([3, 1, 3, 0], [True, True, False, True])
    assert [place.tolist() for place in dk.nonzero(x)] == [[0, 1]]
    assert dk.argwhere(x).tolist() == [[0], [1]]
    found: Any = np.isin(x, MaskedTensor([3, 1], [True, False]))
    assert (found.data.tolist()[:2], found.valid.tolist()) == ([True, False], x.valid.tolist())
    assert dk.isin(dk.asarray([3, 7]), x).tolist() == [True, False]
    assert np.compress(x > 0, x).data.tolist() == [3, 1]


def test_the_distinct_elements_end_with_one_that_is_missing() -> None:
    x = MaskedTensor([[3, 1], [5, 7]], [[True, True], [False, False]])
    values, indices, inverse, counts = dk.unique_all(x)
    assert values.to_numpy_ma().tolist() == [1, 3, None]
    assert (indices.tolist(), inverse.tolist(), counts.tolist()) == ([1, 0, 2], [[1, 0], [2, 2]], [1, 1, 2])
    assert dk.unique_values(MaskedTensor([2, 2])).to_numpy_ma().tolist() == [2]
    union: Any = np.union1d(x, [3, 9])
    assert union.to_numpy_ma().tolist() == [1, 3, 9, None]
    assert np.unique(x, return_counts=True)[1].tolist() == [1, 1, 2]
    assert dk.unique_inverse(x).inverse_indices.tolist() == [[1, 0], [2, 2]]


def test_the_median_of_nothing_is_missing() -> None:
    x = MaskedTensor(np.zeros((0, 3), np.int8))
    assert not dk.median(x).valid
    assert dk.median(x, axis=0).to_numpy_ma().tolist() == [None] * 3
    assert dk.quantile(x, 0.3, axis=0, keepdims=True).shape == (1, 3)


def test_arrays_of_pandas_come_back_with_what_is_missing() -> None:
    pandas = pytest.importorskip("pandas")
    for array in (pandas.array([1, None]), pandas.array([1.5, None]), pandas.array([True, None], dtype="boolean")):
        back = MaskedTensor(array).to_pandas()
        assert back.dtype == array.dtype
        assert back.isna().tolist() == [False, True]
        assert back[0] == array[0]
    with pytest.raises(
        ValueError, match=r"^MaskedTensor.to_pandas: data of pandas have one axis or two, and this.* 0$"
    ):
        MaskedTensor(1).to_pandas()
    with pytest.raises(TypeError, match=r"^MaskedTensor.to_pandas: pandas has no array of complex128 with missing"):
        MaskedTensor([1j]).to_pandas()


def test_histograms_count_what_is_there() -> None:
    x = MaskedTensor([1.0, 2.0, 99.0, 4.0], [True, True, False, True])
    for array in (
        x,
        NamedTensor(x, "t"),
        NamedTensor(MaskedTensor([[1.0, 2.0], [99.0, 4.0]], x.valid.reshape(2, 2)), ("a", "b")),
    ):
        counts, edges = np.histogram(array, 3, weights=array)
        assert (counts.tolist(), edges.tolist()) == ([1, 2, 4], [1, 2, 3, 4])
    assert (
        np.histogram(x, [0.0, 2.0, 9.0], weights=MaskedTensor([1.0, 1, 1, 1], [False, True, True, True]))[0].sum() == 2
    )
    assert np.histogram_bin_edges(x, 1).tolist() == [1, 4]
    assert np.histogram2d(x, [0.0, 1.0, 2.0, 3.0], 2)[0].tolist() == [[2, 0], [0, 1]]
    assert np.histogramdd(MaskedTensor([[1.0, 2.0], [5.0, 9.0]], [[True, True], [True, False]]), 1)[0].tolist() == [[1]]
    with pytest.raises(ValueError, match="`bins` must not have missing elements"):
        np.histogram(x, x)


@pytest.mark.parametrize("method", ["auto", "sturges", "fd"])
def test_the_number_of_bins_is_estimated_as_numpy_estimates_it_of_what_is_there(method: str) -> None:
    numbers = np.random.default_rng(0).normal(size=60)
    valid = numbers < 1
    expected = np.histogram(numbers[valid], method)
    for wrap in (lambda x: x, lambda x: QuantityTensor(x, "m"), lambda x: NamedTensor(QuantityTensor(x, "m"), "t")):
        counts, edges = np.histogram(wrap(MaskedTensor(numbers, valid)), method)
        assert counts.tolist() == expected[0].tolist()
        np.testing.assert_allclose(getattr(edges, "magnitude", edges), expected[1])
    with pytest.raises(TypeError, match="number of bins is not supported for weighted data"):
        np.histogram(MaskedTensor(numbers), method, weights=numbers)


def test_numbers_are_counted_and_sorted_into_bins_where_they_are_there() -> None:
    x = MaskedTensor([0, 2, 9], [True, True, False])
    assert dk.bincount(x).tolist() == np.bincount(NamedTensor(x, "t")).tolist() == [1, 0, 1]
    weights = MaskedTensor([1.0, 2.0, 4.0], [False, True, True])
    assert (dk.bincount(x, weights).tolist(), np.bincount([0, 1, 1], weights).tolist()) == ([0, 0, 2], [0, 6])
    assert np.digitize(x, [0, 1]).tolist() == [1, 2, None]
    with pytest.raises(dk.NoImplementationError, match="what is missing has no place in an order"):
        np.digitize([1], x)


MISSING_VALUES: dict[str, tuple[Any, float]] = {
    "log of a negative number": (dk.log, -1.0),
    "inf less inf": (lambda x: x - x, np.inf),
    "an overflow": (lambda x: x * 1e300, 1e300),
    "a division by zero": (lambda x: 1.0 / x, 0.0),
    "a comparison with NaN": (lambda x: x < x + 1.0, np.nan),
}


@pytest.mark.parametrize("name", MISSING_VALUES)
def test_what_a_missing_element_holds_is_neither_warned_of_nor_seen(name: str) -> None:
    function, value = MISSING_VALUES[name]
    there = dk.asarray([1.0, 2.0])
    x = MaskedTensor([1.0, value, 2.0], [True, False, True])
    found = function(x)
    assert found.valid.tolist() == [True, False, True]
    assert found.data[dk.asarray([0, 2])].tolist() == function(there).tolist()
    gradient = dk.func.grad(lambda x: dk.sum(dk.where(found.valid, function(x), 0.0)))(x)
    assert np.isfinite(gradient.data.numpy()).all()


def test_what_a_valid_element_gives_is_warned_of() -> None:
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert dk.log(MaskedTensor([0.0, 1.0], [True, False])).tolist() == [-np.inf, None]


@pytest.mark.parametrize("function", [dk.exp, lambda x: x + 1.0, lambda x: x < 2.0], ids=["exp", "sum", "comparison"])
def test_the_mask_of_a_result_is_its_own(function: Any) -> None:
    x = MaskedTensor([1.0, 2.0], [True, False])
    y = function(x)
    y.valid[0] = False
    assert x.valid.tolist() == [True, False]


def test_adding_what_is_missing_makes_missing_and_its_data_do_not_count() -> None:
    places, hidden = dk.asarray([0, 1]), MaskedTensor([1.0, np.nan], [True, False])
    assert shown(dk.scatter_add(dk.ones(3), 0, places, hidden)) == [2.0, None, 1.0]
    assert shown(dk.scatter_add(x, 0, places, dk.ones(2))) == [2.0, None, 4.0]
    assert shown(dk.index_put(dk.ones(3), (places,), hidden, accumulate=True)) == [2.0, None, 1.0]
    assert shown(dk.index_put(x, (dk.asarray([2, 2]),), 1.0, accumulate=True)) == [1.0, None, 6.0]
    with pytest.raises(TypeError, match="what is missing cannot be an index"):
        dk.scatter_add(dk.ones(3), 0, MaskedTensor([0, 1], [True, False]), dk.ones(2))


def test_a_condition_that_is_missing_selects_nothing() -> None:
    y: Any = MaskedTensor([5.0, 6.0, 1.0, 7.0], [True, False, True, True])
    assert shown(y[y > 2.0]) == [5.0, 7.0]
    named, length = NamedTensor(y, ("a",)), QuantityTensor(y, "m")
    assert shown(named[named > 2.0].data) == shown(length[length > QuantityTensor(200.0, "cm")].data) == [5.0, 7.0]
    y[y > 5.0] = 0.0
    assert shown(y) == [5.0, None, 1.0, 0.0]
    assert dk.func.grad(lambda y: y[y > 2.0].sum().filled(0.0))(y).data.tolist() == [1.0, 0.0, 0.0, 0.0]


def test_a_condition_with_gaps_selects_from_plain_arrays_and_adds_into_them() -> None:
    plain, known = dk.asarray([1.0, 2.0, 3.0]), MaskedTensor([True, True, False], [True, False, True])
    assert plain[known].tolist() == [1.0]
    assert plain[known, None].tolist() == [[1.0]]
    assert shown(dk.index_put(plain, (known,), 5.0, accumulate=True)) == [6.0, 2.0, 3.0]
    dk.setitem(plain, known, 0.0)
    assert plain.tolist() == [0.0, 2.0, 3.0]
    with pytest.raises(TypeError, match="what is missing cannot be an index"):
        plain[MaskedTensor([0], [True])] = 1.0


def test_elements_that_are_filled_by_a_condition_are_there() -> None:
    first, value = dk.asarray([True, False, False]), MaskedTensor(9.0, False)
    assert shown(dk.masked_fill(x, first, 9.0)) == [9.0, None, 4.0]
    assert shown(dk.masked_fill(x, first, value)) == [None, None, 4.0]
    assert shown(dk.masked_fill(dk.ones(3), MaskedTensor(first, [True, True, False]), 9.0)) == [9.0, 1.0, None]
