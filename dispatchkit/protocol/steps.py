"""The steps of a chain: what may answer a call, what is known not to, and who declined it and why."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from types import NotImplementedType
from typing import Any, NamedTuple, TypeAlias

from dispatchkit.protocol.blocks import state_variable
from dispatchkit.protocol.outcome import AMBIGUOUS, KIND, METHOD, RULE, SKIPPED, Outcome
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Key
from dispatchkit.protocol.rules import Rule
from dispatchkit.protocol.types.declaration import Conversion

pending_reason: ContextVar[str] = state_variable("reason of a decline", "")


def decline(reason: str) -> NotImplementedType:
    """Decline a call from inside a handler: the next candidate is asked.

    Parameters
    ----------
    reason : why, shown by `explain` and by the error when all decline; where a handler gives a reason and then
        answers after all, a later message may show it

    Returns
    -------
    NotImplementedType
        `NotImplemented`, for the handler to return.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> class Even(dk.Tensor):
    ...     pass
    >>> @dk.implements(dk.sum)
    ... def sum_even(x: Even, /):
    ...     return dk.decline("its size is odd") if x.size % 2 else "an even sum"
    >>> dk.sum(Even([1.0, 2.0])), dk.sum(Even([1.0]))
    ('an even sum', Even(1.))
    """
    pending_reason.set(reason)
    return NotImplemented  # type: ignore[no-any-return]  # typeshed has no type for it


def pop_decline_reason() -> str:
    """Return the reason of the last decline in this context, and forget it."""
    reason = pending_reason.get()
    if reason:
        pending_reason.set("")
    return reason


# The operation whose next answer is asked for, and who declined before, with reasons.
declined_steps: ContextVar[tuple[Any, tuple[str, ...]]] = state_variable("declines of a call", (None, ()))


def declined_of(operation: Any) -> str:
    """Return who declined a call of an operation that is being answered, and why; "" where nobody did."""
    noted, reasons = declined_steps.get()
    if noted is operation:
        return "; ".join(reasons)
    return ""


def declined_text(reason: str) -> str:
    """Return in words that something declined, and why where it gave a reason."""
    if reason:
        return f"declined: {reason}"
    return "declined"


class ModeDecline(NamedTuple):
    """A mode that declined a call.

    Attributes
    ----------
    mode : name of its class
    reason : why, "" where it gave none
    """

    mode: str
    reason: str


mode_declines: ContextVar[tuple[ModeDecline, ...]] = state_variable("declines of modes", ())


def record_mode_decline(decline_of_mode: ModeDecline) -> None:
    """Remember that a mode declined the current call."""
    mode_declines.set((*mode_declines.get(), decline_of_mode))


def pop_mode_declines() -> list[ModeDecline]:
    """Return which modes declined the current call, and forget it."""
    declines = mode_declines.get()
    if declines:
        mode_declines.set(())
    return list(declines)


WRITTEN = (METHOD, RULE, KIND, AMBIGUOUS)
# Called with the operation, and with a step before it is asked to answer.
OnStep: TypeAlias = "Callable[[Overridable, Step], None]"


@dataclass(eq=False, slots=True)
class Step:
    """One answer of a chain, or why there is none.

    Attributes
    ----------
    source : how it answers a call; `SKIPPED` where it is known before a call that it does not
    cls : the type that gives it
    call : takes the arguments as the caller wrote them
    description : in words, "" for that of its rule
    rule : the rule that it calls, if any
    error : makes the error of an ambiguity
    rivals : the equally specific rules of an ambiguity
    path : the conversions that it makes, in order
    then : types of the call that it makes itself, with a plain array for the first field of a wrapper
    execute : says how it answers by the methods of an `Execution`, which `call` carries out on arrays and a prediction
        on stand-ins; None where a prediction knows no more of it than its source
    """

    source: Outcome
    cls: type
    call: Callable[..., Any]
    description: str = ""
    rule: Rule | None = None
    error: Callable[[], Exception] | None = None
    rivals: tuple[Rule, ...] = ()
    path: tuple[Conversion, ...] = ()
    then: Key | None = None
    execute: Callable[..., Any] | None = None

    @property
    def text(self) -> str:
        """Its description, that of its rule where it has one; of a step that is skipped why it is."""
        return self.description or str(self.rule)

    @property
    def answers(self) -> bool:
        """Whether it is asked; not where it is known before a call that it has no answer."""
        return self.source is not SKIPPED


def skip(cls: type, reason: str) -> Step:
    """Return the step of a type that is known not to answer before it is asked."""
    return Step(SKIPPED, cls, no_answer, reason)


def no_answer(*args: Any, **kwargs: Any) -> NotImplementedType:
    """Decline a call, whatever its arguments."""
    return NotImplemented  # type: ignore[no-any-return]  # typeshed has no type for it


class StepDecline(NamedTuple):
    """A step that was asked and declined.

    Attributes
    ----------
    step : which
    reason : why, "" where it gave none
    """

    step: Step
    reason: str

    @property
    def text(self) -> str:
        """What declined, and why."""
        return f"{self.step.text} {declined_text(self.reason)}"
