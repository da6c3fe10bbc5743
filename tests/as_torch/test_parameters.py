"""Parameters go the way of tensors, and classes made of them their own."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest

import dispatchkit.as_torch as torch
from dispatchkit.accelerator import core
from tests.protocol.support import steps_of

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "x @ p": lambda x, p: x @ p,
    "p * 2.0": lambda x, p: p * 2.0,
    "1.0 - p": lambda x, p: 1.0 - p,
    "p + x": lambda x, p: p + x,
    "-p": lambda x, p: -p,
    "p < x": lambda x, p: p < x,
    "p.exp()": lambda x, p: p.exp(),
    "p.sum()": lambda x, p: p.sum(),
    "p.mean()": lambda x, p: p.mean(),
    "p[0]": lambda x, p: p[0],
    "p[1:, 0]": lambda x, p: p[1:, 0],
    "einsum": lambda x, p: torch.einsum("ij,jk->ik", x, p),
    "cat": lambda x, p: torch.cat([p, p]),
    "cat with a tensor": lambda x, p: torch.cat([x, p], 1),
    "stack": lambda x, p: torch.stack([p, x]),
    "p.T": lambda x, p: p.T,
    "p.view(-1)": lambda x, p: p.view(-1),
    "p.reshape(1, 9)": lambda x, p: p.reshape(1, 9),
    "p.transpose(0, 1)": lambda x, p: p.transpose(0, 1),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_results_are_plain_tensors_in_the_graph(call: Callable[[Any, Any], Any]) -> None:
    x, plain = torch.ones(3, 3), torch.arange(9.0).reshape(3, 3)
    p = torch.nn.Parameter(plain.clone())
    for _ in range(2):
        y = call(x, p)
        assert type(y) is torch.Tensor
        assert torch.equal(y, call(x, plain))
        assert y.requires_grad is (y.dtype != torch.bool)
    with torch.no_grad():
        assert not call(x, p).requires_grad


SHORT = ("x @ p", "-p", "p[0]", "p.mean()", "p.T", "p.view(-1)", "cat with a tensor")


@pytest.mark.skipif(core is not None, reason="compiled code takes no steps that are counted")
@pytest.mark.parametrize("call", [CALLS[name] for name in SHORT], ids=SHORT)
def test_a_parameter_takes_few_steps_more_than_a_tensor(call: Callable[[Any, Any], Any]) -> None:
    x = torch.ones(3, 3)
    p, recorded = torch.nn.Parameter(x.clone()), x.clone().requires_grad_()
    for _ in range(3):  # a plan of the calls is made
        call(x, p), call(x, recorded)
    assert steps_of(lambda: call(x, p)) < 1.3 * steps_of(lambda: call(x, recorded))


@pytest.mark.parametrize("base", [torch.Tensor, torch.nn.Parameter])
@pytest.mark.parametrize("call", [operator.matmul, operator.mul, torch.add, torch.matmul])
def test_overrides_of_subclasses_are_asked(base: Any, call: Callable[[Any, Any], Any]) -> None:
    class Asked(base):  # type: ignore[misc]  # a class
        @classmethod
        def __tensor_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return "asked"

    x, p = torch.ones(2, 2), torch.nn.Parameter(torch.ones(2, 2))
    odd = Asked(torch.ones(2, 2))
    call(x, p)
    assert [call(odd, p), call(p, odd), call(x, odd)] == ["asked"] * 3


def test_parameters_are_changed_in_place_as_by_optimisers() -> None:
    p, g = torch.nn.Parameter(torch.ones(2)), torch.ones(2)
    with torch.no_grad():
        p.sub_(0.5 * g)
        p.mul_(2.0)
        p += g
        p.add_(g, alpha=2)
    assert p.tolist() == [4.0, 4.0]
    assert type(p) is type(torch.nn.Parameter(g))
    with pytest.raises(RuntimeError, match="leaf"):
        p.add_(g)
