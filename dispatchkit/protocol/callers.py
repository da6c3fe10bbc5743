"""The functions that people call: a closure that reads a table, and nothing else on the way.

The forms of signature on which most depends, of one and two arrays and of a sequence, have theirs beside the arrays.

Each reads the table of its operation by the types of the arguments and calls what it finds. Modes are asked only
while some exist in the process; a first answer that declines hands over to the chain. A call that the signature does
not allow ends here, so that a handler which takes more needs no guard of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dispatchkit.protocol.frames import hide_frames
from dispatchkit.protocol.modes import ask_modes, live
from dispatchkit.protocol.observers import note_asked

if TYPE_CHECKING:
    from dispatchkit.protocol.overridable import Overridable

__all__ = ["ask_the_rest", "decide", "make_function", "make_operator", "make_reflected"]

Function = Callable[..., Any]


def make_function(operation: Overridable) -> Function:
    """Return the function of an operation, with its name, signature and docstring."""
    if operation.parameters.nullary:
        return _making(operation)
    return _positional(operation) if operation.parameters.positional else _general(operation)


def _making(operation: Overridable) -> Function:
    table = operation.table

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            if live and (answer := ask_modes(operation, args, kwargs)) is not NotImplemented:
                return answer
            try:
                first = table[()]
            except KeyError:
                first = decide(operation, args, kwargs, ())
            result = first(*args, **kwargs)
            if result is NotImplemented or result is None:
                return ask_the_rest(operation, first, args, kwargs, result)
            return result
        except Exception as error:
            hide_frames(error)
            raise

    return call


def _positional(operation: Overridable) -> Function:
    table, parameters = operation.table, operation.parameters
    key_of, count = parameters.key, parameters.positional
    least, most, allows = parameters.least, parameters.most, parameters.allows

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
                return ask_the_rest(operation, first, args, kwargs, result)
            return result
        except Exception as error:
            hide_frames(error)
            raise

    return call


def _general(operation: Overridable) -> Function:
    table, parameters = operation.table, operation.parameters
    key_of = parameters.key
    least, most, allows = parameters.least, parameters.most, parameters.allows

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            if live and (answer := ask_modes(operation, args, kwargs)) is not NotImplemented:
                return answer
            if (kwargs or not least <= len(args) <= most) and not allows(args, kwargs):
                operation.check_call(args, kwargs)
            key = key_of(args, kwargs)
            try:
                first = table[key]
            except KeyError:
                first = decide(operation, args, kwargs, key)
            result = first(*args, **kwargs)
            if result is NotImplemented or result is None:
                return ask_the_rest(operation, first, args, kwargs, result)
            return result
        except Exception as error:
            hide_frames(error)
            raise

    return call


def make_operator(operation: Overridable, reflected: str) -> Function:
    """Return the method behind a binary operator, `__add__` of `add`; a stranger's `__radd__` gets its turn."""
    function = operation.function

    def operator(x1: Any, x2: Any, /) -> Any:
        try:
            if operation.protocol.leaves(type(x2), reflected):
                return NotImplemented
            return function(x1, x2)
        except Exception as error:
            hide_frames(error)
            raise

    return operator


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
                    return result if result is not None else ask_the_rest(operation, first, (x1, x2), {}, None)
            if operation.protocol.leaves(type(x1), operator):
                return NotImplemented
            return function(x1, x2)
        except Exception as error:
            hide_frames(error)
            raise

    return reflected


def decide(operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any], *path: Any) -> Function:
    """Decide who answers, and keep the decision unless something was registered meanwhile."""
    protocol = operation.protocol
    generation = protocol.generation
    chain = protocol.chain(operation, operation.parameters.key(args, kwargs))
    first = chain.head()
    if path and not chain.foreign:
        with protocol.lock:
            if protocol.generation == generation:
                table = operation.table
                for cls in path[:-1]:
                    table = table.setdefault(cls, {})
                table[path[-1]] = first
    return first


def ask_the_rest(
    operation: Overridable, first: Function, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
) -> Any:
    """Go on after the first answer declined, or gave None; from the start if another one is first by now."""
    if result is None and operation.may_give_none:
        return None
    chain = operation.protocol.chain(operation, operation.parameters.key(args, kwargs))
    if result is None:
        return chain.checked(chain.steps[0], None) if chain.head() is first else None
    return chain.run(args, kwargs, 1 if chain.head() is first else 0, asks=note_asked)
