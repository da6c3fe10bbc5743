"""`explain`: who would answer a call, in which order, and why the others do not, read from the prediction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from dispatchkit.errors import NoImplementationError
from dispatchkit.protocol.chain import Chain
from dispatchkit.protocol.explain.explanation import Explanation
from dispatchkit.protocol.explain.lines import Line
from dispatchkit.protocol.frames import place_of
from dispatchkit.protocol.modes import answer_by_modes
from dispatchkit.protocol.naming import type_name
from dispatchkit.protocol.outcome import AMBIGUOUS, ANSWERS, AT_RUN_TIME, DEPENDS, FOREIGN, METHOD, MODE, RAISES
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Form
from dispatchkit.protocol.prediction import Asked, Prediction, make_stand_in, predict
from dispatchkit.protocol.prediction.tree import first_line
from dispatchkit.protocol.steps import Step, StepDecline, declined_text, pop_mode_declines, record_mode_decline


def explain_call(operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any], run: bool) -> Explanation:
    """Return who answers a call, which may name types in the place of arrays; with `run` it is made.

    Raises
    ------
    TypeError : for a call with types that is to be made
    """
    args, kwargs, by_types = _with_stand_ins(operation, args, kwargs)
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


def _with_stand_ins(
    operation: Overridable, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any], bool]:
    """Return a call with a stand-in in the place of each type that is given for an array, and whether there are some.

    Types alone are those of the arrays, in order: the last stands for all further arrays that the call needs. Among
    other arguments a type is one where an array is expected, and a value, such as a dtype, elsewhere.

    Parameters
    ----------
    operation : that is called
    args, kwargs : of the call
    """
    parameters = operation.parameters
    if args and not kwargs and all(isinstance(arg, type) for arg in args):
        by_name = _stand_ins_by_name(operation, args)
        if by_name is not None:
            args, kwargs = parameters.shortest_call(by_name)
            return args, kwargs, True
    forms = {p.name: p.form for p in parameters.arrays}
    types: list[type] = []

    def change(name: str, value: Any) -> Any:
        if not isinstance(value, type) or forms[name] is Form.LOOSE:
            return value
        types.append(value)
        return make_stand_in(operation.protocol, (value,))

    args, kwargs = parameters.replace(args, kwargs, change)
    return args, kwargs, bool(types)


def _stand_ins_by_name(operation: Overridable, types: tuple[type, ...]) -> dict[str, Any] | None:
    """Return stand-ins by the array parameters that they are for; None where these are fewer than the types."""
    parameters = operation.parameters
    places = [p.name for p in parameters.arrays if p.form in (Form.ONE, Form.LOOSE)]
    several = {p.name: p.form for p in parameters.arrays if p.form in (Form.SEQUENCE, Form.STAR)}
    if not several and len(types) > len(places):
        return None
    stand_ins = [make_stand_in(operation.protocol, (cls,)) for cls in types]
    signature = parameters.signature.parameters
    by_name: dict[str, Any] = {p.name: 0 for p in parameters.arrays if p.form is Form.INDEX}
    for name in places:
        if signature[name].default is signature[name].empty:
            by_name[name] = make_stand_in(operation.protocol, (types[-1],))
    by_name |= dict(zip(places, stand_ins, strict=False))
    for name, form in several.items():
        if form is Form.STAR:
            by_name[name] = tuple(stand_ins)
        else:
            by_name[name] = list(stand_ins)
    return by_name


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


def predicted_steps(
    operation: Overridable, steps: Iterable[Step], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Iterator[tuple[Step, str]]:
    """Yield each step of a chain, or of its first part, with its verdict on a call, nothing being called."""
    decided = False
    for entry in steps:
        refused: list[str] = []
        if entry.rule is not None:
            refused = entry.rule.refusal(args, kwargs, operation.parameters)
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
