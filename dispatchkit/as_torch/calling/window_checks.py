"""What functions of windows and of padding refuse about the values of arguments, in PyTorch's words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dispatchkit.as_torch.calling.checks import Given, dtype_name, look_each_time_of, look_of
from dispatchkit.as_torch.calling.network_checks import adds_elements
from dispatchkit.as_torch.shared import kind_of
from dispatchkit.as_torch.table import is_array
from dispatchkit.backends.arrays import dtype_name as numpy_name

F = "nn.functional."


@look_of(*(f"{F}{kind}_pool{axes}d" for kind in ("avg", "max") for axes in (1, 2, 3)))
def stride_of_windows(given: Given) -> None:
    if given.get("stride") == ():
        del given["stride"]


def _look_at_samples(axes: int) -> None:
    @look_each_time_of(*(f"{F}{kind}_pool{axes}d" for kind in ("avg", "max", "lp")))
    def elements_of_samples(given: Given) -> None:
        x = given["input"]
        if x.ndim in (axes + 1, axes + 2) and 0 in x.shape[x.ndim - axes - 1 :]:
            raise RuntimeError(
                f"Expected {axes + 1}D or {axes + 2}D (batch mode) tensor with optional 0 dim batch size for input, "
                f"but got shape {[*x.shape]}, whose samples have no elements"
            )


for _axes in (1, 2, 3):
    _look_at_samples(_axes)


@look_each_time_of(f"{F}avg_pool3d")
def lengths_of_windows(given: Given) -> None:
    x, kernels = given["input"], _of_axes(given["kernel_size"], 3)
    if x.ndim in (4, 5) and any(n < k for n, k in zip(x.shape[-3:], kernels, strict=False)):
        raise RuntimeError(f"input image {[*x.shape[-3:]]} smaller than kernel size {[*kernels]}")


def _look_at_elements(kind: str, axes: int) -> None:
    @look_each_time_of(f"{F}adaptive_{kind}_pool{axes}d")
    def elements_of_windows(given: Given) -> None:
        x, lengths = given["input"], _of_axes(given["output_size"], axes)
        if x.ndim not in (axes + 1, axes + 2):
            return
        # Means of whole images may be of none, and nothing is averaged for no channels.
        counted = axes
        if kind == "max" or axes == 3:
            counted = min(axes + 1, x.ndim - 1)
        if 0 in x.shape[x.ndim - counted :] and (kind == "max" or set(lengths) != {1}):
            raise RuntimeError(
                f"adaptive_{kind}_pool{axes}d(): Expected input to have non-zero size for non-batch dimensions, but "
                f"input has sizes {[*x.shape]}"
            )


for _kind in ("avg", "max"):
    for _axes in (1, 2, 3):
        _look_at_elements(_kind, _axes)


@look_of(*(f"{F}adaptive_{kind}_pool{axes}d" for kind in ("avg", "max") for axes in (1, 2, 3)))
def lengths_of_results(given: Given) -> None:
    if given["output_size"] is None:
        raise TypeError("argument 'output_size' (position 2) must be an int or a tuple of ints, not NoneType")


# Options of windows that slide over images: what each must be, and the least number.
SLIDING = (
    ("kernel_size", "kernel size should be greater than zero", 1),
    ("dilation", "dilation should be greater than zero", 1),
    ("padding", "padding should be non-negative", 0),
    ("stride", "stride should be greater than zero", 1),
)


@look_of(f"{F}unfold", f"{F}fold")
def pairs_of_windows(given: Given) -> None:
    for name in ("output_size", *(name for name, *_ in SLIDING)):
        if isinstance(given.get(name), tuple) and len(given[name]) != 2:
            raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(given[name])}")
    for name, words, least in SLIDING:
        numbers = _of_axes(given.get(name, 1), 2)
        if min(numbers) < least:
            raise RuntimeError(f"{words}, but got {name}={numbers}")


@look_each_time_of(f"{F}unfold")
def lengths_to_unfold(given: Given) -> None:
    x = given["input"]
    if x.ndim < 3:
        raise np.exceptions.AxisError(f"unfold: Expected 3D or 4D tensor for input, but got: {[*x.shape]}")
    if x.ndim > 4 or 0 in x.shape[x.ndim - 3 :]:
        raise RuntimeError(
            f"Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
            f"input, but got: {[*x.shape]}"
        )
    counts = _counts_of_windows(given, x.shape[-2:])
    if min(counts) < 1:
        raise RuntimeError(
            f"Given input with spatial size {(*x.shape[-2:],)}, the calculated shape of the array of sliding blocks is "
            f"{counts}, but its components must be at least one"
        )


@look_each_time_of(f"{F}fold")
def lengths_to_fold(given: Given) -> None:
    x, kernels = given["input"], _of_axes(given["kernel_size"], 2)
    if kind_of(x) in "ui":
        raise NotImplementedError(f'"fold" not implemented for {dtype_name(x)!r}')
    if x.ndim not in (2, 3) or 0 in x.shape[x.ndim - 2 :]:
        raise RuntimeError(
            f"Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
            f"input, but got: {[*x.shape]}"
        )
    if x.shape[-2] % math.prod(kernels):
        raise RuntimeError(
            f"Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={x.shape[-2]} and kernel_size={kernels}"
        )
    lengths = _of_axes(given["output_size"], 2)
    counts = _counts_of_windows(given, lengths)
    if x.shape[-1] != math.prod(counts):
        raise RuntimeError(
            f"Given output_size={lengths}, expected size of input's dimension 2 to match the calculated number of "
            f"sliding blocks {counts[0]} * {counts[1]} = {math.prod(counts)}, but got input.size(2)={x.shape[-1]}"
        )
    if min(counts) < 1:
        raise RuntimeError(
            f"Given output_size={lengths}, the calculated shape of the array of sliding blocks is {counts}, which is "
            f"too small"
        )


def _counts_of_windows(given: Given, lengths: Any) -> tuple[int, ...]:
    """Return how many windows there are along each of two axes."""
    kernels, gaps, ends, steps = (_of_axes(given.get(name, int(name != "padding")), 2) for name, *_ in SLIDING)
    along = zip(lengths, kernels, gaps, ends, steps, strict=True)
    return tuple((n + 2 * end - gap * (k - 1) - 1) // step + 1 for n, k, gap, end, step in along)


@look_each_time_of(*(f"{F}max_unpool{axes}d" for axes in (1, 2, 3)))
def shapes_of_places(given: Given) -> None:
    x, index = given["input"], given["indices"]
    if x.shape != index.shape:
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({[*x.shape]}) but got indices tensor "
            f"with shape: {[*index.shape]}"
        )


def _look_at_places(axes: int) -> None:
    @look_each_time_of(f"{F}max_unpool{axes}d")
    def places_of_elements(given: Given) -> None:
        x, index, lengths = given["input"], given["indices"], given["output_size"]
        if 0 in x.shape[1:]:
            raise RuntimeError(
                f"max_unpool{axes}d: Expected input to have non-zero size for non-batch dimensions, but got "
                f"{[*x.shape]}"
            )
        if index.is_tracer or not index.numel() or not math.prod(lengths):
            return
        places = np.asarray(index.array)
        for place in (places.min(), places.max()):
            if not 0 <= place < math.prod(lengths):
                raise RuntimeError(
                    f"Found an invalid max index: {place} (output volumes are of size {'x'.join(map(str, lengths))})"
                )


def _look_at_fractions(axes: int) -> None:
    @look_of(f"{F}fractional_max_pool{axes}d")
    def lengths_of_fractions(given: Given) -> None:
        if given["input"].ndim <= axes:
            raise np.exceptions.AxisError(
                f"fractional_max_pool{axes}d(): Expected input to have {axes + 1} to {axes + 2} dimensions, but got "
                f"{given['input'].ndim} (shape {[*given['input'].shape]})"
            )
        for name in ("kernel_size", "output_size"):
            if isinstance(given.get(name), (tuple, list)) and len(given[name]) != axes:
                raise RuntimeError(
                    f"fractional_max_pool{axes}d: {name} must either be a single int or a tuple of {axes} ints, found "
                    f"{given[name]}"
                )


for _axes in (2, 3):
    _look_at_fractions(_axes)


def _look_at_unpooling(axes: int) -> None:
    @look_of(f"{F}max_unpool{axes}d")
    def lengths_of_unpooling(given: Given) -> None:
        x, kernels = given["input"], _of_axes(given["kernel_size"], axes)
        steps, ends, count = kernels, _of_axes(given.get("padding", 0), axes), len(kernels)
        if given.get("stride") is not None:
            steps = _of_axes(given["stride"], axes)
        lengths = [
            (x.shape[place - count] - 1) * steps[place] + kernels[place] - 2 * ends[place] for place in range(count)
        ]
        if given.get("output_size") is not None:
            lengths = _checked_lengths(given["output_size"], lengths, steps)
        for place, length in enumerate(lengths):
            if length < 0:
                raise ValueError(
                    f"max_unpooling: output_size must contain non-negative spatial dimensions, but got "
                    f"output_size[{place}]={length}"
                )
        for place, length in enumerate(lengths):
            if not hasattr(length, "__index__"):
                raise TypeError(
                    f"max_unpool{axes}d(): argument 'output_size' (position 3) must be tuple of ints, but found "
                    f"element of type {type(length).__name__} at pos {place}"
                )
        if count != axes:
            raise RuntimeError(f"There should be exactly {axes} elements in output_size, but got {count} elements.")
        index = given["indices"]
        if x.ndim not in (axes + 1, axes + 2):
            raise RuntimeError(
                f"Input to max_unpool{axes}d should be a {axes + 1}d or {axes + 2}d Tensor, but got a tensor with "
                f"{x.ndim} dimensions."
            )
        if numpy_name(index.dtype) != "int64":
            raise RuntimeError(f"elements in indices should be type int64 but got: {dtype_name(index)}")
        if axes == 3:
            _check_windows_of_volumes(steps, ends)
        given["output_size"] = tuple(lengths)


def _check_windows_of_volumes(steps: tuple[Any, ...], ends: tuple[Any, ...]) -> None:
    """Raise for steps and padding that PyTorch refuses of windows over volumes alone."""
    for name, numbers in (("padding", ends), ("stride", steps)):
        if not all(hasattr(number, "__index__") for number in numbers):
            raise TypeError(f"max_unpool3d(): argument {name!r} must be tuple of ints, found {numbers}")
    if min(steps) < 1:
        raise RuntimeError(f"strides should be greater than zero, but got stride: {[*steps]}")


def _of_axes(value: Any, axes: int) -> tuple[Any, ...]:
    """Return numbers for all axes, of which one may stand for all."""
    if isinstance(value, (tuple, list)):
        return tuple(value)
    return (value,) * axes


def _checked_lengths(asked: Any, lengths: list[Any], steps: Any) -> list[Any]:
    """Return the lengths of the axes of a result that are asked for, where windows can have left them.

    Raises
    ------
    ValueError : for others
    """
    axes = len(lengths)
    wanted = asked[2:] if len(asked) == axes + 2 else asked
    if len(wanted) != axes:
        raise ValueError(
            f"output_size should be a sequence containing {axes} or {axes + 2} elements, but it has a length of "
            f"'{len(asked)}'"
        )
    for place, (length, default, step) in enumerate(zip(wanted, lengths, steps, strict=False)):
        if not default - step < length < default + step:
            raise ValueError(
                f'invalid output_size "{wanted}" (dim {place} must be between {default - step} and {default + step})'
            )
    return list(wanted)


for _axes in (1, 2, 3):
    _look_at_unpooling(_axes)
    _look_at_places(_axes)


def _look_at_lengths(name: str, axes: int) -> None:
    @look_of(f"{F}{name}")
    def count_of_lengths(given: Given) -> None:
        lengths = given.get("output_size")
        x = given["input"]
        if isinstance(lengths, tuple) and is_array(x) and x.ndim <= len(lengths) and axes > 1:
            raise ValueError(f"{name}: Input dimension should be at least {len(lengths) + 1}, found {x.ndim}")
        if isinstance(lengths, tuple) and len(lengths) != axes and is_array(x) and x.ndim in (axes + 1, axes + 2):
            raise RuntimeError(f"{name}: output_size must be {axes}, found {len(lengths)}: {lengths}")


for _axes in (1, 2, 3):
    _look_at_lengths(f"adaptive_avg_pool{_axes}d", _axes)
    _look_at_lengths(f"adaptive_max_pool{_axes}d", _axes)


@look_each_time_of(f"{F}pad", "constant_pad_nd")
def widths_of_padding(given: Given) -> None:
    x, widths, word = given["input"], given["pad"], given.get("mode", "constant")
    if not isinstance(widths, tuple):
        return
    if len(widths) % 2:
        raise RuntimeError(f"Padding length must be divisible by 2, found {len(widths)}")
    if len(widths) > 2 * x.ndim:
        raise RuntimeError(
            f"Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(widths)} and input of dimension {x.ndim}"
        )
    if word == "constant":
        return
    if given.get("value") not in (None, 0):
        raise RuntimeError(f'Padding mode "{word}" doesn\'t take in value argument')
    axes = len(widths) // 2
    if not axes or x.ndim not in (axes + 1, axes + 2):
        raise NotImplementedError(f"Padding size {len(widths)} is not supported for {x.ndim}D input tensor.")
    if word != "circular" and kind_of(x) == "b":
        raise NotImplementedError(f"\"{word} padding\" not implemented for 'Bool'")
    if word != "circular":
        check_lengths_of_padding(x, widths, word)
    elif any(width > x.shape[-1 - place // 2] + min(widths[place ^ 1], 0) for place, width in enumerate(widths)):
        raise RuntimeError(f"Padding value causes wrapping around more than once: {[*widths]} of {[*x.shape]}")


def check_lengths_of_padding(x: Any, widths: tuple[int, ...], word: str) -> None:
    """Raise if an axis has too few elements to be reflected or repeated, or a result has fewer than none."""
    axes = len(widths) // 2
    lengths = x.shape[x.ndim - axes :][::-1]
    if 0 in x.shape[-axes - 1 :]:
        raise RuntimeError(
            f"Expected a tensor with possibly 0 batch size and other non-zero dimensions for input, but got: "
            f"{[*x.shape]}"
        )
    for place, length in enumerate(lengths):
        before, after = widths[2 * place : 2 * place + 2]
        if word == "reflect" and max(before, after) >= length:
            raise RuntimeError(
                f"Argument #4: Padding size should be less than the corresponding input dimension, but got: padding "
                f"({before}, {after}) at dimension {x.ndim - 1 - place} of input {[*x.shape]}"
            )
        if length + before + after < 1:
            raise RuntimeError(
                f"input (dimension {x.ndim - 1 - place}: {length}) is too small for the padding ({before}, {after})"
            )


@look_of(f"{F}pad")
def sign_of_padding(given: Given) -> None:
    x, value = given["input"], given.get("value")
    if kind_of(x) == "u" and isinstance(value, int) and value < 0 and adds_elements(given):
        raise RuntimeError(f"value {value} cannot be converted to type {dtype_name(x)} without overflow")
