"""Which results of calls go into which further calls, so that a program can be made once more in a trial."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from weakref import ref

from dispatchkit.protocol.observers import UNSEEN, CallEvent, here
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Layout
from dispatchkit.protocol.prediction.stand_in import layout_of
from dispatchkit.report.record.call import NUMBERS, layout_read, supplies_layout
from dispatchkit.testing.calls import Arguments


@dataclass(eq=False, slots=True)  # not frozen, which takes three times as long to make
class Placed:
    """What a record keeps in the place of an array, so that it keeps none alive.

    Attributes
    ----------
    cls, layout : its type, shape and dtype
    source : the call that gave it, None where no recorded one did
    member : its place in a result of several
    """

    cls: type
    layout: Layout
    source: CallEvent | None = None
    member: int = 0


class Flow:
    """Follows arrays from call to call, from the first that is no plain one.

    Attributes
    ----------
    arguments : of the calls that have array types among their arguments, or what came of them, with `Placed` for arrays
    results : the classes of the results of these calls
    """

    def __init__(self) -> None:
        self.arguments: dict[CallEvent, Arguments] = {}
        self.results: dict[CallEvent, tuple[type, ...]] = {}
        # By identity the arrays that calls gave, as long as they live.
        self._given: dict[int, tuple[ref[Any], CallEvent, int]] = {}

    def note(self, call: CallEvent, operation: Overridable, result: Any, structured: bool) -> None:
        """Note the arguments of a call, and where its result comes from.

        Parameters
        ----------
        call, operation : the call, and the function that was called
        result : what it gave
        structured : whether an array type is among its arguments
        """
        if not structured and not self._given:
            return
        here.call = UNSEEN  # a property of a type's own may make calls, for the record alone
        try:
            placed: list[Placed] = []
            if not call.kwargs and len(call.args) == operation.parameters.positional == len(call.began[1]):
                arguments: Arguments = self._by_place(call, operation, placed), {}
            else:
                arguments = operation.parameters.replace(call.args, call.kwargs, self._replacing(operation, placed))
            if not structured and not any(each.source is not None for each in placed):
                return
            self.arguments[call] = arguments
            members = list(members_of(result))
            self.results[call] = tuple(map(type, members))
            for place, member in enumerate(members):
                self._link(member, call, place)
        finally:
            here.call = call.outer

    def _by_place(self, call: CallEvent, operation: Overridable, placed: list[Placed]) -> tuple[Any, ...]:
        """Return the arguments of a call that were all by place and all noted when it began, as `_replacing` does."""
        types, given = operation.protocol.types, self._given
        _, classes, layouts, *_ = call.began
        arguments = []
        for value, cls, (shape, dtype) in zip(call.args, classes, layouts, strict=True):
            if cls in NUMBERS or not (cls is types.base or types.participates(cls) or types.wrapped_always(cls)):
                arguments.append(value)
                continue
            source, member = None, 0
            known = given.get(id(value))
            if known is not None and known[0]() is value:
                _, source, member = known
            each = Placed(cls, Layout(shape, dtype), source, member)
            placed.append(each)
            arguments.append(each)
        return tuple(arguments)

    def _replacing(self, operation: Overridable, placed: list[Placed]) -> Callable[[str, Any], Any]:
        """Return what puts a `Placed` in the place of an array, and on a list."""
        types = operation.protocol.types

        def replace(name: str, value: Any) -> Any:
            cls: type = type(value)
            if cls is not types.base and not types.wrapped_always(cls) and not types.participates(cls):
                return value
            source, member = None, 0
            known = self._given.get(id(value))
            if known is not None and known[0]() is value:
                _, source, member = known
            if supplies_layout(cls):
                layout = Layout(*layout_read(value, cls))
            else:
                layout = layout_of(value)
            placed.append(Placed(cls, layout, source, member))
            return placed[-1]

        return replace

    def _link(self, value: Any, call: CallEvent, place: int) -> None:
        given, number = self._given, id(value)
        try:
            reference = ref(value, lambda freed: given.pop(number, None))
        except TypeError:  # a number, or of a class whose instances take no reference
            return
        given[number] = reference, call, place


def members_of(result: Any) -> Iterator[Any]:
    """Yield the members of a result of several, or the one that it is."""
    if issubclass(type(result), (tuple, list)):  # what stands for a result says that it is one
        yield from result
    else:
        yield result
