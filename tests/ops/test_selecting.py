"""`diag`, `where` with a condition alone, and indices of arrays of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit as dk


@pytest.mark.parametrize("offset", [-2, -1, 0, 1, 3])
@pytest.mark.parametrize("shape", [(3,), (0,), (2, 4), (3, 3)])
def test_diag_is_numpys(shape: tuple[int, ...], offset: int) -> None:
    x = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
    found = dk.diag(x, offset=offset)
    np.testing.assert_array_equal(found.numpy(), np.diag(x, offset))
    assert found.dtype == x.dtype


def test_diag_is_differentiable() -> None:
    for x in (dk.ones(3), dk.ones((2, 3))):
        x.requires_grad_()
        assert dk.autograd.gradcheck(lambda x: dk.diag(x, offset=1) ** 2, x)
    assert dk.tensor([1.0, 2.0]).diag().tolist() == [[1.0, 0.0], [0.0, 2.0]]
    assert dk.func.vmap(dk.diag)(dk.ones((2, 3))).shape == (2, 3, 3)


@pytest.mark.parametrize("shape", [(), (2, 2, 2)])
def test_diag_is_for_vectors_and_matrices(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"^diag: x must be a vector or a matrix, found shape \("):
        dk.diag(dk.ones(shape))


def test_a_condition_alone_finds_indices() -> None:
    condition = np.array([[True, False], [True, True]])
    for found, expected in zip(dk.where(dk.asarray(condition)), np.where(condition), strict=True):
        np.testing.assert_array_equal(found.numpy(), expected)
    assert [i.tolist() for i in dk.where(condition)] == [[0, 1, 1], [0, 0, 1]]


def test_a_condition_alone_is_a_call_of_nonzero() -> None:
    @dk.array_type()
    class Mask:
        pass

    with dk.local_registrations():

        @dk.implements(dk.nonzero)
        def nonzero_mask(x: Mask, /) -> str:
            return "found"

        assert dk.where(Mask()) == "found"


def test_a_condition_with_one_array_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^dispatchkit.where: missing a required argument: 'x2'; its signature"):
        dk.where(dk.asarray([True]), 1.0)  # type: ignore[call-arg]


@pytest.mark.parametrize("key", [1, slice(1, None), (0, 1), np.array([1, 0])])
def test_an_array_of_numpy_is_selected_from_as_a_tensor_is(key: Any) -> None:
    array = np.arange(6.0).reshape(2, 3)
    selected = dk.getitem(array, key)
    assert type(selected) is dk.Tensor
    assert selected.tolist() == array[key].tolist()
