"""Draws error bars of uncertain numbers with Matplotlib, whatever is around them."""

from __future__ import annotations

from typing import Any

from dispatchkit.types.levels import Wrapper
from dispatchkit.types.plotting import drawn, register


def errorbar(axes: Any, x: Any, y: Any, **options: Any) -> Any:
    """Draw points with their standard deviations as error bars.

    Matplotlib draws the shipped types by themselves (``axes.plot(x, y)``): in the unit of the axis, with gaps where
    elements are missing. Only error bars need this function.

    Parameters
    ----------
    axes : `matplotlib.axes.Axes`
    x, y : arrays of one axis: any nesting of names, units, masks and uncertainties, or what Matplotlib takes
    **options : those of `Axes.errorbar`; ``xerr=`` and ``yerr=`` take the place of the standard deviations

    Returns
    -------
    matplotlib.container.ErrorbarContainer

    Raises
    ------
    UnitError : if an axis has a unit of another dimension

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
    errors = {"xerr": shown_x.std, "yerr": shown_y.std}
    return axes.errorbar(shown_x.numbers, shown_y.numbers, **{**errors, **options})
