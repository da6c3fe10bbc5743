"""Small tensors, plain and subclassed, against PyTorch: what a call costs beside the arithmetic."""

from functools import partial
from typing import Any

import numpy as np

import dispatchkit as dk

from .harness import Row, Side, names_of, pytorch

__all__ = ["ROWS"]

A = [0.1, 0.2, 0.3, 0.4]
B = [1.5, 2.5, 3.5, 4.5]


class Sub(dk.Tensor):
    """Adds nothing."""


def plain(operations: list[str], code: str, *, grad: bool = False) -> tuple[Side, Side]:
    ours = {
        "a": dk.tensor(A, requires_grad=grad),
        "b": dk.tensor(B, requires_grad=grad),
        **names_of(dk, *operations),
    }
    torch = pytorch()
    reference = {
        "a": torch.tensor(A, dtype=torch.float64, requires_grad=grad),
        "b": torch.tensor(B, dtype=torch.float64, requires_grad=grad),
        **names_of(torch, *operations),
    }
    return Side(code, ours), Side(code, reference)


def beside_numpy(operations: list[str], code: str) -> tuple[Side, Side]:
    ours = {"a": dk.tensor(A), "b": dk.tensor(B), **names_of(dk, *operations)}
    return Side(code, ours), Side(code, {"a": np.asarray(A), "b": np.asarray(B), **names_of(np, *operations)})


def subclass(operations: list[str], code: str) -> tuple[Side, Side]:
    ours = {"s": Sub(A), **names_of(dk, *operations)}
    if operations and not isinstance(Side(code, ours).result(), Sub):
        raise AssertionError(f"{code} lost the subclass")
    torch = pytorch()
    torch_sub = type("TorchSub", (torch.Tensor,), {})
    s = torch.tensor(A, dtype=torch.float64).as_subclass(torch_sub)
    return Side(code, ours), Side(code, {"s": s, **names_of(torch, *operations)})


def chain(x: Any, w: Any, b: Any, exp: Any) -> Any:
    """Thirty-one operations forward, and backward through all of them."""
    x.grad = None
    y = x
    for _ in range(10):
        y = exp(y * w + b)
    y.sum().backward()
    return x.grad


def square(a: Any) -> Any:
    a.grad = None
    (a * a).sum().backward()
    return a.grad


def function(library: Any) -> Any:
    """Give the `apply` of a trivial function."""

    class Double(library.autograd.Function):  # type: ignore[misc]  # of either library
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    return Double.apply


def twice(a: Any, apply: Any) -> Any:
    a.grad = None
    apply(a).sum().backward()
    return a.grad


def functions() -> tuple[Side, Side]:
    ours, reference = plain([], "twice(a, apply)", grad=True)
    sides = [
        Side(side.code, {**side.names, "twice": twice, "apply": function(library)})
        for side, library in ((ours, dk), (reference, pytorch()))
    ]
    return sides[0], sides[1]


def backward(code: str) -> tuple[Side, Side]:
    w = [-0.5] * 4  # keeps ten exponentials of each other small
    ours = {"x": dk.tensor(A, requires_grad=True), "w": dk.tensor(w), "b": dk.tensor(A), "exp": dk.exp}
    torch = pytorch()
    double = partial(torch.tensor, dtype=torch.float64)
    reference = {"x": double(A, requires_grad=True), "w": double(w), "b": double(A), "exp": torch.exp}
    helpers = {"chain": chain, "square": square}
    return Side(code, {**ours, **helpers}), Side(code, {**reference, **helpers})


ROWS = [
    Row("plain", "add(a, b)", "PyTorch", 0.55, partial(plain, ["add"], "add(a, b)")),
    Row("plain", "a + b", "PyTorch", 0.65, partial(plain, [], "a + b")),
    Row("plain", "a * 2.0", "PyTorch", 0.6, partial(plain, [], "a * 2.0")),
    Row("plain", "exp(a)", "PyTorch", 0.55, partial(plain, ["exp"], "exp(a)")),
    Row("plain", "a + b", "NumPy", 2.6, partial(beside_numpy, [], "a + b")),
    Row("plain", "a * 2.0", "NumPy", 2.2, partial(beside_numpy, [], "a * 2.0")),
    Row("plain", "-a", "NumPy", 2.5, partial(beside_numpy, [], "-a")),
    Row("plain", "exp(a)", "NumPy", 2.5, partial(beside_numpy, ["exp"], "exp(a)")),
    Row("plain", "sum(a)", "PyTorch", 1.1, partial(plain, ["sum"], "sum(a)")),
    Row("plain", "a.shape", "PyTorch", 1.2, partial(plain, [], "a.shape")),
    Row("graph", "a + b, recorded", "PyTorch", 0.5, partial(plain, [], "a + b", grad=True)),
    Row("graph", "add(a, b), recorded", "PyTorch", 0.5, partial(plain, ["add"], "add(a, b)", grad=True)),
    Row("subclass", "add(s, s)", "torch.Tensor subclass", 0.25, partial(subclass, ["add"], "add(s, s)")),
    Row("subclass", "exp(s)", "torch.Tensor subclass", 0.25, partial(subclass, ["exp"], "exp(s)")),
    Row("subclass", "s.shape", "torch.Tensor subclass", 0.1, partial(subclass, [], "s.shape")),
    Row("graph", "31 operations and backward", "PyTorch", 0.55, partial(backward, "chain(x, w, b, exp)")),
    Row("graph", "(a*a).sum().backward()", "PyTorch", 0.5, partial(backward, "square(x)")),
    Row("graph", "Function and backward", "PyTorch", 1.0, functions),
]
