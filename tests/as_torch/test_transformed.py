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
