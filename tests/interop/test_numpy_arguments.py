"""What callers of NumPy's functions pass beside tensors: array-likes in every place, other dtypes, every parameter."""

from __future__ import annotations

import warnings
from array import array
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.errors import AutogradError
from dispatchkit.tensor.numpy_calls import answer_of
from tests.declared import by_operation
from tests.interop.numpy_page import FUNCTIONS, UFUNCS
from tests.interop.numpy_samples import SAMPLES, WITHOUT, Call

np_: Any = np
# Eigenvalues are always complex here, as the array API standard has it.
COMPLEX = {"linalg.eig", "linalg.eigvals"}
# Operations that keep float32 where NumPy gives float64, or give booleans and integers another dtype than NumPy does.
OTHER_DTYPES = COMPLEX | {"angle", "cbrt", "corrcoef", "cov", "interp", "nanquantile", "quantile", "square"}
if np.lib.NumpyVersion(np.__version__) < "2.1.0":  # in which these gave integers as floating-point numbers
    OTHER_DTYPES |= {"ceil", "fix", "floor", "trunc"}
# 1 divided by integers is rounded to them in NumPy; NumPy gives distinct integers in the order of a hash table.
OTHER_VALUES = {"reciprocal", "unique_values"}
ALL: dict[str, Callable[..., Any]] = UFUNCS | FUNCTIONS
CASES = [
    pytest.param(name, number, id=f"{name}-{number}")
    for name, calls in SAMPLES.items()
    if name in ALL
    for number in range(len(calls))
]


def replaced(value: Any, change: Callable[[np.ndarray, int], Any], places: Iterator[int]) -> Any:
    """Return arguments with each array changed, which is told its number."""
    if isinstance(value, np.ndarray):
        return change(value, next(places))
    if isinstance(value, (list, tuple)):
        return type(value)([replaced(member, change, places) for member in value])
    if isinstance(value, dict):
        return {name: replaced(member, change, places) for name, member in value.items()}
    return value


def arrays_in(sample: Call) -> list[np.ndarray]:
    """Return the arrays of a call, in order."""
    arrays: list[np.ndarray] = []
    replaced(sample, lambda array, place: arrays.append(array), iter(range(99)))
    return arrays


def parts(result: Any) -> list[Any]:
    """Return the arrays and other values of a result, in order."""
    if isinstance(result, (list, tuple)):
        return [part for member in result for part in parts(member)]
    return [result]


def outcome(function: Callable[..., Any], sample: Call) -> Any:
    """Return the result of a call without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*sample[0], **sample[1])


def assert_same(got: Any, want: Any, *, dtypes: bool = True) -> None:
    """Compare results in values, shapes and dtypes."""
    assert len(parts(got)) == len(parts(want))
    for one, other in zip(parts(got), parts(want), strict=True):
        one = one.detach().numpy() if isinstance(one, dk.Tensor) else one
        if not isinstance(other, (np.ndarray, np.generic)):
            assert one == other
            continue
        assert np.shape(one) == np.shape(other)
        assert not dtypes or np.asarray(one).dtype == other.dtype or not hasattr(one, "dtype")
        np_.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)


def test_every_function_that_takes_arrays_has_samples() -> None:
    declined = {name for name, function in ALL.items() if getattr(answer_of(function), "how", "") == "declined"}
    later = {"polynomial.polynomial.polyvalnd"}  # which NumPy 2.5 added
    assert ALL.keys() - declined - SAMPLES.keys() - {*WITHOUT.split()} - later == set()


@by_operation(("name", "number"), CASES)
def test_lists_beside_a_tensor_are_taken_in_every_place(name: str, number: int) -> None:
    sample = SAMPLES[name][number]
    for tensor_place in range(len(arrays_in(sample))):

        def beside(whole: Callable[[np.ndarray], Any], at: int = tensor_place) -> Call:
            def change(array: np.ndarray, place: int) -> Any:
                return whole(array) if place == at else array.tolist()

            return replaced(sample, change, iter(range(99)))  # type: ignore[no-any-return]  # a call like the sample

        try:
            want = outcome(ALL[name], beside(np.asarray))
        except (AttributeError, OverflowError, TypeError, ValueError):
            continue  # NumPy takes no list there
        assert_same(outcome(ALL[name], beside(dk.asarray)), want, dtypes=name not in COMPLEX)


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
@by_operation(("name", "number"), CASES)
def test_every_function_takes_the_dtypes_that_numpy_takes(name: str, number: int, dtype: str) -> None:
    def change(whole: Callable[[np.ndarray], Any]) -> Call:
        def cast(array: np.ndarray, place: int) -> Any:
            return whole(array.astype(dtype) if array.dtype == np.float64 else array)

        return replaced(SAMPLES[name][number], cast, iter(range(99)))  # type: ignore[no-any-return]  # a call

    try:
        want = outcome(ALL[name], change(np.asarray))
    except (OverflowError, TypeError, ValueError, np.linalg.LinAlgError):
        return  # nor does NumPy take them
    got = outcome(ALL[name], change(dk.asarray))
    if name not in OTHER_VALUES:
        assert_same(got, want, dtypes=name not in OTHER_DTYPES)


@by_operation(("name", "number"), CASES)
def test_a_tensor_that_requires_a_gradient_gives_one_or_is_refused_by_name(name: str, number: int) -> None:
    def tensor(array: np.ndarray, place: int) -> Any:
        return dk.tensor(array, requires_grad=array.dtype.kind in "fc")

    try:
        want = outcome(ALL[name], SAMPLES[name][number])
    except (OverflowError, TypeError):
        return  # this NumPy does not take the call
    sample = replaced(SAMPLES[name][number], tensor, iter(range(99)))
    try:
        result = outcome(ALL[name], sample)
    except AutogradError as error:
        refusal = str(error)
    else:
        assert_same(result, want, dtypes=name not in COMPLEX)
        return
    assert f"numpy.{name} computes this call on arrays" in refusal


M = np.array([[4.0, 1.0, 2.0], [0.5, 3.0, 1.5], [2.0, -1.0, 5.0]])
V = np.array([0.5, -1.25, 3.0])
PART = np.array([True, False, True])
# Calls with parameters that operations do not have, through which gradients flow.
PARAMETERS: dict[str, Callable[[Any], Any]] = {
    "sum(where)": lambda x: np_.sum(x, axis=0, where=PART),
    "sum(where, a list)": lambda x: np_.sum(x, axis=1, where=[True, False, True], keepdims=True),
    "sum(initial)": lambda x: np_.sum(x, initial=2.0),
    "prod(where, initial)": lambda x: np_.prod(x, axis=1, where=PART, initial=3.0),
    "max(initial)": lambda x: np_.max(x, axis=0, initial=2.5),
    "max(initial, where)": lambda x: np_.max(x, initial=-9.0, where=PART),
    "amin(initial)": lambda x: np_.amin(x, axis=1, initial=0.75),
    "mean(where)": lambda x: np_.mean(x, axis=0, where=M > 0),
    "mean(dtype)": lambda x: np_.mean(x, dtype=np.float64),
    "var(where, ddof)": lambda x: np_.var(x, axis=1, where=PART, ddof=1),
    "var(mean)": lambda x: np_.var(x, axis=1, mean=np_.mean(x, axis=1, keepdims=True)),
    "std(where)": lambda x: np_.std(x, where=PART),
    "var(where, broadcast)": lambda x: np_.var(x, axis=0, where=PART[:, None], ddof=1),
    "nansum(where)": lambda x: np_.nansum(x, axis=0, where=PART),
    "nanprod(initial)": lambda x: np_.nanprod(x, axis=0, initial=2.0),
    "nanmax(initial)": lambda x: np_.nanmax(x, axis=0, initial=2.5),
    "nanmin(where, initial)": lambda x: np_.nanmin(x, axis=0, where=PART[:, None], initial=9.0),
    "nanmean(where)": lambda x: np_.nanmean(x, axis=1, where=PART),
    "nanvar(where, ddof)": lambda x: np_.nanvar(x, axis=1, where=PART, ddof=1),
    "pad(constant_values)": lambda x: np_.pad(x, 1, constant_values=3),
    "pad(constant_values, a pair)": lambda x: np_.pad(x, (1, 2), constant_values=(4.0, 5.0)),
    "pad(mode)": lambda x: np_.pad(x, 1, mode="reflect"),
    "cov(y)": lambda x: np_.cov(x, V),
    "cov(x, y)": lambda x: np_.cov(x[0], x[1], bias=True),
    "cov(y, rowvar, ddof)": lambda x: np_.cov(x, M, rowvar=False, ddof=0),
    "corrcoef(y)": lambda x: np_.corrcoef(x[0], x[1]),
    "ravel(order)": lambda x: np_.ravel(x, order="F") * np.arange(9),
    "reshape(order)": lambda x: np_.reshape(x, (1, -1), order="F") * np.arange(9),
    "concatenate(dtype)": lambda x: np_.concatenate([x, [V]], dtype=np.float64),
    "stack(dtype)": lambda x: np_.stack([x, M], dtype=np.float64),
    "diff(prepend)": lambda x: np_.diff(x, prepend=0.0, append=[[1.0], [2.0], [3.0]]),
    "broadcast_to(subok)": lambda x: np_.broadcast_to(x, (2, 3, 3), subok=True),
    "broadcast_arrays(subok)": lambda x: np_.broadcast_arrays(x, V[:, None], subok=True)[0],
    "sort(kind)": lambda x: np_.sort(x, kind="stable"),
    "linspace(axis, retstep)": lambda x: np_.linspace(x, V, 3, axis=1, retstep=True)[0],
    "svd(compute_uv)": lambda x: np_.linalg.svd(x, compute_uv=False),
    "eigh(UPLO)": lambda x: np_.linalg.eigh(x + x.T, UPLO="U")[0],
    "eigvalsh(UPLO)": lambda x: np_.linalg.eigvalsh(x + x.T, UPLO="u"),
    "cholesky(upper)": lambda x: np_.linalg.cholesky(x @ x.T, upper=True),
    "qr(mode)": lambda x: np_.linalg.qr(x, mode="r"),
    "pinv(rcond)": lambda x: np_.linalg.pinv(x, rcond=1e-9),
    "percentile(method)": lambda x: np_.percentile(x, 30, method="higher"),
    "where": lambda x: np_.where([True, False, True], x, 1),
    "einsum": lambda x: np_.einsum(x, [0, 1], [1.0, 2.0, 3.0], [1]),
    "einsum(optimize)": lambda x: np_.einsum("ij,jk,k", x, x, V, optimize="greedy"),
    "outer": lambda x: np_.outer(x, V),
}
# Calls that lead to arrays, as the page says.
LEAD_TO_ARRAYS: dict[str, Callable[[Any], Any]] = {
    "pad(mode)": lambda x: np_.pad(x, 1, mode="mean"),
    "pad(stat_length)": lambda x: np_.pad(x, 1, mode="maximum", stat_length=1),
    "percentile(method)": lambda x: np_.percentile(x, 30, method="hazen"),
    "quantile(weights)": lambda x: np_.quantile(x, 0.3, method="inverted_cdf", weights=M**2, axis=None),
    "nanquantile(method)": lambda x: np_.nanquantile(x, 0.3, method="weibull"),
    "median(overwrite_input)": lambda x: np_.median(x.copy() if type(x) is np.ndarray else x, overwrite_input=True),
    "qr(mode)": lambda x: np_.linalg.qr(x, mode="raw"),
    "svd(hermitian)": lambda x: np_.linalg.svd(x, hermitian=True),
    "pinv(hermitian)": lambda x: np_.linalg.pinv(x, hermitian=True),
    "take(mode)": lambda x: np_.take(x, [4, 9], mode="wrap"),
    "ravel(order)": lambda x: np_.ravel(x, order="K"),
    "concatenate(casting)": lambda x: np_.concatenate([x, x], casting="unsafe"),
    "clip(casting)": lambda x: np_.clip(x, 0, 1, casting="unsafe"),
    "meshgrid(sparse)": lambda x: np_.meshgrid(x[0], x[1], sparse=True),
    "einsum(casting)": lambda x: np_.einsum("ij->j", x, casting="unsafe"),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_parameter_that_an_operation_does_not_have_means_what_it_means_in_numpy(name: str) -> None:
    call = PARAMETERS[name]
    assert_same(call(dk.asarray(M)), call(M))
    result = call(dk.tensor(M, requires_grad=True))
    assert result.requires_grad
    assert dk.autograd.gradcheck(call, (dk.tensor(M, requires_grad=True),))


@pytest.mark.parametrize("name", LEAD_TO_ARRAYS)
def test_a_parameter_that_leads_to_arrays_gives_numpys_answer_and_says_where_a_gradient_is_lost(name: str) -> None:
    call = LEAD_TO_ARRAYS[name]
    result = call(dk.asarray(M))
    assert not any(isinstance(part, dk.Tensor) for part in parts(result))
    assert_same(result, call(M))
    with pytest.raises(AutogradError, match=r"numpy\.[a-z.]+ computes this call on arrays, which would lose the graph"):
        call(dk.tensor(M, requires_grad=True))


def test_an_error_in_an_array_like_names_numpys_function_and_its_parameter() -> None:
    v: Any = dk.asarray(V)
    cases: tuple[tuple[Callable[[], Any], str], ...] = (
        (lambda: np_.concatenate([v, ["a"]]), r"numpy\.concatenate: argument 'arrays'"),
        (lambda: np_.add(v, None), r"numpy\.add: argument 'x2' is None"),
        (lambda: np_.dot(v, ["a", "b"]), r"numpy\.dot: argument 'b'"),
    )
    for call, text in cases:
        with pytest.raises(dk.errors.ForeignArgumentError, match=text):
            call()


def test_python_numbers_beside_a_tensor_do_not_decide_the_dtype_where_numpys_do_not() -> None:
    v: Any = dk.asarray(V.astype(np.float32))
    calls: tuple[Callable[[Any], Any], ...] = (
        lambda x: np_.fmax(x, 1.0),
        lambda x: np_.heaviside(x, 0.5),
        lambda x: np_.logaddexp2(2, x),
        lambda x: np_.fmod(x, 2),
        lambda x: np_.where([True, False, True], x, 0.0),
        lambda x: np_.clip(x, [0, 0, 0], 2.5),
        lambda x: np_.gradient(x, 2.0),
        lambda x: np_.linspace(0.0, x, 3),
        lambda x: np_.dot(x, 2.0),
        lambda x: np_.append(x, 2.0),
    )
    for call in calls:
        assert call(v).dtype == call(V.astype(np.float32)).dtype


def test_operations_of_this_library_take_no_lists() -> None:
    add, concat, v = dk.add, dk.concat, dk.asarray(V)
    strict: dict[str, Callable[..., Any]] = {
        r"dispatchkit\.add: argument 'x2' is a list": lambda: add(v, [1.0, 2.0, 3.0]),
        r"dispatchkit\.concat: argument 'arrays' holds a list": lambda: concat([v, [1.0]]),
    }
    for text, call in strict.items():
        with pytest.raises(dk.errors.ForeignArgumentError, match=text):
            call()


class Readable:
    """What NumPy makes an array of, and is none."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return V


LIKENESSES = {
    "range": range(3),
    "array": array("d", V),
    "memoryview": memoryview(array("d", V)),
    "readable": Readable(),
    "tuple": tuple(V),
}


@pytest.mark.parametrize("name", LIKENESSES)
def test_what_numpy_makes_an_array_of_is_taken_beside_a_tensor(name: str) -> None:
    x, likeness = dk.tensor(V, requires_grad=True), LIKENESSES[name]
    for function in (np_.add, np_.maximum, np_.dot, np_.fmax, np_.append, np_.kron):
        result = function(x, likeness)
        assert result.requires_grad
        assert_same(result, function(V, likeness))
        assert_same(function(likeness, x), function(likeness, V))


def test_gradients_flow_through_tensors_in_a_list_beside_a_tensor() -> None:
    x, y = dk.tensor(V, requires_grad=True), dk.tensor(2.0, requires_grad=True)
    np_.sum(np_.concatenate([x, np_.multiply(x, [y, y * y, 1.0])])).backward()
    assert y.grad is not None
    assert float(y.grad) == V[0] + 2 * 2.0 * V[1]


@pytest.mark.parametrize("reduce", [np.sum, np.mean, np.std, np.var, np.max], ids=lambda f: f.__name__)
def test_a_part_of_masked_elements_is_reduced_without_those_that_are_masked(reduce: Callable[..., Any]) -> None:
    x = dk.types.MaskedTensor(dk.asarray([1.0, 100.0, 3.0, 7.0]), dk.asarray([True, False, True, True]))
    want = reduce(np.array([1.0, 3.0]))
    for where in ([True, True, True, False], np.array([True, False, True, False])):
        initial = {"initial": 0.0} if reduce is np.max else {}
        result = reduce(x, where=where, **initial)
        np_.testing.assert_allclose(result.data.numpy(), want)
        assert bool(result.valid)


def test_lists_beside_a_tensor_get_its_library() -> None:
    strict = pytest.importorskip("array_api_strict")
    x: Any = dk.Tensor(strict.asarray(V))
    calls: tuple[Callable[[Any], Any], ...] = (
        lambda x: np_.add(x, [1.0, 2.0, 3.0]),
        lambda x: np_.maximum(x, np.float64(2)),
        lambda x: np_.clip(x, np.float64(0), [1.0, 2.0, 3.0]),
        lambda x: np_.concatenate([x, [1.0]]),
        lambda x: np_.append(x, 2.0),
        lambda x: np_.fmax(x, 1.0),
        lambda x: np_.where([True, False, True], x, 0.0),
        lambda x: np_.sum(x, where=[True, False, True]),
        lambda x: np_.dot([1.0, 2.0, 3.0], x),
    )
    for call in calls:
        result = call(x)
        assert type(result.array) is type(x.array)
        np_.testing.assert_allclose(result.numpy(), call(V))
