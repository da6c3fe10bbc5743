"""Run one call on both sides, and say in what they differ."""

from __future__ import annotations

import ast
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any

import numpy as np

from .drawing import Draw
from .pair import Operand, Pair, Parts
from .templates import filled, operands_of

__all__ = ["SORTS", "Case", "Side", "Verdict", "compare", "differing_places", "draw_case", "pasteable", "run_line"]

# Where a call differs in several ways, the first counts: a mask or a unit says more than the values under it.
SORTS = ("crash", "shape", "part", "value", "operand", "refused by ours alone", "refused by theirs alone", "dtype")
# What a call may refuse by. Any other exception of ours is a crash: nobody meant it.
REFUSALS = (
    TypeError,
    ValueError,
    NotImplementedError,
    IndexError,
    ArithmeticError,
    AttributeError,
    np.linalg.LinAlgError,
)


@dataclass(frozen=True)
class Case:
    """A call on operands.

    Attributes
    ----------
    template : the line it was drawn from
    line : the line, which leaves its result in ``result`` or is an expression
    operands : what its names stand for
    seed : what it was drawn from
    """

    template: str
    line: str
    operands: Mapping[str, Operand]
    seed: int


@dataclass(frozen=True)
class Side:
    """What one side gave: parts by their place in the result, or what it raised."""

    parts: Mapping[str, Any]
    operands: Mapping[str, Any]
    error: Exception | None = None


@dataclass(frozen=True)
class Verdict:
    """What came of a case.

    Attributes
    ----------
    sort : one of `SORTS`, "agree" or "refused by both"
    text : what differs, in a sentence
    ours, theirs : what the two sides gave
    """

    sort: str
    text: str = ""
    ours: Side = Side({}, {})
    theirs: Side = Side({}, {})


def draw_case(pair: Pair, lines: tuple[str, ...], seed: int) -> Case | None:
    """Draw a case; return None for one that the pair does not want."""
    draw = Draw(seed, pair.dtypes)
    template = draw.pick(lines)
    operands = operands_of(template, draw, pair)
    line = filled(template, draw, operands)
    if _may_hang(line, operands) or not pair.wanted(line, operands):
        return None
    return Case(template, line, operands, seed)


def _may_hang(line: str, operands: Mapping[str, Operand]) -> bool:
    """Return whether LAPACK may never come back: its least squares do not for some numbers that are not finite."""
    return "lstsq" in line and not all(np.isfinite(operand.data).all() for operand in operands.values())


def compare(pair: Pair, case: Case) -> Verdict:
    """Run a case on both sides, and say in what they differ."""
    ours = run_line(case.line, case.operands, pair.make_ours, pair.names_of_ours(), pair.parts_of_ours)
    line = pair.line_of_theirs(case.line)
    theirs = run_line(line, case.operands, pair.make_theirs, pair.names_of_theirs(), pair.parts_of_theirs)
    sort, text = _judge(ours, theirs, pair.tolerance)
    return Verdict(sort, text, ours, theirs)


def _judge(ours: Side, theirs: Side, tolerance: float) -> tuple[str, str]:
    """Return the sort of difference between two sides, and the difference in a sentence."""
    if ours.error is not None and not isinstance(ours.error, REFUSALS):
        return "crash", _named(ours.error)
    if ours.error is not None and theirs.error is not None:
        return "refused by both", ""
    if ours.error is not None:
        return "refused by ours alone", _named(ours.error)
    if theirs.error is not None:
        return "refused by theirs alone", _named(theirs.error)
    difference = _difference(ours.parts, theirs.parts, tolerance)
    if difference is not None:
        return difference
    changed = _difference(ours.operands, theirs.operands, tolerance)
    if changed is not None and changed[0] != "dtype":
        return "operand", changed[1]
    return "agree", ""


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".partition("\n")[0]


def run_line(
    line: str,
    operands: Mapping[str, Operand],
    make: Callable[[Operand], Any],
    names: dict[str, Any],
    parts_of: Callable[[Any], Parts],
) -> Side:
    """Run a line on one side."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name, operand in operands.items():
            if operand.lifted:
                names[name] = make(operand)
            else:
                names[name] = operand.data.copy()
        try:
            exec(_compiled(line), names)  # noqa: S102  # drawn by this program
            parts: dict[str, Any] = {}
            _collect(names["result"], "", parts_of, parts)
            after: dict[str, Any] = {}
            for name in operands:
                _collect(names[name], name, parts_of, after)
        except Exception as error:  # noqa: BLE001  # what a side raises is compared, also where its result is read
            return Side({}, {}, error)
    return Side(parts, after)


@lru_cache(maxsize=4096)
def _compiled(line: str) -> CodeType:
    """Return the code of a line; an expression is bound to ``result``."""
    tree = ast.parse(line)
    last = tree.body[-1]
    if isinstance(last, ast.Expr):
        tree.body[-1] = ast.Assign([ast.Name("result", ast.Store())], last.value)
    return compile(ast.fix_missing_locations(tree), "<call>", "exec")


def _collect(result: Any, place: str, parts_of: Callable[[Any], Parts], parts: dict[str, Any]) -> None:
    """Add the parts of a result, and those of each of its items where it is a tuple or a list."""
    if isinstance(result, (tuple, list)):
        parts[f"{place}length"] = len(result)
        for index, item in enumerate(result):
            _collect(item, f"{place}[{index}].", parts_of, parts)
        return
    for name, part in parts_of(result).items():
        parts[place + name] = part


def _difference(ours: Mapping[str, Any], theirs: Mapping[str, Any], tolerance: float) -> tuple[str, str] | None:
    """Return sort and text of the worst difference between two collections of parts, None where there is none."""
    for name in ours.keys() & theirs.keys():
        if name.endswith("length") and ours[name] != theirs[name]:
            return "shape", f"{name}: found {ours[name]} expected {theirs[name]}"
    if ours.keys() != theirs.keys():
        return "part", f"found {sorted(ours)} expected {sorted(theirs)}"
    found = [_difference_of_part(name, ours[name], theirs[name], tolerance) for name in ours]
    differences = [difference for difference in found if difference is not None]
    return min(differences, key=lambda difference: SORTS.index(difference[0]), default=None)


def _difference_of_part(name: str, ours: Any, theirs: Any, tolerance: float) -> tuple[str, str] | None:
    if not isinstance(ours, np.ndarray) or not isinstance(theirs, np.ndarray):
        if _equal(ours, theirs):
            return None
        return "part", f"{name}: found {ours!r} expected {theirs!r}"
    if ours.shape != theirs.shape:
        return "shape", f"{name}: found shape {ours.shape} expected {theirs.shape}"
    is_value = name.endswith("value")
    if not differing_places(ours, theirs, tolerance).any():
        if is_value and ours.dtype != theirs.dtype:
            return "dtype", f"found {ours.dtype.name} expected {theirs.dtype.name}"
        return None
    sort = "part"
    if is_value:
        sort = "value"
    return sort, f"{name}: found {ours.tolist()} expected {theirs.tolist()}"


def _equal(ours: Any, theirs: Any) -> bool:
    try:
        return bool(ours == theirs)
    except (TypeError, ValueError):
        return False


def differing_places(
    ours: np.ndarray[Any, Any], theirs: np.ndarray[Any, Any], tolerance: float
) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return where two arrays of one shape lie further apart than the precision of the coarser of their dtypes."""
    if ours.dtype.kind not in "biufc" or theirs.dtype.kind not in "biufc":
        return np.asarray(ours != theirs)
    precision = max(_precision(ours.dtype), _precision(theirs.dtype)) * tolerance
    wide = np.result_type(ours, theirs, np.float64)
    left, right = ours.astype(wide), theirs.astype(wide)
    finite = np.abs(right[np.isfinite(right)])
    scale = finite.max(initial=1.0)
    with np.errstate(all="ignore"):
        close = np.isclose(left, right, rtol=precision, atol=precision * min(scale, 1e6), equal_nan=True)
    return np.asarray(~close)


def _precision(dtype: np.dtype[Any]) -> float:
    """Return how far results of a dtype may lie apart, as a share."""
    if dtype.kind not in "fc":
        return 1e-12
    return math.pow(np.finfo(dtype).eps, 0.75)


def pasteable(pair: Pair, case: Case, verdict: Verdict) -> str:
    """Return a case as a program to paste, and in what it differs."""
    lines = [f"# {pair.name}, seed {case.seed}: {verdict.sort}: {verdict.text}"]
    for name, operand in case.operands.items():
        lines.append(f"{name} = {pair.text_of(operand)}")
    return "\n".join([*lines, case.line])
