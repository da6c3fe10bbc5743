"""`KroneckerTensor` and its sum with a multiple of the identity: structure, traps of determinants, derivatives."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.testing import TypeConformance
from dispatchkit.types import KroneckerTensor, ScalarTensor, ShiftedKroneckerTensor, ToeplitzTensor
from tests.declared import library_for

T = dk.tensor
rng = np.random.default_rng(0)


class TestKroneckerTensor(TypeConformance):
    operations = library_for(KroneckerTensor, 2)
    depth = 1

    def samples(self) -> list[Any]:
        return [
            KroneckerTensor(T([[2, 1]]), T([[1, 3], [2, 1]])),
            KroneckerTensor(T([[[2.0, 1.0], [1.0, 3.0]]]), ToeplitzTensor(T([2.0, 0.5]))),
        ]


class TestShiftedKroneckerTensor(TypeConformance):
    operations = library_for(ShiftedKroneckerTensor, 0)
    depth = 1

    def samples(self) -> list[Any]:
        product = KroneckerTensor(T([[2.0, 1.0], [1.0, 3.0]]), T([[1.0, 0.5], [0.5, 2.0]]))
        return [ShiftedKroneckerTensor(product, T(0.5))]


def spd(m: int) -> Any:
    half = rng.normal(size=(m, m))
    return dk.asarray(half @ half.T + np.eye(m))


A, B, C = dk.asarray(rng.normal(size=(3, 3))), dk.asarray(rng.normal(size=(4, 4))), dk.asarray(rng.normal(size=(4, 4)))
K = KroneckerTensor(A, B)

CLOSED: dict[str, Callable[[Any], Any]] = {
    "product": lambda k: k @ KroneckerTensor(dk.ones((3, 2)), C),
    "scaled": lambda k: 2 * k / dk.tensor(3.0),
    "negative": lambda k: -k,
    "transpose": lambda k: k.T,
    "inverse": dk.linalg.inv,
    "power": lambda k: dk.linalg.matrix_power(k, -2),
    "one factor differs": lambda k: k + KroneckerTensor(A, C),
    "the other one differs": lambda k: k - KroneckerTensor(dk.ones((3, 3)), B),
    "no factor differs": lambda k: k + k,
    "a multiple of itself": lambda k: k + 2 * k,
    "elementwise product": lambda k: k * k,
    "absolute values": abs,
}


@pytest.mark.parametrize("name", CLOSED)
def test_a_kronecker_product_stays_one(name: str) -> None:
    with dk.densify(on="error"):
        found = CLOSED[name](K)
    assert type(found) is KroneckerTensor
    with dk.densify(on="allow"):
        wanted = CLOSED[name](K.to_dense())
    wanted = wanted if isinstance(wanted, dk.Tensor) else wanted.to_dense()
    np.testing.assert_allclose(found.to_dense().numpy(), wanted.numpy(), rtol=1e-9, atol=1e-9)


def test_a_cholesky_factor_is_that_of_the_factors_whatever_their_signs() -> None:
    a, b = spd(3), spd(4)
    for k in (KroneckerTensor(a, b), KroneckerTensor(-a, -b), KroneckerTensor(-a, ToeplitzTensor([-2.0, 1.0]))):
        with dk.densify(on="allow"):
            found = dk.linalg.cholesky(k)
        np.testing.assert_allclose(found.to_dense().numpy(), np.linalg.cholesky(k.to_dense().numpy()), atol=1e-12)
    with pytest.raises(np.linalg.LinAlgError):
        dk.linalg.cholesky(KroneckerTensor(-a, b))


VALUES: dict[str, Callable[[Any], Any]] = {
    "@ vector": lambda k: k @ dk.arange(12.0),
    "matrix @": lambda k: dk.ones((2, 12)) @ k,
    "@ batch": lambda k: k @ dk.ones((2, 12, 3)),
    "solve": lambda k: dk.linalg.solve(k, dk.arange(12.0)),
    "trace": dk.linalg.trace,
    "diagonal": dk.linalg.diagonal,
    "det": dk.linalg.det,
    "sign": lambda k: dk.linalg.slogdet(k).sign,
    "logarithm": lambda k: dk.linalg.slogdet(k).logabsdet,
    "sum": lambda k: k.sum(0, keepdims=True),
    "mean": dk.mean,
    "element": lambda k: k[5, -2],
    "row": lambda k: k[7],
    "singular values": dk.linalg.svdvals,
    **{f"norm {ord}": partial(dk.linalg.matrix_norm, ord=ord) for ord in ("fro", "nuc", 1, -1, 2, -2)},
}


@pytest.mark.parametrize("name", VALUES)
def test_values_are_those_of_the_dense_matrix(name: str) -> None:
    with dk.densify(on="error"):
        found = VALUES[name](K)
    np.testing.assert_allclose(found.numpy(), VALUES[name](K.to_dense()).numpy(), rtol=1e-9, atol=1e-11)


def test_eigenvectors_and_singular_vectors_are_products_of_those_of_the_factors() -> None:
    for k in (
        KroneckerTensor(spd(3), -spd(4)),
        KroneckerTensor(dk.stack([spd(3), spd(3)]), ToeplitzTensor([2.0, 1.0])),
    ):
        with dk.densify(on="error"):
            (values, vectors), (u, s, vh) = dk.linalg.eigh(k), dk.linalg.svd(k)
            back = (vectors * 1.0) @ (values[..., None] * (vectors.mT @ dk.ones(k.shape[-1]))[..., None])
        dense = k.to_dense().numpy()
        np.testing.assert_allclose(values.numpy(), np.linalg.eigvalsh(dense), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(back[..., 0].numpy(), dense.sum(-1), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(s.numpy(), np.linalg.svd(dense)[1], rtol=1e-9, atol=1e-9)
        made = (u.to_dense() * s[..., None, :]) @ vh.to_dense()
        np.testing.assert_allclose(made.numpy(), dense, rtol=1e-9, atol=1e-9)


TALL, WIDE, MIXED = [(4, 3), (3, 2)], [(2, 2), (2, 5)], [(4, 3), (2, 5), (2, 2)]


@pytest.mark.parametrize("batch", [(), (2,)])
@pytest.mark.parametrize("sizes", [TALL, WIDE, MIXED])
def test_singular_vectors_of_a_rectangle_are_products_of_those_of_the_factors(
    sizes: list[tuple[int, int]], batch: tuple[int, ...]
) -> None:
    k = KroneckerTensor(*(dk.asarray(rng.normal(size=(*batch, *size))) for size in sizes))
    dense = k.to_dense().numpy()
    with dk.densify(on="error"):
        values = dk.linalg.svdvals(k)
        with pytest.raises(dk.DensifyError):
            dk.linalg.svd(k)
    # 16 × 30 with 12 singular values that are not 0, so 4 vectors have no factors
    with dk.densify(on="allow" if sizes is MIXED else "error"):
        u, s, vh = dk.linalg.svd(k, full_matrices=False)
    wanted = np.linalg.svd(dense, full_matrices=False)
    assert (u.shape, s.shape, vh.shape) == tuple(part.shape for part in wanted)
    for found in (values, s):
        np.testing.assert_allclose(found.numpy(), wanted.S, atol=1e-12)
    left, right = (np.asarray(part if isinstance(part, dk.Tensor) else part.to_dense()) for part in (u, vh))
    count = s.shape[-1]
    made = (left[..., :count] * s.numpy()[..., None, :]) @ right[..., :count, :]
    np.testing.assert_allclose(made, dense, atol=1e-12)
    for columns in (left, right.swapaxes(-1, -2)):
        product = columns.swapaxes(-1, -2) @ columns
        np.testing.assert_allclose(product, np.broadcast_to(np.eye(columns.shape[-1]), product.shape), atol=1e-12)


def test_norms_of_a_rectangle_are_those_of_the_dense_matrix() -> None:
    for sizes in (TALL, WIDE, MIXED):
        k = KroneckerTensor(*(dk.asarray(rng.normal(size=size)) for size in sizes))
        for ord in ("fro", "nuc", 1, -1, 2, -2):
            with dk.densify(on="allow" if sizes is MIXED and ord == -2 else "error"):
                found = dk.linalg.matrix_norm(k, ord=ord)
            np.testing.assert_allclose(found.numpy(), dk.linalg.matrix_norm(k.to_dense(), ord=ord).numpy(), atol=1e-12)


PARTS: dict[str, Callable[..., Any]] = {
    "values": lambda u, s, vh: dk.sum(s * dk.arange(6.0)),
    "vectors": lambda u, s, vh: dk.sum((u[:, :2] @ u[:, :2].mT + 0 * u[:, :1]) ** 3) + vh[0, 1] ** 2,
}


@pytest.mark.parametrize("name", PARTS)
def test_gradients_through_singular_vectors_are_those_of_the_dense_matrix(name: str) -> None:
    def part(a: Any, b: Any, dense: bool) -> Any:
        k = KroneckerTensor(a, b)
        u, s, vh = dk.linalg.svd(k.to_dense() if dense else k, full_matrices=False)
        return PARTS[name](u @ dk.eye(6), s, vh @ dk.eye(6))

    factors = [dk.asarray(rng.normal(size=size)) for size in TALL]
    steps = [dk.asarray(rng.normal(size=size)) for size in TALL]
    structured, plain = partial(part, dense=False), partial(part, dense=True)
    for argument in (0, 1):
        one, other = (dk.func.grad(f, argnums=argument)(*factors) for f in (structured, plain))
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-8, atol=1e-12)
        assert bool(dk.any(one != 0))
    one, other = (dk.func.jvp(f, tuple(factors), tuple(steps))[1] for f in (structured, plain))
    np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-8, atol=1e-12)


def test_gradients_through_eigenvectors_are_those_of_the_dense_matrix() -> None:
    a, b = spd(2), spd(3)

    def projected(a: Any, b: Any, dense: bool) -> Any:
        k: Any = KroneckerTensor((a + a.mT) / 2, (b + b.mT) / 2)
        values, vectors = dk.linalg.eigh(k.to_dense() if dense else k)
        return dk.sum(values[-2:] * (vectors.mT @ dk.arange(6.0))[-2:] ** 2)

    for argument in (0, 1):
        one, other = (dk.func.grad(partial(projected, dense=d), argnums=argument)(a, b) for d in (False, True))
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-8)


def test_determinants_have_the_powers_and_signs_of_the_other_size() -> None:
    negative = dk.asarray([[0.0, 1.0], [1.0, 0.0]])
    for other in (dk.eye(3), dk.eye(2)):
        k = KroneckerTensor(negative, 2 * other)
        found, wanted = dk.linalg.slogdet(k), np.linalg.slogdet(k.to_dense().numpy())
        assert (found.sign.item(), found.logabsdet.item()) == pytest.approx(wanted)
    zero = dk.linalg.slogdet(KroneckerTensor(dk.ones((2, 2)), dk.eye(2)))
    assert (zero.sign.item(), zero.logabsdet.item()) == (0.0, -np.inf)


SYMMETRIC = KroneckerTensor(spd(3), spd(4))
OF_SHIFTED = (
    "@ vector",
    "matrix @",
    "solve",
    "trace",
    "diagonal",
    "det",
    "sign",
    "logarithm",
    "element",
    "row",
    "mean",
)


@pytest.mark.parametrize("name", OF_SHIFTED)
@pytest.mark.parametrize("shift", [0.3, -1.0])
def test_any_multiple_of_the_identity_can_be_added(name: str, shift: float) -> None:
    for matrix in (SYMMETRIC + ScalarTensor(12, shift), ScalarTensor(12, T(shift)) + SYMMETRIC):
        assert type(matrix) is ShiftedKroneckerTensor
        with dk.densify(on="error"):
            found = VALUES[name](matrix)
        np.testing.assert_allclose(found.numpy(), VALUES[name](matrix.to_dense()).numpy(), rtol=1e-8, atol=1e-10)


def test_sums_and_multiples_keep_the_shift() -> None:
    shifted = SYMMETRIC + ScalarTensor(12, 1.0)
    for found in (shifted + ScalarTensor(12, 1.0), ScalarTensor(12, 1.0) + shifted, 2 * shifted, shifted.mT):
        assert type(found) is ShiftedKroneckerTensor
    assert (shifted + ScalarTensor(12, 1.0)).shift == 2.0


def test_factors_that_are_not_symmetric_are_not_taken_for_symmetric() -> None:
    matrix = K + ScalarTensor(12, 0.5)
    with dk.densify(on="error"), pytest.raises(dk.DensifyError):
        dk.linalg.solve(matrix, dk.ones(12))
    with dk.densify(on="allow"):
        x = dk.linalg.solve(matrix, dk.ones(12))
    np.testing.assert_allclose((matrix @ x).numpy(), 1, rtol=1e-10)


def test_small_eigenvalues_are_not_raised() -> None:
    k = KroneckerTensor(dk.diag(dk.asarray([1.0, 1e-10])), dk.diag(dk.asarray([1.0, 1e-10])))
    assert dk.linalg.slogdet(k).logabsdet.item() == pytest.approx(4 * np.log(1e-10))
    shifted = dk.linalg.slogdet(k + ScalarTensor(4, 1e-12)).logabsdet.item()
    assert shifted == pytest.approx(2 * np.log(1e-10 + 1e-12) + np.log(1e-12 + 1e-20), rel=1e-6)


@pytest.mark.parametrize("equal", [False, True], ids=["distinct", "equal"])
def test_derivatives_are_right_where_eigenvalues_are_equal_too(equal: bool) -> None:
    arrays = ([np.eye(3), np.eye(2)] if equal else [spd(3).numpy(), spd(2).numpy()]) + [np.array(0.4)]
    inputs = tuple(dk.tensor(a, requires_grad=True) for a in arrays)

    def function(a: Any, b: Any, s: Any) -> Any:
        matrix = KroneckerTensor((a + a.mT) / 2, (b + b.mT) / 2) + ScalarTensor(6, s)
        return dk.linalg.solve(matrix, dk.arange(6.0)) + dk.linalg.slogdet(matrix).logabsdet

    assert dk.autograd.gradcheck(function, inputs)
    assert dk.autograd.gradgradcheck(function, inputs, atol=1e-4)
    values, tangents = tuple(x.detach() for x in inputs), tuple(dk.ones_like(x.detach()) for x in inputs)
    _, tangent = dk.func.jvp(function, values, tangents)
    y, pull = dk.func.vjp(function, *values)
    total = sum(g.sum().item() for g in pull(dk.ones(y.shape)))
    assert tangent.sum().item() == pytest.approx(total, rel=1e-9)


def shifted_along_a_line(t: Any) -> Any:
    """Return a matrix whose factors, equal to the identity at 0, and shift depend on a number."""
    a = dk.eye(2) + dk.sin(t) * dk.asarray([[1.0, 2.0], [2.0, -1.0]])
    b = dk.eye(3) + t * dk.cos(t) * (dk.ones((3, 3)) + dk.eye(3))
    return KroneckerTensor(a, b) + ScalarTensor(6, dk.exp(t))


def derivative(function: Callable[[Any], Any], order: int, forward: bool) -> Any:
    if order == 0:
        return function
    inner = derivative(function, order - 1, forward)
    if forward:
        return lambda t: dk.func.jvp(inner, (t,), (dk.ones(()),))[1]
    return dk.func.grad(inner)


@pytest.mark.parametrize("forward", [False, True], ids=["reverse", "forward"])
@pytest.mark.parametrize("at", [0.0, 0.2])
def test_derivatives_of_solutions_are_those_of_the_dense_matrix_to_any_order(at: float, forward: bool) -> None:
    def solved(t: Any, dense: bool) -> Any:
        matrix = shifted_along_a_line(t)
        return dk.sum(dk.linalg.solve(matrix.to_dense() if dense else matrix, dk.arange(6.0) * dk.cos(t)))

    for order in (1, 2, 3, 4):
        one, other = (derivative(partial(solved, dense=d), order, forward)(dk.tensor(at)) for d in (False, True))
        assert one.item() == pytest.approx(other.item(), rel=1e-9)


@pytest.mark.parametrize("forward", [False, True], ids=["reverse", "forward"])
def test_a_third_derivative_of_a_determinant_is_refused(forward: bool) -> None:
    def logarithm(t: Any) -> Any:
        return dk.linalg.slogdet(shifted_along_a_line(t)).logabsdet

    def dense(t: Any) -> Any:
        return dk.linalg.slogdet(shifted_along_a_line(t).to_dense()).logabsdet

    second, wanted = (derivative(f, 2, forward)(dk.tensor(0.2)).item() for f in (logarithm, dense))
    assert second == pytest.approx(wanted, rel=1e-9)
    with pytest.raises(
        dk.AutogradError,
        match=r"^slogdet and det: derivatives by a ShiftedKroneckerTensor are computed to the second order; for more, "
        r"call them with x\.to_dense\(\)$",
    ):
        derivative(logarithm, 3, forward)(dk.tensor(0.2))


def test_gradients_of_a_sum_reach_equal_factors_of_both_sides() -> None:
    first, second = dk.tensor(A.numpy(), requires_grad=True), dk.tensor(A.numpy(), requires_grad=True)
    with dk.densify(on="allow"):
        (KroneckerTensor(first, B) + KroneckerTensor(second, C)).sum().backward()
    assert first.grad is not None
    assert second.grad is not None
    np.testing.assert_allclose(second.grad.numpy(), C.numpy().sum())


def test_structured_factors_multiply_as_they_can() -> None:
    t = ToeplitzTensor([3.0, 1.0, 0.5])
    k = KroneckerTensor(t, ScalarTensor(2, 2.0), A)
    b = dk.asarray(rng.normal(size=18))
    with dk.densify(on="error"):
        found, x = k @ b, dk.linalg.solve(k, b)
    np.testing.assert_allclose(found.numpy(), k.to_dense().numpy() @ b.numpy())
    np.testing.assert_allclose((k @ x).numpy(), b.numpy(), atol=1e-10)


def test_nothing_of_the_size_of_the_matrix_is_made() -> None:
    t = ToeplitzTensor(dk.exp(-dk.arange(100.0)))
    matrix = KroneckerTensor(t, t, t[:50, :50]) + ScalarTensor(500_000, 1.0)
    with dk.densify(on="error"):
        assert (matrix @ dk.ones(500_000)).shape == (500_000,)
        assert dk.linalg.trace(matrix).item() == pytest.approx(10**6)


def test_factors_that_are_no_matrices_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^KroneckerTensor: each of one or more factors .* found \[\(2,\)\]$"):
        KroneckerTensor(dk.ones(2))
    with pytest.raises(ValueError, match=r"^ShiftedKroneckerTensor: the factors must be square, found \[\(2, 1\)\]$"):
        ShiftedKroneckerTensor(KroneckerTensor(dk.ones((2, 1))), 1.0)
