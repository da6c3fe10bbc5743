"""What losses take beside their arguments: how they reduce, in old words and new ones, and targets that broadcast."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from dispatchkit.as_torch.calling.plans import OtherArgumentsError
from dispatchkit.as_torch.shared import lengths_of
from dispatchkit.as_torch.table import is_array
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.protocol.frames import caller_frame, warn_at

__all__ = ["BROADCASTING", "broadcast_target", "check_reduction", "reduction_of", "refuse_other_shapes"]

REDUCTIONS = ("none", "mean", "sum")
# Losses whose target may have another shape than the input.
BROADCASTING = frozenset(
    f"nn.functional.{name}" for name in ("huber_loss", "kl_div", "l1_loss", "mse_loss", "smooth_l1_loss")
)


def reduction_of(path: str, targets: Container[str], given: dict[str, Any]) -> None:
    """Put the old words for a reduction, `size_average` and `reduce`, into the new one.

    Parameters
    ----------
    path : of the loss
    targets : the names that the loss takes
    given : arguments by name
    """
    average, reduces = given.pop("size_average", None), given.pop("reduce", None)
    if average is not None or reduces is not None:
        given["reduction"] = "mean"
        if average is not None and not average:
            given["reduction"] = "sum"
        if reduces is not None and not reduces:
            given["reduction"] = "none"
    check_reduction(path, targets, given)


def check_reduction(path: str, targets: Container[str], given: dict[str, Any]) -> None:
    """Raise for a word for a reduction that there is not.

    Raises
    ------
    ValueError : naming it
    """
    word = given.get("reduction", "mean")
    if word not in REDUCTIONS and not (word == "batchmean" and "log_target" in targets):
        raise ValueError(f"{path.rpartition('.')[2]}: reduction must be 'none', 'mean' or 'sum', found {word!r}")


def _are_of_other_shapes(path: str, x: Any, target: Any) -> bool:
    return is_array(x) and is_array(target) and lengths_of(x) != lengths_of(target) and not path.endswith("kl_div")


def refuse_other_shapes(path: str, given: dict[str, Any]) -> None:
    """Look at an input and a target, of which a plan knows nothing where their shapes differ.

    Raises
    ------
    OtherArgumentsError : where they do
    """
    if _are_of_other_shapes(path, given.get("input"), given.get("target")):
        raise OtherArgumentsError


def broadcast_target(path: str, given: dict[str, Any]) -> None:
    """Bring an input and a target of different shapes to one, with PyTorch's warning."""
    x: Any = given.get("input")
    target: Any = given.get("target")
    if not _are_of_other_shapes(path, x, target):
        return
    text = (
        f"Using a target size ({target.shape}) that is different to the input size ({x.shape}). This will likely "
        f"lead to incorrect results due to broadcasting. Please ensure they have the same size."
    )
    warn_at(caller_frame(), text, UserWarning)
    given["input"], given["target"] = xp.broadcast_arrays(x, target)
