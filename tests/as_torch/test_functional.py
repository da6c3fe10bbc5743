"""`torch.autograd.functional`: the same as PyTorch's, and as the transformations of dispatchkit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
import dispatchkit.as_torch as torch
from dispatchkit.as_torch.autograd import functional as F
from dispatchkit.errors import AutogradError

X, Y = torch.tensor([0.5, 2.0]), torch.tensor([[1.0, 3.0, -2.0], [0.5, 1.5, 4.0]])
V, W = torch.tensor([1.0, -1.0]), torch.tensor([[0.5, 0.0, 2.0], [1.0, -3.0, 0.1]])


def one(x: Any) -> Any:
    return x.exp().sum(dim=0, keepdim=True) * x.pow(2)


def several(x: Any, y: Any) -> Any:
    return (x @ y).sin(), x.sum()


def scalar(x: Any, y: Any) -> Any:
    return (x.pow(3).unsqueeze(1) * y.sin()).sum()


PRODUCTS: list[tuple[str, Any, tuple[Any, ...]]] = [
    ("vjp", one, (X, V)),
    ("jvp", one, (X, V)),
    ("vjp", several, ((X, Y), (torch.tensor([1.0, 2.0, 3.0]), torch.tensor(2.0)))),
    ("jvp", several, ((X, Y), (V, W))),
    ("vjp", lambda x: x.sum(), (X,)),
    ("jvp", lambda x: x.expand(3) * x, (torch.tensor([3.0]),)),
    ("vhp", scalar, ((X, Y), (V, W))),
    ("hvp", scalar, ((X, Y), (V, W))),
    ("hvp", lambda x: x.pow(3).sum(), (X, V)),
    ("jacobian", one, (X,)),
    ("jacobian", several, ((X, Y),)),
    ("jacobian", lambda x, y: (x.sin(), y.sin()), ((X, Y),)),
    ("hessian", lambda x: x.pow(3).sum(), (X,)),
    ("hessian", scalar, ((X, Y),)),
]


def nested(change: Any, value: Any) -> Any:
    return type(value)(nested(change, part) for part in value) if isinstance(value, tuple) else change(value)


def called(name: str, function: Any, args: Any, **options: Any) -> Any:
    return nested(lambda x: x.detach().numpy(), getattr(F, name)(function, *args, **options))


def compare(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    if isinstance(found, tuple):
        for part, other in zip(found, expected, strict=True):
            compare(part, other)
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize(("name", "function", "args"), PRODUCTS, ids=[name for name, _, _ in PRODUCTS])
def test_results_are_pytorchs(name: str, function: Any, args: Any) -> None:
    theirs = pytest.importorskip("torch")
    arguments = nested(lambda x: theirs.from_numpy(x.numpy()), args)
    expected = getattr(theirs.autograd.functional, name)(function, *arguments)
    compare(called(name, function, args), nested(lambda x: x.numpy(), expected))


def test_results_are_those_of_the_transformations() -> None:
    compare(called("jacobian", one, (X,)), dk.func.jacrev(one)(X).numpy())
    expected = dk.func.hessian(scalar, argnums=(0, 1))(X, Y)
    compare(called("hessian", scalar, ((X, Y),)), nested(lambda x: x.numpy(), tuple(map(tuple, expected))))
    value, pushed = called("jvp", several, ((X, Y), (V, W)))
    compare((value, pushed), nested(lambda x: x.numpy(), dk.func.jvp(several, (X, Y), (V, W))))
    compare(called("hvp", scalar, ((X, Y), (V, W))), called("vhp", scalar, ((X, Y), (V, W))))


@pytest.mark.parametrize("name", ["vjp", "jvp", "jacobian"])
def test_the_graph_is_there_if_it_is_asked_for(name: str) -> None:
    x = X.clone().requires_grad_()
    args = (x,) if name == "jacobian" else (x, V)
    for result in getattr(F, name)(one, *args)[0:2]:
        assert not result.requires_grad
    with torch.no_grad():
        result = getattr(F, name)(one, *args, create_graph=True)
    result = result if name == "jacobian" else result[1]
    assert isinstance(result, torch.Tensor)
    result.sum().backward()
    again = X.clone().requires_grad_()
    rows = dk.func.jacrev(one)(again)
    {"jacobian": rows, "vjp": V @ rows, "jvp": rows @ V}[name].sum().backward()
    compare(x.grad.numpy(), again.grad.numpy())


def test_what_does_not_depend_is_zero_or_refused() -> None:
    alone = lambda x, y: x * 2  # noqa: E731
    assert called("vjp", alone, ((X, Y), V))[1][1].tolist() == [[0.0] * 3] * 2
    assert called("jacobian", alone, ((X, Y),))[1].shape == (2, 2, 3)
    assert called("hessian", lambda x: x.sum(), (X,)).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert called("jvp", lambda x: V.clone(), (X, V))[1].tolist() == [0.0, 0.0]
    for name, args in (("vjp", ((X, Y), V)), ("jvp", ((X, Y), (V, W))), ("jacobian", ((X, Y),))):
        with pytest.raises(AutogradError, match=f"{name}: the outputs do not depend on each input, which strict"):
            called(name, alone, args, strict=True)


def test_refusals() -> None:
    with pytest.raises(TypeError, match="jacobian: inputs must be tensors, found a int at index 1"):
        F.jacobian(several, (X, 2))
    with pytest.raises(TypeError, match="vjp: outputs of the function must be tensors, found a str at index 0"):
        F.vjp(lambda x: "nothing", X)
    with pytest.raises(AutogradError, match=r"vjp: v must have the shapes \[torch\.Size\(\[2\]\)\], found None"):
        F.vjp(one, X)
    with pytest.raises(
        AutogradError, match=r"jvp: v must have the shapes \[torch\.Size\(\[2\]\)\], found \[torch\.Size"
    ):
        F.jvp(one, X, W)
    wrong = r"hessian: the function must give a single element, found the shape torch\.Size\(\[2\]\)"
    with pytest.raises(AutogradError, match=wrong):
        F.hessian(one, X)
