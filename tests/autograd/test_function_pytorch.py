"""`Function` beside PyTorch's: the same programs in both give the same results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dispatchkit as dk
from tests.autograd.peers import plain, told, tools


def outcome(program: Callable[[Any], Any], lib: Any) -> Any:
    return plain(program(tools(lib)))


def same_object(t: Any) -> Any:
    seen: list[Any] = []
    x = t.leaf(1.0, 2.0)

    def forward(ctx: Any, x_: Any, n: int) -> Any:
        seen.extend([x_ is x, x_.requires_grad, t.lib.is_grad_enabled(), ctx.needs_input_grad, (x_ * 2).requires_grad])
        return x_ * n

    y = t.function(forward, lambda ctx, g: (g * 3, None)).apply(x, 3)
    return seen, y, t.gradients(y, x)


def input_returned(t: Any) -> Any:
    f = t.function(lambda ctx, x: x, lambda ctx, g: g * 2)
    x, still = t.leaf(1.0, 2.0), t.leaf(1.0).detach()
    y = f.apply(x)
    with t.lib.no_grad():
        z = f.apply(x)
    return y is x, y, x, x.is_leaf, t.gradients(y, x), f.apply(still) is still, z is x, z


def view_returned(t: Any) -> Any:
    f = t.function(lambda ctx, x: x[:1], lambda ctx, g: t.lib.concat([g, g * 0]))
    x = t.leaf(1.0, 2.0)
    y = f.apply(x * 1)
    return y, t.gradients(y, x)


def returned_twice(t: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        y = x * 2
        return y, y

    f = t.function(forward, lambda ctx, g, h: g * 2 + h * 20)
    x = t.leaf(1.0, 2.0)
    a, b = f.apply(x)
    found = [t.gradients(y, x, retain_graph=True) for y in (a, b, a + b)]
    return a is b, a, found


def passed_twice(t: Any) -> Any:
    x = t.leaf(1.0, 2.0)
    return t.gradients(t.function(lambda ctx, x, y: x * y, lambda ctx, g: (g, 10 * g)).apply(x, x), x)


def other_members(t: Any) -> Any:
    seen: list[Any] = []
    f = t.function(lambda ctx, x: (x * 2, None, 5, "s"), lambda ctx, *g: told(seen, g, g[0]))
    x = t.leaf(1.0, 2.0)
    y = f.apply(x)
    return y, t.gradients(y[0], x), seen


def no_tensor_at_all(t: Any) -> Any:
    return [t.function(lambda ctx, x, r=r: r, lambda ctx, g: g).apply(t.leaf(1.0)) for r in (None, 5, (), {"a": 1})]


def integer_output(t: Any) -> Any:
    seen: list[Any] = []
    f = t.function(lambda ctx, x: (x * 2, t.lib.argmax(x)), lambda ctx, *g: told(seen, g, g[0]))
    x = t.leaf(1.0, 2.0)
    y = f.apply(x)
    return y, t.gradients(y[0], x), seen


def marked_output(t: Any, materialize: bool = True) -> Any:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        a, b, c = x * 2, x * 3, x * 4
        ctx.mark_non_differentiable(b)
        ctx.set_materialize_grads(materialize)
        return a, b, c

    f = t.function(forward, lambda ctx, *g: told(seen, g, g[0]))
    x = t.leaf(1.0, 2.0)
    y = f.apply(x)
    return y, t.gradients(y[0], x), [[g if g is not None else None for g in gs if materialize] for gs in seen]


def unmaterialized(t: Any) -> Any:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    f = t.function(forward, lambda ctx, g, h: told(seen, (g, h), g))
    x = t.leaf(1.0, 2.0)
    return t.gradients(f.apply(x)[0], x), seen


def saved(t: Any) -> Any:
    seen: list[Any] = []
    x, w = t.leaf(1.0, 2.0), t.leaf(3.0, 4.0)

    def forward(ctx: Any, x: Any, w: Any) -> Any:
        y = x * w
        ctx.save_for_backward(x, w, None, y)
        ctx.extra = 1
        return y

    def backward(ctx: Any, g: Any) -> Any:
        a, b, none, y = ctx.saved_tensors
        again = ctx.saved_tensors[0]
        seen.append((a is x, again is a, none, a.requires_grad, y.requires_grad, ctx.extra, ctx.needs_input_grad))
        seen.append((t.lib.is_grad_enabled(), g.requires_grad))
        return g * b, g * a

    y = t.function(forward, backward).apply(x, w)
    first = t.gradients(y, x, retain_graph=True)
    second = t.gradients(y, x, w, create_graph=True)
    return first, second, seen, y.grad_fn.needs_input_grad, y.grad_fn.saved_tensors[0] is x, y.grad_fn.extra


def saved_again(t: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        ctx.save_for_backward(x, x)
        return x * 2

    x = t.leaf(1.0)
    return t.gradients(t.function(forward, lambda ctx, g: g * len(ctx.saved_tensors)).apply(x), x)


def nothing_saved(t: Any) -> Any:
    seen: list[Any] = []
    x = t.leaf(1.0)
    f = t.function(lambda ctx, x: x * 2, lambda ctx, g: told(seen, ctx.saved_tensors, g))
    return t.gradients(f.apply(x), x), seen


def needs_are_those_of_the_call(t: Any) -> Any:
    seen: list[Any] = []
    x, w = t.leaf(1.0), t.leaf(2.0)
    f = t.function(lambda ctx, x, w: x * w, lambda ctx, g: told(seen, ctx.needs_input_grad, (g, g)))
    found = t.gradients(f.apply(x, w), x)
    with t.lib.no_grad():
        t.function(lambda ctx, x: told(seen, ctx.needs_input_grad, x * 1), None).apply(x)
    return found, seen


def changed_in_place(t: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        x.add_(1)
        ctx.mark_dirty(x)
        return x

    f = t.function(forward, lambda ctx, g: g * 3)
    x, still = t.leaf(1.0, 2.0), t.leaf(1.0, 2.0).detach()
    a = x * 2
    y, z = f.apply(a), f.apply(still)
    return y is a, a, a._version, t.gradients(a, x), z is still, still, still._version


def changed_by_numpy(t: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        array = x.numpy()
        array += 1
        ctx.mark_dirty(x)
        return x

    a = t.leaf(1.0, 2.0) * 2
    return t.function(forward, lambda ctx, g: g).apply(a), a._version


def recorded_inside(t: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        with t.lib.enable_grad():
            return x * w

    w = t.leaf(5.0)
    f = t.function(forward, lambda ctx, g: g * 7)
    x = t.leaf(1.0)
    y = f.apply(x)
    return y, t.gradients(y, x, w), f.apply(x.detach())


def surplus_nones(t: Any) -> Any:
    x = t.leaf(1.0)
    return t.gradients(t.function(lambda ctx, x: x * 2, lambda ctx, g: (g, None, None)).apply(x), x)


def gradients_of_other_shapes(t: Any) -> Any:
    def backward(ctx: Any, g: Any) -> Any:
        return t.lib.broadcast_to(g, (3, 2)), g.reshape((1, 2))

    x, w = t.leaf(1.0, 2.0), t.leaf(3.0, 4.0)
    return t.gradients(t.function(lambda ctx, x, w: x * w, backward).apply(x, w), x, w)


def gradients_of_other_dtypes(t: Any) -> Any:
    def backward(ctx: Any, g: Any) -> Any:
        return t.lib.ones((2,), dtype=t.lib.float32), t.lib.ones((2,), dtype=t.lib.int64)

    x, w = t.leaf(1.0, 2.0), t.leaf(3.0, 4.0)
    found = t.gradients(t.function(lambda ctx, x, w: x * w, backward).apply(x, w), x, w)
    return found, [g.dtype == t.lib.float64 for g in found]


def gradient_for_an_input_without(t: Any) -> Any:
    x = t.leaf(1.0)
    f = t.function(lambda ctx, x, w: x * w, lambda ctx, g: (g, g))
    return t.gradients(f.apply(x, x.detach()), x)


def none_for_all(t: Any) -> Any:
    x = t.leaf(1.0)
    return t.gradients(t.function(lambda ctx, x: x * 2, lambda ctx, g: None).apply(x), x)


def separate_context(t: Any) -> Any:
    seen: list[Any] = []

    def forward(x: Any, n: float = 3.0) -> Any:
        return x * n

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        seen.append((inputs, output.tolist(), t.lib.is_grad_enabled(), ctx.needs_input_grad))
        ctx.n = inputs[1]

    x = t.leaf(1.0)
    f = t.function(forward, lambda ctx, g: (g * ctx.n, None), setup_context=setup_context)
    return f.apply(x), f.apply(x, 5.0), f.apply(x, n=7.0), t.gradients(f.apply(x, n=7.0), x), seen


def named_vjp(t: Any) -> Any:
    x = t.leaf(1.0)
    f = t.function(lambda ctx, x: x * 2, vjp=lambda ctx, g: g * 2)
    return t.gradients(f.apply(x), x)


def hooks(t: Any) -> Any:
    seen: list[Any] = []
    x = t.leaf(1.0)
    y = t.function(lambda ctx, x: x * 2, lambda ctx, g: g * 2).apply(x)
    y.register_hook(lambda g: told(seen, g, g * 10))
    y.retain_grad()
    y.sum().backward()
    return x.grad, y.grad, seen


def two_links_in_a_chain(t: Any) -> Any:
    f = t.function(lambda ctx, x: x.exp(), lambda ctx, g: g * 3)
    x = t.leaf(1.0)
    return t.gradients(f.apply(f.apply(x) * 2), x)


PROGRAMS = [
    same_object,
    input_returned,
    view_returned,
    returned_twice,
    passed_twice,
    other_members,
    no_tensor_at_all,
    integer_output,
    marked_output,
    unmaterialized,
    saved,
    saved_again,
    nothing_saved,
    needs_are_those_of_the_call,
    changed_in_place,
    changed_by_numpy,
    recorded_inside,
    surplus_nones,
    gradients_of_other_shapes,
    gradients_of_other_dtypes,
    gradient_for_an_input_without,
    none_for_all,
    separate_context,
    named_vjp,
    hooks,
    two_links_in_a_chain,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_results_are_those_of_pytorch(program: Callable[[Any], Any]) -> None:
    torch = pytest.importorskip("torch")
    assert outcome(program, dk) == outcome(program, torch)
