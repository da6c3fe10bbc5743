"""Steps of optimisers over PyTorch's arrays: all parameters of a group at once, by functions that PyTorch has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dispatchkit.backends.tracing import is_traced

DTYPES = frozenset({"torch.float32", "torch.float64"})
DEVICES = frozenset({"cpu", "cuda"})
# Of each parameter the array, its gradient, and its buffers.
Parts = Sequence[Sequence[Any]]


def place_of(arrays: Sequence[Any]) -> Any:
    """Return what arrays that change at once have in common; None where PyTorch's functions cannot change these.

    Parameters
    ----------
    arrays : of one parameter, its gradient and its buffers
    """
    import torch  # noqa: PLC0415  # optional dependency

    first = arrays[0]
    kind = first.dtype
    # PyTorch has them for the processor since it has this one.
    if str(kind) not in DTYPES or first.device.type not in DEVICES or not hasattr(torch, "_fused_adagrad_"):
        return None
    for x in arrays:
        # The functions go through memory from end to end.
        if x.dtype is not kind or x.device != first.device or not x.is_contiguous() or is_traced(x):
            return None
    return kind, first.device


def _numbers(options: Any, *names: str) -> dict[str, Any]:
    """Return options as the functions take them."""
    return {name: getattr(options, name) for name in names}


def descend(options: Any, parts: Parts) -> None:
    """Go a step of `SGD`."""
    import torch  # noqa: PLC0415  # optional dependency

    ps, gs, *buffers = map(list, zip(*parts, strict=True))
    kept: list[Any] = []
    if buffers:
        (kept,) = buffers
    torch._fused_sgd_(
        ps,
        gs,
        kept,
        is_first_step=bool(kept) and options.is_first,
        **_numbers(options, "weight_decay", "momentum", "lr", "dampening", "nesterov", "maximize"),
    )


def adapt(options: Any, parts: Parts) -> None:
    """Go a step of `Adam` or `AdamW`."""
    import torch  # noqa: PLC0415  # optional dependency

    ps, gs, means, squares, *largest = map(list, zip(*parts, strict=True))
    change = torch._fused_adam_
    if options.decoupled_weight_decay:
        change = torch._fused_adamw_
    most: list[Any] = []
    if largest:
        (most,) = largest
    step = torch.tensor(float(options.step), device=ps[0].device)
    beta1, beta2 = map(float, options.betas)
    change(
        ps,
        gs,
        means,
        squares,
        most,
        [step] * len(ps),
        beta1=beta1,
        beta2=beta2,
        **_numbers(options, "lr", "weight_decay", "eps", "amsgrad", "maximize"),
    )
