"""Random data: shapes, dtypes and values of arrays, also those that programs forget."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["DTYPES", "Draw"]

DTYPES = (
    *("float64", "float64", "float64", "float32", "float32", "int64", "int64", "complex128"),
    *("bool", "int32", "uint8", "int8", "uint32", "float16", "complex64"),
)
SHAPES: tuple[tuple[int, ...], ...] = ((), (1,), (3,), (4,), (5,), (2, 3), (3, 2), (3, 3), (1, 4), (2, 3, 2))
EMPTY: tuple[tuple[int, ...], ...] = ((0,), (0, 3), (2, 0))


class Draw:
    """Draws what a call is made of.

    Parameters
    ----------
    seed : of the call; the same one draws the same
    dtypes : what arrays may have, each as often as it stands there
    """

    def __init__(self, seed: int, dtypes: Sequence[str] = DTYPES) -> None:
        self.random = random.Random(seed)  # noqa: S311  # nothing secret
        self.dtypes = dtypes
        self.finite = self.chance(0.75)

    def chance(self, share: float) -> bool:
        """Return True in a share of the draws."""
        return self.random.random() < share

    def pick(self, choices: Sequence[Any]) -> Any:
        """Return one of the choices."""
        return self.random.choice(choices)

    def dtype(self) -> str:
        """Return the name of a dtype."""
        return self.random.choice(self.dtypes)

    def shape(self) -> tuple[int, ...]:
        """Return a shape of up to three axes, seldom one without elements."""
        return self.random.choice(EMPTY if self.chance(0.06) else SHAPES)

    def broadcasting_with(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return a shape that broadcasts with another: the same, one number, fewer axes, or axes of length 1."""
        if self.chance(0.6):
            return shape
        if self.chance(0.4):
            return ()
        fewer = shape[self.random.randrange(len(shape) + 1) :]
        return tuple(1 if self.chance(0.3) else length for length in fewer)

    def array(self, shape: tuple[int, ...], dtype: str | None = None, *, of: str = "numbers") -> np.ndarray[Any, Any]:
        """Return an array.

        Parameters
        ----------
        shape : of it
        dtype : its dtype; drawn if it is None
        of : "numbers" of either sign with zeros and ties, "positive" ones, or "steps", which grow along the last axis
        """
        dtype = dtype or self.dtype()
        count = int(np.prod(shape, dtype=np.int64))
        flat = np.array([self._number(dtype, of) for _ in range(count)], dtype)
        array = flat.reshape(shape)
        if of == "steps":
            array = np.cumsum(np.abs(array), axis=-1).astype(dtype)
        return self._laid_out(array)

    def _number(self, dtype: str, of: str) -> Any:
        kind = np.dtype(dtype).kind
        if kind == "b":
            return self.chance(0.5)
        if of != "numbers":
            return self.random.randint(1, 5) if kind in "iu" else self.random.randint(1, 20) / 4
        if kind == "u":
            return self.random.choice((0, 1, 2, 3, self.random.randrange(200)))
        if kind == "i":
            return self.random.choice((0, self.random.randint(-3, 3), self.random.randint(-100, 100)))
        if not self.finite and self.chance(0.2):
            return self.random.choice((np.nan, np.inf, -np.inf, -0.0))
        real = self.random.choice((0.0, self.random.randint(-12, 12) / 4, round(self.random.uniform(-3, 3), 3)))
        if kind == "c":
            return complex(real, self.random.randint(-8, 8) / 4)
        return real

    def _laid_out(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return the same numbers, now and then in another layout of the memory."""
        if array.ndim == 0 or self.chance(0.8):
            return array
        if self.chance(0.5):
            return np.asfortranarray(array)
        return np.ascontiguousarray(array[::-1])[::-1]
