"""`torch.autograd.forward_ad`: levels of dual tensors, which do not nest in PyTorch, and whether tangents flow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dispatchkit.as_torch.spelling import spelling_calls
from dispatchkit.autograd import forward_ad
from dispatchkit.autograd.forward_ad import UnpackedDualTensor
from dispatchkit.protocol.blocks import Setting
from dispatchkit.transforms.dual import tangents_flow

__all__ = ["OF_FORWARD_MODE", "dual_level", "enter_dual_level", "make_dual", "unpack_dual"]


def enter_dual_level() -> int:
    """Begin a level of dual tensors.

    Returns
    -------
    int
        0, the number of the level.

    Raises
    ------
    RuntimeError : if there is one; those of `dispatchkit.autograd.forward_ad` nest
    """
    _check_outermost()
    return forward_ad.enter_dual_level()


def _check_outermost() -> None:
    if forward_ad.in_dual_level():
        raise RuntimeError("Nested forward mode AD is not supported at the moment")


@contextmanager
def dual_level() -> Iterator[int]:
    """Compute with dual tensors in a `with` block, which is in no other one.

    Yields
    ------
    int
        0, the number of the level.

    Raises
    ------
    RuntimeError : if there is a level around it; those of `dispatchkit.autograd.forward_ad` nest

    Examples
    --------
    >>> import dispatchkit.as_torch as torch
    >>> from dispatchkit.as_torch.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(torch.tensor([0.0, 1.0]), torch.ones(2))
    ...     forward_ad.unpack_dual(torch.sin(x)).tangent
    tensor([1.0000, 0.5403])
    """
    _check_outermost()
    with forward_ad.dual_level() as level:
        yield level


def make_dual(tensor: Any, tangent: Any, *, level: int | None = None) -> Any:
    """Return a tensor with a tangent, without one where tangents do not flow: see `dispatchkit.autograd.forward_ad`."""
    if not tangents_flow.get().value:
        return tensor.view_as(tensor)
    return _make_dual(tensor, tangent, level=level)


def unpack_dual(tensor: Any, *, level: int | None = None) -> Any:
    """Return a tensor without its tangent, and the tangent, None where there is none or tangents do not flow."""
    unpacked = _unpack_dual(tensor, level=level)
    if not tangents_flow.get().value:
        return UnpackedDualTensor(unpacked.primal, None)
    return unpacked


_make_dual = spelling_calls(forward_ad.make_dual)
_unpack_dual = spelling_calls(forward_ad.unpack_dual)


def is_fwd_grad_enabled() -> bool:
    """Return whether tangents flow through calls."""
    return tangents_flow.get().value


class set_fwd_grad_enabled(Setting):  # noqa: N801  # PyTorch's name
    """Say whether tangents flow through calls, at once; `with` and a decorated function take it back on leaving.

    Parameters
    ----------
    mode : whether they do
    """

    def __init__(self, mode: bool) -> None:
        super().__init__(tangents_flow, bool(mode))


OF_FORWARD_MODE = {
    "dual_level": dual_level,
    "enter_dual_level": enter_dual_level,
    "make_dual": make_dual,
    "unpack_dual": unpack_dual,
}
