"""The names of units: the SI base units, what is made of them, and prefixes."""

from __future__ import annotations

import math
from fractions import Fraction

__all__ = ["ALIASES", "BASES", "DEFINITIONS", "IN_FULL", "LOGARITHMIC", "PREFIXABLE", "PREFIXES"]

BASES = ("kg", "m", "s", "A", "K", "mol", "cd", "rad")

PREFIXES = {
    "Q": 30,
    "R": 27,
    "Y": 24,
    "Z": 21,
    "E": 18,
    "P": 15,
    "T": 12,
    "G": 9,
    "M": 6,
    "k": 3,
    "h": 2,
    "da": 1,
    "d": -1,
    "c": -2,
    "m": -3,
    "u": -6,
    "n": -9,
    "p": -12,
    "f": -15,
    "a": -18,
    "z": -21,
    "y": -24,
    "r": -27,
    "q": -30,
}
IN_FULL = {
    "giga": "G",
    "mega": "M",
    "kilo": "k",
    "hecto": "h",
    "deci": "d",
    "centi": "c",
    "milli": "m",
    "micro": "u",
    "nano": "n",
    "pico": "p",
    "femto": "f",
    "tera": "T",
}

# Each with its size in another unit, and where its zero stands for units of points on a scale.
DEFINITIONS: dict[str, tuple[Fraction | float, str, Fraction]] = {
    name: (size if isinstance(size, float) else Fraction(size), of, Fraction(0))
    for name, size, of in (
        *(("g", "1/1000", "kg"), ("Hz", 1, "1/s"), ("Bq", 1, "1/s"), ("N", 1, "kg*m/s**2"), ("Pa", 1, "N/m**2")),
        *(("J", 1, "N*m"), ("W", 1, "J/s"), ("C", 1, "A*s"), ("V", 1, "W/A"), ("F", 1, "C/V"), ("ohm", 1, "V/A")),
        *(
            ("S", 1, "A/V"),
            ("Wb", 1, "V*s"),
            ("T", 1, "Wb/m**2"),
            ("H", 1, "Wb/A"),
            ("lm", 1, "cd"),
            ("lx", 1, "lm/m**2"),
        ),
        *(("Gy", 1, "J/kg"), ("Sv", 1, "J/kg"), ("kat", 1, "mol/s"), ("L", "1/1000", "m**3"), ("t", 1000, "kg")),
        *(("eV", "1.602176634e-19", "J"), ("bar", 100000, "Pa"), ("atm", 101325, "Pa"), ("cal", "4.184", "J")),
        *(("min", 60, "s"), ("h", 3600, "s"), ("d", 86400, "s"), ("a", 31557600, "s"), ("au", 149597870700, "m")),
        *(("inch", "0.0254", "m"), ("ft", "0.3048", "m"), ("yd", "0.9144", "m"), ("mi", "1609.344", "m")),
        *(("lb", "0.45359237", "kg"), ("u", "1.66053906892e-27", "kg"), ("Wh", 3600, "J"), ("ha", 10000, "m**2")),
        *(("percent", "1/100", ""), ("ppm", "1/1000000", ""), ("delta_degC", 1, "K"), ("delta_degF", "5/9", "K")),
        *(
            ("deg", math.pi / 180, "rad"),
            ("turn", 2 * math.pi, "rad"),
            ("rpm", math.pi / 30, "rad/s"),
            ("sr", 1, "rad**2"),
        ),
    )
}
DEFINITIONS["degC"] = (Fraction(1), "K", Fraction("273.15"))
DEFINITIONS["degF"] = (Fraction(5, 9), "K", Fraction("459.67") * Fraction(5, 9))

ALIASES = {
    "metre": "m",
    "meter": "m",
    "second": "s",
    "sec": "s",
    "kilogram": "kg",
    "gram": "g",
    "ampere": "A",
    "kelvin": "K",
    "mole": "mol",
    "candela": "cd",
    "radian": "rad",
    "hertz": "Hz",
    "newton": "N",
    "pascal": "Pa",
    "joule": "J",
    "watt": "W",
    "coulomb": "C",
    "volt": "V",
    "farad": "F",
    "tesla": "T",
    "litre": "L",
    "liter": "L",
    "l": "L",
    "minute": "min",
    "hour": "h",
    "day": "d",
    "year": "a",
    "degree": "deg",
    "revolution": "turn",
    "foot": "ft",
    "mile": "mi",
    "yard": "yd",
    "pound": "lb",
    "electron_volt": "eV",
    "becquerel": "Bq",
    "degree_Celsius": "degC",
    "celsius": "degC",
    "degree_Fahrenheit": "degF",
    "fahrenheit": "degF",
    "delta_degree_Celsius": "delta_degC",
    "delta_degree_Fahrenheit": "delta_degF",
    "revolutions_per_minute": "rpm",
    "dimensionless": "",
    "°C": "degC",
    "°F": "degF",
    "°": "deg",
    "%": "percent",
    "Ω": "ohm",
    "µ": "u",
    "μ": "u",
    "·": "*",
    "⋅": "*",
    "²": "**2",
    "³": "**3",
    "⁻¹": "**-1",
    "⁻²": "**-2",
    "^": "**",
}

PREFIXABLE = frozenset(
    (
        *(
            "m",
            "s",
            "g",
            "A",
            "K",
            "mol",
            "cd",
            "rad",
            "Hz",
            "Bq",
            "N",
            "Pa",
            "J",
            "W",
            "C",
            "V",
            "F",
            "ohm",
            "S",
            "Wb",
        ),
        *("T", "H", "lm", "lx", "Gy", "Sv", "kat", "L", "t", "eV", "bar", "cal", "a", "Wh"),
    )
)
# Numbers in these are logarithms: their sum would be a product.
LOGARITHMIC = frozenset(("dB", "dBm", "dBW", "dBu", "Np", "decibel", "decibelmilliwatt", "neper", "octave", "decade"))
