"""Shape and dtype of an array whose values are not known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Layout"]


@dataclass(frozen=True, slots=True)
class Layout:
    """Shape and dtype of an array, None for what is not known."""

    shape: tuple[int, ...] | None = None
    dtype: Any = None
