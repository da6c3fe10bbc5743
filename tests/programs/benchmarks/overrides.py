"""Calls that a registered handler answers, against the hooks of PyTorch and NumPy.

The handlers hand an argument back, so that what is timed is the way to them.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import dispatchkit as dk

from .harness import Row, Side, Stand, names_of, pytorch

__all__ = ["ROWS"]


@dk.array_type()
class D(Stand):
    """A type with one handler per operation."""


def register_add() -> None:
    @dk.implements(dk.add)
    def add_d(x1: D, x2: D, /) -> D:
        return x1

    @dk.implements(dk.add)
    def add_d_tensor(x1: D, x2: dk.Tensor, /) -> D:
        return x1


def register_exp() -> None:
    @dk.implements(dk.exp)
    def exp_d(x: D, /) -> D:
        return x


def register_mean() -> None:
    @dk.implements(dk.mean)
    def mean_d(x: D, /, *, axis: Any = None, keepdims: bool = False) -> D:
        return x


def register_concat() -> None:
    @dk.implements(dk.concat, D)
    def concat_d(arrays: Any, /, *, axis: Any = 0) -> Any:
        return arrays[0]


REGISTER = {"add": register_add, "exp": register_exp, "mean": register_mean, "concat": register_concat}


def our_names(operation: str) -> dict[str, Any]:
    names = names_of(dk, operation)
    REGISTER[operation]()
    return {**names, "d": D(), "t": dk.tensor([1.0, 2.0, 3.0, 4.0])}


def torch_names(operation: str) -> dict[str, Any]:
    torch = pytorch()

    def add_d(input: Any, other: Any, *, alpha: float = 1) -> Any:
        return input

    def exp_d(input: Any) -> Any:
        return input

    def mean_d(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
        return input

    def concat_d(tensors: Any, dim: int = 0) -> Any:
        return tensors[0]

    handlers: dict[Any, Callable[..., Any]] = {
        torch.add: add_d,
        torch.exp: exp_d,
        torch.mean: mean_d,
        torch.concat: concat_d,
    }

    class TorchD(Stand):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            handler = handlers.get(func)
            if handler is None:
                return NotImplemented
            return handler(*args, **(kwargs or {}))

    t = torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64)
    return {**names_of(torch, operation), "d": TorchD(), "t": t}


def numpy_names(operation: str) -> dict[str, Any]:
    def add_d(x1: Any, x2: Any) -> Any:
        return x1

    def mean_d(a: Any, axis: Any = None) -> Any:
        return a

    handlers: dict[Callable[..., Any], Callable[..., Any]] = {np.add: add_d, np.mean: mean_d}

    class NumpyD(Stand):
        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
            handler = handlers.get(ufunc)
            if handler is None or method != "__call__":
                return NotImplemented
            return handler(*inputs, **kwargs)

        def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            handler = handlers.get(func)
            if handler is None:
                return NotImplemented
            return handler(*args, **kwargs)

    return {**names_of(np, operation), "d": NumpyD()}


def against_torch(operation: str, code: str, torch_code: str) -> tuple[Side, Side]:
    return Side(code, our_names(operation)), Side(torch_code, torch_names(operation))


def against_numpy(operation: str, code: str, numpy_code: str) -> tuple[Side, Side]:
    return Side(code, our_names(operation)), Side(numpy_code, numpy_names(operation))


def torch_row(work: str, hold: float, operation: str, code: str, torch_code: str | None = None) -> Row:
    build = partial(against_torch, operation, code, torch_code or code)
    return Row("override", work, f"torch.{operation}, `__torch_function__`", hold, build)


def numpy_row(work: str, hold: float, hook: str, operation: str, code: str, numpy_code: str) -> Row:
    build = partial(against_numpy, operation, code, numpy_code)
    return Row("override", work, f"np.{operation}, {hook}", hold, build)


ROWS = [
    torch_row("add(D, D)", 0.15, "add", "add(d, d)"),
    torch_row("exp(D)", 0.15, "exp", "exp(d)"),
    torch_row("add(D, tensor)", 0.2, "add", "add(d, t)"),
    torch_row("mean(D, axis=0)", 0.3, "mean", "mean(d, axis=0)", "mean(d, dim=0)"),
    torch_row("concat([D, D])", 0.5, "concat", "concat([d, d])"),
    numpy_row("add(D, D)", 0.7, "`__array_ufunc__`", "add", "add(d, d)", "add(d, d)"),
    # Against the function, as the operator of NumPy's mixin is that function and a detour.
    numpy_row("D + D", 1.0, "`__array_ufunc__`", "add", "d + d", "add(d, d)"),
    numpy_row("mean(D)", 1.0, "`__array_function__`", "mean", "mean(d)", "mean(d)"),
]
