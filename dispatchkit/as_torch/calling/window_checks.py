"""What functions of windows refuse about the values of arguments, in PyTorch's words."""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatchkit.as_torch.calling.checks import Given, dtype_name, look_each_time_of, look_of
from dispatchkit.backends.arrays import dtype_name as numpy_name

F = "nn.functional."


@look_of(*(f"{F}{kind}_pool{axes}d" for kind in ("avg", "max") for axes in (1, 2, 3)))
def stride_of_windows(given: Given) -> None:
    if given.get("stride") == ():
        del given["stride"]


@look_each_time_of(f"{F}avg_pool3d")
def lengths_of_windows(given: Given) -> None:
    x, kernels = given["input"], _of_axes(given["kernel_size"], 3)
    if x.ndim in (4, 5) and any(n < k for n, k in zip(x.shape[-3:], kernels, strict=False)):
        raise RuntimeError(f"input image {[*x.shape[-3:]]} smaller than kernel size {[*kernels]}")


@look_of(*(f"{F}adaptive_{kind}_pool{axes}d" for kind in ("avg", "max") for axes in (1, 2, 3)))
def lengths_of_results(given: Given) -> None:
    if given["output_size"] is None:
        raise TypeError("argument 'output_size' (position 2) must be an int or a tuple of ints, not NoneType")


@look_of(f"{F}unfold")
def axes_to_unfold(given: Given) -> None:
    if given["input"].ndim not in (3, 4):
        raise np.exceptions.AxisError(f"unfold: Expected 3D or 4D tensor for input, but got: {[*given['input'].shape]}")


@look_each_time_of(*(f"{F}max_unpool{axes}d" for axes in (1, 2, 3)))
def shapes_of_places(given: Given) -> None:
    x, index = given["input"], given["indices"]
    if x.shape != index.shape:
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({[*x.shape]}) but got indices tensor "
            f"with shape: {[*index.shape]}"
        )


def _look_at_fractions(axes: int) -> None:
    @look_of(f"{F}fractional_max_pool{axes}d")
    def lengths_of_fractions(given: Given) -> None:
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
        given["output_size"] = tuple(lengths)


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
