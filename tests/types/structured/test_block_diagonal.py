"""`BlockDiagonalTensor`: the values of the dense matrix, at the cost of what it holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.types import BlockDiagonalTensor
from tests.types.structured.support import conforms, same

BLOCKS = [[[2.0, 1.0], [1.0, 3.0]], [[4.0]], [[2.0, 0.5], [0.5, 1.0]]]


def blocks() -> Any:
    return BlockDiagonalTensor(BLOCKS)


def test_it_gives_what_the_dense_matrix_gives() -> None:
    conforms(lambda: [BlockDiagonalTensor(BLOCKS[:2]), BlockDiagonalTensor([dk.asarray([BLOCKS[0], BLOCKS[2]])])])


CLOSED: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: x + x,
    "product": lambda x: x @ x,
    "multiple": lambda x: -2 * x,
    "inverse": dk.linalg.inv,
    "factor": dk.linalg.cholesky,
    "transpose": lambda x: x.mT,
    "with a diagonal": lambda x: dk.types.DiagonalTensor(dk.arange(5.0)) @ x + dk.types.ScalarTensor(5, 2.0),
    "product with a tensor's elements": lambda x: x * dk.ones((5, 5)),
}


@pytest.mark.parametrize("name", CLOSED)
def test_blocks_stay_blocks(name: str) -> None:
    with dk.densify(on="error"):
        found = CLOSED[name](blocks())
    assert type(found) is BlockDiagonalTensor
    with dk.densify(on="allow"):
        same(found, CLOSED[name](blocks().to_dense()))


def test_eigenvectors_are_those_of_the_blocks() -> None:
    with dk.densify(on="error"):
        values, vectors = dk.linalg.eigh(blocks())
        found = vectors @ dk.types.DiagonalTensor(values) @ vectors.mT @ dk.eye(5)
    same(values, dk.linalg.eigvalsh(blocks().to_dense()))
    same(found, blocks().to_dense())
    np.testing.assert_allclose(dk.linalg.svdvals(blocks()).numpy(), dk.linalg.svdvals(blocks().to_dense()).numpy())


def test_gradients_reach_each_block() -> None:
    def function(*parts: Any) -> Any:
        x = BlockDiagonalTensor(parts)
        return dk.linalg.solve(x, dk.ones(3)) * dk.linalg.slogdet(x).logabsdet

    parts = [dk.tensor(block, requires_grad=True) for block in BLOCKS[:2]]
    assert dk.autograd.gradcheck(function, parts)


def test_blocks_are_square() -> None:
    with pytest.raises(ValueError, match=r"^BlockDiagonalTensor: the blocks must be square matrices, found shapes"):
        BlockDiagonalTensor([[[1.0, 2.0]]])


CALLS: dict[str, Callable[[Any, dk.Tensor], Any]] = {
    "product": lambda m, v: m @ v,
    "solution": dk.linalg.solve,
    "determinant": lambda m, v: dk.linalg.slogdet(m).logabsdet,
    "sum": lambda m, v: m + m,
    "product of two": lambda m, v: m @ m,
    "inverse": lambda m, v: dk.linalg.inv(m),
    "row": lambda m, v: m[3],
    "column": lambda m, v: m[:, 3],
    "trace": lambda m, v: dk.linalg.trace(m),
}


@pytest.mark.parametrize("name", CALLS)
def test_blocks_of_one_shape_are_computed_at_once(name: str) -> None:
    counts = []
    for blocks in (4, 40):
        m = BlockDiagonalTensor([np.eye(2) * (i + 1) for i in range(blocks)])
        v = dk.ones(2 * blocks)
        with dk.record_calls() as calls:
            CALLS[name](m, v)
        counts.append(len(calls.calls))
    assert counts[0] == counts[1]
    same(CALLS[name](m, v), CALLS[name](m.to_dense(), v))


@pytest.mark.parametrize("rows", [3, 70])
@pytest.mark.parametrize("columns", [(), (2,), (1,)])
def test_blocks_that_lie_apart_see_what_is_written_into_them(rows: int, columns: tuple[int, ...]) -> None:
    arrays = [np.random.default_rng(i).normal(size=(rows, rows)) for i in range(3)]
    m = BlockDiagonalTensor([dk.asarray(array) for array in arrays])
    x = dk.asarray(np.random.default_rng(9).normal(size=(3 * rows, *columns)))
    for _ in range(2):
        np.testing.assert_allclose((m @ x).numpy(), m.to_dense().numpy() @ x.numpy(), rtol=1e-12, atol=1e-12)
        arrays[1][0, 0] = 5.0
    with pytest.raises(ValueError, match="cannot be multiplied"):
        m @ x[1:]


@pytest.mark.parametrize("make", [lambda: BlockDiagonalTensor(list(np.arange(18.0).reshape(2, 3, 3))), blocks])
def test_a_row_or_column_is_that_of_one_block_with_zeros_around_it(make: Callable[[], Any]) -> None:
    x = make()
    dense = x.to_dense()
    for i in range(x.shape[-1]):
        same(x[i], dense[i])
        same(x[:, i - x.shape[-1]], dense[:, i])


def test_a_row_of_a_batch_broadcasts_and_is_differentiable() -> None:
    first = dk.tensor(np.arange(8.0).reshape(2, 2, 2), requires_grad=True)
    x = BlockDiagonalTensor([first, dk.asarray([[5.0]])])
    assert x[:, 2].tolist() == [[0.0, 0.0, 5.0], [0.0, 0.0, 5.0]]
    x[..., 1].sum().backward()
    assert first.grad is not None
    assert first.grad.tolist() == [[[0.0, 1.0], [0.0, 1.0]]] * 2


def test_a_row_reads_no_other_block() -> None:
    x = BlockDiagonalTensor(list(np.arange(18.0).reshape(2, 3, 3)))
    x.elements_at = None  # type: ignore[assignment, method-assign]
    assert x[4].tolist() == [0.0, 0.0, 0.0, 12.0, 13.0, 14.0]
