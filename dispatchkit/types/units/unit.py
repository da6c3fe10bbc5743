"""`Unit`: a product of powers of named units, the names, and their prefixes."""

from __future__ import annotations

import ast
import csv
import math
import operator
import pkgutil
import re
from collections.abc import Callable
from fractions import Fraction
from functools import cache, cached_property, wraps
from typing import Any, ClassVar, NamedTuple, TypeVar, overload

from dispatchkit.errors import UnitError
from dispatchkit.types.exchange.libraries import is_of
from dispatchkit.types.units.of_astropy import AstropyPart, parts_of_astropy
from dispatchkit.types.units.of_pint import unit_of_pint
from dispatchkit.types.units.size import UnitSize, size_of

R = TypeVar("R")


def _rows(file: str) -> list[dict[str, str]]:
    content = pkgutil.get_data("dispatchkit.types.units", file) or b""
    lines = content.decode("utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


_PREFIXES, _UNITS = _rows("prefixes.csv"), _rows("units.csv")
PREFIXES = {row["name"]: int(row["power"]) for row in _PREFIXES}
IN_FULL = {row["in full"]: row["name"] for row in _PREFIXES if row["in full"]}
BASES = tuple(row["name"] for row in _UNITS if not row["size"])
PREFIXABLE = frozenset(row["name"] for row in _UNITS if row["prefixes"])
# Each with its size in another unit, and where its zero stands for units of points on a scale.
DEFINITIONS = {
    row["name"]: (size_of(row["size"]), row["unit"], Fraction(row["zero"] or 0)) for row in _UNITS if row["size"]
}
ALIASES = {"dimensionless": ""} | {alias: row["name"] for row in _UNITS for alias in row["other names"].split()}
SIGNS = {alias: name for alias, name in ALIASES.items() if not alias.isascii() or alias == "%"}
SIGNS |= {"µ": "u", "μ": "u", "·": "*", "⋅": "*", "⁻¹": "**-1", "⁻²": "**-2", "²": "**2", "³": "**3", "^": "**"}

# Numbers in these are logarithms: their sum would be a product.
LOGARITHMIC = frozenset(("dB", "dBm", "dBW", "dBu", "Np", "decibel", "decibelmilliwatt", "neper", "octave", "decade"))


# What is no array, nor made one of.
NO_NUMBERS = (str, bytes, type(None), dict, set)
Exponents = tuple[tuple[str, Fraction], ...]
# Of names, and of powers, in saved units.
LONGEST, LARGEST = 100, 1000


class Unit:
    """A product of powers of named units, such as ``km/h``.

    Parameters
    ----------
    text : such as ``"m/s"``, ``"kg m^2"``, ``"N*m"`` or ``"1/s"``; another unit; one of Pint

    Raises
    ------
    UnitError : for a name that is unknown, or text that is no product of powers

    Notes
    -----
    Names are SI's, in short (with prefixes) and in full. What is not among them is looked up in Pint's application
    registry where Pint is installed. Sizes are exact fractions of the SI base units. The radian is a base unit here:
    an angle may stand where a number may, and yet a rate in Hz does not become one in rad/s. A unit of points on a
    scale, ``degC`` or ``degF``, has an origin; ``delta_degC`` is the unit of differences.

    A number, list, array or array type times a unit, or by a unit, is a quantity.

    Examples
    --------
    >>> from dispatchkit.types import Unit
    >>> Unit("km/h"), Unit("m") * Unit("s") ** -1 == Unit("m/s")
    (Unit('km/h'), True)
    >>> 3 * Unit("m"), [1.0, 2.0] / Unit("s")
    (QuantityTensor(3, 'm'), QuantityTensor([1., 2.], '1/s'))
    """

    __slots__ = ("__dict__", "parts")

    parts: Exponents
    # Makes a quantity of numbers and a unit; arrays of NumPy leave products with a unit to it.
    quantity: ClassVar[Callable[[Any, Unit], Any]]
    __array_ufunc__ = None

    def __new__(cls, text: Any = "") -> Unit:
        """Return the unit that a text means, the same object each time."""
        if isinstance(text, Unit):
            return text
        if isinstance(text, str):
            return _parse(text)
        if type(text).__module__.partition(".")[0] == "pint":
            return _parse(f"{getattr(text, 'units', text):D}")
        if hasattr(text, "bases") and is_of("astropy", text):
            return _unit_of_astropy(text)
        raise UnitError(f"a unit is written as text, such as 'm/s', or is one of Pint or astropy; found {text!r}")

    @cached_property
    def _base(self) -> tuple[UnitSize, Exponents]:
        """UnitSize in base units, and their exponents."""
        size, exponents = UnitSize(), dict[str, Fraction]()
        for name, power in self.parts:
            factor, bases, _ = _definition(name)
            size = size.times(factor.to_the(power))
            for base, exponent in bases:
                exponents[base] = exponents.get(base, Fraction(0)) + exponent * power
        return size, tuple(sorted((name, power) for name, power in exponents.items() if power))

    @cached_property
    def origin(self) -> Fraction:
        """Where the zero of a scale of points stands in base units; 0 for all other units."""
        if len(self.parts) == 1:
            return _definition(self.parts[0][0])[2]
        return Fraction(0)

    @cached_property
    def dimension(self) -> Exponents:
        """Exponents of the base units but the radian."""
        return tuple(base for base in self._base[1] if base[0] != "rad")

    @cached_property
    def is_angle(self) -> bool:
        """Whether numbers in this unit are angles: multiples of the radian, which plain numbers are not."""
        return self._base[1] == (("rad", Fraction(1)),)

    @cached_property
    def delta(self) -> Unit:
        """The unit of differences: itself, but for points on a scale."""
        if self.origin:
            return Unit(f"delta_{self.parts[0][0]}")
        return self

    @overload
    def __mul__(self, other: Unit) -> Unit: ...
    @overload
    def __mul__(self, other: Any) -> Any: ...
    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Unit):
            return _product(self, other)
        if isinstance(other, NO_NUMBERS):
            return NotImplemented
        return Unit.quantity(other, self)

    def __rmul__(self, other: Any) -> Any:
        if isinstance(other, NO_NUMBERS):
            return NotImplemented
        return Unit.quantity(other, self)

    @overload
    def __truediv__(self, other: Unit) -> Unit: ...
    @overload
    def __truediv__(self, other: Any) -> Any: ...
    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Unit):
            return _product(self, other**-1)
        if isinstance(other, NO_NUMBERS):
            return NotImplemented
        return 1 / Unit.quantity(other, self**-1)

    def __rtruediv__(self, other: Any) -> Any:
        if isinstance(other, NO_NUMBERS):
            return NotImplemented
        return Unit.quantity(other, self**-1)

    def __pow__(self, exponent: Any) -> Unit:
        return _power(self, Fraction(exponent).limit_denominator(1000))

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Unit) and self._base == other._base and self.origin == other.origin)

    def __hash__(self) -> int:
        return hash(self._base)

    def __reduce__(self) -> Any:
        return Unit, (str(self),)

    def __saved__(self) -> list[Any]:
        return [[name, power.numerator, power.denominator] for name, power in self.parts]

    @classmethod
    def __loaded__(cls, saved: Any) -> Unit:
        """Return the unit of saved parts, which may come from anybody."""
        exponents = {}
        for name, numerator, denominator in saved:
            known = isinstance(name, str) and name.isidentifier() and len(name) <= LONGEST
            if not known or not (abs(numerator) <= LARGEST and 0 < denominator <= LARGEST):
                raise UnitError(f"{[name, numerator, denominator]!r:.80} is no power of a named unit")
            _definition(name)
            exponents[name] = Fraction(numerator, denominator)
        return _unit_of_parts(exponents)

    def __copy__(self) -> Unit:
        return self

    def __deepcopy__(self, memo: Any) -> Unit:
        return self

    def __str__(self) -> str:
        above = [_show_power(name, power) for name, power in self.parts if power > 0]
        below = [_show_power(name, -power) for name, power in self.parts if power < 0]
        text = "*".join(above) or ("1" if below else "")
        return "/".join([text, *below])

    def __repr__(self) -> str:
        return f"Unit({str(self)!r})"

    def __format__(self, spec: str) -> str:
        """Return the unit as Pint writes it: ``P`` m/s², ``L`` LaTeX, ``C`` m/s**2, ``H`` HTML, ``D`` m / s ** 2.

        Parameters
        ----------
        spec : one of these letters, with or without ``~``: names are as they were given. Without one as `str`

        Raises
        ------
        ValueError : for another
        """
        if not spec:
            return str(self)
        style = STYLES.get(spec.replace("~", "") or "D")
        if style is None:
            raise ValueError(f"invalid format {spec!r} for a Unit: write ~P, ~L, ~C, ~H or ~D")
        above = [style.power(name, power) for name, power in self.parts if power > 0]
        below = [style.power(name, -power) for name, power in self.parts if power < 0]
        if spec.strip("~") == "L" and below:
            return f"\\frac{{{style.times.join(above) or 1}}}{{{style.times.join(below)}}}"
        text = style.times.join(above) or ("1" if below else "")
        return style.by.join([text, *below])

    def in_si(self) -> tuple[float, Exponents]:
        """Return the size in SI base units, and their exponents, those of the radian included."""
        size, bases = self._base
        return float(size.value()), bases

    def ratio(self, other: Unit) -> Fraction | None:
        """Return how many of another unit this one is, None where that is no rational number, or more is to be done.

        Parameters
        ----------
        other : the other unit
        """
        (size, bases), (other_size, other_bases) = self._base, other._base
        multiplied = bases == other_bases and self.origin == other.origin == 0
        if not multiplied or size.pi != other_size.pi:
            return None
        return size.rational / other_size.rational

    def conversion(self, target: Unit) -> Rescaling:
        """Return how numbers in this unit become numbers in another.

        Parameters
        ----------
        target : the other unit

        Raises
        ------
        UnitError : if the dimensions differ, or one is an angle in a rate and the other is not
        """
        return _conversion(self, target)


SUPERSCRIPTS = str.maketrans("0123456789-.", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⋅")
# As Pint writes in short what has no letter.
SYMBOLS = {
    "degC": "°C",
    "delta_degC": "Δ°C",
    "degF": "°F",
    "delta_degF": "Δ°F",
    "degree_Celsius": "°C",
    "degree_Fahrenheit": "°F",
    "percent": "%",
}


class UnitStyle(NamedTuple):
    """How units are written.

    Attributes
    ----------
    times, by : between factors, and before each divisor
    raised : takes the name and the exponent, "" for 1
    name : how a name is written
    """

    times: str
    by: str
    raised: str
    name: str = "{}"
    small: bool = False

    def power(self, name: str, power: Fraction) -> str:
        """Return a power of a unit."""
        shown = self.name.format(SYMBOLS.get(name, name))
        if "mathrm" in self.name:
            shown = shown.replace("%", "\\%")
        exponent = str(power)
        if power.denominator in (2, 4, 5, 8, 10):
            exponent = f"{float(power):g}"
        if self.small:
            exponent = exponent.translate(SUPERSCRIPTS).replace("/", "ᐟ")
        if power == 1:
            return shown
        return self.raised.format(shown, exponent)


STYLES = {
    "D": UnitStyle(" * ", " / ", "{} ** {}"),
    "C": UnitStyle("*", "/", "{}**{}"),
    "P": UnitStyle("·", "/", "{}{}", small=True),
    "H": UnitStyle(" ", "/", "{}<sup>{}</sup>"),
    "L": UnitStyle(" \\cdot ", "", "{}^{{{}}}", "\\mathrm{{{}}}"),
}


class Rescaling(NamedTuple):
    """How numbers are converted: ``(x + before) * factor / divisor + after``.

    Attributes
    ----------
    factor, divisor : of which one is 1 where the other is a whole number, and both are whole numbers where they can be
    before, after : what is added, of which one is 0
    """

    factor: float = 1.0
    divisor: float = 1.0
    before: float = 0.0
    after: float = 0.0


UNCHANGED = Rescaling()
# Up to here every whole number is a floating-point number.
WHOLE = 2**53


def _by_units(function: Callable[[Unit, Any], R]) -> Callable[[Unit, Any], R]:
    """Return a function that keeps its results by the very units: equal ones may differ, as K and delta_degC do."""
    results: dict[tuple[int, Any], R] = {}

    @wraps(function)
    def kept(unit: Unit, other: Any) -> R:
        # Units live as long as the process, one for each spelling, so that no other one comes to have its number.
        key = id(unit), id(other) if type(other) is Unit else other
        if key not in results:
            results[key] = function(unit, other)
        return results[key]

    return kept


@_by_units
def _conversion(unit: Unit, target: Unit) -> Rescaling:
    (size, bases), (other, others) = unit._base, target._base
    if unit.dimension != target.dimension:
        raise UnitError(f"{_quote(unit)} and {_quote(target)} measure different things")
    if bases != others and unit.dimension:
        raise UnitError(
            f"{_quote(unit)} and {_quote(target)} differ by the radian; multiply or divide by "
            f"QuantityTensor(1.0, 'rad'), or by 'turn', whichever is meant"
        )
    if (unit.origin and _is_difference(target)) or (target.origin and _is_difference(unit)):
        raise UnitError(f"{_quote(unit)} and {_quote(target)}: a point on a scale is no difference")
    scale = size.times(other.to_the(Fraction(-1)))
    ratio, rational = scale.value(), not scale.pi
    factor, divisor = float(ratio), 1.0
    if rational and max(ratio.numerator, ratio.denominator) <= WHOLE:
        factor, divisor = float(ratio.numerator), float(ratio.denominator)
    elif rational and ratio.numerator == 1:
        factor, divisor = 1.0, float(ratio.denominator)
    # The zeros of both scales differ by a decimal fraction in one of the two units: by 32 in degF, not in degC.
    distance = unit.origin - target.origin
    before, after = distance / size.value(), distance / other.value()
    if before.denominator < after.denominator:
        return Rescaling(factor, divisor, before=float(before))
    return Rescaling(factor, divisor, after=float(after))


def _unit_of_astropy(unit: Any) -> Unit:
    """Return a unit of astropy, whose parts have the same size here under one of their names.

    Raises
    ------
    UnitError : if one is not known here by any name
    """
    result = ONE
    for part in parts_of_astropy(unit):
        result = result * _known_by_name(part) ** part.power
    return result


def _known_by_name(part: AstropyPart) -> Unit:
    """Return the unit that is the same here by one of the names of one of astropy."""
    for name in part.names:
        try:
            unit = _parse(name)
        except UnitError:
            continue
        if part.size is None:
            return unit
        if unit.dimension == part.bases and math.isclose(float(unit._base[0].value()), part.size, rel_tol=1e-6):
            return unit
    raise UnitError(f"unknown unit '{part.names[0]}', which is one of astropy")


def _is_difference(unit: Unit) -> bool:
    return len(unit.parts) == 1 and unit.parts[0][0].startswith("delta_")


def _quote(unit: Unit) -> str:
    if unit.parts:
        return f"'{unit}'"
    return "a plain number"


_units: dict[Exponents, Unit] = {}


def _unit_of_parts(exponents: dict[str, Fraction]) -> Unit:
    """Return the unit of some parts, the same object each time."""
    parts = tuple((name, power) for name, power in exponents.items() if power)
    unit = _units.get(parts)
    if unit is None:
        unit = object.__new__(Unit)
        unit.parts = parts
        scales = [name for name, _ in parts if _definition(name)[2]]
        if scales and (len(parts) > 1 or parts[0][1] != 1):
            raise UnitError(
                f"'{scales[0]}' is of points on a scale, which have no products; convert to 'K', or take differences, "
                f"'delta_{scales[0]}'"
            )
        unit = _units.setdefault(parts, unit)
    return unit


@_by_units
def _product(unit: Unit, other: Unit) -> Unit:
    exponents = dict(unit.parts)
    for name, power in other.parts:
        exponents[name] = exponents.get(name, Fraction(0)) + power
    return _unit_of_parts(exponents)


@_by_units
def _power(unit: Unit, exponent: Fraction) -> Unit:
    return _unit_of_parts({name: power * exponent for name, power in unit.parts})


def _show_power(name: str, power: Fraction) -> str:
    if power == 1:
        return name
    if power.denominator == 1:
        return f"{name}**{power}"
    return f"{name}**({power})"


@cache
def _definition(name: str) -> tuple[UnitSize, Exponents, Fraction]:
    """Return the size of a named unit in base units, their exponents, and its origin.

    Raises
    ------
    UnitError : if the name is unknown
    """
    if name in BASES:
        return UnitSize(), ((name, Fraction(1)),), Fraction(0)
    if name in DEFINITIONS:
        size, text, origin = DEFINITIONS[name]
        factor, bases = _parse(text)._base
        return size.times(factor), bases, origin
    if name in LOGARITHMIC:
        raise UnitError(f"'{name}' is logarithmic: its sums would be products; convert to what it is the level of")
    for prefix, power in PREFIXES.items():
        if name.startswith(prefix) and name.removeprefix(prefix) in PREFIXABLE:
            size, bases, _ = _definition(name.removeprefix(prefix))
            return size.times(UnitSize(Fraction(10) ** power)), bases, Fraction(0)
    return _definition_by_pint(name)


def _definition_by_pint(name: str) -> tuple[UnitSize, Exponents, Fraction]:
    """Return what Pint says of a name that is not known here, in the base units of this library."""
    size, powers, origin = unit_of_pint(name)
    exponents: dict[str, Fraction] = {}
    for base, power in powers.items():
        short = _in_short(base)
        factor: UnitSize = UnitSize()
        bases: Exponents = ((name, Fraction(1)),)
        if name not in (base, short):
            factor, bases, _ = _definition(short)
        size = size.times(factor.to_the(power))
        origin *= factor.value()
        for inner, exponent in bases:
            exponents[inner] = exponents.get(inner, Fraction(0)) + exponent * power
    return size, tuple(sorted((base, power) for base, power in exponents.items() if power)), origin


@cache
def _parse(text: str) -> Unit:
    """Return the unit that a text means."""
    source = text
    for sign, meaning in SIGNS.items():
        source = source.replace(sign, meaning)
    source = re.sub(r"(?<=[\w)])\s+(?=[A-Za-z(])", "*", re.sub(r"([A-Za-z])(-?\d+)(?!\w)", r"\1**\2", source.strip()))
    try:
        if source:
            value = _evaluate(ast.parse(source, mode="eval").body)
        else:
            value = Fraction(1)
    except (SyntaxError, ValueError, TypeError, ZeroDivisionError) as error:
        if isinstance(error, UnitError):
            raise
        raise UnitError(f"'{text}' is no unit; write a product of powers, such as 'kg*m/s**2'") from error
    if isinstance(value, Fraction):
        if value != 1:
            raise UnitError(f"'{text}' is a number; a unit is a product of powers of named units")
        return _unit_of_parts({})
    return value


# Of products and quotients in the text of a unit.
OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {ast.Mult: operator.mul, ast.Div: operator.truediv}


def _evaluate(node: ast.AST) -> Unit | Fraction:
    """Return the unit or number that a part of an expression stands for."""
    if isinstance(node, ast.Name):
        name = _in_short(node.id)
        if not name:
            return _unit_of_parts({})
        _definition(name)
        return _unit_of_parts({name: Fraction(1)})
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return Fraction(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_number(node.operand)
    if isinstance(node, ast.BinOp):
        left = _evaluate(node.left)
        if isinstance(node.op, ast.Pow):
            exponent = _number(node.right)
            if isinstance(left, Unit):
                return left**exponent
            return Fraction(left**exponent)
        right = _evaluate(node.right)
        combine = OPERATORS.get(type(node.op))
        if combine is not None:
            if isinstance(left, Fraction) and isinstance(right, Fraction):
                return combine(left, right)
            first, second = (
                _unit_of_parts({}) if isinstance(part, Fraction) and part == 1 else part for part in (left, right)
            )
            if isinstance(first, Unit) and isinstance(second, Unit):
                return combine(first, second)
    raise ValueError("neither a unit nor a number")


def _in_short(name: str) -> str:
    """Return the short name of a unit that is written in full, such as ``km`` for ``kilometre``."""
    if name in ALIASES:
        return ALIASES[name]
    for prefix, short in IN_FULL.items():
        if name.startswith(prefix) and (rest := ALIASES.get(name.removeprefix(prefix))) in PREFIXABLE:
            return f"{short}{rest}"
    return name


def _number(node: ast.AST) -> Fraction:
    value = _evaluate(node)
    if isinstance(value, Unit):
        raise TypeError("an exponent is a number")
    return value


ONE = _unit_of_parts({})
DEVICES = ("cpu", "cuda", "gpu", "mps", "tpu", "xpu", "meta")


def is_unit(value: Any) -> bool:
    """Return whether an argument of `to` means a unit, and not a device or a dtype."""
    if isinstance(value, str):
        return value.partition(":")[0] not in DEVICES
    return isinstance(value, Unit) or is_of("pint", value) or is_of("astropy", value)
