"""`SparseTensor`: values as SciPy's, patterns that stay, gradients on the stored elements, and what is refused."""

from __future__ import annotations

import copy
import pickle
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.types import SparsePattern, SparseTensor
from tests.protocol.support import steps_of

sparse = pytest.importorskip("scipy.sparse")

DRAW = np.random.default_rng(0)
SCIPY = sparse.random_array((5, 7), density=0.3, format="csr", rng=DRAW)
OTHER = sparse.random_array((5, 7), density=0.3, format="coo", rng=DRAW)
X, SQUARE = dk.asarray(DRAW.normal(size=(7, 3))), dk.asarray(DRAW.normal(size=(5, 7)))
FORMS: dict[str, Callable[[], SparseTensor]] = {
    "coo": lambda: SparseTensor.from_scipy(SCIPY.tocoo()),
    "csr": lambda: SparseTensor.from_scipy(SCIPY),
    "csc": lambda: SparseTensor.from_scipy(SCIPY.tocsc()),
    "transposed": lambda: SparseTensor.from_scipy(SCIPY.T).mT,
}
forms = pytest.mark.parametrize("form", FORMS)
B = SparseTensor.from_scipy(OTHER)

KEPT: dict[str, Callable[[Any, Any], Any]] = {
    "transpose": lambda a, b: a.mT,
    "T": lambda a, b: a.T,
    "negative": lambda a, b: -a,
    "scaled": lambda a, b: 2 * a / 4 * dk.asarray(0.5),
    "root": lambda a, b: dk.sqrt(dk.abs(a)),
    "times dense": lambda a, b: a * SQUARE,
    "dense row times": lambda a, b: SQUARE[0] * a,
    "sum": lambda a, b: a + b,
    "difference": lambda a, b: a - b,
    "sum of one pattern": lambda a, b: a + 2 * a,
    "elementwise": lambda a, b: a * b,
    "product": lambda a, b: a @ b.mT,
    "product of the transposes": lambda a, b: b.mT @ a,
    "rows": lambda a, b: a[1:4],
    "rows and columns backwards": lambda a, b: a[::-1, -2::-2],
    "no rows": lambda a, b: a[4:2],
    "the whole": lambda a, b: a[...],
    "chosen rows": lambda a, b: a[[0, 2, 2]],
    "chosen columns": lambda a, b: a[:, [3, 0]],
    "rows by a mask": lambda a, b: a[np.array([True, False, True, True, False])],
    "pairs of rows and columns": lambda a, b: a[np.ix_([0, 2], [1, 3, 1])],
    "a row as a matrix": lambda a, b: a[1, None],
    "a row as a column": lambda a, b: a[1, :, None],
    "a column as a matrix": lambda a, b: a[:, 2, None],
    "taken": lambda a, b: dk.take(a, dk.asarray([2, 0]), axis=1),
    "joined": lambda a, b: dk.concat([a, b]),
    "joined columns": lambda a, b: np.hstack([a, b]),
    "blocks": lambda a, b: np.block([[a, b], [b, a]]),
    "split": lambda a, b: np.split(a, [2], axis=1)[1],
    "by a column": lambda a, b: a / (1 + dk.abs(X[:5, :1])),
    "by a row": lambda a, b: a / (1 + dk.abs(X[:, 0])),
    "times a column": lambda a, b: X[:5, :1] * a,
    "squared": lambda a, b: a**2,
    "below the diagonal": lambda a, b: np.tril(a, -1),
    "above the diagonal": lambda a, b: np.triu(a),
    "flipped": lambda a, b: dk.flip(a, axis=0),
    "rolled": lambda a, b: np.roll(a, 2, axis=1),
    "rotated": lambda a, b: np.rot90(a),
    "moved axes": lambda a, b: np.moveaxis(a, 0, 1),
    "padded": lambda a, b: np.pad(a, ((1, 0), (0, 2))),
    "differences": lambda a, b: dk.diff(a, axis=0),
    "repeated": lambda a, b: np.repeat(a, 2, axis=1),
    "tiled": lambda a, b: np.tile(a, (2, 1)),
    "Kronecker product": lambda a, b: dk.kron(a[:2], b[:2]),
    "largest of two": lambda a, b: dk.maximum(a, b),
    "positive part": lambda a, b: dk.relu(a - b),
    "where": lambda a, b: dk.where(a > 0.2, a, b),
    "filled": lambda a, b: dk.masked_fill(a, b > 0.2, 2.0),
    "along no axis": lambda a, b: dk.sum(a, axis=()),
}
DENSE: dict[str, Callable[[Any, Any], Any]] = {
    "matrix": lambda a, b: a @ X,
    "vector": lambda a, b: a @ X[:, 0],
    "stack": lambda a, b: a @ dk.stack([X, 2 * X]),
    "from the left": lambda a, b: X[:5].mT @ a,
    "vector from the left": lambda a, b: X[:5, 0] @ a,
    "linear": lambda a, b: dk.nn.functional.linear(X.mT, a),
    "total": lambda a, b: a.sum(),
    "columns": lambda a, b: a.sum(0),
    "rows": lambda a, b: a.sum(axis=-1, keepdims=True),
    "mean": lambda a, b: a.mean(),
    "mean of rows": lambda a, b: a.mean(1),
    "plus dense": lambda a, b: a + SQUARE,
    "dense minus": lambda a, b: SQUARE - a,
    "minus dense": lambda a, b: a - SQUARE,
    "element": lambda a, b: a[1, -2],
    "row": lambda a, b: a[1],
    "column": lambda a, b: a[..., 2],
    "part of a row": lambda a, b: a[1, ::-2],
    "row with a new axis in front of three": lambda a, b: a[None, 1, None],
    "elements": lambda a, b: a[[0, 1, 0], [1, 2, 1]],
    "elements by a mask": lambda a, b: a[SQUARE > 0],
    "elements by a sparse mask": lambda a, b: a[b > 0],
    "list of rows": lambda a, b: dk.stack(list(a)),
    "squeezed": lambda a, b: dk.squeeze(a[1:2]),
    "diagonal": lambda a, b: dk.linalg.diagonal(a, offset=-1),
    "trace": lambda a, b: np.trace(a, 1),
    "largest": lambda a, b: dk.max(a),
    "largest of rows": lambda a, b: dk.max(a - b, axis=1),
    "smallest of columns": lambda a, b: np.min(a - b, axis=0, keepdims=True),
    "product": lambda a, b: dk.prod(a),
    "products of rows": lambda a, b: dk.prod(a, axis=1),
    "variance": lambda a, b: dk.var(a),
    "variance of columns": lambda a, b: dk.var(a, axis=0, correction=1),
    "standard deviation": lambda a, b: np.std(a),
    "sum in a dtype": lambda a, b: np.sum(a, axis=1, dtype=np.float64),
    "Frobenius norm": lambda a, b: np.linalg.norm(a),
    "norm of columns": lambda a, b: np.linalg.norm(a, 1),
    "contraction": lambda a, b: np.tensordot(a, X, 1),
}


def dense(x: Any) -> Any:
    return x.to_dense() if isinstance(x, SparseTensor) else x


@forms
@pytest.mark.parametrize("name", KEPT)
def test_what_stays_sparse_has_the_values_of_the_dense_matrices(name: str, form: str) -> None:
    a = FORMS[form]()
    with dk.densify(on="error"):
        found = KEPT[name](a, B)
    assert type(found) is SparseTensor
    np.testing.assert_allclose(dense(found).numpy(), KEPT[name](a.to_dense(), B.to_dense()).numpy(), atol=1e-14)


@forms
@pytest.mark.parametrize("name", DENSE)
def test_what_becomes_dense_by_a_rule(name: str, form: str) -> None:
    a = FORMS[form]()
    with dk.densify(on="error"):
        found = DENSE[name](a, B)
    np.testing.assert_allclose(found.numpy(), DENSE[name](a.to_dense(), B.to_dense()).numpy(), atol=1e-14)


@pytest.mark.parametrize("name", [*KEPT, *DENSE])
def test_gradients_are_those_of_the_stored_elements(name: str) -> None:
    a = FORMS["csr"]()
    function = {**KEPT, **DENSE}[name]
    values, other = (x.values.clone().requires_grad_() for x in (a, B))

    def of_values(v: Any, w: Any) -> Any:
        found = function(SparseTensor(v, a.pattern), SparseTensor(w, B.pattern))
        return found.values if isinstance(found, SparseTensor) else found

    assert dk.autograd.gradcheck(of_values, (values, other))
    assert dk.autograd.gradgradcheck(of_values, (values, other))
    gradient = dk.func.grad(lambda a: dk.sum(dense(function(a, B)) ** 2))(a)
    assert type(gradient) is SparseTensor
    assert gradient.pattern is a.pattern


def test_products_in_all_transformations() -> None:
    a = FORMS["csr"]()

    def loss(x: Any, matrix: Any) -> Any:
        return dk.sum((matrix @ x) ** 3)

    for found, expected in (
        (dk.func.vmap(lambda x, m=m: dk.func.grad(loss)(x, m), in_dims=1)(X) for m in (a, a.to_dense())),
        (dk.func.hessian(loss)(X[:, 0], m) for m in (a, a.to_dense())),
        (dk.func.jvp(lambda x, m=m: loss(x, m), (X,), (X,))[1] for m in (a, a.to_dense())),
    ):
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-10, atol=1e-12)
    batch = dk.func.vmap(lambda v: SparseTensor(v, a.pattern) @ X)(dk.stack([a.values, 2 * a.values]))
    np.testing.assert_allclose(batch[1].numpy(), 2 * (a @ X).numpy())


def test_copies_and_pickles() -> None:
    a = FORMS["csr"]()
    for made in (copy.deepcopy(a), pickle.loads(pickle.dumps(a)), a.clone()):
        assert made.format == "csr"
        np.testing.assert_array_equal(made.to_dense().numpy(), SCIPY.toarray())


def test_patterns_are_static() -> None:
    a = FORMS["csr"]()
    assert (a - a).nnz == a.nnz  # SciPy drops the zeros
    assert (a + 2 * a).pattern is a.pattern
    assert (a * 0).nnz == a.nnz


@forms
def test_a_round_trip_through_scipy_shares_memory(form: str) -> None:
    a = FORMS[form]()
    back = a.to_scipy()
    assert back.format == a.format
    np.testing.assert_array_equal(back.toarray(), SCIPY.toarray())
    assert np.shares_memory(back.data, a.values.numpy())
    lil = SparseTensor.from_scipy(SCIPY.tolil())
    assert lil.format == "csr"
    twice = SparseTensor.from_scipy(sparse.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(2, 2)))
    assert twice.values.tolist() == [3.0]


@forms
def test_without_scipy_products_are_the_same(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    a = FORMS[form]()
    expected = (a @ X).numpy()
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    np.testing.assert_allclose((a @ X).numpy(), expected, rtol=1e-13)
    with pytest.raises(ImportError, match=r"^SparseTensor.to_scipy needs SciPy: pip install scipy$"):
        a.to_scipy()


# Rows and columns that add up to zeros, at elements that stay stored.
CANCELS = sparse.random_array((40, 40), density=0.1, format="csr", rng=DRAW)
CANCELS.data = np.sign(DRAW.normal(size=CANCELS.nnz)) * (np.arange(CANCELS.nnz) % 4 > 0)
TWO: dict[str, Callable[[Any, Any], Any]] = {
    "product": lambda a, b: a @ b,
    "sum": lambda a, b: a + b,
    "elementwise": lambda a, b: a * b,
}


@pytest.mark.parametrize("installed", [True, False])
@pytest.mark.parametrize("name", TWO)
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "int64", "float16"])
def test_two_matrices_of_all_formats_store_what_their_patterns_say(
    name: str, dtype: str, installed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    function, whole = TWO[name], CANCELS.toarray().astype(dtype)
    stored = (CANCELS.indptr, CANCELS.indices)
    ones = sparse.csr_array((np.ones(CANCELS.nnz), CANCELS.indices, CANCELS.indptr), shape=CANCELS.shape)
    values = dk.asarray(CANCELS.data.astype(dtype))
    a = SparseTensor(values, SparsePattern(*stored, CANCELS.shape, "csr"))
    forms = [a, SparseTensor(values[::-1], SparsePattern(a.pattern.rows[::-1], stored[1][::-1], a.shape)), a.mT]
    if not installed:
        monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    for x in forms:
        for y in forms:
            found = function(x, y)
            left, right = (whole.T if form.format == "csc" else whole for form in (x, y))
            np.testing.assert_array_equal(found.to_dense().numpy(), function(left, right))
            assert found.dtype == values.dtype
            assert found.format == ("coo" if x.format == "coo" else found.format)
            structure = function(*(ones.T.toarray() if form.format == "csc" else ones.toarray() for form in (x, y)))
            assert found.nnz == np.count_nonzero(structure)
            again = SparsePattern(found.pattern.first, found.pattern.second, found.shape, found.format)
            assert again == found.pattern


@forms
def test_elements_have_one_order_whether_or_not_a_gradient_is_recorded(form: str) -> None:
    a = SparseTensor.from_scipy(getattr(CANCELS, f"to{form}")() if form in ("coo", "csc") else CANCELS)
    recorded = SparseTensor(a.values.clone().requires_grad_(), a.pattern)
    for function in TWO.values():
        found, expected = function(recorded, a.mT), function(a, a.mT)
        assert found.pattern == expected.pattern
        np.testing.assert_array_equal(found.values.detach().numpy(), expected.values.numpy())


def test_empty_matrices() -> None:
    for shape in ((0, 3), (3, 0), (2, 2)):
        a = SparseTensor.coo(np.empty(0), np.empty(0, int), np.empty(0, int), shape=shape)
        b = SparseTensor.csr(np.empty(0), np.empty(0, int), np.zeros(shape[0] + 1, int), shape=shape)
        for found in (a @ b.mT, b + a, a * b, a + b):
            assert found.nnz == 0
        assert (b.mT @ a).shape == (shape[1], shape[1])
        assert (b @ dk.ones((shape[1], 2))).tolist() == np.zeros((shape[0], 2)).tolist()
        assert b.sum(0).tolist() == [0.0] * shape[1]


def test_what_scipy_stores_twice_or_in_any_order() -> None:
    twice = sparse.csr_array((np.arange(4.0), [2, 0, 0, 0], [0, 3, 4]), shape=(2, 3))
    for matrix in (twice, twice.tocoo(), twice.T):
        found = SparseTensor.from_scipy(matrix)
        np.testing.assert_array_equal(found.to_dense().numpy(), matrix.toarray())
        assert found.nnz == 3
    claims = twice.copy()
    claims.has_canonical_format = True
    with pytest.raises(ValueError, match=r"^SparseTensor: an element is stored twice; SparseTensor.coo"):
        SparseTensor.from_scipy(claims)
    claims.indices[0] = 5
    with pytest.raises(ValueError, match=r"a column index is out of range for an axis of length 3$"):
        SparseTensor.from_scipy(claims)


def test_infinity_times_what_is_not_stored() -> None:
    a = SparseTensor.coo([1.0], [0], [0], shape=(2, 2))
    assert (a @ dk.asarray([1.0, np.inf])).tolist() == [1.0, 0.0]
    with dk.densify(on="allow"), np.errstate(invalid="ignore"):
        np.testing.assert_array_equal((a * np.inf).numpy(), [[np.inf, np.nan], [np.nan, np.nan]])
    with dk.densify(on="error"), pytest.raises(dk.DensifyError, match="SparseTensor"):
        a * np.inf


def test_what_fills_the_zeros_becomes_dense_and_says_why() -> None:
    a = FORMS["csr"]()
    with pytest.warns(dk.DensifyWarning, match="'dispatchkit.add' made SparseTensor dense"):
        a + 1
    assert "what is not stored does not stay zero" in str(dk.explain(dk.add, a, 1, run=True))
    with dk.densify(on="allow"):
        np.testing.assert_allclose((1 - a).numpy(), 1 - SCIPY.toarray())
        np.testing.assert_allclose((a - True).numpy(), SCIPY.toarray() - 1)


def test_it_is_the_weight_of_a_trained_and_saved_layer(tmp_path: Path) -> None:
    layer: Any = dk.nn.Linear(7, 5)
    layer.weight = dk.nn.Parameter(FORMS["csr"]())
    assert "weight=SparseTensor(nnz=10, shape=(5, 7))" in repr(layer)
    optimizer = dk.optim.Adam(layer.parameters(), lr=0.1)
    with dk.densify(on="error"):
        for _ in range(3):
            optimizer.zero_grad()
            (layer(X.mT) ** 2).mean().backward()
            optimizer.step()
    assert type(layer.weight.grad) is SparseTensor
    dk.save(layer.state_dict(), tmp_path / "layer.npz")
    other: Any = dk.nn.Linear(7, 5)
    other.weight = dk.nn.Parameter(FORMS["csr"]())
    other.load_state_dict(dk.load(tmp_path / "layer.npz"))
    assert other(X.mT).tolist() == layer(X.mT).tolist()
    other.load_state_dict(dk.nn.Linear(7, 5).state_dict())
    assert other.weight.nnz == 10


def coo(rows: Any, columns: Any) -> SparseTensor:
    return SparseTensor.coo([1.0, 2.0], rows, columns, shape=(2, 3))


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "twice": (
        lambda: coo([0, 0], [1, 1]),
        ValueError,
        "^SparseTensor: an element is stored twice; SparseTensor.coo",
    ),
    "twice in a row": (
        lambda: SparseTensor.csr([1.0, 2.0, 3.0], [2, 0, 2], [0, 3, 3], shape=(2, 3)),
        ValueError,
        "^SparseTensor: an element is stored twice; SparseTensor.coo",
    ),
    "twice in a column": (
        lambda: SparseTensor([1.0, 2.0, 3.0], SparsePattern([0, 0, 1, 3], [1, 0, 0], (2, 3), "csc")),
        ValueError,
        "^SparseTensor: an element is stored twice; SparseTensor.coo",
    ),
    "row of csc": (
        lambda: SparsePattern([0, 1, 1, 1], [2], (2, 3), "csc"),
        ValueError,
        "a row index is out of range for an axis of length 2$",
    ),
    "column of csr": (
        lambda: SparsePattern([0, 1, 1], [3], (2, 3), "csr"),
        ValueError,
        "a column index is out of range for an axis of length 3$",
    ),
    "range": (lambda: coo([0, 2], [1, 1]), ValueError, "a row index is out of range for an axis of length 2$"),
    "negative": (lambda: coo([0, 1], [1, -1]), ValueError, "a column index is out of range for an axis of length 3$"),
    "lengths": (lambda: coo([0], [1, 1]), ValueError, "there are 1 row indices and 2 column indices$"),
    "floats": (lambda: coo([0.0, 1.0], [1, 1]), TypeError, "vectors of integers, found shape .2,. of float64$"),
    "pointers": (
        lambda: SparseTensor.csr([1.0], [0], [0, 1], shape=(2, 3)),
        ValueError,
        "pointers of csr must rise from 0 to the number of elements, 1, in 3 steps$",
    ),
    "format": (lambda: SparsePattern([0], [0], (1, 1), "dia"), ValueError, "must be 'coo', 'csr' or 'csc', not 'dia'$"),
    "values": (lambda: SparseTensor([1.0], B.pattern), ValueError, r"elements, values have shape \(1,\)$"),
    "product": (
        lambda: B @ X[:5],
        ValueError,
        r"^matmul: arrays of shapes \(5, 7\) and \(5, 3\) cannot be multiplied$",
    ),
    "axis": (lambda: B.sum(2), IndexError, "^sum: axis 2 is out of range for a SparseTensor, which has 2 axes$"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_and_why(name: str) -> None:
    call, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        call()


COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "more": lambda a, b: a > 0,
    "less": lambda a, b: np.less(a, 0),
    "at least": lambda a, b: a >= 0.2,
    "a number": lambda a, b: a == 2.0,
    "not zero": lambda a, b: a != 0,
    "than a row": lambda a, b: a > dk.abs(X[:, 0]),
    "different": lambda a, b: a != b,
    "less than another": lambda a, b: a < b,
    "and": lambda a, b: (a > 0) & (b > 0),
    "or": lambda a, b: (a > 0) | (b > 0),
    "either": lambda a, b: np.logical_xor(a, b),
    "nan": lambda a, b: dk.isnan(a),
    "any": lambda a, b: dk.any(a, axis=0),
    "all": lambda a, b: dk.all(a),
    "not zeros": lambda a, b: dk.count_nonzero(a, axis=1),
    "sum of booleans": lambda a, b: dk.sum(a > 0, axis=0),
    "product of booleans": lambda a, b: (a > 0) @ (b.mT > 0),
    "where not zero": lambda a, b: dk.argwhere(a),
    "first of the largest": lambda a, b: np.argmax(a),
    "smallest of rows": lambda a, b: dk.argmin(a - b, axis=1),
    "remainder": lambda a, b: a % 0.3,
    "floor": lambda a, b: a // dk.asarray(0.3),
    "clipped": lambda a, b: np.clip(a, -0.1, 0.1),
    "cast": lambda a, b: a.astype(np.float32),
}


@forms
@pytest.mark.parametrize("name", COMPARED)
def test_comparisons_and_booleans_stay_sparse_where_zeros_give_false(name: str, form: str) -> None:
    a = FORMS[form]()
    with dk.densify(on="error"):
        found = dense(COMPARED[name](a, B))
    expected = COMPARED[name](a.to_dense(), B.to_dense())
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.numpy(), expected.numpy())


@pytest.mark.parametrize("compare", [lambda a: a < 1, lambda a: a == 0, lambda a: dk.isfinite(a), lambda a: a == a * 1])
def test_a_comparison_that_holds_for_zeros_is_dense_within_the_limit(compare: Any) -> None:
    a = FORMS["csr"]()
    with pytest.warns(dk.DensifyWarning):
        found = compare(a)
    np.testing.assert_array_equal(found.numpy(), compare(a.to_dense()).numpy())
    with dk.densify(limit="10B"), pytest.raises(dk.DensifyError):
        compare(a)


SIZE = 2**21
HUGE = SparseTensor.coo([2.0, -3.0], [0, 5], [5, 7], shape=(SIZE, SIZE))


def test_a_huge_matrix_is_read_sliced_joined_and_reduced_without_its_dense_form() -> None:
    column = 4 * dk.ones((SIZE, 1))
    with dk.densify(on="error"):
        assert [float(HUGE[0, 5]), float(HUGE[-1, 0])] == [2.0, 0.0]
        assert float(HUGE[0].sum()) == float(HUGE[:, 5].sum()) == float(next(iter(HUGE)).sum()) == 2.0
        assert HUGE[:10, :10].to_dense()[5, 7] == -3.0
        assert (HUGE[::-2].nnz, HUGE[[5, 0, 0]].nnz, HUGE[:, [5, 7]].nnz) == (1, 3, 2)
        assert [float(x) for x in (HUGE.max(), HUGE.min(), HUGE.argmax(), HUGE.argmin())] == [2, -3, 5, 5 * SIZE + 7]
        assert [float(dk.sum(dk.max(HUGE, axis=axis))) for axis in (0, 1)] == [2.0, 2.0]
        assert np.asarray((HUGE / column).values).tolist() == [0.5, -0.75]
        assert float(HUGE.sum(axis=0, dtype=np.float32).sum()) == -1.0
        assert (dk.concat([HUGE, HUGE]).shape, dk.concat([HUGE, HUGE], axis=1).nnz) == ((2 * SIZE, SIZE), 4)
        assert dk.count_nonzero(HUGE > 0) == 1
        assert float(dk.linalg.trace(HUGE, offset=5)) == 2.0


def test_gradients_of_a_huge_matrix_and_of_what_it_is_divided_by_take_no_dense_form() -> None:
    values, column = dk.asarray([2.0, -3.0]), 4 * dk.ones((SIZE, 1))

    def total(v: Any, c: Any) -> Any:
        a = SparseTensor(v, HUGE.pattern) / c
        return dk.sum((a * c * c)[:6] * 2) + dk.max(a) + a[5, 7]

    of_values, of_column = dk.func.grad(total, argnums=(0, 1))(values, column)
    assert of_values.tolist() == [8.25, 8.25]
    assert of_column[[0, 1, 5], 0].tolist() == [4 - 0.125, 0.0, -6 + 0.1875]


def test_a_batch_of_values_is_read_and_reduced() -> None:
    a = FORMS["coo"]()
    batch = dk.stack([a.values, -2 * a.values])

    def read(v: Any) -> Any:
        x = SparseTensor(v, a.pattern)
        return dk.max(x, axis=1), x[1], x[[0, 1], [1, 2]], dk.concat([x, x])[3:] @ X[:, 0]

    found = dk.func.vmap(read)(batch)
    for part, expected in zip(found, read(batch[1]), strict=True):
        np.testing.assert_allclose(part[1].numpy(), expected.numpy())


def test_repeated_places_are_added_up_on_request_as_in_the_assembly_of_finite_elements() -> None:
    rows, columns, values = [1, 0, 1, 1], [1, 2, 1, 0], dk.asarray([1.0, 2.0, 4.0, 8.0])
    assert SparseTensor.coo(values, rows, columns, shape=(2, 3), sum_duplicates=True).to_dense().tolist() == [
        [0.0, 0.0, 2.0],
        [8.0, 5.0, 0.0],
    ]
    x = dk.asarray([1.0, 10.0, 100.0])

    def total(v: Any) -> Any:
        return dk.sum(SparseTensor.coo(v, rows, columns, shape=(2, 3), sum_duplicates=True) @ x)

    assert dk.func.grad(total)(values).tolist() == [10.0, 100.0, 10.0, 1.0]
    with pytest.raises(
        ValueError, match=r"stored twice; SparseTensor\.coo\(\.\.\., sum_duplicates=True\) adds them up$"
    ):
        SparseTensor.coo(values, rows, columns, shape=(2, 3))
    with pytest.raises(ValueError, match=r"^SparseTensor: there are 2 indices, values have shape \(3,\)$"):
        SparseTensor.coo([1.0, 2.0, 3.0], [0, 0], [1, 1], shape=(2, 2), sum_duplicates=True)
    with pytest.raises(ValueError, match=r"^SparseTensor: a column index is out of range"):
        SparseTensor.coo([1.0, 2.0], [0, 0], [1, 2], shape=(2, 2), sum_duplicates=True)


def test_booleans_are_stored() -> None:
    a = SparseTensor.coo([True, False], [0, 1], [1, 0], shape=(2, 2))
    assert (a.dtype, a.to_dense().tolist(), a.sum().item()) == (np.bool_, [[False, True], [False, False]], 1)
    assert SparseTensor.from_scipy(a.to_scipy()).to_dense().tolist() == a.to_dense().tolist()


FOR_SCIPY = r"give dispatchkit\.types\.SparseTensor\.from_scipy\(x\), or x\.toarray\(\)$"
WRONG: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "row": (lambda a: a[5], IndexError, "^getitem: index 5 is out of range for an axis of length 5$"),
    "columns": (lambda a: a[:, [0, -8]], IndexError, "^getitem: index -8 is out of range for an axis of length 7$"),
    "three": (lambda a: a[0, 0, 0], IndexError, "^getitem: the index is for more than the two axes of a matrix"),
    "mask": (lambda a: a[[True, False]], IndexError, r"a mask of shape \(2,\) does not fit an axis of length 5$"),
    "float": (lambda a: a[[0.5]], IndexError, "an index must be of integers or booleans, found float64$"),
    "joined": (lambda a: dk.concat([a, a.mT]), ValueError, "^concat: the other axes must be equally long"),
    "SciPy's vector": (
        lambda a: SparseTensor.from_scipy(sparse.coo_array(np.ones(3))),
        ValueError,
        r"^SparseTensor\.from_scipy: matrix must have two axes, found shape \(3,\); a vector becomes one row by",
    ),
    "SciPy's in NumPy": (lambda a: np.add(a, SCIPY), TypeError, FOR_SCIPY),
    "SciPy's": (lambda a: dk.multiply(a, SCIPY), TypeError, FOR_SCIPY),
    "SciPy's as an array": (lambda a: dk.asarray(SCIPY), TypeError, FOR_SCIPY),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_refused(name: str) -> None:
    call, error, message = WRONG[name]
    with pytest.raises(error, match=message):
        call(FORMS["csr"]())


def test_the_distinct_elements_of_a_sparse_matrix_count_what_is_not_stored_as_zeros() -> None:
    x = SparseTensor.coo([2.0, 0.0, 2.0], [0, 0, 1], [0, 1, 1], shape=(2, 3))
    with dk.densify(on="error"):
        assert dk.unique_values(x).tolist() == [0.0, 2.0]
        assert [part.tolist() for part in dk.unique_counts(x)] == [[0.0, 2.0], [4, 2]]
        full = SparseTensor.from_dense(dk.asarray([[1.0, 3.0]]))
        assert [part.tolist() for part in dk.unique_counts(full)] == [[1.0, 3.0], [1, 1]]


@forms
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int64", "bool"])
def test_sums_store_what_either_matrix_does_also_where_zeros_come_out(form: str, dtype: str) -> None:
    a = dk.astype(FORMS[form](), dtype)
    minus = SparseTensor(a.values, a.pattern)
    if dtype != "bool":
        minus = -minus
    joined = SparseTensor.from_dense(minus.to_dense() + dk.astype(B, dtype).to_dense())
    places = [set(zip(x.pattern.rows.tolist(), x.pattern.columns.tolist(), strict=True)) for x in (a, joined)]
    total = a + joined
    assert total.nnz == len(places[0] | places[1])
    assert total.format == ("coo" if form == "coo" else "csr")
    assert total.dtype == dtype
    np.testing.assert_allclose(total.to_dense().numpy(), (a.to_dense() + joined.to_dense()).numpy())


def test_sums_of_plain_matrices_take_no_numbers_of_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dispatchkit.types.sparse.elementwise.union", None)
    a = FORMS["csr"]()
    np.testing.assert_allclose((a + B).to_dense().numpy(), (SCIPY + OTHER).toarray())
    np.testing.assert_allclose((a - B).to_dense().numpy(), (SCIPY - OTHER).toarray())


@forms
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int64", "bool"])
@pytest.mark.parametrize("value", [0.0, 1.0, 1e-30])
def test_products_store_what_both_matrices_do_also_where_zeros_come_out(form: str, dtype: str, value: float) -> None:
    a, b = dk.astype(FORMS[form](), dtype), dk.astype(SparseTensor(B.values * value, B.pattern), dtype)
    a = SparseTensor(a.values * np.asarray(1e-30 if value == 1e-30 else 1, dtype), a.pattern)
    places = [set(zip(x.pattern.rows.tolist(), x.pattern.columns.tolist(), strict=True)) for x in (a, b)]
    product = a * b
    assert product.nnz == len(places[0] & places[1])
    assert product.format == ("coo" if form == "coo" else "csr")
    assert product.dtype == dtype
    np.testing.assert_allclose(product.to_dense().numpy(), (a.to_dense() * b.to_dense()).numpy())


def test_sums_of_positive_elements_have_those_of_both() -> None:
    a, b = (SparseTensor(dk.abs(x.values) + 1.0, x.pattern) for x in (FORMS["csr"](), B))
    np.testing.assert_allclose((a + b).to_dense().numpy(), (a.to_dense() + b.to_dense()).numpy())


def test_indices_that_are_known_to_be_right_are_not_looked_at_one_by_one() -> None:
    values, columns, pointers = np.asarray([1.0, 2.0]), np.asarray([1, 0], np.int32), np.asarray([0, 1, 2], np.int32)
    a = SparseTensor.csr(values, columns, pointers, shape=(2, 2), check=False)
    assert a.to_dense().tolist() == [[0.0, 1.0], [2.0, 0.0]]
    assert np.shares_memory(a.pattern.second, columns)
    many = 10_000
    starts, zeros = np.arange(many + 1), np.zeros(many, int)
    few = steps_of(lambda: SparsePattern(starts, zeros, (many, 1), "csr", check=False))
    assert few < steps_of(lambda: SparsePattern(starts, zeros, (many, 1), "csr"))


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", ">i4", "i8", "u8"])
def test_indices_of_all_dtypes_are_compared_with_the_length(dtype: str) -> None:
    kind = np.dtype(dtype)
    assert SparseTensor.csr([1.0], np.asarray([2], kind), [0, 1], shape=(1, 3)).to_dense().tolist() == [[0.0, 0.0, 1.0]]
    for wrong in (3, np.iinfo(kind).min or 4, np.iinfo(kind).max):
        columns = np.asarray([0, wrong, 1], kind)[::2]
        assert SparseTensor.csr([1.0, 2.0], columns, [0, 2], shape=(1, 3)).nnz == 2
        with pytest.raises(ValueError, match=r"^SparseTensor: a column index is out of range for an axis of length 3$"):
            SparseTensor.csr([1.0, 2.0], np.asarray([0, wrong], kind), [0, 2], shape=(1, 3))


def test_the_numbers_of_indices_are_checked_in_any_case() -> None:
    for check in (True, False):
        with pytest.raises(ValueError, match=r"^SparseTensor: pointers of csr must rise from 0 to the number of elem"):
            SparseTensor.csr([1.0], [0], [0, 2], shape=(1, 1), check=check)
        with pytest.raises(ValueError, match=r"^SparseTensor: there are 1 row indices and 2 column indices$"):
            SparsePattern([0], [0, 1], (1, 2), check=check)
        with pytest.raises(TypeError, match=r"^SparseTensor: indices must be vectors of integers"):
            SparsePattern([0.0], [0.0], (1, 2), check=check)
        with pytest.raises(ValueError, match=r"^SparseTensor: the pattern has 1 elements, values have shape"):
            SparseTensor.csr([1.0, 2.0], [0], [0, 1], shape=(1, 1), check=check)
    with pytest.raises(ValueError, match=r"^SparseTensor: pointers of csr must rise"):
        SparseTensor.csr([1.0, 2.0], [0, 0], [0, 3, 2], shape=(2, 1))


def test_an_element_is_read_without_a_copy_of_all() -> None:
    n = 100_000
    x = SparseTensor.csr(np.full(n, np.inf), np.arange(n), np.arange(n + 1), shape=(n, n))
    assert (x[3, 3].item(), x[3, 4].item(), x[-1, n - 1].item()) == (np.inf, 0.0, np.inf)
    assert x[np.asarray([0, 1, -1]), np.asarray([0, 2, -1])].tolist() == [np.inf, 0.0, np.inf]
    tracemalloc.start()
    try:
        for key in ((3, 3), (3, 4), (np.asarray([1, 2]), np.asarray([1, 3]))):
            x[key]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < n


@pytest.mark.parametrize("key", [(2, 0), (-3, 0), (0, 3)])
def test_an_index_out_of_range_says_of_which_axis(key: tuple[int, int]) -> None:
    x = SparseTensor.csr([1.0], [2], [0, 1, 1], shape=(2, 3))
    wrong, length = (key[0], 2) if key[0] else (key[1], 3)
    with pytest.raises(IndexError, match=f"^getitem: index {wrong} is out of range for an axis of length {length}$"):
        x[key]


@pytest.mark.parametrize("key", [(0, 2), (1, 1), ([0, 1], [2, 0])])
def test_gradients_reach_the_elements_that_are_read(key: Any) -> None:
    values: Any = dk.tensor([2.0, 3.0], requires_grad=True)
    x = SparseTensor.csr(values, [0, 2], [0, 2, 2], shape=(2, 3))
    dense: Any = dk.tensor([[2.0, 0.0, 3.0], [0.0, 0.0, 0.0]], requires_grad=True)
    for matrix in (x, dense):
        (matrix[key] * 2.0).sum().backward()
    assert values.grad.tolist() == dense.grad[0, [0, 2]].tolist()


def test_an_element_of_a_matrix_that_stores_none_is_zero() -> None:
    x = SparseTensor.csr(np.zeros(0, np.float32), [], [0, 0], shape=(1, 2))
    assert (x[0, 1].item(), x[0, 1].dtype, x[0, [0, 1]].shape) == (0.0, np.float32, (2,))
