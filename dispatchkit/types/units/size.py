"""`UnitSize`: how large a unit is, as a rational number times a power of pi."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

# Far more digits than any floating-point number has.
PI = Fraction("3.14159265358979323846264338327950288419716939937510582097494459")


class UnitSize(NamedTuple):
    """A rational number times a power of pi, so that what is rational between two angles stays so.

    Attributes
    ----------
    rational : the number
    pi : the exponent of pi
    """

    rational: Fraction = Fraction(1)
    pi: Fraction = Fraction(0)

    def times(self, other: UnitSize) -> UnitSize:
        """Return the product with another size."""
        return UnitSize(self.rational * other.rational, self.pi + other.pi)

    def to_the(self, exponent: Fraction) -> UnitSize:
        """Return a power, which is exact where it is rational.

        Parameters
        ----------
        exponent : of the power
        """
        if exponent.denominator == 1:
            return UnitSize(self.rational**exponent.numerator, self.pi * exponent)
        roots = [_whole_root(part, exponent.denominator) for part in self.rational.as_integer_ratio()]
        if None in roots:
            return UnitSize(Fraction(float(self.rational) ** float(exponent)), self.pi * exponent)
        return UnitSize(Fraction(*roots) ** exponent.numerator, self.pi * exponent)  # type: ignore[arg-type]  # none is None

    def value(self) -> Fraction:
        """Return the size as a rational number, by digits of pi that no floating-point number shows."""
        if not self.pi:
            return self.rational
        if self.pi.denominator == 1:
            return self.rational * PI**self.pi.numerator
        return self.rational * Fraction(math.pi ** float(self.pi))


def size_of(text: str) -> UnitSize:
    """Return the size that a decimal fraction, a quotient, or a multiple of pi such as ``"pi/180"`` means.

    Parameters
    ----------
    text : as it is written in a definition
    """
    multiple, pi, divisor = text.partition("pi")
    if not pi:
        return UnitSize(Fraction(text))
    return UnitSize(Fraction(multiple or 1) / Fraction(divisor[1:] or 1), Fraction(1))


def _whole_root(number: int, degree: int) -> int | None:
    """Return the root of a whole number where that is a whole number, None elsewhere."""
    low, high = 0, 1 << (number.bit_length() // degree + 1)
    while low < high:
        middle = (low + high) // 2
        if middle**degree < number:
            low = middle + 1
        else:
            high = middle
    if low**degree == number:
        return low
    return None
