"""Handlers that an audit calls unreachable are never called, shadowed ones never first, and all others are."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import dispatchkit as dk
from dispatchkit.report import Audit
from tests.report.audited import make

FUNCTIONS = (dk.multiply, dk.where, dk.concat, dk.exp, dk.clip)
TARGETS = (*FUNCTIONS, dk.kinds.elementwise, dk.kinds.all)


class Recorder:
    """Registers handlers that decline, and remembers which was called, and which first."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.called: set[str] = set()
        self.first: set[str] = set()
        self.ambiguous = False

    def register(self, name: str, target: Any, types: Sequence[Any]) -> None:
        def handler(*args: Any, **kwargs: Any) -> Any:
            self.calls.append(name)
            return NotImplemented

        handler.__name__ = handler.__qualname__ = name
        dk.implements(target, *types)(handler)

    def make(self, function: Any, *args: Any, **kwargs: Any) -> None:
        self.calls.clear()
        try:
            function(*args, **kwargs)
        except dk.AmbiguousImplementationError:
            self.ambiguous = True
        except (dk.NoImplementationError, ValueError):
            pass  # numbers alone cannot be joined
        self.called.update(self.calls)
        self.first.update(self.calls[:1])


def make_every_call(recorder: Recorder, types: Sequence[Any]) -> None:
    """Make the calls that types, plain tensors and numbers can make of the targets."""
    values = [dk.ones(2) if cls is dk.Tensor else cls(dk.ones(2)) for cls in types]
    # `add` and `negative` have no rule of their own, so that those of kinds are seen.
    for x in values:
        recorder.make(dk.exp, x)
        recorder.make(dk.negative, x)
    for x, y in itertools.product([*values, 2.0], repeat=2):
        recorder.make(dk.concat, [x, y])
        recorder.make(dk.multiply, x, y)
        recorder.make(dk.add, x, y)
    for three in itertools.product([*values, 2.0], repeat=3):
        recorder.make(dk.where, *three)
    for x, low, high in itertools.product([*values, 2.0], [*values, 2.0, None], [*values, 2.0, None]):
        recorder.make(dk.clip, x, low, high)


def named(report: Audit, kind: str) -> set[str]:
    return {finding.text.partition("(")[0] for finding in report.of_kind(kind)}


@st.composite
def registrations(draw: st.DrawFn) -> list[tuple[Any, tuple[int, ...]]]:
    """Return targets with numbers of types: 0 to 2 are array types, 3 is the plain tensor, 4 any, 5 a number."""
    found = []
    for _ in range(draw(st.integers(1, 6))):
        target = draw(st.sampled_from(TARGETS))
        count = 1
        if target in (dk.where, dk.clip):
            count = draw(st.sampled_from([1, 3]))
        elif target not in (dk.exp, dk.kinds.all):
            count = draw(st.sampled_from([1, 2]))
        types = [draw(st.integers(0, 2)), *(draw(st.integers(0, 5)) for _ in range(count - 1))]
        found.append((target, tuple(draw(st.permutations(types)))))
    return found


@given(registrations(), st.sampled_from([(0, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 2)]))
def test_what_an_audit_says_of_handlers_is_what_calls_show(
    chosen: list[tuple[Any, tuple[int, ...]]], priorities: tuple[float, ...]
) -> None:
    with dk.local_registrations():
        base = make("Base", priority=priorities[0])
        types = [base, make("Derived", above=base, priority=priorities[1]), make("Other", priority=priorities[2])]
        places = [*types, dk.Tensor, object, float]
        recorder = Recorder()
        # The last of several handlers of one signature replaces those before it.
        kept = dict.fromkeys(chosen)
        for number, (target, numbers) in enumerate(kept):
            recorder.register(f"handler{number}", target, [places[one] for one in numbers])
        report = dk.audit([*types, dk.Tensor], operations=FUNCTIONS)
        make_every_call(recorder, [*types, dk.Tensor])
        everyone = {f"handler{number}" for number in range(len(kept))}
        unreachable, shadowed = named(report, "unreachable"), named(report, "shadowed")
        rivals = {name for one in report.of_kind("ambiguity") for name in everyone if f"{name}(" in one.text}
        assert unreachable.isdisjoint(recorder.called), str(report)
        assert shadowed.isdisjoint(recorder.first), str(report)
        assert everyone - unreachable - rivals <= recorder.called, str(report)
        if not recorder.ambiguous:
            assert everyone - unreachable - shadowed <= recorder.first, str(report)
            assert report.of_kind("ambiguity") == ()
