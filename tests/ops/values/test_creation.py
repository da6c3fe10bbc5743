"""Creation functions on every dtype against NumPy's."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.errors import UnitError
from dispatchkit.types import MaskedTensor, QuantityTensor, UncertainTensor
from tests.ops.values.inputs import DTYPES

# Arguments that the function of this name takes here and in NumPy.
CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("zeros", ((2, 0, 3),), {}),
    ("ones", (3,), {}),
    ("full", ((), 1), {}),
    ("eye", (3, 2), {"k": -1}),
    ("arange", (2,), {}),
    ("arange", (5, 0, -2), {}),
    ("arange", (3, 1), {}),
    ("linspace", (0, 4, 5), {}),
    ("linspace", (1, 4, 1), {}),
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("name", "args", "kwargs"), CALLS)
def test_values_dtype_and_shape(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], dtype: np.dtype[Any]) -> None:
    try:
        want = getattr(np, name)(*args, **kwargs, dtype=dtype)
    except (TypeError, ValueError) as error:
        with pytest.raises(type(error), match=f"dispatchkit.{name}: "):
            getattr(dk, name)(*args, **kwargs, dtype=dtype)
        return
    got = getattr(dk, name)(*args, **kwargs, dtype=dtype)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    np.testing.assert_array_equal(got.numpy(), want)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_in_the_likeness_of_another(dtype: np.dtype[Any]) -> None:
    x = dk.asarray(np.ones((2, 0, 3), dtype=dtype))
    for like in (dk.zeros_like, dk.ones_like, dk.empty_like):
        y = like(x)
        assert (y.shape, y.dtype) == (x.shape, dtype)
        assert like(x, dtype=dk.int16).dtype == dk.int16
    y = dk.full_like(dk.ones((2, 2), dtype=dtype), 1)
    assert (y.dtype, y.tolist()) == (dtype, np.ones((2, 2), dtype=dtype).tolist())
    assert dk.empty((2, 3), dtype=dtype).dtype == dtype


def test_default_dtypes() -> None:
    assert dk.full(2, True).dtype == dk.bool
    assert dk.full(2, 1).dtype == dk.arange(3).dtype == dk.int64
    assert (
        dk.full(2, 1.0).dtype == dk.arange(3.0).dtype == dk.linspace(0, 1, 2).dtype == dk.zeros(2).dtype == dk.float64
    )
    assert dk.full(2, 1j).dtype == dk.linspace(0, 1j, 2).dtype == dk.complex128


def weighted(y: Any) -> Any:
    return (y * dk.arange(1, len(y) + 1)).sum()


def test_values_between_tensors_have_gradients_by_every_transformation() -> None:
    start, stop, step = dk.tensor(0.5), dk.tensor(2.5), dk.tensor(0.8)
    calls: list[tuple[Any, tuple[Any, ...]]] = [
        (lambda a, b: dk.linspace(a, b, 4), (start, stop)),
        (lambda a, b: dk.linspace(a, b, 4, endpoint=False), (start, stop)),
        (lambda a: dk.linspace(-1, a, 4), (stop,)),
        (lambda a: dk.linspace(a, a * a, 1), (stop,)),
        (lambda a, b: dk.linspace(a, b, 3), (dk.asarray([[0.0], [1.0]]), dk.asarray([2.0, 3.0, 4.0]))),
        (lambda a, c: dk.arange(a, 2.5, c), (start, step)),
        (lambda a, c: dk.arange(a, -1, -c), (stop, step)),
        (lambda a: dk.arange(0, 3, a), (step,)),
    ]
    for call, args in calls:
        numbers = [np.asarray(x) for x in args]
        want = call(*numbers).numpy()
        for x in (call(*args), call(*(x.requires_grad_() for x in map(dk.clone, args)))):
            np.testing.assert_allclose(x.detach().numpy(), want, rtol=1e-14, atol=1e-15)
        leaves = tuple(dk.tensor(x.numpy(), requires_grad=True) for x in args)
        assert dk.autograd.gradcheck(call, leaves)
        every = tuple(range(len(args)))
        slopes = dk.func.grad(lambda *args, call=call: weighted(call(*args)), argnums=every)(*args)
        weighted(call(*leaves)).backward()
        assert all(np.allclose(np.asarray(leaf.grad), slope) for leaf, slope in zip(leaves, slopes, strict=True))
        tangents = dk.func.jvp(call, args, tuple(map(dk.ones_like, args)))[1]
        assert np.allclose(weighted(tangents), sum(slope.sum().item() for slope in slopes))
        batched = dk.func.vmap(call)(*(dk.stack([x, x + 0]) for x in args))
        np.testing.assert_allclose(batched[1].numpy(), want, rtol=1e-14, atol=1e-15)


def test_the_end_of_a_range_has_no_gradient() -> None:
    assert dk.func.grad(lambda stop: dk.arange(0.0, stop, 0.3).sum())(dk.tensor(1.0)).item() == 0.0


def test_the_last_value_between_tensors_is_the_end() -> None:
    start, stop = dk.asarray(np.float64(0.1)), dk.asarray(np.float64(0.7))
    for num in range(2, 50):
        values = dk.linspace(start, stop, num)
        assert (values[0].item(), values[-1].item()) == (0.1, 0.7)


@pytest.mark.parametrize("endpoint", [True, False])
def test_values_between_arrays_are_rounded_as_those_between_numbers(endpoint: bool) -> None:
    for stop in (5.0, 7.0, 0.7, -3.1, 100.0, 0.1, 5e-324, 1e308):
        for num in (1, 2, 6, 7, 11, 24):
            numbers = np.linspace(0.1 if abs(stop) > 1e-300 else 0.0, stop, num, endpoint=endpoint)
            start = dk.asarray(numbers[0])
            assert dk.linspace(start, stop, num, endpoint=endpoint).tolist() == numbers.tolist()
            columns = dk.linspace(dk.stack([start, start]), dk.asarray([stop, stop]), num, endpoint=endpoint)
            assert columns.tolist() == np.stack([numbers, numbers], axis=1).tolist()


def test_values_between_arrays_have_their_dtype_and_do_not_wrap_around() -> None:
    high, low = (dk.tensor(x, dtype=dk.uint8) for x in (4, 1))
    assert dk.linspace(high, low, 4).tolist() == [4.0, 3.0, 2.0, 1.0]
    assert dk.arange(high, low, -1).tolist() == [4, 3, 2]
    assert dk.linspace(dk.tensor(0.0, dtype=dk.float32), 1, 3).dtype == dk.float32
    assert dk.linspace(dk.tensor(0.0, dtype=dk.float32), 1j, 3).dtype == dk.complex64
    assert dk.arange(dk.tensor(3.0, dtype=dk.float32)).dtype == dk.float32
    assert dk.arange(dk.tensor(3, dtype=dk.int8)).dtype == dk.int64
    assert dk.linspace(dk.tensor(0.5), 3, 3, dtype=dk.int64).tolist() == np.linspace(0.5, 3, 3, dtype=int).tolist()


def test_the_number_of_values_of_a_range_is_one_number() -> None:
    with pytest.raises(
        ValueError, match=r"arange: the number of values, .*, must be the same .* found 1 and 4; use lin"
    ):
        dk.func.vmap(lambda a: dk.arange(a, 1.0))(dk.asarray([0.0, -3.0]))
    with pytest.raises(ValueError, match=r"arange: step is not 0, and all three are finite; found inf steps"):
        dk.arange(dk.tensor(0.0), 3.0, 0)
    with pytest.raises(ValueError, match=r"arange: stop must be a number, found an array of shape \(2,\)"):
        dk.arange(dk.asarray([0.0, 1.0]))
    with pytest.raises(TypeError, match=r"linspace: num must be an int, found 3\.5"):
        dk.linspace(0.0, 1.0, 3.5)  # type: ignore[call-overload]  # what the test is about
    assert dk.arange(dk.tensor(4.0), 3.0).shape == (0,)


def test_values_between_quantities_are_quantities() -> None:
    def metres(value: float) -> QuantityTensor:
        return QuantityTensor(value, "m")

    np_: Any = np  # NumPy's stubs know no types but NumPy's
    for values in (np_.linspace(metres(0.0), metres(1.0), 3), dk.linspace(metres(0.0), QuantityTensor(0.001, "km"), 3)):
        assert (values.magnitude.tolist(), str(values.unit)) == ([0.0, 0.5, 1.0], "m")
    steps = dk.arange(QuantityTensor(3.0, "degC"), QuantityTensor(300.0, "K"), QuantityTensor(9.0, "K"))
    assert (steps.magnitude.tolist(), str(steps.unit)) == ([3.0, 12.0, 21.0], "degC")
    assert dk.full((2,), metres(1.0)).magnitude.tolist() == [1.0, 1.0]
    with pytest.raises(UnitError, match="arange: between ends in 'm' there is no step of 1; give step in 'm'"):
        dk.arange(metres(3.0))
    with pytest.raises(UnitError, match="linspace: a plain number and 'm'"):
        dk.linspace(metres(0.0), 1.0, 3)


def test_values_between_masked_and_uncertain_numbers_are_of_their_types() -> None:
    known, unknown = (MaskedTensor(dk.asarray(1.0), dk.asarray(valid)) for valid in (True, False))
    assert dk.linspace(known, 3.0, 3).valid.tolist() == [True, True, True]
    assert dk.linspace(known, unknown, 3).valid.tolist() == [False, False, False]
    np.testing.assert_allclose(dk.linspace(UncertainTensor(1.0, 0.1), 3.0, 3).std.numpy(), [0.1, 0.05, 0.0])


@pytest.mark.parametrize("dtype", [None, "float64", "float32", "int8", "int64", "bool", "complex64"])
@pytest.mark.parametrize("value", [2.5, -3, 0, True, float("nan"), float("inf"), 300, 1 + 2j, 2**70])
@pytest.mark.parametrize("device", [None, "cpu"])
def test_full_holds_what_numpys_does(value: Any, dtype: Any, device: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            wanted = np.full((2, 1), value, dtype)
        except (TypeError, OverflowError) as error:
            with pytest.raises(type(error)):
                dk.full((2, 1), value, dtype=dtype, device=device)
            return
        if wanted.dtype == object:  # which is none of numbers
            return
        found = dk.full((2, 1), value, dtype=dtype, device=device)
    np.testing.assert_array_equal(found.array, wanted)
    assert found.dtype == wanted.dtype


@pytest.mark.parametrize("make", [dk.zeros, dk.ones, dk.empty])
def test_lengths_are_checked_on_a_named_device_too(make: Any) -> None:
    assert make((2, 0), device="cpu").shape == (2, 0)
    with pytest.raises(ValueError, match="not negative"):
        make((2, -1), device="cpu")
    with pytest.raises(ValueError, match="evice"):
        make(2, device="nowhere")
