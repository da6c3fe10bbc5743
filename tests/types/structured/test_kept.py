"""What structured matrices keep of their factors, and products and solutions on plain arrays at once."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest

import dispatchkit as dk
from dispatchkit.types import (
    BandedTensor,
    BlockDiagonalTensor,
    CirculantTensor,
    DiagonalTensor,
    KroneckerTensor,
    LowRankTensor,
    PermutationTensor,
    ScalarTensor,
    TriangularTensor,
)

RNG = np.random.default_rng(0)
N = 12
HEAVY = 10.0 * np.eye(N)


def banded() -> Any:
    bands = RNG.uniform(1.0, 2.0, (4, N))
    bands[2] += 10.0
    return BandedTensor(bands, lower=1, upper=2)


def updated() -> Any:
    left, right = RNG.normal(size=(N, 2)), RNG.normal(size=(2, N))
    return LowRankTensor(left, right) + DiagonalTensor(np.linspace(5.0, 9.0, N))


def large_permutation() -> Any:
    return PermutationTensor(RNG.permutation(1_500))


MATRICES: dict[str, Callable[[], Any]] = {
    "diagonal": lambda: DiagonalTensor(np.linspace(1.0, 2.0, N)),
    "scalar": lambda: ScalarTensor(N, 2.5),
    "permutation": lambda: PermutationTensor(RNG.permutation(N)),
    "large permutation": large_permutation,
    "banded": banded,
    "triangle": lambda: TriangularTensor(RNG.normal(size=(N, N)) + HEAVY),
    "upper triangle": lambda: TriangularTensor(RNG.normal(size=(N, N)) + HEAVY, upper=True),
    "blocks of one array": lambda: BlockDiagonalTensor(RNG.normal(size=(3, 4, 4)) + HEAVY[:4, :4]),  # type: ignore[arg-type]
    "blocks": lambda: BlockDiagonalTensor([RNG.normal(size=(4, 4)) + HEAVY[:4, :4] for _ in range(3)]),
    "one block": lambda: BlockDiagonalTensor([RNG.normal(size=(N, N)) + HEAVY]),
    "Kronecker": lambda: KroneckerTensor(RNG.normal(size=(3, 3)) + HEAVY[:3, :3], RNG.normal(size=(4, 4))),
    "Kronecker of three": lambda: KroneckerTensor(*RNG.normal(size=(2, 2, 2)), RNG.normal(size=(3, 3))),
    "circulant": lambda: CirculantTensor(0.5 ** np.arange(float(N))),
    "low rank": lambda: LowRankTensor(RNG.normal(size=(N, 2)), RNG.normal(size=(2, N))),
    "update": updated,
}


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("columns", [None, 3])
def test_products_and_solutions_are_those_of_the_dense_matrix(name: str, columns: int | None) -> None:
    a = MATRICES[name]()
    shape = (a.shape[0],) if columns is None else (a.shape[0], columns)
    v, dense = RNG.normal(size=shape), a.to_dense().numpy()
    npt.assert_allclose((a @ dk.asarray(v)).numpy(), dense @ v, rtol=1e-9, atol=1e-10)
    npt.assert_allclose((dk.asarray(v.T) @ a).numpy(), v.T @ dense, rtol=1e-9, atol=1e-10)
    if name != "low rank":
        for _ in range(2):  # by what was kept, the second time
            npt.assert_allclose(dense @ dk.linalg.solve(a, dk.asarray(v)).numpy(), v, rtol=1e-8, atol=1e-9)


def fields_of(a: Any) -> list[Any]:
    """Return the tensors that a matrix holds."""
    if isinstance(a, dk.Tensor):
        return [a]
    if isinstance(a, tuple):
        return [tensor for part in a for tensor in fields_of(part)]
    if not isinstance(a, dk.types.StructuredTensor):
        return []
    names = {"blocks", "factors", "bands", "values", "data", "column", "base", "update", "left", "right"}
    held = names.intersection(dk.tensor_protocol.types.fields_of(a))
    return [tensor for name in sorted(held) for tensor in fields_of(getattr(a, name))]


@pytest.mark.parametrize("by_numpy", [False, True], ids=["by the tensor", "by NumPy"])
@pytest.mark.parametrize("name", sorted(MATRICES.keys() - {"low rank", "scalar", "permutation", "large permutation"}))
def test_a_change_in_place_is_seen_by_what_is_kept(name: str, by_numpy: bool) -> None:
    a = MATRICES[name]()
    fields = fields_of(a)
    v = dk.asarray(RNG.normal(size=a.shape[0]))
    dk.linalg.solve(a, v), a @ v, v @ a
    assert fields
    for field in fields:
        new = field.numpy() * 1.25
        if by_numpy:
            field.numpy()[...] = new
        else:
            field[...] = dk.asarray(new)
    dense = a.to_dense().numpy()
    npt.assert_allclose((a @ v).numpy(), dense @ v.numpy(), rtol=1e-9, atol=1e-10)
    npt.assert_allclose((v @ a).numpy(), v.numpy() @ dense, rtol=1e-9, atol=1e-10)
    npt.assert_allclose(dense @ dk.linalg.solve(a, v).numpy(), v.numpy(), rtol=1e-8, atol=1e-9)


def test_a_permutation_is_not_changed_in_place() -> None:
    given = np.array([2, 0, 1])
    a, v = PermutationTensor(given), dk.asarray([1.0, 2.0, 3.0])
    a @ v, v @ a, dk.linalg.solve(a, v)
    given[...] = [0, 1, 2]
    with pytest.raises(ValueError, match=r"read-only; change a copy \(x = x.clone\(\)\)"):
        a.permutation[...] = dk.asarray([0, 1, 2])
    with pytest.raises(ValueError, match="read-only"):
        a.permutation.numpy()[...] = 0
    for matrix in (a, copy.deepcopy(a), pickle.loads(pickle.dumps(a)), dk.linalg.inv(a).mT):
        for _ in range(2):
            assert (matrix @ v).tolist() == [3.0, 1.0, 2.0]
            assert (v @ matrix).tolist() == dk.linalg.solve(matrix, v).tolist() == [2.0, 3.0, 1.0]


def test_another_permutation_in_a_matrix_is_taken_from_then_on() -> None:
    a, v = PermutationTensor([2, 0, 1]), dk.asarray([1.0, 2.0, 3.0])
    a @ v, v @ a
    a.permutation = dk.asarray([1, 2, 0])
    assert (a @ v).tolist() == [2.0, 3.0, 1.0]
    assert (v @ a).tolist() == [3.0, 1.0, 2.0]


@pytest.mark.parametrize("n", [5, 3_000])
def test_a_zero_on_a_diagonal_is_found_and_infinity_is_none(n: int) -> None:
    values = np.linspace(1.0, 2.0, n)
    a, v = DiagonalTensor(values), np.ones(n)
    for _ in range(2):
        npt.assert_array_equal(dk.linalg.solve(a, dk.asarray(v)).numpy(), 1 / values)
    values[2], v[1] = np.inf, np.inf
    npt.assert_array_equal(dk.linalg.solve(a, dk.asarray(v)).numpy(), v / values)
    for number in (0.0, 1.0):
        values[1], v[1] = 0.0, number
        with pytest.raises(np.linalg.LinAlgError, match="solve: singular matrix: a DiagonalTensor with 0 on its"):
            dk.linalg.solve(a, dk.asarray(v))


@pytest.mark.parametrize("of", [list, tuple, np.asarray])
def test_blocks_of_one_array_are_tensors_once_somebody_asks_for_them(of: Callable[[Any], Any]) -> None:
    given = RNG.normal(size=(3, 4, 4)) + HEAVY[:4, :4]
    a, v = BlockDiagonalTensor(of(given)), dk.asarray(RNG.normal(size=N))
    for matrix in (a, a + a, dk.linalg.inv(a), a.mT, a @ a, copy.copy(a + a), pickle.loads(pickle.dumps(a + a))):
        before = (matrix.shape, matrix.sizes, matrix.dtype, (matrix @ v).numpy())
        assert len(matrix.blocks) == 3
        assert before[:-1] == (matrix.shape, matrix.sizes, matrix.dtype) == ((N, N), (4, 4, 4), np.dtype(float))
        npt.assert_allclose((matrix @ v).numpy(), before[-1], rtol=1e-12)
    given[1] = 0
    assert not a.blocks[1].numpy().any()
    with pytest.raises(AttributeError, match="'BlockDiagonalTensor' object has no attribute 'block'"):
        getattr(a, "block")  # noqa: B009  # whose name type checkers know not to be there


def test_gradients_flow_to_blocks_through_what_is_computed_of_all_at_once() -> None:
    blocks = [dk.tensor(RNG.normal(size=(2, 2)) + HEAVY[:2, :2], requires_grad=True) for _ in range(3)]
    inverse = dk.linalg.inv(BlockDiagonalTensor(blocks))
    dk.sum((inverse + inverse) @ dk.ones(6)).backward()
    for block in blocks:
        given = dk.tensor(block.detach().numpy(), requires_grad=True)
        dk.sum(2 * dk.linalg.inv(given) @ dk.ones(2)).backward()
        assert block.grad is not None
        assert given.grad is not None
        npt.assert_allclose(block.grad.numpy(), given.grad.numpy(), rtol=1e-10)


@pytest.mark.parametrize("make", [banded, updated, MATRICES["circulant"], MATRICES["blocks of one array"]])
def test_copies_and_pickles_leave_out_what_is_kept(make: Callable[[], Any]) -> None:
    a = make()
    before = len(pickle.dumps(a))
    solution = dk.linalg.solve(a, dk.ones(N)).numpy()
    assert len(pickle.dumps(a)) == before
    for other in (copy.copy(a), copy.deepcopy(a), pickle.loads(pickle.dumps(a))):
        npt.assert_array_equal(dk.linalg.solve(other, dk.ones(N)).numpy(), solution)


def test_blocks_that_come_to_require_a_gradient_have_one() -> None:
    a = BlockDiagonalTensor(RNG.normal(size=(3, 4, 4)))  # type: ignore[arg-type]
    a @ dk.ones(N)
    a.blocks[1].requires_grad_()
    (a @ dk.ones(N)).sum().backward()
    assert a.blocks[1].grad is not None
    npt.assert_array_equal(a.blocks[1].grad.numpy(), np.ones((4, 4)))


def test_a_subclass_with_a_product_of_its_own_is_asked_for_it() -> None:
    class Doubled(DiagonalTensor):
        def times_vector(self, x: dk.Tensor) -> Any:
            return 2 * super().times_vector(x)

    a, v = Doubled([1.0, 2.0]), dk.ones(2)
    assert (a @ v).tolist() == [2.0, 4.0]
    assert (v @ a).tolist() == [1.0, 2.0]
    assert dk.linalg.solve(a, v).tolist() == [1.0, 0.5]


def test_a_subclass_with_solutions_of_its_own_is_asked_for_them() -> None:
    class Pseudo(DiagonalTensor):
        def solve_vector(self, x: dk.Tensor) -> Any:
            return dk.zeros_like(x)

    assert dk.linalg.solve(Pseudo([1.0, 2.0]), dk.ones(2)).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("name", ["diagonal", "banded", "triangle", "Kronecker", "blocks", "circulant", "update"])
def test_inf_and_nan_spread_as_in_the_dense_matrix_or_by_its_elements(name: str) -> None:
    a = MATRICES[name]()
    v = np.ones(N)
    v[-1] = np.nan
    with dk.densify(on="allow"), np.errstate(all="ignore"):
        product = (a @ dk.asarray(v)).numpy()
    reads = a.to_dense().numpy()[:, -1] != 0
    assert np.isnan(product[reads]).all()
    assert np.isfinite(product[~reads]).all()


def test_arrays_of_another_byte_order_and_read_only_ones_are_multiplied() -> None:
    bands = np.full((3, N), 1.0).astype(">f8")
    a = BandedTensor(bands, lower=1, upper=1)
    wanted = np.array([2.0] + [3.0] * (N - 2) + [2.0])
    npt.assert_array_equal((a @ dk.asarray(np.ones(N).astype(">f8"))).numpy(), wanted)
    fixed = np.full((3, N), 1.0)
    fixed.flags.writeable = False
    npt.assert_array_equal((BandedTensor(fixed, lower=1, upper=1) @ dk.ones(N)).numpy(), wanted)


@pytest.mark.parametrize("function", [dk.add, dk.matmul, dk.linalg.solve])
def test_rules_that_are_written_out_are_found_by_pickles(function: Any) -> None:
    handlers = [rule.handler for rule in dk.rules(function) if DiagonalTensor in rule.types]
    assert handlers
    assert all(pickle.loads(pickle.dumps(handler)) is handler for handler in handlers if hasattr(handler, "__code__"))
