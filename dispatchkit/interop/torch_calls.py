"""How PyTorch's functions ask tensors and array types; nothing here imports PyTorch.

Every class with the surface of `Tensor` gets ``__torch_function__``. Who calls it has imported PyTorch, and only then
does what answers load. `torch.as_tensor` and its like ask for DLPack instead, which array types give of their dense
form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dispatchkit.declare.libraries import first_array
from dispatchkit.interop.dense import dense_tensor
from dispatchkit.protocol.instance import tensor_protocol

__all__ = ["torch_function"]

MAIN_MEMORY = (1, 0)


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


def dlpack(self: Any, **options: Any) -> Any:
    """Return the dense form as a DLPack capsule, under the budget of `densify`."""
    return dense_tensor("__dlpack__", self).__dlpack__(**options)


def dlpack_device(self: Any) -> Any:
    """Return where the dense form will be: where the first array in the fields is."""
    array = first_array(self)
    return MAIN_MEMORY if array is None else array.__dlpack_device__()


tensor_protocol.surface.add_attribute("__dlpack__", dlpack)
tensor_protocol.surface.add_attribute("__dlpack_device__", dlpack_device)
tensor_protocol.surface.add_attribute("__torch_function__", classmethod(torch_function))
