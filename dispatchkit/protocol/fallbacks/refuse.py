"""`fallback.refuse`: nothing answers, and the call raises."""

from __future__ import annotations

from typing_extensions import override

from dispatchkit.protocol.chain import Step
from dispatchkit.protocol.fallbacks.base import FallbackStrategy
from dispatchkit.protocol.overridable import Overridable
from dispatchkit.protocol.parameters import Key


class Refuse(FallbackStrategy):
    """Answer nothing."""

    name = "refuse"

    @override
    def step(self, operation: Overridable, key: Key, cls: type) -> Step | str:
        return "its fallback is to refuse"
