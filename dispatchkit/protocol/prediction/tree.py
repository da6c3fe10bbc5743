"""What a prediction says: a tree of calls, of who is asked in each, and of the calls that they make."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, get_args, get_origin
from weakref import WeakKeyDictionary

from dispatchkit.errors import RegistrationError
from dispatchkit.protocol.naming import ANY, type_name
from dispatchkit.protocol.outcome import ANSWERS, AT_RUN_TIME, IF_DECLINED, MODE, OPEN, REFUSED, Outcome
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Form, Key
from dispatchkit.protocol.registration.annotations import classes_of, resolved_hints
from dispatchkit.protocol.rules import Rule


@dataclass(frozen=True, slots=True)
class Asked:
    """One who is asked to answer a call.

    Attributes
    ----------
    cls : the type that is asked; of a mode its class
    what : the answer it has, or why it has none
    verdict : one of the texts in `outcome`
    reason : why it declines or is passed over, what it raises, or on what its answer depends
    outcome : how the call is answered by it; None of one that has no answer
    location : file and line of the function behind the answer, "" where there is none
    inner : the calls that it makes, as far as they were followed
    rule : behind the answer; None where there is none
    """

    cls: type
    what: str
    verdict: str = ""
    reason: str = ""
    outcome: Outcome | None = None
    location: str = ""
    inner: tuple[Prediction, ...] = ()
    rule: Rule | None = None

    @property
    def who(self) -> str:
        """Name of the type or mode."""
        if self.outcome is MODE:
            return self.cls.__name__
        return type_name(self.cls)


@dataclass(frozen=True, slots=True)
class Prediction:
    """What comes of a call, as far as it can be known without making it.

    Attributes
    ----------
    function : qualified name of the operation
    key : types of its arrays, a tuple of those in one argument that takes several
    order : names of the types in the order they are asked
    asked : who is asked, in order, modes first
    outcome : how the call is answered, or fails; where that depends on values, the first way that it may be
    by : who answers, or raises; None where nobody does
    error : class and first line of what the call raises; "" where it is not predicted to raise
    depends_on_values : what has to be known of values, or of a user's function, to be certain; "" where nothing has
    results : the classes that the arrays of the result may have; empty where none is known
    """

    function: str
    key: Key
    order: tuple[str, ...]
    asked: tuple[Asked, ...] = ()
    outcome: Outcome = REFUSED
    by: Asked | None = None
    error: str = ""
    depends_on_values: str = ""
    results: tuple[type, ...] = ()

    @property
    def types(self) -> tuple[str, ...]:
        """Names of the types of its arrays, those of several in one argument together."""
        return tuple(
            f"({', '.join(map(type_name, entry))})" if isinstance(entry, tuple) else type_name(entry)
            for entry in self.key
            if entry is not type(None)
        )

    @property
    def call(self) -> str:
        """The operation with the types of its arguments."""
        return f"{self.function}({', '.join(self.types)})"

    @property
    def otherwise(self) -> Asked | None:
        """Who answers if the one who is asked before declines; None where nobody would."""
        after = self.asked[self.asked.index(self.by) + 1 :] if self.by in self.asked else ()
        return next((asked for asked in after if asked.verdict in (ANSWERS, OPEN, AT_RUN_TIME, IF_DECLINED)), None)

    @property
    def lacks(self) -> str:
        """The calls that nobody answers, from the first that is needed to the one that fails, and why that one does."""
        if self.outcome is not REFUSED:
            return f"{self.function}: {self.error or self.outcome.name}"
        inner = next((each for asked in self.asked for each in asked.inner if each.outcome is REFUSED), None)
        if inner is not None:
            return f"{self.function}, which needs {inner.lacks}"
        reasons = dict.fromkeys(each.reason or each.what for each in self.asked if each.reason or each.what)
        if reasons:
            return f"{self.function}: {'; '.join(reasons)}"
        return self.function

    def walk(self, depth: int = 0) -> Any:
        """Yield this prediction and those of all inner calls, with their depths."""
        yield depth, self
        for asked in self.asked:
            for inner in asked.inner:
                yield from inner.walk(depth + 1)


def first_line(error: BaseException) -> str:
    """Return class and first line of an error, as records and predictions have it."""
    text = str(error).strip().partition("\n")[0]
    if text:
        return f"{type(error).__name__}: {text}"
    return type(error).__name__


def mistake_in(operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Return class and first line of what a call raises that the signature does not allow, "" for one that it does."""
    try:
        operation.check_call(args, kwargs)
    except TypeError as error:
        return native_mistake(operation, args, kwargs) or first_line(error)
    return ""


def native_mistake(operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Return what Python raises itself, before the public function begins; "" where it begins."""
    function = operation.final_function()
    try:
        _own_signature(function).bind(*args, **kwargs)
    except TypeError:
        try:
            function(*args, **kwargs)  # which Python refuses to begin, in its own words
        except TypeError as error:
            return first_line(error)
    return ""


def _own_signature(function: Callable[..., Any]) -> inspect.Signature:
    """Return the parameters that the code of a function has, rather than those that it shows."""
    if not isinstance(function, types.FunctionType):
        return inspect.Signature([inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)])
    bare = types.FunctionType(function.__code__, {}, function.__name__, function.__defaults__, function.__closure__)
    bare.__kwdefaults__ = function.__kwdefaults__
    return inspect.signature(bare)


class Promise(NamedTuple):
    """What the return annotation of a function says.

    Attributes
    ----------
    classes : that it names; empty where it names none
    may_decline : whether it allows `NotImplemented`: it names `NotImplementedType`, or no class at all
    never_answers : whether it allows nothing else
    members : of a result of several, such as ``tuple[T, ...]``, the classes of its members; empty where it names none
    """

    classes: tuple[type, ...] = ()
    may_decline: bool = True
    never_answers: bool = False
    members: tuple[type, ...] = ()


_known: WeakKeyDictionary[Any, Promise] = WeakKeyDictionary()


def promise_of(function: Callable[..., Any]) -> Promise:
    """Return what a function declares of its answers; nothing is read from its code."""
    try:
        promise = _known.get(function)
    except TypeError:
        return _promise(function)
    if promise is None:
        promise = _known[function] = _promise(function)
    return promise


def promise_of_rule(rule: Rule) -> Promise:
    """Return what a rule declares of its answers: its registration goes before its annotation."""
    promise = promise_of(rule.handler)
    if rule.declines is None:
        return promise
    return promise._replace(may_decline=rule.declines)


def _promise(function: Callable[..., Any]) -> Promise:
    if isinstance(function, type):
        return Promise((function,), may_decline=False)
    function = getattr(function, "__func__", function)
    try:
        hint = resolved_hints(function, ["return"]).get("return", inspect.Parameter.empty)
        classes = classes_of(hint, Form.ONE, str(function))
    except (RegistrationError, AttributeError):
        return Promise()
    named = tuple(dict.fromkeys(cls for cls in classes if cls is not types.NotImplementedType))
    if ANY in named:
        return Promise()
    may_decline = len(named) < len(set(classes))
    return Promise(named, may_decline, may_decline and not named, _members_in(hint))


def _members_in(hint: Any) -> tuple[type, ...]:
    """Return the classes that the annotation of a list or tuple names for its members; empty where it is no such."""
    if get_origin(hint) not in (list, tuple):
        return ()
    members = [member for member in get_args(hint) if member is not Ellipsis]
    if members and all(isinstance(member, type) for member in members):
        return tuple(dict.fromkeys(members))
    return ()
