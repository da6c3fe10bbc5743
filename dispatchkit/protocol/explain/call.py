"""`explain`: who would answer a call, in which order, and why the others do not, read from the prediction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dispatchkit.errors import NoImplementationError
from dispatchkit.protocol.chain import Chain
from dispatchkit.protocol.explain.by_types import with_stand_ins
from dispatchkit.protocol.explain.explanation import Explanation
from dispatchkit.protocol.explain.lines import Line
from dispatchkit.protocol.frames import place_of
from dispatchkit.protocol.modes import answer_by_modes
from dispatchkit.protocol.naming import type_name
from dispatchkit.protocol.outcome import AMBIGUOUS, ANSWERS, AT_RUN_TIME, DEPENDS, FOREIGN, METHOD, MODE, RAISES
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.prediction import Asked, Prediction, predict
from dispatchkit.protocol.prediction.tree import first_line
from dispatchkit.protocol.steps import Step, StepDecline, declined_text, pop_mode_declines, record_mode_decline


def explain_call(operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any], run: bool) -> Explanation:
    """Return who answers a call, which may name types in the place of arrays; with `run` it is made.

    Raises
    ------
    TypeError : for a call with types that is to be made
    """
    args, kwargs, by_types = with_stand_ins(operation, args, kwargs)
    if by_types and run:
        raise TypeError(f"explain: run=True calls {operation.qualified_name}, which takes arrays, not their types")
    predicted = predict(operation, args, kwargs)
    lines = [Line(asked.who, asked.what, _verdict(asked), asked.inner) for asked in predicted.asked]
    explanation = Explanation(predicted.call, list(predicted.order), lines, _outcome(predicted), predicted)
    if run:
        explanation.prediction = None
        try:
            _run(operation, args, kwargs, explanation)
        except Exception as error:  # noqa: BLE001  # which is what is shown
            explanation.exception = error
            unanswered = isinstance(error, NoImplementationError)
            if unanswered:
                explanation.outcome = type(error).__name__
            else:
                explanation.outcome = first_line(error)
    return explanation


def _verdict(asked: Asked) -> str:
    plain = asked.verdict in (AT_RUN_TIME, RAISES) or asked.verdict.startswith(ANSWERS)
    if plain or not asked.reason:
        return asked.verdict
    return f"{asked.verdict}: {asked.reason}"


def _outcome(predicted: Prediction) -> str:
    """Return in words what comes of a call."""
    if predicted.by is None:
        named = predicted.error.startswith(NO_ANSWER)
        if named:
            return predicted.error.partition(":")[0]
        return predicted.error
    if predicted.outcome in (METHOD, MODE):
        other = predicted.otherwise
        certain = other is None or not predicted.depends_on_values
        if certain or other is None:
            return AT_RUN_TIME
        return f"{AT_RUN_TIME}, else {other.who}: {other.what}"
    text = f"{predicted.by.who}: {predicted.by.what}"
    if predicted.error and predicted.outcome not in (AMBIGUOUS, FOREIGN):
        text += f", which raises {predicted.error}"
    if predicted.depends_on_values:
        other = predicted.otherwise
        condition = "unless it declines; then"
        if predicted.by.verdict == DEPENDS:
            condition = "if its calls are answered; else"
        text += f", {condition} {'nobody' if other is None else f'{other.who}: {other.what}'}"
    return text


NO_ANSWER = ("NoImplementationError", "UnsupportedArgumentError")


def predicted_steps(chain: Chain, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Iterator[tuple[Step, str]]:
    """Yield each step of a chain with its verdict on a call, nothing being called."""
    decided = False
    for entry in chain:
        refused: list[str] = []
        if entry.rule is not None:
            refused = entry.rule.refusal(args, kwargs, chain.operation.parameters)
        if not entry.answers:
            verdict = ""
        elif refused:
            verdict = f"passed over: it cannot be called with {', '.join(refused)}"
        elif decided:
            verdict = "if declined"
        elif entry.source is METHOD:
            verdict = AT_RUN_TIME
        else:
            verdict, decided = RAISES if entry.source in (AMBIGUOUS, FOREIGN) else ANSWERS, True
        yield entry, verdict


def _run(operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any], explanation: Explanation) -> None:
    """Make a call, and write into an explanation who declined, who answered, and what was raised.

    The call goes through `Chain.attempt`, as every other does; here its steps are noted.

    Raises
    ------
    Exception : whatever the call raises
    """
    modes = [line for line in explanation.lines if line.what.startswith("active mode")]
    answer = answer_by_modes(operation, args, kwargs)
    declined_modes = pop_mode_declines()
    if answer is not NotImplemented:
        verdicts = [*(declined_text(entry.reason) for entry in declined_modes), "answered"]
        explanation.lines[:] = [Line(line.who, line.what, said) for line, said in zip(modes, verdicts, strict=False)]
        explanation.outcome, explanation.result = "answered by a mode", answer
        return
    operation.check_call(args, kwargs)
    chain: Chain = operation.protocol.chain(operation, operation.parameters.key(args, kwargs))
    asked: list[Step] = []
    declined: list[StepDecline] = []
    raised: Exception | None = None
    result: Any = NotImplemented
    for entry in declined_modes:
        record_mode_decline(entry)  # for the error where all decline
    try:
        result = chain.attempt(args, kwargs, declined, on_step=lambda _, step: asked.append(step))
    except Exception as error:  # noqa: BLE001  # which is raised again when all lines are there
        raised = error
    explanation.lines[:] = [Line(entry.mode, declined_text(entry.reason), "") for entry in declined_modes]
    explanation.lines += _lines_of_chain(chain, asked, declined, raised)
    if raised is not None:
        raise raised
    if result is NotImplemented:
        raise chain.error(args, kwargs, declined)
    pop_mode_declines()
    step = asked[-1]
    explanation.outcome, explanation.result = f"{type_name(step.cls)}: {step.text}", result


def _lines_of_chain(
    chain: Chain, asked: Sequence[Step], declined: Sequence[StepDecline], raised: Exception | None
) -> Iterator[Line]:
    """Yield a line for each entry of a chain, with what came of it in a call."""
    reasons = {id(entry.step): declined_text(entry.reason) for entry in declined}
    for entry in chain:
        verdict = ""
        if id(entry) in reasons:
            verdict = reasons[id(entry)]
        elif asked and entry is asked[-1]:
            verdict = "answered"
            if raised is not None:
                verdict = f"raised {type(raised).__name__}{place_of(raised)}"
        yield Line(type_name(entry.cls), entry.text, verdict)
