"""Following a call: who is asked, what each of them does, and the calls that come of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextvars import copy_context
from dataclasses import replace
from itertools import islice, product
from typing import Any

from dispatchkit.errors import DispatchError
from dispatchkit.protocol.chain import Chain, Skipped, Step, pop_decline_reason
from dispatchkit.protocol.densify import forbidden_copy
from dispatchkit.protocol.fallbacks.base import RUNNING, Followed, map_members
from dispatchkit.protocol.fallbacks.rewrap import wrapped_field
from dispatchkit.protocol.frames import place_of
from dispatchkit.protocol.handlers import location_of, type_name
from dispatchkit.protocol.modes import Mode, current, without_modes
from dispatchkit.protocol.observers import watch_state
from dispatchkit.protocol.outcome import AMBIGUOUS, DEFAULT, FOREIGN, METHOD, MODE, PLAIN, REFUSED, RULE
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Key, Layout, flatten
from dispatchkit.protocol.prediction.stand_in import (
    Mark,
    Memory,
    NotFollowed,
    StandIn,
    classes_of,
    key_of,
    layout_of,
    make_stand_in,
    stand_in_for,
)
from dispatchkit.protocol.prediction.tree import (
    ANSWERS,
    AT_RUN_TIME,
    DECLINES,
    DEPENDS,
    IF_DECLINED,
    OPEN,
    PASSED_OVER,
    RAISES,
    Asked,
    Prediction,
    first_line,
    native_mistake,
    promise_of,
    promise_of_rule,
)


def active_modes(operation: Overridable) -> Iterator[Mode]:
    """Yield the modes that a call asks, innermost first."""
    cell = current()
    while cell is not None:
        if cell.asks(operation):
            yield cell.mode
        cell = cell.below


def asked_modes(operation: Overridable, modes: list[Mode]) -> tuple[list[Asked], bool]:
    """Return what is known of the modes that are asked, and whether one of them switches overrides off."""
    asked: list[Asked] = []
    for mode in modes:
        if type(mode).switches_off:
            return asked, True
        if not type(mode).of_users:
            continue
        method = operation.types.method
        answer = getattr(type(mode), method)
        what = f"active mode, {type(mode).__name__}.{method}"
        if getattr(answer, "__passes__", False):  # the default of the base class
            asked.append(Asked(type(mode), what, DECLINES, "it passes every call on", MODE))
            continue
        location = location_of(answer)
        reason = f"the mode {type(mode).__name__} may decline" if promise_of(answer).may_decline else ""
        asked.append(Asked(type(mode), what, AT_RUN_TIME, reason, MODE, location))
    return asked, False


# Combinations of types that are looked at where arguments may be of several.
MOST = 16


def merged(protocol: Any, results: list[Any]) -> Any:
    """Return what stands for one of several results."""
    first, *others = [result for result in results if result is not None] or [None]
    for other in others:
        first = _either(protocol, first, other)
    return first


def _either(protocol: Any, result: Any, other: Any) -> Any:
    if issubclass(type(result), StandIn) and issubclass(type(other), StandIn):
        unknown = not result._classes or not other._classes
        classes = () if unknown else tuple(dict.fromkeys((*result._classes, *other._classes)))
        layout = result._layout if result._layout == other._layout else Layout()
        return make_stand_in(protocol, classes, layout, result._origin or other._origin)
    if type(result) is type(other) and isinstance(result, (tuple, list)) and len(result) == len(other):
        members = [_either(protocol, a, b) for a, b in zip(result, other, strict=True)]
        return type(result)(*members) if hasattr(result, "_fields") else type(result)(members)
    return result if result is other else make_stand_in(protocol, (), origin="one of several calls")


def result_classes(result: Any) -> tuple[type, ...]:
    """Return the classes of the arrays in a result; empty where one is not known."""
    members: list[tuple[type, ...]] = []
    map_members(result, lambda value: members.append(classes_of(value)))
    return (
        () if any(not classes for classes in members) else tuple(dict.fromkeys(cls for each in members for cls in each))
    )


def narrowed(
    protocol: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Yield a call with stand-ins of one type each.

    Raises
    ------
    NotFollowed : if the type of one is not known
    """
    several: dict[int, StandIn] = {}

    def note(value: Any) -> None:
        if issubclass(type(value), StandIn) and len(value._classes) != 1:
            several[id(value)] = value

    for value in (*args, *kwargs.values()):
        map_members(value, note)
    if not several:
        yield args, kwargs
        return
    unknown = next((stand_in for stand_in in several.values() if not stand_in._classes), None)
    if unknown is not None:
        raise NotFollowed(f"the type of {unknown!r}")
    for combination in islice(product(*(stand_in._classes for stand_in in several.values())), MOST):
        chosen = dict(zip(several, combination, strict=True))

        def narrow(value: Any, chosen: dict[int, type] = chosen) -> Any:
            cls = chosen.get(id(value))
            return value if cls is None else make_stand_in(protocol, (cls,), value._layout, value._origin)

        yield map_members(args, narrow), map_members(kwargs, narrow)


def joined(predictions: list[Prediction]) -> Prediction:
    """Return what is certain of a call with arguments that may be of several types."""
    first = predictions[0]
    if all(prediction.outcome is REFUSED and not prediction.depends_on_values for prediction in predictions):
        return first
    certain = next((prediction.depends_on_values for prediction in predictions if prediction.depends_on_values), "")
    if not certain and any(prediction.error for prediction in predictions):
        certain = f"{first.call} depends on the type of an inner result"
    answered = next((prediction for prediction in predictions if prediction.outcome is not REFUSED), first)
    results = tuple(dict.fromkeys(cls for prediction in predictions for cls in prediction.results))
    return replace(answered, depends_on_values=certain, error="", results=results)


def predict(
    operation: Overridable,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    memory: Memory | None = None,
    until: Step | None = None,
) -> Prediction:
    """Return what will come of a call; no function of a user is called.

    Parameters
    ----------
    operation : that is called
    args, kwargs : of the call, with arrays, or stand-ins for arrays of which the type alone is known
    memory : what is known of other calls, for many that are made outside of modes
    until : the answer after which nobody is asked any more, by its type and its way; by default all are
    """
    modes = list(active_modes(operation)) if memory is None else []
    return copy_context().run(_predicted, operation, args, dict(kwargs), modes, memory or Memory(), until)


def _predicted(
    operation: Overridable,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    modes: list[Mode],
    memory: Memory,
    until: Step | None,
) -> Prediction:
    """Follow a call in a context where neither modes nor observers see it."""
    without_modes()
    watch_state.set(None)
    walk = _Walk(operation, memory)
    # A mode sees a call before its arguments are looked at.
    asked, plainly = asked_modes(operation, modes)
    open_to_modes = any(mode.verdict == AT_RUN_TIME for mode in asked)
    mistake = native_mistake(operation, args, kwargs) if open_to_modes else memory.mistake(operation, args, kwargs)
    if mistake:
        return Prediction(operation.qualified_name, (), (), tuple(asked), error=mistake)
    args, kwargs = walk.stand_ins(operation, args, kwargs)
    if plainly:
        key = key_of(operation.parameters, args, kwargs, walk.type_of)
        chain = operation.protocol.plain_chain(operation, key)
        return walk.of_chain(chain, key, args, kwargs, asked)[0]
    if asked or until is not None:
        return walk.known(operation, args, kwargs, asked=asked, until=until)[0]
    return walk.call(operation, args, kwargs)[0]


class _Walk:
    """Follows the calls of one prediction."""

    def __init__(self, operation: Overridable, memory: Memory) -> None:
        self.protocol: Any = operation.protocol
        self.memory = memory
        self.running: set[Mark] = set(RUNNING.get())
        self.met: set[Mark] = set()  # what was asked about, whether it is under way

    # What fallbacks ask for.

    def type_of(self, value: Any) -> type:
        classes = classes_of(value)
        if len(classes) != 1:
            raise NotFollowed(f"the type of {value!r}")
        return classes[0]

    def like(self, value: Any, classes: tuple[type, ...]) -> Any:
        layout = value._layout if issubclass(type(value), StandIn) else Layout()
        return make_stand_in(self.protocol, classes, layout)

    def wrapped_in(self, value: Any, result: Any, inner: type) -> Any:
        classes = classes_of(result)
        layout = result._layout if issubclass(type(result), StandIn) else layout_of(result)
        arrays = [cls is inner or self.protocol.types.participates(cls) for cls in classes]
        if not all(arrays) or not arrays:
            return make_stand_in(self.protocol, (), layout, "an inner call") if any(arrays) or not arrays else result
        return make_stand_in(self.protocol, classes_of(value), layout, field=result)

    def field_of(self, operation: Overridable, value: Any) -> Any:
        if value._field is not None:
            return value._field
        if value._given is None:
            return self.like(value, (self.protocol.types.base,) if self.protocol.types.base is not None else ())
        field = getattr(value._given, wrapped_field(operation, value._given))
        return stand_in_for(self.protocol, field)

    def refused_copy(self, operation: Overridable, value: Any) -> tuple[str, str]:
        error, depends = forbidden_copy(
            operation.qualified_name, self.type_of(value), value._layout.shape, value._layout.dtype
        )
        return ("" if error is None else first_line(error)), depends

    def again(
        self, operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any], running: Key | None = None
    ) -> Followed:
        mark = None if running is None else (operation, running)
        if mark is not None:
            self.running.add(mark)
        try:
            prediction, result = self.call(operation, args, kwargs)
        finally:
            if mark is not None:
                self.running.discard(mark)
        nobody = prediction.outcome is REFUSED and not prediction.depends_on_values
        return Followed(result, "", prediction.error, prediction.depends_on_values, True, nobody, (prediction,))

    def is_running(self, operation: Overridable, key: Key) -> bool:
        self.met.add((operation, key))
        return (operation, key) in self.running

    def body(
        self, operation: Overridable, key: Key, body: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Followed:
        """Run a body on stand-ins, and return what comes of it."""
        mode = _Following(self)
        result = None
        declines = error = ""
        self.running.add((operation, key))
        try:
            with mode:
                result = body(*args, **kwargs)
        except _Unanswered as failure:
            if failure.mode is not mode:
                raise
            declines = f"it needs {failure.found.lacks}"
        except _Raised as failure:
            error = failure.found.error
        except NotFollowed as failure:
            mode.depends.append(f"the body of {operation.name} asks for {failure.wanted}{place_of(failure)}")
        except Exception as failure:  # noqa: BLE001  # what a body raises on stand-ins is looked at
            if type(failure) in (ValueError, IndexError, DispatchError):
                error = first_line(failure)
            else:
                mode.depends.append(f"the body of {operation.name} takes no stand-ins: {first_line(failure)}")
        finally:
            self.running.discard((operation, key))
        if result is NotImplemented:
            declines = pop_decline_reason() or "it declines"
        depends = "" if declines or not mode.depends else mode.depends[0]
        if result is None and depends:
            result = make_stand_in(self.protocol, (), origin=operation.name)
        return Followed(result, declines, error, depends, inner=tuple(mode.inner))

    # Calls.

    def stand_ins(
        self, operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of a call with stand-ins in the place of arrays, but for small plain ones."""
        return operation.parameters.replace(
            args, kwargs, lambda name, value: stand_in_for(self.protocol, value, always=bool(operation.changes))
        )

    def plain(self, operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of an inner call on plain arrays: computed, unless it is large or drawn by chance."""
        if operation.is_cheap(args, kwargs):
            return operation.function(*args, **kwargs)
        return self.results(operation, (self.protocol.types.base,), args, kwargs, "")

    def call(
        self, operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any], limited: bool = False
    ) -> tuple[Prediction, Any]:
        """Follow a call, for each of the types that its stand-ins may be of."""
        token = self.memory.token(operation, args, kwargs, limited)
        known = self.memory.find(token, self.running)
        if known is not None:
            self.met |= known[0]
            return known[1:]
        outer, self.met = self.met, set()
        try:
            followed = [self.known(operation, *call, limited=limited) for call in narrowed(self.protocol, args, kwargs)]
            first, result = followed[0]
            if len(followed) > 1:
                first = joined([narrow for narrow, _ in followed])
                result = merged(self.protocol, [each for _, each in followed])
            if self.running.isdisjoint(self.met):
                self.memory.keep(token, self.met, first, result)
        finally:
            self.met |= outer
        return first, result

    def known(
        self,
        operation: Overridable,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        limited: bool = False,
        asked: list[Asked] | None = None,
        until: Step | None = None,
    ) -> tuple[Prediction, Any]:
        """Follow a call with arguments of known types."""
        key = key_of(operation.parameters, args, kwargs, self.type_of)
        supposed = self.memory.supposed.get(operation)
        if supposed is not None and supposed in flatten(key):
            return self.supposed(operation, key, supposed, args, kwargs)
        return self.of_chain(self.memory.chain(operation, key, limited), key, args, kwargs, asked or [], until)

    def supposed(
        self, operation: Overridable, key: Key, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Prediction, Any]:
        """Answer a call by a rule that is taken to be there."""
        asked = Asked(cls, "a rule to be written", ANSWERS, "", RULE)
        result = self.results(operation, (cls,), args, kwargs, asked.what)
        return Prediction(operation.qualified_name, key, (asked.who,), (asked,), RULE, asked, results=(cls,)), result

    def of_chain(
        self,
        chain: Chain,
        key: Key,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        modes: list[Asked],
        until: Step | None = None,
    ) -> tuple[Prediction, Any]:
        """Ask the entries of a chain in order, as far as it is known what they do."""
        operation: Any = chain.operation
        asked: list[Asked] = list(modes)
        possible: list[tuple[Asked, Any]] = []
        decided = False
        for mode in modes:
            if mode.verdict == AT_RUN_TIME:
                possible.append((mode, make_stand_in(self.protocol, (), origin=f"the mode {mode.who}")))
                decided = decided or not mode.reason
        for entry in chain:
            if isinstance(entry, Skipped):
                asked.append(Asked(entry.cls, entry.text))
            elif decided:
                asked.append(Asked(entry.cls, entry.text, IF_DECLINED, "", entry.source, _location(entry)))
            else:
                answer, result = self._ask(operation, entry, args, kwargs)
                decided = answer.verdict in (ANSWERS, RAISES) or (answer.verdict == AT_RUN_TIME and not answer.reason)
                if answer.verdict in (ANSWERS, OPEN) and any(other.verdict != AT_RUN_TIME for other, _ in possible):
                    answer = replace(answer, verdict=IF_DECLINED)
                asked.append(answer)
                if answer.verdict not in (PASSED_OVER, DECLINES):
                    possible.append((answer, result))
            if until is not None and asked[-1].outcome is until.source and entry.cls is until.cls:
                return Prediction(operation.qualified_name, key, (), tuple(asked)), None
        return self._ended(chain, key, args, kwargs, asked, possible)

    def _ended(
        self,
        chain: Chain,
        key: Key,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        asked: list[Asked],
        possible: list[tuple[Asked, Any]],
    ) -> tuple[Prediction, Any]:
        """Return the prediction of a call whose entries have been asked."""
        operation: Any = chain.operation
        base = operation.protocol.types.base
        order = [type_name(cls) for cls in chain.order]
        if base is not None and base in chain.types:
            order.append(type_name(base))
        name, who = operation.qualified_name, tuple(order)
        if not possible:
            error = first_line(chain.error(args, kwargs, [], brief=True))
            return Prediction(name, key, who, tuple(asked), error=error), None
        first, result = possible[0]
        outcome = first.outcome or REFUSED
        if outcome is DEFAULT and all(cls is base for cls in chain.types):
            outcome = PLAIN
        raises = first.verdict == RAISES
        error, depends = (first.reason, "") if raises else ("", first.reason)
        if len(possible) > 1:
            result = merged(self.protocol, [each for _, each in possible])
        results = result_classes(result)
        return Prediction(name, key, who, tuple(asked), outcome, first, error, depends, results), result

    def _ask(
        self, operation: Overridable, step: Step, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Asked, Any]:
        """Return what is known of an answer, and its result."""
        asked = Asked(step.cls, step.text, ANSWERS, "", step.source, _location(step), rule=step.rule)
        if step.rule is not None:
            refused = step.rule.refusal(args, kwargs)
            if refused:
                reason = f"it cannot be called with {', '.join(refused)}"
                return replace(asked, verdict=PASSED_OVER, reason=reason), None
        if step.source in (AMBIGUOUS, FOREIGN):
            return replace(asked, verdict=RAISES, reason=_raised(step, args, kwargs)), None
        if step.follow is not None:
            return self._followed(asked, step, args, kwargs)
        if step.source is DEFAULT:
            # A function made overridable may give anything; operations give what they were given.
            declared = type(operation).layouts is not Overridable.layouts
            known = declared and self.protocol.types.takes_default(step.cls)
            classes: tuple[type, ...] = (step.cls,) if known else ()
            if (
                known and step.cls is self.protocol.types.base
            ):  # with overrides off an argument may be handed on as it is
                key = key_of(operation.parameters, args, kwargs, self.type_of)
                classes = tuple(dict.fromkeys((*classes, *filter(operation.computes, flatten(key)))))
            return asked, self.results(operation, classes, args, kwargs, "")
        handler = step.rule.handler if step.rule is not None else self.protocol.types.own_method(step.cls)
        promise = promise_of(handler) if step.rule is None else promise_of_rule(step.rule)
        origin = f"{step.rule.title if step.rule is not None else step.text}"
        result = self.results(operation, promise.classes, args, kwargs, origin)
        if step.source is METHOD:
            reason = f"{step.text} may decline" if promise.may_decline else ""
            return replace(asked, verdict=AT_RUN_TIME, reason=reason), result
        if promise.never_answers:
            return replace(asked, verdict=DECLINES, reason=f"{step.text} declines"), None
        if promise.may_decline:
            return replace(asked, verdict=OPEN, reason=f"{step.text} may decline"), result
        return asked, result

    def _followed(self, asked: Asked, step: Step, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Asked, Any]:
        assert step.follow is not None
        try:
            followed: Followed = step.follow(self, args, kwargs)
        except NotFollowed as failure:
            unknown = make_stand_in(self.protocol, (), origin=step.text)
            followed = Followed(unknown, depends=f"{step.text} asks for {failure.wanted}")
        inner = followed.inner
        if followed.declines:
            return replace(asked, inner=inner, verdict=DECLINES, reason=followed.declines), None
        if followed.depends:
            verdict = ANSWERS if followed.holds else DEPENDS
            return replace(asked, inner=inner, verdict=verdict, reason=followed.depends), followed.result
        if followed.error:
            outcome = REFUSED if followed.nobody else step.source
            return replace(asked, inner=inner, verdict=RAISES, reason=followed.error, outcome=outcome), None
        return replace(asked, inner=inner), followed.result

    def results(
        self,
        operation: Overridable,
        classes: tuple[type, ...],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        origin: str,
    ) -> Any:
        """Return stand-ins for what an operation gives, with the shapes that it gives for plain arrays."""
        protocol = self.protocol
        layouts = self.memory.layouts(operation, args, kwargs)
        if any(issubclass(cls, (tuple, list, dict)) for cls in classes):
            # What an annotation of several results says of one that is a single array.
            single = tuple(cls for cls in classes if not issubclass(cls, (tuple, list, dict)))
            classes = single if isinstance(layouts, Layout) else ()

        def stand_in(value: Any) -> Any:
            if isinstance(value, (bool, int, float, complex)):
                return make_stand_in(protocol, (type(value),), Layout(()), origin)
            return make_stand_in(protocol, classes, value, origin) if isinstance(value, Layout) else value

        return map_members(layouts, stand_in)


def _location(step: Step) -> str:
    return "" if step.rule is None else step.rule.location


def _raised(step: Step, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Return what a step raises that does nothing else."""
    try:
        step.call(*args, **kwargs)
    except Exception as error:  # noqa: BLE001  # which is what is asked for
        return first_line(error)
    return ""


class _Unanswered(BaseException):
    """An inner call of a body that nobody answers; it never leaves the prediction."""

    def __init__(self, mode: Mode, prediction: Prediction) -> None:
        super().__init__(prediction.call)
        self.mode = mode
        self.found = prediction


class _Raised(BaseException):
    """An inner call of a body that raises; it never leaves the prediction."""

    def __init__(self, prediction: Prediction) -> None:
        super().__init__(prediction.error)
        self.found = prediction


class _Following(Mode):
    """Sees the calls of a body, and answers each by what is predicted of it."""

    def __init__(self, walk: _Walk) -> None:
        self.protocol = walk.protocol
        self.walk = walk
        self.inner: list[Prediction] = []
        self.depends: list[str] = []

    def answer(self, operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not _has_stand_in((args, kwargs)):
            return self.walk.plain(operation, args, kwargs)
        if self.walk.memory.mistake(operation, args, kwargs):
            return NotImplemented  # which raises in the body
        prediction, result = self.walk.call(operation, args, kwargs, limited=True)
        self.inner.append(prediction)
        if prediction.depends_on_values:
            self.depends.append(prediction.depends_on_values)
        elif prediction.outcome is REFUSED and prediction.by is None:
            raise _Unanswered(self, prediction)
        elif prediction.error:
            raise _Raised(prediction)
        return result


def _has_stand_in(value: Any) -> bool:
    """Return whether there is a stand-in among the members of a value."""
    cls = type(value)
    if cls is dict:
        value = value.values()
    elif cls is not list and not issubclass(cls, tuple):
        return issubclass(cls, StandIn)
    return any(map(_has_stand_in, value))
