"""Transformations of functions, one around the other, have PyTorch's results in PyTorch's spelling."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dispatchkit.as_torch

torch: Any = dispatchkit.as_torch
func = torch.func


@pytest.mark.parametrize("transformation", [func.jacrev, func.jacfwd, func.hessian])
def test_results_of_transformed_linear_functions_have_pytorchs_methods(transformation: Any) -> None:
    y = transformation(lambda x: 2 * x)(torch.tensor([1.0, 2.0]))
    assert type(y) is torch.Tensor
    assert y.size(0) == 2


def test_a_pull_gives_tensors_with_pytorchs_methods() -> None:
    _, pull = func.vjp(lambda x: x.sum(), torch.tensor([1.0, 2.0]))
    (gradient,) = pull(torch.tensor(1.0))
    assert gradient.unsqueeze(0).size() == (1, 2)


def test_special_functions_are_differentiated_forwards_over_backwards() -> None:
    x = torch.tensor(2.0, dtype=torch.float64)
    second = func.jacfwd(func.grad(torch.special.i1e))(x)
    step = 1e-4
    near = [func.grad(torch.special.i1e)(x + h).item() for h in (-step, step)]
    np.testing.assert_allclose(second.item(), (near[1] - near[0]) / (2 * step), rtol=1e-6)


def test_losses_of_margins_take_a_single_sample() -> None:
    loss = torch.nn.functional.multi_margin_loss
    gradient = func.grad(lambda x: loss(x, torch.tensor(1)))(torch.tensor([0.5, 1.0]))
    assert gradient.tolist() == [0.5, -0.5]


def test_counts_of_a_batch_are_those_of_its_rows() -> None:
    rows = torch.tensor([[0.5, 1.5, 5.0], [0.5, 0.25, 1.0]])
    counts = torch.vmap(lambda x: torch.histc(x, 2, 0, 2))(rows)
    assert counts.tolist() == [[1.0, 1.0], [2.0, 1.0]]


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda x: func.grad(torch.sin)(x), ValueError, "grad: the function must return a single real number"),
        (lambda x: func.jacrev(torch.sin, argnums=2)(x), ValueError, "jacrev: argnums=2 asks for argument 2"),
        (lambda x: func.jacfwd(torch.sin, argnums=0.0)(x), TypeError, "jacfwd: argnums must be an integer or a tuple"),
        (lambda x: func.vjp(torch.sin, x)[1](x[:1]), ValueError, "vjp: an output has shape"),
        (lambda x: func.jvp(torch.sin, x, (x,)), TypeError, "jvp: primals must be a tuple"),
        (lambda x: torch.vmap(torch.add)(x, x[:1]), ValueError, "vmap: batches differ in length: 2, 1"),
    ],
)
def test_errors_of_transformations_are_runtime_errors_too(call: Any, kind: Any, text: str) -> None:
    with pytest.raises(RuntimeError, match=text) as raised:
        call(torch.tensor([1.0, 2.0]))
    assert isinstance(raised.value, kind)


@pytest.mark.parametrize("transformation", [func.grad, func.jacrev, func.jacfwd, torch.vmap])
def test_errors_of_a_transformed_function_leave_as_they_are(transformation: Any) -> None:
    error = KeyError("of the program")

    def fails(x: Any) -> Any:
        raise error

    with pytest.raises(KeyError) as raised:
        transformation(fails)(torch.tensor([1.0, 2.0]))
    assert raised.value is error


def test_batch_norms_without_statistics_are_called_under_vmap() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    x = torch.arange(24.0).reshape(3, 4, 2)
    assert func.replace_all_batch_norm_modules_(model) is model
    assert list(model.named_buffers()) == []
    assert not model[1].track_running_stats
    result = torch.vmap(model)(x)
    np.testing.assert_allclose(result[1].detach().numpy(), model(x[1]).detach().numpy(), rtol=1e-5)


def test_modules_of_which_some_require_gradients_are_not_stacked() -> None:
    models = [torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)]
    models[0].weight.requires_grad_(False)
    with pytest.raises(RuntimeError, match=r"stack_module_state: Expected tensors of one name to have the same"):
        func.stack_module_state(models)
