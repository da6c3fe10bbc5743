"""How tensors print."""

from __future__ import annotations

import html
import math
from contextlib import AbstractContextManager
from types import SimpleNamespace
from typing import Any

import numpy as np

from dispatchkit.backends.arrays import as_numpy, device_of, dtype_name, without_graph

__all__ = ["format_tensor", "html_of", "set_printoptions"]


_options = SimpleNamespace(precision=4, threshold=1000, edgeitems=3, linewidth=80)


def set_printoptions(
    precision: int | None = None,
    threshold: int | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
) -> None:
    """Set how tensors print.

    Parameters
    ----------
    precision : digits after the point, 4 at first
    threshold : number of elements from which on a tensor is summarised, 1000 at first
    edgeitems : elements shown at each end of a summarised axis, 3 at first
    linewidth : characters to a line, 80 at first

    Raises
    ------
    ValueError : for a negative number

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.set_printoptions(precision=2)
    >>> dk.tensor([3.14159])
    tensor([3.14])
    >>> dk.set_printoptions(precision=4)
    """
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    for name, value in given.items():
        if value is not None and value < 0:
            raise ValueError(f"set_printoptions: {name} is {value}; it cannot be negative")
    for name, value in given.items():
        if value is not None:
            setattr(_options, name, value)


def _numpy_options(values: Any) -> AbstractContextManager[Any]:
    """Return the options to print values with: whole numbers as ``2.``, others with all their digits, as PyTorch."""
    shown = values[np.isfinite(values)] if values.dtype.kind in "fc" else values
    whole = values.dtype.kind not in "fc" or bool(np.all(shown == np.round(shown)))
    if whole and values.dtype.kind == "f" and shown.size:
        # Where NumPy turns to exponents whole numbers, too, need their digits.
        # As Python's numbers: half precision holds no 1e8.
        largest = float(np.max(np.abs(shown)))
        smallest = float(np.min(np.abs(shown[shown != 0]), initial=np.inf))
        whole = largest < 1e8 and not (math.isfinite(smallest) and largest / smallest > 1000)
    return np.printoptions(
        precision=_options.precision,
        threshold=_options.threshold,
        edgeitems=_options.edgeitems,
        linewidth=_options.linewidth,
        floatmode="maxprec_equal" if whole else "fixed",
        suppress=False,
    )


def format_tensor(name: str, array: Any, notes: list[str], spec: str = "") -> str:
    """Return ``name(elements, notes)``, long arrays summarised.

    Parameters
    ----------
    name : such as ``"tensor"``
    array : the raw array
    notes : what is printed after the elements
    spec : format of each element, as `format` takes it

    Raises
    ------
    ValueError : if the elements cannot be formatted by `spec`
    """
    try:
        values = as_numpy("printing", without_graph(array))
    except TypeError:
        body = f"shape={tuple(array.shape)}, on {device_of(array)}"
    else:
        formatter: Any = {"all": lambda element: format(element.item(), spec)} if spec else None
        if spec:
            format(values.dtype.type(0).item(), spec)  # which a tensor without elements would not try
        with _numpy_options(values):
            body = np.array2string(values, separator=", ", prefix=f"{name}(", formatter=formatter)
        if values.size == 0 and values.shape != (0,):
            notes = [f"size={values.shape}", *notes]
    dtype = dtype_name(array.dtype)
    if dtype not in ("float64", "int64", "bool"):
        notes = [f"dtype={dtype}", *notes]
    return f"{name}({', '.join([body, *notes])})"


def html_of(text: str, array: Any) -> str:
    """Return a tensor as notebooks show it: a table where it is a small matrix, else its text."""
    shape = tuple(array.shape)
    if len(shape) != 2 or 0 in shape or shape[0] > 20 or shape[1] > 12:
        return f"<pre>{html.escape(text)}</pre>"
    values = np.asarray(array)
    digits = _options.precision
    rows = "".join(
        "<tr>" + "".join(f"<td>{html.escape(_cell(value, digits))}</td>" for value in row) + "</tr>" for row in values
    )
    return f"<table>{rows}</table><code>{'×'.join(map(str, shape))} {values.dtype}</code>"


def _cell(value: Any, digits: int) -> str:
    return f"{value:.{digits}g}" if np.issubdtype(type(value), np.floating) else str(value)
