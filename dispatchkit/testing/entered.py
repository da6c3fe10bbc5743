"""`Entered`: which rules the calls of a computation entered, those that declined too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dispatchkit.protocol.chain import Step
from dispatchkit.protocol.handlers import Rule
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.observers import CallEvent, Observer, observing
from dispatchkit.testing.subject import Subject

__all__ = ["Entered", "entering", "noting", "rules_of"]


class Entered(Observer):
    """Notes the rules that calls enter, those of the inner calls first."""

    replaces = False

    def __init__(self) -> None:
        self.rules: dict[Rule, None] = {}

    def on_end(self, call: CallEvent, result: Any, error: BaseException | None) -> None:
        """Note the rules that a call asked, up to the one that answered or raised."""
        if call.operation is None or call.operation.protocol is not tensor_protocol:
            return
        chain = tensor_protocol.chain(call.operation, call.operation.parameters.key(call.args, call.kwargs))
        asked = call.asked
        if asked is not None and not isinstance(asked, Step):
            return
        for step in chain.steps:
            if step.rule is not None and not step.rule.refusal(call.args, call.kwargs):
                self.rules[step.rule] = None
            if asked is None or step.text == asked.text:
                break


@contextmanager
def entering() -> Iterator[Entered]:
    """Note the rules that calls enter inside the block."""
    noted = Entered()
    with observing(noted):
        yield noted


@contextmanager
def noting(subject: Subject) -> Iterator[None]:
    """Note for the subject which of its rules calls enter, as long as there are some that none entered."""
    if subject.pending is None:
        subject.pending = set(rules_of(subject))
    if not subject.pending:
        yield
        return
    with entering() as noted:
        try:
            yield
        finally:
            subject.pending -= noted.rules.keys()


def rules_of(subject: Subject) -> list[Rule]:
    """Return the rules of a type for the functions under test and their kinds.

    Of inherited rules those are left out for which the type, or a nearer one, has a rule of its own.
    """
    targets: set[Any] = set(subject.operations)
    targets |= {kind for operation in subject.operations for kind in operation.kind.lineage()}
    rules = [rule for rule in tensor_protocol.rules() if rule.target in targets]
    found: list[Rule] = []
    for cls in subject.cls.__mro__:
        if cls in (tensor_protocol.types.base, object):
            break
        known = {rule.target for rule in found}
        found += [rule for rule in rules if cls in rule.types and rule.target not in known]
    return found
