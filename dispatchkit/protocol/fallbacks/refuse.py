"""`fallback.refuse`: nothing answers, and the call raises."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from dispatchkit.protocol.fallbacks.base import FallbackStrategy
from dispatchkit.protocol.parameters import Key
from dispatchkit.protocol.specificity import Step

if TYPE_CHECKING:
    from dispatchkit.protocol.overridable import Overridable

__all__ = ["Refuse"]


class Refuse(FallbackStrategy):
    """Answer nothing."""

    name = "refuse"

    @override
    def step(self, operation: Overridable, key: Key, cls: type) -> Step | str:
        return "its fallback is to refuse"
