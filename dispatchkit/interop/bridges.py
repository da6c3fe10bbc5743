"""How functions of NumPy, PyTorch and JAX reach tensors and array types; each bridge loads when it is needed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any, ClassVar

from dispatchkit.declare.libraries import first_array
from dispatchkit.declare.namespace import tensor_namespace
from dispatchkit.protocol.densify import make_dense
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.tensor import Tensor
from dispatchkit.tensor.conversion import DIRECT_OPERATIONS


def dense_tensor(function: str, value: Any) -> Tensor:
    """Return a tensor, or the dense form of an array type under the budget of `densify`, as a plain tensor.

    Parameters
    ----------
    function : that asks for it, for messages
    value : tensor, array type, or what `asarray` takes

    Raises
    ------
    TypeError : for a type without a dense form
    DensifyError : where the budget forbids it
    """
    cls = type(value)
    if isinstance(value, Tensor):
        return value
    if not tensor_protocol.types.participates(cls):
        return tensor_namespace.asarray(value)  # type: ignore[no-any-return]  # a tensor
    to_dense = tensor_protocol.types.to_dense(cls)
    if to_dense is None:
        raise TypeError(f"{function}: {cls.__name__} has no dense form; define to_dense()")
    dense: Tensor = tensor_namespace.asarray(make_dense(function, cls, to_dense, value, tensor_protocol.types.is_plain))
    return dense


# The module that answers the functions of a library; it loads with the first of their calls.
BRIDGES = {"numpy": "dispatchkit.tensor.numpy_calls", "torch": "dispatchkit.interop.torch.calls"}


@cache
def bridge_to(library: str) -> Any:
    """Return the module that answers the functions of a library, which the program has imported."""
    return import_module(BRIDGES[library])


# The modules in which other libraries list the arrays that they know, and those that enter this library's there.
REGISTRATIONS = {
    "einops._backends": "dispatchkit.interop.einops",
    "dask.array.backends": "dispatchkit.interop.dask",
    "einx._src.frontend.impl.arrayapi": "dispatchkit.interop.einx",
}


class _Finder:
    """Finds the modules in which libraries list arrays, and enters this library's there.

    Attributes
    ----------
    awaited : names of those that are not imported yet
    """

    awaited: ClassVar[set[str]] = set()

    @classmethod
    def find_spec(cls, fullname: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname not in cls.awaited:
            return None
        cls.awaited.remove(fullname)  # from here on the others find it
        if not cls.awaited:
            sys.meta_path.remove(cls)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            execute = loader.exec_module

            def then_register(module: ModuleType) -> None:
                execute(module)
                import_module(REGISTRATIONS[fullname])

            loader.exec_module = then_register
        return spec


def register_on_import() -> None:
    """Register with the libraries that list arrays, or once they are imported."""
    for listing, registration in REGISTRATIONS.items():
        if listing in sys.modules:
            import_module(registration)
        else:
            _Finder.awaited.add(listing)
    if _Finder.awaited and _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)


MAIN_MEMORY = (1, 0)


def array_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Answer a universal function of NumPy or SciPy by the operation of the same name, or by itself on arrays."""
    if len(inputs) == 2 and method == "__call__" and not kwargs:
        x1, x2 = inputs
        try:
            operation = DIRECT_OPERATIONS[ufunc, type(x1), type(x2)]  # in less time than `get` with a tuple
        except KeyError:
            operation = None
        if operation is not None:
            return operation(x1, x2)
    return bridge_to("numpy").array_ufunc(ufunc, method, inputs, kwargs)


def array_function(
    self: Any, func: Callable[..., Any], types: tuple[type, ...], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    """Answer a NumPy function by the operation of the same meaning, by several, or by NumPy on arrays."""
    return bridge_to("numpy").array_function(func, types, args, kwargs, self)


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
    if array is None:
        return MAIN_MEMORY
    return array.__dlpack_device__()


tensor_protocol.surface.add_attribute("__array_ufunc__", array_ufunc)
tensor_protocol.surface.add_attribute("__array_function__", array_function)
tensor_protocol.surface.add_attribute("__dlpack__", dlpack)
tensor_protocol.surface.add_attribute("__dlpack_device__", dlpack_device)
tensor_protocol.surface.add_attribute("__torch_function__", classmethod(torch_function))
