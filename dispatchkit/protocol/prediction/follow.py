"""Following a call: who is asked, what each of them does, and the calls that come of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import copy_context
from dataclasses import replace
from itertools import islice, product
from typing import Any

from dispatchkit.errors import RegistrationError
from dispatchkit.protocol.chain import Chain
from dispatchkit.protocol.fallbacks.base import map_members
from dispatchkit.protocol.fallbacks.execution import RUNNING
from dispatchkit.protocol.modes import current, without_modes
from dispatchkit.protocol.naming import location_of, type_name
from dispatchkit.protocol.observers import watch_state
from dispatchkit.protocol.outcome import (
    AMBIGUOUS,
    ANSWERS,
    AT_RUN_TIME,
    DECLINES,
    DEFAULT,
    DEPENDS,
    FOREIGN,
    IF_DECLINED,
    METHOD,
    MODE,
    OPEN,
    PASSED_OVER,
    PLAIN,
    RAISES,
    REFUSED,
    RULE,
)
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Key, Layout, flatten
from dispatchkit.protocol.prediction.execution import Followed, PredictedExecution
from dispatchkit.protocol.prediction.stand_in import (
    FollowedCall,
    Mark,
    NotFollowed,
    PredictionCache,
    StandIn,
    classes_of,
    make_stand_in,
    stand_in_for,
)
from dispatchkit.protocol.prediction.tree import (
    Asked,
    Prediction,
    first_line,
    native_mistake,
    promise_of,
    promise_of_rule,
)
from dispatchkit.protocol.ranking import takes_every_call
from dispatchkit.protocol.steps import Step


def ask_modes(operation: Overridable) -> tuple[list[Asked], bool]:
    """Return what is known of the active modes, innermost first, and whether one of them switches overrides off."""
    asked: list[Asked] = []
    method = operation.types.method
    cell = current()
    while cell is not None:
        mode = type(cell.mode)
        if cell.asks(operation) and mode.switches_off:
            return asked, True
        if cell.asks(operation) and mode.of_users:
            answer = getattr(mode, method)
            what = f"active mode, {mode.__name__}.{method}"
            if getattr(answer, "__passes__", False):  # the default of the base class
                asked.append(Asked(mode, what, DECLINES, "it passes every call on", MODE))
            else:
                reason = ""
                if promise_of(answer).may_decline:
                    reason = f"the mode {mode.__name__} may decline"
                asked.append(Asked(mode, what, AT_RUN_TIME, reason, MODE, location_of(answer)))
        cell = cell.below
    return asked, False


# Combinations of types that are looked at where arguments may be of several.
MOST = 16


def join_results(protocol: Any, results: list[Any]) -> Any:
    """Return what stands for one of several results."""
    first, *others = [result for result in results if result is not None] or [None]
    for other in others:
        first = _join_two(protocol, first, other)
    return first


def _join_two(protocol: Any, result: Any, other: Any) -> Any:
    if issubclass(type(result), StandIn) and issubclass(type(other), StandIn):
        unknown = not result._classes or not other._classes
        classes = ()
        if not unknown:
            classes = tuple(dict.fromkeys((*result._classes, *other._classes)))
        if result._layout == other._layout:
            layout = result._layout
        else:
            layout = Layout()
        return make_stand_in(protocol, classes, layout, result._origin or other._origin)
    if type(result) is type(other) and isinstance(result, (tuple, list)) and len(result) == len(other):
        members = [_join_two(protocol, a, b) for a, b in zip(result, other, strict=True)]
        if hasattr(result, "_fields"):
            return type(result)(*members)
        return type(result)(members)
    if result is other:
        return result
    return make_stand_in(protocol, (), origin="one of several calls")


def result_classes(result: Any) -> tuple[type, ...]:
    """Return the classes of the arrays in a result; empty where one is not known."""
    members: list[tuple[type, ...]] = []
    map_members(result, lambda value: members.append(classes_of(value)))
    if any(not classes for classes in members):
        return ()
    return tuple(dict.fromkeys(cls for each in members for cls in each))


def calls_of_one_type(protocol: Any, call: FollowedCall) -> Iterator[FollowedCall]:
    """Yield a call with stand-ins of one type each.

    Raises
    ------
    NotFollowed : if the type of one is not known
    """
    several: dict[int, StandIn] = {}

    def note(value: Any) -> None:
        if issubclass(type(value), StandIn) and len(value._classes) != 1:
            several[id(value)] = value

    map_members(call[1:], note)
    if not several:
        yield call
        return
    unknown = next((stand_in for stand_in in several.values() if not stand_in._classes), None)
    if unknown is not None:
        raise NotFollowed(f"the type of {unknown!r}")
    for combination in islice(product(*(stand_in._classes for stand_in in several.values())), MOST):
        chosen = dict(zip(several, combination, strict=True))

        def narrow(value: Any, chosen: dict[int, type] = chosen) -> Any:
            cls = chosen.get(id(value))
            if cls is None:
                return value
            return make_stand_in(protocol, (cls,), value._layout, value._origin)

        yield FollowedCall(call.operation, map_members(call.args, narrow), map_members(call.kwargs, narrow))


def join_predictions(predictions: list[Prediction]) -> Prediction:
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
    memory: PredictionCache | None = None,
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
    return copy_context().run(_predict_here, FollowedCall(operation, args, dict(kwargs)), memory, until)[0]


def predict_result(
    operation: Overridable, args: tuple[Any, ...], kwargs: Mapping[str, Any], memory: PredictionCache
) -> tuple[Prediction, Any]:
    """Return what will come of a call, and its result with stand-ins for arrays; None where it has none.

    Parameters
    ----------
    operation : that is called
    args, kwargs : of the call, with stand-ins for arrays
    memory : what is known of other calls
    """
    return copy_context().run(_predict_here, FollowedCall(operation, args, dict(kwargs)), memory, None)


def _predict_here(call: FollowedCall, memory: PredictionCache | None, until: Step | None) -> tuple[Prediction, Any]:
    """Follow a call in a context of its own, where neither modes nor observers see it."""
    operation = call.operation
    # A mode sees a call before its arguments are looked at.
    if memory is None:
        asked, switched_off = ask_modes(operation)
    else:
        asked, switched_off = [], False
    memory = memory or PredictionCache(as_calls=True)
    without_modes()
    watch_state.set(None)
    open_to_modes = any(mode.verdict == AT_RUN_TIME for mode in asked)
    if open_to_modes:
        mistake = native_mistake(*call)
    else:
        mistake = memory.mistake(call)
    if mistake:
        return Prediction(operation.qualified_name, (), (), tuple(asked), error=mistake), None
    walk = _Walk(operation.protocol, memory)
    call = walk.with_stand_ins(call)
    if switched_off:
        return walk.follow_chain(call, call.key, operation.protocol.plain_chain(operation, call.key), asked)
    if asked or until is not None:
        return walk.follow_known(call, asked=asked, until=until)
    return walk.follow(call)


class _Walk:
    """Follows the calls of one prediction."""

    def __init__(self, protocol: Any, memory: PredictionCache) -> None:
        self.protocol = protocol
        self.memory = memory
        self.running: set[Mark] = set(RUNNING.get())
        self.looked_up: set[Mark] = set()  # what was asked about, whether it is under way

    def with_stand_ins(self, call: FollowedCall) -> FollowedCall:
        """Return a call with stand-ins in the place of arrays, but for small plain ones."""
        operation, args, kwargs = call
        always = bool(operation.changes)
        args, kwargs = operation.parameters.replace(args, kwargs, lambda _, x: stand_in_for(self.protocol, x, always))
        # What takes part and is no array of the call, such as an axis that is a type of a user's, meets the body, too.
        return FollowedCall(operation, map_members(args, self._structured), map_members(kwargs, self._structured))

    def _structured(self, value: Any) -> Any:
        """Return a stand-in for an array that is not plain, any other value as it is."""
        types, cls = self.protocol.types, type(value)
        if issubclass(cls, StandIn) or types.ranks_as_base(cls) or not types.participates(cls):
            return value
        # One without the operators of arrays is to a body like any other object.
        if "__eq__" not in {name for ancestor in cls.__mro__[:-1] for name in vars(ancestor)}:
            return value
        return stand_in_for(self.protocol, value)

    def plain(self, call: FollowedCall) -> Any:
        """Return the result of an inner call on plain arrays: computed, unless it is large or drawn by chance."""
        if call.operation.is_cheap(call.args, call.kwargs):
            return call.operation.function(*call.args, **call.kwargs)
        return self.results(call, (self.protocol.types.base,), "")

    def follow(self, call: FollowedCall, limited: bool = False) -> tuple[Prediction, Any]:
        """Follow a call, for each of the types that its stand-ins may be of."""
        token = self.memory.token(call, limited)
        known = self.memory.find(token, self.running)
        if known is not None:
            self.looked_up |= known[0]
            return known[1:]
        outer, self.looked_up = self.looked_up, set()
        try:
            followed = [self.follow_known(each, limited) for each in calls_of_one_type(self.protocol, call)]
            prediction, result = followed[0]
            if len(followed) > 1:
                prediction = join_predictions([each for each, _ in followed])
                result = join_results(self.protocol, [each for _, each in followed])
            if self.running.isdisjoint(self.looked_up):
                self.memory.keep(token, self.looked_up, prediction, result)
        finally:
            self.looked_up |= outer
        return prediction, result

    def follow_known(
        self, call: FollowedCall, limited: bool = False, asked: Sequence[Asked] = (), until: Step | None = None
    ) -> tuple[Prediction, Any]:
        """Follow a call with arguments of known types."""
        operation, key = call.operation, call.key
        supposed = self.memory.supposed.get(operation)
        if supposed is None or supposed not in flatten(key):
            return self.follow_chain(call, key, self.memory.chain(operation, key, limited), asked, until)
        # A rule that is taken to be there.
        by = Asked(supposed, "a rule to be written", ANSWERS, "", RULE)
        result = self.results(call, (supposed,), by.what)
        return Prediction(operation.qualified_name, key, (by.who,), (by,), RULE, by, results=(supposed,)), result

    def follow_chain(
        self, call: FollowedCall, key: Key, chain: Chain, modes: Sequence[Asked], until: Step | None = None
    ) -> tuple[Prediction, Any]:
        """Ask the entries of a chain in order, as far as it is known what they do; the key is that of the call."""
        asked: list[Asked] = list(modes)
        possible: list[tuple[Asked, Any]] = []
        decided = False
        for mode in modes:
            if mode.verdict == AT_RUN_TIME:
                possible.append((mode, make_stand_in(self.protocol, (), origin=f"the mode {mode.who}")))
                decided = decided or not mode.reason
        for entry in chain:
            if not entry.answers:
                asked.append(Asked(entry.cls, entry.text))
            elif decided:
                asked.append(Asked(entry.cls, entry.text, IF_DECLINED, "", entry.source, _location(entry)))
            else:
                answer, result = self._ask(call, key, entry)
                decided = answer.verdict in (ANSWERS, RAISES) or (answer.verdict == AT_RUN_TIME and not answer.reason)
                if answer.verdict in (ANSWERS, OPEN) and any(other.verdict != AT_RUN_TIME for other, _ in possible):
                    answer = replace(answer, verdict=IF_DECLINED)
                asked.append(answer)
                if answer.verdict not in (PASSED_OVER, DECLINES):
                    possible.append((answer, result))
            if until is not None and asked[-1].outcome is until.source and entry.cls is until.cls:
                return Prediction(call.operation.qualified_name, key, (), tuple(asked)), None
        return self._predict(call, key, chain, asked, possible)

    def _predict(
        self, call: FollowedCall, key: Key, chain: Chain, asked: list[Asked], possible: list[tuple[Asked, Any]]
    ) -> tuple[Prediction, Any]:
        """Return the prediction of a call whose entries have been asked."""
        base = self.protocol.types.base
        order = [type_name(cls) for cls in chain.order]
        if base is not None and base in chain.types:
            order.append(type_name(base))
        about = call.operation.qualified_name, key, tuple(order), tuple(asked)
        if not possible:
            return Prediction(*about, error=first_line(chain.error(call.args, call.kwargs, [], brief=True))), None
        first, result = possible[0]
        outcome = first.outcome or REFUSED
        if outcome is DEFAULT and all(map(self.protocol.types.ranks_as_base, chain.types)):
            outcome = PLAIN
        if first.verdict == RAISES:
            error, depends = first.reason, ""
        else:
            error, depends = "", first.reason
        if len(possible) > 1:
            result = join_results(self.protocol, [each for _, each in possible])
        return Prediction(*about, outcome, first, error, depends, result_classes(result)), result

    def _ask(self, call: FollowedCall, key: Key, step: Step) -> tuple[Asked, Any]:
        """Return what is known of an answer, and its result."""
        operation, args, kwargs = call
        asked = Asked(step.cls, step.text, ANSWERS, "", step.source, _location(step), rule=step.rule)
        if step.rule is not None and not takes_every_call(step.rule, operation):
            refused = step.rule.refusal(args, kwargs, operation.parameters)
            if refused:
                reason = f"it cannot be called with {', '.join(refused)}"
                return replace(asked, verdict=PASSED_OVER, reason=reason), None
        if step.source in (AMBIGUOUS, FOREIGN):
            try:
                step.call(*args, **kwargs)  # which does nothing but raise
            except Exception as error:  # noqa: BLE001  # which is what is asked for
                return replace(asked, verdict=RAISES, reason=first_line(error)), None
        if step.execute is not None:
            return self._ask_to_follow(call, asked, step, step.execute)
        if step.source is DEFAULT:
            # A function made overridable may give anything; operations give what they were given.
            declared = type(operation).layouts is not Overridable.layouts
            known = declared and self.protocol.types.takes_default(step.cls)
            classes: tuple[type, ...] = (step.cls,) if known else ()
            if known and step.cls is self.protocol.types.base:
                # With overrides off an argument may be handed on as it is.
                classes = tuple(dict.fromkeys((*classes, *filter(operation.computes, flatten(key)))))
            return asked, self.results(call, classes, "")
        handler = step.rule.handler if step.rule is not None else self.protocol.types.own_method(step.cls)
        promise = promise_of(handler) if step.rule is None else promise_of_rule(step.rule)
        origin = step.text if step.rule is None else step.rule.title
        result = self.results(call, promise.classes, origin, promise.members)
        reason = f"{step.text} may decline" if promise.may_decline else ""
        if step.source is METHOD:
            return replace(asked, verdict=AT_RUN_TIME, reason=reason), result
        if promise.never_answers:
            return replace(asked, verdict=DECLINES, reason=f"{step.text} declines"), None
        if promise.may_decline:
            return replace(asked, verdict=OPEN, reason=reason), result
        return asked, result

    def _ask_to_follow(
        self, call: FollowedCall, asked: Asked, step: Step, execute: Callable[..., Any]
    ) -> tuple[Asked, Any]:
        try:
            followed = PredictedExecution(self).follow(execute, call.args, call.kwargs)
        except NotFollowed as failure:
            unknown = make_stand_in(self.protocol, (), origin=step.text)
            followed = Followed(unknown, DEPENDS, f"{step.text} asks for {failure.wanted}")
        except RegistrationError as error:
            followed = Followed(None, RAISES, first_line(error))
        result, verdict, reason, nobody, inner = followed
        outcome = REFUSED
        if not nobody:
            outcome = step.source
        asked = replace(asked, inner=inner, verdict=verdict, reason=reason, outcome=outcome)
        if verdict in (DECLINES, RAISES):
            return asked, None
        return asked, result

    def results(
        self, call: FollowedCall, classes: tuple[type, ...], origin: str, members: tuple[type, ...] = ()
    ) -> Any:
        """Return stand-ins for what an operation gives, with the shapes that it gives for plain arrays.

        Parameters
        ----------
        call : of the operation
        classes : that the result may be of
        origin : what gives it, in words
        members : classes of the members of a result of several, where `classes` names a list or tuple
        """
        layouts = self.memory.layouts(call)
        if any(issubclass(cls, (tuple, list, dict)) for cls in classes):
            # What an annotation of several results says of one that is a single array.
            single = tuple(cls for cls in classes if not issubclass(cls, (tuple, list, dict)))
            classes = members
            if isinstance(layouts, Layout):
                classes = single

        def stand_in(value: Any) -> Any:
            if isinstance(value, (bool, int, float, complex)):
                return make_stand_in(self.protocol, (type(value),), Layout(()), origin)
            if isinstance(value, Layout):
                return make_stand_in(self.protocol, classes, value, origin)
            return value

        return map_members(layouts, stand_in)


def _location(step: Step) -> str:
    if step.rule is None:
        return ""
    return step.rule.location
