"""MaskedTensor against numpy.ma."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy import ma

import dispatchkit as dk
from dispatchkit.types import MaskedTensor
from tests.programs.oracles.drawing import Draw
from tests.programs.oracles.numpy_lines import OPERATORS, WRITES, lines_of
from tests.programs.oracles.pair import Operand, Pair, Parts

__all__ = ["MaskedNumpy"]


class MaskedNumpy(Pair):
    """Masks: `numpy.ma` marks what is missing, ours what is there."""

    name: ClassVar[str] = "masked-numpy"
    ours: ClassVar[str] = "MaskedTensor"
    specialist: ClassVar[str] = "numpy.ma"

    def lines(self) -> Sequence[str]:
        """Return the lines of all that numpy.ma has a function or a method for."""
        return (*lines_of(ma.__all__), *OPERATORS, *WRITES, "x.filled(0)")

    def draw_extra(self, draw: Draw, name: str, data: np.ndarray[Any, Any], before: Mapping[str, Operand]) -> Any:
        """Return which elements are there."""
        if draw.chance(0.3):
            return np.ones(data.shape, bool)
        return np.asarray([draw.chance(0.7) for _ in range(data.size)], bool).reshape(data.shape)

    def make_ours(self, operand: Operand) -> Any:
        """Return a MaskedTensor of copies."""
        return MaskedTensor(operand.data.copy(), operand.extra.copy())

    def make_theirs(self, operand: Operand) -> Any:
        """Return a masked array, with a mask of its own for every element."""
        return ma.array(operand.data.copy(), mask=~operand.extra)

    def names_of_theirs(self) -> dict[str, Any]:
        """Return `numpy.ma` in the place of NumPy where it has a function of the name."""
        return {"np": _Both()}

    def parts_of_ours(self, result: Any) -> Parts:
        """Return the elements that are there, 0 in the place of the others, and which they are."""
        if isinstance(result, MaskedTensor):
            valid = np.asarray(result.valid)
            value = np.asarray(dk.asarray(result.filled(0)))
            return {"value": value, "valid": np.broadcast_to(valid, value.shape)}
        value = np.asarray(result)
        return {"value": value, "valid": np.ones(value.shape, bool)}

    def parts_of_theirs(self, result: Any) -> Parts:
        """Return the same of a masked array."""
        if isinstance(result, ma.MaskedArray):
            valid, data = ~np.asarray(ma.getmaskarray(result)), np.asarray(result.data)
            return {"value": np.where(valid, data, np.zeros((), data.dtype)), "valid": valid}
        value = np.asarray(result)
        return {"value": value, "valid": np.ones(value.shape, bool)}


class _Both:
    """NumPy's names, as `numpy.ma` has them where it does."""

    def __getattr__(self, name: str) -> Any:
        if name in ma.__all__:
            return getattr(ma, name)
        return getattr(np, name)
