"""Making small array types and handlers for audits."""

from __future__ import annotations

from typing import Any

import dispatchkit as dk
from dispatchkit.report import Audit, Finding
from tests.report.subjects import Sized

REWRAP = dk.fallback.rewrap


def make(name: str, *, above: type = Sized, fallback: Any = None, priority: float | None = None) -> Any:
    """Return a new array type that holds one tensor."""
    cls = type(name, (above,), {"__module__": __name__})
    return dk.array_type(fallback=fallback, priority=priority, fields=("data",))(cls)


def never(*args: Any, **kwargs: Any) -> Any:
    """Answer a call, which must not happen."""
    raise AssertionError("a handler was called")


def handler(name: str = "handler") -> Any:
    """Return a handler of its own that must not be called, for two arrays."""

    def made(x1: Any, x2: Any, /) -> Any:
        return never()

    made.__name__ = made.__qualname__ = name
    return made


def conversion(source: Any, target: Any, **options: Any) -> Any:
    """Declare a conversion that must not be made."""

    def made(x: Any) -> Any:
        return never()

    made.__annotations__ = {"x": source, "return": target}
    made.__name__ = f"{source.__name__}_to_{target.__name__}".lower()
    return dk.converts(**options)(made)


def only(report: Audit, kind: str) -> Finding:
    """Return the one finding of a report, which must be of a kind."""
    assert [finding.kind for finding in report.findings] == [kind], str(report)
    return report.findings[0]
