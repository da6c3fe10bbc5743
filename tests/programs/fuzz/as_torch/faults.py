"""What other calls show of a difference: that a call has two faults, or what it is where arrays have other elements.

Two faults are those of a call that the libraries refuse for different reasons, each of which both refuse alone.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from .calls import Array, Call, arrays_in, mapped

__all__ = ["has_two_faults", "is_seen_with_elements", "repaired", "with_finite_numbers"]

# Of which one is right in most places.
COMMON = (None, 0, 1, -1, 2, 1.0, True, False, (), (0,), (1,), "mean")
KINDS = ("float64", "int64", "bool", "complex128", "float32")


# What a call is made of, each of which may be at fault by itself.
PARTS = ("shapes", "dtypes", "options")


def repaired(call: Call, good: Iterable[Call]) -> Iterator[Call]:
    """Yield calls of which one argument, or one thing about all arrays, is another one, or is left out.

    Parameters
    ----------
    call : a call with faults
    good : calls of the same function that have none; their arguments are tried first
    """
    good = list(good)
    yield from with_all_arrays_changed(call)
    for each in good:
        for part in PARTS:
            yield mixed(call, each, {part})
            yield mixed(call, each, {*PARTS} - {part})
        for place in (*range(len(call.args)), *call.kwargs):
            if holds(each, place) and value_at(call, place) is not value_at(each, place):
                yield with_value(each, place, value_at(call, place))
    for place in (*range(len(call.args)), *call.kwargs):
        old = value_at(call, place)
        values = [value_at(each, place) for each in good if holds(each, place)]
        for value in (*values, *others_for(call, old)):
            if value is not old:
                yield with_value(call, place, value)
    for name in call.kwargs:
        yield call.changed(kwargs={key: value for key, value in call.kwargs.items() if key != name})
    if call.form in ("function", "method", "in place") and len(call.args) > 1:
        yield call.changed(args=call.args[:-1])


def holds(call: Call, place: int | str) -> bool:
    """Return whether a call has an argument in a place, or of a name."""
    return place in call.kwargs if isinstance(place, str) else place < len(call.args)


def value_at(call: Call, place: int | str) -> Any:
    """Return the argument in a place, or of a name."""
    return call.kwargs[place] if isinstance(place, str) else call.args[place]


def with_value(call: Call, place: int | str, value: Any) -> Call:
    """Return a call with another argument in a place, or of a name."""
    if isinstance(place, str):
        return call.changed(kwargs={**call.kwargs, place: value})
    return call.changed(args=(*call.args[:place], value, *call.args[place + 1 :]))


def with_all_arrays_changed(call: Call) -> Iterator[Call]:
    """Yield calls of which all arrays are of one dtype, or of one shape."""
    arguments = (call.args, call.kwargs)

    def changed(dtype: str | None, shape: tuple[int, ...] | None) -> Call:
        def another(array: Array) -> Array:
            lengths = array.data.shape if shape is None else shape
            return Array(np.ones(lengths, dtype or array.data.dtype), "plain")

        args, kwargs = mapped(arguments, Array, another)
        return call.changed(args=args, kwargs=kwargs)

    for kind in KINDS:
        yield changed(kind, None)
    for count in range(6):
        for length in (1, 2):
            yield changed(None, (length,) * count)


def mixed(call: Call, good: Call, parts: set[str]) -> Call:
    """Return a call with the shapes of arrays, their dtypes or all that are no arrays of another one.

    Parameters
    ----------
    call : that has faults
    good : that has none
    parts : what is taken of the call with faults: some of `PARTS`
    """

    def of_both(bad: Any, fine: Any) -> Any:
        if isinstance(bad, Array) and isinstance(fine, Array):
            shaped = bad if "shapes" in parts else fine
            typed = bad if "dtypes" in parts else fine
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return Array(shaped.data.astype(typed.data.dtype), shaped.layout)
        return bad if "options" in parts else fine

    args = [of_both(*pair) for pair in zip(call.args, good.args, strict=False)]
    kwargs = {name: of_both(call.kwargs[name], good.kwargs[name]) for name in call.kwargs if name in good.kwargs}
    rest = call if "options" in parts else good
    args += rest.args[len(args) :]
    kwargs |= {name: value for name, value in rest.kwargs.items() if name not in kwargs}
    return call.changed(args=tuple(args), kwargs=kwargs)


def others_for(call: Call, value: Any) -> Iterator[Any]:
    """Yield what may stand for an argument: other dtypes and shapes for an array, and plain values."""
    if isinstance(value, Array):
        yield from other_arrays(value, arrays_in((call.args, call.kwargs)))
    elif type(value) in (tuple, list):
        for number, member in enumerate(value):
            yield type(value)((*value[:number], *value[number + 1 :]))
            if isinstance(member, Array):
                for array in other_arrays(member, arrays_in(value)):
                    yield type(value)((*value[:number], array, *value[number + 1 :]))
            else:
                yield type(value)((*value[:number], 0, *value[number + 1 :]))
            if call.form in ("item", "set item"):
                everywhere = (slice(None),) * len(value)
                yield (*everywhere[:number], member, *everywhere[number + 1 :])
        yield from arrays_in(value)
    if call.form not in ("item", "set item"):
        yield from COMMON
    else:
        yield from (0, (), slice(None))


def other_arrays(value: Array, arrays: list[Array]) -> Iterator[Array]:
    """Yield an array without a gradient, in other dtypes, and in the shapes of others."""
    if value.gradient or value.layout != "plain":
        yield Array(value.data, "plain")
    for kind in dict.fromkeys((*(array.data.dtype.name for array in arrays), *KINDS)):
        if kind != value.data.dtype.name:
            with np.errstate(all="ignore"):
                yield Array(np.ones_like(value.data, dtype=kind), value.layout)
    shapes = [array.shape for array in arrays]
    for shape in dict.fromkeys((*shapes, (1,), (), (1, 1), (2, 2), (1, 1, 1), (1, 1, 1, 1), value.shape[:-1])):
        if shape != value.shape:
            yield Array(np.ones(shape, value.data.dtype), "plain", value.gradient)


def same_fault(one: BaseException | None, other: BaseException | None) -> bool:
    """Return whether two errors say the same but for numbers."""
    return type(one) is type(other) and words(one) == words(other)


def words(error: BaseException | None) -> str:
    """Return what an error says, without numbers and what stands in brackets."""
    first = str(error).strip().partition("\n")[0]
    return re.sub(r"[\d\W]+", " ", re.sub(r"\[.*?\]|\(.*?\)", " ", first))[:80]


def has_two_faults(call: Call, good: Iterable[Call], errors_of: Any) -> bool:
    """Return whether each of the two errors of a call remains, in both libraries, where the other fault is mended.

    Parameters
    ----------
    call : which the libraries refuse with errors of different classes
    good : calls of the same function that agree
    errors_of : gives the errors of a call here and in PyTorch, and whether they are of one class
    """
    ours, theirs, _ = errors_of(call)
    ours_alone = theirs_alone = False
    for other in repaired(call, good):
        here, there, alike = errors_of(other)
        if not alike:
            continue
        ours_alone |= same_fault(here, ours) and not same_fault(there, theirs)
        theirs_alone |= same_fault(there, theirs) and not same_fault(here, ours)
        if ours_alone and theirs_alone:
            return True
    return False


def with_elements(call: Call) -> Iterator[Call]:
    """Yield calls whose arrays without elements have some: axes of length 0 are longer."""

    def longer(array: Array, number: int, value: int) -> Array:
        if array.data.size:
            return array
        shape = [length or number for length in array.shape]
        return Array(np.full(shape, value, array.data.dtype), array.layout, array.gradient)

    for number in (1, 2, 3):
        for value in (1, 0):
            args, kwargs = mapped((call.args, call.kwargs), Array, partial(longer, number=number, value=value))
            yield call.changed(args=args, kwargs=kwargs)


def is_seen_with_elements(call: Call, errors_of: Any) -> bool:
    """Return whether both libraries refuse a call where its arrays have elements, the one for the same reason.

    Parameters
    ----------
    call : which one of the libraries refuses, and in which an array has no elements
    errors_of : gives the errors of a call here and in PyTorch, and whether they are of one class
    """
    if all(array.data.size for array in arrays_in((call.args, call.kwargs))):
        return False
    ours, theirs, _ = errors_of(call)
    for other in with_elements(call):
        here, there, _ = errors_of(other)
        if here is None or there is None:
            continue
        if (ours is not None and same_fault(here, ours)) or (theirs is not None and same_fault(there, theirs)):
            return True
    return False


def with_finite_numbers(call: Call) -> Call:
    """Return a call with finite numbers in the place of infinities and NaN."""

    def finite_array(array: Array) -> Array:
        if array.data.dtype.kind not in "fc":
            return array
        data = np.array(array.data)
        places = ~np.isfinite(data)
        data[places] = 0.5 + np.arange(np.count_nonzero(places)) / 64  # none of which are alike
        return Array(data, array.layout, array.gradient)

    def finite_number(number: Any) -> Any:
        return number if np.isfinite(number) else 1.5

    arguments = mapped((call.args, call.kwargs), Array, finite_array)
    args, kwargs = mapped(arguments, (float, complex), finite_number)
    return call.changed(args=args, kwargs=kwargs)
