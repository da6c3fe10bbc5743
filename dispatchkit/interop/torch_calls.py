"""How PyTorch's functions ask tensors and array types; nothing here imports PyTorch.

Every class with the surface of `Tensor` gets ``__torch_function__``. Who calls it has imported PyTorch, and only then
does what answers load.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dispatchkit.protocol.instance import tensor_protocol

__all__ = ["torch_function"]


def torch_function(
    cls: type,
    func: Callable[..., Any],
    types: tuple[type, ...],
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
) -> Any:
    """Answer a function of PyTorch by the operation of the same meaning, or on the dense form."""
    from dispatchkit.interop.torch.calls import answer  # noqa: PLC0415  # optional dependency

    return answer(func, types, args, dict(kwargs or {}))


tensor_protocol.surface.add_attribute("__torch_function__", classmethod(torch_function))
