"""Determinants of singular structured matrices have the derivatives of the dense ones, and solves say what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit import types

pytest.importorskip("scipy")

# [[1, 2, 0], [2, 4, 0], [0, 0, 3]], whose adjugate is [[12, -6, 0], [-6, 3, 0], [0, 0, 0]].
SINGULAR: dict[str, tuple[Callable[[Any], Any], list[Any], list[Any]]] = {
    "banded": (
        lambda bands: types.BandedTensor(bands, lower=1, upper=1),
        [[0.0, 2.0, 0.0], [1.0, 4.0, 3.0], [2.0, 0.0, 0.0]],
        [[0.0, -6.0, 0.0], [12.0, 3.0, 0.0], [-6.0, 0.0, 0.0]],
    ),
    "banded of zeros": (
        lambda bands: types.BandedTensor(bands, lower=1, upper=1), np.zeros((3, 3)).tolist(), np.zeros((3, 3)).tolist()
    ),
    "diagonal": (types.DiagonalTensor, [2.0, 0.0, 3.0], [0.0, 6.0, 0.0]),
    "low-rank update": (
        lambda left: types.ScalarTensor(2, 1.0) + types.LowRankTensor(left, [[-1.0, 0.0]]),
        [[1.0], [1.0]],
        [[-1.0], [0.0]],
    ),
    "blocks": (
        lambda block: types.BlockDiagonalTensor([block, [[3.0]]]), [[1.0, 2.0], [2.0, 4.0]], [[12.0, -6.0], [-6.0, 3.0]]
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::dispatchkit.DensifyWarning")
@pytest.mark.parametrize("name", SINGULAR)
def test_a_singular_determinant_has_the_gradient_of_the_adjugate(name: str) -> None:
    make, stored, expected = SINGULAR[name]
    found = dk.func.grad(lambda part: dk.linalg.det(make(part)))(dk.asarray(stored))
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-12)


@pytest.mark.filterwarnings("ignore::dispatchkit.DensifyWarning")
@pytest.mark.parametrize("name", ["banded", "diagonal", "low-rank update", "blocks"])
def test_a_singular_determinant_has_second_derivatives(name: str) -> None:
    make, stored, _ = SINGULAR[name]

    def of_structure(part: Any) -> Any:
        return dk.linalg.det(make(part))

    found, expected = (dk.func.hessian(f)(dk.asarray(stored)) for f in (of_structure, lambda p: _dense_det(make(p))))
    np.testing.assert_allclose(found.numpy(), expected.numpy(), atol=1e-9)


def _dense_det(x: Any) -> Any:
    return dk.linalg.det(x.to_dense())


@pytest.mark.filterwarnings("ignore::dispatchkit.DensifyWarning")
@pytest.mark.parametrize("name", ["banded", "diagonal"])
def test_the_logarithm_of_a_singular_determinant_has_infinite_derivatives_as_that_of_a_dense_matrix(name: str) -> None:
    make, stored, _ = SINGULAR[name]

    def logarithm(part: Any) -> Any:
        return dk.linalg.slogdet(make(part)).logabsdet

    assert float(logarithm(dk.asarray(stored))) == -np.inf
    inside = np.asarray(make(dk.ones_like(dk.asarray(stored))).map_elements(dk.ones_like).to_dense()) != 0
    gradient = make(dk.func.grad(logarithm)(dk.asarray(stored))).to_dense().numpy()
    assert np.isinf(gradient[inside]).all()


def test_a_batch_with_one_singular_matrix_has_the_derivatives_of_each() -> None:
    bands = dk.asarray([SINGULAR["banded"][1], [[0.0, 1.0, 1.0], [4.0, 4.0, 4.0], [1.0, 1.0, 0.0]]])
    with pytest.warns(dk.DensifyWarning):
        found = dk.func.grad(lambda b: dk.sum(dk.linalg.det(types.BandedTensor(b, lower=1, upper=1))))(bands)
    np.testing.assert_allclose(found[0].numpy(), SINGULAR["banded"][2], atol=1e-12)
    np.testing.assert_allclose(found[1].numpy(), [[0.0, -4.0, -4.0], [15.0, 16.0, 15.0], [-4.0, -4.0, 0.0]])


@pytest.mark.filterwarnings("ignore::dispatchkit.DensifyWarning")
@pytest.mark.parametrize("base", ["KroneckerTensor", "ToeplitzTensor", "ShiftedKroneckerTensor", "DiagonalTensor"])
@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.bool_, np.float64])
def test_a_system_with_a_singular_update_raises_as_the_dense_one_does(base: str, dtype: Any) -> None:
    ones = np.ones((2, 2), dtype)
    bases: dict[str, Callable[[], Any]] = {
        "KroneckerTensor": lambda: types.KroneckerTensor(ones, ones),
        "ToeplitzTensor": lambda: types.ToeplitzTensor(ones.ravel(), ones.ravel()),
        "ShiftedKroneckerTensor": lambda: types.ShiftedKroneckerTensor(
            types.KroneckerTensor(ones, ones), dk.asarray(np.zeros((), dtype))
        ),
        "DiagonalTensor": lambda: types.DiagonalTensor(np.zeros(4, dtype)),
    }
    low = types.LowRankTensor(np.ones((4, 1), dtype), np.ones((1, 4), dtype))
    update = types.LowRankUpdateTensor(bases[base](), low)
    with pytest.raises(np.linalg.LinAlgError, match=r"(?i)singular"):
        dk.linalg.solve(update, dk.ones(4))
