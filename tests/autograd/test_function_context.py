"""The context of a `Function`: what it keeps, how long, and what it notices."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import dispatchkit as dk
from dispatchkit.autograd import Function, grad
from tests.autograd.test_function_seeds import Cube, Exp, LinearFunction, leaf, random


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class Product(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, w: Any) -> Any:
        ctx.save_for_backward(x, w)
        return x * w

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, w = ctx.saved_tensors
        return g * w, g * x


class Same(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0]


class Twice(Function):
    """Change an input in place and keep it."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        x.mul_(2)
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (y,) = ctx.saved_tensors
        return 2 * g + 0 * y


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "inputs": lambda x: Product.apply(x, x),
    "output": Exp.apply,
    "one of several outputs": lambda x: Cube.apply(x)[0],
    "input returned": Same.apply,
    "in place": lambda x: Twice.apply(x * 1),
}


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("swept", [True, False])
def test_the_graph_goes_with_its_output(name: str, swept: bool) -> None:
    x = leaf(1.0, 2.0)
    middle = x * 1
    y = PROGRAMS[name](middle)
    if swept:
        y.sum().backward()
    held = [weakref.ref(one) for one in (middle, y, y.grad_fn)]
    del y, middle
    assert [ref() for ref in held] == [None, None, None]


@pytest.mark.usefixtures("no_collector")
def test_values_are_freed_by_the_backward_pass() -> None:
    x, w = leaf(1.0), dk.ones(1)
    y = Product.apply(x, w).sum()
    held = weakref.ref(w)
    del w
    assert held() is not None
    y.backward()
    assert held() is None


def test_the_graph_can_be_retained() -> None:
    x = leaf(2.0)
    y = Product.apply(x, x).sum()
    for _ in range(2):
        y.backward(retain_graph=True)
    assert x.grad is not None
    assert x.grad.item() == 8.0


def test_a_context_that_somebody_holds_on_to_tells_that_the_graph_was_freed() -> None:
    held: list[Any] = []

    class Leak(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            held.append(ctx)
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    y = Leak.apply(leaf(1.0))
    assert len(held[0].saved_tensors) == 1
    y.sum().backward()
    with pytest.raises(dk.AutogradError, match=r"freed by an earlier backward pass\. Specify retain_graph=True"):
        _ = held[0].saved_tensors
    del y
    with pytest.raises(dk.AutogradError, match=r"retain_graph=True"):
        _ = held[0].saved_tensors


def test_a_saved_input_that_was_changed_is_noticed() -> None:
    x, w = leaf(1.0, 2.0), dk.ones(2)
    w += 1
    y = Product.apply(x, w).sum()
    w += 1
    message = "backward of ProductBackward was changed .* shape (2,) is at version 2, expected version 1"
    with pytest.raises(dk.InplaceError, match=message.replace("(2,)", r"\(2,\)")):
        y.backward()


@pytest.mark.parametrize("watched", [True, False])
def test_a_saved_output_that_was_changed_is_noticed(watched: bool) -> None:
    y = Exp.apply(leaf(1.0, 2.0))
    loss = y.sum()
    if watched:
        y.detach()
    with dk.no_grad():
        y += 1
    with pytest.raises(dk.InplaceError, match=r"backward of ExpBackward .* is at version 1, expected version 0"):
        loss.backward()


def test_only_the_saved_one_of_several_outputs_is_watched() -> None:
    x = leaf(1.0, 2.0)
    y, dx = Cube.apply(x)
    loss = y.sum()
    with dk.no_grad():
        y += 1
    loss.backward()
    assert x.grad is not None
    assert x.grad.tolist() == [3.0, 12.0]
    y, dx = Cube.apply(x)
    loss = y.sum()
    with dk.no_grad():
        dx += 1
        y.detach()
    with pytest.raises(dk.InplaceError, match="backward of CubeBackward"):
        loss.backward()


def test_what_was_changed_does_no_harm_where_it_is_not_read() -> None:
    class Careless(Product):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g, None

    x, w = leaf(1.0), dk.ones(1)
    y = Careless.apply(x, w).sum()
    w += 1
    y.backward()
    assert x.grad is not None
    assert x.grad.item() == 1.0


def test_a_change_that_is_marked_is_noticed_by_others() -> None:
    x = leaf(1.0, 2.0)
    a = x * 1
    loss = (a * a).sum()
    Twice.apply(a)
    with pytest.raises(dk.InplaceError, match="MultiplyBackward"):
        loss.backward()


def test_a_change_reaches_the_views_of_the_tensor() -> None:
    x = leaf(1.0, 2.0)
    a = x * 1
    view = a[:1]
    Twice.apply(a)
    assert view.item() == 2.0
    (g,) = dk.autograd.grad(view.sum(), x)
    assert g.tolist() == [2.0, 0.0]


def test_a_leaf_that_is_marked_first_is_left_as_it_was() -> None:
    class Mark(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.add_(1)

    x = leaf(1.0)
    with pytest.raises(dk.AutogradError, match=r"Mark: a leaf tensor that requires grad cannot be changed in place"):
        Mark.apply(x)
    assert (x.item(), x._version) == (1.0, 0)
    with dk.no_grad():
        assert Mark.apply(x) is x
    assert (x.item(), x._version) == (2.0, 2)


def test_a_retained_gradient_moves_with_the_change() -> None:
    x = leaf(1.0)
    a = x * 1
    a.retain_grad()
    Twice.apply(a)
    (a * 3).sum().backward()
    assert a.grad is not None
    assert (a.grad.item(), x.grad) == (3.0, x.grad)


@pytest.mark.parametrize("method", ["save_for_backward", "save_for_forward", "mark_dirty", "mark_non_differentiable"])
def test_only_tensors_can_be_named(method: str) -> None:
    class Bad(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            getattr(ctx, method)(x, np.ones(1))
            return x * 2

    message = (
        rf"Bad: {method} can only take tensors( and None)?, but argument 1 is of type ndarray; keep other things as"
    )
    with pytest.raises(TypeError, match=message):
        Bad.apply(leaf(1.0))


def test_attributes_may_have_any_name() -> None:
    names = (
        "shape",
        "dtype",
        "name",
        "saved",
        "output",
        "edges",
        "operation",
        "inputs",
        "results",
        "extras",
        "node",
        "_saved",
    )

    class Named(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            for name in names:
                setattr(ctx, name, name)
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            assert [getattr(ctx, name) for name in names] == list(names)
            return g * 2

    x = leaf(1.0)
    y = Named.apply(x)
    assert (y.grad_fn.node, y.grad_fn.shape) == ("node", (1,))
    assert not hasattr(y.grad_fn, "missing")
    assert grad(y.sum(), x)[0].item() == 2.0
    assert not hasattr(y.grad_fn, "node")


def test_an_error_in_forward_or_backward_leaves_recording_as_it_was() -> None:
    class Fail(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, fail: bool) -> Any:
            if fail:
                raise KeyError("forward")
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            raise KeyError("backward")

    with pytest.raises(KeyError, match="forward"):
        Fail.apply(leaf(1.0), True)
    assert dk.is_grad_enabled()
    with pytest.raises(KeyError, match="backward"):
        Fail.apply(leaf(1.0), False).sum().backward()
    assert dk.is_grad_enabled()


def test_threads_do_not_see_each_other() -> None:
    w, b = random(4, 3), random(4)

    def work(seed: int) -> bool:
        x = random(5, 3, seed=seed)
        y = LinearFunction.apply(x, w.detach(), b.detach())
        (Exp.apply(y) + Cube.apply(y)[0]).sum().backward()
        expected = (np.exp(y.array) + 3 * y.array**2) @ w.array
        assert x.grad is not None
        return bool(np.allclose(x.grad.array, expected))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(40)))


def test_one_graph_is_gone_through_by_several_threads() -> None:
    x = leaf(1.0, 2.0)
    y = Exp.apply(Cube.apply(x)[0] * 0.1).sum()

    def work(_: int) -> Any:
        return grad(y, x, retain_graph=True)[0].tolist()

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(work, range(40)))
    assert all(result == results[0] for result in results)
