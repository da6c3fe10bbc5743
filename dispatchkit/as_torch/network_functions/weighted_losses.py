"""Losses of regressions, which may be weighted element by element."""

from __future__ import annotations

from typing import Any

from dispatchkit.as_torch.shared import written_functions
from dispatchkit.as_torch.table import ALONE, TRANSLATIONS
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.nn import functional
from dispatchkit.nn.functional.losses import check_reduction, reduced


def _reduced(name: str, losses: Any, input: Any, weight: Any, reduction: str) -> Any:
    """Return weighted losses of elements, or what is asked for of them: the mean is of the number of elements.

    Raises
    ------
    ValueError : for weights that are not of the shape of the input
    """
    check_reduction(name, reduction)
    if tuple(weight.shape) != tuple(input.shape):
        raise ValueError(
            f"{name}: Weights and input must have the same size, found {[*weight.shape]} and {[*input.shape]}"
        )
    return reduced(xp, losses * weight, reduction)


def _mean_by_weights(name: str, losses: Any, input: Any, weight: Any, reduction: str) -> Any:
    """Return weighted losses of elements, or what is asked for of them: a mean is divided by the sum of the weights."""
    if reduction != "mean":
        return _reduced(name, losses, input, weight, reduction)
    total = _reduced(name, losses, input, weight, "sum")
    if xp.isdtype(weight.dtype, "unsigned integer"):
        weight = xp.astype(weight, xp.int64)  # as sums of them are
    return total / xp.sum(weight)


def mse_loss(input: Any, target: Any, reduction: Any = "mean", weight: Any = None) -> Any:
    if weight is None:
        return functional.mse_loss(input, target, reduction=reduction)
    apart = input - target
    return _mean_by_weights("mse_loss", apart * apart, input, weight, reduction)


def l1_loss(input: Any, target: Any, reduction: Any = "mean", weight: Any = None) -> Any:
    if weight is None:
        return _plain_l1_loss(input, target, reduction=reduction)
    distances = _plain_l1_loss(input, target, reduction="none")
    return _mean_by_weights("l1_loss", distances, input, weight, reduction)


def huber_loss(input: Any, target: Any, reduction: Any = "mean", delta: float = 1.0, weight: Any = None) -> Any:
    if weight is None:
        return functional.huber_loss(input, target, reduction=reduction, delta=delta)
    losses = functional.huber_loss(input, target, reduction="none", delta=delta)
    return _reduced("huber_loss", losses, input, weight, reduction)


_plain_l1_loss = TRANSLATIONS["nn.functional.l1_loss"]
for _name, _function in written_functions(globals()).items():
    ALONE[f"nn.functional.{_name}"] = _function
TRANSLATIONS["nn.functional.l1_loss"] = ALONE.pop("nn.functional.l1_loss")
