"""Draws error bars of uncertain numbers with Matplotlib, whatever is around them."""

from __future__ import annotations

from typing import Any

from dispatchkit.errors import UnitError
from dispatchkit.types.levels import Wrapper
from dispatchkit.types.plotting import Drawn, drawn, register


def errorbar(axes: Any, x: Any, y: Any, *, xerr: Any = None, yerr: Any = None, **options: Any) -> Any:
    """Draw points with their standard deviations as error bars.

    Matplotlib draws the shipped types by themselves (``axes.plot(x, y)``): in the unit of the axis, with gaps where
    elements are missing. Only error bars need this function.

    Parameters
    ----------
    axes : `matplotlib.axes.Axes`
    x, y : arrays of one axis: any nesting of names, units, masks and uncertainties, or what Matplotlib takes
    xerr, yerr : lengths of the error bars, as `Axes.errorbar` takes them, or quantities; by default the standard
        deviations of `x` and `y`
    **options : the others of `Axes.errorbar`

    Returns
    -------
    matplotlib.container.ErrorbarContainer

    Raises
    ------
    UnitError : if an axis has a unit of another dimension, or none and its error bars have one

    Examples
    --------
    >>> import dispatchkit as dk
    >>> from dispatchkit.interop.plotting import errorbar
    >>> speed = dk.types.QuantityTensor(dk.types.UncertainTensor([1.0, 2.0], 0.1), "m/s")
    >>> import matplotlib.figure  # doctest: +SKIP
    >>> errorbar(matplotlib.figure.Figure().add_subplot(), [0, 1], speed, fmt="o")  # doctest: +SKIP
    <ErrorbarContainer object of 3 artists>
    """
    register(Wrapper)
    axes.xaxis.update_units(x)
    axes.yaxis.update_units(y)
    shown_x = drawn(x).in_unit(axes.xaxis.units)
    shown_y = drawn(y).in_unit(axes.yaxis.units)
    bars = {
        "xerr": _lengths("xerr", xerr, shown_x, axes.xaxis.units),
        "yerr": _lengths("yerr", yerr, shown_y, axes.yaxis.units),
    }
    return axes.errorbar(shown_x.numbers, shown_y.numbers, **bars, **options)


def _lengths(name: str, given: Any, shown: Drawn, unit: Any) -> Any:
    """Return the lengths of error bars in the unit of an axis: those given, or else the standard deviations."""
    if given is None:
        return shown.std
    lengths = drawn(given)
    if lengths.unit is not None and unit is None:
        raise UnitError(f"errorbar: {name} is in {str(lengths.unit)!r}, and {name[0]} has no unit")
    return lengths.in_unit(getattr(unit, "delta", unit)).numbers
