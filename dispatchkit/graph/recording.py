"""Whether operations record a graph: `no_grad`, `enable_grad`, `set_grad_enabled`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast, overload

from dispatchkit.protocol.blocks import Block, ContextState, Entered, Setting

F = TypeVar("F", bound=Callable[..., Any])


class _GradMode(int):
    """Whether a graph is recorded, as a number, and the blocks that say so."""

    entered: Entered


def _grad_mode(entered: Entered) -> _GradMode:
    mode = _GradMode(entered[-1][1])  # a class that sets the attribute in `__new__` takes twice the time
    mode.entered = entered
    return mode


grad_mode: ContextState[int] = ContextState("grad mode", True, _grad_mode)
# What it returns is false where no graph is recorded, and need not be a bool: to make one would take longer.
is_grad_enabled = cast("Callable[[], bool]", grad_mode.get)


class set_grad_enabled(Setting):  # noqa: N801  # PyTorch's name
    """Switch recording on or off at once; `with` and a decorated function switch it back on leaving.

    Parameters
    ----------
    mode : whether operations record a graph from here on

    Raises
    ------
    TypeError : if `mode` is a function, as in ``@dk.set_grad_enabled``

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x = dk.tensor([1.0], requires_grad=True)
    >>> with dk.set_grad_enabled(False):
    ...     (x * 2).requires_grad
    False
    """

    def __init__(self, mode: bool) -> None:
        if callable(mode):
            raise TypeError(
                f"set_grad_enabled: mode must be True or False, found {getattr(mode, '__name__', mode)!r}; "
                "write @set_grad_enabled(False)"
            )
        super().__init__(grad_mode, bool(mode))


@overload
def no_grad() -> Block: ...
@overload
def no_grad(func: F) -> F: ...
def no_grad(func: Any = None) -> Any:
    """Record no graph inside a `with` block, or inside a decorated function.

    Parameters
    ----------
    func : the function to decorate, where ``@dk.no_grad`` stands without parentheses

    Returns
    -------
    context manager
        To use in a `with` statement, or as a decorator; with `func` the decorated function.

    Raises
    ------
    TypeError : if a class is decorated

    Notes
    -----
    In a generator or coroutine that is decorated it holds while that runs, not while it is suspended.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x = dk.tensor([1.0], requires_grad=True)
    >>> with dk.no_grad():
    ...     (x * 2).requires_grad
    False
    >>> @dk.no_grad()
    ... def doubled():
    ...     yield (x * 2).requires_grad
    >>> list(doubled())
    [False]
    """
    block = Block(grad_mode, False, "no_grad")
    if func is None:
        return block
    return block(func)


@overload
def enable_grad() -> Block: ...
@overload
def enable_grad(func: F) -> F: ...
def enable_grad(func: Any = None) -> Any:
    """Record a graph inside a `with` block or a decorated function, even where recording is off outside.

    Parameters
    ----------
    func : the function to decorate, where ``@dk.enable_grad`` stands without parentheses

    Returns
    -------
    context manager
        To use in a `with` statement, or as a decorator; with `func` the decorated function.

    Raises
    ------
    TypeError : if a class is decorated

    Examples
    --------
    >>> import dispatchkit as dk
    >>> x = dk.tensor([1.0], requires_grad=True)
    >>> with dk.no_grad(), dk.enable_grad():
    ...     (x * 2).requires_grad
    True
    """
    block = Block(grad_mode, True, "enable_grad")
    if func is None:
        return block
    return block(func)


class unrecorded:  # noqa: N801  # used as `no_grad` is
    """Records no graph inside a `with` block around one call: what `no_grad` does, in fewer steps."""

    __slots__ = ("_before", "_inside")

    def __enter__(self) -> None:
        self._before = before = grad_mode.get()
        if before is True:
            self._inside: int = _no_graph
        else:
            self._inside = _grad_mode((*getattr(before, "entered", ()), (self, False)))
        grad_mode.set(self._inside)

    def __exit__(self, *exception: object) -> None:
        if grad_mode.get() is self._inside:
            grad_mode.set(self._before)
        elif self._inside is _no_graph:  # a block was entered that is not left, or one was left from outside
            grad_mode.leave(unrecorded)
        else:
            grad_mode.leave(self)


# What is set where no other block is entered; the class stands for its instances.
_no_graph = _grad_mode(((unrecorded, False),))


def grad_block(records: bool) -> Block:
    """Return a block in which a graph is recorded, or is not.

    Unlike `set_grad_enabled` it changes nothing before the block begins, so that no interrupt can leave it changed.
    """
    if records:
        return enable_grad()
    return no_grad()
