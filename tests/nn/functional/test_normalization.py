"""The normalizations: against PyTorch, against their definitions, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest

import dispatchkit as dk
from dispatchkit.nn import functional as F  # noqa: N812  # as everybody calls it
from dispatchkit.nn.functional import channels_numpy, normalization, normalization_numpy, rows, small_norms_numpy
from dispatchkit.nn.functional.rows import Rows
from tests.nn.functional.support import agree_with_torch, drawn, gradients, torch_functional

pytestmark = pytest.mark.usefixtures("engine")


def with_positive(index: int, function: Callable[..., Any]) -> Callable[..., Any]:
    """Call a function with the square of an argument in its place, for variances."""
    return lambda *a: function(*[x * x + 0.1 if i == index else x for i, x in enumerate(a)])


@pytest.mark.parametrize("shape", [(4, 3), (4, 3, 5), (2, 3, 4, 5)])
@pytest.mark.parametrize("affine", [False, True])
def test_batch_norm_is_pytorchs(shape: tuple[int, ...], affine: bool) -> None:
    functional = torch_functional()
    parameters = [drawn(3, seed=i) for i in (1, 2)] if affine else []
    agree_with_torch(
        lambda x, *p: F.batch_norm(x, None, None, *p, training=True),
        lambda x, *p: functional.batch_norm(x, None, None, *p, training=True),
        drawn(*shape),
        *parameters,
    )
    mean, var = drawn(3, seed=3), drawn(3, seed=4) ** 2 + 0.1
    torch = pytest.importorskip("torch")
    agree_with_torch(
        lambda x, *p: F.batch_norm(x, dk.tensor(mean), dk.tensor(var), *p, eps=0.1),
        lambda x, *p: functional.batch_norm(x, torch.tensor(mean), torch.tensor(var), *p, eps=0.1),
        drawn(*shape),
        *parameters,
    )


def test_layer_norm_and_group_norm_are_pytorchs() -> None:
    functional = torch_functional()
    x = drawn(2, 4, 3)
    agree_with_torch(lambda *a: F.layer_norm(a[0], 3, *a[1:]), lambda *a: functional.layer_norm(a[0], (3,), *a[1:]), x)
    agree_with_torch(
        lambda x, w, b: F.layer_norm(x, (4, 3), w, b, 0.1),
        lambda x, w, b: functional.layer_norm(x, (4, 3), w, b, 0.1),
        x,
        drawn(4, 3),
        drawn(4, 3, seed=1),
    )
    for groups in (1, 2, 4):
        agree_with_torch(
            lambda x, w, b, n=groups: F.group_norm(x, n, w, b),
            lambda x, w, b, n=groups: functional.group_norm(x, n, w, b),
            x,
            drawn(4),
            drawn(4, seed=1),
        )


@pytest.mark.parametrize("p", [1, 2.0, 3.0, float("inf")])
def test_normalize_is_pytorchs(p: float) -> None:
    functional = torch_functional()
    for axis in (0, 1, -1):
        agree_with_torch(
            lambda x, axis=axis: F.normalize(x, p, axis),
            lambda x, axis=axis: functional.normalize(x, p, axis),
            drawn(3, 4, 2),
        )


@pytest.mark.parametrize("axis", [0, -1, (0, 2), None])
def test_standardize_gives_mean_0_and_variance_1(axis: Any) -> None:
    y, _ = gradients(lambda x: F.standardize(x, axis=axis, eps=0.0), [drawn(3, 4, 5)])
    np.testing.assert_allclose(y.mean(axis=axis), 0, atol=1e-12)
    np.testing.assert_allclose(y.var(axis=axis), 1, atol=1e-12)


@pytest.mark.parametrize("wanted", [(0,), (1,), (2,), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("axis", [-1, (0, 2)])
def test_derivatives_of_any_of_the_arguments_are_finite_differences(wanted: tuple[int, ...], axis: Any) -> None:
    shape = (3,) if axis == -1 else (2, 1)
    arrays = [drawn(2, 2, 3), drawn(*shape, seed=1), drawn(*shape, seed=2)]
    given = [dk.tensor(one, requires_grad=i in wanted) for i, one in enumerate(arrays)]

    def scaled(x: Any, w: Any, b: Any) -> Any:
        return F.standardize(x, w, b, axis=axis, eps=0.1)

    assert dk.autograd.gradcheck(scaled, given, check_forward_ad=True)
    assert dk.autograd.gradgradcheck(scaled, given)


def test_each_normalization_is_its_definition() -> None:
    x, w, b = drawn(4, 6, 2), drawn(6), drawn(6, seed=1)
    mean, var = x.mean((0, 2), keepdims=True), x.var((0, 2), keepdims=True)
    expected = (x - mean) / np.sqrt(var + 1e-5) * w[:, None] + b[:, None]
    given = dk.tensor(x), dk.tensor(w), dk.tensor(b)
    np.testing.assert_allclose(F.batch_norm(given[0], None, None, *given[1:], training=True).numpy(), expected)
    known = [dk.tensor(one.ravel()) for one in (mean, var)]
    np.testing.assert_allclose(F.batch_norm(given[0], *known, *given[1:]).numpy(), expected)  # type: ignore[call-arg]
    grouped = x.reshape(4, 3, 4)
    expected = ((grouped - grouped.mean(2, keepdims=True)) / np.sqrt(grouped.var(2, keepdims=True) + 1e-5)).reshape(
        x.shape
    )
    np.testing.assert_allclose(F.group_norm(given[0], 3).numpy(), expected)
    expected = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(F.layer_norm(given[0], 2).numpy(), expected)
    np.testing.assert_allclose(F.normalize(given[0]).numpy(), x / np.linalg.norm(x, axis=1, keepdims=True))


def test_vectors_of_zeros_stay_zeros() -> None:
    y, (g,) = gradients(F.normalize, [np.zeros((2, 3))])
    assert not y.any()
    assert np.isfinite(g).all()


def test_float32_stays_so() -> None:
    x, p = dk.ones((2, 4), dtype="float32"), dk.ones(4, dtype="float32")
    for y in (
        F.standardize(x),
        F.layer_norm(x, 4, p, p),
        F.batch_norm(x, p, p, p, p),
        F.batch_norm(x, None, None, p, p, training=True),
        F.group_norm(x, 2, p, p),
        F.normalize(x),
    ):
        assert y.dtype == np.float32


X, P = dk.ones((2, 4, 3)), dk.ones(4)
REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "last axes": (
        lambda: F.layer_norm(X, (4, 2)),
        ValueError,
        "layer_norm: argument 'x' has shape (2, 4, 3), expected (..., 4, 2) for normalized_shape=(4, 2)",
    ),
    "weight": (
        lambda: F.layer_norm(X, 3, P),
        ValueError,
        "layer_norm: argument 'weight' has shape (4,), expected (3,) for x of shape (2, 4, 3)",
    ),
    "length": (lambda: F.layer_norm(X, 1.5), TypeError, "layer_norm: normalized_shape must be an int, found 1.5"),  # type: ignore[call-overload]
    "axes": (
        lambda: F.batch_norm(P, training=True),
        ValueError,
        "batch_norm: argument 'x' has shape (4,), expected (N, C, ...)",
    ),
    "statistics": (
        lambda: F.batch_norm(X, dk.ones(3), P),
        ValueError,
        "batch_norm: argument 'running_mean' has shape (3,), expected (4,) for x of shape (2, 4, 3)",
    ),
    "statistics that are not read": (
        lambda: F.batch_norm(X, P, dk.ones((4, 4)), training=True),
        ValueError,
        "batch_norm: argument 'running_var' has shape (4, 4), expected (4,) for x of shape (2, 4, 3)",
    ),
    "no statistics": (
        lambda: F.batch_norm(X, P),
        ValueError,
        "batch_norm: argument 'running_var' is None, expected shape (4,) when not training",
    ),
    "one value": (
        lambda: F.batch_norm(dk.ones((1, 4)), training=True),
        ValueError,
        "batch_norm: argument 'x' has shape (1, 4), expected more than 1 value per channel when training",
    ),
    "groups": (
        lambda: F.group_norm(X, 3),
        ValueError,
        "group_norm: num_groups=3 do not divide the 4 channels of x, shape (2, 4, 3)",
    ),
    "complex": (
        lambda: F.standardize(dk.ones(2, dtype="complex128")),
        TypeError,
        "standardize: argument 'x' must be of real numbers, found complex128",
    ),
    "weight of any shape": (
        lambda: F.standardize(X, P),
        ValueError,
        "standardize: argument 'weight' has shape (4,), expected one that broadcasts to (2, 4, 3)",
    ),
    "axis": (lambda: F.normalize(P), ValueError, "normalize: axis 1 is out of bounds for array of dimension 1"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_named(name: str) -> None:
    call, error, text = REFUSED[name]
    with pytest.raises(error, match=re.escape(text)):
        call()


# What is standardized, the shapes of x and of the parameters, and the axes.
AS_ROWS: dict[str, tuple[tuple[int, ...], tuple[int, ...], Any]] = {
    "short rows": ((3, 5), (5,), -1),
    "blocks of rows": ((700, 140), (140,), -1),
    "long rows": ((2, 3, 4096), (4096,), -1),
    "rows of two axes": ((5, 4, 30), (4, 30), (1, 2)),
    "all": ((6, 50), (1,), None),
    "channels": ((3, 2, 16), (2, 1), (0, 2)),
    "blocks of channels": ((9, 4, 50, 60), (4, 1, 1), (0, 2, 3)),
    "channels of one image": ((1, 4, 50, 60), (4, 1, 1), (0, 2, 3)),
    "groups": ((5, 2, 3, 400), (2, 3, 1), (2, 3)),
    "blocks of groups": ((40, 2, 3, 500), (2, 3, 1), (2, 3)),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", AS_ROWS)
@pytest.mark.parametrize("moved", [0, 3])
def test_rows_are_standardized_in_blocks_as_the_formula_says(
    dtype: str, name: str, moved: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "FEWEST", 1)
    shape, of_parameters, axis = AS_ROWS[name]
    arrays = [(drawn(*shape) + moved).astype(dtype), *[drawn(*of_parameters, seed=i).astype(dtype) for i in (1, 2)]]
    results = []
    for _ in range(2):
        y, found = gradients(lambda x, w, b: F.standardize(x, w, b, axis=axis), arrays)
        results.append([y, *found])
        dk.nn.set_engine("numpy")
        monkeypatch.setattr(normalization, "rows_of", lambda *_: None)
        monkeypatch.delattr(Rows, "standardized", raising=False)
    for one, other in zip(*results, strict=True):
        scale = max(1.0, float(np.abs(other).max()))
        npt.assert_allclose(one, other, rtol=0, atol=scale * (1e-5 if dtype == "float32" else 1e-13))
    monkeypatch.undo()
    monkeypatch.setattr(rows, "FEWEST", 1)
    monkeypatch.delattr(Rows, "standardized")
    with pytest.raises(AttributeError, match="standardized"):
        F.standardize(*map(dk.asarray, arrays), axis=axis)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("float64", 1e-13)])
@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.parametrize("moved", [1, 50])
@pytest.mark.parametrize("lengths", [(2, 4), (8,)])
@pytest.mark.parametrize("long", [5, rows.LONG])
@pytest.mark.parametrize("few", [0, small_norms_numpy.FEW])
def test_layers_are_standardized_in_blocks_or_at_once_as_the_formula_says(
    few: int,
    long: int,
    lengths: tuple[int, ...],
    count: int,
    moved: int,
    dtype: str,
    tolerance: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in {"BLOCK": 24, "LONG": long, "FEW": few}.items():
        monkeypatch.setattr(normalization_numpy, name, value)
    axes = tuple(range(-len(lengths), 0))
    drawn_arrays = drawn(5, 3, *lengths) + moved, drawn(*lengths, seed=1), drawn(*lengths, seed=2)
    arrays = [x.astype(dtype) for x in drawn_arrays[: count + 1]]
    y, found = gradients(lambda x, *p: F.layer_norm(x, lengths, *p), arrays)
    wanted, others = gradients(lambda x, *p: F.standardize(x, *p, axis=axes), arrays)
    for one, other in zip([y, *found], [wanted, *others], strict=True):
        assert one.dtype == dtype
        npt.assert_allclose(one, other, rtol=0, atol=tolerance * max(1.0, float(np.abs(other).max())) * moved)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("float64", 1e-13)])
@pytest.mark.parametrize("eps", [None, 0.1])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("block", [1, 24, normalization_numpy.BLOCK])
def test_rows_are_divided_by_their_root_mean_squares_in_blocks_as_the_formula_says(
    block: int, weighted: bool, eps: float | None, dtype: str, tolerance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(normalization_numpy, "BLOCK", block)
    arrays = [x.astype(dtype) for x in (drawn(5, 3, 2, 4), drawn(2, 4, seed=1))[: 1 + weighted]]
    added = np.finfo(dtype).eps if eps is None else eps

    def by_formula(x: Any, weight: Any = 1.0) -> Any:
        return x / dk.sqrt(dk.mean(x * x, axis=(2, 3), keepdims=True) + added) * weight

    y, of_arrays = gradients(lambda x, weight=None: F.rms_norm(x, (2, 4), weight, eps), arrays)
    wanted, others = gradients(by_formula, arrays)
    for one, other in zip([y, *of_arrays], [wanted, *others], strict=True):
        assert one.dtype == dtype
        npt.assert_allclose(one, other, rtol=0, atol=tolerance * max(1.0, float(np.abs(other).max())))


def test_rows_without_a_finite_mean_square_are_divided_as_the_formula_says_aloud() -> None:
    x = drawn(2, 4).astype("float32")
    x[1, 2] = 3e38
    with np.errstate(all="ignore"):
        y = F.rms_norm(dk.asarray(x), 4).numpy()
    npt.assert_array_equal(y[1], 0)
    assert np.isfinite(y).all()
    with pytest.raises(FloatingPointError), np.errstate(all="raise"):
        F.rms_norm(dk.asarray(x), 4)


def test_a_row_longer_than_a_block_is_standardized() -> None:
    x = drawn(2, normalization_numpy.BLOCK + 1) + 1
    y, (of_x,) = gradients(lambda x: F.layer_norm(x, x.shape[1]), [x])
    wanted, (other,) = gradients(lambda x: F.standardize(x, axis=1), [x])
    npt.assert_allclose(y, wanted, rtol=0, atol=1e-12)
    npt.assert_allclose(of_x, other, rtol=0, atol=1e-12)


# How many groups a batch of a shape is standardized in; None for the channels of all of its images.
AS_SETS: dict[str, tuple[tuple[int, ...], int | None]] = {
    "channels": ((3, 4, 2, 5), None),
    "channels of vectors": ((5, 4), None),
    "channels of one image": ((1, 4, 6), None),
    "groups": ((3, 4, 2, 5), 2),
    "groups of vectors": ((3, 6), 2),
    "groups of one channel": ((3, 4, 5), 4),
}


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("float64", 1e-13)])
@pytest.mark.parametrize("parameters", ["", "w", "b", "wb"])
@pytest.mark.parametrize("name", AS_SETS)
@pytest.mark.parametrize("block", [1, 24, channels_numpy.BLOCK])
@pytest.mark.parametrize("moved", [0, 50])
def test_channels_and_groups_are_standardized_as_the_formula_says(
    name: str, parameters: str, moved: int, block: int, dtype: str, tolerance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channels_numpy, "BLOCK", block)
    if block != 1:  # else at once
        monkeypatch.setattr(channels_numpy, "FEW", 0)
    shape, groups = AS_SETS[name]
    arrays = [(drawn(*shape) + moved).astype(dtype)]
    arrays += [drawn(shape[1], seed=seed).astype(dtype) for seed, _ in enumerate(parameters, start=1)]

    def normalized(x: Any, *affine: Any) -> Any:
        by_name = dict(zip(parameters, affine, strict=True))
        if groups is None:
            return F.batch_norm(x, None, None, by_name.get("w"), by_name.get("b"), training=True)
        return F.group_norm(x, groups, by_name.get("w"), by_name.get("b"))

    def by_formula(x: Any, *affine: Any) -> Any:
        by_name = dict(zip(parameters, (dk.reshape(p, (-1, *[1] * (len(shape) - 2))) for p in affine), strict=True))
        if groups is None:
            y = F.standardize(x, axis=(0, *range(2, len(shape))))
        else:
            y = dk.reshape(F.standardize(dk.reshape(x, (shape[0], groups, -1)), axis=2), shape)
        return y * by_name.get("w", 1.0) + by_name.get("b", 0.0)

    y, found = gradients(normalized, arrays)
    wanted, others = gradients(by_formula, arrays)
    for one, other in zip([y, *found], [wanted, *others], strict=True):
        assert one.dtype == dtype
        scale = max(1.0, float(np.abs(other).max())) * (1 + moved)
        npt.assert_allclose(one, other, rtol=0, atol=tolerance * scale)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 3e38])
def test_channels_without_a_finite_variance_are_standardized_as_the_formula_says_aloud(number: float) -> None:
    x = drawn(2, 4, 5).astype("float32")
    x[1, 2, 3] = number
    with np.errstate(all="ignore"):
        y = F.batch_norm(dk.asarray(x), training=True).numpy()
        wanted = F.standardize(dk.asarray(x), axis=(0, 2)).numpy()
    npt.assert_allclose(y, wanted, rtol=1e-5, atol=1e-5)
    dk.nn.set_engine("numpy")
    if not np.isnan(number):
        with pytest.raises(FloatingPointError), np.errstate(all="raise"):
            F.batch_norm(dk.asarray(x), training=True)
    assert np.isfinite(y[:, [0, 1, 3]]).all()


SMALL: dict[str, Callable[..., Any]] = {
    "layer_norm": lambda x, *p: F.layer_norm(x, x.shape[-1:], *p),
    "group_norm": lambda x, *p: F.group_norm(x, 2, *p),
    "batch_norm": lambda x, *p: F.batch_norm(x, None, None, *p, training=True),
}


@pytest.mark.parametrize("name", SMALL)
def test_norms_of_small_arrays_have_derivatives_of_two_orders(name: str) -> None:
    arrays = [dk.tensor(drawn(*shape, seed=i), requires_grad=True) for i, shape in enumerate([(3, 4, 4), (4,), (4,)])]
    assert dk.autograd.gradcheck(SMALL[name], arrays)
    assert dk.autograd.gradgradcheck(SMALL[name], arrays)


@pytest.mark.parametrize("name", SMALL)
def test_norms_of_small_arrays_are_as_precise_as_single_precision(name: str) -> None:
    x, *parameters = [drawn(*shape, seed=i).astype("float32") for i, shape in enumerate([(6, 4, 8), (4,), (4,)])]
    if name == "layer_norm":
        parameters = [drawn(8, seed=i).astype("float32") for i in (1, 2)]
    x[1] += 300
    found = SMALL[name](dk.asarray(x), *map(dk.asarray, parameters)).numpy()
    wanted = SMALL[name](dk.asarray(x.astype("float64")), *[dk.asarray(p.astype("float64")) for p in parameters])
    assert found.dtype == "float32"
    npt.assert_allclose(found, wanted.numpy(), rtol=0, atol=2e-5)


@pytest.mark.parametrize("name", SMALL)
def test_a_small_array_that_is_changed_after_its_norm_is_named_and_the_result_may_be_changed(name: str) -> None:
    x = dk.tensor(drawn(3, 4, 4), requires_grad=True)
    y = SMALL[name](x * 1.0)
    (wanted,) = dk.autograd.grad(y, [x], dk.asarray(drawn(3, 4, 4, seed=1)))
    inner = x * 1.0
    y = SMALL[name](inner)
    y.detach()[...] = 0.0
    (found,) = dk.autograd.grad(y, [x], dk.asarray(drawn(3, 4, 4, seed=1)))
    npt.assert_array_equal(found.numpy(), wanted.numpy())
    y = SMALL[name](inner)
    inner.detach()[...] = 0.0
    with pytest.raises(RuntimeError, match="was changed by an in-place operation"):
        dk.autograd.grad(y, [x], dk.asarray(drawn(3, 4, 4, seed=1)))


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("number", [1e15, 1e11, -1e11])
def test_norms_of_equal_large_numbers_are_zeros_without_a_warning(name: str, number: float) -> None:
    x = np.full((3, 4, 4), number, "float32")
    dk.nn.set_engine("numpy")
    with np.errstate(all="raise"):
        npt.assert_array_equal(SMALL[name](dk.asarray(x)).numpy(), 0)


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("eps", [0.0, 1e-40])
def test_norms_of_equal_elements_are_those_of_the_formula_where_nothing_is_added(name: str, eps: float) -> None:
    x = np.ones((3, 4, 4))
    calls: dict[str, Callable[..., Any]] = {
        "layer_norm": lambda x: F.layer_norm(x, 4, eps=eps),
        "group_norm": lambda x: F.group_norm(x, 2, eps=eps),
        "batch_norm": lambda x: F.batch_norm(x, training=True, eps=eps),
    }
    with np.errstate(all="ignore"):
        found = calls[name](dk.asarray(x)).numpy()
        npt.assert_array_equal(found, calls[name](dk.asarray(x.astype(">f8"))).numpy())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_far_from_0_keep_their_digits(dtype: str) -> None:
    x = drawn(3, 6400)
    moved = (x + 1000 * np.arange(3.0)[:, None]).astype(dtype)
    precise = moved.astype("float64")
    wanted = (precise - precise.mean(1, keepdims=True)) / np.sqrt(precise.var(1, keepdims=True) + 1e-5)
    found = F.layer_norm(dk.asarray(moved), 6400).numpy()
    npt.assert_allclose(found, wanted, rtol=0, atol=1e-4 if dtype == "float32" else 1e-10)


@pytest.mark.parametrize("row", [0, 1, 2])
def test_one_row_far_from_0_keeps_its_digits_and_leaves_the_others(row: int) -> None:
    x = drawn(3, 64)
    x[row] += 5000
    moved = x.astype("float32")
    precise = moved.astype("float64")
    wanted = (precise - precise.mean(1, keepdims=True)) / np.sqrt(precise.var(1, keepdims=True) + 1e-5)
    npt.assert_allclose(F.layer_norm(dk.asarray(moved), 64).numpy(), wanted, rtol=0, atol=2e-6)


@pytest.mark.parametrize("row", [0, 1, 2])
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 3e38, -3e38])
def test_rows_without_a_finite_variance_are_standardized_as_the_formula_says_aloud(row: int, number: float) -> None:
    x = drawn(3, 8).astype("float32")
    x[row, 5] = number
    weight, bias = (dk.asarray(drawn(8, seed=i).astype("float32")) for i in (1, 2))
    with np.errstate(all="ignore"):
        y = F.layer_norm(dk.asarray(x), 8, weight, bias).numpy()
        wanted = F.standardize(dk.asarray(x), weight, bias).numpy()
    npt.assert_allclose(y, wanted, rtol=1e-5, atol=1e-5)
    dk.nn.set_engine("numpy")
    if not np.isnan(number):
        with pytest.raises(FloatingPointError), np.errstate(all="raise"):
            F.layer_norm(dk.asarray(x), 8, weight, bias)
    assert np.isfinite(np.delete(y, row, 0)).all()


def test_a_batch_may_be_one_large_image() -> None:
    x, w = np.random.default_rng(0).normal(2.0, 3.0, (1, 4, 128, 128)), np.arange(1.0, 5.0)
    image, weight = dk.tensor(x, requires_grad=True), dk.tensor(w, requires_grad=True)
    y = F.batch_norm(image, None, None, weight, dk.zeros(4), training=True)
    standard = (x - x.mean((2, 3), keepdims=True)) / np.sqrt(x.var((2, 3), keepdims=True) + 1e-5)
    npt.assert_allclose(y.detach().numpy(), standard * w[:, None, None], rtol=1e-12, atol=1e-12)
    dk.sum(y * dk.asarray(standard)).backward()
    assert weight.grad is not None
    assert image.grad is not None
    npt.assert_allclose(weight.grad.numpy(), (standard**2).sum((0, 2, 3)), rtol=1e-10)
    npt.assert_allclose(image.grad.numpy().sum((0, 2, 3)), 0.0, atol=1e-8)


@pytest.mark.parametrize("shape", [(4, 8), (256, 256)])
def test_arrays_of_another_byte_order_are_normalized(shape: tuple[int, int]) -> None:
    x = np.random.default_rng(0).normal(size=shape)
    factors = np.linspace(1, 2, shape[1])

    def normalized(numbers: Any, weight: Any) -> tuple[Any, Any]:
        leaf = dk.Tensor(numbers, requires_grad=True)
        y = F.layer_norm(leaf, shape[1:], dk.Tensor(weight), dk.Tensor(weight))
        dk.sum(y * y).backward()
        assert leaf.grad is not None
        return y.detach().numpy(), leaf.grad.numpy()

    for found, expected in zip(normalized(x.astype(">f8"), factors.astype(">f8")), normalized(x, factors), strict=True):
        npt.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
