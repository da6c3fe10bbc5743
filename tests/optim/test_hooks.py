"""Hooks of states that optimisers save and load, and of the steps of all optimisers."""

from __future__ import annotations

from typing import Any

import dispatchkit as dk
from dispatchkit.optim.hooks import register_optimizer_step_post_hook, register_optimizer_step_pre_hook


def optimizer(**options: Any) -> tuple[dk.Tensor, dk.optim.SGD]:
    w = dk.ones(2, requires_grad=True)
    w.grad = dk.ones(2)
    return w, dk.optim.SGD([w], lr=0.5, **options)


def test_hooks_around_a_state_that_is_saved_and_loaded() -> None:
    _, o = optimizer()
    log: list[str] = []
    handles = [
        o.register_state_dict_pre_hook(lambda optimizer: log.append("before")),
        o.register_state_dict_post_hook(lambda optimizer, state: log.append("after")),
        o.register_load_state_dict_pre_hook(lambda optimizer, state: log.append("before loading")),
        o.register_load_state_dict_post_hook(lambda optimizer: log.append("after loading")),
    ]
    o.load_state_dict(o.state_dict())
    assert log == ["before", "after", "before loading", "after loading"]
    for handle in handles:
        handle.remove()
    o.load_state_dict(o.state_dict())
    assert len(log) == 4


def test_a_hook_may_give_another_state_and_be_put_first() -> None:
    _, o = optimizer()
    log: list[str] = []
    o.register_state_dict_post_hook(lambda optimizer, state: log.append("second"))

    def give_another(optimizer: Any, state: Any) -> dict[str, int]:
        log.append("first")
        return {"x": 1}

    o.register_state_dict_post_hook(give_another, prepend=True)
    assert o.state_dict() == {"x": 1}
    assert log == ["first", "second"]
    given = optimizer()[1].state_dict()
    o.register_load_state_dict_pre_hook(
        lambda optimizer, state: {**state, "param_groups": [{**g, "lr": 9.0} for g in state["param_groups"]]}
    )
    o.load_state_dict(given)
    assert o.param_groups[0]["lr"] == 9.0
    assert given["param_groups"][0]["lr"] == 0.5


def test_hooks_around_the_steps_of_all_optimisers() -> None:
    log: list[str] = []
    before = register_optimizer_step_pre_hook(lambda optimizer, args, kwargs: log.append("before all"))
    after = register_optimizer_step_post_hook(lambda optimizer, args, kwargs: log.append("after all"))
    w, o = optimizer()
    o.register_step_pre_hook(lambda optimizer, args, kwargs: log.append("before"))
    o.register_step_post_hook(lambda optimizer, args, kwargs: log.append("after"))
    with before, after:
        o.step()
    o.step()
    assert log == ["before all", "before", "after", "after all", "before", "after"]
    assert w.tolist() == [0.0, 0.0]


def test_an_optimiser_that_has_not_called_the_constructor_has_no_hooks() -> None:
    class Wrapping(dk.optim.Optimizer):
        def __init__(self, inner: dk.optim.Optimizer) -> None:
            self.param_groups, self.state = inner.param_groups, inner.state

        def step(self, closure: Any = None) -> None:
            log.append("step")

    log: list[str] = []
    o = Wrapping(optimizer()[1])
    o.step()
    assert log == ["step"]
    assert o.state_dict()["param_groups"][0]["params"] == [0]
