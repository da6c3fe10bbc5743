"""Several tensors by any iterable, such as the generator that `Module.parameters` gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
import dispatchkit.as_torch as torch


@pytest.fixture
def model() -> Any:
    layer = dk.nn.Linear(2, 1)
    with dk.no_grad():
        layer.weight[...] = 0.5
        layer.bias[...] = 1.0
    return layer


def loss(model: Any) -> Any:
    return (model(dk.asarray([[1.0, 2.0]])) ** 2).sum()


def each(*values: Any) -> Iterator[Any]:
    return iter(values)


WAYS: dict[str, Callable[[Any], Any]] = {
    "parameters": lambda model: model.parameters(),
    "list": lambda model: list(model.parameters()),
    "values of a dictionary": lambda model: dict(model.named_parameters()).values(),
    "map": lambda model: map(dk.nn.Parameter.requires_grad_, model.parameters()),
    "filter": lambda model: filter(lambda p: p.requires_grad, model.parameters()),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_grad_takes_the_parameters_of_a_model(model: Any, way: Callable[[Any], Any]) -> None:
    weight, bias = dk.autograd.grad(loss(model), way(model))
    np.testing.assert_array_equal(weight.numpy(), [[5.0, 10.0]])
    np.testing.assert_array_equal(bias.numpy(), [5.0])
    unused = dk.autograd.grad(dk.ones(1, requires_grad=True).sum(), way(model), allow_unused=True)
    assert unused == (None, None)


def test_grad_takes_outputs_and_cotangents_by_iterables(model: Any) -> None:
    outputs = each(loss(model), loss(model))
    weight, _ = dk.autograd.grad(outputs, model.parameters(), each(dk.asarray(2.0), dk.asarray(-1.0)))
    np.testing.assert_array_equal(weight.numpy(), [[5.0, 10.0]])
    rows = dk.autograd.grad(each(model(dk.ones(2))), model.parameters(), each(dk.eye(1)), is_grads_batched=True)
    np.testing.assert_array_equal(rows[0].numpy(), [[[1.0, 1.0]]])


def test_backward_takes_tensors_and_inputs_by_iterables(model: Any) -> None:
    dk.autograd.backward(each(loss(model), loss(model)), inputs=each(model.weight))
    np.testing.assert_array_equal(model.weight.grad.numpy(), [[10.0, 20.0]])
    assert not model.bias.retains_grad
    loss(model).backward(inputs=filter(lambda p: p.ndim == 1, model.parameters()))
    np.testing.assert_array_equal(model.bias.grad.numpy(), [5.0])


def test_gradient_checks_take_inputs_by_iterables() -> None:
    x, y = dk.tensor([1.0, 2.0], requires_grad=True), dk.tensor([3.0, 4.0], requires_grad=True)
    assert dk.autograd.gradcheck(dk.multiply, each(x, y))
    assert dk.autograd.gradgradcheck(dk.multiply, each(x, y), each(dk.ones(2, requires_grad=True)))
    with pytest.raises(dk.errors.GradcheckError):
        dk.autograd.gradcheck(lambda x, y: x.detach() + x * y, each(x, y))


def test_a_hook_of_several_tensors_takes_them_by_an_iterable() -> None:
    x, y = dk.tensor(2.0, requires_grad=True), dk.tensor(3.0, requires_grad=True)
    seen: list[Any] = []
    dk.autograd.graph.register_multi_grad_hook(each(x, y), seen.append)
    (x * y).backward()
    assert [[float(g) for g in grads] for grads in seen] == [[3.0, 2.0]]


def test_pytorchs_spelling_takes_parameters() -> None:
    layer = torch.nn.Linear(2, 1)
    weight, bias = torch.autograd.grad(layer(torch.ones(1, 2)).sum(), layer.parameters())
    assert weight.tolist() == [[1.0, 1.0]]
    assert bias.tolist() == [1.0]


def test_an_empty_iterable_and_what_is_none_are_refused(model: Any) -> None:
    with pytest.raises(dk.errors.AutogradError, match="grad: inputs is empty; name the tensors to differentiate by"):
        dk.autograd.grad(loss(model), iter(()))
    with pytest.raises(
        TypeError, match=r"one of the inputs is a dispatchkit\.Linear, not a tensor; give its parameters"
    ):
        dk.autograd.grad(loss(model), model)
    with pytest.raises(TypeError, match=r"one of the inputs is a dict, not a tensor; give its values\(\)"):
        dk.autograd.grad(loss(model), dict(model.named_parameters()))
    with pytest.raises(TypeError, match=r"one of the inputs is a str, not a tensor$"):
        dk.autograd.grad(loss(model), "weight")  # type: ignore[arg-type]  # what is refused
    with pytest.raises(TypeError, match="one of the inputs is a int, not a tensor"):
        dk.autograd.grad(loss(model), each(1, 2))
