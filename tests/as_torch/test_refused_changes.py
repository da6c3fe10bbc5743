"""Views that PyTorch lets no program change in place are refused here, too, in its words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dispatchkit as dk
import dispatchkit.as_torch as torch

OF_SEVERAL = (
    "multiply_: Output {index} of {node} is a view and is being modified inplace. This view is the output of a "
    "function that returns multiple views. Such functions do not allow the output views to be modified inplace. You "
    "should replace the inplace operation by an out-of-place one."
)


class Rows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x[:1]

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return torch.cat([g, torch.zeros_like(g)])


def recorded() -> Any:
    return torch.ones(2, 3, requires_grad=True).clone()


PARTS: dict[str, tuple[Callable[[Any], Any], str, int]] = {
    "unbind": (lambda x: x.unbind()[1], "UnstackBackward", 1),
    "split": (lambda x: x.split(1)[0], "SplitBackward", 0),
    "split_with_sizes": (lambda x: x.split_with_sizes((1, 1))[1], "SplitBackward", 1),
    "chunk": (lambda x: x.chunk(3, 1)[2], "ChunkBackward", 2),
    "a view of a part": (lambda x: x.unbind()[1][:2].view(1, 2), "UnstackBackward", 1),
    "a part of a view": (lambda x: x.t().unbind()[0], "UnstackBackward", 0),
}


@pytest.mark.parametrize("name", PARTS)
def test_one_of_several_views_cannot_be_changed_in_place(name: str) -> None:
    part, node, index = PARTS[name]
    x = recorded()
    y = part(x)
    with pytest.raises(dk.AutogradError) as caught:
        y.mul_(2)
    assert str(caught.value) == OF_SEVERAL.format(node=node, index=index)
    with torch.no_grad():
        y.mul_(2)
    assert x.max().item() == 2


UNSAFE: dict[str, Callable[[Any], Any]] = {
    "unsafe_chunk": lambda x: x.unsafe_chunk(2),
    "unsafe_split": lambda x: x.unsafe_split(1),
    "unsafe_split_with_sizes": lambda x: torch.unsafe_split_with_sizes(x, (1, 1)),
    "tensor_split": lambda x: x.tensor_split(2),
}


@pytest.mark.parametrize("name", UNSAFE)
def test_parts_of_the_unsafe_functions_can_be_changed(name: str) -> None:
    leaf = torch.ones(2, 3, requires_grad=True)
    parts = UNSAFE[name](leaf.clone())
    assert [tuple(part.shape) for part in parts] == [(1, 3), (1, 3)]
    parts[0].mul_(2)
    (parts[0].sum() + parts[1].sum()).backward()
    assert leaf.grad.tolist() == [[2.0] * 3, [1.0] * 3]


def test_unsafe_functions_cut_along_other_axes_and_leave_shorter_parts() -> None:
    x = torch.arange(10).reshape(2, 5)
    assert [part.tolist() for part in x.unsafe_chunk(3, 1)] == [part.tolist() for part in x.chunk(3, 1)]
    assert [part.tolist() for part in x.unsafe_split(2, dim=1)] == [part.tolist() for part in x.split(2, 1)]


def test_without_a_gradient_parts_can_be_changed() -> None:
    x = torch.ones(2, 3)
    x.unbind()[0].mul_(2)
    assert x.tolist() == [[2.0] * 3, [1.0] * 3]


def test_a_view_that_a_function_returned_cannot_be_changed_in_place() -> None:
    x = recorded()
    y = Rows.apply(x)
    with pytest.raises(dk.AutogradError) as caught:
        y.mul_(2)
    assert str(caught.value).startswith(
        "multiply_: Output 0 of RowsBackward is a view and is being modified inplace. This view was created inside a "
        "custom Function (or because an input was returned as-is)"
    )
    with pytest.raises(dk.AutogradError, match="Output 0 of RowsBackward is a view"):
        y[0].mul_(2)


def test_single_views_can_be_changed_in_place_and_their_gradients_flow() -> None:
    leaf = torch.ones(2, 3, requires_grad=True)
    x = leaf.clone()
    for view in (x[0], x.view(-1), x.t()[0], x.unsqueeze(0)):
        view.mul_(2)
    x.sum().backward()
    assert leaf.grad.tolist() == [[16.0, 8.0, 8.0], [8.0, 4.0, 4.0]]


def test_dispatchkits_own_tensors_take_changes_of_parts() -> None:
    x = dk.ones((2, 3), requires_grad=True).clone()
    part = dk.unstack(x)[0]
    part *= 2
    assert x.tolist() == [[2.0] * 3, [1.0] * 3]
