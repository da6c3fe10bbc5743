"""`explain`: who would answer a call, in which order, and why the others do not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dispatchkit.errors import DispatchError
from dispatchkit.protocol.chain import Chain, Skipped, Step
from dispatchkit.protocol.decline import pop_decline_reason, pop_mode_declines
from dispatchkit.protocol.explain_html import explanation_html
from dispatchkit.protocol.handlers import type_name
from dispatchkit.protocol.modes import answer_by_modes, current
from dispatchkit.protocol.outcome import AMBIGUOUS, FOREIGN, METHOD

if TYPE_CHECKING:
    from dispatchkit.protocol.overridable import Overridable

__all__ = ["ANSWERS", "AT_RUN_TIME", "RAISES", "Explanation", "Line", "explain_call", "foretold"]

AT_RUN_TIME = "decides at run time"
ANSWERS = "answers"
RAISES = "raises"
ACTIVE = "active mode"


@dataclass(frozen=True, slots=True)
class Line:
    """One row of an explanation.

    Attributes
    ----------
    who : name of the type or mode that is asked
    what : the answer it has, or why it has none
    verdict : ``"answers"``, ``"decides at run time"``, ``"if declined"``, ``"declined"``, ``"answered"``, ``""``
    """

    who: str
    what: str
    verdict: str


@dataclass(slots=True)
class Explanation:
    """Who answers a call; prints as a table, and a notebook shows it in colour.

    Attributes
    ----------
    call : the operation with the types of its arguments
    order : names of the types in the order they are asked
    lines : one for each answer, in order
    outcome : what comes of the call
    result : of the call, where it was run
    """

    call: str
    order: list[str]
    lines: list[Line] = field(default_factory=list)
    outcome: str = ""
    result: Any = None

    def __str__(self) -> str:
        rows = [self.call, f"  asked in the order: {', '.join(self.order) or 'nobody'}"]
        width = max((len(line.who) for line in self.lines), default=0)
        for number, line in enumerate(self.lines, 1):
            verdict = f"  [{line.verdict}]" if line.verdict else ""
            rows.append(f"  {number}. {line.who:<{width}}  {line.what}{verdict}")
        return "\n".join([*rows, f"  => {self.outcome}"])

    __repr__ = __str__

    def to_html(self) -> str:
        """Return it as a piece of HTML with a style of its own, light or dark as the reader's."""
        return explanation_html(self)

    def _repr_html_(self) -> str:
        return self.to_html()


def explain_call(operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any], run: bool) -> Explanation:
    """Return who answers a call; with `run` the call is made, and declines are shown."""
    key = operation.parameters.key(args, kwargs)
    chain = operation.protocol.chain(operation, key)
    types = ", ".join(
        "(" + ", ".join(map(type_name, entry)) + ")" if isinstance(entry, tuple) else type_name(entry)
        for entry in key
        if entry is not type(None)
    )
    base = operation.protocol.types.base
    order = [type_name(cls) for cls in chain.order]
    if base is not None and base in chain.types:
        order.append(type_name(base))
    found = Explanation(f"{operation.qualified_name}({types})", order)
    found.lines += [Line(type(mode).__name__, ACTIVE, AT_RUN_TIME) for mode in _active(operation)]
    if not run:
        _foretell(chain, args, kwargs, found)
        if found.lines and found.lines[0].what == ACTIVE and not found.outcome.startswith(AT_RUN_TIME):
            found.outcome = f"{AT_RUN_TIME}, else {found.outcome}"
        return found
    answer = answer_by_modes(operation, args, kwargs)
    declined = pop_mode_declines()
    if answer is NotImplemented:
        found.lines[:] = [Line(*note.partition(": ")[::2], "") for note in declined]
        _run(chain, args, kwargs, found)
    else:
        verdicts = [note.partition(": ")[2] for note in declined] + ["answered"]
        found.lines[:] = [Line(line.who, line.what, said) for line, said in zip(found.lines, verdicts, strict=False)]
        found.outcome, found.result = "answered by a mode", answer
    return found


def _active(operation: Overridable) -> list[Any]:
    modes = []
    cell = current()
    while cell is not None:
        if cell.mode.protocol is operation.protocol:
            modes.append(cell.mode)
        cell = cell.below
    return modes


def foretold(chain: Chain, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[tuple[Step | Skipped, str]]:
    """Return each entry of a chain with its verdict on a call, nothing being called."""
    found: list[tuple[Step | Skipped, str]] = []
    decided = False
    for entry in chain.entries:
        refused = entry.rule.refusal(args, kwargs) if isinstance(entry, Step) and entry.rule is not None else []
        if isinstance(entry, Skipped):
            verdict = ""
        elif refused:
            verdict = f"passed over: it cannot be called with {', '.join(refused)}"
        elif decided:
            verdict = "if declined"
        elif entry.source is METHOD:
            verdict = AT_RUN_TIME
        else:
            verdict, decided = RAISES if entry.source in (AMBIGUOUS, FOREIGN) else ANSWERS, True
        found.append((entry, verdict))
    return found


def _foretell(chain: Chain, args: tuple[Any, ...], kwargs: Mapping[str, Any], found: Explanation) -> None:
    entries = foretold(chain, args, kwargs)
    found.lines += [Line(type_name(entry.cls), entry.text, verdict) for entry, verdict in entries]
    open_ended = any(verdict == AT_RUN_TIME for _, verdict in entries)
    decides = next((entry for entry, verdict in entries if verdict in (ANSWERS, RAISES)), None)
    if decides is None:
        found.outcome = AT_RUN_TIME if open_ended else "NoImplementationError"
        return
    found.outcome = f"{AT_RUN_TIME}, else " if open_ended else ""
    found.outcome += f"{type_name(decides.cls)}: {decides.text}"


def _run(chain: Chain, args: tuple[Any, ...], kwargs: Mapping[str, Any], found: Explanation) -> None:
    done = False
    for entry in chain.entries:
        verdict = ""
        if isinstance(entry, Step) and not done:
            try:
                result = entry.call(*args, **kwargs)
            except DispatchError as error:
                result, done = None, True
                verdict = f"raised {type(error).__name__}"
                found.outcome = str(error).partition("\n")[0]
            else:
                reason = pop_decline_reason()
                if result is NotImplemented:
                    verdict = f"declined: {reason}" if reason else "declined"
                else:
                    verdict, done = "answered", True
                    found.outcome, found.result = f"{type_name(entry.cls)}: {entry.text}", result
        found.lines.append(Line(type_name(entry.cls), entry.text, verdict))
    if not done:
        found.outcome = "NoImplementationError"
