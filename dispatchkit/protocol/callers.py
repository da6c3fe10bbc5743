"""The functions that people call: closures that read a table.

Each reads the table of its operation by the types of the arguments and calls what it finds. Modes are asked only
while some exist in the process. Where the first answer declines, the chain continues. A call that the signature does
not allow raises here, so a handler that takes more arguments needs no check. The most frequent signatures (one array,
two arrays, a sequence) have faster functions in `declare`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchkit.protocol.frames import hide_frames
from dispatchkit.protocol.modes import ask_modes, live
from dispatchkit.protocol.observers import note_asked
from dispatchkit.protocol.overridable import Overridable

__all__ = ["continue_chain", "decide", "make_function", "make_outer", "make_reflected"]

Function = Callable[..., Any]


def make_function(operation: Overridable) -> Function:
    """Return the public function of an operation, without its name and signature."""
    if operation.parameters.nullary:
        return _nullary(operation)
    table, parameters = operation.table, operation.parameters
    key_of, least, most, allows = parameters.key, parameters.least, parameters.most, parameters.allows
    # So many arguments by position are arrays, one each; -1 where keywords or sequences may hold them, too.
    count = parameters.positional or -1

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            if live and (answer := ask_modes(operation, args, kwargs)) is not NotImplemented:
                return answer
            if (kwargs or not least <= len(args) <= most) and not allows(args, kwargs):
                operation.check_call(args, kwargs)
            key = tuple(map(type, args)) if len(args) == count else key_of(args, kwargs)
            try:
                first = table[key]
            except KeyError:
                first = decide(operation, args, kwargs, key)
            result = first(*args, **kwargs)
            if result is NotImplemented or result is None:
                return continue_chain(operation, first, args, kwargs, result)
            return result
        except Exception as error:
            hide_frames(error)
            raise

    return call


def make_outer(operation: Overridable) -> Function:
    """Return a public function that calls an operation by its record: all that a pickle by value holds of it."""

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return operation.call(*args, **kwargs)
        except Exception as error:
            hide_frames(error)
            raise

    return call


def _nullary(operation: Overridable) -> Function:
    """Return the public function of an operation without arrays: modes alone can answer in place of its default."""
    table = operation.table

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            if live and (answer := ask_modes(operation, args, kwargs)) is not NotImplemented:
                return answer
            first = table.get(()) or decide(operation, args, kwargs, ())
            result = first(*args, **kwargs)
            if result is NotImplemented or result is None:
                return continue_chain(operation, first, args, kwargs, result)
            return result
        except Exception as error:
            hide_frames(error)
            raise

    return call


def make_reflected(operation: Overridable, operator: str) -> Function:
    """Return the method behind a reflected operator: `__radd__` of `add`, whose operator is `__add__`."""
    function, table = operation.function, operation.table

    def reflected(x2: Any, x1: Any, /) -> Any:
        try:
            if not live:
                try:
                    first = table[type(x1)][type(x2)]
                except KeyError:
                    first = None
                if first is not None and (result := first(x1, x2)) is not NotImplemented:
                    return result if result is not None else continue_chain(operation, first, (x1, x2), {}, None)
            if operation.types.leaves(type(x1), operator):
                return NotImplemented
            return function(x1, x2)
        except Exception as error:
            hide_frames(error)
            raise

    return reflected


def decide(operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any], *path: Any) -> Function:
    """Decide who answers, and keep the decision in the table unless something is registered meanwhile."""
    protocol = operation.protocol
    generation = protocol.journal.generation
    chain = protocol.chain(operation, operation.parameters.key(args, kwargs))
    first = chain.head()
    if path and not chain.foreign:
        protocol.journal.keep(operation, generation, operation.table, path, first)
    return first


def continue_chain(
    operation: Overridable, first: Function, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
) -> Any:
    """Ask the next answers after the first declined or gave None; all of them, if another one is first by now."""
    if result is None and operation.may_give_none:
        return None
    chain = operation.protocol.chain(operation, operation.parameters.key(args, kwargs))
    if result is None:
        return chain.checked(chain.steps[0], None) if chain.head() is first else None
    return chain.run(args, kwargs, 1 if chain.head() is first else 0, on_step=note_asked)
