"""What a pair of an array type and its specialist says of itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .drawing import DTYPES, Draw

__all__ = ["Operand", "Pair", "Parts"]

# What is compared of a result: its "value", an array, and what else the types keep, such as "unit" or "mask".
Parts = Mapping[str, Any]


@dataclass(frozen=True)
class Operand:
    """What one name of a call stands for.

    Attributes
    ----------
    data : the numbers
    extra : what the pair drew for them, such as a mask or a unit; None where it stays a plain array
    lifted : whether it is an instance of the type
    """

    data: np.ndarray[Any, Any]
    extra: Any = None
    lifted: bool = True


class Pair(ABC):
    """An array type and the library that its results are compared with.

    Attributes
    ----------
    name : of the pair, and of its list of differences
    ours, specialist : the names that pages and reports have for the two
    needs : packages that have to be installed
    dtypes : what arrays may have, each as often as it stands there
    tolerance : factor on how far values may lie apart
    """

    name: ClassVar[str]
    ours: ClassVar[str]
    specialist: ClassVar[str]
    needs: ClassVar[tuple[str, ...]] = ()
    dtypes: ClassVar[Sequence[str]] = DTYPES
    tolerance: ClassVar[float] = 1.0

    @abstractmethod
    def lines(self) -> Sequence[str]:
        """Return the lines that calls are drawn from, as `templates.expand` takes them."""

    @abstractmethod
    def make_ours(self, operand: Operand) -> Any:
        """Return the instance of ours."""

    @abstractmethod
    def make_theirs(self, operand: Operand) -> Any:
        """Return the instance of theirs."""

    @abstractmethod
    def parts_of_ours(self, result: Any) -> Parts:
        """Return what is compared of a result of ours that is no tuple or list."""

    @abstractmethod
    def parts_of_theirs(self, result: Any) -> Parts:
        """Return what is compared of a result of theirs that is no tuple or list."""

    def draw_extra(self, draw: Draw, name: str, data: np.ndarray[Any, Any], before: Mapping[str, Operand]) -> Any:
        """Return what an instance has besides its numbers; `before` are the operands that are drawn already."""
        return None

    def wanted(self, line: str, operands: Mapping[str, Operand]) -> bool:
        """Return whether a call is made: False where the specialist is known to answer no such call rightly."""
        return True

    def numbers_of(self, operand: Operand) -> np.ndarray[Any, Any]:
        """Return the plain array whose dtype ours has."""
        return operand.data.copy()

    def names_of_ours(self) -> dict[str, Any]:
        """Return what lines of ours may name besides the operands."""
        return {"np": np}

    def names_of_theirs(self) -> dict[str, Any]:
        """Return what lines of theirs may name besides the operands."""
        return {"np": np}

    def line_of_theirs(self, line: str) -> str:
        """Return how theirs spells a line of ours."""
        return line

    def text_of(self, operand: Operand) -> str:
        """Return what makes an operand of ours, as a reader pastes it."""
        data = f"np.array({operand.data.tolist()!r}, {operand.data.dtype.name!r})"
        if operand.data.size == 0:
            data = f"np.zeros({operand.data.shape}, {operand.data.dtype.name!r})"
        if not operand.lifted:
            return data
        return f"{self.ours}({data}, {operand.extra!r})"
