"""How functions of NumPy and PyTorch ask tensors and array types.

Every class with the surface of `Tensor` gets ``__array_function__``, ``__array_ufunc__`` and ``__torch_function__``.
What answers loads with the first call; nothing here imports PyTorch. `torch.as_tensor` and its like ask for DLPack
instead, which array types give of their dense form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dispatchkit.declare.libraries import first_array
from dispatchkit.interop.dense import dense_tensor
from dispatchkit.interop.on_import import bridge_to
from dispatchkit.protocol.instance import tensor_protocol

__all__ = ["array_function", "array_ufunc", "torch_function"]

MAIN_MEMORY = (1, 0)


def array_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Answer a universal function of NumPy or SciPy by the operation of the same name, or by itself on arrays."""
    return bridge_to("numpy").array_ufunc(ufunc, method, inputs, kwargs)


def array_function(
    self: Any, func: Callable[..., Any], types: tuple[type, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    """Answer a NumPy function by the operation of the same meaning, by several, or by NumPy on arrays."""
    return bridge_to("numpy").array_function(func, types, args, kwargs)


def torch_function(
    cls: type,
    func: Callable[..., Any],
    types: tuple[type, ...],
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
) -> Any:
    """Answer a function of PyTorch by the operation of the same meaning, or on the dense form."""
    return bridge_to("torch").answer(func, types, args, dict(kwargs or {}))


def dlpack(self: Any, **options: Any) -> Any:
    """Return the dense form as a DLPack capsule, under the budget of `densify`."""
    return dense_tensor("__dlpack__", self).__dlpack__(**options)


def dlpack_device(self: Any) -> Any:
    """Return where the dense form will be: where the first array in the fields is."""
    array = first_array(self)
    return MAIN_MEMORY if array is None else array.__dlpack_device__()


tensor_protocol.surface.add_attribute("__array_ufunc__", array_ufunc)
tensor_protocol.surface.add_attribute("__array_function__", array_function)
tensor_protocol.surface.add_attribute("__dlpack__", dlpack)
tensor_protocol.surface.add_attribute("__dlpack_device__", dlpack_device)
tensor_protocol.surface.add_attribute("__torch_function__", classmethod(torch_function))
