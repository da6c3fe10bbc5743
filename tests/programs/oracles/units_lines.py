"""Lines for pairs of quantities: what a specialist of units says that it answers, and what carries a unit besides."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .drawing import Draw
from .numpy_lines import OPERATORS, WRITES, lines_of

__all__ = ["DIMENSIONS", "drawn_unit", "lines_of_units"]

# Names that both sides have for units of one dimension.
DIMENSIONS = {
    "length": ("m", "km", "cm", "mm"),
    "time": ("s", "ms", "min", "h"),
    "angle": ("rad", "deg", "arcmin"),
    "number": ("", "percent"),
}
# Lines whose scalars carry a unit, and creation of quantities.
MORE = (
    *(
        "np.clip(x, s, None)",
        "np.full_like(x, s)",
        "np.interp(v, t, w, left=s, right=s)",
        "np.isclose(x, y, atol=abs(s))",
    ),
    *("np.pad(v, 2, constant_values=s)", "np.sum(x, initial=s)", "np.max(x, initial=s)", "np.min(x, initial=s)"),
    *("np.sum(x, where=condition)", "np.mean(x, where=condition)", "np.nan_to_num(x, nan=s, posinf=s, neginf=s)"),
    *("np.diff(v, prepend=s, append=s)", "np.trapezoid(v, dx=s)", "np.linspace(s, s * 2, 4)", "np.deg2rad(x)"),
    *("np.rad2deg(x)", "np.sinc(x)", "np.unwrap(v)", "np.heaviside(x, 0.5)", "np.exp2(x)", "np.insert(v, 1, s)"),
    *("x + [1, 2, 3]", "np.add(v, w, out=v); result = v", "r = v[1:]; r *= 2; result = v", "np.percentile(v, 30)"),
)


def drawn_unit(draw: Draw, before: Iterable[Any]) -> str:
    """Return a unit: mostly one of the dimension of an operand that is drawn already, in another scale."""
    for unit in before:
        if draw.chance(0.8):
            return str(draw.pick(next(units for units in DIMENSIONS.values() if unit in units)))
    return str(draw.pick(draw.pick(tuple(DIMENSIONS.values()))))


def lines_of_units(functions: Iterable[Any]) -> tuple[str, ...]:
    """Return the lines that call functions of NumPy, by the functions or their names."""
    names = set()
    for function in functions:
        name = function if isinstance(function, str) else function.__name__
        module = "" if isinstance(function, str) else (getattr(function, "__module__", "") or "")
        library, _, inner = module.partition(".")
        if library == "numpy" and inner in ("linalg", "fft"):
            name = f"{inner}.{name}"
        names.add(name)
    return (*lines_of(names), *OPERATORS, *WRITES, *MORE)
