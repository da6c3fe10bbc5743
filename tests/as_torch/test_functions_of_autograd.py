"""`torch.autograd.Function`: what PyTorch refuses of it, its older names, and the classes of its nodes."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import dispatchkit as dk
import dispatchkit.as_torch as torch
from dispatchkit.as_torch.autograd import forward_ad

Function = torch.autograd.Function


class Doubled(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x, None)
        return 2 * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return 2 * g


class Old(Function):
    def forward(self, x: Any) -> Any:  # type: ignore[override]
        return 2 * x

    def backward(self, g: Any) -> Any:  # type: ignore[override]
        return 2 * g


def leaf(*values: float) -> Any:
    return torch.tensor(values, requires_grad=True)


def test_nodes_have_a_class_of_the_functions_name() -> None:
    function: Any = Doubled
    node = function.apply(leaf(1.0)).grad_fn
    assert type(node).__name__ == "DoubledBackward"
    assert type(node) is function._backward_cls
    assert isinstance(node, torch.autograd.function.BackwardCFunction)


def test_backward_is_given_tensors_of_this_spelling_that_share_no_memory() -> None:
    seen: list[Any] = []

    class Split(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            seen.extend(cotangents)
            return cotangents[0] * 2 + cotangents[1] * 3

    x = leaf(1.0, 2.0)
    first, _ = Split.apply(x)
    first.sum().backward()
    assert [type(g) for g in seen] == [torch.Tensor] * 2
    assert [g.tolist() for g in seen] == [[1.0, 1.0], [0.0, 0.0]]
    assert all(g._memory is None for g in seen)
    assert x.grad.tolist() == [2.0, 2.0]


def test_every_vertex_is_a_node_and_so_is_the_context_of_a_function() -> None:
    node, seen = torch.autograd.graph.Node, []

    class Noted(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            seen.append(isinstance(ctx, node))
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            seen.append(isinstance(ctx, node))
            return g

    y = Noted.apply(leaf(1.0))
    y.backward()
    vertices = [y.grad_fn, y.exp().grad_fn, y.grad_fn.next_functions[0][0], y.unbind()[0].grad_fn]
    assert [isinstance(vertex, node) for vertex in vertices] == [True] * 4
    assert seen == [True, True]
    assert issubclass(type(y.grad_fn), node)
    assert issubclass(node, node)
    assert node not in type(y.grad_fn).mro()
    assert [isinstance(other, node) for other in (None, 1, y, node)] == [False] * 4


def test_instances_are_made_with_a_warning_and_do_not_compute() -> None:
    with pytest.warns(DeprecationWarning, match="instantiated") as caught:
        old = Old(1, key=2)
    assert str(caught[0].message) == (
        f"{Old!r} should not be instantiated. Methods on autograd functions are all static, so you should invoke them "
        "on the class itself. Instantiating an autograd function will raise an error in a future version of PyTorch."
    )
    with pytest.raises(dk.AutogradError) as refused:
        old(leaf(1.0))
    assert str(refused.value).startswith(
        "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function "
        "with static forward method."
    )
    assert "y = Old.apply(x) in place of y = Old()(x)" in str(refused.value)
    y = old.forward(leaf(1.0))
    y.backward()
    assert y.tolist() == [2.0]


def test_saved_variables_is_deprecated() -> None:
    class Product(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, y = ctx.saved_variables
            return g * y, g * x

    x, y = leaf(2.0), leaf(3.0)
    with pytest.warns(DeprecationWarning, match="'saved_variables' is deprecated; use 'saved_tensors'"):
        Product.apply(x, y).backward()
    assert [x.grad.tolist(), y.grad.tolist()] == [[3.0], [2.0]]


def test_raw_saved_tensors_take_hooks() -> None:
    x = leaf(1.0, 2.0)
    y = Doubled.apply(x)
    first, second = y.grad_fn._raw_saved_tensors
    assert isinstance(first, torch.autograd.SavedTensor)
    with pytest.raises(dk.AutogradError, match="with value None is forbidden"):
        second.register_hooks(lambda x: x, lambda x: x)
    for hooks in ((lambda x: x,), (1, 1)):
        with pytest.raises(TypeError, match=r"register_hooks\(\): incompatible function arguments"):
            first.register_hooks(*hooks)
    first.register_hooks(lambda x: x.tolist(), torch.tensor)
    with pytest.raises(dk.AutogradError, match="whose hooks have already been set"):
        first.register_hooks(lambda x: x, lambda x: x)
    assert y.grad_fn.saved_tensors[0].tolist() == [1.0, 2.0]
    y.sum().backward()
    with pytest.raises(dk.AutogradError, match="freed"):
        _ = y.grad_fn._raw_saved_tensors


def test_a_function_that_saves_nothing_has_no_raw_saved_tensors() -> None:
    class Same(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    assert Same.apply(leaf(1.0)).grad_fn._raw_saved_tensors == ()


@pytest.mark.parametrize("materialize", [True, False])
def test_outputs_that_are_not_differentiable_get_zeros_or_none(materialize: bool) -> None:
    seen = []

    class Two(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            first, second = x.clone(), x.clone()
            ctx.mark_non_differentiable(second)
            ctx._materialize_non_diff_grads = materialize
            return first, second

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            seen.append(None if h is None else h.tolist())
            return g

    x = leaf(1.0)
    Two.apply(x)[0].backward()
    assert seen == [[0.0] if materialize else None]
    assert x.grad.tolist() == [1.0]


class Added(Function):
    """Changes its first argument, and may return several tensors."""

    @staticmethod
    def forward(ctx: Any, x: Any, several: bool) -> Any:
        x.add_(1)
        ctx.mark_dirty(x)
        return (x, x * 2) if several else x

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return gradients[0] if len(gradients) == 1 else gradients[0] + 2 * gradients[1], None


def test_a_function_of_several_outputs_cannot_change_a_view() -> None:
    x = leaf(1.0, 2.0).clone()
    Added.apply(x.clone(), True)
    Added.apply(x[:1], False)
    with pytest.raises(dk.AutogradError) as caught:
        Added.apply(x[:1], True)
    assert str(caught.value).startswith(
        "Added: If your Function modifies inplace an input that is a view of another Tensor, your Function cannot "
        "return more than one Tensor."
    )


def test_what_is_marked_as_dirty_and_no_input_is_warned_of() -> None:
    class Marked(dk.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x * 2
            ctx.mark_dirty(y)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 2 * g

    with pytest.warns(UserWarning, match="mark_dirty") as caught:
        Marked.apply(leaf(1.0))
    assert str(caught[0].message) == (
        "Marked: Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not an input, there is no need "
        "to pass it to mark_dirty()."
    )
    assert caught[0].filename == __file__


def with_jvp(forward: Any, jvp: Any, base: Any = Function) -> Any:
    """Return a `Function` of one tensor with these methods."""
    return type("WithJvp", (base,), {"forward": staticmethod(forward), "jvp": staticmethod(jvp)})


def double_in_place(ctx: Any, x: Any) -> Any:
    ctx.mark_dirty(x)
    return x.mul_(2)


def pushed(function: Any) -> Any:
    """Return the tangent that a `Function` gives of ones."""
    with forward_ad.dual_level():
        x = forward_ad.make_dual(torch.tensor([1.0, 2.0, 3.0]), torch.ones(3))
        return forward_ad.unpack_dual(function.apply(x)).tangent


@pytest.mark.parametrize("jvp", [lambda ctx, t: 2 * t, lambda ctx, t: t], ids=["anew", "unchanged"])
def test_jvp_changes_the_tangent_of_what_forward_changes(jvp: Any) -> None:
    with pytest.raises(dk.AutogradError) as caught:
        pushed(with_jvp(double_in_place, jvp))
    assert str(caught.value) == (
        "WithJvp: An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is "
        "modifying an input inplace, then the jvp function must modify the corresponding gradient inplace as well."
    )
    assert pushed(with_jvp(double_in_place, lambda ctx, t: t.mul_(2))).tolist() == [2.0] * 3


@pytest.mark.parametrize(
    ("forward", "jvp"),
    [
        (lambda ctx, x: x[:2], lambda ctx, t: t[:2].clone()),
        (lambda ctx, x: x, lambda ctx, t: t),
        (lambda ctx, x: x, lambda ctx, t: 2 * t),
    ],
    ids=["copy", "as it is", "of other memory"],
)
def test_jvp_gives_a_view_where_forward_does(forward: Any, jvp: Any) -> None:
    with pytest.raises(dk.AutogradError, match=r"WithJvp: A custom Function's forward is returning a view \(or an inp"):
        pushed(with_jvp(forward, jvp))


def test_views_of_the_tangent_are_taken() -> None:
    assert pushed(with_jvp(lambda ctx, x: x[:2], lambda ctx, t: t[:2])).tolist() == [1.0] * 2
    assert pushed(with_jvp(lambda ctx, x: x, lambda ctx, t: t.view_as(t))).tolist() == [1.0] * 3


def test_dispatchkits_own_functions_take_other_tangents() -> None:
    function = with_jvp(lambda ctx, x: x, lambda ctx, t: 2 * t, dk.autograd.Function)
    assert dk.func.jvp(function.apply, (dk.ones(2),), (dk.ones(2),))[1].tolist() == [2.0] * 2


def test_a_plain_function_has_no_instances() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(dk.AutogradError, match="cannot be instantiated"):
            dk.autograd.Function()
