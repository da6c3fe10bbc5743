"""Optimisers of `dispatchkit.as_torch` whose steps are part of the graph: `differentiable=True`."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import dispatchkit.as_torch as spelled
from dispatchkit.errors import AutogradError

torch: Any = spelled
OPTIONS: dict[str, dict[str, Any]] = {
    "SGD": {"momentum": 0.9, "weight_decay": 0.1},
    "RMSprop": {"momentum": 0.9, "centered": True, "maximize": True},
    "Adam": {"amsgrad": True},
    "AdamW": {},
    "Adadelta": {"weight_decay": 0.1},
    "Adagrad": {},
    "Adamax": {},
    "ASGD": {},
    "NAdam": {},
    "RAdam": {"weight_decay": 0.1, "decoupled_weight_decay": True},
    "Rprop": {},
}


def made(name: str, p: Any, **options: Any) -> Any:
    return getattr(torch.optim, name)([p], lr=0.3, differentiable=True, **options)


@pytest.mark.parametrize("name", OPTIONS)
def test_gradients_flow_through_two_steps(name: str) -> None:
    def stepped(start: Any, *gradients: Any) -> Any:
        p = start.clone()
        optimizer = made(name, p, **OPTIONS[name])
        for gradient in gradients:
            p.grad = gradient
            optimizer.step()
        return p

    values = [[0.5, -1.5, 2.0], [1.0, -2.0, 0.75], [0.25, -0.5, -1.0]]
    inputs = [torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in values]
    assert stepped(*inputs).requires_grad
    assert torch.autograd.gradcheck(stepped, inputs)


def test_a_rate_learned_through_a_step() -> None:
    weight = torch.tensor([2.0, -1.0], requires_grad=True)
    p = weight.clone()
    (gradient,) = torch.autograd.grad((p * p).sum(), p, create_graph=True)
    p.grad = gradient
    made("SGD", p).step()
    (p * p).sum().backward()
    assert weight.grad.tolist() == pytest.approx([0.64, -0.32])  # (1 - 0.6)² times that of the square


def test_a_copy_goes_on_to_be_differentiable() -> None:
    p = torch.ones(2, requires_grad=True)
    assert copy.deepcopy(made("SGD", p))._differentiable


def test_parameters_that_steps_cannot_be_part_of_a_graph_of() -> None:
    p = torch.ones(2, requires_grad=True)
    p.grad = torch.ones(2)
    with pytest.raises(AutogradError, match="leaf"):
        made("SGD", p).step()
    with pytest.raises(ValueError, match="can't optimize a non-leaf Tensor: parameter 0 has <CloneBackward>"):
        torch.optim.SGD([p.clone()])
