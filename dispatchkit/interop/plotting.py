"""Draws with Matplotlib what its converters of units take no part in: error bars, images, boxes, several histograms."""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatchkit.errors import UnitError
from dispatchkit.types.exchange.parts import parts_of
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


def imshow(axes: Any, x: Any, *, colorbar: bool = True, **options: Any) -> Any:
    """Draw a matrix as an image: gaps where elements are missing, names at the axes, the unit at a bar of colours.

    Parameters
    ----------
    axes : `matplotlib.axes.Axes`
    x : matrix: any nesting of names, units, masks and uncertainties, whose values are drawn, or what Matplotlib takes
    colorbar : whether to draw a bar of colours
    **options : of `Axes.imshow`

    Returns
    -------
    matplotlib.image.AxesImage

    Examples
    --------
    >>> import dispatchkit as dk
    >>> from dispatchkit.interop.plotting import imshow
    >>> heights = dk.types.QuantityTensor([[1.0, 2.0], [3.0, 4.0]], "m")
    >>> import matplotlib.figure  # doctest: +SKIP
    >>> imshow(matplotlib.figure.Figure().add_subplot(), heights)  # doctest: +SKIP
    <matplotlib.image.AxesImage object ...>
    """
    shown = drawn(x)
    image = axes.imshow(np.ma.masked_invalid(shown.numbers), **options)
    names: tuple[str, ...] = ()
    if isinstance(x, Wrapper):
        names = parts_of(x).names or ()
    if names:
        axes.set_ylabel(names[0])
        axes.set_xlabel(names[1])
    if colorbar:
        label = ""
        if shown.unit is not None:
            label = str(shown.unit)
        axes.get_figure().colorbar(image, ax=axes, label=label)
    return image


def boxplot(axes: Any, x: Any, **options: Any) -> Any:
    """Draw boxes of the elements that are there, in the unit of the axis.

    Parameters
    ----------
    axes : `matplotlib.axes.Axes`
    x : an array, each column of a matrix, or a list of arrays: any nesting, as of `errorbar`
    **options : of `Axes.boxplot`

    Returns
    -------
    dict of lists of `matplotlib.lines.Line2D`, as `Axes.boxplot` returns it

    Raises
    ------
    UnitError : if the arrays, or the axis, have units of other dimensions
    """
    upright = options.get("orientation", "vertical") == "vertical" and options.get("vert") in (None, True)
    axis = axes.xaxis
    if upright:
        axis = axes.yaxis
    columns = [column[~np.isnan(column)] for numbers in _in_unit_of(axis, x) for column in _columns(numbers)]
    return axes.boxplot(columns, **options)


def hist(axes: Any, x: Any, **options: Any) -> Any:
    """Draw histograms of one array or of several, in the unit of the axis; what is missing is not counted.

    Of one array `Axes.hist` does the same.

    Parameters
    ----------
    axes : `matplotlib.axes.Axes`
    x : an array, or a list of arrays: any nesting, as of `errorbar`
    **options : of `Axes.hist`

    Returns
    -------
    counts, edges and bars, as `Axes.hist` returns them

    Raises
    ------
    UnitError : if the arrays, or the axis, have units of other dimensions
    """
    axis = axes.xaxis
    if options.get("orientation") == "horizontal":
        axis = axes.yaxis
    numbers = _in_unit_of(axis, x)
    if not isinstance(x, (list, tuple)):
        return axes.hist(numbers[0], **options)
    return axes.hist(numbers, **options)


def _in_unit_of(axis: Any, x: Any) -> list[Any]:
    """Return the numbers of one array or of several in the unit of an axis, which that of the first becomes."""
    register(Wrapper)
    members = [x]
    if isinstance(x, (list, tuple)):
        members = list(x)
    for member in members:
        axis.update_units(member)
    return [drawn(member).in_unit(axis.units).numbers.astype(float) for member in members]


def _columns(numbers: Any) -> list[Any]:
    """Return the columns of a matrix; the only one of a vector."""
    if numbers.ndim == 2:
        return list(numbers.T)
    return [numbers.ravel()]
