"""`torch.utils.checkpoint`: gradients as without it, what is kept, and what its options do."""

from __future__ import annotations

import contextlib
import gc
import weakref
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest

import dispatchkit as dk
import dispatchkit.as_torch as spelled

torch: Any = spelled
checkpoint = torch.utils.checkpoint.checkpoint
early_stop = torch.utils.checkpoint.set_checkpoint_early_stop


def leaf(*values: float) -> Any:
    return torch.tensor([*values], requires_grad=True)


class Counted:
    """A function that counts its calls."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.calls = function, 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        return self.function(*args, **kwargs)


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_gradients_are_those_of_the_function(use_reentrant: bool) -> None:
    x, w = leaf(0.3, 0.7), leaf(2.0, 3.0)
    plain = torch.autograd.grad((x * w).sin().exp().sum(), (x, w))
    f = Counted(lambda x: (x * w).sin().exp())
    y = checkpoint(f, x, use_reentrant=use_reentrant).sum()
    assert f.calls == 1
    assert [g.tolist() for g in torch.autograd.grad(y, (x, w))] == [g.tolist() for g in plain]
    assert f.calls == 2


def test_each_operation_is_recorded_and_none_of_its_values_kept() -> None:
    x, made = leaf(0.3), list[Any]()

    def f(x: Any) -> Any:
        y = x.sin()
        made.append(weakref.ref(y))
        return y.exp() * y

    z = checkpoint(f, x, use_reentrant=False)
    gc.collect()
    assert made[0]() is None
    assert [vertex.name() for vertex, _ in z.grad_fn.next_functions] == ["ExpBackward", "SinBackward"]
    z.backward()
    gc.collect()
    assert made[1]() is None
    assert len(made) == 2


def test_higher_derivatives_and_a_derivative_taken_inside() -> None:
    x = leaf(0.5)

    def f(x: Any) -> Any:
        (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        return g * x.sin()

    z = checkpoint(f, x, use_reentrant=False)
    (first,) = torch.autograd.grad(z, x, create_graph=True)
    (second,) = torch.autograd.grad(first, x)
    (wanted,) = torch.autograd.grad(f(x), x, create_graph=True)
    assert first.tolist() == pytest.approx(wanted.tolist())
    assert second.tolist() == pytest.approx(torch.autograd.grad(wanted, x)[0].tolist())


@pytest.mark.parametrize("enable", [False, True])
def test_a_further_call_ends_early_where_it_may(enable: bool) -> None:
    last = Counted(lambda x: x.clone())
    with early_stop(enable):
        y = checkpoint(lambda x: last(x.sin().cos()), leaf(1.0), use_reentrant=False)
    y.backward()  # what counts is where the checkpoint was called
    assert last.calls == (1 if enable else 2)


def test_checkpoints_in_checkpoints_keep_their_arguments_by_the_outer_one() -> None:
    x, made = leaf(0.3), list[Any]()

    def outer(x: Any) -> Any:
        y = x.sin()
        made.append(weakref.ref(y))
        return checkpoint(lambda y: y.exp().cos(), y, use_reentrant=False)

    z = checkpoint(outer, x, use_reentrant=False)
    gc.collect()
    assert made[0]() is None
    z.backward()
    assert x.grad.tolist() == torch.autograd.grad(x.sin().exp().cos(), x)[0].tolist()


def test_random_numbers_are_the_same_each_time_unless_they_need_not_be() -> None:
    x = leaf(*[1.0] * 8)
    y = checkpoint(lambda x: torch.nn.functional.dropout(x.exp(), 0.5) * 2, x, use_reentrant=False)
    y.sum().backward()
    assert x.grad.tolist() == y.tolist()
    drawn: list[Any] = []

    def draw(x: Any) -> Any:
        drawn.append(torch.rand(1).item())
        return x.exp()

    for keeps in (True, False):
        drawn.clear()
        checkpoint(draw, x, use_reentrant=False, preserve_rng_state=keeps).sum().backward()
        assert (drawn[0] == drawn[1]) is keeps


def test_contexts_of_the_first_call_and_of_the_others() -> None:
    entered: list[str] = []

    @contextlib.contextmanager
    def noting(name: str) -> Iterator[None]:
        entered.append(name)
        yield

    contexts = lambda: (noting("first"), noting("again"))  # noqa: E731
    y = checkpoint(torch.exp, leaf(1.0), use_reentrant=False, context_fn=contexts)
    assert entered == ["first"]
    y.backward()
    assert entered == ["first", "again"]
    with torch.no_grad():
        checkpoint(torch.exp, leaf(1.0), use_reentrant=False, context_fn=contexts)
    assert entered == ["first", "again", "first"]


def in_turn(*functions: Callable[..., Any]) -> Callable[..., Any]:
    remaining = iter(functions)
    return lambda *args: next(remaining)(*args)


def test_a_further_call_that_does_something_else_raises() -> None:
    def three(x: Any) -> Any:
        return x.sin().exp().sin()

    def two(x: Any) -> Any:
        return x.sin().exp()

    def two_of_others(x: Any) -> Any:
        return x.sin() * torch.tensor([1.0, 2.0])

    with pytest.raises(
        torch.utils.checkpoint.CheckpointError, match=r"(?s)A different number.*forward: 3\n.*recomputation: 2"
    ):
        checkpoint(in_turn(three, two), leaf(1.0), use_reentrant=False).backward()
    with early_stop(False), pytest.raises(RuntimeError, match=r"(?s)trying to save more tensors.*forward: 2"):
        checkpoint(in_turn(two, three), leaf(1.0), use_reentrant=False).backward()
    checkpoint(in_turn(two, three), leaf(1.0), use_reentrant=False).backward()
    text = (
        r"(?s)different metadata.*position 1:\nsaved metadata: {'shape': \(1,\), 'dtype': torch.float64}\n"
        r"recomputed metadata: {'shape': \(2,\)"
    )
    with pytest.raises(RuntimeError, match=text):
        checkpoint(in_turn(two, two_of_others), leaf(1.0), use_reentrant=False).backward()


def test_what_is_saved_is_not_compared_if_that_is_asked_for() -> None:
    def other(x: Any) -> Any:
        return torch.cat([x.sin()]) * torch.ones(2)

    options = {"use_reentrant": False, "determinism_check": "none"}
    with pytest.raises(dk.AutogradError, match="the unpack hook returned a"):  # by the graph itself
        checkpoint(in_turn(lambda x: x.sin().exp(), other), leaf(1.0), **options).backward()
    with pytest.raises(ValueError, match="determinism_check must be 'default' or 'none', found 'all'"):
        checkpoint(torch.exp, leaf(1.0), use_reentrant=False, determinism_check="all")


@pytest.mark.parametrize(("debug", "switch"), [(True, None), (False, True), (True, False), (False, None)])
def test_an_error_lists_the_calls_if_that_is_asked_for(debug: bool, switch: bool | None) -> None:
    f = in_turn(lambda x: x.sin().exp(), lambda x: x.sin())
    with torch.utils.checkpoint.set_checkpoint_debug_enabled(switch):
        y = checkpoint(f, leaf(1.0), use_reentrant=False, debug=debug)
    with pytest.raises(RuntimeError) as raised:
        y.backward()
    lists = "you passed `debug=True`" in str(raised.value)
    assert lists is (debug if switch is None else switch)
    calls = "forward pass:\n  dispatchkit.sin\n  dispatchkit.exp\nCalls of the recomputation:\n  dispatchkit.sin\n"
    assert (calls in str(raised.value)) is lists


def test_what_was_changed_in_place_raises() -> None:
    x, scale = leaf(1.0), torch.ones(1)
    y = checkpoint(lambda x, s: (x * s).exp(), x, scale, use_reentrant=False)
    scale.add_(1)
    with pytest.raises(dk.InplaceError, match=r"CheckpointBackward .*version"):
        y.backward()

    def changes(x: Any) -> Any:
        y = x.exp()
        z = y.sin()
        with torch.no_grad():
            y.mul_(2)
        return z.exp()

    with pytest.raises(dk.InplaceError, match="CheckpointBackward"):
        checkpoint(changes, x, use_reentrant=False).backward()


def test_arguments_by_name_and_results_that_are_no_tensors() -> None:
    x, b = leaf(2.0), leaf(3.0)
    y, text = checkpoint(lambda x, scale: ((x * scale).exp(), "text"), x, scale=b, use_reentrant=False)
    assert text == "text"
    assert torch.autograd.grad(y, b)[0].tolist() == torch.autograd.grad((x * b).exp(), b)[0].tolist()


def test_what_must_be_passed_and_what_must_not() -> None:
    with pytest.warns(UserWarning, match="the use_reentrant parameter should be passed explicitly"):
        checkpoint(torch.exp, leaf(1.0))
    with pytest.warns(UserWarning, match="the use_reentrant parameter should be passed explicitly"):
        torch.utils.checkpoint.checkpoint_sequential([torch.exp, torch.sin], 2, leaf(1.0))
    for options in ({"context_fn": lambda: (nullcontext(), nullcontext())}, {"debug": True}):
        with pytest.raises(ValueError, match="is only supported when use_reentrant=False"):
            checkpoint(torch.exp, leaf(1.0), use_reentrant=True, **options)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: dim"):
        checkpoint(torch.sum, leaf(1.0), use_reentrant=True, dim=0)


def test_gradients_and_errors_are_those_of_pytorch() -> None:
    theirs = pytest.importorskip("torch")
    for library in (theirs, torch):
        x = library.tensor([0.3, 0.7], dtype=library.float64, requires_grad=True)
        run = library.utils.checkpoint.checkpoint
        y = run(lambda x, w: x.sin() * w.exp(), x, x * 2, use_reentrant=False)
        (first,) = library.autograd.grad(y.sum(), x, create_graph=True)
        assert first.tolist() == pytest.approx([2.87, 8.4], rel=0.2)
        assert library.autograd.grad(first.sum(), x)[0].tolist() == pytest.approx([6.0, 15.0], rel=0.5)
        with pytest.raises(RuntimeError, match="A different number of tensors was saved"):
            run(in_turn(lambda x: x.sin().exp(), lambda x: x.sin()), x, use_reentrant=False).sum().backward()
