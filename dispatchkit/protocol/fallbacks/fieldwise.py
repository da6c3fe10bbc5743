"""What copies an array does so field by field, without a declaration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typing_extensions import override

from dispatchkit.errors import RegistrationError
from dispatchkit.protocol.fallbacks.base import IMPLIED, FallbackStrategy
from dispatchkit.protocol.fallbacks.dense import Dense
from dispatchkit.protocol.fallbacks.rewrap import Rewrap
from dispatchkit.protocol.outcome import Colours, Outcome
from dispatchkit.protocol.parameters import Key
from dispatchkit.protocol.specificity import Step

if TYPE_CHECKING:
    from dispatchkit.protocol.overridable import Overridable

__all__ = ["FIELDWISE", "Fieldwise"]


class Fieldwise(FallbackStrategy):
    """Compute an operation that says how on the fields; every type has this strategy, before those it declares."""

    name = "fieldwise"
    outcome = Outcome(
        order=55,
        meaning="field by field",
        how="fieldwise",
        share="fieldwise",
        bucket="fieldwise",
        letter="f",
        structured=True,
        colours=Colours("#d7f0c8", "#7ab55c", "#1f3d12", "#5c9440"),
    )

    @override
    def step(self, operation: Overridable, key: Key, cls: type) -> Step | str:
        by_fields = operation.by_fields
        if by_fields is None:
            return f"{operation.name} is not computed field by field"
        answers = any(isinstance(part, (Dense, Rewrap)) for part in operation.protocol.fallback(cls).parts)
        if not operation.by_fields_always and not answers:
            return f"{operation.name} may need more than its fields, and dense or rewrap is not declared"
        try:
            names = operation.protocol.records.field_names(cls)
        except RegistrationError:
            names = ()
        if not names:
            return "has no fields that are known"

        def fieldwise_fallback(*args: Any, **kwargs: Any) -> Any:
            return by_fields(*args, **kwargs)

        return Step(self.outcome, cls, fieldwise_fallback, f"fieldwise: {operation.name} of {', '.join(names)}")


FIELDWISE = Fieldwise()
IMPLIED.append(FIELDWISE)
