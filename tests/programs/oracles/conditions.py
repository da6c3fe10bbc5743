"""What an entry of a list may ask of a difference, so that it covers no other than the one that it gives a reason for.

Each condition runs the call once more, on plain arrays of NumPy or in double precision, and looks at what both gave.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .comparing import Case, Side, Verdict, differing_places, run_line
from .pair import Operand, Pair, Parts

__all__ = ["CONDITIONS"]


def _plain(pair: Pair, case: Case) -> Side:
    """Return what NumPy gives for plain arrays of the same numbers."""
    names = {"np": np, "make": np.asarray}
    return run_line(case.line, case.operands, pair.numbers_of, names, _parts)


def _parts(result: Any) -> Parts:
    return {"value": np.asarray(result)}


def dtype_is_that_of_numpy(pair: Pair, case: Case, verdict: Verdict) -> bool:
    """Return whether the dtypes of ours are those of NumPy's result for plain arrays; of `x` where NumPy has none."""
    plain = _plain(pair, case)
    if plain.error is not None:
        dtypes = {operand.data.dtype for operand in case.operands.values()}
        return all(value.dtype in dtypes for value in _values(verdict.ours.parts).values())
    expected = _values(plain.parts)
    found = _values(verdict.ours.parts)
    return found.keys() == expected.keys() and all(found[name].dtype == expected[name].dtype for name in found)


def refused_by_numpy(pair: Pair, case: Case, verdict: Verdict) -> bool:
    """Return whether NumPy refuses the call for plain arrays, too."""
    return _plain(pair, case).error is not None


def value_is_that_of_numpy(pair: Pair, case: Case, verdict: Verdict) -> bool:
    """Return whether the values of ours are those of NumPy's result for plain arrays."""
    plain = _plain(pair, case)
    expected, found = _values(plain.parts), _values(verdict.ours.parts)
    if plain.error is not None or found.keys() != expected.keys():
        return False
    return all(
        value.shape == expected[name].shape and not differing_places(value, expected[name], pair.tolerance).any()
        for name, value in found.items()
    )


def infinite_operand(pair: Pair, case: Case, verdict: Verdict) -> bool:
    """Return whether an operand holds an infinity."""
    arrays = [operand.data for operand in case.operands.values()]
    return any(np.isinf(array).any() for array in arrays if array.dtype.kind in "fc")


def not_finite_there(pair: Pair, case: Case, verdict: Verdict) -> bool:
    """Return whether the sides differ only where the result of ours in double precision is infinite or NaN."""
    doubled = {name: _doubled(operand) for name, operand in case.operands.items()}
    ours = run_line(case.line, doubled, pair.make_ours, pair.names_of_ours(), pair.parts_of_ours)
    if ours.error is not None:
        return False
    return _only_where(verdict, ours.parts, lambda value: ~np.isfinite(value), pair.tolerance)


def _doubled(operand: Operand) -> Operand:
    """Return an operand in double precision, so that a division of integers by zero is not finite."""
    return replace(operand, data=operand.data.astype(np.result_type(operand.data, np.float64)))


def _only_where(verdict: Verdict, parts: Parts, holds: Callable[[np.ndarray[Any, Any]], Any], tolerance: float) -> bool:
    """Return whether two sides differ only at places where a condition holds for the values among some parts."""
    ours, theirs = verdict.ours.parts, verdict.theirs.parts
    if ours.keys() != theirs.keys():
        return False
    values = _values(parts)
    for name, part in ours.items():
        if not isinstance(part, np.ndarray):
            continue
        value = values.get(name.rpartition(".")[0] + "." * ("." in name) + "value")
        if value is None or part.shape != theirs[name].shape or value.shape != part.shape:
            return False
        if (differing_places(part, theirs[name], tolerance) & ~holds(value)).any():
            return False
    return True


def _values(parts: Mapping[str, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """Return the arrays of values among some parts."""
    return {name: part for name, part in parts.items() if name.endswith("value") and isinstance(part, np.ndarray)}


CONDITIONS: Mapping[str, Callable[[Pair, Case, Verdict], bool]] = {
    "the dtype is NumPy's": dtype_is_that_of_numpy,
    "the value is NumPy's": value_is_that_of_numpy,
    "NumPy refuses it": refused_by_numpy,
    "the result is not finite": not_finite_there,
    "an operand is infinite": infinite_operand,
}
