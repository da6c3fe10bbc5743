"""The functions that people call, and reflected operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchkit.protocol.chain import Chain
from dispatchkit.protocol.frames import hide_frames
from dispatchkit.protocol.modes import ask_modes
from dispatchkit.protocol.observers import live, note_asked
from dispatchkit.protocol.overridable import Overridable

Function = Callable[..., Any]


def make_function(operation: Overridable) -> Function:
    """Return the public function of an operation, without its name and signature."""
    parameters = operation.parameters
    least, most = parameters.least, parameters.most
    # Of no arrays, modes alone can answer in place of its default, which raises itself for wrong arguments.
    checked = not parameters.nullary
    # So many arguments by position are arrays, one each; -1 where keywords or sequences may hold them, too.
    count = parameters.positional or -1
    operation.key_of = parameters.key

    # A pickle by value holds what it refers to: the record alone, and functions of this library by their names.
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            if live and (answer := ask_modes(operation, args, kwargs)) is not NotImplemented:
                return answer
            number = len(args)
            if (kwargs or not least <= number <= most) and checked and not operation.parameters.allows(args, kwargs):
                operation.check_call(args, kwargs)
            if number == count:
                key = tuple(map(type, args))
            else:
                key_of = operation.key_of  # an attribute that is called where it stands is found more slowly
                key = key_of(args, kwargs)
            try:
                first = operation.decisions[key]
            except KeyError:
                first = decide(operation, args, kwargs, operation.decisions, key)
            result = first(*args, **kwargs)
            if result is NotImplemented or result is None:
                return continue_chain(operation, first, args, kwargs, result)
            return result
        except Exception as error:
            hide_frames(error, operation)
            raise

    return call


def make_reflected(operation: Overridable, operator: str) -> Function:
    """Return the method behind a reflected operator: `__radd__` of `add`, whose operator is `__add__`."""
    function, table = operation.function, operation.table

    def call_reflected(x2: Any, x1: Any, /) -> Any:
        try:
            if not live:
                try:
                    first = table[type(x1)][type(x2)]
                except KeyError:
                    first = None
                if first is not None and (result := first(x1, x2)) is not NotImplemented:
                    if result is not None:
                        return result
                    return continue_chain(operation, first, (x1, x2), {}, None)
            if operation.types.leaves(type(x1), operator):
                return NotImplemented
            return function(x1, x2)
        except Exception as error:
            hide_frames(error, operation)
            raise

    return call_reflected


def decide(
    operation: Overridable,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    decisions: dict[Any, Any],
    *path: Any,
) -> Function:
    """Decide who answers, and keep the decision unless something is registered meanwhile.

    Parameters
    ----------
    operation, args, kwargs : of the call
    decisions : where it is kept: `operation.table` or `operation.decisions`
    *path : the keys under which it is found there, one dictionary inside of the other; it is not kept where there are
        none
    """
    protocol = operation.protocol
    generation = protocol.journal.generation
    chain: Chain = protocol.chain(operation, operation.parameters.key(args, kwargs))
    first = chain.head()
    if path and not chain.foreign:
        protocol.journal.keep(operation, generation, decisions, path, first)
    return first


def continue_chain(
    operation: Overridable, first: Function, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
) -> Any:
    """Ask the next answers after the first declined or gave None; all of them, if another one is first by now."""
    if result is None and operation.may_give_none:
        return None
    chain: Chain = operation.protocol.chain(operation, operation.parameters.key(args, kwargs))
    if result is None:
        if chain.head() is first:
            return chain.check_result(chain.steps[0], None)
        return None
    return chain.run(args, kwargs, 1 if chain.head() is first else 0, on_step=note_asked)
