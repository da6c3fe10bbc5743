"""What a function of the type's author declares: whether it may decline, and the classes of its results."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from dispatchkit.errors import RegistrationError
from dispatchkit.protocol.handlers import ANY, Rule
from dispatchkit.protocol.parameters import Form
from dispatchkit.protocol.registration.annotations import classes_of, resolved_hints

__all__ = ["Promise", "promise_of", "promise_of_rule"]


class Promise(NamedTuple):
    """What the return annotation of a function says.

    Attributes
    ----------
    classes : that it names; empty where it names none
    may_decline : whether it allows `NotImplemented`: it names `NotImplementedType`, or no class at all
    never_answers : whether it allows nothing else
    """

    classes: tuple[type, ...] = ()
    may_decline: bool = True
    never_answers: bool = False


_known: WeakKeyDictionary[Any, Promise] = WeakKeyDictionary()


def promise_of(function: Callable[..., Any]) -> Promise:
    """Return what a function declares of its answers; nothing is read from its code."""
    try:
        found = _known.get(function)
    except TypeError:
        return _promise(function)
    if found is None:
        found = _known[function] = _promise(function)
    return found


def promise_of_rule(rule: Rule) -> Promise:
    """Return what a rule declares of its answers: its registration goes before its annotation."""
    found = promise_of(rule.handler)
    return found if rule.declines is None else found._replace(may_decline=rule.declines)


def _promise(function: Callable[..., Any]) -> Promise:
    if isinstance(function, type):
        return Promise((function,), may_decline=False)
    function = getattr(function, "__func__", function)
    try:
        hint = resolved_hints(function, skip=()).get("return", inspect.Parameter.empty)
        classes = classes_of(hint, Form.ONE, str(function))
    except (RegistrationError, AttributeError):
        return Promise()
    named = tuple(dict.fromkeys(cls for cls in classes if cls is not types.NotImplementedType))
    if ANY in named:
        return Promise()
    may_decline = len(named) < len(set(classes))
    return Promise(named, may_decline=may_decline, never_answers=may_decline and not named)
