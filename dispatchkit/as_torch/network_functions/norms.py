"""Norms of `torch.nn.functional`, which compute samples of half precision in single precision and round the result.

Weights and statistics are of half precision or of single precision then, as in PyTorch.
"""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

from dispatchkit import nn
from dispatchkit.as_torch.shared import copy_if_recorded, is_half, written_functions
from dispatchkit.as_torch.table import ALONE, TRANSLATIONS, Function
from dispatchkit.backends.numpy_sums import HALF, SINGLE
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.graph.recording import no_grad
from dispatchkit.marks import override
from dispatchkit.nn import functional

__all__ = ["LAYERS"]


def _in_single_precision(function: Function) -> Function:
    """Return a norm that computes samples of half precision in single precision; statistics are changed as they are."""
    signature = inspect.signature(function)

    def norm(*args: Any, **kwargs: Any) -> Any:
        if not is_half(args[0] if args else kwargs.get("input")):
            return function(*args, **kwargs)
        given = signature.bind(*args, **kwargs)
        x, *rest = given.args
        return xp.astype(function(xp.astype(x, SINGLE), *rest, **given.kwargs), HALF)

    norm.__signature__ = signature  # type: ignore[attr-defined]
    return norm


class InSinglePrecision(nn.Module):
    """What norms have in PyTorch beyond those of the library: they compute half precision in single precision."""

    @override
    def forward(self, input: Any) -> Any:
        """Normalize samples.

        Parameters
        ----------
        input : array of samples
        """
        layer: Any = super()
        if not is_half(input):
            return layer.forward(input)
        return xp.astype(layer.forward(xp.astype(input, SINGLE)), HALF)


class InDtypeOfSamples(InSinglePrecision):
    """A norm whose result has the dtype of the samples, whose argument PyTorch calls `x`."""

    @override
    def forward(self, x: Any) -> Any:
        """Normalize samples.

        Parameters
        ----------
        x : array of samples
        """
        y = super().forward(x)
        if xp.isdtype(x.dtype, "real floating"):
            return xp.astype(y, x.dtype, copy=False)
        return y


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    if training and 0 in input.shape:
        return xp.clone(input)
    if training and not (running_mean is None is running_var):
        _track(input, (0, *range(2, input.ndim)), running_mean, running_var, momentum)
    return functional.batch_norm(input, running_mean, running_var, weight, bias, training=training, eps=eps)


def instance_norm(
    input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5
):
    if not use_input_stats:
        statistics = running_mean, running_var
        if None not in statistics:
            running_mean, running_var = (xp.astype(x, input.dtype, copy=False) for x in statistics)
        return functional.batch_norm(input, running_mean, running_var, weight, bias, eps=eps)
    if 0 in input.shape:
        return xp.clone(input)
    if not (running_mean is None is running_var):
        _track(input, tuple(range(2, input.ndim)), running_mean, running_var, momentum)
    return functional.group_norm(input, input.shape[1], copy_if_recorded(weight), bias, eps)


def _track(input, axes, running_mean, running_var, momentum):
    """Take means and variances into the running ones, if there are some; those of samples as their mean.

    Raises
    ------
    RuntimeError : for running ones that are not one number for each channel
    """
    for running in (running_mean, running_var):
        if running is not None and running.shape != input.shape[1:2]:
            raise RuntimeError(
                f"running statistics should have shape {[*input.shape[1:2]]}, a number for each channel, found "
                f"{[*running.shape]}"
            )
    with no_grad():
        for running, statistic in ((running_mean, xp.mean), (running_var, partial(xp.var, correction=1))):
            if running is not None:
                of_input = xp.mean(xp.reshape(statistic(input, axis=axes), (-1, input.shape[1])), axis=0)
                running.copy_((1 - momentum) * running + momentum * of_input)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    return functional.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    return functional.group_norm(input, num_groups, weight, bias, eps)


def rms_norm(input, normalized_shape, weight=None, eps=None):
    dtypes = [x.dtype for x in (input, weight) if x is not None]
    if not any(xp.isdtype(dtype, "complex floating") for dtype in dtypes):
        return functional.rms_norm(input, normalized_shape, weight, eps=eps)
    if eps is None:
        eps = xp.finfo(input.dtype).eps
    axes = tuple(range(-len(normalized_shape), 0))
    y = input / xp.sqrt(xp.mean(input * input, axis=axes, keepdims=True) + eps)
    if weight is not None:
        y = y * weight
    if not xp.isdtype(input.dtype, "complex floating"):
        y = xp.real(y)
    return xp.astype(y, input.dtype, copy=False)  # as PyTorch does


for _name, _function in written_functions(globals()).items():
    _table = TRANSLATIONS
    if _name in ("group_norm", "layer_norm", "rms_norm"):  # operations, but for some dtypes
        _table = ALONE
    _table[f"nn.functional.{_name}"] = _in_single_precision(_function)

# What layers have beyond those of the library, by their names.
_BATCHES = [f"{kind}Norm{axes}d" for kind in ("Batch", "Instance") for axes in (1, 2, 3)]
LAYERS: dict[str, type[nn.Module]] = {
    **dict.fromkeys((*_BATCHES, "GroupNorm", "LayerNorm"), InSinglePrecision),
    "RMSNorm": InDtypeOfSamples,
}
