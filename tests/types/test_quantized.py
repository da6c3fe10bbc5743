"""`QuantizedTensor`: how near it is, what it stores, how gradients reach its scales, and what it refuses."""

from __future__ import annotations

import copy
import pickle
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.types import QuantizedTensor
from dispatchkit.types.quantized import BLOCK

DENSE = dk.asarray(np.random.default_rng(0).normal(size=(5, 7)))
QUANTISED = QuantizedTensor.from_dense(DENSE)
X = dk.asarray(np.random.default_rng(1).normal(size=(3, 7)))

KEPT: dict[str, Callable[[Any], Any]] = {
    "transpose": lambda w: w.mT,
    "T": lambda w: w.T,
    "permuted": lambda w: dk.permute_dims(w, (1, 0)),
    "negative": lambda w: -w,
    "times a number": lambda w: 2 * w,
    "times a tensor": lambda w: w * dk.asarray(0.5),
    "over a number": lambda w: w / 4,
    "slice of rows": lambda w: w[1:3],
    "slice of both": lambda w: w[1:3, 2:],
    "joined": lambda w: dk.concat([w, w]),
    "joined columns of the transpose": lambda w: dk.concat([w.mT, w.mT], axis=1),
    "single precision": lambda w: dk.astype(w, dk.float32),
    "copy": copy.deepcopy,
}
READ: dict[str, Callable[[Any], Any]] = {
    "x @ w.mT": lambda w: X @ w.mT,
    "x @ w": lambda w: X[:, :5] @ w,
    "w @ x": lambda w: w @ X.mT,
    "w @ vector": lambda w: w @ X[0],
    "vector @ w.mT": lambda w: X[0] @ w.mT,
    "stack @ w.mT": lambda w: dk.stack([X, X]) @ w.mT,
    "linear": lambda w: dk.nn.functional.linear(X, w, dk.ones(5)),
    "embedding": lambda w: dk.nn.functional.embedding(dk.asarray([[0, 4], [2, 2]]), w),
    "sum": lambda w: w.sum(),
    "sum of columns": lambda w: w.sum(0),
    "sum of rows": lambda w: w.sum(-1, keepdims=True),
    "sum of the transpose": lambda w: w.mT.sum(axis=(0,)),
    "row": lambda w: w[1],
    "element": lambda w: w[1, -1],
    "part of a column": lambda w: w[1:, 2],
    "rows": lambda w: w[dk.asarray([3, 0, 3])],
    "taken": lambda w: dk.take(w, dk.asarray([3, 0]), axis=0),
    "taken of the transpose": lambda w: dk.take(w.mT, dk.asarray([3, 0]), axis=1),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_keeps_the_integers_keeps_the_type(name: str) -> None:
    with dk.densify(on="error"):
        found = KEPT[name](QUANTISED)
    assert type(found) is QuantizedTensor
    assert found.data.dtype == np.int8
    np.testing.assert_allclose(found.to_dense().numpy(), KEPT[name](QUANTISED.to_dense()).numpy(), rtol=1e-6)


@pytest.mark.parametrize("name", READ)
def test_what_is_read_is_dequantised_in_part(name: str) -> None:
    with dk.densify(on="error"):
        found = READ[name](QUANTISED)
    np.testing.assert_allclose(found.numpy(), READ[name](QUANTISED.to_dense()).numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", READ)
def test_gradients_reach_the_scales(name: str) -> None:
    scale = QUANTISED.scale.clone().requires_grad_()

    def function(scale: Any) -> Any:
        return READ[name](QuantizedTensor(QUANTISED.data, scale))

    assert dk.autograd.gradcheck(function, (scale,))
    assert dk.autograd.gradgradcheck(function, (scale,))


def test_gradients_reach_the_other_factor_in_all_transformations() -> None:
    w, dense = QUANTISED, QUANTISED.to_dense()

    def loss(x: Any, matrix: Any) -> Any:
        return dk.sum((x @ matrix.mT) ** 3)

    with dk.densify(on="error"):
        found = (
            dk.func.grad(loss)(X, w),
            dk.func.vmap(lambda x: dk.func.grad(loss)(x, w))(X),
            dk.func.hessian(loss)(X[0], w),
            dk.func.jvp(lambda x: loss(x, w), (X,), (X,))[1],
        )
    expected = (
        dk.func.grad(loss)(X, dense),
        dk.func.vmap(lambda x: dk.func.grad(loss)(x, dense))(X),
        dk.func.hessian(loss)(X[0], dense),
        dk.func.jvp(lambda x: loss(x, dense), (X,), (X,))[1],
    )
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_each_element_is_within_half_a_step_of_the_dense_one(dtype: str) -> None:
    x = dk.astype(DENSE * 100, dtype)
    q = QuantizedTensor.from_dense(x)
    assert q.dtype == np.dtype(dtype)
    assert np.abs(q.data.numpy()).max(axis=1).tolist() == [127] * 5
    steps = np.abs(q.to_dense().numpy().astype(float) - x.numpy().astype(float)) / q.scale.numpy()[:, None].astype(
        float
    )
    assert steps.max() < 0.5 + 127 * 4 * float(np.finfo(dtype).eps)


def test_a_row_of_zeros_has_scale_1_and_the_smallest_numbers_are_kept() -> None:
    q = QuantizedTensor.from_dense(dk.asarray([[0.0, 0.0], [5e-324, 0.0], [1.0, -2.0]]))
    assert q.scale.tolist()[:2] == [1.0, 5e-324]
    assert q.to_dense()[1].tolist() == [5e-324, 0.0]
    assert q.data.tolist() == [[0, 0], [1, 0], [64, -127]]
    assert QuantizedTensor.from_dense(dk.ones((0, 3))).shape == (0, 3)
    assert QuantizedTensor.from_dense(dk.ones((3, 0))).to_dense().shape == (3, 0)


def test_products_in_half_precision_do_not_leave_its_range() -> None:
    w = QuantizedTensor.from_dense(dk.full((2, 1000), 0.5, dtype="float16"))
    found = dk.ones(1000, dtype="float16") @ w.mT
    assert found.dtype == np.float16
    assert found.tolist() == pytest.approx([500.0, 500.0], rel=1e-3)


def test_a_product_and_its_gradient_store_no_dense_weight() -> None:
    rows, columns = 2000, 1000
    w = QuantizedTensor(dk.ones((rows, columns), dtype="int8"), dk.ones(rows, dtype="float32"))
    x = dk.ones((1, columns), dtype="float32", requires_grad=True)
    tracemalloc.start()
    try:
        with dk.densify(on="error"):
            (x @ w.mT).sum().backward()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert x.grad is not None
    assert x.grad.tolist()[0][0] == rows
    assert peak < rows * columns  # bytes; the dense weight has four times as many


def test_dequantising_the_whole_is_reported() -> None:
    with pytest.warns(dk.DensifyWarning, match="'dispatchkit.exp' made QuantizedTensor dense"):
        dk.exp(QUANTISED)
    with dk.densify(on="error"), pytest.raises(dk.DensifyError, match="QuantizedTensor"):
        QUANTISED + QUANTISED


def test_it_is_the_weight_of_a_trained_and_saved_layer(tmp_path: Path) -> None:
    layer: Any = dk.nn.Linear(7, 5)
    layer.weight = dk.nn.Parameter(QUANTISED)
    assert [name for name, _ in layer.named_parameters()] == ["weight.scale", "bias"]
    optimizer = dk.optim.AdamW(layer.parameters(), lr=0.1)
    with dk.densify(on="error"):
        for _ in range(3):
            optimizer.zero_grad()
            (layer(X) ** 2).mean().backward()
            optimizer.step()
    dk.save(layer.state_dict(), tmp_path / "layer.npz")
    other: Any = dk.nn.Linear(7, 5)
    other.weight = dk.nn.Parameter(QuantizedTensor.from_dense(dk.zeros((5, 7))))
    other.load_state_dict(dk.load(tmp_path / "layer.npz"))
    np.testing.assert_array_equal(other(X).tolist(), layer(X).tolist())
    again = pickle.loads(pickle.dumps(QUANTISED))
    np.testing.assert_array_equal(again.to_dense().numpy(), QUANTISED.to_dense().numpy())


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "wide integers": (
        lambda: QuantizedTensor([[1]], [1.0]),
        TypeError,
        "^QuantizedTensor: data must be of dtype int8, not int64$",
    ),
    "scales of integers": (
        lambda: QuantizedTensor(QUANTISED.data, [1] * 5),
        TypeError,
        "scale must be of real floating-point numbers, not of dtype int64$",
    ),
    "shapes": (
        lambda: QuantizedTensor(QUANTISED.data, QUANTISED.scale, -1),
        ValueError,
        r"with an element for each column; found shapes \(5, 7\) and \(5,\)$",
    ),
    "axis": (
        lambda: QuantizedTensor(QUANTISED.data, QUANTISED.scale, 0),
        ValueError,
        r"axis must be -2 \(rows\) or -1 \(columns\), not 0$",
    ),
    "integers": (lambda: QuantizedTensor.from_dense([[1]]), TypeError, "real floating-point numbers, not int64$"),
    "vector": (lambda: QuantizedTensor.from_dense([1.0]), ValueError, r"x must be a matrix, found shape \(1,\)$"),
    "infinity": (lambda: QuantizedTensor.from_dense([[np.inf]]), ValueError, "x holds infinities or NaN"),
    "product": (
        lambda: X @ QUANTISED,
        ValueError,
        r"^matmul: arrays of shapes \(3, 7\) and \(5, 7\) cannot be multiplied$",
    ),
    "product from the left": (lambda: QUANTISED @ X, ValueError, r"shapes \(5, 7\) and \(3, 7\) cannot"),
    "axis of a sum": (lambda: QUANTISED.sum(2), IndexError, "^sum: axis 2 is out of range for a QuantizedTensor"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_and_why(name: str) -> None:
    call, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    ("dtype", "size"),
    [("float16", 1.5e-3), ("float16", 1e-5), ("float32", 1e-38), ("float32", 1e-41), ("float64", 1e-310)],
)
def test_rows_of_small_numbers_are_kept(dtype: str, size: float) -> None:
    x = (DENSE.numpy() * size).astype(dtype)
    q = QuantizedTensor.from_dense(x)
    assert q.dtype == np.dtype(dtype)
    wide = x.astype(np.float64)
    largest = np.abs(wide).max(axis=1, keepdims=True)
    away = np.abs(q.to_dense().numpy().astype(np.float64) - wide)
    step = float(np.finfo(dtype).smallest_subnormal)
    assert (away <= largest / 254 * 1.02 + step).all()
    assert QuantizedTensor.from_dense(x.T, q.mT).to_dense().numpy().any()


def test_scales_of_half_precision_are_single_and_results_half() -> None:
    q = QuantizedTensor.from_dense(np.full((2, 700), 1e-4, np.float16))
    assert (q.dtype, q.scale.dtype) == (np.float16, np.float32)
    results = (q.mT, -q, 2 * q, q / 2, q[:1], q[0], q[0, 0], q.sum(0), q.sum(), dk.concat([q, q]), dk.clone(q))
    assert {result.dtype for result in results} == {np.dtype(np.float16)}
    assert dk.astype(q, dk.float64).dtype == np.float64
    assert float(q.sum()) == pytest.approx(0.14, rel=2e-3)
    assert pickle.loads(pickle.dumps(q)).dtype == np.float16


def test_sums_of_many_integers_do_not_leave_half_precision() -> None:
    q = QuantizedTensor.from_dense(np.full((1, 1000), 0.5, np.float16))
    assert float(q.sum(-1)[0]) == pytest.approx(500.0, rel=1e-3)


def test_a_layer_takes_a_checkpoint_of_half_precision() -> None:
    layer = dk.nn.Linear(7, 5, bias=False)
    layer.weight = dk.nn.Parameter(QuantizedTensor.from_dense(dk.astype(DENSE, dk.float32)))
    small = (DENSE.numpy() * 1e-3).astype(np.float16)
    layer.load_state_dict({"weight": dk.asarray(small)})
    np.testing.assert_allclose(layer.weight.to_dense().detach().numpy(), small, atol=2e-5)


def test_the_dtype_of_elements_is_one_of_real_numbers() -> None:
    with pytest.raises(TypeError, match="elements must be a dtype of real floating-point numbers, not int64"):
        QuantizedTensor(QUANTISED.data, QUANTISED.scale, -2, "int64")


@pytest.mark.parametrize("shape", [(7,), (1, 7), (2, 3, 7)])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64])
def test_small_products_have_the_values_and_the_dtype_of_the_dense_ones(shape: tuple[int, ...], dtype: Any) -> None:
    q = QuantizedTensor.from_dense(dk.astype(DENSE, dk.float32))
    x = dk.asarray(np.arange(np.prod(shape)).reshape(shape).astype(dtype))
    for y, wanted in ((x @ q.mT, x @ q.to_dense().mT), (x[..., :5] @ q, x[..., :5] @ q.to_dense())):
        assert y.dtype == wanted.dtype
        np.testing.assert_allclose(y.numpy(), wanted.numpy(), rtol=2e-3)


@pytest.mark.parametrize("block", [1, 14, 1000])
@pytest.mark.parametrize("shape", [(7,), (2, 7), (2, 3, 7)])
def test_products_by_blocks_of_rows_are_those_with_the_whole_matrix(
    shape: tuple[int, ...], block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dispatchkit.types.quantized.BLOCK", block)
    x = dk.asarray(np.random.default_rng(2).normal(size=shape))
    for matrix in (QUANTISED, QUANTISED.mT):
        vectors = x
        if matrix.shape[1] != 7:
            vectors = x[..., :5]
        np.testing.assert_allclose((vectors @ matrix.mT).numpy(), (vectors @ matrix.to_dense().mT).numpy())


def test_a_product_of_plain_arrays_keeps_one_block_of_integers_that_are_converted() -> None:
    w = QuantizedTensor(dk.ones((2000, 1000), dtype="int8"), dk.ones(2000, dtype="float32"))
    for x, matrix in ((dk.ones((1, 1000), dtype="float32"), w.mT), (dk.ones((1, 2000), dtype="float32"), w)):
        x @ matrix
        tracemalloc.start()
        try:
            x @ matrix
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 2 * 4 * BLOCK


def test_infinite_scales_multiply_sums_also_of_plain_arrays() -> None:
    w = QuantizedTensor(dk.asarray([[1], [0]], dtype="int8"), dk.asarray([np.inf, 1.0]))
    with pytest.warns(dk.DensifyWarning, match="QuantizedTensor"):
        assert (dk.ones((1, 1)) @ w.mT).tolist() == [[np.inf, 0.0]]
