"""Transforms of axes without elements, which are filled up with zeros."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
import dispatchkit.as_torch as torch

# The length of the result for n=4.
ALONG_ONE = {"fft": 4, "ifft": 4, "rfft": 3, "irfft": 4, "hfft": 4, "ihfft": 3}
ALONG_SEVERAL = {"fftn": (4, 6), "ifftn": (4, 6), "rfftn": (4, 4), "irfftn": (4, 6)}


@pytest.mark.parametrize("name", ALONG_ONE)
def test_an_axis_without_elements_gives_zeros_where_a_length_is_given(name: str) -> None:
    transform: Any = getattr(dk.fft, name)
    x, length = dk.zeros((2, 0)), ALONG_ONE[name]
    for y in (transform(x, n=4), getattr(np.fft, name)(x, n=4), dk.func.vmap(lambda row: transform(row, n=4))(x)):
        assert isinstance(y, dk.Tensor)
        np.testing.assert_array_equal(y.numpy(), np.zeros((2, length), y.dtype), strict=True)
    assert transform(dk.zeros((0, 3)), n=4, axis=0).shape == (length, 3)
    assert transform(x, n=4).dtype == transform(dk.ones((2, 4)), n=4).dtype
    assert dk.func.grad(lambda x: dk.real(transform(x, n=4)).sum())(x).shape == (2, 0)
    with pytest.raises(ValueError, match=rf"{name}: x must have elements along axis 1, or n be given, found shape"):
        transform(x)


@pytest.mark.parametrize("name", ALONG_SEVERAL)
def test_several_axes_without_elements_give_zeros_where_lengths_are_given(name: str) -> None:
    transform: Any = getattr(dk.fft, name)
    for shape in ((0, 6), (4, 0), (0, 0)):
        y = transform(dk.zeros(shape), s=(4, 6), axes=(0, 1))
        np.testing.assert_array_equal(y.numpy(), np.zeros(ALONG_SEVERAL[name], y.dtype), strict=True)
        of_numpy = getattr(np.fft, name.replace("fftn", "fft2"))(dk.zeros(shape), s=(4, 6), axes=(0, 1))
        np.testing.assert_array_equal(of_numpy.numpy(), y.numpy())
        gradient = dk.func.grad(lambda x: dk.real(transform(x, s=(4, 6), axes=(0, 1))).sum())(dk.zeros(shape))
        assert gradient.shape == shape
    with pytest.raises(ValueError, match=rf"{name}: x must have elements along axis 0, or s\[0\] be given"):
        transform(dk.zeros((0, 6)))


def test_transforms_of_pytorchs_spelling_give_zeros() -> None:
    np.testing.assert_array_equal(torch.fft.fft2(torch.zeros(0, 3), s=(2, 3)).numpy(), np.zeros((2, 3)))
    np.testing.assert_array_equal(torch.fft.irfft(torch.zeros(0), n=4).numpy(), np.zeros(4))
