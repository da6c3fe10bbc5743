"""Functions that run around the calls of modules: their kinds, their order, and the handles that take them away."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from dispatchkit.nn.backward_hooks import Boundary
from dispatchkit.tensor.gradients import RemovableHandle

__all__ = [
    "HookMethods",
    "Kind",
    "call_with_hooks",
    "everywhere",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
]

Function = Callable[..., Any]


class Kind(Enum):
    """When a hook runs."""

    FORWARD_PRE = "forward pre-hook"
    FORWARD = "forward hook"
    BACKWARD_PRE = "full backward pre-hook"
    BACKWARD = "full backward hook"


@dataclass(frozen=True, eq=False, slots=True)
class Hook:
    """A function and how it is called.

    Attributes
    ----------
    kind : when it runs
    call : the function
    with_kwargs : whether it takes the keywords of the call, too
    always_call : whether it runs even where the call raises
    """

    kind: Kind
    call: Function
    with_kwargs: bool = False
    always_call: bool = False


Hooks = OrderedDict[int, Any]

# Those of all modules, which run before each module's own.
everywhere: Hooks = OrderedDict()


def _register(hooks: Hooks, hook: Hook, prepend: bool = False) -> RemovableHandle:
    handle = RemovableHandle(hooks, hook)
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


class HookMethods:
    """How hooks are registered for one module.

    Each method gives a handle: ``handle.remove()`` takes the hook away, and so does leaving ``with handle:``.
    """

    _call_hooks: Hooks

    def __init__(self) -> None:
        self.__dict__["_call_hooks"] = OrderedDict()

    def register_forward_pre_hook(
        self, hook: Function, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Have a function called before each `forward`.

        Parameters
        ----------
        hook : ``hook(module, args)``; what it gives takes the place of the positional arguments, a single value that
            of all of them. With `with_kwargs` it is ``hook(module, args, kwargs)`` and gives None or a pair of both.
        prepend : whether it runs before the module's other hooks of this kind
        with_kwargs : whether it takes the keywords, too
        """
        return _register(self._call_hooks, Hook(Kind.FORWARD_PRE, hook, with_kwargs), prepend)

    def register_forward_hook(
        self, hook: Function, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Have a function called after each `forward`.

        Parameters
        ----------
        hook : ``hook(module, args, output)``, or with `with_kwargs` ``hook(module, args, kwargs, output)``; what it
            gives takes the place of the output
        prepend : whether it runs before the module's other hooks of this kind
        with_kwargs : whether it takes the keywords, too
        always_call : whether it runs even where the call raises; what it raises itself is then a warning
        """
        return _register(self._call_hooks, Hook(Kind.FORWARD, hook, with_kwargs, always_call), prepend)

    def register_full_backward_pre_hook(self, hook: Function, prepend: bool = False) -> RemovableHandle:
        """Have a function called with the gradients of the module's outputs, before they go on through it.

        Parameters
        ----------
        hook : ``hook(module, grad_output)``; the tuple that it gives takes the place of the gradients
        prepend : whether it runs before the module's other hooks of this kind
        """
        return _register(self._call_hooks, Hook(Kind.BACKWARD_PRE, hook), prepend)

    def register_full_backward_hook(self, hook: Function, prepend: bool = False) -> RemovableHandle:
        """Have a function called with the gradients of the module's inputs and outputs, once they are known.

        Parameters
        ----------
        hook : ``hook(module, grad_input, grad_output)`` with tuples that have an entry for each positional argument
            and each output, None where there is no gradient; the tuple that it gives takes the place of the inputs'
        prepend : whether it runs before the module's other hooks of this kind

        Notes
        -----
        Where no input requires a gradient, it is called with the gradients of the outputs, and must give None.
        """
        return _register(self._call_hooks, Hook(Kind.BACKWARD, hook), prepend)


def register_module_forward_pre_hook(hook: Function) -> RemovableHandle:
    """Have a function called before each `forward` of every module, see `Module.register_forward_pre_hook`.

    Parameters
    ----------
    hook : called with the module and its arguments

    Returns
    -------
    RemovableHandle
        Its method `remove()` removes the hook.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> with dk.nn.register_module_forward_pre_hook(lambda module, args: print(module, args)):
    ...     y = dk.nn.ReLU()(dk.ones(2))
    ReLU() (tensor([1., 1.]),)
    """
    return _register(everywhere, Hook(Kind.FORWARD_PRE, hook))


def register_module_forward_hook(
    hook: Function, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Have a function called after each `forward` of every module, see `Module.register_forward_hook`.

    Parameters
    ----------
    hook : called with the module, its arguments and its result
    with_kwargs : whether it is given the keyword arguments, too
    always_call : whether it is called where `forward` raises, too

    Returns
    -------
    RemovableHandle
        Its method `remove()` removes the hook.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> with dk.nn.register_module_forward_hook(lambda module, args, output: print(module, output)):
    ...     y = dk.nn.ReLU()(dk.ones(2))
    ReLU() tensor([1., 1.])
    """
    return _register(everywhere, Hook(Kind.FORWARD, hook, with_kwargs, always_call))


def register_module_full_backward_pre_hook(hook: Function) -> RemovableHandle:
    """Have a function called with the output gradients of every module, as `Module` has it.

    Parameters
    ----------
    hook : called with the module and the gradients of its outputs

    Returns
    -------
    RemovableHandle
        Its method `remove()` removes the hook.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> with dk.nn.register_module_full_backward_pre_hook(lambda module, grad_output: print(grad_output)):
    ...     dk.nn.ReLU()(dk.ones(2, requires_grad=True)).sum().backward()
    (tensor([1., 1.]),)
    """
    return _register(everywhere, Hook(Kind.BACKWARD_PRE, hook))


def register_module_full_backward_hook(hook: Function) -> RemovableHandle:
    """Have a function called with the gradients of every module, see `Module.register_full_backward_hook`.

    Parameters
    ----------
    hook : called with the module, the gradients of its inputs and those of its outputs

    Returns
    -------
    RemovableHandle
        Its method `remove()` removes the hook.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> with dk.nn.register_module_full_backward_hook(lambda module, grad_input, grad_output: print(grad_input)):
    ...     dk.nn.ReLU()(dk.ones(2, requires_grad=True)).sum().backward()
    (tensor([1., 1.]),)
    """
    return _register(everywhere, Hook(Kind.BACKWARD, hook))


class Hooked(Protocol):
    """A module with hooks, as its call sees it."""

    _call_hooks: Hooks
    forward: Function


def call_with_hooks(module: Hooked, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a module: pre-hooks, `forward`, forward hooks, and what makes the backward hooks run later."""
    called: list[Hook] = []
    output = None
    try:
        args, kwargs = _before(module, args, kwargs)
        pre_hooks, backward_hooks = _of(module, Kind.BACKWARD_PRE), _of(module, Kind.BACKWARD)
        boundary = Boundary(module, pre_hooks, backward_hooks) if pre_hooks or backward_hooks else None
        if boundary is not None:
            args = boundary.enter(args)
        output = module.forward(*args, **kwargs)
        for hook in _of(module, Kind.FORWARD):
            called.append(hook)
            output = _after(hook, module, args, kwargs, output)
        return output if boundary is None else boundary.leave(output)
    except Exception:
        for hook in _of(module, Kind.FORWARD):
            if hook.always_call and hook not in called:
                output = _silenced(hook, module, args, kwargs, output)
        raise


def _of(module: Hooked, kind: Kind) -> list[Hook]:
    own = module._call_hooks.values()
    return [hook for hook in ([*everywhere.values(), *own] if everywhere else own) if hook.kind is kind]


def _before(module: Hooked, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments as the pre-hooks leave them."""
    for hook in _of(module, Kind.FORWARD_PRE):
        if hook.with_kwargs:
            both = hook.call(module, args, kwargs)
            if both is None:
                continue
            if not (isinstance(both, tuple) and len(both) == 2):
                raise RuntimeError(
                    f"{type(module).__name__}: a forward pre-hook with_kwargs must return None or a tuple of "
                    f"(new_args, new_kwargs), but got {both!r}"
                )
            args, kwargs = both
        else:
            replaced = hook.call(module, args)
            if replaced is not None:
                args = replaced if isinstance(replaced, tuple) else (replaced,)
    return args, kwargs


def _after(hook: Hook, module: Hooked, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> Any:
    """Return the output as a forward hook leaves it."""
    replaced = hook.call(module, args, kwargs, output) if hook.with_kwargs else hook.call(module, args, output)
    return output if replaced is None else replaced


def _silenced(hook: Hook, module: Hooked, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> Any:
    """Run a hook after the call has raised; what the hook raises becomes a warning."""
    try:
        return _after(hook, module, args, kwargs, output)
    except Exception as error:  # noqa: BLE001  # the error of the call is the one to be seen
        warnings.warn(
            f"{type(module).__name__}: a forward hook with always_call=True raised an exception that was silenced, "
            f"as another error was raised before: {error!r}",
            stacklevel=2,
        )
        return output
