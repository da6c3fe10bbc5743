"""Pooling: against loops, against PyTorch, ties, and what is refused."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.nn import functional as F  # noqa: N812  # as everybody calls it
from dispatchkit.nn.functional import pooling_numpy
from tests.nn.functional.support import agree_with_torch, drawn, gradients, torch_functional

SIZES = [4, 5, 7]
WINDOWS = list(itertools.product((1, 2, 3, (2, 3)), (None, 1, 2, 3), (0, 1), (1, 2), (False, True)))


@pytest.mark.parametrize("size", SIZES)
def test_max_pool2d_is_pytorchs(size: int) -> None:
    functional = torch_functional()
    x = np.random.default_rng(0).integers(0, 4, (2, 2, size, size + 1)).astype(float)  # with ties
    compared = 0
    for window in WINDOWS:
        try:
            F.max_pool2d(dk.tensor(x), *window)
        except ValueError:
            with pytest.raises(RuntimeError):
                functional.max_pool2d(torch_tensor(x), *window)
            continue
        agree_with_torch(lambda a, w=window: F.max_pool2d(a, *w), lambda a, w=window: functional.max_pool2d(a, *w), x)
        compared += 1
    assert compared > 50


def torch_tensor(x: Any) -> Any:
    return pytest.importorskip("torch").tensor(x)


@pytest.mark.parametrize("size", SIZES)
def test_avg_pool2d_is_pytorchs(size: int) -> None:
    functional = torch_functional()
    x = drawn(2, 2, size, size + 1)
    compared = 0
    for kernel, stride, padding, _, ceil_mode in WINDOWS[::2] + WINDOWS[1::2]:
        for include, divisor in ((True, None), (False, None), (True, 3)):
            window = (kernel, stride, padding, ceil_mode, include, divisor)
            try:
                F.avg_pool2d(dk.tensor(x), *window)
            except ValueError:
                with pytest.raises(RuntimeError):
                    functional.avg_pool2d(torch_tensor(x), *window)
                continue
            agree_with_torch(
                lambda a, w=window: F.avg_pool2d(a, *w), lambda a, w=window: functional.avg_pool2d(a, *w), x
            )
            compared += 1
    assert compared > 50


@pytest.mark.parametrize("window", [(2,), (3, 1, 1), ((2, 1, 3), 2, (1, 0, 1)), (2, 2, 1, True), (3, 2, 1, True)])
def test_volumes_are_pooled_as_by_pytorch(window: Any) -> None:
    functional = torch_functional()
    x = np.random.default_rng(0).integers(0, 4, (2, 2, 5, 4, 6)).astype(float)  # with ties
    kernel, *rest = window
    of_largest = dict(zip(("stride", "padding", "ceil_mode"), rest, strict=False))
    agree_with_torch(
        lambda a: F.max_pool3d(a, kernel, **of_largest), lambda a: functional.max_pool3d(a, kernel, **of_largest), x
    )
    for options in ({}, {"count_include_pad": False}, {"divisor_override": 3}):
        given = {**of_largest, **options}
        agree_with_torch(
            lambda a, g=given: F.avg_pool3d(a, kernel, **g), lambda a, g=given: functional.avg_pool3d(a, kernel, **g), x
        )


@pytest.mark.parametrize("size", [1, (3,), (2, None, 4), (5, 1, 2)])
def test_sequences_and_volumes_are_averaged_to_a_size_as_by_pytorch(size: Any) -> None:
    functional, axes = torch_functional(), 3 if isinstance(size, tuple) and len(size) == 3 else 1
    ours, theirs = (getattr(place, f"adaptive_avg_pool{axes}d") for place in (F, functional))
    agree_with_torch(lambda a: ours(a, size), lambda a: theirs(a, size), drawn(*(2, 3, 5, 4, 6)[-2 - axes :]))


def test_volumes_are_pooled_in_blocks() -> None:
    x = drawn(2, 4, 6, 2)
    blocks = np.moveaxis(x.reshape(2, 2, 2, 3, 2, 1, 2), (2, 4, 6), (-3, -2, -1)).reshape(2, 2, 3, 1, 8)
    y = dk.tensor(x)
    np.testing.assert_array_equal(F.max_pool3d(y, 2).numpy(), blocks.max(-1))
    np.testing.assert_allclose(F.avg_pool3d(y, 2).numpy(), blocks.mean(-1), atol=1e-15)
    np.testing.assert_allclose(F.adaptive_avg_pool3d(y, (2, 3, 1)).numpy(), blocks.mean(-1), atol=1e-15)
    np.testing.assert_allclose(F.adaptive_avg_pool1d(y, 1).numpy(), x.mean(-1, keepdims=True), atol=1e-15)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [1, (1, 3), (2, 3), (4, 3), (2, 1), (12, 3), (4, 24), (12, 24)])
def test_images_are_averaged_in_blocks_of_any_size(size: Any, dtype: str) -> None:
    x = drawn(2, 3, 12, 24).astype(dtype)
    height, width = (size, size) if isinstance(size, int) else size
    wanted = x.reshape(2, 3, height, 12 // height, width, 24 // width).mean((3, 5))
    for given in (x, np.asfortranarray(x), x[..., ::-1][..., ::-1]):
        leaf = dk.tensor(given, requires_grad=True)
        y = F.adaptive_avg_pool2d(leaf, size)
        np.testing.assert_allclose(y.detach().numpy(), wanted, atol=1e-6 if dtype == "float32" else 1e-15, strict=True)
        y.backward(dk.asarray(wanted))
        shares = np.repeat(np.repeat(wanted, 12 // height, 2), 24 // width, 3) * (height * width / 288)
        assert leaf.grad is not None
        np.testing.assert_allclose(leaf.grad.numpy(), shares, rtol=1e-6, strict=True)
    assert F.adaptive_avg_pool2d(dk.zeros((0, 3, 12, 24)), size).shape == (0, 3, height, width)


@pytest.mark.parametrize("size", [1, 2, 3, (2, None), (5, 4), 7])
def test_adaptive_avg_pool2d_is_pytorchs(size: Any) -> None:
    functional = torch_functional()
    for shape in ((2, 3, 5, 4), (1, 6, 7)):
        agree_with_torch(
            lambda a: F.adaptive_avg_pool2d(a, size), lambda a: functional.adaptive_avg_pool2d(a, size), drawn(*shape)
        )


@pytest.mark.parametrize("parameters", [{}, {"stride": 1}, {"stride": 3, "dilation": 2}, {"padding": 1}])
def test_windows_are_those_of_a_loop(parameters: dict[str, int]) -> None:
    x = drawn(2, 7, 8)
    y = F.max_pool2d(dk.tensor(x), 2, **parameters).numpy()  # type: ignore[call-overload]
    step, gap, more = parameters.get("stride", 2), parameters.get("dilation", 1), parameters.get("padding", 0)
    longer = np.pad(x, ((0, 0), (more, more), (more, more)), constant_values=-np.inf)
    for image, row, column in np.ndindex(*y.shape):
        i, j = row * step, column * step
        assert y[image, row, column] == longer[image, i : i + gap + 1 : gap, j : j + gap + 1 : gap].max()
    assert y.shape[1:] == tuple((n + 2 * more - gap - 1) // step + 1 for n in x.shape[1:])


def test_of_equal_elements_the_first_in_a_row_gets_the_gradient() -> None:
    x = np.array([[1.0, 2.0, 0.0], [2.0, 0.0, 2.0]])
    _, (g,) = gradients(lambda a: F.max_pool2d(a, 2, 1), [x])
    expected = np.zeros((2, 3))
    expected[0, 1] = drawn(1, 2, seed=9).sum()
    np.testing.assert_allclose(g, expected)


def test_elements_beyond_the_last_window_get_nothing() -> None:
    _, (g,) = gradients(lambda a: F.max_pool2d(a, 2), [drawn(5, 5)])
    assert not g[4].any()
    assert not g[:, 4].any()
    assert np.count_nonzero(g) == 4


def test_a_window_with_a_nan_is_one() -> None:
    x = np.array([[1.0, np.nan, 3.0, 4.0], [0.0, 0.0, 0.0, 0.0]])
    y, (g,) = gradients(lambda a: F.max_pool2d(a, 2), [x])
    assert np.isnan(y[0, 0])
    assert y[0, 1] == 4
    assert not g[:, :2].any()


@pytest.mark.parametrize("dtype", ["int64", "uint8", "bool", "float32"])
def test_dtypes(dtype: str) -> None:
    x = dk.asarray(np.arange(16).reshape(4, 4) % 5 - (dtype == "int64") * 7).astype(dtype)
    y = F.max_pool2d(x, 2, padding=1)
    assert y.dtype == x.dtype
    assert y[1, 1].item() == x[1:3, 1:3].max().item()
    mean = F.avg_pool2d(x, 2)
    assert mean.dtype == ("float32" if dtype == "float32" else "float64")


def test_a_result_is_no_view() -> None:
    x = dk.tensor(drawn(3, 3))
    for y in (F.max_pool2d(x, 1), F.avg_pool2d(x, 1), F.adaptive_avg_pool2d(x, 3)):
        assert not np.may_share_memory(y.array, x.array)
        assert y.tolist() == x.tolist()


X = dk.ones((2, 4, 4))
REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "axes": (
        lambda: F.max_pool2d(dk.ones(4), 2),
        ValueError,
        "max_pool2d: argument 'x' has shape (4,), expected (..., H, W)",
    ),
    "size": (
        lambda: F.max_pool2d(X, 5),
        ValueError,
        "max_pool2d: argument 'x' has shape (2, 4, 4), whose images are smaller than the windows of kernel_size=(5, 5)",
    ),
    "padding": (
        lambda: F.avg_pool2d(X, 2, padding=2),
        ValueError,
        "avg_pool2d: padding must be at most half of kernel_size=(2, 2), found (2, 2)",
    ),
    "kernel": (lambda: F.max_pool2d(X, 0), ValueError, "max_pool2d: kernel_size must be at least 1, found 0"),
    "no int": (lambda: F.max_pool2d(X, "2"), TypeError, "max_pool2d: kernel_size must be an int, found '2'"),  # type: ignore[call-overload]
    "divisor": (
        lambda: F.avg_pool2d(X, 2, divisor_override=0),
        ValueError,
        "avg_pool2d: divisor_override must not be zero",
    ),
    "output": (
        lambda: F.adaptive_avg_pool2d(X, (1, 2, 3)),  # type: ignore[arg-type]
        ValueError,
        "adaptive_avg_pool2d: output_size must be an int or a pair of ints, found (1, 2, 3)",
    ),
    "kernel of volumes": (
        lambda: F.avg_pool3d(X, (2, 2)),  # type: ignore[arg-type]
        ValueError,
        "avg_pool3d: kernel_size must be an int or a triple of ints, found (2, 2)",
    ),
    "volumes": (
        lambda: F.max_pool3d(X, 3),
        ValueError,
        "max_pool3d: argument 'x' has shape (2, 4, 4), whose volumes are smaller than the windows of",
    ),
    "empty": (
        lambda: F.adaptive_avg_pool2d(dk.ones((2, 0, 3)), 1),
        ValueError,
        "adaptive_avg_pool2d: argument 'x' has shape (2, 0, 3), expected (..., H, W) with elements",
    ),
    "complex": (
        lambda: F.max_pool2d(dk.ones((2, 2), dtype="complex128"), 2),
        TypeError,
        "max_pool2d: argument 'x' must be of real numbers, found complex128",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_named(name: str) -> None:
    call, error, text = REFUSED[name]
    with pytest.raises(error, match=re.escape(text)):
        call()


@pytest.mark.parametrize("name", ["max_pool2d", "max_pool3d"])
def test_largest_elements_are_kept_though_the_result_is_changed(name: str) -> None:
    pool = getattr(F, name)
    data = drawn(2, 3, 6, 6).astype("float32")
    gradients_of = []
    for change in (False, True):
        x = dk.tensor(data, requires_grad=True)
        y = pool(x, 2)
        total = dk.sum(y)
        if change:
            with dk.no_grad():
                y.array[...] = 0.0
        total.backward()
        assert x.grad is not None
        gradients_of.append(x.grad.numpy())
    np.testing.assert_array_equal(*gradients_of)
    assert gradients_of[0].sum() == y.size


@pytest.mark.parametrize("small", [0, pooling_numpy.SMALL])
@pytest.mark.parametrize("many", [1, pooling_numpy.MANY])
@pytest.mark.parametrize("window", [(2,), (3, 2, 1), ((2, 3),), (2, 3), (2, 1, 1, 2), (3, 2, 1, 2, True), (4,)])
def test_the_largest_elements_are_pytorchs_however_they_are_found(
    window: tuple[Any, ...], many: int, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    functional = torch_functional()
    monkeypatch.setattr(pooling_numpy, "SMALL", small)
    monkeypatch.setattr(pooling_numpy, "MANY", many)
    x = np.random.default_rng(0).integers(0, 3, (3, 2, 9, 8)).astype(float)  # with ties
    x[0, 0, :4, :4] = -np.inf
    agree_with_torch(lambda a: F.max_pool2d(a, *window), lambda a: functional.max_pool2d(a, *window), x)
    agree_with_torch(lambda a: F.max_pool3d(a, 2, 1, 1), lambda a: functional.max_pool3d(a, 2, 1, 1), x)


@pytest.mark.parametrize("small", [0, pooling_numpy.SMALL])
@pytest.mark.parametrize("window", [(2,), (3, 2, 1), (5,), (5, 1)])
def test_a_window_with_a_nan_is_one_and_gives_its_cotangent_to_no_element(
    window: tuple[Any, ...], small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pooling_numpy, "SMALL", small)
    x = drawn(2, 2, 6, 6).astype("float32")
    x[0, 1, 2, 3] = np.nan
    leaf = dk.tensor(x, requires_grad=True)
    y = F.max_pool2d(leaf, *window)
    is_nan = np.isnan(y.detach().numpy())
    assert is_nan.any()
    assert not is_nan[1].any()
    dk.sum(y).backward()
    assert leaf.grad is not None
    assert leaf.grad.dtype == dk.float32
    assert leaf.grad.numpy().sum() == (~is_nan).sum()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8", "bool", "float16"])
@pytest.mark.parametrize("small", [0, pooling_numpy.SMALL])
def test_the_largest_elements_keep_their_dtype(dtype: str, small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pooling_numpy, "SMALL", small)
    x = np.random.default_rng(0).integers(0, 9, (2, 1, 4, 4)).astype(dtype)
    y = F.max_pool2d(dk.asarray(x), 3, 2, 1).numpy()
    assert y.dtype == dtype
    assert y[0, 0, 1, 1] == x[0, 0, 1:, 1:].max()


@pytest.mark.parametrize("most", [0, pooling_numpy.MOST])
@pytest.mark.parametrize("size", [1, 2, 3, (2, 5), (4, 6)])
def test_adaptive_averages_are_pytorchs_however_they_are_summed(
    size: Any, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    functional = torch_functional()
    monkeypatch.setattr(pooling_numpy, "MOST", most)
    x = drawn(2, 3, 4, 6)
    agree_with_torch(lambda a: F.adaptive_avg_pool2d(a, size), lambda a: functional.adaptive_avg_pool2d(a, size), x)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 1e300])
def test_what_is_not_finite_has_part_in_the_averages_of_its_own_windows_alone(number: float) -> None:
    x, g = drawn(1, 2, 4, 4), drawn(1, 2, 2, 2)
    x[0, 0, 1, 2], g[0, 1, 0, 1] = number, number
    for pool in (F.avg_pool2d, F.adaptive_avg_pool2d):
        leaf = dk.tensor(x, requires_grad=True)
        y = pool(leaf, 2)
        wanted = x.reshape(1, 2, 2, 2, 2, 2).mean((3, 5))
        np.testing.assert_allclose(y.detach().numpy(), wanted, rtol=1e-14)
        y.backward(dk.asarray(g))
        assert leaf.grad is not None
        np.testing.assert_allclose(leaf.grad.numpy(), np.repeat(np.repeat(g / 4, 2, 2), 2, 3), rtol=1e-14)


@pytest.mark.parametrize("pool", [F.avg_pool2d, F.adaptive_avg_pool2d, F.max_pool2d])
def test_pools_of_small_images_have_derivatives_of_two_orders(pool: Any) -> None:
    x = dk.tensor(np.random.default_rng(0).permutation(np.arange(32.0)).reshape(2, 1, 4, 4) / 8, requires_grad=True)
    assert dk.autograd.gradcheck(lambda x: pool(x, 2), [x])
    assert dk.autograd.gradgradcheck(lambda x: pool(x, 2) * pool(x, 2), [x])
