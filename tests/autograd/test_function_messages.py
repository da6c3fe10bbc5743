"""Errors of a `Function` beside PyTorch's: the same programs raise in both, with the same key words."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import dispatchkit as dk
from tests.autograd.peers import tools


def two_inputs(backward: Any) -> Callable[[Any], Any]:
    def program(t: Any) -> Any:
        x, w = t.leaf(1.0, 2.0), t.leaf(3.0, 4.0)
        t.gradients(t.function(lambda ctx, x, w: x * w, backward).apply(x, w), x, w)

    return program


def too_few(ctx: Any, g: Any) -> Any:
    return g


def too_many(ctx: Any, g: Any) -> Any:
    return g, g, g


def wrong_shape(ctx: Any, g: Any) -> Any:
    return g, g[:1]


def no_tensor(ctx: Any, g: Any) -> Any:
    return 5, g


def gradient_of_a_number(t: Any) -> Any:
    x = t.leaf(1.0)
    t.gradients(t.function(lambda ctx, x, n: x * n, lambda ctx, g: (g, g)).apply(x, 2.0), x)


def freed(t: Any) -> Any:
    x = t.leaf(1.0)
    y = t.function(lambda ctx, x: (ctx.save_for_backward(x), x * 2)[1], lambda ctx, g: g * ctx.saved_tensors[0]).apply(
        x
    )
    t.gradients(y, x)
    t.gradients(y, x)


def freed_tensors(t: Any) -> Any:
    x = t.leaf(1.0)
    y = t.function(lambda ctx, x: (ctx.save_for_backward(x), x * 2)[1], lambda ctx, g: g).apply(x)
    t.gradients(y, x)
    return y.grad_fn.saved_tensors


def dirty_leaf(t: Any) -> Any:
    t.function(lambda ctx, x: (ctx.mark_dirty(x), x.add_(1))[1], lambda ctx, g: g).apply(t.leaf(1.0))


def dirty_not_returned(t: Any) -> Any:
    t.function(lambda ctx, x: (ctx.mark_dirty(x.add_(1)), x * 2)[1], lambda ctx, g: g).apply(t.leaf(1.0) * 2)


def both_backwards(t: Any) -> Any:
    x = t.leaf(1.0)
    own = dict.fromkeys(("backward", "vjp"), lambda ctx, g: g)
    t.gradients(t.function(lambda ctx, x: x * 2, **own).apply(x), x)


def no_forward(t: Any) -> Any:
    t.function().apply(t.leaf(1.0))


def no_backward(t: Any) -> Any:
    t.function(lambda ctx, x: x * 2).apply(t.leaf(1.0)).sum().backward()


def saved_number(t: Any) -> Any:
    t.function(lambda ctx, x: (ctx.save_for_backward(5), x * 2)[1], lambda ctx, g: g).apply(t.leaf(1.0))


def oldest_form(t: Any) -> Any:
    own = {"forward": lambda self, x: x * 2, "backward": lambda self, g: g * 2}
    made: Any = type("Double", (t.lib.autograd.Function,), own)
    made()(t.leaf(1.0))


ERRORS = {
    two_inputs(too_few): "LinearFunctionBackward returned an incorrect number of gradients (expected 2, got 1)",
    two_inputs(too_many): "LinearFunctionBackward returned an incorrect number of gradients (expected 2, got 3)",
    two_inputs(wrong_shape): (
        "Function LinearFunctionBackward returned an invalid gradient at index 1 - got [1] but expected shape "
        "compatible with [2]"
    ),
    two_inputs(no_tensor): "or None (got int)",
    gradient_of_a_number: "LinearFunctionBackward returned a gradient different than None at position 2",
    freed: "retain_graph=True",
    freed_tensors: "retain_graph=True",
    dirty_leaf: "a leaf ",
    dirty_not_returned: "The inputs that are modified inplace must all be outputs of the Function.",
    both_backwards: "Implementing both 'backward' and 'vjp' for a custom Function is not allowed.",
    no_forward: "You must implement the forward function for custom autograd.Function.",
    no_backward: "You must implement either the backward or vjp method for your custom autograd.Function",
    saved_number: "of type int",
    oldest_form: "Legacy autograd function with non-static forward method",
}


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
@pytest.mark.parametrize("program", ERRORS)
def test_errors_have_the_key_words_of_pytorch(program: Callable[[Any], Any]) -> None:
    torch = pytest.importorskip("torch")
    kinds = []
    for lib in (dk, torch):
        with pytest.raises((RuntimeError, TypeError), match=re.escape(ERRORS[program])) as caught:
            program(tools(lib))
        kinds.append(
            next(kind for kind in (NotImplementedError, RuntimeError, TypeError) if caught.errisinstance(kind))
        )
    assert kinds[0] is kinds[1]
