"""Gradients of Fourier transforms: transposes of linear maps, by the inner product and by PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dispatchkit as dk
from dispatchkit.backends.arrays import Spec
from dispatchkit.declare.operation import DeclaredOperation

FFT: Any = dk.fft
NORMS = ("backward", "ortho", "forward")
ONE_AXIS = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
SEVERAL_AXES = ("fftn", "ifftn", "rfftn", "irfftn")
OF_REAL = ("rfft", "ihfft", "rfftn")
TRANSFORMS = [
    entry
    for name, entry in dk.tensor_protocol.operations.items()
    if name.startswith("dispatchkit.fft.") and isinstance(entry, DeclaredOperation) and entry.derivative.rules
]


def drawn(rng: np.random.Generator, shape: tuple[int, ...], real: bool) -> Any:
    x = rng.uniform(-1, 1, size=shape)
    return x if real else x + 1j * rng.uniform(-1, 1, size=shape)


def inner(x: Any, y: Any) -> float:
    """Return the real inner product, of which complex gradients are the gradients."""
    return float(np.real(np.vdot(x, y)))


def check_transpose(name: str, x: Any, **options: Any) -> None:
    """Compare ``<f(t), g>`` with ``<t, gradient>`` for a random direction t and cotangent g."""
    rng = np.random.default_rng(1)
    function = getattr(FFT, name)
    leaf = dk.tensor(x, requires_grad=True)
    y = function(leaf, **options)
    g = drawn(rng, y.shape, y.dtype.kind == "f")
    y.backward(dk.tensor(g))
    assert leaf.grad is not None
    assert leaf.grad.dtype == leaf.dtype
    t = drawn(rng, x.shape, x.dtype.kind == "f")
    moved = function(dk.tensor(t), **options)
    assert inner(moved.numpy(), g) == pytest.approx(inner(t, leaf.grad.numpy()), abs=1e-12)


@given(st.sampled_from(ONE_AXIS), st.integers(1, 6), st.integers(1, 8), st.sampled_from(NORMS), st.booleans())
def test_transposes_along_one_axis(name: str, size: int, n: int, norm: str, real: bool) -> None:
    x = drawn(np.random.default_rng(0), (2, size), real or name in OF_REAL)
    check_transpose(name, x, n=n, norm=norm)
    check_transpose(name, x.T, n=n, axis=0, norm=norm)


@given(
    st.sampled_from(SEVERAL_AXES),
    st.tuples(*[st.integers(1, 4)] * 3),
    st.tuples(*[st.integers(1, 5)] * 2),
    st.permutations([0, 1, 2]),
    st.sampled_from(NORMS),
)
def test_transposes_along_several_axes(
    name: str, shape: tuple[int, ...], s: tuple[int, ...], order: list[int], norm: str
) -> None:
    x = drawn(np.random.default_rng(0), shape, name in OF_REAL)
    check_transpose(name, x, s=s, axes=tuple(order[:2]), norm=norm)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", [*ONE_AXIS, *SEVERAL_AXES])
def test_values_and_gradients_are_those_of_pytorch(name: str, norm: str) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(2)
    lengths: list[dict[str, Any]] = [{}, {"n": 3}, {"n": 4}, {"n": 7}, {"n": 8}]
    if name in SEVERAL_AXES:
        lengths = [{}, {"s": (3, 4)}, {"s": (-1, 7)}, {"s": (2, -1)}]
    for shape in ((3, 4), (2, 5)):
        x = drawn(rng, shape, name in OF_REAL)
        for length in lengths:
            ours, theirs = dk.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
            axes = {"axes": (0, 1)} if "s" in length else {}
            y = getattr(FFT, name)(ours, **length, **axes, norm=norm)
            z = getattr(torch.fft, name)(theirs, **length, norm=norm)
            np.testing.assert_allclose(y.detach().numpy(), z.detach().resolve_conj().numpy(), atol=1e-12)
            g = drawn(rng, y.shape, y.dtype.kind == "f")
            y.backward(dk.tensor(g))
            z.backward(torch.tensor(g))
            assert ours.grad is not None
            np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.resolve_conj().numpy(), atol=1e-12)


def test_real_arguments_of_complex_transforms_have_real_gradients_of_their_precision() -> None:
    for name in ("fft", "ifftn", "irfft", "hfft"):
        x = dk.tensor(np.ones(4, dtype=np.float32), requires_grad=True)
        dk.sum(dk.real(getattr(FFT, name)(x))).backward()
        assert x.grad is not None
        assert x.grad.dtype == dk.float32


def test_derivatives_nest() -> None:
    # The power spectrum: the third derivative of sum |rfft(x)|^4 along t is that of a polynomial.
    x = dk.tensor([0.5, -1.0, 2.0, 0.25, 1.5], requires_grad=True)
    t = np.array([1.0, 0.5, -0.5, 2.0, -1.0])

    def energy(values: Any) -> Any:
        y = dk.fft.rfft(values)
        return dk.sum(dk.real(y * dk.conj(y)) ** 2)

    slope = energy(x)
    for _ in range(3):
        (gradient,) = dk.autograd.grad(slope, x, create_graph=True)
        slope = dk.sum(gradient * dk.asarray(t))
    steps = np.arange(5) - 2.0
    energies = [energy(dk.asarray(x.detach().numpy() + step * t)).item() for step in steps]
    quartic = np.polynomial.Polynomial.fit(steps, energies, 4).convert()
    assert slope.item() == pytest.approx(quartic.deriv(3)(0.0), rel=1e-9)


@pytest.mark.parametrize("entry", TRANSFORMS, ids=lambda entry: entry.name)
def test_transposes_need_no_more_than_the_standard(entry: DeclaredOperation) -> None:
    strict = pytest.importorskip("array_api_strict")
    rule = entry.derivative.rules.transposes["x"].pull
    for sample in entry.samples:
        (x,), options = sample.make(np.random.default_rng(0))
        y = entry.function(x, **options)
        g = drawn(np.random.default_rng(1), y.shape, y.dtype.kind == "f")
        found = rule(strict, strict.asarray(g), None, Spec(x.shape, x.dtype), **options)
        leaf = dk.tensor(x + 0.0, requires_grad=True)
        entry.function(leaf, **options).backward(dk.tensor(g))
        assert leaf.grad is not None
        found = np.asarray(found)
        expected = leaf.grad.numpy()
        np.testing.assert_allclose(found.real if expected.dtype.kind == "f" else found, expected, atol=1e-13)
