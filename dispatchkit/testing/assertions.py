"""`assert_close`: results compared with what is expected, in numbers, units, masks and names, and where they differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

import numpy as np

from dispatchkit.backends.arrays import is_raw
from dispatchkit.declare.namespace import tensor_namespace as xp
from dispatchkit.protocol.instance import tensor_protocol
from dispatchkit.protocol.naming import type_name
from dispatchkit.tensor import Tensor
from dispatchkit.tensor.conversion import dense_form
from dispatchkit.testing.comparing.differences import elements_of, same, value_text
from dispatchkit.types import MaskedTensor, QuantityTensor, UncertainTensor
from dispatchkit.types.levels import Wrapper
from dispatchkit.wording import with_article

# PyTorch's, by the dtype; 0 for integers and booleans.
SINGLE, DOUBLE = ("float32", "complex64"), ("float64", "complex128")
RTOL = {"float16": 1e-3, "bfloat16": 1.6e-2} | dict.fromkeys(SINGLE, 1.3e-6) | dict.fromkeys(DOUBLE, 1e-7)
ATOL = dict.fromkeys(RTOL, 1e-5) | dict.fromkeys(DOUBLE, 1e-7)
MOST_PLACES, MOST_ROWS, MOST_COLUMNS = 5, 12, 40


class Wanted(NamedTuple):
    """How exactly results are compared; attributes as the parameters of `assert_close`."""

    rtol: float | None
    atol: Any
    equal_nan: bool
    check_dtype: bool
    check_structure: bool


def assert_close(
    actual: Any,
    expected: Any,
    *,
    rtol: float | None = None,
    atol: Any = None,
    equal_nan: bool = False,
    check_dtype: bool = True,
    check_structure: bool = False,
    msg: str | None = None,
) -> None:
    """Check that a result is what is expected, up to rounding errors.

    Parameters
    ----------
    actual : array, number, or a list, tuple or dictionary of such, nested too
    expected : the same, as it should be
    rtol : the difference that is allowed, in proportion to `expected`; by default as in PyTorch, by the dtype: 1e-7 for
        float64, 1.3e-6 for float32, 1e-3 for float16, 0 for integers
    atol : the difference that is allowed besides: by default 1e-7 for float64, 1e-5 for other floating-point numbers;
        of quantities in the unit of `expected`, or a quantity. Both tolerances are given, or none
    equal_nan : whether NaN agrees with NaN
    check_dtype : whether dtypes have to be equal
    check_structure : whether array types have to be the same, too: otherwise a structured array agrees with its dense
        form
    msg : said in place of the message

    Raises
    ------
    AssertionError : if they differ: in containers, type, units that do not convert, the places of missing elements,
        names and other fields, shape, dtype or elements
    ValueError : if one tolerance is given without the other

    Notes
    -----
    The message counts the elements that differ, and shows the first of them, the greatest differences with their
    places, and where the others are. Dense forms that are made for it are allowed and not warned of.

    Examples
    --------
    >>> import dispatchkit as dk
    >>> dk.testing.assert_close(dk.asarray([0.1]) + 0.2, dk.asarray([0.3]))
    >>> dk.testing.assert_close(dk.types.QuantityTensor([1.0], "km"), dk.types.QuantityTensor([1000.0], "m"))
    >>> dk.testing.assert_close(dk.asarray([[1.0, 2.0, 3.5], [4.0, 5.0, 6.0]]), dk.asarray([[1.0, 2, 3], [4, 5, 6]]))
    Traceback (most recent call last):
        ...
    AssertionError: 1 of 6 elements differs
      greatest absolute difference: 0.5 at (0, 2), allowed are 1e-07
      greatest relative difference: 0.166667 at (0, 2), allowed are 1e-07
      at (0, 2): 3.5 instead of 3.0
      in the array, x differs:
        . . x
        . . .
    """
    if (rtol is None) != (atol is None):
        if rtol is None:
            missing, present = "rtol", "atol"
        else:
            missing, present = "atol", "rtol"
        raise ValueError(
            f"assert_close: {present} is given without {missing}; give both, or none for those of the dtype"
        )
    try:
        _compare("", actual, expected, Wanted(rtol, atol, equal_nan, check_dtype, check_structure))
    except AssertionError as error:
        raise AssertionError(msg or str(error)) from None


def _fail(path: str, text: str) -> NoReturn:
    if path:
        text = f"{path.strip()}: {text}"
    raise AssertionError(text)


def _compare(path: str, actual: Any, expected: Any, wanted: Wanted) -> None:
    """Raise at the first difference between two results; `path` says where they stand in containers."""
    participates = tensor_protocol.types.participates
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        if actual.keys() != expected.keys():
            _fail(path, f"keys {list(actual)} instead of {list(expected)}")
        for key, value in expected.items():
            _compare(f"{path}[{key!r}]", actual[key], value, wanted)
    elif isinstance(expected, (list, tuple)) and isinstance(actual, (list, tuple)):
        if len(actual) != len(expected):
            _fail(path, f"{len(actual)} members instead of {len(expected)}")
        for place, value in enumerate(expected):
            _compare(f"{path}[{place}]", actual[place], value, wanted)
    elif wanted.check_structure and participates(type(expected)) and type(actual) is not type(expected):
        _fail(path, _types(actual, expected))
    elif any(participates(type(value)) and not isinstance(value, Tensor) for value in (actual, expected)):
        _compare_types(path, actual, expected, wanted)
    else:
        mine, right = (elements_of(xp.asarray(x) if is_raw(x) else x) for x in (actual, expected))
        _compare_elements(path, mine, right, wanted)


def _types(actual: Any, expected: Any) -> str:
    return " instead of ".join(with_article(type_name(type(value))) for value in (actual, expected))


def _compare_types(path: str, actual: Any, expected: Any, wanted: Wanted) -> None:
    """Compare what two arrays, one of them of a declared type, have besides their elements, and then these."""
    types = tensor_protocol.types
    cls: Any = max(map(type, (actual, expected)), key=types.priority)  # the outermost
    if issubclass(cls, (MaskedTensor, UncertainTensor)):
        # What is not masked, or not uncertain, is whole and exact.
        actual, expected = (value if isinstance(value, cls) else cls(value) for value in (actual, expected))
    if not issubclass(cls, Wrapper) and all(map(_has_dense_form, (actual, expected))):
        _compare(path, dense_form(actual), dense_form(expected), wanted)
    elif not isinstance(actual, cls) or not isinstance(expected, cls):
        _fail(path, _types(actual, expected))
    elif issubclass(cls, QuantityTensor):
        unit, atol = expected.unit, wanted.atol
        if actual.unit.dimension != unit.dimension:
            _fail(path, f"unit '{actual.unit}' instead of '{unit}', into which it does not convert")
        if isinstance(atol, QuantityTensor):
            wanted = wanted._replace(atol=atol.to(unit.delta).magnitude.numpy())
        _compare(f"{path} in '{unit}'", actual.to(unit).magnitude, expected.magnitude, wanted)
    elif issubclass(cls, MaskedTensor):
        _compare(f"{path} valid elements", actual.valid, expected.valid, wanted)
        _compare(path, actual.filled(0), expected.filled(0), wanted)
    elif issubclass(cls, UncertainTensor):
        _compare(path, actual.value, expected.value, wanted)
        _compare(f"{path} std", actual.std, expected.std, wanted)
    else:
        for name in types.field_names(cls):
            mine, right = getattr(actual, name), getattr(expected, name)
            if types.participates(type(right)) or is_raw(right):
                _compare(_path_of(name, path), mine, right, wanted)
            elif not same(mine, right):
                _fail(path, f"{name} {mine!r} instead of {right!r}")


def _has_dense_form(value: Any) -> bool:
    return isinstance(value, (Tensor, np.ndarray)) or tensor_protocol.types.to_dense(type(value)) is not None


def _path_of(name: str, path: str) -> str:
    """Return the path of a field; what a wrapper wraps has that of the wrapper."""
    if name == "data":
        return path
    return f"{path}.{name}"


def _compare_elements(path: str, actual: Any, expected: Any, wanted: Wanted) -> None:
    """Compare two NumPy arrays; other values are equal or not."""
    if not isinstance(actual, np.ndarray) or not isinstance(expected, np.ndarray):
        if not same(actual, expected):
            _fail(path, f"{value_text(actual)} instead of {value_text(expected)}")
        return
    if actual.shape != expected.shape:
        _fail(path, f"shape {actual.shape} instead of {expected.shape}")
    if wanted.check_dtype and actual.dtype != expected.dtype:
        _fail(path, f"dtype {actual.dtype} instead of {expected.dtype}; check_dtype=False compares the numbers alone")
    rtol, atol = wanted.rtol, wanted.atol
    if rtol is None:
        dtypes = str(actual.dtype), str(expected.dtype)
        rtol = max(RTOL.get(dtype, 0.0) for dtype in dtypes)
        atol = max(ATOL.get(dtype, 0.0) for dtype in dtypes)
    differs = ~np.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=wanted.equal_nan)
    if differs.any():
        _fail(path, "\n  ".join([*_sizes(actual, expected, differs, rtol, atol), *_picture(differs)]))


def _sizes(actual: Any, expected: Any, differs: Any, rtol: float, atol: Any) -> list[str]:
    """Return how many elements of two arrays differ, the greatest differences, and the first of them."""
    count, places = int(differs.sum()), np.argwhere(differs)
    verb = "differ"
    if count == 1:
        verb = "differs"
    lines = [f"{count} of {differs.size} elements {verb}"]
    with np.errstate(all="ignore"):
        far = np.abs(np.subtract(actual, expected, dtype=np.result_type(actual, expected, np.float64)))
        measures: Any = ("absolute", far, np.max(atol)), ("relative", far / np.abs(expected), rtol)
    if actual.dtype.kind == "b":
        measures = ()
    for name, sizes, allowed in measures:
        known = np.where(differs, np.where(np.isnan(sizes), np.inf, sizes), -1)
        place = np.unravel_index(int(np.argmax(known)), known.shape)
        lines.append(f"greatest {name} difference: {known[place]:.6g}{_at(place)}, allowed are {float(allowed):g}")
    for place in map(tuple, places[:MOST_PLACES]):
        text = f"{actual[place]} instead of {expected[place]}"
        if place:
            text = f"{_at(place).strip()}: {text}"
        lines.append(text)
    if count <= MOST_PLACES:
        return lines
    return [*lines, f"and {count - MOST_PLACES} more"]


def _at(place: tuple[Any, ...]) -> str:
    if place:
        return f" at {tuple(map(int, place))}"
    return ""


def _picture(differs: Any) -> list[str]:
    """Return the lines of a map of the last two axes where the first element differs, with a mark for a large block."""
    if differs.ndim == 0:
        return []
    outer = [int(place) for place in np.argwhere(differs)[0][:-2]]
    marks, blocks = np.atleast_2d(differs[tuple(outer)]), []
    for axis, most in enumerate((MOST_ROWS, MOST_COLUMNS)):
        blocks.append(-(-marks.shape[axis] // most))
        marks = np.logical_or.reduceat(marks, range(0, marks.shape[axis], blocks[axis]), axis=axis)
    where = "in the array"
    if outer:
        where = f"in [{', '.join(map(str, [*outer, ':', ':']))}]"
    note = ""
    if max(blocks) > 1:
        note = f", each mark stands for {blocks[0]} x {blocks[1]} elements"
    pictures = np.where(marks, "x", ".")
    return [f"{where}, x differs{note}:", *("  " + " ".join(row) for row in pictures)]
