"""Predicted against recorded: every sample call of every operation, made with array types of every sort.

``nox -s generated`` writes docs/predictions.md; ``python -m tests.report.agreement`` prints it, and what disagrees.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import numpy as np

import dispatchkit as dk
from dispatchkit.protocol.outcome import AMBIGUOUS, FOREIGN
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.prediction import Prediction, predict
from dispatchkit.protocol.prediction.tree import first_line
from dispatchkit.report.record.call import TracedCall
from dispatchkit.testing.calls import Call, Operand, measuring
from dispatchkit.testing.samples import TypeSample, sample_calls
from tests.report.answering import (
    VALUES,
    Answers,
    Converts,
    Decomposes,
    Dense,
    Diagonal,
    Doubts,
    Kinds,
    Own,
    Passes,
    Rewraps,
    Rules,
    Subclass,
    register,
)

MOST = 20  # operations on the page
HEAD = """# How far predictions agree with calls

`dk.explain` reads a prediction of the call. This page compares it with what `dk.record_calls()` shows of the call: the
sample calls of every operation, with an array type in the place of each array and of all, and mistaken calls.
`nox -s generated` writes it.

A prediction says where it depends on values: on whether a rule of the type's author declines, or on the result of a
rule whose annotation names no class. All other predictions agree with the call: in how it is answered, by whom, in
which file and line, and in what it raises.
"""


def shipped() -> list[Overridable]:
    """Return the operations of the library, without those that tests declare."""
    return [one for one in dk.tensor_protocol.operations.values() if one.namespace.startswith("dispatchkit")]


@dataclass(frozen=True)
class Case:
    """One way to answer: what makes an array, what is active around the calls, what holds any array."""

    name: str
    make: Callable[[], Any]
    around: Callable[[], AbstractContextManager[Any]] = nullcontext
    holds: Callable[[Any], Any] | None = None


def _matrix(held: Callable[[Any], Any]) -> Any:
    return held(dk.asarray(VALUES))


def cases() -> list[Case]:
    diagonal = dk.asarray([1.0, 2.0, 4.0])
    holding: dict[str, Callable[[Any], Any]] = {
        **{cls.__name__: cls for cls in (Rules, Decomposes, Dense, Converts, Kinds, Subclass)},
        "Own method": Own,
        "MetadataTensor": lambda x: dk.types.MetadataTensor(x, {"unit": "m"}),
    }
    return [
        *(Case(name, partial(_matrix, held), holds=held) for name, held in holding.items()),
        Case("Diagonal", lambda: Diagonal(diagonal)),
        Case("Rewraps", lambda: Rewraps(Diagonal(diagonal)), holds=Rewraps),
        Case("ScalarTensor", lambda: dk.types.ScalarTensor(3, 2.0)),
        Case("mode that passes", lambda: Diagonal(diagonal), Passes),
        Case("mode that answers", lambda: Diagonal(diagonal), Answers),
        Case("mode that may decline", lambda: Diagonal(diagonal), Doubts),
        Case("no densifying", lambda: Diagonal(diagonal), lambda: dk.densify(on="error")),
        Case("overrides off", lambda: Subclass(VALUES), dk.disable_dispatch, Subclass),
    ]


@cache
def calls() -> list[Call]:
    """Return the sample calls of all operations, with a matrix in the place of each array and of all."""
    subject = TypeSample(dk.tensor_protocol, lambda: Dense(dk.asarray(VALUES)))
    with measuring():
        return [call for one in shipped() for call in sample_calls(one, subject)]


def declared(operation: Overridable, holds: Callable[[Any], Any]) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Yield the calls that an operation declares as its samples, with each array in a type that holds any."""
    for sample in getattr(operation, "samples", ()):
        args, kwargs = sample.make(np.random.default_rng(0))

        def held(name: str, value: Any) -> Any:
            return holds(dk.asarray(value)) if isinstance(value, np.ndarray) else value

        yield operation.parameters.replace(args, kwargs, held)


def mistaken(operation: Overridable, x: Any) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Yield calls that a signature does not allow."""
    yield (x,), {"no_such_keyword": 1}
    yield (), {}
    yield (x,) * 40, {}


@dataclass
class Agreement:
    """What came of the calls with one type: by operation, how many agreed and how many depend on values."""

    case: Case
    calls: Counter[str] = field(default_factory=Counter)
    agreed: Counter[str] = field(default_factory=Counter)
    depend: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def compared(predicted: Prediction, recorded: TracedCall) -> str:
    """Return how a prediction differs from what was recorded; "" where it does not."""
    how = "nobody" if predicted.outcome in (AMBIGUOUS, FOREIGN) else predicted.outcome.name
    who = "" if predicted.by is None or how in ("plain", "nobody") else predicted.by.who
    if (how, who) != (recorded.how, recorded.who):
        return f"{predicted.call}: predicted {how} {who}, recorded {recorded.how} {recorded.who} {recorded.error}"
    if predicted.by is not None and predicted.by.location and predicted.by.location != recorded.location:
        return f"{predicted.call}: predicted {predicted.by.location}, recorded {recorded.location}"
    if predicted.error and predicted.error != recorded.error:
        return f"{predicted.call}: predicted {predicted.error}, recorded {recorded.error or recorded.result}"
    if not predicted.error and how == "nobody":
        return f"{predicted.call}: no error predicted, recorded {recorded.error}"
    results = [cls.__name__ for cls in predicted.results]
    if len(results) == 1 and recorded.result and recorded.result.rpartition(".")[2] != results[0] and plain(recorded):
        return f"{predicted.call}: predicted a {results[0]}, recorded a {recorded.result}"
    return ""


def plain(recorded: TracedCall) -> bool:
    """Return whether a call gave one value rather than several."""
    return recorded.result not in ("tuple", "list") and not recorded.result.endswith("Result")


def agreement(case: Case, operations: Sequence[Overridable]) -> Agreement:
    """Make the sample calls of operations with a type; compare what was predicted of each with what was recorded."""
    found, chosen = Agreement(case), set(operations)
    with measuring():
        for call in [call for call in calls() if call.operation in chosen]:

            def made(operand: Operand) -> Any:
                return case.make() if operand.own else operand.make()

            try_one(found, call.operation, *call.arguments(made))
        for operation in operations:
            if operation.parameters.arrays:
                for args, kwargs in () if case.holds is None else declared(operation, case.holds):
                    try_one(found, operation, args, kwargs)
                for args, kwargs in mistaken(operation, case.make()):
                    try_one(found, operation, args, kwargs)
    return found


def try_one(found: Agreement, operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    name = operation.qualified_name
    found.calls[name] += 1
    with found.case.around():
        predicted = predict(operation, args, kwargs)
        raised = ""
        with dk.record_calls() as recorded:
            try:
                operation.function(*args, **kwargs)
            except Exception as error:  # noqa: BLE001  # which is compared
                raised = first_line(error)
    if predicted.depends_on_values:
        found.depend[name] += 1
        return
    if not recorded.calls:  # Python's own complaint, before anybody is called
        difference = "" if predicted.error == raised else f"predicted {predicted.error}, raised {raised}"
    else:
        difference = compared(predicted, recorded.calls[0])
    found.agreed[name] += not difference
    if difference:
        found.wrong.append(difference)


def page(found: list[Agreement]) -> str:
    """Return the page of the documentation."""
    lines = [
        *HEAD.splitlines(),
        "",
        "| type | calls | agree | depend on values | disagree |",
        "| ---- | ----: | ----: | ---------------: | -------: |",
    ]
    for one in found:
        total, agreed, depend = one.calls.total(), one.agreed.total(), one.depend.total()
        share = f"{depend} ({100 * depend / total:.0f} %)"
        lines.append(f"| {one.case.name} | {total} | {agreed} | {share} | {total - agreed - depend} |")
    return "\n".join([*lines, *_most_dependent(found), ""])


def _most_dependent(found: list[Agreement]) -> list[str]:
    """Return the lines of the page on the operations whose answers depend on values most."""
    calls, depend = Counter[str](), Counter[str]()
    for one in found:
        calls += one.calls
        depend += one.depend
    lines = [
        "",
        "## Where answers depend on values most",
        "",
        f"The {MOST} operations whose calls depend on values most often, over all of these types:",
        "",
        "| operation | calls | depend on values |",
        "| --------- | ----: | ---------------: |",
    ]
    for name in sorted(depend, key=lambda name: (-depend[name] / calls[name], name))[:MOST]:
        share = f"{depend[name]} ({100 * depend[name] / calls[name]:.0f} %)"
        lines.append(f"| `{name.removeprefix('dispatchkit.')}` | {calls[name]} | {share} |")
    return lines


def make_files() -> dict[str, str]:
    """Return the page by its path."""
    register()
    return {"docs/predictions.md": page([agreement(case, shipped()) for case in cases()])}


def main() -> int:
    """Print the page, and what disagrees."""
    register()
    found = [agreement(case, shipped()) for case in cases()]
    sys.stdout.write(page(found))
    wrong = [difference for one in found for difference in one.wrong]
    sys.stderr.write("\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
