"""Making an array dense: bounded, warned of and counted."""

from __future__ import annotations

import math
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal

from dispatchkit.errors import DensifyError, DensifyWarning, format_bytes

__all__ = [
    "FromDense",
    "LedgerEntry",
    "Policy",
    "clear_densify_ledger",
    "densify",
    "densify_ledger",
    "make_dense",
]

Policy = Literal["allow", "warn", "error"]
UNITS = {"B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


@dataclass(frozen=True, slots=True)
class _Budget:
    policy: Policy = "warn"
    limit: int | None = None


_budget: ContextVar[_Budget] = ContextVar("dispatchkit.densify", default=_Budget())  # noqa: B039  # frozen


@dataclass(slots=True)
class LedgerEntry:
    """How often one line of a program had an operation make a type dense.

    Attributes
    ----------
    file, line : the caller's
    function : qualified name of the operation
    type : name of the type
    count : how often
    nbytes : total size of the dense copies in bytes, as far as known
    """

    file: str
    line: int
    function: str
    type: str
    count: int = 0
    nbytes: int = 0


_ledger: dict[tuple[str, int, str, str], LedgerEntry] = {}
_ledger_lock = threading.Lock()


def densify_ledger() -> list[LedgerEntry]:
    """Return every densification of the process so far, the largest first."""
    with _ledger_lock:
        return sorted(_ledger.values(), key=lambda entry: entry.nbytes, reverse=True)


def clear_densify_ledger() -> None:
    """Forget the densifications so far."""
    with _ledger_lock:
        _ledger.clear()


@contextmanager
def densify(on: Policy | None = None, limit: str | int | None = None) -> Iterator[None]:
    """Bound what the dense fallback may do inside a `with` block.

    Parameters
    ----------
    on : ``"allow"`` is silent, ``"warn"`` (the rule outside any block) warns at the caller's line, ``"error"``
        raises; what is not given stays as it is outside
    limit : largest dense copy, in bytes or as text such as ``"100MB"``

    Raises
    ------
    ValueError : for another `on`, or a limit that is no size

    Examples
    --------
    >>> import dispatchkit as dk
    >>> with dk.densify(on="error"):
    ...     dk.cos(dk.types.ScalarTensor(3, 2.0))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    dispatchkit.errors.DensifyError: 'dispatchkit.cos' would make ScalarTensor dense (72 B), and ...
    """
    if on not in (None, "allow", "warn", "error"):
        raise ValueError(f"densify: on must be 'allow', 'warn' or 'error', not {on!r}")
    outer = _budget.get()
    inner = _Budget(
        policy=outer.policy if on is None else on,
        limit=outer.limit if limit is None else _parse_size(limit),
    )
    token = _budget.set(inner)
    try:
        yield
    finally:
        _budget.reset(token)


def make_dense(function: str, cls: type, to_dense: Callable[[Any], Any], value: Any) -> Any:
    """Make `value` dense under the budget of the context.

    Raises
    ------
    DensifyError : where the budget forbids it
    """
    budget = _budget.get()
    expected = _expected_nbytes(value)
    name = cls.__qualname__.replace("<locals>.", "")
    if budget.policy == "error":
        raise DensifyError(function, name, expected)
    _check_limit(budget, function, name, expected)
    dense = to_dense(value)
    if type(dense) is cls:
        raise TypeError(f"'{function}' asked {name} for its dense form, and got another {name}")
    nbytes = _expected_nbytes(dense)
    if expected is None:
        _check_limit(budget, function, name, nbytes)
    file, line, depth = caller()
    with _ledger_lock:
        entry = _ledger.setdefault((file, line, function, name), LedgerEntry(file, line, function, name))
        entry.count += 1
        entry.nbytes += nbytes or 0
    if budget.policy == "warn":
        size = "unknown size" if nbytes is None else format_bytes(nbytes)
        warnings.warn(f"'{function}' made {name} dense ({size})", DensifyWarning, stacklevel=depth)
    return dense


def caller() -> tuple[str, int, int]:
    """Return file and line of the nearest frame outside the library, and its depth from the calling function."""
    package = __name__.partition(".")[0]
    frame = sys._getframe(1)
    depth = 1
    while frame.f_back is not None:
        module = frame.f_globals.get("__name__", "")
        if module != package and not module.startswith(package + "."):
            break
        frame = frame.f_back
        depth += 1
    return frame.f_code.co_filename, frame.f_lineno, depth


def _check_limit(budget: _Budget, function: str, name: str, nbytes: int | None) -> None:
    if budget.limit is not None and nbytes is not None and nbytes > budget.limit:
        raise DensifyError(function, name, nbytes, budget.limit)


class FromDense:
    """An attribute that is read off the dense form, where the type does not supply it."""


def _expected_nbytes(value: Any) -> int | None:
    """Return the size of an array from its shape and dtype; None where it does not tell both cheaply."""
    cls = type(value)
    if isinstance(getattr(cls, "shape", None), FromDense) or isinstance(getattr(cls, "dtype", None), FromDense):
        return None
    try:
        return int(math.prod(value.shape)) * int(value.dtype.itemsize)
    except (AttributeError, TypeError):
        return None


def _parse_size(limit: Any) -> int:
    if isinstance(limit, int) and not isinstance(limit, bool) and limit >= 0:
        return limit
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*", limit) if isinstance(limit, str) else None
    if match is None or (match[2] or "B") not in UNITS:
        raise ValueError(f"densify: limit {limit!r} is no size; write it like '100MB' ({', '.join(UNITS)})")
    return int(float(match[1]) * UNITS[match[2] or "B"])
