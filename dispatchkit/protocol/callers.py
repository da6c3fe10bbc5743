"""The functions that people call, and reflected operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchkit.protocol.chain import Chain
from dispatchkit.protocol.frames import hide_frames
from dispatchkit.protocol.modes import ask_modes
from dispatchkit.protocol.observers import live, note_asked
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import MISSING, Form, Parameters

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


def make_function_by_types(operation: Overridable) -> Function:
    """Return the public function of an operation whose arguments' types say who answers, and seldom what they hold.

    A parameter may take a list of arrays, whose members decide then. Calls without such a list are looked up in
    `Overridable.by_call`, by the types of the arguments as they came.
    """
    parameters = operation.parameters
    operation.key_of = parameters.key
    first_two = [(p.position, p.form in (Form.ONE, Form.LOOSE)) for p in parameters.arrays]
    if first_two == [(0, True)]:
        return _make_unary(operation, parameters)
    if first_two == [(0, True), (1, True)] and len(parameters.listed) == 2:
        return _make_binary(operation, parameters)

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return _answer_by_types(operation, args, kwargs)
        except Exception as error:
            hide_frames(error, operation)
            raise

    return call


def _make_unary(operation: Overridable, parameters: Parameters) -> Function:
    """Return the function of an array and of other arguments, which do not decide."""
    least, most = parameters.least - 1, parameters.most - 1

    def call(x: Any = MISSING, /, *args: Any, **kwargs: Any) -> Any:
        try:
            if live or x is MISSING or not least <= len(args) <= most:
                return _answer_by_types(operation, (*_given(x), *args), kwargs)
            if kwargs:
                # The other arguments do not decide, but which names a call may have.
                return _answer_kept(operation, (type(x), len(args), *kwargs), (x, *args), kwargs)
            try:
                first = operation.by_call[type(x)]
            except KeyError:
                first = _decide_by_types(operation, (x, *args), {}, operation.by_call, type(x))
            if args:
                result = first(x, *args)
            else:
                result = first(x)
            if result is NotImplemented or result is None:
                return continue_chain(operation, first, (x, *args), {}, result)
            return result
        except Exception as error:
            hide_frames(error, operation)
            raise

    return call


def _make_binary(operation: Overridable, parameters: Parameters) -> Function:
    """Return the function of two arrays, of which the second may be left out."""
    least = parameters.least

    def call(x1: Any = MISSING, x2: Any = MISSING, /, *args: Any, **kwargs: Any) -> Any:
        try:
            if kwargs or live or args or (x2 is MISSING and (least == 2 or x1 is MISSING)):
                return _answer_by_types(operation, (*_given(x1, x2), *args), kwargs)
            try:
                first = operation.by_call[type(x1)][type(x2)]
            except KeyError:
                given = _given(x1, x2)
                first = _decide_by_types(operation, given, kwargs, operation.by_call, type(x1), type(x2))
            if x2 is MISSING:
                result = first(x1)
            else:
                result = first(x1, x2)
            if result is NotImplemented or result is None:
                return continue_chain(operation, first, _given(x1, x2), kwargs, result)
            return result
        except Exception as error:
            hide_frames(error, operation)
            raise

    return call


def _given(*args: Any) -> tuple[Any, ...]:
    """Return the arguments of a call without those that it left out."""
    return tuple([x for x in args if x is not MISSING])


def _answer_by_types(operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Answer a call by the types of its arguments, and the names of those that came by name."""
    if live and (answer := ask_modes(operation, args, kwargs)) is not NotImplemented:
        return answer
    types: tuple[Any, ...] = tuple(map(type, args))
    if kwargs:
        types = (*types, *kwargs, *map(type, kwargs.values()))
    return _answer_kept(operation, types, args, kwargs)


def _answer_kept(operation: Overridable, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Answer a call as the last one of these types was, if there was one."""
    try:
        first = operation.by_call[types]
    except KeyError:
        if not operation.parameters.allows(args, kwargs):
            operation.check_call(args, kwargs)
        first = _decide_by_types(operation, args, kwargs, operation.by_call, types)
    result = first(*args, **kwargs)
    if result is NotImplemented or result is None:
        return continue_chain(operation, first, args, kwargs, result)
    return result


def _decide_by_types(
    operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any], decisions: dict[Any, Any], *path: Any
) -> Function:
    """Decide who answers; the decision is kept by the types alone, so not where members of a list decide."""
    parameters = operation.parameters
    found = [(p, p.find(args, kwargs)) for p in parameters.arrays if p.form is not Form.STAR]
    if any(p.form is not Form.ONE and p.holds_several(value) for p, value in found):
        key = parameters.key(args, kwargs)
        known: Function | None = operation.decisions.get(key)
        return known or decide(operation, args, kwargs, operation.decisions, key)
    return decide(operation, args, kwargs, decisions, *path)


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
