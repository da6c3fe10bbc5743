"""Convolutions of sequences, images and volumes: against loops, against PyTorch, in blocks, and what they refuse."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dispatchkit as dk
from dispatchkit.nn import functional as F  # noqa: N812  # as everybody calls it
from dispatchkit.nn.functional import windows
from tests.declared import OPERATIONS
from tests.nn.functional.support import agree_with_torch, drawn, gradients, torch_functional

# Images, weight, parameters.
CALLS: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "plain": ((2, 3, 7, 6), (4, 3, 3, 2), {}),
    "stride, padding, groups": ((2, 4, 7, 6), (4, 2, 3, 2), {"stride": 2, "padding": 1, "groups": 2}),
    "pairs": ((1, 2, 9, 9), (4, 2, 3, 3), {"stride": (2, 1), "padding": (1, 2), "dilation": [2, 1]}),
    "pointwise": ((3, 2, 5, 5), (3, 2, 1, 1), {}),
    "pointwise, padded": ((3, 2, 5, 5), (3, 2, 1, 1), {"padding": 1}),
    "pointwise, strided": ((3, 2, 5, 5), (3, 2, 1, 1), {"stride": 2, "padding": 1}),
    "pointwise, groups": ((3, 4, 3, 3), (6, 2, 1, 1), {"groups": 2}),
    "same": ((2, 2, 5, 5), (2, 2, 3, 2), {"padding": "same", "dilation": 2}),
    "valid": ((2, 2, 5, 5), (2, 2, 3, 2), {"padding": "valid"}),
    "a filter for each channel": ((2, 3, 5, 5), (6, 1, 3, 3), {"groups": 3, "dilation": 2, "padding": 2}),
    "a filter for two channels": ((3, 4, 5, 4), (2, 2, 3, 2), {"groups": 2, "padding": 1}),
    "one image": ((3, 5, 5), (2, 3, 2, 2), {}),
    "the whole image": ((2, 3, 4, 4), (5, 3, 4, 4), {}),
    "an end that no window reaches": ((2, 1, 6, 8), (1, 1, 2, 3), {"stride": 3}),
    "a stride and gaps": ((2, 2, 19, 21), (3, 2, 3, 3), {"padding": 2, "stride": 3, "dilation": 2}),
    "a stride longer than windows": ((2, 2, 12, 12), (3, 2, 2, 2), {"padding": 1, "stride": 4}),
    "more padding than a window": ((2, 1, 3, 3), (1, 1, 2, 2), {"padding": 4, "stride": 3}),
}


def looped(
    x: Any, weight: Any, bias: Any, *, stride: int = 1, padding: int = 0, dilation: int = 1, groups: int = 1
) -> Any:
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    n, c, height, width = x.shape
    o, _, kh, kw = weight.shape
    rows = (height - dilation * (kh - 1) - 1) // stride + 1
    columns = (width - dilation * (kw - 1) - 1) // stride + 1
    y = np.zeros((n, o, rows, columns))
    for image, out, row, column in np.ndindex(*y.shape):
        first = out // (o // groups) * (c // groups)
        for channel, i, j in np.ndindex(*weight.shape[1:]):
            value = x[image, first + channel, row * stride + i * dilation, column * stride + j * dilation]
            y[image, out, row, column] += value * weight[out, channel, i, j]
        y[image, out, row, column] += bias[out]
    return y


@given(
    st.tuples(st.integers(1, 2), st.integers(1, 2), st.integers(1, 2)),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.integers(5, 7), st.integers(5, 6)),
    st.fixed_dictionaries({"stride": st.integers(1, 3), "padding": st.integers(0, 2), "dilation": st.integers(1, 2)}),
)
def test_values_are_those_of_a_loop(
    counts: tuple[int, int, int], kernel: tuple[int, int], size: tuple[int, int], parameters: dict[str, int]
) -> None:
    groups, channels, filters = counts
    x, weight = drawn(2, groups * channels, *size), drawn(groups * filters, channels, *kernel)
    bias = drawn(groups * filters)
    y = F.conv2d(dk.tensor(x), dk.tensor(weight), dk.tensor(bias), groups=groups, **parameters)
    np.testing.assert_allclose(y.numpy(), looped(x, weight, bias, groups=groups, **parameters), atol=1e-12)


@pytest.mark.parametrize("name", CALLS)
def test_values_and_gradients_are_pytorchs(name: str) -> None:
    functional = torch_functional()
    shape, of_weight, parameters = CALLS[name]
    agree_with_torch(
        lambda *a: F.conv2d(*a, **parameters),
        lambda *a: functional.conv2d(*a, **parameters),
        drawn(*shape),
        drawn(*of_weight),
        drawn(of_weight[0]),
    )


def test_filters_of_one_channel_are_summed_over_shifted_images(monkeypatch: pytest.MonkeyPatch) -> None:
    shape, of_weight, parameters = CALLS["a filter for each channel"]
    arrays = drawn(*shape), drawn(*of_weight), drawn(of_weight[0])

    def computed() -> list[Any]:
        y, found = gradients(lambda *a: F.conv2d(*a, **parameters), arrays)
        return [y, *found]

    shifted = computed()
    monkeypatch.setattr(windows, "is_depthwise", lambda *_: False)
    monkeypatch.setattr(windows, "_pieces", None)
    for one, other in zip(shifted, computed(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
    monkeypatch.setattr(windows, "is_depthwise", lambda *_: True)
    with pytest.raises(TypeError, match="'NoneType' object is not callable"):
        computed()


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("block", [1, 200])
def test_blocks_of_images_give_what_all_at_once_give(name: str, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    shape, of_weight, parameters = CALLS[name]
    arrays = drawn(*shape), drawn(*of_weight), drawn(of_weight[0])
    y, found = gradients(lambda *a: F.conv2d(*a, **parameters), arrays)
    monkeypatch.setattr(windows, "BLOCK", block)
    monkeypatch.setattr(windows, "SHIFTED_BLOCK", block // 2)
    again, pieces = gradients(lambda *a: F.conv2d(*a, **parameters), arrays)
    for one, other in zip((y, *found), (again, *pieces), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


def test_the_fast_way_is_that_of_the_standard() -> None:
    """What NumPy arrays go through gives what the body gives in terms of the standard's functions."""
    for shape, of_weight, parameters in CALLS.values():
        arrays = drawn(*shape), drawn(*of_weight), drawn(of_weight[0])
        y, found = gradients(lambda *a, p=parameters: F.conv2d(*a, **p), arrays)
        decomposed = OPERATIONS["dispatchkit.nn.functional.conv2d"].decompose
        z, expected = gradients(lambda *a, p=parameters, f=decomposed: f(*a, **p), arrays)
        for one, other in zip((y, *found), (z, *expected), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(("first", "second"), [*itertools.product(("float32", "float64"), repeat=2)])
def test_dtypes_are_promoted(first: str, second: str) -> None:
    x, w = (
        dk.ones((1, 1, 3, 3), dtype=first, requires_grad=True),
        dk.ones((1, 1, 2, 2), dtype=second, requires_grad=True),
    )
    y = F.conv2d(x, w)
    assert y.dtype == np.result_type(first, second)
    y.sum().backward()
    assert x.grad is not None
    assert w.grad is not None
    assert (x.grad.dtype, w.grad.dtype) == (x.dtype, w.dtype)


def test_images_in_any_layout() -> None:
    x, w = drawn(2, 3, 5, 6), drawn(2, 3, 2, 2)
    expected = F.conv2d(dk.tensor(x), dk.tensor(w)).numpy()
    for order in ("C", "F"):
        strange = np.asarray(x[::-1, :, ::-1], order=order)[::-1, :, ::-1]
        np.testing.assert_allclose(F.conv2d(dk.asarray(strange), dk.asarray(w)).numpy(), expected, atol=1e-12)
    last = np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    np.testing.assert_allclose(F.conv2d(dk.asarray(last), dk.asarray(w)).numpy(), expected, atol=1e-12)


SEQUENCES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "plain": ((2, 3, 7), (4, 3, 3), {}),
    "parameters": ((2, 4, 9), (4, 2, 3), {"stride": 2, "padding": 1, "dilation": 2, "groups": 2}),
    "tuples of one": ((2, 2, 9), (4, 2, 3), {"stride": (2,), "padding": [1], "dilation": (2,)}),
    "same": ((2, 2, 5), (2, 2, 2), {"padding": "same", "dilation": 2}),
    "valid": ((2, 2, 5), (2, 2, 2), {"padding": "valid"}),
    "one sequence": ((3, 5), (2, 3, 2), {}),
    "a filter for each channel": ((2, 3, 5), (6, 1, 3), {"groups": 3}),
}
# Images, weight, parameters: the last two have windows behind which there is more room than one more needs.
SPREAD: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "plain": ((2, 3, 4, 3), (3, 4, 3, 2), {}),
    "stride, padding": ((2, 4, 4, 3), (4, 3, 3, 2), {"stride": 2, "padding": 1, "output_padding": 1}),
    "pairs": ((1, 2, 3, 4), (2, 2, 3, 3), {"stride": (3, 1), "padding": (1, 2), "output_padding": (2, 0)}),
    "groups": ((2, 4, 3, 3), (4, 3, 2, 2), {"groups": 2, "dilation": (1, 2)}),
    "a filter for each channel": ((2, 3, 4, 4), (3, 1, 3, 3), {"groups": 3, "padding": 1}),
    "pointwise": ((2, 3, 4, 4), (3, 2, 1, 1), {}),
    "one image": ((3, 4, 3), (3, 2, 2, 2), {"stride": 2}),
    "pointwise, dilated": ((2, 3, 4, 4), (3, 2, 1, 1), {"dilation": 3, "output_padding": (2, 1)}),
    "depthwise, dilated": ((2, 2, 3, 4), (2, 1, 2, 2), {"groups": 2, "dilation": 3, "output_padding": (2, 1)}),
}


def spread(
    x: Any, weight: Any, bias: Any, *, stride: int, padding: int, output_padding: int, dilation: int, groups: int
) -> Any:
    n, c, height, width = x.shape
    _, o, kh, kw = weight.shape
    size = [(m - 1) * stride + dilation * (k - 1) + 1 + output_padding for m, k in ((height, kh), (width, kw))]
    y = np.zeros((n, o * groups, *size)) + bias[:, None, None]
    for image, channel, row, column in np.ndindex(*x.shape):
        first = channel // (c // groups) * o
        for out, i, j in np.ndindex(o, kh, kw):
            place = image, first + out, row * stride + i * dilation, column * stride + j * dilation
            y[place] += x[image, channel, row, column] * weight[channel, out, i, j]
    return y[:, :, padding : size[0] - padding, padding : size[1] - padding]


@given(
    st.tuples(st.integers(1, 2), st.integers(1, 2), st.integers(1, 2)),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.integers(3, 4), st.integers(3, 5)),
    st.fixed_dictionaries({"stride": st.integers(1, 3), "padding": st.integers(0, 1), "dilation": st.integers(1, 2)}),
    st.integers(0, 2),
)
def test_spread_images_are_those_of_a_loop(
    counts: tuple[int, int, int],
    kernel: tuple[int, int],
    size: tuple[int, int],
    parameters: dict[str, int],
    output_padding: int,
) -> None:
    groups, channels, filters = counts
    more = min(output_padding, max(parameters["stride"], parameters["dilation"]) - 1)
    x, weight = drawn(2, groups * channels, *size), drawn(groups * channels, filters, *kernel)
    arrays = x, weight, drawn(groups * filters)
    y = F.conv_transpose2d(*map(dk.tensor, arrays), groups=groups, output_padding=more, **parameters)
    expected = spread(*arrays, groups=groups, output_padding=more, **parameters)
    np.testing.assert_allclose(y.numpy(), expected, atol=1e-12)


@pytest.mark.parametrize("name", SEQUENCES)
def test_a_sequence_is_an_image_of_one_row(name: str) -> None:
    shape, of_weight, parameters = SEQUENCES[name]
    arrays = drawn(*shape), drawn(*of_weight), drawn(of_weight[0])
    functional = torch_functional()
    agree_with_torch(lambda *a: F.conv1d(*a, **parameters), lambda *a: functional.conv1d(*a, **parameters), *arrays)


VOLUMES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "plain": ((2, 2, 4, 3, 5), (3, 2, 2, 3, 2), {}),
    "triples": ((2, 4, 5, 4, 3), (6, 2, 2, 2, 2), {"stride": (2, 1, 1), "padding": (0, 1, 2), "groups": 2}),
    "a filter for each channel": ((2, 3, 4, 3, 4), (3, 1, 2, 1, 2), {"groups": 3, "dilation": (2, 1, 1)}),
    "one volume": ((2, 3, 4, 3), (2, 2, 3, 1, 2), {"stride": 2, "padding": 1}),
}


@pytest.mark.parametrize("name", VOLUMES)
def test_volumes_are_convolved_and_spread_as_by_pytorch(name: str) -> None:
    functional = torch_functional()
    shape, of_weight, parameters = VOLUMES[name]
    arrays = drawn(*shape), drawn(*of_weight), drawn(of_weight[0])
    agree_with_torch(lambda *a: F.conv3d(*a, **parameters), lambda *a: functional.conv3d(*a, **parameters), *arrays)
    y = functional.conv3d(*map(pytest.importorskip("torch").tensor, arrays), **parameters)
    back = {**parameters, "output_padding": int(parameters.get("stride", 1) == 2)}
    agree_with_torch(
        lambda *a: F.conv_transpose3d(*a, **back),
        lambda *a: functional.conv_transpose3d(*a, **back),
        drawn(*y.shape),
        arrays[1],
        drawn(of_weight[1] * parameters.get("groups", 1)),
    )


@pytest.mark.parametrize("name", SEQUENCES)
def test_spread_sequences_and_their_gradients_are_pytorchs(name: str) -> None:
    functional = torch_functional()
    shape, of_weight, parameters = SEQUENCES[name]
    parameters = {key: value for key, value in parameters.items() if value not in ("same", "valid")}
    channels = drawn(*shape[:-2], of_weight[0], 4)
    agree_with_torch(
        lambda *a: F.conv_transpose1d(*a, **parameters),
        lambda *a: functional.conv_transpose1d(*a, **parameters),
        channels,
        drawn(*of_weight),
        drawn(of_weight[1] * parameters.get("groups", 1)),
    )


def test_a_volume_is_convolved_by_its_slices() -> None:
    x, weight = dk.tensor(drawn(2, 3, 4, 5, 4)), dk.tensor(drawn(2, 3, 2, 3, 2))
    y = F.conv3d(x, weight, padding=(0, 1, 1))
    for i in range(3):
        slices = [F.conv2d(x[:, :, i + j], weight[:, :, j], padding=1) for j in range(2)]
        np.testing.assert_allclose(y[:, :, i].numpy(), (slices[0] + slices[1]).numpy(), atol=1e-12)


@pytest.mark.parametrize(("axes", "length"), [(1, 5), (3, 4)])
def test_spreading_transposes_the_convolution(axes: int, length: int) -> None:
    conv, spread_by = getattr(F, f"conv{axes}d"), getattr(F, f"conv_transpose{axes}d")
    x, weight = drawn(2, 2, *(length,) * axes), drawn(3, 2, *(2,) * axes)
    forth = conv(dk.tensor(x), dk.tensor(weight), padding=1, dilation=2).numpy()
    y = drawn(*forth.shape, seed=1)
    back = spread_by(dk.tensor(y), dk.tensor(weight), padding=1, dilation=2).numpy()
    np.testing.assert_allclose(np.sum(forth * y), np.sum(x * back), rtol=1e-12)


def test_sequences_by_hand() -> None:
    x, weight = dk.asarray([[[1.0, 2.0, 3.0, 4.0]]]), dk.asarray([[[1.0, 0.0, -1.0]]], requires_grad=True)
    y = F.conv1d(x, weight, dk.asarray([0.5]), padding=1, stride=2)
    assert y.tolist() == [[[-1.5, -1.5]]]
    y.backward(dk.asarray([[[1.0, 10.0]]]))
    assert weight.grad is not None
    assert weight.grad.tolist() == [[[20.0, 31.0, 42.0]]]


def test_spread_images_by_hand() -> None:
    x = dk.asarray([[[1.0, 2.0], [3.0, 4.0]]], requires_grad=True)
    weight = dk.asarray([[[[1.0, 10.0]]]], requires_grad=True)
    y = F.conv_transpose2d(x, weight, dk.asarray([0.5]), stride=(1, 2), output_padding=(0, 1))
    assert y.tolist() == [[[1.5, 10.5, 2.5, 20.5, 0.5], [3.5, 30.5, 4.5, 40.5, 0.5]]]
    y.sum().backward()
    assert x.grad is not None
    assert weight.grad is not None
    assert x.grad.tolist() == [[[11.0, 11.0], [11.0, 11.0]]]
    assert weight.grad.tolist() == [[[[10.0, 10.0]]]]


@pytest.mark.parametrize("name", SPREAD)
def test_spread_images_and_their_gradients_are_pytorchs(name: str) -> None:
    functional = torch_functional()
    shape, of_weight, parameters = SPREAD[name]
    filters = of_weight[1] * parameters.get("groups", 1)
    agree_with_torch(
        lambda *a: F.conv_transpose2d(*a, **parameters),
        lambda *a: functional.conv_transpose2d(*a, **parameters),
        drawn(*shape),
        drawn(*of_weight),
        drawn(filters),
    )


def test_spreading_transposes_the_convolution_of_complex_numbers_too() -> None:
    x, y = (drawn(2, 2, n, n) + 1j * drawn(2, 2, n, n, seed=1) for n in (5, 3))
    weight = drawn(2, 2, 3, 3) + 1j * drawn(2, 2, 3, 3, seed=1)
    forth = F.conv2d(dk.tensor(x), dk.tensor(weight), padding=1, stride=2).numpy()
    back = F.conv_transpose2d(dk.tensor(y), dk.tensor(weight), padding=1, stride=2).numpy()
    np.testing.assert_allclose(np.sum(forth * y), np.sum(x * back), rtol=1e-12)


X, W = dk.ones((2, 3, 5, 5)), dk.ones((4, 3, 2, 2))
REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "too few axes": (
        lambda: F.conv2d(dk.ones((5, 5)), W),
        ValueError,
        "argument 'x' has shape (5, 5), expected (N, in_",
    ),
    "channels": (
        lambda: F.conv2d(dk.ones((2, 4, 5, 5)), W),
        ValueError,
        "argument 'weight' has shape (4, 3, 2, 2), expected (out_channels, 4, kh, kw) for x of shape (2, 4, 5, 5)",
    ),
    "channels of groups": (
        lambda: F.conv2d(X, W, groups=3),
        ValueError,
        "argument 'weight' has shape (4, 3, 2, 2), expected (out_channels, 3/3, kh, kw)",
    ),
    "groups": (lambda: F.conv2d(X, W, groups=2), ValueError, "groups=2 do not divide the 3 channels of x"),
    "groups of filters": (
        lambda: F.conv2d(X, dk.ones((4, 1, 2, 2)), groups=3),
        ValueError,
        "groups=3 do not divide the out_channels of a weight (4, 1, 2, 2)",
    ),
    "weight": (
        lambda: F.conv2d(X, W[0]),
        ValueError,
        "argument 'weight' has shape (3, 2, 2), expected (out_channels, 3",
    ),
    "bias": (
        lambda: F.conv2d(X, W, dk.ones(3)),
        ValueError,
        "argument 'bias' has shape (3,), expected (4,) for a weight of shape (4, 3, 2, 2)",
    ),
    "small images": (
        lambda: F.conv2d(X, dk.ones((4, 3, 6, 2))),
        ValueError,
        "argument 'x' of shape (2, 3, 5, 5) has images of 5 x 5 with padding, smaller than the windows of 6 x 2",
    ),
    "stride": (lambda: F.conv2d(X, W, stride=0), ValueError, "stride must be at least 1, found 0"),
    "stride that is no int": (lambda: F.conv2d(X, W, stride=1.5), TypeError, "stride must be an int, found 1.5"),  # type: ignore[call-overload]
    "strides": (lambda: F.conv2d(X, W, stride=(1, 1, 1)), ValueError, "stride must be an int or a pair"),  # type: ignore[arg-type]
    "padding": (lambda: F.conv2d(X, W, padding=-1), ValueError, "padding must be at least 0, found -1"),
    "name": (lambda: F.conv2d(X, W, padding="full"), ValueError, "padding must be an int, a pair, 'valid' or 'same'"),  # type: ignore[call-overload]
    "same": (lambda: F.conv2d(X, W, padding="same", stride=2), ValueError, "padding='same' is for stride 1, found"),
    "no groups": (lambda: F.conv2d(X, W, groups=0), ValueError, "groups must be at least 1, found 0"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_named(name: str) -> None:
    call, error, text = REFUSED[name]
    with pytest.raises(error, match=r"conv2d: " + re.escape(text)):
        call()


S, V = dk.ones((2, 3, 5)), dk.ones((4, 3, 2))
REFUSED_BY_OTHERS: dict[str, tuple[Any, type[Exception], str]] = {
    "sequences": (
        lambda: F.conv1d(dk.ones(5), V),
        ValueError,
        "conv1d: argument 'x' has shape (5,), expected (N, in_channels, L) or (in_channels, L)",
    ),
    "filters of sequences": (
        lambda: F.conv1d(S, W),
        ValueError,
        "conv1d: argument 'weight' has shape (4, 3, 2, 2), expected (out_channels, 3, k) for x of shape (2, 3, 5)",
    ),
    "short sequences": (
        lambda: F.conv1d(S, V, dilation=5),
        ValueError,
        (
            "conv1d: argument 'x' of shape (2, 3, 5) has sequences of 5 with padding, smaller than the windows of 6 of "
            "a weight (4, 3, 2)"
        ),
    ),
    "stride of sequences": (
        lambda: F.conv1d(S, V, stride=(1, 2)),  # type: ignore[arg-type]
        TypeError,
        "conv1d: stride must be an int, found (1, 2)",
    ),
    "name": (
        lambda: F.conv1d(S, V, padding="full"),  # type: ignore[call-overload]
        ValueError,
        "conv1d: padding must be an int, 'valid' or 'same', found 'full'",
    ),
    "volumes": (
        lambda: F.conv3d(X, W),
        ValueError,
        "conv3d: argument 'weight' has shape (4, 3, 2, 2), expected (out_channels, 2, kd, kh, kw) for x of shape",
    ),
    "stride of volumes": (
        lambda: F.conv3d(dk.ones((1, 3, 2, 2, 2)), W[..., None], stride=(1, 2)),  # type: ignore[arg-type]
        ValueError,
        "conv3d: stride must be an int or a triple of ints, found (1, 2)",
    ),
    "empty images": (
        lambda: F.conv_transpose2d(dk.ones((1, 3, 0, 2)), W),
        ValueError,
        "conv_transpose2d: argument 'x' has shape (1, 3, 0, 2), expected (N, in_channels, H, W) or (in_channels, H, W)",
    ),
    "channels": (
        lambda: F.conv_transpose2d(X, W, groups=3),
        ValueError,
        (
            "conv_transpose2d: argument 'weight' has shape (4, 3, 2, 2), expected (3, out_channels/3, kh, kw) for x of "
            "shape (2, 3, 5, 5)"
        ),
    ),
    "groups": (
        lambda: F.conv_transpose2d(X, dk.ones((3, 1, 2, 2)), groups=2),
        ValueError,
        "conv_transpose2d: groups=2 do not divide the 3 channels of x, shape (2, 3, 5, 5)",
    ),
    "bias": (
        lambda: F.conv_transpose2d(X, dk.ones((3, 2, 2, 2)), dk.ones(2), groups=3),
        ValueError,
        (
            "conv_transpose2d: argument 'bias' has shape (2,), expected (6,) for a weight of shape (3, 2, 2, 2) and "
            "groups=3"
        ),
    ),
    "output_padding": (
        lambda: F.conv_transpose2d(X, dk.ones((3, 2, 2, 2)), stride=2, output_padding=(0, 2)),
        ValueError,
        "conv_transpose2d: output_padding=(0, 2) must be less than stride=(2, 2) or dilation=(1, 1)",
    ),
    "padding": (
        lambda: F.conv_transpose2d(X, dk.ones((3, 2, 2, 2)), padding=3),
        ValueError,
        (
            "conv_transpose2d: argument 'x' of shape (2, 3, 5, 5) and a weight (3, 2, 2, 2) give images of 0 x 0 with "
            "padding=(3, 3)"
        ),
    ),
}


@pytest.mark.parametrize("name", REFUSED_BY_OTHERS)
def test_bad_input_of_sequences_and_spread_images_is_named(name: str) -> None:
    call, error, text = REFUSED_BY_OTHERS[name]
    with pytest.raises(error, match=re.escape(text)):
        call()


@pytest.mark.parametrize("small", [0, windows.SMALL])
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize(
    "options", [{}, {"padding": 1}, {"stride": 2, "padding": 1}, {"dilation": 2}, {"padding": "same"}]
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_small_images_are_convolved_as_large_ones_are(
    dtype: str, options: dict[str, Any], count: int, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(windows, "SMALL", small)
    x, w, b = (drawn(*shape).astype(dtype) for shape in ((count, 2, 5, 6), (3, 2, 3, 3), (3,)))
    if dtype == "complex128":
        x, w = x * (1 + 2j), w * (2 - 1j)
    leaves = [dk.tensor(a, requires_grad=True) for a in (x, w, b)]
    y = F.conv2d(*leaves, **options)
    assert y.dtype == leaves[0].dtype
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    theirs = [torch.tensor(a, requires_grad=True) for a in (x, w, b)]
    z = torch.nn.functional.conv2d(*theirs, **options)
    g = drawn(*z.shape).astype(dtype)
    y.backward(dk.asarray(g))
    z.backward(torch.tensor(g))
    tolerance = 1e-4 if dtype == "float32" else 1e-11
    np.testing.assert_allclose(y.detach().numpy(), z.detach().numpy(), atol=tolerance)
    for one, other in zip(leaves, theirs, strict=True):
        assert one.grad is not None
        np.testing.assert_allclose(one.grad.numpy(), other.grad.numpy(), atol=tolerance)


def test_a_fraction_is_no_number_for_windows_that_were_met_before() -> None:
    x, w = dk.asarray(drawn(1, 2, 5, 6)), dk.asarray(drawn(3, 2, 3, 3))
    F.conv2d(x, w, stride=1, groups=1)
    with pytest.raises(TypeError, match="stride"):
        F.conv2d(x, w, stride=1.0)  # type: ignore[call-overload]  # which is refused
