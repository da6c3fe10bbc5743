"""What copies an array does so field by field, without a declaration."""

from __future__ import annotations

from typing import Any

from typing_extensions import override

from dispatchkit.errors import RegistrationError
from dispatchkit.protocol.chain import Step
from dispatchkit.protocol.fallbacks.base import FallbackStrategy
from dispatchkit.protocol.outcome import Outcome
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Key


class Fieldwise(FallbackStrategy):
    """Compute an operation that says how on the fields; every type has this strategy, before those it declares."""

    name = "fieldwise"
    implied = True
    outcome = Outcome("fieldwise", "field by field", structured=True)

    @override
    def step(self, operation: Overridable, key: Key, cls: type) -> Step | str:
        by_fields = operation.by_fields
        if by_fields is None:
            return f"{operation.name} is not computed field by field"
        answers = {"dense", "rewrap"}.intersection(operation.types.fallback(cls).names)
        if not operation.by_fields_always and not answers:
            return f"{operation.name} may need more than its fields, and dense or rewrap is not declared"
        try:
            names = operation.types.field_names(cls)
        except RegistrationError:
            names = ()
        if not names:
            return "has no fields that are known"

        def fieldwise_fallback(*args: Any, **kwargs: Any) -> Any:
            return by_fields(*args, **kwargs)

        return Step(self.outcome, cls, fieldwise_fallback, f"fieldwise: {operation.name} of {', '.join(names)}")
