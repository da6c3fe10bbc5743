"""What PyTorch's layers call: norms that give back what they compute on the way, grid samplers with numbers for words.

What a norm gives back besides its result has a gradient of the group norm alone, as in PyTorch.
"""

from __future__ import annotations

import numpy as np

from dispatchkit.as_torch.network_functions.grids import grid_sample
from dispatchkit.as_torch.network_functions.norms import batch_norm
from dispatchkit.as_torch.shared import word_for, written_functions
from dispatchkit.as_torch.table import ALONE
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.nn import functional

# By their numbers.
INTERPOLATIONS = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")


def _mean_and_inverse(x, axes, eps, *, keepdims=False):
    """Return means, and one divided by standard deviations."""
    variance = xp.var(x, axis=axes, keepdims=keepdims)
    return xp.mean(x, axis=axes, keepdims=keepdims), 1 / xp.sqrt(variance + eps)


def native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps):
    momentum, eps, channels = float(momentum), float(eps), tuple(input.shape[1:2])
    values = {"weight": weight, "bias": bias, "running_mean": running_mean, "running_var": running_var}
    for name, value in values.items():
        if value is not None and tuple(value.shape) != channels:
            raise ValueError(f"batch_norm: argument {name!r} has shape {tuple(value.shape)}, expected {channels}")
    if training and not input.numel():
        raise RuntimeError(f"input tensor must have at least one element, but got input_sizes = {[*input.shape]}")
    y = batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    if not training:
        return y, input.new_zeros(0), input.new_zeros(0)
    return y, *_mean_and_inverse(input.detach(), (0, *range(2, input.ndim)), eps)


def native_layer_norm(input, normalized_shape, weight, bias, eps):
    eps = float(eps)
    y = functional.layer_norm(input, tuple(normalized_shape), weight, bias, eps)
    axes = tuple(range(input.ndim - len(normalized_shape), input.ndim))
    return y, *_mean_and_inverse(input.detach(), axes, eps, keepdims=True)


def native_group_norm(input, weight, bias, N, C, HxW, group, eps):
    if group < 1 or C % group:
        raise RuntimeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{[*input.shape]} and num_groups={group}"
        )
    if min(N, C, HxW) < 0 or input.numel() != N * C * HxW:
        raise RuntimeError(f"native_group_norm: expected {N} * {C} * {HxW} elements, found shape {[*input.shape]}")
    eps, x = float(eps), xp.reshape(input, (N, C, HxW))
    y = functional.group_norm(x, group, weight, bias, eps)
    statistics = _mean_and_inverse(xp.reshape(x, (N, group, C // group * HxW)), -1, eps)
    return xp.reshape(y, input.shape), *statistics


def grid_sampler_2d(input, grid, interpolation_mode, padding_mode, align_corners):
    return _sample_grid(2, input, grid, interpolation_mode, padding_mode, align_corners)


def grid_sampler_3d(input, grid, interpolation_mode, padding_mode, align_corners):
    return _sample_grid(3, input, grid, interpolation_mode, padding_mode, align_corners)


def _sample_grid(axes, input, grid, interpolation_mode, padding_mode, align_corners):
    """Return the elements of arrays with a number of axes beside those of samples and channels, at places of a grid."""
    if not input.ndim or not grid.ndim:
        raise np.exceptions.AxisError("Dimension specified as 0 but tensor has no dimensions")
    if input.ndim != axes + 2:
        raise RuntimeError(
            f"grid_sampler_{axes}d(): expected {axes + 2}D input and grid with same number of dimensions, but got "
            f"input with sizes {[*input.shape]} and grid with sizes {[*grid.shape]}"
        )
    mode = word_for("grid_sampler", "interpolation_mode", interpolation_mode, INTERPOLATIONS, RuntimeError)
    padding = word_for("grid_sampler", "padding_mode", padding_mode, PADDINGS, RuntimeError)
    return grid_sample(input, grid, mode, padding, align_corners)


ALONE.update(written_functions(globals()))
