"""Values, dtypes and dispatch of `dispatchkit.fft`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dispatchkit as dk

FFT: Any = dk.fft
NORMS = ("backward", "ortho", "forward")


def drawn(*shape: int, real: bool = False) -> Any:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=shape)
    return x if real else x + 1j * rng.uniform(-1, 1, size=shape)


def fitted(x: Any, n: int) -> Any:
    """Return a vector cut, or filled up with zeros, to a length."""
    return np.concatenate([x[:n], np.zeros(max(0, n - x.size))])


def by_definition(x: Any, sign: int, factor: float) -> Any:
    """Return the sums that define the transform of a vector."""
    k = np.arange(x.size)
    return factor * (np.exp(sign * 2j * np.pi * np.outer(k, k) / x.size) @ x)


def whole(x: Any, n: int) -> Any:
    """Return the vector with Hermitian symmetry, of which the first half, and one more, is given."""
    half = fitted(x, n // 2 + 1)
    half[0] = half[0].real
    if n % 2 == 0:
        half[-1] = half[-1].real
    return np.concatenate([half, np.conj(half[1 : (n + 1) // 2][::-1])])


@given(st.integers(1, 7), st.integers(1, 7), st.sampled_from(NORMS))
def test_transforms_along_one_axis_are_their_sums(size: int, n: int, norm: str) -> None:
    z, x = drawn(size), drawn(size, real=True)
    forth = {"backward": 1.0, "ortho": n**-0.5, "forward": 1 / n}[norm]
    back = {"backward": 1 / n, "ortho": n**-0.5, "forward": 1.0}[norm]
    half = n // 2 + 1
    expected = {
        "fft": (z, by_definition(fitted(z, n), -1, forth)),
        "ifft": (z, by_definition(fitted(z, n), 1, back)),
        "rfft": (x, by_definition(fitted(x, n), -1, forth)[:half]),
        "ihfft": (x, by_definition(fitted(x, n), 1, back)[:half]),
        "irfft": (z, by_definition(whole(z, n), 1, back).real),
        "hfft": (z, by_definition(whole(z, n), -1, forth).real),
    }
    for name, (argument, y) in expected.items():
        found = getattr(FFT, name)(dk.asarray(argument), n=n, norm=norm)
        np.testing.assert_allclose(found.numpy(), y, atol=1e-13, err_msg=name)


def test_transforms_along_several_axes_go_along_one_after_the_other() -> None:
    z, x = dk.asarray(drawn(2, 3, 4)), dk.asarray(drawn(2, 3, 4, real=True))
    given: dict[str, Any] = {"s": (4, -1), "axes": (2, 0), "norm": "ortho"}
    expected = {
        "fftn": (z, dk.fft.fft(dk.fft.fft(z, axis=2, norm="ortho"), axis=0, norm="ortho")),
        "ifftn": (z, dk.fft.ifft(dk.fft.ifft(z, axis=2, norm="ortho"), axis=0, norm="ortho")),
        "rfftn": (x, dk.fft.fft(dk.fft.rfft(x, axis=0, norm="ortho"), axis=2, norm="ortho")),
        "irfftn": (z, dk.fft.irfft(dk.fft.ifft(z, axis=2, norm="ortho"), axis=0, norm="ortho")),
    }
    for name, (argument, y) in expected.items():
        found = getattr(FFT, name)(argument, **given)
        assert found.shape == y.shape
        np.testing.assert_allclose(found.numpy(), y.numpy(), atol=1e-14, err_msg=name)


@pytest.mark.parametrize("name", ["fft", "ifft", "fftn", "ifftn", "rfft", "rfftn", "ihfft"])
def test_the_result_is_complex_of_the_same_precision(name: str) -> None:
    function = getattr(FFT, name)
    assert function(dk.ones(4, dtype=dk.float32)).dtype == dk.complex64
    assert function(dk.ones(4)).dtype == dk.complex128
    if name in ("fft", "ifft", "fftn", "ifftn"):
        assert function(dk.ones(4, dtype=dk.complex64)).dtype == dk.complex64


@pytest.mark.parametrize("name", ["irfft", "irfftn", "hfft"])
def test_the_result_is_real_of_the_same_precision(name: str) -> None:
    function = getattr(FFT, name)
    assert function(dk.ones(4, dtype=dk.complex64)).dtype == dk.float32
    assert function(dk.ones(4, dtype=dk.float32)).dtype == dk.float32
    assert function(dk.ones(4, dtype=dk.complex128)).dtype == dk.float64


@pytest.mark.parametrize("n", [1, 4, 5])
def test_frequencies(n: int) -> None:
    for name in ("fftfreq", "rfftfreq"):
        ours, numpys = getattr(FFT, name), getattr(np.fft, name)
        np.testing.assert_allclose(ours(n, d=0.25).numpy(), numpys(n, d=0.25), rtol=1e-15)
        assert ours(n).dtype == dk.float64
        assert ours(n, dtype=dk.float32).dtype == dk.float32
        assert ours(n, requires_grad=True).requires_grad
    shifted = dk.fft.fftshift(dk.fft.fftfreq(n))
    assert bool(dk.all(shifted[1:] > shifted[:-1]))
    assert bool(dk.all(dk.fft.ifftshift(shifted) == dk.fft.fftfreq(n)))


def test_shifts_of_integers_and_of_no_axis() -> None:
    x = np.arange(12).reshape(3, 4)
    for name in ("fftshift", "ifftshift"):
        ours, numpys = getattr(FFT, name), getattr(np.fft, name)
        for axes in (None, 0, -1, (0, 1), [1]):
            assert np.array_equal(ours(dk.asarray(x), axes=axes).numpy(), numpys(x, axes=axes))
        alone = dk.tensor(2.0, requires_grad=True)
        y = ours(alone)
        (y * y).backward()
        assert alone.grad is not None
        assert (y.item(), alone.grad.item()) == (2.0, 4.0)


@dk.array_type(fallback=dk.fallback.decompose)
class Constant:
    """A vector of the same number."""

    dtype = np.dtype("complex128")

    def __init__(self, n: int, value: complex) -> None:
        self.n, self.value = n, value
        self.shape = (n,)


def test_a_type_with_irfft_and_conj_has_hfft() -> None:
    with dk.local_registrations():

        @dk.implements(dk.conj)
        def conj_constant(x: Constant, /) -> Constant:
            return Constant(x.n, x.value.conjugate())

        @dk.implements(dk.fft.irfft)
        def irfft_constant(
            x: Constant, /, *, n: int | None = None, axis: int = -1, norm: str = "backward"
        ) -> tuple[complex, int | None, str]:
            return x.value, n, norm

        assert dk.fft.hfft(Constant(3, 1 + 2j)) == (1 - 2j, 4, "forward")
        with pytest.raises(dk.NoImplementationError, match="fft does not decompose"):
            dk.fft.fft(Constant(3, 1.0))


def test_one_rule_serves_all_transforms() -> None:
    with dk.local_registrations():

        @dk.implements(dk.kinds.fft)
        def transformed(op: Callable[..., Any], x: Constant, /, **options: Any) -> str:
            return op.__name__

        names = ["fft", "ifft", "fftn", "ifftn", "rfft", "irfft", "rfftn", "irfftn", "hfft", "ihfft"]
        assert [getattr(FFT, name)(Constant(3, 1.0)) for name in names] == names


def test_other_libraries_compute_on_their_own_arrays() -> None:
    strict = pytest.importorskip("array_api_strict")
    x, z = strict.asarray(drawn(4, real=True)), strict.asarray(drawn(4))
    for name in ("fft", "fftn", "rfft", "rfftn", "ihfft", "fftshift"):
        y = getattr(FFT, name)(dk.Tensor(x))
        assert isinstance(y.array, type(x))
        np.testing.assert_allclose(np.asarray(y.array), getattr(np.fft, name)(np.asarray(x)), atol=1e-14)
    for name in ("irfft", "irfftn", "hfft", "ifft", "ifftn"):
        y = getattr(FFT, name)(dk.Tensor(z))
        assert isinstance(y.array, type(x))
        np.testing.assert_allclose(np.asarray(y.array), getattr(np.fft, name)(np.asarray(z)), atol=1e-14)


@pytest.mark.parametrize("name", sorted({*FFT.__all__} - {"fftfreq", "rfftfreq"}))
def test_a_batch_is_transformed_at_once(name: str) -> None:
    function = getattr(FFT, name)
    of_real = name in ("rfft", "ihfft", "rfftn")
    x = dk.asarray(drawn(3, 4, 5, real=of_real))
    calls: list[dict[str, Any]] = [{}, {"axis": 0, "n": 3}, {"axis": -1, "norm": "ortho"}]
    if "shift" in name:
        calls = [{}, {"axes": 0}, {"axes": (-1, 0)}]
    elif name.endswith("n"):
        calls = [{}, {"axes": (0,)}, {"axes": (-1, 0), "s": (3, -1)}]
    for options in calls:
        batched = dk.func.vmap(lambda one, options=options: function(one, **options))(x)
        alone = [function(x[i], **options) for i in range(3)]
        np.testing.assert_allclose(batched.numpy(), dk.stack(alone).numpy(), atol=1e-14)
