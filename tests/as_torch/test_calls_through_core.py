"""Calls that the compiled core carries out where it is in use: the same functions, results and errors as without it."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
import dispatchkit.as_torch as torch
from tests.references import are_let_go

F = torch.nn.functional
NUMBERS = np.arange(1.0, 9.0).reshape(2, 4)
# The same call again and again, of which the first ones are looked at and the others carried out by what is known then.
CALLS: dict[str, Callable[[Any], Any]] = {
    "of one": torch.exp,
    "of two": lambda x: torch.add(x, x),
    "of a number": lambda x: torch.mul(x, 2.0),
    "by place": lambda x: torch.sum(x, 0),
    "by name": lambda x: torch.sum(x, dim=0, keepdim=True),
    "both": lambda x: torch.sum(x, 1, keepdim=True),
    "of a tuple": lambda x: torch.reshape(x, (4, 2)),
    "of lengths": lambda x: x.reshape(4, 2),
    "of a list": lambda x: torch.cat([x, x], 0),
    "of several results": lambda x: torch.max(x, 1)[0],
    "of a text": lambda x: F.mse_loss(x, x * 2.0, reduction="sum"),
    "with parameters": lambda x: F.layer_norm(x, (4,), x[0], x[1]),
    "method": lambda x: x.clamp(2.0, 6.0),
    "of a dtype": lambda x: torch.sum(x, 0, dtype=torch.float64),
    "of nothing": lambda x: torch.relu(input=x),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_call_gives_the_same_each_time(call: Callable[[Any], Any]) -> None:
    tensor: Any = torch.tensor(NUMBERS.tolist())
    for x in (tensor, torch.nn.Parameter(tensor)):
        first = call(x)
        assert type(first) is torch.Tensor
        for _ in range(3):
            again = call(x)
            assert type(again) is torch.Tensor
            assert (again.dtype, again.shape, again.tolist()) == (first.dtype, first.shape, first.tolist())
            assert again.requires_grad == x.requires_grad


@pytest.mark.parametrize("values", [(2, True), (True, 2), (1, 1.0), (0.0, -0.0), (1.0, True)])
def test_equal_values_of_other_types_are_told_apart(values: tuple[Any, Any]) -> None:
    x = torch.tensor([4, -2])
    for value in (*values, *values):
        assert torch.mul(x, value).dtype == torch.mul(torch.tensor([4, -2]), torch.tensor(value)).dtype
        assert torch.add(x, value).tolist() == [4 + value, -2 + value]
        signs = np.signbit(torch.copysign(torch.ones(2), value).numpy())
        assert signs.tolist() == [bool(np.signbit(value))] * 2


def test_dtypes_and_numbers_of_axes_are_told_apart() -> None:
    single, double = torch.ones(3, dtype=torch.float32), torch.ones(3, dtype=torch.float64)
    for _ in range(3):
        assert torch.add(single, single).dtype == torch.float32
        assert torch.add(double, double).dtype == torch.float64
        assert torch.add(single, double).dtype == torch.float64
        assert torch.sum(torch.ones(2, 3), 0).shape == (3,)
        assert torch.sum(torch.ones(2), 0).shape == ()
        with pytest.raises(IndexError, match="Dimension out of range"):
            torch.sum(torch.ones(2), 1)


def test_errors_are_those_of_the_first_call() -> None:
    x: Any = torch.ones(2, 3)
    exp, sum_of = (getattr(torch, name) for name in ("exp", "sum"))
    for _ in range(3):
        with pytest.raises(RuntimeError):
            torch.add(x, torch.ones(4))
        with pytest.raises(RuntimeError, match="shape"):
            torch.reshape(x, (4, 2))
        with pytest.raises(TypeError):
            exp()
        with pytest.raises(TypeError):
            exp(x, 1, 2)
        with pytest.raises(TypeError):
            sum_of(x, unknown=1)
        with pytest.raises(RuntimeError, match="bitwise_not"):
            torch.bitwise_not(x)


def test_a_diagonal_is_a_view_of_two_axes() -> None:
    x = torch.arange(60.0).reshape(3, 4, 5)
    for args in ((), (1,), (-2,), (0, 1, 2), (1, -1, 0), (0, 2, 1), (9,)):
        dims = args[1:] or (0, 1)
        wanted = np.diagonal(x.numpy(), args[0] if args else 0, *dims)
        np.testing.assert_array_equal(torch.diagonal(x, *args).numpy(), wanted)
    torch.diagonal(x)[0, 0] = -1.0
    assert x[0, 0, 0].item() == -1.0
    with pytest.raises(RuntimeError, match="cannot be identical 0, -3"):
        torch.diagonal(x, 0, 0, -3)
    with pytest.raises(IndexError, match="out of range"):
        torch.diagonal(x, 0, 0, 3)


def test_more_arguments_than_are_looked_at_are_taken() -> None:
    arrays = [torch.ones(2)] * 14
    for _ in range(3):
        assert len(torch.broadcast_tensors(*arrays)) == 14
        assert torch.einsum("i,i,i,i,i,i,i,i,i,i,i,i,i,i->", *arrays).item() == 2.0


def test_a_function_stays_a_function() -> None:
    assert isinstance(torch.Tensor.add, FunctionType)
    for function in (torch.add, torch.exp, F.layer_norm, torch.linalg.inv):
        assert isinstance(function, FunctionType)
        assert pickle.loads(pickle.dumps(function)) is function
        assert function.__doc__
        assert inspect.signature(function).parameters
    assert torch.add.__name__ == "add"
    assert next(iter(inspect.signature(torch.add).parameters)) == "input"


def test_modes_and_types_are_asked() -> None:
    x = torch.ones(2)
    torch.exp(x)
    asked: list[Any] = []

    class Asking(dk.TensorFunctionMode):
        def __tensor_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            asked.append(func)
            return func(*args, **(kwargs or {}))

    with Asking():
        torch.exp(x)
        torch.add(x, x)
    assert asked == [dk.exp, dk.add]

    class Own(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> str:
            return func.__name__  # type: ignore[no-any-return]

    own = torch.ones(2).as_subclass(Own)
    for _ in range(2):
        assert torch.exp(own) == "exp"
        assert torch.add(x, own) == "add"


def test_all_references_are_let_go() -> None:
    x = torch.tensor(NUMBERS.tolist())

    def once() -> None:
        for call in CALLS.values():
            call(x)
        with pytest.raises(RuntimeError):
            torch.add(x, torch.ones(3))

    assert are_let_go(once, (x, x.array, torch.add, torch.Tensor))
