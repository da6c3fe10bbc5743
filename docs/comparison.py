"""The claims of README's table on other systems, each shown by running it: `python docs/comparison.py`.

A function stands for a row, in the order of the table. It raises where a claim is not true. The rows on
`__torch_function__` need PyTorch.
"""

from __future__ import annotations

import inspect
import warnings
from typing import Any, ClassVar

import numpy as np
import torch

import dispatchkit as dk


class TorchDuck:
    """A type that answers what `table` names, and declines everything else."""

    table: ClassVar[dict[Any, Any]] = {}

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return cls.table[func](*args, **(kwargs or {})) if func in cls.table else NotImplemented


class NumPyDuck:
    """The same for NumPy."""

    table: ClassVar[dict[Any, Any]] = {}

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return self.table[func](*args, **kwargs) if func in self.table else NotImplemented


@dk.array_type(fallback=dk.fallback.decompose | dk.fallback.dense)
class Duck(dk.ArrayMethods):
    def __init__(self, n: int) -> None:
        self.n = n

    def to_dense(self) -> dk.Tensor:
        return dk.eye(self.n)


def error(function: Any, *args: Any, **kwargs: Any) -> str:
    """Return the text of the TypeError that a call raises."""
    try:
        function(*args, **kwargs)
    except TypeError as raised:
        return str(raised)
    raise AssertionError(f"{function} raised no TypeError")


def uncovered() -> None:
    """Call a function that the type does not cover."""
    assert "returned NotImplemented" in error(torch.exp, TorchDuck())
    assert "no implementation found" in error(np.sum, NumPyDuck())
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert dk.exp(Duck(2)).shape == (2, 2)
    assert [warning.category for warning in said] == [dk.DensifyWarning]


def covered() -> str:
    """Ask what is covered: how many of PyTorch's dummies lack a keyword of the function that they stand for."""
    checked = lacking = 0
    for function, dummy in torch.overrides.get_testing_overrides().items():
        try:
            wanted = set(inspect.signature(function).parameters)
        except (TypeError, ValueError):
            continue
        found = inspect.signature(dummy).parameters
        if not any(p.kind is p.VAR_KEYWORD for p in found.values()):
            checked += 1
            lacking += not wanted - {"args", "kwargs"} <= set(found)
    for function, stand_in in dk.overrides.get_testing_overrides().items():
        if inspect.isfunction(function):
            assert list(inspect.signature(stand_in).parameters) == list(inspect.signature(function).parameters)
    return f"{lacking} of {checked} dummies of PyTorch lack a keyword"


def asked() -> None:
    """Ask who answers a call, and why."""
    assert "dense: to_dense() of Duck  [answers]" in str(dk.explain(dk.exp, Duck(2)))


def spellings() -> None:
    """Call a function, a method, an operator."""
    torch_duck = type("D", (TorchDuck,), {"table": {torch.add: lambda x, y: "by the rule"}})()
    assert torch.add(torch_duck, 1) == "by the rule"
    assert "unsupported operand" in error(lambda: torch.ones(2) + torch_duck)
    numpy_duck = type("D", (NumPyDuck,), {"table": {np.sum: lambda x: "by the rule"}})()
    assert np.sum(numpy_duck) == "by the rule"
    assert not hasattr(numpy_duck, "sum")
    with dk.local_registrations():
        dk.implements(dk.add, Duck, int)(lambda x1, x2, /: "by the rule")
        assert dk.add(Duck(2), 1) == Duck(2) + 1 == Duck(2).add(1) == "by the rule"


def siblings() -> None:
    """Add two subclasses of the tensor."""
    left, right = type("Left", (torch.Tensor,), {}), type("Right", (torch.Tensor,), {})
    assert "returned NotImplemented" in error(
        torch.add, torch.ones(2).as_subclass(left), torch.ones(2).as_subclass(right)
    )
    first, second = type("First", (np.ndarray,), {}), type("Second", (np.ndarray,), {})
    assert type(np.ones(2).view(first) + np.ones(2).view(second)) is first
    one, two = type("One", (dk.Tensor,), {}), type("Two", (dk.Tensor,), {})
    assert type(one([1.0]) + two([1.0])) is one
    with dk.local_registrations():
        dk.implements(dk.add, one, two)(lambda x1, x2, /: "by the rule of the pair")
        assert one([1.0]) + two([1.0]) == "by the rule of the pair"


def keywords() -> None:
    """Give a keyword that the handler does not take."""
    torch_duck = type("D", (TorchDuck,), {"table": {torch.sum: lambda x: 0.0}})()
    assert "unexpected keyword argument" in error(torch.sum, torch_duck, dim=0)
    numpy_duck = type("D", (NumPyDuck,), {"table": {np.sum: lambda x: 0.0}})()
    assert "unexpected keyword argument" in error(np.sum, numpy_duck, axis=0)
    with dk.local_registrations(), dk.densify(on="allow"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # registering says which keywords the rule lacks
        dk.implements(dk.sum, Duck)(lambda x, /: 0.0)
        assert dk.sum(Duck(2), axis=0).shape == (2,)


def faults() -> None:
    """Reach a bug in a handler by an operator."""

    def faulty(*args: Any) -> Any:
        raise TypeError("a fault of the rule")

    torch_duck = type("D", (TorchDuck,), {"table": {torch.Tensor.sub: faulty, torch.Tensor.eq: faulty}})()
    assert "unsupported operand" in error(lambda: torch.ones(2) - torch_duck)
    assert (torch.ones(2) == torch_duck) is False
    with dk.local_registrations():
        dk.implements(dk.subtract, dk.Tensor, Duck)(faulty)
        assert "a fault of the rule" in error(lambda: dk.ones(2) - Duck(2))


def declining_modes() -> None:
    """Enter a mode that declines."""
    seen = []

    class TorchMode(torch.overrides.TorchFunctionMode):
        def __init__(self, answer: Any) -> None:
            self.answer = answer

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(self.answer)
            return self.answer

    with TorchMode("the outer mode"), TorchMode(NotImplemented):
        error(torch.exp, TorchDuck())
    assert seen == [NotImplemented]

    class Mode(dk.TensorFunctionMode):
        def __init__(self, answer: Any) -> None:
            self.answer = answer

        def __tensor_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            return self.answer

    with Mode("the outer mode"), Mode(NotImplemented):
        assert dk.exp(Duck(2)) == "the outer mode"


def dense() -> None:
    """Make a type dense."""
    with dk.densify(on="error"):
        assert "dense" in error_of_any(dk.exp, Duck(2))


def error_of_any(function: Any, *args: Any) -> str:
    """Return the text of the DensifyError that a call raises."""
    try:
        function(*args)
    except dk.DensifyError as raised:
        return str(raised)
    raise AssertionError("no DensifyError")


ROWS = (uncovered, covered, asked, spellings, siblings, keywords, faults, declining_modes, dense)

if __name__ == "__main__":
    for row in ROWS:
        measured = row()
        print(f"{(row.__doc__ or '').splitlines()[0]} {measured or 'As the table says.'}")
