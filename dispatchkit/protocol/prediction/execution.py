"""How the answer of a fallback is carried out in a prediction: on stand-ins for arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dispatchkit.errors import DispatchError
from dispatchkit.marks import override
from dispatchkit.protocol.densify import forbidden_copy
from dispatchkit.protocol.fallbacks.base import map_members
from dispatchkit.protocol.fallbacks.execution import BODY_COMES_BACK, Execution, WrapperFields, wrapped_field
from dispatchkit.protocol.frames import place_of
from dispatchkit.protocol.modes import Mode
from dispatchkit.protocol.outcome import ANSWERS, DECLINES, DEPENDS, RAISES, REFUSED
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Key, Layout
from dispatchkit.protocol.prediction.stand_in import (
    FollowedCall,
    NotFollowed,
    StandIn,
    class_of,
    classes_of,
    layout_of,
    make_stand_in,
    stand_in_for,
)
from dispatchkit.protocol.prediction.tree import Prediction, first_line
from dispatchkit.protocol.steps import pop_decline_reason
from dispatchkit.protocol.types.declaration import Conversion


class Followed(NamedTuple):
    """What comes of an answer, found without calling a function of a user.

    Attributes
    ----------
    result : what it gives, with stand-ins for arrays
    verdict : whether it answers, declines, raises, or depends on values, as `outcome` has these texts
    reason : why it declines, what it raises, or on what its answer depends
    nobody : whether what it raises is that nobody answers
    inner : predictions of the calls that it makes
    """

    result: Any = None
    verdict: str = ANSWERS
    reason: str = ""
    nobody: bool = False
    inner: tuple[Prediction, ...] = ()


class AnswerEnds(BaseException):
    """What comes of an answer is known before its end; it never leaves the prediction."""

    def __init__(self, followed: Followed) -> None:
        super().__init__(followed.reason)
        self.followed = followed


class PredictedExecution(Execution):
    """Carries out the answer of a fallback on stand-ins for the arrays of a call.

    Parameters
    ----------
    walk : follows the calls of the answer

    Attributes
    ----------
    inner : predictions of the calls that the answer makes
    depends : on what the results of these calls depend
    unsure : on what depends whether the answer may make a dense copy
    """

    def __init__(self, walk: Any) -> None:
        self.walk = walk
        self.protocol = walk.protocol
        self.inner: list[Prediction] = []
        self.depends: list[str] = []
        self.unsure: list[str] = []

    def follow(self, execute: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Followed:
        """Return what comes of an answer.

        Raises
        ------
        NotFollowed : if it asks a stand-in for what only an array has
        """
        try:
            result = execute(self, args, kwargs)
            followed = Followed(result, ANSWERS, next(iter(self.depends), ""), inner=tuple(self.inner))
        except AnswerEnds as end:
            followed = end.followed
        if self.unsure:
            return followed._replace(verdict=ANSWERS, reason=self.unsure[0])
        return followed

    @override
    def type_of(self, value: Any) -> type:
        return class_of(value)

    def like(self, value: Any, classes: tuple[type, ...]) -> Any:
        """Return a stand-in of other types with the shape and dtype of a value."""
        layout = Layout()
        if issubclass(type(value), StandIn):
            layout = value._layout
        return make_stand_in(self.protocol, classes, layout)

    @override
    def call(self, operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        prediction, result = self.walk.follow(FollowedCall(operation, args, kwargs))
        self.inner.append(prediction)
        if prediction.depends_on_values:
            self.depends.append(prediction.depends_on_values)
        elif prediction.error:
            nobody = prediction.outcome is REFUSED
            raise AnswerEnds(Followed(None, RAISES, prediction.error, nobody, tuple(self.inner)))
        return result

    @override
    def dense_copy(
        self, operation: Overridable, value: Any, maker: Callable[[Any], Any], skipped: Callable[[], str]
    ) -> Any:
        base = self.protocol.types.base
        if base is None:
            raise AnswerEnds(Followed(self.like(None, ())))
        layout = value._layout
        error, depends = forbidden_copy(operation.qualified_name, class_of(value), layout.shape, layout.dtype)
        if error is not None:
            self.unsure.clear()
            raise AnswerEnds(Followed(None, RAISES, first_line(error)))
        if depends:
            self.unsure.append(depends)
        return self.like(value, (base,))

    @override
    def converted(self, operation: Overridable, value: Any, path: Sequence[Conversion], target: type) -> Any:
        return self.like(value, (target,))

    @override
    def field(self, operation: Overridable, value: Any, wrapper: WrapperFields | None = None) -> Any:
        if value._field is not None:
            return value._field
        if value._given is None:
            base = self.protocol.types.base
            classes: tuple[type, ...] = ()
            if base is not None:
                classes = (base,)
            return self.like(value, classes)
        return stand_in_for(self.protocol, getattr(value._given, wrapped_field(operation, value._given)))

    @override
    def rebuilding(
        self,
        operation: Overridable,
        sources: Sequence[Any],
        inner: type,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        wrapper: WrapperFields,
    ) -> Callable[[Any], Any]:
        source = sources[0]
        return lambda result: map_members(result, lambda array: self._wrapped_in(source, array, inner))

    def _wrapped_in(self, value: Any, result: Any, inner: type) -> Any:
        """Return a stand-in for a copy of a value with a result in its field, if that is an array or an `inner`."""
        classes = classes_of(result)
        if issubclass(type(result), StandIn):
            layout = result._layout
        else:
            layout = layout_of(result)
        arrays = [cls is inner or self.protocol.types.participates(cls) for cls in classes]
        if arrays and all(arrays):
            return make_stand_in(self.protocol, classes_of(value), layout, field=result)
        if arrays and not any(arrays):
            return result
        return make_stand_in(self.protocol, (), layout, "an inner call")

    @override
    def once(self, operation: Overridable, key: Key, comes_back: str, compute: Callable[[], Any]) -> Any:
        mark = operation, key
        self.walk.looked_up.add(mark)
        if mark in self.walk.running:
            raise AnswerEnds(Followed(None, DECLINES, comes_back))
        self.walk.running.add(mark)
        try:
            return compute()
        finally:
            self.walk.running.discard(mark)

    @override
    def body(
        self, operation: Overridable, key: Key, body: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        return self.once(operation, key, BODY_COMES_BACK, lambda: self._run(operation, body, args, kwargs))

    @override
    def join(
        self, operation: Overridable, key: Key, joins: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        self.walk.running.add((operation, key))
        try:
            return self._run(operation, joins, args, kwargs)
        finally:
            self.walk.running.discard((operation, key))

    def _run(
        self, operation: Overridable, body: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Run a body on stand-ins.

        Raises
        ------
        AnswerEnds : with what comes of it
        """
        calls = _BodyCalls(self.walk)
        result = None
        verdict, reason = ANSWERS, ""
        try:
            with calls:
                result = body(*args, **kwargs)
        except _BodyEnds as end:
            unanswered = end.prediction.outcome is REFUSED and end.prediction.by is None
            if unanswered:
                verdict, reason = DECLINES, f"it needs {end.prediction.lacks}"
            else:
                verdict, reason = RAISES, end.prediction.error
        except NotFollowed as error:
            calls.depends.append(f"the body of {operation.name} asks for {error.wanted}{place_of(error)}")
        except Exception as error:  # noqa: BLE001  # what a body raises on stand-ins is looked at
            if type(error) in (ValueError, IndexError, DispatchError):
                verdict, reason = RAISES, first_line(error)
            else:
                calls.depends.append(f"the body of {operation.name} takes no stand-ins: {first_line(error)}")
        if result is NotImplemented:
            verdict, reason = DECLINES, pop_decline_reason() or "it declines"
        if calls.depends and verdict != DECLINES:
            verdict, reason = DEPENDS, calls.depends[0]
            if result is None:
                result = make_stand_in(self.protocol, (), origin=operation.name)
        raise AnswerEnds(Followed(result, verdict, reason, inner=tuple(calls.inner)))


class _BodyEnds(BaseException):
    """An inner call of a body that raises, or that nobody answers; it never leaves the prediction."""

    def __init__(self, prediction: Prediction) -> None:
        super().__init__(prediction.error)
        self.prediction = prediction


class _BodyCalls(Mode):
    """Sees the calls of a body, and answers each by what is predicted of it."""

    def __init__(self, walk: Any) -> None:
        self.protocol = walk.protocol
        self.walk = walk
        self.inner: list[Prediction] = []
        self.depends: list[str] = []

    @override
    def answer(self, operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        call = FollowedCall(operation, args, kwargs)
        if not _has_stand_in((args, kwargs)):
            call = self.walk.with_stand_ins(call)
            if not _has_stand_in(call[1:]):
                return self.walk.plain(call)
        if self.walk.memory.mistake(call):
            return NotImplemented  # which raises in the body
        prediction, result = self.walk.follow(call, limited=True)
        self.inner.append(prediction)
        if prediction.depends_on_values:
            self.depends.append(prediction.depends_on_values)
        elif prediction.error:
            raise _BodyEnds(prediction)
        return result


def _has_stand_in(value: Any) -> bool:
    """Return whether there is a stand-in among the members of a value."""
    cls = type(value)
    if cls is dict:
        value = value.values()
    elif cls is not list and not issubclass(cls, tuple):
        return issubclass(cls, StandIn)
    return any(map(_has_stand_in, value))
