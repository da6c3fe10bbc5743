"""The laws of fields, as `dk.field(merge=, view=, copy=)` and `check_type(metadata=)` give them: what results carry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.types.declaration import FieldRule
from dispatchkit.testing.comparing.differences import same
from dispatchkit.testing.findings import Subject

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


class MustRefuse(Exception):  # noqa: N818  # says what is to happen, and is no error
    """The operands of a call disagree on a field that says that they must not."""


def expected_metadata(subject: Subject, operation: Overridable, arguments: Arguments) -> dict[str, Any]:
    """Return the metadata that results of a call are to have.

    Parameters
    ----------
    subject, operation, arguments : the type, and the call

    Raises
    ------
    MustRefuse : if the operands disagree on a field whose law refuses that, with the text of the refusal
    """
    values = [value for _, value in operation.parameters.values(*arguments)]
    if subject.laws:
        return subject.by_given_laws(operation, values)
    expected = {}
    operands = [value for value in values if isinstance(value, subject.cls)]
    rules = tensor_protocol.types.field_rules(subject.cls)
    for name in dict.fromkeys((*subject.metadata, *merged_fields(rules))):
        held = [getattr(value, name, None) for value in operands]
        agreed = all(same(held[0], other) for other in held[1:])
        if name not in subject.metadata and agreed:
            continue
        if not agreed and name not in rules and not subject.rewraps:
            continue
        expected[name] = _merged(rules.get(name, FieldRule()), name, held, operation, arguments)
    return expected


def merged_fields(rules: dict[str, FieldRule]) -> list[str]:
    """Return the fields that say what becomes of them where operands disagree."""
    return [name for name, rule in rules.items() if rule.merge != "left" and not rule.dependent]


def _merged(rule: FieldRule, name: str, held: Sequence[Any], operation: Overridable, arguments: Arguments) -> Any:
    sources = [{name: value} for value in held]
    try:
        merged = tensor_protocol.types.merge_metadata({name: rule}, rule, sources, operation, *arguments)
    except Exception as error:
        raise MustRefuse(f"{type(error).__name__}: {error}") from error
    return merged.get(name)


def must_refuse(subject: Subject, operation: Overridable, arguments: Arguments) -> str:
    """Return the text of the refusal that a law demands of a call, "" where none does."""
    try:
        expected_metadata(subject, operation, arguments)
    except MustRefuse as refusal:
        return str(refusal)
    return ""


def fields_refuse(operation: Overridable, arguments: Arguments) -> bool:
    """Return whether operands of one type disagree on a field that declares that they must not."""
    types = tensor_protocol.types
    operands = [value for _, value in operation.parameters.values(*arguments) if types.participates(type(value))]
    for cls in dict.fromkeys(map(type, operands)):
        rules = types.field_rules(cls)
        for name in merged_fields(rules):
            held = [getattr(value, name, None) for value in operands if type(value) is cls]
            try:
                rules[name].merge_values(name, held)
            except Exception:  # noqa: BLE001  # whatever the law raises is its refusal
                return True
    return False
