"""NumPy's tests of NumPy's functions, each called with a tensor for each of its arrays.

A plugin of pytest: what the tests name `np`, or import from it, calls NumPy's own function with tensors that share the
memory of the arrays, and gives back the array of the tensor that comes out.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

import numpy as np

import dispatchkit as dk
from tests.programs.peers_suites.lifting import Replacing

FUNCTIONS = (type(np.sum), np.ufunc)  # what can be overridden
MODULES = (np, np.linalg, np.fft, np.lib)


class Arrays:
    """The arrays of one call and the tensors that stand for them."""

    def __init__(self) -> None:
        self.of: dict[int, tuple[dk.Tensor, Any]] = {}

    def lifted(self, value: Any) -> Any:
        """Return a tensor for an array of a dtype that tensors have, for those in lists and tuples likewise."""
        if type(value) is np.ndarray and value.dtype.isnative and value.dtype.kind in "biufc":
            try:
                tensor = dk.asarray(value, copy=False)
            except (TypeError, ValueError):
                return value
            self.of[id(tensor)] = (tensor, value)
            return tensor
        if type(value) in (list, tuple):
            return type(value)(self.lifted(member) for member in value)
        if type(value) is dict:
            return {key: self.lifted(member) for key, member in value.items()}
        return value

    def lowered(self, value: Any) -> Any:
        """Return an array for a tensor, the one it was made for where there is one; scalars for those without axes."""
        if isinstance(value, dk.Tensor):
            known = self.of.get(id(value))
            return np.asarray(value)[()] if known is None else known[1]
        if type(value) in (list, tuple):
            return type(value)(self.lowered(member) for member in value)
        if isinstance(value, tuple):  # named ones
            return type(value)(*(self.lowered(member) for member in value))
        return value


class OverTensors:
    """A function of NumPy's that is called with tensors; other attributes are the function's."""

    def __init__(self, function: Any) -> None:
        self.function = function
        functools.update_wrapper(self, function, ("__name__", "__qualname__", "__doc__"), ())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        arrays = Arrays()
        return arrays.lowered(self.function(*arrays.lifted(args), **arrays.lifted(kwargs)))

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.function, name)
        return OverTensors(value) if name in ("reduce", "accumulate", "outer", "reduceat", "at") else value

    def __eq__(self, other: object) -> bool:
        return bool(self.function == getattr(other, "function", other))

    def __hash__(self) -> int:
        return hash(self.function)

    def __repr__(self) -> str:
        return repr(self.function)


class Namespace(ModuleType):
    """A module of NumPy's whose functions are called with tensors."""

    def __init__(self, module: ModuleType) -> None:
        super().__init__(module.__name__)
        self.__dict__["module"] = module

    def __getattr__(self, name: str) -> Any:
        value = replaced(getattr(self.__dict__["module"], name))
        self.__dict__[name] = value
        return value


NAMESPACES = {module.__name__: Namespace(module) for module in MODULES}


@functools.cache
def over_tensors(function: Any) -> OverTensors:
    """Return what stands for a function, always the same: tests ask which one they have."""
    return OverTensors(function)


def replaced(value: Any) -> Any:
    """Return what stands for one of NumPy's functions or modules in the tests."""
    if isinstance(value, FUNCTIONS):
        return over_tensors(value)
    if isinstance(value, ModuleType) and not isinstance(value, Namespace):
        return NAMESPACES.get(value.__name__, value)
    return value


def pytest_configure(config: Any) -> None:
    """Replace NumPy's functions in the modules of the tests."""
    config.pluginmanager.register(Replacing(replaced))
