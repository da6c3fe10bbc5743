"""Hooks of optimisers: of steps, of one optimiser or of all, and of the states that are saved and loaded."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from dispatchkit.graph.storage import RemovableHandle

__all__ = ["register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

Step = TypeVar("Step", bound=Callable[..., Any])
Hook = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
Hooks = OrderedDict[int, Callable[..., Any]]
# Called before and after the steps of all optimisers.
EVERY_STEP: tuple[Hooks, Hooks] = (OrderedDict(), OrderedDict())


def register_optimizer_step_pre_hook(hook: Hook) -> RemovableHandle:
    """Have ``hook(optimizer, args, kwargs)`` called before each step of any optimiser: see `register_step_pre_hook`."""
    return RemovableHandle(EVERY_STEP[0], hook)


def register_optimizer_step_post_hook(hook: Hook) -> RemovableHandle:
    """Have ``hook(optimizer, args, kwargs)`` called after each step of any optimiser: see `register_step_post_hook`."""
    return RemovableHandle(EVERY_STEP[1], hook)


def with_step_hooks(step: Step) -> Step:
    """Return a `step` that calls the hooks, if there are any; not where a subclass calls it from its own `step`."""

    @functools.wraps(step)
    def step_with_hooks(self: WithHooks, *args: Any, **kwargs: Any) -> Any:
        if type(self).step is not step_with_hooks or not hasattr(self, "_step_pre_hooks"):
            return step(self, *args, **kwargs)
        arguments: tuple[Any, ...] = (self, *args)
        for hook in [*EVERY_STEP[0].values(), *self._step_pre_hooks.values()]:
            changed = hook(self, arguments, kwargs)
            if changed is not None:
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(
                        f"{type(self).__name__}.step: a pre-hook must return None or a tuple of (new_args, "
                        f"new_kwargs), but got {changed!r}"
                    )
                arguments, kwargs = changed
        result = step(*arguments, **kwargs)
        self._stepped = True
        for after in [*self._step_post_hooks.values(), *EVERY_STEP[1].values()]:
            after(self, arguments, kwargs)
        return result

    return cast("Step", step_with_hooks)


class WithHooks:
    """What optimisers have of hooks."""

    step: Any
    _stepped = False  # whether a step was made, which schedules ask

    def _reset_hooks(self) -> None:
        self._step_pre_hooks: Hooks = OrderedDict()
        self._step_post_hooks: Hooks = OrderedDict()
        # By when they are called: before and after a state is saved, and before and after one is loaded.
        self._state_hooks: dict[str, Hooks] = {when: OrderedDict() for when in ("pre", "post", "load pre", "load post")}

    def _patch_step_function(self) -> None:
        """Do nothing, as `step` of every class calls the hooks; PyTorch's wraps it."""

    def register_step_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Have ``hook(optimizer, args, kwargs)`` called before each step.

        Parameters
        ----------
        hook : gives None, or a tuple of arguments and keywords to call `step` with; the first argument is the
            optimiser

        Returns
        -------
        RemovableHandle
            Its `remove` takes the hook off.
        """
        return RemovableHandle(self._step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Hook) -> RemovableHandle:
        """Have ``hook(optimizer, args, kwargs)`` called after each step.

        Parameters
        ----------
        hook : takes the optimiser and the arguments of `step`; what it returns is not used

        Returns
        -------
        RemovableHandle
            Its `remove` takes the hook off.
        """
        return RemovableHandle(self._step_post_hooks, hook)

    def _register_state_hook(self, when: str, hook: Callable[..., Any], prepend: bool) -> RemovableHandle:
        hooks = self._state_hooks[when]
        handle = RemovableHandle(hooks, hook)
        if prepend:
            hooks.move_to_end(handle.id, last=False)
        return handle

    def register_state_dict_pre_hook(self, hook: Callable[[Any], None], prepend: bool = False) -> RemovableHandle:
        """Have ``hook(optimizer)`` called before `state_dict` is made.

        Parameters
        ----------
        hook : takes the optimiser
        prepend : whether it is called before the hooks that are there

        Returns
        -------
        RemovableHandle
            Its `remove` takes the hook off.
        """
        return self._register_state_hook("pre", hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Have ``hook(optimizer, state_dict)`` called after `state_dict` is made.

        Parameters
        ----------
        hook : may change the dictionary, or return the one to give instead
        prepend : whether it is called before the hooks that are there

        Returns
        -------
        RemovableHandle
            Its `remove` takes the hook off.
        """
        return self._register_state_hook("post", hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Have ``hook(optimizer, state_dict)`` called before a state is loaded.

        Parameters
        ----------
        hook : takes a shallow copy of the dictionary, and may return the one to load instead
        prepend : whether it is called before the hooks that are there

        Returns
        -------
        RemovableHandle
            Its `remove` takes the hook off.
        """
        return self._register_state_hook("load pre", hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[[Any], None], prepend: bool = False) -> RemovableHandle:
        """Have ``hook(optimizer)`` called after a state was loaded.

        Parameters
        ----------
        hook : takes the optimiser
        prepend : whether it is called before the hooks that are there

        Returns
        -------
        RemovableHandle
            Its `remove` takes the hook off.
        """
        return self._register_state_hook("load post", hook, prepend)

    def _hooks_of_state(self, when: str) -> list[Callable[..., Any]]:
        """Return the hooks that are called then; none where a subclass has not called `__init__`."""
        return [*vars(self).get("_state_hooks", {}).get(when, {}).values()]

    def _before_state_dict(self) -> None:
        for hook in self._hooks_of_state("pre"):
            hook(self)

    def _after_state_dict(self, state_dict: dict[str, Any]) -> dict[str, Any]:
        for hook in self._hooks_of_state("post"):
            changed = hook(self, state_dict)
            if changed is not None:
                state_dict = changed
        return state_dict

    def _before_load_state_dict(self, state_dict: Mapping[str, Any]) -> Mapping[str, Any]:
        state_dict = dict(state_dict)
        for hook in self._hooks_of_state("load pre"):
            changed = hook(self, state_dict)
            if changed is not None:
                state_dict = changed
        return state_dict

    def _after_load_state_dict(self) -> None:
        for hook in self._hooks_of_state("load post"):
            hook(self)
