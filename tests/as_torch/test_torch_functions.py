"""`__torch_function__` as PyTorch's pages on extending it show it, with its functions and methods."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy.testing as npt
import pytest

import dispatchkit as dk
import dispatchkit.as_torch as torch
from dispatchkit.as_torch import nn
from dispatchkit.as_torch.nn import functional as F  # as everybody calls it

CORE: Any = torch._C
HANDLED: dict[Any, Callable[..., Any]] = {}


def implements(function: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def decorator(func: Callable[..., Any]) -> Callable[..., Any]:
        functools.update_wrapper(func, function)
        HANDLED[function] = func
        return func

    return decorator


class ScalarTensor:
    """A diagonal matrix of one value, which is no tensor."""

    def __init__(self, N: int, value: float) -> None:  # PyTorch's page
        self._N, self._value = N, value

    def __repr__(self) -> str:
        return f"ScalarTensor(N={self._N}, value={self._value})"

    def tensor(self) -> Any:
        return self._value * torch.eye(self._N)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func not in HANDLED or not all(issubclass(t, (torch.Tensor, ScalarTensor)) for t in types):
            return NotImplemented
        return HANDLED[func](*args, **(kwargs or {}))


@implements(torch.mean)
def mean(input: Any) -> Any:
    return float(input._value) / input._N


def ensure_tensor(data: Any) -> Any:
    return data.tensor() if isinstance(data, ScalarTensor) else torch.as_tensor(data)


@implements(torch.add)
def add(input: Any, other: Any) -> Any:
    if isinstance(input, ScalarTensor) and isinstance(other, ScalarTensor):
        return ScalarTensor(input._N, input._value + other._value)
    return torch.add(ensure_tensor(input), ensure_tensor(other))


@implements(torch.stack)
def stack(tensors: Any, dim: int = 0) -> Any:
    return torch.stack([ensure_tensor(each) for each in tensors], dim)


def test_what_is_no_tensor_answers_functions() -> None:
    d: Any = ScalarTensor(5, 2)
    assert torch.mean(d) == 0.4
    s: Any = ScalarTensor(2, 2)
    assert repr(torch.add(s, s)) == "ScalarTensor(N=2, value=4)"
    t = torch.tensor([[1.0, 1], [1, 1]])
    npt.assert_array_equal(torch.add(s, t).numpy(), [[3, 1], [1, 3]])
    npt.assert_array_equal(torch.add(t, s).numpy(), [[3, 1], [1, 3]])
    assert torch.stack([t, s]).shape == (2, 2, 2)
    text = r"no implementation found for 'dispatchkit\.as_torch\.mul' on types that implement __torch_function__: \[<cl"
    with pytest.raises(TypeError, match=text):
        torch.mul(s, 3)


class MetadataTensor:
    """A tensor with a text, which is no tensor."""

    def __init__(self, data: Any, metadata: str | None = None) -> None:
        self._t, self._metadata = torch.as_tensor(data), metadata

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        metadatas = tuple(a._metadata for a in args if hasattr(a, "_metadata"))
        assert metadatas
        assert types == (MetadataTensor,)
        args = [getattr(a, "_t", a) for a in args]
        return MetadataTensor(func(*args, **(kwargs or {})), metadata=metadatas[0])


def of(wrapper: Any) -> Any:
    """Return the tensor in a wrapper."""
    return wrapper._t


def test_a_wrapper_calls_the_function_that_it_is_asked_for() -> None:
    m: Any = MetadataTensor([[1.0], [2.0]], metadata="This is a test")
    t: Any = torch.tensor([[3.0], [4.0]])
    y: Any = torch.add(t, m)
    npt.assert_array_equal(y._t.numpy(), [[4], [6]])
    assert y._metadata == "This is a test"
    npt.assert_array_equal(of(torch.mul(m, t)).numpy(), [[3], [8]])
    npt.assert_array_equal(of(torch.sum(m, dim=0, dtype=torch.float64)).numpy(), [3])
    assert of(F.linear(m, torch.ones(3, 1))).shape == (2, 3)


LOG: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = []


class LoggingTensor(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        LOG.append((func, args, kwargs))
        return super().__torch_function__(func, types, args, kwargs or {})


def logged(call: Callable[..., Any], *args: Any) -> tuple[list[Any], Any]:
    """Return the functions that a call asks for, and its result."""
    LOG.clear()
    y = call(*args)
    return [entry[0] for entry in LOG], y


X, LAYER = torch.ones(2, 2), nn.Linear(2, 2)
FUNCTIONS: list[tuple[Callable[..., Any], Any]] = [
    (lambda x: torch.mean(x, dim=0), torch.mean),
    (lambda x: torch.add(X, x, alpha=2), torch.add),
    (lambda x: torch.cat([X, x]), torch.cat),
    (lambda x: torch.linalg.norm(x), torch.linalg.norm),
    (lambda x: torch.zeros_like(x), torch.zeros_like),
    (lambda x: F.relu(x), F.relu),
    (lambda x: F.relu(x, inplace=True), F.relu),
    (lambda x: F.softmax(x, dim=-1), F.softmax),
    (lambda x: LAYER(x), F.linear),
    (lambda x: x.mean(dim=0), torch.Tensor.mean),
    (lambda x: X.add(x), torch.Tensor.add),
    (lambda x: X.clone().add_(x), torch.Tensor.add_),
    (lambda x: x.permute(1, 0), torch.Tensor.permute),
    (lambda x: x.view(4), torch.Tensor.view),
    (lambda x: x.detach(), torch.Tensor.detach),
    (lambda x: x.new_zeros(2), torch.Tensor.new_zeros),
    (lambda x: x + 1, torch.Tensor.add),
    (lambda x: 1 + x, torch.Tensor.add),
    (lambda x: X + x, torch.Tensor.add),
    (lambda x: X - x, torch.Tensor.sub),
    (lambda x: 1 - x, torch.Tensor.__rsub__),
    (lambda x: x / 2, torch.Tensor.div),
    (lambda x: 2 / x, torch.Tensor.__rtruediv__),
    (lambda x: x**2, torch.Tensor.__pow__),
    (lambda x: x % 2, torch.Tensor.remainder),
    (lambda x: x @ x, torch.Tensor.matmul),
    (lambda x: -x, torch.Tensor.neg),
    (lambda x: abs(x), torch.Tensor.abs),
    (lambda x: x < X, torch.Tensor.lt),
    (lambda x: x > X, torch.Tensor.gt),
    (lambda x: x == 1, torch.Tensor.__eq__),
    (lambda x: x[0], torch.Tensor.__getitem__),
    (lambda x: x.__iadd__(1), torch.Tensor.add_),
    (lambda x: x.__itruediv__(2), torch.Tensor.div_),
]


@pytest.mark.parametrize("place", range(len(FUNCTIONS)))
def test_a_subclass_is_asked_once_by_the_function_that_pytorch_shows(place: int) -> None:
    call, function = FUNCTIONS[place]
    for _ in range(3):  # what is known of a call changes nothing
        functions, y = logged(call, X.clone().as_subclass(LoggingTensor))
        assert functions == [function]
        assert functions[0] is function
        assert type(y) is LoggingTensor
        npt.assert_array_equal(y.detach().numpy(), call(X.clone()).detach().numpy())


def test_functions_keep_their_names_and_arguments() -> None:
    x = X.as_subclass(LoggingTensor)
    logged(lambda: torch.sum(x, dim=(0, 1), keepdim=True, dtype=torch.float32))
    function, args, kwargs = LOG[0]
    assert function.__name__ == "sum"
    assert args[0] is x
    assert kwargs == {"dim": (0, 1), "keepdim": True, "dtype": torch.float32}
    assert kwargs["dtype"] is torch.float32
    for call, name in ((lambda: 1 - x, "__rsub__"), (lambda: x**2, "__pow__"), (lambda: x.new_ones(2), "new_ones")):
        assert logged(call)[0][0].__name__ == name


def test_results_several_numbers_and_gradients() -> None:
    x = torch.ones(2, 2, requires_grad=True).as_subclass(LoggingTensor)
    functions, (values, indices) = logged(lambda: x.max(0))
    assert functions == [torch.Tensor.max]
    assert type(values) is type(indices) is LoggingTensor
    assert logged(x.sum().item) == ([torch.Tensor.item], 4.0)
    functions, _ = logged((x * x).sum().backward)
    assert functions == [torch.Tensor.backward]


def test_in_a_block_nobody_is_asked() -> None:
    x = X.as_subclass(LoggingTensor)
    assert torch.overrides.has_torch_function((x,))
    with CORE.DisableTorchFunctionSubclass():
        assert not torch.overrides.has_torch_function((x,))
        functions, y = logged(torch.add, x, 1)
    assert functions == []
    assert type(y) is torch.Tensor
    assert logged(torch.add, x, 1)[0] == [torch.add]


def test_operations_of_the_library_are_asked_as_they_are() -> None:
    functions, y = logged(dk.sin, X.as_subclass(LoggingTensor))
    assert functions == [dk.sin]
    assert type(y) is LoggingTensor


class Sub(LoggingTensor):
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return "sub", types


class Silent(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return NotImplemented

    def mean(self, *args: Any, **kwargs: Any) -> Any:
        return "its own"


def test_subclasses_are_asked_before_their_bases_and_who_does_not_answer_refuses() -> None:
    x, y = X.as_subclass(LoggingTensor), X.as_subclass(Sub)
    assert torch.add(x, y) == ("sub", (Sub, LoggingTensor))
    silent = X.as_subclass(Silent)
    assert silent.mean() == "its own"
    with pytest.raises(TypeError, match=r"no implementation found for 'dispatchkit\.as_torch\.add' on types"):
        torch.add(silent, 1)
    with pytest.raises(TypeError, match=r"no implementation found for .*add' on types"):
        silent + 1


class Disabled(torch.Tensor):
    __torch_function__ = torch._C._disabled_torch_function_impl


def test_a_class_that_has_it_disabled_is_not_asked() -> None:
    x = X.as_subclass(Disabled)
    assert not torch.overrides.has_torch_function((x,))
    npt.assert_array_equal(torch.add(x, 1).numpy(), 2 * X.numpy())


def plain(x: Any) -> Any:
    if torch.overrides.has_torch_function((x,)):
        return torch.overrides.handle_torch_function(plain, (x,), x)
    return x


def test_functions_of_a_program_ask() -> None:
    assert torch.overrides.handle_torch_function(plain, (X.as_subclass(Sub),), 1)[0] == "sub"
    functions, y = logged(plain, X.as_subclass(LoggingTensor))
    assert functions == [plain]
    assert type(y) is LoggingTensor
